//! `aye init`: make a repository ready.

use schemars::JsonSchema;
use serde::Serialize;

use super::memory::init::{Args as MemoryArgs, Initialized, scaffold};
use super::{Context, Format};
use crate::error::{Exit, Result};
use crate::render::escape;

/// Make the repository ready: .agent-memory/ with its .gitignore and the memory scaffold.
///
/// Optional and idempotent: proposals work in any repository without it, and what is there stays
/// as it is.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:
  aye init
  aye init --agents        # also tells agents about it, in AGENTS.md")]
pub struct Args {
    /// What the memory scaffold takes.
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Answer of `aye init`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ready {
    /// `aye/init@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// What was made and what was there.
    #[serde(flatten)]
    pub files: Initialized,
    /// What to do next, in words.
    pub next: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Those of the work tree.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let files = scaffold(context, &store, args.memory)?;
    let next = [
        "commit .agent-memory/ so that the team shares it",
        "tell your agents: `aye propose PATH --old … --new … -m WHY`, or `aye call changes`",
        "review what they propose: `aye review`",
        "hold commits to it: `aye hooks install`",
    ];
    let next = next.map(str::to_owned).to_vec();
    let ready = Ready { schema: "aye/init@1", success: true, files, next };
    context.emit(Format::Text, &ready, || {
        let mut out = String::new();
        for path in &ready.files.created {
            out += &format!("wrote {}\n", escape::line(path));
        }
        if ready.files.created.is_empty() {
            out += "nothing to do: it is all there\n";
        }
        for next in &ready.next {
            out += &format!("next: {next}\n");
        }
        out
    })?;
    Ok(Exit::Done)
}
