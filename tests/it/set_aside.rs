//! What a repair finds of this clone's own lane and nothing names: it is kept, named, and goes back by a
//! person's word alone.

use std::collections::BTreeSet;

use crate::support::Repo;
use crate::support::terminal::Terminal;

const CACHE: &str = ".git/aye/cache.sqlite";

/// The files of loose objects.
fn loose(repo: &Repo) -> BTreeSet<String> {
    let found = repo.git(&["cat-file", "--batch-check=%(objectname)", "--batch-all-objects"]);
    found.lines().map(|id| format!(".git/objects/{}/{}", &id[..2], &id[2..])).collect()
}

/// The events of `name`, by id.
fn events(repo: &Repo, name: &str) -> Vec<String> {
    let commits = repo.git(&["rev-list", "--reverse", name]);
    let id = |commit: &str| repo.git(&["rev-parse", &format!("{commit}:event.json")]);
    commits.lines().map(|commit| id(commit).trim().to_owned()).collect()
}

/// A repository with a decided past, of whose last lane commit every object is lost.
struct Scene {
    repo: Repo,
    lane: String,
    /// The last commit that is there.
    tip: String,
    /// Of the events up to it.
    events: Vec<String>,
    /// The event that is lost.
    lost: String,
    proposals: Vec<String>,
}

/// With `pending` the first proposal waits still, so that its ref names the commit it is in.
fn scene(pending: bool) -> Scene {
    let text: String = (0..60).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("f", text)]);
    let propose = |n: usize| {
        let (old, new) = (format!("line {n}\n"), format!("LINE {n}\n"));
        repo.aye(&["propose", "f", "--old", &old, "--new", &new, "-q"]).ok().id()
    };
    let ids: Vec<String> = [10, 20, 30, 40].into_iter().map(propose).collect();
    repo.aye(&["reject", &ids[1], "--yes", "-m", "no"]).ok();
    repo.aye(&["apply", &ids[2], "--yes"]).ok();
    match pending {
        true => repo.aye(&["comment", &ids[0], "-m", "seen"]).ok(),
        false => repo.aye(&["reject", &ids[0], "--yes", "-m", "no"]).ok(),
    };
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]).trim().to_owned();
    let tip = repo.git(&["rev-parse", &lane]).trim().to_owned();
    let (before, known) = (loose(&repo), events(&repo, &lane));
    repo.aye(&["apply", &ids[3], "--yes"]).ok();
    let lost = events(&repo, &lane).pop().expect("an event");
    loose(&repo).difference(&before).for_each(|file| repo.remove(file));
    Scene { repo, lane, tip, events: known, lost, proposals: ids }
}

impl Scene {
    fn copy(&self) -> Self {
        let Self { lane, tip, events, lost, proposals, .. } = self;
        let (lane, tip, lost) = (lane.clone(), tip.clone(), lost.clone());
        let repo = self.repo.copy();
        Self { repo, lane, tip, events: events.clone(), lost, proposals: proposals.clone() }
    }

    /// All that was said is there again, but for what is lost.
    #[track_caller]
    fn is_whole(&self) {
        assert_eq!(self.repo.git(&["rev-parse", &self.lane]).trim(), self.tip);
        let list = self.repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        let list = list["proposals"].as_array().expect("a list");
        let state = |id: &String| {
            let found = list.iter().find(|found| found["proposal_id"] == **id).expect(id);
            found["status"].as_str().expect("a status").to_owned()
        };
        let states: Vec<String> = self.proposals[1..].iter().map(state).collect();
        assert_eq!(states, ["rejected", "applied", "pending"]);
        self.repo.aye(&["doctor"]).ok().lacks("broken");
    }
}

#[test]
fn what_nothing_names_is_listed_and_goes_back_by_a_persons_word() {
    let template = scene(true);
    for cached in [true, false] {
        let scene = template.copy();
        let (repo, tip) = (&scene.repo, &scene.tip[..12]);
        if !cached {
            repo.remove(CACHE);
        }
        // Each of its events is there, and said to be; not the first, which the pending ref names.
        let run = repo.aye(&["doctor", "--repair"]).exits(1);
        let out = run.out();
        let line = |id: &str| out.lines().find(|line| line.contains(id));
        for id in &scene.events[1..] {
            let line = line(id).expect(id);
            assert!(line.starts_with("event_lost"), "{line}");
            assert!(line.contains(&format!("{}.", &scene.lane["refs/aye/log/".len()..])), "{line}");
        }
        assert_eq!(line(&scene.events[0]), None, "{out}");
        assert_eq!(
            line(&scene.lost).is_some_and(|it| it.ends_with("not be saved")),
            cached,
            "{out}"
        );
        assert!(out.contains(&format!("aye doctor --repair --trust {tip}")), "{out}");

        // Afterwards it is not passed over in silence.
        repo.aye(&["doctor"]).ok().says("--trust");
        repo.aye(&["doctor", "--repair"]).exits(1).says(&scene.events[1]);

        // Not by an agent's word, nor by that of a build machine.
        let trust = ["doctor", "--repair", "--trust", tip];
        repo.agent("codex", &trust).fails("human_approval_required", 4);
        repo.cmd(&trust).env("CI", "true").run().fails("human_approval_required", 4);
        repo.aye(&["doctor", "--trust", tip]).exits(2);
        repo.aye(&["doctor", "--repair", "--trust", "00000000"]).exits(1).says("not_set_aside");
        repo.aye(&trust).ok().says("sound");
        scene.is_whole();
        repo.aye(&trust).exits(1).says("not_set_aside: ");
        repo.git(&["fsck", "--strict", "--no-dangling"]);
    }
    // All at once.
    let trust = ["doctor", "--repair", "--trust", &template.tip];
    template.repo.agent("codex", &trust).fails("human_approval_required", 4);
    template.repo.aye(&trust).exits(1).says(&template.lost);
    template.is_whole();
}

#[test]
fn at_a_terminal_a_person_is_asked() {
    let scene = scene(true);
    let repair = |keys: &str| {
        let cmd = scene.repo.cmd(&["doctor", "--repair"]).env("TERM", "dumb");
        let mut t = Terminal::start(cmd, 60, 200);
        t.sees("events").sees(&scene.events[6]).sees("Were");
        t.types(keys);
        (t.ends(), t.text())
    };
    let (status, text) = repair("\n");
    assert!(status == 1 && text.contains("event_lost"), "{text}");
    let (status, text) = repair("y\n");
    assert_eq!(status, 0, "{text}");
    scene.is_whole();
    // An agent is asked nothing.
    let agent =
        scene.repo.cmd(&["doctor", "--repair"]).env("TERM", "dumb").env("AYE_AGENT", "codex");
    let mut t = Terminal::start(agent, 60, 200);
    assert_eq!(t.ends(), 0, "{}", t.text());
}

#[test]
fn an_agent_at_a_terminal_is_not_asked() {
    let scene = scene(true);
    let agent =
        scene.repo.cmd(&["doctor", "--repair"]).env("TERM", "dumb").env("AYE_AGENT", "codex");
    let mut t = Terminal::start(agent, 60, 200);
    assert_eq!(t.ends(), 1, "{}", t.text());
    assert!(!t.text().contains("Were"), "{}", t.text());
}

#[test]
fn what_was_written_since_is_not_overwritten() {
    let scene = scene(true);
    let (repo, tip) = (&scene.repo, &scene.tip[..12]);
    repo.aye(&["doctor", "--repair"]).exits(1);
    repo.aye(&["comment", &scene.proposals[0], "-m", "more"]).ok();
    let written = repo.git(&["rev-parse", &scene.lane]);
    repo.aye(&["doctor"]).ok().says(" events ").lacks("--trust");
    let run = repo.aye(&["doctor", "--repair", "--trust", tip, "--json"]).exits(1);
    let problems = run.json()["problems"].as_array().unwrap().clone();
    assert!(problems.iter().any(|it| it["code"] == "lane_written_since"), "{problems:?}");
    assert!(problems.iter().any(|it| it["code"] == "event_lost"), "{problems:?}");
    assert_eq!(repo.git(&["rev-parse", &scene.lane]), written);
    repo.aye(&["show", &scene.proposals[0]]).ok().says("more");
}

#[test]
fn what_was_pushed_on_top_of_it_stays_out() {
    let scene = scene(true);
    let (repo, tip) = (&scene.repo, &scene.tip[..]);
    // A forged decision, as whoever can push a branch can bring it here.
    let body = repo.git(&["cat-file", "blob", &format!("{tip}:event.json")]);
    let forged =
        body.replace("\"body\":\"seen\"", "\"body\":\"FORGED\"").replace("\"seq\":7", "\"seq\":8");
    assert_ne!(body, forged);
    repo.write("forged", &forged);
    let event = repo.git(&["hash-object", "-w", "forged"]);
    repo.write("tree", format!("100644 blob {}\tevent.json\n", event.trim()));
    repo.remove("forged");
    let tree = repo.program("git").args(&["mktree"]).stdin(repo.read("tree")).run().ok().out();
    repo.remove("tree");
    let message = "comment\n\nActor-Kind: human\n";
    let top = repo.git(&["commit-tree", tree.trim(), "-p", tip, "-m", message]);
    let run = repo.aye(&["doctor", "--repair"]).exits(1).says(event.trim());
    run.says(&format!("--trust {:.12}", top.trim()));
    // Up to where it was this clone's.
    repo.aye(&["doctor", "--repair", "--trust", tip]).exits(1).says(event.trim());
    assert_eq!(repo.git(&["rev-parse", &scene.lane]).trim(), tip);
    repo.aye(&["show", &scene.proposals[0]]).ok().says("seen").lacks("FORGED");
    repo.aye(&["doctor"]).ok().says(" 1 event ");
}

#[test]
fn a_lane_of_which_nothing_is_left_goes_back_too() {
    let scene = scene(false);
    let (repo, lane, tip) = (&scene.repo, &scene.lane, &scene.tip[..]);
    repo.aye(&["doctor", "--repair"]).exits(1).says(&scene.events[0]).says(&scene.events[6]);
    assert_eq!(repo.git(&["for-each-ref", "refs/aye/log"]), "");
    repo.aye(&["doctor"]).ok().says(" 7 events ");
    let other = scene.copy();
    repo.aye(&["doctor", "--repair", "--trust", tip]).ok().says("7 events");
    scene.is_whole();
    repo.aye(&["reject", &scene.proposals[3], "--yes", "-m", "no"]).ok();
    assert_eq!(repo.git(&["rev-parse", &format!("{lane}~1")]).trim(), tip);

    // What is said meanwhile goes to another lane: this one has positions that others may know.
    let repo = &other.repo;
    let id = repo.aye(&["propose", "f", "--old", "line 50\n", "--new", "x\n", "-q"]).ok().id();
    assert_eq!(repo.git(&["for-each-ref", lane]), "");
    repo.aye(&["doctor", "--repair", "--trust", tip]).exits(1).says("lane_written_since");
    repo.aye(&["list"]).ok().says(&id[5..9]);
}

#[test]
fn the_statement_of_a_decision_names_what_was_before_it() {
    let text: String = (0..60).map(|n| format!("line {n}\n")).collect();
    let repo = Repo::with(&[("f", text)]);
    let propose = |n: usize| {
        let (old, new) = (format!("line {n}\n"), format!("LINE {n}\n"));
        repo.aye(&["propose", "f", "--old", &old, "--new", &new, "-q"]).ok().id()
    };
    let ids: Vec<String> = [10, 20, 30].into_iter().map(propose).collect();
    repo.aye(&["apply", &ids[0], &ids[1], &ids[2], "--yes"]).ok();
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    let lane = lane.trim();
    let known = events(&repo, lane);
    let gone = ["", ":event.json", ":statement-0001", "^{tree}"];
    let gone = gone.map(|of| repo.git(&["rev-parse", &format!("{lane}~1{of}")]).trim().to_owned());
    gone.iter().for_each(|id| repo.remove(&format!(".git/objects/{}/{}", &id[..2], &id[2..])));
    repo.remove(CACHE);
    // All three were shown when the lane ended before the first was applied.
    let run = repo.aye(&["doctor", "--repair"]).exits(1);
    let run = run.says(&format!("apply event {}", known[3]));
    let tip = run.out().split("--trust ").nth(1).unwrap()[..12].to_owned();
    repo.aye(&["list", "--status", "applied"]).ok().says(&ids[2][5..9]).lacks(&ids[0][5..9]);
    repo.aye(&["doctor", "--repair", "--trust", &tip]).ok().says("1 event ");
    let applied = repo.aye(&["list", "--status", "applied"]).ok();
    applied.says(&ids[0][5..9]).says(&ids[2][5..9]).lacks(&ids[1][5..9]);
    repo.aye(&["doctor"]).ok().lacks("broken");
}
