//! Clones that do not have everything: `--filter=blob:none` leaves contents with the remote, `--depth`
//! ends a history early. What is not here yet is asked for in one go, never judged, never counted.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::clones::{FETCH, fetch, join, push, thread};
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
    match how.starts_with("--depth") {
        true => clone.git(&["fetch", "--quiet", how, "origin", FETCH]),
        false => clone.git(&["fetch", "--quiet", "origin", FETCH]),
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
    bob.aye(&["check"]).ok().says("warning[pending]").lacks("conflict");
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
    // A writer does not wait for content that a remote has.
    bob.aye(&["comment", &id, "-m", "hello"]).ok();
    assert!(!bob.exists(&format!(".agent-memory/proposals/{id}")));
    bob.aye(&["diff", &id]).ok();
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

/// Events are commits, which such a clone has; a decision's manifest is fetched with it.
#[test]
fn threads_are_folded_without_a_blob_but_for_manifests() {
    let (server, ada) = pushed();
    let (one, two) = (propose(&ada, "a.txt", "two"), propose(&ada, "b.txt", "two"));
    push(&ada);
    let bob = partial(&server);
    assert_eq!(asks(&bob, &["list"]), 0);
    assert_eq!(row(&bob, &one)["status"], "pending");
    ada.aye(&["apply", &one, "--yes"]).ok();
    ada.aye(&["reject", &two, "-m", "no", "--yes"]).ok();
    push(&ada);
    bob.git(&["fetch", "-q", "origin", FETCH]);
    assert_eq!(asks(&bob, &["list"]), 1);
    assert_eq!(row(&bob, &one)["status"], "applied");
    assert_eq!(row(&bob, &two)["status"], "rejected");
    bob.aye(&["doctor"]).lacks("event_skipped");
    assert_eq!(asks(&bob, &["list"]), 0);
}

/// Without the manifest it is not known what was decided: incomplete, and never pending.
#[test]
fn a_thread_whose_manifest_is_elsewhere_is_incomplete() {
    let (server, ada) = pushed();
    let id = propose(&ada, "a.txt", "two");
    ada.aye(&["apply", &id, "--yes"]).ok();
    push(&ada);
    let bob = partial(&server);
    let gone = away(&server);
    bob.aye(&["list"]).ok();
    assert_ne!(row(&bob, &id)["status"], "pending");
    bob.aye(&["apply", &id, "--yes"]).fails("thread_incomplete", 6);
    let refs = bob.git(&["for-each-ref", "refs/aye"]);
    for args in [&["doctor"][..], &["doctor", "--repair"], &["doctor", "--gc"]] {
        let run = bob.aye(args);
        assert!(!run.out().contains("thread_damaged"), "{run}");
        assert_eq!(bob.git(&["for-each-ref", "refs/aye"]), refs, "{args:?}");
    }
    back(&server, gone);
    bob.aye(&["doctor"]);
    assert_eq!(row(&bob, &id)["status"], "applied");
}

#[test]
fn a_shallow_thread_is_incomplete_until_the_rest_is_fetched() {
    let (server, ada) = pushed();
    let one = propose(&ada, "a.txt", "two");
    let two = propose(&ada, "b.txt", "two");
    ada.aye(&["comment", &one, "-m", "why?"]).ok();
    let first = thread(&ada, &one);
    push(&ada);
    let bob = limited(&server, "--depth=1");
    // The one that has a single event is here as a whole.
    assert_eq!(row(&bob, &two)["status"], "pending");
    let run = bob.aye(&["list"]).ok();
    assert_eq!(row(&bob, &one)["status"], Value::Null, "{run}");
    let run = bob.aye(&["comment", &first, "-m", "x"]);
    assert_ne!(run.status, 0);
    bob.aye(&["doctor"]).exits(1).says("thread_incomplete").says("--unshallow");
    bob.aye(&["apply", &two, "--yes"]).ok();
    bob.git(&["fetch", "-q", "--unshallow", "origin", FETCH]);
    assert_eq!(row(&bob, &one)["status"], "pending");
    bob.aye(&["doctor"]).lacks("thread_incomplete");
    bob.aye(&["comment", &one, "-m", "x"]).ok();
}
