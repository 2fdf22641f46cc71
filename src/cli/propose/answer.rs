//! Answer about a new proposal.

use super::note_staged;
use crate::app::propose::ProposalOutcome;
use crate::changeset::patch::FileReport;
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::proposal::ProposalId;
use crate::scan::gate::ScanWarning;
use crate::store::Store;
use crate::text::escape;
use crate::tools::changes::ProposeResponse;

/// A proposal that was already pending keeps its description instead of `message`.
pub(super) fn note_description(
    context: &Context,
    store: &Store,
    recorded: &ProposalOutcome,
    message: Option<&str>,
) {
    let proposal = &recorded.proposal;
    let (present, id) = (proposal.description.as_deref(), &proposal.id);
    let why = match message {
        Some(text) if recorded.duplicate && present != Some(text) => "its description stays",
        _ if present.is_none() => "it has no description",
        _ => return,
    };
    let how = match context.authorise_revision(store, proposal, "aye revise") {
        Ok(_) => format!("aye revise {id} --description TEXT"),
        Err(_) => format!("aye comment {id} -m TEXT"),
    };
    context.note(&format!("note: {why}; to tell the reviewer why: `{how}`"));
}

pub fn answer(context: &mut Context, recorded: &ProposalOutcome) -> Result<Exit> {
    note_staged(context, &recorded.taken_back);
    note_adapted(context, &recorded.adapted);
    let answer =
        ProposeResponse { schema: Some("aye/propose@1"), ..ProposeResponse::new(recorded) };
    emit(context, &answer, &recorded.proposal.id)
}

fn emit(context: &mut Context, answer: &ProposeResponse, id: &ProposalId) -> Result<Exit> {
    let (quiet, duplicate) = (context.quiet, answer.duplicate);
    context.emit(Format::Text, answer, || {
        if quiet {
            return format!("{id}\n");
        }
        let files = match answer.files.as_slice() {
            [one] => escape::line(one).into_owned(),
            several => format!("{} files", several.len()),
        };
        let word = if duplicate { "already pending" } else { "proposed" };
        let on = answer.stands_on.as_ref();
        let on = on.map_or_else(String::new, |lower| format!(", on top of {lower}"));
        let line = |path: &String| format!("  reverted  {}\n", escape::name(path));
        let put_back: String = answer.put_back.iter().map(line).collect();
        format!("{id}  {word}: {files}{on}\n{put_back}")
    })?;
    warn(context, &answer.warnings);
    if context.format.is_none() && !answer.put_back.is_empty() {
        context.note(&format!("their changes are in {id}: aye diff {id}"));
    }
    if context.format.is_none() && !duplicate {
        context.note(&format!("look: aye diff {id}    decide: aye review {id}"));
    }
    Ok(Exit::Done)
}

pub fn note_adapted(context: &Context, adapted: &[FileReport]) {
    for file in adapted {
        let path = escape::name(&file.path.display().to_string());
        for hunk in &file.hunks {
            let (number, line, remarks) = (hunk.hunk, hunk.line, hunk.remarks());
            context.note(&format!("note: {path}, hunk {number}: line {line}{remarks}"));
        }
    }
}

/// JSON answers have the warnings already.
pub fn warn(context: &mut Context, warnings: &[ScanWarning]) {
    if context.format_or(Format::Text) != Format::Text {
        return;
    }
    for warning in warnings {
        context.note(&format!("warning: {}", escape::line(&warning.line())));
    }
}
