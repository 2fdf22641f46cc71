//! The first events of proposals that were published: read from the blobs that name them.

use std::collections::HashMap;
use std::rc::Rc;

use super::budget;
use super::gather;
use super::shares::Shares;
use super::statements::{self, Flaw};
use crate::proposal::audit::{Own, Why};
use crate::proposal::{ActorKind, Data, ProposalId, Stamped, forks};
use crate::store::lists;

/// The first event that `stamped` carries, if it is a publication. What is carried is that event
/// whoever carries it: its id is the hash of its bytes, and its lane and number are what they say. So one
/// that is among those `known`, each with the SHA-256 of its bytes, is not read again. `shares` are given
/// for a lane of somebody else.
///
/// # Errors
/// The reason why `stamped` does not count.
pub(super) fn original(
    repo: &gix::Repository,
    stamped: &Stamped,
    known: &HashMap<String, String>,
    shares: Option<&mut Shares>,
) -> Result<Option<Stamped>, Flaw> {
    let Data::Publish(publish) = &stamped.event.data else { return Ok(None) };
    if stamped.event.actor.kind != ActorKind::Human {
        // For the audit to say.
        return Ok(None);
    }
    let flaw = |missing| statements::flaw(stamped, Why::Original, missing);
    let named = &publish.original;
    if stamped.event.first.as_ref() != Some(&named.id)
        || stamped.event.proposal != Some(ProposalId::from_event(&named.id))
    {
        return Err(flaw(None));
    }
    if let Some(known) = known.get(&named.id) {
        return if *known == named.sha256 { Ok(None) } else { Err(flaw(None)) };
    }
    let most = match shares {
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
    if let Some(shares) = shares {
        if !shares.admits_original(&found.1, found.0.event.data.changes().len()) {
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
