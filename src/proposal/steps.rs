//! What decisions make of files, as steps from one content to another. Pure.

use super::event::FileOutcome;
use super::state::Decision;
use super::{Entry, Proposal};
use crate::changeset::RepoPath;

/// One approved step of one file; `None` is no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub path: RepoPath,
    /// From.
    pub before: Option<Entry>,
    /// To.
    pub after: Option<Entry>,
}

/// The steps that `decision` on `proposal` approved, by its event alone: what it says was written, or
/// the revision's own changes where it wrote nothing.
pub fn of_events(proposal: &Proposal, decision: &Decision) -> Vec<Step> {
    if decision.written.is_empty() {
        return of_revision(proposal, &decision.revision);
    }
    let written = decision.written.iter();
    written
        .flat_map(|file| {
            let step = Step {
                path: file.path.clone(),
                before: file.before.clone(),
                after: file.after.clone(),
            };
            match file.outcome {
                FileOutcome::Already => of_revision(proposal, &decision.revision)
                    .into_iter()
                    .filter(|own| own.path == file.path)
                    .collect(),
                _ => vec![step],
            }
        })
        .collect()
}

/// The changes of the revision whose event is `revision`, as steps.
pub fn of_revision(proposal: &Proposal, revision: &str) -> Vec<Step> {
    let Some(revision) = proposal.revision(revision) else { return Vec::new() };
    revision
        .changes
        .iter()
        .map(|change| Step {
            path: change.path.clone(),
            before: change.before.clone(),
            after: change.after.clone(),
        })
        .collect()
}
