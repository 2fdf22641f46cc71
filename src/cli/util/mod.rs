//! `aye util …`: what is generated from the program itself: man pages, completions, schemas, codes.

pub(in crate::cli) mod codes;
mod completion;
mod man;
pub mod rules;
pub mod schema;

use clap::Subcommand;

use super::Context;
use crate::error::{Exit, Result};

/// Generate man pages, shell completions, JSON schemas and the table of error codes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye util mangen ~/.local/share/man/man1
  source <(aye util completion bash)
  aye util schema list
  aye util codes")]
pub struct Args {
    /// What to generate.
    #[command(subcommand)]
    what: What,
}

/// What can be generated.
#[derive(Debug, Subcommand)]
enum What {
    /// Write the man pages into a directory.
    #[command(after_help = "Examples:\n  aye util mangen /usr/local/share/man/man1")]
    Mangen(man::Args),
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
    /// Print every exit status and error code with its meaning.
    #[command(after_help = "Examples:\n  aye util codes")]
    Codes,
    /// Print who may do what.
    #[command(after_help = "Examples:\n  aye util rules")]
    Rules,
}

/// Runs the command.
///
/// # Errors
/// As the part that was asked for.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    match args.what {
        What::Mangen(args) => man::run(context, args),
        What::Completion(args) => completion::run(context, args),
        What::Schema(args) => schema::run(context, args),
        What::Codes => codes::run(context),
        What::Rules => rules::run(context),
    }
}

/// Makes `directory`, which was named to be written into.
fn make(directory: &std::path::Path) -> Result<()> {
    use crate::error::{Error, codes::USAGE};
    if let Some(why) = crate::obstacle::obstacle(directory) {
        return Err(Error::new(&USAGE, why).hint("name a directory, or one that can be made"));
    }
    std::fs::create_dir_all(directory)
        .map_err(|e| Error::io(format_args!("make the directory {}", directory.display()), &e))
}
