//! The command `aye undo`.

mod group;
mod outcome;
mod patch;

use chrono::{DateTime, Utc};

use self::outcome::{UndoOutcome, dry_run, status_after_undo};
use super::Context;
use super::apply::document::ApplyDocument;
use super::apply::preview;
use super::authorisation::AuthorityRequest;
use super::branch::BranchArgs;
use crate::changeset::FileChange;
use crate::changeset::plan::ApplyPlan;
use crate::decide::verdict::{self, PlainVerdict, VerdictDetails};
use crate::decide::{self, ViewedState};
use crate::error::{Exit, Result};
use crate::prompt::short_title;
use crate::proposal::document::file_path;
use crate::proposal::rules::Verb;
use crate::proposal::statement::Target;
use crate::proposal::{Authority, DEFAULT_LIFETIME, Proposal, State, Status};
use crate::repository::Repository;
use crate::store::Store;
use crate::text::escape;

/// Undo a decision: the proposal is pending again, and its files are restored.
///
/// Without an id, at a terminal, aye undoes the last decision of this clone, and those made in one
/// go with it, as at the end of a review. It shows them first. A rejected, withdrawn or expired
/// proposal is pending again for 7 days.
///
/// After an apply, later changes in other lines of the files stay. If the same lines have changed
/// since, aye writes nothing and exits with 5. A commit stays: commit the restored files. To undo
/// on another branch than the apply, --yes needs --any-branch.
///
/// The id of a direct patch (patch_…) restores its files if they still have its content.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye undo                     the last decision or review, at a terminal
  aye undo m4k8
  aye undo m4k8 --dry-run
  aye undo 7qx2                an expired proposal is pending again

  aye undo m4k8 --rejection    contested: keep the apply
  aye undo patch_0vqq4zhh0g    a direct patch")]
pub struct Args {
    /// The proposal, or a direct patch (`patch_…`, see `aye log`); any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Write nothing; show the result.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Undo only the rejections of a contested proposal: its apply stands.
    #[arg(long, requires = "id")]
    pub rejection: bool,
    #[command(flatten)]
    pub branch: BranchArgs,
}

/// # Errors
/// `usage` without an id and a terminal, `proposal_not_found`, `not_applied`, `not_rejected`,
/// `conflict`, the refusals of [`Context::authorise`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let view = store.view()?;
    let found = match args.id.as_deref() {
        Some(id) if decide::patch::is_id(id) => return patch::undo(context, &store, id, &args),
        Some(id) => vec![view.find(id)?],
        None => group::last(context, &store, &view)?,
    };
    let seen = ViewedState::now(&view, found.iter().map(|proposal| &proposal.id))?;
    let proposal = match <[Proposal; 1]>::try_from(found) {
        Ok([one]) => one,
        Err(all) => return group::undo(context, &store, &all, &seen, args.dry_run),
    };
    drop(view);
    let is_over = is_expired(&proposal, context.now);
    let is_no = is_over || args.rejection || is_negative(&proposal);
    if is_no && !is_over {
        verdict::require_rejected(&proposal)?;
    }
    let plan = if is_no { ApplyPlan::default() } else { decide::undo::preview(&store, &proposal)? };
    if args.dry_run {
        return dry_run(context, &store, &proposal, &plan, is_no);
    }
    if let Some(refusal) = plan.refusal() {
        return Err(decide::undo::conflict(&store, refusal, &proposal));
    }
    let flag = if args.rejection { " --rejection" } else { "" };
    let asking = AuthorityRequest {
        verb: Verb::Undo,
        proposals: std::slice::from_ref(&proposal),
        yes: args.yes,
        question: &question(&proposal, args.id.is_some(), is_over),
        command: &format!("aye undo {}{flag}", proposal.id),
    };
    let agreed = if is_no {
        context.authorise(&store, &asking)?.map(|authority| (authority, None))
    } else {
        agreed(context, &store, &asking, &plan, args.branch)?
    };
    let Some((authority, shown)) = agreed else {
        return context.declined("nothing undone");
    };
    let outcome = if is_no {
        undo_rejection(context, &store, &authority, &proposal, &seen, is_over)?
    } else {
        undo_apply(context, &store, &authority, &proposal, &seen, shown)?
    };
    outcome.emit(context)
}

/// `is_over`: the term is, and nobody has rejected it.
fn undo_rejection(
    context: &Context,
    store: &Store,
    authority: &Authority,
    proposal: &Proposal,
    seen: &ViewedState,
    is_over: bool,
) -> Result<UndoOutcome> {
    let (proposals, now) = (std::slice::from_ref(proposal), context.now);
    if is_over {
        verdict::extend(store, authority, now, proposal, seen)?;
    } else {
        let besides = VerdictDetails { seen: Some(seen), ..VerdictDetails::default() };
        let word = PlainVerdict::TakeBack;
        verdict::record_verdicts(store, authority, now, proposals, word, &besides)?;
    }
    let again = status_after_undo(context, store, proposal)?;
    Ok(UndoOutcome {
        answer: ApplyDocument::undone(proposal, &[], None, again.status),
        again,
        is_no: true,
    })
}

/// Undoes an apply. `shown` is the plan that a person saw.
fn undo_apply(
    context: &Context,
    store: &Store,
    authority: &Authority,
    proposal: &Proposal,
    seen: &ViewedState,
    shown: Option<&ApplyPlan>,
) -> Result<UndoOutcome> {
    let undone = decide::undo(store, authority, context.now, proposal, seen, shown)?;
    for note in &undone.notes {
        context.note(&format!("note: {}", escape::line(note)));
    }
    // A commit that HEAD does not contain needs no hint.
    let commit = undone.commit.as_ref().filter(|commit| {
        (undone.files.is_empty() || undone.puts_back()) && head_contains(store.repository(), commit)
    });
    if let Some(commit) = commit {
        let commit = escape::line(commit).into_owned();
        let how = if undone.files.is_empty() {
            format!("`git revert {commit}` undoes it")
        } else {
            "commit the restored files".to_owned()
        };
        context.note(&format!("hint: commit {commit} stays; {how}"));
    }
    let again = status_after_undo(context, store, proposal)?;
    let answer = ApplyDocument::undone(proposal, &undone.files, undone.commit, again.status);
    Ok(UndoOutcome { answer, again, is_no: false })
}

const APPLIED: &str = "applied on";

/// Returns the branch of the apply; `None` if another clone made it, or if it wrote no files.
fn applied_on<'p>(store: &Store, proposal: &'p Proposal) -> Option<&'p Target> {
    let decision = proposal.decision().filter(|decision| !decision.written.is_empty());
    decision.and_then(|decision| decide::target(store, decision))
}

/// Returns the shown part of `plan`, too: nothing by flag. `None` after a no.
///
/// # Errors
/// `other_branch`, and the refusals of [`Context::authorise`].
fn agreed<'p>(
    context: &mut Context,
    store: &Store,
    asking: &AuthorityRequest<'_>,
    plan: &'p ApplyPlan,
    branch: BranchArgs,
) -> Result<Option<(Authority, Option<&'p ApplyPlan>)>> {
    let repository = store.repository();
    let target = asking.proposals.first().and_then(|proposal| applied_on(store, proposal));
    if let Some(authority) = context.authorise_by_flag(store, asking)? {
        let command = format!("{} --yes", asking.command);
        branch.require_here(repository, APPLIED, target.cloned().as_slice(), &command)?;
        return Ok(Some((authority, None)));
    }
    let changes: Vec<FileChange> = plan.writes().map(|file| file.change(None)).collect();
    preview::changes(context, repository, &changes)?;
    let mut question = asking.question.to_owned();
    if let Some(there) = target.and_then(|it| it.elsewhere(repository.head_ref().as_deref())) {
        let (there, here) = (escape::name(there), escape::name(&repository.branch()));
        question =
            format!("{}, {APPLIED} {there}, on {here}?", asking.question.trim_end_matches('?'));
    }
    let asking = AuthorityRequest { question: &question, ..*asking };
    Ok(context
        .authorise_by_question(store, &asking, None)?
        .map(|authority| (authority, Some(plan))))
}

fn head_contains(repository: &Repository, commit: &str) -> bool {
    let answer = repository
        .git()
        .and_then(|git| git.args(["merge-base", "--is-ancestor", commit, "HEAD"]).answer());
    answer.is_ok_and(|answer| answer.ok())
}

/// True after a rejection, a withdrawal or a request for changes.
fn is_negative(proposal: &Proposal) -> bool {
    match proposal.state {
        State::Rejected(_) => true,
        State::Pending => proposal.changes_requested.is_some(),
        State::Applied(_) => false,
    }
}

/// True if its time is over and nobody has said anything that an undo could end.
fn is_expired(proposal: &Proposal, now: DateTime<Utc>) -> bool {
    proposal.status(now) == Status::Expired && !is_negative(proposal)
}

fn question(proposal: &Proposal, is_named: bool, is_over: bool) -> String {
    let id = &proposal.id;
    if is_over {
        let title = proposal.title().map(|text| format!(" ({})", short_title(text)));
        let days = DEFAULT_LIFETIME.num_days();
        return format!("Give {id}{} {days} more days?", title.unwrap_or_default());
    }
    if is_named { format!("Undo {id}?") } else { format!("Undo {}?", describe(proposal)) }
}

fn describe(proposal: &Proposal) -> String {
    let (what, by) = match (&proposal.state, &proposal.changes_requested) {
        (State::Applied(decision), _) => ("applied", Some(&decision.by)),
        (State::Rejected(decision), _) if decision.withdrawn => ("withdrawn", Some(&decision.by)),
        (State::Rejected(decision), _) => ("rejected", Some(&decision.by)),
        (State::Pending, request) => ("sent back", request.as_ref().map(|request| &request.by)),
    };
    let about = proposal.title().map(|text| format!(", \u{201c}{}\u{201d}", short_title(text)));
    let by = by.map(|by| format!(" by {}", escape::name(&by.name)));
    format!(
        "{} ({}{}), {what}{}",
        proposal.id,
        escape::name(&file_path(proposal.current())),
        about.unwrap_or_default(),
        by.unwrap_or_default(),
    )
}
