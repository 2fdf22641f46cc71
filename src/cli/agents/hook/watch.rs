//! Commands that run in the checkout: what they write there goes into the session's tree, and is put back.
//!
//! Not every client reports the end of a command that failed, was interrupted or runs in the background, and nobody
//! that of one that the person did not allow. Between its beginning and whatever comes next the person may have edited
//! the same files: what nobody has reported is never put back, and only named, to the model with the next end or the
//! person's next prompt, and to the person when the agent stops. Parts of an agent run theirs side by side.

use std::path::Path;
use std::time::SystemTime;

use bstr::BString;

use super::place::Place;
use super::{begin, decided, session};
use crate::app::ground;
use crate::cli::Context;
#[cfg(unix)]
use crate::cli::shell::only_reads;
use crate::error::Result;
use crate::harness::{Answer, Call, Shell};
use crate::session::guard::{Before, Claim, Files, Found};
use crate::session::home::{Changing, Watching};
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
    (command, shell, input): (&str, Shell, &serde_json::Value),
) -> Result<Answer> {
    let part = call.part.as_str();
    if shell != Shell::Foreign && only_reads(context, directory, command) {
        pass(place, part)?;
        return Ok(Answer::Nothing);
    }
    // What it writes needs a place to go to.
    begin(context, place, &place.name)?;
    let watching = place.home.watch()?;
    let changing = place.home.change(&place.name)?;
    let mut watched = place.home.watched(&changing);
    watched.pass(part);
    tell(context, place, (&watching, &changing), &mut watched, |it| {
        it.part == part && it.is_outlived
    })?;
    while watched.running.len() >= MOST {
        let at = watched.running.iter().position(|it| it.is_over).unwrap_or_default();
        if !watched.running[at].is_told {
            settle(context, place, (&watching, &changing), &mut watched, (at, End::Unknown))?;
        }
        watched.running.remove(at);
    }
    let said = ["run_in_background", "is_background"].iter().any(|key| input[key] == true);
    let is_background = said || shell == Shell::Background;
    watched.running.push(Running {
        command: command.to_owned(),
        part: part.to_owned(),
        is_background,
        is_passed: false,
        is_outlived: false,
        is_told: false,
        is_over: false,
        began: nanoseconds(),
        top: top(place),
        tips: decided::tips(&place.store)?,
        before: Before::look(&place.store)?,
    });
    place.home.keep_watched(&changing, &watched)?;
    Ok(Answer::Nothing)
}

/// Where there is no read-only shell, nothing is known to read only.
#[cfg(not(unix))]
fn only_reads(_: &Context, _: &Path, _: &str) -> bool {
    false
}

/// A command that only reads begins: the report of its end is about none that is remembered.
fn pass(place: &Place, part: &str) -> Result<()> {
    let Place { home, name, .. } = place;
    if !home.has(name) {
        return Ok(());
    }
    let _watching = home.watch()?;
    let changing = home.change(name)?;
    let mut watched = home.watched(&changing);
    match watched.pass(part) {
        true => home.keep_watched(&changing, &watched),
        false => Ok(()),
    }
}

fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn top(place: &Place) -> BString {
    let top = place.real.1.as_ref().map(|top| top.as_os_str().as_encoded_bytes());
    top.unwrap_or_default().into()
}

/// Takes what a command has written in the checkout into the session's tree.
pub(super) fn ran(context: &Context, place: &Place, call: &Call, command: &str) -> Result<Answer> {
    let Place { home, name, .. } = place;
    if !home.has(name) {
        return Ok(Answer::Nothing);
    }
    let watching = home.watch()?;
    let changing = home.change(name)?;
    let mut watched = home.watched(&changing);
    // Of a command that reads only, nothing is remembered.
    let Some(at) = watched.ended(&call.part, command) else { return Ok(Answer::Nothing) };
    if !watched.running[at].is_background {
        settle(context, place, (&watching, &changing), &mut watched, (at, End::Reported))?;
        let ended = watched.running.remove(at);
        watched.outlive(&ended.part, ended.began);
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
    let watching = home.watch()?;
    let changing = home.change(name)?;
    let mut watched = home.watched(&changing);
    tell(context, place, (&watching, &changing), &mut watched, |it| it.part.is_empty())?;
    let text = std::mem::take(&mut watched.untold).join("\n\n");
    home.keep_watched(&changing, &watched)?;
    Ok((!text.is_empty()).then_some(text))
}

/// Compares the commands that have ended, as far as `is_over` can know, though nobody has reported it, for the model to
/// be told, once.
fn tell(
    context: &Context,
    place: &Place,
    held: (&Watching, &Changing),
    watched: &mut Watched,
    is_over: impl Fn(&Running) -> bool,
) -> Result<()> {
    let mut at = 0;
    while let Some(it) = watched.running.get(at) {
        if !is_over(it) || it.is_background || it.is_told {
            at += 1;
            continue;
        }
        let found = settle(context, place, held, watched, (at, End::Unknown))?;
        watched.running[at].is_told = true;
        if found.is_pruned {
            watched.running.remove(at);
        } else {
            at += 1;
        }
    }
    Ok(())
}

/// Compares what is left of all commands, where the agent is done. What the person is to be told.
pub(super) fn ended(context: &Context, place: &Place) -> Result<Vec<String>> {
    let Place { home, name, .. } = place;
    let watching = home.watch()?;
    let changing = home.change(name)?;
    let mut watched = home.watched(&changing);
    let mut left: Vec<(String, String)> = Vec::new();
    while let Some(at) = watched.running.iter().position(|it| !it.is_over) {
        let found =
            settle(context, place, (&watching, &changing), &mut watched, (at, End::Unknown))?;
        let it = &mut watched.running[at];
        (it.is_told, it.is_over) = (true, true);
        // Of one in the background no end is reported.
        if it.is_background || found.is_pruned {
            watched.running.remove(at);
        }
        let is_known = |(path, _): &(String, String)| left.iter().any(|(left, _)| left == path);
        let new: Vec<_> = found.left.into_iter().filter(|item| !is_known(item)).collect();
        left.extend(new);
    }
    watched.is_limit_told = false;
    let lost = std::mem::take(&mut watched.lost);
    let pruned = std::mem::take(&mut watched.pruned);
    home.keep_watched(&changing, &watched)?;
    let mut lines = Vec::new();
    left.retain(|(path, _)| !lost.iter().any(|(lost, _)| lost == path));
    if !left.is_empty() {
        lines.push(format!(
            "aye: in the checkout, perhaps by a command whose end was not reported:\n{}",
            listed(left.iter().map(line))
        ));
    }
    if !lost.is_empty() {
        lines.push(format!(
            "aye: files that git does not track were changed while commands ran, and aye has no copy of what they \
             held:\n{}",
            listed(lost.iter().map(line))
        ));
    }
    if !pruned.is_empty() {
        let command = |command: &String| escape::line(command).into_owned();
        lines.push(format!(
            "aye: git has pruned what the checkout was before these commands, so that what they wrote is in it, and \
             not proposed (git status):\n{}",
            listed(pruned.iter().map(command))
        ));
    }
    Ok(lines)
}

/// What is known of the end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The client has just reported it.
    Reported,
    /// It may have ended long ago, or never have begun.
    Unknown,
}

/// Compares the checkout with what it was before one of the commands; what is to be told is among what is `watched`.
fn settle(
    context: &Context,
    place: &Place,
    held: (&Watching, &Changing),
    watched: &mut Watched,
    (at, end): (usize, End),
) -> Result<Found> {
    let Place { store, home, name, .. } = place;
    let it = watched.running[at].clone();
    // The client has gone elsewhere meanwhile.
    if it.top != top(place) {
        return Ok(Found::default());
    }
    let others = watched.running.iter().enumerate();
    let others = others.filter(|(other, it)| *other != at && !it.is_over);
    let others: Vec<String> = others.map(|(_, other)| other.command.clone()).collect();
    let decided = decided::since(store, &it.tips)?;
    let is_late = end == End::Unknown;
    let session = session(context, place);
    let base = match is_late {
        true => home.record(name)?.base,
        false => ground::base(&session, home, held.1)?,
    };
    let claim =
        Claim { command: &it.command, others: &others, is_late, decided: &decided, base: &base };
    let above = |base: &str, files: Files| {
        store.commit_with(base, files, context.now, "What a command wrote")
    };
    let mut found = it.before.compare(store, &home.tree(name), claim, above)?;
    if let Some(base) = found.base.take() {
        ground::moved(&session, home, held.1, base, std::mem::take(&mut found.kept))?;
    }
    if !found.back.is_empty() {
        // What it had written until they began is not what was there before them. Where that cannot be noted,
        // nothing is put back any more.
        let note = |other: &mut Running| {
            let is_later = other.began > it.began && other.top == it.top;
            if is_later && other.before.take(store, &it.before, &found.back, above).is_err() {
                other.top.clear();
            }
        };
        watched.running.iter_mut().for_each(note);
        for other in home.watching(held.0).iter().filter(|other| *other != name) {
            if let Ok(changing) = home.change(other) {
                let mut watched = home.watched(&changing);
                watched.running.iter_mut().for_each(note);
                home.keep_watched(&changing, &watched)?;
            }
        }
    }
    let is_limit_new = found.is_over_limit && !watched.is_limit_told;
    watched.is_limit_told |= found.is_over_limit;
    if found.is_pruned {
        watched.pruned.push(it.command.clone());
    }
    if watched.untold.len() < MOST_UNTOLD && !(is_late && it.is_told) {
        watched.untold.extend(words(&found, &it.command, (is_late, is_limit_new)));
    }
    watched.lost.extend(found.lost.iter().cloned());
    Ok(found)
}

fn line((path, why): &(String, String)) -> String {
    format!("{}: {}", escape::name(path), escape::line(why))
}

fn words(found: &Found, command: &str, (is_late, is_limit_new): (bool, bool)) -> Vec<String> {
    let mut text = Vec::new();
    if !found.taken.is_empty() {
        text.push(format!(
            "The command wrote files of the checkout, which are not edited: they are put back, and what it wrote \
             is offered for review when you stop:\n{}",
            listed(found.taken.iter().map(|path| escape::name(path)))
        ));
    }
    if !found.met.is_empty() {
        text.push(format!(
            "In these, your earlier edits of the same lines, which the files did not have any more, have made way for it. \
             If they are to stay as well, propose that:\n{}",
            listed(found.met.iter().map(|path| escape::name(path)))
        ));
    }
    if !found.left.is_empty() {
        let whose = match is_late {
            true => "If it was your command, has ended, and nobody else has edited them",
            false => "If the command wrote them",
        };
        text.push(format!(
            "These files of the checkout are not as they were. {whose}, propose that, and put them back:\n{}",
            listed(found.left.iter().map(line))
        ));
    }
    if found.is_pruned {
        text.push(format!(
            "Git has pruned what the checkout was before this command, so that nothing can be put back. If it wrote \
             files of the checkout, propose that, and put them back: {}",
            escape::line(command)
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
