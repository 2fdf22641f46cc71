//! Whose content files have: what comes from a proposal or a direct patch for others is known by whole
//! files, and by the lines that it has brought.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use super::View;
use crate::changeset::{FileChange, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::event::Written;
use crate::proposal::state::Decision;
use crate::proposal::{ChangeRecord, Data, Entry, Event, Proposal, ProposalId};
use crate::store::purged::{PurgedLines, brought, says_something};
use crate::store::{Audience, Store, lists};

/// The content of a file, of which is asked whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Content<'c> {
    path: &'c RepoPath,
    /// The path that it was moved or copied from.
    origin: Option<&'c RepoPath>,
    entry: &'c Entry,
    /// Where they are at hand; as an object, or in the work tree, otherwise.
    bytes: Option<&'c [u8]>,
    /// It is what something leads to, and not what that stands on.
    is_result: bool,
}

impl<'c> Content<'c> {
    /// What stood at `path` before a change.
    pub fn before(path: &'c RepoPath, before: Option<&'c Entry>) -> Option<Self> {
        let (origin, bytes, is_result) = (None, None, false);
        Some(Self { path, origin, entry: before?, bytes, is_result })
    }

    /// What stood there before `change`.
    pub fn before_change(change: &'c ChangeRecord) -> Option<Self> {
        Self::before(&change.path, change.before.as_ref())
    }

    /// What `change` leads to, which is recorded as `record`.
    pub fn result(change: &'c FileChange, record: &'c ChangeRecord) -> Option<Self> {
        let (path, origin) = (&change.path, change.origin.as_ref());
        let bytes = change.after.as_ref().map(|file| &*file.bytes);
        Some(Self { path, origin, entry: record.after.as_ref()?, bytes, is_result: true })
    }

    /// What was written.
    pub fn written(file: &'c Written) -> Option<Self> {
        let (path, entry) = (&file.path, file.after.as_ref()?);
        Some(Self { path, origin: None, entry, bytes: None, is_result: true })
    }

    /// Where it is now, and where it comes from.
    fn paths(&self) -> impl Iterator<Item = &'c RepoPath> {
        std::iter::once(self.path).chain(self.origin)
    }
}

impl Store {
    /// Whether one of `contents` comes from a proposal or a direct patch for somebody else than
    /// `audience`, and is not in HEAD: whoever got it would get what is not for them. `but` is not looked
    /// at, nor is what it brings itself.
    ///
    /// # Errors
    /// Those of the store.
    pub fn stands_elsewhere<'c>(
        &self,
        view: &View,
        audience: &Audience,
        but: Option<&ProposalId>,
        contents: impl Iterator<Item = Content<'c>>,
    ) -> Result<bool> {
        if view.is_plain() {
            return Ok(false);
        }
        let (mut patched, mut purged) = (None, None);
        for content in contents {
            let Content { path, entry, .. } = content;
            if self.repository().id_in_head(path).is_some_and(|id| id == entry.id) {
                continue;
            }
            let mut others = Vec::new();
            for at in content.paths() {
                others.extend(view.of_others(audience, at)?.into_iter().map(|other| (at, other)));
            }
            others.retain(|(_, other)| Some(&other.id) != but);
            if others.iter().any(|(at, other)| leads_to(other, at, entry)) {
                return Ok(true);
            }
            let purged = match &purged {
                Some(purged) => purged,
                None => purged.insert(self.purged_lines()?),
            };
            if (!others.is_empty() || !purged.is_empty())
                && self.has_lines_of(view, audience, (&others, purged), but, &content)
            {
                return Ok(true);
            }
            let patched = match &patched {
                Some(patched) => patched,
                None => patched.insert(self.patched_elsewhere(view, audience)?),
            };
            if patched.contains(&(path.clone(), entry.id.clone())) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `content` has a line that one of `others` brings, or that a purged one has brought, and that HEAD
    /// has not: somebody has edited a file with it since. What cannot be read here is not compared.
    fn has_lines_of(
        &self,
        view: &View,
        audience: &Audience,
        (others, purged): (&[(&RepoPath, Proposal)], &PurgedLines),
        but: Option<&ProposalId>,
        content: &Content<'_>,
    ) -> bool {
        let mut known = Vec::new();
        for at in content.paths() {
            known.extend(self.content_here(self.repository().id_in_head(at).as_deref()));
            known.push(b'\n');
        }
        if let Some(but) = but.filter(|_| content.is_result)
            && let Ok(own) = view.proposal(but)
        {
            for change in content.paths().flat_map(|at| changes_at(&own, at)) {
                known.extend(self.side(&change.after));
                known.push(b'\n');
            }
        }
        let bytes = self.bytes_of(content);
        let mut lines = brought(&known, &bytes);
        if content.is_result {
            // Two people close a block in the same way.
            lines.retain(|line| says_something(line));
        }
        others.iter().any(|(at, other)| self.brings(other, at, &lines))
            || content.paths().any(|at| purged.has(at, lines.iter().copied(), audience))
    }

    /// Whether `other`, in any of its revisions, brings one of `lines` to `path`.
    fn brings(&self, other: &Proposal, path: &RepoPath, lines: &HashSet<&[u8]>) -> bool {
        !lines.is_empty()
            && changes_at(other, path).any(|change| {
                let (old, new) = (self.side(&change.before), self.side(&change.after));
                !brought(&old, &new).is_disjoint(lines)
            })
    }

    /// The bytes of `content`, as far as they are here.
    fn bytes_of<'c>(&self, content: &Content<'c>) -> Cow<'c, [u8]> {
        let Content { path, entry, bytes, .. } = *content;
        match bytes {
            Some(bytes) => Cow::Borrowed(bytes),
            None if self.repository().has(&entry.id) => {
                Cow::Owned(self.content_here(Some(&entry.id)))
            }
            // Of a proposal that is being made, the present file is not an object yet.
            None => Cow::Owned(self.present(path, entry).unwrap_or_default()),
        }
    }

    /// One side of a change, as far as it is here.
    pub(in crate::store) fn side(&self, entry: &Option<Entry>) -> Vec<u8> {
        self.content_here(entry.as_ref().map(|entry| entry.id.as_str()))
    }

    /// A blob; nothing where it is not here: what a partial clone has not fetched is not fetched for this.
    pub(in crate::store) fn content_here(&self, id: Option<&str>) -> Vec<u8> {
        let id = id.filter(|id| self.repository().has(id));
        id.and_then(|id| self.blob(id).ok()).unwrap_or_default()
    }

    /// What purged proposals had for others.
    fn purged_lines(&self) -> Result<PurgedLines> {
        match self.repository().private()? {
            Some(private) => PurgedLines::read(&private),
            None => Ok(PurgedLines::default()),
        }
    }

    /// The file at `path` in the work tree, if that is what `entry` names.
    pub(in crate::store) fn present(&self, path: &RepoPath, entry: &Entry) -> Option<Vec<u8>> {
        let file = self.repository().worktree().ok()?.file(path).ok()??;
        (self.entry_of(&file).ok()?.id == entry.id).then(|| file.bytes.to_vec())
    }

    /// What direct patches for others than `audience` have written.
    fn patched_elsewhere(
        &self,
        view: &View,
        audience: &Audience,
    ) -> Result<BTreeSet<(RepoPath, String)>> {
        let mut found = BTreeSet::new();
        for entry in view.patches()? {
            let of = view.audiences().of_lane(&entry.stamped.event.lane);
            if of.is_none_or(|of| of == *audience) {
                continue;
            }
            let mut event: Event = entry.stamped.event;
            lists::inflate(&self.repository().repo, &mut event)?;
            let written = match event.data {
                Data::Patch(patch) => patch.written,
                Data::Undo(undo) => undo.written,
                _ => continue,
            };
            let after = |file: Written| Some((file.path, file.after?.id));
            found.extend(written.into_iter().filter_map(after));
        }
        Ok(found)
    }
}

/// What `proposal`, in all of its revisions, makes of `path`.
fn changes_at<'p>(
    proposal: &'p Proposal,
    path: &RepoPath,
) -> impl Iterator<Item = &'p ChangeRecord> {
    let changes = proposal.revisions.iter().flat_map(|revision| &revision.changes);
    changes.filter(move |change| change.path == *path)
}

/// Whether `proposal`, in any of its revisions or as it was applied, makes of `path` what `entry` is.
fn leads_to(proposal: &Proposal, path: &RepoPath, entry: &Entry) -> bool {
    let is_it = |at: &RepoPath, after: Option<&Entry>| {
        at == path && after.is_some_and(|after| after.id == entry.id)
    };
    let mut changes = proposal.revisions.iter().flat_map(|revision| &revision.changes);
    if changes.any(|change| is_it(&change.path, change.after.as_ref())) {
        return true;
    }
    let all = |decision: &Decision| {
        let mut written = decision.written.iter().chain(&decision.amended);
        written.any(|file| is_it(&file.path, file.after.as_ref()))
    };
    proposal.applies().chain(&proposal.undone).any(all)
}
