//! Random histories in two clones, by everybody who may call the program: whatever the order,
//! nobody but a person has applied code, nobody has revised another's proposal, and every byte
//! that a decision changed is named by its manifest.

mod support;

#[path = "support/hostile.rs"]
mod hostile;

use std::collections::BTreeMap;

use aye::decide::Manifest;
use aye::decide::manifest::Blob;
use aye::proposal::{ActorKind, Proposal, State};
use aye::store::Filter;
use proptest::prelude::*;
use serde_json::json;
use support::{Repo, Run};

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
    Mark,
    Reject,
    RejectByTool,
    Reopen,
    Undo,
    /// A commit changes a file beneath the proposals.
    Move,
    /// Somebody edits a file and tells nobody.
    Dirty,
    /// The other clone's lanes arrive.
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
        1 => Just(What::Mark),
        1 => Just(What::Reject),
        1 => Just(What::RejectByTool),
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
            (What::Withdraw, _) => run(&["withdraw", &id]),
            (What::Apply, _) => run(&["apply", &named, "--yes"]),
            (What::ApplyTakingResidue, _) => run(&["apply", &named, "--yes", "--take-residue"]),
            (What::ApplyAndCommit, _) => run(&["apply", &named, "--yes", "--commit"]),
            (What::Reject, _) => run(&["reject", &id, "--yes"]),
            (What::Reopen, _) => run(&["reopen", &id, "--yes"]),
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

fn fetch(repo: &Repo, from: &Repo) {
    let from = from.root().to_string_lossy().into_owned();
    repo.git(&["fetch", "-q", &from, "+refs/aye/log/*:refs/aye/remotes/other/*"]);
}

fn lane(repo: &Repo) -> String {
    repo.git(&["for-each-ref", "--format=%(objectname)", "refs/aye/log"])
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
        for revision in &proposal.revisions {
            let (by, own) = (&revision.actor, &proposal.actor);
            let may = by.kind == ActorKind::Human || (&by.name, by.kind) == (&own.name, own.kind);
            assert!(may, "{} by {own} was revised by {by}", proposal.id);
        }
    }
}

/// The manifest of the newest event names exactly what was written, as it was and as it is.
fn named_by_the_manifest(
    repo: &Repo,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
) {
    let manifest = format!("{}:manifest-0001", lane(repo));
    let bytes = repo.program("git").args(&["cat-file", "blob", &manifest]).run().ok().stdout;
    let manifest = Manifest::from_bytes(&bytes).expect("a manifest");
    let id = |blob: &Option<Blob>| blob.as_ref().map(|blob| blob.id.clone());
    let hash = |content: &[u8]| Some(hostile::fed(repo, &["hash-object", "--stdin"], content));
    for record in manifest.records() {
        let path = record.path.display().to_string();
        assert_eq!(id(&record.now), hash(&before[&path]), "{path} before");
        assert_eq!(id(&record.after), hash(&after[&path]), "{path} afterwards");
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
            (files(repo), lane(repo))
        };
        let run = world.take(*step);
        let repo = &world.clones[step.clone];
        decided_by_people(&all(repo));
        let Some(run) = run else { continue };
        assert!(![6, 70, 101].contains(&run.status) && run.status < 128, "{run}");
        let after = files(repo);
        use What::{Apply, ApplyAndCommit, ApplyTakingResidue, Undo};
        let writes = matches!(step.what, Apply | ApplyTakingResidue | ApplyAndCommit | Undo);
        let by_person = writes && step.who == Who::Person;
        if !by_person || run.status != 0 {
            assert_eq!(before, after, "it decided nothing, and wrote\n{run}");
        } else {
            assert_ne!(lane(repo), tip, "nothing is on record\n{run}");
            named_by_the_manifest(repo, &before, &after);
        }
    }
    // Once both clones have seen everything, they say the same.
    let [left, right] = &world.clones;
    fetch(left, right);
    fetch(right, left);
    let states = |repo| -> Vec<_> {
        let now = chrono::Utc::now();
        let mut states: Vec<_> =
            all(repo).iter().map(|p| (p.id.clone(), p.status(now), p.contested)).collect();
        states.sort_by(|a, b| a.0.cmp(&b.0));
        states
    };
    assert_eq!(states(left), states(right));
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
