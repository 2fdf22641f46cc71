//! Planned writes of a review's decisions, each on top of the previous, kept from the last screen
//! to the write.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::changeset::{Changeset, FileChange, RepoPath, codes};
use crate::check::{marks, relations};
use crate::decide::{
    self, CommittedPlan, DecisionPlan, OtherChange, PartialProposal, PlannedFiles,
};
use crate::error::{Error, Result};
use crate::proposal::event::RevisionReason;
use crate::proposal::relations::{Dependency, Relations};
use crate::proposal::{Proposal, ProposalId};
use crate::review::model::Verdict;
use crate::review::terminal::{DecisionOrder, DecisionPreview};
use crate::store::{Store, View};

/// One decision's write, as shown.
pub struct ReviewPlan {
    pub shown: DecisionPlan,
    /// `None` for the whole proposal.
    pub part: Option<PartialProposal>,
    /// Part that a commit has already.
    pub made: Option<CommittedPlan>,
}

#[derive(Default)]
pub struct Plans(BTreeMap<ProposalId, ReviewPlan>);

impl Plans {
    /// Plans `orders` in sequence and keeps plans that fit. `None` for orders that write no file.
    ///
    /// # Errors
    /// Errors of the store; errors of one order are in its outcome.
    pub fn make(
        &mut self,
        store: &Store,
        orders: &[DecisionOrder],
        now: DateTime<Utc>,
    ) -> Result<Vec<Option<Result<DecisionPreview>>>> {
        let view = store.view()?;
        let mut ahead = None;
        let mut outlooks = Vec::with_capacity(orders.len());
        for (at, order) in orders.iter().enumerate() {
            let changes = match &order.verdict {
                Verdict::Apply => None,
                Verdict::Part(changes) => Some(changes.clone()),
                _ => {
                    outlooks.push(None);
                    continue;
                }
            };
            // Rejections need no work tree.
            let opened = match ahead.take() {
                Some(ahead) => Ok(ahead),
                None => PlannedFiles::new(store.repository()),
            };
            let planned = opened
                .and_then(|opened| plan(store, &view, ahead.insert(opened), order, changes, now));
            let planned = planned.map_err(|error| self.name_lower(error, order, &orders[..at]));
            let planned = match planned {
                Err(error) if error.is(&codes::CONFLICT) => {
                    let related = relations::relations(store, &view, now)?;
                    Err(self.name_missing(error, order, related.get(&order.id)))
                }
                planned => planned,
            };
            outlooks.push(Some(planned.and_then(|planned| {
                let paths = planned.shown.plan.files.iter().map(|file| &file.path);
                let outlook = DecisionPreview {
                    quiet: store.repository().quiet(paths),
                    marks: marks::revision_marks(store, &view, planned.shown.proposal.current())?,
                    changes: store.repository().with_sources(planned.shown.changes()),
                    already: planned.shown.already(store, planned.part.as_ref())?,
                    foreign: planned.shown.foreign().map(OtherChange::change).collect(),
                    title: planned.shown.proposal.title().unwrap_or_default().to_owned(),
                };
                self.0.insert(order.id.clone(), planned);
                Ok(outlook)
            })));
        }
        Ok(outlooks)
    }

    /// Names the earlier order that changes the conflicting file.
    fn name_lower(&self, error: Error, order: &DecisionOrder, before: &[DecisionOrder]) -> Error {
        let path = error.details().iter().find(|(key, _)| *key == "path");
        let path = path.and_then(|(_, path)| path.as_str());
        let Some(path) = path.filter(|_| error.is(&codes::CONFLICT)) else { return error };
        let writes = |other: &&DecisionOrder| {
            let planned = self.0.get(&other.id);
            planned.is_some_and(|planned| {
                planned.shown.plan.writes().any(|file| file.path.display().to_string() == path)
            })
        };
        let Some(other) = before.iter().rev().find(writes) else { return error };
        let message =
            format!("it does not fit on top of {}, which changes {path} as well", other.id);
        Error::new(&codes::CONFLICT, message).with("collides_with", other.id.as_str()).hint(
            format!(
                "take one of them only, or settle it once the other is written: aye review {}",
                order.id
            ),
        )
    }

    /// Names the required proposal below that is not applied as well.
    fn name_missing(
        &self,
        error: Error,
        order: &DecisionOrder,
        related: Option<&Relations>,
    ) -> Error {
        let is_taken = |lower: &Dependency| self.0.contains_key(&lower.id);
        let needed = related.map_or_else(Vec::new, |related| related.needed(is_taken));
        let Some(lower) = needed.into_iter().find(|lower| !is_taken(lower)) else { return error };
        let message = format!("it depends on {}, which is not taken", lower.id);
        Error::new(&codes::CONFLICT, message).with("stands_on", lower.id.as_str()).hint(format!(
            "take that one too, or settle this one once it is decided: aye review {}",
            order.id
        ))
    }

    pub fn of(&self, orders: &[&DecisionOrder]) -> Vec<&DecisionPlan> {
        orders.iter().filter_map(|order| Some(&self.0.get(&order.id)?.shown)).collect()
    }

    pub fn paths(&self, id: &ProposalId) -> Vec<RepoPath> {
        let planned = self.0.get(id).into_iter();
        planned.flat_map(|it| it.shown.plan.writes().map(|file| file.path.clone())).collect()
    }

    /// A plan is used once.
    pub fn take(&mut self, id: &ProposalId) -> Option<ReviewPlan> {
        self.0.remove(id)
    }
}

fn plan(
    store: &Store,
    view: &View,
    ahead: &mut PlannedFiles,
    order: &DecisionOrder,
    changes: Option<Vec<FileChange>>,
    now: DateTime<Utc>,
) -> Result<ReviewPlan> {
    let proposal = looked_at(view, order, now)?;
    let reason = if order.edited { RevisionReason::Edited } else { RevisionReason::Partial };
    let part = match changes {
        Some(changes) => Some(PartialProposal { changes: Changeset::new(changes)?, reason }),
        None => None,
    };
    let made = match part {
        Some(_) => None,
        None => {
            let mut found = decide::unrecorded(store, view, std::slice::from_ref(&proposal))?;
            found.remove(&proposal.id).and_then(|found| found.made)
        }
    };
    let shown = ahead.show(store, view, &proposal, part.as_ref(), made.as_ref())?;
    match decide::apply::conflict(&shown.plan, &proposal.id) {
        Some(refusal) => Err(store.repository().name_sparse(refusal)),
        None => Ok(ReviewPlan { shown, part, made }),
    }
}

/// Refuses a proposal that changed since it was shown.
///
/// # Errors
/// `not_pending`, `revised_meanwhile`.
pub fn looked_at(view: &View, order: &DecisionOrder, now: DateTime<Utc>) -> Result<Proposal> {
    let proposal = view.proposal(&order.id)?;
    proposal.require_pending(now)?;
    proposal.require_revision(&order.revision)?;
    Ok(proposal)
}
