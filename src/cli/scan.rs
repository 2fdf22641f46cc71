//! The command `aye scan`.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::Context;
use crate::error::{Exit, Result};
use crate::report::Report;
use crate::scan::{self, ScanOptions, ScannedText, TextFindings, TextScanner};
use crate::secrets::allow;
use crate::store::Store;

/// Look for secrets and text that misleads.
///
/// Finds credentials of well over a hundred services, private keys, passwords in connection
/// strings and secrets assigned in plain text; bidirectional controls, invisible characters and
/// phrases aimed at agents.
/// A finding says what and where, and never repeats the secret.
///
/// Without a path the current directory is scanned, as far as git does not ignore it. With --staged
/// and --range only added and changed lines fail; a secret that was there before is a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aye scan                          everything below this directory
  aye scan --staged                 what the next commit would add (for a pre-commit hook)
  aye scan --range origin/main..    what each commit of this branch added (for CI)
  git diff | aye scan -             standard input
  aye scan --format sarif           for a code-scanning service; also github, json

A known false alarm is allowed by its fingerprint: a line “FINGERPRINT REASON” in
.agent-memory/scan-allow. For --staged the list is read from HEAD, for --range from its start, so
that a change cannot allow itself. In Markdown, text between
<!-- @secret-scan: allow reason=\"…\" --> and <!-- @secret-scan: end --> passes (at most 512 bytes).

Exit status: 0 nothing that blocks, 1 something does.")]
pub struct Args {
    /// Files and directories; `-` is standard input.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Scan the staged changes.
    #[arg(long, conflicts_with_all = ["paths", "range"])]
    staged: bool,
    /// Scan each commit of a range against its parents: A..B, A...B, or a revision for its history.
    #[arg(long, value_name = "A..B", conflicts_with = "paths")]
    range: Option<String>,
    /// Do not look for unsafe text.
    #[arg(long)]
    no_text: bool,
}

/// # Errors
/// `usage`, `not_a_repository`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let looked = look(context, &args);
    context.emit_report_or_error(scan::report(Vec::new()), looked)
}

fn look(context: &Context, args: &Args) -> Result<Report> {
    let mut allow = BTreeSet::new();
    let found = if args.staged {
        let store = Store::discover(&context.directory)?;
        let repo = store.repository().repo();
        let head = repo.head_id().ok().map(gix::Id::detach);
        allow.extend(listed(repo, head)?);
        scanned(args, allow, |each| scan::staged(repo, each))?
    } else if let Some(range) = &args.range {
        let store = Store::discover(&context.directory)?;
        let repo = store.repository().repo();
        allow.extend(listed(repo, Some(scan::range_base(repo, range)?))?);
        scanned(args, allow, |each| scan::range(repo, range, each))?
    } else {
        let store = Store::discover(&context.directory).ok();
        let repo = store
            .as_ref()
            .map(|store| store.repository().repo())
            .filter(|repo| repo.workdir().is_some());
        if let Some(file) =
            repo.and_then(|r| std::fs::read(r.workdir()?.join(scan::ALLOW_LIST)).ok())
        {
            allow.extend(allow::list(&file)?);
        }
        scanned(args, allow, |each| files(context, &args.paths, repo, each))?
    };
    Ok(scan::report(found))
}

type Each<'a> = dyn FnMut(ScannedText) -> Result<()> + 'a;

fn scanned(
    args: &Args,
    allow: BTreeSet<String>,
    source: impl FnOnce(&mut Each<'_>) -> Result<()>,
) -> Result<Vec<(ScannedText, TextFindings)>> {
    let wanted = ScanOptions { text: !args.no_text, allow };
    let finder = TextScanner::new(&wanted);
    let mut all = Vec::new();
    source(&mut |mut text| {
        let found = finder.find(&text);
        if !found.is_empty() {
            // Only the location is needed now.
            text.drop_content();
            all.push((text, found));
        }
        Ok(())
    })?;
    Ok(all)
}

fn files(
    context: &Context,
    paths: &[PathBuf],
    repo: Option<&gix::Repository>,
    each: &mut Each<'_>,
) -> Result<()> {
    let (input, named): (Vec<_>, Vec<_>) =
        paths.iter().cloned().partition(|p| p.as_os_str() == "-");
    if !input.is_empty() {
        each(scan::stdin(io::stdin().lock())?)?;
    }
    let named = if paths.is_empty() { vec![PathBuf::from(".")] } else { named };
    scan::paths(repo, &context.directory, &named, each)
}

fn listed(repo: &gix::Repository, commit: Option<gix::ObjectId>) -> Result<BTreeSet<String>> {
    let file = commit.and_then(|commit| scan::file_at(repo, commit, scan::ALLOW_LIST));
    file.map_or(Ok(BTreeSet::new()), |bytes| allow::list(&bytes))
}
