//! What became of proposals, in the words for their agent.

use super::place::Place;
use super::session;
use crate::app::{comment, session as sessions, wait};
use crate::cli::Context;
use crate::error::Result;
use crate::proposal::Status;

/// What became of the session's proposals, once each.
pub(super) fn told(context: &Context, place: &Place) -> Result<Option<String>> {
    let Place { home, name, .. } = place;
    if home.record(name).is_err() {
        return Ok(None);
    }
    let changing = home.change(name)?;
    let news = sessions::news(&session(context, place), home, &changing, name)?;
    let rest = |of: &wait::Document| {
        let rest = news.rests.iter().find(|(decided, _)| *decided == of.proposal_id);
        rest.map(|(_, rest)| rest.as_str())
    };
    let of = |of: &wait::Document| {
        let stays = news.stays.contains(&of.proposal_id);
        verdict(of, rest(of), stays)
    };
    let mut texts: Vec<String> = news.verdicts.iter().map(of).collect();
    if !news.kept.is_empty() {
        let lines: Vec<String> =
            news.kept.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        texts.push(format!("Look at these files of the work tree again:\n{}", lines.join("\n")));
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// What became of a proposal, in the words for its agent. `rest` is the proposal of what a decision left out; the
/// tree `stays` without what another clone has made of it.
pub(super) fn verdict(news: &wait::Document, rest: Option<&str>, stays: bool) -> String {
    let by = news.by.as_deref().unwrap_or("a reviewer");
    let id = &news.proposal_id;
    let mut text = match (news.status, news.changes_requested) {
        (Status::Applied, _) if stays => format!(
            "Your proposal {id} was applied by {by} in another clone, not as you made it; the work tree is as you \
             left it."
        ),
        (Status::Pending, false) if stays => {
            let by = news.revised.as_ref().map_or(by, |revised| &revised.by);
            format!(
                "{by} has edited your pending proposal {id} in another clone; the work tree does not have that. What \
                 you edit from now on takes its place."
            )
        }
        (Status::Applied, _) => {
            match news.revised.as_ref().map(|revised| revised.reason.as_str()) {
                Some("partial") => match rest {
                    Some(rest) => format!(
                        "Your proposal {id} was applied by {by} in part; the rest is pending as {rest}, and \
                         stays in the work tree."
                    ),
                    None => format!(
                        "Your proposal {id} was applied by {by} in part; the rest is out of the work tree, too."
                    ),
                },
                Some(_) => format!(
                    "Your proposal {id} was applied by {by}, not as you made it; the work tree has what was \
                 applied."
                ),
                None => format!("Your proposal {id} was applied by {by} as it is."),
            }
        }
        (Status::Pending, true) => format!(
            "{by} asks for changes of your proposal {id}: make them in the work tree, they become its \
             next revision."
        ),
        (Status::Pending, false) => {
            let by = news.revised.as_ref().map_or(by, |revised| &revised.by);
            format!(
                "{by} has edited your pending proposal {id}; the work tree has that, too: go on from it."
            )
        }
        (Status::Expired, _) => format!(
            "Your proposal {id} expired; nobody decided on it. What it holds is proposed again when you \
             stop."
        ),
        _ => format!(
            "Your proposal {id} was rejected by {by}; its edits are not in the repository, and out of the \
             work tree."
        ),
    };
    if let Some(reason) = &news.reason {
        text += &format!("\nReason: {reason}");
    }
    for remark in &news.comments {
        for line in comment::text(id, remark, news.status == Status::Pending) {
            text += &format!("\n{line}");
        }
    }
    if let Some(diff) = news.revised.as_ref().and_then(|revised| revised.diff.as_ref()) {
        let cut = diff.floor_char_boundary(MOST_DIFF);
        text += &format!("\nYours against what it is now:\n{}", &diff[..cut]);
    }
    text
}

/// Most bytes of a diff that a model is told.
pub(super) const MOST_DIFF: usize = 8 << 10;
