use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use super::*;
use crate::changeset::{Mode, Snapshot};

struct Scratch {
    directory: tempfile::TempDir,
    worktree: Worktree,
}

type Tree = BTreeMap<String, File>;

impl Scratch {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("top");
        std::fs::create_dir(&top).unwrap();
        let worktree = Worktree::open(&top).unwrap();
        for (path, text) in files {
            worktree
                .write_file(&at(path), text.as_bytes(), Mode::Regular, super::super::Flush::No)
                .unwrap();
        }
        Self { directory, worktree }
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.journal_directory(), Duration::from_secs(5)).unwrap()
    }

    fn journal_directory(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    fn on_disk(&self, path: &str) -> PathBuf {
        self.worktree.root().join(path)
    }

    /// Every file, temporary ones included.
    fn tree(&self) -> Tree {
        walkdir::WalkDir::new(self.worktree.root())
            .into_iter()
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| {
                let path = entry.path().strip_prefix(self.worktree.root()).unwrap();
                let path = path.to_str().unwrap().to_owned();
                let file = self.worktree.file(&at(&path)).unwrap().unwrap();
                (path, file)
            })
            .collect()
    }

    fn apply(
        &self,
        after: &[(&str, &str)],
        subject: Option<&str>,
        commit: Result<()>,
    ) -> Result<()> {
        let now = self.tree();
        let after: Tree =
            after.iter().map(|(p, text)| ((*p).to_owned(), File::regular(*text))).collect();
        let paths: Vec<RepoPath> = now.keys().chain(after.keys()).map(|path| at(path)).collect();
        let steps: Vec<FileWrite<'_>> = paths
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .map(|path| {
                let text = path.to_str().unwrap();
                FileWrite { path, now: now.get(text), after: after.get(text) }
            })
            .collect();
        self.journal().apply(&self.worktree.reader(), &steps, subject, |_| commit)
    }
}

fn at(path: &str) -> RepoPath {
    RepoPath::new(path).unwrap()
}

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(path, text)| ((*path).to_owned(), File::regular(*text))).collect()
}

fn refused() -> Result<()> {
    Err(Error::new(&codes::APPLY_BUSY, "the event was refused"))
}

#[derive(Default)]
struct NoEvent(Vec<u8>);

impl RecoveryOracle for NoEvent {
    fn refusal(&self, _: &JournalClaim<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    fn recorded(&self, _: &JournalClaim<'_>, _: &str) -> Result<Option<EventBlobs>> {
        Ok(None)
    }

    fn content(&self, _: &str) -> Result<Option<Vec<u8>>> {
        Ok(Some(self.0.clone()))
    }
}

struct Never;

impl RecoveryOracle for Never {
    fn refusal(&self, _: &JournalClaim<'_>) -> Result<Option<String>> {
        panic!("asked")
    }

    fn recorded(&self, _: &JournalClaim<'_>, _: &str) -> Result<Option<EventBlobs>> {
        panic!("asked")
    }

    fn content(&self, _: &str) -> Result<Option<Vec<u8>>> {
        panic!("asked")
    }
}

fn planted(scratch: &Scratch, path: &str, before: Option<&[u8]>, after: Option<&[u8]>) {
    let mut record =
        JournalRecord::new("00112233aabbccdd".into(), scratch.worktree.root(), Some("s"));
    let blob = |bytes: &[u8]| record::BlobKey::of(bytes, Mode::Regular, false).unwrap();
    let (before, after) = (before.map(blob), after.map(blob));
    record.entries.push(record::JournalEntry { path: at(path), before, after, home: Vec::new() });
    let journal = scratch.journal();
    record.write(&journal.directory, crate::flush::FlushMethod::No).unwrap();
}

#[test]
fn a_journal_without_temporary_files_changes_nothing() {
    for (before, after) in
        [(Some(&b"evil"[..]), Some(&b"mine"[..])), (None, Some(b"mine")), (Some(b"evil"), None)]
    {
        let scratch = Scratch::new(&[("a", "mine")]);
        planted(&scratch, "a", before, after);
        let settled = recover(&scratch.journal_directory(), &NoEvent(b"evil".to_vec())).unwrap();
        assert_eq!(scratch.tree(), tree(&[("a", "mine")]), "{before:?} {after:?}");
        assert_eq!(settled.transactions[0].changed, []);
        assert!(!has_journals(&scratch.journal_directory()));
    }
}

#[test]
fn an_event_says_what_is_completed() {
    struct Event(Option<EventBlobs>);
    impl RecoveryOracle for Event {
        fn refusal(&self, _: &JournalClaim<'_>) -> Result<Option<String>> {
            Ok(None)
        }
        fn recorded(&self, _: &JournalClaim<'_>, _: &str) -> Result<Option<EventBlobs>> {
            Ok(self.0.clone())
        }
        fn content(&self, _: &str) -> Result<Option<Vec<u8>>> {
            Ok(Some(b"new".to_vec()))
        }
    }
    let id = record::BlobKey::of(b"new", Mode::Regular, false).unwrap().id;
    for (after, named, expected) in [
        (Some(&b"new"[..]), EventBlobs::new(), Some("old")),
        (Some(b"new"), EventBlobs::from([(at("a"), None)]), Some("old")),
        (Some(b"new"), EventBlobs::from([(at("a"), Some(id.clone()))]), Some("new")),
        (None, EventBlobs::from([(at("a"), Some(id))]), Some("old")),
        (None, EventBlobs::from([(at("a"), None)]), None),
    ] {
        let scratch = Scratch::new(&[("a", "old")]);
        planted(&scratch, "a", Some(b"old"), after);
        let settled = recover(&scratch.journal_directory(), &Event(Some(named.clone()))).unwrap();
        let expected: Vec<_> = expected.map(|text| ("a", text)).into_iter().collect();
        assert_eq!(scratch.tree(), tree(&expected), "{after:?} {named:?}");
        assert_eq!(settled.transactions[0].action, RecoveryOutcome::Finished);
    }
}

#[test]
fn files_that_are_only_created_are_removed_again() {
    let scratch = Scratch::new(&[]);
    let (one, two) = (at("a"), at("d/b"));
    let new = File::regular("new");
    let steps = [
        FileWrite { path: &one, now: None, after: Some(&new) },
        FileWrite { path: &two, now: None, after: Some(&new) },
    ];
    let directory = scratch.journal_directory();
    let copy = scratch.directory.path().join("copy");
    scratch
        .journal()
        .apply(&scratch.worktree.reader(), &steps, Some("s"), |transaction| {
            // As left by a process killed at this point.
            std::fs::copy(directory.join(format!("{transaction}.journal")), &copy).unwrap();
            assert_eq!(scratch.tree().len(), 3, "both files and the mark");
            std::fs::write(scratch.directory.path().join("name"), transaction).unwrap();
            Ok(())
        })
        .unwrap();
    assert_eq!(scratch.tree().len(), 2, "the mark is gone");
    let name = std::fs::read_to_string(scratch.directory.path().join("name")).unwrap();
    for (marked, left) in [(false, 2), (true, 0)] {
        std::fs::copy(&copy, directory.join(format!("{name}.journal"))).unwrap();
        if marked {
            std::fs::write(scratch.on_disk(&format!(".aye-{name}-0.old")), "").unwrap();
        }
        recover(&directory, &NoEvent::default()).unwrap();
        assert_eq!(scratch.tree().len(), left);
        assert!(!has_journals(&directory));
    }
}

const BEFORE: &[(&str, &str)] =
    &[("a", "a1\n"), ("dir/b", "b1\n"), ("dir/c", "c1\n"), ("x/y/z", "z1\n"), ("file", "f\n")];
/// Edits, a new file in a new directory, a deletion that empties directories, a file replaced by a
/// directory, and the reverse.
const AFTER: &[(&str, &str)] = &[
    ("a", "a2\n"),
    ("dir/b", "b1\n"),
    ("file/inner", "i\n"),
    ("new/deep/n", "n\n"),
    ("x", "z2\n"),
    ("dir/c", ""),
];

#[test]
fn everything_is_written_and_nothing_is_left_over() {
    let scratch = Scratch::new(BEFORE);
    scratch.apply(AFTER, Some("prop_1"), Ok(())).unwrap();
    assert_eq!(scratch.tree(), tree(AFTER));
    assert!(!has_journals(&scratch.journal_directory()));
    scratch.apply(&[], None, Ok(())).unwrap();
    assert_eq!(std::fs::read_dir(scratch.worktree.root()).unwrap().count(), 0);
    assert!(!has_journals(&scratch.journal_directory()));
}

#[test]
fn a_refused_commit_brings_the_very_same_files_back() {
    let scratch = Scratch::new(BEFORE);
    let inode = scratch.on_disk("a").metadata().unwrap().ino();
    let error = scratch.apply(AFTER, Some("prop_1"), refused()).unwrap_err();
    assert_eq!(error.message(), "the event was refused");
    assert_eq!(scratch.tree(), tree(BEFORE));
    assert_eq!(scratch.on_disk("a").metadata().unwrap().ino(), inode);
    assert!(!scratch.on_disk("new").exists() && scratch.on_disk("x/y").is_dir());
    assert!(!has_journals(&scratch.journal_directory()));
}

#[test]
fn a_file_that_is_not_what_was_planned_stops_everything() {
    let scratch = Scratch::new(&[("a", "1"), ("b", "1")]);
    let (one, two) = (File::regular("1"), File::regular("2"));
    let (a, b, c) = (at("a"), at("b"), at("c"));
    for wrong in [
        FileWrite { path: &b, now: Some(&two), after: Some(&one) },
        FileWrite { path: &b, now: None, after: Some(&two) },
        FileWrite { path: &c, now: Some(&one), after: Some(&two) },
        FileWrite { path: &c, now: Some(&one), after: None },
    ] {
        let steps = [FileWrite { path: &a, now: Some(&one), after: Some(&two) }, wrong];
        let error = scratch.journal().apply(&scratch.worktree.reader(), &steps, None, |_| Ok(()));
        assert!(error.unwrap_err().is(&codes::FILE_CHANGED), "{wrong:?}");
        assert_eq!(scratch.tree(), tree(&[("a", "1"), ("b", "1")]));
    }
}

#[test]
fn a_hard_link_or_a_directory_with_other_files_stops_everything() {
    let scratch = Scratch::new(&[("a", "1"), ("d/f", "1"), ("d/other", "1")]);
    std::fs::hard_link(scratch.on_disk("a"), scratch.directory.path().join("outside")).unwrap();
    let (one, two) = (File::regular("1"), File::regular("2"));
    let (a, d, f, new) = (at("a"), at("d"), at("d/f"), at("new"));
    let before = scratch.tree();
    let steps = [
        FileWrite { path: &a, now: Some(&one), after: Some(&two) },
        FileWrite { path: &new, now: None, after: Some(&two) },
    ];
    let error = scratch.journal().apply(&scratch.worktree.reader(), &steps, None, |_| Ok(()));
    assert!(error.unwrap_err().is(&codes::HARD_LINK));
    assert_eq!(scratch.tree(), before);
    let steps = [
        FileWrite { path: &d, now: None, after: Some(&two) },
        FileWrite { path: &f, now: Some(&one), after: None },
    ];
    let error = scratch.journal().apply(&scratch.worktree.reader(), &steps, None, |_| Ok(()));
    assert!(error.unwrap_err().is(&codes::DIRECTORY_NOT_EMPTY));
    assert_eq!(scratch.tree(), before);
    assert!(!has_journals(&scratch.journal_directory()));
}

#[test]
fn an_edit_during_the_commit_is_left_alone_and_named() {
    let scratch = Scratch::new(&[("a", "1"), ("b", "1")]);
    let (one, two) = (File::regular("1"), File::regular("2"));
    let (a, b) = (at("a"), at("b"));
    let steps = [
        FileWrite { path: &a, now: Some(&one), after: Some(&two) },
        FileWrite { path: &b, now: Some(&one), after: Some(&two) },
    ];
    let error = scratch
        .journal()
        .apply(&scratch.worktree.reader(), &steps, Some("prop_1"), |_| {
            std::fs::write(scratch.on_disk("a"), "edited").unwrap();
            refused()
        })
        .unwrap_err();
    assert!(error.details().iter().any(|(key, value)| {
        *key == "left_alone"
            && value[0].as_str().is_some_and(|text| text.starts_with("a was edited"))
    }));
    let found = scratch.tree();
    assert_eq!((&found["a"].bytes[..], &found["b"].bytes[..]), (&b"edited"[..], &b"1"[..]));
    // The old `a` has no other copy.
    assert_eq!(found.len(), 3);
    assert!(found.values().any(|file| file.bytes == b"1"));
}

#[test]
fn a_live_transaction_is_not_recovered_by_another_process() {
    let scratch = Scratch::new(&[("a", "1")]);
    let (one, two) = (File::regular("1"), File::regular("2"));
    let a = at("a");
    let steps = [FileWrite { path: &a, now: Some(&one), after: Some(&two) }];
    scratch
        .journal()
        .apply(&scratch.worktree.reader(), &steps, Some("prop_1"), |_| {
            assert!(has_journals(&scratch.journal_directory()));
            let found = recover(&scratch.journal_directory(), &Never).unwrap();
            assert!(found.transactions.is_empty() && found.refused.is_empty());
            let busy = Journal::open(&scratch.journal_directory(), Duration::from_millis(5));
            assert!(busy.unwrap_err().is(&codes::APPLY_BUSY));
            Ok(())
        })
        .unwrap();
    assert_eq!(scratch.tree(), tree(&[("a", "2")]));
}

#[test]
fn a_child_keeps_the_lock_and_is_named() {
    let scratch = Scratch::new(&[]);
    let open = || Journal::open(&scratch.journal_directory(), Duration::from_millis(5));
    let journal = scratch.journal();
    let inherited = journal.inheritable().unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    std::fs::write(scratch.journal_directory().join("lock"), format!("{}\n", child.id())).unwrap();
    drop(inherited);
    // A killed process does not release the lock.
    std::mem::forget(journal);
    let busy = open().unwrap_err();
    assert!(busy.is(&codes::APPLY_BUSY));
    assert!(busy.message().contains(&format!("process {}", child.id())), "{busy}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_lock_is_given_back_although_a_child_has_it_still() {
    let scratch = Scratch::new(&[]);
    let journal = scratch.journal();
    let inherited = journal.inheritable().unwrap();
    drop(journal);
    assert!(Journal::open(&scratch.journal_directory(), Duration::ZERO).is_ok());
    drop(inherited);
}

#[test]
fn broken_journals_are_named_and_can_be_set_aside() {
    let scratch = Scratch::new(&[]);
    let directory = scratch.journal_directory();
    std::fs::create_dir(&directory).unwrap();
    for unfinished in ["", "{\"version\":1", "\0\0\0\0"] {
        std::fs::write(directory.join("1.journal"), unfinished).unwrap();
        let found = recover(&directory, &NoEvent::default()).unwrap();
        assert!(found.transactions.is_empty() && found.refused.is_empty());
        assert!(!has_journals(&directory));
    }
    for broken in ["{}\n", "nonsense\n", "{\"version\":2}\n"] {
        std::fs::write(directory.join("1.journal"), broken).unwrap();
        let found = recover(&directory, &NoEvent::default()).unwrap();
        assert!(found.refused[0].is(&codes::JOURNAL_INVALID));
    }
    for _ in 0..2 {
        std::fs::write(directory.join("1.journal"), "{}\n").unwrap();
        assert_eq!(scratch.journal().set_aside_refused(&NoEvent::default()).unwrap().len(), 1);
        assert!(!has_journals(&directory));
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 3, "the lock and both journals");
}

/// Each round edits one file. Either the transaction notices and aborts, or it was complete.
#[test]
fn an_edit_at_any_moment_is_never_lost() {
    let scratch = Scratch::new(&[]);
    let count = 40;
    let paths: Vec<RepoPath> = (0..count).map(|i| at(&format!("d{}/f{i}", i % 4))).collect();
    for path in &paths {
        scratch.worktree.write_file(path, b"0", Mode::Regular, super::super::Flush::No).unwrap();
    }
    let victim = scratch.on_disk("d3/f23");
    let journal = scratch.journal().with_flush(false);
    let (mut applied, mut refused) = (0, 0);
    // Duration of the last transaction; edits come within twice that.
    let mut took = Duration::from_millis(2);
    for round in 0..300_u32 {
        let now: Vec<File> =
            paths.iter().map(|p| scratch.worktree.file(p).unwrap().unwrap()).collect();
        let after: Vec<File> =
            now.iter().map(|file| File::regular([&file.bytes[..], b"t"].concat())).collect();
        let steps: Vec<FileWrite<'_>> = paths
            .iter()
            .enumerate()
            .map(|(i, path)| FileWrite { path, now: Some(&now[i]), after: Some(&after[i]) })
            .collect();
        let edit = format!("edit {round} ");
        let (done, time) = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Like an editor: a new file renamed over the old.
                let beside = scratch.directory.path().join("edit");
                std::fs::write(&beside, &edit).unwrap();
                std::thread::sleep(took * 2 * (round * 17 % 100) / 100);
                std::fs::rename(&beside, &victim).unwrap();
            });
            let start = Instant::now();
            let done = journal.apply(&scratch.worktree.reader(), &steps, None, |_| Ok(()));
            (done, start.elapsed())
        });
        took = time;
        let text = std::fs::read_to_string(&victim).unwrap();
        assert!(text.starts_with(&edit), "round {round}: {done:?} left {text:?}");
        match done {
            Ok(()) => applied += 1,
            Err(error) => {
                assert!(error.is(&codes::FILE_CHANGED), "round {round}: {error}");
                refused += 1;
            }
        }
        let other = std::fs::read_to_string(scratch.on_disk("d0/f0")).unwrap();
        assert_eq!(other.matches('t').count(), applied, "all files or none");
    }
    assert!(applied > 0 && refused > 0, "applied {applied}, refused {refused}");
    assert!(!has_journals(&scratch.journal_directory()));
}

/// Another thread swaps a directory for a symlink to the outside and back.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_swapped_for_a_symlink_leads_no_transaction_outside() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let scratch = Scratch::new(&[("d/f", "0"), ("d/g", "0"), ("other/h", "0")]);
    let outside = scratch.directory.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "secret").unwrap();
    std::os::unix::fs::symlink(&outside, scratch.on_disk("link")).unwrap();
    let paths = [at("d/f"), at("d/g"), at("d/new/i"), at("other/h")];
    let over = AtomicBool::new(false);
    let (directory, link) = (scratch.on_disk("d"), scratch.on_disk("link"));
    let swap = || {
        rustix::fs::renameat_with(
            rustix::fs::CWD,
            &directory,
            rustix::fs::CWD,
            &link,
            rustix::fs::RenameFlags::EXCHANGE,
        )
        .unwrap();
    };
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                swap();
                swap();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let journal = scratch.journal().with_flush(false);
        let mut applied = 0;
        for _ in 0..400 {
            let now: Result<Vec<Option<File>>> =
                paths.iter().map(|path| scratch.worktree.file(path)).collect();
            let Ok(now) = now else { continue };
            let after = File::regular(format!("{}", applied + 1));
            let steps: Vec<FileWrite<'_>> = paths
                .iter()
                .zip(&now)
                .map(|(path, now)| FileWrite { path, now: now.as_ref(), after: Some(&after) })
                .collect();
            applied += u32::from(
                journal.apply(&scratch.worktree.reader(), &steps, None, |_| Ok(())).is_ok(),
            );
        }
        over.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        assert!(applied > 0);
    });
    let names: Vec<_> =
        std::fs::read_dir(&outside).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
    assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"secret");
}
