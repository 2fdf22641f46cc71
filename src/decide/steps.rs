//! What decisions have approved, as steps from one content of a file to another.

use std::collections::BTreeMap;

use super::shown::entry;
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::memory::disk::repo_path as memory_path;
use crate::memory::plan::index_page;
use crate::proposal::manifest::{ApprovedAs, Manifest, Record, Residue};
use crate::proposal::state::{Approval, Decision};
use crate::proposal::steps::{Step, of_events, of_revision};
use crate::proposal::{Actor, Entry, Proposal, ProposalId, codes, trailers};
use crate::store::View;

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
pub fn of_approval(view: &View<'_>, proposal: &Proposal, approval: &Approval) -> Result<Steps> {
    let manifest = manifest(view, proposal, &approval.event)?.unwrap_or_default();
    Steps::recorded(proposal, &approval.revision, &manifest)
}

/// The steps of `undo`, by which a person has reverted an apply. None where no person did.
///
/// # Errors
/// As [`of`].
pub fn of_undo(view: &View<'_>, proposal: &Proposal, undo: &Decision) -> Result<Vec<Step>> {
    if !undo.is_by_a_person() {
        return Ok(Vec::new());
    }
    let manifest = manifest(view, proposal, &undo.event)?.unwrap_or_default();
    let steps = manifest.records().iter().map(step);
    Ok(steps.filter(|step| step.before != step.after).collect())
}

/// The steps of `decision`, an apply of `proposal`, also where it was undone later: those of its manifest, or the
/// revision's own where nothing was written.
///
/// # Errors
/// `statement_invalid`: then nothing is approved. Those of the store.
pub fn of(view: &View<'_>, proposal: &Proposal, decision: &Decision) -> Result<Steps> {
    let revision = &decision.revision;
    match manifest(view, proposal, &decision.event)? {
        Some(manifest) => Steps::recorded(proposal, revision, &manifest),
        None => Ok(Steps { approved: of_revision(proposal, revision), written: Vec::new() }),
    }
}

/// The manifest beside the decision whose event is `event`. The fold has held it to the statement.
fn manifest(view: &View<'_>, proposal: &Proposal, event: &str) -> Result<Option<Manifest>> {
    let thread = view.thread(&proposal.id)?;
    Ok(thread.history.papers(event).and_then(|papers| papers.manifest.clone()))
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
    fn recorded(proposal: &Proposal, revision: &str, manifest: &Manifest) -> Result<Self> {
        let mut steps = Self::default();
        for record in manifest.records() {
            let step = step(record);
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
        Ok(steps)
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
}

/// True for what aye generates itself.
fn is_generated(path: &RepoPath) -> bool {
    memory_path(index_page::PATH).is_ok_and(|page| page == *path)
}

/// The approvals in force that are of exactly what `manifest` records: the same files, from the same
/// content to the same.
pub fn approvers(view: &View<'_>, proposal: &Proposal, decided: &Manifest) -> Vec<Approval> {
    let sides = |manifest: &Manifest| -> Vec<_> {
        let side =
            |record: &Record| (record.path.clone(), record.now.clone(), record.after.clone());
        manifest.records().iter().map(side).collect()
    };
    let decided = sides(decided);
    let same = |approval: &&Approval| {
        let approved = manifest(view, proposal, &approval.event);
        approved.is_ok_and(|approved| approved.is_some_and(|it| sides(&it) == decided))
    };
    proposal.approvals_in_force().filter(same).cloned().collect()
}

/// The people who approved what `proposal`, applied in this clone, has written: who applied it, and who approved
/// exactly that before.
pub fn reviewers(view: &View<'_>, proposal: &Proposal) -> Vec<Actor> {
    let Some(decision) = proposal.apply_here(&view.store().clone_ids()) else { return Vec::new() };
    let by_a_person = decision.is_by_a_person().then(|| decision.by.clone());
    let mut found: Vec<Actor> = by_a_person.into_iter().collect();
    if let Ok(Some(manifest)) = manifest(view, proposal, &decision.event) {
        let approvers = approvers(view, proposal, &manifest);
        trailers::add(&mut found, approvers.into_iter().map(|approval| approval.by));
    }
    found
}

fn step(record: &Record) -> Step {
    Step::from(&record.written())
}

fn contradicts(proposal: &Proposal, step: &Step) -> Error {
    let path = step.path.display();
    let why = format!("it makes something else of {path} than its revision");
    Error::new(
        &codes::STATEMENT_INVALID,
        format!("the decision on {} cannot be believed: {why}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("`aye log` shows its event; decide again")
}

/// What the applied proposals of people have made of files.
pub(super) struct Explained<'v, 's> {
    view: &'v View<'s>,
    except: &'v ProposalId,
    /// The steps of each proposal that the memo named, from its thread.
    known: BTreeMap<ProposalId, Vec<Step>>,
}

impl<'v, 's> Explained<'v, 's> {
    /// By all proposals but `except`.
    pub(super) fn new(view: &'v View<'s>, except: &'v Proposal) -> Self {
        Self { view, except: &except.id, known: BTreeMap::new() }
    }

    /// True where proposals that people applied lead `path` from one content to another. Of many,
    /// the newest are looked at. The memo proposes the steps; one that its thread does not have counts for nothing.
    ///
    /// # Errors
    /// Those of the store.
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
            if self.steps_of(&id)?.contains(&step) {
                reached.push(step.after);
            }
        }
        Ok(reached.contains(to))
    }

    fn steps_of(&mut self, id: &ProposalId) -> Result<&[Step]> {
        if !self.known.contains_key(id) {
            let proposal = self.view.proposal(id)?;
            let applies = proposal.applies().filter(|decision| decision.is_by_a_person());
            let steps = applies.flat_map(|decision| of_events(&proposal, decision)).collect();
            self.known.insert(id.clone(), steps);
        }
        Ok(self.known.get(id).map_or(&[], Vec::as_slice))
    }
}
