//! Commands that run in the checkout: what they write there goes into the session's tree, and is put back.
//!
//! Not every client reports the end of a command that failed, was interrupted or runs in the background, and parts of
//! an agent run theirs side by side. What nobody has reported is compared before the next command of the same part,
//! with the person's next prompt, and when the agent stops.

use std::path::Path;

use super::begin;
use super::place::Place;
use crate::cli::Context;
#[cfg(unix)]
use crate::cli::shell::only_reads;
use crate::error::Result;
use crate::harness::{Answer, Call};
use crate::session::guard::{Before, Claim, Files, Found};
use crate::session::untracked;
use crate::session::watched::{MOST, Running, Watched};
use crate::text::escape;

/// Most files that one answer names.
const MOST_NAMED: usize = 100;

/// Answers that are kept for the model, where its client asks for none of them.
const MOST_UNTOLD: usize = 16;

/// Lets a command run in the checkout, and remembers what the checkout was, where the command may write.
pub(super) fn watch(
    context: &mut Context,
    place: &Place,
    call: &Call,
    directory: &Path,
    (command, input): (&str, &serde_json::Value),
) -> Result<Answer> {
    if only_reads(context, directory, command) {
        return Ok(Answer::Nothing);
    }
    // What it writes needs a place to go to.
    begin(context, place, &place.name)?;
    let changing = place.home.change(&place.name)?;
    let mut watched = place.home.watched(&changing);
    let part = call.part.as_str();
    let is_over = |it: &Running| it.part == part && !it.is_background && !it.is_settled;
    for at in 0..watched.running.len() {
        if is_over(&watched.running[at]) {
            settle(context, place, &mut watched, at)?;
        }
    }
    while watched.running.len() >= MOST {
        if !watched.running[0].is_settled {
            settle(context, place, &mut watched, 0)?;
        }
        watched.running.remove(0);
    }
    let before = Before::look(&place.store)?;
    for it in watched.running.iter_mut().filter(|it| is_over(it)) {
        // If it runs on all the same, the report of its end is about what it writes from now on.
        it.is_settled = true;
        it.before = before.clone();
    }
    let is_background = ["run_in_background", "is_background"].iter().any(|key| input[key] == true);
    watched.running.push(Running {
        command: command.to_owned(),
        part: part.to_owned(),
        is_background,
        is_settled: false,
        before,
    });
    place.home.keep_watched(&changing, &watched)?;
    Ok(Answer::Nothing)
}

/// Where there is no read-only shell, nothing is known to read only.
#[cfg(not(unix))]
fn only_reads(_: &Context, _: &Path, _: &str) -> bool {
    false
}

/// Takes what a command has written in the checkout into the session's tree.
pub(super) fn ran(context: &Context, place: &Place, call: &Call, command: &str) -> Result<Answer> {
    let Place { home, name, .. } = place;
    if !home.has(name) {
        return Ok(Answer::Nothing);
    }
    let changing = home.change(name)?;
    let mut watched = home.watched(&changing);
    // Of a command that reads only, nothing is remembered.
    let Some(at) = watched.ended(&call.part, command) else { return Ok(Answer::Nothing) };
    if !watched.running[at].is_background {
        watched.running[at].is_settled = false;
        settle(context, place, &mut watched, at)?;
        watched.running.remove(at);
    }
    let text = std::mem::take(&mut watched.untold).join("\n\n");
    home.keep_watched(&changing, &watched)?;
    Ok(if text.is_empty() { Answer::Nothing } else { Answer::Inform(text) })
}

/// Compares what is left of commands that the agent itself ran, and whose end nobody has reported. What the model is
/// to be told, once.
pub(super) fn interrupted(context: &Context, place: &Place) -> Result<Option<String>> {
    let Place { home, name, .. } = place;
    if !home.has(name) {
        return Ok(None);
    }
    let changing = home.change(name)?;
    let mut watched = home.watched(&changing);
    settle_all(context, place, &mut watched, |it| it.part.is_empty() && !it.is_background)?;
    let text = std::mem::take(&mut watched.untold).join("\n\n");
    home.keep_watched(&changing, &watched)?;
    Ok((!text.is_empty()).then_some(text))
}

/// Compares what is left of all commands, where the agent is done. What the person is to be told.
pub(super) fn ended(context: &Context, place: &Place) -> Result<Vec<String>> {
    let Place { home, name, .. } = place;
    let changing = home.change(name)?;
    let mut watched = home.watched(&changing);
    let found = settle_all(context, place, &mut watched, |_| true)?;
    watched.is_limit_told = false;
    let lost = std::mem::take(&mut watched.lost);
    home.keep_watched(&changing, &watched)?;
    let mut lines = Vec::new();
    let taken: Vec<String> =
        found.iter().flat_map(|found| &found.taken).map(|path| escape::name(path)).collect();
    if !taken.is_empty() {
        lines.push(format!(
            "aye: written by a command whose end was not reported, and put back:\n{}",
            listed(taken.into_iter())
        ));
    }
    let is_lost = |path: &String| lost.iter().any(|(lost, _)| lost == path);
    let left: Vec<String> = found
        .iter()
        .flat_map(|found| &found.left)
        .filter(|(path, _)| !is_lost(path))
        .map(line)
        .collect();
    if !left.is_empty() {
        lines.push(format!(
            "aye: in the checkout, perhaps by a command whose end was not reported:\n{}",
            listed(left.into_iter())
        ));
    }
    if !lost.is_empty() {
        lines.push(format!(
            "aye: files that git does not track were changed by commands, and aye has no copy of what they held:\n{}",
            listed(lost.iter().map(line))
        ));
    }
    Ok(lines)
}

fn settle_all(
    context: &Context,
    place: &Place,
    watched: &mut Watched,
    is_over: impl Fn(&Running) -> bool,
) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    while let Some(at) = watched.running.iter().position(&is_over) {
        all.push(settle(context, place, watched, at)?);
        watched.running.remove(at);
    }
    Ok(all)
}

/// Compares the checkout with what it was before one of the commands; what is to be told is among what is `watched`.
fn settle(context: &Context, place: &Place, watched: &mut Watched, at: usize) -> Result<Found> {
    let Place { store, home, name, .. } = place;
    let others = watched.running.iter().enumerate().filter(|(other, _)| *other != at);
    let others: Vec<String> = others.map(|(_, other)| other.command.clone()).collect();
    let it = &watched.running[at];
    let claim = Claim { command: &it.command, others: &others, is_late: it.is_settled };
    let above = |base: &str, files: Files| {
        store.commit_with(base, files, context.now, "What a command wrote")
    };
    let found = it.before.compare(store, &home.tree(name), claim, above)?;
    let is_limit_new = found.is_over_limit && !watched.is_limit_told;
    watched.is_limit_told |= found.is_over_limit;
    if watched.untold.len() < MOST_UNTOLD {
        watched.untold.extend(words(&found, is_limit_new));
    }
    watched.lost.extend(found.lost.iter().cloned());
    Ok(found)
}

fn line((path, why): &(String, String)) -> String {
    format!("{}: {}", escape::name(path), escape::line(why))
}

fn words(found: &Found, is_limit_new: bool) -> Vec<String> {
    let mut text = Vec::new();
    if !found.taken.is_empty() {
        text.push(format!(
            "The command wrote files of the checkout, which are not edited: they are put back, and what it wrote \
             is offered for review when you stop:\n{}",
            listed(found.taken.iter().map(|path| escape::name(path)))
        ));
    }
    if !found.left.is_empty() {
        text.push(format!(
            "These files of the checkout are not as they were. If the command wrote them, propose that, and put \
             them back:\n{}",
            listed(found.left.iter().map(line))
        ));
    }
    if is_limit_new {
        text.push(format!(
            "The checkout has more than {} files that git neither tracks nor ignores: what commands do to those is not \
             noticed.",
            untracked::MOST
        ));
    }
    text
}

fn listed(lines: impl ExactSizeIterator<Item = String>) -> String {
    let more = lines.len().saturating_sub(MOST_NAMED);
    let mut lines: Vec<String> = lines.take(MOST_NAMED).collect();
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    lines.join("\n")
}
