//! Sessions whose agents are gone: their work is proposed, named, and their trees removed.

use serde_json::{Value, json};

use crate::support::agents::{Client, FILES, trees, write};
use crate::support::record::{apply, reject};
use crate::support::sessions::{kept, no_session_is_left, only, pending, script, tree};
use crate::support::{Repo, Run};

/// A hook of a client that is gone once it is answered.
fn gone(client: &Client<'_>, event: &str, more: &Value) {
    let aye = env!("CARGO_BIN_EXE_aye");
    let args = ["9", aye, "agents", "hook", client.name, event];
    let run = client.repo.program("timeout").args(&args).stdin(client.call(event, more));
    run.run().ok();
}

fn begins(repo: &Repo) {
    let call = json!({ "source": "startup", "session_id": "next" });
    Client::new(repo, "claude-code").hook("SessionStart", call);
}

fn a_run_after_a_day(repo: &Repo) -> Run {
    let now = chrono::Utc::now() + chrono::Duration::days(1) + chrono::Duration::hours(1);
    repo.cmd(&["run", "true"]).env("AYE_NOW", now.to_rfc3339()).run().ok()
}

#[test]
fn what_a_crashed_client_left_is_named_and_proposed_at_the_next_start() {
    let repo = Repo::with(FILES);
    let claude = Client::new(&repo, "claude-code");
    gone(&claude, "WorktreeCreate", &json!({ "name": "aye" }));
    let tree = trees(&repo).remove(0);
    repo.aye(&["list"]).ok().lacks("aye session submit");
    write(tree.join("b.txt"), "wasp\n");
    for command in [&["list"][..], &[], &["review"]] {
        repo.aye(command).notes("1 session holds work that is not proposed: aye session submit c");
    }
    begins(&repo);
    let id = only(&repo);
    repo.aye(&["list"]).ok().lacks("not proposed");
    // It is pending, so the tree stays. Once it is decided, the client has a day to come back.
    begins(&repo);
    assert_eq!((pending(&repo).len(), trees(&repo).len()), (1, 1));
    reject(&repo, &id, "no");
    begins(&repo);
    assert_eq!(trees(&repo).len(), 1);
    a_run_after_a_day(&repo);
    no_session_is_left(&repo);
}

#[test]
fn a_client_that_lives_keeps_its_tree_and_its_unfinished_work() {
    let repo = Repo::with(FILES);
    let claude = Client::new(&repo, "claude-code");
    let tree = claude.enter();
    begins(&repo);
    repo.aye(&["run", "true"]).ok();
    assert_eq!(trees(&repo).len(), 1);
    write(tree.join("b.txt"), "wasp\n");
    begins(&repo);
    assert_eq!(pending(&repo).len(), 0);
    repo.aye(&["run", "true"]).ok().notes("1 session holds work");
    // Its own end proposes it.
    claude.hook("SessionEnd", json!({ "reason": "other" }));
    only(&repo);
}

#[test]
fn what_a_killed_run_left_is_proposed_by_the_next() {
    let repo = Repo::with(FILES);
    let text = "echo wasp >b.txt; kill -9 $PPID; sleep 0.2";
    script(&repo, &["--name", "k"], text).run().exits(137);
    crate::support::until("its agent is gone", || {
        repo.aye(&["session", "--json"]).ok().json()["sessions"][0]["state"] == "left"
    });
    repo.aye(&["run", "true"]).ok().notes("session k was left").notes("aye review prop_");
    apply(&repo, &only(&repo));
    a_run_after_a_day(&repo).lacks("was left");
    no_session_is_left(&repo);
}

#[test]
fn a_kept_tree_stays_and_all_that_is_done_ends_at_once() {
    let repo = Repo::with(FILES);
    kept(&repo, "true").ok();
    for (name, text) in [("one", "true"), ("two", "echo wasp >b.txt"), ("three", "echo x >x")] {
        script(&repo, &["--keep", "--name", name], text).run().ok();
    }
    repo.aye(&["run", "true"]).ok();
    assert_eq!(trees(&repo).len(), 4);
    write(tree(&repo, "three").join("late"), "late\n");
    repo.aye(&["session", "end", "--done"])
        .ok()
        .says("one ended")
        .says("x ended")
        .lacks("two ended");
    assert_eq!(trees(&repo).len(), 2);
    repo.aye(&["session", "end"]).exits(2);
    repo.aye(&["session", "end", "--done", "two"]).exits(2);
}
