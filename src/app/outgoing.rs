//! What goes out with a private proposal that is published, which cannot be taken back.

use crate::changeset::{Changeset, RepoPath};
use crate::error::Result;
use crate::proposal::Proposal;
use crate::scan::gate::{self, Warning};
use crate::store::Store;

/// What others will have.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// The files, in the order of the proposal.
    pub files: Vec<OutgoingFile>,
    /// What they hold, wherever in them.
    pub warnings: Vec<Warning>,
}

/// One file: all of it is in the log, whatever the proposal changes of it.
#[derive(Clone, Debug)]
pub struct OutgoingFile {
    /// Where it is.
    pub path: RepoPath,
    /// Git ignores it, or what it was copied from.
    pub is_ignored: bool,
}

/// What publishing `proposal` sends: its first revision and its present one.
///
/// # Errors
/// `object_missing`, `allowlist_parse_error`; those of the store.
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
    Ok(Outgoing { files, warnings: gate::whole(store.repository(), &changesets)? })
}
