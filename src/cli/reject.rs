//! `aye reject`: say nay.

use schemars::JsonSchema;
use serde::Serialize;

use super::identity::Asking;
use super::which::Batch;
use super::yes::YesArgs;
use super::{Context, Format, pager, show};
use crate::changeset::entry::entries;
use crate::changeset::hunks::Counts;
use crate::decide::verdict::{self, Besides, Word};
use crate::decide::{self, Seen};
use crate::error::{Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::event::InputForm;
use crate::proposal::rules::Verb;
use crate::proposal::{Data, Proposal, ProposalId, Status};
use crate::render::diff;
use crate::store::{Store, View};
use crate::text::escape;

/// Reject pending proposals, with a reason that the proposer can read back.
///
/// An agent or a build machine withdraws its own proposals so, without a question.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye reject m4k8 --reason 'Use Intl.DateTimeFormat instead'
  aye reject m4k8 7qx2 --yes --reason 'Superseded'
  aye reject --by codex --task T-2        all of them
  aye reject --by codex --dry-run         what that is, and a digest for --yes")]
pub struct Args {
    /// The proposals.
    #[command(flatten)]
    pub which: Batch,
    /// Why; the proposer gets it back.
    #[arg(long, short = 'r', value_name = "TEXT")]
    pub reason: Option<String>,
    /// Without a question.
    #[command(flatten)]
    pub yes: YesArgs,
    /// Do not reject anything; only show what would be rejected, and the digest for --yes.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// Answer of `aye reject`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rejected {
    /// `aye/reject@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// Nothing was changed because of `--dry-run`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// With `--dry-run`: what `--yes=DIGEST` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
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
    /// `rejected`; `pending` after a dry run.
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
    let view = store.view()?;
    let proposals = args.which.pending(context, &store, &view)?;
    let seen = Seen::now(&store, &view)?;
    let is_group = proposals.len() > 1 || args.which.is_filter();
    let group = decide::group::of_reject(&proposals);
    if args.dry_run {
        return dry_run(context, &store, &proposals, &group, &args);
    }
    if args.yes.is_given() {
        args.which.refuse_unseen("aye reject", &args.yes, &proposals)?;
        args.which.several().require_named_revisions(&view, &proposals, false)?;
    }
    if let Some(named) = args.yes.digest() {
        decide::group::require_same(named, &group)?;
    }
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let withdraws = verdict::withdraws(&store, &context.caller(&store), &proposals)?;
    let asking = Asking {
        verb: Verb::Reject,
        proposals: &proposals,
        yes: args.yes.is_given() || withdraws,
        question: &format!("Reject {}?", args.which.subject(&store, &proposals, false)),
        command: &format!("aye reject {}", ids.join(" ")),
    };
    let by_flag = context.by_flag(&store, &asking)?;
    let asks = by_flag.is_none();
    let mut unshown = Vec::new();
    let authority = match by_flag {
        None => {
            unshown = present(context, &store, &proposals)?;
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
    let (now, word) = (context.now, if withdraws { &Word::Withdraw } else { &Word::Reject });
    let besides = Besides {
        reason: reason.as_deref(),
        seen: Some(&seen),
        group: is_group.then_some(group.as_str()),
        unshown_lines: &unshown,
        ..Besides::default()
    };
    verdict::say_besides(&store, &authority, now, &proposals, word, &besides)?;
    let answer = Rejected {
        schema: "aye/reject@1",
        success: true,
        dry_run: false,
        group: None,
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
    let view = store.view()?;
    for Proposal { id, .. } in &proposals {
        if context.format.is_none() && is_from_work_tree(&view, id)? {
            context.note(&format!("the text is kept: aye diff {id} --patch | git apply"));
        }
    }
    Ok(Exit::Done)
}

/// Whether the text was taken out of the work tree, where its author may miss it.
fn is_from_work_tree(view: &View, id: &ProposalId) -> Result<bool> {
    let log = view.log(Some(id), None)?;
    Ok(log.iter().any(|entry| match &entry.stamped.event.data {
        Data::Propose(propose) => propose.form == InputForm::Worktree,
        _ => false,
    }))
}

/// Most lines of a diff that stand before the question.
const SHORT: usize = 40;

fn dry_run(
    context: &mut Context,
    store: &Store,
    proposals: &[Proposal],
    group: &str,
    args: &Args,
) -> Result<Exit> {
    let item = |proposal: &Proposal| RejectedItem {
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Pending,
        rejection_reason: args.reason.clone(),
    };
    let answer = Rejected {
        schema: "aye/reject@1",
        success: true,
        dry_run: true,
        group: Some(group.to_owned()),
        proposals: proposals.iter().map(item).collect(),
    };
    let subject = args.which.subject(store, proposals, false);
    context.emit(Format::Text, &answer, || {
        let line = |item: &RejectedItem| {
            format!("{}  would be rejected: {}\n", item.proposal_id, escape::name(&item.file_path))
        };
        let lines: String = answer.proposals.iter().map(line).collect();
        lines + &args.which.group_line("aye reject", &subject, group, proposals)
    })?;
    Ok(Exit::Done)
}

/// Who proposes what and why; and the diff where it is short. Returns for each how many changed lines
/// were not on the screen.
fn present(context: &mut Context, store: &Store, proposals: &[Proposal]) -> Result<Vec<u64>> {
    let snapshot = store.repo().config_snapshot();
    let options = pager::options(context, Some(snapshot.plumbing()));
    let mut unshown = vec![0; proposals.len()];
    for (proposal, unshown) in proposals.iter().zip(&mut unshown) {
        let mut text = format!("{}\n{}", proposal.id, show::who_and_why(proposal, context.now));
        if let Ok(changeset) = store.changeset(&proposal.current().changes) {
            let changeset = store.with_sources(changeset.into_changes());
            let changes = diff::changeset(&changeset, &options);
            if changes.lines().count() <= SHORT {
                text += &changes;
            } else {
                text += &diff::stat(&changeset, &options.palette, options.columns);
                text += &format!("  all of it: aye diff {}\n", proposal.id);
                let mut counts = Counts::default();
                entries(&changeset).iter().for_each(|entry| counts += entry.counts());
                *unshown = u64::try_from(counts.added + counts.removed).unwrap_or(u64::MAX);
            }
        }
        context.note(text.trim_end());
    }
    Ok(unshown)
}
