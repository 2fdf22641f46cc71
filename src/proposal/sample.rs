//! Small threads for tests.

use chrono::DateTime;

use super::event::{
    BlobRef, ChangeRecord, Comment, Data, DecisionData, DecisionDocuments, Effect, Event, Evidence,
    Propose, Revise, RevisionReason, StoredEvent, Subject, Verdict,
};
use super::manifest::{EntryOutcome, Manifest, ManifestEntry, OtherChanges};
use super::statement::{Statement, ends_bytes, ends_sha256, seen_sha256};
use super::{Actor, ActorKind, Entry, History, Proposal, fold};
use crate::changeset::RepoPath;
use crate::sha256;

/// The proposer's clone, and another one.
pub(crate) const CLONE: &str = "0123456789abcdef";
pub(crate) const OTHER: &str = "fedcba9876543210";

pub(crate) fn person(name: &str) -> Actor {
    Actor { name: name.into(), email: format!("{name}@x"), kind: ActorKind::Human }
}

pub(crate) fn agent(name: &str) -> Actor {
    Actor { name: name.into(), email: String::new(), kind: ActorKind::Agent }
}

pub(crate) fn change(path: &str, before: &str, after: &str) -> ChangeRecord {
    let entry = |text: &str| Some(Entry::new(&sha256::hex(text.as_bytes())[..40], "100644"));
    let hash = |text: &str| Some(sha256::hex(text.as_bytes()));
    ChangeRecord {
        path: RepoPath::new(path).unwrap(),
        before: entry(before),
        after: entry(after),
        before_sha256: hash(before),
        after_sha256: hash(after),
        origin: None,
        snippets: Vec::new(),
    }
}

pub(crate) fn propose(subject: Subject, changes: Vec<ChangeRecord>) -> Data {
    let expires_at = DateTime::from_timestamp(1_000_000, 0).unwrap();
    let proposed_by = "codex".into();
    Data::Propose(Propose { subject, changes, expires_at, proposed_by, ..Propose::default() })
}

pub(crate) fn revise(changes: Vec<ChangeRecord>) -> Data {
    Data::Revise(Revise {
        description: None,
        expires_at: None,
        reason: RevisionReason::Answer,
        on: None,
        base: None,
        target: None,
        note: None,
        changes,
        changes_blob: None,
        incomplete: Vec::new(),
        memory: None,
    })
}

pub(crate) fn comment(body: &str) -> Data {
    Data::Comment(Comment { body: body.into(), ..Comment::default() })
}

pub(crate) fn manifest(changes: &[ChangeRecord]) -> Manifest {
    let record = |change: &ChangeRecord| {
        let [before, after] = change.sides();
        ManifestEntry {
            path: change.path.clone(),
            base: before.clone(),
            now: before,
            after,
            outcome: EntryOutcome::Clean,
            residue: OtherChanges::None,
        }
    };
    Manifest::new(changes.iter().map(record).collect())
}

/// Events are named by index.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) events: Vec<StoredEvent>,
    /// In seconds, of the next writer.
    pub(crate) clock: i64,
}

impl Thread {
    /// An agent begins it.
    pub(crate) fn new(first: Data) -> Self {
        let mut thread = Self { events: Vec::new(), clock: 0 };
        thread.add(&agent("codex"), CLONE, &[], first);
        thread
    }

    /// Changes `a.txt` from `a` to `b`.
    pub(crate) fn proposed() -> Self {
        Self::new(propose(Subject::Code, vec![change("a.txt", "a", "b")]))
    }

    pub(crate) fn add(&mut self, by: &Actor, clone: &str, parents: &[usize], data: Data) -> usize {
        self.push(by, clone, parents, data, None)
    }

    /// Decides on the first revision unchanged.
    pub(crate) fn decide(
        &mut self,
        by: &Actor,
        parents: &[usize],
        verdict: Verdict,
        ends: &[usize],
    ) -> usize {
        self.decide_as(by, parents, verdict, ends, 0, |_| ())
    }

    /// Like `decide`, on `revision`; `change` edits the documents.
    pub(crate) fn decide_as(
        &mut self,
        by: &Actor,
        parents: &[usize],
        verdict: Verdict,
        ends: &[usize],
        revision: usize,
        change: impl FnOnce(&mut DecisionDocuments),
    ) -> usize {
        let time = DateTime::from_timestamp(self.clock, 0).unwrap();
        let mut statement = Statement::new(verdict, by.clone(), Evidence::Terminal, time);
        statement.proposal = Some(self.events[0].named());
        statement.revision = Some(self.events[revision].named());
        statement.seen = seen_sha256(&self.ids(parents));
        statement.effect = (verdict == Verdict::Apply).then_some(Effect::Files);
        let ends: Vec<String> = ends.iter().map(|at| self.statement(*at)).collect();
        statement.ends = (!ends.is_empty()).then(|| ends_sha256(&ends));
        let takes = matches!(verdict, Verdict::Apply | Verdict::Approve);
        let manifest = takes.then(|| manifest(self.events[revision].event.data.changes()));
        statement.manifest = manifest.as_ref().map(named);
        let ends = super::statement::parse_ends(&ends_bytes(&ends)).unwrap_or_default();
        let mut papers = DecisionDocuments {
            statement,
            sha256: String::new(),
            manifest,
            ended_statements: ends,
            fault: None,
        };
        change(&mut papers);
        self.carry(by, OTHER, parents, papers)
    }

    pub(crate) fn carry(
        &mut self,
        by: &Actor,
        clone: &str,
        parents: &[usize],
        mut papers: DecisionDocuments,
    ) -> usize {
        let line = papers.statement.to_line().unwrap();
        papers.statement = Statement::from_line(&line).unwrap();
        papers.sha256 = sha256::hex(&line);
        let verdict = papers.statement.verdict;
        let said = DecisionData { verdict, reason: None };
        self.push(by, clone, parents, Data::Decision(said), Some(papers))
    }

    pub(crate) fn papers(&self, at: usize) -> DecisionDocuments {
        self.events[at].documents.clone().unwrap()
    }

    pub(crate) fn statement(&self, at: usize) -> String {
        self.papers(at).sha256
    }

    pub(crate) fn history(&self) -> History {
        History::new(self.events.clone())
    }

    pub(crate) fn fold(&self) -> Proposal {
        fold(&self.history()).unwrap()
    }

    fn ids(&self, places: &[usize]) -> Vec<String> {
        places.iter().map(|at| self.events[*at].id.clone()).collect()
    }

    fn push(
        &mut self,
        by: &Actor,
        clone: &str,
        parents: &[usize],
        data: Data,
        papers: Option<DecisionDocuments>,
    ) -> usize {
        let time = DateTime::from_timestamp(self.clock, 0).unwrap();
        let statement = papers.as_ref().map(|papers| &papers.statement);
        let (actor, clone) = (by.clone(), clone.to_owned());
        let line = Event { actor, agent: None, clone, time, data }.to_line().unwrap();
        let event = Event::from_line(&line, statement).unwrap();
        let parents = self.ids(parents);
        let identity = papers.as_ref().map(|papers| papers.sha256.as_str()).unwrap_or_default();
        let commit = format!("{parents:?} {} {identity} {}", sha256::hex(&line), self.clock);
        let id = sha256::hex(commit.as_bytes())[..40].to_owned();
        self.events.push(StoredEvent {
            id,
            sha256: sha256::hex(&line),
            parents,
            event,
            documents: papers,
        });
        self.clock += 1;
        self.events.len() - 1
    }
}

fn named(manifest: &Manifest) -> BlobRef {
    let sha256 = sha256::hex(&manifest.to_bytes());
    BlobRef { id: sha256[..40].to_owned(), sha256 }
}
