//! What a repair has set aside of lanes, and a person's word that it is this clone's own.

use super::Context;
use super::asking::Asking;
use crate::app::doctor::{COMMAND, Problem, PutBack, question};
use crate::error::Result;
use crate::proposal::Authority;
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::store::{Store, View};

/// Most histories that one repair asks about: whoever can push here chooses how many there are.
const MOST_ASKED: usize = 8;

fn asking(question: &str, yes: bool) -> Asking<'_> {
    Asking { verb: Verb::Force, proposals: &[], yes, question, command: COMMAND }
}

/// The authority of `--trust`, where it names `commits`: refused before anything is repaired.
///
/// # Errors
/// `human_approval_required`.
pub(super) fn by_flag(
    context: &Context,
    store: &Store,
    commits: &[String],
) -> Result<Option<Authority>> {
    if commits.is_empty() {
        return Ok(None);
    }
    context.refuse_agents("say what a lane has said", COMMAND)?;
    context.grant(store, &asking("", true), &Evidence::Flag).map(Some)
}

/// Puts back what `commits` name, by the `authority` of the flag; without one, what a person at the terminal
/// says yes to. Returns what was done, in words, and what could not be: the rest of the report is worth reading
/// then as well.
///
/// # Errors
/// If the refs cannot be read.
pub(super) fn put_back(
    context: &mut Context,
    store: &Store,
    view: &View,
    authority: Option<&Authority>,
    commits: &[String],
) -> Result<PutBack> {
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    let mut put_back =
        |authority: &Authority, commit: &str| match store.put_back(authority, view, commit) {
            Ok(what) => done.push(what),
            Err(error) => refused.push(Problem::of(&error)),
        };
    if let Some(authority) = authority {
        commits.iter().for_each(|commit| put_back(authority, commit));
        return Ok((done, refused));
    }
    if !context.interactive()
        || context.grant(store, &asking("", false), &Evidence::Terminal).is_err()
    {
        return Ok((done, refused));
    }
    let found = store.asides(view, true)?.into_iter().filter(|aside| aside.is_free);
    for aside in found.take(MOST_ASKED) {
        if context.status.is_some() {
            break;
        }
        if !store.is_free(&aside)? {
            continue;
        }
        let question = question(&aside);
        if let Some(authority) = context.asked(store, &asking(&question, false), None)? {
            put_back(&authority, &aside.tip);
        }
    }
    Ok((done, refused))
}
