//! What a decision is about, before it is made: the plan, its manifest, and what the files hold
//! besides. Everything on a screen is rendered from this, and what is written is compared with it.

use std::collections::BTreeMap;

use super::{Followed, Made, Part, Seen, subject};
use crate::changeset::plan::{self, Planned, Resolution};
use crate::changeset::{File, FileChange, RepoPath, Snapshot};
use crate::error::{Error, Result};
use crate::proposal::event::{RevisionReason, Subject};
use crate::proposal::manifest::{ApprovedAs, Blob, Manifest, Record, Residue as Taken};
use crate::proposal::{ChangeRecord, Entry, Proposal};
use crate::repository::Repository;
use crate::store::{Store, View};

/// A plan as it is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The proposal it is about, as it was then.
    pub proposal: Proposal,
    /// Every file and what becomes of it.
    pub plan: Resolution,
    /// The same, by mode and hash; empty where the plan has conflicts.
    pub manifest: Manifest,
    /// What the files hold that is neither in the target commit nor the proposal's.
    pub residue: Vec<Residue>,
    /// HEAD and the tips of the thread then.
    pub seen: Seen,
    /// The changes that the plan is of, where these follow files that have moved.
    pub followed: Option<Followed>,
    /// What is recorded as written, where it is in a commit already and nothing is left to write.
    pub made: Option<Resolution>,
}

/// Changes that a file holds and that are not the proposal's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residue {
    /// Where.
    pub path: RepoPath,
    /// What the target commit has.
    pub base: Option<File>,
    /// What is there.
    pub now: Option<File>,
    /// They are what applied proposals have written that are not committed yet.
    pub approved: bool,
}

impl Residue {
    /// As a change, for a diff.
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

impl Shown {
    /// Files now to files afterwards: what is shown and what will be written.
    pub fn changes(&self) -> Vec<FileChange> {
        let origin = |path: &RepoPath| {
            let changes = &self.proposal.current().changes;
            changes.iter().find(|change| change.path == *path)?.origin.clone()
        };
        let change =
            |file: &Planned| file.change(origin(&file.path).filter(|_| file.now.is_none()));
        self.plan.writes().map(change).collect()
    }

    /// The proposal's own change of the files that have it already: it is approved although nothing
    /// is written, so it is shown, too. `part` is what was taken of the proposal.
    ///
    /// # Errors
    /// `object_missing`.
    pub fn already(&self, store: &Store, part: Option<&Part>) -> Result<Vec<FileChange>> {
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

    /// True where what is written is exactly the proposal's own change of every file.
    pub fn is_as_proposed(&self) -> bool {
        self.plan
            .files
            .iter()
            .all(|file| matches!(file.outcome, plan::Resolved::Clean | plan::Resolved::Derived(_)))
    }

    /// Foreign changes in the files that nobody has approved.
    pub fn foreign(&self) -> impl Iterator<Item = &Residue> {
        self.residue.iter().filter(|residue| !residue.approved)
    }

    /// Records that the foreign changes were shown and are approved too.
    pub fn take_residue(&mut self) {
        self.manifest = self.with_residue();
    }

    /// The manifest that [`Shown::take_residue`] makes.
    pub fn with_residue(&self) -> Manifest {
        let mut records = self.manifest.records().to_vec();
        for record in &mut records {
            if record.residue == Taken::NotTaken {
                record.residue = Taken::Taken;
            }
        }
        Manifest::new(records)
    }

    /// Whether the foreign changes are approved too.
    pub fn takes_residue(&self) -> bool {
        self.manifest.records().iter().any(|record| record.residue == Taken::Taken)
    }

    /// Refuses where `now`, the plan made again under the lock, is not what was shown. Where
    /// `committed`, an earlier proposal of the same command has moved HEAD, as was announced.
    ///
    /// # Errors
    /// `changed_since_shown`.
    pub fn require_same(&self, now: &Self, committed: bool) -> Result<()> {
        let key = |record: &Record| {
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
            return Err(super::changed(&self.proposal, &format!("{} changed", path.display())));
        }
        if !committed && self.seen.target != now.seen.target {
            return Err(super::changed(&self.proposal, "HEAD moved"));
        }
        Ok(())
    }
}

/// Plans `proposal`, or `part` of it, on the files of `snapshot`, and holds them to the target
/// commit.
///
/// # Errors
/// As the plan; `invalid_policy`; `manifest_unsupported` for a submodule in the way.
pub fn show(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    part: Option<&Part>,
    snapshot: &dyn Snapshot,
) -> Result<Shown> {
    let (plan, followed) = subject::forward(store, view, proposal, part, snapshot)?;
    let seen = Seen::now(view, [&proposal.id])?;
    let shown = of_plan(store, view, proposal, part, plan, seen)?;
    Ok(Shown { followed, ..shown })
}

/// As [`show`], of what `made` has committed, as it would have been recorded then, whatever else the files have got
/// since. Memory is not planned on itself again.
///
/// # Errors
/// As [`show`]; `changed_since_shown` for memory that has changed since.
pub(super) fn show_made(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    made: &Made,
    snapshot: &dyn Snapshot,
) -> Result<Shown> {
    let mut done = made.done();
    if !made.is_in(snapshot)? {
        if proposal.subject == Subject::Memory {
            let commit = made.commit.get(..12).unwrap_or(&made.commit);
            let why = format!("commit {commit} has it, and the files have changed since");
            return Err(super::changed(proposal, &why));
        }
        let now = show(store, view, proposal, None, snapshot)?;
        if now.followed.is_some() || !now.plan.is_already_there() {
            return Ok(now);
        }
        // What came on top of it since is neither the proposal's nor a hook's.
        done = now.plan;
    }
    let head = made.parent.as_deref();
    let seen = Seen::now(view, [&proposal.id])?;
    let plan = made.plan.clone();
    let shown = of_plan_on(store, view, proposal, None, plan, seen, Some(head))?;
    Ok(Shown { made: Some(shown.plan), plan: done, ..shown })
}

/// As [`show`], for a plan that is made already, when HEAD and the tips were as `seen`.
pub(super) fn of_plan(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    part: Option<&Part>,
    plan: Resolution,
    seen: Seen,
) -> Result<Shown> {
    of_plan_on(store, view, proposal, part, plan, seen, None)
}

/// As [`of_plan`], held to the commit `base`, where it is not HEAD.
fn of_plan_on(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    part: Option<&Part>,
    plan: Resolution,
    seen: Seen,
    base: Option<Option<&str>>,
) -> Result<Shown> {
    let mut shown = Shown {
        proposal: proposal.clone(),
        plan,
        manifest: Manifest::default(),
        residue: Vec::new(),
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
    let mut explained = super::steps::Explained::new(view, proposal);
    let mut records = Vec::with_capacity(shown.plan.files.len());
    for file in &shown.plan.files {
        let now = blob(store, file.now.as_ref())?;
        let after =
            if file.now == file.after { now.clone() } else { blob(store, file.after.as_ref())? };
        let base = head.blob(store, &file.path, [&now, &after])?;
        let edited = part.is_some_and(|part| part.reason == RevisionReason::Edited)
            && own.get(&file.path).is_none_or(|own| !same(&after, &own.after));
        let outcome = match &file.outcome {
            plan::Resolved::Derived(name) => ApprovedAs::Derived((*name).to_owned()),
            _ if edited => ApprovedAs::Edited,
            plan::Resolved::Already => ApprovedAs::Already,
            plan::Resolved::Merged(_) => ApprovedAs::Merged,
            plan::Resolved::Clean | plan::Resolved::Conflict(_) => ApprovedAs::Clean,
        };
        let mut residue = Taken::None;
        let derived = matches!(outcome, ApprovedAs::Derived(_));
        // What is there already is approved as the revision's own step, wherever it stands.
        let is_told_apart = base != now && !derived && outcome != ApprovedAs::Already;
        // What git stores of a file that goes through a filter says nothing about what lies there.
        if is_told_apart && store.repository().foreign([&file.path])? == [None] {
            residue = Taken::NotTaken;
            let (from, to) = (entry(&base), entry(&now));
            let approved = explained.leads(&file.path, &from, &to)?;
            let base = head.file(store, &base)?;
            let (path, now) = (file.path.clone(), file.now.clone());
            shown.residue.push(Residue { path, base, now, approved });
        }
        records.push(Record { path: file.path.clone(), base, now, after, outcome, residue });
    }
    shown.manifest = Manifest::new(records);
    Ok(shown)
}

/// What `plan` makes of files, where no revision says what they were to become.
pub(super) fn manifest(store: &Store, plan: &Resolution) -> Result<Manifest> {
    let records = plan.files.iter().map(|file| {
        let (now, after) = (blob(store, file.now.as_ref())?, blob(store, file.after.as_ref())?);
        let outcome = if now == after { ApprovedAs::Already } else { ApprovedAs::Clean };
        let (path, base) = (file.path.clone(), now.clone());
        Ok(Record { path, base, now, after, outcome, residue: Taken::None })
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

/// Mode and id of one side.
pub(super) fn entry(blob: &Option<Blob>) -> Option<Entry> {
    blob.as_ref().map(|blob| Entry::new(&blob.id, &blob.mode))
}

/// One side of a record. Both hashes are those of the bytes at hand: an id that is taken from
/// elsewhere may be that of other content, as the revision's is when a decision is taken back.
fn blob(store: &Store, file: Option<&File>) -> Result<Option<Blob>> {
    let Some(file) = file else { return Ok(None) };
    let Entry { id, mode } = store.entry_of(file)?;
    let sha256 = crate::sha256::hex(&file.bytes);
    Ok(Some(Blob { mode: mode.into_owned(), id, sha256 }))
}

/// The tree of the target commit.
struct Base<'s>(Option<gix::Tree<'s>>);

impl<'s> Base<'s> {
    fn open(repository: &'s Repository, commit: Option<&str>) -> Self {
        let id = commit.and_then(|id| gix::ObjectId::from_hex(id.as_bytes()).ok());
        let commit = id.and_then(|id| repository.repo().find_commit(id).ok());
        Self(commit.and_then(|commit| commit.tree().ok()))
    }

    /// What the commit has at `path`; of content that is among `known`, nothing is read.
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

/// A pending proposal as it is to be looked at.
#[derive(Debug)]
pub struct Visible {
    /// What is shown.
    pub changes: Vec<FileChange>,
    /// It is what would be written to the present files, and not what was proposed.
    pub planned: bool,
    /// The plan, where one can be made and nothing conflicts.
    pub shown: Option<Shown>,
    /// Why it does not fit, where it does not.
    pub refusal: Option<Error>,
    /// The plan, where something in it conflicts.
    pub conflict: Option<Resolution>,
}

/// What a person looks at: files now against files afterwards, wherever that differs from what was
/// proposed. Of what is there already, and of what does not fit, the proposal's own change.
///
/// # Errors
/// `object_missing`, and those of the store.
pub fn visible(store: &Store, view: &View<'_>, proposal: &Proposal) -> Result<Visible> {
    let worktree = store.repository().worktree().ok();
    visible_on(store, view, proposal, worktree.as_ref().map(|files| files as &dyn Snapshot))
}

/// As [`visible`], on the files of a snapshot; as it was proposed where there are none.
///
/// # Errors
/// As [`visible`].
pub fn visible_on(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    files: Option<&dyn Snapshot>,
) -> Result<Visible> {
    let mut own = store.changeset(proposal.current())?.into_changes();
    let as_proposed = |own: &[FileChange], refusal, shown| {
        let changes = own.to_vec();
        Ok(Visible { changes, planned: false, shown, refusal, conflict: None })
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
        return Ok(Visible { conflict: Some(shown.plan), ..visible });
    }
    let merged = |file: &Planned| matches!(file.outcome, plan::Resolved::Merged(_));
    if shown.followed.is_none() && !shown.plan.files.iter().any(merged) {
        return as_proposed(&own, None, Some(shown));
    }
    let mut changes = shown.changes();
    for file in shown.plan.already() {
        changes.extend(own.iter().find(|own| own.path == file.path).cloned());
    }
    changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let shown = Some(shown);
    Ok(Visible { changes, planned: true, shown, refusal: None, conflict: None })
}
