//! The command line: one file per command with `Args`, whose comments are the help, and `run`. The
//! only room that reads clock, environment, terminal and the processes above.

pub mod acp;
pub mod agents;
pub mod apply;
pub mod approve;
pub mod authorisation;
pub mod blame;
mod branch;
pub mod call;
pub mod check;
mod child;
mod client_server;
mod command;
pub mod comment;
pub mod complete;
pub mod configuration;
pub mod context;
pub mod demo;
mod dependencies;
pub mod diff;
mod difftool;
pub mod doctor;
pub mod filters;
mod help;
pub mod help_pages;
pub mod hooks;
pub mod hunk_selection;
pub mod identity;
mod idle_stamp;
pub mod init;
pub mod list;
pub mod log;
pub mod marks;
pub mod mcp;
pub mod memory;
pub mod notify;
mod outcomes;
pub mod output;
mod overview;
pub mod pager;
pub mod patch;
pub mod paths;
pub mod plan;
mod printing;
pub mod processes;
pub mod programs;
pub mod propose;
pub mod purge;
mod read_only;
mod recovery;
pub mod reject;
pub mod review;
pub mod revise;
pub mod run;
pub mod scan;
pub mod selection;
pub mod session;
mod session_scope;
pub mod shell;
pub mod show;
pub mod sync;
mod tool;
pub mod try_;
pub mod undo;
mod usage;
pub mod util;
pub mod wait;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

pub use command::Command;
pub use context::Context;
pub use output::Format;

use crate::error::Exit;
use crate::store::Store;

/// The write gate between coding agents and a git repository.
///
/// Agents propose; people review and say aye (apply) or nay (reject); git keeps it all.
#[derive(Debug, Parser)]
#[command(name = "aye", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Run as if started in DIR.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<std::path::PathBuf>,
    /// Output format.
    #[arg(long, value_enum, global = true, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Same as --format json.
    #[arg(long, global = true, conflicts_with_all = ["format", "yaml"])]
    pub json: bool,
    /// Same as --format yaml.
    #[arg(long, global = true, conflicts_with = "format")]
    pub yaml: bool,
    /// When to colour.
    #[arg(long, value_enum, global = true, value_name = "WHEN", default_value_t = clap::ColorChoice::Auto)]
    pub color: clap::ColorChoice,
    /// Print only the answer.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Do not use a pager.
    #[arg(long, global = true)]
    pub no_pager: bool,
}

/// `args` begins with the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.len() == 1 && Store::discover(std::path::Path::new(".")).is_err() {
        return ExitCode::from(usage::short() as u8);
    }
    if complete::answer(&args) {
        return ExitCode::SUCCESS;
    }
    if let Some(exit) = help::answer(&args) {
        return ExitCode::from(exit as u8);
    }
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(mut error) => {
            // A flag that does not exist is hardly ever meant as a value.
            error.remove(clap::error::ContextKind::TrailingArg);
            let error = match error.kind() {
                clap::error::ErrorKind::DisplayHelp => help_pages::page(&args).unwrap_or(error),
                _ => error,
            };
            return ExitCode::from(usage::report(&args, &error) as u8);
        }
    };
    let mut context = Context::from_process(&cli.global);
    if let Some(format) = context.format
        && !cli.command.as_ref().is_some_and(|command| command.prints(format))
    {
        if !format.is_common() {
            context.format = None;
        }
        context.report(&output::unsupported(format));
        return ExitCode::from(Exit::Usage as u8);
    }
    let moment = cli.command.as_ref().and_then(Command::moment);
    let done = match cli.command {
        Some(command) => command::run(&mut context, command),
        None => overview::run(&mut context),
    };
    let done = done.map_err(|error| context.name_sandbox(error));
    if let (Ok(_), Some(moment)) = (&done, moment) {
        sync::after(&mut context, moment);
    }
    context.warn_of_threads();
    context.upkeep.start(context.clock());
    context.notify();
    let exit = match done {
        Ok(exit) => context.status.unwrap_or(exit as u8),
        Err(error) => {
            context.report(&error);
            error.code().exit as u8
        }
    };
    ExitCode::from(exit)
}

fn parse(args: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    if let Some(version) = version(args) {
        return Err(version);
    }
    parse_one_command(args).map_or_else(|| Cli::try_parse_from(args), Ok)
}

/// Answers a bare `--version` without building the commands.
fn version(args: &[OsString]) -> Option<clap::Error> {
    if args.len() != 2 || args[1] != "--version" && args[1] != "-V" {
        return None;
    }
    let alone = clap::Command::new("aye").version(env!("CARGO_PKG_VERSION"));
    alone.disable_help_flag(true).try_get_matches_from(args).err()
}

/// Parses with only the command that is the first word; `None` for anything else.
///
/// clap copies the global flags to each of thirty commands, a fifth of the work of `aye list`.
fn parse_one_command(args: &[OsString]) -> Option<Cli> {
    use clap::{Args as _, FromArgMatches as _, Subcommand as _};
    let name = args.get(1)?.to_str()?;
    let all = Command::augment_subcommands(clap::Command::new("aye"));
    let command = all.find_subcommand(name)?.clone();
    let alone = Global::augment_args(clap::Command::new("aye")).subcommand(command);
    let matches = alone.disable_help_subcommand(true).try_get_matches_from(args).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests;
