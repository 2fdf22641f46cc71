//! The trailers that tie a commit to what it holds. As raw text: the caller makes each one line.

use bstr::{BStr, ByteSlice as _};

use super::event::RevisionReason;
use super::state::{Decision, Revision};
use super::{Actor, ActorKind, Proposal};

/// The trailers of an applied proposal, or of one that the first of `reviewers` is about to apply.
///
/// `Proposed-by:` names every author of the accepted revision. `Reviewed-by:` names people and
/// nobody else: a mark, an agent's or a build machine's word, is not a review. `with_assistants`: the agents
/// among the authors in the Linux kernel's form, `Assisted-by: AGENT:MODEL`, the model where it is on record.
///
/// Source: <https://docs.kernel.org/process/coding-assistants.html>.
pub fn of(proposal: &Proposal, reviewers: &[Actor], with_assistants: bool) -> Vec<String> {
    let mut lines = vec![format!("Proposal-Id: {}", proposal.id)];
    lines.extend(proposal.authors().into_iter().map(|name| format!("Proposed-by: {name}")));
    if with_assistants {
        lines.extend(assistants(proposal).map(|agent| format!("Assisted-by: {agent}")));
    }
    lines.extend(reviewers.iter().map(|actor| format!("Reviewed-by: {}", person(actor))));
    lines
}

/// The proposals that the commit message `message` names so.
pub fn named(message: &BStr) -> impl Iterator<Item = &str> {
    message.lines().filter_map(|line| line.strip_prefix(b"Proposal-Id: ")?.to_str().ok())
}

/// Behind a line that ends so, git looks for no trailers.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// The description of `proposal`, with lines in it that would be read as these trailers, or would hide them, quoted:
/// `> Reviewed-by: …`. Where an agent has written any of the proposal, so is each that would have somebody sign,
/// test or approve it.
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

/// Adds those of `more` who are not among `reviewers` yet.
pub fn add(reviewers: &mut Vec<Actor>, more: impl IntoIterator<Item = Actor>) {
    for actor in more {
        if !reviewers.iter().any(|known| known.identity() == actor.identity()) {
            reviewers.push(actor);
        }
    }
}

/// The people whose decision on the applied `proposal` may be named as a review: several where they decided
/// without knowing of each other.
pub fn reviewers(proposal: &Proposal) -> impl Iterator<Item = &Actor> {
    let applied = |decision: &&Decision| decision.effect.is_some() && decision.is_by_a_person();
    proposal.decisions().filter(applied).map(|decision| &decision.by)
}

/// `Name <address>`, or the name alone.
pub fn person(actor: &Actor) -> String {
    let name = actor.name.trim();
    match actor.email.trim() {
        "" => name.to_owned(),
        email => format!("{name} <{email}>"),
    }
}
