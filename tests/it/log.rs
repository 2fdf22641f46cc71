//! `aye log`: what happened, however much that is.

use crate::support::Repo;
use crate::support::clones::thread;
use crate::support::forger::{self, Forged};
use crate::support::record::propose;

/// A repository to which another clone has brought so many events of three proposals.
fn long(count: usize) -> Repo {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let like = propose(&repo, "a.txt", "one", "two");
    let like = thread(&repo, &like);
    let forged = |number: usize, forged: &dyn Fn(&str) -> Forged| {
        let time = format!("2026-02-01T00:{:02}:{:02}.000Z", number / 60, number % 60);
        forged(&format!("No. {number}")).keys(serde_json::json!({"time": time}))
    };
    let propose = |text: &str| Forged::propose(&repo, &like, "b.txt", text, text);
    let (mut first, mut tip) = (String::new(), String::new());
    for number in 0..count {
        if number % 601 == 0 {
            first = forged(number, &propose).write(&repo);
            tip.clone_from(&first);
        } else {
            tip = forged(number, &Forged::comment).on(&[&tip]).write(&repo);
        }
        forger::fetched(&repo, &first, &tip);
    }
    repo.git(&["update-ref", "-d", &format!("refs/aye/p/{like}")]);
    repo
}

#[test]
fn long_logs_are_one_document_in_order() {
    let repo = long(1_203);
    let run = repo.aye(&["log", "--json"]).ok();
    let text = run.out();
    let json = run.json();
    let events = json["events"].as_array().expect("a list");
    assert_eq!((events.len(), &json["schema"]), (1_203, &"aye/log@1".into()));
    let key = |event: &serde_json::Value| event["at"].as_str().expect("a time").to_owned();
    assert!(events.is_sorted_by(|a, b| key(a) >= key(b)));
    let mut texts: Vec<_> = events.iter().map(|event| event["text"].to_string()).collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 1_203);
    // Laid out as every other document.
    assert!(
        text.starts_with(
            "{\n  \"schema\": \"aye/log@1\",\n  \"events\": [\n    {\n      \"event\":"
        )
    );
    assert!(text.contains("\n    },\n    {\n      \"event\":"));
    assert!(text.ends_with("\n    }\n  ]\n}\n"));
    let yaml = repo.aye(&["log", "--format", "yaml"]).ok().out();
    assert_eq!(yaml.matches("kind: comment").count(), 1_200);
}

#[test]
fn rows_line_up_across_pages() {
    let repo = long(1_203);
    let text = repo.aye(&["log"]).ok().out();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1_204);
    let column = lines[0].find("WHAT").expect("a title");
    let has_kind =
        |line: &&str| ["comment", "propose"].iter().any(|kind| line[column..].starts_with(kind));
    assert!(lines[1..].iter().all(has_kind), "{}", lines[1]);
    for (limit, expected) in [("0", 0), ("1", 2), ("500", 501), ("501", 502), ("1000", 1_001)] {
        let run = repo.aye(&["log", "-n", limit]).ok();
        assert_eq!(run.err(), "", "{limit}");
        let some = run.out();
        assert_eq!(some.lines().count(), expected, "{limit}");
        if let Some(last) = some.lines().last() {
            let same = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(same(last), same(lines[expected - 1]));
        }
    }
    let json = repo.aye(&["log", "-n", "0", "--json"]).ok();
    assert_eq!(json.out(), "{\n  \"schema\": \"aye/log@1\",\n  \"events\": []\n}\n");
}

#[test]
fn a_path_narrows_the_log() {
    let repo = Repo::with(&[("src/a.txt", "a\n"), ("src/b.txt", "b\n"), ("srcs.txt", "s\n")]);
    repo.let_flags_decide();
    let id = repo.aye(&["propose", "src/a.txt", "--old", "a", "--new", "1"]).ok().id();
    repo.aye(&["propose", "srcs.txt", "--old", "s", "--new", "2"]).ok();
    let patch = "--- a/src/b.txt\n+++ b/src/b.txt\n@@ -1 +1 @@\n-b\n+3\n";
    repo.aye_stdin(&["patch"], patch).ok();
    let kinds = |args: &[&str], directory: &str| -> Vec<String> {
        let args = [&["log", "--json"], args].concat();
        let log = repo.cmd(&args).dir(repo.path(directory)).run().ok().json();
        let events = log["events"].as_array().expect("events").iter();
        events.map(|event| event["kind"].as_str().expect("a kind").to_owned()).collect()
    };
    assert_eq!(kinds(&["--", "src/a.txt"], ""), ["propose"]);
    assert_eq!(kinds(&["--", "b.txt"], "src"), ["patch"]);
    assert_eq!(kinds(&["--", "src"], ""), ["patch", "propose"]);
    assert_eq!(kinds(&["-n", "1", "--", "src"], ""), ["patch"]);
    assert_eq!(kinds(&[&id, "--", "src/a.txt"], ""), ["propose"]);
    assert_eq!(kinds(&[&id, "--", "srcs.txt"], ""), [""; 0]);
    repo.aye(&["log", "--", "src/a.txt"]).ok().says(&id[..9]);
    repo.aye(&["log", "--", "../outside"]).fails("path_invalid", 6);
}

#[test]
fn each_event_names_the_title_of_its_proposal() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.let_flags_decide();
    let args = ["propose", "f", "--old", "a", "--new", "b", "-m", "Name it b\n\nAt length.", "-q"];
    let id = repo.agent("codex", &args).ok().id();
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.aye(&["undo", &id, "--yes"]).ok();
    let log = repo.aye(&["log", "--json"]).ok().json();
    for event in log["events"].as_array().expect("events") {
        assert_eq!(event["title"], "Name it b", "{event}");
    }
    let text = repo.aye(&["log"]).ok().out();
    assert_eq!(text.matches("Name it b").count(), 3, "{text}");
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+c\n";
    repo.aye_stdin(&["patch"], patch).ok();
    let log = repo.aye(&["log", "-n", "1", "--json"]).ok().json();
    assert_eq!(log["events"][0].get("title"), None);
}
