//! Effects of decisions on files, as steps from one content to another. Pure.

use serde::{Deserialize, Serialize};

use super::event::{FileOutcome, Written};
use super::state::Decision;
use super::{Entry, Proposal};
use crate::changeset::RepoPath;

/// One approved step of one file; `None` means no file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStep {
    pub path: RepoPath,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
}

impl From<&Written> for FileStep {
    fn from(file: &Written) -> Self {
        let (path, before) = (file.path.clone(), file.before.clone());
        Self { path, before, after: file.after.clone() }
    }
}

/// Steps that `decision` approved: written files of its manifest; the revision's own changes where
/// nothing was written, or where the file already had the result.
pub fn decision_steps(proposal: &Proposal, decision: &Decision) -> Vec<FileStep> {
    let own = revision_steps(proposal, &decision.revision);
    if decision.written.is_empty() {
        return own;
    }
    let step = |file: &Written| match file.outcome {
        FileOutcome::Already => own.iter().find(|own| own.path == file.path).cloned(),
        _ => Some(FileStep::from(file)),
    };
    decision.written.iter().filter_map(step).collect()
}

/// Changes of the revision with the event id `revision`.
pub fn revision_steps(proposal: &Proposal, revision: &str) -> Vec<FileStep> {
    let Some(revision) = proposal.revision(revision) else { return Vec::new() };
    revision
        .changes
        .iter()
        .map(|change| FileStep {
            path: change.path.clone(),
            before: change.before.clone(),
            after: change.after.clone(),
        })
        .collect()
}
