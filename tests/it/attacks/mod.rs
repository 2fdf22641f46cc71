//! What anybody may push, and what becomes of genuine records in somebody else's hands: none of it
//! decides, stops work, or costs more than its limits. Beside each attack the honest record counts.

mod canonical;
mod names;
mod others;
mod remote;
mod replays;
mod sizes;
mod statements;

use crate::support::clones::{self, short, thread};
use crate::support::forger::{self, Forged};
use crate::support::record::propose;
use crate::support::{Repo, Run};
use serde_json::Value;

/// An event that decides nothing, and is named.
const SKIPPED: &str = "event_skipped";
/// A ref that does not count, and is named.
const DAMAGED: &str = "thread_damaged";
/// The same, of one that leads to what is not here.
const INCOMPLETE: &str = "thread_incomplete";

const LAST: [&str; 3] = ["check", "--range", "HEAD~1..HEAD"];

/// A proposal of codex in Ada's clone: `one` becomes `ONE` in `a.txt`.
struct Scene {
    repo: Repo,
    id: String,
    thread: String,
}

fn scene() -> Scene {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    let id = propose(&repo, "a.txt", "one", "ONE");
    let thread = thread(&repo, &id);
    Scene { repo, id, thread }
}

impl Scene {
    /// Another repository in this state.
    fn copy(&self) -> Self {
        Self { repo: self.repo.copy(), id: self.id.clone(), thread: self.thread.clone() }
    }

    /// What the program records of these commands in the clone of Bob, the last one first. The commits
    /// are in this repository, and no ref names them.
    fn bob(&self, commands: &[&[&str]]) -> Vec<String> {
        let bob = self.repo.copy();
        for (key, value) in
            [("user.name", "Bob"), ("user.email", "b@x"), ("aye.clone", "b0bb0bb0bb0bb0bb")]
        {
            bob.git(&["config", key, value]);
        }
        let tip = clones::tip(&self.repo, &self.thread);
        for args in commands {
            bob.aye(args).ok();
        }
        forger::borrow(&self.repo, &bob);
        let new = format!("{tip}..{}", clones::tip(&bob, &self.thread));
        bob.git(&["rev-list", "--topo-order", &new]).lines().map(str::to_owned).collect()
    }

    /// What Bob's apply is recorded as.
    fn apply(&self) -> Forged {
        Forged::read(&self.repo, &self.bob(&[&["apply", &self.id, "--yes"]])[0])
    }

    /// Lets the clone have `tip` of the thread as fetched from the forger.
    fn fetches(&self, tip: &str) {
        forger::fetched(&self.repo, &self.thread, tip);
    }

    /// The status of the proposal, the same in a list, and with a memo or without.
    #[track_caller]
    fn is(&self, status: &str) {
        is(&self.repo, &self.id, status);
    }

    /// `forged` decides nothing: it stays pending in a clone that fetches it, and the event is named.
    #[track_caller]
    fn ignores(&self, forged: &Forged, what: &str) {
        let copy = self.copy();
        copy.fetches(&forged.write(&copy.repo));
        assert_eq!(show(&copy.repo, &copy.id)["status"], "pending", "{what}");
        copy.is("pending");
        assert!(finds(&copy.repo, SKIPPED), "{what} is not named");
        // It is in nobody's way.
        copy.repo.aye(&["reject", &copy.id, "--yes"]).ok();
        copy.is("rejected");
    }

    /// `forged` counts as the honest record that it is.
    #[track_caller]
    fn believes(&self, forged: &Forged, status: &str) {
        let copy = self.copy();
        copy.fetches(&forged.write(&copy.repo));
        copy.is(status);
        assert!(!finds(&copy.repo, SKIPPED));
    }

    /// A ref is left out by name, and the proposal is as it was.
    #[track_caller]
    fn sets_aside(&self, tip: &str, what: &str) {
        let copy = self.copy();
        copy.fetches(tip);
        assert_eq!(show(&copy.repo, &copy.id)["status"], "pending", "{what}");
        let is_named = finds(&copy.repo, DAMAGED) || finds(&copy.repo, INCOMPLETE);
        assert!(is_named, "{what} is not named");
        copy.repo.aye(&["comment", &copy.id, "-m", "goes on"]).ok();
        let parents = Forged::read(&copy.repo, &clones::tip(&copy.repo, &copy.thread)).parents;
        assert!(!parents.contains(&tip.to_owned()), "{what} is a parent");
        copy.repo.aye(&["apply", &copy.id, "--yes"]).ok();
        copy.is("applied");
    }
}

fn show(repo: &Repo, id: &str) -> Value {
    repo.aye(&["show", id, "--json"]).ok().json()
}

/// Deletes what can be rebuilt.
fn forget(repo: &Repo) {
    for memo in ["open", "decided"] {
        let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{memo}")));
    }
}

#[track_caller]
fn is(repo: &Repo, id: &str, status: &str) {
    for memo in ["warm", "cold"] {
        let shown = show(repo, id);
        assert_eq!(shown["status"], status, "{memo}: {shown:#}");
        let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        let mut items = list["proposals"].as_array().expect("a list").iter();
        let item = items.find(|item| item["proposal_id"] == id).expect("it is listed");
        assert_eq!(item["status"], status, "{memo}: {item:#}");
        forget(repo);
    }
}

/// True where `aye doctor` reports `code`, as damage or as a warning.
fn finds(repo: &Repo, code: &str) -> bool {
    let found = repo.aye(&["doctor", "--json"]).json();
    let problems = found["problems"].as_array().expect("problems").iter();
    let warnings = found["warnings"].as_array().expect("warnings").iter();
    let is_warned = |text: &Value| text.as_str().is_some_and(|text| text.starts_with(code));
    problems.clone().any(|problem| problem["code"] == code) || warnings.clone().any(is_warned)
}

/// The rules of what `aye check` finds, with these arguments more.
fn rules(repo: &Repo, args: &[&str]) -> Vec<(String, String)> {
    let run = repo.aye(&[args, &["--json"]].concat());
    let found = run.json();
    let findings = found["findings"].as_array().unwrap_or_else(|| panic!("{run}")).iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    findings.map(|item| (text(&item["level"]), text(&item["rule"]))).collect()
}

/// Commits the files of the work tree under the trailer of `id`.
fn commit_as(repo: &Repo, id: &str) {
    repo.git(&["commit", "-q", "-a", "-m", &format!("Land it\n\nProposal-Id: {id}")]);
}

/// The last commit is not accepted, by one of these rules as an error.
#[track_caller]
fn refuses_the_commit(repo: &Repo, expected: &[&str]) {
    let found = rules(repo, &LAST);
    let is_it = |(level, rule): &(String, String)| level == "error" && expected.contains(&&**rule);
    assert!(found.iter().any(is_it), "{found:?}");
    repo.aye(&LAST).exits(1);
}

/// Runs with so much address space, in KiB, and a minute of processor time, for a program that is not optimised.
fn limited(repo: &Repo, memory: u64, args: &[&str]) -> Run {
    let script = format!("ulimit -v {memory}; ulimit -t 60; exec \"$0\" \"$@\"");
    let run = repo.program("sh").args(&["-c", &script]).args(&[crate::support::tested()]);
    run.args(args).run()
}

/// Lets `repo` have a thread of somebody else that begins with `forged`; its id.
fn fetched_thread(repo: &Repo, forged: &Forged) -> String {
    let first = forged.write(repo);
    forger::fetched(repo, &first, &first);
    short(&first)
}
