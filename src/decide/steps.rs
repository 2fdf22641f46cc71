//! Approved steps, each from one content of a file to another.

use std::collections::{BTreeMap, BTreeSet};

use super::decision_plan::entry;
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::memory::disk::repo_path as memory_path;
use crate::memory::plan::index_page;
use crate::proposal::manifest::{EntryOutcome, Manifest, ManifestEntry, OtherChanges};
use crate::proposal::state::{Approval, Decision};
use crate::proposal::steps::{FileStep, decision_steps, revision_steps};
use crate::proposal::{Actor, Entry, Proposal, ProposalId, codes, trailers};
use crate::store::View;

const MOST_STEPS: usize = 256;

/// Contents, each with the undone applies on the way to it.
const MOST_STATES: usize = 1 << 10;

#[derive(Debug, Default)]
pub struct Steps {
    pub approved: Vec<FileStep>,
    /// Without generated files.
    written: Vec<FileStep>,
}

/// Steps that a person approved without writing them.
pub fn of_approval(view: &View<'_>, proposal: &Proposal, approval: &Approval) -> Result<Steps> {
    let manifest = manifest(view, proposal, &approval.event)?.unwrap_or_default();
    Steps::recorded(proposal, &approval.revision, &manifest)
}

/// Steps that revert an apply; empty unless a person undid it.
pub fn of_undo(view: &View<'_>, proposal: &Proposal, undo: &Decision) -> Result<Vec<FileStep>> {
    if !undo.is_by_a_person() {
        return Ok(Vec::new());
    }
    let manifest = manifest(view, proposal, &undo.event)?.unwrap_or_default();
    let steps = manifest.records().iter().map(step);
    Ok(steps.filter(|step| step.before != step.after).collect())
}

/// Steps of an apply, even if undone later: from its manifest, or the revision's own if nothing was
/// written.
///
/// # Errors
/// `statement_invalid`: nothing is approved then.
pub fn of(view: &View<'_>, proposal: &Proposal, decision: &Decision) -> Result<Steps> {
    let revision = &decision.revision;
    match manifest(view, proposal, &decision.event)? {
        Some(manifest) => Steps::recorded(proposal, revision, &manifest),
        None => Ok(Steps { approved: revision_steps(proposal, revision), written: Vec::new() }),
    }
}

/// The fold has compared this manifest with the statement.
fn manifest(view: &View<'_>, proposal: &Proposal, event: &str) -> Result<Option<Manifest>> {
    let thread = view.thread(&proposal.id)?;
    Ok(thread.history.papers(event).and_then(|papers| papers.manifest.clone()))
}

impl Steps {
    /// Excludes other changes that were approved, too.
    pub fn without_residue(mut self) -> Self {
        self.approved.retain(|step| self.written.contains(step));
        self
    }

    /// Steps of `manifest`. Its contents are trusted: they were shown.
    ///
    /// # Errors
    /// `statement_invalid` if a result contradicts `revision`.
    fn recorded(proposal: &Proposal, revision: &str, manifest: &Manifest) -> Result<Self> {
        let mut steps = Self::default();
        for record in manifest.records() {
            let step = step(record);
            if record.residue == OtherChanges::Taken && record.outcome != EntryOutcome::Already {
                let before = entry(&record.base);
                steps.approved.push(FileStep { before, ..step.clone() });
            }
            match &record.outcome {
                EntryOutcome::Derived(_) if !is_generated(&record.path) => {
                    return Err(contradicts(proposal, &step));
                }
                EntryOutcome::Derived(_) => steps.approved.push(step),
                outcome => steps.add(proposal, revision, step, *outcome == EntryOutcome::Already),
            }
        }
        Ok(steps)
    }

    fn add(&mut self, proposal: &Proposal, revision: &str, step: FileStep, is_there: bool) {
        if is_there {
            let own = revision_steps(proposal, revision).into_iter();
            self.approved.extend(own.filter(|own| own.path == step.path));
        } else {
            self.approved.push(step.clone());
            self.written.push(step);
        }
    }
}

/// True for files that aye generates.
fn is_generated(path: &RepoPath) -> bool {
    memory_path(index_page::PATH).is_ok_and(|page| page == *path)
}

/// Approvals in force of the same files with the same contents, before and after.
pub fn approvers(view: &View<'_>, proposal: &Proposal, decided: &Manifest) -> Vec<Approval> {
    let sides = |manifest: &Manifest| -> Vec<_> {
        let side = |record: &ManifestEntry| {
            (record.path.clone(), record.now.clone(), record.after.clone())
        };
        manifest.records().iter().map(side).collect()
    };
    let decided = sides(decided);
    let same = |approval: &&Approval| {
        let approved = manifest(view, proposal, &approval.event);
        approved.is_ok_and(|approved| approved.is_some_and(|it| sides(&it) == decided))
    };
    proposal.approvals_in_force().filter(same).cloned().collect()
}

/// People who applied `proposal` in this clone, or approved exactly its result before.
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

fn step(record: &ManifestEntry) -> FileStep {
    FileStep::from(&record.written())
}

fn contradicts(proposal: &Proposal, step: &FileStep) -> Error {
    let path = step.path.display();
    let why = format!("it makes something else of {path} than its revision");
    Error::new(
        &codes::STATEMENT_INVALID,
        format!("the decision on {} cannot be believed: {why}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("`aye log` shows its event; decide again")
}

pub(super) struct StepSearch<'v, 's> {
    view: &'v View<'s>,
    except: &'v ProposalId,
    known: BTreeMap<ProposalId, Vec<FileStep>>,
}

impl<'v, 's> StepSearch<'v, 's> {
    pub(super) fn new(view: &'v View<'s>, except: &'v Proposal) -> Self {
        Self { view, except: &except.id, known: BTreeMap::new() }
    }

    /// True if applies and undos by people lead `path` from one content to the other. Only the
    /// newest are searched. The memo suggests steps; a step counts only if the thread has it.
    pub(super) fn leads(
        &mut self,
        path: &RepoPath,
        from: &Option<Entry>,
        to: &Option<Entry>,
    ) -> Result<bool> {
        let mut applies = self.view.approved_steps(path)?;
        applies.retain(|(id, _)| id != self.except);
        applies.truncate(MOST_STEPS);
        let undone = self.undone_steps(path)?;
        // Most files hold content that nobody has approved.
        let backs = undone.iter().map(|[_, back]| back);
        if !applies.iter().map(|(_, step)| step).chain(backs).any(|step| step.after == *to) {
            return Ok(false);
        }
        // The order of decisions does not matter here. An undone apply counts with its undo only.
        let mut reached = vec![(from.clone(), BTreeSet::new())];
        let mut next = 0;
        while let Some((at, open)) = reached.get(next).filter(|_| next < MOST_STATES).cloned() {
            next += 1;
            let mut found = Vec::new();
            for (id, step) in applies.iter().filter(|(_, step)| step.before == at) {
                if self.steps_of(id)?.contains(step) {
                    found.push((step.after.clone(), open.clone()));
                }
            }
            for (pair, [made, back]) in undone.iter().enumerate() {
                let with = open.iter().copied().chain([pair]).collect();
                let without = open.iter().copied().filter(|other| *other != pair).collect();
                let ways = [(made, with), (back, without)].into_iter();
                let ways = ways.filter(|(step, _)| step.before == at);
                found.extend(ways.map(|(step, open)| (step.after.clone(), open)));
            }
            for state in found {
                if !reached.contains(&state) {
                    reached.push(state);
                }
            }
        }
        Ok(reached.iter().any(|(at, open)| at == to && open.is_empty()))
    }

    /// Steps of `path` by applies that a person undid, each with the step of its undo.
    fn undone_steps(&self, path: &RepoPath) -> Result<Vec<[FileStep; 2]>> {
        let mut found = Vec::new();
        for id in self.view.undone_at(path)? {
            let proposal = self.view.proposal(&id)?;
            for (undone, undo) in proposal.undone.iter().zip(&proposal.undos) {
                let made = decision_steps(&proposal, undone).into_iter();
                let mut made = made.filter(|it| it.path == *path && undone.is_by_a_person());
                let back = of_undo(self.view, &proposal, undo)?.into_iter();
                let mut back = back.filter(|it| it.path == *path);
                found.extend(made.next().zip(back.next()).map(<[FileStep; 2]>::from));
            }
        }
        found.truncate(MOST_STEPS);
        Ok(found)
    }

    fn steps_of(&mut self, id: &ProposalId) -> Result<&[FileStep]> {
        if !self.known.contains_key(id) {
            let proposal = self.view.proposal(id)?;
            let applies = proposal.applies().filter(|decision| decision.is_by_a_person());
            let steps = applies.flat_map(|decision| decision_steps(&proposal, decision)).collect();
            self.known.insert(id.clone(), steps);
        }
        Ok(self.known.get(id).map_or(&[], Vec::as_slice))
    }
}
