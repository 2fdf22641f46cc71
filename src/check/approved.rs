//! What exactly an applied proposal approved, and whether a tree holds it.

use crate::changeset::RepoPath;
use crate::proposal::{Entry, Proposal, State};

/// A file as approved: its content, or `None` where it was to be deleted.
pub type Approved = (RepoPath, Option<Entry>);

/// The approved files: what the apply wrote (merged results included), or what the revision
/// decided on says, where the apply only marked. Empty unless applied.
pub fn files(proposal: &Proposal) -> Vec<Approved> {
    let State::Applied(decision) = &proposal.state else { return Vec::new() };
    if !decision.written.is_empty() {
        let written = decision.written.iter();
        return written.map(|file| (file.path.clone(), file.after.clone())).collect();
    }
    let revision = proposal.revision(&decision.revision).unwrap_or_else(|| proposal.current());
    revision.changes.iter().map(|c| (c.path.clone(), c.after.clone())).collect()
}

/// The first approved file that `lookup` does not give as approved.
pub fn first_difference(
    approved: &[Approved],
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Option<&Approved> {
    approved.iter().find(|(path, entry)| lookup(path) != *entry)
}
