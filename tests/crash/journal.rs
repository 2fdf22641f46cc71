//! A transaction over many files is stopped at every write step, as by `kill -9`; the next
//! process finds all files old or all files new.
//!
//! The test runs its own program as the process that is stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use aye::changeset::{File, Mode, RepoPath};
use aye::worktree::journal::{
    EventBlobs, FileWrite, Journal, JournalClaim, RecoveryOracle, RecoveryOutcome, has_journals,
    recover,
};
use aye::worktree::{Flush, Worktree};

const FILES: usize = 50;
/// The directory the child process works in.
const DIRECTORY: &str = "AYE_TEST_CRASH_DIRECTORY";
/// Set: the transaction has no event, its files are the result.
const NO_EVENT: &str = "AYE_TEST_CRASH_NO_EVENT";

/// Set: the transaction only creates files.
const NEW_ONLY: &str = "AYE_TEST_CRASH_NEW_ONLY";

/// Set: the child recovers.
const RECOVER: &str = "AYE_TEST_CRASH_RECOVER";

type Tree = BTreeMap<RepoPath, File>;

fn at(text: &str) -> RepoPath {
    RepoPath::new(text).expect("a path")
}

/// Edits, mode changes, new files in new directories, deletions, and a directory become a file.
fn trees() -> (Tree, Tree) {
    let (mut before, mut after) = (Tree::new(), Tree::new());
    for i in 0..FILES {
        let file = |text: &str| File::regular(format!("{text} {i}\n"));
        let path = at(&format!("d{}/s{}/f{i}", i % 7, i % 3));
        match i % 10 {
            0 => drop(after.insert(at(&format!("new{}/deep/f{i}", i % 20)), file("new"))),
            1 | 2 => drop(before.insert(path, file("deleted"))),
            3 => {
                before.insert(path.clone(), file("mode"));
                after.insert(path, File { mode: Mode::Executable, ..file("mode") });
            }
            _ => {
                before.insert(path.clone(), file("old"));
                after.insert(path, file("new"));
            }
        }
    }
    before.insert(at("swap/inner"), File::regular("inner\n"));
    after.insert(at("swap"), File::regular("now a file\n"));
    before.insert(at("other"), File::regular("now a directory\n"));
    after.insert(at("other/inner"), File::regular("inner\n"));
    (before, after)
}

/// Files of which nothing was there before, so that nothing of before waits anywhere.
fn new_files() -> Tree {
    let file = |path: &str| (at(path), File::regular(format!("{path}\n")));
    ["a", "new/b", "new/deep/c", "other/d"].map(file).into()
}

fn tree_of(root: &Path) -> Tree {
    let worktree = Worktree::open(root).expect("a work tree");
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("a readable directory"))
        .filter(|entry| !entry.file_type().is_dir())
        .map(|entry| {
            let path = entry.path().strip_prefix(root).expect("beneath the root");
            let path = at(path.to_str().expect("UTF-8"));
            let file = aye::changeset::Snapshot::file(&worktree, &path);
            (path, file.expect("readable").expect("there"))
        })
        .collect()
}

/// The process that is stopped. Does nothing unless it is told a directory.
#[test]
fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let directory = Path::new(&directory);
    if std::env::var_os(RECOVER).is_some() {
        next_command(directory);
        return;
    }
    let (before, after) = match std::env::var_os(NEW_ONLY) {
        Some(_) => (Tree::new(), new_files()),
        None => trees(),
    };
    let worktree = Worktree::open(&directory.join("top")).expect("a work tree");
    let paths: std::collections::BTreeSet<&RepoPath> = before.keys().chain(after.keys()).collect();
    let steps: Vec<FileWrite<'_>> = paths
        .into_iter()
        .map(|path| FileWrite { path, now: before.get(path), after: after.get(path) })
        .collect();
    let journal = Journal::open(&directory.join("journal"), Duration::ZERO).expect("the lock");
    let subject = std::env::var_os(NO_EVENT).is_none().then_some("subject");
    let done =
        journal.with_flush(false).apply(&worktree.reader(), &steps, subject, |transaction| {
            std::fs::write(directory.join("event"), transaction).expect("the event is written");
            Ok(())
        });
    if let Err(error) = done {
        std::fs::write(directory.join("error"), error.code().id).expect("the error is noted");
    }
}

/// Runs the child with `failpoints` and says whether it was stopped.
fn stopped(directory: &Path, failpoints: &str, event: bool) -> bool {
    run(directory, failpoints, &[(NO_EVENT, !event)])
}

fn run(directory: &Path, failpoints: &str, set: &[(&str, bool)]) -> bool {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "journal::child"])
        .env(DIRECTORY, directory)
        .env("FAILPOINTS", failpoints);
    command.envs(set.iter().filter(|(_, set)| *set).map(|(name, _)| (*name, "1")));
    let status = command.output().expect("the child starts").status;
    assert!(status.success() || status.code().is_none(), "{failpoints}: {status}");
    !status.success()
}

fn scratch(before: &Tree) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(directory.path().join("top")).expect("a directory");
    let worktree = Worktree::open(&directory.path().join("top")).expect("a work tree");
    for (path, file) in before {
        worktree.write_file(path, &file.bytes, file.mode, Flush::No).expect("written");
    }
    directory
}

/// What the next command knows: the directory, whose event names nothing.
struct Next<'a>(&'a Path);

impl RecoveryOracle for Next<'_> {
    fn refusal(&self, claim: &JournalClaim<'_>) -> aye::error::Result<Option<String>> {
        Ok((!claim.root.is_at(&self.0.join("top"))).then(|| "elsewhere".into()))
    }

    fn recorded(
        &self,
        claim: &JournalClaim<'_>,
        subject: &str,
    ) -> aye::error::Result<Option<EventBlobs>> {
        assert_eq!(subject, "subject");
        let event = std::fs::read_to_string(self.0.join("event"));
        Ok(event.is_ok_and(|event| event == claim.transaction).then(EventBlobs::new))
    }

    fn content(&self, _: &str) -> aye::error::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// Recovers, as the next command does.
fn next_command(directory: &Path) -> Vec<aye::worktree::journal::RecoveredTransaction> {
    let settled = recover(&directory.join("journal"), &Next(directory)).expect("recovers");
    assert!(settled.refused.is_empty(), "{:?}", settled.refused);
    settled.transactions
}

fn every_step(event: bool, exchange: &str) {
    let (before, after) = trees();
    let points = [
        "journal.write", "journal.half", "journal.written", "worktree.create", "worktree.remove",
        "worktree.rmdir", "worktree.mkdir", "worktree.rename", "worktree.replace",
        "worktree.linked", "journal.commit", "journal.committed", "worktree.clean",
        "journal.remove",
    ];
    for point in points {
        // Where names are exchanged in one step, these are not taken.
        if ["worktree.replace", "worktree.linked"].contains(&point) && exchange.is_empty() {
            continue;
        }
        // Every hit of the first few and the last few, and some in between.
        let mut hit = 0;
        loop {
            let directory = scratch(&before);
            if !stopped(directory.path(), &format!("{exchange}{point}={hit}*off->return"), event) {
                assert!(hit > 0, "{point} is never reached");
                assert_eq!(tree_of(&directory.path().join("top")), after, "{point} {hit}");
                break;
            }
            let recovered = next_command(directory.path());
            let found = tree_of(&directory.path().join("top"));
            let done = directory.path().join("event").exists();
            let expected = if done { &after } else { &before };
            // Without an event the files are the result: old until the journal is marked done.
            if event || point != "journal.committed" {
                assert!(found == *expected, "{point} {hit}: neither old nor new: {found:?}");
            } else {
                assert!(found == before || found == after, "{point} {hit}");
            }
            assert!(recovered.iter().all(|r| r.skipped.is_empty()), "{point} {hit}: {recovered:?}");
            if done && event && point != "journal.remove" {
                assert_eq!(recovered[0].action, RecoveryOutcome::Finished);
            }
            assert!(!has_journals(&directory.path().join("journal")), "{point} {hit}");
            assert!(next_command(directory.path()).is_empty(), "{point} {hit}: recovered twice");
            hit += if hit < 4 { 1 } else { 7 };
        }
    }
}

#[test]
fn all_or_nothing_at_every_step_with_an_event() {
    every_step(true, "");
}

#[test]
fn all_or_nothing_at_every_step_without_an_event() {
    every_step(false, "");
}

/// As on a file system that cannot exchange two names.
#[test]
fn all_or_nothing_at_every_step_without_exchange() {
    every_step(true, "worktree.exchange=return(io);");
}

#[test]
fn files_that_are_only_created_are_all_there_or_none() {
    let after = new_files();
    let set = |event: bool| [(NEW_ONLY, true), (NO_EVENT, !event)];
    for (event, point) in [
        (true, "journal.written"),
        (true, "worktree.create"),
        (true, "worktree.mkdir"),
        (true, "worktree.rename"),
        (true, "journal.commit"),
        (true, "journal.committed"),
        (true, "journal.remove"),
        (false, "worktree.rename"),
        (false, "journal.commit"),
        (false, "journal.remove"),
    ] {
        for hit in 0.. {
            for settle in 0..=after.len() {
                let directory = scratch(&Tree::new());
                let failpoint = format!("{point}={hit}*off->return");
                if !run(directory.path(), &failpoint, &set(event)) {
                    assert!(hit > 0, "{point} is never reached");
                    break;
                }
                // The first recovery may be stopped, too.
                let stop = format!("journal.settle={settle}*off->return");
                run(directory.path(), &stop, &[(RECOVER, true)]);
                let recovered = next_command(directory.path());
                assert!(
                    recovered.iter().all(|r| r.skipped.is_empty()),
                    "{point} {hit}: {recovered:?}"
                );
                let found = tree_of(&directory.path().join("top"));
                let done = directory.path().join("event").exists();
                let stands = done && (event || point == "journal.remove");
                assert!(
                    if stands { found == after } else { found.is_empty() },
                    "{point} {hit}: {found:?}"
                );
            }
            if hit >= after.len()
                || !["worktree.create", "worktree.rename", "worktree.mkdir"].contains(&point)
            {
                break;
            }
        }
    }
}

#[test]
fn recovery_may_itself_be_stopped_and_run_again() {
    let (before, after) = trees();
    for (point, expected) in
        [("worktree.rename=20*off->return", &before), ("journal.committed=return", &after)]
    {
        for hit in (0..FILES).step_by(6) {
            let directory = scratch(&before);
            assert!(stopped(directory.path(), point, true));
            assert!(run(
                directory.path(),
                &format!("journal.settle={hit}*off->return"),
                &[(RECOVER, true)]
            ));
            let recovered = next_command(directory.path());
            assert!(recovered.iter().all(|r| r.skipped.is_empty()), "{point} {hit}: {recovered:?}");
            assert!(tree_of(&directory.path().join("top")) == *expected, "{point} {hit}");
        }
    }
}

#[test]
fn a_failure_at_any_step_puts_everything_back_at_once() {
    let (before, _) = trees();
    for point in [
        "journal.write", "journal.half", "journal.written", "worktree.create", "worktree.remove",
        "worktree.rmdir", "worktree.mkdir", "worktree.rename",
    ] {
        for hit in [0, 1, 9] {
            for (failure, code) in [("disk_full", "disk_full"), ("read_only", "read_only")] {
                let directory = scratch(&before);
                assert!(!stopped(
                    directory.path(),
                    &format!("{point}={hit}*off->1*return({failure})->off"),
                    true
                ));
                let Ok(error) = std::fs::read_to_string(directory.path().join("error")) else {
                    assert!(hit > 0, "{point} is never reached");
                    continue;
                };
                assert_eq!(error, code, "{point} {hit}");
                assert!(
                    tree_of(&directory.path().join("top")) == before,
                    "{point} {hit} {failure}"
                );
                assert!(
                    !has_journals(&directory.path().join("journal")),
                    "{point} {hit} {failure}"
                );
                assert!(!directory.path().join("event").exists());
            }
        }
    }
}
