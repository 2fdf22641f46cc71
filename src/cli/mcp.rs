//! `aye mcp`: the tools for a coding agent, over the Model Context Protocol.

use std::path::PathBuf;

use serde_json::Value;

use super::Context;
use super::tool::{self, Client};
use crate::error::{Error, Exit, Result, codes};
use crate::mcp::{self, Host};
use crate::tools::registry::{Answer, Tool};

/// Serve the tools to a coding agent, over the Model Context Protocol on standard input and output.
///
/// For the configuration of the agent, which starts the command itself. Agents propose, comment, wait and
/// look; what they propose, a person applies or rejects.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye mcp --repo ~/src/project
  claude mcp add aye -- aye mcp
  codex mcp add aye -- aye mcp
  gemini mcp add aye aye mcp

As JSON, for clients that are configured so:
  {\"mcpServers\": {\"aye\": {\"command\": \"aye\", \"args\": [\"mcp\"]}}}")]
pub struct Args {
    /// Work in the repository of this directory, not of the one that the agent starts the command in.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub repo: Option<PathBuf>,
}

/// The tools, called in this process.
struct Tools {
    context: Context,
}

impl Host for Tools {
    fn call(
        &mut self,
        tool: &'static Tool,
        name: &str,
        arguments: Value,
        client: Option<&str>,
    ) -> Result<Answer> {
        // Each call stands for a command of its own.
        let context = self.context.fresh();
        let answer = tool::run(&context, tool, name, arguments, Some(Client { name: client }));
        context.warn_of_lanes();
        context.upkeep.start(context.clock());
        context.notify();
        answer
    }
}

/// Serves until the client is gone.
///
/// # Errors
/// `invalid_argument` for a directory that is none, `io_error`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if let Some(directory) = args.repo {
        std::env::set_current_dir(&directory).map_err(|error| {
            let shown = directory.display();
            Error::new(&codes::INVALID_ARGUMENT, format!("--repo: cannot enter '{shown}': {error}"))
                .hint("name a directory of the repository")
        })?;
        context.directory = ".".into();
    }
    let mut tools = Tools { context: context.fresh() };
    mcp::serve(std::io::stdin().lock(), std::io::stdout().lock(), &mut tools)?;
    Ok(Exit::Done)
}
