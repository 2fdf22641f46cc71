//! What is damaged or lost, and what a person can do about it.

use std::collections::BTreeSet;
use std::path::Path;

use super::Problem;
use crate::proposal::ProposalId;
use crate::store::{Aside, Damage, Store, View};

/// What a repair could not save: of `lanes`, which had to be put together again or cut off, the events that
/// only the old cache has (not what was set `aside`), and the objects that were damaged.
pub(super) fn lost(
    store: &Store,
    view: &View,
    damaged: &[&Damage],
    lanes: &BTreeSet<String>,
    saved: Option<&Path>,
    aside: &[Aside],
) -> Vec<Problem> {
    let unsaved = saved.map(|saved| store.lost(view, saved, lanes, aside)).unwrap_or_default();
    let unsaved = unsaved.into_iter().map(|event| format!("{event} could not be saved"));
    let damaged =
        damaged.iter().map(|damage| format!("{}; it could not be saved", damage.message()));
    unsaved.chain(damaged).map(|message| Problem::new("event_lost", message)).collect()
}

/// An object that is damaged or missing.
pub(super) fn damaged(damage: &Damage, view: &View) -> Problem {
    let code = if damage.breaks_lane() { "lane_broken" } else { "object_missing" };
    let problem = Problem::new(code, damage.message());
    match damage.proposals() {
        [id] if !damage.breaks_lane() => {
            let lane = damage.lane_ref();
            let fetch = if lane.starts_with("refs/aye/log/") {
                format!("git fetch --refetch REMOTE {lane}")
            } else {
                "git fetch --refetch REMOTE".to_owned()
            };
            let (end, given_up) = if damage.ends_decision() { purge(id) } else { end_of(view, id) };
            let hint = format!(
                "aye doctor --repair; where nothing here has it, a clone or remote that does: {fetch}; \
                 to {given_up}: {end}"
            );
            Problem { hint, ..problem }
        }
        _ => problem,
    }
}

/// A decision that counts for nothing leaves its proposal pending, and is lost all the same.
fn purge(id: &str) -> (String, &'static str) {
    (format!("aye purge {id} -m damaged"), "give up all that is recorded of it")
}

/// How a proposal of which something is lost is done with: the command, and what that does, in words.
pub(super) fn end_of(view: &View, id: &str) -> (String, &'static str) {
    let found = ProposalId::parse(id).and_then(|id| view.proposal(&id));
    if found.is_ok_and(|proposal| proposal.decision().is_some()) {
        purge(id)
    } else {
        (format!("aye reject {id} -m damaged"), "give it up")
    }
}
