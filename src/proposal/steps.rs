//! What decisions make of files, as steps from one content to another. Pure.

use std::collections::HashMap;

use super::event::{FileOutcome, Subject, Written};
use super::state::Decision;
use super::{ChangeRecord, Entry, MEMORY, Proposal};
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

/// What a revision makes of its files, to hold what a decision says was written against it.
#[derive(Debug)]
pub struct Own<'p> {
    changes: HashMap<&'p RepoPath, &'p ChangeRecord>,
    subject: Subject,
}

impl From<&Written> for Step {
    fn from(file: &Written) -> Self {
        let (path, before) = (file.path.clone(), file.before.clone());
        Self { path, before, after: file.after.clone() }
    }
}

impl<'p> Own<'p> {
    /// The changes of the revision of `proposal` whose event is `revision`.
    pub fn of(proposal: &'p Proposal, revision: &str) -> Self {
        let revision = proposal.revision(revision);
        let changes = revision.map(|revision| revision.changes.as_slice());
        Self::new(changes.unwrap_or_default(), proposal.subject)
    }

    /// The `changes` of a revision of a proposal of `subject`.
    pub fn new(changes: &'p [ChangeRecord], subject: Subject) -> Self {
        Self { changes: changes.iter().map(|change| (&change.path, change)).collect(), subject }
    }

    /// True where the revision changes the file of `step`. That of memory may go to another one.
    pub fn may_write(&self, step: &Step) -> bool {
        self.changes.contains_key(&step.path)
            || (self.subject == Subject::Memory && step.path.as_bstr().starts_with(MEMORY))
    }

    /// True where `step` starts from what the revision starts from, and leads elsewhere: there was
    /// nothing to merge with, so whoever looked at the revision was shown something else. What was
    /// moved takes along what its origin had become. Memory is planned again on the text that is there.
    pub fn contradicts(&self, step: &Step) -> bool {
        self.subject == Subject::Code
            && self.changes.get(&step.path).is_some_and(|own| {
                own.origin.is_none() && own.before == step.before && own.after != step.after
            })
    }
}

/// The steps that `decision` on `proposal` approved, by its event alone: what it says was written, or
/// the revision's own changes where it wrote nothing. What contradicts the revision is left out.
pub fn of_events(proposal: &Proposal, decision: &Decision) -> Vec<Step> {
    if decision.written.is_empty() {
        return of_revision(proposal, &decision.revision);
    }
    let own = Own::of(proposal, &decision.revision);
    let written = decision.written.iter();
    written
        .flat_map(|file| {
            let step = Step::from(file);
            match file.outcome {
                FileOutcome::Already => of_revision(proposal, &decision.revision)
                    .into_iter()
                    .filter(|own| own.path == file.path)
                    .collect(),
                _ if own.contradicts(&step) => Vec::new(),
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
