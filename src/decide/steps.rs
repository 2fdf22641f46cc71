//! What decisions have approved, as steps from one content of a file to another.

use std::collections::BTreeMap;

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

/// The steps that the record of a decision, or of an approval, approves.
#[derive(Debug, Default)]
pub struct Steps {
    /// All of them.
    pub approved: Vec<Step>,
    /// Those of them that were written, other than generated files.
    written: Vec<Step>,
}

/// The steps of an `approval`, by which a person approved them without writing them.
///
/// # Errors
/// As [`of`].
pub fn of_approval(store: &Store, proposal: &Proposal, approval: &Approval) -> Result<Steps> {
    Steps::of(proposal, &approval.revision, &approved(store, proposal, approval)?)
}

/// The steps of `undo`, by which a person has reverted an apply of `revision`. None where no person did, or where
/// the undo is of version 0.1.0.
///
/// # Errors
/// As [`of`].
pub fn of_undo(
    store: &Store,
    proposal: &Proposal,
    revision: &str,
    undo: &Decision,
) -> Result<Vec<Step>> {
    let Some(statement) = undo.statement.as_ref().filter(|_| undo.is_by_a_person()) else {
        return Ok(Vec::new());
    };
    let recorded = Recorded {
        event: &undo.event,
        statement,
        by: &undo.by,
        evidence: &undo.evidence,
        revision,
        verdicts: &[Verdict::Undo],
    };
    let (_, manifest) = recorded.read(store, proposal)?;
    let manifest = manifest.unwrap_or_default();
    let steps = manifest.records().iter().map(Record::step);
    Ok(steps.filter(|step| step.before != step.after).collect())
}

/// The steps of `decision`, an apply of `proposal`, also where it was undone later.
///
/// # Errors
/// `statement_invalid`, `object_missing`: then nothing is approved.
pub fn of(store: &Store, proposal: &Proposal, decision: &Decision) -> Result<Steps> {
    let revision = &decision.revision;
    match read(store, proposal, decision)? {
        Some((_, Some(manifest))) => Steps::of(proposal, revision, &manifest),
        None if !decision.written.is_empty() => {
            let mut steps = Steps::default();
            for file in &decision.written {
                let is_there = file.outcome == FileOutcome::Already;
                steps.add(proposal, revision, Step::from(file), is_there);
            }
            steps.consistent(proposal, revision)
        }
        _ => Ok(Steps { approved: of_revision(proposal, revision), written: Vec::new() }),
    }
}

impl Steps {
    /// The same without other changes of the files that were approved besides.
    pub fn without_residue(mut self) -> Self {
        self.approved.retain(|step| self.written.contains(step));
        self
    }

    /// The steps that `manifest` records. The contents are believed: they were shown.
    ///
    /// # Errors
    /// `statement_invalid` where it makes something else of a file than `revision` does.
    fn of(proposal: &Proposal, revision: &str, manifest: &Manifest) -> Result<Self> {
        let mut steps = Self::default();
        for record in manifest.records() {
            let step = record.step();
            if record.residue == Residue::Taken && record.outcome != ApprovedAs::Already {
                let before = entry(&record.base);
                steps.approved.push(Step { before, ..step.clone() });
            }
            match &record.outcome {
                ApprovedAs::Derived(_) if !is_generated(&record.path) => {
                    return Err(contradicts(proposal, &step));
                }
                ApprovedAs::Derived(_) => steps.approved.push(step),
                outcome => steps.add(proposal, revision, step, *outcome == ApprovedAs::Already),
            }
        }
        steps.consistent(proposal, revision)
    }

    fn add(&mut self, proposal: &Proposal, revision: &str, step: Step, is_there: bool) {
        if is_there {
            let own = of_revision(proposal, revision).into_iter();
            self.approved.extend(own.filter(|own| own.path == step.path));
        } else {
            self.approved.push(step.clone());
            self.written.push(step);
        }
    }

    fn consistent(self, proposal: &Proposal, revision: &str) -> Result<Self> {
        let own = Own::of(proposal, revision);
        match self.written.iter().find(|step| own.contradicts(step) || !own.may_write(step)) {
            Some(step) => Err(contradicts(proposal, step)),
            None => Ok(self),
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
    /// The steps of each proposal that the cache named, as the lanes have them.
    verified: BTreeMap<ProposalId, Vec<Step>>,
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
        // In which order they were applied does not matter for telling whose changes these are.
        let mut reached = vec![from.clone()];
        while let Some(at) = steps.iter().position(|(_, step)| reached.contains(&step.before)) {
            let (id, step) = steps.swap_remove(at);
            if !self.steps_of(&id)?.contains(&step) {
                return Err(self.view.tampered(&id, "it names a step that was not approved"));
            }
            reached.push(step.after);
        }
        Ok(reached.contains(to))
    }

    /// The steps of the proposal `id`, from the lanes.
    fn steps_of(&mut self, id: &ProposalId) -> Result<&[Step]> {
        if !self.verified.contains_key(id) {
            let proposal = self.store.verified_proposal(self.view, id)?;
            let applies = proposal.applies().filter(|decision| decision.is_by_a_person());
            let steps = applies.flat_map(|decision| of_events(&proposal, decision)).collect();
            self.verified.insert(id.clone(), steps);
        }
        Ok(self.verified.get(id).map_or(&[], Vec::as_slice))
    }
}
