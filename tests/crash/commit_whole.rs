//! `apply --commit` is whole: whatever fails or dies once git has made the commit, HEAD, index and
//! work tree are one, and the proposal is applied or says that it was not recorded.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Repo, Run, until};

/// A repository with one commit and one pending proposal, and the id of that.
fn proposed() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    let id = repo.aye(&["propose", "a.txt", "--old", "two", "--new", "TWO"]).ok().id();
    (repo, id)
}

fn hook(repo: &Repo, name: &str, script: &str) {
    repo.write(&format!(".git/hooks/{name}"), format!("#!/bin/sh\n{script}\n"));
    repo.chmod(&format!(".git/hooks/{name}"), 0o755);
}

fn head(repo: &Repo) -> String {
    repo.git(&["rev-parse", "HEAD"])
}

fn status_of(repo: &Repo, id: &str) -> String {
    let json = repo.aye(&["show", id, "--json"]).ok().json();
    json["status"].as_str().or(json["proposal"]["status"].as_str()).expect("a status").to_owned()
}

/// HEAD, index and work tree are one, all old or all new; returns whether they are new. A commit
/// whose decision is not recorded is decided on by the command that the hint names.
#[track_caller]
fn assert_whole(repo: &Repo, id: &str, before: &str, what: &str) -> bool {
    // The next command, whatever it is, settles what was left.
    let status = status_of(repo, id);
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "{what}");
    let journal = fs::read_dir(repo.path(".git/aye/journal")).into_iter().flatten().flatten();
    let left: Vec<_> = journal.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "lock"), "{what}: {left:?}");
    let head = head(repo);
    if head == before {
        assert_eq!(repo.text("a.txt"), "one\ntwo\nthree\n", "{what}");
        assert_eq!(status, "pending", "{what}");
        return false;
    }
    assert_eq!(repo.text("a.txt"), "one\nTWO\nthree\n", "{what}");
    assert_eq!(repo.git(&["show", "HEAD:a.txt"]), "one\nTWO\nthree", "{what}");
    if status == "pending" {
        let json = repo.aye(&["apply", id, "--commit", "--yes", "--json"]).ok().json();
        assert_eq!(json["proposals"][0]["commit"], head.as_str(), "{what}");
        assert_eq!(self::head(repo), head, "{what}: a second commit");
    }
    assert_eq!(status_of(repo, id), "applied", "{what}");
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "{what}");
    true
}

/// The refusal names what stands, and what to do.
#[track_caller]
fn assert_not_recorded(run: &Run, id: &str) {
    assert_eq!(run.status, 8, "{run:?}");
    let text = run.err();
    assert!(text.contains("error[committed_not_recorded]"), "{text}");
    assert!(text.contains(&format!("aye apply {id} --commit")), "{text}");
}

#[test]
fn a_failing_step_leaves_all_old_or_all_committed() {
    let (start, id) = proposed();
    let points = ["apply.room", "apply.record", "store.objects.write", "store.ref.write"];
    let mut unrecorded = 0;
    for point in points {
        for failure in ["disk_full", "read_only", "io"] {
            for hit in 0.. {
                let repo = start.copy();
                let before = head(&repo);
                let run = repo
                    .cmd(&["apply", &id, "--commit", "--yes"])
                    .env("FAILPOINTS", format!("{point}={hit}*off->1*return({failure})->off"))
                    .run();
                let what = format!("{point} {hit} {failure}");
                if run.status == 0 {
                    assert!(hit > 0, "{point} is never reached");
                    break;
                }
                if head(&repo) != before {
                    unrecorded += 1;
                    assert_not_recorded(&run, &id);
                }
                assert_whole(&repo, &id, &before, &what);
            }
        }
    }
    assert!(unrecorded > 0);
}

/// What depends on nothing that git makes is on the disk before git starts.
#[test]
fn the_decision_is_there_before_the_commit() {
    let (repo, id) = proposed();
    let found = repo.path("found");
    let list = "git cat-file --batch-check='%(objectname)' --batch-all-objects";
    hook(&repo, "pre-commit", &format!("{list} > {}", found.display()));
    repo.aye(&["apply", &id, "--commit", "--yes"]).ok();
    let own = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/p/"]);
    let found = fs::read_to_string(found).expect("the hook has run");
    let log = repo.git(&["log", "--format=%H %s", &own]);
    let decision = log.lines().find(|line| line.contains(" apply")).expect("a decision");
    let decision = decision.split(' ').next().expect("an id");
    for name in [decision.to_owned(), format!("{decision}:manifest")] {
        let id = repo.git(&["rev-parse", &name]);
        assert!(found.lines().any(|line| line == id.trim()), "{name}");
    }
}

#[test]
fn git_that_fails_after_the_commit_stands_is_a_warning() {
    let (repo, id) = proposed();
    let before = head(&repo);
    // Git cannot put the index in place: it is a directory by then.
    hook(&repo, "commit-msg", "rm -f .git/index && mkdir .git/index");
    let run = repo.aye(&["apply", &id, "--commit", "--yes"]);
    fs::remove_dir(repo.path(".git/index")).expect("the hook has run");
    repo.git(&["read-tree", "HEAD"]);
    assert_ne!(head(&repo), before, "{run:?}");
    assert_whole(&repo, &id, &before, "git failed late");
}

/// Runs `aye apply --commit` under strace with the nth `call` of aye itself failing.
fn traced(repo: &Repo, id: &str, options: &[&str]) -> Run {
    let aye = repo.cmd::<&str>(&[]).into_inner().get_program().to_owned();
    let log = repo.outer().join("strace.log");
    repo.program("strace")
        .args(&["-qq", "-o"])
        .args(&[log])
        .args(options)
        .args(&[aye])
        .args(&["apply", id, "--commit", "--yes"])
        .run()
}

#[test]
fn a_failing_system_call_leaves_all_old_or_all_committed() {
    const CALLS: [&str; 8] = [
        "write",
        "fdatasync",
        "fsync",
        "rename,renameat,renameat2",
        "mkdir,mkdirat",
        "openat",
        "ftruncate",
        "sync_file_range",
    ];
    let (start, id) = proposed();
    let works = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace cannot be run here");
        return;
    }
    let mut committed = 0;
    for (index, calls) in CALLS.iter().enumerate() {
        let repo = start.copy();
        traced(&repo, &id, &["-e", &format!("trace={calls}")]).ok();
        let log = fs::read_to_string(repo.outer().join("strace.log")).expect("a log");
        let total = log.lines().filter(|line| !line.starts_with(['-', '+'])).count();
        // The last ones are those after the commit.
        for at in total.saturating_sub(9).max(1)..=total {
            let error = if (at + index) % 2 == 0 { "ENOSPC" } else { "EIO" };
            let repo = start.copy();
            let before = head(&repo);
            let inject = format!("inject={calls}:error={error}:when={at}");
            let run = traced(&repo, &id, &["-e", &format!("trace={calls}"), "-e", &inject]);
            let what = format!("{calls} {at} {error}: {}", run.err());
            let pending = status_of(&repo, &id) == "pending";
            if head(&repo) != before {
                committed += 1;
                if pending {
                    assert_not_recorded(&run, &id);
                }
            }
            assert_whole(&repo, &id, &before, &what);
        }
    }
    assert!(committed > 0, "no call after the commit was reached");
}

/// Removes the mount at the end, whatever happens.
struct Mount(std::path::PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_disk_that_a_hook_fills_has_room_for_the_record() {
    let outer = Repo::with(&[("unused", "")]);
    let place = outer.path("small");
    fs::create_dir(&place).expect("a directory");
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=8m", "t"]).arg(&place);
    if !mount.output().is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    let _mount = Mount(place.clone());
    let at = |args: &[&str]| outer.program("git").dir(&place).args(args).run().ok();
    at(&["init", "-q", "r"]);
    let top = place.join("r");
    let git = |args: &[&str]| outer.program("git").dir(&top).args(args).run().ok();
    fs::write(top.join("a.txt"), "one\ntwo\n").expect("written");
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "Start"]);
    let aye = |args: &[&str]| outer.cmd(args).dir(&top).run();
    let id = aye(&["propose", "a.txt", "--old", "two", "--new", "TWO"]).ok().id();
    let fill = "dd if=/dev/zero of=../fill bs=1k 2>/dev/null; true";
    let hook = top.join(".git/hooks/post-commit");
    fs::write(&hook, format!("#!/bin/sh\n{fill}\n")).expect("written");
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let run = aye(&["apply", &id, "--commit", "--yes"]);
    let full = fs::metadata(place.join("fill")).expect("the hook has run").len();
    assert!(full > 1 << 20, "{full}");
    fs::remove_file(place.join("fill")).expect("removed");
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(git(&["status", "--porcelain"]).out(), "");
    assert_eq!(fs::read_to_string(top.join("a.txt")).expect("read"), "one\nTWO\n");
    aye(&["show", &id]).ok().says("applied");
}

/// True if no process holds the lock of the journal.
fn is_free(repo: &Repo) -> bool {
    let lock = fs::File::open(repo.path(".git/aye/journal/lock")).expect("a lock");
    lock.try_lock().is_ok()
}

/// Kills aye while the hook `name` runs, lets another command come, then lets the hook end with
/// `status`.
#[track_caller]
fn killed_in(name: &str, status: u8) -> (Repo, String, String) {
    let (repo, id) = proposed();
    let before = head(&repo);
    let (inside, go) = (repo.outer().join("inside"), repo.outer().join("go"));
    let wait = format!(
        "touch {}; while ! test -e {}; do sleep 0.02; done; exit {status}",
        inside.display(),
        go.display()
    );
    hook(&repo, name, &wait);
    let mut running = repo.cmd(&["apply", &id, "--commit", "--yes"]).spawn();
    until("the hook", || inside.exists());
    running.child.kill().expect("SIGKILL");
    // Not `wait`: git has the other ends of the pipes.
    running.child.wait().expect("gone");
    let list = repo.aye(&["list"]).ok();
    assert!(!list.err().contains("undid"), "{list:?}");
    assert!(!list.err().contains("recorded"), "{list:?}");
    assert_eq!(repo.text("a.txt"), "one\nTWO\nthree\n", "reverted while git runs");
    assert!(!is_free(&repo));
    touch(&go);
    until("the end of git", || is_free(&repo));
    (repo, id, before)
}

fn touch(path: &Path) {
    fs::write(path, "").expect("written");
}

#[test]
fn aye_killed_while_the_pre_commit_hook_runs_leaves_the_commit() {
    let (repo, id, before) = killed_in("pre-commit", 0);
    let list = repo.aye(&["list"]).ok();
    assert!(list.err().contains("recorded"), "{list:?}");
    assert!(list.err().contains(&format!("aye apply {id} --commit")), "{list:?}");
    assert!(assert_whole(&repo, &id, &before, "pre-commit"));
}

#[test]
fn aye_killed_while_the_pre_commit_hook_refuses_takes_all_back() {
    let (repo, id, before) = killed_in("pre-commit", 1);
    repo.aye(&["list"]).ok().notes("undid");
    assert!(!assert_whole(&repo, &id, &before, "pre-commit"));
}

#[test]
fn aye_killed_while_the_post_commit_hook_runs_leaves_the_commit() {
    let (repo, id, before) = killed_in("post-commit", 0);
    assert!(assert_whole(&repo, &id, &before, "post-commit"));
}

/// Whatever takes both away, git's lock stays until somebody removes it: what is staged is a pending proposal's,
/// and the next commit would take it.
#[test]
fn what_is_staged_behind_the_lock_of_a_git_that_was_killed_is_taken_back_later() {
    let (repo, id) = proposed();
    let before = head(&repo);
    // The hook is git's child, and git is aye's.
    hook(&repo, "pre-commit", "read -r _ _ _ aye _ <\"/proc/$PPID/stat\"; kill -9 $aye $PPID");
    repo.aye(&["apply", &id, "--commit", "--yes"]).exits(128 + 9);
    fs::remove_file(repo.path(".git/hooks/pre-commit")).expect("removed");
    let lock = repo.path(".git/index.lock");
    until("the end of git", || is_free(&repo));
    assert!(lock.exists());
    for _ in 0..2 {
        let list = repo.aye(&["list"]).ok().notes("warning[index_locked]");
        list.notes("remove ");
        assert_eq!(repo.text("a.txt"), "one\ntwo\nthree\n");
    }
    repo.aye(&["doctor"]).exits(1).says("index_locked").says("remove ");
    fs::remove_file(lock).expect("removed");
    repo.aye(&["list"]).ok().notes("undid");
    assert!(!assert_whole(&repo, &id, &before, "killed with git"));
    repo.aye(&["doctor"]).ok();
    repo.aye(&["apply", &id, "--commit", "--yes"]).ok();
}

/// Somebody commits on top before aye comes again: the files of the interrupted one stay.
#[test]
fn a_commit_on_top_does_not_hide_the_one_that_was_interrupted() {
    let (repo, id, before) = killed_in("post-commit", 0);
    fs::remove_file(repo.path(".git/hooks/post-commit")).expect("removed");
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "On top"]);
    let made = repo.git(&["rev-parse", "HEAD~1"]);
    repo.aye(&["list"]).ok();
    assert_eq!(repo.text("a.txt"), "one\nTWO\nthree\n");
    let json = repo.aye(&["apply", &id, "--commit", "--yes", "--json"]).ok().json();
    assert_eq!(json["proposals"][0]["commit"], made.as_str());
    assert_ne!(made, before);
}

/// What it leaves, a journal and a commit with the trailer, anybody who can write the git directory
/// can make: no command takes it for a decision.
#[test]
fn an_interrupted_commit_is_no_approval() {
    let (repo, id, _) = killed_in("post-commit", 0);
    repo.aye(&["list"]).ok();
    repo.agent("bot", &["list"]).ok();
    repo.aye(&["doctor", "--repair"]).ok();
    assert_eq!(status_of(&repo, &id), "pending");
}
