//! Selection of a command's proposals.

mod batch;
mod pick;

pub use batch::BatchArgs;
use pick::pick_one;

use chrono::{DateTime, Utc};

use super::Context;
use crate::error::{Error, Result, codes as error_codes};
use crate::proposal::state::REVISION_DIGITS;
use crate::proposal::{Proposal, Status, codes};
use crate::render::width;
use crate::store::{Filter, Summary, View};
use crate::text::escape;

#[derive(Clone, Debug, clap::Args)]
pub struct ProposalArg {
    /// Proposal id or staging id, or any unique beginning of one; ID@REV only at that revision.
    /// Without it, the only pending one.
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// The newest pending one.
    #[arg(long, conflicts_with = "id")]
    pub latest: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ProposalArgs {
    /// Proposal ids or staging ids, or any unique beginnings of them; ID@REV only at that revision.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// The newest pending one.
    #[arg(long, conflicts_with = "ids")]
    pub latest: bool,
}

impl ProposalArg {
    /// Without an id, the only pending proposal; of several, a person at a terminal picks one, or
    /// none: `None`.
    ///
    /// # Errors
    /// `usage` without an id of several, `invalid_id`, `proposal_not_found`, `ambiguous_id`.
    pub fn find(&self, context: &Context, view: &View) -> Result<Option<Proposal>> {
        match &self.id {
            Some(id) => view.find(id).map(Some),
            None if self.latest => latest(view, context.now).map(Some),
            None => pick_one(context, view),
        }
    }
}

impl ProposalArgs {
    /// Lists each proposal once; all are pending or contested. Empty if a person picks none.
    ///
    /// # Errors
    /// As `ProposalArg::find`; `not_pending`.
    pub fn pending(&self, context: &Context, view: &View) -> Result<Vec<Proposal>> {
        let now = context.now;
        if self.ids.is_empty() {
            let found = match self.latest {
                true => Some(latest(view, now)?),
                false => pick_one(context, view)?,
            };
            return Ok(found.into_iter().collect());
        }
        let mut proposals: Vec<Proposal> = Vec::new();
        for id in &self.ids {
            let proposal = view.find(id)?;
            proposal.require_open(now)?;
            if !proposals.iter().any(|known| known.id == proposal.id) {
                proposals.push(proposal);
            }
        }
        Ok(proposals)
    }
}

/// Refuses `--yes` on several revisions unless `text` names the one that was looked at. Its digits
/// have to exclude any other revision.
///
/// # Errors
/// `revision_required`.
pub fn require_named_revision(text: Option<&str>, proposal: &Proposal) -> Result<()> {
    let (id, revisions) = (&proposal.id, proposal.revisions.len());
    Err(revision_required(
        proposal,
        match text.and_then(|text| text.split_once('@')) {
            Some((_, digits)) if digits.len() >= REVISION_DIGITS => return Ok(()),
            Some(_) => {
                format!("--yes takes {REVISION_DIGITS} digits of a revision of {id} at least")
            }
            None if revisions == 1 => return Ok(()),
            None => format!("{id} has {revisions} revisions, and --yes has to name one"),
        },
    ))
}

fn revision_required(proposal: &Proposal, why: String) -> Error {
    let id = &proposal.id;
    Error::new(&codes::REVISION_REQUIRED, why)
        .with("proposal_id", id.as_str())
        .with("revision", proposal.current().event.clone())
        .hint(format!(
            "look at it with `aye diff {id}`, then name that revision: {}",
            proposal.at_revision()
        ))
}

impl ProposalArgs {
    /// Without `all`, checks only ids with a revision. The only pending proposal may be another one
    /// than was looked at.
    pub fn require_named_revisions(
        &self,
        view: &View,
        proposals: &[Proposal],
        all: bool,
    ) -> Result<()> {
        if let Some(only) = proposals.first().filter(|_| self.ids.is_empty() && !self.latest) {
            let why = "no id was given, and --yes must name the proposal";
            return Err(revision_required(only, why.to_owned()));
        }
        for proposal in proposals {
            let named = self.ids.iter().find(|id| {
                let id = id.split_once('@').map_or(id.as_str(), |(id, _)| id);
                view.resolve(id).is_ok_and(|found| found == proposal.id)
            });
            if all || named.is_some_and(|id| id.contains('@')) {
                require_named_revision(named.map(String::as_str), proposal)?;
            }
        }
        Ok(())
    }
}

fn unnamed(pending: &[Summary]) -> Error {
    let ids: Vec<String> = pending.iter().map(|summary| summary.id.to_string()).collect();
    let lines: String = pending.iter().take(LISTED).map(|it| line(it) + "\n").collect();
    Error::new(&error_codes::USAGE, "which proposal? no id was given, and several are pending")
        .with("candidates", ids)
        .hint(format!("{lines}`aye list` shows the pending proposals; --latest is the newest"))
}

fn line(summary: &Summary) -> String {
    let more = match summary.files {
        0 | 1 => String::new(),
        files => format!(" and {} more", files - 1),
    };
    let why = summary.description.as_deref().unwrap_or_default();
    let parts = [
        summary.id.to_string(),
        escape::name(&summary.proposed_by),
        escape::name(&summary.path) + &more,
        escape::name(why.lines().next().unwrap_or_default()),
    ];
    let line = parts.join("  ");
    width::fit(&line, CANDIDATE_WIDTH)
}

const LISTED: usize = 10;

/// Columns of a candidate in a hint.
const CANDIDATE_WIDTH: usize = 72;

/// # Errors
/// `proposal_not_found` if nothing is pending.
pub fn latest(view: &View, now: DateTime<Utc>) -> Result<Proposal> {
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
