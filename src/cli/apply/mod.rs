//! `aye apply`: say aye.

mod applicable;
mod attempt;
mod carry_out;
pub mod conflicts;
pub mod document;
mod dry_run;
mod markers;
pub mod preview;

use self::applicable::keep_applicable;
use self::attempt::ApplyAttempt;
use super::Context;
use super::authorisation::AuthorityRequest;
use super::branch::BranchArgs;
use super::dependencies::DependencyArgs;
use super::hunk_selection::PartArgs;
use super::selection::BatchArgs;
use crate::changeset::marks::{MarkKind, in_question};
use crate::check::marks;
use crate::decide::{self, DecisionPlan};
use crate::error::{Exit, Result};
use crate::proposal::event::Effect;
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, codes};
use crate::store::{Store, View};
use crate::text::escape;

/// Apply pending proposals to the files.
///
/// aye writes all files of a proposal or none. It merges changes of the same file that do not
/// overlap. If they overlap, it writes nothing and exits with 5.
///
/// At a terminal, the question shows the files before and after. Other uncommitted changes of the
/// same files are shown apart: y applies the proposal alone, i approves the other changes too.
/// --yes decides without a question and needs ID@REV for a proposal with several revisions. Memory
/// and sensitive paths need an answer at a terminal, unless the policy says otherwise. Without an
/// id, the only pending proposal is meant.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye apply m4k8
  aye apply m4k8 --yes --commit
  aye apply m4k8@3f9c02d71b5e --yes      only at the revision that you saw
  aye apply m4k8 --yes --with-other-changes

  aye apply m4k8 7qx2 --branch topic     a branch with a commit for each
  aye apply 7qx2 --with-lower            after the proposals that it depends on
  aye apply --by claude --task T-2       all that fit, at a terminal

  aye diff m4k8 --hunks
  aye apply m4k8 --hunks 1,3-5 --split-rest
  aye apply m4k8 --conflict-markers")]
pub struct Args {
    #[command(flatten)]
    pub which: BatchArgs,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Record the decision, write no files.
    #[arg(long, conflicts_with_all = ["index", "commit", "conflict_markers"])]
    pub mark_only: bool,
    /// Commit each to the new branch NAME at HEAD; the files of the checkout stay.
    ///
    /// One commit a proposal, in the order of the ids. Where HEAD has changed since, both changes
    /// are merged if they fit. Hooks of git do not run.
    #[arg(
        long = "branch",
        value_name = "NAME",
        conflicts_with_all = ["mark_only", "index", "commit", "dry_run", "conflict_markers",
            "with_other_changes", "hunks", "by", "task", "domain", "path"]
    )]
    pub onto: Option<String>,
    /// Also stage the changed files.
    #[arg(long, conflicts_with = "commit")]
    pub index: bool,
    /// Also commit just these files; hooks and signing run as in `git commit`.
    #[arg(long)]
    pub commit: bool,
    /// Commit message instead of the proposal's description.
    #[arg(long, short = 'm', value_name = "TEXT", requires = "commit")]
    pub message: Option<String>,
    /// Write nothing; show the result.
    #[arg(long, short = 'n', conflicts_with_all = ["by", "task", "domain", "path"])]
    pub dry_run: bool,
    /// Write conflicts with both versions between markers; the proposal stays pending.
    #[arg(long, conflicts_with_all = ["index", "commit"])]
    pub conflict_markers: bool,
    /// Also approve the unrelated changes in the same files.
    #[arg(long, conflicts_with_all = ["mark_only", "conflict_markers"])]
    pub with_other_changes: bool,
    #[command(flatten)]
    pub branch: BranchArgs,
    #[command(flatten)]
    pub lower: DependencyArgs,
    #[command(flatten)]
    pub part: PartArgs,
}

/// All proposals are planned first: if one does not fit on the earlier ones, none is applied.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `revision_required`, `other_branch`, `conflict`, and the
/// refusals of [`Context::authorise`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let _head = store.repository().pin_head();
    let view = store.view()?;
    let proposals = named(context, &store, &view, &args)?;
    if proposals.is_empty() {
        return context.declined("nothing applied");
    }
    let effect = args.effect();
    if args.dry_run {
        return dry_run::run(context, &store, &args, proposals, effect);
    }
    let proposals = if args.which.is_filter() {
        keep_applicable(context, &store, proposals)?
    } else {
        proposals
    };
    let subject = args.which.subject(&store, &proposals, args.lower.with_lower);
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let command = format!("aye apply {}{}", ids.join(" "), args.flags());
    let mut found = marks::of_each(&store, &view, &proposals)?;
    if args.onto.is_some() {
        // Another branch is what the caller asked for.
        found.iter_mut().for_each(|marks| marks.retain(|it| it.mark != MarkKind::OtherBranch));
    }
    drop(view);
    let marks = in_question(found.iter().map(Vec::as_slice));
    let question = match effect {
        Effect::MarkOnly if let Some(name) = &args.onto => {
            format!("Commit {subject} to the new branch {}{marks}?", escape::line(name))
        }
        Effect::MarkOnly => format!("Approve {subject} and leave the files to you{marks}?"),
        Effect::Commit => format!("Apply and commit {subject}{marks}?"),
        Effect::Files | Effect::Index => format!("Apply {subject}{marks}?"),
    };
    let asking = AuthorityRequest {
        verb: Verb::Apply,
        proposals: &proposals,
        yes: args.yes,
        question: &question,
        command: &command,
    };
    let by_flag = context.authorise_by_flag(&store, &asking)?;
    if by_flag.is_some() && effect != Effect::MarkOnly {
        let command = format!("{command} --yes");
        args.branch.require(store.repository(), &proposals, &command)?;
    }
    let turn = ApplyAttempt { args: &args, asking: &asking, marks: &found, by_flag, effect };
    loop {
        match turn.take(context, &store) {
            // A person looks again; without a question, or with markers, the error is an ordinary
            // one.
            Err(error)
                if turn.asks()
                    && !args.conflict_markers
                    && error.is(&codes::CHANGED_SINCE_SHOWN) =>
            {
                context.note_changed(&error);
            }
            other => return other,
        }
    }
}

fn named(context: &mut Context, store: &Store, view: &View, args: &Args) -> Result<Vec<Proposal>> {
    let proposals = args.which.pending(context, store, view)?;
    // If nobody would be asked, a missing lower proposal is refused at once, as without --dry-run.
    let is_tried = args.dry_run && !args.lower.with_lower;
    let asks = is_tried || (!args.yes && context.interactive());
    let proposals = args.lower.order(context, store, view, proposals, asks)?;
    if args.yes && !args.dry_run {
        args.which.refuse_unnamed("aye apply", &proposals)?;
        args.which.several.require_named_revisions(view, &proposals, true)?;
    }
    Ok(proposals)
}

impl Args {
    fn effect(&self) -> Effect {
        if self.mark_only || self.onto.is_some() {
            Effect::MarkOnly
        } else if self.index {
            Effect::Index
        } else if self.commit {
            Effect::Commit
        } else {
            Effect::Files
        }
    }

    fn flags(&self) -> String {
        let set = [
            (self.mark_only, " --mark-only"),
            (self.index, " --index"),
            (self.commit, " --commit"),
            (self.conflict_markers, " --conflict-markers"),
            (self.with_other_changes, " --with-other-changes"),
            (self.branch.any_branch, " --any-branch"),
            (self.lower.with_lower, " --with-lower"),
            (self.lower.alone, " --alone"),
        ];
        set.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect::<String>()
            + &self.part.flags()
            + &self.onto.iter().map(|name| format!(" --branch {name}")).collect::<String>()
    }
}

fn digest_of(shown: &[DecisionPlan], takes_residue: bool) -> String {
    let fitting = shown.iter().filter(|shown| shown.plan.refusal().is_none());
    decide::group::of_apply(fitting, takes_residue)
}
