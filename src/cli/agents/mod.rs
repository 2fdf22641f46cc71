//! `aye agents`: hooks of coding agents.

mod file;
mod hook;
mod hook_file;
mod install;
mod project;
mod show;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::Context;
use crate::error::{Exit, Result};
use crate::harness::{CLIENTS, Client, client, guide};
use crate::proposal::{ActorKind, Caller};
use crate::repository::Gate;
use crate::store::Store;

pub use project::{HookedSettings, is_tracked, settings_with_hooks};

/// Install hooks in coding agents, so that their edits go through review.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye agents install claude-code
  aye agents show
  aye agents remove claude-code")]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Put aye's hooks into the settings of a coding agent; all else in them stays.
    #[command(after_help = "Examples:
  aye agents install claude-code              for this project, with everybody who works in it
  aye agents install claude-code --local      for this project, for you alone
  aye agents install codex gemini             wherever you work
  aye agents install claude-code --user       wherever you work
  aye agents install codex --mode strict      it has to propose each change
  aye agents install claude-code --dry-run")]
    Install(install::InstallArgs),
    /// Take aye's hooks out of the settings again. Not for agents.
    #[command(after_help = "Examples:
  aye agents remove claude-code
  aye agents remove claude-code --user")]
    Remove(install::RemoveArgs),
    /// Show aye's hooks, and the agents that they gate.
    ///
    /// Exit status 1 where hooks are nowhere, or an agent that is on PATH is not gated.
    #[command(after_help = "Examples:
  aye agents show")]
    Show,
    /// Print what an agent without hooks has to know; `aye init --agents` keeps it in AGENTS.md.
    #[command(after_help = "Examples:
  aye agents guide
  aye agents guide >>INSTRUCTIONS.md")]
    Guide,
    /// Answer a coding agent's hook: its JSON on standard input.
    #[command(
        hide = true,
        after_help = "Examples:
  aye agents hook claude-code PreToolUse < call.json"
    )]
    Hook(hook::HookArgs),
}

fn harness() -> impl TypedValueParser<Value = &'static Client> {
    let names = CLIENTS.iter().map(|client| client.name);
    PossibleValuesParser::new(names).try_map(|name| client(&name).ok_or("no such client"))
}

/// Gates an agent's direct patch: hooks of any client, installed for one work tree, refuse edits in
/// all work trees of its repository. A session's tree has no gate.
pub fn hook_gate(context: &Context, store: &Store, caller: &Caller) -> Option<Gate> {
    let is_held = caller.actor.kind == ActorKind::Agent && !store.is_in_session();
    store.repository().work_dir().filter(|_| is_held)?;
    let mut tops = store.repository().work_trees().into_iter();
    tops.any(|top| hook_file::has_hooks(context, &top, None)).then_some(Gate::Hooks)
}

/// True if hooks of `client` apply in the checkout: they report outcomes themselves.
pub fn is_hooked(context: &Context, store: &Store, client: &Client) -> bool {
    let top = store.repository().work_dir();
    top.is_some_and(|top| hook_file::has_hooks(context, &top, Some(client)))
}

/// A hook answers an error in the agent's own form.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    match args.command.unwrap_or(Command::Show) {
        Command::Install(args) => install::install(context, &args),
        Command::Remove(args) => install::remove(context, &args),
        Command::Show => show::show(context),
        Command::Guide => context.print(guide::TEXT.as_bytes()),
        Command::Hook(args) => Ok(hook::run(context, &args)),
    }
}
