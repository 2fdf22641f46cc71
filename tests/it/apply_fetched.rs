//! `aye apply` and proposals that came by a fetch: whatever one of them says, the others are planned, and
//! each is planned once.

use aye::proposal::ProposalId;
use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::hostile::Hostile;
use crate::support::terminal::Terminal;

const A: &str = "a\nb\nc\n";

fn scene() -> Repo {
    Repo::with(&[("a.txt", A), ("n.txt", "1\n2\n3\n")])
}

/// A lane of somebody else that grows.
struct Lane<'r> {
    of: Hostile<'r>,
    tip: Option<String>,
}

/// A proposal of it: its id, and the event that is its newest revision.
struct Made {
    id: String,
    first: String,
    at: String,
}

impl<'r> Lane<'r> {
    fn new(repo: &'r Repo) -> Self {
        Self { of: Hostile::new(repo, "feedfacefeedface"), tip: None }
    }

    fn add(&mut self, event: &str) -> String {
        let parents: Vec<&str> = self.tip.as_deref().into_iter().collect();
        let tip = self.of.step(event, &parents);
        self.of.push(&tip);
        self.tip = Some(tip);
        self.of.blob(event)
    }

    fn change(&self, path: &str, before: &str, after: &str) -> Value {
        self.change_to(path, before, &self.of.blob(after))
    }

    fn change_to(&self, path: &str, before: &str, id: &str) -> Value {
        let entry = |id: &str| json!({"id": id, "mode": "100644"});
        json!([{"path": path, "before": entry(&self.of.blob(before)), "after": entry(id)}])
    }

    fn propose(&mut self, changes: &Value, on: Option<&Made>) -> Made {
        let mut data = json!({
            "description": "d", "proposed_by": "mallory", "expires_at": "2999-01-01T00:00:00Z",
            "subject": "code", "form": "patch", "changes": changes,
        });
        if let Some(on) = on {
            data["on"] = json!({"proposal": on.id, "revision": on.at});
        }
        let event = self.of.event("propose", None, data);
        let first = self.add(&event);
        let id = ProposalId::from_event(&first).as_str().to_owned();
        Made { id, at: first.clone(), first }
    }

    fn revise(&mut self, of: &mut Made, changes: &Value, on: (&str, &str)) {
        let data = json!({
            "changes": changes, "description": "r", "expires_at": "2999-01-01T00:00:00Z",
            "reason": "answer", "on": {"proposal": on.0, "revision": on.1},
        });
        let event = self.of.event("revise", Some(&of.id), data);
        let mut event: Value = serde_json::from_str(&event).expect("JSON");
        event["first"] = of.first.as_str().into();
        of.at = self.add(&format!("{event}\n"));
    }
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
    let mut lane = Lane::new(&repo);
    let changes = lane.change("a.txt", A, "a\nb\nC\n");
    let mut made = lane.propose(&changes, None);
    let changes = lane.change("a.txt", A, "a\nb\nCC\n");
    let (id, first) = (made.id.clone(), made.first.clone());
    lane.revise(&mut made, &changes, (&id, &first));
    let at = format!("{id}@{}", &made.at[..12]);
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
    let mut lane = Lane::new(&repo);
    let changes = lane.change("n.txt", "1\n2\n3\n", "1\ntwo\n3\n");
    let mut lower = lane.propose(&changes, None);
    let changes = lane.change("a.txt", A, "a\nB\nc\n");
    let mut upper = lane.propose(&changes, Some(&lower));
    let changes = lane.change("n.txt", "1\n2\n3\n", "1\nTWO\n3\n");
    let (on, at) = (upper.id.clone(), upper.at.clone());
    lane.revise(&mut lower, &changes, (&on, &at));
    let changes = lane.change("a.txt", A, "a\nBB\nc\n");
    let (on, at) = (lower.id.clone(), lower.at.clone());
    lane.revise(&mut upper, &changes, (&on, &at));
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
    let mut lane = Lane::new(&repo);
    let changes = lane.change("n.txt", "1\n2\n3\n", "1\ntwo\n3\n");
    let good = lane.propose(&changes, None);
    let changes = lane.change("a.txt", A, A);
    let same = lane.propose(&changes, None);
    let changes = lane.change_to("a.txt", A, &"3".repeat(40));
    let gone = lane.propose(&changes, None);
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
    t.sees("Apply 1").types("y\r");
    assert_eq!(t.ends(), 0);
    assert_eq!((repo.text("a.txt"), repo.text("n.txt")), (A.into(), "1\ntwo\n3\n".into()));
    // Where none can be planned, that is an error.
    let mut t = Terminal::start(repo.cmd(&["apply", "--by", "mallory"]), 60, 120);
    t.sees(&gone.id);
    assert_eq!(t.ends(), 6);
}
