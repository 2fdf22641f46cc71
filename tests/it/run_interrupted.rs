//! Commands of sessions that were stopped halfway: the next one goes on, and nothing is mistaken for the agent's.

use std::path::{Path, PathBuf};

use crate::support::record::{apply, reject};
use crate::support::sessions::{no_session_is_left, tree};
use crate::support::{Cmd, Repo};

/// Files enough for a removal to be stopped among them.
fn repo() -> Repo {
    let names: Vec<String> = (0..30).map(|number| format!("d/{number}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "one\n")).collect();
    Repo::with(&files)
}

fn script(repo: &Repo, options: &[&str], text: &str) -> Cmd {
    let all = [&["run", "--name", "x"], options, &["--", "sh", "-c", text]].concat();
    repo.cmd(&all).env("AYE_AGENT", "robo")
}

/// Ids of the proposals, whatever became of them.
fn proposals(repo: &Repo) -> Vec<String> {
    let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list").iter();
    all.map(|one| one["proposal_id"].as_str().expect("an id").to_owned()).collect()
}

fn only(repo: &Repo) -> String {
    let mut all = proposals(repo);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn names_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Directory of the trees of the only repository that has any.
fn trees(repo: &Repo) -> PathBuf {
    names_in(&repo.outer().join("home/.local/state/aye/trees")).pop().expect("trees")
}

fn nothing_is_left(repo: &Repo) {
    no_session_is_left(repo);
    assert_eq!(names_in(&trees(repo)), [] as [PathBuf; 0]);
}

/// A run that is killed while it removes its tree.
fn killed_at_its_end(repo: &Repo) -> String {
    let run = script(repo, &[], "echo new >new.txt").env("FAILPOINTS", "clear.entry=9*off->return");
    assert_ne!(run.run().status, 0);
    assert_ne!(names_in(&trees(repo)), [] as [PathBuf; 0], "it was not stopped");
    only(repo)
}

fn is_one_file(repo: &Repo, id: &str) {
    assert_eq!(only(repo), id);
    let diff = repo.aye(&["diff", id, "--no-pager", "--name-only"]).ok().out();
    assert_eq!(diff, "new.txt\n");
}

#[test]
fn what_a_stopped_removal_has_left_is_never_proposed() {
    let repo = repo();
    let id = killed_at_its_end(&repo);
    repo.aye(&["session", "submit", "x"]).fails("session_not_found", 3);
    is_one_file(&repo, &id);
    nothing_is_left(&repo);
}

#[test]
fn a_run_of_that_name_begins_anew_after_a_stopped_removal() {
    let repo = repo();
    let id = killed_at_its_end(&repo);
    script(&repo, &[], "ls d | wc -l; test ! -e new.txt").run().ok().says("30");
    is_one_file(&repo, &id);
    nothing_is_left(&repo);
}

#[test]
fn the_end_of_a_session_that_was_stopped_is_finished_by_the_next() {
    let repo = repo();
    script(&repo, &["--keep"], "echo new >new.txt").run().ok();
    let id = only(&repo);
    let end = repo.cmd(&["session", "end", "x"]).env("FAILPOINTS", "clear.entry=9*off->return");
    assert_ne!(end.run().status, 0);
    repo.aye(&["session", "end", "x"]).ok();
    is_one_file(&repo, &id);
    nothing_is_left(&repo);
    repo.aye(&["session", "end", "x"]).fails("session_not_found", 3);
}

/// Kept, and stopped at that step.
fn stopped(repo: &Repo, text: &str, step: &str) {
    let run = script(repo, &["--keep"], text).env("FAILPOINTS", format!("{step}->return"));
    assert_ne!(run.run().status, 0);
}

/// Where a command is stopped after its proposal is recorded.
const PROPOSED: &str = "store.ref.moved=0*off";
/// Before the record of a session says what became of it; a run's own first write makes the session.
const RECORD: &str = "session.record=2*off";

#[test]
fn a_proposal_that_the_session_was_not_told_of_is_its_own_once_it_is_decided() {
    for step in [PROPOSED, RECORD] {
        for is_applied in [false, true] {
            let repo = repo();
            stopped(&repo, "echo new >new.txt", step);
            let id = only(&repo);
            repo.aye(&["session", "list"]).ok().says(&id);
            match is_applied {
                true => apply(&repo, &id),
                false => reject(&repo, &id, "no"),
            }
            repo.aye(&["session", "submit", "x"]).ok();
            assert_eq!(only(&repo), id);
            repo.aye(&["session", "end", "x"]).ok();
            nothing_is_left(&repo);
        }
    }
}

#[test]
fn a_proposal_that_the_session_was_not_told_of_is_revised_while_it_is_pending() {
    let repo = repo();
    stopped(&repo, "echo new >new.txt", PROPOSED);
    let id = only(&repo);
    script(&repo, &["--keep"], "echo more >>new.txt").run().ok();
    is_one_file(&repo, &id);
    // And the revision that it was not told of.
    stopped(&repo, "echo third >>new.txt", PROPOSED);
    repo.aye(&["diff", &id, "--no-pager"]).ok().says("+third");
    reject(&repo, &id, "no");
    script(&repo, &[], "test ! -e new.txt").run().ok();
    assert_eq!(only(&repo), id);
    nothing_is_left(&repo);
}

/// The same files, proposed again by the agent after they were rejected, are no proposal of before.
#[test]
fn what_is_proposed_again_and_fails_before_the_record_is_not_what_was_rejected() {
    let repo = repo();
    script(&repo, &["--keep"], "echo new >new.txt").run().ok();
    let id = only(&repo);
    reject(&repo, &id, "no");
    stopped(&repo, "test ! -e new.txt && echo new >new.txt", "store.ref.rename=0*off");
    script(&repo, &[], "cat new.txt").run().ok().says("new");
    assert_eq!(proposals(&repo).len(), 2);
    nothing_is_left(&repo);
}

#[test]
fn a_full_disk_after_the_proposal_is_no_failure_and_before_it_nothing_is_proposed() {
    let repo = repo();
    let full = |writes: usize| format!("session.record={writes}*off->return(disk_full)");
    let run = script(&repo, &[], "echo new >new.txt").env("FAILPOINTS", full(1)).run();
    run.ok().notes("disk_full").notes("aye session submit x");
    assert_eq!(proposals(&repo), [] as [String; 0]);
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    let run = script(&repo, &["--keep"], "echo new >new.txt").env("FAILPOINTS", full(2)).run();
    run.ok();
    let id = only(&repo);
    reject(&repo, &id, "no");
    repo.aye(&["session", "end", "x"]).ok();
    assert_eq!(only(&repo), id);
    nothing_is_left(&repo);
}

/// The temporary file of a tree that was following a decision.
#[test]
fn a_temporary_file_of_a_stopped_command_is_neither_proposed_nor_kept() {
    let repo = repo();
    script(&repo, &["--keep"], "echo two >d/1.txt; echo two >d/2.txt").run().ok();
    reject(&repo, &only(&repo), "no");
    stopped(&repo, "true", "worktree.rename=0*off");
    let tree = tree(&repo, "x");
    let temporaries = || {
        let names = names_in(&tree.join("d"));
        names.iter().filter(|path| path.to_string_lossy().contains(".aye-tmp-")).count()
    };
    assert_eq!(temporaries(), 1);
    script(&repo, &["--keep"], "true").run().ok();
    assert_eq!(temporaries(), 0);
    // One that lies elsewhere is not proposed either.
    let text = "echo x >.aye-tmp-0123456789abcdef; echo x >.aye-tmp-notes";
    script(&repo, &["--keep"], text).run().ok();
    let diff = repo.aye(&["diff", "--latest", "--no-pager", "--name-only"]).ok().out();
    assert_eq!(diff, ".aye-tmp-notes\n");
}
