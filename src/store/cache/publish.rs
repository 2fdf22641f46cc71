//! The first events of proposals that were published: read from the blobs that name them.

use std::rc::Rc;

use super::budget::{self, Budget};
use super::gather;
use super::statements::{self, Flaw};
use crate::proposal::audit::{Own, Why};
use crate::proposal::{ActorKind, Data, Stamped, forks};
use crate::store::lists;

/// The first event that `stamped` carries, if it is a publication. What is carried is that event
/// whoever carries it: its id is the hash of its bytes, and its lane and number are what they say.
/// `budget` is what a lane of somebody else may cost.
///
/// # Errors
/// The reason why `stamped` does not count.
pub(super) fn original(
    repo: &gix::Repository,
    stamped: &Stamped,
    budget: Option<&mut Budget>,
) -> Result<Option<Stamped>, Flaw> {
    let Data::Publish(publish) = &stamped.event.data else { return Ok(None) };
    if stamped.event.actor.kind != ActorKind::Human {
        // For the audit to say.
        return Ok(None);
    }
    let flaw = |missing| statements::flaw(stamped, Why::Original, missing);
    if stamped.event.first.as_ref() != Some(&publish.original.id) {
        return Err(flaw(None));
    }
    let most = match budget {
        Some(_) => budget::LARGEST_ORIGINAL,
        None => crate::proposal::event::MAX_BYTES,
    };
    let mut found = match lists::original(repo, publish, most) {
        Ok(found) => found,
        Err(_) => return Err(flaw(lists::missing(repo, &stamped.event))),
    };
    if found.0.proposal() != stamped.event.proposal {
        return Err(flaw(None));
    }
    if let Some(budget) = budget {
        let cost = found.0.event.data.changes().len() * 1024;
        if !budget.admits(&stamped.event.lane, &found.1) || !budget.takes(&stamped.event.lane, cost)
        {
            return Err(flaw(None));
        }
        budget::cut(&mut found.0.event);
    }
    Ok(Some(found.0))
}

/// Adds `originals` (with the commit that carries each) to what was `gathered` of their proposal,
/// where it does not have them from their own lanes. One of this clone's own lane that the lane lacks
/// is another writer's: that of a copy, of what was here before a backup was restored, or of somebody
/// who only says so.
pub(super) fn add(
    gathered: &mut gather::Gathered,
    originals: Vec<(Stamped, Rc<str>)>,
    own: Own<'_>,
) {
    for (mut original, commit) in originals {
        if gathered.events.iter().any(|stamped| stamped.id == original.id) {
            continue;
        }
        if own.has(&original.event.lane) {
            original.event.lane = forks::name(&original.event.lane, &original.id);
        }
        gathered.commits.push(commit);
        gathered.events.push(original);
    }
}
