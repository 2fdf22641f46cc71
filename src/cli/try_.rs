//! The command `aye try`.

mod import;
mod result_file;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use self::result_file::ResultFile;
use super::child::StopSignals;
use super::identity::AYE_TRY;
use super::selection::ProposalArg;
use super::{Context, Format};
use crate::app::trial::{self, Run};
use crate::error::{Error, Exit, Result, codes};
use crate::git;
use crate::repository::trial::Trial;
use crate::store::codes as store_codes;
use crate::text::escape;

/// Run a command (the tests) on a proposal, in a temporary work tree.
///
/// aye applies the proposal to HEAD in a linked work tree inside the git directory, runs the
/// command there, and removes the tree. It exits with the command's status and records it on the
/// proposal.
///
/// In CI without aye.clone nothing is recorded: --result FILE writes the result, and `aye try
/// --import FILE` records it in another clone. Nothing in the file proves its origin; the importer
/// vouches for it.
///
/// Without CMD it runs aye.tryCommand of your own git configuration, through sh. The repository's
/// configuration cannot name a command. For one project, include a file of yours
/// (includeIf.gitdir).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye try m4k8 -- cargo test
  aye try m4k8 --result try.json -- cargo test

  git config --global aye.tryCommand 'npm test' && aye try m4k8")]
pub struct Args {
    #[command(flatten)]
    which: ProposalArg,
    /// On the files it was made on, instead of on HEAD.
    #[arg(long)]
    as_proposed: bool,
    /// Do not record the result.
    #[arg(long)]
    no_record: bool,
    /// Write the result to FILE as well, for --import elsewhere; whatever was there is replaced.
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
    /// Run nothing; record results that --result wrote elsewhere (- for standard input).
    #[arg(long, value_name = "FILE", num_args = 1..,
        conflicts_with_all = ["id", "latest", "as_proposed", "no_record", "result", "command"])]
    import: Vec<OsString>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Args {
    pub(super) fn is_import(&self) -> bool {
        !self.import.is_empty()
    }
}

const SCHEMA: &str = "aye/try@1";

/// The document of `aye try`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// `aye/try@1`.
    pub schema: &'static str,
    /// The proposal.
    pub proposal_id: String,
    /// Object id of the event of the revision it ran on.
    pub revision: String,
    /// The command's words.
    pub command: Vec<String>,
    /// Its exit status; null if a signal ended it.
    pub exit_code: Option<i32>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// True if the result was recorded on the proposal.
    pub recorded: bool,
    /// The file that the result was written to; null without `--result`.
    pub result: Option<String>,
}

struct TrialEnd {
    run: Run,
    /// Exit status of aye.
    status: i32,
    interrupted: bool,
}

/// # Errors
/// `proposal_not_found`, `usage` without a command, `conflict` if the proposal does not fit HEAD. A
/// failure to record is a warning; a failure to write the file is an error only if the command
/// succeeded.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.is_import() {
        return import::run(context, &args.import);
    }
    let store = context.store()?;
    let Some(proposal) = args.which.find(context, &store.view()?)? else {
        return context.declined("nothing tried");
    };
    let words = trial::command(store.repository(), args.command)?;
    let target = args.result.as_deref().map(|path| ResultFile::open(context, path)).transpose()?;
    let trial = trial::open(&store, &proposal, args.as_proposed)?;
    let structured = context.format_or(Format::Text) != Format::Text;
    let ended = execute(&words, &trial, proposal.id.as_str(), structured);
    drop(trial);
    let ended = ended?;
    let session = context.session(&store);
    let result = trial::result(&session, &proposal, &words, &ended.run, context.clock());
    let wants_file = target.is_some();
    let mut written = None;
    if let Some(target) = target.filter(|_| !ended.interrupted) {
        match target.write(&result) {
            Ok(path) => written = Some(path),
            Err(error) if ended.status == 0 => return Err(error),
            Err(error) => context.report_on_stderr(&error),
        }
    }
    let mut recorded = false;
    // Without a clone, the file replaces the record.
    let has_place = !wants_file || store.require_clone().is_ok();
    if !args.no_record && !ended.interrupted && has_place {
        match trial::record(&session, &proposal, &result) {
            Ok(()) => recorded = true,
            // A failed record must not hide the command's result.
            Err(error) => {
                context.note(&format!("warning: not recorded: {}", escape::line(error.message())));
                if error.is(&store_codes::CI_HAS_NO_CLONE) {
                    context.note(
                        "hint: --result FILE writes the result to a file for aye try --import",
                    );
                }
            }
        }
    }
    let document = Document {
        schema: SCHEMA,
        proposal_id: proposal.id.to_string(),
        revision: result.revision,
        command: result.command,
        exit_code: result.exit_code,
        duration_ms: result.duration_ms,
        recorded,
        result: written,
    };
    if structured {
        context.emit(Format::Text, &document, String::new)?;
    } else {
        let signal = ended.status - 128;
        let how = how_it_ended(ended.run.exit_code, signal, ended.run.duration_ms, recorded);
        let file = document.result.map(|path| format!(", result in {}", escape::line(&path)));
        let file = file.unwrap_or_default();
        context.note(&format!("{}: {how}{file}", proposal.id));
    }
    Ok(context.ends_with(ended.status))
}

/// `passed after 1.2 s, recorded`
fn how_it_ended(exit_code: Option<i32>, signal: i32, duration_ms: u64, recorded: bool) -> String {
    let how = match exit_code {
        Some(0) => "passed".to_owned(),
        Some(code) => format!("failed with exit status {code}"),
        None => format!("ended by signal {signal}"),
    };
    let seconds = duration_ms as f64 / 1000.0;
    let kept = if recorded { "recorded" } else { "not recorded" };
    format!("{how} after {seconds:.1} s, {kept}")
}

/// Passes stop signals on: aye survives to remove the work tree.
fn execute(words: &[OsString], trial: &Trial, id: &str, quiet: bool) -> Result<TrialEnd> {
    let stop = StopSignals::listen(&StopSignals::ALL)?;
    let started = Instant::now();
    let status = stop.wait(&mut start(words, trial, id, quiet)?)?;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(TrialEnd {
        run: Run { exit_code: status.code(), duration_ms },
        status: git::status_code(status),
        interrupted: stop.was_signalled(),
    })
}

/// `quiet` sends the command's output to standard error.
pub(super) fn start(words: &[OsString], trial: &Trial, id: &str, quiet: bool) -> Result<Child> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(trial.directory()).env(AYE_TRY, id);
    command.env("PWD", trial.directory());
    git::scrub(&mut command);
    if quiet {
        // Standard output is the document's.
        command.stdout(Stdio::from(std::io::stderr()));
    }
    command.spawn().map_err(|error| {
        let name = words[0].to_string_lossy();
        let code = match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => {
                &codes::INVALID_ARGUMENT
            }
            _ => &codes::IO,
        };
        Error::new(code, format!("cannot run '{name}': {error}"))
            .hint("the command runs in the top directory of the work tree; check its name and PATH")
    })
}
