//! What goes out with a private proposal that is published, which cannot be taken back.

use crate::changeset::RepoPath;
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
    let mut outgoing = Outgoing::default();
    let first = proposal.revisions.first().filter(|first| first.event != proposal.current().event);
    for revision in std::iter::once(proposal.current()).chain(first) {
        let changeset = store.changeset(&revision.changes)?;
        for change in changeset.changes() {
            if outgoing.files.iter().any(|file| file.path == change.path) {
                continue;
            }
            let mut paths = std::iter::once(&change.path).chain(&change.origin);
            let is_ignored = store.ignored(&mut paths)?.is_some();
            outgoing.files.push(OutgoingFile { path: change.path.clone(), is_ignored });
        }
        for warning in gate::whole(store, &changeset)? {
            let is_it = |it: &Warning| {
                (&it.file_path, &it.fingerprint) == (&warning.file_path, &warning.fingerprint)
            };
            if !outgoing.warnings.iter().any(is_it) {
                outgoing.warnings.push(warning);
            }
        }
    }
    Ok(outgoing)
}
