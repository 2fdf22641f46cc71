//! The trailers that tie a commit to what it holds. As raw text: the caller escapes it.

use super::{Actor, Proposal};

/// The trailers of an applied proposal, or of one that the first of `reviewers` is about to apply.
///
/// `Proposed-by:` names every author of the accepted revision. `Reviewed-by:` names people and
/// nobody else: a mark, an agent's or a build machine's word, is not a review.
pub fn of(proposal: &Proposal, reviewers: &[Actor]) -> Vec<String> {
    let mut lines = vec![format!("Proposal-Id: {}", proposal.id)];
    lines.extend(proposal.authors().into_iter().map(|name| format!("Proposed-by: {name}")));
    lines.extend(reviewers.iter().map(|actor| format!("Reviewed-by: {}", person(actor))));
    lines
}

/// Adds those of `more` who are not among `reviewers` yet.
pub fn add(reviewers: &mut Vec<Actor>, more: impl IntoIterator<Item = Actor>) {
    for actor in more {
        if !reviewers.iter().any(|known| known.identity() == actor.identity()) {
            reviewers.push(actor);
        }
    }
}

/// The person whose decision on `proposal` may be named as a review.
pub fn reviewer(proposal: &Proposal) -> Option<&Actor> {
    proposal.decision().filter(|decision| decision.is_by_a_person()).map(|decision| &decision.by)
}

/// `Name <address>`, or the name alone.
pub fn person(actor: &Actor) -> String {
    let name = actor.name.trim();
    match actor.email.trim() {
        "" => name.to_owned(),
        email => format!("{name} <{email}>"),
    }
}
