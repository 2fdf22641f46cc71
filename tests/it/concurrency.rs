//! Many processes on one clone: none fails, and nothing is lost.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};

use crate::support::clones::{clone, fetch, join, push, refs, thread};
use crate::support::{self, Repo};

/// Name of the agent of process `number`.
fn agent(number: usize) -> String {
    format!("agent-{number}")
}

fn pending(repo: &Repo) -> Vec<serde_json::Value> {
    let json =
        repo.aye(&["list", "--status", "pending", "--limit", "100000", "--json"]).ok().json();
    json["proposals"].as_array().expect("a list").clone()
}

/// `processes` agents at once, each making `each` proposals one after another.
fn propose_all(repo: &Repo, processes: usize, each: usize) -> BTreeSet<String> {
    std::thread::scope(|scope| {
        let agents: Vec<_> = (0..processes)
            .map(|process| {
                scope.spawn(move || -> Vec<String> {
                    (0..each)
                        .map(|number| {
                            let path = format!("new/{process}-{number}.txt");
                            let args = ["propose", path.as_str(), "--content-file", "-", "--json"];
                            let run = repo
                                .cmd(&args)
                                .env("AYE_AGENT", agent(process))
                                .stdin(format!("{process} {number}\n"))
                                .run()
                                .ok();
                            run.json()["proposal_id"].as_str().expect("an id").to_owned()
                        })
                        .collect()
                })
            })
            .collect();
        agents.into_iter().flat_map(|agent| agent.join().expect("an agent")).collect()
    })
}

fn assert_nothing_lost(processes: usize, each: usize) {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let ids = propose_all(&repo, processes, each);
    assert_eq!(ids.len(), processes * each, "every proposal has its own id");
    let found = pending(&repo);
    let listed: BTreeSet<String> = found
        .iter()
        .filter_map(|p| p["id"].as_str().or(p["proposal_id"].as_str()))
        .map(Into::into)
        .collect();
    assert_eq!(listed, ids);
    repo.git(&["fsck", "--strict", "--no-dangling"]);
    repo.aye(&["doctor"]).ok();
    assert_eq!(refs(&repo, &["refs/aye/p"]).len(), processes * each);
}

#[test]
fn thirty_two_agents_that_propose_at_once_lose_nothing() {
    assert_nothing_lost(32, 3);
}

/// All of them move one ref.
#[test]
fn thirty_two_comments_on_one_proposal_at_once_are_all_there() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let id = repo.aye(&["propose", "a.txt", "--old", "a", "--new", "b", "-q"]).ok().id();
    let bodies: Vec<String> = (0..32).map(|number| format!("comment {number}")).collect();
    let running: Vec<_> =
        bodies.iter().map(|body| repo.cmd(&["comment", &id, "-m", body]).spawn()).collect();
    running.into_iter().for_each(|running| drop(running.wait().ok()));
    let comments = repo.item(&id)["comments"].as_array().expect("a list").clone();
    let said: BTreeSet<_> =
        comments.iter().filter_map(|comment| comment["body"].as_str().map(str::to_owned)).collect();
    assert_eq!(said, bodies.into_iter().collect());
    let own = format!("refs/aye/p/{}", thread(&repo, &id));
    assert_eq!(repo.git(&["rev-list", "--count", &own]), "33");
}

/// Without a terminal, too: an agent, or a build, would see a command that hangs.
#[test]
fn who_waits_for_a_lock_says_so() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let id = repo.aye(&["propose", "a.txt", "--old", "a", "--new", "b", "-q"]).ok().id();
    let locks = [
        (".git/aye/lock", vec!["comment", &id, "-m", "so"], "holds "),
        (".git/aye/journal/lock", vec!["apply", &id, "--yes"], "is writing files"),
    ];
    for (lock, args, why) in locks {
        if let Some(above) = repo.path(lock).parent() {
            std::fs::create_dir_all(above).expect("a directory");
        }
        let mut open = std::fs::OpenOptions::new();
        let held = open.create(true).append(true).open(repo.path(lock)).expect("the lock");
        held.lock().expect("locked");
        let mut running = repo.cmd(&args).spawn();
        let mut said = BufReader::new(running.child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert!(line.starts_with("note: waiting: ") && line.contains(why), "{line}");
        drop(held);
        running.wait().ok();
    }
}

#[test]
fn one_proposal_is_applied_once_however_many_try() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let run = repo.aye(&["propose", "a.txt", "--old", "a", "--new", "b", "--json"]).ok();
    let id = run.json()["proposal_id"].as_str().expect("an id").to_owned();
    let tries: Vec<_> = (0..8).map(|_| repo.cmd(&["apply", &id, "--yes"]).spawn()).collect();
    let statuses: Vec<i32> = tries.into_iter().map(|running| running.wait().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 0).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [0, 5].contains(status)), "{statuses:?}");
    assert_eq!(repo.text("a.txt"), "b\n");
}

#[test]
fn proposals_for_one_file_applied_at_once_are_all_in_it() {
    let text: String = (0..60).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("a.txt", text.as_str())]);
    let ids: Vec<String> = (0..6)
        .map(|n| {
            let line = n * 10 + 5;
            let (old, new) = (format!("line {line}\n"), format!("LINE {line}\n"));
            let args = ["propose", "a.txt", "--old", old.as_str(), "--new", new.as_str(), "--json"];
            let json = repo.aye(&args).ok().json();
            json["proposal_id"].as_str().expect("an id").to_owned()
        })
        .collect();
    let running: Vec<_> = ids.iter().map(|id| repo.cmd(&["apply", id, "--yes"]).spawn()).collect();
    for running in running {
        running.wait().ok();
    }
    let text = repo.text("a.txt");
    assert_eq!(text.matches("LINE").count(), 6, "{text}");
    assert!(pending(&repo).is_empty());
}

/// A repository with a proposal that `args` decide.
fn decided_by(args: &[&str]) -> (Repo, Vec<String>) {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let id = repo.aye(&["propose", "a.txt", "--old", "a", "--new", "A", "-q"]).ok().id();
    if args[0] == "undo" {
        repo.aye(&["apply", &id, "--yes"]).ok();
    }
    let mut line = vec![args[0].to_owned(), id, "--yes".to_owned()];
    line.extend(args[1..].iter().map(|arg| (*arg).to_owned()));
    (repo, line)
}

const DECISIONS: [&[&str]; 5] =
    [&["apply"], &["apply", "--index"], &["apply", "--commit"], &["undo"], &["reject"]];

/// What was decided is what the files have, and nothing is wrong.
#[track_caller]
fn is_decided(repo: &Repo, line: &[String]) {
    let json = repo.aye(&["show", &line[1], "--json"]).ok().json();
    let (status, text) = match line[0].as_str() {
        "apply" => ("applied", "A\n"),
        "undo" => ("pending", "a\n"),
        _ => ("rejected", "a\n"),
    };
    assert_eq!((json["status"].as_str(), repo.text("a.txt").as_str()), (Some(status), text));
    repo.aye(&["doctor"]).ok();
}

/// `git pack-refs` takes a thread's ref away, and its directory, as soon as it is there.
#[test]
fn a_decision_counts_though_git_packs_its_ref_meanwhile() {
    for args in DECISIONS {
        let (repo, line) = decided_by(args);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let tip = || repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/p"]);
        let before = tip();
        let run = repo.cmd(&line).env("FAILPOINTS", "store.ref.renamed=sleep(1000)").spawn();
        support::until("the ref has moved", || tip() != before);
        repo.git(&["pack-refs", "--all"]);
        run.wait().ok();
        is_decided(&repo, &line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    }
}

/// Others may have seen the ref by then.
#[test]
fn a_decision_counts_though_its_ref_cannot_be_flushed() {
    for args in DECISIONS {
        let (repo, line) = decided_by(args);
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let run = repo.cmd(&words).env("FAILPOINTS", "store.ref.renamed=return(io)").run().ok();
        // Where the flush of a directory counts for all.
        assert!(run.err().is_empty() || run.err().contains("stays"), "{run}");
        is_decided(&repo, &line);
    }
}

/// `git pack-refs` that has read the ref of a thread before puts it back, unless it is waited for.
#[test]
fn a_ref_that_goes_does_not_come_back_from_git() {
    let (repo, line) = decided_by(&["reject"]);
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    repo.aye(&words).ok();
    let own = format!("refs/aye/p/{}", thread(&repo, &line[1]));
    let id = repo.git(&["rev-parse", &own]);
    let packed = format!("# pack-refs with: peeled fully-peeled sorted \n{} {own}\n", id.trim());
    repo.write(".git/packed-refs.lock", packed);
    let run = repo.cmd(&["doctor", "--gc"]).spawn();
    let lock = format!(".git/{own}.lock");
    support::until("the thread is being closed", || repo.exists(&lock));
    std::fs::rename(repo.path(".git/packed-refs.lock"), repo.path(".git/packed-refs")).unwrap();
    run.wait().ok();
    assert_eq!(repo.git(&["for-each-ref", &own]), "");
    is_decided(&repo, &line);
}

/// It has looked at the threads before the other process wrote, and writes afterwards.
#[test]
fn a_repair_makes_nothing_again_for_what_is_decided_meanwhile() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let [id, other] = ["a.txt", "b.txt"]
        .map(|path| repo.aye(&["propose", path, "--old", "one", "--new", "two", "-q"]).ok().id());
    let own = format!("refs/aye/p/{}", thread(&repo, &id));
    let tip = || repo.git(&["rev-parse", &own]).trim().to_owned();
    let before = tip();
    repo.aye(&["reject", &id, "--yes"]).ok();
    let decided = tip();
    // As if it had not been said yet.
    repo.git(&["update-ref", &own, &before]);
    repo.aye(&["doctor", "--repair"]).ok();
    let files = format!(".agent-memory/proposals/{id}");
    assert!(repo.exists(&files));
    // Something to repair.
    repo.remove(&format!(".agent-memory/proposals/{other}/change.patch"));
    let lock = std::fs::File::options().write(true).open(repo.path(".git/aye/lock"));
    let lock = lock.expect("the lock");
    lock.lock().expect("to hold it");
    let repair = repo.cmd(&["doctor", "--repair"]).spawn();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    repo.git(&["update-ref", &own, &decided]);
    repo.git(&["update-ref", "-d", &format!("refs/aye/pending/{id}")]);
    std::fs::remove_dir_all(repo.path(&files)).expect("removed");
    lock.unlock().expect("to let go");
    repair.wait().ok().says("(1 pending)");
    repo.aye(&["doctor"]).ok();
    assert!(!repo.exists(&files));
}

/// News of a proposal that somebody reads while a writer lets the ref follow the news from before.
#[test]
fn what_is_decided_elsewhere_is_followed_however_it_comes_between() {
    let (repo, server) = (Repo::with(&[("a.txt", "one\n")]), Repo::bare());
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    let other = clone(&server);
    let id = other.aye(&["propose", "a.txt", "--old", "one", "--new", "two", "-q"]).ok().id();
    push(&other);
    fetch(&repo);
    let pending = format!(".git/refs/aye/pending/{id}");
    let writer = repo.cmd(&["doctor"]).env("FAILPOINTS", "store.pending.made=sleep(3000)").spawn();
    support::until("the ref is made", || repo.exists(&pending));
    other.aye(&["reject", &id, "--yes"]).ok();
    push(&other);
    fetch(&repo);
    repo.aye(&["list"]).ok();
    writer.wait();
    repo.aye(&["doctor"]).ok();
    assert!(!repo.exists(&pending));
}
