//! What merges of lines make of approved steps, where these are not on the files that they were approved for: as
//! `git rebase`, `git cherry-pick`, `git commit -p` and a squash merge do.

use super::approved::Cover;
use crate::changeset::merge::{Merged, Sides, merge};
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::proposal::Entry;
use crate::proposal::steps::Step;
use crate::store::Store;

/// How many contents are followed.
const MOST: usize = 64;

/// Whether a commit that has `made` of `path`, and its parent `parent`, has a step that `cover` approves merged into
/// what the parent has; with others of `beside`, one after the other, where it holds several. The step itself, on
/// the very content that it was approved for, is one.
///
/// # Errors
/// `object_missing`.
pub fn is_merged(
    store: &Store,
    (cover, beside): (&Cover, &[Cover]),
    path: &RepoPath,
    [parent, made]: [&Option<Entry>; 2],
) -> Result<bool> {
    let at_path = |step: &&Step| step.path == *path;
    let mut own = cover.steps.iter().filter(at_path).peekable();
    if own.peek().is_none() {
        return Ok(false);
    }
    if own.any(|step| (&step.before, &step.after) == (parent, made)) {
        return Ok(true);
    }
    let mut covers: Vec<&Cover> = beside.iter().filter(|other| *other != cover).collect();
    covers.push(cover);
    covers.sort_by_key(|cover| cover.at);
    let file = |entry: &Option<Entry>| entry.as_ref().map(|entry| store.file(entry)).transpose();
    let made = file(made)?;
    // What is reached, and whether by a step of `cover`.
    let mut reached: Vec<(Option<File>, bool)> = vec![(file(parent)?, false)];
    for one in covers {
        for step in one.steps.iter().filter(at_path) {
            let (before, after) = (file(&step.before)?, file(&step.after)?);
            for at in 0..reached.len() {
                let (content, has_it) = &reached[at];
                let next =
                    merged([&before, content, &after]).map(|next| (next, *has_it || one == cover));
                if let Some(next) =
                    next.filter(|next| reached.len() < MOST && !reached.contains(next))
                {
                    reached.push(next);
                }
            }
        }
    }
    Ok(reached.contains(&(made, true)))
}

/// What `after`, made of `base`, makes of `ours`; `None` where these do not merge.
fn merged([base, ours, after]: [&Option<File>; 3]) -> Option<Option<File>> {
    if ours == base {
        return Some(after.clone());
    }
    let (base, ours, after) = (base.as_ref()?, ours.as_ref()?, after.as_ref()?);
    let mode = if ours.mode == base.mode { after.mode } else { ours.mode };
    match merge(&base.bytes, &ours.bytes, &after.bytes, Sides { ours: "", theirs: "" }) {
        Merged::Clean(bytes) => Some(Some(File { bytes, mode })),
        _ => None,
    }
}
