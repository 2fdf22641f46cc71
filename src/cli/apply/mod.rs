//! `aye apply`: say aye.

pub mod answer;
mod carry_out;
pub mod conflicts;
mod dry_run;
mod markers;
pub mod preview;

use std::collections::BTreeMap;

use self::answer::Failed;
use self::carry_out::Decided;
use self::conflicts::refuse_conflicts;
use self::preview::{Wanted, each_shown, of_proposal, present, shown};
use super::Context;
use super::identity::Asking;
use super::lower::LowerArgs;
use super::part::{Chosen, PartArgs};
use super::which::Batch;
use super::yes::YesArgs;
use crate::decide::{self, Request, Seen, Shown};
use crate::error::{Error, Exit, Result};
use crate::proposal::event::{Effect, Evidence};
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, codes};
use crate::store::Store;
use crate::text::escape;

/// Apply pending proposals to the files.
///
/// All files of a proposal are written or none. Where a file has changed since, both changes are
/// merged if they fit; if they do not, nothing is written and the exit status is 5.
///
/// At a terminal, the question shows files now against files afterwards, and apart from that what
/// the same files hold besides: y applies the proposal alone, i approves the other changes too.
/// --yes decides without a question; a proposal with several revisions then has to be named as
/// ID@REV, as `aye diff` prints it. Memory and sensitive paths are decided at a terminal unless the
/// policy says otherwise.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye apply m4k8
  aye apply m4k8 --yes --commit
  aye apply m4k8@3f9c --yes              only at the revision that was looked at
  aye apply m4k8 --yes --take-residue    and other changes in its files
  aye apply --latest
  aye apply m4k8 7qx2 --dry-run
  aye apply 7qx2 --with-lower            and the pending proposals that it stands on, first
  aye apply --by claude --task T-2       all of them that fit
  aye apply --by claude --max-lines 20 --dry-run   what that is, and a digest of it
  aye apply --by claude --max-lines 20 --yes=7f3a12bc9d01   exactly what was shown
  aye diff m4k8 --hunks
  aye apply m4k8 --hunks 1,3-5 --split-rest
  aye apply m4k8 --conflict-markers")]
pub struct Args {
    /// The proposals.
    #[command(flatten)]
    pub which: Batch,
    /// Without a question.
    #[command(flatten)]
    pub yes: YesArgs,
    /// Record the decision and leave the files to someone else.
    #[arg(long, conflicts_with_all = ["index", "commit", "conflict_markers"])]
    pub mark_only: bool,
    /// Also stage the changed files.
    #[arg(long, conflicts_with = "commit")]
    pub index: bool,
    /// Also commit just these files; hooks and signing run as in `git commit`.
    #[arg(long)]
    pub commit: bool,
    /// Commit message instead of the proposal's description.
    #[arg(long, short = 'm', value_name = "TEXT", requires = "commit")]
    pub message: Option<String>,
    /// Do not write anything; only show what would be done.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Where it does not fit, write both versions with conflict markers; it stays pending.
    #[arg(long, conflicts_with_all = ["index", "commit"])]
    pub conflict_markers: bool,
    /// Approve other changes that the same files hold, too: they were looked at.
    #[arg(long, conflicts_with_all = ["mark_only", "conflict_markers"])]
    pub take_residue: bool,
    /// What they stand on.
    #[command(flatten)]
    pub lower: LowerArgs,
    /// Which part.
    #[command(flatten)]
    pub part: PartArgs,
}

/// Runs the command. Several proposals are planned together first: if one does not fit on top of
/// those before it, none is applied.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `revision_required`, `conflict`, the refusals of
/// [`Context::authorise`], and those of [`decide::apply()`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let view = store.look()?;
    let mut proposals = args.which.pending(context, &store, &view)?;
    // What cannot be taken along is refused at once where nobody would be asked, as without --dry-run.
    let is_tried = args.dry_run && !args.lower.with_lower;
    let asks = is_tried || (!args.yes.is_given() && context.interactive());
    proposals = args.lower.settle(context, &store, &view, proposals, asks)?;
    if args.yes.is_given() && !args.dry_run {
        args.which.refuse_unseen("aye apply", &args.yes, &proposals)?;
        if args.yes.digest().is_none() {
            args.which.several().require_named_revisions(&view, &proposals)?;
        }
    }
    drop(view);
    let effect = match () {
        () if args.mark_only => Effect::MarkOnly,
        () if args.index => Effect::Index,
        () if args.commit => Effect::Commit,
        () => Effect::Files,
    };
    if args.dry_run {
        let chosen = args.part.choose(&store, &proposals)?;
        let wanted = (chosen.part.as_ref(), &chosen.made);
        let (proposals, plans, failed) = if args.which.is_filter() {
            planned(context, &store, proposals, wanted, effect)?
        } else {
            proposals.iter().try_for_each(Proposal::require_understood)?;
            let plans = shown(&store, &proposals, wanted, effect)?;
            (proposals, plans, Vec::new())
        };
        return dry_run::dry_run(
            context,
            &store,
            &proposals,
            &plans,
            chosen.part.as_ref(),
            effect,
            (&args, args.part.hunks.is_some() || chosen.unclear.is_some(), failed),
        );
    }
    let mut failed = Vec::new();
    if args.which.is_filter() {
        (proposals, failed) = fitting(context, &store, proposals)?;
    }
    let subject = args.which.subject(&store, &proposals, args.lower.with_lower);
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let command = format!("aye apply {}{}", ids.join(" "), flags(&args));
    let question = match effect {
        Effect::MarkOnly => format!("Approve {subject} and leave the files to you?"),
        Effect::Commit => format!("Apply and commit {subject}?"),
        Effect::Files | Effect::Index => format!("Apply {subject}?"),
    };
    let asking = Asking {
        verb: Verb::Apply,
        proposals: &proposals,
        yes: args.yes.is_given(),
        question: &question,
        command: &command,
    };
    let by_flag = context.by_flag(&store, &asking)?;
    let asks = by_flag.is_none();
    loop {
        let mut chosen = match args.mark_only || args.conflict_markers {
            true => Chosen::default(),
            false => args.part.choose(&store, &proposals)?,
        };
        if !asks
            && args.yes.digest().is_none()
            && let Some(unclear) = chosen.unclear.take()
        {
            return Err(unclear);
        }
        if let Some(note) = &chosen.note {
            context.note(&format!("note: {note}"));
        }
        let seen = match args.mark_only {
            true => Some(Seen::now(&store, &store.view()?)?),
            false => None,
        };
        // One that is not asked about is planned as it is applied, and refused there all the same.
        let is_group = proposals.len() > 1 || args.which.is_filter();
        let alone = !asks && !is_group && !args.conflict_markers && args.yes.digest().is_none();
        let mut shown = match alone {
            true => Vec::new(),
            false => {
                let wanted = (chosen.part.as_ref(), &chosen.made);
                shown(&store, &proposals, wanted, effect)?
            }
        };
        let markers =
            args.conflict_markers && shown.iter().any(|shown| shown.plan.refusal().is_some());
        if !markers {
            refuse_conflicts(context, &store, &proposals, &shown)?;
        }
        let named = args.yes.digest();
        if let Some(named) = named {
            decide::group::require_same(named, &digest_of(&shown, args.take_residue))?;
        }
        let mut take_residue = args.take_residue;
        if asks {
            present(context, &store, &shown, chosen.part.as_ref())?;
            match ask(context, &question, &shown, take_residue)? {
                None => {
                    context.note("nothing applied");
                    return Ok(Exit::Negative);
                }
                Some(taken) => take_residue |= taken,
            }
        }
        let authority = match &by_flag {
            Some(authority) => authority.clone(),
            None => context.grant(&store, &asking, &Evidence::Terminal)?,
        };
        if markers {
            return markers::write_markers(context, &store, &shown);
        }
        let group = is_group.then(|| digest_of(&shown, take_residue));
        if take_residue {
            shown.iter_mut().for_each(Shown::take_residue);
        }
        let request = Request {
            message: args.message.clone(),
            part: chosen.part.clone(),
            take_residue,
            group,
            seen,
            ..Request::all(effect)
        };
        let decided = Decided {
            args: &args,
            authority: &authority,
            proposals: &proposals,
            request: &request,
            shown: &shown,
            chosen: &chosen,
            failed: &failed,
        };
        match decided.carry_out(context, &store) {
            // A person looks again; where nobody is asked, it is an error like any other.
            Err(error) if asks && error.is(&codes::CHANGED_SINCE_SHOWN) => {
                context.look_again(&error);
            }
            other => return other,
        }
    }
}

/// The digest of those of `shown` that fit: see [`decide::group`].
fn digest_of(shown: &[Shown], takes_residue: bool) -> String {
    let fitting = shown.iter().filter(|shown| shown.plan.refusal().is_none());
    decide::group::of_apply(fitting, takes_residue)
}

/// Those of `proposals`, which a filter names, that can be planned, with their plans; says which cannot.
///
/// # Errors
/// That of the first of them where none can.
fn planned(
    context: &Context,
    store: &Store,
    proposals: Vec<Proposal>,
    wanted: Wanted<'_>,
    effect: Effect,
) -> Result<(Vec<Proposal>, Vec<Shown>, Vec<Failed>)> {
    let each = each_shown(store, &proposals, wanted, effect)?;
    if each.is_empty() {
        return Ok((proposals, Vec::new(), Vec::new()));
    }
    let (mut sound, mut plans) = (Vec::new(), Vec::new());
    let (mut first, mut failed) = (None, Vec::new());
    for (proposal, plan) in proposals.into_iter().zip(each) {
        match plan {
            Ok(plan) => {
                sound.push(proposal);
                plans.push(plan);
            }
            Err(error) => {
                failed.push(stays(context, &proposal, &error, error.message()));
                first.get_or_insert_with(|| of_proposal(error, &proposal.id));
            }
        }
    }
    match first {
        Some(error) if sound.is_empty() => Err(error),
        _ => Ok((sound, plans, failed)),
    }
}

/// Those of `proposals`, which a filter names, that fit one on top of the other; says which do not.
///
/// # Errors
/// `conflict` where none does, or why the first of them cannot be planned.
fn fitting(
    context: &Context,
    store: &Store,
    proposals: Vec<Proposal>,
) -> Result<(Vec<Proposal>, Vec<Failed>)> {
    let (proposals, plans, mut failed) =
        planned(context, store, proposals, (None, &BTreeMap::new()), Effect::Files)?;
    let mut fit = Vec::with_capacity(proposals.len());
    let mut first = None;
    for (proposal, shown) in proposals.into_iter().zip(plans) {
        match decide::apply::conflict(&shown.plan, &proposal.id) {
            None => fit.push(proposal),
            Some(error) => {
                let why = error.message().to_owned();
                failed.push(stays(context, &proposal, &error, &why));
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if fit.is_empty() => Err(error),
        _ => Ok((fit, failed)),
    }
}

/// Says that `proposal` is not applied with the others, and why.
fn stays(context: &Context, proposal: &Proposal, error: &Error, why: &str) -> Failed {
    context.note(&format!("{} stays pending: {}", proposal.id, escape::line(why)));
    Failed::new(&proposal.id, error)
}

/// Asks. `None` is no; `Some(true)` approves what the files hold besides, too.
fn ask(
    context: &mut Context,
    question: &str,
    shown: &[Shown],
    take_residue: bool,
) -> Result<Option<bool>> {
    let foreign = shown.iter().any(|shown| shown.foreign().next().is_some());
    if !foreign || take_residue {
        return Ok(context.choose(question, &["y", "n"]).filter(|key| key == "y").map(|_| false));
    }
    context.note("y applies the proposal alone; i approves your other changes in these files, too");
    let key = context.choose(question, &["y", "i", "n"]);
    Ok(match key.as_deref() {
        Some("y") => Some(false),
        Some("i") => Some(true),
        _ => None,
    })
}

/// The flags that a person has to repeat.
fn flags(args: &Args) -> String {
    let set = [
        (args.mark_only, " --mark-only"),
        (args.index, " --index"),
        (args.commit, " --commit"),
        (args.conflict_markers, " --conflict-markers"),
        (args.take_residue, " --take-residue"),
        (args.lower.with_lower, " --with-lower"),
        (args.lower.alone, " --alone"),
    ];
    set.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect::<String>()
        + &args.part.flags()
}
