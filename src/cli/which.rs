//! Which proposals a command is about.

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::proposal::{Proposal, Status, codes};
use crate::store::{Filter, View};

/// One proposal.
#[derive(Clone, Debug, clap::Args)]
pub struct One {
    /// Proposal id or staging id, or any unique beginning of one.
    #[arg(value_name = "ID", required_unless_present = "latest")]
    pub id: Option<String>,
    /// The newest one that is pending.
    #[arg(long, conflicts_with = "id")]
    pub latest: bool,
}

/// One or more proposals.
#[derive(Clone, Debug, clap::Args)]
pub struct Several {
    /// Proposal ids or staging ids, or any unique beginnings of them.
    #[arg(value_name = "ID", required_unless_present = "latest")]
    pub ids: Vec<String>,
    /// The newest one that is pending.
    #[arg(long, conflicts_with = "ids")]
    pub latest: bool,
}

impl One {
    /// The proposal that is meant.
    ///
    /// # Errors
    /// `invalid_id`, `proposal_not_found`, `ambiguous_id`; those of the store.
    pub fn find(&self, view: &View, now: DateTime<Utc>) -> Result<Proposal> {
        match &self.id {
            Some(id) => view.find(id),
            None => latest(view, now),
        }
    }
}

impl Several {
    /// The proposals that are meant, each once; all of them pending.
    ///
    /// # Errors
    /// As [`One::find`]; `not_pending`.
    pub fn pending(&self, view: &View, now: DateTime<Utc>) -> Result<Vec<Proposal>> {
        if self.ids.is_empty() {
            return Ok(vec![latest(view, now)?]);
        }
        let mut proposals: Vec<Proposal> = Vec::new();
        for id in &self.ids {
            let proposal = view.find(id)?;
            proposal.require_pending(now)?;
            if !proposals.iter().any(|known| known.id == proposal.id) {
                proposals.push(proposal);
            }
        }
        Ok(proposals)
    }
}

fn latest(view: &View, now: DateTime<Utc>) -> Result<Proposal> {
    let filter = Filter {
        status: Some(Status::Pending),
        newest_first: true,
        limit: Some(1),
        ..Filter::default()
    };
    match view.proposals(&filter, now)?.first() {
        Some(summary) => view.proposal(&summary.id),
        None => Err(Error::new(&codes::PROPOSAL_NOT_FOUND, "no proposal is pending")
            .hint("`aye list --status all` shows all")),
    }
}
