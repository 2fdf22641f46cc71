//! Proposals of a filter that can be applied.

use std::collections::BTreeMap;

use super::preview::{name_proposal, plan_each};
use crate::cli::Context;
use crate::decide;
use crate::error::Result;
use crate::proposal::Proposal;
use crate::proposal::event::Effect;
use crate::store::Store;
use crate::text::escape;

pub(super) fn keep_applicable(
    context: &Context,
    store: &Store,
    proposals: Vec<Proposal>,
) -> Result<Vec<Proposal>> {
    let each = plan_each(store, &proposals, (None, &BTreeMap::new()), Effect::Files)?;
    let mut fit = Vec::with_capacity(proposals.len());
    let mut first = None;
    for (proposal, shown) in proposals.into_iter().zip(each) {
        let fits = shown.map_err(|error| name_proposal(error, &proposal.id)).and_then(|shown| {
            decide::apply::conflict(&shown.plan, &proposal.id).map_or(Ok(()), Err)
        });
        match fits {
            Ok(()) => fit.push(proposal),
            Err(error) => {
                let why = escape::line(error.message());
                context.note(&format!("{} stays pending: {why}", proposal.id));
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if fit.is_empty() => Err(error),
        _ => Ok(fit),
    }
}
