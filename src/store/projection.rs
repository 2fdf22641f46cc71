//! `.agent-memory/proposals/<id>/`: a pending proposal as files to read and grep. They are compared
//! with the store, and never read otherwise.

use std::collections::BTreeSet;

use super::Store;
use crate::changeset::{Changeset, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::document::Document;
use crate::proposal::{Proposal, ProposalId, Status};
use crate::worktree::{DEFAULT_SIZE_LIMIT, Flush, TEMPORARY, Worktree};

pub(super) const DIRECTORY: &str = ".agent-memory/proposals";

/// A projection that differs from what the store would write.
#[derive(Clone, Debug)]
pub struct Tampering {
    pub id: ProposalId,
    /// The file, relative to the work tree's top.
    pub path: RepoPath,
    /// `changed`, `missing`, `stale` (the proposal is decided), `unexpected` (not a file of a
    /// projection) or `unreadable`.
    pub what: &'static str,
}

const DOCUMENT: &str = "proposal.yaml";
const PATCH: &str = "change.patch";

fn files(
    store: &Store,
    proposal: &Proposal,
    changeset: &Changeset,
) -> Result<Vec<(RepoPath, Vec<u8>)>> {
    let patch = store.patch(&proposal.current().changes, changeset);
    Ok(vec![document(proposal)?, (inside(&proposal.id, PATCH)?, patch)])
}

/// The file that changes with every event.
fn document(proposal: &Proposal) -> Result<(RepoPath, Vec<u8>)> {
    let document = Document::new(proposal, Status::Pending, &[]);
    let yaml = crate::text::yaml::document(&document)?;
    Ok((inside(&proposal.id, DOCUMENT)?, yaml.into_bytes()))
}

fn directory(id: &ProposalId) -> Result<RepoPath> {
    RepoPath::new(format!("{DIRECTORY}/{id}"))
}

fn inside(id: &ProposalId, name: &str) -> Result<RepoPath> {
    RepoPath::new(format!("{DIRECTORY}/{id}/{name}"))
}

/// Writes the projection of a pending proposal into the present work tree. With `is_same` changes
/// only the document is written.
pub(super) fn make(store: &Store, proposal: &Proposal, is_same: bool) -> Result<()> {
    let Some(top) = store.repository().work_dir() else { return Ok(()) };
    let tree = store.repository().worktree()?.without_conversion();
    if is_same {
        return tree.write_files(&[document(proposal)?]);
    }
    let ignore = RepoPath::new(format!("{DIRECTORY}/.gitignore"))?;
    if !top.join(ignore.to_path()).symlink_metadata().is_ok_and(|found| found.is_file()) {
        // A process that was stopped here has left the file under a temporary name.
        let names = tree.names(&RepoPath::new(DIRECTORY)?).unwrap_or_default();
        for left in names.iter().filter(|name| name.starts_with(TEMPORARY.as_bytes())) {
            tree.remove_file(&RepoPath::new(format!("{DIRECTORY}/{left}"))?)?;
        }
        // `git status` stays clean without `aye init`.
        tree.write_file(&ignore, b"*\n", Mode::Regular, Flush::No)?;
    }
    let changeset = store.changeset(proposal.current())?;
    tree.write_files(&files(store, proposal, &changeset)?)?;
    if store.repository().repo().git_dir() != store.repository().repo().common_dir() {
        note_linked(store)?;
    }
    Ok(())
}

/// A file in `.git/aye` that shows that a linked work tree had a projection. The projection goes
/// with that tree, which is not damage.
const LINKED: &str = "linked";

fn note_linked(store: &Store) -> Result<()> {
    let private = store.repository().make_private()?;
    match private.read(LINKED)? {
        Some(_) => Ok(()),
        None => private.replace(LINKED, b"", false),
    }
}

/// True if proposals may have been made in other work trees, which may be gone.
fn was_linked(store: &Store) -> bool {
    let noted = || store.repository().private().ok()??.read(LINKED).ok()?;
    store.repository().has_linked() || noted().is_some()
}

/// Updates the projection in other work trees that have it: an older one there would look edited.
pub(super) fn renew_elsewhere(store: &Store, proposal: &Proposal) -> Result<()> {
    if !store.repository().has_linked() {
        return Ok(());
    }
    let (path, here) = (directory(&proposal.id)?, store.repository().work_dir());
    let mut others = store.repository().work_trees();
    others.retain(|root| {
        Some(root) != here.as_ref() && root.join(path.to_path()).symlink_metadata().is_ok()
    });
    if others.is_empty() {
        return Ok(());
    }
    let changeset = store.changeset(proposal.current())?;
    let files = files(store, proposal, &changeset)?;
    others.iter().try_for_each(|root| Worktree::open(root)?.write_files(&files))
}

/// Removes the projection of `id` from every work tree.
pub(super) fn remove(store: &Store, id: &ProposalId) -> Result<()> {
    let path = directory(id)?;
    for root in store.repository().work_trees() {
        if root.join(path.to_path()).symlink_metadata().is_ok() {
            Worktree::open(&root)?.remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// Removes the directory's own file from every work tree where no projection is left.
pub(super) fn remove_empty(store: &Store) -> Result<()> {
    let ignore = RepoPath::new(format!("{DIRECTORY}/.gitignore"))?;
    for root in store.repository().work_trees() {
        let tree = Worktree::open(&root)?;
        let names = tree.names(&RepoPath::new(DIRECTORY)?).unwrap_or_default();
        if names.len() == 1 && names.iter().all(|name| *name == ".gitignore") {
            tree.remove_file(&ignore)?;
        }
    }
    Ok(())
}

/// Copies the projection of `id` in the present work tree to `.git/aye/broken/proposals/<id>`.
pub(super) fn keep(store: &Store, id: &ProposalId) -> Result<()> {
    let tree = store.repository().worktree()?.without_conversion();
    let to = store.repository().make_private()?.make_inside("broken")?.make_inside("proposals")?;
    let to = to.make_inside(id.as_str())?;
    for name in [DOCUMENT, PATCH] {
        if let Ok(Some(file)) = tree.file(&inside(id, name)?) {
            to.replace(name, &file.bytes, false)?;
        }
    }
    Ok(())
}

/// Finds projections of the present work tree that differ from what the store would write.
pub(super) struct Examiner<'a> {
    store: &'a Store,
    tree: Worktree,
    /// True if proposals may have been made in other work trees, which may be gone.
    was_linked: bool,
    found: Vec<Tampering>,
}

impl<'a> Examiner<'a> {
    /// `None` without a work tree.
    pub(super) fn new(store: &'a Store) -> Result<Option<Self>> {
        if store.repository().repo().workdir().is_none() {
            return Ok(None);
        }
        let tree = store.repository().worktree()?.without_conversion();
        Ok(Some(Self { store, tree, was_linked: was_linked(store), found: Vec::new() }))
    }

    /// Compares the files of a pending proposal, whose changes are `changeset`. If `is_due` they
    /// may be old or missing: other clones' events are not damage.
    pub(super) fn proposal(
        &mut self,
        proposal: &Proposal,
        changeset: &Changeset,
        is_due: bool,
    ) -> Result<()> {
        let (tree, id) = (&self.tree, &proposal.id);
        let directory = directory(id)?;
        let names = tree.names(&directory).unwrap_or_default();
        if names.iter().any(|name| name != DOCUMENT && name != PATCH) {
            // A stopped process or a person has left it.
            let path = directory.clone();
            self.found.push(Tampering { id: id.clone(), path, what: "unexpected" });
        }
        // A partial clone writes none for fetched proposals: that would fetch contents.
        let may_lack_all = self.was_linked || self.store.repository().is_partial();
        if is_due || may_lack_all && names.is_empty() {
            return Ok(());
        }
        for (path, expected) in files(self.store, proposal, changeset)? {
            // The patch of several files may be larger than one file may be.
            let size = expected.len() as u64;
            let large = if size > DEFAULT_SIZE_LIMIT {
                Some(self.store.repository().worktree()?.without_conversion().with_size_limit(size))
            } else {
                None
            };
            let what = match large.as_ref().unwrap_or(tree).file(&path) {
                Ok(Some(file)) if file.bytes == expected => continue,
                Ok(Some(_)) => "changed",
                Ok(None) => "missing",
                Err(_) => "unreadable",
            };
            self.found.push(Tampering { id: id.clone(), path, what });
        }
        Ok(())
    }

    /// The findings, with directories of proposals that are neither `pending` nor due.
    pub(super) fn finish(
        mut self,
        pending: &BTreeSet<ProposalId>,
        is_due: impl Fn(&ProposalId) -> bool,
    ) -> Result<Vec<Tampering>> {
        for name in self.tree.names(&RepoPath::new(DIRECTORY)?).unwrap_or_default() {
            if let Ok(id) = ProposalId::parse(&name.to_string())
                && !pending.contains(&id)
                && !is_due(&id)
            {
                self.found.push(Tampering { path: directory(&id)?, id, what: "stale" });
            }
        }
        Ok(self.found)
    }
}
