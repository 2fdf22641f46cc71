//! `aye util …`: completions and schemas, generated from the program.

pub mod codes;
mod completion;
pub mod schema;

use clap::Subcommand;

use super::Context;
use crate::error::{Exit, Result};

/// Generate shell completions and JSON schemas.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  source <(aye util completion bash)
  aye util schema list")]
pub struct Args {
    #[command(subcommand)]
    what: UtilCommand,
}

#[derive(Debug, Subcommand)]
enum UtilCommand {
    /// Print the completion script of a shell.
    ///
    /// The script asks the program itself at every completion, so it also completes the ids of
    /// pending proposals, and it does not go stale when the program is upgraded.
    #[command(
        after_help = "Examples:\n  aye util completion bash > ~/.local/share/bash-completion/completions/aye\n  aye util completion fish > ~/.config/fish/completions/aye.fish\n  source <(aye util completion zsh)"
    )]
    Completion(completion::Args),
    /// Print the JSON Schema of a stable answer or of the arguments of a tool, or the list of them.
    #[command(after_help = "Examples:\n  aye util schema\n  aye util schema list")]
    Schema(schema::Args),
}

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    match args.what {
        UtilCommand::Completion(args) => completion::run(context, args),
        UtilCommand::Schema(args) => schema::run(context, args),
    }
}
