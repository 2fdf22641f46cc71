//! What a proposal stands on, when it is to be applied.

use std::collections::{BTreeMap, BTreeSet};

use super::Context;
use crate::check::relations::{self, MOST_HIGH};
use crate::error::{Error, Result};
use crate::proposal::relations::Relations;
use crate::proposal::{Proposal, ProposalId, codes};
use crate::store::{Store, View};

/// What becomes of the pending proposals that the named ones stand on.
#[derive(Debug, Default, clap::Args)]
pub struct LowerArgs {
    /// Also apply the pending proposals that these stand on, before them.
    #[arg(long, conflicts_with = "alone")]
    pub with_lower: bool,
    /// Apply these without what they stand on: their own changes only, merged into the files.
    #[arg(long)]
    pub alone: bool,
}

impl LowerArgs {
    /// `proposals` in an order in which each comes after those of them that it stands on; with
    /// `--with-lower` together with those that were not named. Where others are left out, that is said to
    /// a person who is asked (`asks`), and an error otherwise, unless `--alone` was given.
    ///
    /// # Errors
    /// `stands_on`; those of the store.
    pub fn settle(
        &self,
        context: &Context,
        store: &Store,
        view: &View,
        proposals: Vec<Proposal>,
        asks: bool,
    ) -> Result<Vec<Proposal>> {
        if !relations::has_others(view, context.now, &proposals)? {
            return Ok(proposals);
        }
        let related = relations::relations(store, view, context.now)?;
        let (begun, order) = (BTreeSet::new(), Vec::new());
        let taken = 0;
        let too_high = None;
        let mut stack =
            Stack { related: &related, view, args: self, begun, order, taken, too_high };
        let mut left_out = Vec::new();
        for proposal in &proposals {
            stack.place(proposal, &proposals, 0, &mut left_out)?;
        }
        let order = stack.order;
        if let Some(lower) = stack.too_high {
            let message = format!("what is to be applied stands on more than {MOST_HIGH} others");
            return Err(Error::new(&codes::STANDS_ON, message)
                .with("lower", lower.as_str())
                .hint(format!("begin further below: aye apply {lower} --with-lower")));
        }
        for (upper, lower, is_revised) in left_out {
            let of = if is_revised { "an earlier revision of " } else { "" };
            if !asks {
                return Err(stands_on(&upper, &lower, of));
            }
            context.note(&format!(
                "{upper} stands on {of}{lower}, which is pending and is not applied with it"
            ));
        }
        Ok(order)
    }
}

fn stands_on(upper: &ProposalId, lower: &ProposalId, of: &str) -> Error {
    let error =
        Error::new(&codes::STANDS_ON, format!("{upper} stands on {of}{lower}, which is pending"))
            .with("proposal_id", upper.as_str())
            .with("lower", lower.as_str());
    error.hint(match of {
        "" => format!("apply both with --with-lower, or {upper} on its own with --alone"),
        _ => format!(
            "apply it on its own with --alone, or wait for its next revision; it was made \
                      before {lower} was revised"
        ),
    })
}

/// Proposals put in order.
struct Stack<'a> {
    related: &'a BTreeMap<ProposalId, Relations>,
    view: &'a View,
    args: &'a LowerArgs,
    /// Those that have a place, or are about to get one: fetched proposals may stand on each other in a
    /// circle, and none is placed twice.
    begun: BTreeSet<ProposalId>,
    order: Vec<Proposal>,
    /// How many of these were not named.
    taken: usize,
    /// One that is to be taken along, below as many as are.
    too_high: Option<ProposalId>,
}

impl Stack<'_> {
    fn place(
        &mut self,
        proposal: &Proposal,
        named: &[Proposal],
        depth: usize,
        left_out: &mut Vec<(ProposalId, ProposalId, bool)>,
    ) -> Result<()> {
        if !self.begun.insert(proposal.id.clone()) {
            return Ok(());
        }
        let among = |id: &ProposalId| named.iter().find(|other| other.id == *id);
        let related = self.related.get(&proposal.id);
        let needed = related.map_or_else(Vec::new, |found| {
            found.needed(|lower| self.begun.contains(&lower.id) || among(&lower.id).is_some())
        });
        for lower in needed {
            if self.begun.contains(&lower.id) {
                continue;
            }
            let has_room = depth < MOST_HIGH && self.taken < MOST_HIGH;
            let takes = self.args.with_lower && !lower.is_revised && has_room;
            match among(&lower.id) {
                Some(other) if depth < MOST_HIGH => {
                    self.place(other, named, depth + 1, left_out)?
                }
                None if takes => {
                    self.taken += 1;
                    let other = self.view.proposal(&lower.id)?;
                    self.place(&other, named, depth + 1, left_out)?;
                }
                _ if self.args.alone => {}
                _ if self.args.with_lower && !has_room && !lower.is_revised => {
                    self.too_high = Some(lower.id.clone());
                }
                _ => left_out.push((proposal.id.clone(), lower.id.clone(), lower.is_revised)),
            }
        }
        self.order.push(proposal.clone());
        Ok(())
    }
}
