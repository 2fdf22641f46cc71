//! `aye apply`: say aye.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::part::PartArgs;
use super::which::Several;
use super::{Context, Format};
use crate::apply::{self, Applied, Request};
use crate::changeset::plan::{How, Outcome, Plan, Planned};
use crate::changeset::{File, RepoPath, Snapshot};
use crate::error::{Error, Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::event::Effect;
use crate::proposal::{ActorKind, Proposal, Status};
use crate::render::escape;
use crate::store::Store;
use crate::worktree::Worktree;

/// Apply pending proposals to the files.
///
/// All files of a proposal are written or none. Where a file has changed since, both changes are
/// merged if they fit; if they do not, nothing is written and the exit status is 5.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye apply m4k8
  aye apply m4k8 --yes --commit
  aye apply --latest
  aye apply m4k8 7qx2 --dry-run
  aye diff m4k8 --hunks
  aye apply m4k8 --hunks 1,3-5 --split-rest
  aye apply m4k8 --conflict-markers")]
pub struct Args {
    /// The proposals.
    #[command(flatten)]
    pub which: Several,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
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
}

/// One file of an item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileItem {
    /// Where.
    pub path: String,
    /// `write`, `create`, `delete` or `none`.
    pub action: &'static str,
    /// `clean`, `already`, `merged` or `conflict`.
    pub outcome: &'static str,
    /// How it was merged: `three_way`, `snippet` or `moved`.
    pub merged_by: Option<&'static str>,
    /// Why it does not fit.
    pub reason: Option<&'static str>,
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
                Outcome::Merged(How::ThreeWay) => Some("three_way"),
                Outcome::Merged(How::Snippet) => Some("snippet"),
                Outcome::Merged(How::Moved) => Some("moved"),
                _ => None,
            },
            reason: match &file.outcome {
                Outcome::Conflict(conflict) => Some(conflict.reason.as_str()),
                _ => None,
            },
        }
    }

    fn text(&self) -> String {
        let how = self.merged_by.or(self.reason).map(|how| format!(" ({how})"));
        let path = escape::name(&self.path);
        format!("  {:<8} {:<6} {path}{}\n", self.outcome, self.action, how.unwrap_or_default())
    }
}

/// Runs the command. Several proposals are planned together first: if one does not fit on top of
/// those before it, none is applied.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `conflict`, the refusals of [`Context::may_decide`], and
/// those of [`apply::apply`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let proposals = args.which.pending(&store.view()?, context.now)?;
    let actor = context.actor(&store);
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let command = format!("aye apply {}{}", ids.join(" "), flags(&args));
    if actor.kind == ActorKind::Agent && !args.dry_run {
        context.may_decide(&actor, args.yes, "", &command)?;
    }
    let effect = match () {
        () if args.mark_only => Effect::MarkOnly,
        () if args.index => Effect::Index,
        () if args.commit => Effect::Commit,
        () => Effect::Files,
    };
    let chosen = args.part.choose(&store, &proposals)?;
    // One that is not asked about is planned as it is applied, and refused there all the same.
    let alone = args.yes && proposals.len() == 1 && !args.dry_run && !args.conflict_markers;
    let plans = match effect {
        _ if alone => Vec::new(),
        Effect::MarkOnly => Vec::new(),
        _ => plans(&store, &proposals, chosen.part.as_ref())?,
    };
    if args.dry_run {
        return dry_run(context, &proposals, &plans, effect);
    }
    let markers = args.conflict_markers && plans.iter().any(|plan| plan.refusal().is_some());
    if !markers {
        refuse_conflicts(&store, &proposals, &plans)?;
    }
    for (proposal, plan) in proposals.iter().zip(&plans) {
        if context.interactive() && !args.yes {
            context.note(&summary(proposal, &plan.files));
        }
    }
    let question = match effect {
        Effect::MarkOnly => format!("Mark {} as applied?", ids.join(", ")),
        Effect::Commit => format!("Apply and commit {}?", ids.join(", ")),
        Effect::Files | Effect::Index => format!("Apply {}?", ids.join(", ")),
    };
    let Some(how) = context.may_decide(&actor, args.yes, &question, &command)? else {
        context.note("nothing applied");
        return Ok(Exit::Negative);
    };
    if markers {
        return write_markers(context, &store, &proposals);
    }
    let request = Request { how, effect, message: args.message.clone(), part: chosen.part };
    let mut items: Vec<Item> = Vec::new();
    for proposal in &proposals {
        let applied =
            apply::apply(&store, &actor, context.now, proposal, &request).map_err(|error| {
                match items.is_empty() {
                    true => error,
                    // Each proposal is applied whole; those before this one stand.
                    false => error.with(
                        "applied",
                        items.iter().map(|item| item.proposal_id.clone()).collect::<Vec<_>>(),
                    ),
                }
            })?;
        if let Some(warning) = &applied.warning {
            context.note(&format!("warning: {}", escape::line(warning)));
        }
        let mut item = item(proposal, applied, effect);
        if args.part.split_rest && !chosen.rest.is_empty() {
            let now = context.now;
            let made = super::review::propose_rest(&store, &actor, now, proposal, &chosen.rest)?;
            item.rest = Some(made.to_string());
        }
        items.push(item);
    }
    let answer = Answer { schema: "aye/apply@1", success: true, dry_run: false, proposals: items };
    context.emit(Format::Text, &answer, || text(&answer, "applied"))?;
    for proposal in &proposals {
        if let Some(hint) = super::plan::suggestion(context, &store, proposal) {
            context.note(&hint);
        }
    }
    Ok(Exit::Done)
}

/// The files as they will be once the proposals before are applied.
struct Ahead {
    worktree: Worktree,
    changed: BTreeMap<RepoPath, Option<File>>,
}

impl Snapshot for Ahead {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        match self.changed.get(path) {
            Some(file) => Ok(file.clone()),
            None => self.worktree.file(path),
        }
    }

    fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.worktree.stored(path, bytes)
    }
}

fn plans(store: &Store, proposals: &[Proposal], part: Option<&apply::Part>) -> Result<Vec<Plan>> {
    let mut ahead = Ahead { worktree: store.worktree()?, changed: BTreeMap::new() };
    let mut plans = Vec::with_capacity(proposals.len());
    for proposal in proposals {
        let plan = match part {
            Some(part) => apply::preview_part(store, part, proposal, &ahead)?,
            None => apply::preview(store, proposal, &ahead)?,
        };
        for file in plan.writes() {
            ahead.worktree.check_writable(&file.path).or_else(|error| {
                // A folder that the same changes empty gives way, and so does a file they remove.
                let goes = |path: &RepoPath| {
                    ahead.changed.get(path) == Some(&None) || removes(&plan, path)
                };
                let gives_way = error.is(&crate::changeset::codes::FOLDER)
                    || error.is(&crate::worktree::codes::NOT_A_FOLDER)
                        && file.path.parents().any(|parent| goes(&parent));
                if gives_way && file.now.is_none() { Ok(()) } else { Err(error) }
            })?;
            ahead.changed.insert(file.path.clone(), file.after.clone());
        }
        plans.push(plan);
    }
    Ok(plans)
}

fn removes(plan: &Plan, path: &RepoPath) -> bool {
    plan.files.iter().any(|file| file.path == *path && file.after.is_none())
}

fn refuse_conflicts(store: &Store, proposals: &[Proposal], plans: &[Plan]) -> Result<()> {
    for (proposal, plan) in proposals.iter().zip(plans) {
        if let Some(refusal) = plan.refusal() {
            return Err(store.name_sparse(apply::conflict(refusal, &proposal.id)));
        }
    }
    Ok(())
}

fn dry_run(
    context: &mut Context,
    proposals: &[Proposal],
    plans: &[Plan],
    effect: Effect,
) -> Result<Exit> {
    let fits = plans.iter().all(|plan| plan.refusal().is_none());
    let items = proposals.iter().enumerate().map(|(index, proposal)| Item {
        proposal_id: proposal.id.to_string(),
        file_path: file_path(proposal.current()),
        status: Status::Pending,
        effect: Some(effect),
        commit: None,
        files: plans
            .get(index)
            .map(|plan| plan.files.iter().map(FileItem::new).collect())
            .unwrap_or_default(),
        rest: None,
    });
    let answer =
        Answer { schema: "aye/apply@1", success: fits, dry_run: true, proposals: items.collect() };
    let heading = if fits { "would be applied" } else { "does not fit as it is" };
    context.emit(Format::Text, &answer, || text(&answer, heading))?;
    Ok(if fits { Exit::Done } else { Exit::Conflict })
}

fn write_markers(context: &mut Context, store: &Store, proposals: &[Proposal]) -> Result<Exit> {
    let [proposal] = proposals else {
        return Err(Error::new(
            &crate::error::codes::USAGE,
            "--conflict-markers takes one proposal at a time",
        )
        .hint("give one id"));
    };
    let plan = apply::write_markers(store, proposal)?;
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
        }],
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
        files: applied.files.iter().map(FileItem::new).collect(),
        rest: None,
    }
}

/// The flags that a person has to repeat.
fn flags(args: &Args) -> String {
    let set = [
        (args.mark_only, " --mark-only"),
        (args.index, " --index"),
        (args.commit, " --commit"),
        (args.conflict_markers, " --conflict-markers"),
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
    let mut out = String::new();
    for item in &answer.proposals {
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
