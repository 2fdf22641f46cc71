//! The command `aye approve`.

use schemars::JsonSchema;
use serde::Serialize;

use super::apply::conflicts::refuse_conflicts;
use super::apply::document::FileItem;
use super::apply::preview::{name_proposal, not_approved, present};
use super::authorisation::AuthorityRequest;
use super::marks::notice;
use super::selection::ProposalArgs;
use super::{Context, Format};
use crate::changeset::marks::in_question;
use crate::check::marks;
use crate::decide::approve::{ApproveResult, Remarks};
use crate::decide::{self, DecisionPlan, PlannedFiles};
use crate::error::{Exit, Result};
use crate::proposal::document::{self, file_path};
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, Proposal, Status, codes};
use crate::store::Store;

/// Approve pending proposals, and write nothing.
///
/// The approval is recorded for the revision and for the files as they are: what `aye apply` would
/// write now. The proposal stays pending. `aye check --range` accepts a commit of exactly that, and
/// the approver is a reviewer beside the person who applies it. A new revision, a request for
/// changes, a rejection or an undo ends it.
///
/// At a terminal, the question shows what `aye apply` shows. The flag --yes approves without a
/// question; a proposal with several revisions then has to be named as ID@REV, as `aye diff` prints
/// it. Memory and sensitive paths are approved at a terminal unless the policy says otherwise.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye approve m4k8
  aye approve m4k8@3f9c02d71b5e --yes -m 'Tested on Windows'")]
pub struct Args {
    #[command(flatten)]
    pub which: ProposalArgs,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Why, or the reviewed part.
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Answer of `aye approve`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// `aye/approve@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The proposals, in the order given.
    pub proposals: Vec<ApprovedItem>,
}

/// One approved proposal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovedItem {
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// Always `pending`.
    pub status: Status,
    /// Event id of the revision that was approved.
    pub revision: String,
    /// The approvals that count, this one among them.
    pub approvals: Vec<document::Approval>,
    /// Every file, and what an apply would do to it.
    pub files: Vec<FileItem>,
}

/// # Errors
/// `proposal_not_found`, `not_pending`, `conflict`; the refusals of [`Context::authorise`] and
/// [`decide::approve()`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let _head = store.repository().pin_head();
    let view = store.view()?;
    let proposals = args.which.pending(context, &view)?;
    if proposals.is_empty() {
        return context.declined("nothing approved");
    }
    if args.yes {
        args.which.require_named_revisions(&view, &proposals, true)?;
    }
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let marks = marks::of_each(&store, &view, &proposals)?;
    drop(view);
    let asking = AuthorityRequest {
        verb: Verb::Approve,
        proposals: &proposals,
        yes: args.yes,
        question: &format!(
            "Approve {}, and write nothing{}?",
            ids.join(", "),
            in_question(marks.iter().map(Vec::as_slice))
        ),
        command: &format!("aye approve {}", ids.join(" ")),
    };
    let by_flag = context.authorise_by_flag(&store, &asking)?;
    let asks = by_flag.is_none();
    loop {
        let shown = shown(&store, &proposals)?;
        refuse_conflicts(context, &store, &proposals, &shown)?;
        if asks {
            present(context, &store, &shown, None)?;
        } else {
            marks.iter().for_each(|marks| notice(context, marks));
        }
        let Some(authority) = context.authorise_by_question(&store, &asking, by_flag.clone())?
        else {
            return context.declined("nothing approved");
        };
        let remarks = Remarks { reason: args.reason.clone(), unshown_lines: 0 };
        match record(context, &store, &authority, &shown, &remarks) {
            // Only a person can look again.
            Err(error) if asks && error.is(&codes::CHANGED_SINCE_SHOWN) => {
                context.note_changed(&error);
            }
            other => return other,
        }
    }
}

fn shown(store: &Store, proposals: &[Proposal]) -> Result<Vec<DecisionPlan>> {
    let view = store.view()?;
    let each = |proposal: &Proposal| {
        let shown = PlannedFiles::new(store.repository())?.show(store, &view, proposal, None, None);
        shown.map_err(|error| name_proposal(error, &proposal.id))
    };
    proposals.iter().map(each).collect()
}

fn record(
    context: &mut Context,
    store: &Store,
    authority: &Authority,
    shown: &[DecisionPlan],
    remarks: &Remarks,
) -> Result<Exit> {
    let mut items: Vec<ApprovedItem> = Vec::new();
    for shown in shown {
        let (now, proposal) = (context.now, &shown.proposal);
        let approved = decide::approve(store, authority, now, proposal, remarks, Some(shown));
        let approved = approved.map_err(|error| {
            if items.is_empty() {
                error
            } else {
                // Name the approvals that are recorded already.
                error.with(
                    "approved",
                    items.iter().map(|item| item.proposal_id.clone()).collect::<Vec<_>>(),
                )
            }
        })?;
        if let Some(note) = not_approved(&approved.not_approved) {
            context.note(&note);
        }
        items.push(item(store, proposal, approved)?);
    }
    let answer = Answer { schema: "aye/approve@1", success: true, proposals: items };
    context.emit(Format::Text, &answer, || answer.proposals.iter().map(text).collect())
}

fn item(store: &Store, proposal: &Proposal, approved: ApproveResult) -> Result<ApprovedItem> {
    let now = store.view()?.proposal(&proposal.id)?;
    let file = |file| {
        let item = FileItem::new(file);
        FileItem { not_approved: approved.not_approved.contains(&item.path), ..item }
    };
    Ok(ApprovedItem {
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Pending,
        revision: proposal.current().event.clone(),
        approvals: now.approvals_in_force().map(|a| document::approval(&now, a)).collect(),
        files: approved.files.iter().map(file).collect(),
    })
}

fn text(item: &ApprovedItem) -> String {
    let others = match item.approvals.len() {
        0 | 1 => String::new(),
        count => format!(", {count} approvals"),
    };
    let files: String = item.files.iter().map(FileItem::text).collect();
    format!("{}  approved, nothing written{others}\n{files}", item.proposal_id)
}
