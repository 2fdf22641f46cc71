//! Which proposals stay in their clone, and that nothing of them reaches a remote. Text that is private
//! here contains `hush`; no object of the remote's database does, whatever pack it came in.

mod ignored;
mod taken;

use std::collections::BTreeSet;

use crate::support::clones::{clone, fetch, is_private, join, objects, push, refs, thread};
use crate::support::{Repo, Run};
use serde_json::Value;

/// A repository with the bare remote `origin`.
struct Scene {
    here: Repo,
    origin: Repo,
}

fn scene() -> Scene {
    let here = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    let origin = Repo::bare();
    join(&here, &origin);
    here.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    Scene { here, origin }
}

fn propose(repo: &Repo, file: &str, content: &str, more: &[&str]) -> String {
    let args = ["propose", file, "--content-file", "-", "-q"];
    repo.cmd(&[&args, more].concat()).stdin(content).run().ok().id()
}
/// The spaces in which this clone has written.
fn spaces(repo: &Repo) -> Vec<String> {
    let names = refs(repo, &["refs/aye/p", "refs/aye/private"]);
    let space = |name: String| name.split('/').next().expect("a space").to_owned();
    names.into_iter().map(space).collect::<BTreeSet<_>>().into_iter().collect()
}

fn show(repo: &Repo, id: &str) -> Value {
    repo.aye(&["show", id, "--json"]).ok().json()
}

/// Status and space of `id`, the same with the memo as it is and with none.
#[track_caller]
fn is(repo: &Repo, id: &str, status: &str, space: &str) {
    for memo in ["warm", "cold"] {
        let shown = show(repo, id);
        assert_eq!((&shown["status"], &shown["space"]), (&status.into(), &space.into()), "{memo}");
        let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        let mut items = list["proposals"].as_array().expect("a list").iter();
        let item = items.find(|item| item["proposal_id"] == id).expect("it is in the list");
        assert_eq!((&item["status"], &item["space"]), (&status.into(), &space.into()), "{memo}");
        for memo in ["open", "decided"] {
            let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{memo}")));
        }
    }
}

#[test]
fn a_private_proposal_stays_here() {
    let Scene { here, origin } = scene();
    let id = propose(&here, "a.txt", "secret\n", &["--private", "-m", "hush"]);
    is(&here, &id, "pending", "private");
    assert_eq!(spaces(&here), ["private"]);
    here.aye(&["comment", &id, "-m", "hush again"]).ok();
    here.aye(&["apply", &id, "--yes"]).ok();
    is(&here, &id, "applied", "private");
    here.aye(&["undo", &id, "--yes"]).ok();
    here.aye(&["reject", &id, "--yes", "-m", "hush no more"]).ok();
    here.aye(&["undo", &id, "--yes"]).ok();
    is(&here, &id, "pending", "private");
    // Beside it, what is for everybody.
    let public = propose(&here, "b.txt", "B\n", &[]);
    here.aye(&["reject", &public, "--yes", "-m", "known"]).ok();
    is(&here, &public, "rejected", "shared");
    assert_eq!(spaces(&here), ["p", "private"]);
    push(&here);
    let sent = objects(&origin);
    assert!(sent.contains("known") && !sent.contains("hush") && !sent.contains("secret"));
    // Closed threads stay in their space, too.
    here.aye(&["reject", &id, "--yes", "-m", "hush"]).ok();
    here.aye(&["doctor", "--gc"]).ok();
    is(&here, &id, "rejected", "private");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
    // Git knows nothing of it, and hooks ask for the stamp first.
    let open = propose(&here, "a.txt", "secret\n", &["--private"]);
    let found = here.aye(&["check", "--json"]).json();
    assert!(found.to_string().contains(&open), "{found:#}");
}

/// A commit of a private thread has no parent elsewhere, and one of a shared thread none in it.
#[test]
fn threads_of_the_two_spaces_do_not_name_each_other() {
    let Scene { here, .. } = scene();
    let public = propose(&here, "a.txt", "two\n", &[]);
    let private = propose(&here, "a.txt", "three\n", &["--private", "--instead-of", &public]);
    here.aye(&["revise", "--public", &private, "--yes"]);
    here.aye(&["comment", &public, "-m", "x"]).ok();
    let reach = |space: &str| -> BTreeSet<String> {
        let commits = here.git(&["rev-list", &format!("--glob=refs/aye/{space}/*")]);
        commits.lines().map(str::to_owned).collect()
    };
    let (shared, own) = (reach("p"), reach("private"));
    // The first event alone is in both, once it is published.
    let both: Vec<&String> = shared.intersection(&own).collect();
    assert!(both.iter().all(|id| **id == thread(&here, &private)), "{both:?}");
}

#[test]
fn the_same_change_is_another_proposal_for_others() {
    let Scene { here, .. } = scene();
    let public = propose(&here, "b.txt", "B\n", &[]);
    let private = propose(&here, "b.txt", "B\n", &["--private"]);
    assert_ne!(public, private);
    assert_eq!(propose(&here, "b.txt", "B\n", &["--private"]), private);
    assert_eq!(propose(&here, "b.txt", "B\n", &[]), public);
}

#[test]
fn private_files_make_private_proposals_in_every_form() {
    let Scene { here, origin } = scene();
    here.git(&["config", "--add", "aye.private", "*.key"]);
    here.git(&["config", "--add", "aye.private", "secrets/"]);
    let private = |id: &str| is(&here, id, "pending", "private");
    private(&propose(&here, "x.key", "hush\n", &[]));
    let request = serde_json::json!({
        "action": "propose", "file_path": "secrets/b", "old_content": "", "new_content": "hush\n",
    });
    let run = here.aye(&["call", "changes", &request.to_string()]).ok();
    private(run.json()["proposal_id"].as_str().expect("an id"));
    here.git(&["config", "aye.gate", "true"]);
    let patch = "*** Begin Patch\n*** Add File: secrets/c\n+hush\n*** End Patch\n";
    let request = serde_json::json!({ "patch": patch }).to_string();
    here.agent("codex", &["call", "apply_patch", &request]);
    let list = here.aye(&["list", "--json"]).ok().json();
    let items = list["proposals"].as_array().expect("a list");
    assert!(items.iter().all(is_private), "{list:#}");
    assert_eq!(items.len(), 3, "{list:#}");
    // Where nothing gates it, the patch itself.
    here.git(&["config", "aye.gate", "false"]);
    here.agent("codex", &["call", "apply_patch", &request]).ok();
    assert_eq!(spaces(&here), ["private"]);
    let log = here.aye(&["log", "--json"]).ok().json();
    let patch = log["events"][0]["patch_id"].as_str().expect("a patch").to_owned();
    here.aye(&["undo", &patch, "--yes"]).ok();
    assert_eq!(spaces(&here), ["private"]);
    // A patch says that it has the content of a private file, whatever it calls it.
    here.write("secrets/d", "hush\n".repeat(30));
    here.git(&["add", "secrets/d"]);
    here.commit("A secret");
    let copy =
        "diff --git a/secrets/d b/d\nsimilarity index 100%\ncopy from secrets/d\ncopy to d\n";
    let run = here.aye_stdin(&["propose", "--json", "--patch", "-", "-m", "Copy"], copy).ok();
    private(run.json()["proposal_id"].as_str().expect("an id"));
    // What is public stays so.
    let public = propose(&here, "b.txt", "B\n", &[]);
    let args = ["revise", &public, "y.key", "--content-file", "-"];
    here.cmd(&args).stdin("hush\n").run().fails("private_path", 4);
    is(&here, &public, "pending", "shared");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
    here.git(&["config", "--add", "aye.private", "["]);
    here.aye(&["propose", "b.txt", "--old", "b", "--new", "c"]).fails("invalid_config", 2);
}

/// A proposal has the whole file, whatever it changes of it.
#[test]
fn a_file_that_git_ignores_makes_a_proposal_private() {
    let Scene { here, origin } = scene();
    here.write(".gitignore", ".env\nbuild/\n*.log\n");
    here.write("kept.log", "kept\n");
    here.git(&["add", "-f", ".gitignore", "kept.log"]);
    here.commit("rules");
    here.write(".env", "A=1\nKEY=hush\n".to_owned() + &"# hush\n".repeat(30));
    let private = |run: Run| {
        let answer = run.ok().json();
        is(&here, answer["proposal_id"].as_str().expect("an id"), "pending", "private");
    };
    let edit = ["propose", ".env", "--old", "A=1", "--new", "A=2", "-m", "x"];
    let run = here.agent("codex", &edit).ok().notes("warning: .env:1:1: ");
    is(&here, &run.id(), "pending", "private");
    let request = serde_json::json!({
        "action": "propose", "file_path": "build/new", "old_content": "", "new_content": "hush\n",
    });
    let run = here.agent("codex", &["call", "changes", &request.to_string()]).ok();
    assert_eq!(run.json()["warnings"][0]["type"], "ignored_file", "{run}");
    private(run);
    for (word, name) in [("copy", "b"), ("rename", "c")] {
        let patch = format!(
            "diff --git a/.env b/{name}\nsimilarity index 100%\n{word} from .env\n{word} to {name}\n"
        );
        private(here.aye_stdin(&["propose", "--json", "--patch", "-", "-m", "x"], patch));
    }
    // What HEAD has is everybody's, and so is a revision of what is.
    let public = propose(&here, "kept.log", "more\n", &[]);
    is(&here, &public, "pending", "shared");
    let public = propose(&here, "b.txt", "B\n", &[]);
    let args = ["revise", &public, "build/y", "--content-file", "-"];
    here.cmd(&args).stdin("hush\n").run().fails("private_path", 4);
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn notes_that_git_is_not_to_have_stay_here() {
    let Scene { here, origin } = scene();
    here.aye(&["memory", "init"]).ok();
    let write = |request: serde_json::Value| {
        let request = request.to_string();
        here.agent("codex", &["call", "memory.propose_update", &request]).ok().json()
    };
    let note = |content: &str| {
        serde_json::json!({ "intent": "update_current", "rationale": "hush", "operations": [
            { "operation": "create_file", "path": "local/current.main.md", "content": content },
        ]})
    };
    assert_eq!(write(note("# Now\n\nhush\n"))["status"], "applied");
    let log = serde_json::json!({ "intent": "session_log", "rationale": "hush", "operations": [{
        "operation": "append_section", "path": "sessions/2026-01-01.md", "heading": "Log",
        "heading_level": 2, "content": "## Log\n\nhush\n",
    }]});
    assert_eq!(write(log)["status"], "applied");
    let pitfall = serde_json::json!({
        "intent": "add_pitfall", "rationale": "for all", "sources": [{ "type": "user" }],
        "operations": [{
            "operation": "append_section", "path": "pitfalls.md", "heading": "Pools",
            "heading_level": 2, "content": "## Pools\n\nThey drain.\n",
        }],
    });
    assert_ne!(write(pitfall)["status"], "rejected");
    let list = here.aye(&["list", "--status", "all", "--json"]).ok().json();
    let space = |item: &Value| {
        let says = item["description"].as_str().unwrap_or_default().contains("hush");
        (says, item["space"].as_str().unwrap_or_default().to_owned())
    };
    let found: BTreeSet<_> =
        list["proposals"].as_array().expect("a list").iter().map(space).collect();
    let expected = [(false, "shared".to_owned()), (true, "private".to_owned())];
    assert_eq!(found, expected.into(), "{list:#}");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn what_stands_on_something_private_is_private() {
    let Scene { here, origin } = scene();
    let first = propose(&here, "a.txt", "hush\n", &["--private"]);
    let instead = propose(&here, "b.txt", "B\n", &["--instead-of", &first]);
    is(&here, &instead, "pending", "private");
    here.aye(&["apply", &first, "--yes"]).ok();
    let next = propose(&here, "a.txt", "hush\nmore\n", &[]);
    is(&here, &next, "pending", "private");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n hush\n+by a patch\n";
    here.cmd(&["patch"]).env("AYE_AGENT", "bot").stdin(patch).run().ok();
    let last = propose(&here, "a.txt", "hush\nby a patch\nand more\n", &[]);
    is(&here, &last, "pending", "private");
    here.aye(&["revise", "--public", &next, "--yes"]).fails("private_path", 4);
    let public = propose(&here, "b.txt", "C\n", &[]);
    let args = ["revise", &public, "a.txt", "--content-file", "-"];
    here.cmd(&args).stdin("x\n").run().fails("private_path", 4);
    push(&here);
    assert!(!objects(&origin).contains("hush"));
    // Once it is in a commit, it is everybody's.
    here.git(&["commit", "-qam", "x"]);
    let free = propose(&here, "a.txt", "free\n", &[]);
    is(&here, &free, "pending", "shared");
}

/// A patch that touches a private file is private with all that it writes, also where the other file was
/// edited since.
#[test]
fn what_stands_on_a_private_direct_patch_is_private() {
    let Scene { here, origin } = scene();
    here.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    here.commit("nine lines");
    let open = propose(&here, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", &[]);
    here.git(&["config", "aye.private", "*.key"]);
    let patch = "--- /dev/null\n+++ b/s.key\n@@ -0,0 +1 @@\n+key\n\
                 --- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n 1\n 2\n-3\n+hush\n 4\n";
    here.aye_stdin(&["patch"], patch).ok();
    here.write("a.txt", "1\n2\nhush\n4\n5\nmine\n7\n8\n9\n");
    let typed = propose(&here, "a.txt", "1\n2\nhush\n4\n5\nmine\n7\n8\nnine\n", &[]);
    is(&here, &typed, "pending", "private");
    here.aye(&["apply", &open, "--yes"]).fails("private_path", 4);
    let captured = here.aye(&["propose", "--worktree", "a.txt", "-m", "captured", "-q"]).ok().id();
    is(&here, &captured, "pending", "private");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

/// Neither a direct patch nor its undo sends what a person has written in the same file and not committed.
#[test]
fn what_a_direct_patch_was_written_on_is_not_sent() {
    let Scene { here, origin } = scene();
    here.write("a.txt", "one\ntwo\nthree\nhush\n");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
    here.aye_stdin(&["patch"], patch).ok();
    assert_eq!(spaces(&here), ["p"]);
    push(&here);
    let log = here.aye(&["log", "--json"]).ok().json();
    let id = log["events"][0]["patch_id"].as_str().expect("a patch").to_owned();
    here.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(here.text("a.txt"), "one\ntwo\nthree\nhush\n");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

/// A new file of a private proposal, of which another part was applied.
#[test]
fn what_a_decision_leaves_out_of_something_private_is_private() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let patch = "diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+n\n\
                 diff --git a/s.txt b/s.txt\nnew file mode 100644\n--- /dev/null\n+++ b/s.txt\n@@ -0,0 +1 @@\n+hush\n";
    let id = repo.aye_stdin(&["propose", "--patch", "-", "--private", "-m", "hush"], patch).id();
    repo.let_flags_decide();
    repo.aye(&["apply", &id, "--hunks", "1", "--split-rest", "--yes"]).ok();
    let rest = repo.aye(&["list", "--json"]).ok().json()["proposals"][0].clone();
    assert_eq!(rest["file_path"], "s.txt", "{rest:#}");
    let rest = rest["proposal_id"].as_str().expect("an id").to_owned();
    is(&repo, &rest, "pending", "private");
    assert_eq!(show(&repo, &rest)["instead_of"], id.as_str());
    assert_eq!(spaces(&repo), ["private"]);
}

#[test]
fn a_first_revision_that_stands_on_something_private_stays_here() {
    let Scene { here, origin } = scene();
    let first = propose(&here, "a.txt", "hush\n", &["--private"]);
    here.aye(&["apply", &first, "--yes"]).ok();
    let next = propose(&here, "a.txt", "hush\nmore\n", &[]);
    is(&here, &next, "pending", "private");
    // What it says now stands on the commit alone: nothing pending is below it.
    here.aye(&["undo", &first, "--yes"]).ok();
    here.aye(&["reject", &first, "--yes", "-m", "no"]).ok();
    let args = ["revise", &next, "a.txt", "--content-file", "-"];
    here.cmd(&args).stdin("open\n").run().ok();
    here.aye(&["revise", "--public", &next, "--yes"]).fails("private_path", 4);
    is(&here, &next, "pending", "private");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn an_edit_above_something_private_carries_it() {
    let Scene { here, origin } = scene();
    let lines: String = (0..20).map(|n| format!("{n}\n")).collect();
    here.write("a.txt", &lines);
    here.git(&["commit", "-qam", "lines"]);
    let hushed = lines.replace("\n3\n", "\nhush\n");
    let first = propose(&here, "a.txt", &hushed, &["--private"]);
    here.aye(&["apply", &first, "--yes"]).ok();
    // No revision and no decision names what is there now.
    let edited = hushed.replace("\n15\n", "\nmine\n");
    here.write("a.txt", &edited);
    let next = propose(&here, "a.txt", &edited.replace("\n9\n", "\nnine\n"), &[]);
    is(&here, &next, "pending", "private");
    here.aye(&["revise", "--public", &next, "--yes"]).fails("private_path", 4);
    push(&here);
    assert!(!objects(&origin).contains("hush"));
    // Without its lines there is nothing private in the same file.
    here.write("a.txt", lines.replace("\n15\n", "\nmine\n"));
    let free = propose(&here, "a.txt", &lines.replace("\n9\n", "\nnine\n"), &[]);
    is(&here, &free, "pending", "shared");
}

#[test]
fn a_published_proposal_keeps_its_id() {
    let Scene { here, origin } = scene();
    let args = ["propose", "a.txt", "--content-file", "-", "--private", "-q", "-m", "why"];
    let id = here.cmd(&args).env("AYE_AGENT", "codex").stdin("first\n").run().ok().id();
    here.aye(&["comment", &id, "-m", "hush comment"]).ok();
    let revise = |text: &str| {
        let args = ["revise", &id, "a.txt", "--content-file", "-"];
        here.cmd(&args).env("AYE_AGENT", "codex").stdin(text).run().ok()
    };
    revise("hush draft\n");
    revise("second\n");
    here.agent("codex", &["revise", "--public", &id, "--yes"]).fails("human_approval_required", 4);
    here.aye(&["revise", "--public", &id, "--yes"]).ok();
    here.aye(&["revise", "--public", &id, "--yes"]).fails("not_private", 5);
    // What says otherwise what the revision holds is not passed over.
    for content in [&["-m", "Why"][..], &["a.txt", "--old", "1", "--new", "2"], &["--rebase"]] {
        here.aye(&[&["revise", "--public", &id, "--yes"], content].concat()).fails("usage", 2);
    }
    is(&here, &id, "pending", "shared");
    push(&here);
    let sent = objects(&origin);
    assert!(sent.contains("second") && !sent.contains("hush"), "the draft stays here");
    let theirs = clone(&origin);
    fetch(&theirs);
    is(&theirs, &id, "pending", "shared");
    let (ours, seen) = (show(&here, &id), show(&theirs, &id));
    for key in ["revision", "changes", "description", "expires_at", "proposed_by"] {
        assert_eq!(seen[key], ours[key], "{key}");
    }
    assert_eq!(seen["comments"], serde_json::json!([]));
    theirs.aye(&["diff", &id]).ok().says("+second");
    // Whoever publishes it has not made it.
    theirs.aye(&["show", &id]).ok().says("codex");
    // Its proposer goes on with it, for everybody.
    revise("third\n");
    here.aye(&["comment", &id, "-m", "known comment"]).ok();
    push(&here);
    fetch(&theirs);
    theirs.aye(&["diff", &id]).ok().says("+third");
    theirs.aye(&["apply", &theirs.at_revision(&id), "--yes"]).ok();
    push(&theirs);
    fetch(&here);
    is(&here, &id, "applied", "shared");
    is(&theirs, &id, "applied", "shared");
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn nothing_is_merged_with_what_is_private() {
    let Scene { here, origin } = scene();
    let lines = |third: &str, last: &str| format!("1\n2\n{third}\n4\n5\n6\n7\n8\n{last}\n");
    here.write("b.txt", lines("3", "9"));
    here.git(&["commit", "-qam", "Lines"]);
    let hidden = propose(&here, "b.txt", &lines("hush", "9"), &["--private"]);
    let public = propose(&here, "b.txt", &lines("3", "nine"), &[]);
    here.aye(&["apply", &hidden, "--yes"]).ok();
    here.aye(&["apply", &public, "--yes"]).fails("private_path", 4);
    assert_eq!(here.text("b.txt"), lines("hush", "9"));
    is(&here, &public, "pending", "shared");
    // Nor is it taken back that way.
    here.aye(&["undo", &hidden, "--yes"]).ok();
    here.aye(&["apply", &public, "--yes"]).ok();
    let again = propose(&here, "b.txt", &lines("hush", "nine"), &["--private"]);
    here.aye(&["apply", &again, "--yes"]).ok();
    here.aye(&["undo", &public, "--yes"]).fails("private_path", 4);
    // What is private may stand on anything.
    here.aye(&["undo", &again, "--yes"]).ok();
    here.aye(&["undo", &public, "--yes"]).ok();
    assert_eq!(here.text("b.txt"), lines("3", "9"));
    here.aye(&["apply", &public, "--yes"]).ok();
    here.aye(&["apply", &hidden, "--yes"]).ok();
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn a_copy_sees_what_its_original_publishes() {
    let Scene { here, origin } = scene();
    propose(&here, "b.txt", "hush\n", &["--private"]);
    let copy = here.copy();
    let id = propose(&here, "a.txt", "after\n", &["--private"]);
    here.aye(&["revise", "--public", &id, "--yes"]).ok();
    push(&here);
    fetch(&copy);
    is(&copy, &id, "pending", "shared");
    copy.aye(&["reject", &id, "--yes"]).ok();
    push(&copy);
    fetch(&here);
    is(&here, &id, "rejected", "shared");
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn the_hook_without_aye_sees_private_proposals() {
    let Scene { here, .. } = scene();
    here.git(&["config", "aye.hookFailOn", "any"]);
    here.aye(&["hooks", "install"]).ok();
    let public = propose(&here, "b.txt", "B\n", &[]);
    here.aye(&["reject", &public, "--yes"]).ok();
    // A look that finds nothing, a while after the last change, leaves the stamp.
    here.later(&["check"]).run().ok();
    assert!(here.exists(".git/aye/idle"));
    let id = propose(&here, "a.txt", "hush\n", &["--private"]);
    here.aye(&["check"]).says(&id);
    here.write("a.txt", "hush\n");
    here.git(&["add", "a.txt"]);
    let run = here.try_git(&["commit", "-qm", "x"]);
    assert!(run.status != 0 && format!("{run}").contains(&id), "{run}");
    here.aye(&["reject", &id, "--yes"]).ok();
    here.aye(&["check"]).ok();
    here.try_git(&["commit", "-qm", "x"]).ok();
}

#[test]
fn the_hook_keeps_private_threads_from_every_remote() {
    let Scene { here, origin } = scene();
    let id = propose(&here, "b.txt", "hush\n", &["--private"]);
    propose(&here, "b.txt", "B\n", &[]);
    here.aye(&["hooks", "install"]).ok();
    let refuses = |refspec: &str| {
        let run = here.try_git(&["push", "-q", "origin", refspec]);
        assert!(run.status != 0 && run.out().contains("not_for_remote"), "{refspec}: {run}");
    };
    let tip = here.git(&["rev-parse", &format!("refs/aye/private/{}", thread(&here, &id))]);
    refuses("refs/aye/private/*:refs/aye/by/0123456789abcdef/*");
    refuses("refs/aye/*:refs/aye/*");
    refuses("refs/aye/pending/*:refs/heads/*");
    refuses(&format!("{tip}:refs/aye/by/0123456789abcdef/x"));
    refuses(&format!("{tip}:refs/heads/x"));
    let run = here.try_git(&["push", "-q", "--mirror", "origin"]);
    assert!(run.status != 0 && run.out().contains("not_for_remote"), "{run}");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

/// A session's ref has what the checkout held and had not committed.
#[test]
fn the_hook_keeps_what_is_this_clones_own() {
    let Scene { here, origin } = scene();
    here.aye(&["hooks", "install"]).ok();
    here.write("a.txt", "not for them\n");
    here.agent("codex", &["run", "--keep", "--name", "s", "--", "true"]).ok();
    let tip = here.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/session"]);
    for own in ["kept/l", "remotes/x/l"] {
        here.git(&["update-ref", &format!("refs/aye/{own}"), tip.trim()]);
    }
    for refspec in [
        "refs/aye/session/s",
        "refs/aye/session/*:refs/heads/*",
        "refs/aye/*:refs/aye/*",
        "refs/aye/kept/*:refs/heads/*",
        "refs/aye/remotes/x/*:refs/heads/*",
        "main:refs/aye/session/s",
    ] {
        let run = here.try_git(&["push", "-q", "origin", refspec]);
        assert!(run.status != 0 && run.out().contains("not_for_remote"), "{refspec}: {run}");
    }
    let run = here.try_git(&["push", "-q", "--mirror", "origin"]);
    assert!(run.status != 0 && run.out().contains("session/s "), "{run}");
    assert!(!objects(&origin).contains("not for them"));
    here.git(&["config", "--add", "remote.origin.push", "refs/aye/session/*"]);
    here.aye(&["doctor"]).says("refs/aye/session/*");
}

#[test]
fn doctor_names_what_would_push_private_threads() {
    let Scene { here, .. } = scene();
    propose(&here, "b.txt", "B\n", &[]);
    here.git(&["config", "remote.up.mirror", "true"]);
    here.aye(&["doctor"]).ok().says("warning: remote.up.mirror ");
    propose(&here, "b.txt", "B\n", &["--private"]);
    here.git(&["config", "--add", "remote.origin.push", "refs/heads/*"]);
    here.git(&["config", "--add", "remote.origin.push", "+refs/aye/*:refs/aye/*"]);
    let run = here.aye(&["doctor"]).exits(1).says("private_pushed: remote.up.mirror ");
    run.says("private_pushed: remote.origin.push ").lacks("refs/heads");
}

#[test]
fn doctor_names_what_would_fetch_over_own_threads() {
    let here = scene().here;
    here.aye(&["doctor"]).ok().lacks("warning");
    for wrong in ["+refs/aye/p/*:refs/aye/p/*", "+refs/aye/*:refs/aye/*"] {
        here.git(&["config", "--add", "remote.origin.fetch", wrong]);
        let run = here.aye(&["doctor"]).ok();
        let out = run.out();
        let warning =
            out.lines().find(|line| line.starts_with("warning: ") && line.contains(wrong));
        let warning = warning.unwrap_or_else(|| panic!("{run}"));
        // As it says.
        let (_, commands) = warning.rsplit_once("; ").expect("commands");
        here.program("sh").args(&["-c", commands]).run().ok();
        here.aye(&["doctor"]).ok().lacks("warning");
    }
}

#[test]
fn deinit_removes_the_threads_of_both_spaces() {
    let Scene { here, .. } = scene();
    propose(&here, "b.txt", "B\n", &["--private"]);
    propose(&here, "b.txt", "B\n", &[]);
    assert_eq!(spaces(&here), ["p", "private"]);
    here.aye(&["init", "--remove", "--dry-run"]).ok();
    here.aye(&["init", "--remove", "--yes"]).ok();
    assert_eq!(refs(&here, &["refs/aye"]), [] as [String; 0]);
    assert!(!here.exists(".git/aye"));
}

#[test]
fn what_was_said_in_private_before_the_publication_stays_private() {
    let Scene { here, origin } = scene();
    let id = propose(&here, "a.txt", "first\n", &["--private"]);
    here.aye(&["approve", &id, "--yes", "-m", "hush"]).ok();
    here.aye(&["apply", &id, "--yes"]).ok();
    here.aye(&["revise", "--public", &id, "--yes"]).exits(5);
    here.aye(&["undo", &id, "--yes"]).ok();
    here.aye(&["comment", &id, "--request-changes", "-m", "hush"]).ok();
    here.aye(&["comment", &id, "-m", "hush"]).ok();
    here.aye(&["revise", "--public", &id, "--yes"]).ok();
    is(&here, &id, "pending", "shared");
    push(&here);
    let theirs = clone(&origin);
    let (ours, seen) = (show(&here, &id), show(&theirs, &id));
    for key in ["status", "revision", "changes", "contested", "approvals", "changes_requested"] {
        assert_eq!(seen[key], ours[key], "{key}");
    }
    assert!(!objects(&origin).contains("hush"));
    // The private history is here still.
    here.git(&["rev-parse", &format!("refs/aye/private/{}", thread(&here, &id))]);
}
