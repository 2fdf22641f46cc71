//! Who did what to a proposal, for the header: words for what the name of the proposer leaves out.

use chrono::{DateTime, Utc};

use crate::proposal::event::Marked;
use crate::proposal::state::{CheckResult, MarkRecord};
use crate::proposal::{ActorKind, Proposal};
use crate::render::age;

/// Who recorded the proposal, where it was proposed under another name.
pub(super) fn recorded_by(proposal: &Proposal) -> Option<String> {
    (proposal.proposed_by != proposal.actor.name).then(|| proposal.actor.name.clone())
}

/// Who wrote the newest revision, where that is not the proposer.
pub(super) fn revised_by(proposal: &Proposal) -> Option<String> {
    let current = proposal.current();
    (!proposal.is_own(current)).then(|| current.actor.name.clone())
}

/// What a tool has marked it as.
pub(super) fn marked(mark: &MarkRecord) -> &'static str {
    match mark.verdict {
        Marked::Applied => "applied",
        Marked::Rejected => "rejected",
    }
}

/// The last command that was run on it. What an agent or a build machine says of its own run is no
/// verdict, so that only its exit status is reported.
pub(super) fn check(result: &CheckResult, now: DateTime<Utc>) -> String {
    let command = result.check.command.join(" ");
    let when = age::ago(result.ran_at(), now);
    let status = match result.check.exit_code {
        Some(code) => format!("ended with {code}"),
        None => "was ended by a signal".to_owned(),
    };
    let kind = match result.kind() {
        ActorKind::Human => {
            return match result.check.exit_code {
                Some(0) => format!("tried: {command} passed, {when}"),
                Some(code) => format!("tried: {command} failed with {code}, {when}"),
                None => format!("tried: {command} ended by a signal, {when}"),
            };
        }
        ActorKind::Agent => "agent",
        ActorKind::Ci => "ci",
    };
    let importer = match result.check.imported {
        Some(_) => format!(", imported by {}", result.by.titled()),
        None => String::new(),
    };
    let runner = &result.runner().name;
    format!("check by {runner} ({kind}{importer}): {command} {status}, {when}")
}
