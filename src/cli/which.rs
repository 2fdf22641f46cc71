//! Which proposals a command is about.

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::proposal::{Proposal, Status, codes};
use crate::store::{Filter, View};

/// One proposal.
#[derive(Clone, Debug, clap::Args)]
pub struct One {
    /// Proposal id or staging id, or any unique beginning of one; ID@REV only at that revision.
    #[arg(value_name = "ID", required_unless_present = "latest")]
    pub id: Option<String>,
    /// The newest one that is pending.
    #[arg(long, conflicts_with = "id")]
    pub latest: bool,
}

/// One or more proposals.
#[derive(Clone, Debug, clap::Args)]
pub struct Several {
    /// Proposal ids or staging ids, or any unique beginnings of them; ID@REV only at that revision.
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

/// Refuses to decide without a look on what has several revisions, where `text`, as it was typed,
/// does not say which was looked at.
///
/// # Errors
/// `revision_required`.
pub fn require_named_revision(text: Option<&str>, proposal: &Proposal) -> Result<()> {
    if proposal.revisions.len() == 1 || text.is_some_and(|text| text.contains('@')) {
        return Ok(());
    }
    Err(Error::new(
        &codes::REVISION_REQUIRED,
        format!(
            "{} has {} revisions, and --yes has to name one",
            proposal.id,
            proposal.revisions.len()
        ),
    )
    .with("proposal_id", proposal.id.as_str())
    .with("revision", proposal.current().event.clone())
    .hint(format!(
        "look at it with `aye diff {}`, then name what you saw: {}",
        proposal.id,
        proposal.at_revision()
    )))
}

impl Several {
    /// As [`require_named_revision`], for each of `proposals`, which [`Several::pending`] found.
    ///
    /// # Errors
    /// `revision_required`.
    pub fn require_named_revisions(&self, view: &View, proposals: &[Proposal]) -> Result<()> {
        for proposal in proposals {
            let named = self.ids.iter().find(|id| {
                let id = id.split_once('@').map_or(id.as_str(), |(id, _)| id);
                view.resolve(id).is_ok_and(|found| found == proposal.id)
            });
            require_named_revision(named.map(String::as_str), proposal)?;
        }
        Ok(())
    }
}

fn latest(view: &View, now: DateTime<Utc>) -> Result<Proposal> {
    let filter = Filter {
        status: Some(Status::Pending),
        newest_first: true,
        limit: Some(1),
        ..Filter::default()
    };
    match view.ids_of(&filter, now)?.first() {
        Some(id) => view.proposal(id),
        None => Err(Error::new(&codes::PROPOSAL_NOT_FOUND, "no proposal is pending")
            .hint("`aye list --status all` shows all")),
    }
}
