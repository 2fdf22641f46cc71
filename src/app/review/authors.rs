//! Header texts for actors other than the proposer.

use chrono::{DateTime, Utc};

use crate::proposal::event::Marked;
use crate::proposal::state::{CheckResult, MarkRecord};
use crate::proposal::{ActorKind, Proposal};
use crate::render::age;

pub(super) fn recorded_by(proposal: &Proposal) -> Option<String> {
    (proposal.proposed_by != proposal.actor.name).then(|| proposal.actor.name.clone())
}

pub(super) fn revised_by(proposal: &Proposal) -> Option<String> {
    let current = proposal.current();
    (!proposal.is_own(current)).then(|| current.actor.name.clone())
}

pub(super) fn marked(mark: &MarkRecord) -> &'static str {
    match mark.verdict {
        Marked::Applied => "applied",
        Marked::Rejected => "rejected",
    }
}

/// Only exit statuses are reported for agents and build machines: their own runs are not verdicts.
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
