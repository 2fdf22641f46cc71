//! Proposals that wait for someone.

use chrono::{DateTime, Duration, Utc};

use super::{Concern, FailOn};
use crate::proposal::{Proposal, Status};
use crate::report::Finding;

/// A proposal, and whether it would still apply.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The proposal.
    pub proposal: Proposal,
    /// The shortest text that names it, for commands to type.
    pub short: String,
    /// Why it does not fit the present files, if it does not.
    pub conflict: Option<String>,
    /// `stands on prop_x`, where it starts from what another pending proposal makes.
    pub standing: Option<String>,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// So many may wait; `None`: none may.
    pub max_pending: Option<usize>,
    /// How long before its end a proposal is about to expire.
    pub soon: Duration,
    /// What fails.
    pub fail_on: FailOn,
}

/// One finding per proposal, its most serious concern; decided ones only where contested.
pub fn findings(subjects: &[Subject], now: DateTime<Utc>, options: &Options) -> Vec<Finding> {
    let pending = subjects.iter().filter(|s| s.proposal.status(now) == Status::Pending).count();
    let allowed = options.max_pending.is_some_and(|most| pending <= most);
    let mut found = Vec::new();
    if let Some(most) = options.max_pending.filter(|_| !allowed) {
        let message = format!("{pending} proposals are pending, {most} are allowed");
        found.push(options.fail_on.finding(Concern::TooManyPending, message).hint("aye review"));
    }
    // Where so many may wait, waiting alone is nothing to report; the limit speaks for the rest.
    let waiting = options.max_pending.is_none();
    found.extend(subjects.iter().filter_map(|subject| finding(subject, now, options, waiting)));
    found
}

fn finding(
    subject: &Subject,
    now: DateTime<Utc>,
    options: &Options,
    waiting: bool,
) -> Option<Finding> {
    let proposal = &subject.proposal;
    let pending = proposal.status(now) == Status::Pending;
    let (id, short) = (&proposal.id, &subject.short);
    let left = proposal.expires_at - now;
    let (concern, message, hint) = if proposal.contested {
        let status = proposal.status(now).as_str();
        let message = format!("{id} was decided differently in two clones (counts as {status})");
        (Concern::Contested, message, format!("aye show {short}"))
    } else if !pending {
        return None;
    } else if let Some(version) = &proposal.needs {
        let message =
            format!("{id} may have been decided by a newer version: it needs aye >= {version}");
        (Concern::NewerVersion, message, format!("install aye {version} or later"))
    } else if let Some(mark) = proposal.mark() {
        let word = mark.verdict.as_str();
        let message =
            format!("{id} is marked {word} by '{}', and nobody approved it", mark.by.name);
        (Concern::MarkedWithoutApproval, message, format!("aye review {short}"))
    } else if let Some(why) = subject.conflict.as_ref().filter(|_| subject.standing.is_none()) {
        let message = format!("{id} does not fit the present files: {why}");
        (Concern::Conflict, message, format!("settle it: aye review {short}"))
    } else if let Some(request) = &proposal.changes_requested {
        let reason = request.reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
        let message = format!("{} wants changes to {id}{reason}", request.by.name);
        (Concern::ChangesRequested, message, format!("aye revise {short}"))
    } else if left <= options.soon {
        let message = format!("{id} expires in {}{}", span(left), what(proposal));
        (Concern::Expiring, message, format!("aye review {short}"))
    } else if waiting {
        let message = format!(
            "{id} by {} has waited for {}{}{}",
            proposal.proposed_by,
            span(now - proposal.created_at),
            subject.standing.as_ref().map(|on| format!(", {on}")).unwrap_or_default(),
            what(proposal)
        );
        (Concern::Pending, message, format!("aye review {short}"))
    } else {
        return None;
    };
    let mut finding = options.fail_on.finding(concern, message).hint(hint).proposal(id.as_str());
    if let Some(change) = proposal.current().changes.first() {
        finding = finding.path(change.path.as_bstr());
    }
    Some(finding)
}

fn what(proposal: &Proposal) -> String {
    match proposal.description.as_deref().and_then(|text| text.lines().next()) {
        Some(line) if !line.trim().is_empty() => format!(": {}", line.trim()),
        _ => String::new(),
    }
}

/// A time span in the largest unit that fits: `3 days`, `1 hour`, `5 minutes`.
fn span(time: Duration) -> String {
    let minutes = time.num_minutes().max(0);
    let (count, unit) = match minutes {
        0..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}
