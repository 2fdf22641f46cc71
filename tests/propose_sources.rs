//! Proposing patches, uncommitted changes and commits; revising and rebasing with them.

#![cfg(unix)]

mod support;

use support::{Repo, Run};

const FIX: &str = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n";

fn id(run: &Run) -> String {
    run.clone().ok().out().split_whitespace().next().expect("an id").to_owned()
}

#[test]
fn a_patch_becomes_a_proposal_that_git_can_apply_again() {
    let repo = Repo::with(&[("a", &b"one\ntwo\n"[..]), ("gone", b"x\n"), ("bin", b"\0one")]);
    let patch = format!(
        "{FIX}--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
         --- /dev/null\n+++ b/with space/ü\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
    );
    let id = id(&repo.aye_stdin(&["propose", "--patch", "-", "-m", "Shout"], patch));
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

#[test]
fn an_applied_patch_is_nothing_to_propose() {
    let repo = Repo::with(&[("a", "one\nTWO\n")]);
    repo.aye_stdin(&["propose", "--patch", "-"], FIX).fails("already_applied", 1);
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
    let id = id(&repo.aye(&["propose", "-m", "So far", "--worktree"]));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.text("a"), "one\ntwo\n");
    assert!(!repo.exists("new/file") && repo.exists("gone"));
    repo.aye(&["apply", "--yes", &id]).ok();
    let without = |files: Vec<(String, Vec<u8>)>| -> Vec<_> {
        files.into_iter().filter(|(name, _)| !name.starts_with(".agent-memory")).collect()
    };
    assert_eq!(without(repo.snapshot()), without(changed));
}

#[test]
fn only_some_paths_are_proposed_and_kept_on_request() {
    let repo = Repo::with(&[("a", "1\n"), ("dir/b", "1\n")]);
    repo.write("a", "2\n");
    repo.write("dir/b", "2\n");
    let id = id(&repo.aye(&["propose", "--worktree", "dir", "--keep"]));
    assert_eq!((repo.text("a").as_str(), repo.text("dir/b").as_str()), ("2\n", "2\n"));
    repo.aye(&["diff", "--name-only", &id]).ok().says("dir/b");
    assert!(!repo.aye(&["diff", "--name-only", &id]).ok().out().contains("a\n"));
    repo.aye(&["propose", "--worktree", "nothing-here"]).fails("no_change", 6);
}

#[test]
fn before_the_first_commit_everything_is_new() {
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.git(&["add", "a"]);
    repo.write("b", "1\n");
    let id = id(&repo.aye(&["propose", "--worktree"]));
    assert!(!repo.exists("a") && !repo.exists("b"));
    repo.aye(&["apply", "--yes", &id]).ok();
    assert!(repo.exists("a") && repo.exists("b"));
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
    let one = id(&repo.aye(&["propose", "--commit", "topic"]));
    repo.aye(&["show", &one]).ok().says("Move and shout");
    let all = id(&repo.aye(&["propose", "--range", "main..topic"]));
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
    let id = id(&repo.aye_stdin(&["propose", "--patch", "-"], FIX));
    repo.aye_stdin(&["revise", &id, "--patch", "-"], FIX.replace("TWO", "zwei"))
        .ok()
        .says("revision 2");
    repo.aye(&["apply", "--yes", &id]).ok();
    assert_eq!(repo.text("a"), "one\nzwei\n");
}

#[test]
fn rebase_puts_a_stale_proposal_on_the_present_files() {
    let text = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    let repo = Repo::with(&[("a", text("1", "9"))]);
    let patch = "--- a/a\n+++ b/a\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+nine\n";
    let id = id(&repo.aye_stdin(&["propose", "--patch", "-"], patch));
    repo.aye(&["rebase", &id]).ok().says("fits the files as it is");
    repo.write("a", text("one", "9"));
    repo.aye(&["rebase", "--dry-run", &id]).ok().says("would get a new revision");
    repo.aye(&["rebase", &id]).ok().says("revision 2");
    repo.aye(&["diff", &id, "--patch"]).ok().says("-9\n+nine\n");
    repo.write("a", text("one", "neun"));
    repo.aye(&["rebase", &id]).fails("conflict", 5);
    repo.write("a", text("one", "nine"));
    repo.aye(&["rebase", &id]).fails("already_applied", 1);
}
