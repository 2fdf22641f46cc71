//! The program is stopped at every write step of `propose`, `apply` and `undo`, as by `kill -9`.
//! The next command finds a readable store, files all old or all new, and nothing lost that had
//! been acknowledged.

use crate::support::steps::{self, DELETE, STORE};
use crate::support::{Repo, Run};

/// Every further step at which `apply` writes.
const FILES: &[&str] = &[
    "journal.write", "journal.half", "journal.written", "worktree.create", "journal.index",
    "worktree.remove", "worktree.mkdir", "worktree.rename", "journal.commit", "journal.committed",
    "worktree.clean", "journal.remove",
];

fn repo() -> Repo {
    let text: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    Repo::with(&[
        ("a.txt", text.as_str()),
        ("dir/b.txt", text.as_str()),
        ("dir/deep/c.txt", text.as_str()),
        ("gone/d.txt", text.as_str()),
    ])
}

/// Two edits, a new file in a new directory, a deletion that empties a directory.
fn edits() -> String {
    serde_json::json!({ "edits": [
        { "file_path": "a.txt", "old_content": "line 2", "new_content": "LINE 2" },
        { "file_path": "dir/b.txt", "old_content": "line 3", "new_content": "LINE 3" },
        { "file_path": "new/directory/e.txt", "old_content": "", "new_content": "new\n" },
        { "file_path": "gone/d.txt", "delete": true },
    ]})
    .to_string()
}

const PROPOSE: &[&str] = &["propose", "--from-json", "-", "--json"];

fn propose(repo: &Repo) -> String {
    let json = repo.aye_stdin(PROPOSE, edits()).ok().json();
    json["proposal_id"].as_str().expect("an id").to_owned()
}

/// The files of the work tree, without projections.
fn files(repo: &Repo) -> Vec<(String, Vec<u8>)> {
    let mut files = repo.snapshot();
    files.retain(|(name, _)| !name.starts_with(".agent-memory"));
    files
}

fn count(repo: &Repo, status: &str) -> usize {
    let json = repo.aye(&["list", "--status", status, "--json"]).ok().json();
    json["proposals"].as_array().expect("a list").len()
}

/// Runs with the process stopped at the nth time it reaches `point`; `None` if it never did.
fn stop(repo: &Repo, args: &[&str], stdin: &str, point: &str, hit: usize) -> Option<Run> {
    let run =
        repo.cmd(args).env("FAILPOINTS", format!("{point}={hit}*off->return")).stdin(stdin).run();
    if run.status == 0 {
        return None;
    }
    // SIGABRT; anything else is a failure that should not be.
    Some(run.exits(128 + 6))
}

/// The store is sound once what can be rebuilt is, and nothing is left lying about.
fn assert_sound(repo: &Repo, what: &str) {
    repo.aye(&["doctor", "--repair"]).ok();
    let lock = repo.path(".git/aye/journal");
    let left: Vec<_> = std::fs::read_dir(lock)
        .map(|found| found.flatten().map(|entry| entry.file_name()).collect())
        .unwrap_or_default();
    assert!(left.iter().all(|name| name == "lock"), "{what}: {left:?}");
    assert!(!repo.snapshot().iter().any(|(name, _)| name.contains(".aye-")), "{what}");
    let lock = repo.path(".git/index.lock");
    assert!(lock.symlink_metadata().is_err(), "{what}: the index is still locked");
}

/// Every further step at which decided threads are closed.
const LEDGER: &[&str] = &["ledger.objects", "ledger.chunk", "ledger.refs"];

#[test]
fn gc_stopped_at_every_step() {
    let start = repo();
    let decided = propose(&start);
    start.aye(&["reject", &decided, "--yes"]).ok();
    start.aye(&["propose", "a.txt", "--old", "line 9", "--new", "LINE 9"]).ok();
    start.git(&["pack-refs", "--all"]);
    let all = ["list", "--status", "all", "--json"];
    let before = start.aye(&all).ok().json()["proposals"].clone();
    let gc = ["doctor", "--gc"];
    for point in STORE.iter().chain(LEDGER).chain(DELETE) {
        for hit in 0.. {
            let repo = start.copy();
            if stop(&repo, &gc, "", point, hit).is_none() {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let what = format!("{point} {hit}");
            steps::unlock(&repo.path(".git"));
            assert_eq!(repo.aye(&all).ok().json()["proposals"], before, "{what}");
            let more = ["propose", "a.txt", "--old", "line 8", "--new", "LINE 8"];
            repo.aye(&more).ok();
            repo.aye(&gc).ok();
            let refs = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/p"]);
            let open = refs.lines().filter(|name| !name.contains("/closed/"));
            assert_eq!(open.count(), 2, "{what}: {refs}");
            let after = repo.aye(&all).ok().json()["proposals"].clone();
            assert_eq!(after.as_array().map(Vec::len), Some(3), "{what}");
            assert_sound(&repo, &what);
            assert_eq!(repo.aye(&all).ok().json()["proposals"], after, "{what}");
            repo.git(&["fsck", "--strict", "--no-dangling"]);
        }
    }
}

/// A private proposal that is published: it is private or known, with all that it had.
#[test]
fn publish_stopped_at_every_step() {
    let start = repo();
    let args = ["propose", "a.txt", "--old", "line 2", "--new", "LINE 2", "--private", "-q"];
    let id = start.aye(&args).ok().id();
    start.aye(&["revise", &id, "a.txt", "--old", "line 3", "--new", "LINE 3"]).ok();
    let publish = ["revise", "--public", &id, "--yes"];
    for point in STORE {
        for hit in 0.. {
            let repo = start.copy();
            if stop(&repo, &publish, "", point, hit).is_none() {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let what = format!("{point} {hit}");
            assert_eq!(count(&repo, "pending"), 1, "{what}");
            let diff = repo.aye(&["diff", &id]).ok().out();
            assert!(diff.contains("+LINE 3"), "{what}");
            let again = repo.aye(&publish);
            assert!([0, 5].contains(&again.status), "{what}: {again}");
            assert_eq!(repo.item(&id)["space"], "shared", "{what}");
            assert_sound(&repo, &what);
        }
    }
}

#[test]
fn propose_stopped_at_every_step() {
    let start = repo();
    // Something acknowledged before, which must not be lost.
    start.aye(&["propose", "a.txt", "--old", "line 9", "--new", "LINE 9"]).ok();
    for point in STORE.iter().chain(&["store.pending.made", "worktree.create", "worktree.rename"]) {
        for hit in 0.. {
            let repo = start.copy();
            let before = files(&repo);
            if stop(&repo, PROPOSE, &edits(), point, hit).is_none() {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let found = count(&repo, "pending");
            assert!((1..=2).contains(&found), "{point} {hit}: {found} pending");
            // An agent that saw no answer asks again.
            let again = repo.aye_stdin(PROPOSE, edits()).ok().json();
            assert_eq!(again["duplicate"], found == 2, "{point} {hit}");
            assert_eq!(count(&repo, "pending"), 2, "{point} {hit}");
            assert_eq!(files(&repo), before, "{point} {hit}");
            assert_sound(&repo, &format!("{point} {hit}"));
            repo.git(&["fsck", "--strict", "--no-dangling"]);
        }
    }
}

/// What is said of a proposal is recorded or not, and can be said again.
#[test]
fn a_word_stopped_at_every_step() {
    let start = repo();
    let id = propose(&start);
    start.git(&["pack-refs", "--all"]);
    let words: [(&[&str], &str); 4] = [
        (&["comment", &id, "-m", "why?"], "comment"),
        (&["comment", &id, "--request-changes", "-m", "no"], "request_changes"),
        (&["approve", &id, "--yes"], "approve"),
        (&["reject", &id, "--yes"], "reject"),
    ];
    for (args, kind) in words {
        let more: &[&str] = if kind == "reject" { DELETE } else { &[] };
        for point in STORE.iter().chain(&["store.memo.written"]).chain(more) {
            for hit in 0.. {
                let repo = start.copy();
                if stop(&repo, args, "", point, hit).is_none() {
                    assert!(hit > 0, "{point} is never reached by {kind}");
                    break;
                }
                let what = format!("{kind}, {point} {hit}");
                steps::unlock(&repo.path(".git"));
                let said = || {
                    let log = repo.aye(&["log", &id, "--json"]).ok().json();
                    let events = log["events"].as_array().expect("events").iter();
                    events.filter(|event| event["kind"] == kind).count()
                };
                let is_rejected = said() == 1 && kind == "reject";
                let status = if is_rejected { "rejected" } else { "pending" };
                assert_eq!(count(&repo, status), 1, "{what}");
                if said() == 0 {
                    repo.aye(args).ok();
                }
                assert_eq!(said(), 1, "{what}");
                assert_sound(&repo, &what);
                repo.git(&["fsck", "--strict", "--no-dangling"]);
            }
        }
    }
}

/// Stops `args` at every step; `old` and `new` are the states that may be found after.
fn every_step(args: impl Fn(&str) -> Vec<String>, prepare: impl Fn(&Repo, &str), undo: bool) {
    let start = repo();
    let id = propose(&start);
    prepare(&start, &id);
    let args = args(&id);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // What it looks like when nothing is stopped.
    let (old, new) = {
        let repo = start.copy();
        let old = files(&repo);
        repo.aye(&args).ok();
        (old, files(&repo))
    };
    assert_ne!(old, new);
    let last = if undo { "undo.event" } else { "apply.event" };
    for point in STORE.iter().chain(FILES).chain(&[last]) {
        for hit in 0.. {
            let repo = start.copy();
            if stop(&repo, &args, "", point, hit).is_none() {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let what = format!("{point} {hit}");
            // The next command, whatever it is, settles the files.
            let applied = count(&repo, "applied") == 1;
            let done = applied != undo;
            let found = files(&repo);
            let committed = point == &"apply.event" || point.starts_with("store.");
            if done {
                assert!(found == new, "{what}: recorded, and the files are not new: {found:?}");
            } else if args.contains(&"--commit") && committed && found == new {
                // The commit was made: the files stay, and applying again only records it.
                assert_eq!(
                    repo.git(&["log", "-1", "--format=%(trailers:key=Proposal-Id,valueonly)"])
                        .trim(),
                    id
                );
            } else {
                assert!(found == old, "{what}: not recorded, and the files are not old: {found:?}");
            }
            if !done {
                repo.aye(&args).ok();
            }
            assert_eq!(files(&repo), new, "{what}");
            assert_eq!(count(&repo, "applied") == 1, !undo, "{what}");
            assert_sound(&repo, &what);
            repo.git(&["fsck", "--strict", "--no-dangling"]);
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn apply_stopped_at_every_step() {
    every_step(|id| words(&["apply", id, "--yes"]), |_, _| (), false);
}

#[test]
fn apply_that_merges_stopped_at_every_step() {
    let edit = |repo: &Repo, _: &str| {
        repo.write("a.txt", repo.text("a.txt").replace("line 8", "my own line 8"));
    };
    every_step(|id| words(&["apply", id, "--yes"]), edit, false);
}

#[test]
fn apply_that_commits_stopped_at_every_step() {
    every_step(|id| words(&["apply", id, "--yes", "--commit"]), |_, _| (), false);
}

#[test]
fn undo_stopped_at_every_step() {
    let apply = |repo: &Repo, id: &str| drop(repo.aye(&["apply", id, "--yes"]).ok());
    every_step(|id| words(&["undo", id, "--yes"]), apply, true);
}

/// What stands in the files and what is on record come to the same.
#[test]
fn undo_of_a_direct_patch_stopped_at_every_step() {
    let start = repo();
    let old = files(&start);
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n line 1\n-line 2\n+LINE 2\n line 3\n\
                 --- a/gone/d.txt\n+++ /dev/null\n@@ -1,9 +0,0 @@\n-line 1\n-line 2\n-line 3\n-line 4\n\
                 -line 5\n-line 6\n-line 7\n-line 8\n-line 9\n";
    start.aye_stdin(&["patch"], patch).ok();
    let new = files(&start);
    let log = |repo: &Repo| repo.aye(&["log", "--json"]).ok().json()["events"][0].clone();
    let id = log(&start)["patch_id"].as_str().expect("an id").to_owned();
    let args = ["undo", &id, "--yes"];
    for point in STORE.iter().chain(FILES).chain(&["undo.event"]) {
        for hit in 0.. {
            let repo = start.copy();
            if stop(&repo, &args, "", point, hit).is_none() {
                break;
            }
            let what = format!("{point} {hit}");
            let is_undone = log(&repo)["kind"] == "undo";
            assert!(files(&repo) == *if is_undone { &old } else { &new }, "{what}: {is_undone}");
            if !is_undone {
                repo.aye(&args).ok();
                assert!(files(&repo) == old, "{what}: again");
            }
            assert_sound(&repo, &what);
        }
    }
}

/// A step that fails (disk full, read-only) changes nothing and says so, in the same command.
#[test]
fn a_failing_step_is_taken_back_at_once() {
    let start = repo();
    let id = propose(&start);
    for point in FILES.iter().filter(|point| {
        ![
            "journal.index", "journal.commit", "journal.committed", "worktree.clean",
            "journal.remove",
        ]
        .contains(point)
    }) {
        for (failure, status) in [("disk_full", 7), ("read_only", 4)] {
            let repo = start.copy();
            let before = files(&repo);
            let run = repo
                .cmd(&["apply", &id, "--yes"])
                .env("FAILPOINTS", format!("{point}=1*return({failure})->off"))
                .run();
            run.fails(failure, status);
            assert_eq!(files(&repo), before, "{point} {failure}");
            assert_eq!(count(&repo, "pending"), 1, "{point} {failure}");
            assert_sound(&repo, point);
        }
    }
}

/// Eighteen pending proposals whose refs are packed, and the command that rejects half of them.
fn packed() -> (Repo, Vec<String>) {
    let repo = repo();
    let propose = |line: usize| {
        let new = format!("L{line}");
        let file = if line > 9 { "dir/b.txt" } else { "a.txt" };
        let old = format!("line {}\n", 1 + line % 9);
        repo.aye(&["propose", file, "--old", &old, "--new", &new, "-q"]).ok().id()
    };
    let mut args: Vec<String> = ["reject", "--yes", "-m", "no"].map(str::to_owned).into();
    args.extend((0..18).map(propose).step_by(2));
    repo.git(&["tag", "-a", "-m", "A tag", "v1"]);
    repo.git(&["pack-refs", "--all"]);
    (repo, args)
}

#[test]
fn packed_refs_are_written_once_for_all_decisions_of_a_command() {
    let (repo, args) = packed();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // At a second time the process would be stopped.
    assert!(stop(&repo, &args, "", "store.packed.rename", 1).is_none());
    let refs = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/pending"]);
    assert_eq!(refs.lines().count(), 9, "{refs}");
    assert_eq!(repo.git(&["describe", "--tags"]), "v1");
    repo.aye(&["doctor"]).ok();
}

#[test]
fn decisions_stopped_at_packed_refs_are_decided_and_their_refs_go_with_the_next_writer() {
    let (repo, args) = packed();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert!(stop(&repo, &args, "", "store.packed.rename", 0).is_some());
    assert_eq!((count(&repo, "rejected"), count(&repo, "pending")), (9, 9));
    // What a stopped git leaves as well; a person has to remove it.
    repo.remove(".git/packed-refs.lock");
    repo.aye(&["propose", "a.txt", "--old", "line 1", "--new", "one", "-q"]).ok();
    let refs = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/pending"]);
    assert_eq!(refs.lines().count(), 10, "{refs}");
    assert_eq!(repo.git(&["describe", "--tags"]), "v1");
    repo.aye(&["doctor"]).ok();
}
