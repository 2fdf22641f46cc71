//! Whom a proposal is for: what is private stays here, and what was fetched from one remote is
//! decided for that one alone.

mod ignored;
mod published;
mod taken;

use std::collections::BTreeSet;

use crate::support::hostile::Hostile;
use crate::support::{Repo, Run};
use proptest::prelude::*;
use serde_json::Value;

/// A repository with the bare remotes `origin` and `up`.
struct Scene {
    here: Repo,
    origin: Repo,
    up: Repo,
}

fn scene() -> Scene {
    let here = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    let (origin, up) = (Repo::bare(), Repo::bare());
    for (name, remote) in [("origin", &origin), ("up", &up)] {
        let url = url(remote);
        here.git(&["remote", "add", name, &url]);
        here.git(&["push", "-q", name, "HEAD:refs/heads/main"]);
        follow(&here, name);
    }
    Scene { here, origin, up }
}

fn url(repo: &Repo) -> String {
    repo.root().to_str().expect("UTF-8").to_owned()
}

/// Lets `git fetch REMOTE` bring its lanes along.
fn follow(repo: &Repo, remote: &str) {
    let refspec = format!("+refs/aye/log/*:refs/aye/remotes/{remote}/*");
    repo.git(&["config", "--add", &format!("remote.{remote}.fetch"), &refspec]);
}

/// Somebody else's clone of `remote`, which they call origin.
fn clone(remote: &Repo) -> Repo {
    let clone = Repo::outside();
    clone.git(&["clone", "-q", "-b", "main", &url(remote), "."]);
    follow(&clone, "origin");
    clone
}

fn propose(repo: &Repo, file: &str, content: &str, more: &[&str]) -> String {
    let args = ["propose", file, "--content-file", "-", "-q"];
    repo.cmd(&[&args, more].concat()).stdin(content).run().ok().id()
}

/// The refs of lanes, without `refs/aye/`.
fn refs(repo: &Repo) -> Vec<String> {
    let refs = repo.git(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/aye"]);
    let refs = refs.lines().filter(|name| !name.starts_with("pending/"));
    refs.map(str::to_owned).collect()
}

/// The directories of the lanes that were written here.
fn directories(repo: &Repo) -> Vec<String> {
    let refs = refs(repo).into_iter();
    let local = refs.filter(|name| !name.starts_with("remotes/") && !name.starts_with("kept/"));
    local.map(|name| name.rsplit_once('/').expect("a lane").0.to_owned()).collect()
}

/// Somebody else's clone of `up`, and the proposal from there that `here` has fetched.
fn from_up(here: &Repo, up: &Repo, more: &[&str]) -> (Repo, String) {
    let theirs = clone(up);
    let id = propose(&theirs, "a.txt", "theirs\n", more);
    push(&theirs, "origin");
    here.git(&["fetch", "-q", "up"]);
    (theirs, id)
}

/// Every object that `repo` has, as text.
fn objects(repo: &Repo) -> String {
    repo.git(&["cat-file", "--batch", "--batch-all-objects", "--unordered"])
}

fn show(repo: &Repo, id: &str) -> Value {
    repo.aye(&["show", id, "--json"]).ok().json()
}

/// Status and audience of `id`, the same with the cache as it is and with none.
#[track_caller]
fn is(repo: &Repo, id: &str, status: &str, audience: &str) {
    let list = || repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let warm = (show(repo, id), list());
    assert_eq!((&warm.0["status"], &warm.0["audience"]), (&status.into(), &audience.into()));
    let items = warm.1["proposals"].as_array().expect("a list").clone();
    let item = items.iter().find(|item| item["proposal_id"] == id).expect("it is in the list");
    assert_eq!(item["audience"], audience);
    repo.remove(".git/aye/cache.sqlite");
    assert_eq!((show(repo, id), list()), warm, "a cold cache says the same");
    repo.aye(&["doctor"]).lacks("cache_tampered").lacks("event_rejected");
}

#[track_caller]
fn push(repo: &Repo, remote: &str) -> Run {
    let run = match remote {
        "origin" => repo.try_git(&["push", "-q", "origin", "refs/aye/log/*"]),
        _ => repo.try_git(&[
            "push",
            "-q",
            remote,
            &format!("refs/aye/for/{remote}/*:refs/aye/log/*"),
        ]),
    };
    run.ok()
}

#[test]
fn first_private_event_witnesses_no_public_lane() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.aye(&["propose", "a.txt", "--old", "one", "--new", "two"]).ok();
    let public = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/log"]);
    repo.aye(&["propose", "a.txt", "--old", "one", "--new", "three", "--private"]).ok();
    let private = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/private"]);
    let event = repo.git(&["cat-file", "blob", &format!("{private}:event.json")]);
    assert!(!event.contains(&public), "{event}");
}

#[test]
fn a_private_proposal_stays_here() {
    let Scene { here, origin, .. } = scene();
    let id = propose(&here, "a.txt", "secret\n", &["--private", "-m", "hush"]);
    is(&here, &id, "pending", "private");
    assert_eq!(directories(&here), ["private"]);
    assert!(here.exists(".git/aye/lane.private") && here.exists(".git/aye/place.private"));
    assert!(!here.exists(".git/aye/lane"), "a lane is made when it is needed");
    here.aye(&["list"]).ok().says("private");
    here.aye(&["show", &id]).ok().says("(private)");
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
    is(&here, &public, "rejected", "default");
    assert_eq!(directories(&here), ["log", "private"]);
    push(&here, "origin");
    let sent = objects(&origin);
    assert!(sent.contains("known") && !sent.contains("hush") && !sent.contains("secret"));
    let doctor = here.aye(&["doctor", "--json"]).ok().json();
    assert_eq!(doctor["audiences"], serde_json::json!({"default": 1, "private": 1}));
    here.aye(&["doctor"]).ok().says("2 lanes (1 private)");
    // Git knows nothing of it, and hooks ask for the stamp first.
    here.aye(&["check"]).says(&id);
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
    let Scene { here, origin, .. } = scene();
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
    assert!(items.iter().all(|item| item["audience"] == "private"), "{list:#}");
    assert_eq!(items.len(), 3, "{list:#}");
    // Where nothing gates it, the patch itself.
    here.git(&["config", "aye.gate", "false"]);
    here.agent("codex", &["call", "apply_patch", &request]).ok();
    assert_eq!(directories(&here), ["private"]);
    let log = here.aye(&["log", "--json"]).ok().json();
    let patch = log["events"][0]["patch_id"].as_str().expect("a patch").to_owned();
    here.aye(&["undo", &patch, "--yes"]).ok();
    assert_eq!(directories(&here), ["private"]);
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
    is(&here, &public, "pending", "default");
    push(&here, "origin");
    assert!(!objects(&origin).contains("hush"));
    here.git(&["config", "--add", "aye.private", "["]);
    here.aye(&["propose", "b.txt", "--old", "b", "--new", "c"]).fails("invalid_config", 2);
}

/// A proposal has the whole file, whatever it changes of it.
#[test]
fn a_file_that_git_ignores_makes_a_proposal_private() {
    let Scene { here, origin, .. } = scene();
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
    is(&here, &public, "pending", "default");
    let public = propose(&here, "b.txt", "B\n", &[]);
    let args = ["revise", &public, "build/y", "--content-file", "-"];
    here.cmd(&args).stdin("hush\n").run().fails("private_path", 4);
    push(&here, "origin");
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn notes_that_git_is_not_to_have_stay_here() {
    let Scene { here, origin, .. } = scene();
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
    let audience = |item: &Value| {
        let says = item["description"].as_str().unwrap_or_default().contains("hush");
        (says, item["audience"].as_str().unwrap_or_default().to_owned())
    };
    let found: BTreeSet<_> =
        list["proposals"].as_array().expect("a list").iter().map(audience).collect();
    let expected = [(false, "default".to_owned()), (true, "private".to_owned())];
    assert_eq!(found, expected.into(), "{list:#}");
    push(&here, "origin");
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn what_stands_on_something_private_is_private() {
    let Scene { here, origin, .. } = scene();
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
    push(&here, "origin");
    assert!(!objects(&origin).contains("hush"));
    // Once it is in a commit, it is everybody's.
    here.git(&["commit", "-qam", "x"]);
    let free = propose(&here, "a.txt", "free\n", &[]);
    is(&here, &free, "pending", "default");
}

/// A patch that touches a private file is private with all that it writes, also where the other file was
/// edited since.
#[test]
fn what_stands_on_a_private_direct_patch_is_private() {
    let Scene { here, origin, .. } = scene();
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
    push(&here, "origin");
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
    assert_eq!(directories(&repo), ["private"]);
}

#[test]
fn a_first_revision_that_stands_on_something_private_stays_here() {
    let Scene { here, origin, .. } = scene();
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
    push(&here, "origin");
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn what_stands_on_what_is_for_the_default_remote_goes_to_no_other() {
    let Scene { here, up, .. } = scene();
    let first = propose(&here, "a.txt", "hush\n", &[]);
    here.aye(&["apply", &first, "--yes"]).ok();
    let next = propose(&here, "a.txt", "hush\nmore\n", &["--private"]);
    here.aye(&["revise", "--public", &next, "--to", "up", "--yes"]).fails("private_path", 4);
    push(&here, "up");
    assert!(!objects(&up).contains("hush"));
    here.git(&["commit", "-qam", "x"]);
    here.aye(&["revise", "--public", &next, "--to", "up", "--yes"]).ok();
    is(&here, &next, "pending", "up");
}

#[test]
fn an_edit_above_something_private_carries_it() {
    let Scene { here, origin, .. } = scene();
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
    push(&here, "origin");
    assert!(!objects(&origin).contains("hush"));
    // Without its lines there is nothing private in the same file.
    here.write("a.txt", lines.replace("\n15\n", "\nmine\n"));
    let free = propose(&here, "a.txt", &lines.replace("\n9\n", "\nnine\n"), &[]);
    is(&here, &free, "pending", "default");
}

#[test]
fn a_decision_goes_back_to_where_the_proposal_came_from() {
    let Scene { here, origin, up } = scene();
    let theirs = clone(&up);
    let id = propose(&theirs, "a.txt", "theirs\n", &["-m", "from up"]);
    let other = propose(&theirs, "b.txt", "theirs\n", &["-m", "from up"]);
    push(&theirs, "origin");
    here.git(&["fetch", "-q", "up"]);
    is(&here, &id, "pending", "up");
    here.aye(&["list"]).ok().says(" up");
    here.aye(&["show", &id]).ok().says(" up");
    here.aye(&["comment", &id, "-m", "hush comment"]).ok();
    here.aye(&["reject", &id, "--yes", "-m", "hush reason"]).ok();
    here.aye(&["apply", &other, "--yes"]).ok();
    let own = propose(&here, "a.txt", "ours\n", &[]);
    is(&here, &id, "rejected", "up");
    is(&here, &other, "applied", "up");
    is(&here, &own, "pending", "default");
    assert_eq!(directories(&here), ["for/up", "log"]);
    push(&here, "origin");
    let sent = objects(&origin);
    assert!(sent.contains("ours") && !sent.contains("hush") && !sent.contains("theirs"));
    push(&here, "up");
    let sent = objects(&up);
    assert!(sent.contains("hush reason") && !sent.contains("ours"));
    theirs.git(&["fetch", "-q", "origin"]);
    is(&theirs, &id, "rejected", "default");
    is(&theirs, &other, "applied", "default");
    // What has been said of it goes on there, whatever becomes of the remote.
    here.git(&["remote", "remove", "up"]);
    is(&here, &id, "rejected", "up");
    here.aye(&["undo", &id, "--yes"]).ok();
    is(&here, &id, "pending", "up");
    // Two that are at one place are one.
    here.git(&["remote", "add", "again", &url(&origin)]);
    follow(&here, "again");
    here.git(&["fetch", "-q", "again"]);
    is(&here, &own, "pending", "default");
}

#[test]
fn every_lane_has_epochs_of_its_own_and_goes_where_it_went() {
    let Scene { here, origin, up } = scene();
    let (theirs, fetched) = from_up(&here, &up, &["-m", "from up"]);
    let hidden = propose(&here, "b.txt", "hush content\n", &["--private"]);
    let own = propose(&here, "b.txt", "ours\n", &[]);
    for id in [&fetched, &hidden, &own] {
        here.aye(&["reject", id, "--yes", "-m", "hush reason"]).ok();
    }
    push(&here, "up");
    let folded = here.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
    folded.says("git push up 'refs/aye/for/up/*:refs/aye/log/*'").lacks("private/*");
    let mut local: Vec<String> = directories(&here);
    for directory in &mut local {
        // The lane's own id.
        if let Some((above, last)) = directory.rsplit_once('/')
            && last.ends_with(".2")
        {
            *directory = format!("{above}/L.2");
        }
    }
    local.sort_unstable();
    let expected =
        ["archive", "archive-for/up", "for/up/L.2", "log/L.2", "private/L.2", "private/archive"];
    assert_eq!(local, expected);
    // What comes later goes on in the same lanes.
    let later = propose(&here, "b.txt", "hush later\n", &["--private"]);
    here.aye(&["undo", &fetched, "--yes"]).ok();
    is(&here, &later, "pending", "private");
    is(&here, &hidden, "rejected", "private");
    is(&here, &fetched, "pending", "up");
    is(&here, &own, "rejected", "default");
    assert_eq!(directories(&here).len(), expected.len());
    push(&here, "origin");
    push(&here, "up");
    let (to_origin, to_up) = (objects(&origin), objects(&up));
    assert!(!to_origin.contains("hush content") && !to_origin.contains("from up"));
    assert!(!to_up.contains("hush content") && !to_up.contains("ours") && !to_up.contains("later"));
    assert!(refs(&up).iter().all(|name| name.starts_with("log/")), "{:?}", refs(&up));
    theirs.git(&["fetch", "-q", "origin"]);
    is(&theirs, &fetched, "pending", "default");
}

#[test]
fn a_proposal_of_a_remote_that_is_gone_is_for_it_still() {
    let Scene { here, up, .. } = scene();
    let (_, id) = from_up(&here, &up, &[]);
    is(&here, &id, "pending", "up");
    here.git(&["remote", "remove", "up"]);
    is(&here, &id, "pending", "up");
    here.aye(&["reject", &id, "--yes", "-m", "hush"]).ok();
    assert_eq!(directories(&here), ["for/up"]);
}

#[test]
fn a_published_proposal_keeps_its_id() {
    let Scene { here, origin, .. } = scene();
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
    here.aye(&["revise", "--public", &id, "--to", "nowhere", "--yes"]).fails("remote_not_found", 3);
    here.aye(&["revise", "--public", &id, "--yes"]).ok();
    here.aye(&["revise", "--public", &id, "--yes"]).fails("not_private", 5);
    // What says otherwise what the revision holds is not passed over.
    for content in [&["-m", "Why"][..], &["a.txt", "--old", "1", "--new", "2"], &["--rebase"]] {
        here.aye(&[&["revise", "--public", &id, "--yes"], content].concat()).fails("usage", 2);
    }
    is(&here, &id, "pending", "default");
    push(&here, "origin");
    let sent = objects(&origin);
    assert!(sent.contains("second") && !sent.contains("hush"), "the draft stays here");
    let theirs = clone(&origin);
    theirs.git(&["fetch", "-q", "origin"]);
    is(&theirs, &id, "pending", "default");
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
    push(&here, "origin");
    theirs.git(&["fetch", "-q", "origin"]);
    theirs.aye(&["diff", &id]).ok().says("+third");
    theirs.aye(&["apply", &theirs.at_revision(&id), "--yes"]).ok();
    push(&theirs, "origin");
    here.git(&["fetch", "-q", "origin"]);
    is(&here, &id, "applied", "default");
    is(&theirs, &id, "applied", "default");
    assert!(!objects(&origin).contains("hush"));
}

/// A lane that was pushed to two remotes, and a clone of each that decides: what is said for the one cannot name what is
/// known of the other.
#[test]
fn what_another_remotes_clone_decided_is_not_said_to_be_settled() {
    let Scene { here, origin, up } = scene();
    let id = propose(&here, "a.txt", "new\n", &[]);
    for (remote, name, word) in [(&origin, "origin", "apply"), (&up, "up", "reject")] {
        here.git(&["push", "-q", name, "refs/aye/log/*"]);
        let theirs = clone(remote);
        theirs.git(&["fetch", "-q", "origin"]);
        theirs.aye(&[word, &id, "--yes"]).ok();
        push(&theirs, "origin");
        here.git(&["fetch", "-q", name]);
    }
    here.aye(&["check"]).exits(1).says("contested");
    here.aye(&["undo", &id, "--rejection", "--yes"]).exits(1);
}

#[test]
fn nothing_is_merged_with_what_is_private() {
    let Scene { here, origin, .. } = scene();
    let lines = |third: &str, last: &str| format!("1\n2\n{third}\n4\n5\n6\n7\n8\n{last}\n");
    here.write("b.txt", lines("3", "9"));
    here.git(&["commit", "-qam", "Lines"]);
    let hidden = propose(&here, "b.txt", &lines("hush", "9"), &["--private"]);
    let public = propose(&here, "b.txt", &lines("3", "nine"), &[]);
    here.aye(&["apply", &hidden, "--yes"]).ok();
    here.aye(&["apply", &public, "--yes"]).fails("private_path", 4);
    assert_eq!(here.text("b.txt"), lines("hush", "9"));
    is(&here, &public, "pending", "default");
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
    push(&here, "origin");
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn a_copy_sees_what_its_original_publishes() {
    let Scene { here, origin, .. } = scene();
    propose(&here, "b.txt", "hush\n", &["--private"]);
    let copy = here.copy();
    copy.write(".git/aye/place.private", here.read(".git/aye/place.private"));
    let id = propose(&here, "a.txt", "after\n", &["--private"]);
    here.aye(&["revise", "--public", &id, "--yes"]).ok();
    push(&here, "origin");
    copy.git(&["fetch", "-q", "origin"]);
    is(&copy, &id, "pending", "default");
    copy.aye(&["reject", &id, "--yes"]).ok();
    propose(&copy, "b.txt", "of the copy\n", &["--private"]);
    is(&copy, &id, "rejected", "default");
    push(&copy, "origin");
    here.git(&["fetch", "-q", "origin"]);
    is(&here, &id, "rejected", "default");
    assert!(!objects(&origin).contains("hush"));
}

#[test]
fn a_proposal_is_published_to_another_remote() {
    let Scene { here, origin, up } = scene();
    let id = propose(&here, "a.txt", "for them\n", &["--private"]);
    here.aye(&["revise", "--public", &id, "--to", "up", "--yes"]).ok().notes("git push up");
    is(&here, &id, "pending", "up");
    push(&here, "origin");
    push(&here, "up");
    assert!(!objects(&origin).contains("for them"));
    let theirs = clone(&up);
    theirs.git(&["fetch", "-q", "origin"]);
    is(&theirs, &id, "pending", "default");
    theirs.aye(&["reject", &id, "--yes"]).ok();
    push(&theirs, "origin");
    here.git(&["fetch", "-q", "up"]);
    is(&here, &id, "rejected", "up");
}

#[test]
fn the_hook_without_aye_asks_for_more_than_the_default_lanes() {
    let Scene { here, .. } = scene();
    here.git(&["config", "aye.hookFailOn", "any"]);
    here.aye(&["hooks", "install"]).ok();
    let public = propose(&here, "b.txt", "B\n", &[]);
    here.aye(&["reject", &public, "--yes"]).ok();
    // A look that finds nothing leaves the stamp.
    here.aye(&["check"]).ok();
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

/// The event of `kind` that `data` and `first` are of, by a hostile lane.
fn publication(
    lane: &mut Hostile<'_>,
    first: &str,
    proposal: &str,
    blob: &str,
    sha: &str,
) -> String {
    let data = serde_json::json!({"original": {"id": blob, "sha256": sha}});
    let text = lane.event("publish", Some(proposal), data);
    let mut event: Value = serde_json::from_str(&text).expect("JSON");
    event["first"] = first.into();
    format!("{event}\n")
}

fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id_of(event: &str) -> String {
    aye::proposal::ProposalId::from_event(event).to_string()
}

#[test]
fn what_is_not_the_first_event_is_not_published() {
    let Scene { here, .. } = scene();
    let mine = propose(&here, "a.txt", "mine\n", &[]);
    let own = here.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/aye/log"]);
    let mut seed = Hostile::new(&here, "elsewhere");
    let good = seed.propose("good.txt", "good");
    let comment = seed.comment(&mine, "x");
    let forged = Hostile::new(&here, &own).propose("forged.txt", "forged");
    let huge = seed.propose("huge.txt", &"x".repeat(2 << 20));
    let mut expected = Vec::new();
    let mut lane = Hostile::new(&here, "publisher");
    let mut tip: Option<String> = None;
    let mut add = |lane: &mut Hostile<'_>, event: String| {
        let parents: Vec<&str> = tip.as_deref().into_iter().collect();
        let next = lane.step(&event, &parents);
        lane.push(&next);
        tip = Some(next);
    };
    // One that this clone's own lane lacks may have been lost with a backup: it is another writer's.
    for (original, counts) in [(&good, true), (&comment, false), (&forged, true), (&huge, false)] {
        let blob = lane.blob(original);
        let id = id_of(&blob);
        let event = publication(&mut lane, &blob, &id, &blob, &sha256(original));
        add(&mut lane, event);
        expected.push((id, counts));
    }
    // Another hash, another proposal, an object that is not there, and something that is no text.
    let other = Hostile::new(&here, "other").propose("other.txt", "other");
    let blob = lane.blob(&other);
    let none = "1".repeat(40);
    let strange = lane.blob("{");
    for (first, id, named, sha) in [
        (&blob, id_of(&blob), &blob, sha256("x")),
        (&blob, mine.clone(), &blob, sha256(&other)),
        (&none, id_of(&none), &none, sha256("x")),
        (&blob, id_of(&blob), &strange, sha256("{")),
        (&strange, id_of(&strange), &strange, sha256("{")),
    ] {
        let event = publication(&mut lane, first, &id, named, &sha);
        add(&mut lane, event);
        expected.push((id.clone(), id == mine));
    }
    for _ in 0..2 {
        for (id, counts) in &expected {
            let run = here.aye(&["show", id, "--json"]);
            match counts {
                true => run.ok(),
                false => run.exits(3),
            };
        }
        here.aye(&["doctor"]).exits(1).says("event");
        here.remove(".git/aye/cache.sqlite");
    }
    is_pending_still(&here, &mine);
    // What comes later counts then.
    let late = Hostile::new(&here, "late").propose("late.txt", "late");
    let id = id_of(&blob_id(&late));
    let event = publication(&mut lane, &blob_id(&late), &id, &blob_id(&late), &sha256(&late));
    add(&mut lane, event);
    here.aye(&["show", &id]).exits(3);
    lane.blob(&late);
    here.aye(&["show", &id]).ok();
}

/// The id that `content` would have as a blob.
fn blob_id(content: &str) -> String {
    let hash =
        gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, content.as_bytes());
    hash.expect("a hash").to_string()
}

fn is_pending_still(repo: &Repo, id: &str) {
    let show = show(repo, id);
    assert_eq!((&show["status"], &show["audience"]), (&"pending".into(), &"default".into()));
    assert_eq!(show["history"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_hook_keeps_lanes_from_other_remotes() {
    let Scene { here, origin, up } = scene();
    let (_, id) = from_up(&here, &up, &[]);
    here.aye(&["reject", &id, "--yes"]).ok();
    propose(&here, "b.txt", "B\n", &["--private"]);
    propose(&here, "b.txt", "B\n", &[]);
    here.aye(&["hooks", "install"]).ok();
    let refuses = |remote: &str, refspec: &str| {
        let run = here.try_git(&["push", "-q", remote, refspec]);
        assert!(run.status != 0 && run.out().contains("lane_not_for_remote"), "{refspec}: {run}");
    };
    let tip = here.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/private"]);
    for remote in ["origin", "up"] {
        refuses(remote, "refs/aye/private/*:refs/aye/log/*");
        refuses(remote, "refs/aye/*:refs/aye/*");
        refuses(remote, "refs/aye/pending/*:refs/heads/*");
        refuses(remote, &format!("{tip}:refs/aye/log/x"));
        refuses(remote, &format!("{tip}:refs/heads/x"));
    }
    refuses("origin", "refs/aye/remotes/up/*:refs/aye/log/*");
    refuses("origin", "refs/aye/for/up/*:refs/aye/log/*");
    push(&here, "origin");
    push(&here, "up");
    here.try_git(&["push", "-q", &url(&up), "refs/aye/for/up/*:refs/aye/log/*"]).ok();
    let run = here.try_git(&["push", "-q", "--mirror", "up"]);
    assert!(run.status != 0 && run.out().contains("lane_not_for_remote"), "{run}");
    assert!(!objects(&origin).contains("theirs"));
}

/// A session's ref has what the checkout held and had not committed.
#[test]
fn the_hook_keeps_what_is_this_clones_own() {
    let Scene { here, origin, .. } = scene();
    here.aye(&["hooks", "install"]).ok();
    here.write("a.txt", "not for them\n");
    here.agent("codex", &["run", "--keep", "--name", "s", "--", "true"]).ok();
    let tip = here.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/session"]);
    for own in ["kept/l", "broken/log/l", "remotes/x/l"] {
        here.git(&["update-ref", &format!("refs/aye/{own}"), tip.trim()]);
    }
    for refspec in [
        "refs/aye/session/s",
        "refs/aye/session/*:refs/heads/*",
        "refs/aye/*:refs/aye/*",
        "refs/aye/kept/*:refs/heads/*",
        "refs/aye/broken/*:refs/broken/*",
        "refs/aye/remotes/x/*:refs/heads/*",
        "main:refs/aye/session/s",
    ] {
        let run = here.try_git(&["push", "-q", "origin", refspec]);
        assert!(run.status != 0 && run.out().contains("lane_not_for_remote"), "{refspec}: {run}");
    }
    let run = here.try_git(&["push", "-q", "--mirror", "origin"]);
    assert!(run.status != 0 && run.out().contains("session/s "), "{run}");
    assert!(!objects(&origin).contains("not for them"));
    here.git(&["config", "--add", "remote.origin.push", "refs/aye/session/*"]);
    here.aye(&["doctor"]).says("refs/aye/session/*");
}

/// What the clones of the other remote alone have decided of a proposal that is not for them.
#[test]
fn a_decision_that_others_have_not_heard_of_is_told() {
    let Scene { here, origin, up } = scene();
    let id = propose(&here, "a.txt", "ours\n", &[]);
    push(&here, "origin");
    let theirs = clone(&up);
    theirs.git(&["fetch", "-q", &url(&origin), "refs/aye/log/*:refs/aye/remotes/origin/*"]);
    theirs.aye(&["reject", &id, "--yes", "-m", "not this"]).ok();
    push(&theirs, "origin");
    here.git(&["fetch", "-q", "up"]);
    here.aye(&["show", &id]).ok().says(" up ");
    assert_eq!(show(&here, &id)["decision_audience"], "up");
    here.aye(&["undo", &id, "--yes"]).ok();
    is(&here, &id, "pending", "default");
    assert_eq!(show(&here, &id)["decision_audience"], Value::Null);
}

#[test]
fn doctor_names_remotes_that_are_gone_or_told_apart_by_nothing() {
    let Scene { here, up, .. } = scene();
    let (_, id) = from_up(&here, &up, &[]);
    here.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    here.aye(&["doctor"]).ok().lacks("warning");
    here.git(&["remote", "rename", "up", "there"]);
    here.aye(&["doctor"]).ok().says("git remote add up");
    // As it says.
    here.git(&["remote", "add", "up", &url(&up)]);
    here.aye(&["hooks", "install"]).ok();
    here.aye(&["doctor"]).ok().lacks("git remote add");
    push(&here, "up");
    here.git(&["remote", "rename", "origin", "upstream"]);
    here.aye(&["doctor"]).ok().says("git config aye.remote NAME");
    here.git(&["config", "aye.remote", "upstream"]);
    here.aye(&["doctor"]).ok().lacks("warning");
}

/// What was said while another remote was the default one goes with no other lane.
#[test]
fn doctor_names_what_is_not_sent_to_the_default_remote() {
    let Scene { here, origin, up: _up } = scene();
    let (theirs, id) = from_up(&here, &origin, &[]);
    here.git(&["fetch", "-q", "origin"]);
    here.git(&["config", "aye.remote", "up"]);
    here.aye(&["comment", &id, "-m", "wait"]).ok();
    here.aye(&["doctor"]).ok().lacks(" sent");
    here.git(&["config", "--unset", "aye.remote"]);
    here.aye(&["apply", &id, "--yes"]).ok();
    let out = here.aye(&["doctor"]).ok().says("'origin'").out();
    let warning = out.lines().find(|line| line.contains(" sent")).expect("a warning");
    let (_, command) = warning.rsplit_once("; ").expect("a command");
    here.program("sh").args(&["-c", command]).run().ok();
    here.aye(&["doctor"]).ok().lacks(" sent");
    theirs.git(&["fetch", "-q", "origin"]);
    is(&theirs, &id, "applied", "default");
}

/// `git remote rename` leaves the refspecs of lanes as they are.
#[test]
fn doctor_names_what_would_fetch_as_another_remote() {
    let here = scene().here;
    for (from, to) in [("origin", "fork"), ("up", "origin")] {
        here.git(&["remote", "rename", from, to]);
    }
    let wrong = "remote.fork.fetch is +refs/aye/log/*:refs/aye/remotes/origin/*";
    let out = here.aye(&["doctor"]).ok().says(wrong).out();
    let warning = out.lines().find(|line| line.contains(wrong)).expect("a warning");
    let (_, commands) = warning.rsplit_once("; ").expect("commands");
    here.program("sh").args(&["-c", commands]).run().ok();
    here.aye(&["doctor"]).ok().lacks(wrong);
    let now = here.git(&["config", "--get-all", "remote.fork.fetch"]);
    assert!(now.contains("refs/aye/remotes/fork/*") && !now.contains("remotes/origin"), "{now}");
}

#[test]
fn doctor_names_what_would_push_private_lanes() {
    let Scene { here, .. } = scene();
    propose(&here, "b.txt", "B\n", &[]);
    here.git(&["config", "remote.up.mirror", "true"]);
    here.aye(&["doctor"]).ok().says("warning: remote.up.mirror ");
    propose(&here, "b.txt", "B\n", &["--private"]);
    here.git(&["config", "--add", "remote.origin.push", "refs/heads/*"]);
    here.git(&["config", "--add", "remote.origin.push", "+refs/aye/*:refs/aye/*"]);
    let run = here.aye(&["doctor"]).exits(1);
    let run = run.says("private_lane_pushed: remote.up.mirror ");
    run.says("private_lane_pushed: remote.origin.push ").lacks("refs/heads");
}

#[test]
fn doctor_names_what_would_fetch_over_own_lanes() {
    let here = scene().here;
    here.aye(&["doctor"]).ok().lacks("warning");
    let all = || here.git(&["config", "--get-all", "remote.origin.fetch"]);
    let right = "+refs/aye/log/*:refs/aye/remotes/origin/*";
    for wrong in ["+refs/aye/log/*:refs/aye/log/*", "+refs/aye/*:refs/aye/*"] {
        // Beside the right one, and instead of it.
        for (flag, kept) in [("--add", all()), ("--replace-all", format!("{right}\n"))] {
            if flag == "--replace-all" {
                here.git(&["config", "--unset-all", "remote.origin.fetch"]);
            }
            here.git(&["config", "--add", "remote.origin.fetch", wrong]);
            let run = here.aye(&["doctor"]).ok();
            let out = run.out();
            let said = format!("warning: remote.origin.fetch is {wrong}");
            let warning = out.lines().find(|line| line.starts_with(&said));
            let warning = warning.unwrap_or_else(|| panic!("{run}"));
            // As it says.
            let (_, commands) = warning.rsplit_once("; ").expect("commands");
            here.program("sh").args(&["-c", commands]).run().ok();
            assert_eq!(all().trim(), kept.trim());
            here.aye(&["doctor"]).ok().lacks("warning");
        }
    }
}

/// What such a fetch has taken back is named, kept from git's prune, and brought back as it is said.
#[test]
fn an_own_lane_that_was_taken_back_is_named_and_kept() {
    let Scene { here, origin: _server, .. } = scene();
    here.git(&["config", "--add", "remote.origin.fetch", "+refs/aye/log/*:refs/aye/log/*"]);
    let first = propose(&here, "a.txt", "A\n", &[]);
    push(&here, "origin");
    let second = propose(&here, "b.txt", "B\n", &[]);
    here.aye(&["apply", &first, "--yes"]).ok();
    here.git(&["fetch", "-q", "origin"]);
    is(&here, &first, "pending", "default");
    here.aye(&["show", &second]).fails("proposal_not_found", 3);
    // No repair makes the loss final.
    here.aye(&["doctor", "--repair"]).exits(1).says("lane_rewound");
    here.git(&["-c", "gc.pruneExpire=now", "gc", "-q"]);
    let run = here.aye(&["doctor"]).exits(1).says("lane_rewound");
    let out = run.out();
    let command = out.lines().find_map(|line| line.strip_prefix("hint: bring it back: "));
    let command = command.unwrap_or_else(|| panic!("{run}"));
    here.program("sh").args(&["-c", command]).run().ok();
    is(&here, &first, "applied", "default");
    is(&here, &second, "pending", "default");
    here.aye(&["doctor", "--repair"]).ok().lacks("lane_rewound");
}

#[test]
fn deinit_removes_the_lanes_of_all_audiences() {
    let Scene { here, up, .. } = scene();
    let (_, id) = from_up(&here, &up, &[]);
    here.aye(&["reject", &id, "--yes"]).ok();
    propose(&here, "b.txt", "B\n", &["--private"]);
    propose(&here, "b.txt", "B\n", &[]);
    assert_eq!(directories(&here), ["for/up", "log", "private"]);
    here.aye(&["init", "--remove", "--dry-run"]).ok();
    here.aye(&["init", "--remove", "--yes"]).ok();
    assert_eq!(refs(&here), [""; 0]);
    assert!(!here.exists(".git/aye"));
}

/// What is done next; the number picks a proposal.
#[derive(Clone, Debug)]
enum Step {
    Propose { private: bool },
    Theirs { up: bool },
    Fetch,
    Comment(usize),
    Decide(usize, u8),
    Publish(usize, bool),
    Push,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => any::<bool>().prop_map(|private| Step::Propose { private }),
        2 => any::<bool>().prop_map(|up| Step::Theirs { up }),
        2 => Just(Step::Fetch),
        3 => any::<usize>().prop_map(Step::Comment),
        4 => (any::<usize>(), 0..5_u8).prop_map(|(which, how)| Step::Decide(which, how)),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, up)| Step::Publish(which, up)),
        1 => Just(Step::Push),
    ];
    proptest::collection::vec(step, 10..24)
}

/// Every text of a lane of `here` and what its commits attach, by audience.
fn said(here: &Repo) -> Vec<(String, String)> {
    let local = ["refs/aye/log", "refs/aye/private", "refs/aye/for"];
    let list = here.git(&[&["for-each-ref", "--format=%(refname)"], &local[..]].concat());
    let mut found = Vec::new();
    for name in list.lines() {
        let (above, _) = name.rsplit_once('/').expect("a lane");
        let audience = above.trim_start_matches("refs/aye/").to_owned();
        for commit in here.git(&["rev-list", name]).lines() {
            let mut text = here.git(&["cat-file", "commit", commit]);
            // Its parents are of its own lane.
            let (_, rest) = text.split_once("\nauthor").expect("a commit");
            text = rest.to_owned();
            for line in here.git(&["ls-tree", "-r", commit]).lines() {
                let id = line.split([' ', '\t']).nth(2).expect("an id");
                text += &here.git(&["cat-file", "blob", id]);
            }
            found.push((audience.clone(), text));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn no_audience_hears_of_another(steps in steps()) {
        let Scene { here, origin, up } = scene();
        let (at_origin, at_up) = (clone(&origin), clone(&up));
        let mut made: Vec<String> = Vec::new();
        // A word, and whom it may reach.
        let mut words: Vec<(String, BTreeSet<&str>)> = Vec::new();
        let only = |whom: &str| -> BTreeSet<&'static str> {
            match whom {
                "default" => BTreeSet::from(["log"]),
                "up" => BTreeSet::from(["for/up"]),
                _ => BTreeSet::new(),
            }
        };
        let audience = |id: &str| show(&here, id)["audience"].as_str().expect("a word").to_owned();
        for (at, step) in steps.into_iter().enumerate() {
            let (word, file) = (format!("word{at}."), format!("f{at}.txt"));
            match step {
                Step::Propose { private } => {
                    let more: &[&str] = if private { &["--private"] } else { &[] };
                    made.push(propose(&here, &file, &word, more));
                    words.push((word, only(if private { "private" } else { "default" })));
                }
                Step::Theirs { up } => {
                    let them = if up { &at_up } else { &at_origin };
                    made.push(propose(them, &file, &word, &[]));
                    push(them, "origin");
                    words.push((word, only(if up { "up" } else { "default" })));
                }
                Step::Fetch => _ = here.git(&["fetch", "-q", "--all"]),
                Step::Push => {
                    push(&here, "origin");
                    push(&here, "up");
                }
                Step::Comment(which) | Step::Decide(which, _) | Step::Publish(which, _) => {
                    let Some(id) = made.get(which % made.len().max(1)).cloned() else { continue };
                    if here.aye(&["show", &id]).status != 0 {
                        continue;
                    }
                    let whom = audience(&id);
                    words.push((word.clone(), only(&whom)));
                    match step {
                        Step::Comment(_) => _ = here.aye(&["comment", &id, "-m", &word]),
                        Step::Decide(_, how) => {
                            let run = match how {
                                0 => here.aye(&["apply", &id, "--yes"]),
                                1 => here.aye(&["reject", &id, "--yes", "-m", &word]),
                                2 => here.aye(&["undo", &id, "--yes", "--rejection"]),
                                3 => here.aye(&["undo", &id, "--yes"]),
                                _ => here.aye(&["approve", &id, "--yes", "-m", &word]),
                            };
                            prop_assert!(run.status < 6, "{}", run);
                        }
                        _ => {
                            let to = if matches!(step, Step::Publish(_, true)) { "up" } else { "default" };
                            let run = here.aye(&["revise", "--public", &id, "--to", to, "--yes"]);
                            prop_assert!(run.status < 6, "{}", run);
                            if run.status == 0 {
                                // A file bears the number of its word.
                                let first = show(&here, &id)["file_path"].as_str().expect("a path").to_owned();
                                let word = first.replace('f', "word").replace(".txt", ".");
                                for (known, reach) in &mut words {
                                    if *known == word {
                                        reach.extend(only(to));
                                    }
                                }
                            }
                        }
                    }
                    if !matches!(step, Step::Publish(..)) {
                        prop_assert_eq!(audience(&id), whom);
                    }
                }
            }
        }
        push(&here, "origin");
        push(&here, "up");
        let said = said(&here);
        let mut lanes: Vec<(String, String, String)> = Vec::new();
        for line in here.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/aye/log", "refs/aye/private", "refs/aye/for", "refs/aye/remotes"]).lines() {
            let (name, _) = line.split_once(' ').expect("a ref");
            let (above, lane) = name.rsplit_once('/').expect("a lane");
            let whom = match above.trim_start_matches("refs/aye/") {
                "remotes/origin" => "log",
                "remotes/up" => "for/up",
                local => local,
            };
            for commit in here.git(&["rev-list", name]).lines() {
                lanes.push((whom.to_owned(), lane.to_owned(), commit.to_owned()));
            }
        }
        for (audience, text) in &said {
            for (whom, lane, commit) in lanes.iter().filter(|(whom, ..)| whom != audience) {
                prop_assert!(!text.contains(commit), "{audience} names a commit of {whom}: {text}");
                // A publication says where its first event was.
                let published = text.contains("\"kind\":\"publish\"");
                prop_assert!(published || !text.contains(lane), "{audience} names {whom}: {text}");
            }
        }
        for (remote, whom) in [(&origin, "log"), (&up, "for/up")] {
            let sent = objects(remote);
            for (word, reach) in &words {
                prop_assert!(reach.contains(whom) || !sent.contains(word), "{word} reached {whom}");
            }
        }
        // The same with a cold cache.
        let list = || here.aye(&["list", "--status", "all", "--json"]).ok().json();
        let warm = list();
        // Where nobody was heard of there is none.
        if here.exists(".git/aye/cache.sqlite") {
            here.remove(".git/aye/cache.sqlite");
        }
        prop_assert_eq!(list(), warm);
        here.aye(&["doctor"]).lacks("cache_tampered").lacks("event_rejected");
    }
}

/// What another remote's lanes are kept below is the place of no lane.
#[test]
fn a_lane_that_is_called_as_a_remote_is_kept_beside_its_lanes() {
    let Scene { here, origin, up } = scene();
    let machine = clone(&origin);
    let named = machine.user_config(&[("aye.lane", "up")]);
    let args = ["propose", "b.txt", "--old", "b", "--new", "by a machine", "-q"];
    let id = machine.cmd(&args).env("CI", "1").env("GIT_CONFIG_GLOBAL", named).run().ok().id();
    push(&machine, "origin");
    here.git(&["fetch", "-q", "origin"]);
    is(&here, &id, "pending", "default");
    let (_, other) = from_up(&here, &up, &[]);
    is(&here, &other, "pending", "up");
    let lanes = up.git(&["for-each-ref", "--format=delete %(refname)", "refs/aye"]) + "\n";
    up.program("git").args(&["update-ref", "--stdin"]).stdin(lanes).run().ok();
    here.git(&["fetch", "-q", "--prune", "up"]);
    assert!(!refs(&here).iter().any(|name| name.starts_with("remotes/up/")));
    is(&here, &other, "pending", "up");
}
