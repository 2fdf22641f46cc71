//! Marks of proposals in lists and overviews.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};

use crate::app::listing::ListFacts;
use crate::changeset::marks::{Mark, MarkKind, class, short_branch};
use crate::cli::Context;
use crate::proposal::{ProposalId, Status};
use crate::render::age;
use crate::render::overview::{self, Group, Row};
use crate::render::style::Role;
use crate::review::model::Intent;
use crate::store::{Space, Summary};
use crate::text::escape;

/// Time before the expiry that is marked and counted.
pub const SOON: Duration = Duration::days(1);

/// Columns without a terminal.
pub const PRINTED: usize = 100;

/// Fewest characters of a short id.
const FEWEST: usize = 4;

/// Shortest unique beginning, without `prop_`.
pub fn short(id: &ProposalId, prefix: usize) -> String {
    id.as_str()["prop_".len()..].chars().take(prefix.max(FEWEST)).collect()
}

/// Escapes the lines for a terminal.
pub fn lines(marks: &[Mark]) -> impl Iterator<Item = String> {
    marks.iter().map(|mark| format!("! {}", escape::line(&mark.text())))
}

pub fn notice(context: &Context, marks: &[Mark]) {
    lines(marks).for_each(|line| context.note(&line));
}

/// Escapes the marks; a status other than `ordinary` comes first.
pub fn of(
    summary: &Summary,
    marks: &ListFacts,
    ordinary: Option<Status>,
    now: DateTime<Utc>,
) -> Vec<(Role, String)> {
    let mut found: Vec<(Role, String)> = Vec::new();
    let mut add = |role: Role, text: String| found.push((role, text));
    match summary.status {
        status if Some(status) == ordinary => {}
        Status::Pending => add(Role::Plain, "pending".into()),
        Status::Applied if summary.is_partial => add(Role::Good, "applied in part".into()),
        Status::Applied => add(Role::Good, "applied".into()),
        Status::Rejected => add(Role::Bad, "rejected".into()),
        Status::Expired => add(Role::Dim, "expired".into()),
    }
    let is_pending = summary.status == Status::Pending;
    let own = marks.of_proposal(&summary.id);
    let is_elsewhere = own.iter().any(|mark| mark.mark == MarkKind::OtherBranch);
    if !own.is_empty() {
        add(Role::Warn, "!".into());
    }
    if let Some(name) = summary.target_ref.as_deref().filter(|_| is_elsewhere) {
        add(Role::Warn, format!("branch {}", escape::name(short_branch(name))));
    }
    if marks.is_unfit(&summary.id) {
        add(Role::Bad, "conflict".into());
    }
    if let Some(verdict) = summary.marked.as_ref().filter(|_| is_pending) {
        add(Role::Warn, format!("marked {} by a tool, not approved", escape::line(verdict)));
    }
    if is_pending && summary.changes_requested {
        add(Role::Warn, "sent back".into());
    }
    match summary.approvals.iter().filter(|found| found.counts).count() {
        _ if !is_pending => {}
        0 => {}
        1 => add(Role::Good, "approved".into()),
        count => add(Role::Good, format!("approved by {count}")),
    }
    if summary.contested {
        add(Role::Warn, "contested".into());
    }
    if summary.space == Space::Private {
        add(Role::Dim, "private".into());
    }
    if let Some(related) = marks.relations(&summary.id) {
        let more = |count: usize| if count > 1 { format!("+{}", count - 1) } else { String::new() };
        if let Some(lower) = related.depends_on.first() {
            let more = more(related.depends_on.len());
            add(Role::Dim, format!("↳ {}{more}", short(&lower.id, FEWEST)));
        }
        if let Some(other) = related.same_lines.named.first() {
            let more = more(related.same_lines.count);
            add(Role::Warn, format!("⇄ {}{more}", short(other, FEWEST)));
        }
    }
    match summary.checked {
        Some(0) => add(Role::Good, "✓".into()),
        Some(code) => add(Role::Bad, format!("✗{code}")),
        None => {}
    }
    if is_pending && summary.expires_at - now <= SOON {
        add(Role::Warn, format!("expires {}", age::short_until(summary.expires_at, now)));
    }
    found
}

/// The proposer, recorder and current author, each once.
pub fn by(summary: &Summary) -> String {
    let mut names = vec![summary.proposed_by.as_str()];
    for name in [summary.recorded_by.as_str(), summary.author.as_str()] {
        // A tool's caller without a name proposes as `agent`.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" / ")
}

/// Groups by agent and task; those sent back come last. `slot` is the index in the review.
pub fn grouped(
    summaries: &[Summary],
    marks: &ListFacts,
    now: DateTime<Utc>,
    slot: impl Fn(&ProposalId) -> Option<usize>,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<(bool, String, Option<String>), usize> = BTreeMap::new();
    for summary in summaries {
        let back = summary.changes_requested;
        let (who, task) = (summary.proposed_by.clone(), summary.task.clone());
        let key = if back { (true, String::new(), None) } else { (false, who, task) };
        let title = match &key {
            (true, ..) => "sent back, and waiting for their agents".to_owned(),
            (_, who, None) => who.clone(),
            (_, who, Some(task)) => format!("{who} · {task}"),
        };
        let at = *places.entry(key).or_insert_with(|| {
            groups.push(Group { title, rows: Vec::new() });
            groups.len() - 1
        });
        groups[at].rows.push(Row {
            slot: slot(&summary.id),
            number: None,
            id: summary.id.to_string(),
            short: short(&summary.id, summary.prefix),
            description: summary.description.clone().unwrap_or_default(),
            path: summary.path.clone(),
            files: summary.files,
            lines: summary.lines,
            class: class(marks.of_proposal(&summary.id)),
            created_at: summary.created_at,
            answer: marks.answers(summary).map(Intent::label),
            marks: of(summary, marks, Some(Status::Pending), now),
        });
    }
    overview::number(&mut groups);
    groups
}
