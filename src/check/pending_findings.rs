//! Findings over proposals that wait for a decision.

use bstr::{BString, ByteSlice as _};
use chrono::{DateTime, Duration, Utc};

use super::{Concern, FailOn};
use crate::proposal::state::title;
use crate::proposal::{Proposal, ProposalId, Status};
use crate::report::Finding;
use crate::store::Summary;

#[derive(Clone, Debug)]
pub struct CheckedProposal {
    pub id: ProposalId,
    /// Shortest unambiguous id prefix.
    pub short: String,
    pub status: Status,
    /// The people who decided differently, and the command that settles it.
    pub contested: Option<[String; 2]>,
    /// True if both decisions reach the policy's evidence.
    pub is_binding: bool,
    /// Verdict that a tool claims, and its caller's name.
    pub mark: Option<(String, String)>,
    /// Reviewer who wants changes, and the reason.
    pub request: Option<(String, Option<String>)>,
    pub proposed_by: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub description: Option<String>,
    /// First changed file.
    pub path: Option<BString>,
    pub conflict: Option<String>,
    /// Names the pending proposal below.
    pub standing: Option<String>,
}

impl CheckedProposal {
    pub fn new(
        summary: &Summary,
        proposal: &Proposal,
        now: DateTime<Utc>,
        is_binding: bool,
    ) -> Self {
        let id = proposal.id.clone();
        let short = id.as_str().chars().take("prop_".len() + summary.prefix.max(4)).collect();
        let request = proposal.changes_requested.as_ref();
        let path = proposal.current().changes.first();
        Self {
            id,
            short,
            status: proposal.status(now),
            contested: proposal
                .contested
                .then(|| [proposal.decision_summary(), proposal.settling_commands()]),
            is_binding,
            mark: proposal.mark().map(|mark| (mark.verdict.as_str().into(), mark.by.name.clone())),
            request: request.map(|request| (request.by.name.clone(), request.reason.clone())),
            proposed_by: proposal.proposed_by.clone(),
            created_at: proposal.created_at,
            expires_at: proposal.expires_at,
            description: proposal.description.clone(),
            path: path.map(|change| change.path.as_bstr().to_owned()),
            conflict: None,
            standing: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    /// `None` allows none.
    pub max_pending: Option<usize>,
    /// Time before expiry that counts as about to expire.
    pub soon: Duration,
    pub fail_on: FailOn,
}

/// Each proposal's most serious concern. Decided proposals appear only if contested.
pub fn findings(
    subjects: &[CheckedProposal],
    now: DateTime<Utc>,
    options: &Options,
) -> Vec<Finding> {
    let pending = subjects.iter().filter(|s| s.status == Status::Pending).count();
    let allowed = options.max_pending.is_some_and(|most| pending <= most);
    let mut found = Vec::new();
    if let Some(most) = options.max_pending.filter(|_| !allowed) {
        let message = format!("{pending} proposals are pending, {most} are allowed");
        found.push(options.fail_on.finding(Concern::TooManyPending, message).hint("aye review"));
    }
    // With a limit, waiting alone is not a finding.
    let waiting = options.max_pending.is_none();
    found.extend(subjects.iter().filter_map(|subject| finding(subject, now, options, waiting)));
    found
}

fn finding(
    subject: &CheckedProposal,
    now: DateTime<Utc>,
    options: &Options,
    waiting: bool,
) -> Option<Finding> {
    let pending = subject.status == Status::Pending;
    let (id, short) = (&subject.id, &subject.short);
    let left = subject.expires_at - now;
    let (concern, message, hint) = if let Some([decided, settle]) = &subject.contested {
        let status = subject.status.as_str();
        let message =
            format!("{id} was decided differently in two clones: {decided} (counts as {status})");
        (Concern::Contested, message, settle.clone())
    } else if !pending {
        return None;
    } else if let Some((word, by)) = &subject.mark {
        let message = format!("{id} is marked {word} by '{by}', and nobody approved it");
        (Concern::MarkedWithoutApproval, message, format!("aye review {short}"))
    } else if let Some(why) = subject.conflict.as_ref().filter(|_| subject.standing.is_none()) {
        let message = format!("{id} does not fit the present files: {why}");
        (Concern::Conflict, message, format!("settle it: aye review {short}"))
    } else if let Some((by, reason)) = &subject.request {
        let reason = reason.as_deref().map(|reason| format!(": {}", cut(reason)));
        let message = format!("{} wants changes to {id}{}", cut(by), reason.unwrap_or_default());
        (Concern::ChangesRequested, message, format!("aye revise {short} …"))
    } else if left <= options.soon {
        let message = format!("{id} expires in {}{}", span(left), what(subject));
        (Concern::Expiring, message, format!("aye review {short}"))
    } else if waiting {
        let message = format!(
            "{id} by {} has waited for {}{}{}",
            cut(&subject.proposed_by),
            span(now - subject.created_at),
            subject.standing.as_ref().map(|on| format!(", {on}")).unwrap_or_default(),
            what(subject)
        );
        (Concern::Pending, message, format!("aye review {short}"))
    } else {
        return None;
    };
    let mut finding = options.fail_on.finding(concern, message).hint(hint).proposal(id.as_str());
    if concern == Concern::Contested && !subject.is_binding {
        finding = finding.advisory();
    }
    if let Some(path) = &subject.path {
        finding = finding.path(path.as_bstr());
    }
    Some(finding)
}

fn what(subject: &CheckedProposal) -> String {
    match title(subject.description.as_deref()) {
        Some(line) if !line.trim().is_empty() => format!(": {}", cut(line.trim())),
        _ => String::new(),
    }
}

/// Bytes quoted from other people's texts.
const MOST_QUOTED: usize = 200;

fn cut(text: &str) -> String {
    match text.floor_char_boundary(MOST_QUOTED) {
        end if end < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// In the largest fitting unit: `3 days`, `less than a minute`.
fn span(time: Duration) -> String {
    let minutes = time.num_minutes().max(0);
    if minutes == 0 {
        return "less than a minute".to_owned();
    }
    let (count, unit) = match minutes {
        0..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}
