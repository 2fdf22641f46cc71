//! `aye apply`: say aye.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::identity::Asking;
use super::lower::LowerArgs;
use super::part::{Chosen, PartArgs};
use super::which::Batch;
use super::yes::YesArgs;
use super::{Context, Format, pager, show};
use crate::changeset::FileChange;
use crate::changeset::plan::{MergedBy, Planned, Resolved};
use crate::check::relations;
use crate::decide::{self, Ahead, Applied, Part, Request, Residue, Shown};
use crate::error::{Error, Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::event::{Effect, Evidence};
use crate::proposal::relations::Relations;
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, Proposal, ProposalId, Status, codes};
use crate::render::diff;
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
    /// Say what would happen, and change nothing.
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

/// Answer of `aye apply` and `aye undo`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// `aye/apply@1` or `aye/undo@1`
    pub schema: &'static str,
    /// Whether it was done (or, with `--dry-run`, would be).
    pub success: bool,
    /// Nothing was changed because of `--dry-run`.
    pub dry_run: bool,
    /// The proposals, in the order given.
    pub proposals: Vec<Item>,
    /// With `--dry-run`: what `--yes=DIGEST` names, where several would be applied or filters name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Of those that filters name: which were not applied, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
}

/// One that was not applied together with the others.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failed {
    /// The id.
    pub proposal_id: String,
    /// The code of the error.
    pub code: &'static str,
    /// Why.
    pub message: String,
}

impl Failed {
    fn new(id: &ProposalId, error: &Error) -> Self {
        let message = error.message().to_owned();
        Self { proposal_id: id.to_string(), code: error.code().id, message }
    }
}

/// One proposal of the answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// `applied` after an apply, `pending` after an undo or a dry run.
    pub status: Status,
    /// What was done besides recording it.
    pub effect: Option<Effect>,
    /// The commit made (apply), or that still contains it (undo).
    pub commit: Option<String>,
    /// Every file and what became of it.
    pub files: Vec<FileItem>,
    /// The proposal made of what was left out (`--split-rest`).
    pub rest: Option<String>,
    /// The proposal that asks about what a commit hook changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amended: Option<String>,
    /// With `--dry-run`: the proposal before it in the same command on top of which it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collides_with: Option<String>,
}

impl Answer {
    /// What was done, or not.
    pub fn of(schema: &'static str, success: bool, proposals: Vec<Item>) -> Self {
        Self { schema, success, dry_run: false, proposals, group: None, failed: Vec::new() }
    }
}

/// One file of an item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileItem {
    /// Where.
    pub path: String,
    /// `write`, `create`, `delete` or `none`.
    pub action: &'static str,
    /// `clean`, `already`, `merged`, `derived` or `conflict`.
    pub outcome: &'static str,
    /// How it was merged: `three_way`, `snippet` or `moved`.
    pub merged_by: Option<&'static str>,
    /// Why it does not fit.
    pub reason: Option<&'static str>,
    /// The file also holds changes that are not the proposal's and that are not approved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_approved: bool,
}

impl FileItem {
    /// The item of a planned file.
    pub fn new(file: &Planned) -> Self {
        Self {
            path: file.path.display().to_string(),
            action: match (&file.now, &file.after) {
                (now, after) if now == after => "none",
                (None, _) => "create",
                (_, None) => "delete",
                _ => "write",
            },
            outcome: file.outcome.as_str(),
            merged_by: match &file.outcome {
                Resolved::Merged(MergedBy::ThreeWay) => Some("three_way"),
                Resolved::Merged(MergedBy::Snippet) => Some("snippet"),
                Resolved::Merged(MergedBy::Moved) => Some("moved"),
                _ => None,
            },
            reason: match &file.outcome {
                Resolved::Conflict(conflict) => Some(conflict.reason.as_str()),
                _ => None,
            },
            not_approved: false,
        }
    }

    /// The line for people.
    pub fn text(&self) -> String {
        let how = self.merged_by.or(self.reason).map(|how| format!(" ({how})"));
        let path = escape::name(&self.path);
        format!("  {:<8} {:<6} {path}{}\n", self.outcome, self.action, how.unwrap_or_default())
    }
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
    let asks = args.dry_run || (!args.yes.is_given() && context.interactive());
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
        let shown = shown(&store, &proposals, chosen.part.as_ref(), effect)?;
        return dry_run(context, &store, &proposals, &shown, chosen.part.as_ref(), effect, &args);
    }
    let mut failed = Vec::new();
    if args.which.is_filter() {
        (proposals, failed) = fitting(context, &store, proposals)?;
    }
    let subject = args.which.subject(&store, &proposals);
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
        let chosen = args.part.choose(&store, &proposals)?;
        // One that is not asked about is planned as it is applied, and refused there all the same.
        let is_group = proposals.len() > 1 || args.which.is_filter();
        let alone = !asks && !is_group && !args.conflict_markers && args.yes.digest().is_none();
        let mut shown = match alone {
            true => Vec::new(),
            false => shown(&store, &proposals, chosen.part.as_ref(), effect)?,
        };
        let markers =
            args.conflict_markers && shown.iter().any(|shown| shown.plan.refusal().is_some());
        if !markers {
            refuse_conflicts(context, &store, &proposals, &shown)?;
        }
        let group = digest_of(&shown);
        if let Some(named) = args.yes.digest() {
            decide::group::require_same(named, &group)?;
        }
        let mut take_residue = args.take_residue;
        let mut unshown = 0;
        if asks {
            unshown = present(context, &store, &shown, chosen.part.as_ref())?;
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
            return write_markers(context, &store, &proposals);
        }
        if take_residue {
            shown.iter_mut().for_each(Shown::take_residue);
        }
        let request = Request {
            message: args.message.clone(),
            part: chosen.part.clone(),
            take_residue,
            unshown_lines: unshown,
            group: is_group.then_some(group),
            ..Request::all(effect)
        };
        let asked = (&args, &chosen, failed.as_slice());
        match carry_out(context, &store, &authority, &proposals, &request, &shown, asked) {
            // A person looks again; where nobody is asked, it is an error like any other.
            Err(error) if asks && error.is(&codes::CHANGED_SINCE_SHOWN) => {
                context.note(&format!("{}; look again", escape::line(error.message())));
            }
            other => return other,
        }
    }
}

/// The digest of those of `shown` that fit: see [`decide::group`].
fn digest_of(shown: &[Shown]) -> String {
    decide::group::of_apply(shown.iter().filter(|shown| shown.plan.refusal().is_none()))
}

/// Those of `proposals`, which a filter names, that fit one on top of the other; says which do not.
///
/// # Errors
/// `conflict` where none does.
fn fitting(
    context: &Context,
    store: &Store,
    proposals: Vec<Proposal>,
) -> Result<(Vec<Proposal>, Vec<Failed>)> {
    let shown = shown(store, &proposals, None, Effect::Files)?;
    let mut fit = Vec::with_capacity(proposals.len());
    let (mut first, mut failed) = (None, Vec::new());
    for (proposal, shown) in proposals.into_iter().zip(shown) {
        match shown.plan.refusal() {
            None => fit.push(proposal),
            Some(refusal) => {
                let why = escape::line(refusal.message()).into_owned();
                context.note(&format!("{} stays pending: {why}", proposal.id));
                let error = decide::apply::conflict(refusal, &proposal.id);
                failed.push(Failed::new(&proposal.id, &error));
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if fit.is_empty() => Err(error),
        _ => Ok((fit, failed)),
    }
}

/// Applies one after the other, and prints what came of it.
fn carry_out(
    context: &mut Context,
    store: &Store,
    authority: &Authority,
    proposals: &[Proposal],
    request: &Request,
    shown: &[Shown],
    (args, chosen, failed): (&Args, &Chosen, &[Failed]),
) -> Result<Exit> {
    let mut items: Vec<Item> = Vec::new();
    let mut failed = failed.to_vec();
    // At a terminal, the question was about the others.
    let by_flag = *authority.evidence() == Evidence::Flag;
    let mut exit = if by_flag && !failed.is_empty() { Exit::Conflict } else { Exit::Done };
    for (at, proposal) in proposals.iter().enumerate() {
        let after_commit = request.effect == Effect::Commit && at > 0;
        let request = Request { after_commit, ..request.clone() };
        let now = context.now;
        let applied = decide::apply(store, authority, now, proposal, &request, shown.get(at));
        let applied = match applied {
            Ok(applied) => applied,
            // Each proposal is applied whole, and of a group those that can be.
            Err(error) if args.which.is_filter() && !(items.is_empty() && proposals.len() == 1) => {
                context.note(&format!("{}: {}", proposal.id, escape::line(error.message())));
                failed.push(Failed::new(&proposal.id, &error));
                exit = Exit::Conflict;
                continue;
            }
            Err(error) if items.is_empty() => return Err(error),
            Err(error) => {
                let applied: Vec<_> = items.iter().map(|item| item.proposal_id.clone()).collect();
                return Err(error.with("applied", applied));
            }
        };
        for warning in &applied.warnings {
            context.note(&format!("warning: {}", escape::line(warning)));
        }
        if let Some(note) = not_approved(&applied.not_approved) {
            context.note(&format!("{note} (--take-residue approves them too)"));
        }
        if let Some(id) = &applied.amended {
            exit = Exit::Conflict;
            let commit = applied.commit.as_deref().unwrap_or_default();
            let commit = commit.get(..12).unwrap_or(commit);
            context.report_beside(
                &Error::new(
                    &crate::apply::codes::COMMIT_DIFFERS,
                    format!(
                        "a hook changed what was approved, and commit {commit} has its version"
                    ),
                )
                .hint(format!("look at the difference and decide on it: aye review {id}")),
            );
        }
        let amended = applied.amended.clone();
        let mut item = item(proposal, applied, request.effect);
        item.amended = amended.map(|id| id.to_string());
        if args.part.split_rest && !chosen.rest.is_empty() {
            let actor = authority.actor();
            let made = crate::app::propose::rest(store, actor, now, proposal, &chosen.rest)?;
            item.rest = Some(made.to_string());
        }
        items.push(item);
    }
    let success = exit == Exit::Done;
    let answer = Answer { failed, ..Answer::of("aye/apply@1", success, items) };
    context.emit(Format::Text, &answer, || text(&answer, "applied"))?;
    for proposal in proposals {
        if let Some(hint) = super::plan::suggestion(context, store, proposal) {
            context.note(&hint);
        }
    }
    Ok(exit)
}

/// A note about files that hold changes of others, which were not approved; of many files, it
/// names the first.
pub(super) fn not_approved(paths: &[String]) -> Option<String> {
    const MOST_NAMED: usize = 3;
    let named: Vec<_> = paths.iter().take(MOST_NAMED).map(|path| escape::name(path)).collect();
    let files = match (named.as_slice(), paths.len() - named.len()) {
        ([], _) => return None,
        ([one], 0) => format!("{one} also holds"),
        (some, 0) => format!("{} also hold", some.join(", ")),
        (some, more) => format!("{} and {more} more files also hold", some.join(", ")),
    };
    Some(format!("note: {files} changes that are not the proposal's; they are not approved"))
}

/// Shows what is about to be written: every file and what becomes of it, then files now against
/// files afterwards, then what the files hold besides. Returns how many changed lines were not on
/// the screen.
///
/// # Errors
/// `object_missing`; those of the pager.
pub fn present(
    context: &mut Context,
    store: &Store,
    shown: &[Shown],
    part: Option<&Part>,
) -> Result<u64> {
    let snapshot = store.repo().config_snapshot();
    let options = pager::options(context, Some(snapshot.plumbing()));
    let mut text = String::new();
    for shown in shown {
        text += &format!("{}\n", summary(&shown.proposal, &shown.plan.files));
        text += &show::who_and_why(&shown.proposal, context.now);
        for notice in show::noticed(store, &shown.proposal, &shown.proposal.current().changes) {
            text += &format!("! {}\n", escape::line(&notice));
        }
        text += &diff::changeset(&shown.changes(), &options);
        text += &already(store, shown, part, &options)?;
        text += &residue(shown, &options);
    }
    if text.lines().count() > FIRST_SCREEN {
        pager::page(context, Some(snapshot.plumbing()), &text)?;
    } else {
        context.note(text.trim_end());
    }
    Ok(0)
}

/// More lines than this go through the pager.
const FIRST_SCREEN: usize = 200;

/// The proposal's own diff of the files that hold its result already: nothing is written there, and
/// the decision approves that diff all the same.
fn already(
    store: &Store,
    shown: &Shown,
    part: Option<&Part>,
    options: &diff::Options,
) -> Result<String> {
    let changes = shown.already(store, part)?;
    if changes.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "\nThe files have this already; it is approved as well:\n{}",
        diff::changeset(&changes, options)
    ))
}

/// What the files hold that is not the proposal's, as a diff of its own.
fn residue(shown: &Shown, options: &diff::Options) -> String {
    let changes: Vec<FileChange> = shown.foreign().map(Residue::change).collect();
    if changes.is_empty() {
        return String::new();
    }
    format!(
        "\nThese files also hold changes that are not the proposal's:\n{}",
        diff::changeset(&changes, options)
    )
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

/// What applying `proposals` one after the other comes to.
///
/// # Errors
/// As [`decide::show`], and what the work tree refuses.
pub fn shown(
    store: &Store,
    proposals: &[Proposal],
    part: Option<&Part>,
    effect: Effect,
) -> Result<Vec<Shown>> {
    if effect == Effect::MarkOnly {
        return Ok(Vec::new());
    }
    let mut ahead = Ahead::new(store)?;
    let view = store.view()?;
    proposals.iter().map(|proposal| ahead.show(store, &view, proposal, part)).collect()
}

/// Refuses where one of `shown`, the plans of `proposals`, has conflicts.
///
/// # Errors
/// `conflict`.
pub fn refuse_conflicts(
    context: &Context,
    store: &Store,
    proposals: &[Proposal],
    shown: &[Shown],
) -> Result<()> {
    let related = related(context, store, shown)?;
    for (at, proposal) in proposals.iter().enumerate() {
        let Some(refusal) = shown.get(at).and_then(|shown| shown.plan.refusal()) else { continue };
        let error = decide::apply::conflict(refusal, &proposal.id);
        let Some(other) = collides_with(shown, at, &related) else {
            return Err(store.name_sparse(error));
        };
        let (id, other) = (&proposal.id, other.to_string());
        let message = format!("{id} does not fit on top of {other}, which is to be applied first");
        return Err(Error::new(&crate::changeset::codes::CONFLICT, message)
            .with("proposal_id", id.as_str())
            .with("collides_with", other.clone())
            .hint(format!(
                "nothing was written; apply one of them alone: aye apply {other}, or aye apply {id}"
            )));
    }
    Ok(())
}

/// The proposal before the one `at` that is in its way: one that writes a file in which that one has a
/// conflict. Of several, one that changes the same lines, or else the last.
fn collides_with<'s>(
    shown: &'s [Shown],
    at: usize,
    related: &BTreeMap<ProposalId, Relations>,
) -> Option<&'s ProposalId> {
    let this = shown.get(at)?;
    let conflicts = |file: &&Planned| matches!(file.outcome, Resolved::Conflict(_));
    let files: Vec<_> = this.plan.files.iter().filter(conflicts).collect();
    let writes = |before: &&Shown| {
        before.plan.refusal().is_none()
            && before.plan.writes().any(|written| files.iter().any(|f| f.path == written.path))
    };
    let ids: Vec<&ProposalId> =
        shown.iter().take(at).filter(writes).map(|before| &before.proposal.id).collect();
    let same_lines = related.get(&this.proposal.id).map(|found| &found.same_lines.named);
    let is_same = |id: &&&ProposalId| same_lines.is_some_and(|named| named.contains(id));
    ids.iter().rev().find(is_same).or(ids.last()).copied()
}

/// What the pending proposals have to do with each other, asked where one does not fit.
fn related(
    context: &Context,
    store: &Store,
    shown: &[Shown],
) -> Result<BTreeMap<ProposalId, Relations>> {
    match shown.len() > 1 && shown.iter().any(|shown| shown.plan.refusal().is_some()) {
        true => relations::relations(store, &store.view()?, context.now),
        false => Ok(BTreeMap::new()),
    }
}

fn dry_run(
    context: &mut Context,
    store: &Store,
    proposals: &[Proposal],
    shown: &[Shown],
    part: Option<&Part>,
    effect: Effect,
    args: &Args,
) -> Result<Exit> {
    let related = related(context, store, shown)?;
    let fits = shown.iter().all(|shown| shown.plan.refusal().is_none());
    let items = proposals.iter().enumerate().map(|(index, proposal)| Item {
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Pending,
        effect: Some(effect),
        commit: None,
        files: shown.get(index).map(file_items).unwrap_or_default(),
        rest: None,
        amended: None,
        collides_with: collides_with(shown, index, &related).map(ProposalId::to_string),
    });
    let is_group = (args.which.is_filter() || proposals.len() > 1) && !shown.is_empty();
    let group = is_group.then(|| digest_of(shown));
    let answer = Answer {
        schema: "aye/apply@1",
        success: fits,
        dry_run: true,
        proposals: items.collect(),
        group,
        failed: Vec::new(),
    };
    let fitting: Vec<Proposal> = shown
        .iter()
        .filter(|shown| shown.plan.refusal().is_none())
        .map(|shown| shown.proposal.clone())
        .collect();
    let subject = args.which.subject(store, &fitting);
    let heading = |at: usize| match (shown.get(at), collides_with(shown, at, &related)) {
        (_, Some(other)) => format!("does not fit on top of {other}"),
        (Some(shown), None) if shown.plan.refusal().is_some() => "does not fit as it is".into(),
        _ if fits => "would be applied".to_owned(),
        _ => "would fit".to_owned(),
    };
    let snapshot = store.repo().config_snapshot();
    let options = pager::options(context, Some(snapshot.plumbing()));
    let mut diffs = String::new();
    for shown in shown {
        // What was proposed is in `aye diff`; here is what would be written otherwise.
        if !shown.is_as_proposed() && shown.plan.refusal().is_none() {
            let changes = shown.changes();
            if !changes.is_empty() {
                diffs += &format!("\nFiles now and afterwards ({}):\n", shown.proposal.id);
                diffs += &diff::changeset(&changes, &options);
            }
            diffs += &already(store, shown, part, &options)?;
        }
        diffs += &residue(shown, &options);
    }
    if let Some(group) = answer.group.as_ref().filter(|_| !fitting.is_empty()) {
        diffs += &args.which.group_line("aye apply", &subject, group, &fitting);
    }
    context.emit(Format::Text, &answer, || text_with(&answer, heading) + &diffs)?;
    Ok(if fits { Exit::Done } else { Exit::Conflict })
}

fn file_items(shown: &Shown) -> Vec<FileItem> {
    let item = |file| {
        let mut item = FileItem::new(file);
        item.not_approved = shown.foreign().any(|residue| residue.path == file.path);
        item
    };
    shown.plan.files.iter().map(item).collect()
}

fn write_markers(context: &mut Context, store: &Store, proposals: &[Proposal]) -> Result<Exit> {
    let [proposal] = proposals else {
        return Err(Error::new(
            &crate::error::codes::USAGE,
            "--conflict-markers takes one proposal at a time",
        )
        .hint("give one id"));
    };
    let plan = decide::apply::write_markers(store, proposal)?;
    let answer = Answer {
        schema: "aye/apply@1",
        success: false,
        dry_run: false,
        proposals: vec![Item {
            proposal_id: proposal.id.to_string(),
            file_path: file_path(proposal.current()),
            status: Status::Pending,
            effect: Some(Effect::Files),
            commit: None,
            files: plan.files.iter().map(FileItem::new).collect(),
            rest: None,
            amended: None,
            collides_with: None,
        }],
        group: None,
        failed: Vec::new(),
    };
    context.emit(Format::Text, &answer, || text(&answer, "written with conflict markers"))?;
    context.note(&format!(
        "hint: settle the markers, then `aye apply {} --mark-only` or `aye reject {0}`",
        proposal.id
    ));
    Ok(Exit::Conflict)
}

fn item(proposal: &Proposal, applied: Applied, effect: Effect) -> Item {
    Item {
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Applied,
        effect: Some(effect),
        commit: applied.commit,
        files: applied
            .files
            .iter()
            .map(|file| {
                let path = file.path.display().to_string();
                let not_approved = applied.not_approved.contains(&path);
                FileItem { not_approved, ..FileItem::new(file) }
            })
            .collect(),
        rest: None,
        amended: None,
        collides_with: None,
    }
}

/// The flags that a person has to repeat.
fn flags(args: &Args) -> String {
    let set = [
        (args.mark_only, " --mark-only"),
        (args.index, " --index"),
        (args.commit, " --commit"),
        (args.conflict_markers, " --conflict-markers"),
        (args.take_residue, " --take-residue"),
        (args.lower.alone, " --alone"),
    ];
    set.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect::<String>()
        + &args.part.flags()
}

fn summary(proposal: &Proposal, files: &[Planned]) -> String {
    let lines: String = files.iter().map(|file| FileItem::new(file).text()).collect();
    format!("{}\n{}", proposal.id, lines.trim_end())
}

/// The answer for people.
pub fn text(answer: &Answer, heading: &str) -> String {
    text_with(answer, |_| heading.to_owned())
}

/// As [`text`], with a heading for each proposal by its place.
fn text_with(answer: &Answer, heading: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for (at, item) in answer.proposals.iter().enumerate() {
        let heading = heading(at);
        let only_marked = item.effect == Some(Effect::MarkOnly) && !answer.dry_run;
        let note = if only_marked { " (marked only, no file was written)" } else { "" };
        out += &format!("{}  {heading}{note}\n", item.proposal_id);
        out += &item.files.iter().map(FileItem::text).collect::<String>();
        if let Some(rest) = &item.rest {
            out += &format!("  rest     {rest}\n");
        }
        if let Some(commit) = &item.commit {
            out += &format!("  commit   {}\n", commit.get(..12).unwrap_or(commit));
        }
    }
    out
}
