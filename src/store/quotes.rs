//! Where the lines of comments are, revision after revision.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use super::Store;
use crate::changeset::hunks::Text;
use crate::changeset::{RepoPath, anchor};
use crate::proposal::conversation::Place;
use crate::proposal::event::Comment;
use crate::proposal::state::Revision;
use crate::proposal::{Entry, Proposal};

/// Most bytes of lines that are quoted of one comment.
const MOST_QUOTED: usize = 64 << 10;

impl Store {
    /// Where the lines of each comment on `proposal` are, in the order of the comments. Content that is
    /// not here leaves it open.
    pub fn places(&self, proposal: &Proposal) -> Vec<Place> {
        let mut read = Contents { store: self, read: BTreeMap::new() };
        let place = |remark: &crate::proposal::state::Remark| {
            read.place(proposal, &remark.comment).unwrap_or_default()
        };
        proposal.comments.iter().map(place).collect()
    }
}

/// Contents that several comments are about.
struct Contents<'s> {
    store: &'s Store,
    read: BTreeMap<String, Option<Vec<u8>>>,
}

impl Contents<'_> {
    fn place(&mut self, proposal: &Proposal, comment: &Comment) -> Option<Place> {
        let path = comment.path.as_ref()?;
        let current = proposal.current();
        let said_of = match comment.revision.as_deref() {
            Some(revision) => proposal.revision(revision)?,
            None => current,
        };
        let now = entry(current, path);
        let Some((first, last)) = comment.lines() else {
            return Some(Place { is_outdated: now.is_none(), ..Place::default() });
        };
        let before = self.bytes(entry(said_of, path)?)?.to_owned();
        let text = Text::new(before.as_slice());
        let lines = (first as usize).checked_sub(1)?..last as usize;
        if lines.end > text.len() {
            return Some(Place { is_outdated: true, ..Place::default() });
        }
        let quoted = text.lines(lines.clone());
        let quote = (quoted.len() <= MOST_QUOTED).then(|| quoted.to_str_lossy().into_owned());
        let gone = Place { quote: quote.clone(), lines: None, is_outdated: true };
        if said_of.event == current.event {
            return Some(Place { quote, lines: Some((first, last)), is_outdated: false });
        }
        let Some(now) = now else { return Some(gone) };
        let Some(after) = self.bytes(now) else {
            return Some(Place { is_outdated: false, ..gone });
        };
        let Some(found) = anchor::follow(&before, after, lines) else { return Some(gone) };
        let number = |line: usize| u32::try_from(line).ok();
        let lines = number(found.start + 1).zip(number(found.end));
        Some(Place { quote, lines, is_outdated: false })
    }

    fn bytes(&mut self, entry: &Entry) -> Option<&[u8]> {
        let store = self.store;
        let read = self.read.entry(entry.id.clone());
        read.or_insert_with(|| store.file(entry).ok().map(|file| file.bytes)).as_deref()
    }
}

/// The file that a comment on `path` counts its lines in: the proposed one, and of a deleted one what it was.
fn entry<'r>(revision: &'r Revision, path: &RepoPath) -> Option<&'r Entry> {
    let change = revision.changes.iter().find(|change| change.path == *path)?;
    change.after.as_ref().or(change.before.as_ref())
}
