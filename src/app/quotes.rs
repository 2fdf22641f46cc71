//! The lines of comments, followed from revision to revision.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use crate::changeset::hunks::Text;
use crate::changeset::{RepoPath, anchor, moves};
use crate::proposal::conversation::CommentLocation;
use crate::proposal::event::{ChangeRecord, Comment};
use crate::proposal::state::Revision;
use crate::proposal::{Entry, Proposal};
use crate::store::Store;

/// Bytes of lines that are quoted of one comment.
const MOST_QUOTED: usize = 64 << 10;
/// Files that are compared with one that a later revision may have renamed.
const MOST_COMPARED: usize = 100;

/// The place of each comment on `proposal`, in the order of the comments. It is open if content is
/// not in this clone.
pub fn places(store: &Store, proposal: &Proposal) -> Vec<CommentLocation> {
    let mut read = Contents { store, read: BTreeMap::new() };
    let place = |remark: &crate::proposal::state::Remark| {
        read.place(proposal, &remark.comment).unwrap_or_default()
    };
    proposal.comments.iter().map(place).collect()
}

/// Contents that several comments are about.
struct Contents<'s> {
    store: &'s Store,
    read: BTreeMap<String, Option<Vec<u8>>>,
}

impl Contents<'_> {
    fn place(&mut self, proposal: &Proposal, comment: &Comment) -> Option<CommentLocation> {
        let path = comment.path.as_ref()?;
        let current = proposal.current();
        let said_of = match comment.revision.as_deref() {
            Some(revision) => proposal.revision(revision)?,
            None => current,
        };
        let now = if said_of.event == current.event {
            change(current, path)
        } else {
            self.present(said_of, current, path)
        };
        // The present name of a renamed file.
        let moved = now.map(|now| &now.path).filter(|now| *now != path).cloned();
        let now = now.and_then(content);
        let Some((first, last)) = comment.lines() else {
            let is_outdated = now.is_none();
            return Some(CommentLocation {
                path: moved,
                is_outdated,
                ..CommentLocation::default()
            });
        };
        let before = self.bytes(change(said_of, path).and_then(content)?)?.to_owned();
        let text = Text::new(before.as_slice());
        let lines = (first as usize).checked_sub(1)?..last as usize;
        if lines.end > text.len() {
            return Some(CommentLocation { is_outdated: true, ..CommentLocation::default() });
        }
        let quoted = text.lines(lines.clone());
        let quote = (quoted.len() <= MOST_QUOTED).then(|| quoted.to_str_lossy().into_owned());
        let gone = CommentLocation {
            quote: quote.clone(),
            is_outdated: true,
            ..CommentLocation::default()
        };
        if said_of.event == current.event {
            let lines = Some((first, last));
            return Some(CommentLocation { quote, lines, ..CommentLocation::default() });
        }
        let Some(now) = now else { return Some(gone) };
        let Some(after) = self.bytes(now) else {
            return Some(CommentLocation { is_outdated: false, ..gone });
        };
        let Some(found) = anchor::follow(&before, after, lines) else { return Some(gone) };
        let number = |line: usize| u32::try_from(line).ok();
        let lines = number(found.start + 1).zip(number(found.end));
        Some(CommentLocation { path: moved, quote, lines, is_outdated: false })
    }

    /// The change of `current` to the file that `said_of` calls `path`. It has that name, or the
    /// one that `current` moves the file to. Otherwise it is a file that `said_of` does not change,
    /// with the same content or, as in git's renames, half of its lines.
    fn present<'r>(
        &mut self,
        said_of: &'r Revision,
        current: &'r Revision,
        path: &RepoPath,
    ) -> Option<&'r ChangeRecord> {
        let then = change(said_of, path)?;
        let same = change(current, path);
        let is_there = same.is_some_and(|same| same.after.is_some());
        // Comments on a deleted file count the old lines.
        if then.after.is_none() || is_there {
            return same;
        }
        let from = [Some(path), then.origin.as_ref()];
        let moved = current.changes.iter().find(|change| {
            change.after.is_some()
                && change.origin.is_some()
                && from.contains(&change.origin.as_ref())
        });
        // The move was dropped, and the file is changed at its old path.
        let back = then.origin.as_ref().and_then(|origin| change(current, origin));
        let back = back.filter(|back| back.after.is_some());
        if let Some(found) = moved.or(back) {
            return Some(found);
        }
        let others: Vec<&ChangeRecord> = current
            .changes
            .iter()
            .filter(|other| other.after.is_some() && change(said_of, &other.path).is_none())
            .take(MOST_COMPARED)
            .collect();
        let is_same = |other: &&&ChangeRecord| {
            other.after == then.after || then.before.is_some() && other.before == then.before
        };
        if let Some(found) = others.iter().find(is_same) {
            return Some(found);
        }
        let before = self.bytes(then.after.as_ref()?)?.to_owned();
        let mut best = None;
        for other in others.into_iter().filter(|other| other.before.is_none()) {
            let Some(after) = other.after.as_ref().and_then(|entry| self.bytes(entry)) else {
                continue;
            };
            let score = moves::similarity(&before, after);
            if score >= moves::RENAMED && best.is_none_or(|(most, _)| score > most) {
                best = Some((score, other));
            }
        }
        best.map(|(_, other)| other).or(same)
    }

    fn bytes(&mut self, entry: &Entry) -> Option<&[u8]> {
        let store = self.store;
        let read = self.read.entry(entry.id.clone());
        read.or_insert_with(|| store.file(entry).ok().map(|file| file.bytes)).as_deref()
    }
}

fn change<'r>(revision: &'r Revision, path: &RepoPath) -> Option<&'r ChangeRecord> {
    revision.changes.iter().find(|change| change.path == *path)
}

/// The content in which a comment counts lines: the proposed one, or that of a deleted file.
fn content(change: &ChangeRecord) -> Option<&Entry> {
    change.after.as_ref().or(change.before.as_ref())
}
