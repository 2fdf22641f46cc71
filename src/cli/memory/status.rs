//! `aye memory status`.

use super::{Answer, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::service::Status;
use crate::text::escape;

/// Show what there is, what is staged, and what became of proposals.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory status
  aye memory status --json")]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// Those of the store.
pub fn run(context: &mut Context, _args: Args) -> Result<Exit> {
    let store = context.store()?;
    let status = open(context, &store)?.status()?;
    let answer = Answer { schema: "aye/memory-status@1", answer: status };
    context.emit(Format::Text, &answer, || text(&answer.answer))?;
    Ok(Exit::Done)
}

fn text(status: &Status) -> String {
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
            "  {}  {} by {}, expires in {} h{drift}\n",
            escape::line(&staged.id),
            escape::line(&staged.intent),
            escape::line(&staged.proposed_by),
            staged.ttl_remaining_seconds / 3600
        );
        if let Some(rationale) = &staged.rationale {
            out += &format!("    {}\n", escape::line(rationale));
        }
    }
    if !status.recent_outcomes.is_empty() {
        out += "\ndecided:\n";
    }
    for outcome in &status.recent_outcomes {
        let reason = outcome.reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
        out += &format!(
            "  {}  {}{}\n",
            escape::line(outcome.id.as_deref().unwrap_or(&outcome.proposal_id)),
            outcome.status.as_str(),
            escape::line(&reason)
        );
    }
    for path in &status.orphan_local_files {
        out += &format!("\nwarning: {} belongs to no branch\n", escape::line(path));
    }
    for tampering in &status.tampering {
        out += &format!(
            "warning: staging/{}/{}: {}; it is not trusted\n",
            escape::line(&tampering.staging_id),
            escape::line(&tampering.file),
            tampering.what
        );
    }
    for note in &status.notes {
        out += &format!("note: {}\n", escape::line(note));
    }
    out
}
