//! The command line: clap definitions and one file per command. Parse, call the domain, render.
//!
//! The only room that reads the clock, the environment and the terminal. Each command is one
//! file with `Args` (its doc comments are its help) and `run(&mut Context, Args) -> Result<Exit>`.

pub mod adopt;
pub mod agents;
pub mod apply;
pub mod approve;
pub mod blame;
mod branch;
pub mod call;
pub mod check;
mod child;
pub mod comment;
pub mod complete;
pub mod configuration;
pub mod context;
pub mod deinit;
pub mod demo;
pub mod diff;
mod difftool;
pub mod doctor;
pub mod filters;
pub mod gc;
mod groups;
mod help;
pub mod hooks;
pub mod identity;
mod idle;
pub mod import;
pub mod init;
mod leftovers;
pub mod list;
pub mod log;
mod lower;
pub mod marks;
pub mod mcp;
pub mod memory;
pub mod notify;
pub mod output;
pub mod pager;
pub mod part;
pub mod patch;
pub mod paths;
pub mod plan;
pub mod programs;
pub mod propose;
pub mod publish;
pub mod purge;
pub mod rebase;
pub mod reject;
pub mod review;
pub mod revise;
pub mod run;
mod sandbox;
pub mod scan;
mod sending;
pub mod session;
mod sessions;
mod shared;
pub mod shell;
pub mod show;
pub mod status;
mod tool;
mod trust;
pub mod try_;
pub mod undo;
mod usage;
pub mod util;
pub mod wait;
pub mod which;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use context::Context;
pub use output::Format;

use crate::error::{Exit, Result};
use crate::store::Store;

/// The write gate between coding agents and a git repository.
///
/// Agents propose; people review and say aye (apply) or nay (reject); git keeps it all.
#[derive(Debug, Parser)]
#[command(name = "aye", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Examples:
  aye demo                                    all of it in a scratch repository
  aye propose src/a.ts --old 'a' --new 'b'    what an agent does
  aye review                                  what you do
  aye COMMAND --help                          flags and examples of a command")]
pub struct Cli {
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Debug, clap::Args)]
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
    /// Print only what was asked for.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more about what happens.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Do not use a pager.
    #[arg(long, global = true)]
    pub no_pager: bool,
}

/// The commands, one file each.
///
/// Deferred: a run builds the arguments of its own command alone, not those of all of them.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Propose a change for a person to review.
    Propose(Box<propose::Args>),
    /// Propose what an agent has already changed in the work tree.
    Adopt(adopt::Args),
    /// Show how many proposals are pending.
    Status(status::Args),
    /// List proposals.
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show a proposal: who, why, its state, its comments, its diff.
    Show(show::Args),
    /// Show the changes of a proposal.
    Diff(diff::Args),
    /// Review pending proposals at the terminal, hunk by hunk.
    Review(review::Args),
    /// Apply pending proposals to the files.
    #[command(aliases = ["accept", "ok"])]
    Apply(apply::Args),
    /// Approve pending proposals, and write nothing.
    Approve(approve::Args),
    /// Reject pending proposals; withdraw your own.
    #[command(aliases = ["deny", "nay", "disapprove"])]
    Reject(reject::Args),
    /// Publish a private proposal: the next push includes it.
    Publish(publish::Args),
    /// Remove a proposal and everything recorded about it, for good.
    Purge(purge::Args),
    /// Undo a decision.
    #[command(aliases = ["unapply", "unreject", "revert"])]
    Undo(undo::Args),
    /// Give a pending proposal new content.
    Revise(Box<revise::Args>),
    /// Rebase a pending proposal onto the files as they are now.
    Rebase(rebase::Args),
    /// Comment on a pending proposal, or request changes.
    Comment(comment::Args),
    /// Show what happened.
    Log(log::Args),
    /// Show where each line of a file is from: the proposal and who decided on it, or the commit.
    Blame(blame::Args),
    /// Wait until a proposal is decided.
    Wait(wait::Args),
    /// Run a command (the tests) on a proposal, in a throw-away work tree.
    Try(try_::Args),
    /// Record results of `aye try` that were written elsewhere (CI).
    Import(import::Args),
    /// Apply a patch now: a unified diff, or an envelope (*** Begin Patch).
    Patch(patch::Args),
    /// Run a command that can only read.
    #[command(after_help = shell::EXAMPLES)]
    Shell(shell::Args),
    /// Show and update the task plan of this branch.
    Plan(plan::Args),
    /// The project's memory: propose, review, search, read, maintain it.
    Memory(memory::Args),
    /// Report what needs attention; exit with 1 if something does.
    Check(check::Args),
    /// Install, show or remove git hooks.
    Hooks(hooks::Args),
    /// Look for secrets and text that misleads.
    Scan(scan::Args),
    /// Call a tool by name: JSON in, the contract's response out.
    Call(call::Args),
    /// Run a coding agent in a work tree of its own.
    Run(run::Args),
    /// List, submit and end the work trees that agents run in.
    Session(session::Args),
    /// Install hooks in coding agents, so that their edits go through review.
    Agents(agents::Args),
    /// Serve the tools to a coding agent, over the Model Context Protocol.
    Mcp(mcp::Args),
    /// Make the repository ready: .agent-memory/ and the memory scaffold.
    Init(init::Args),
    /// Show the main workflow in a scratch repository.
    Demo(demo::Args),
    /// Check the store, and repair what can be rebuilt.
    Doctor(doctor::Args),
    /// Fold what was decided long ago, so that clones fetch and read less.
    Gc(gc::Args),
    /// Remove what aye keeps of this repository: lanes, refs, caches and hooks.
    Deinit(deinit::Args),
    /// Generate man pages, shell completions, JSON schemas and the table of error codes.
    Util(util::Args),
}

/// Runs the program on `args` (the first is the program's name) and returns its exit status.
///
/// Prints the error, if there is one, in the chosen format.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.len() == 1 {
        // What somebody wants to know who types nothing else.
        args.extend(["status", "--long"].map(OsString::from));
        if Store::discover(std::path::Path::new(".")).is_err() {
            return ExitCode::from(usage::short() as u8);
        }
    }
    if complete::answer(&args) {
        return ExitCode::SUCCESS;
    }
    if let Some(exit) = help::answer(&args) {
        return ExitCode::from(exit as u8);
    }
    let cli = match parsed(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let error = match error.kind() {
                // The same again, its commands in groups.
                clap::error::ErrorKind::DisplayHelp => {
                    groups::grouped(<Cli as clap::CommandFactory>::command())
                        .try_get_matches_from(&args)
                        .err()
                        .unwrap_or(error)
                }
                _ => error,
            };
            return ExitCode::from(usage::report(&args, &error) as u8);
        }
    };
    let mut context = Context::from_process(&cli.global);
    if let Some(format) = context.format
        && !cli.command.prints(format)
    {
        if !format.is_common() {
            context.format = None;
        }
        context.report(&output::unsupported(format));
        return ExitCode::from(Exit::Usage as u8);
    }
    let done = run(&mut context, cli.command).map_err(|error| context.name_sandbox(error));
    context.warn_of_lanes();
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

/// `args` as clap reads them.
fn parsed(args: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    if let Some(version) = version(args) {
        return Err(version);
    }
    named(args).map_or_else(|| Cli::try_parse_from(args), Ok)
}

/// clap's answer to a question for the version alone, which no command has to be known for.
fn version(args: &[OsString]) -> Option<clap::Error> {
    if args.len() != 2 || args[1] != "--version" && args[1] != "-V" {
        return None;
    }
    let alone = clap::Command::new("aye").version(env!("CARGO_PKG_VERSION"));
    alone.disable_help_flag(true).try_get_matches_from(args).err()
}

/// `args` as those of the command that is their first word. `None` where that is another word, or
/// where they are not valid: then all commands have to be known.
///
/// clap copies the flags that every command takes to each of them, which for thirty commands is a
/// fifth of what `aye list` does.
fn named(args: &[OsString]) -> Option<Cli> {
    use clap::{Args as _, FromArgMatches as _, Subcommand as _};
    let name = args.get(1)?.to_str()?;
    let all = Command::augment_subcommands(clap::Command::new("aye"));
    let command = all.find_subcommand(name)?.clone();
    let alone = Global::augment_args(clap::Command::new("aye")).subcommand(command);
    let matches = alone.disable_help_subcommand(true).try_get_matches_from(args).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

impl Command {
    /// Whether the command changes, without a decision, files of the checkout, what holds agents to the gate, or
    /// what a clone and its sessions keep.
    fn writes_undecided(&self) -> bool {
        match self {
            Self::Init(_) => true,
            Self::Gc(args) => !args.dry_run,
            Self::Hooks(args) => args.writes(),
            Self::Memory(args) => matches!(args.command, memory::Command::Init(_)),
            Self::Agents(agents::Args { command }) => {
                use agents::Command::{Install, Remove};
                matches!(command, Some(Install(_) | Remove(_)))
            }
            Self::Session(session::Args { command }) => {
                matches!(command, Some(session::Command::End { discard: true, .. }))
            }
            _ => false,
        }
    }

    /// Whether the command has its results in `format`: what programs ask for is JSON and YAML, reports are JSON and
    /// what their readers take.
    fn prints(&self, format: Format) -> bool {
        let is_report = match self {
            Self::Check(_) | Self::Scan(_) => true,
            Self::Memory(args) => matches!(args.command, memory::Command::Lint(_)),
            _ => false,
        };
        match format {
            Format::Text => true,
            Format::Github | Format::Sarif => is_report,
            Format::Json if is_report => true,
            Format::Yaml if is_report => false,
            Format::Json | Format::Yaml => match self {
                Self::Agents(_)
                | Self::Blame(_)
                | Self::Deinit(_)
                | Self::Demo(_)
                | Self::Gc(_)
                | Self::Hooks(_)
                | Self::Import(_)
                | Self::Init(_)
                | Self::Mcp(_)
                | Self::Publish(_)
                | Self::Purge(_)
                | Self::Rebase(_)
                | Self::Review(_)
                | Self::Status(_)
                | Self::Util(_) => false,
                Self::Session(args) => {
                    matches!(args.command, None | Some(session::Command::List))
                }
                Self::Memory(args) => !matches!(args.command, memory::Command::Init(_)),
                _ => true,
            },
        }
    }
}

fn run(context: &mut Context, command: Command) -> Result<Exit> {
    if command.writes_undecided() {
        context.refuse_trial()?;
    }
    match command {
        Command::Init(args) => init::run(context, args),
        Command::Scan(args) => scan::run(context, args),
        Command::Propose(args) => propose::run(context, *args),
        Command::Status(args) => status::run(context, &args),
        Command::List(args) => list::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Diff(args) => diff::run(context, args),
        Command::Review(args) => review::run(context, args),
        Command::Approve(args) => approve::run(context, args),
        Command::Reject(args) => reject::run(context, args),
        Command::Adopt(args) => adopt::run(context, args),
        Command::Publish(args) => publish::run(context, args),
        Command::Purge(args) => purge::run(context, &args),
        Command::Revise(args) => revise::run(context, *args),
        Command::Rebase(args) => rebase::run(context, args),
        Command::Patch(args) => patch::run(context, args),
        Command::Comment(args) => comment::run(context, args),
        Command::Log(args) => log::run(context, args),
        Command::Blame(args) => blame::run(context, args),
        Command::Memory(args) => memory::run(context, args),
        Command::Call(args) => call::run(context, args),
        Command::Agents(args) => agents::run(context, args),
        Command::Mcp(args) => mcp::run(context, args),
        Command::Run(args) => run::run(context, args),
        Command::Session(args) => session::run(context, args),
        Command::Demo(args) => demo::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Gc(args) => gc::run(context, &args),
        Command::Deinit(args) => deinit::run(context, &args),
        Command::Apply(args) => apply::run(context, args),
        Command::Undo(args) => undo::run(context, args),
        Command::Shell(args) => shell::run(context, args),
        Command::Check(args) => check::run(context, &args),
        Command::Plan(args) => plan::run(context, args),
        Command::Hooks(args) => hooks::run(context, args),
        Command::Try(args) => try_::run(context, args),
        Command::Import(args) => import::run(context, &args),
        Command::Wait(args) => wait::run(context, &args),
        Command::Util(args) => util::run(context, args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Command lines of every command that takes some words as they are.
    const LINES: [&str; 16] = [
        "aye list",
        "aye ls --json --limit 3",
        "aye list -C /tmp --status all",
        "aye apply --yes --latest -q",
        "aye apply m4k8@3f9c 7qx2 --commit -m text --color never",
        "aye propose src/a.txt --old a --new b --json -v -v",
        "aye check --staged --format sarif",
        "aye memory search word --yaml",
        "aye plan show --no-pager",
        "aye hooks install",
        "aye review",
        "aye patch -",
        "aye call changes {}",
        "aye log -C sub --limit 2",
        "aye doctor --repair",
        "aye reject m4k8 --reason no",
    ];

    /// clap breaks a longer line once more, and a word or two stand alone.
    #[test]
    fn notes_below_the_flags_fit_the_width_of_help() {
        let mut commands = vec![<Cli as clap::CommandFactory>::command()];
        while let Some(command) = commands.pop() {
            let notes = [command.get_after_help(), command.get_after_long_help()];
            for line in notes
                .into_iter()
                .flatten()
                .flat_map(|note| note.to_string().lines().map(str::to_owned).collect::<Vec<_>>())
            {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn a_command_alone_is_parsed_as_among_all() {
        for line in LINES {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let alone = named(&args).unwrap_or_else(|| panic!("{line}"));
            let among_all = Cli::try_parse_from(&args).unwrap();
            assert_eq!(format!("{alone:?}"), format!("{among_all:?}"), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_or_asks_for_help_is_left_to_all() {
        for line in ["aye", "aye lst", "aye -C x list", "aye list --wrong", "aye list --help"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(named(&args).is_none(), "{line}");
        }
        for line in ["aye --version", "aye list --version", "aye help list", "aye help"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(named(&args).is_none(), "{line}");
        }
    }
    #[test]
    fn the_version_is_told_without_any_command() {
        for line in ["aye --version", "aye -V"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let alone = version(&args).expect(line);
            let among_all = Cli::try_parse_from(&args).expect_err(line);
            assert_eq!(
                (alone.kind(), alone.to_string()),
                (among_all.kind(), among_all.to_string())
            );
        }
        for line in ["aye", "aye --version list", "aye list --version", "aye --help"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(version(&args).is_none(), "{line}");
        }
    }
}
