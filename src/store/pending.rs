//! `refs/aye/pending/<id>`: a pending proposal as a commit for plain git. Local, rebuildable, never
//! read back.

use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice as _};
use chrono::{DateTime, Utc};
use gix::ObjectId;
use gix::objs::Tree;

use super::objects::Batch;
use super::trees::{self, Leaf};
use super::{Store, View, refs};
use crate::error::Result;
use crate::flush::FlushMethod;
use crate::proposal::{Proposal, ProposalId, trailers};
use crate::repository::damaged;
use crate::text;

/// The beginning of the message of a commit with the files that a proposal was made on.
const MADE_ON: &str = "The files as ";

/// Creates or moves the ref of `proposal`. Its parent is the commit of the only lower proposal, if
/// that has every file as `proposal` starts from it.
pub(super) fn make(
    store: &Store,
    proposal: &Proposal,
    view: &View<'_>,
    now: DateTime<Utc>,
) -> Result<ObjectId> {
    let mut batch = Batch::new(store.repository());
    let head = store.repository().checkout().ok().and_then(|head| head.commit);
    let base = match on_lower(store, proposal, head, view, now) {
        Some(base) => base,
        None => base(store, proposal, head, &mut batch)?,
    };
    // The next step reads this tree.
    batch.write(FlushMethod::No)?;
    let commit = on_base(store, proposal, base, &mut batch)?;
    batch.write(FlushMethod::No)?;
    refs::set(store.repository(), &name(&proposal.id), commit)?;
    Ok(commit)
}

/// True if the proposal's content is here: git stops at a ref that leads to missing objects.
pub(super) fn has_content(store: &Store, proposal: &Proposal) -> bool {
    let current = proposal.current();
    store.require_held(&current.event, &current.changes).is_ok()
        && store.has_contents(&current.changes)
}

/// The reason why the ref of `proposal`, at `found`, is not at a commit that [`make`] would have
/// made. Nothing is written.
///
/// HEAD moves without the ref, so any commit counts as the HEAD of its time: the ref shows the
/// proposal's changes alone.
pub(super) fn moved(store: &Store, proposal: &Proposal, found: ObjectId) -> Option<String> {
    let parent = |id: ObjectId| -> Option<Option<ObjectId>> {
        let commit = store.repository().repo().find_commit(id).ok()?;
        let mut parents = commit.parent_ids().map(gix::Id::detach);
        let first = parents.next();
        parents.next().is_none().then_some(first)
    };
    let rebuilt = || -> Option<bool> {
        let above = parent(found)?;
        // The parent is HEAD, or a commit between that makes the files fit.
        let heads = [above, above.and_then(|above| parent(above).flatten())];
        Some(heads.into_iter().any(|head| {
            // The batch is not written: objects of a right ref exist.
            let mut composed = Batch::new(store.repository());
            base(store, proposal, head, &mut composed)
                .ok()
                .filter(|base| base.0 == above)
                .and_then(|base| on_base(store, proposal, base, &mut composed).ok())
                .is_some_and(|commit| commit == found)
        }))
    };
    (rebuilt() != Some(true)).then(|| format!("is at {found}, which is not the proposal's commit"))
}

type Base = (Option<ObjectId>, Option<ObjectId>);

/// The commit of the lower proposal, if that has every file as `proposal` starts from it. Without a
/// recorded one it is the only proposal that makes a file which HEAD has otherwise.
fn on_lower(
    store: &Store,
    proposal: &Proposal,
    head: Option<ObjectId>,
    view: &View<'_>,
    now: DateTime<Utc>,
) -> Option<Base> {
    let repo = store.repository().repo();
    let tree_of = |commit: ObjectId| Some(repo.find_commit(commit).ok()?.tree_id().ok()?.detach());
    let current = proposal.current();
    let differs = |tree: Option<ObjectId>| {
        current
            .changes
            .iter()
            .find(|change| store.repository().entry_at(tree, &change.path) != change.before)
    };
    let id = match &current.on {
        Some(on) => on.proposal.clone(),
        None => {
            let base = differs(head.and_then(tree_of))?;
            let made = (&base.path, base.before.as_ref()?);
            view.only_one_making(made, &proposal.id, now).ok()??
        }
    };
    let commit = refs::target(store.repository(), &name(&id)).ok()??;
    let tree = tree_of(commit)?;
    differs(Some(tree)).is_none().then_some((Some(commit), Some(tree)))
}

/// The parent of the proposal's commit if HEAD is `head`: HEAD, or a commit on it with the files as
/// the proposal was made on them.
fn base(
    store: &Store,
    proposal: &Proposal,
    head: Option<ObjectId>,
    sink: &mut Batch<'_>,
) -> Result<Base> {
    let repo = store.repository().repo();
    let head_tree = match head {
        None => None,
        Some(head) => {
            repo.find_commit(head).ok().and_then(|head| head.tree_id().ok().map(gix::Id::detach))
        }
    };
    let mut different: Vec<Leaf> = Vec::new();
    for change in &proposal.current().changes {
        if store.repository().entry_at(head_tree, &change.path) != change.before {
            different.push(trees::leaf(&change.path, change.before.as_ref())?);
        }
    }
    if different.is_empty() && head.is_some() {
        return Ok((head, head_tree));
    }
    let id = trees::edit(repo, sink, tree(repo, head_tree)?, &different)?;
    let message = format!("{MADE_ON}{} was made on them", proposal.id);
    let parents: Vec<ObjectId> = head.into_iter().collect();
    let revision = proposal.current();
    let seconds = revision.at.timestamp();
    let commit = trees::commit(sink, id, &parents, &revision.actor, seconds, &[], &message)?;
    Ok((Some(commit), Some(id)))
}

/// The commit of `proposal` on its [`base`], whose tree can be read.
fn on_base(
    store: &Store,
    proposal: &Proposal,
    (parent, parent_tree): Base,
    sink: &mut Batch<'_>,
) -> Result<ObjectId> {
    let revision = proposal.current();
    let leaves: Result<Vec<Leaf>> = revision
        .changes
        .iter()
        .map(|change| trees::leaf(&change.path, change.after.as_ref()))
        .collect();
    let id = trees::edit(
        store.repository().repo(),
        sink,
        tree(store.repository().repo(), parent_tree)?,
        &leaves?,
    )?;
    let parents: Vec<ObjectId> = parent.into_iter().collect();
    let (seconds, message) = (revision.at.timestamp(), message(proposal));
    trees::commit(sink, id, &parents, &revision.actor, seconds, &[], &message)
}

fn tree(repo: &gix::Repository, id: Option<ObjectId>) -> Result<Tree> {
    let Some(id) = id else { return Ok(Tree::empty()) };
    let unreadable = |error: &dyn std::fmt::Display| damaged("the tree of HEAD", error);
    let found = repo.find_tree(id).map_err(|error| unreadable(&error))?;
    Ok(Tree::from(found.decode().map_err(|error| unreadable(&error))?))
}

pub(super) fn remove_all<'i>(
    store: &Store,
    ids: impl IntoIterator<Item = &'i ProposalId>,
) -> Result<()> {
    let names: Vec<_> = ids.into_iter().map(|id| (name(id), None)).collect();
    if names.is_empty() {
        return Ok(());
    }
    refs::delete(store.repository(), &names, false).map(drop)
}

/// Copies the ref of `id` to `refs/aye/broken/pending/<id>`, if its commit is here.
///
/// # Errors
/// `busy`, `io_error`.
pub(super) fn keep(store: &Store, id: &ProposalId) -> Result<()> {
    match refs::target(store.repository(), &name(id))? {
        Some(commit) if store.repository().repo().find_header(commit).is_ok() => {
            refs::set(store.repository(), &format!("refs/aye/broken/pending/{id}"), commit)
        }
        _ => Ok(()),
    }
}

pub(super) fn targets(store: &Store) -> Result<BTreeMap<ProposalId, ObjectId>> {
    let mut found = BTreeMap::new();
    refs::each(store.repository(), refs::PENDING, |name, target| {
        let id = name.rsplit('/').next().and_then(|id| ProposalId::parse(id).ok());
        found.extend(id.map(|id| (id, target)));
    })?;
    Ok(found)
}

fn name(id: &ProposalId) -> String {
    format!("{}{id}", refs::PENDING)
}

fn message(proposal: &Proposal) -> String {
    let first = proposal.current().changes.first().map(|change| change.path.display().to_string());
    let subject = match proposal.title() {
        Some(line) if !line.trim().is_empty() => line.trim().chars().take(200).collect(),
        _ => format!("Proposal for {}", first.unwrap_or_default()),
    };
    let (subject, by) = (text::one_line(&subject), text::one_line(&proposal.proposed_by));
    format!("{subject}\n\nProposal-Id: {}\nProposed-by: {by}\n", proposal.id)
}

/// The proposal whose commit has this message; `None` if [`make`] did not create it.
pub(super) fn named(message: &BStr) -> Option<ProposalId> {
    let id = match message.strip_prefix(MADE_ON.as_bytes()) {
        Some(rest) => rest.split_str(" ").next()?.to_str().ok()?,
        None => trailers::named(message).next()?,
    };
    ProposalId::parse(id).ok()
}
