//! Outcomes of proposals, in words for their agent.

use crate::app::{self, remark_text, session as sessions, wait};
use crate::error::Result;
use crate::proposal::Status;
use crate::proposal::event::RevisionReason;
use crate::session::SessionStore;
use crate::text::escape;

/// Updates the tree to the decisions first. Each outcome is reported once.
pub(super) fn outcome_text(
    session: &app::Session<'_>,
    home: &SessionStore,
    name: &str,
) -> Result<Option<String>> {
    if home.record(name).is_err() {
        return Ok(None);
    }
    let changing = home.change(name)?;
    let news = sessions::news(session, home, &changing, name)?;
    let rest = |of: &wait::Document| {
        let rest = news.rests.iter().find(|(decided, _)| *decided == of.proposal_id);
        rest.map(|(_, rest)| rest.as_str())
    };
    let of = |of: &wait::Document| verdict(of, rest(of));
    let heading = (!news.verdicts.is_empty()).then(|| remark_text::TO_WEIGH.to_owned());
    let mut texts: Vec<String> = heading.into_iter().collect();
    texts.extend(news.verdicts.iter().map(of));
    if !news.kept.is_empty() {
        let line = |(path, why): &(String, String)| {
            format!("{}: {}", escape::name(path), escape::line(why))
        };
        let lines: Vec<String> = news.kept.iter().map(line).collect();
        texts.push(format!("Look at these files of the work tree again:\n{}", lines.join("\n")));
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

fn verdict(news: &wait::Document, rest: Option<&str>) -> String {
    let by = news.actor.as_ref().map_or_else(|| "a reviewer".to_owned(), remark_text::name);
    let reviser =
        || news.revised.as_ref().map_or(by.clone(), |revised| remark_text::name(&revised.actor));
    let is_partial =
        news.revised.as_ref().is_some_and(|revised| revised.reason == RevisionReason::Partial);
    let id = &news.proposal_id;
    let mut text = match (news.status, news.changes_requested, rest) {
        (Status::Applied, _, _) if news.revised.is_none() => {
            format!("Your proposal {id} was applied by {by} as it is.")
        }
        (Status::Applied, _, Some(rest)) if is_partial => {
            format!(
                "Your proposal {id} was partially applied by {by}; the rest is pending as {rest}."
            )
        }
        (Status::Applied, _, None) if is_partial => {
            format!("Your proposal {id} was partially applied by {by}; the rest was left out.")
        }
        (Status::Applied, ..) => {
            format!("Your proposal {id} was applied by {by}, not as you made it.")
        }
        (Status::Pending, true, _) => format!(
            "{by} asks for changes of your proposal {id}: make them in the work tree, they become its next revision."
        ),
        (Status::Pending, false, _) => {
            format!("{} has edited your pending proposal {id}.", reviser())
        }
        (Status::Expired, ..) => format!(
            "Your proposal {id} expired; nobody decided on it. What it holds is proposed again when you stop."
        ),
        _ => format!("Your proposal {id} was rejected by {by}."),
    };
    if news.status != Status::Expired && !news.changes_requested {
        text += " The work tree follows that: go on from it.";
    }
    let mut lines = Vec::new();
    if let Some(reason) = &news.reason {
        lines.extend(remark_text::labelled("Reason", reason));
    }
    let is_pending = news.status == Status::Pending;
    lines.extend(
        news.comments.iter().flat_map(|remark| remark_text::comment(id, remark, is_pending)),
    );
    if let Some(diff) = news.revised.as_ref().and_then(|revised| revised.diff.as_ref()) {
        lines.push("What that changed in yours:".to_owned());
        // The tree has the rest; an agent needs the places alone.
        let counts = is_partial.then(|| counts(diff));
        let (shown, more) = cut(counts.as_ref().unwrap_or(diff));
        lines.extend(shown.lines().map(str::to_owned));
        match more {
            0 => {}
            1 => lines.push(format!("… and 1 more line: aye diff {id}")),
            more => lines.push(format!("… and {more} more lines: aye diff {id}")),
        }
    }
    for line in lines {
        text += "\n";
        text += &line;
    }
    text
}

/// Files with lines added and removed.
fn counts(diff: &str) -> String {
    let mut files: Vec<(&str, usize, usize)> = Vec::new();
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            files.push((names.rsplit(" b/").next().unwrap_or(names), 0, 0));
        }
        let Some((_, added, removed)) = files.last_mut() else { continue };
        *added += usize::from(line.starts_with('+') && !line.starts_with("+++ "));
        *removed += usize::from(line.starts_with('-') && !line.starts_with("--- "));
    }
    let line = |(name, added, removed)| format!("{name} +{added} −{removed}\n");
    files.into_iter().map(line).collect()
}

const MOST_DIFF: usize = 8 << 10;

fn cut(diff: &str) -> (&str, usize) {
    if diff.len() <= MOST_DIFF {
        return (diff, 0);
    }
    let end = diff.as_bytes()[..MOST_DIFF].iter().rposition(|byte| *byte == b'\n');
    let (shown, rest) = diff.split_at(end.map_or(0, |end| end + 1));
    (shown, rest.lines().count())
}
