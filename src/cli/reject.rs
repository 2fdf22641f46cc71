//! The command `aye reject`.

use schemars::JsonSchema;
use serde::Serialize;

use super::authorisation::AuthorityRequest;
use super::selection::BatchArgs;
use super::{Context, Format, pager, show};
use crate::decide::verdict::{self, PlainVerdict, VerdictDetails};
use crate::decide::{self, ViewedState};
use crate::error::{Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::event::InputForm;
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, Status};
use crate::render::diff;
use crate::store::Store;
use crate::text::escape;

/// Reject pending proposals, with a reason that the proposer can read back.
///
/// An agent or a build machine withdraws its own proposals so, without a question. Without an id,
/// the question is about the only pending proposal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye reject m4k8 -m 'Use Intl.DateTimeFormat instead'
  aye reject m4k8 7qx2 --yes -m 'Superseded'
  aye reject --by codex --task T-2        all of them, at a terminal")]
pub struct Args {
    #[command(flatten)]
    pub which: BatchArgs,
    /// Why; the proposer gets it back.
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Answer of `aye reject`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RejectAnswer {
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

/// Rejects all proposals or none.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `revision_required`, the refusals of
/// [`Context::authorise`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let _head = store.repository().pin_head();
    let view = store.view()?;
    let proposals = args.which.pending(context, &store, &view)?;
    if proposals.is_empty() {
        return context.declined("nothing rejected");
    }
    let seen = ViewedState::now(&view, proposals.iter().map(|proposal| &proposal.id))?;
    let is_group = proposals.len() > 1 || args.which.is_filter();
    let group = is_group.then(|| decide::group::of_reject(&proposals));
    let withdraws = verdict::withdraws(&store, &context.caller(store.repository()), &proposals);
    if args.yes || withdraws {
        args.which.refuse_unnamed("aye reject", &proposals)?;
        args.which.several.require_named_revisions(&view, &proposals, false)?;
    }
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let asking = AuthorityRequest {
        verb: Verb::Reject,
        proposals: &proposals,
        yes: args.yes || withdraws,
        question: &format!("Reject {}?", args.which.subject(&store, &proposals, false)),
        command: &format!("aye reject {}", ids.join(" ")),
    };
    let by_flag = context.authorise_by_flag(&store, &asking)?;
    let asks = by_flag.is_none();
    if asks {
        present(context, &store, &proposals);
    }
    let authority = context.authorise_by_question(&store, &asking, by_flag)?;
    let reason = match args.reason {
        None if asks && authority.is_some() => {
            context.ask_reason("Reject it because (Esc: do not): ").map(Some)
        }
        reason => Some(reason),
    };
    let (Some(authority), Some(reason)) = (authority, reason) else {
        return context.declined("nothing rejected");
    };
    let (now, word) =
        (context.now, if withdraws { PlainVerdict::Withdraw } else { PlainVerdict::Reject });
    let besides = VerdictDetails {
        reason: reason.as_deref(),
        seen: Some(&seen),
        group: group.as_deref(),
        ..VerdictDetails::default()
    };
    verdict::record_verdicts(&store, &authority, now, &proposals, word, &besides)?;
    let answer = RejectAnswer {
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
        let line = |(item, proposal): (&RejectedItem, &Proposal)| {
            let more = match proposal.current().changes.len() {
                0 | 1 => String::new(),
                files => format!(" and {} more", files - 1),
            };
            let word = if withdraws { "withdrawn" } else { "rejected" };
            format!("{}  {word}: {}{more}\n", item.proposal_id, escape::name(&item.file_path))
        };
        answer.proposals.iter().zip(&proposals).map(line).collect()
    })?;
    for Proposal { id, .. } in proposals.iter().filter(|it| it.form == InputForm::Worktree) {
        // The text is no longer in the work tree.
        if context.format.is_none() {
            context.note(&format!("the text is kept: aye diff {id} --patch | git apply"));
        }
    }
    Ok(Exit::Done)
}

/// Most diff lines before a question.
const SHORT: usize = 40;

fn present(context: &mut Context, store: &Store, proposals: &[Proposal]) {
    let options = pager::options(context, store.repository());
    for proposal in proposals {
        let mut text = format!("{}\n{}", proposal.id, show::who_and_why(proposal, context.now));
        if let Ok(changeset) = store.changeset(proposal.current()) {
            let changeset = store.repository().with_sources(changeset.into_changes());
            let changes = diff::changeset(&changeset, &options);
            if changes.lines().count() <= SHORT {
                text += &changes;
            } else {
                text += &diff::stat(&changeset, &options.palette, options.columns);
                text += &format!("  all of it: aye diff {}\n", proposal.id);
            }
        }
        context.note(text.trim_end());
    }
}
