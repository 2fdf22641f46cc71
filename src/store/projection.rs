//! `.agent-memory/proposals/<id>/`: a pending proposal as files to read and grep. Never trusted:
//! nothing is read back from there but to tell that it was changed.

use std::collections::BTreeSet;

use super::Store;
use crate::changeset::{Changeset, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::document::Document;
use crate::proposal::{Proposal, ProposalId, Status};
use crate::worktree::{DEFAULT_SIZE_LIMIT, Flush, TEMPORARY, Worktree};

/// Where projections are, in each work tree.
pub(super) const DIRECTORY: &str = ".agent-memory/proposals";

/// A projection that is not what the store would write.
#[derive(Clone, Debug)]
pub struct Tampering {
    /// The proposal.
    pub id: ProposalId,
    /// The file, relative to the work tree's top.
    pub path: RepoPath,
    /// `changed`, `missing`, `stale` (the proposal is decided), `unexpected` (a file that is not
    /// ours) or `unreadable`.
    pub what: &'static str,
}

/// The names of its files.
const DOCUMENT: &str = "proposal.yaml";
const PATCH: &str = "change.patch";

/// The files of a pending proposal.
fn files(
    store: &Store,
    proposal: &Proposal,
    changeset: &Changeset,
) -> Result<Vec<(RepoPath, Vec<u8>)>> {
    let patch = store.patch(&proposal.current().changes, changeset);
    Ok(vec![document(proposal)?, (inside(&proposal.id, PATCH)?, patch)])
}

/// The one of them that says more with every event.
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

/// Writes the projection of a pending proposal into the present work tree; of one whose changes are the same
/// as before what is said of it.
///
/// # Errors
/// If a file cannot be written, or a symlink is in the way.
pub(super) fn make(store: &Store, proposal: &Proposal, is_same: bool) -> Result<()> {
    let Some(top) = store.repository().work_dir() else { return Ok(()) };
    let tree = store.repository().worktree()?.without_conversion();
    if is_same {
        return tree.write_files(&[document(proposal)?]);
    }
    let ignore = RepoPath::new(format!("{DIRECTORY}/.gitignore"))?;
    if !top.join(ignore.to_path()).symlink_metadata().is_ok_and(|found| found.is_file()) {
        // A process that was stopped right here before has left the file under another name.
        let names = tree.names(&RepoPath::new(DIRECTORY)?).unwrap_or_default();
        for left in names.iter().filter(|name| name.starts_with(TEMPORARY.as_bytes())) {
            tree.remove_file(&RepoPath::new(format!("{DIRECTORY}/{left}"))?)?;
        }
        // Keeps `git status` clean in a repository where `aye init` has not been run.
        tree.write_file(&ignore, b"*\n", Mode::Regular, Flush::No)?;
    }
    let changeset = store.changeset(proposal.current())?;
    tree.write_files(&files(store, proposal, &changeset)?)?;
    if store.repository().repo().git_dir() != store.repository().repo().common_dir() {
        note_linked(store)?;
    }
    Ok(())
}

/// Name of the file in aye's own directory that is there once a linked work tree has had a projection: it goes
/// with that tree, and is no damage then.
const LINKED: &str = "linked";

fn note_linked(store: &Store) -> Result<()> {
    let private = store.repository().make_private()?;
    match private.read(LINKED)? {
        Some(_) => Ok(()),
        None => private.replace(LINKED, b"", false),
    }
}

/// Whether proposals may have been made in other work trees, which may be gone.
fn was_linked(store: &Store) -> bool {
    let noted = || store.repository().private().ok()??.read(LINKED).ok()?;
    store.repository().has_linked() || noted().is_some()
}

/// Writes the projection of a pending proposal again in other work trees that have it: what is older there
/// would look as if somebody had edited it.
///
/// # Errors
/// As [`make`].
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

/// Removes the projection of `id` from every work tree of the repository.
///
/// # Errors
/// If a directory cannot be removed.
pub(super) fn remove(store: &Store, id: &ProposalId) -> Result<()> {
    let path = directory(id)?;
    for root in store.repository().work_trees() {
        if root.join(path.to_path()).symlink_metadata().is_ok() {
            Worktree::open(&root)?.remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// Removes the directory of all projections from every work tree where nothing is left in it.
///
/// # Errors
/// If a file cannot be removed.
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

/// Copies the projection of `id` in the present work tree to `aye/broken/proposals/<id>` in the git
/// directory.
///
/// # Errors
/// `private_dir_unsafe`, and the system's refusal.
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

/// Finds projections of the present work tree that are not what the store would write.
pub(super) struct Examiner<'a> {
    store: &'a Store,
    tree: Worktree,
    /// Whether proposals may have been made in other work trees, which may be gone.
    was_linked: bool,
    found: Vec<Tampering>,
}

impl<'a> Examiner<'a> {
    /// `None` where there is no work tree.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn new(store: &'a Store) -> Result<Option<Self>> {
        if store.repository().repo().workdir().is_none() {
            return Ok(None);
        }
        let tree = store.repository().worktree()?.without_conversion();
        // A proposal that was made in a linked work tree has its files there, and loses them with
        // it.
        Ok(Some(Self { store, tree, was_linked: was_linked(store), found: Vec::new() }))
    }

    /// Looks at the files of a pending proposal, whose changes are `changeset`. If `is_due` they may be older, or missing: what other clones have done is no
    /// damage.
    ///
    /// # Errors
    /// `internal_error` if the files cannot be composed.
    pub(super) fn proposal(
        &mut self,
        proposal: &Proposal,
        changeset: &Changeset,
        is_due: bool,
    ) -> Result<()> {
        let (tree, id) = (&self.tree, &proposal.id);
        let files = files(self.store, proposal, changeset)?;
        let directory = directory(id)?;
        let names = tree.names(&directory).unwrap_or_default();
        if names.iter().any(|name| name != DOCUMENT && name != PATCH) {
            // Left by a process that was stopped, or put there by somebody.
            let path = directory.clone();
            self.found.push(Tampering { id: id.clone(), path, what: "unexpected" });
        }
        // A partial clone makes none of what it fetches: contents would have to come for it.
        let may_lack_all = self.was_linked || self.store.repository().is_partial();
        if is_due || may_lack_all && names.is_empty() {
            return Ok(());
        }
        for (path, expected) in files {
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

    /// What was found, and files of proposals that are neither `pending` nor about to follow.
    ///
    /// # Errors
    /// `path_invalid`, which cannot be.
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
