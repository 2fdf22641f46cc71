//! The command `aye check`.

use std::path::{Path, PathBuf};

use bstr::BString;
use chrono::Duration;

use super::filters::SubjectKind;
use super::propose::duration;
use super::{Context, idle_stamp};
use crate::app::check as app;
use crate::check::pending_findings::{self, Options};
use crate::check::range::{self, Range};
use crate::check::{
    Concern, FailOn, Requirement, Requirements, Scope, commits, pending_paths::PendingPaths, policy,
};
use crate::error::{Error, Exit, Result, codes};
use crate::git::COMMITTING;
use crate::proposal::event::Subject;
use crate::report::Report;
use crate::repository::Repository;
use crate::text::escape;

/// Report findings; exit with 1 if one is an error.
///
/// Without options: proposals that are pending, sent back, in conflict, contested or about to
/// expire. --staged and --range look at commits. Each finding has one line and a remedy. Warnings,
/// such as a pending proposal, fail with --fail-on any. Exits with 2 in a clone without events if a
/// commit of the range names a proposal, or, without options, if aye.clone is unset.
///
/// With --range, a commit that names a proposal must have the approved content (content_differs,
/// marked_without_approval, not_applied, contested), no other file (extra_file), and the right
/// reviewer (reviewer_mismatch).
///
/// --format takes text, json, github (workflow annotations) and sarif (2.1.0).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye check --fail-on any                fail on pending proposals, too
  aye check --max-pending 5 --format github
  aye check --staged                     what pre-commit runs
  aye check --range origin/main..HEAD    what CI runs on a pull request
  aye check --range origin/main..HEAD --require-proposal=agents
  aye check --fail-on contested,conflict")]
pub struct Args {
    /// Only proposals that change these files or directories.
    #[arg(long, value_name = "PATH", num_args = 1.., value_delimiter = ',')]
    paths: Vec<PathBuf>,
    /// Let up to N proposals wait.
    #[arg(long, value_name = "N", conflicts_with_all = ["staged", "range"])]
    max_pending: Option<usize>,
    /// Pending proposals that touch staged files.
    #[arg(long)]
    staged: bool,
    /// Commits A..B that touch files with pending proposals, or whose Proposal-Id names a
    /// proposal that no person applied or that was approved with other content.
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// Commits of the range need a proposal: all, or those of agents.
    ///
    /// Agents are known by their commits (author, committer, Co-authored-by and the like), or by a
    /// proposal whose lines a commit has and that nobody approved. Lines of an agent that leaves no
    /// such sign cannot be told from a person's. With agents, a person's own lines need nothing,
    /// also beside approved ones. The policy (require_proposal) asks the same for some files.
    #[arg(
        long,
        requires = "range",
        value_enum,
        value_name = "WHOSE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all"
    )]
    require_proposal: Option<Whose>,
    /// Only code or memory proposals.
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<SubjectKind>,
    /// Findings that make the check fail, by name; the rest are notes then. Also: error (default),
    /// any (warnings, too), none.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    fail_on: Vec<String>,
    /// How long before its end a proposal counts as about to expire.
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = duration)]
    expiring_within: Duration,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Whose {
    Agents,
    All,
}

/// # Errors
/// `invalid_range`, `usage`.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let looked = look(context, args);
    context.emit_report_or_error(report(), looked)
}

fn look(context: &mut Context, args: &Args) -> Result<Report> {
    let plain = !args.staged && args.range.is_none();
    let fail_on = FailOn::parse("--fail-on", &args.fail_on)?;
    let idle = if plain { idle_stamp::is_settled } else { idle_stamp::is_idle };
    let mut report = report();
    if args.range.is_none() && idle(context) {
        // Nothing is pending or contested, so no finding is possible.
        return Ok(report);
    }
    // Staged files may be a session tree's; proposals are its repository's.
    let here = |plain: bool| if plain { context.store() } else { context.store_here() };
    let store = here(plain)?;
    let view = store.view()?;
    if !args.staged {
        report.extend(policy::findings(store.repository(), &fail_on));
    }
    let paths = if args.paths.is_empty() {
        Vec::new()
    } else {
        paths(context, here(false)?.repository(), &args.paths)?
    };
    let scope = Scope { kind: args.kind.map(Subject::from), paths };
    if plain {
        app::require_events(&store, &view, None)?;
        let subjects = app::waiting(&store, &view, context.now, &scope)?;
        report.extend(fail_on.troubles(&view.troubles()?));
        let is_idle = subjects.is_empty() && report.findings().is_empty();
        if is_idle && scope.is_everything() {
            idle_stamp::stamp(context, &store, &view);
        }
        let (max_pending, soon) = (args.max_pending, args.expiring_within);
        let options = Options { max_pending, soon, fail_on };
        report.extend(pending_findings::findings(&subjects, context.now, &options));
        report.sort();
        return Ok(report);
    }
    let except = committing(context);
    let pending = PendingPaths::new(&view, context.now, &scope, &except);
    if args.staged && pending.may_touch()? {
        report.extend(app::staged(&store, &view, &pending, &fail_on)?);
    }
    if let Some(range) = &args.range {
        let words = range_words(range)?;
        let ids = commits::list(store.repository(), &[words])?;
        if ids.is_empty() {
            context.note(&format!("aye: there are no commits in {}", escape::line(words)));
        }
        app::require_events(&store, &view, Some(&ids))?;
        let everywhere = match args.require_proposal {
            None => Requirement::Nobody,
            Some(Whose::Agents) => Requirement::Agents,
            Some(Whose::All) => Requirement::All,
        };
        // An invalid policy is a finding of its own.
        let policy = store.repository().policy().unwrap_or_default();
        let required = &Requirements::new(everywhere, &policy);
        let now = context.now;
        report.extend(range::shallow_boundary_finding(store.repository(), &ids, &fail_on));
        let (store, view, pending, scope, fail_on) = (&store, &view, &pending, &scope, &fail_on);
        let range = Range { store, view, pending, scope, now, fail_on, required };
        report.extend(range.findings(&ids)?);
        report.extend(fail_on.troubles(&view.troubles()?));
    }
    Ok(report)
}

/// The check of pre-commit.
pub(super) fn staged(context: &mut Context) -> Result<Report> {
    let mut report = report();
    if idle_stamp::is_idle(context) {
        return Ok(report);
    }
    let store = context.store_here()?;
    let view = store.view()?;
    let (scope, except) = (Scope::default(), committing(context));
    let pending = PendingPaths::new(&view, context.now, &scope, &except);
    if pending.may_touch()? {
        let fail_on = read_hook_fail_on(context, store.repository());
        report.extend(app::staged(&store, &view, &pending, &fail_on)?);
    } else if view.contested(context.now)?.is_empty() {
        // The stamp also means that nothing is contested.
        idle_stamp::stamp(context, &store, &view);
    }
    Ok(report)
}

pub(super) fn report() -> Report {
    Report::new("check")
        .rules(Concern::ALL.iter().map(|concern| concern.rule()))
        .when_clean("no findings")
}

/// Ids that a surrounding `aye apply --commit` is about to record.
pub(super) fn committing(context: &Context) -> Vec<String> {
    let ids = context.var(COMMITTING).unwrap_or_default();
    ids.to_string_lossy().split(',').map(str::to_owned).collect()
}

/// Adds up `aye.hookFailOn` of all levels of git's configuration. A level with an unknown word
/// counts every finding.
pub(super) fn read_hook_fail_on(context: &Context, repository: &Repository) -> FailOn {
    let mut found: Option<FailOn> = None;
    for text in repository.config_at_levels("aye.hookFailOn") {
        let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let at_level = FailOn::parse("aye.hookFailOn", &words).unwrap_or_else(|error| {
            context
                .note(&format!("warning: {}; every finding counts", escape::line(error.message())));
            FailOn::any()
        });
        found = Some(match found {
            Some(known) => known.or(at_level),
            None => at_level,
        });
    }
    found.unwrap_or_else(FailOn::of_hooks)
}

fn range_words(range: &str) -> Result<&str> {
    if range.is_empty() || range.starts_with('-') {
        return Err(Error::new(&codes::USAGE, format!("--range: '{range}' names no commits"))
            .hint("write A..B, for example origin/main..HEAD"));
    }
    Ok(range)
}

/// Paths are relative to the top; an empty path is the top.
fn paths(context: &Context, repository: &Repository, given: &[PathBuf]) -> Result<Vec<BString>> {
    given
        .iter()
        .map(|path| {
            if path == Path::new(".")
                && repository.prefix(&context.path_base(repository)) == Some(Vec::new())
            {
                return Ok(BString::default());
            }
            let path = super::paths::typed(context, repository, path.as_os_str())?;
            Ok(path.as_bstr().to_owned())
        })
        .collect()
}
