//! Refs of threads, and what becomes of them: clones, copies, backups, build machines, the ledger of
//! decided ones, and what plain git does with all of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::clones::{clone, exchange, fetch, join, name, push, refs, thread, tip};
use crate::support::forger::{self, Forged};
use crate::support::{Repo, Run};

fn scene() -> Repo {
    Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")])
}

fn propose(repo: &Repo, old: &str, new: &str) -> String {
    repo.agent("codex", &["propose", "a.txt", "--old", old, "--new", new, "-q"]).ok().id()
}

fn status(repo: &Repo, id: &str) -> (String, bool) {
    let item = repo.item(id);
    (item["status"].as_str().expect("a status").to_owned(), item["contested"] == true)
}

/// A repository whose server has its branch.
fn with_server() -> (Repo, Repo) {
    let (repo, server) = (scene(), Repo::bare());
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    (repo, server)
}

#[test]
fn a_clone_has_a_name_from_its_first_event() {
    let repo = scene();
    for args in [
        &["init"][..],
        &["list"],
        &["log"],
        &["check"],
        &["check", "--staged"],
        &["doctor"],
        &["doctor", "--repair"],
        &["hooks", "install"],
        &["memory", "status"],
        &["review"],
        &["propose", "a.txt", "--old", "none", "--new", "x"],
    ] {
        repo.aye(args);
        assert_eq!((name(&repo), refs(&repo, &["refs/aye"]).len()), (None, 0), "{args:?}");
    }
    let id = propose(&repo, "one", "ONE");
    let named = name(&repo).expect("a name");
    assert!(named.len() == 16 && named.bytes().all(|b| b.is_ascii_hexdigit()), "{named}");
    let thread = thread(&repo, &id);
    assert_eq!(Forged::read(&repo, &thread).event["clone"], named);
    // A linked work tree is the same clone.
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let args = ["comment", &id, "-m", "x"];
    repo.cmd(&args).dir(repo.outer().join("linked")).run().ok();
    assert_eq!(name(&repo), Some(named.clone()));
    assert_eq!(Forged::read(&repo, &tip(&repo, &thread)).event["clone"], named);
}

#[test]
fn an_event_has_the_tips_that_its_writer_had_seen_as_parents() {
    let (repo, server) = with_server();
    let id = propose(&repo, "one", "ONE");
    push(&repo);
    let other = clone(&server);
    for repo in [&repo, &other] {
        repo.aye(&["comment", &id, "-m", "x"]).ok();
    }
    push(&other);
    fetch(&repo);
    let first = thread(&repo, &id);
    let mut seen = vec![tip(&repo, &first), tip(&other, &first)];
    seen.sort();
    repo.aye(&["comment", &id, "-m", "of both"]).ok();
    assert_eq!(Forged::read(&repo, &tip(&repo, &first)).parents, seen);
    // A thread names nothing of another.
    let second = propose(&repo, "two", "TWO");
    assert_eq!(Forged::read(&repo, &thread(&repo, &second)).parents, [""; 0]);
    repo.git(&["fsck", "--strict", "--no-dangling"]);
}

/// Both write in one thread: git refuses the second push, and a repair gives one of them a new name.
#[test]
fn a_copy_pushes_below_a_directory_of_its_own_after_a_repair() {
    let (a, _server) = with_server();
    let id = propose(&a, "one", "ONE");
    push(&a);
    let b = a.copy();
    let before = name(&b).expect("a name");
    a.aye(&["comment", &id, "-m", "of a"]).ok();
    b.aye(&["comment", &id, "-m", "of b"]).ok();
    push(&a);
    let refspec = format!("refs/aye/p/*:refs/aye/by/{before}/*");
    assert_ne!(b.try_git(&["push", "-q", "origin", &refspec]).status, 0);
    fetch(&b);
    b.aye(&["doctor", "--repair"]);
    let now = name(&b).expect("a name");
    assert_ne!(now, before);
    assert_eq!(b.git(&["config", "--get-all", "aye.formerClone"]), before);
    push(&b);
    fetch(&a);
    for repo in [&a, &b] {
        assert_eq!(repo.item(&id)["comments"].as_array().map(Vec::len), Some(2));
    }
    // What this clone has proposed under its former name is still its proposer's to revise and withdraw.
    let revise = ["revise", &id, "a.txt", "--old", "one", "--new", "better"];
    b.agent("codex", &revise).ok();
    assert_eq!(b.item(&id)["revisions"], 2);
    push(&b);
    fetch(&a);
    assert_eq!(a.item(&id)["revisions"], 2);
    b.agent("codex", &["reject", &id]).ok();
    push(&b);
    fetch(&a);
    assert_eq!(status(&a, &id), ("rejected".into(), false));
    a.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(name(&a), Some(before));
}

#[test]
fn a_restored_backup_sees_later_decisions() {
    let (a, _server) = with_server();
    let id = propose(&a, "one", "ONE");
    let backup = a.copy();
    a.aye(&["reject", &id, "--yes"]).ok();
    push(&a);
    fetch(&backup);
    backup.aye(&["apply", &id, "--yes"]).fails("not_pending", 5);
    backup.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(status(&backup, &id), ("pending".into(), false));
}

#[test]
fn a_build_machine_writes_only_under_a_given_name() {
    let (repo, server) = with_server();
    let id = propose(&repo, "one", "ONE");
    push(&repo);
    let one = clone(&server);
    let ci = |repo: &Repo, args: &[&str]| -> Run { repo.cmd(args).env("CI", "true").run() };
    for args in [&["list"][..], &["check"], &["doctor"], &["show", &id], &["log"]] {
        assert!(ci(&one, args).status <= 1, "{args:?}");
    }
    ci(&one, &["comment", &id, "-m", "x"]).fails("ci_has_no_clone", 4);
    // Whether it may comes first.
    ci(&one, &["reject", &id, "--yes"]).fails("human_approval_required", 4);
    ci(&one, &["propose", "b.txt", "--old", "b", "--new", "B"]).fails("ci_has_no_clone", 4);
    // The repository's own configuration has no say.
    one.git(&["config", "aye.clone", "1111111111111111"]);
    ci(&one, &["comment", &id, "-m", "x"]).fails("ci_has_no_clone", 4);
    one.git(&["config", "--unset", "aye.clone"]);
    let given = "c1c1c1c1c1c1c1c1";
    for number in 1..=3 {
        let run = clone(&server);
        run.cmd(&["try", &id, "--", "true"]).in_ci(given).run().ok();
        let thread = thread(&run, &id);
        let event = Forged::read(&run, &tip(&run, &thread)).event;
        assert_eq!((&event["clone"], &event["actor"]["kind"]), (&json!(given), &json!("ci")));
        run.git(&["push", "-q", "origin", &format!("refs/aye/p/*:refs/aye/by/{given}/*")]);
        let checks = run.item(&id)["checks"].as_array().map(Vec::len);
        assert_eq!(checks, Some(number));
    }
    fetch(&repo);
    assert_eq!(repo.item(&id)["checks"].as_array().map(Vec::len), Some(3));
    one.cmd(&["list"]).in_ci("a/b").run().fails("invalid_config", 2);
}

/// All statuses, as a list has them, and the same without a memo.
fn list(repo: &Repo) -> Value {
    let list = || repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let warm = list();
    for memo in ["open", "decided"] {
        let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{memo}")));
    }
    assert_eq!(list(), warm, "with a memo and without");
    warm
}

#[test]
fn closed_threads_are_what_they_were() {
    let (repo, server) = with_server();
    let applied = propose(&repo, "one", "ONE");
    repo.aye(&["apply", &applied, "--yes"]).ok();
    let rejected = propose(&repo, "two", "TWO");
    repo.aye(&["comment", &rejected, "-m", "why?"]).ok();
    repo.aye(&["reject", &rejected, "--yes", "-m", "no"]).ok();
    let pending = propose(&repo, "three", "THREE");
    push(&repo);
    let warm = clone(&server);
    let before = list(&repo);
    let open = refs(&repo, &["refs/aye/p"]).len();
    repo.agent("codex", &["doctor", "--gc"]).fails("human_approval_required", 4);
    repo.aye(&["doctor", "--gc", "--dry-run"]).ok();
    assert_eq!(refs(&repo, &["refs/aye/p"]).len(), open);
    repo.aye(&["doctor", "--gc"]).ok();
    let names = refs(&repo, &["refs/aye/p"]);
    let closed: Vec<&String> = names.iter().filter(|name| name.starts_with("p/closed/")).collect();
    assert_eq!((names.len(), closed.len()), (2, 1), "{names:?}");
    let chunk = repo.git(&["rev-parse", &format!("refs/aye/{}", closed[0])]);
    assert!(closed[0].ends_with(&chunk));
    assert_eq!(list(&repo), before);
    repo.aye(&["show", &applied]).ok();
    repo.aye(&["diff", &rejected]).ok();
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(list(&repo), before);
    // For others too, with the open refs at the server or without.
    push(&repo);
    fetch(&warm);
    let all = |repo: &Repo| {
        let proposals = list(repo)["proposals"].as_array().expect("a list").clone();
        let pair = |item: &Value| (item["proposal_id"].to_string(), item["status"].to_string());
        proposals.iter().map(pair).collect::<BTreeSet<_>>()
    };
    assert_eq!(all(&warm), all(&repo));
    let thread = forger_thread(&repo, &rejected, &before);
    let there = format!(":refs/aye/by/{}/{thread}", name(&repo).expect("a name"));
    repo.git(&["push", "-q", "origin", &there]);
    let fresh = clone(&server);
    assert_eq!(all(&fresh), all(&repo));
    // Closed is a place: a later event opens it again, and both are one history.
    fresh.aye(&["undo", &rejected, "--yes"]).ok();
    assert_eq!(status(&fresh, &rejected), ("pending".into(), false));
    assert_eq!(fresh.item(&rejected)["comments"].as_array().map(Vec::len), Some(1));
    push(&fresh);
    fetch(&repo);
    assert_eq!(status(&repo, &rejected), ("pending".into(), false));
    repo.aye(&["reject", &rejected, "--yes"]).ok();
    repo.aye(&["doctor", "--gc"]).ok();
    assert_eq!(status(&repo, &rejected), ("rejected".into(), false));
    assert_eq!(status(&repo, &pending), ("pending".into(), false));
}

/// The whole id of a proposal that is in no ref of its own any more.
fn forger_thread(repo: &Repo, id: &str, list: &Value) -> String {
    let mut items = list["proposals"].as_array().expect("a list").iter();
    let item = items.find(|item| item["proposal_id"] == id).expect("it is listed");
    // Its only revision is its first event.
    let revision = item["revision"].as_str().expect("an id").to_owned();
    assert_eq!(Forged::read(repo, &revision).event["kind"], "propose");
    revision
}

/// A chunk that somebody else's remote has is a claim; one that cannot be read is named.
#[test]
fn a_forged_chunk_closes_and_hides_nothing() {
    let repo = scene();
    let id = propose(&repo, "one", "ONE");
    let thread = thread(&repo, &id);
    let tree = forger::tree(&repo, "");
    let who = "M <m@x> 1767225600 +0000";
    let head = format!("author {who}\ncommitter {who}\n");
    let commit = forger::tree(&repo, "");
    let comment = Forged::comment("x").on(&[&thread]).write(&repo);
    let part = format!("tree {tree}\nparent {comment}\n{head}aye-thread {thread} 1\n\nx\n");
    let part = forger::commit(&repo, part);
    let chunk = format!("tree {tree}\nparent {part}\n{head}aye-from {thread}\n\nx\n");
    let chunk = forger::commit(&repo, chunk);
    forger::fetched(&repo, &format!("closed/{chunk}"), &chunk);
    assert_eq!(repo.item(&id)["comments"].as_array().map(Vec::len), Some(1));
    for bad in [commit, "1".repeat(40), comment] {
        forger::fetched(&repo, &format!("closed/{bad}"), &bad);
        assert_eq!(status(&repo, &id), ("pending".into(), false));
        repo.aye(&["list"]).ok();
        repo.aye(&["doctor"]).ok().says(&format!("closed/{bad} is set aside"));
        std::fs::remove_dir_all(repo.path(".git/refs/aye/remotes")).expect("removed");
    }
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(status(&repo, &id), ("applied".into(), false));
}

#[test]
fn bundles_and_mirrors_carry_threads() {
    let repo = scene();
    let id = propose(&repo, "one", "ONE");
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.aye(&["doctor", "--gc"]).ok();
    let second = propose(&repo, "two", "TWO");
    repo.git(&["pack-refs", "--all"]);
    let bundle = repo.outer().join("all.bundle");
    let bundle = bundle.to_str().expect("UTF-8");
    repo.git(&["bundle", "create", "-q", bundle, "--all"]);
    for source in [bundle, repo.root().to_str().expect("UTF-8")] {
        let mirror = repo.outer().join("mirror");
        let _ = std::fs::remove_dir_all(&mirror);
        repo.git(&["clone", "-q", "--mirror", source, mirror.to_str().expect("UTF-8")]);
        let cmd = |args: &[&str]| repo.cmd(args).dir(&mirror).run().ok();
        assert_eq!(cmd(&["show", &id, "--json"]).json()["status"], "applied");
        assert_eq!(cmd(&["show", &second, "--json"]).json()["status"], "pending");
        repo.program("git").dir(&mirror).args(&["fsck", "--strict"]).run().ok();
        cmd(&["comment", &second, "-m", "from the mirror"]);
        cmd(&["doctor"]);
    }
}

/// A ref goes between the look at its directory and the one at its file.
#[test]
fn a_ref_that_has_gone_meanwhile_is_not_unreadable() {
    let repo = scene();
    propose(&repo, "one", "ONE");
    let id = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/pending"]);
    let files: Vec<_> =
        (0..400).map(|n| repo.path(&format!(".git/refs/aye/pending/aye-{n:012}"))).collect();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for file in &files {
                    let lock = file.with_extension("lock");
                    std::fs::write(&lock, format!("{id}\n")).expect("written");
                    std::fs::rename(&lock, file).expect("named");
                }
                for file in &files {
                    let _ = std::fs::remove_file(file);
                }
            }
        });
        for _ in 0..20 {
            let run = repo.aye(&["doctor"]);
            let is_found = run.out().contains("object id");
            done.store(is_found, std::sync::atomic::Ordering::Relaxed);
            assert!(!is_found, "{run}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// What was fetched under a remote's name counts, whatever the name is.
#[test]
fn remotes_with_slashes_are_told_apart() {
    let (repo, other) = (scene(), scene());
    let id = propose(&other, "one", "ONE");
    let named = name(&other).expect("a name");
    let url = other.root().to_str().expect("UTF-8").to_owned();
    repo.git(&["remote", "add", "team/main", &url]);
    let refspec = format!("refs/aye/p/*:refs/aye/remotes/team/main/{named}/*");
    repo.git(&["fetch", "-q", "team/main", &refspec]);
    assert_eq!(status(&repo, &id), ("pending".into(), false));
    exchange(&repo, &other);
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(status(&repo, &id), ("applied".into(), false));
}

#[test]
fn reftable_is_refused_by_name() {
    let repo = Repo::outside();
    if repo.try_git(&["init", "-q", "--ref-format=reftable", "-b", "main", "."]).status != 0 {
        eprintln!("skipped: this git has no reftable");
        return;
    }
    repo.git(&["config", "user.name", "Ada"]);
    repo.git(&["config", "user.email", "ada@example.com"]);
    repo.write("a.txt", "one\n");
    repo.git(&["add", "a.txt"]);
    repo.git(&["commit", "-q", "-m", "Start"]);
    repo.aye(&["propose", "a.txt", "--old", "one", "--new", "two"]).fails("refs_unsupported", 6);
}
