//! The commands, their formats, and their functions.

use clap::Subcommand;

use super::{
    Context, Format, acp, agents, apply, approve, blame, call, check, comment, demo, diff, doctor,
    hooks, init, list, log, mcp, memory, patch, plan, propose, purge, reject, review, revise, run,
    scan, session, shell, show, sync, try_, undo, util, wait,
};
use crate::error::{Exit, Result};

/// Deferred: clap builds only the arguments of the command that runs.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Propose a change for a person to review.
    Propose(Box<propose::Args>),
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
    /// Remove a proposal and everything recorded about it, for good.
    Purge(purge::Args),
    /// Undo a decision.
    #[command(aliases = ["unapply", "unreject", "revert"])]
    Undo(undo::Args),
    /// Give a pending proposal new content.
    Revise(Box<revise::Args>),
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
    /// Run a coding agent for an editor, over the Agent Client Protocol.
    Acp(acp::Args),
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
    /// Exchange proposals and decisions with other clones, through a remote.
    Sync(sync::Args),
    /// Check the store, and repair what can be rebuilt.
    Doctor(doctor::Args),
    /// Generate shell completions and JSON schemas.
    #[command(hide = true)]
    Util(util::Args),
}

impl Command {
    /// True if the command changes the checkout, the gate, or the clone's state without a decision.
    fn writes_undecided(&self) -> bool {
        match self {
            Self::Init(args) => !args.remove.remove,
            Self::Doctor(args) => args.gc.gc && !args.gc.dry_run,
            Self::Hooks(args) => args.writes(),
            Self::Sync(args) => args.pushes(),
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

    /// The least value of `aye.syncAfter` that has `aye sync` follow.
    pub(super) fn moment(&self) -> Option<sync::Moment> {
        match self {
            Self::Apply(_)
            | Self::Approve(_)
            | Self::Reject(_)
            | Self::Undo(_)
            | Self::Review(_)
            | Self::Comment(_) => Some(sync::Moment::Decide),
            Self::Propose(_) | Self::Revise(_) | Self::Call(_) => Some(sync::Moment::Propose),
            _ => None,
        }
    }

    /// Reports have JSON, GitHub and SARIF; other answers JSON and YAML.
    pub(super) fn prints(&self, format: Format) -> bool {
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
                Self::Acp(_)
                | Self::Agents(_)
                | Self::Blame(_)
                | Self::Demo(_)
                | Self::Hooks(_)
                | Self::Init(_)
                | Self::Mcp(_)
                | Self::Purge(_)
                | Self::Review(_)
                | Self::Util(_) => false,
                Self::Doctor(args) => !args.gc.gc,
                Self::Revise(args) => !args.rebase && !args.public.public,
                Self::Try(args) => !args.is_import(),
                Self::Session(args) => {
                    matches!(args.command, None | Some(session::Command::List))
                }
                Self::Memory(args) => !matches!(args.command, memory::Command::Init(_)),
                _ => true,
            },
        }
    }
}

pub(super) fn run(context: &mut Context, command: Command) -> Result<Exit> {
    if command.writes_undecided() {
        context.refuse_trial()?;
    }
    match command {
        Command::Init(args) => init::run(context, args),
        Command::Scan(args) => scan::run(context, args),
        Command::Propose(args) => propose::run(context, *args),
        Command::List(args) => list::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Diff(args) => diff::run(context, args),
        Command::Review(args) => review::run(context, args),
        Command::Approve(args) => approve::run(context, args),
        Command::Reject(args) => reject::run(context, args),
        Command::Purge(args) => purge::run(context, &args),
        Command::Revise(args) => revise::run(context, *args),
        Command::Patch(args) => patch::run(context, args),
        Command::Comment(args) => comment::run(context, args),
        Command::Log(args) => log::run(context, args),
        Command::Blame(args) => blame::run(context, args),
        Command::Memory(args) => memory::run(context, args),
        Command::Call(args) => call::run(context, args),
        Command::Agents(args) => agents::run(context, args),
        Command::Mcp(args) => mcp::run(context, args),
        Command::Run(args) => run::run(context, args),
        Command::Acp(args) => acp::run(context, &args),
        Command::Session(args) => session::run(context, args),
        Command::Demo(args) => demo::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Apply(args) => apply::run(context, args),
        Command::Undo(args) => undo::run(context, args),
        Command::Shell(args) => shell::run(context, args),
        Command::Check(args) => check::run(context, &args),
        Command::Plan(args) => plan::run(context, args),
        Command::Hooks(args) => hooks::run(context, args),
        Command::Try(args) => try_::run(context, args),
        Command::Sync(args) => sync::run(context, args),
        Command::Wait(args) => wait::run(context, &args),
        Command::Util(args) => util::run(context, args),
    }
}
