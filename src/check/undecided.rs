//! Proposals that wait for someone.

use bstr::{BString, ByteSlice as _};
use chrono::{DateTime, Duration, Utc};

use super::{Concern, FailOn};
use crate::proposal::{Proposal, ProposalId, Status};
use crate::report::{Finding, Level};
use crate::store::Summary;

/// A proposal, and whether it would still apply.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The proposal.
    pub id: ProposalId,
    /// The shortest text that names it, for commands to type.
    pub short: String,
    /// Its status at the time of the check.
    pub status: Status,
    /// Decided differently in two clones: who did, and what settles it.
    pub contested: Option<[String; 2]>,
    /// Both decisions reach the evidence of the policy.
    pub is_binding: bool,
    /// What a tool's caller says became of it, and that caller's name.
    pub mark: Option<(String, String)>,
    /// Who wants changes, and why.
    pub request: Option<(String, Option<String>)>,
    /// Proposer's name.
    pub proposed_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Until when.
    pub expires_at: DateTime<Utc>,
    /// Why.
    pub description: Option<String>,
    /// The first file that it changes.
    pub path: Option<BString>,
    /// Why it does not fit the present files, if it does not.
    pub conflict: Option<String>,
    /// `stands on prop_x`, where it starts from what another pending proposal makes.
    pub standing: Option<String>,
}

impl Subject {
    /// The `proposal` of `summary`; `is_binding` where two decisions that differ reach the evidence of the policy.
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
            contested: proposal.contested.then(|| [proposal.decided(), proposal.settle()]),
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
    let pending = subjects.iter().filter(|s| s.status == Status::Pending).count();
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
        finding.level = finding.level.min(Level::Warning);
    }
    if let Some(path) = &subject.path {
        finding = finding.path(path.as_bstr());
    }
    Some(finding)
}

fn what(subject: &Subject) -> String {
    match subject.description.as_deref().and_then(|text| text.lines().next()) {
        Some(line) if !line.trim().is_empty() => format!(": {}", cut(line.trim())),
        _ => String::new(),
    }
}

/// Bytes of a text of somebody else in a finding.
const MOST_QUOTED: usize = 200;

fn cut(text: &str) -> String {
    match text.floor_char_boundary(MOST_QUOTED) {
        end if end < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// A time span in the largest unit that fits: `3 days`, `1 hour`, `5 minutes`, `less than a minute`.
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
