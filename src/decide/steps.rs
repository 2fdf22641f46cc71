//! What decisions have approved, as steps from one content of a file to another.

use std::collections::BTreeMap;

use super::again;
use super::shown::entry;
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::memory::disk::repo_path as memory_path;
use crate::memory::plan::index_page;
use crate::proposal::Statement;
use crate::proposal::event::{BlobRef, Evidence, FileOutcome};
use crate::proposal::manifest::{self, ApprovedAs, Manifest, Record, Residue};
use crate::proposal::state::{Approval, Decision};
use crate::proposal::statement::{self, Verdict};
use crate::proposal::steps::{Own, Step, of_events, of_revision};
use crate::proposal::{Actor, Entry, Proposal, ProposalId, codes, trailers};
use crate::store::{Store, View};

/// What the record of a decision or an approval says: the steps that it claims, and what proves them.
#[derive(Default)]
pub struct Said {
    /// The revision that it is about.
    revision: String,
    /// The steps that it approves.
    approved: Vec<Step>,
    /// The steps that were written, other than generated files.
    written: Vec<Step>,
    /// The files that were already as the revision makes them.
    there: Vec<Step>,
    /// The apply that these steps take back.
    back: Option<Box<Decision>>,
}

/// The record of an `approval`, by which a person approved steps without writing them.
///
/// # Errors
/// As [`of`].
pub fn of_approval(store: &Store, proposal: &Proposal, approval: &Approval) -> Result<Said> {
    let manifest = approved(store, proposal, approval)?;
    Said::of(proposal, &approval.revision, &manifest)
}

/// The record of `undo`, by which a person has taken the apply `undone` back: what it put back. Approves
/// nothing where no person did, or where it is of version 0.1.0.
///
/// # Errors
/// As [`of`].
pub fn of_undo(
    store: &Store,
    proposal: &Proposal,
    (undone, undo): (&Decision, &Decision),
) -> Result<Said> {
    let Some(statement) = undo.statement.as_ref().filter(|_| undo.is_by_a_person()) else {
        return Ok(Said::default());
    };
    let recorded = Recorded {
        event: &undo.event,
        statement,
        by: &undo.by,
        evidence: &undo.evidence,
        revision: &undone.revision,
        verdicts: &[Verdict::Undo],
    };
    let (_, manifest) = recorded.read(store, proposal)?;
    let manifest = manifest.unwrap_or_default();
    let steps = manifest.records().iter().map(Record::step);
    let approved = steps.filter(|step| step.before != step.after).collect();
    Ok(Said { approved, back: Some(Box::new(undone.clone())), ..Said::on(&undone.revision) })
}

/// The record of `decision`, an apply of `proposal`: what it approves, or has approved until it was taken back.
///
/// # Errors
/// `statement_invalid`, `object_missing`: then nothing is approved.
pub fn of(store: &Store, proposal: &Proposal, decision: &Decision) -> Result<Said> {
    let revision = &decision.revision;
    let own = || Said { approved: of_revision(proposal, revision), ..Said::on(revision) };
    match read(store, proposal, decision)? {
        Some((_, Some(manifest))) => Said::of(proposal, revision, &manifest),
        Some((_, None)) => Ok(own()),
        None if decision.written.is_empty() => Ok(own()),
        None => {
            let mut said = Said::on(revision);
            for file in &decision.written {
                said.add(proposal, Step::from(file), file.outcome == FileOutcome::Already);
            }
            said.consistent(proposal)
        }
    }
}

impl Said {
    /// The same without the lines that were approved only in that they were taken along.
    pub fn without_residue(mut self) -> Self {
        self.approved.retain(|step| self.written.contains(step));
        self
    }

    fn on(revision: &str) -> Self {
        Self { revision: revision.to_owned(), ..Self::default() }
    }

    /// What the records of `manifest` say.
    ///
    /// # Errors
    /// `statement_invalid` where it makes something else of a file than `revision` does.
    fn of(proposal: &Proposal, revision: &str, manifest: &Manifest) -> Result<Self> {
        let mut said = Self::on(revision);
        for record in manifest.records() {
            let step = record.step();
            if record.residue == Residue::Taken && record.outcome != ApprovedAs::Already {
                let before = entry(&record.base);
                said.approved.push(Step { before, ..step.clone() });
            }
            match &record.outcome {
                ApprovedAs::Derived(_) if !is_generated(&record.path) => {
                    return Err(contradicts(proposal, &step));
                }
                ApprovedAs::Derived(_) => said.approved.push(step),
                outcome => said.add(proposal, step, *outcome == ApprovedAs::Already),
            }
        }
        said.consistent(proposal)
    }

    fn add(&mut self, proposal: &Proposal, step: Step, is_there: bool) {
        if is_there {
            let own = of_revision(proposal, &self.revision).into_iter();
            self.approved.extend(own.filter(|own| own.path == step.path));
            self.there.push(step);
        } else {
            self.approved.push(step.clone());
            self.written.push(step);
        }
    }

    fn consistent(self, proposal: &Proposal) -> Result<Self> {
        let own = Own::of(proposal, &self.revision);
        match self.written.iter().find(|step| own.contradicts(step) || !own.may_write(step)) {
            Some(step) => Err(contradicts(proposal, step)),
            None => Ok(self),
        }
    }

    /// The steps that it says were approved, from one content of a file to another. No content was read
    /// for them.
    pub fn claimed(&self) -> &[Step] {
        &self.approved
    }

    /// As [`claimed`](Self::claimed), once the plan was made again wherever files had changed meanwhile.
    ///
    /// # Errors
    /// `statement_invalid`, `object_missing`, `proposal_archived`: then nothing is approved.
    pub fn proven(&self, store: &Store, proposal: &Proposal) -> Result<&[Step]> {
        let other = match &self.back {
            Some(undone) => {
                let said = of(store, proposal, undone)?;
                let made = (said.proven(store, proposal)?, said.written.as_slice());
                again::first_not_back(store, proposal, made, &self.approved)?
            }
            None => {
                let (written, there) = (&self.written, &self.there);
                again::first_other(store, proposal, &self.revision, written, there)?
            }
        };
        match other {
            Some(step) => Err(contradicts(proposal, step)),
            None => Ok(&self.approved),
        }
    }
}

/// True for what aye generates itself.
fn is_generated(path: &RepoPath) -> bool {
    memory_path(index_page::PATH).is_ok_and(|page| page == *path)
}

/// The manifest of an approval, held to the event that names its statement.
///
/// # Errors
/// `statement_invalid`, `object_missing`.
pub fn approved(store: &Store, proposal: &Proposal, approval: &Approval) -> Result<Manifest> {
    let recorded = Recorded {
        event: &approval.event,
        statement: &approval.statement,
        by: &approval.by,
        evidence: &approval.evidence,
        revision: &approval.revision,
        verdicts: &[Verdict::Approve],
    };
    match recorded.read(store, proposal)? {
        (_, Some(manifest)) => Ok(manifest),
        (_, None) => Err(invalid(proposal, "it approves no files")),
    }
}

/// The people whose approvals are of exactly what `manifest` says: the same revision, and each file
/// from and to the same content. An approval of files as they were before does not count, nor does
/// one whose record cannot be believed.
pub fn approvers(store: &Store, proposal: &Proposal, manifest: &Manifest) -> Vec<Approval> {
    let sides = |manifest: &Manifest| -> Vec<_> {
        let side =
            |record: &Record| (record.path.clone(), record.now.clone(), record.after.clone());
        manifest.records().iter().map(side).collect()
    };
    let decided = sides(manifest);
    let same = |approval: &&Approval| {
        approved(store, proposal, approval).is_ok_and(|approved| sides(&approved) == decided)
    };
    proposal.approvals_in_force().filter(same).cloned().collect()
}

/// The people who reviewed what was applied here: who decided, then who had approved exactly that; each
/// once, and nobody but people.
pub fn reviewers(store: &Store, proposal: &Proposal) -> Vec<Actor> {
    let Some(decision) = proposal.apply_here(&store.own_lanes()) else { return Vec::new() };
    let by_a_person = decision.is_by_a_person().then(|| decision.by.clone());
    let mut found: Vec<Actor> = by_a_person.into_iter().collect();
    if let Ok(Some((_, Some(manifest)))) = read(store, proposal, decision) {
        let approvers = approvers(store, proposal, &manifest);
        trailers::add(&mut found, approvers.into_iter().map(|approval| approval.by));
    }
    found
}

fn contradicts(proposal: &Proposal, step: &Step) -> Error {
    let path = step.path.display();
    invalid(proposal, &format!("it makes something else of {path} than its revision"))
}

/// What an event says of a decision, to which its statement is held.
struct Recorded<'a> {
    event: &'a str,
    statement: &'a BlobRef,
    by: &'a Actor,
    evidence: &'a Evidence,
    revision: &'a str,
    verdicts: &'static [Verdict],
}

impl Recorded<'_> {
    fn read(&self, store: &Store, proposal: &Proposal) -> Result<(Statement, Option<Manifest>)> {
        let bytes = bound(store, self.event, self.statement, statement::MAX_BYTES)?;
        let statement = Statement::from_bytes(&bytes)?;
        let digest = proposal.revision(self.revision).map(super::digest_of);
        let fits = statement.proposal == proposal.first_event
            && statement.revision == self.revision
            && Some(&statement.digest) == digest.as_ref()
            && statement.actor == *self.by
            && statement.evidence == *self.evidence
            && self.verdicts.contains(&statement.verdict);
        if !fits {
            return Err(invalid(proposal, "it is about something else than its event"));
        }
        let manifest = match &statement.manifest {
            None => None,
            Some(named) => {
                let bytes = bound(store, self.event, named, manifest::MAX_BYTES)?;
                Some(Manifest::from_bytes(&bytes)?)
            }
        };
        Ok((statement, manifest))
    }
}

/// Statement and manifest of a decision, held to the event that names them; `None` for decisions
/// of version 0.1.0, which have none.
///
/// # Errors
/// `statement_invalid`, `object_missing`.
pub fn read(
    store: &Store,
    proposal: &Proposal,
    decision: &Decision,
) -> Result<Option<(Statement, Option<Manifest>)>> {
    let Some(statement) = &decision.statement else { return Ok(None) };
    let recorded = Recorded {
        event: &decision.event,
        statement,
        by: &decision.by,
        evidence: &decision.evidence,
        revision: &decision.revision,
        verdicts: match decision.effect {
            Some(_) => &[Verdict::Apply],
            None => &[Verdict::Reject, Verdict::Withdraw],
        },
    };
    let (statement, manifest) = recorded.read(store, proposal)?;
    // The event was folded without, where this partial clone did not have it yet.
    if manifest.as_ref().is_some_and(|manifest| !manifest.has(&decision.written)) {
        return Err(invalid(proposal, "its manifest is not what its event says was written"));
    }
    Ok(Some((statement, manifest)))
}

/// The bytes of a blob that `event` names, of which there are at most `most`, held to its SHA-256.
fn bound(store: &Store, event: &str, named: &BlobRef, most: usize) -> Result<Vec<u8>> {
    let bytes = store.blob_of(event, named, most)?;
    if crate::sha256::hex(&bytes) == named.sha256 {
        return Ok(bytes);
    }
    Err(Error::new(
        &codes::STATEMENT_INVALID,
        format!("blob {} does not have the SHA-256 that names it", named.id),
    )
    .hint("`git fsck` reports what is damaged"))
}

fn invalid(proposal: &Proposal, why: &str) -> Error {
    Error::new(
        &codes::STATEMENT_INVALID,
        format!("the decision on {} cannot be believed: {why}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("`aye log` shows its event; decide again")
}

/// What the applied proposals of people have made of files.
pub(super) struct Explained<'v> {
    store: &'v Store,
    view: &'v View,
    except: &'v ProposalId,
    /// What the lanes say of the proposals that the cache named.
    verified: BTreeMap<ProposalId, Steps>,
}

impl<'v> Explained<'v> {
    /// By all proposals but `except`.
    pub(super) fn new(store: &'v Store, view: &'v View, except: &'v Proposal) -> Self {
        Self { store, view, except: &except.id, verified: BTreeMap::new() }
    }

    /// True where proposals that people applied lead `path` from one content to another. Of many,
    /// the newest are looked at.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` where it says so and the
    /// lanes do not.
    pub(super) fn leads(
        &mut self,
        path: &RepoPath,
        from: &Option<Entry>,
        to: &Option<Entry>,
    ) -> Result<bool> {
        // Most files hold what nobody has approved, however often they were changed before.
        if !self.view.has_step_to(path, to)? {
            return Ok(false);
        }
        let mut steps = self.view.approved_steps(path)?;
        steps.retain(|(id, _)| id != self.except);
        loop {
            // In which order they were applied does not matter for telling whose changes these are.
            let (mut rest, mut reached, mut used) = (steps.clone(), vec![from.clone()], Vec::new());
            while let Some(at) = rest.iter().position(|(_, step)| reached.contains(&step.before)) {
                let (id, step) = rest.swap_remove(at);
                reached.push(step.after.clone());
                used.push((id, step));
            }
            if !reached.contains(to) {
                return Ok(false);
            }
            let mut doubted = Vec::new();
            for (id, step) in used {
                match self.believed(&id, &step)? {
                    Believed::Yes => {}
                    Believed::OnlyClaimed => doubted.push((id, step)),
                    Believed::NotSaid => {
                        let why = "it names a step that was not approved";
                        return Err(self.view.tampered(&id, why));
                    }
                }
            }
            if doubted.is_empty() {
                return Ok(true);
            }
            steps.retain(|step| !doubted.contains(step));
        }
    }

    /// What the lanes say of a step of the proposal `id` that the cache names.
    fn believed(&mut self, id: &ProposalId, step: &Step) -> Result<Believed> {
        if !self.verified.contains_key(id) {
            let proposal = self.store.verified_proposal(self.view, id)?;
            let mut steps = Steps::default();
            for decision in proposal.applies().filter(|decision| decision.is_by_a_person()) {
                let said = of(self.store, &proposal, decision).unwrap_or_default();
                let proven = said.proven(self.store, &proposal).map(<[Step]>::to_vec);
                steps.claimed.extend(of_events(&proposal, decision));
                steps.approved.extend(proven.unwrap_or_default());
            }
            self.verified.insert(id.clone(), steps);
        }
        Ok(match self.verified.get(id) {
            Some(steps) if steps.approved.contains(step) => Believed::Yes,
            Some(steps) if steps.claimed.contains(step) => Believed::OnlyClaimed,
            _ => Believed::NotSaid,
        })
    }
}

/// The steps of a proposal that a person has applied.
#[derive(Default)]
struct Steps {
    /// By its event alone, as the cache has them.
    claimed: Vec<Step>,
    /// As they were proven.
    approved: Vec<Step>,
}

/// How far a step that the cache names is to be believed.
enum Believed {
    /// It was approved.
    Yes,
    /// The lanes say so too, and it cannot be proven.
    OnlyClaimed,
    /// The lanes say nothing of it.
    NotSaid,
}
