//! Outcomes of proposals, counted.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::proposal::event::{FileOutcome, RevisionReason};
use crate::proposal::state::Decision;
use crate::proposal::{Proposal, Status};
use crate::store::{Filter, View};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum GroupBy {
    /// Proposer.
    Agent,
    /// As the agent's harness names it.
    Model,
    /// Top directory of each changed file, or the file there.
    Path,
    /// Who decided.
    Person,
}

/// Proposals and what became of them.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Outcomes {
    /// Agent, model, path or person; absent in the total, and where none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of proposals: the sum of those below.
    pub proposed: usize,
    /// Applied as proposed.
    pub applied: usize,
    /// Applied after a reviewer had edited it.
    pub edited: usize,
    /// Applied in part.
    pub partial: usize,
    /// Rejected by somebody else than the proposer.
    pub rejected: usize,
    /// Withdrawn by the proposer.
    pub withdrawn: usize,
    /// Expired without a decision.
    pub expired: usize,
    /// Undecided.
    pub pending: usize,
    /// Median time from proposal to decision, in seconds; `null` without decisions.
    pub median_wait: Option<i64>,
    /// Revisions per proposal, on average.
    pub revisions: f64,
}

#[derive(Debug, Default)]
struct Sum {
    outcomes: Outcomes,
    waits: Vec<i64>,
    revisions: usize,
}

/// The total and the groups of `by`, by name, of the proposals that `filter` admits and that were
/// made at `since` or later.
///
/// # Errors
/// Errors of the store. Unreadable threads are not counted.
pub fn outcomes(
    view: &View<'_>,
    filter: &Filter,
    by: Option<GroupBy>,
    since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<(Outcomes, Vec<Outcomes>)> {
    let mut total = Sum::default();
    let mut groups: BTreeMap<Option<String>, Sum> = BTreeMap::new();
    for summary in view.proposals(filter, now)? {
        if since.is_some_and(|since| summary.created_at < since) {
            continue;
        }
        let Ok(proposal) = view.listed_proposal(&summary) else { continue };
        total.add(&proposal, now);
        for name in by.map(|by| names(&proposal, by)).unwrap_or_default() {
            groups.entry(name).or_default().add(&proposal, now);
        }
    }
    let groups = groups.into_iter().map(|(name, sum)| Outcomes { name, ..sum.outcomes() });
    Ok((total.outcomes(), groups.collect()))
}

fn names(proposal: &Proposal, by: GroupBy) -> BTreeSet<Option<String>> {
    let first = &proposal.revisions[0];
    match by {
        GroupBy::Agent => BTreeSet::from([Some(proposal.proposed_by.clone())]),
        GroupBy::Model => {
            BTreeSet::from([first.agent.as_ref().and_then(|agent| agent.model.clone())])
        }
        GroupBy::Person => {
            BTreeSet::from([proposal.decision().map(|decision| decision.by.name.clone())])
        }
        GroupBy::Path => {
            let paths = proposal.current().changes.iter().map(|it| it.path.display().to_string());
            let top = |path: String| match path.split_once('/') {
                Some((top, _)) => format!("{top}/"),
                None => path,
            };
            paths.map(|path| Some(top(path))).collect()
        }
    }
}

impl Sum {
    fn add(&mut self, proposal: &Proposal, now: DateTime<Utc>) {
        let counts = &mut self.outcomes;
        let count = match (proposal.status(now), proposal.decision()) {
            (Status::Applied, Some(decision)) => match how(proposal, decision) {
                RevisionReason::Partial => &mut counts.partial,
                RevisionReason::Edited => &mut counts.edited,
                _ => &mut counts.applied,
            },
            (Status::Applied, None) => &mut counts.applied,
            (Status::Rejected, Some(decision)) if decision.withdrawn => &mut counts.withdrawn,
            (Status::Rejected, _) => &mut counts.rejected,
            (Status::Expired, _) => &mut counts.expired,
            (Status::Pending, _) => &mut counts.pending,
        };
        *count += 1;
        counts.proposed += 1;
        self.revisions += proposal.revisions.len();
        let wait = proposal.decision().map(|it| (it.at - proposal.created_at).num_seconds());
        self.waits.extend(wait.map(|wait| wait.max(0)));
    }

    fn outcomes(mut self) -> Outcomes {
        self.waits.sort_unstable();
        let median_wait = self.waits.get(self.waits.len() / 2).copied();
        let revisions = self.revisions as f64 / self.outcomes.proposed.max(1) as f64;
        let revisions = (revisions * 100.0).round() / 100.0;
        Outcomes { median_wait, revisions, ..self.outcomes }
    }
}

/// The reviewer's part in what was applied; a part counts before an edit.
fn how(proposal: &Proposal, decision: &Decision) -> RevisionReason {
    let decided = proposal.revisions.iter().position(|it| it.event == decision.revision);
    let until = decided.map_or(proposal.revisions.len(), |at| at + 1);
    let reasons = proposal.revisions[..until].iter().map(|revision| &revision.reason);
    let is_edited = decision.written.iter().any(|file| file.outcome == FileOutcome::Edited);
    let mut found = RevisionReason::First;
    for reason in reasons {
        match reason {
            RevisionReason::Partial => return RevisionReason::Partial,
            RevisionReason::Edited => found = RevisionReason::Edited,
            _ => {}
        }
    }
    if is_edited { RevisionReason::Edited } else { found }
}
