//! Content of private threads, recognised by whole files and by the lines that they add. A shared
//! event with such content would disclose it.

use std::borrow::Cow;
use std::collections::HashSet;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::purge::{PurgedLines, changed_files};
use super::{Store, View};
use crate::changeset::{FileChange, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::event::Written;
use crate::proposal::{ChangeRecord, Entry, ProposalId};

/// File content that may belong to a private thread.
#[derive(Clone, Copy, Debug)]
pub struct Content<'c> {
    path: &'c RepoPath,
    origin: Option<&'c RepoPath>,
    entry: &'c Entry,
    /// The bytes, if the caller has them; otherwise they are read from the object or the work tree.
    bytes: Option<&'c [u8]>,
    /// The result of a change; otherwise what the change starts from.
    is_result: bool,
}

impl<'c> Content<'c> {
    pub fn before(path: &'c RepoPath, before: Option<&'c Entry>) -> Option<Self> {
        let (origin, bytes, is_result) = (None, None, false);
        Some(Self { path, origin, entry: before?, bytes, is_result })
    }

    pub fn before_change(change: &'c ChangeRecord) -> Option<Self> {
        Self::before(&change.path, change.before.as_ref())
    }

    pub fn result(change: &'c FileChange, record: &'c ChangeRecord) -> Option<Self> {
        let (path, origin) = (&change.path, change.origin.as_ref());
        let bytes = change.after.as_ref().map(|file| &*file.bytes);
        Some(Self { path, origin, entry: record.after.as_ref()?, bytes, is_result: true })
    }

    pub fn written(file: &'c Written) -> Option<Self> {
        let (path, entry) = (&file.path, file.after.as_ref()?);
        Some(Self { path, origin: None, entry, bytes: None, is_result: true })
    }

    fn paths(&self) -> impl Iterator<Item = &'c RepoPath> {
        std::iter::once(self.path).chain(self.origin)
    }
}

type Step = (RepoPath, Option<Entry>, Option<Entry>);

impl Store {
    /// True if one of `contents` comes from a private thread and is not in HEAD. The thread of
    /// `but` and its own content do not count.
    pub fn is_from_private<'c>(
        &self,
        view: &View<'_>,
        but: Option<&ProposalId>,
        contents: impl Iterator<Item = Content<'c>>,
    ) -> Result<bool> {
        let mut known = None;
        for content in contents {
            let (has_private, purged) = match &known {
                Some(known) => known,
                None => known.insert((view.has_private()?, self.purged_lines()?)),
            };
            if !has_private && purged.is_empty() {
                return Ok(false);
            }
            let Content { path, entry, .. } = content;
            if self.repository().id_in_head(path).is_some_and(|id| id == entry.id) {
                continue;
            }
            let mut steps = Vec::new();
            for at in content.paths() {
                for id in view.private_at(at)? {
                    if but.is_none_or(|but| !but.is_of(&id.to_string())) {
                        steps.extend(view.steps_at(&id, at)?);
                    }
                }
            }
            let is_it =
                |(_, _, after): &Step| after.as_ref().is_some_and(|after| after.id == entry.id);
            if steps.iter().any(is_it) || self.has_lines_of(view, (&steps, purged), but, &content) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if `content` has a line that one of `steps`, or a purged private proposal, added and
    /// that HEAD lacks: a person may have edited the file since. Content that is not in this clone
    /// is not compared.
    fn has_lines_of(
        &self,
        view: &View<'_>,
        (steps, purged): (&[Step], &PurgedLines),
        but: Option<&ProposalId>,
        content: &Content<'_>,
    ) -> bool {
        if steps.is_empty() && purged.is_empty() {
            return false;
        }
        let mut known = Vec::new();
        for at in content.paths() {
            known.extend(self.content_here(self.repository().id_in_head(at).as_deref()));
            known.push(b'\n');
        }
        if let Some(id) = but.filter(|_| content.is_result).and_then(|but| view.thread_id(but).ok())
        {
            for at in content.paths() {
                for (_, _, after) in view.steps_at(&id, at).unwrap_or_default() {
                    known.extend(self.side(&after));
                    known.push(b'\n');
                }
            }
        }
        let bytes = self.bytes_of(content);
        let mut lines = brought(&known, &bytes);
        if content.is_result {
            // Lines without letters or digits occur in every file.
            lines.retain(|line| says_something(line));
        }
        let brings = |(_, before, after): &Step| {
            !brought(&self.side(before), &self.side(after)).is_disjoint(&lines)
        };
        !lines.is_empty()
            && (steps.iter().any(brings)
                || content.paths().any(|at| purged.has(at, lines.iter().copied())))
    }

    fn purged_lines(&self) -> Result<PurgedLines> {
        match self.repository().private()? {
            Some(private) => PurgedLines::read(&private),
            None => Ok(PurgedLines::default()),
        }
    }

    fn bytes_of<'c>(&self, content: &Content<'c>) -> Cow<'c, [u8]> {
        let Content { path, entry, bytes, .. } = *content;
        match bytes {
            Some(bytes) => Cow::Borrowed(bytes),
            None if self.repository().has(&entry.id) => {
                Cow::Owned(self.content_here(Some(&entry.id)))
            }
            // The present file of a new proposal is not an object yet.
            None => Cow::Owned(self.present(path, entry).unwrap_or_default()),
        }
    }

    pub(super) fn side(&self, entry: &Option<Entry>) -> Vec<u8> {
        self.content_here(entry.as_ref().map(|entry| entry.id.as_str()))
    }

    /// A blob; empty if it is not in this clone: a partial clone fetches nothing for this.
    pub(super) fn content_here(&self, id: Option<&str>) -> Vec<u8> {
        let id = id.filter(|id| self.repository().has(id));
        id.and_then(|id| self.blob(id).ok()).unwrap_or_default()
    }

    /// The file at `path` in the work tree, if it is `entry`.
    pub(super) fn present(&self, path: &RepoPath, entry: &Entry) -> Option<Vec<u8>> {
        let file = self.repository().worktree().ok()?.file(path).ok()??;
        (self.entry_of(&file).ok()?.id == entry.id).then(|| file.bytes.to_vec())
    }
}

impl View<'_> {
    /// The changes of the thread `id` to the file at `path`, in all revisions and decisions.
    fn steps_at(&self, id: &ObjectId, path: &RepoPath) -> Result<Vec<Step>> {
        let thread = self.thread_of(id)?;
        let steps = thread.history.events().iter().flat_map(changed_files);
        let steps = steps.filter(|(at, _)| at == path);
        Ok(steps.map(|(path, [before, after])| (path, before, after)).collect())
    }
}

/// The trimmed, non-empty lines of `new` that `old` lacks.
pub(super) fn brought<'t>(old: &[u8], new: &'t [u8]) -> HashSet<&'t [u8]> {
    let known: HashSet<&[u8]> = old.lines().map(<[u8]>::trim).collect();
    let lines = new.lines().map(<[u8]>::trim);
    lines.filter(|line| !line.is_empty() && !known.contains(line)).collect()
}

/// True if a line has a letter or digit. Lines of punctuation occur everywhere and identify
/// nothing.
pub(super) fn says_something(line: &[u8]) -> bool {
    line.iter().any(|b| b.is_ascii_alphanumeric() || *b >= 0x80)
}
