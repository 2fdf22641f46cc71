//! Which proposals a command is about.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::Context;
use super::filters::FilterArgs;
use crate::app::listing::Marks;
use crate::changeset::entry::entries;
use crate::changeset::hunks::Counts;
use crate::error::{Error, Result, codes as error_codes};
use crate::prompt;
use crate::proposal::state::REVISION_DIGITS;
use crate::proposal::{Proposal, Status, codes};
use crate::store::{Filter, Store, Summary, View};
use crate::text::escape;

/// One proposal.
#[derive(Clone, Debug, clap::Args)]
pub struct One {
    /// Proposal id or staging id, or any unique beginning of one; ID@REV only at that revision.
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// The newest one that is pending.
    #[arg(long, conflicts_with = "id")]
    pub latest: bool,
}

/// One or more proposals.
#[derive(Clone, Debug, clap::Args)]
pub struct Several {
    /// Proposal ids or staging ids, or any unique beginnings of them; ID@REV only at that revision.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// The newest one that is pending.
    #[arg(long, conflicts_with = "ids")]
    pub latest: bool,
}

/// Proposals by id, or all pending ones of an agent, a task, a topic or a place.
#[derive(Clone, Debug, clap::Args)]
pub struct Batch {
    /// Proposal ids or staging ids, or any unique beginnings of them; ID@REV only at that revision.
    #[arg(
        value_name = "ID",
        conflicts_with_all = ["by", "task", "domain", "path"]
    )]
    pub ids: Vec<String>,
    /// The newest one that is pending.
    #[arg(long, conflicts_with_all = ["ids", "by", "task", "domain", "path"])]
    pub latest: bool,
    /// All pending ones of this proposer that were not sent back.
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub by: Option<String>,
    /// All of this task.
    #[arg(long, value_name = "TASK", help_heading = "Filters")]
    pub task: Option<String>,
    /// All of this domain.
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub domain: Option<String>,
    /// All that change this file, or one below this directory (from the repository's top).
    #[arg(long, value_name = "PATH", help_heading = "Filters")]
    pub path: Option<String>,
}

impl Batch {
    /// Whether they are named by what they have in common.
    pub fn is_filter(&self) -> bool {
        let texts = [&self.by, &self.task, &self.domain, &self.path];
        texts.into_iter().any(Option::is_some)
    }

    /// The ids and `--latest` alone.
    pub fn several(&self) -> Several {
        Several { ids: self.ids.clone(), latest: self.latest }
    }

    /// The proposals that are meant, each once; all of them pending. Those named by a filter
    /// come in the order of review, without those that were sent back.
    ///
    /// # Errors
    /// As [`Several::pending`].
    pub fn pending(&self, context: &Context, store: &Store, view: &View) -> Result<Vec<Proposal>> {
        let now = context.now;
        if !self.is_filter() {
            return self.several().pending(context, view);
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
        let marks = Marks::of(store, view, now, &summaries)?;
        let summaries = marks.in_order(summaries).into_iter();
        let wanted = summaries.filter(|summary| !summary.changes_requested);
        let found: Result<Vec<Proposal>> =
            wanted.map(|summary| view.proposal(&summary.id)).collect();
        match found? {
            none if none.is_empty() => {
                Err(Error::new(&codes::PROPOSAL_NOT_FOUND, "no pending proposal is meant by that")
                    .hint("`aye list` shows all, with the same filters"))
            }
            found => Ok(found),
        }
    }

    /// Refuses `--yes` for what is named by a filter: who decides without a question names what was looked at.
    ///
    /// # Errors
    /// `revision_required`.
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

    /// `12 proposals by claude, +84 −31 in 9 files`: what a question about them is about; the ids where
    /// they were named. `with_lower`: with what those named stand on.
    pub fn subject(&self, store: &Store, proposals: &[Proposal], with_lower: bool) -> String {
        if !self.is_filter() {
            let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
            return ids.join(", ");
        }
        let plural = if proposals.len() == 1 { "" } else { "s" };
        let mut text = format!("{} proposal{plural}", proposals.len());
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
            text += " with what they stand on";
        }
        let (mut counts, mut files) = (Counts::default(), BTreeSet::new());
        for proposal in proposals {
            // What cannot be read is refused when it is decided.
            let Ok(changeset) = store.changeset(&proposal.current().changes) else { continue };
            for entry in entries(changeset.changes()) {
                counts += entry.counts();
                files.insert(entry.path.clone());
            }
        }
        let plural = if files.len() == 1 { "" } else { "s" };
        text + &format!(", {counts} in {} file{plural}", files.len())
    }
}

impl One {
    /// The proposal that is meant: at a terminal also the only one that is pending, or one picked from a list.
    ///
    /// # Errors
    /// `usage` where no id was given, `invalid_id`, `proposal_not_found`, `ambiguous_id`; those of the store.
    pub fn find(&self, context: &Context, view: &View) -> Result<Proposal> {
        match &self.id {
            Some(id) => view.find(id),
            None if self.latest => latest(view, context.now),
            None => only(context, view),
        }
    }

    /// The id, or `None` for the newest one.
    ///
    /// # Errors
    /// `usage` where neither was said.
    pub fn named(&self) -> Result<Option<&str>> {
        match &self.id {
            None if !self.latest => Err(unnamed()),
            id => Ok(id.as_deref()),
        }
    }
}

impl Several {
    /// The proposals that are meant, each once; all of them pending.
    ///
    /// # Errors
    /// As [`One::find`]; `not_pending`.
    pub fn pending(&self, context: &Context, view: &View) -> Result<Vec<Proposal>> {
        let now = context.now;
        if self.ids.is_empty() {
            let found = if self.latest { latest(view, now)? } else { only(context, view)? };
            return Ok(vec![found]);
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
/// does not say which was looked at; and by so few digits of one that another could begin so.
///
/// # Errors
/// `revision_required`.
pub fn require_named_revision(text: Option<&str>, proposal: &Proposal) -> Result<()> {
    let (id, revisions) = (&proposal.id, proposal.revisions.len());
    let why = match text.and_then(|text| text.split_once('@')) {
        Some((_, digits)) if digits.len() >= REVISION_DIGITS => return Ok(()),
        Some(_) => format!("--yes takes {REVISION_DIGITS} digits of a revision of {id} at least"),
        None if revisions == 1 => return Ok(()),
        None => format!("{id} has {revisions} revisions, and --yes has to name one"),
    };
    Err(Error::new(&codes::REVISION_REQUIRED, why)
        .with("proposal_id", id.as_str())
        .with("revision", proposal.current().event.clone())
        .hint(format!(
            "look at it with `aye diff {id}`, then name what you saw: {}",
            proposal.at_revision()
        )))
}

impl Several {
    /// As [`require_named_revision`], for each of `proposals`, which [`Several::pending`] found. `all`: not
    /// only those of which a revision was named.
    ///
    /// # Errors
    /// `revision_required`.
    pub fn require_named_revisions(
        &self,
        view: &View,
        proposals: &[Proposal],
        all: bool,
    ) -> Result<()> {
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

/// The only proposal that is pending, or the one that a person who gave no id picks.
fn only(context: &Context, view: &View) -> Result<Proposal> {
    if !context.interactive() {
        return Err(unnamed());
    }
    let filter = Filter {
        status: Some(Status::Pending),
        newest_first: true,
        limit: Some(MOST_TO_PICK + 1),
        ..Filter::default()
    };
    match &view.proposals(&filter, context.now)?[..] {
        [] => latest(view, context.now),
        [one] => view.proposal(&one.id),
        several if several.len() <= MOST_TO_PICK => {
            let lines: Vec<String> = several.iter().map(line).collect();
            let picked = prompt::pick("Which proposal? (Esc: none)", &lines);
            let picked = picked.map_err(|error| Error::io("read from the terminal", &error))?;
            picked.map_or_else(|| Err(unnamed()), |at| view.proposal(&several[at].id))
        }
        _ => Err(unnamed()),
    }
}

/// A proposal in a list to pick from.
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
    console::truncate_str(&line, PICKED_WIDTH, "…").into_owned()
}

/// Most proposals that are offered to pick from: more are a case for `aye list` or a review.
const MOST_TO_PICK: usize = 50;

/// Longest line of a list to pick from, in columns: one that wraps would not be drawn over.
const PICKED_WIDTH: usize = 72;

fn unnamed() -> Error {
    Error::new(&error_codes::USAGE, "which proposal? no id was given")
        .hint("`aye list` shows what is pending; --latest is the newest of these")
}

/// The newest pending proposal.
///
/// # Errors
/// `proposal_not_found` where nothing is pending.
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
