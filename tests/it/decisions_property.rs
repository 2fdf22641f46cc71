//! Random histories in two clones, by everybody who may call the program: whatever the order,
//! nobody but a person has applied or approved code, nobody has revised another's proposal, every
//! byte that a decision changed is named by its manifest, and what a resumed review writes it has
//! shown.

use std::collections::BTreeMap;

use crate::support::clones;
use crate::support::forger::{self, Forged};
use crate::support::terminal::Terminal;
use crate::support::{self, Repo, Run};
use aye::proposal::event::Evidence;
use aye::proposal::manifest::{Blob, Manifest};
use aye::proposal::{ActorKind, Proposal, State};
use aye::store::Filter;
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Claude,
    Codex,
    /// A caller of the tool contract without a name.
    Tool,
    Person,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Propose,
    Revise,
    Withdraw,
    Apply,
    ApplyTakingResidue,
    ApplyAndCommit,
    Approve,
    Mark,
    Reject,
    RequestChanges,
    RejectByTool,
    Reopen,
    Undo,
    /// A commit changes a file beneath the proposals.
    Move,
    /// Somebody edits a file and tells nobody.
    Dirty,
    /// The other clone's threads arrive.
    Fetch,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    clone: usize,
    who: Who,
    what: What,
    /// Which proposal, file and line.
    pick: usize,
}

fn step() -> impl Strategy<Value = Step> {
    let who = prop_oneof![
        1 => Just(Who::Claude),
        1 => Just(Who::Codex),
        1 => Just(Who::Tool),
        4 => Just(Who::Person),
    ];
    let what = prop_oneof![
        4 => Just(What::Propose),
        2 => Just(What::Revise),
        1 => Just(What::Withdraw),
        5 => Just(What::Apply),
        1 => Just(What::ApplyTakingResidue),
        1 => Just(What::ApplyAndCommit),
        2 => Just(What::Approve),
        1 => Just(What::Mark),
        1 => Just(What::Reject),
        1 => Just(What::RejectByTool),
        1 => Just(What::RequestChanges),
        1 => Just(What::Reopen),
        4 => Just(What::Undo),
        1 => Just(What::Move),
        1 => Just(What::Dirty),
        2 => Just(What::Fetch),
    ];
    (0..2_usize, who, what, 0..1000_usize).prop_map(|(clone, who, what, pick)| Step {
        clone,
        who,
        what,
        pick,
    })
}

const FILES: [&str; 2] = ["f", "g"];
const LINES: usize = 8;

struct World {
    clones: [Repo; 2],
    /// No line is written twice.
    lines: usize,
}

impl World {
    fn new() -> Self {
        let text = |file: &str| (0..LINES).map(|n| format!("{file} {n}\n")).collect::<String>();
        let files = FILES.map(|file| (file, text(file)));
        let first = Repo::with(&files);
        let second = first.copy();
        Self { clones: [first, second], lines: 0 }
    }

    /// A line of a file, and one to put in its place.
    fn edit(&mut self, step: Step) -> (&'static str, String, String) {
        let file = FILES[step.pick % FILES.len()];
        let text = self.clones[step.clone].text(file);
        let line = text.lines().nth(step.pick / FILES.len() % LINES).expect("a line").to_owned();
        self.lines += 1;
        (file, line, format!("line {}", self.lines))
    }

    fn take(&mut self, step: Step) -> Option<Run> {
        let (file, old, new) = self.edit(step);
        let repo = &self.clones[step.clone];
        let proposals = all(repo);
        // Mostly one of which that can be said; sometimes any.
        let suits = |proposal: &&Proposal| match (step.what, &proposal.state) {
            (What::Undo, State::Applied(_)) | (What::Reopen, State::Rejected(_)) => true,
            (What::Undo | What::Reopen, _) => false,
            (_, state) => *state == State::Pending,
        };
        let some: Vec<&Proposal> = proposals.iter().filter(suits).collect();
        let chosen = match some.is_empty() || step.pick.is_multiple_of(5) {
            true => proposals.get(step.pick % proposals.len().max(1)),
            false => some.get(step.pick % some.len()).copied(),
        };
        let id = chosen.map(|proposal| proposal.id.to_string()).unwrap_or_default();
        let named = chosen.map(Proposal::at_revision).unwrap_or_default();
        let run = |args: &[&str]| {
            Some(match step.who {
                Who::Claude => repo.agent("claude", args),
                Who::Codex => repo.agent("codex", args),
                Who::Tool | Who::Person => repo.aye(args),
            })
        };
        let call = |action: &str| {
            let request = json!({"action": action, "proposal_id": id, "file_path": file,
                "old_content": old, "new_content": new});
            run(&["call", "changes", &request.to_string()])
        };
        match (step.what, step.who) {
            (What::Move, _) => {
                repo.write(file, repo.text(file).replace(&old, &new));
                repo.git(&["commit", "-q", "-m", "Move on", "--", file]);
                None
            }
            (What::Dirty, _) => {
                repo.write(file, repo.text(file).replace(&old, &new));
                None
            }
            (What::Fetch, _) => {
                fetch(repo, &self.clones[1 - step.clone]);
                None
            }
            (What::Propose, Who::Tool) => call("propose"),
            (What::Propose, _) => run(&["propose", file, "--old", &old, "--new", &new]),
            _ if id.is_empty() => None,
            (What::Mark, _) | (What::Apply, Who::Tool) => call("apply"),
            (What::RejectByTool, _) | (What::Reject, Who::Tool) => call("reject"),
            // The other commands do not belong to the contract.
            (_, Who::Tool) => None,
            (What::Revise, _) => run(&["revise", &id, file, "--old", &old, "--new", &new]),
            (What::Withdraw, _) => run(&["reject", &id]),
            (What::Apply, _) => run(&["apply", &named, "--yes"]),
            (What::ApplyTakingResidue, _) => {
                run(&["apply", &named, "--yes", "--with-other-changes"])
            }
            (What::ApplyAndCommit, _) => run(&["apply", &named, "--yes", "--commit"]),
            (What::Approve, _) => run(&["approve", &named, "--yes"]),
            (What::Reject, _) => run(&["reject", &id, "--yes"]),
            (What::RequestChanges, _) => run(&["comment", &id, "--request-changes", "-m", "no"]),
            (What::Reopen, _) => run(&["undo", &id, "--rejection", "--yes"]),
            (What::Undo, _) => run(&["undo", &id, "--yes"]),
        }
    }
}

/// All proposals that a clone knows, decided or not.
fn all(repo: &Repo) -> Vec<Proposal> {
    let store = support::record::store(repo);
    let view = store.view().expect("a view");
    let found = view.proposals(&Filter::default(), chrono::Utc::now()).expect("a list");
    found.iter().map(|found| view.proposal(&found.id).expect("it")).collect()
}

/// Lets `repo` have what `from` has written, as fetched.
fn fetch(repo: &Repo, from: &Repo) {
    if clones::name(from).is_some() {
        clones::exchange(repo, from);
    }
}

/// The tips of a clone's own threads.
fn own(repo: &Repo) -> BTreeMap<String, String> {
    let refs = repo.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/aye/p"]);
    let pairs = refs.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, tip)| (name.to_owned(), tip.to_owned())).collect()
}

/// The last decision that a clone has recorded since its refs were `before`.
fn newest_decision(repo: &Repo, before: &BTreeMap<String, String>) -> Forged {
    let moved = own(repo).into_iter().filter(|(name, tip)| before.get(name) != Some(tip));
    let tips: Vec<String> = moved.map(|(_, tip)| tip).collect();
    // Behind the notes that were written with it.
    let mut commits = tips.iter().flat_map(|tip| {
        let list = repo.git(&["rev-list", "--first-parent", tip]);
        list.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let decision = commits.find_map(|id| {
        let forged = Forged::read(repo, &id);
        forged.statement.is_some().then_some(forged)
    });
    decision.expect("a decision")
}

/// The content of the project's files.
fn files(repo: &Repo) -> BTreeMap<String, Vec<u8>> {
    FILES.into_iter().map(|file| (file.to_owned(), repo.read(file))).collect()
}

/// Code is applied by people, and revised by them or by who proposed it.
fn decided_by_people(proposals: &[Proposal]) {
    for proposal in proposals {
        if let State::Applied(decision) = &proposal.state {
            assert!(decision.is_by_a_person(), "{} was applied by {:?}", proposal.id, decision.by);
        }
        let has = |id: &str| proposal.revisions.iter().any(|revision| revision.event == id);
        assert!(proposal.decision().is_none_or(|decision| has(&decision.revision)));
        let mut people = std::collections::BTreeSet::new();
        for approval in proposal.approvals_in_force() {
            assert_eq!(approval.by.kind, ActorKind::Human, "{} was approved", proposal.id);
            assert!(matches!(approval.evidence, Evidence::Terminal | Evidence::Flag));
            let current = proposal.decision().map_or(&proposal.current().event, |d| &d.revision);
            assert_eq!(&approval.revision, current, "{}", proposal.id);
            assert!(people.insert(approval.by.identity()), "{} counts twice", approval.by);
        }
        for revision in &proposal.revisions {
            let (by, own) = (&revision.actor, &proposal.actor);
            let may = by.kind == ActorKind::Human || (&by.name, by.kind) == (&own.name, own.kind);
            assert!(may, "{} by {own} was revised by {by}", proposal.id);
        }
    }
}

/// The manifest of the newest event names exactly what was written, as it was and as it is; that of
/// an approval, which writes nothing, what there is.
fn named_by_the_manifest(
    repo: &Repo,
    decision: &Forged,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    writes: bool,
) {
    let statement = decision.statement.as_ref().expect("a statement");
    let id = statement["manifest"]["id"].as_str().expect("a manifest");
    let bytes = repo.program("git").args(&["cat-file", "blob", id]).run().ok().stdout;
    let manifest = Manifest::from_bytes(&bytes).expect("a manifest");
    let id = |blob: &Option<Blob>| blob.as_ref().map(|blob| blob.id.clone());
    let hash = |content: &[u8]| Some(forger::fed(repo, &["hash-object", "--stdin"], content));
    for record in manifest.records() {
        let path = record.path.display().to_string();
        assert_eq!(id(&record.now), hash(&before[&path]), "{path} before");
        if writes {
            assert_eq!(id(&record.after), hash(&after[&path]), "{path} afterwards");
        }
    }
    let named =
        |path: &str| manifest.records().iter().any(|r| r.path.display().to_string() == path);
    for (path, content) in after {
        assert!(before[path] == *content || named(path), "{path} was changed, and not approved");
    }
}

fn run(steps: &[Step]) {
    let mut world = World::new();
    for step in steps {
        let (before, tip) = {
            let repo = &world.clones[step.clone];
            (files(repo), own(repo))
        };
        let run = world.take(*step);
        let repo = &world.clones[step.clone];
        decided_by_people(&all(repo));
        let Some(run) = run else { continue };
        assert!(![6, 70, 101].contains(&run.status) && run.status < 128, "{run}");
        let after = files(repo);
        use What::{Apply, ApplyAndCommit, ApplyTakingResidue, Approve, Undo};
        let writes = matches!(step.what, Apply | ApplyTakingResidue | ApplyAndCommit | Undo);
        let by_person = writes && step.who == Who::Person;
        if step.what == Approve && run.status == 0 {
            assert_eq!(step.who, Who::Person, "{run}");
            assert_eq!(before, after, "an approval wrote\n{run}");
            named_by_the_manifest(repo, &newest_decision(repo, &tip), &before, &after, false);
        } else if !by_person || run.status != 0 {
            assert_eq!(before, after, "it decided nothing, and wrote\n{run}");
        } else {
            assert_ne!(own(repo), tip, "nothing is on record\n{run}");
            let decision = newest_decision(repo, &tip);
            if decision.statement.as_ref().expect("a statement")["manifest"].is_null() {
                // What was rejected or withdrawn had written nothing.
                assert_eq!(before, after, "an undo of a rejection wrote\n{run}");
                continue;
            }
            named_by_the_manifest(repo, &decision, &before, &after, true);
        }
    }
    // Once both clones have seen everything, they say the same.
    let [left, right] = &world.clones;
    fetch(left, right);
    fetch(right, left);
    let states = |repo| -> Vec<_> {
        let now = chrono::Utc::now();
        let mut states: Vec<_> = all(repo)
            .iter()
            .map(|p| (p.id.clone(), p.status(now), p.contested, approved(p)))
            .collect();
        states.sort_by(|a, b| a.0.cmp(&b.0));
        states
    };
    assert_eq!(states(left), states(right));
    // Nothing that the program itself has recorded contradicts anything.
    left.aye(&["doctor"]).lacks("event_skipped");
}

/// Found by chance: an undo of what was withdrawn.
#[test]
fn an_undone_withdrawal_writes_nothing() {
    let step = |who, what| Step { clone: 0, who, what, pick: 0 };
    run(&[
        step(Who::Codex, What::Propose),
        step(Who::Codex, What::Withdraw),
        step(Who::Person, What::Undo),
    ]);
}

/// Who has approved what counts.
fn approved(proposal: &Proposal) -> Vec<String> {
    proposal.approvals_in_force().map(|approval| approval.event.clone()).collect()
}

/// What happens between two sessions of a review.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Nothing,
    /// A commit changes another line of the file.
    Moves,
    /// Another line of the file is edited, and not committed.
    Dirties,
    /// The agent gives it new content.
    Revises,
    /// Another clone's events arrive, with new content by the same agent from there.
    Fetches,
    /// The agent puts edits and words of its own into what was saved.
    Plants,
}

const LINE: &str = "f 6";

impl Meanwhile {
    fn any() -> impl Strategy<Value = Self> {
        use Meanwhile::{Dirties, Fetches, Moves, Nothing, Plants, Revises};
        prop::sample::select(vec![Nothing, Moves, Dirties, Revises, Fetches, Plants])
    }

    fn happens(self, world: &World, id: &str) {
        let [repo, other] = &world.clones;
        match self {
            Self::Nothing => {}
            Self::Moves | Self::Dirties => {
                repo.write("f", repo.text("f").replace(LINE, &format!("{self:?}")));
                if matches!(self, Self::Moves) {
                    // It may have moved on before.
                    repo.git(&["commit", "-q", "-a", "--allow-empty", "-m", "Move on"]);
                }
            }
            Self::Revises => {
                repo.agent("claude", &["revise", id, "f", "--old", "f 1", "--new", "evil"]);
            }
            Self::Fetches => {
                fetch(other, repo);
                other.agent("claude", &["revise", id, "f", "--old", "f 1", "--new", "evil"]);
                fetch(repo, other);
            }
            Self::Plants => {
                let path = ".git/aye/answers";
                let mut saved: Value = serde_json::from_slice(&repo.read(path)).expect("JSON");
                for answers in saved.as_object_mut().expect("revisions").values_mut() {
                    for decision in answers["decisions"].as_array_mut().into_iter().flatten() {
                        decision["decision"] = json!({"edit": {"bytes": "planted\n"}});
                    }
                    answers["comments"] = json!([{"body": "planted words"}]);
                }
                repo.write(path, saved.to_string());
            }
        }
    }
}

fn review(repo: &Repo) -> Terminal {
    let cmd = repo.cmd(&["review"]).env("TERM", "dumb").env("PAGER", "cat");
    Terminal::start(cmd, 60, 100)
}

/// A review that is quit with a decision made, and resumed after something has happened: what is
/// written then was on the screen of the second session.
fn resumed(meanwhile: &[Meanwhile]) {
    let world = World::new();
    let repo = &world.clones[0];
    let args = ["propose", "f", "--old", "f 1", "--new", "good", "--json"];
    let id = repo.agent("claude", &args).ok().json();
    let id = id["proposal_id"].as_str().expect("an id").to_owned();
    let mut first = review(repo);
    first.sees("]?").types("A").sees("Write these").sees("]?").types("qk");
    assert_eq!(first.ends(), 0);
    meanwhile.iter().for_each(|step| step.happens(&world, &id));
    let (before, tips) = (files(repo), own(repo));
    let mut second = review(repo);
    second.sees("]?");
    if !second.text().contains("Write these") {
        second.types("A").sees("Write these").sees("]?");
    }
    let shown = second.text();
    second.types("y").ends();
    let (after, text) = (files(repo), repo.text("f"));
    for line in text.lines().filter(|line| !String::from_utf8_lossy(&before["f"]).contains(line)) {
        assert!(shown.contains(&format!("+{line}")), "{line} was written unseen\n{shown}");
    }
    assert!(!text.contains("planted"), "{shown}");
    let said = repo.aye(&["show", &id, "--comments"]).ok().out();
    assert!(!said.contains("planted words") || shown.contains("planted words"), "{shown}");
    assert_ne!(before, after, "{shown}");
    named_by_the_manifest(repo, &newest_decision(repo, &tips), &before, &after, true);
    decided_by_people(&all(repo));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6,
        max_shrink_iters: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn a_resumed_review_writes_what_it_shows(
        meanwhile in prop::collection::vec(Meanwhile::any(), 1..=2),
    ) {
        resumed(&meanwhile);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn whatever_happens_people_decide_and_manifests_name_what_was_written(
        steps in prop::collection::vec(step(), 10..=14),
    ) {
        run(&steps);
    }
}
