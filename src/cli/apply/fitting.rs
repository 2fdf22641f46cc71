//! Which of the proposals that a filter names can be applied.

use std::collections::BTreeMap;

use super::answer::Failed;
use super::preview::{Wanted, each_shown, of_proposal};
use crate::cli::Context;
use crate::decide::{self, Shown};
use crate::error::{Error, Result};
use crate::proposal::Proposal;
use crate::proposal::event::Effect;
use crate::store::Store;
use crate::text::escape;

/// Those of `proposals`, which a filter names, that can be planned, with their plans; says which cannot.
///
/// # Errors
/// That of the first of them where none can.
pub(super) fn planned(
    context: &Context,
    store: &Store,
    proposals: Vec<Proposal>,
    wanted: Wanted<'_>,
    effect: Effect,
) -> Result<(Vec<Proposal>, Vec<Shown>, Vec<Failed>)> {
    let each = each_shown(store, &proposals, wanted, effect)?;
    if each.is_empty() {
        return Ok((proposals, Vec::new(), Vec::new()));
    }
    let (mut sound, mut plans) = (Vec::new(), Vec::new());
    let (mut first, mut failed) = (None, Vec::new());
    for (proposal, plan) in proposals.into_iter().zip(each) {
        match plan {
            Ok(plan) => {
                sound.push(proposal);
                plans.push(plan);
            }
            Err(error) => {
                failed.push(stays(context, &proposal, &error, error.message()));
                first.get_or_insert_with(|| of_proposal(error, &proposal.id));
            }
        }
    }
    match first {
        Some(error) if sound.is_empty() => Err(error),
        _ => Ok((sound, plans, failed)),
    }
}

/// Those of `proposals`, which a filter names, that fit one on top of the other; says which do not.
///
/// # Errors
/// `conflict` where none does, or why the first of them cannot be planned.
pub(super) fn fitting(
    context: &Context,
    store: &Store,
    proposals: Vec<Proposal>,
) -> Result<(Vec<Proposal>, Vec<Failed>)> {
    let (proposals, plans, mut failed) =
        planned(context, store, proposals, (None, &BTreeMap::new()), Effect::Files)?;
    let mut fit = Vec::with_capacity(proposals.len());
    let mut first = None;
    for (proposal, shown) in proposals.into_iter().zip(plans) {
        match decide::apply::conflict(&shown.plan, &proposal.id) {
            None => fit.push(proposal),
            Some(error) => {
                let why = error.message().to_owned();
                failed.push(stays(context, &proposal, &error, &why));
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if fit.is_empty() => Err(error),
        _ => Ok((fit, failed)),
    }
}

/// Says that `proposal` is not applied with the others, and why.
fn stays(context: &Context, proposal: &Proposal, error: &Error, why: &str) -> Failed {
    context.note(&format!("{} stays pending: {}", proposal.id, escape::line(why)));
    Failed::new(&proposal.id, error)
}
