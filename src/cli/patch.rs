//! The command `aye patch`.

use std::ffi::OsString;

use super::agents::hook_gate;
use super::{Context, Format, output, paths};
use crate::app::patch::{self, Request};
use crate::changeset::patch::{FileAction, Options, limits};
use crate::error::{Exit, Result};
use crate::text::escape;
use crate::tools::apply_patch::{self, Response};

/// Apply a patch now: a unified diff, or an envelope (*** Begin Patch). All of it or nothing.
///
/// Reads what git diff, git format-patch, git show and diff -u print, and what coding agents write;
/// names in it start at the repository's top, in a subdirectory too. Answers in YAML unless asked
/// otherwise. A patch becomes a proposal instead if it touches .agent-memory/, or if `aye.gate` is
/// true in git configuration or `gate` in the repository's policy, as after `aye init`. So does an
/// agent's patch where `aye agents` has hooks. The patch of a person at a terminal does not. A
/// command of `aye try` applies none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye patch fix.diff
  git diff main topic | aye patch -
  aye patch --dry-run --format text fix.diff
  aye patch --propose -m 'Fix the off-by-one' fix.diff
  aye patch -R fix.diff")]
pub struct Args {
    /// The patch; - or nothing reads standard input.
    #[arg(value_name = "FILE")]
    pub file: Option<OsString>,
    /// Write nothing; show the result.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Also stage the changed files.
    #[arg(long, conflicts_with = "propose")]
    pub index: bool,
    /// Propose it instead of applying it.
    #[arg(long)]
    pub propose: bool,
    /// Description of the proposal, if it becomes one.
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub message: Option<String>,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Patch options")]
pub struct ReadArgs {
    /// Apply it in reverse: a unified diff, or the commits.
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Strip N leading directories (default: 1, or 0 without a/ and b/).
    #[arg(long, short = 'p', value_name = "N")]
    pub strip: Option<usize>,
    /// Accept hunks without context, by their line numbers.
    #[arg(long)]
    pub unidiff_zero: bool,
}

impl ReadArgs {
    pub fn options(&self) -> Options {
        Options {
            strip: self.strip,
            reverse: self.reverse,
            unidiff_zero: self.unidiff_zero,
            unidiff_zero_option: Some("--unidiff-zero"),
            strip_option: Some("-p"),
        }
    }
}

/// A failure, too, has the shape of the `apply_patch` tool.
///
/// # Errors
/// Only in text format; otherwise the error is printed.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let asked = context.format;
    let format = context.format_or(Format::Yaml);
    match attempt(context, args) {
        Ok(answer) => context.print(answer?.as_bytes()),
        Err(error) if matches!(format, Format::Yaml | Format::Json) => {
            let answer = output::structured(format, &apply_patch::failure(&error))?;
            context.print(answer.as_bytes())?;
            if asked.is_none() {
                context.report(&error);
            }
            Ok(error.code().exit)
        }
        Err(error) => Err(error),
    }
}

/// The inner error is that of rendering.
fn attempt(context: &mut Context, args: Args) -> Result<Result<String>> {
    let store = if args.propose { context.store_to_edit()? } else { context.store_to_patch()? };
    let file = args.file.unwrap_or_else(|| "-".into());
    let session = context.session(&store);
    let request = Request {
        patch: paths::content(context, &file, limits::PATCH as u64 + 1)?,
        options: args.read.options(),
        dry_run: args.dry_run,
        index: args.index,
        propose: args.propose,
        description: args.message,
        attended: context.is_attended(),
        gate: hook_gate(context, &store, &session.caller),
    };
    patch::run(&session, &request, |done| {
        let response = Response::new(&session, &request, done);
        context.rendered(Format::Yaml, &response, || text(&response))
    })
}

fn text(response: &Response) -> String {
    let mut out = String::new();
    for file in &response.files {
        let sign = match file.action {
            FileAction::Added => 'A',
            FileAction::Modified => 'M',
            FileAction::Deleted => 'D',
            FileAction::Renamed => 'R',
            FileAction::Copied => 'C',
        };
        let from = file.origin.as_ref().map(|origin| format!("{} => ", escape::name(origin)));
        let path = escape::name(&file.path);
        out += &format!(
            "{sign} {}{path} +{} -{}\n",
            from.unwrap_or_default(),
            file.added,
            file.removed
        );
        for hunk in file.hunks.iter().filter(|hunk| hunk.is_remarkable()) {
            out += &format!("  hunk {}: line {}{}\n", hunk.hunk, hunk.line, hunk.remarks());
        }
    }
    for note in &response.notes {
        out += &format!("note: {}\n", escape::line(note));
    }
    out += &response.message;
    out.push('\n');
    out
}
