//! Clones that do not have everything: `--filter=blob:none` leaves contents with the remote, `--depth`
//! ends a history early. What is not here yet is asked for in one go, never judged, never counted.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::clones::{fetch, join, push};
use crate::support::{Repo, Run};

/// A bare remote, and a clone that has pushed `a.txt` and `b.txt` there.
fn pushed() -> (Repo, Repo) {
    let server = Repo::bare();
    server.git(&["config", "uploadpack.allowFilter", "true"]);
    let ada = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "one\ntwo\nthree\n")]);
    join(&ada, &server);
    ada.git(&["push", "-q", "origin", "main"]);
    (server, ada)
}

/// A clone of `server` that has commits and trees, and of contents those that are checked out.
fn partial(server: &Repo) -> Repo {
    limited(server, "--filter=blob:none")
}

/// A clone of `server` with an identity, made and filled with `how`.
fn limited(server: &Repo, how: &str) -> Repo {
    let clone = Repo::outside();
    let url = format!("file://{}", server.root().display());
    clone.git(&["clone", "--quiet", how, &url, "."]);
    clone.git(&["config", "user.name", "Bob"]);
    clone.git(&["config", "user.email", "bob@example.com"]);
    let lanes = "+refs/aye/log/*:refs/aye/remotes/origin/*";
    clone.git(&["config", "--add", "remote.origin.fetch", lanes]);
    match how.starts_with("--depth") {
        true => clone.git(&["fetch", "--quiet", how, "origin"]),
        false => clone.git(&["fetch", "--quiet", "origin"]),
    };
    clone
}

fn propose(repo: &Repo, path: &str, old: &str) -> String {
    repo.aye(&["propose", path, "--old", old, "--new", "x", "--json"]).ok().id()
}

fn list(repo: &Repo) -> Run {
    repo.aye(&["list", "--status", "all", "--json"]).ok()
}

fn row(repo: &Repo, id: &str) -> Value {
    let rows = list(repo).json()["proposals"].clone();
    let rows = rows.as_array().expect("a list").iter();
    rows.clone().find(|row| row["proposal_id"] == id).unwrap_or(&Value::Null).clone()
}

/// Who can write `.git/config` can make any clone a partial one, take an object away, and name what git runs to
/// get it.
#[test]
fn no_program_of_the_repositorys_own_configuration_is_run_to_fetch() {
    let hostile: [&[(&str, &str)]; 7] = [
        &[("remote.origin.url", "ssh://h/x"), ("core.sshCommand", "touch MARK;")],
        &[("remote.origin.uploadpack", "touch MARK;")],
        &[("remote.origin.url", "ext::sh -c touch% MARK"), ("protocol.ext.allow", "always")],
        &[("remote.origin.url", "x:y"), ("url.ext::sh -c touch% MARK %S.insteadOf", "x:")],
        &[("remote.origin.url", "http://127.0.0.1:1/x"), ("credential.helper", "!touch MARK")],
        &[("remote.origin.url", "git://h/x"), ("core.gitProxy", "touch MARK;")],
        &[("remote.origin.url", "sh -c touch% MARK"), ("remote.origin.vcs", "ext")],
    ];
    for keys in hostile {
        let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
        let id = propose(&repo, "b.txt", "one");
        let mark = repo.outer().join("ran");
        let with = |text: &str| text.replace("MARK", &mark.display().to_string());
        repo.git(&["config", "core.repositoryFormatVersion", "1"]);
        repo.git(&["config", "extensions.partialClone", "origin"]);
        repo.git(&["config", "remote.origin.promisor", "true"]);
        repo.git(&["config", "remote.origin.url", &repo.outer().display().to_string()]);
        for (key, value) in keys {
            repo.git(&["config", &with(key), &with(value)]);
        }
        // Somebody has allowed it in general.
        let user = repo.user_config(&[("protocol.ext.allow", "always")]);
        let blob = repo.git(&["rev-parse", "HEAD:b.txt"]);
        repo.remove(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
        for args in [
            &["diff", &id][..],
            &["check"],
            &["blame", "b.txt"],
            &["apply", &id, "--dry-run"],
            &["doctor", "--full"],
            &["shell", "git show HEAD:b.txt"],
        ] {
            let run = repo.cmd(args).env("GIT_CONFIG_GLOBAL", &user).run();
            assert!(!mark.exists(), "{keys:?} {run}");
        }
        repo.aye(&["diff", &id]).fails("object_missing", 6);
        let git = repo.program("git").args(&["cat-file", "blob", &blob]);
        git.env("GIT_CONFIG_GLOBAL", &user).run();
        // Where there is nobody to ask for a password, git does not either.
        let asks = ["helper", "gitProxy"].iter().any(|key| keys.iter().any(|k| k.0.ends_with(key)));
        assert!(mark.exists() || asks, "{keys:?}: git runs nothing");
    }
}

/// The remote, gone for as long as this is not given to [`back`].
fn away(server: &Repo) -> PathBuf {
    let away = server.outer().join("away");
    std::fs::rename(server.root(), &away).expect("moved");
    away
}

fn back(server: &Repo, away: PathBuf) {
    std::fs::rename(away, server.root()).expect("moved");
}

/// How many times `args` starts `git fetch`, or `git cat-file`, which may fetch.
fn asks(repo: &Repo, args: &[&str]) -> usize {
    let trace = repo.outer().join("trace");
    let _ = std::fs::remove_file(&trace);
    repo.cmd(args).env("GIT_TRACE2_EVENT", &trace).run().ok();
    let trace = std::fs::read_to_string(&trace).unwrap_or_default();
    let started = trace.lines().filter(|line| line.contains("\"event\":\"start\""));
    started
        .filter(|line| {
            ["fetch", "cat-file"].iter().any(|word| line.contains(&format!("\"{word}\"")))
        })
        .count()
}

#[test]
fn lines_of_absent_contents_are_not_counted() {
    let (server, ada) = pushed();
    let id = propose(&ada, "a.txt", "two");
    push(&ada);
    let bob = partial(&server);
    assert_eq!(
        (&row(&bob, &id)["added"], &row(&bob, &id)["removed"]),
        (&Value::Null, &Value::Null)
    );
    bob.aye(&["list"]).ok().says("a.txt").lacks("+").lacks("−");
    // Nor when another process has counted: once the contents are here, they are.
    bob.aye(&["show", &id]).ok().says("+x");
    assert_eq!((&row(&bob, &id)["added"], &row(&bob, &id)["removed"]), (&1.into(), &1.into()));
    bob.aye(&["list"]).ok().says("+1 −1");
}

#[test]
fn what_an_event_names_is_fetched_with_it() {
    let (server, ada) = pushed();
    let (one, two) = (propose(&ada, "a.txt", "two"), propose(&ada, "b.txt", "two"));
    ada.aye(&["apply", &one, "--yes"]).ok();
    ada.aye(&["reject", &two, "-m", "no", "--yes"]).ok();
    push(&ada);
    let bob = partial(&server);
    assert_eq!(asks(&bob, &["list"]), 1);
    assert_eq!(row(&bob, &one)["status"], "applied");
    assert_eq!(row(&bob, &two)["status"], "rejected");
    bob.aye(&["doctor"]).lacks("event_rejected");
    assert_eq!(asks(&bob, &["list"]), 0);
}

#[test]
fn the_contents_of_a_proposal_are_fetched_at_once() {
    let (server, ada) = pushed();
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+x\n three\n\
                 --- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n one\n two\n-three\n+y\n";
    let id = ada.aye_stdin(&["propose", "--patch", "-", "--json"], patch).ok().id();
    push(&ada);
    for args in [&["show", &id][..], &["diff", &id], &["apply", &id, "--yes"]] {
        let bob = partial(&server);
        bob.aye(&["list"]).ok();
        assert_eq!(asks(&bob, args), 1, "{args:?}");
    }
    let bob = partial(&server);
    bob.aye(&["list"]).ok();
    let gone = away(&server);
    let run = bob.aye(&["diff", &id]).fails("object_missing", 6);
    assert!(run.err().contains("partial") && !run.err().contains("fsck"), "{}", run.err());
    bob.aye(&["check"]).exits(1).says("warning[pending]").lacks("conflict");
    bob.aye(&["doctor", "--full"]).ok().says("sound: 1 pending");
    back(&server, gone);
    bob.aye(&["diff", &id]).ok().says("+x").says("+y");
    // No copies of it are made here, and none are missing.
    propose(&bob, "a.txt", "one");
    bob.aye(&["doctor", "--full"]).ok().says("sound: 2 pending");
}

/// A copy that was made for a comment of one's own is not left as it was once others have said more.
#[test]
fn a_copy_that_is_here_follows_what_is_fetched() {
    let (server, ada) = pushed();
    let id = propose(&ada, "a.txt", "two");
    push(&ada);
    let bob = partial(&server);
    bob.aye(&["comment", &id, "-m", "hello"]).ok();
    bob.aye(&["comment", &id, "-m", "again"]).ok();
    let copy = format!(".agent-memory/proposals/{id}/proposal.yaml");
    let before = bob.text(&copy);
    ada.aye(&["approve", &id, "--yes"]).ok();
    push(&ada);
    fetch(&bob);
    bob.aye(&["doctor", "--full"]).ok();
    assert_ne!(bob.text(&copy), before);
    // Of a revision whose content is not here nothing is left: neither files nor a ref.
    ada.aye(&["revise", &id, "a.txt", "--old", "two", "--new", "new"]).ok();
    push(&ada);
    fetch(&bob);
    bob.aye(&["doctor", "--full"]).ok();
    bob.aye(&["comment", &id, "-m", "more"]).ok();
    bob.aye(&["doctor", "--full"]).ok();
    bob.write(&copy, "edited");
    bob.aye(&["doctor"]).exits(1).says("projection_changed");
}

#[test]
fn a_lane_is_read_as_soon_as_its_remote_answers() {
    let (server, ada) = pushed();
    let id = propose(&ada, "a.txt", "two");
    push(&ada);
    let bob = partial(&server);
    let gone = away(&server);
    let run = bob.aye(&["list"]).ok();
    assert!(run.err().contains(" partial "), "{}", run.err());
    bob.aye(&["doctor"]).exits(1).says("lane_incomplete").says("hint");
    let refs = bob.git(&["for-each-ref", "refs/aye"]);
    for args in
        [&["doctor"][..], &["doctor", "--repair"], &["doctor", "--full"], &["doctor", "--gc"]]
    {
        let run = bob.aye(args);
        assert!(
            !run.out().contains("aside") && !run.out().contains("lane_broken"),
            "{}",
            run.out()
        );
        assert_eq!(bob.git(&["for-each-ref", "refs/aye"]), refs, "{args:?}");
    }
    bob.aye(&["doctor"]).exits(1).says("lane_incomplete");
    back(&server, gone);
    assert_eq!(row(&bob, &id)["status"], "pending");
    bob.aye(&["doctor"]).ok().says("sound: 1 pending");
}

#[test]
fn a_shallow_lane_is_read_from_where_it_begins() {
    let (server, ada) = pushed();
    let one = propose(&ada, "a.txt", "two");
    let two = propose(&ada, "b.txt", "two");
    push(&ada);
    let bob = limited(&server, "--depth=1");
    assert_eq!(row(&bob, &one), Value::Null);
    assert_eq!(row(&bob, &two)["status"], "pending");
    let run = bob.aye(&["list"]).ok();
    assert_eq!(run.err().matches(" shallow ").count(), 1, "{}", run.err());
    assert!(run.err().contains("--unshallow origin"), "{}", run.err());
    bob.aye(&["doctor"]).ok().says("lane_shallow").says("sound: 1 pending");
    bob.aye(&["doctor", "--repair"]).lacks("aside");
    bob.aye(&["show", &two]).ok();
    // Three more: the history goes on where it ended.
    propose(&ada, "a.txt", "three");
    push(&ada);
    fetch(&bob);
    assert_eq!(list(&bob).json()["proposals"].as_array().expect("a list").len(), 2);
    // One that leaves a gap is no rewritten history.
    let (_, four) = (propose(&ada, "a.txt", "one"), propose(&ada, "b.txt", "one"));
    push(&ada);
    bob.git(&["fetch", "-q", "--depth=1", "origin"]);
    assert_eq!(row(&bob, &four)["status"], "pending");
    bob.aye(&["doctor"]).says("lane_shallow").lacks("lane_rewound").lacks("equivocates");
    bob.git(&["fetch", "-q", "--unshallow", "origin"]);
    assert_eq!(list(&bob).json()["proposals"].as_array().expect("a list").len(), 5);
    assert_eq!(row(&bob, &one)["status"], "pending");
    bob.aye(&["doctor"]).lacks("shallow");
}

#[test]
fn an_own_lane_that_is_shallow_is_written_to_and_not_folded() {
    let (server, ada) = pushed();
    let id = propose(&ada, "a.txt", "two");
    ada.aye(&["reject", &id, "-m", "no", "--yes"]).ok();
    for old in ["two", "three"] {
        let args = ["propose", "b.txt", "--old", old, "--new", "x"];
        ada.cmd(&args).in_ci("ci").run().ok();
    }
    push(&ada);
    let bob = limited(&server, "--depth=1");
    let ci = "refs/aye/log/ci:refs/aye/log/ci";
    bob.git(&["fetch", "-q", "--depth=1", "origin", ci]);
    let in_ci = |args: &[&str]| bob.cmd(args).in_ci("ci").run();
    let run = in_ci(&["list"]).ok();
    assert!(run.err().contains("--unshallow"), "{}", run.err());
    in_ci(&["doctor", "--gc", "--now", "--keep", "0"]).fails("lane_shallow", 6);
    in_ci(&["propose", "a.txt", "--old", "one", "--new", "x"]).ok();
    in_ci(&["doctor", "--repair"]);
    bob.git(&["push", "-q", "origin", ci]);
    fetch(&ada);
    assert_eq!(list(&ada).json()["proposals"].as_array().expect("a list").len(), 4);
}
