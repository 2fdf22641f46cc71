//! `docs/spec/` says what events, statements and manifests are: its examples are what the program reads
//! and writes, and no kind and no key is left out.

use std::collections::BTreeSet;

use aye::proposal::event::{Data, Event};
use serde_json::Value;

use crate::support::Repo;
use crate::support::clones::{thread, tip};
use crate::support::forger::{self, Forged, canonical};

const FORMAT: &str = include_str!("../../docs/spec/format.md");
const DECISIONS: &str = include_str!("../../docs/spec/decisions.md");
const THREADS: &str = include_str!("../../docs/spec/threads.md");

/// The examples of event lines.
fn examples() -> Vec<&'static str> {
    let (_, block) = FORMAT.split_once("```json\n").expect("the examples");
    block.split_once("\n```").expect("their end").0.lines().collect()
}

/// The rows of the table that has this head: the first cells of each, without their quotes.
fn rows(page: &'static str, head: &str) -> Vec<Vec<&'static str>> {
    let (_, table) = page.split_once(head).unwrap_or_else(|| panic!("no table {head}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The words in backquotes.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_example_is_canonical_and_read() {
    let examples = examples();
    assert!(examples.len() >= 10, "{}", examples.len());
    for example in examples {
        let value: Value = serde_json::from_str(example).expect(example);
        assert_eq!(canonical(&value), example);
        let event = Event::from_line(example.as_bytes(), None).expect(example);
        assert!(!matches!(event.data, Data::Unknown(..)), "{example}");
    }
}

/// The table of kinds has each kind with the keys that a reader requires.
#[test]
fn a_required_key_that_is_absent_makes_a_line_no_event() {
    let table = rows(FORMAT, "| Kind | Required in `data` |");
    let kinds: BTreeSet<String> = table.iter().flat_map(|row| quoted(row[0])).collect();
    let named = [
        "propose", "revise", "comment", "apply", "reject", "withdraw", "approve",
        "request_changes", "undo", "extend", "check", "committed", "plan", "patch", "sign",
        "purge",
    ];
    assert_eq!(kinds, named.map(str::to_owned).into());
    let mut tried = 0;
    for example in examples() {
        let value: Value = serde_json::from_str(example).expect(example);
        let kind = value["kind"].as_str().expect("a kind");
        let row = table.iter().find(|row| quoted(row[0]).contains(kind)).expect("a row");
        let allowed: BTreeSet<String> = row[1..3].iter().flat_map(|cell| quoted(cell)).collect();
        for key in value["data"].as_object().expect("an object").keys() {
            assert!(allowed.contains(key), "{kind} has no key {key}: {allowed:?}");
        }
        for key in quoted(row[1]) {
            let mut without = value.clone();
            // Words of enumerations stand in the cell, too.
            if without["data"].as_object_mut().expect("an object").remove(&key).is_some() {
                tried += 1;
                let line = canonical(&without);
                assert!(Event::from_line(line.as_bytes(), None).is_err(), "{line}");
            }
        }
        for key in ["actor", "clone", "data", "kind", "v"] {
            let mut without = value.clone();
            without.as_object_mut().expect("an object").remove(key);
            let line = canonical(&without);
            assert!(Event::from_line(line.as_bytes(), None).is_err(), "{line}");
        }
    }
    assert!(tried > 15, "{tried}");
}

/// What the program writes has no key that the pages do not name.
#[test]
fn every_key_that_is_written_is_named() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
    let args = ["propose", "a.txt", "--old", "one", "--new", "two", "-m", "Why", "-q"];
    let id = repo.agent("codex", &args).ok().id();
    repo.aye(&["comment", &id, "--path", "a.txt", "--line", "1", "-m", "so?"]).ok();
    repo.aye(&["try", &id, "--", "true"]).ok();
    repo.agent("codex", &["revise", &id, "a.txt", "--old", "one", "--new", "2"]).ok();
    repo.aye(&["approve", &repo.at_revision(&id), "--yes"]).ok();
    repo.aye(&["apply", &repo.at_revision(&id), "--yes", "--commit"]).ok();
    repo.aye(&["undo", &id, "--yes"]).ok();
    repo.plan(&["one step"]);
    repo.aye_stdin(&["patch"], "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n").ok();
    let pages = [FORMAT, DECISIONS, THREADS].concat();
    fn keys(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    found.insert(key.clone());
                    keys(value, found);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    let commits = repo.git(&["rev-list", "--glob=refs/aye/p/*"]);
    for commit in commits.lines() {
        let forged = Forged::read(&repo, commit);
        keys(&forged.event, &mut found);
        forged.statement.iter().for_each(|statement| keys(statement, &mut found));
        for name in forged.tree.keys() {
            assert!(pages.contains(&format!("`{name}`")) || pages.contains(&format!("`{name}/")));
        }
    }
    assert!(found.contains("snippets") && found.contains("sha256"), "{found:?}");
    for key in found {
        assert!(
            pages.contains(&format!("`{key}`")) || pages.contains(&format!("\"{key}\"")),
            "{key}"
        );
    }
}

/// The statement has exactly the keys of its table, and the manifest is what the page says.
#[test]
fn a_decision_is_what_the_page_says() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let args = ["propose", "a.txt", "--old", "one", "--new", "two", "-q"];
    let id = repo.agent("codex", &args).ok().id();
    repo.aye(&["apply", &id, "--yes"]).ok();
    let apply = Forged::read(&repo, &tip(&repo, &thread(&repo, &id)));
    let statement = apply.statement.expect("a statement");
    let rows = rows(DECISIONS, "| Key | Value | Why |");
    let named: BTreeSet<String> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    let keys: BTreeSet<String> =
        statement.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, named);
    let manifest = statement["manifest"]["id"].as_str().expect("an id");
    let side = |text: &str| forger::record(&repo, text);
    let (one, two) = (side("one\n"), side("two\n"));
    let record = format!("clean none {one} {one} {two} a.txt\0");
    assert_eq!(repo.git(&["cat-file", "blob", manifest]), record);
}

#[test]
fn the_result_of_try_has_the_keys_of_its_table() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let args = ["propose", "a.txt", "--old", "one", "--new", "two", "-q"];
    let id = repo.agent("codex", &args).ok().id();
    repo.aye(&["try", &id, "--result", "../out.json", "--", "true"]).ok();
    let text = repo.text("../out.json");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(canonical(&value) + "\n", text);
    let (_, section) = FORMAT.split_once("## Results of try").expect("the section");
    let (_, table) = section.split_once("|---|---|\n").expect("the table");
    let named: BTreeSet<String> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .flat_map(|line| quoted(line.split(" | ").next().expect("a cell")))
        .collect();
    let keys: BTreeSet<String> = value.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, named);
}
