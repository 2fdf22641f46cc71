//! Trailers that tie a commit to its proposals. Raw text: the caller makes each one line.

use bstr::{BStr, ByteSlice as _};

use super::event::RevisionReason;
use super::state::{Decision, Revision};
use super::{Actor, ActorKind, Proposal};

/// Trailers that a commit gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trailers {
    #[default]
    All,
    /// `Proposal-Id` alone, for repositories that forbid agents' names.
    Id,
    None,
}

/// The first of `reviewers` may be about to apply the proposal.
///
/// `Proposed-by:` names every author of the accepted revision. `Reviewed-by:` names people only: a
/// mark by an agent or a build machine is not a review. `with_assistants` adds agents in the Linux
/// kernel's form, `Assisted-by: AGENT:MODEL`.
///
/// Source: <https://docs.kernel.org/process/coding-assistants.html>.
pub fn of(
    proposal: &Proposal,
    reviewers: &[Actor],
    wanted: Trailers,
    with_assistants: bool,
) -> Vec<String> {
    let mut lines = vec![format!("Proposal-Id: {}", proposal.id)];
    match wanted {
        Trailers::All => {}
        Trailers::Id => return lines,
        Trailers::None => return Vec::new(),
    }
    lines.extend(proposal.authors().into_iter().map(|name| format!("Proposed-by: {name}")));
    if with_assistants {
        lines.extend(assistants(proposal).map(|agent| format!("Assisted-by: {agent}")));
    }
    lines.extend(reviewers.iter().map(|actor| format!("Reviewed-by: {}", person(actor))));
    lines
}

/// From `Proposal-Id` trailers.
pub fn named(message: &BStr) -> impl Iterator<Item = &str> {
    message.lines().filter_map(|line| line.strip_prefix(b"Proposal-Id: ")?.to_str().ok())
}

/// Git looks for no trailers after a line that ends so.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// Quotes lines that would read as these trailers, or hide them. If an agent wrote any revision,
/// lines that claim a signature, test or approval are quoted, too.
pub fn described(proposal: &Proposal) -> Option<String> {
    let by_agent = |revision: &Revision| revision.actor.kind == ActorKind::Agent;
    let is_agents = proposal.revisions.iter().any(by_agent);
    let is_trailer = |line: &str| {
        let key = line.split_once(':').map(|(key, _)| key.trim().to_ascii_lowercase());
        let is_trailer = key.is_some_and(|key| match &*key {
            "proposal-id" | "proposed-by" | "assisted-by" | "reviewed-by" => true,
            key => is_agents && key.ends_with("-by") && !key.contains(' '),
        });
        is_trailer || line.trim_end().ends_with(SCISSORS)
    };
    let line = |line: &str| {
        if is_trailer(line) { format!("> {}", line.trim_start()) } else { line.to_owned() }
    };
    let description = proposal.description.as_deref()?;
    Some(description.split('\n').map(line).collect::<Vec<_>>().join("\n"))
}

fn assistants<'a>(proposal: &'a Proposal) -> impl Iterator<Item = String> + 'a {
    let word = |text: &str| text.split([' ', '\t', ':']).collect::<Vec<_>>().join("-");
    proposal.authors().into_iter().filter_map(move |name| {
        let is_by = |revision: &&Revision| {
            let own = match revision.reason {
                RevisionReason::First => proposal.proposed_by.as_str(),
                _ => revision.actor.name.as_str(),
            };
            own == name && revision.actor.kind == ActorKind::Agent
        };
        let theirs = || proposal.revisions.iter().filter(is_by);
        theirs().next()?;
        let model = |revision: &'a Revision| revision.agent.as_ref()?.model.as_deref();
        let model = theirs().rev().find_map(model);
        Some(match model {
            Some(model) => format!("{}:{}", word(name), word(model)),
            None => word(name),
        })
    })
}

pub fn add(reviewers: &mut Vec<Actor>, more: impl IntoIterator<Item = Actor>) {
    for actor in more {
        if !reviewers.iter().any(|known| known.identity() == actor.identity()) {
            reviewers.push(actor);
        }
    }
}

/// Several if they decided concurrently.
pub fn reviewers(proposal: &Proposal) -> impl Iterator<Item = &Actor> {
    let applied = |decision: &&Decision| decision.effect.is_some() && decision.is_by_a_person();
    proposal.decisions().filter(applied).map(|decision| &decision.by)
}

/// `Name <address>`, or only the name.
pub fn person(actor: &Actor) -> String {
    let name = actor.name.trim();
    match actor.email.trim() {
        "" => name.to_owned(),
        email => format!("{name} <{email}>"),
    }
}
