//! What a repair has set aside of lanes, and a person's word that it is this clone's own.

use std::collections::BTreeSet;

use super::Context;
use super::doctor::Problem;
use super::identity::Asking;
use crate::error::Result;
use crate::proposal::Authority;
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::store::{Aside, Store, View};
use crate::text::escape;

/// Most histories that one repair asks about, and most events of each that the question names: whoever can
/// push here chooses how many there are.
const MOST_ASKED: usize = 8;
const MOST_EVENTS: usize = 100;

/// What a person would type.
const COMMAND: &str = "aye doctor --repair --trust COMMIT";

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
) -> Result<(Vec<String>, Vec<Problem>)> {
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    let mut put_back =
        |authority: &Authority, commit: &str| match store.put_back(authority, view, commit) {
            Ok(what) => done.push(what),
            Err(error) => {
                let hint = error.hint_text().unwrap_or(COMMAND).to_owned();
                refused.push(Problem { hint, ..Problem::new(error.code().id, error.message()) });
            }
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
        if let Some(authority) = context.asked(store, &asking(&question, false))? {
            put_back(&authority, &aside.tip);
        }
    }
    Ok((done, refused))
}

fn question(aside: &Aside) -> String {
    let Aside { name, tip, events, .. } = aside;
    let mut text =
        format!("{} of this clone's lane that nothing which is left of it names:\n", aside.count());
    for (_, event) in events.iter().take(MOST_EVENTS) {
        text += &format!("  {}\n", escape::line(event));
    }
    if let Some(more) = events.len().checked_sub(MOST_EVENTS + 1) {
        text += &format!("  and {} more\n", more + 1);
    }
    text += &format!(
        "They are in {name}, and somebody who can push here may have put them there (`git log -p {tip:.12}`).\n\
         Were they said in this clone, so that they go back into its lane?"
    );
    text
}

/// Every event of `found`, as a problem: it is kept, and does not count.
pub(super) fn problems(found: &[Aside]) -> Vec<Problem> {
    let mut known = BTreeSet::new();
    let mut problems = Vec::new();
    for aside in found {
        for (_, event) in aside.events.iter().filter(|(id, _)| known.insert(id.clone())) {
            let message = format!("{event} is in {} and does not count", aside.name);
            problems.push(Problem { hint: hint(aside), ..Problem::new("event_lost", message) });
        }
    }
    problems
}

/// A warning for each of `found`.
pub(super) fn warnings(found: &[Aside]) -> Vec<String> {
    let warning = |aside: &Aside| {
        let (count, name) = (aside.count(), &aside.name);
        format!("{name}, set aside by a repair, has {count} that no lane here has: {}", hint(aside))
    };
    found.iter().map(warning).collect()
}

fn hint(aside: &Aside) -> String {
    let Aside { name, tip, is_free, is_fetched, .. } = aside;
    match is_free {
        _ if *is_fetched => format!(
            "`git fetch --refetch REMOTE` gets it again from a remote that has it, where a plain fetch takes it \
             for fetched; `git log -p {name}` shows what was said, `git update-ref -d {name}` lets it go"
        ),
        true => format!(
            "if it was said in this clone (`git log -p {name}`): aye doctor --repair --trust {tip:.12}; \
             if not: git update-ref -d {name}"
        ),
        false => format!(
            "`git log -p {name}` shows what was said; say again here what still holds, then let it go: \
             git update-ref -d {name}"
        ),
    }
}
