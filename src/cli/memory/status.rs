//! `aye memory status`.

use chrono::{DateTime, Duration, Utc};

use super::{MemoryDocument, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::service::MemoryStatus;
use crate::render::age;
use crate::text::escape;

/// Show the files, staged requests, and the outcome of requests.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory status
  aye memory status --json")]
pub struct Args {}

pub fn run(context: &mut Context, _args: Args) -> Result<Exit> {
    let store = context.store()?;
    let status = open(context, &store)?.status()?;
    let now = context.now;
    let answer = MemoryDocument { schema: "aye/memory-status@1", answer: status };
    context.emit(Format::Text, &answer, || text(&answer.answer, now))
}

fn text(status: &MemoryStatus, now: DateTime<Utc>) -> String {
    let mut out = format!(
        "{}: {} durable, {} archived, {} notes, {} session logs\n",
        escape::line(if status.repo.is_empty() { "memory" } else { &status.repo }),
        status.durable_files,
        status.archive_files,
        status.local_current_files,
        status.local_sessions
    );
    if !status.staged_updates.is_empty() {
        out += "\nstaged:\n";
    }
    for staged in &status.staged_updates {
        let drift = if staged.drift_detected { ", drifted" } else { "" };
        out += &format!(
            "  {}  {} by {}, expires {}{drift}\n",
            staged.about.proposal_id,
            escape::line(&staged.about.intent),
            escape::line(&staged.about.proposed_by),
            age::until(now + Duration::seconds(staged.ttl_remaining_seconds), now)
        );
        if let Some(rationale) = &staged.about.rationale {
            out += &format!("    {}\n", escape::line(rationale));
        }
    }
    if !status.recent_outcomes.is_empty() {
        out += "\ndecided:\n";
    }
    for outcome in &status.recent_outcomes {
        let reason = outcome.reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
        let (id, status) = (&outcome.about.proposal_id, outcome.status.as_str());
        out += &format!("  {id}  {status}{}\n", escape::line(&reason));
    }
    for path in &status.orphan_local_files {
        out += &format!("\nwarning: {} belongs to no branch\n", escape::line(path));
    }
    for note in &status.notes {
        out += &format!("note: {}\n", escape::line(note));
    }
    out
}
