//! The proposal that is meant if no id is given.

use super::{latest, line, unnamed};
use crate::cli::Context;
use crate::error::{Error, Result};
use crate::prompt;
use crate::proposal::{Proposal, Status};
use crate::store::{Filter, View};

/// `None` if a person picks none.
pub(super) fn pick_one(context: &Context, view: &View) -> Result<Option<Proposal>> {
    let filter = Filter {
        status: Some(Status::Pending),
        newest_first: true,
        limit: Some(MOST_TO_PICK + 1),
        ..Filter::default()
    };
    match &view.proposals(&filter, context.now)?[..] {
        [] => latest(view, context.now).map(Some),
        [one] => view.proposal(&one.id).map(Some),
        several if context.interactive() && several.len() <= MOST_TO_PICK => {
            let lines: Vec<String> = several.iter().map(line).collect();
            let picked = prompt::pick("Which proposal? (Esc: none)", &lines);
            let picked = picked.map_err(|error| Error::io("read from the terminal", &error))?;
            picked.map(|at| view.proposal(&several[at].id)).transpose()
        }
        several => Err(unnamed(several)),
    }
}

const MOST_TO_PICK: usize = 50;
