//! What the decisions of a session would write, planned one on top of the other, and kept from the
//! last screen until it is written.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::changeset::{Changeset, FileChange, RepoPath, codes};
use crate::check::{marks, relations};
use crate::decide::{self, Ahead, Made, Part, Residue, Shown};
use crate::error::{Error, Result};
use crate::proposal::event::RevisionReason;
use crate::proposal::relations::{Lower, Relations};
use crate::proposal::{Proposal, ProposalId};
use crate::review::model::Verdict;
use crate::review::terminal::{Order, Outlook};
use crate::store::{Store, View};

/// What one decision would write, as it was shown.
pub struct Planned {
    /// The plan.
    pub shown: Shown,
    /// What was taken of the proposal; `None` for all of it.
    pub part: Option<Part>,
    /// What a commit has of it already.
    pub made: Option<Made>,
}

/// The plans of a session's decisions.
#[derive(Default)]
pub struct Plans(BTreeMap<ProposalId, Planned>);

impl Plans {
    /// Plans `orders` in their order and keeps the plans that fit. `None` for what writes no file.
    ///
    /// # Errors
    /// Those of the store; what concerns one order alone is in its answer.
    pub fn make(
        &mut self,
        store: &Store,
        orders: &[Order],
        now: DateTime<Utc>,
    ) -> Result<Vec<Option<Result<Outlook>>>> {
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
            // Without a work tree, rejections are written all the same.
            let opened = match ahead.take() {
                Some(ahead) => Ok(ahead),
                None => Ahead::new(store.repository()),
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
                let outlook = Outlook {
                    quiet: store.quiet(paths),
                    marks: marks::of(store, &view, planned.shown.proposal.current())?,
                    changes: store.repository().with_sources(planned.shown.changes()),
                    already: planned.shown.already(store, planned.part.as_ref())?,
                    foreign: planned.shown.foreign().map(Residue::change).collect(),
                };
                self.0.insert(order.id.clone(), planned);
                Ok(outlook)
            })));
        }
        Ok(outlooks)
    }

    /// `error`, a conflict of `order`, with the one of `before` that has changed the file, if one has.
    fn name_lower(&self, error: Error, order: &Order, before: &[Order]) -> Error {
        let path = error.details().iter().find(|(key, _)| *key == "path");
        let path = path.and_then(|(_, path)| path.as_str());
        let Some(path) = path.filter(|_| error.is(&codes::CONFLICT)) else { return error };
        let writes = |other: &&Order| {
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

    /// `error`, a conflict of `order`, with the proposal that it stands on by `related`, where that is not
    /// applied with it.
    fn name_missing(&self, error: Error, order: &Order, related: Option<&Relations>) -> Error {
        let is_taken = |lower: &Lower| self.0.contains_key(&lower.id);
        let needed = related.map_or_else(Vec::new, |related| related.needed(is_taken));
        let Some(lower) = needed.into_iter().find(|lower| !is_taken(lower)) else { return error };
        let message = format!("it stands on {}, which is not taken", lower.id);
        Error::new(&codes::CONFLICT, message).with("stands_on", lower.id.as_str()).hint(format!(
            "take that one too, or settle this one once it is decided: aye review {}",
            order.id
        ))
    }

    /// The plans of `orders`, in their order.
    pub fn of(&self, orders: &[&Order]) -> Vec<&Shown> {
        orders.iter().filter_map(|order| Some(&self.0.get(&order.id)?.shown)).collect()
    }

    /// The files that the plan of `id` writes.
    pub fn paths(&self, id: &ProposalId) -> Vec<RepoPath> {
        let planned = self.0.get(id).into_iter();
        planned.flat_map(|it| it.shown.plan.writes().map(|file| file.path.clone())).collect()
    }

    /// The plan of `id`, which is used once.
    pub fn take(&mut self, id: &ProposalId) -> Option<Planned> {
        self.0.remove(id)
    }
}

fn plan(
    store: &Store,
    view: &View,
    ahead: &mut Ahead,
    order: &Order,
    changes: Option<Vec<FileChange>>,
    now: DateTime<Utc>,
) -> Result<Planned> {
    let proposal = looked_at(view, order, now)?;
    let reason = if order.edited { RevisionReason::Edited } else { RevisionReason::Partial };
    let part = match changes {
        Some(changes) => Some(Part { changes: Changeset::new(changes)?, reason }),
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
        None => Ok(Planned { shown, part, made }),
    }
}

/// The proposal of `order`, if it still is as it was looked at.
///
/// # Errors
/// `not_pending`, `revised_meanwhile`; those of the store.
pub fn looked_at(view: &View, order: &Order, now: DateTime<Utc>) -> Result<Proposal> {
    let proposal = view.proposal(&order.id)?;
    proposal.require_pending(now)?;
    proposal.require_revision(&order.revision)?;
    Ok(proposal)
}
