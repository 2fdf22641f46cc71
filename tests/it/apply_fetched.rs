//! `aye apply` and proposals that came by a fetch: whatever one of them says, the others are planned, and
//! each is planned once.

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::clones;
use crate::support::forger::{self, Forged};
use crate::support::terminal::Terminal;

const A: &str = "a\nb\nc\n";

fn scene() -> Repo {
    Repo::with(&[("a.txt", A), ("n.txt", "1\n2\n3\n")])
}

/// A proposal of somebody else: its id, its thread, and its tip, which is its newest revision.
struct Made {
    id: String,
    thread: String,
    at: String,
}

fn change(repo: &Repo, path: &str, before: &str, after: &str) -> Value {
    json!([{"path": path, "before": forger::side(repo, before), "after": forger::side(repo, after)}])
}

/// The event with the content that its changes name in its tree.
fn with_content(repo: &Repo, forged: Forged) -> Forged {
    let changes = forged.event["data"]["changes"].clone();
    let mut forged = forged;
    forged.tree.clear();
    for side in ["before", "after"] {
        let entries: String = changes
            .as_array()
            .expect("a list")
            .iter()
            .map(|change| {
                let (id, path) = (&change[side]["id"], &change["path"]);
                let text = |value: &Value| value.as_str().expect("text").to_owned();
                format!("100644 blob {}\t{}\n", text(id), text(path))
            })
            .collect();
        forged = forged.entry(side, &format!("040000 tree {}", forger::tree(repo, &entries)));
    }
    forged
}

fn made(repo: &Repo, changes: &Value, on: Option<&Made>) -> Made {
    let mut data = json!({
        "description": "d", "proposed_by": "mallory", "expires_at": "2999-01-01T00:00:00.000Z",
        "subject": "code", "form": "patch", "changes": changes,
    });
    if let Some(on) = on {
        data["on"] = json!({"proposal": on.id, "revision": on.at});
    }
    let event = Forged::event("propose", data).by("mallory", "agent");
    let first = with_content(repo, event).write(repo);
    forger::fetched(repo, &first, &first);
    Made { id: clones::short(&first), at: first.clone(), thread: first }
}

fn revise(repo: &Repo, of: &mut Made, changes: &Value, on: (&str, &str)) {
    let data = json!({
        "changes": changes, "description": "r", "expires_at": "2999-01-01T00:00:00.000Z",
        "reason": "answer", "on": {"proposal": on.0, "revision": on.1},
    });
    let event = Forged::event("revise", data).by("mallory", "agent").on(&[&of.at]);
    of.at = with_content(repo, event).write(repo);
    forger::fetched(repo, &of.thread, &of.at);
}

#[track_caller]
fn planned(repo: &Repo, args: &[&str], ids: &[&str]) {
    let dry = repo.aye(&[&["apply"], args, &["--dry-run", "--json"]].concat()).ok().json();
    let found: Vec<&str> = dry["proposals"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["proposal_id"].as_str().expect("an id"))
        .collect();
    assert_eq!(found, ids, "{dry:#}");
}

#[test]
fn a_proposal_that_stands_on_itself_is_planned_once() {
    let repo = scene();
    let changes = change(&repo, "a.txt", A, "a\nb\nC\n");
    let mut own = made(&repo, &changes, None);
    let changes = change(&repo, "a.txt", A, "a\nb\nCC\n");
    let (id, first) = (own.id.clone(), own.thread.clone());
    revise(&repo, &mut own, &changes, (&id, &first));
    let at = format!("{id}@{}", &own.at[..12]);
    repo.aye(&["list"]).ok().lacks("↳");
    for flags in [&["--alone"][..], &["--with-lower"], &[]] {
        planned(&repo, &[&[at.as_str()], flags].concat(), &[&id]);
    }
    repo.aye(&["apply", &at, "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), "a\nb\nCC\n");
}

#[test]
fn two_that_stand_on_each_other_are_planned_once_each() {
    let repo = scene();
    let changes = change(&repo, "n.txt", "1\n2\n3\n", "1\ntwo\n3\n");
    let mut lower = made(&repo, &changes, None);
    let changes = change(&repo, "a.txt", A, "a\nB\nc\n");
    let mut upper = made(&repo, &changes, Some(&lower));
    let changes = change(&repo, "n.txt", "1\n2\n3\n", "1\nTWO\n3\n");
    let (on, at) = (upper.id.clone(), upper.at.clone());
    revise(&repo, &mut lower, &changes, (&on, &at));
    let changes = change(&repo, "a.txt", A, "a\nBB\nc\n");
    let (on, at) = (lower.id.clone(), lower.at.clone());
    revise(&repo, &mut upper, &changes, (&on, &at));
    let at = format!("{}@{}", upper.id, &upper.at[..12]);
    planned(&repo, &[&at, "--with-lower"], &[&lower.id, &upper.id]);
    planned(&repo, &[&at, "--alone"], &[&upper.id]);
    let below = format!("{}@{}", lower.id, &lower.at[..12]);
    repo.aye(&["apply", &below, &at, "--yes"]).ok();
    assert_eq!(
        (repo.text("a.txt"), repo.text("n.txt")),
        ("a\nBB\nc\n".into(), "1\nTWO\n3\n".into())
    );
}

#[test]
fn one_that_cannot_be_planned_stays_and_the_rest_is_planned() {
    let repo = scene();
    let changes = change(&repo, "n.txt", "1\n2\n3\n", "1\ntwo\n3\n");
    let good = made(&repo, &changes, None);
    let changes = change(&repo, "a.txt", A, A);
    let same = made(&repo, &changes, None);
    let mut changes = change(&repo, "a.txt", A, "gone");
    changes[0]["after"]["id"] = "3".repeat(40).into();
    let gone = made(&repo, &changes, None);
    // By id it is an error that names it, and what can be done.
    for flags in [&["--dry-run"][..], &["--yes"]] {
        let run = repo.aye(&[&["apply", &same.id], flags].concat()).fails("no_change", 6);
        assert!(run.err().contains(&format!("aye reject {}", same.id)), "{run}");
    }
    let both = repo.aye(&["apply", &good.id, &gone.id, "--dry-run"]).exits(6);
    assert!(both.err().contains(&gone.id), "{both}");
    for ids in [&[good.id.as_str(), &same.id][..], &[&same.id]] {
        let run = repo.aye(&[&["approve"], ids, &["--yes"]].concat()).fails("no_change", 6);
        assert!(run.err().contains(&format!("aye reject {}", same.id)), "{run}");
    }
    let mut t = Terminal::start(repo.cmd(&["apply", "--by", "mallory"]), 60, 120);
    t.sees("Apply 1").types("y");
    assert_eq!(t.ends(), 0);
    assert_eq!((repo.text("a.txt"), repo.text("n.txt")), (A.into(), "1\ntwo\n3\n".into()));
    // Where none can be planned, that is an error.
    let mut t = Terminal::start(repo.cmd(&["apply", "--by", "mallory"]), 60, 120);
    t.sees(&gone.id);
    assert_eq!(t.ends(), 6);
}
