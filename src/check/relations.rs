//! Which pending proposals stand on others, or touch the same lines.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::commits;
use super::fit::Fit;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::proposal::relations::{Lower, Relations};
use crate::store::{Store, View};

/// A stack is no higher than this: what is deeper is not looked for.
pub const MOST_HIGH: usize = 20;

/// What the pending proposals have to do with each other, held against HEAD and the work tree: see
/// [`View::relations`]. A file is read only where a proposal starts from what another one makes of it.
///
/// # Errors
/// If the store or the work tree cannot be read.
pub fn relations(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
) -> Result<BTreeMap<ProposalId, Relations>> {
    let tree = store.work_dir().is_some().then(|| store.worktree()).transpose()?;
    let fit = Fit::new(store, tree.as_ref());
    let mut head = None;
    view.relations(now, |path, entry| {
        let Ok(path) = RepoPath::new(path) else { return false };
        let head = *head.get_or_insert_with(|| commits::head_tree(store));
        commits::entry_at(store, head, &path).as_ref() == Some(entry)
            || fit.holds(&path).flatten().as_ref() == Some(entry)
    })
}

/// `stands on prop_x`, with the first of several.
pub fn stands_on(lower: &[Lower]) -> Option<String> {
    let (first, more) = lower.split_first()?;
    let revised = if first.is_revised { " (an earlier revision)" } else { "" };
    let others = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("stands on {}{revised}{others}", first.id))
}
