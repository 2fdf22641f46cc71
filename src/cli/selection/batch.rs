//! Proposals named by what they have in common.

use std::collections::BTreeSet;

use super::ProposalArgs;
use crate::app::listing::ListFacts;
use crate::changeset::change_entry::entries;
use crate::changeset::hunks::Counts;
use crate::cli::Context;
use crate::cli::filters::FilterArgs;
use crate::error::{Error, Result};
use crate::proposal::{Proposal, Status, codes};
use crate::store::{Filter, Store, View};
use crate::text::{counted, escape};

const NAMED: [&str; 2] = ["ids", "latest"];

#[derive(Clone, Debug, clap::Args)]
pub struct BatchArgs {
    #[command(flatten)]
    pub several: ProposalArgs,
    /// All of this proposer that are pending and not sent back.
    #[arg(long, value_name = "NAME", help_heading = "Filters", conflicts_with_all = NAMED)]
    pub by: Option<String>,
    /// All of this task.
    #[arg(long, value_name = "TASK", help_heading = "Filters", conflicts_with_all = NAMED)]
    pub task: Option<String>,
    /// All of this domain.
    #[arg(long, value_name = "NAME", help_heading = "Filters", conflicts_with_all = NAMED)]
    pub domain: Option<String>,
    /// All that change this file, or one below this directory (from the repository's top).
    #[arg(long, value_name = "PATH", help_heading = "Filters", conflicts_with_all = NAMED)]
    pub path: Option<String>,
}

impl BatchArgs {
    pub fn is_filter(&self) -> bool {
        let texts = [&self.by, &self.task, &self.domain, &self.path];
        texts.into_iter().any(Option::is_some)
    }

    /// A filter's proposals come in the order of review, without the ones sent back.
    pub fn pending(&self, context: &Context, store: &Store, view: &View) -> Result<Vec<Proposal>> {
        let now = context.now;
        if !self.is_filter() {
            return self.several.pending(context, view);
        }
        let filters = FilterArgs {
            by: self.by.clone(),
            task: self.task.clone(),
            domain: self.domain.clone(),
            path: self.path.clone(),
            ..FilterArgs::default()
        };
        let filter = Filter { newest_first: false, ..filters.filter(Some(Status::Pending)) };
        let summaries = view.proposals(&filter, now)?;
        let marks = ListFacts::of(store, view, now, &summaries)?;
        let summaries = marks.in_order(summaries).into_iter();
        let wanted = summaries.filter(|summary| !summary.changes_requested);
        let found: Result<Vec<Proposal>> =
            wanted.map(|summary| view.proposal(&summary.id)).collect();
        match found? {
            none if none.is_empty() => Err(Error::new(
                &codes::PROPOSAL_NOT_FOUND,
                "no pending proposal matches these filters",
            )
            .hint("`aye list` shows all, with the same filters")),
            found => Ok(found),
        }
    }

    /// A decision without a question must name the revisions that were looked at.
    ///
    /// # Errors
    /// `revision_required`
    pub fn refuse_unnamed(&self, command: &str, these: &[Proposal]) -> Result<()> {
        if !self.is_filter() {
            return Ok(());
        }
        let ids: Vec<String> = these.iter().map(Proposal::at_revision).collect();
        let message = format!("--yes takes ids, and these are {}", ids.len());
        Err(Error::new(&codes::REVISION_REQUIRED, message).with("proposals", ids).hint(format!(
            "look at each with `aye diff ID`, then name them: {command} ID@REV … --yes; or decide at a terminal"
        )))
    }

    /// `12 proposals by claude, +84 −31 in 9 files`, or the ids if they were named.
    pub fn subject(&self, store: &Store, proposals: &[Proposal], with_lower: bool) -> String {
        if !self.is_filter() {
            let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
            return ids.join(", ");
        }
        let mut text = counted(proposals.len(), "proposal");
        let parts = [
            ("by", &self.by),
            ("of task", &self.task),
            ("of domain", &self.domain),
            ("in", &self.path),
        ];
        for (word, value) in parts {
            if let Some(value) = value {
                text += &format!(" {word} {}", escape::name(value));
            }
        }
        if with_lower {
            text += " with the proposals that they depend on";
        }
        let (mut counts, mut files) = (Counts::default(), BTreeSet::new());
        for proposal in proposals {
            // An unreadable proposal is refused when decided.
            let Ok(changeset) = store.changeset(proposal.current()) else { continue };
            for entry in entries(changeset.changes()) {
                counts += entry.counts();
                files.insert(entry.path.clone());
            }
        }
        text + &format!(", {counts} in {}", counted(files.len(), "file"))
    }
}
