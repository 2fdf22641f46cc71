//! `aye hooks`: git hooks and their checks.

use std::ffi::OsString;

use super::Context;
use crate::error::{Error, Exit, Result};
use crate::hooks::{Hook, HookDirectory, HookState};
use crate::store::Store;
use crate::text::escape;

mod ref_updates;
mod run;
mod trailers;

/// Install, show or remove git hooks.
///
/// pre-commit and pre-push run `aye check` on the commit or the push. commit-msg adds the trailers
/// of the proposals in the commit, post-commit records the commit on them. A plain hook that
/// exists stays and runs first. If aye is missing, git continues with a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye hooks install
  aye hooks status
  aye hooks uninstall")]
pub struct Args {
    /// Without one: status.
    #[command(subcommand)]
    command: Option<Sub>,
}

impl Args {
    pub(super) fn writes(&self) -> bool {
        matches!(self.command, Some(Sub::Install { .. } | Sub::Uninstall { .. }))
    }
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// Install hooks (all, or those named).
    ///
    /// If a hook manager or core.hooksPath has the hooks, nothing is written; the lines to add
    /// there are printed.
    #[command(after_help = "Examples:\n  aye hooks install\n  aye hooks install pre-push")]
    Install {
        /// The hooks.
        #[arg(value_enum)]
        hooks: Vec<Hook>,
    },
    /// Show which hooks are installed, and where.
    #[command(after_help = "Examples:\n  aye hooks status")]
    Status,
    /// Remove our hooks (all, or those named) and restore what was there before. Not for agents.
    #[command(after_help = "Examples:\n  aye hooks uninstall\n  aye hooks uninstall pre-push")]
    Uninstall {
        /// The hooks.
        #[arg(value_enum)]
        hooks: Vec<Hook>,
    },
    /// Run as a git hook, with git's arguments. After an error in aye itself, git continues.
    #[command(after_help = "Examples:\n  aye hooks run pre-commit \"$@\"")]
    Run {
        /// The hook.
        #[arg(value_enum)]
        hook: Hook,
        /// The arguments that git passes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let chosen = |hooks: Vec<Hook>| if hooks.is_empty() { Hook::ALL.to_vec() } else { hooks };
    match args.command.unwrap_or(Sub::Status) {
        Sub::Install { hooks } => install(context, &chosen(hooks)),
        Sub::Status => {
            let place = place(context)?;
            show(context, &place)
        }
        Sub::Uninstall { hooks } => {
            context.refuse_agents("remove git hooks of aye", "aye hooks uninstall")?;
            let place = place(context)?;
            place.uninstall(&chosen(hooks))?;
            show(context, &place)
        }
        Sub::Run { hook, args } => run::run(context, hook, &args),
    }
}

fn install(context: &mut Context, hooks: &[Hook]) -> Result<Exit> {
    const COMMAND: &str = "aye hooks install";
    let found = Store::discover(&context.directory)?;
    let place = HookDirectory::find(found.repository())?;
    let program = program()?;
    // A session's hooks belong to its agent.
    if context.refuse_session(found.repository()).is_ok() {
        context.refuse_agents_in_session(
            found.repository(),
            "install hooks in the checkout",
            COMMAND,
        )?;
    }
    if place.runs_another(&program) {
        context.refuse_agents("have hooks run another aye than the one they name", COMMAND)?;
    }
    place.install(hooks, &program)?;
    show(context, &place)
}

fn place(context: &Context) -> Result<HookDirectory> {
    let found = Store::discover(&context.directory)?;
    HookDirectory::find(found.repository())
}

fn show(context: &mut Context, place: &HookDirectory) -> Result<Exit> {
    let program = program()?;
    let mut text = format!("{}\n", escape::line(&place.directory.to_string_lossy()));
    for hook in Hook::ALL {
        let state = match place.state(hook, &program) {
            HookState::Absent => "not installed",
            HookState::Installed => "installed",
            HookState::Outdated => "installed by another aye; `aye hooks install` updates it",
            HookState::Other => "another hook",
        };
        let chained = if place.is_chained(hook) { " (an earlier hook runs first)" } else { "" };
        text += &format!("  {:<13}{state}{chained}\n", hook.name());
    }
    if let Some(owner) = &place.owner {
        text += &format!("git runs others: {}\n", escape::line(owner));
    }
    context.print(text.as_bytes())
}

fn program() -> Result<String> {
    let path = std::env::current_exe().map_err(|e| Error::io("find the path of aye", &e))?;
    let text = path.to_str().ok_or_else(|| {
        Error::new(
            &crate::error::codes::INVALID_UTF8,
            format!("the path of aye is not UTF-8: {}", path.display()),
        )
        .hint("install it in a directory with a plain name")
    })?;
    Ok(text.to_owned())
}
