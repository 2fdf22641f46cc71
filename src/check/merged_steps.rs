//! Approved steps merged into other contents by `git rebase`, `git cherry-pick`, `git commit -p` or
//! a squash merge.

use super::approvals::Cover;
use crate::changeset::merge::{MergeLabels, MergeOutcome, merge};
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::proposal::steps::FileStep;
use crate::proposal::{Entry, ProposalId};
use crate::repository::codes::OBJECT_MISSING;
use crate::store::Store;

/// True if a step of `cover`, merged into `parent`, gives `made`. Approvals in `beside` are merged
/// in order if the commit holds them. The unmerged step itself counts.
pub fn is_merged(
    store: &Store,
    cover: &Cover,
    beside: &[Cover],
    path: &RepoPath,
    parent: &Option<Entry>,
    made: &Option<Entry>,
) -> Result<bool> {
    match merges(store, cover, beside, path, parent, made) {
        // Approvals keep no contents: a missing one merges with nothing.
        Err(error) if error.is(&OBJECT_MISSING) => Ok(false),
        merges => merges,
    }
}

fn merges(
    store: &Store,
    cover: &Cover,
    beside: &[Cover],
    path: &RepoPath,
    parent: &Option<Entry>,
    made: &Option<Entry>,
) -> Result<bool> {
    let at_path = |step: &&FileStep| step.path == *path;
    let mut own = cover.steps.iter().filter(at_path).peekable();
    if own.peek().is_none() {
        return Ok(false);
    }
    if own.any(|step| (&step.before, &step.after) == (parent, made)) {
        return Ok(true);
    }
    // Symlink targets are never merged.
    if [parent, made].into_iter().flatten().any(|entry| !entry.is_regular()) {
        return Ok(false);
    }
    let mut covers: Vec<&Cover> = vec![cover];
    for other in beside.iter().filter(|other| other.proposal != cover.proposal) {
        covers.insert(covers.partition_point(|earlier| earlier.at <= other.at), other);
    }
    let file = |entry: &Option<Entry>| entry.as_ref().map(|entry| store.file(entry)).transpose();
    let mut content = file(parent)?;
    let next = |step: &FileStep, content: &Option<File>| -> Result<Option<Option<File>>> {
        Ok(merge_files([&file(&step.before)?, content, &file(&step.after)?]))
    };
    // One approval per proposal suffices; none if its content is there already.
    let mut taken: Vec<&ProposalId> = Vec::new();
    for one in covers.iter().copied() {
        if taken.contains(&&one.proposal) {
            continue;
        }
        let all = beside.iter().filter(|other| *other != cover).chain([cover]);
        let mut is_there = false;
        for step in all.filter(|it| it.proposal == one.proposal).flat_map(|it| &it.steps) {
            is_there |= at_path(&step) && next(step, &content)?.as_ref() == Some(&content);
        }
        let mut reached = is_there.then(|| content.clone());
        for step in one.steps.iter().filter(at_path) {
            reached = match reached {
                None => next(step, &content)?,
                some => some,
            };
        }
        if let Some(reached) = reached {
            content = reached;
            taken.push(&one.proposal);
        }
    }
    Ok(taken.contains(&&cover.proposal) && content == file(made)?)
}

/// Merges whole files; `None` for a conflict.
pub(super) fn merge_files([base, ours, after]: [&Option<File>; 3]) -> Option<Option<File>> {
    if ours == base {
        return Some(after.clone());
    }
    let (base, ours, after) = (base.as_ref()?, ours.as_ref()?, after.as_ref()?);
    let mode = if ours.mode == base.mode { after.mode } else { ours.mode };
    match merge(&base.bytes, &ours.bytes, &after.bytes, MergeLabels { ours: "", theirs: "" }) {
        MergeOutcome::Clean(bytes) => Some(Some(File { bytes, mode })),
        _ => None,
    }
}
