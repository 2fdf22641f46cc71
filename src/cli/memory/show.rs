//! `aye memory show`.

use serde::Serialize;
use serde_json::Value;

use super::{Answer, open};
use crate::changeset::hunks::Diff;
use crate::cli::which::One;
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::plan::Drift;
use crate::memory::service::locate::note;
use crate::memory::service::{Outcomes, SectionChange, Staged, Tampering};
use crate::proposal::Status;
use crate::text::escape;

/// Show a staged proposal section by section, with its sources, warnings and drift.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory show --latest
  aye memory show 20261122T0930")]
pub struct Args {
    /// Which.
    #[command(flatten)]
    pub which: One,
}

/// Answer of `aye memory show`.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// `pending`, `applied`, `rejected` or `expired`.
    pub status: Status,
    /// What waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<Staged>,
    /// What became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcomes>,
    /// The request, as it was made.
    pub request: Value,
    /// How it was routed.
    pub routing: Value,
    /// Warnings of the planning.
    pub warnings: Value,
    /// Sections it touches, with their text before and after.
    pub sections: Vec<SectionChange>,
    /// What it was written for and is not so any more.
    pub drift: Vec<Drift>,
    /// What is wrong with its staging directory.
    pub tampering: Vec<Tampering>,
}

/// Runs the command.
///
/// # Errors
/// `staging_not_found`, `ambiguous_id`, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let proposal = service.find(args.which.named()?)?;
    let status = proposal.status(context.now);
    let pending = status == Status::Pending;
    let get = |key: &str| note(&proposal, key).cloned().unwrap_or_default();
    let shown = Shown {
        status,
        staged: if pending { Some(service.staged(&proposal)?) } else { None },
        outcome: service.outcome(&proposal),
        request: get("request"),
        routing: get("routing"),
        warnings: get("warnings"),
        sections: service.sections_of(&proposal)?,
        drift: if pending { service.drift(&proposal)? } else { Vec::new() },
        tampering: if pending { service.tampering_of(&proposal)? } else { Vec::new() },
    };
    let answer = Answer { schema: "aye/memory-show@1", answer: shown };
    context.emit(Format::Text, &answer, || text(&answer.answer, &proposal))?;
    Ok(Exit::Done)
}

fn text(shown: &Shown, proposal: &crate::proposal::Proposal) -> String {
    let id = note(proposal, "staging_id").and_then(Value::as_str).unwrap_or(proposal.id.as_str());
    let mut out = format!("{}  {}\n", escape::line(id), shown.status.as_str());
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            out += &format!("{name:<12}{}\n", escape::line(value));
        }
    };
    field("proposal", proposal.id.as_str());
    field("by", &proposal.proposed_by);
    for (name, text) in super::notes::notes(proposal) {
        field(name, &text);
    }
    if let Some(reason) = shown.outcome.as_ref().and_then(|outcome| outcome.reason.as_deref()) {
        field("reason", reason);
    }
    for drift in &shown.drift {
        field("drift", &format!("{}: {}", drift.path, drift.message));
    }
    for tampering in &shown.tampering {
        field("tampering", &format!("staging directory, {}: {}", tampering.file, tampering.what));
    }
    out + &diff(&shown.sections)
}

/// The diff of each section, under its name.
pub(super) fn diff(sections: &[SectionChange]) -> String {
    let mut out = String::new();
    for section in sections {
        let (file, id) = (escape::line(&section.file), escape::line(&section.section_id));
        out += &format!("\n── {file}#{id}\n");
        // The text of a section ends without a line feed, which may be all that tells two last lines apart.
        let ended = |text: &Option<String>| match text.as_deref().unwrap_or_default() {
            text if text.is_empty() || text.ends_with('\n') => text.to_owned(),
            text => format!("{text}\n"),
        };
        let (before, after) = (ended(&section.before), ended(&section.after));
        let lines = Diff::new(before.as_bytes(), after.as_bytes());
        // A section is read as a whole.
        let context = before.len() + after.len();
        for line in lines.hunks(context).iter().flat_map(|hunk| lines.lines(hunk)) {
            out += &format!("{}{}\n", line.side.sign(), escape::bytes_line(line.content()));
        }
    }
    out
}
