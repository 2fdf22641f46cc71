//! The plan of a decision, its manifest, and other changes in the files. Screens render only this,
//! and what is written is compared with it.

use std::collections::BTreeMap;

use super::{CommittedPlan, MovedChanges, PartialProposal, ViewedState, subject};
use crate::changeset::plan::{self, ApplyPlan, PlannedFile};
use crate::changeset::{File, FileChange, RepoPath, Snapshot};
use crate::error::{Error, Result};
use crate::proposal::event::{RevisionReason, Subject};
use crate::proposal::manifest::{
    Blob, EntryOutcome, Manifest, ManifestEntry, OtherChanges as Taken,
};
use crate::proposal::{ChangeRecord, Entry, Proposal};
use crate::repository::Repository;
use crate::store::{Store, View};

#[derive(Clone, Debug)]
pub struct DecisionPlan {
    pub proposal: Proposal,
    pub plan: ApplyPlan,
    /// The plan by mode and hash; empty if it conflicts.
    pub manifest: Manifest,
    /// Other changes in the files: neither HEAD's nor the proposal's.
    pub other_changes: Vec<OtherChange>,
    /// HEAD and tips at display.
    pub seen: ViewedState,
    /// Changes that follow moved files.
    pub followed: Option<MovedChanges>,
    /// The plan to record, if a commit has the result already.
    pub made: Option<ApplyPlan>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherChange {
    pub path: RepoPath,
    /// In the target commit.
    pub base: Option<File>,
    /// In the work tree.
    pub now: Option<File>,
    /// Applied proposals wrote them; not committed yet.
    pub approved: bool,
}

impl OtherChange {
    pub fn change(&self) -> FileChange {
        FileChange {
            path: self.path.clone(),
            before: self.base.clone(),
            after: self.now.clone(),
            origin: None,
            snippets: Vec::new(),
        }
    }
}

impl DecisionPlan {
    /// Displayed, and then written.
    pub fn changes(&self) -> Vec<FileChange> {
        let origin = |path: &RepoPath| {
            let changes = &self.proposal.current().changes;
            changes.iter().find(|change| change.path == *path)?.origin.clone()
        };
        let change =
            |file: &PlannedFile| file.change(origin(&file.path).filter(|_| file.now.is_none()));
        self.plan.writes().map(change).collect()
    }

    /// The proposal's changes of files that have the result already. Approved though not written,
    /// so they are shown. `part` is the part taken.
    ///
    /// # Errors
    /// `object_missing`.
    pub fn already(
        &self,
        store: &Store,
        part: Option<&PartialProposal>,
    ) -> Result<Vec<FileChange>> {
        let there: Vec<&RepoPath> = self.plan.already().map(|file| &file.path).collect();
        if there.is_empty() {
            return Ok(Vec::new());
        }
        let mut changes = match part {
            Some(part) => part.changes.changes().to_vec(),
            None => store.changeset(self.proposal.current())?.into_changes(),
        };
        changes.retain(|change| there.contains(&&change.path));
        Ok(changes)
    }

    /// True if exactly the proposal's own changes are written.
    pub fn is_as_proposed(&self) -> bool {
        self.plan.files.iter().all(|file| {
            matches!(file.outcome, plan::MergeStatus::Clean | plan::MergeStatus::Derived(_))
        })
    }

    /// Other changes that nobody has approved.
    pub fn foreign(&self) -> impl Iterator<Item = &OtherChange> {
        self.other_changes.iter().filter(|residue| !residue.approved)
    }

    pub fn approve_other_changes(&mut self) {
        self.manifest = self.with_residue();
    }

    pub fn with_residue(&self) -> Manifest {
        let mut records = self.manifest.records().to_vec();
        for record in &mut records {
            if record.residue == Taken::NotTaken {
                record.residue = Taken::Taken;
            }
        }
        Manifest::new(records)
    }

    pub fn takes_residue(&self) -> bool {
        self.manifest.records().iter().any(|record| record.residue == Taken::Taken)
    }

    /// Refuses if `now`, planned under the lock, differs from what was shown. With `committed`, an
    /// earlier proposal of the same command has moved HEAD, as announced.
    ///
    /// # Errors
    /// `changed_since_shown`.
    pub fn require_same(&self, now: &Self, committed: bool) -> Result<()> {
        let key = |record: &ManifestEntry| {
            let base = (!committed).then(|| record.base.clone());
            (record.path.clone(), base, record.now.clone(), record.after.clone())
        };
        let records = |shown: &Self| shown.manifest.records().iter().map(key).collect::<Vec<_>>();
        let (then, now_records) = (records(self), records(now));
        if let Some((path, ..)) = then
            .iter()
            .zip(&now_records)
            .find(|(then, now)| then != now)
            .map(|(then, _)| then)
            .or_else(|| then.get(now_records.len()).or_else(|| now_records.get(then.len())))
        {
            return Err(super::changed_since_shown(
                &self.proposal,
                &format!("{} changed", path.display()),
            ));
        }
        if !committed && self.seen.target != now.seen.target {
            return Err(super::changed_since_shown(&self.proposal, "HEAD moved"));
        }
        Ok(())
    }
}

/// Plans `proposal`, or `part` of it, on `snapshot`, and compares with the target commit.
///
/// # Errors
/// `invalid_policy`; `manifest_unsupported` for a submodule at a path.
pub fn show(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    part: Option<&PartialProposal>,
    snapshot: &dyn Snapshot,
) -> Result<DecisionPlan> {
    let (plan, followed) = subject::plan_apply(store, view, proposal, part, snapshot)?;
    let seen = ViewedState::now(view, [&proposal.id])?;
    let shown = of_plan(store, view, proposal, part, plan, seen)?;
    Ok(DecisionPlan { followed, ..shown })
}

/// Plans what `made` committed, as it would have been recorded then, despite later changes. Memory
/// is not planned on its own result.
///
/// # Errors
/// `changed_since_shown` for memory that has changed since.
pub(super) fn show_made(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    made: &CommittedPlan,
    snapshot: &dyn Snapshot,
) -> Result<DecisionPlan> {
    let mut done = made.done();
    if !made.is_in(snapshot)? {
        if proposal.subject == Subject::Memory {
            let commit = made.commit.get(..12).unwrap_or(&made.commit);
            let why = format!("commit {commit} has it, and the files have changed since");
            return Err(super::changed_since_shown(proposal, &why));
        }
        let now = show(store, view, proposal, None, snapshot)?;
        if now.followed.is_some() || !now.plan.is_already_there() {
            return Ok(now);
        }
        // Later changes are neither the proposal's nor a hook's.
        done = now.plan;
    }
    let head = made.parent.as_deref();
    let seen = ViewedState::now(view, [&proposal.id])?;
    let plan = made.plan.clone();
    let shown = of_plan_on(store, view, proposal, None, plan, seen, Some(head))?;
    Ok(DecisionPlan { made: Some(shown.plan), plan: done, ..shown })
}

pub(super) fn of_plan(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    part: Option<&PartialProposal>,
    plan: ApplyPlan,
    seen: ViewedState,
) -> Result<DecisionPlan> {
    of_plan_on(store, view, proposal, part, plan, seen, None)
}

/// `base` replaces HEAD.
fn of_plan_on(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    part: Option<&PartialProposal>,
    plan: ApplyPlan,
    seen: ViewedState,
    base: Option<Option<&str>>,
) -> Result<DecisionPlan> {
    let mut shown = DecisionPlan {
        proposal: proposal.clone(),
        plan,
        manifest: Manifest::default(),
        other_changes: Vec::new(),
        seen,
        followed: None,
        made: None,
    };
    if shown.plan.refusal().is_some() {
        return Ok(shown);
    }
    let own: BTreeMap<&RepoPath, &ChangeRecord> =
        proposal.current().changes.iter().map(|change| (&change.path, change)).collect();
    let head = Base::open(store.repository(), base.unwrap_or(shown.seen.target.commit.as_deref()));
    let mut explained = super::steps::StepSearch::new(view, proposal);
    let mut records = Vec::with_capacity(shown.plan.files.len());
    for file in &shown.plan.files {
        let now = blob(store, file.now.as_ref())?;
        let after =
            if file.now == file.after { now.clone() } else { blob(store, file.after.as_ref())? };
        let base = head.blob(store, &file.path, [&now, &after])?;
        let edited = part.is_some_and(|part| part.reason == RevisionReason::Edited)
            && own.get(&file.path).is_none_or(|own| !same(&after, &own.after));
        let outcome = match &file.outcome {
            plan::MergeStatus::Derived(name) => EntryOutcome::Derived((*name).to_owned()),
            _ if edited => EntryOutcome::Edited,
            plan::MergeStatus::Already => EntryOutcome::Already,
            plan::MergeStatus::Merged(_) => EntryOutcome::Merged,
            plan::MergeStatus::Clean | plan::MergeStatus::Conflict(_) => EntryOutcome::Clean,
        };
        let mut residue = Taken::None;
        let derived = matches!(outcome, EntryOutcome::Derived(_));
        // A result that is already there is approved as the revision's own step, whatever the base.
        let is_told_apart = base != now && !derived && outcome != EntryOutcome::Already;
        // Git's stored form of a filtered file does not tell what the file holds.
        if is_told_apart && store.repository().unsupported_conversions([&file.path])? == [None] {
            residue = Taken::NotTaken;
            let (from, to) = (entry(&base), entry(&now));
            let approved = explained.leads(&file.path, &from, &to)?;
            let base = head.file(store, &base)?;
            let (path, now) = (file.path.clone(), file.now.clone());
            shown.other_changes.push(OtherChange { path, base, now, approved });
        }
        records.push(ManifestEntry { path: file.path.clone(), base, now, after, outcome, residue });
    }
    shown.manifest = Manifest::new(records);
    Ok(shown)
}

/// For a plan without a revision.
pub(super) fn manifest(store: &Store, plan: &ApplyPlan) -> Result<Manifest> {
    let records = plan.files.iter().map(|file| {
        let (now, after) = (blob(store, file.now.as_ref())?, blob(store, file.after.as_ref())?);
        let outcome = if now == after { EntryOutcome::Already } else { EntryOutcome::Clean };
        let (path, base) = (file.path.clone(), now.clone());
        Ok(ManifestEntry { path, base, now, after, outcome, residue: Taken::None })
    });
    Ok(Manifest::new(records.collect::<Result<_>>()?))
}

fn same(blob: &Option<Blob>, entry: &Option<Entry>) -> bool {
    match (blob, entry) {
        (None, None) => true,
        (Some(blob), Some(entry)) => blob.is(entry),
        _ => false,
    }
}

pub(super) fn entry(blob: &Option<Blob>) -> Option<Entry> {
    blob.as_ref().map(|blob| Entry::new(&blob.id, &blob.mode))
}

/// Hashes the content itself: a recorded id may belong to other content, as the revision's does in
/// an undo.
fn blob(store: &Store, file: Option<&File>) -> Result<Option<Blob>> {
    let Some(file) = file else { return Ok(None) };
    let Entry { id, mode } = store.entry_of(file)?;
    let sha256 = crate::sha256::hex(&file.bytes);
    Ok(Some(Blob { mode: mode.into_owned(), id, sha256 }))
}

struct Base<'s>(Option<gix::Tree<'s>>);

impl<'s> Base<'s> {
    fn open(repository: &'s Repository, commit: Option<&str>) -> Self {
        let id = commit.and_then(|id| gix::ObjectId::from_hex(id.as_bytes()).ok());
        let commit = id.and_then(|id| repository.repo().find_commit(id).ok());
        Self(commit.and_then(|commit| commit.tree().ok()))
    }

    /// Reads no content that is among `known`.
    fn blob(
        &self,
        store: &Store,
        path: &RepoPath,
        known: [&Option<Blob>; 2],
    ) -> Result<Option<Blob>> {
        let Some(tree) = &self.0 else { return Ok(None) };
        let found = tree.lookup_entry(path.components().map(|name| name.to_vec()));
        let Some(found) = found.ok().flatten() else { return Ok(None) };
        if found.mode().is_tree() {
            return Ok(None);
        }
        let id = found.object_id().to_string();
        if found.mode().is_commit() {
            return Err(Error::new(
                &crate::apply::codes::MANIFEST_UNSUPPORTED,
                format!("{} is a submodule in HEAD", path.display()),
            )
            .hint("remove the submodule in a commit of its own first"));
        }
        let sha256 = match known.into_iter().flatten().find(|blob| blob.id == id) {
            Some(blob) => blob.sha256.clone(),
            None => crate::sha256::hex(&store.blob(&id)?),
        };
        Ok(Some(Blob { mode: format!("{:06o}", found.mode().value()), id, sha256 }))
    }

    fn file(&self, store: &Store, blob: &Option<Blob>) -> Result<Option<File>> {
        entry(blob).map(|entry| store.file(&entry)).transpose()
    }
}

#[derive(Debug)]
pub struct ProposalDisplay {
    pub changes: Vec<FileChange>,
    /// True if `changes` are the plan, not the proposal's own changes.
    pub planned: bool,
    /// Plan without a conflict.
    pub shown: Option<DecisionPlan>,
    pub refusal: Option<Error>,
    /// Plan with a conflict.
    pub conflict: Option<ApplyPlan>,
}

/// Present against future files, where merges or moves make these differ from the proposal.
/// Otherwise, and where it does not fit, the proposal's own changes.
///
/// # Errors
/// `object_missing`.
pub fn display(store: &Store, view: &View<'_>, proposal: &Proposal) -> Result<ProposalDisplay> {
    let worktree = store.repository().worktree().ok();
    visible_on(store, view, proposal, worktree.as_ref().map(|files| files as &dyn Snapshot))
}

/// Like `visible`; without `files`, the proposal's own changes.
pub fn visible_on(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    files: Option<&dyn Snapshot>,
) -> Result<ProposalDisplay> {
    let mut own = store.changeset(proposal.current())?.into_changes();
    let as_proposed = |own: &[FileChange], refusal, shown| {
        let changes = own.to_vec();
        Ok(ProposalDisplay { changes, planned: false, shown, refusal, conflict: None })
    };
    let Some(files) = files else { return as_proposed(&own, None, None) };
    let shown = match show(store, view, proposal, None, files) {
        Ok(shown) => shown,
        Err(error) => return as_proposed(&own, Some(error), None),
    };
    if let Some(followed) = &shown.followed {
        own = followed.part.changes.changes().to_vec();
    }
    if let Some(refusal) = shown.plan.refusal() {
        let visible = as_proposed(&own, Some(refusal), None)?;
        return Ok(ProposalDisplay { conflict: Some(shown.plan), ..visible });
    }
    let merged = |file: &PlannedFile| matches!(file.outcome, plan::MergeStatus::Merged(_));
    if shown.followed.is_none() && !shown.plan.files.iter().any(merged) {
        return as_proposed(&own, None, Some(shown));
    }
    let mut changes = shown.changes();
    for file in shown.plan.already() {
        changes.extend(own.iter().find(|own| own.path == file.path).cloned());
    }
    changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let shown = Some(shown);
    Ok(ProposalDisplay { changes, planned: true, shown, refusal: None, conflict: None })
}
