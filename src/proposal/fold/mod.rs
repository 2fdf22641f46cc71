//! The fold of a thread's events into a proposal: a pure function of their set, whatever the order
//! of arrival.
//!
//! An event that breaks a rule is skipped and listed; its descendants still count. An
//! apply outranks a concurrent rejection; if decisions differ, the proposal is `contested`.

mod fits;
#[cfg(test)]
mod replay_tests;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

pub use fits::SkipReason;
use smallvec::SmallVec;

use super::event::{
    ChangeRecord, Comment, Committed, Data, DecisionData, DecisionDocuments, Effect, Evidence,
    Marked, Revise, RevisionReason, StoredEvent, Subject, Verdict, digest_of,
};
use super::history::{History, SeenEvents};
use super::state::{
    Approval, ChangeRequest, CheckResult, CommentResolution, Decision, MarkRecord, Proposal,
    Remark, Revision, Skipped, State,
};
use super::statement::EventRef;
use super::{ActorKind, DEFAULT_LIFETIME, MEMORY, ProposalId, rules};

/// `None` if the thread begins otherwise, or with memory that changes other files.
pub fn fold(history: &History) -> Option<Proposal> {
    let first = history.first()?;
    let mut fold = Fold::new(history, first)?;
    let mut sights = history.seen_by_each();
    for (at, stamped) in history.events().iter().enumerate() {
        let now = CurrentEvent { at, stamped, sight: sights.of(at) };
        if let Err(why) = fold.step(&now) {
            fold.proposal.skipped.push(Skipped { event: stamped.id.clone(), why });
        }
    }
    Some(fold.end(history))
}

/// The undo of the direct patch that begins the thread.
pub fn undone_patch(history: &History) -> Option<&StoredEvent> {
    let first = history.first().filter(|first| matches!(first.event.data, Data::Patch(_)))?;
    let is_undo = |stamped: &&StoredEvent| {
        let Data::Decision(said) = &stamped.event.data else { return false };
        let papers = fits::papers(stamped, said, &first.named());
        said.verdict == Verdict::Undo
            && stamped.event.actor.kind != ActorKind::Agent
            && papers.is_ok_and(|papers| {
                let statement = &papers.statement;
                statement.revision == statement.proposal && statement.ends.is_none()
            })
    };
    history.events().iter().find(is_undo)
}

struct CurrentEvent<'h> {
    at: usize,
    stamped: &'h StoredEvent,
    sight: SeenEvents,
}

struct Standing<'h> {
    at: usize,
    statement: &'h str,
    state: State,
}

struct Fold<'h> {
    /// `end` sets its state.
    proposal: Proposal,
    first: EventRef,
    /// Events by the statement that they carry. Descendants of any of them have seen the decision.
    carriers: HashMap<&'h str, SmallVec<[usize; 1]>>,
    counted: HashSet<&'h str>,
    /// Several where clones decided concurrently; ending one leaves the others.
    standing: Vec<Standing<'h>>,
    /// Open requests: statement, and index in `requests`.
    requested: Vec<(&'h str, usize)>,
    /// Index in the history, by event id.
    revisions: HashMap<&'h str, usize>,
    /// Index in `comments`, by event id.
    comments: HashMap<&'h str, usize>,
    commits: HashSet<&'h str>,
    /// Index in `approvals`, by revision, name, address and manifest.
    approved: HashMap<[&'h str; 4], usize>,
    /// Approvals before this index have ended.
    ended: usize,
}

impl<'h> Fold<'h> {
    fn new(history: &'h History, first: &'h StoredEvent) -> Option<Self> {
        let mut carriers: HashMap<&str, SmallVec<[usize; 1]>> = HashMap::new();
        for (at, stamped) in history.events().iter().enumerate() {
            if let Some(papers) = stamped.papers() {
                carriers.entry(&papers.sha256).or_default().push(at);
            }
        }
        Some(Self {
            proposal: start(first)?,
            first: first.named(),
            carriers,
            counted: HashSet::new(),
            standing: Vec::new(),
            requested: Vec::new(),
            revisions: HashMap::from([(first.id.as_str(), 0)]),
            comments: HashMap::new(),
            commits: HashSet::new(),
            approved: HashMap::new(),
            ended: 0,
        })
    }

    fn step(&mut self, now: &CurrentEvent<'h>) -> Result<(), SkipReason> {
        let event = &now.stamped.event;
        match &event.data {
            Data::Propose(_) | Data::Patch(_) if now.at > 0 => return Err(SkipReason::Start),
            Data::Propose(_) | Data::Patch(_) => {}
            Data::Plan(_) | Data::Sign(_) | Data::Purge(_) => {}
            Data::Unknown(..) => return Err(SkipReason::Unknown),
            Data::Revise(revise) => return self.revise(now, revise),
            Data::Comment(comment) => self.comment(now, comment),
            Data::Decision(said) => return self.decision(now, said),
            Data::Check(check) => self.proposal.checks.push(CheckResult {
                by: event.actor.clone(),
                at: event.time,
                check: check.clone(),
            }),
            Data::Committed(committed) => self.committed(committed),
        }
        Ok(())
    }

    /// A person may revise anything, an agent or a build machine only its own. A decision that the
    /// writer had not seen was not about this revision.
    fn revise(&mut self, now: &CurrentEvent<'h>, revise: &Revise) -> Result<(), SkipReason> {
        let proposal = &mut self.proposal;
        if proposal.subject == Subject::Memory && is_outside(&revise.changes) {
            return Err(SkipReason::OutsideMemory);
        }
        if !is_person_or_proposer(proposal, now.stamped) {
            return Err(SkipReason::Authority);
        }
        if self.knew(now) {
            return Err(SkipReason::Decided);
        }
        let proposal = &mut self.proposal;
        proposal.description = revise.description.clone().or(proposal.description.take());
        proposal.expires_at = revise.expires_at.unwrap_or(proposal.expires_at);
        self.close_requests(now);
        self.revisions.insert(&now.stamped.id, now.at);
        self.proposal.revisions.push(Revision {
            reason: revise.reason.clone(),
            base: revise.base.clone(),
            target: revise.target.clone(),
            note: revise.note.clone(),
            changes: revise.changes.clone(),
            incomplete: revise.incomplete.clone(),
            memory: revise.memory.clone(),
            on: revise.on.clone(),
            ..revision(now.stamped)
        });
        Ok(())
    }

    /// A comment resolves another one if by a person, the proposer or that comment's author;
    /// otherwise it is an ordinary comment.
    fn comment(&mut self, now: &CurrentEvent<'h>, comment: &Comment) {
        let event = &now.stamped.event;
        let is_by_either = is_person_or_proposer(&self.proposal, now.stamped);
        let proposal = &mut self.proposal;
        let (by, at) = (event.actor.clone(), event.time);
        let resolved = comment.resolves.as_deref().and_then(|resolves| {
            let remark = proposal.comments.get_mut(*self.comments.get(resolves)?)?;
            (is_by_either || remark.by == by).then_some(remark)
        });
        match resolved {
            Some(remark) => {
                remark.resolved = Some(CommentResolution { by, at, note: comment.body.clone() });
            }
            None => {
                self.comments.insert(&now.stamped.id, proposal.comments.len());
                proposal.comments.push(Remark {
                    event: now.stamped.id.clone(),
                    by,
                    at,
                    comment: comment.clone(),
                    resolved: None,
                });
            }
        }
    }

    fn committed(&mut self, committed: &'h Committed) {
        if self.commits.insert(&committed.commit) {
            self.proposal.commits.push(committed.commit.clone());
        }
        let named = self
            .standing
            .iter_mut()
            .find(|standing| committed.statement.as_deref() == Some(standing.statement));
        if let Some(State::Applied(decision)) = named.map(|standing| &mut standing.state)
            && decision.commit.is_none()
        {
            decision.commit = Some(committed.commit.clone());
            decision.amended = committed.amended.clone();
        }
    }

    fn decision(&mut self, now: &CurrentEvent<'h>, said: &DecisionData) -> Result<(), SkipReason> {
        let (papers, revision) = self.fitting(now, said)?;
        if !self.counted.insert(&papers.sha256) {
            // A copy of a counted statement.
            return Ok(());
        }
        let statement = &papers.statement;
        let reason = said.reason.clone().or(statement.reason.clone());
        let made = Decision {
            clone: now.stamped.event.clone.clone(),
            event: now.stamped.id.clone(),
            statement: papers.sha256.clone(),
            by: statement.actor.clone(),
            at: statement.time,
            evidence: statement.evidence.clone(),
            revision: revision.to_owned(),
            reason,
            effect: statement.effect,
            group: statement.group.clone(),
            target: statement.target.clone(),
            written: papers.manifest.iter().flat_map(|manifest| manifest.written()).collect(),
            result_digest: None,
            commit: None,
            amended: Vec::new(),
            withdrawn: statement.verdict == Verdict::Withdraw,
        };
        if fits::is_mark(statement) {
            let is_apply = statement.verdict == Verdict::Apply;
            self.proposal.marks.push(MarkRecord {
                by: made.by,
                at: made.at,
                verdict: if is_apply { Marked::Applied } else { Marked::Rejected },
                revision: made.revision,
                reason: made.reason,
            });
            return Ok(());
        }
        match statement.verdict {
            Verdict::Apply => {
                let made = Decision { result_digest: Some(self.made(papers, revision)), ..made };
                return self.decide(now, papers, State::Applied(made));
            }
            Verdict::Reject | Verdict::Withdraw => {
                self.decide(now, papers, State::Rejected(made))?;
                self.end_approvals();
            }
            Verdict::Approve => return self.approve(now, papers, revision, made),
            Verdict::RequestChanges => {
                self.requested.push((&papers.sha256, self.proposal.requests.len()));
                self.proposal.requests.push(ChangeRequest {
                    by: made.by,
                    at: made.at,
                    reason: made.reason,
                    revision: Some(made.revision),
                    is_open: false,
                });
                self.end_approvals();
            }
            Verdict::Undo if statement.ends.is_none() => {
                if self.standing.is_empty() {
                    self.close_requests(now);
                }
            }
            Verdict::Undo => {
                for ended in self.take_back(now, papers) {
                    if let State::Applied(decision) = ended {
                        let undo = Decision { revision: decision.revision.clone(), ..made.clone() };
                        self.proposal.undos.push(undo);
                        self.proposal.undone.push(decision);
                        self.proposal.earlier_commits = self.proposal.commits.len();
                    }
                }
            }
            Verdict::Extend if self.standing.is_empty() => {
                // A fast clock only keeps it pending longer.
                let until = made.at + DEFAULT_LIFETIME;
                self.proposal.expires_at = self.proposal.expires_at.max(until);
            }
            Verdict::Extend => return Err(SkipReason::Decided),
        }
        Ok(())
    }

    fn fitting(
        &self,
        now: &CurrentEvent<'h>,
        said: &DecisionData,
    ) -> Result<(&'h DecisionDocuments, &'h str), SkipReason> {
        let papers = fits::papers(now.stamped, said, &self.first)?;
        let named = papers.statement.revision.as_ref().ok_or(SkipReason::Revision)?;
        let revision = self.proposal.revisions.iter().find(|revision| revision.event == named.id);
        let is_seen = self.revisions.get(named.id.as_str()).is_some_and(|at| now.sight.has(*at));
        let revision = revision
            .filter(|revision| revision.sha256 == named.sha256 && is_seen)
            .ok_or(SkipReason::Revision)?;
        if let Some(manifest) = &papers.manifest
            && said.verdict != Verdict::Undo
            && !manifest.fits(&revision.changes, self.proposal.subject)
        {
            return Err(SkipReason::Manifest);
        }
        match self.may(now, papers) {
            true => Ok((papers, &named.id)),
            false => Err(SkipReason::Authority),
        }
    }

    /// An agent applies nothing but memory that the manifest lets pass.
    fn may(&self, now: &CurrentEvent<'h>, papers: &DecisionDocuments) -> bool {
        let (statement, actor) = (&papers.statement, &now.stamped.event.actor);
        let is_agent = actor.kind == ActorKind::Agent;
        let clone = Some(now.stamped.event.clone.as_str());
        match statement.verdict {
            Verdict::Apply | Verdict::Reject if fits::is_mark(statement) => true,
            Verdict::Apply if is_agent => {
                self.proposal.subject == Subject::Memory
                    && statement.evidence == Evidence::Tool
                    && statement.effect == Some(Effect::Files)
            }
            Verdict::Apply | Verdict::Reject | Verdict::RequestChanges | Verdict::Undo => !is_agent,
            Verdict::Withdraw => self.proposal.is_proposed_by(actor, clone),
            Verdict::Approve => {
                actor.kind == ActorKind::Human && rules::is_personal(&statement.evidence)
            }
            Verdict::Extend => is_person_or_proposer(&self.proposal, now.stamped),
        }
    }

    /// True if the event's writer had seen this decision.
    fn saw(&self, now: &CurrentEvent<'h>, statement: &str) -> bool {
        let carriers = self.carriers.get(statement);
        carriers.is_some_and(|carriers| carriers.iter().any(|at| now.sight.has(*at)))
    }

    /// True if the event's writer had seen a standing decision.
    fn knew(&self, now: &CurrentEvent<'h>) -> bool {
        self.standing.iter().any(|standing| self.saw(now, standing.statement))
    }

    fn close_requests(&mut self, now: &CurrentEvent<'h>) {
        let mut requested = std::mem::take(&mut self.requested);
        requested.retain(|(statement, _)| !self.saw(now, statement));
        self.requested = requested;
    }

    /// A later approval never replaces one that counts: anyone can use the same address.
    fn approve(
        &mut self,
        now: &CurrentEvent<'h>,
        papers: &'h DecisionDocuments,
        revision: &'h str,
        made: Decision,
    ) -> Result<(), SkipReason> {
        if self.knew(now) {
            return Err(SkipReason::Decided);
        }
        let statement = &papers.statement;
        let manifest = statement.manifest.as_ref().map_or("", |manifest| &manifest.sha256);
        let key = [revision, &statement.actor.name, &statement.actor.email, manifest];
        if self.approved.get(&key).is_some_and(|at| *at >= self.ended) {
            return Ok(());
        }
        self.approved.insert(key, self.proposal.approvals.len());
        self.proposal.approvals.push(Approval {
            event: made.event,
            by: made.by,
            at: made.at,
            revision: made.revision,
            evidence: made.evidence,
            reason: made.reason,
            statement: made.statement,
            manifest: manifest.to_owned(),
            ended: false,
        });
        Ok(())
    }

    /// Earlier approvers have not seen the objection.
    fn end_approvals(&mut self) {
        self.ended = self.proposal.approvals.len();
    }

    fn decide(
        &mut self,
        now: &CurrentEvent<'h>,
        papers: &'h DecisionDocuments,
        state: State,
    ) -> Result<(), SkipReason> {
        let is_named =
            |statement: &str| papers.ended_statements.iter().any(|ended| ended == statement);
        let known = |standing: &Standing<'_>| self.saw(now, standing.statement);
        if self.standing.iter().any(|it| known(it) && !is_named(it.statement)) {
            return Err(SkipReason::Decided);
        }
        self.take_back(now, papers);
        self.standing.push(Standing { at: now.at, statement: &papers.sha256, state });
        Ok(())
    }

    /// Ends named decisions that the writer had seen.
    fn take_back(&mut self, now: &CurrentEvent<'h>, papers: &DecisionDocuments) -> Vec<State> {
        let ends: HashSet<&str> = papers.ended_statements.iter().map(String::as_str).collect();
        let standing = std::mem::take(&mut self.standing);
        let (ended, left): (Vec<_>, Vec<_>) = standing
            .into_iter()
            .partition(|it| ends.contains(it.statement) && self.saw(now, it.statement));
        self.standing = left;
        if !ended.is_empty() {
            self.end_approvals();
        }
        ended.into_iter().map(|standing| standing.state).collect()
    }

    /// Digest of the resulting files: path, mode, content.
    fn made(&self, papers: &DecisionDocuments, revision: &str) -> String {
        let revision = self.proposal.revision(revision);
        let changes = || revision.iter().flat_map(|revision| &revision.changes);
        match &papers.manifest {
            Some(manifest) => {
                digest_of(manifest.records().iter().map(|it| (&it.path, [it.after.clone()])))
            }
            None => digest_of(changes().map(|change| {
                let [_, after] = change.sides();
                (&change.path, [after])
            })),
        }
    }

    fn end(self, history: &History) -> Proposal {
        let Self { mut proposal, mut standing, requested, revisions, ended, .. } = self;
        for approval in proposal.approvals.iter_mut().take(ended) {
            approval.ended = true;
        }
        for (_, at) in &requested {
            proposal.requests[*at].is_open = true;
        }
        proposal.changes_requested = requested.last().map(|(_, at)| proposal.requests[*at].clone());
        // The earliest apply, or else the earliest rejection.
        let first = standing.iter().position(|it| matches!(it.state, State::Applied(_)));
        if standing.is_empty() {
            return proposal;
        }
        let Standing { at, state, .. } = standing.remove(first.unwrap_or(0));
        let decided: HashSet<&str> = std::iter::once(&state)
            .chain(standing.iter().map(|standing| &standing.state))
            .filter_map(|state| Some(state.decision()?.revision.as_str()))
            .collect();
        let seen = history.seen(at);
        let is_undecided = |event: &str| !seen.has(revisions[event]) && !decided.contains(event);
        let events = proposal.revisions.iter().map(|revision| &revision.event);
        proposal.undecided = events.filter(|event| is_undecided(event)).cloned().collect();
        proposal.concurrent = standing.into_iter().map(|standing| standing.state).collect();
        proposal.contested =
            proposal.concurrent.iter().any(|beside| !proposal.is_like(beside, &state));
        proposal.state = state;
        proposal
    }
}

fn start(first: &StoredEvent) -> Option<Proposal> {
    let Data::Propose(propose) = &first.event.data else { return None };
    if propose.subject == Subject::Memory && is_outside(&propose.changes) {
        return None;
    }
    let revision = Revision {
        base: propose.base.clone(),
        target: propose.target.clone(),
        changes: propose.changes.clone(),
        incomplete: propose.incomplete.clone(),
        memory: propose.memory.clone(),
        on: propose.on.clone(),
        ..revision(first)
    };
    Some(Proposal {
        id: ProposalId::from_event(&first.id),
        first_event: first.id.clone(),
        clone: first.event.clone.clone(),
        subject: propose.subject,
        form: propose.form.clone(),
        description: propose.description.clone(),
        domain: propose.domain.clone(),
        related_task_id: propose.related_task_id.clone(),
        branch: propose.branch.clone(),
        instead_of: propose.instead_of.clone(),
        proposed_by: propose.proposed_by.clone(),
        actor: first.event.actor.clone(),
        created_at: first.event.time,
        expires_at: propose.expires_at,
        revisions: vec![revision],
        state: State::Pending,
        concurrent: Vec::new(),
        undecided: Vec::new(),
        contested: false,
        changes_requested: None,
        requests: Vec::new(),
        comments: Vec::new(),
        checks: Vec::new(),
        undone: Vec::new(),
        undos: Vec::new(),
        commits: Vec::new(),
        earlier_commits: 0,
        marks: Vec::new(),
        approvals: Vec::new(),
        skipped: Vec::new(),
    })
}

fn revision(stamped: &StoredEvent) -> Revision {
    Revision {
        event: stamped.id.clone(),
        sha256: stamped.sha256.clone(),
        actor: stamped.event.actor.clone(),
        agent: stamped.event.agent.clone(),
        at: stamped.event.time,
        reason: RevisionReason::First,
        base: None,
        target: None,
        note: None,
        changes: Vec::new(),
        incomplete: Vec::new(),
        memory: None,
        on: None,
    }
}

fn is_person_or_proposer(proposal: &Proposal, stamped: &StoredEvent) -> bool {
    let event = &stamped.event;
    event.actor.kind == ActorKind::Human
        || proposal.is_proposed_by(&event.actor, Some(&event.clone))
}

fn is_outside(changes: &[ChangeRecord]) -> bool {
    changes.iter().any(|change| !change.path.as_bstr().starts_with(MEMORY))
}
