//! Picks a proposal if no id is given.

use super::{latest, unnamed};
use crate::cli::Context;
use crate::error::{Error, Result};
use crate::prompt;
use crate::proposal::{Proposal, Status};
use crate::store::{Filter, Summary, View};
use crate::text::escape;

pub(super) fn pick_one(context: &Context, view: &View) -> Result<Proposal> {
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

const MOST_TO_PICK: usize = 50;

/// A line that wraps would not be drawn over.
const PICKED_WIDTH: usize = 72;
