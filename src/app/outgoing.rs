//! Content that publishing a private proposal reveals irrevocably.

use crate::changeset::{Changeset, RepoPath};
use crate::error::Result;
use crate::proposal::Proposal;
use crate::scan::gate::{self, ScanWarning};
use crate::store::Store;

#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// In the proposal's order.
    pub files: Vec<OutgoingFile>,
    /// Findings in whole contents.
    pub warnings: Vec<ScanWarning>,
}

/// The log gets the whole file, not only changed lines.
#[derive(Clone, Debug)]
pub struct OutgoingFile {
    pub path: RepoPath,
    /// True if git ignores the file or its copy source.
    pub is_ignored: bool,
}

/// Covers the first and the current revision.
///
/// # Errors
/// `object_missing`, `allowlist_parse_error`.
pub fn outgoing(store: &Store, proposal: &Proposal) -> Result<Outgoing> {
    let current = proposal.current();
    let first = proposal.revisions.first().filter(|first| first.event != current.event);
    let revisions = std::iter::once(current).chain(first);
    let changesets: Vec<Changeset> =
        revisions.map(|revision| store.changeset(revision)).collect::<Result<_>>()?;
    let changes = || changesets.iter().flat_map(Changeset::changes);
    let mut paths =
        changes().flat_map(|change| std::iter::once(&change.path).chain(&change.origin));
    let ignored = store.repository().ignored(&mut paths)?;
    let mut files: Vec<OutgoingFile> = Vec::new();
    for change in changes() {
        if !files.iter().any(|file| file.path == change.path) {
            let mut paths = std::iter::once(&change.path).chain(&change.origin);
            let is_ignored = paths.any(|path| ignored.contains(&path));
            files.push(OutgoingFile { path: change.path.clone(), is_ignored });
        }
    }
    Ok(Outgoing { files, warnings: gate::content_warnings(store.repository(), &changesets)? })
}
