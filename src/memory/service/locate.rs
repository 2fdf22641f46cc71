//! Looking things up: cited files, and proposals by whatever they are called.

use super::Service;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::memory::provenance::Sources;
use crate::proposal::event::Subject;
use crate::proposal::{Proposal, Status};
use crate::store::{Filter, Store, View};

/// Cited files, looked up in the work tree and in git.
pub struct Repository<'a>(pub &'a Store);

impl Sources for Repository<'_> {
    fn check_file(&self, reference: &str) -> Result<(), String> {
        if self.is_there(reference) {
            return Ok(());
        }
        // Names and revisions may themselves hold an `@`: `@scope/x.js@HEAD`, `x.js@HEAD@{1}`.
        let parts = |(at, _): (usize, &'_ str)| (&reference[..at], &reference[at + 1..]);
        let mut parts = reference
            .rmatch_indices('@')
            .map(parts)
            .filter(|(path, revision)| !path.is_empty() && !revision.is_empty());
        if let Some((path, revision)) = parts.next() {
            let first = self.check_at(path, revision);
            let found = first.is_ok()
                || parts.any(|(path, revision)| self.check_at(path, revision).is_ok());
            return if found { Ok(()) } else { first };
        }
        let Some((path, from, to)) = with_lines(reference) else {
            return Err(format!("there is no file '{reference}' in this repository"));
        };
        let Some(text) = self.read(path) else {
            return Err(format!("there is no file '{path}' in this repository"));
        };
        check_lines(path, &text, from, to)
    }

    fn committed(&self, path: &str) -> Option<String> {
        let blob = super::blob_in(&super::head_directory(self.0)?, path)?.object().ok()?;
        String::from_utf8(blob.detach().data).ok()
    }
}

impl Repository<'_> {
    fn is_there(&self, path: &str) -> bool {
        let Ok(valid) = RepoPath::new(path.trim_end_matches('/')) else { return false };
        let Some(top) = self.0.work_dir() else { return false };
        // Neither the file nor a directory above it may be a symlink that leads elsewhere.
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
        let (file, revision, lines) = match (with_lines(revision), with_lines(path)) {
            (Some((revision, from, to)), _) => (path, revision, Some((from, to))),
            (None, Some((file, from, to))) => (file, revision, Some((from, to))),
            (None, None) => (path, revision, None),
        };
        if RepoPath::new(file).is_err() {
            return Err(format!("'{file}' is no path in this repository"));
        }
        let repo = self.0.repo();
        let commit = repo
            .rev_parse_single(revision)
            .ok()
            .and_then(|id| id.object().ok())
            .and_then(|object| object.peel_to_tree().ok());
        let Some(tree) = commit else {
            return Err(format!("there is no revision '{revision}' here"));
        };
        let entry = tree.lookup_entry_by_path(file).ok().flatten();
        let Some(entry) = entry else {
            return Err(format!("'{file}' is not in revision '{revision}'"));
        };
        match (lines, entry.object()) {
            (Some((from, to)), Ok(object)) => check_lines(file, &object.data, from, to),
            _ => Ok(()),
        }
    }
}

fn check_lines(path: &str, text: &[u8], from: usize, to: usize) -> Result<(), String> {
    let count = bstr::ByteSlice::lines(text).count();
    if from == 0 || from > to || to > count {
        return Err(format!("'{path}' has {count} lines, so there is no line {to}"));
    }
    Ok(())
}

/// `path:12` or `path:12-20` in parts.
fn with_lines(reference: &str) -> Option<(&str, usize, usize)> {
    let (path, lines) = reference.rsplit_once(':')?;
    let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.trim_start_matches('L').parse().ok();
    Some((path, number(from)?, number(to)?))
}

/// What memory recorded about one of its proposals, next to the changes.
pub fn note<'p>(proposal: &'p Proposal, key: &str) -> Option<&'p serde_json::Value> {
    proposal.revisions.iter().rev().find_map(|revision| revision.memory.as_ref())?.get(key)
}

/// The staging id of a memory proposal.
pub fn staging_id(proposal: &Proposal) -> Option<&str> {
    proposal.staging_id()
}

impl Service<'_> {
    /// Memory proposals, newest first; with `status`, only those.
    ///
    /// # Errors
    /// Those of the store.
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
