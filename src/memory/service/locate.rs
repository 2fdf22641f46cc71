//! Looks up cited files and memory proposals.

use super::Service;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::memory::provenance::Sources;
use crate::proposal::event::Subject;
use crate::proposal::{Proposal, Status};
use crate::repository::Repository;
use crate::store::{Filter, View};

/// In the work tree and in git.
pub struct CitedFiles<'a>(pub &'a Repository);

impl Sources for CitedFiles<'_> {
    fn check_file(&self, reference: &str) -> Result<(), String> {
        if self.is_there(reference) {
            return Ok(());
        }
        // Names and revisions may hold an `@`: `@scope/x.js@HEAD`, `x.js@HEAD@{1}`.
        let ats = reference.rmatch_indices('@').map(|(at, _)| at);
        let splits = ats.filter(|at| *at > 0 && at + 1 < reference.len());
        let mut checked = splits.map(|at| self.check_at(&reference[..at], &reference[at + 1..]));
        if let Some(first) = checked.next() {
            return if checked.any(|check| check.is_ok()) { Ok(()) } else { first };
        }
        let Some(lines) = Lines::of(reference) else {
            return Err(format!("there is no file '{reference}' in this repository"));
        };
        match self.read(lines.path) {
            Some(text) => lines.check(&text),
            None => Err(format!("there is no file '{}' in this repository", lines.path)),
        }
    }

    fn committed(&self, path: &str) -> Option<String> {
        let blob = super::blob_in(&super::head_directory(self.0)?, path)?.object().ok()?;
        String::from_utf8(blob.detach().data).ok()
    }
}

impl CitedFiles<'_> {
    fn is_there(&self, path: &str) -> bool {
        let Ok(valid) = RepoPath::new(path.trim_end_matches('/')) else { return false };
        let Some(top) = self.0.work_dir() else { return false };
        // A symlink could lead out of the repository.
        let mut at = top;
        for component in valid.to_path().components() {
            at.push(component);
            match at.symlink_metadata() {
                Ok(meta) if !meta.file_type().is_symlink() => {}
                _ => return false,
            }
        }
        true
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        use crate::changeset::Snapshot as _;
        let path = RepoPath::new(path).ok()?;
        Some(self.0.worktree().ok()?.file(&path).ok()??.bytes)
    }

    fn check_at(&self, path: &str, revision: &str) -> Result<(), String> {
        // `path@rev:line`, or `path:line@rev`.
        let (file, revision, lines) = match (Lines::of(revision), Lines::of(path)) {
            (Some(lines), _) => (path, lines.path, Some(lines)),
            (None, Some(lines)) => (lines.path, revision, Some(lines)),
            (None, None) => (path, revision, None),
        };
        if RepoPath::new(file).is_err() {
            return Err(format!("'{file}' is not a path in this repository"));
        }
        let commit = self.0.repo().rev_parse_single(revision).ok();
        let tree = commit.and_then(|id| id.object().ok()?.peel_to_tree().ok());
        let Some(tree) = tree else {
            return Err(format!("there is no revision '{revision}' here"));
        };
        let entry = tree.lookup_entry_by_path(file).ok().flatten();
        match (entry.map(|entry| entry.object()), lines) {
            (None, _) => Err(format!("'{file}' is not in revision '{revision}'")),
            (Some(Ok(object)), Some(lines)) => Lines { path: file, ..lines }.check(&object.data),
            (Some(_), _) => Ok(()),
        }
    }
}

/// `path:12` or `path:12-20`.
struct Lines<'r> {
    path: &'r str,
    from: usize,
    to: usize,
}

impl<'r> Lines<'r> {
    fn of(reference: &'r str) -> Option<Self> {
        let (path, lines) = reference.rsplit_once(':')?;
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |text: &str| text.trim_start_matches('L').parse().ok();
        Some(Self { path, from: number(from)?, to: number(to)? })
    }

    fn check(&self, text: &[u8]) -> Result<(), String> {
        let Self { path, from, to } = *self;
        let count = bstr::ByteSlice::lines(text).count();
        if from == 0 || from > to || to > count {
            return Err(format!("'{path}' has {count} lines, so there is no line {to}"));
        }
        Ok(())
    }
}

/// Data that memory recorded with a proposal's changes.
pub fn memory_data<'p>(proposal: &'p Proposal, key: &str) -> Option<&'p serde_json::Value> {
    proposal.revisions.iter().rev().find_map(|revision| revision.memory.as_ref())?.get(key)
}

impl Service<'_> {
    /// Newest first; filtered by `status`.
    pub fn proposals(&self, view: &View, status: Option<Status>) -> Result<Vec<Proposal>> {
        let filter = Filter {
            status,
            subject: Some(Subject::Memory),
            newest_first: true,
            ..Filter::default()
        };
        view.proposals(&filter, self.now)?.iter().map(|row| view.proposal(&row.id)).collect()
    }
}
