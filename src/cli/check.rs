//! `aye check`: what wants attention, for CI and hooks.

use std::path::{Path, PathBuf};

use bstr::BString;

use super::{Context, idle};
use crate::changeset::RepoPath;
use crate::changeset::merge::Sides;
use crate::changeset::plan;
use crate::check::touched::Pending;
use crate::check::undecided::{self, Options, Subject};
use crate::check::{Concern, FailOn, Scope, approved, commits, lanes, missing, policy, range};
use crate::error::{Error, Exit, Result, codes};
use crate::git::COMMITTING;
use crate::proposal::event::Subject as Kind;
use crate::proposal::{Proposal, Status};
use crate::render::report::{Finding, Report};
use crate::store::{Filter, Store, View, parse_duration};
use crate::worktree::Worktree;

/// How many lane commits a check walks, in all, to verify what it looks at.
const MOST_WALKED: usize = 10_000;

/// Say what wants attention; exit with 1 if something does.
///
/// Without options: every proposal that is pending, has changes requested, no longer fits the
/// files, was decided differently in two clones, or is about to expire. With --staged or --range:
/// what is being committed, or was. One line per finding, and what to do about it.
///
/// With --range, a commit that names a proposal has to hold exactly what a person approved
/// by `aye apply` or `aye approve` (content_differs, marked_without_approval, not_applied,
/// contested), nothing besides (extra_file), and that person among its reviewers
/// (reviewer_mismatch).
///
/// --format also takes github (workflow annotations), sarif (2.1.0) and junit.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye check                              nothing may be waiting
  aye check --max-pending 5 --format github
  aye check --staged                     what pre-commit runs
  aye check --range origin/main..HEAD    what CI runs on a pull request
  aye check --range origin/main..HEAD --require-proposal
  aye check --fail-on contested,conflict")]
pub struct Args {
    /// Only proposals that change these files or folders.
    #[arg(long, value_name = "PATH", num_args = 1.., value_delimiter = ',')]
    paths: Vec<PathBuf>,
    /// Let up to N proposals wait.
    #[arg(long, value_name = "N", conflicts_with_all = ["staged", "range"])]
    max_pending: Option<usize>,
    /// Pending proposals that touch what is staged.
    #[arg(long)]
    staged: bool,
    /// Commits A..B that touch files with pending proposals, or whose Proposal-Id names a
    /// proposal that no person applied or that was approved with other content.
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// Every commit of the range has to name a proposal.
    #[arg(long, requires = "range")]
    require_proposal: bool,
    /// Only code or memory proposals.
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<KindArg>,
    /// What makes the check fail; the rest is reported as notes. Also: any (default), none.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    fail_on: Vec<String>,
    /// How long before its end a proposal counts as about to expire.
    #[arg(long, value_name = "TIME", default_value = "1d")]
    expiring_within: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum KindArg {
    Code,
    Memory,
}

/// Runs the command.
///
/// # Errors
/// `not_a_repository` and its kin, `invalid_range`, `usage`.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let plain = !args.staged && args.range.is_none();
    let fail_on = fail_on(&args.fail_on)?;
    // What is applied may be gone all the same, so that a plain check looks.
    if args.range.is_none() && !plain && idle::is_idle(context) {
        // Nothing is pending or contested, so nothing can be touched either.
        return context.emit_report(&report());
    }
    let store = context.store()?;
    let tips = idle::tips(&store);
    let view = store.view()?;
    let mut report = report();
    if !args.staged {
        policy::findings(&store, &fail_on).into_iter().for_each(|found| report.push(found));
    }
    let kind = args.kind.map(|kind| match kind {
        KindArg::Code => Kind::Code,
        KindArg::Memory => Kind::Memory,
    });
    let scope = Scope { kind, paths: paths(context, &store, &args.paths)? };
    if plain {
        let soon = parse_duration(&args.expiring_within).ok_or_else(|| duration(args))?;
        let subjects = subjects(context, &store, &view, &scope)?;
        let is_idle = scope.is_everything() && subjects.is_empty() && report.findings().is_empty();
        if let Some(tips) = tips.filter(|_| is_idle) {
            idle::stamp(context, &store, &view, &tips);
        }
        for finding in lanes::findings(view.troubles(), &fail_on) {
            report.push(finding);
        }
        for finding in tampered(&store, &view, &subjects, &fail_on) {
            report.push(finding);
        }
        for finding in missing::findings(&store, &view, context.now, &scope, &fail_on)? {
            report.push(finding);
        }
        let options = Options { max_pending: args.max_pending, soon, fail_on };
        for finding in undecided::findings(&subjects, context.now, &options) {
            report.push(finding);
        }
        report.sort();
        return context.emit_report(&report);
    }
    let pending = Pending::read(&view, context.now, &scope, &committing(context))?;
    let mut found = Vec::new();
    if args.staged && !pending.is_empty() {
        found.extend(touched_by_staged(&store, &view, &pending, &fail_on)?);
    }
    if let Some(range) = &args.range {
        let words = range_words(range)?;
        let now = context.now;
        found.extend(lanes::findings(view.troubles(), &fail_on));
        let required = args.require_proposal;
        let commits = [words];
        found.extend(range::findings(
            &store, &view, &pending, &scope, &commits, now, &fail_on, required,
        )?);
    }
    for finding in found {
        report.push(finding);
    }
    context.emit_report(&report)
}

/// What pre-commit asks, with nothing but the hook's own surroundings.
///
/// # Errors
/// As [`run`].
pub(super) fn staged(context: &mut Context) -> Result<Report> {
    let mut report = report();
    if idle::is_idle(context) {
        return Ok(report);
    }
    let store = context.store()?;
    let tips = idle::tips(&store);
    let view = store.view()?;
    let pending = Pending::read(&view, context.now, &Scope::default(), &committing(context))?;
    if pending.is_empty() {
        // Only a look at everything may say that nothing waits: contested ones count too.
        if let Some(tips) = tips
            && subjects(context, &store, &view, &Scope::default())?.is_empty()
        {
            idle::stamp(context, &store, &view, &tips);
        }
        return Ok(report);
    }
    for finding in touched_by_staged(&store, &view, &pending, &FailOn::default())? {
        report.push(finding);
    }
    Ok(report)
}

/// Findings for the pending proposals whose files are staged otherwise than was approved.
fn touched_by_staged(
    store: &Store,
    view: &View,
    pending: &Pending,
    fail_on: &FailOn,
) -> Result<Vec<Finding>> {
    let staged = commits::staged(store)?;
    let head = commits::head_tree(store);
    let lookup = |path: &RepoPath| match staged.get(path.as_bstr()) {
        Some(entry) => entry.clone(),
        None => commits::entry_at(store, head, path),
    };
    let mut held = Vec::new();
    for proposal in pending.approved() {
        if approved::is_held(store, view, proposal, lookup)? {
            held.push(proposal.id.to_string());
        }
    }
    let touched = staged.keys().map(|path| path.as_slice());
    let mut found = pending.findings(touched, "the staged changes", fail_on);
    found.retain(|finding| finding.proposal_id.as_ref().is_none_or(|id| !held.contains(id)));
    Ok(found)
}

/// An empty report with the rules of this command.
pub(super) fn report() -> Report {
    Report::new("check")
        .rules(Concern::ALL.into_iter().map(Concern::rule))
        .when_clean("nothing wants attention")
}

/// The ids that a surrounding `aye apply --commit` is about to record as applied.
pub(super) fn committing(context: &Context) -> Vec<String> {
    let ids = context.var(COMMITTING).unwrap_or_default();
    ids.to_string_lossy().split(',').map(str::to_owned).collect()
}

fn fail_on(words: &[String]) -> Result<FailOn> {
    use clap::ValueEnum as _;
    if words.is_empty() || words.iter().any(|word| word == "any") {
        return Ok(FailOn::default());
    }
    let mut concerns = Vec::new();
    for word in words.iter().filter(|word| *word != "none") {
        let name = word.replace('_', "-");
        concerns.push(Concern::from_str(&name, true).map_err(|_| {
            let all: Vec<&str> = Concern::ALL.iter().map(|concern| concern.id()).collect();
            Error::new(&codes::USAGE, format!("--fail-on: '{word}' is nothing check looks for"))
                .hint(format!("use any, none, or some of {}", all.join(", ")))
        })?);
    }
    Ok(FailOn::only(concerns))
}

fn duration(args: &Args) -> Error {
    let given = &args.expiring_within;
    Error::new(&codes::USAGE, format!("--expiring-within: '{given}' is no time span"))
        .hint("write a number and a unit: 12h, 1d, 2w")
}

fn range_words(range: &str) -> Result<&str> {
    if range.is_empty() || range.starts_with('-') {
        return Err(Error::new(&codes::USAGE, format!("--range: '{range}' names no commits"))
            .hint("write A..B, for example origin/main..HEAD"));
    }
    Ok(range)
}

/// The paths asked about, relative to the top, without a final slash; an empty one is the top.
fn paths(context: &Context, store: &Store, given: &[PathBuf]) -> Result<Vec<BString>> {
    given
        .iter()
        .map(|path| {
            if path == Path::new(".") && store.prefix(&context.path_base(store)) == Some(Vec::new())
            {
                return Ok(BString::default());
            }
            let path = super::paths::typed(context, store, path.as_os_str())?;
            Ok(path.as_bstr().to_owned())
        })
        .collect()
}

/// Proposals of which the cache says something else than their lanes.
fn tampered(store: &Store, view: &View, subjects: &[Subject], fail_on: &FailOn) -> Vec<Finding> {
    let verifier = store.verifier(view, MOST_WALKED);
    let mut found = Vec::new();
    for subject in subjects {
        if let Err(error) = verifier.proposal(&subject.proposal.id) {
            let finding = fail_on.finding(Concern::CacheTampered, error.message());
            found.push(finding.hint("aye doctor --repair").proposal(subject.proposal.id.as_str()));
        }
    }
    found
}

/// Everything undecided, and what was decided twice.
fn subjects(context: &Context, store: &Store, view: &View, scope: &Scope) -> Result<Vec<Subject>> {
    let kind = scope.kind;
    let pending = Filter { subject: kind, status: Some(Status::Pending), ..Filter::default() };
    let mut summaries = view.proposals(&pending, context.now)?;
    let contested = view.contested(context.now)?;
    summaries.extend(contested.into_iter().filter(|s| kind.is_none_or(|kind| s.subject == kind)));
    let tree = store.work_dir().is_some().then(|| store.worktree()).transpose()?;
    let mut subjects: Vec<Subject> = Vec::new();
    for summary in summaries {
        if subjects.iter().any(|known| known.proposal.id == summary.id) {
            continue;
        }
        let proposal = view.proposal(&summary.id)?;
        if !scope.takes(&proposal) {
            continue;
        }
        let short = proposal.id.as_str().chars().take("prop_".len() + summary.prefix.max(4));
        let conflict = match proposal.status(context.now) {
            Status::Pending => conflict(store, tree.as_ref(), &proposal)?,
            _ => None,
        };
        subjects.push(Subject { short: short.collect(), conflict, proposal });
    }
    Ok(subjects)
}

/// Why the proposal does not fit the present files; `None` where it does, or where there are none.
fn conflict(store: &Store, tree: Option<&Worktree>, proposal: &Proposal) -> Result<Option<String>> {
    let Some(tree) = tree else { return Ok(None) };
    let changeset = match store.changeset(&proposal.current().changes) {
        Ok(changeset) => changeset,
        // One damaged object must not hide what else wants attention.
        Err(error) => return Ok(Some(error.message().to_owned())),
    };
    // A symlink or folder in the way is as good a reason as lines that differ.
    let unfit = match plan::plan(
        changeset.changes(),
        tree,
        Sides { ours: "present", theirs: "proposed" },
    ) {
        Ok(plan) => plan.refusal(),
        Err(error) => Some(error),
    };
    Ok(unfit.map(|error| error.message().to_owned()))
}
