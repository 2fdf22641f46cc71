//! Proposals expire, by the clock, without a daemon.

use crate::support::clones::thread;
use crate::support::forger::{self, Forged};
use crate::support::terminal::Terminal;
use crate::support::{self, Repo, record};

fn propose_for_an_hour(repo: &Repo) -> String {
    let args = ["propose", "f", "--old", "a", "--new", "A", "--expires-in", "1h"];
    repo.aye(&args).ok().id()
}

/// Runs `aye` two hours from now.
fn later(repo: &Repo, args: &[&str]) -> support::Run {
    let now = (chrono::Utc::now() + chrono::Duration::hours(2)).to_rfc3339();
    repo.cmd(args).env("AYE_NOW", now).run()
}

#[test]
fn an_expired_proposal_is_history_and_cannot_be_decided() {
    let repo = Repo::with(&[("f", "a b\n")]);
    let id = propose_for_an_hour(&repo);
    repo.aye(&["list"]).ok().says(&id);
    later(&repo, &["list"]).ok().lacks(&id);
    later(&repo, &["list", "--status", "expired"]).ok().says(&id);
    later(&repo, &["reject", &id, "--yes"]).fails("not_pending", 5);
    // The next writer records it and takes the files away.
    later(&repo, &["propose", "f", "--old", "b", "--new", "B"]).ok();
    assert!(!repo.exists(&format!(".agent-memory/proposals/{id}")));
    assert_eq!(repo.git(&["for-each-ref", &format!("refs/aye/pending/{id}")]), "");
}

/// A person who takes a decision back wants to decide again: the proposal gets another term.
#[test]
fn what_is_taken_back_after_its_time_has_another_term() {
    let repo = Repo::with(&[("f", "a b\n"), ("g", "a b\n"), ("h", "a b\n"), ("i", "a b\n")]);
    let propose = |path: &str| {
        let args = ["propose", path, "--old", "a", "--new", "A", "--expires-in", "1h", "-q"];
        repo.agent("codex", &args).ok().id()
    };
    let [rejected, applied, sent_back] = ["f", "g", "h"].map(propose);
    repo.aye(&["reject", &rejected, "--yes", "-m", "later"]).ok();
    repo.aye(&["apply", &applied, "--yes"]).ok();
    repo.aye(&["comment", &sent_back, "--request-changes", "-m", "hm"]).ok();
    later(&repo, &["undo", &rejected, "--yes"]).ok().notes("7 days");
    later(&repo, &["undo", &applied, "--yes"]).ok().notes("7 days");
    assert_eq!(repo.text("g"), "a b\n");
    later(&repo, &["undo", &sent_back, "--yes"]).ok();
    let pending = || {
        let list = later(&repo, &["list", "--json"]).ok().json();
        list["count"].as_u64()
    };
    assert_eq!(pending(), Some(3));
    let _ = std::fs::remove_file(repo.path(".git/aye/open"));
    assert_eq!(pending(), Some(3));
    assert!(repo.exists(&format!(".agent-memory/proposals/{rejected}/change.patch")));
    later(&repo, &["log", &rejected]).ok().says("extend");
    for id in [&rejected, &applied] {
        later(&repo, &["apply", id, "--yes"]).ok();
    }
    later(&repo, &["doctor"]).ok();
    // What has time left keeps its own.
    let id = propose("i");
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains("expires"), "{run}");
    repo.aye(&["log", &id]).ok().lacks("extend");
}

#[test]
fn the_lifetime_is_seven_days_unless_configured() {
    let repo = Repo::with(&[("f", "a b c\n")]);
    let days = |args: &[&str]| {
        let answer = repo.aye(args).ok().json();
        let list = repo.aye(&["list", "--json"]).ok().json();
        let item = list["proposals"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["proposal_id"] == answer["proposal_id"])
            .unwrap()
            .clone();
        let time =
            |key: &str| chrono::DateTime::parse_from_rfc3339(item[key].as_str().unwrap()).unwrap();
        (time("expires_at") - time("created_at")).num_days()
    };
    assert_eq!(days(&["propose", "--json", "f", "--old", "a", "--new", "A"]), 7);
    repo.git(&["config", "aye.expiresIn", "2w"]);
    assert_eq!(days(&["propose", "--json", "f", "--old", "b", "--new", "B"]), 14);
    let own = ["propose", "--json", "f", "--old", "c", "--new", "C", "--expires-in", "3d"];
    assert_eq!(days(&own), 3);
    for odd in ["soon", "100000d"] {
        repo.git(&["config", "aye.expiresIn", odd]);
        let run = repo.aye(&["propose", "f", "--old", "a", "--new", "Z"]);
        run.fails("invalid_config", 2);
    }
}

#[test]
fn expiry_that_nobody_has_written_down_yet_is_no_damage() {
    let repo = Repo::with(&[("f", "a b\n")]);
    let id = propose_for_an_hour(&repo);
    let directory = format!(".agent-memory/proposals/{id}");
    assert!(repo.exists(&directory));
    // Doctor is the next writer.
    later(&repo, &["doctor"]).ok().says("sound: 0 pending");
    assert!(!repo.exists(&directory));
    assert_eq!(repo.git(&["for-each-ref", "refs/aye/pending"]), "");
}

#[test]
fn a_clock_that_ran_ahead_takes_nothing_away_for_good() {
    let repo = Repo::with(&[("f", "a b\n")]);
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "A", "-q"]).ok().id();
    let thread = thread(&repo, &id);
    let before = repo.item(&id)["expires_at"].clone();
    // What a clone whose clock is far ahead says: its extension counts from now at most.
    let ahead =
        Forged::comment("hello").keys(serde_json::json!({"time": "2099-01-01T00:00:00.000Z"}));
    forger::fetched(&repo, &thread, &ahead.on(&[&thread]).write(&repo));
    repo.aye(&["list"]).ok().says(&id);
    assert_eq!(repo.item(&id)["expires_at"], before);
    // Later events come later all the same.
    repo.aye(&["comment", &id, "-m", "behind"]).ok();
    let comments = repo.item(&id)["comments"].clone();
    let said: Vec<_> =
        comments.as_array().expect("a list").iter().map(|c| c["body"].clone()).collect();
    assert_eq!(said, ["hello", "behind"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
}

#[test]
fn odd_lifetimes_are_refused_with_an_example() {
    let repo = Repo::with(&[("f", "a\n")]);
    for odd in ["0", "-1d", "7", "10000d", "1y", "99999999999999999999w"] {
        let flag = format!("--expires-in={odd}");
        repo.aye(&["propose", "f", "--old", "a", "--new", "b", &flag])
            .fails("usage", 2)
            .notes("7d");
        repo.git(&["config", "aye.expiresIn", odd]);
        repo.aye(&["propose", "f", "--old", "a", "--new", "b"]).fails("invalid_config", 2);
        repo.git(&["config", "--unset", "aye.expiresIn"]);
    }
    repo.aye(&["propose", "f", "--old", "a", "--new", "b", "--expires-in", "1w"]).ok();
    repo.aye(&["list"]).ok().lacks("expires");
}

/// Two commands, the second with an earlier clock: its events come later all the same, and an expiry by
/// the clock of the first one is none by the clock of the second.
#[test]
fn events_keep_their_order_when_the_clock_is_set_back() {
    let repo = Repo::with(&[("f", "a b\n"), ("g", "a b\n")]);
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "A", "-q"]).ok().id();
    let other = repo.aye(&["propose", "g", "--old", "a", "--new", "A", "-q"]).ok().id();
    // By a clock that is eight days ahead both have run out.
    let ahead = chrono::Utc::now() + chrono::Duration::days(8);
    record::comment_at(&repo, &id, "ahead", ahead);
    let ahead = ahead.to_rfc3339();
    repo.aye(&["comment", &id, "-m", "behind"]).ok();
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    let show = repo.item(&id);
    assert_eq!(show["status"], "rejected");
    let comments = show["comments"].as_array().expect("a list");
    let said: Vec<_> = comments.iter().map(|said| said["body"].as_str().unwrap()).collect();
    assert_eq!(said, ["ahead", "behind"]);
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(
        (&list["proposals"][0]["proposal_id"], &list["count"]),
        (&other.as_str().into(), &1.into())
    );
    let expired = repo.cmd(&["show", &other, "--json"]).env("AYE_NOW", &ahead).run().ok().json();
    assert_eq!(expired["status"], "expired");
    repo.aye(&["apply", &other, "--yes"]).ok();
    repo.aye(&["doctor"]).ok();
}

#[test]
fn a_lower_one_does_not_expire_before_what_was_put_on_it() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let propose = |old: &str, new: &str, more: &[&str]| {
        let args = [&["propose", "a.txt", "--old", old, "--new", new, "-q"], more].concat();
        repo.agent("codex", &args).ok().id()
    };
    let expires = |id: &str| {
        let json = repo.item(id);
        json["expires_at"].as_str().expect("a time").to_owned()
    };
    let bottom = propose("one", "two", &["--expires-in", "1h"]);
    let first = expires(&bottom);
    let middle = propose("two", "three", &["--expires-in", "1h", "--on", &bottom]);
    let top = propose("three", "four", &["--expires-in", "9h", "--on", &middle]);
    let stands = || {
        let [bottom, middle, top] = [&bottom, &middle, &top].map(|id| expires(id));
        assert!(bottom >= top && middle >= top, "{bottom} {middle} {top}");
    };
    stands();
    assert_ne!(expires(&bottom), first);
    // One that is to end sooner does not end before those above it; a later end moves all below.
    repo.agent("codex", &["revise", &bottom, "--expires-in", "1m"]).ok();
    stands();
    repo.agent("codex", &["revise", &top, "--expires-in", "3d"]).ok();
    stands();
    // Another's proposal is not kept by that.
    let args = ["propose", "a.txt", "--old", "four", "--new", "five", "--on", &top, "-q"];
    let others = repo.agent("other", &[&args[..], &["--expires-in", "9d"]].concat()).ok().id();
    assert_ne!(expires(&top), expires(&others));
    let kept = repo.kinds(&bottom);
    assert!(kept.iter().filter(|kind| *kind == "extend").count() >= 2, "{kept:?}");
}

/// A question may stand for hours: the answer decides when it is given.
#[test]
fn what_expires_while_the_question_stands_is_not_decided() {
    for verb in [&["apply"][..], &["reject", "-m", "no"], &["approve"]] {
        let repo = Repo::with(&[("f", "a b\n")]);
        let propose = ["propose", "f", "--old", "a", "--new", "A", "--expires-in", "1s"];
        let id = repo.agent("codex", &propose).ok().id();
        let args = [&verb[..1], &[id.as_str()], &verb[1..]].concat();
        let mut terminal = Terminal::start(repo.cmd(&args), 30, 100);
        terminal.sees("[y,n,?]");
        support::until("it has expired", || {
            repo.aye(&["list", "--status", "expired"]).ok().out().contains(&id)
        });
        terminal.types("y").sees("not_pending");
        assert_eq!(terminal.ends(), 5, "{verb:?}: {}", terminal.text());
        assert_eq!(repo.text("f"), "a b\n");
        let kinds = repo.kinds(&id);
        assert!(kinds.iter().all(|kind| kind == "propose"), "{verb:?}: {kinds:?}");
    }
}

#[test]
fn a_person_gives_an_expired_proposal_another_term() {
    let repo = Repo::with(&[("f", "a b\n")]);
    let args = [
        "propose", "f", "--old", "a", "--new", "A", "--expires-in", "1h", "-q", "-m",
        "Say it in capitals",
    ];
    let id = repo.agent("codex", &args).ok().id();
    let undo = ["undo", &id, "--yes"];
    repo.aye(&undo).fails("not_applied", 5);
    let at = (chrono::Utc::now() + chrono::Duration::hours(2)).to_rfc3339();
    let agent = repo.cmd(&undo).env("AYE_NOW", &at).env("AYE_AGENT", "codex");
    agent.run().fails("human_approval_required", 4);
    later(&repo, &["undo", &id, "--dry-run"]).ok();
    let mut terminal = Terminal::start(repo.cmd(&undo[..2]).env("AYE_NOW", &at), 30, 100);
    terminal.sees(&format!("Give {id} (Say it in capitals) 7 more days [y,n,?]?")).types("n");
    assert_eq!(terminal.ends(), 1);
    assert_eq!(repo.kinds(&id), ["propose"]);
    assert_eq!(later(&repo, &[&undo[..], &["--json"]].concat()).ok().json()["success"], true);
    assert_eq!(repo.kinds(&id), ["extend", "propose"]);
    later(&repo, &["list"]).ok().says(&id);
    later(&repo, &["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("f"), "A b\n");
}
