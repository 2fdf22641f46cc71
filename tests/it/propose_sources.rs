//! Proposing patches, uncommitted changes and commits; revising and rebasing with them.

use crate::support::{Repo, Run};

const FIX: &str = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n";

#[test]
fn a_patch_becomes_a_proposal_that_git_can_apply_again() {
    let repo = Repo::with(&[("a", &b"one\ntwo\n"[..]), ("gone", b"x\n"), ("bin", b"\0one")]);
    let patch = format!(
        "{FIX}--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
         --- /dev/null\n+++ b/with space/ü\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
    );
    let id = repo.aye_stdin(&["propose", "--patch", "-", "-m", "Shout"], patch).ok().id();
    assert_eq!(repo.text("a"), "one\ntwo\n");
    let printed = repo.aye(&["diff", "--patch", &id]).ok().stdout;
    repo.aye(&["apply", "--yes", &id]).ok();
    let ours = repo.snapshot();
    repo.git(&["checkout", "-q", "."]);
    repo.remove("with space/ü");
    let run = repo.program("git").args(&["apply", "-"]).stdin(printed).run();
    run.ok();
    assert_eq!(repo.snapshot(), ours);
}

/// A patch that fits in another way than it is written is taken, and whoever proposes it hears how it fits, as from
/// `aye patch`.
#[test]
fn how_a_proposed_patch_was_matched_is_said() {
    let code = "def f(x):\n    y = x\n    return y\n";
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-y = x\n+y = x + 1\n*** End Patch\n";
    let repo = Repo::with(&[("a.py", code), ("b", "0\n0\none\ntwo\n")]);
    let note = "note: a.py, hunk 1: line 2, matched but for blanks";
    repo.aye_stdin(&["propose", "--patch", "-"], patch).ok().notes(note);
    let run = repo.aye_stdin(&["propose", "--patch", "-", "--json"], patch).ok();
    let hunks = |answer: &serde_json::Value| answer["adapted"][0]["hunks"].clone();
    let expected = repo.aye_stdin(&["patch", "--dry-run", "--json"], patch).ok().json();
    assert_eq!(hunks(&run.json())[0]["matched"], "blanks");
    assert_eq!(run.json()["adapted"], expected["files"]);
    let tool = |name: &str, arguments: serde_json::Value| {
        repo.agent("codex", &["call", name, &arguments.to_string(), "--json"]).ok().json()
    };

    let at = |line: usize| {
        let header = format!("@@ -{line},2 +{line},2 @@");
        FIX.replace("a/a", "a/b").replace("b/a", "b/b").replace("@@ -1,2 +1,2 @@", &header)
    };
    let moved = at(2);
    let answer = tool("apply_patch", serde_json::json!({ "patch": moved, "propose": true }));
    assert_eq!(answer["files"][0]["hunks"][0]["offset"], 1);
    let id = answer["proposal_id"].as_str().expect("an id").to_owned();
    let other = moved.replace("TWO", "zwei");
    let answer = tool("revise", serde_json::json!({ "proposal_id": id, "patch": other }));
    assert_eq!(hunks(&answer)[0]["offset"], 1);
    repo.cmd(&["revise", &id, "--patch", "-"])
        .env("AYE_AGENT", "codex")
        .stdin(moved)
        .run()
        .ok()
        .notes("offset +1");
    // What fits as written is not mentioned.
    let run = repo.aye_stdin(&["propose", "--patch", "-", "--json"], at(3)).ok();
    assert!(run.json().get("adapted").is_none());
}

#[test]
fn an_applied_patch_is_nothing_to_propose() {
    let repo = Repo::with(&[("a", "one\nTWO\n")]);
    repo.aye_stdin(&["propose", "--patch", "-"], FIX).fails("already_applied", 1);
}

/// Whoever has edited the files pipes `git diff`, which is in them by then.
#[test]
fn what_git_diff_prints_is_proposed_by_paths() {
    let repo = Repo::with(&[("a", "one\ntwo\n"), ("b c", "x\n")]);
    repo.write("a", "one\nTWO\n");
    repo.write("b c", "y\n");
    let patch = repo.git(&["diff"]) + "\n";
    let hint = "aye propose --worktree a 'b c'";
    repo.aye_stdin(&["propose", "--patch", "-"], &patch).fails("already_applied", 1).notes(hint);
    repo.aye(&["propose", "--worktree", "a", "b c", "-m", "why"]).ok();
    assert_eq!(repo.text("a"), "one\ntwo\n");
}

#[test]
fn what_is_uncommitted_is_proposed_and_taken_back() {
    let repo =
        Repo::with(&[("a", "one\ntwo\n"), ("gone", "x\n"), ("staged", "1\n"), ("dir/k", "k\n")]);
    repo.write("a", "one\nTWO\n");
    repo.remove("gone");
    repo.write("staged", "2\n");
    repo.git(&["add", "staged"]);
    repo.write("new/file", "new\n");
    repo.write("new/added", "added\n");
    repo.git(&["add", "new/added"]);
    let changed = repo.snapshot();
    let id = repo.aye(&["propose", "-m", "So far", "--worktree"]).ok().id();
    assert_eq!(repo.git(&["status", "--porcelain"]), "AD new/added\nMM staged");
    assert_eq!(repo.text("a"), "one\ntwo\n");
    assert!(!repo.exists("new/file") && repo.exists("gone"));
    repo.aye(&["apply", "--yes", &id]).ok();
    let without = |files: Vec<(String, Vec<u8>)>| -> Vec<_> {
        files.into_iter().filter(|(name, _)| !name.starts_with(".agent-memory")).collect()
    };
    assert_eq!(without(repo.snapshot()), without(changed));
}

/// What was applied is the person's by now; what another agent adds is all that it proposes.
#[test]
fn what_was_applied_and_is_not_committed_stays() {
    let repo = Repo::with(&[("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("b", "b\n")]);
    for (old, new) in [("3\n", "three\n"), ("5\n", "five\n")] {
        let first = repo.agent("one", &["propose", "a", "--old", old, "--new", new]).ok().id();
        repo.aye(&["apply", "--yes", &first]).ok();
    }
    let created = repo.agent("one", &["propose", "new", "--old", "", "--new", "n\n"]).ok().id();
    repo.aye(&["apply", "--yes", &created]).ok();
    let deleted = repo.agent("one", &["propose", "b", "--delete"]).ok().id();
    repo.aye(&["apply", "--yes", &deleted]).ok();
    let applied = repo.text("a");
    repo.agent("two", &["propose", "--worktree", "."]).fails("no_change", 6);
    repo.write("a", applied.replace("9\n", "nine\n"));
    repo.write("new", "n\nmore\n");
    repo.write("b", "back\n");
    let run = repo.agent("two", &["propose", "--worktree", "a", "new", "b", "--json"]).ok();
    let answer = run.json();
    assert_eq!(answer["put_back"], serde_json::json!(["a", "b", "new"]));
    assert_eq!(repo.text("a"), applied);
    assert_eq!(repo.text("new"), "n\n");
    assert!(!repo.exists("b"));
    let second = answer["proposal_id"].as_str().expect("an id").to_owned();
    let diff = repo.aye(&["diff", &second, "--patch"]).ok().out();
    assert!(diff.contains("+nine") && !diff.contains("three") && !diff.contains("+n\n"), "{diff}");
    // Once it is committed HEAD is the base again.
    repo.commit("All of it");
    repo.write("a", applied.replace("three\n", "3\n"));
    let third = repo.agent("two", &["propose", "--worktree", "a"]).ok().id();
    assert_eq!(repo.text("a"), applied);
    repo.aye(&["apply", "--yes", &third]).ok();
    assert_eq!(repo.text("a"), applied.replace("three\n", "3\n"));
}

#[test]
fn what_was_put_back_is_brought_back_by_a_patch() {
    let repo = Repo::with(&[("a", "1\n2\n3\n4\n5\n"), ("b", "b\n")]);
    repo.write("a", "1\n2\n3\n4\n5\nagent\n");
    repo.write("b", "b\nMY OWN WORK\n");
    repo.agent("codex", &["propose", "--worktree"]).fails("pathspec_required", 2);
    repo.agent("codex", &["propose", "--keep"]).fails("pathspec_required", 2);
    let run = repo.agent("codex", &["propose", "--worktree", "a", "b"]).ok();
    assert!(run.out().contains("  reverted  a\n  reverted  b\n"), "{run}");
    run.clone().notes("aye diff prop_");
    let id = run.ok().id();
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    repo.write("a", "zero\n1\n2\n3\n4\n5\n");
    repo.bring_back(&id);
    assert_eq!(repo.text("a"), "zero\n1\n2\n3\n4\n5\nagent\n");
    assert_eq!(repo.text("b"), "b\nMY OWN WORK\n");
    assert_eq!(repo.item(&id)["status"], "rejected");
}

#[test]
fn what_stays_staged_is_named_and_the_command_unstages_it() {
    let repo = Repo::with(&[("a", "1\n"), ("b b", "1\n"), ("c", "1\n"), ("d/k", "k\n")]);
    for name in ["a", "b b"] {
        repo.write(name, "2\n");
    }
    repo.write("new", "first\n");
    repo.git(&["add", "a", "b b", "new"]);
    repo.git(&["add", "--intent-to-add", "."]);
    repo.write("a", "3\n");
    repo.write("new", "second\n");
    repo.write("c", "2\n");
    let run = repo.cmd(&["propose", "--worktree", ":/"]).dir(repo.path("d")).run().ok();
    let said = run.err();
    let notes: Vec<&str> = said.lines().filter(|line| line.contains(" staged")).collect();
    let named: Vec<_> = notes.iter().map(|line| line.split(" stays").next().unwrap()).collect();
    assert_eq!(named, ["note: a", "note: b b", "note: new"], "{said}");
    for line in notes {
        let command = line.split('`').nth(3).expect("a command");
        repo.program("sh").args(&["-c", command]).dir(repo.path("d")).run().ok();
    }
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");
}

/// `git ls-files -s` and the state of what is proposed by nobody, before and after each form of `propose`.
#[test]
fn no_form_of_propose_changes_the_index() {
    let patch = "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-p\n+P\n";
    let forms: [&[&str]; 14] = [
        &["propose", "p", "--old", "p", "--new", "P"],
        &["propose", "p", "--content", "P\n"],
        &["propose", "p", "--delete"],
        &["propose", "fresh", "--content", "new\n"],
        &["propose", "--from-json", "../edits.json"],
        &["propose", "--patch", "../p.patch"],
        &["propose", "--commit", "HEAD"],
        &["propose", "--range", "HEAD~1..HEAD"],
        &["propose", "--keep", "f", "staged", "both", "new", "added", "gone"],
        &["propose", "--worktree", "f", "staged", "both", "new", "added", "gone"],
        &["propose", "--worktree", "applied"],
        &[
            "propose", "--since", "HEAD", "--keep", "f", "staged", "both", "new", "added", "gone",
            "applied",
        ],
        &[
            "propose", "--since", "HEAD", "--worktree", "f", "staged", "both", "new", "added",
            "gone",
        ],
        &["revise", "ID", "--worktree", "f", "staged", "applied"],
    ];
    let scene = Repo::with(&[
        ("f", "f\n"),
        ("staged", "1\n"),
        ("both", "1\n"),
        ("p", "p\n"),
        ("gone", "x\n"),
        ("applied", "a\nb\n"),
        ("other", "o\n"),
    ]);
    scene.write("f", "ff\n");
    scene.commit("More");
    let own = scene.agent("codex", &["propose", "applied", "--old", "b", "--new", "B"]).ok();
    scene.aye(&["apply", &own.id(), "--yes"]).ok();
    // A person's and an agent's.
    let pending = [("", "Q"), ("codex", "R")].map(|(by, new)| {
        let args = ["propose", "p", "--old", "p", "--new", new, "-q"];
        scene.cmd(&args).env("AYE_AGENT", by).run().ok().id()
    });
    for (name, text) in [("staged", "2\n"), ("both", "2\n"), ("added", "a\n"), ("other", "O\n")] {
        scene.write(name, text);
    }
    scene.git(&["add", "staged", "both", "added"]);
    scene.write("applied", "a\nB\nmine\n");
    for (name, text) in [("both", "3\n"), ("f", "F\n"), ("new", "n\n"), ("untracked", "u\n")] {
        scene.write(name, text);
    }
    scene.remove("gone");
    scene.write("../p.patch", patch);
    let edits = r#"{"edits": [{"file_path": "p", "old_content": "p", "new_content": "P"}]}"#;
    scene.write("../edits.json", edits);
    for (at, form) in forms.into_iter().enumerate() {
        let repo = scene.copy();
        let state = || {
            let untouched = ["status", "--porcelain", "--", "p", "other", "untracked"];
            (repo.git(&["ls-files", "-s"]), repo.git(&untouched), repo.git(&["rev-parse", "HEAD"]))
        };
        let before = state();
        let args: Vec<&str> =
            form.iter().map(|word| if *word == "ID" { &pending[at % 2] } else { *word }).collect();
        let args = [&args[..], &["-m", "why"]].concat();
        // In turn by a person and by an agent.
        let run = repo.cmd(&args).env("AYE_AGENT", ["", "codex"][at % 2]).run().ok();
        assert_eq!(state(), before, "{run}");
        // Nor is anything said of the index that is not so.
        let said = run.err();
        let noted = said.lines().filter_map(|line| line.strip_prefix("note: "));
        let noted: Vec<_> =
            noted.filter_map(|line| Some(line.split_once(" stays staged")?.0)).collect();
        let puts_back = !form.contains(&"--keep") && form.contains(&"staged");
        let expected: Vec<&str> = ["added", "both", "staged"]
            .into_iter()
            .filter(|name| puts_back && form.contains(name))
            .collect();
        assert_eq!(noted, expected, "{run}");
    }
}

#[test]
fn only_some_paths_are_proposed_and_kept_on_request() {
    let repo = Repo::with(&[("a", "1\n"), ("dir/b", "1\n")]);
    repo.write("a", "2\n");
    repo.write("dir/b", "2\n");
    let id = repo.aye(&["propose", "--keep", "dir"]).ok().id();
    assert_eq!((repo.text("a").as_str(), repo.text("dir/b").as_str()), ("2\n", "2\n"));
    repo.aye(&["diff", "--name-only", &id]).ok().says("dir/b");
    assert!(!repo.aye(&["diff", "--name-only", &id]).ok().out().contains("a\n"));
}

#[test]
fn worktree_takes_a_pathspec_as_git_add_does() {
    let base = Repo::with(&[("a", "1\n"), ("d/b", "1\n"), ("d/e/c.txt", "1\n"), ("gone", "1\n")]);
    for path in ["a", "d/b", "d/e/c.txt", "d/new"] {
        base.write(path, "2\n");
    }
    base.remove("gone");
    let everything = "a d/b d/e/c.txt d/new gone";
    let top = base.root().to_str().unwrap().to_owned();
    for (directory, spec, files) in [
        ("", &["."][..], everything),
        ("", &["*"], everything),
        ("", &["d/"], "d/b d/e/c.txt d/new"),
        ("", &["./d/../d"], "d/b d/e/c.txt d/new"),
        ("", &["*.txt", "a"], "a d/e/c.txt"),
        ("", &[".", ":!d"], "a gone"),
        ("", &["gone"], "gone"),
        ("d", &["."], "d/b d/e/c.txt d/new"),
        ("d", &[".."], everything),
        ("d", &["../a", "new"], "a d/new"),
        ("d/e", &[":/a"], "a"),
        ("d", &["@/d/e"], "d/e/c.txt"),
        ("d", &["@/"], everything),
    ] {
        let repo = base.copy();
        let root = repo.root().to_str().unwrap().to_owned();
        let specs: Vec<String> = spec.iter().map(|spec| spec.replace('@', &root)).collect();
        let mut args = vec!["propose", "--json", "--worktree"];
        args.extend(specs.iter().map(String::as_str));
        let run = repo.cmd(&args).dir(repo.path(directory)).run().ok();
        assert_eq!(listed(&run), files, "{directory} {spec:?}");
        let left = repo.git(&["status", "--porcelain", "--untracked-files=all"]);
        assert_eq!(left.is_empty(), files == everything, "{directory} {spec:?}\n{left}");
    }
    let before = base.git(&["status", "--porcelain"]);
    base.aye(&["propose", "--worktree", "a", "nope"]).fails("file_not_found", 3).notes("'nope'");
    base.aye(&["propose", "--worktree", "x*y"]).fails("file_not_found", 3).notes("'x*y'");
    base.aye(&["propose", "--worktree", "../out"]).fails("path_invalid", 6).notes("outside");
    base.aye(&["propose", "--worktree", &format!("{top}x")]).fails("path_invalid", 6);
    assert_eq!(base.git(&["status", "--porcelain"]), before);
    base.git(&["checkout", "-q", "HEAD", "a"]);
    base.aye(&["propose", "--worktree", "a"]).fails("no_change", 6);
}

/// The files of an answer in JSON, in one line.
fn listed(run: &Run) -> String {
    let json = run.json();
    let files = json["files"].as_array().expect("files");
    files.iter().map(|file| file.as_str().expect("a path")).collect::<Vec<_>>().join(" ")
}

/// As of `aye propose --keep` and of a session: a link, such as that of a virtual environment, keeps nothing else back.
#[test]
fn a_symlink_stays_as_it_is() {
    let repo = Repo::with(&[("a", "one\n")]);
    repo.symlink("/usr", "venv");
    repo.aye(&["propose", "--worktree"]).fails("no_change", 6).notes("venv");
    repo.write("a", "two\n");
    let run = repo.agent("codex", &["propose", "--worktree", ".", "--json"]).ok();
    assert_eq!(run.json()["files"], serde_json::json!(["a"]));
    assert_eq!(std::fs::read_link(repo.path("venv")).expect("the link").to_str(), Some("/usr"));
    // Nor one that is staged, or was committed and leads elsewhere now.
    let is_left_out = || {
        repo.write("a", "two\n");
        let run = repo.aye(&["propose", "--worktree", "--json"]).ok().notes("venv");
        assert_eq!(run.json()["files"], serde_json::json!(["a"]));
    };
    repo.git(&["add", "venv"]);
    is_left_out();
    repo.git(&["commit", "-q", "-m", "A link"]);
    repo.remove("venv");
    repo.symlink("/etc", "venv");
    is_left_out();
}

/// What git would keep as three versions cannot go back to HEAD without loss.
#[test]
fn a_merge_that_is_not_settled_is_left_alone() {
    let repo = Repo::with(&[("f", "base\n"), ("g", "g\n")]);
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("f", "other\n");
    repo.commit("Other");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("f", "main\n");
    repo.commit("Main");
    repo.try_git(&["merge", "--quiet", "other"]);
    repo.write("g", "G\n");
    let before = (repo.snapshot(), repo.git(&["ls-files", "--stage"]));
    for args in [&["propose", "--worktree"][..], &["propose", "--worktree", "f"]] {
        repo.aye(args).fails("unmerged", 5);
    }
    assert_eq!((repo.snapshot(), repo.git(&["ls-files", "--stage"])), before);
    let run = repo.aye(&["propose", "--worktree", "g", "--json"]).ok();
    assert_eq!(listed(&run), "g");
    assert_eq!(repo.git(&["ls-files", "--stage"]), before.1);
}

#[test]
fn what_a_merge_has_brought_is_not_taken_back_from_it() {
    let repo = Repo::with(&[("f", "f\n"), ("g", "g\n"), ("h", "h\n")]);
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("f", "topic\n");
    repo.commit("Topic");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("g", "main\n");
    repo.commit("Main");
    repo.git(&["merge", "-q", "--no-commit", "topic"]);
    repo.write("h", "mine\n");
    // The merge would be committed without what it merges.
    repo.aye(&["propose", "--worktree"]).fails("unmerged", 5);
    assert_eq!(repo.git(&["status", "--short"]), "M  f\n M h");
    repo.aye(&["propose", "--worktree", "h"]).ok();
    repo.aye(&["propose", "--keep", "-m", "The merge"]).ok();
    assert_eq!(repo.git(&["status", "--short"]), "M  f");
}

/// Nor from what else git goes on with, nor since a commit.
#[test]
fn what_git_is_in_the_middle_of_is_not_taken_back() {
    for how in [&["merge", "-q", "side"][..], &["rebase", "-q", "side"], &["cherry-pick", "side"]] {
        let repo = Repo::with(&[("f", "f\n"), ("g", "g\n")]);
        repo.git(&["checkout", "-q", "-b", "side"]);
        repo.write("f", "side\n");
        repo.commit("Side");
        repo.git(&["checkout", "-q", "main"]);
        repo.write("f", "main\n");
        repo.commit("Main");
        repo.try_git(how);
        for since in [&[][..], &["--since", "HEAD"]] {
            for source in ["--keep", "--worktree"] {
                let args = [&["propose", source, "f", "-m", "Mine"], since].concat();
                repo.aye(&args).fails("unmerged", 5);
            }
        }
        repo.write("f", "both\n");
        repo.git(&["add", "f"]);
        let before = (repo.snapshot(), repo.git(&["ls-files", "--stage"]));
        for since in [&[][..], &["--since", "HEAD"]] {
            let args = [&["propose", "--worktree", "f"], since].concat();
            repo.aye(&args).fails("unmerged", 5);
        }
        assert_eq!((repo.snapshot(), repo.git(&["ls-files", "--stage"])), before, "{how:?}");
        // What has nothing to do with it may be.
        repo.write("g", "G\n");
        repo.aye(&["propose", "--worktree", "g"]).ok();
        assert_eq!(repo.git(&["status", "--short"]), "M  f", "{how:?}");
    }
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_proposed_as_deleted() {
    let repo = Repo::with(&[("in/f", "f\n"), ("out/g", "g\n")]);
    repo.git(&["sparse-checkout", "set", "in"]);
    let blob = repo.program("git").args(&["hash-object", "-w", "--stdin"]).stdin("G\n").run();
    let entry = format!("100644,{},out/g", blob.ok().out().trim());
    repo.git(&["update-index", "--cacheinfo", &entry]);
    repo.git(&["update-index", "--skip-worktree", "out/g"]);
    repo.write("in/f", "F\n");
    let run = repo.aye(&["propose", "--worktree", "--json"]).ok();
    assert_eq!(listed(&run.notes("out/g")), "in/f");
    assert_eq!(repo.git(&["status", "--short"]), "M  out/g");
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_taken_for_a_new_file() {
    let repo = Repo::with(&[("in/f", "f\n"), ("out/h", "h\n")]);
    let new = repo.aye(&["propose", "out/g", "--content-file", "in/f", "-q"]).ok().id();
    repo.write("out/g", "g\n");
    repo.commit("It was made meanwhile");
    let refused = |run: Run| {
        run.fails("file_not_found", 3).notes("git sparse-checkout add 'out'");
    };
    for sparse in ["--no-sparse-index", "--sparse-index"] {
        repo.git(&["sparse-checkout", "set", sparse, "in"]);
        refused(repo.aye(&["propose", "out/g", "--content-file", "in/f"]));
        let patch = "--- /dev/null\n+++ b/out/g\n@@ -0,0 +1 @@\n+new\n";
        refused(repo.aye_stdin(&["patch", "--format", "text"], patch));
        refused(repo.aye_stdin(&["patch", "--format", "text", "--dry-run"], patch));
        refused(repo.aye(&["apply", &new, "--yes"]));
        assert_eq!(repo.git(&["status", "--short"]), "", "{sparse}");
    }
    // What git has not got is new there, too.
    let id = repo.aye(&["propose", "out/new", "--content-file", "in/f", "-q"]).ok().id();
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.git(&["status", "--short", "-uall"]), "?? out/new");
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.git(&["status", "--short", "-uall"]), "");
}

#[test]
fn other_repositories_in_the_work_tree_stay_as_they_are() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["init", "-q", "nested"]);
    repo.write("nested/file", "theirs\n");
    repo.git(&["worktree", "add", "-q", "linked/tree"]);
    repo.write("a", "2\n");
    repo.write("b", "new\n");
    let run = repo.aye(&["propose", "--worktree", "--json"]).ok();
    assert_eq!(listed(&run), "a b");
    assert_eq!(repo.text("nested/file"), "theirs\n");
    assert!(repo.exists("linked/tree/a"));
    let submodule = Repo::with(&[("s", "1\n")]);
    let url = submodule.root().to_str().unwrap().to_owned();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    repo.git(&["commit", "--quiet", "-m", "Submodule"]);
    repo.write("sub/s", "2\n");
    repo.write("a", "3\n");
    assert_eq!(listed(&repo.aye(&["propose", "--worktree", "--json"]).ok()), "a");
    assert_eq!(repo.text("sub/s"), "2\n");
}

#[test]
fn a_file_may_have_become_a_directory_and_a_directory_a_file() {
    let base = Repo::with(&[("f", "f\n"), ("d/x", "x\n"), ("d/y/z", "z\n"), ("k", "k\n")]);
    let clean = base.snapshot();
    for staged in [false, true] {
        let repo = base.copy();
        repo.remove("f");
        repo.write("f/inner/deep", "new\n");
        std::fs::remove_dir_all(repo.path("d")).unwrap();
        repo.write("d", "now a file\n");
        repo.git(&["rm", "--quiet", "--cached", "k"]);
        repo.write("k", "K\n");
        if staged {
            repo.git(&["add", "--all"]);
        }
        let (changed, index) = (repo.snapshot(), repo.git(&["ls-files", "-s"]));
        let run = repo.aye(&["propose", "--worktree", "--json"]).ok();
        assert_eq!(listed(&run), "d d/x d/y/z f f/inner/deep k");
        // What was staged stays so.
        assert_eq!(repo.git(&["ls-files", "-s"]), index);
        let files = |repo: &Repo| -> Vec<_> {
            let found = repo.snapshot().into_iter();
            found.filter(|(name, _)| !name.starts_with(".agent-memory")).collect()
        };
        assert_eq!(files(&repo), clean);
        repo.aye(&["apply", "--yes", run.json()["proposal_id"].as_str().unwrap()]).ok();
        assert_eq!(files(&repo), changed);
    }
}

/// Whatever becomes of it, there is one answer; and what can be known to fail does so before
/// anything is proposed.
#[test]
fn what_cannot_be_taken_back_is_not_proposed() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.write("a", "2\n");
    repo.write("b", "2\n");
    std::fs::hard_link(repo.path("a"), repo.outer().join("second-name")).unwrap();
    repo.aye(&["propose", "--worktree"]).fails("hard_link", 6);
    assert_eq!(repo.aye(&["propose", "--worktree", "--json"]).exits(6).json()["success"], false);
    repo.write(".git/index.lock", "");
    repo.aye(&["propose", "--worktree", "b"]).fails("index_locked", 7);
    repo.aye(&["list"]).ok().lacks("prop_");
    assert_eq!(repo.text("b"), "2\n");
    repo.aye(&["propose", "--keep", "a", "b"]).ok();
    repo.remove(".git/index.lock");
    repo.aye(&["propose", "--worktree", "b"]).ok();
    // Refused by git only later: the answer is one, and names the proposal.
    repo.write("b", "3\n");
    let program =
        "#!/bin/sh\ncase \" $* \" in *' diff-files '*) exit 1;; esac\nexec \"$REAL\" \"$@\"\n";
    repo.write("no-diff/git", program);
    repo.chmod("no-diff/git", 0o755);
    repo.write(".git/info/exclude", "no-diff\n");
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.exists());
    let wrapped = format!("{}:{path}", repo.path("no-diff").display());
    let cmd = repo.cmd(&["propose", "--worktree", "b", "--json"]).env("PATH", wrapped);
    let answer = cmd.env("REAL", real.unwrap()).run().exits(4).json();
    assert_eq!(answer["error"]["code"], "git_failed");
    let id =
        answer["error"]["details"]["proposal_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
    repo.aye(&["show", id]).ok();
}

#[test]
fn a_commit_and_a_range_can_be_proposed_backwards() {
    let repo = Repo::with(&[("a", "one\ntwo\n"), ("b", "b\n")]);
    repo.git(&["mv", "b", "c"]);
    repo.write("a", "one\nTWO\n");
    repo.commit("Shout\n\nBecause.");
    let id = repo.aye(&["propose", "-R", "--commit", "HEAD"]).ok().id();
    let shown = repo.item(&id);
    assert!(shown["description"].as_str().expect("one").starts_with("Revert \"Shout\""));
    repo.aye(&["diff", "--patch", &id]).ok().says("-TWO");
    repo.aye(&["apply", "--yes", "--commit", &id]).ok();
    assert_eq!(repo.git(&["diff", "HEAD~2"]), "");
    let again = repo.aye(&["propose", "--range", "HEAD~2..HEAD~1", "-R", "--json"]);
    assert_eq!(listed(&again.ok()), "a b c");
    // All of the first commit.
    let first = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(listed(&repo.aye(&["propose", "-R", "--json", "--commit", &first]).ok()), "a b");
}

/// Of the last commit of a shallow clone git has no parent: all files would seem to be new.
#[test]
fn a_commit_without_its_parent_is_not_proposed() {
    let repo = Repo::with(&[("a", "one\n"), ("b", "two\n")]);
    repo.write("a", "eins\n");
    repo.commit("Change a");
    let shallow = repo.outer().join("shallow");
    let path = shallow.to_str().expect("UTF-8");
    repo.git(&["clone", "-q", "--depth=1", &format!("file://{}", repo.root().display()), path]);
    for arguments in [&["propose", "--commit", "HEAD"][..], &["propose", "--commit", "HEAD", "-R"]]
    {
        let run = repo.cmd(arguments).dir(shallow.clone()).run();
        run.fails("invalid_argument", 6).notes("git fetch --deepen=1");
    }
    repo.git(&["-C", path, "fetch", "-q", "--deepen=1"]);
    let run = repo.cmd(&["propose", "--commit", "HEAD", "--json"]).dir(shallow).run().ok();
    assert_eq!(run.json()["files"].as_array().map(Vec::len), Some(1), "{run}");
}

#[test]
fn how_a_patch_is_read_is_not_said_in_vain() {
    let repo = Repo::with(&[("a", "one\ntwo\n")]);
    let id = repo.aye_stdin(&["propose", "--patch", "-"], FIX).ok().id();
    repo.write("a", "1\n");
    for flags in [&["-p", "2"][..], &["--fuzz", "1"], &["--unidiff-zero"]] {
        for source in
            [&["--commit", "HEAD"][..], &["--worktree"], &["a", "--old", "1", "--new", "2"]]
        {
            for command in [&["propose"][..], &["revise", &id]] {
                repo.aye(&[command, source, flags].concat()).fails("usage", 2);
            }
        }
    }
    repo.aye(&["propose", "--worktree", "-R"]).fails("usage", 2);
    repo.aye(&["propose", "a", "--old", "1", "--new", "2", "-R"]).fails("usage", 2);
    assert_eq!(repo.text("a"), "1\n");
}

#[test]
fn a_commit_and_a_range_become_proposals() {
    let repo = Repo::with(&[("a", &b"one\ntwo\n"[..]), ("bin", b"\0one")]);
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("bin", b"\0two");
    repo.commit("Change the binary");
    repo.git(&["mv", "a", "moved"]);
    repo.write("moved", "one\nTWO\n");
    repo.commit("Move and shout\n\nBecause.");
    let tip = repo.snapshot();
    repo.git(&["checkout", "-q", "main"]);
    let one = repo.aye(&["propose", "--commit", "topic"]).ok().id();
    let shown = repo.item(&one);
    assert_eq!(shown["description"], "Move and shout\n\nBecause.");
    let all = repo.aye(&["propose", "--range", "main..topic"]).ok().id();
    repo.aye(&["apply", "--yes", &all]).ok();
    let files = |snapshot: Vec<(String, Vec<u8>)>| -> Vec<_> {
        snapshot.into_iter().filter(|(name, _)| !name.starts_with(".agent-memory")).collect()
    };
    assert_eq!(files(repo.snapshot()), files(tip));
    repo.aye(&["propose", "--commit", "nope"]).fails("invalid_argument", 6);
    repo.aye(&["propose", "--commit", "--help"]).exits(2);
    // The first commit has no parent.
    repo.aye(&["propose", "--commit", "main"]).ok();
}

#[test]
fn a_proposal_is_revised_with_a_patch() {
    let repo = Repo::with(&[("a", "one\ntwo\n")]);
    let id = repo.aye_stdin(&["propose", "--patch", "-"], FIX).ok().id();
    repo.aye_stdin(&["revise", &id, "--patch", "-"], FIX.replace("TWO", "zwei")).ok();
    // Without a look it has to say which revision was looked at.
    repo.aye(&["apply", "--yes", &id]).fails("revision_required", 4);
    repo.aye(&["apply", "--yes", &repo.at_revision(&id)]).ok();
    assert_eq!(repo.text("a"), "one\nzwei\n");
}

#[test]
fn rebase_puts_a_stale_proposal_on_the_present_files() {
    let text = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    let repo = Repo::with(&[("a", text("1", "9"))]);
    let patch = "--- a/a\n+++ b/a\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+nine\n";
    let id = repo.aye_stdin(&["propose", "--patch", "-"], patch).ok().id();
    let revisions = || repo.item(&id)["revisions"].clone();
    repo.aye(&["revise", "--rebase", &id]).ok();
    repo.write("a", text("one", "9"));
    repo.aye(&["revise", "--rebase", "--dry-run", &id]).ok();
    assert_eq!(revisions(), 1);
    repo.aye(&["revise", "--rebase", &id]).ok();
    assert_eq!(revisions(), 2);
    repo.aye(&["diff", &id, "--patch"]).ok().says("-9\n+nine\n");
    repo.write("a", text("one", "neun"));
    repo.aye(&["revise", "--rebase", &id]).fails("conflict", 5);
    repo.write("a", text("one", "nine"));
    repo.aye(&["revise", "--rebase", &id]).fails("already_applied", 1);
}
