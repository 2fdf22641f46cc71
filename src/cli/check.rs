//! `aye check`: what wants attention, for CI and hooks.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use bstr::BString;

use super::{Context, idle};
use crate::changeset::RepoPath;
use crate::check::undecided::{self, Options, Subject};
use crate::check::{
    Concern, FailOn, Scope, approved, commits, fit::Fit, lanes, missing, policy, range, relations,
    touched::Pending,
};
use crate::error::{Error, Exit, Result, codes};
use crate::git::COMMITTING;
use crate::proposal::event;
use crate::proposal::{ProposalId, Status};
use crate::report::{Finding, Report};
use crate::repository::parse_duration;
use crate::store::{Filter, Store, View};
use crate::text::escape;

/// How many lane commits a check walks, in all, to verify what it looks at: as many as for one decision.
const MOST_WALKED: usize = 256;

/// How many proposals are looked at in one look at the cache, which its writers wait for.
const HELD: usize = 100;

/// Report what needs attention; exit with 1 if something does.
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
/// --format takes text, json, github (workflow annotations) and sarif (2.1.0).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye check                              nothing may be waiting
  aye check --max-pending 5 --format github
  aye check --staged                     what pre-commit runs
  aye check --range origin/main..HEAD    what CI runs on a pull request
  aye check --range origin/main..HEAD --require-proposal
  aye check --fail-on contested,conflict")]
pub struct Args {
    /// Only proposals that change these files or directories.
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
    let looked = look(context, args);
    context.emit_looked(report(), looked)
}

fn look(context: &mut Context, args: &Args) -> Result<Report> {
    let plain = !args.staged && args.range.is_none();
    let fail_on = fail_on("--fail-on", &args.fail_on)?;
    let idle = if plain { idle::is_settled } else { idle::is_idle };
    if args.range.is_none() && idle(context) {
        // Nothing is pending or contested, so nothing can be touched either.
        return Ok(report());
    }
    // What is staged or committed is that of the tree of a session, too; what waits is its repository's.
    let here = |plain: bool| if plain { context.store() } else { context.store_here() };
    let store = here(plain)?;
    let view = store.view()?;
    let mut report = report();
    if !args.staged {
        policy::findings(&store, &fail_on).into_iter().for_each(|found| report.push(found));
    }
    let kind = args.kind.map(|kind| match kind {
        KindArg::Code => event::Subject::Code,
        KindArg::Memory => event::Subject::Memory,
    });
    let paths = match args.paths.is_empty() {
        true => Vec::new(),
        false => paths(context, &here(false)?, &args.paths)?,
    };
    let scope = Scope { kind, paths };
    if plain {
        let soon = parse_duration(&args.expiring_within).ok_or_else(|| duration(args))?;
        let (subjects, tampered) = subjects(context, &store, &view, &scope, &fail_on)?;
        let purged = lanes::purged_sessions(&store, &fail_on)?.into_iter();
        for finding in purged.chain(lanes::shown_of_purged(&store, &view, &fail_on)?) {
            report.push(finding);
        }
        let is_idle = scope.is_everything() && subjects.is_empty() && report.findings().is_empty();
        for finding in lanes::findings(view.troubles(), &fail_on) {
            report.push(finding);
        }
        for finding in tampered {
            report.push(finding);
        }
        let mut sight = idle::sight(context, &store).filter(|_| is_idle);
        let (now, seen) = (context.now, sight.as_mut());
        let missing = missing::findings(&store, &view, now, &scope, &fail_on, seen)?;
        if is_idle {
            let sight = sight.as_ref().filter(|_| missing.is_empty());
            idle::stamp(context, &store, &view, sight);
        }
        for finding in missing {
            report.push(finding);
        }
        let options = Options { max_pending: args.max_pending, soon, fail_on };
        for finding in undecided::findings(&subjects, context.now, &options) {
            report.push(finding);
        }
        report.sort();
        return Ok(report);
    }
    let except = committing(context);
    let pending = Pending::new(&view, context.now, &scope, &except);
    let mut found = Vec::new();
    if args.staged && pending.may_touch()? {
        found.extend(touched_by_staged(&store, &view, &pending, &fail_on)?);
    }
    if let Some(range) = &args.range {
        let words = range_words(range)?;
        let now = context.now;
        found.extend(lanes::findings(view.troubles(), &fail_on));
        let required = args.require_proposal;
        let ids = commits::list(&store, &[words])?;
        if ids.is_empty() {
            context.note(&format!("aye: there are no commits in {}", escape::line(words)));
        }
        found.extend(range::cut(&store, &ids, &fail_on));
        found.extend(range::findings(
            &store, &view, &pending, &scope, &ids, now, &fail_on, required,
        )?);
    }
    for finding in found {
        report.push(finding);
    }
    Ok(report)
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
    let store = context.store_here()?;
    let view = store.view()?;
    let (scope, except) = (Scope::default(), committing(context));
    let pending = Pending::new(&view, context.now, &scope, &except);
    if !pending.may_touch()? {
        // Contested ones count, too, before it may be said that nothing waits.
        if view.contested(context.now)?.is_empty() {
            idle::stamp(context, &store, &view, None);
        }
        return Ok(report);
    }
    for finding in touched_by_staged(&store, &view, &pending, &hook_fail_on(context, &store))? {
        report.push(finding);
    }
    Ok(report)
}

/// Findings for the pending proposals whose files are staged otherwise than was approved.
fn touched_by_staged(
    store: &Store,
    view: &View,
    pending: &Pending<'_>,
    fail_on: &FailOn,
) -> Result<Vec<Finding>> {
    let staged = commits::staged(store)?;
    let touched = staged.keys().map(|path| path.as_slice());
    let mut found = Vec::new();
    for finding in pending.findings(touched, "the staged changes", fail_on)? {
        let id = finding.proposal_id.as_deref().map(ProposalId::parse).transpose()?;
        let proposal = id.map(|id| view.proposal(&id)).transpose()?;
        let approved = proposal.filter(|found| found.approvals_in_force().next().is_some());
        let is_held = match &approved {
            None => false,
            Some(proposal) => {
                let head = commits::head_tree(store);
                approved::is_held(store, view, proposal, |path: &RepoPath| {
                    match staged.get(path.as_bstr()) {
                        Some(entry) => entry.clone(),
                        None => commits::entry_at(store, head, path),
                    }
                })?
            }
        };
        if !is_held {
            found.push(finding);
        }
    }
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

/// What stops git in its hooks: `aye.hookFailOn`, words as of `--fail-on`; all that a level of the configuration
/// names. A level with another word names everything, which is said.
pub(super) fn hook_fail_on(context: &Context, store: &Store) -> FailOn {
    let mut found: Option<FailOn> = None;
    for text in store.config_at_levels("aye.hookFailOn") {
        let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let at_level = fail_on("aye.hookFailOn", &words).unwrap_or_else(|error| {
            context
                .note(&format!("warning: {}; every finding counts", escape::line(error.message())));
            FailOn::default()
        });
        found = Some(match found {
            Some(known) => known.or(at_level),
            None => at_level,
        });
    }
    found.unwrap_or_else(FailOn::of_hooks)
}

fn fail_on(from: &str, words: &[String]) -> Result<FailOn> {
    use clap::ValueEnum as _;
    if words.is_empty() || words.iter().any(|word| word == "any") {
        return Ok(FailOn::default());
    }
    let mut concerns = Vec::new();
    for word in words.iter().filter(|word| *word != "none") {
        let name = word.replace('_', "-");
        concerns.push(Concern::from_str(&name, true).map_err(|_| {
            let all: Vec<&str> = Concern::ALL.iter().map(|concern| concern.id()).collect();
            Error::new(&codes::USAGE, format!("{from}: '{word}' is nothing check looks for"))
                .hint(format!("use any, none, or some of {}", all.join(", ")))
        })?);
    }
    Ok(FailOn::only(concerns))
}

fn duration(args: &Args) -> Error {
    let given = &args.expiring_within;
    Error::new(&codes::USAGE, format!("--expiring-within: '{given}' is not a duration"))
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

/// Everything undecided, and what was decided twice; and findings for those of which the cache says
/// something else than their lanes. What an earlier check has held against the lanes is told by the
/// rows of the cache as long as that is the same file: see [`Store::is_checked`].
fn subjects(
    context: &Context,
    store: &Store,
    view: &View,
    scope: &Scope,
    fail_on: &FailOn,
) -> Result<(Vec<Subject>, Vec<Finding>)> {
    let kind = scope.kind;
    let pending = Filter { subject: kind, status: Some(Status::Pending), ..Filter::default() };
    if scope.paths.is_empty() {
        store.fetch_pending(view)?;
    }
    view.index_for_check();
    // The cache stays as it is until all that is told by its rows is read.
    let look = view.hold();
    let mut summaries = view.proposals(&pending, context.now)?;
    let facts = store.cache_facts(view, context.now);
    let is_checked = facts.as_ref().is_some_and(|facts| store.is_checked(facts, context.now));
    let contested = view.contested(context.now)?;
    summaries.extend(contested.into_iter().filter(|s| kind.is_none_or(|kind| s.subject == kind)));
    let tree = store.work_dir().is_some().then(|| store.worktree()).transpose()?;
    let fit = Fit::new(store, tree.as_ref());
    let changed = match is_checked && scope.paths.is_empty() {
        true => Some(fit.changed(view)?),
        false => None,
    };
    drop(look);
    let verifier = store.verifier(view, MOST_WALKED).by_id();
    let (mut subjects, mut tampered) = (Vec::new(), Vec::new());
    let mut known = BTreeSet::new();
    let (mut held, mut related) = (None, None);
    for (number, summary) in summaries.into_iter().enumerate() {
        if number % HELD == 0 {
            // The one before goes first, and lets writers in.
            drop(held.take());
            held = Some(view.hold());
        }
        if !known.insert(summary.id.clone()) {
            continue;
        }
        let is_told = |changed: &HashSet<String>| {
            let is_settled = summary.status != Status::Pending;
            Subject::is_told(&summary)
                && (is_settled || fit.is_told(&summary) && !changed.contains(summary.id.as_str()))
        };
        if changed.as_ref().is_some_and(is_told) {
            subjects.push(Subject::of(&summary));
            continue;
        }
        // What it is folded into is what the cache says, or a finding.
        let verified = match is_checked {
            true => view.proposal(&summary.id),
            false => verifier.proposal(&summary.id),
        };
        let (proposal, wrong) = match verified {
            Ok(proposal) => (proposal, None),
            Err(error) if is_checked => return Err(error),
            Err(error) => (view.proposal(&summary.id)?, Some(error)),
        };
        if !scope.takes(&proposal) {
            continue;
        }
        if let Some(error) = wrong {
            let finding = fail_on.finding(Concern::CacheTampered, error.message());
            tampered.push(finding.hint("aye doctor --repair").proposal(summary.id.as_str()));
        }
        let conflict = match proposal.status(context.now) {
            Status::Pending => fit.conflict(view, &proposal)?,
            _ => None,
        };
        let standing = match &conflict {
            None => None,
            Some(_) => {
                if related.is_none() {
                    related = Some(relations::relations(store, view, context.now)?);
                }
                let found = related.as_ref().and_then(|related| related.get(&proposal.id));
                found.and_then(|found| relations::stands_on(&found.stands_on))
            }
        };
        subjects.push(Subject { conflict, standing, ..Subject::new(&summary, &proposal) });
    }
    drop(held);
    // Everything was held against the lanes, and nothing was wrong.
    if let Some(facts) =
        facts.filter(|_| !is_checked && scope.is_everything() && tampered.is_empty())
    {
        store.note_checked(&facts, context.now);
    }
    Ok((subjects, tampered))
}
