//! `refs/aye/pending/<id>`: a pending proposal as a commit, so that plain git works on it. Local,
//! rebuildable, never read back.

use gix::ObjectId;
use gix::objs::Tree;

use super::objects::Batch;
use super::trees::{self, Leaf};
use super::{Store, refs};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::proposal::{Entry, Proposal, ProposalId};

/// Makes or moves the ref of `proposal`.
///
/// # Errors
/// If objects or the ref cannot be written.
pub(super) fn make(store: &Store, proposal: &Proposal) -> Result<()> {
    let repo = &store.repo;
    let mut batch = Batch::new(repo);
    let changes = &proposal.current().changes;
    let head = repo.head_id().ok().map(gix::Id::detach);
    let head_tree = match head {
        None => None,
        Some(_) => repo.head_tree_id().ok().map(gix::Id::detach),
    };
    let tree = |id: Option<ObjectId>| -> Result<Tree> {
        let Some(id) = id else { return Ok(Tree::empty()) };
        let found =
            repo.find_tree(id).map_err(|error| Error::bug(format!("cannot read HEAD: {error}")))?;
        Ok(Tree::from(
            found.decode().map_err(|error| Error::bug(format!("cannot read HEAD: {error}")))?,
        ))
    };
    let seconds = proposal.current().at.timestamp();
    let actor = &proposal.current().actor;
    let mut different: Vec<Leaf> = Vec::new();
    for change in changes {
        if entry_at(repo, head_tree, &change.path) != change.before {
            different.push(leaf(&change.path, &change.before)?);
        }
    }
    let (parent, parent_tree) = if different.is_empty() && head.is_some() {
        (head, head_tree)
    } else {
        let id = trees::edit(repo, &mut batch, tree(head_tree)?, &different)?;
        let message = format!("The files as {} was made on them", proposal.id);
        let parents: Vec<ObjectId> = head.into_iter().collect();
        let commit = trees::commit(&mut batch, id, &parents, actor, seconds, &message)?;
        // The next step reads this tree.
        batch.write(Method::No)?;
        (Some(commit), Some(id))
    };
    let leaves: Result<Vec<Leaf>> =
        changes.iter().map(|change| leaf(&change.path, &change.after)).collect();
    let id = trees::edit(repo, &mut batch, tree(parent_tree)?, &leaves?)?;
    let message = message(proposal);
    let parents: Vec<ObjectId> = parent.into_iter().collect();
    let commit = trees::commit(&mut batch, id, &parents, actor, seconds, &message)?;
    batch.write(Method::No)?;
    refs::set(&store.common_dir, &name(&proposal.id), commit)
}

/// Removes the ref of `id`, if there is one.
///
/// # Errors
/// If the ref cannot be removed.
pub(super) fn remove(store: &Store, id: &ProposalId) -> Result<()> {
    refs::remove(&store.repo, &store.common_dir, &name(id))
}

/// The ids that have a ref.
///
/// # Errors
/// If the refs cannot be read.
pub(super) fn all(store: &Store) -> Result<Vec<ProposalId>> {
    let mut ids = Vec::new();
    refs::each(&store.repo, refs::PENDING, |name, _| {
        ids.extend(name.rsplit('/').next().and_then(|id| ProposalId::parse(id).ok()));
    })?;
    Ok(ids)
}

fn name(id: &ProposalId) -> String {
    format!("{}{id}", refs::PENDING)
}

fn message(proposal: &Proposal) -> String {
    let first = proposal.current().changes.first().map(|change| change.path.display().to_string());
    let subject = match proposal.description.as_deref().and_then(|text| text.lines().next()) {
        Some(line) if !line.trim().is_empty() => line.trim().chars().take(200).collect(),
        _ => format!("Proposal for {}", first.unwrap_or_default()),
    };
    let subject = crate::render::escape::line(&subject).into_owned();
    let by = crate::render::escape::line(&proposal.proposed_by).into_owned();
    format!("{subject}\n\nProposal-Id: {}\nProposed-by: {by}\n", proposal.id)
}

fn leaf(path: &crate::changeset::RepoPath, entry: &Option<Entry>) -> Result<Leaf> {
    let content = match entry {
        None => None,
        Some(entry) => {
            let id = ObjectId::from_hex(entry.id.as_bytes())
                .map_err(|_| Error::bug(format!("'{}' is no object id", entry.id)))?;
            Some((id, entry.file_mode()))
        }
    };
    Ok((trees::components(&[], path), content))
}

fn entry_at(
    repo: &gix::Repository,
    tree: Option<ObjectId>,
    path: &crate::changeset::RepoPath,
) -> Option<Entry> {
    let tree = repo.find_tree(tree?).ok()?;
    let found = tree.lookup_entry(path.components().map(|name| name.to_vec())).ok()??;
    let mode = found.mode();
    if !mode.is_blob() {
        return None;
    }
    let mode = if mode.is_executable() { "100755" } else { "100644" };
    Some(Entry { id: found.object_id().to_string(), mode: mode.into() })
}
