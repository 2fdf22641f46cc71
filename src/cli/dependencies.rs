//! `--with-lower` and `--alone`: dependencies on pending proposals.

use std::collections::BTreeSet;

use super::Context;
use crate::check::relations::{self, MOST_HIGH};
use crate::error::{Error, Result};
use crate::proposal::relations::{Dependency, stack_below};
use crate::proposal::{Proposal, ProposalId, codes};
use crate::store::{Store, View};

#[derive(Debug, Default, clap::Args)]
pub struct DependencyArgs {
    /// Also apply the pending proposals that these depend on, before them.
    #[arg(long, conflicts_with = "alone")]
    pub with_lower: bool,
    /// Apply these without the proposals that they depend on: their own changes only, merged into
    /// the files.
    #[arg(long)]
    pub alone: bool,
}

impl DependencyArgs {
    /// Orders `proposals` after their dependencies; `--with-lower` adds those. Without `--alone`, a
    /// missing one is a note if a person is asked (`asks`), else an error.
    ///
    /// # Errors
    /// `stands_on`.
    pub fn order(
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
        let named: BTreeSet<&ProposalId> = proposals.iter().map(|named| &named.id).collect();
        let is_named = |lower: &Dependency| named.contains(&lower.id);
        let takes = |lower: &Dependency| is_named(lower) || !lower.is_revised;
        // The limit is for proposals that the caller did not name.
        let most = MOST_HIGH + proposals.len() - 1;
        let mut order: Vec<Proposal> = Vec::new();
        let mut left_out = BTreeSet::new();
        for proposal in &proposals {
            let id = &proposal.id;
            let mut below = stack_below(&related, id, most, is_named);
            if self.with_lower && below.lacks.is_some() {
                below = stack_below(&related, id, most, takes);
            }
            if below.is_too_high {
                return Err(too_high(id, below.taken.first().unwrap_or(id)));
            }
            if let Some(lower) = below.lacks.filter(|_| !self.alone) {
                let refusal = stands_on(id, &lower);
                if !asks {
                    return Err(refusal);
                }
                if left_out.insert(lower.id.clone()) {
                    context.note(&format!("{}, and is not applied with it", refusal.message()));
                }
            }
            for id in below.taken.iter().chain([id]) {
                if !order.iter().any(|known| known.id == *id) {
                    let named = proposals.iter().find(|named| named.id == *id).cloned();
                    order.push(named.map_or_else(|| view.proposal(id), Ok)?);
                }
            }
        }
        Ok(order)
    }
}

fn too_high(id: &ProposalId, lower: &ProposalId) -> Error {
    Error::new(&codes::STANDS_ON, format!("{id} depends on more than {MOST_HIGH} others"))
        .with("lower", lower.as_str())
        .hint(format!("begin further below: aye apply {lower} --with-lower"))
}

fn stands_on(upper: &ProposalId, lower: &Dependency) -> Error {
    let Dependency { id, is_revised } = lower;
    let (of, hint) = if *is_revised {
        let hint = "or wait for its next revision; it was made before that one was revised";
        ("an earlier revision of ", format!("apply it on its own with --alone, {hint}"))
    } else {
        ("", format!("apply both with --with-lower, or {upper} on its own with --alone"))
    };
    Error::new(&codes::STANDS_ON, format!("{upper} depends on {of}{id}, which is pending"))
        .with("proposal_id", upper.as_str())
        .with("lower", id.as_str())
        .hint(hint)
}
