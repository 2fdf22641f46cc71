//! `aye reject`: say nay.

use schemars::JsonSchema;
use serde::Serialize;

use super::identity::Asking;
use super::which::Batch;
use super::{Context, Format, pager, show};
use crate::decide::verdict::{self, Word};
use crate::decide::{self, Seen};
use crate::error::{Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, Status};
use crate::render::diff;
use crate::store::Store;
use crate::text::escape;

/// Reject pending proposals, with a reason that the proposer can read back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye reject m4k8 --reason 'Use Intl.DateTimeFormat instead'
  aye reject m4k8 7qx2 --yes --reason 'Superseded'
  aye reject --by codex --task T-2        all of them, at a terminal")]
pub struct Args {
    /// The proposals.
    #[command(flatten)]
    pub which: Batch,
    /// Why; the proposer gets it back.
    #[arg(long, short = 'r', value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Answer of `aye reject`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rejected {
    /// `aye/reject@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The proposals, in the order given.
    pub proposals: Vec<RejectedItem>,
}

/// One rejected proposal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RejectedItem {
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// Always `rejected`.
    pub status: Status,
    /// Why.
    pub rejection_reason: Option<String>,
}

/// Runs the command: all proposals or none.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `revision_required`, the refusals of [`Context::authorise`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let proposals = args.which.pending(&store.view()?, context.now)?;
    let seen = Seen::now(&store, &store.view()?)?;
    if args.yes {
        args.which.refuse_unseen("aye reject", &proposals)?;
    }
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let asking = Asking {
        verb: Verb::Reject,
        proposals: &proposals,
        yes: args.yes,
        question: &format!("Reject {}?", args.which.subject(&store, &proposals)),
        command: &format!("aye reject {}", ids.join(" ")),
    };
    let by_flag = context.by_flag(&store, &asking)?;
    let asks = by_flag.is_none();
    let authority = match by_flag {
        None => {
            present(context, &store, &proposals)?;
            context.asked(&store, &asking)?
        }
        granted => granted,
    };
    let reason = match args.reason {
        None if asks && authority.is_some() => {
            context.reason("Reject it because (Esc: do not): ").map(Some)
        }
        reason => Some(reason),
    };
    let (Some(authority), Some(reason)) = (authority, reason) else {
        context.note("nothing rejected");
        return Ok(Exit::Negative);
    };
    let (now, word) = (context.now, &Word::Reject);
    verdict::say(&store, &authority, now, &proposals, word, reason.as_deref(), &[], Some(&seen))?;
    let answer = Rejected {
        schema: "aye/reject@1",
        success: true,
        proposals: proposals
            .iter()
            .map(|proposal| RejectedItem {
                proposal_id: proposal.id.to_string(),
                file_path: file_path(proposal.current()),
                status: Status::Rejected,
                rejection_reason: reason.clone(),
            })
            .collect(),
    };
    context.emit(Format::Text, &answer, || {
        let line = |item: &RejectedItem| {
            format!("{}  rejected: {}\n", item.proposal_id, escape::name(&item.file_path))
        };
        answer.proposals.iter().map(line).collect()
    })?;
    let view = store.view()?;
    for proposal in &proposals {
        if context.format.is_none() && decide::restore::is_from_work_tree(&view, proposal)? {
            let id = &proposal.id;
            context.note(&format!("the text is kept: aye restore {id} brings it back"));
        }
    }
    Ok(Exit::Done)
}

/// Most lines of a diff that stand before the question.
const SHORT: usize = 40;

/// Who proposes what and why; and the diff where it is short.
fn present(context: &mut Context, store: &Store, proposals: &[Proposal]) -> Result<()> {
    let snapshot = store.repo().config_snapshot();
    let options = pager::options(context, Some(snapshot.plumbing()));
    for proposal in proposals {
        let mut text = format!("{}\n{}", proposal.id, show::who_and_why(proposal, context.now));
        if let Ok(changeset) = store.changeset(&proposal.current().changes) {
            let changes = diff::changeset(changeset.changes(), &options);
            if changes.lines().count() <= SHORT {
                text += &changes;
            } else {
                text += &diff::stat(changeset.changes(), &options.palette, options.columns);
                text += &format!("  all of it: aye diff {}\n", proposal.id);
            }
        }
        context.note(text.trim_end());
    }
    Ok(())
}
