//! `aye demo`: the whole main job, on a repository nobody minds.

mod more;
mod scene;
mod scratch;
mod stage;
mod told;
mod tour;

use std::path::{Path, PathBuf};

use serde::Serialize;

use self::scratch::Scratch;
use self::stage::Stage;
use super::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::text::shell;

/// Show the main workflow in a scratch repository.
///
/// Makes a small generated repository, in which agents propose changes. At a terminal you review them, in
/// three screens: an easy yes, a risky one, two on the same line; then `undo`, the log, and more for who
/// wants it. Without a terminal the same story is printed. Three more proposals wait at the end. Nothing
/// outside of the scratch directory is touched; it stays where it is for you to go on in.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  aye demo\n  aye demo --dir /tmp/play\n  cd \"$(aye demo --json | jq -r .path)\""
)]
pub struct Args {
    /// Where to make the scratch directory (absent or empty); a temporary directory otherwise.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Keep the scratch directory even if something in the demonstration fails.
    #[arg(long)]
    keep: bool,
}

/// The output of `aye demo --json`.
#[derive(Debug, Serialize)]
pub struct Demo {
    /// `aye/demo@1`.
    pub schema: &'static str,
    /// The scratch repository.
    pub path: String,
    /// What it is.
    pub origin: String,
    /// The proposal that was applied.
    pub applied: String,
    /// The proposal that was rejected.
    pub rejected: String,
    /// The proposal that has gone stale and is still pending.
    pub stale: String,
    /// The proposals that wait for a review and fit.
    pub waiting: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Whatever a step of it says; the scratch directory is then removed, unless `--keep`.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut scratch = Scratch::make(context, args.dir.as_deref())?;
    if args.keep {
        scratch.keep();
    }
    let program = std::env::current_exe().map_err(|e| Error::io("find this program", &e))?;
    let aye = name(context, &program);
    let quiet = context.format_or(Format::Text) != Format::Text;
    let asks = !quiet && context.interactive();
    let mut stage = Stage::new(context, &scratch, program, aye.clone(), quiet);
    if asks {
        tour::guide(&mut stage)?;
        stage.say(&closing(&scratch, &aye))?;
        scratch.keep();
        return Ok(Exit::Done);
    }
    let demo = told::tell(&mut stage)?;
    let text = closing(&scratch, &aye);
    scratch.keep();
    context.emit(Format::Text, &demo, || format!("{text}\n"))?;
    Ok(Exit::Done)
}

/// What to type for this program: `aye` where that is found, else its path. A launcher (that of the
/// npm package) passes its own path as the name of the program that it starts.
fn name(context: &Context, program: &Path) -> String {
    let launcher = std::env::args_os().next().map(PathBuf::from);
    let launcher = launcher.filter(|path| path.is_absolute() && path.is_file());
    let typed = launcher.as_deref().unwrap_or(program);
    let found = context.on_path("aye").and_then(|file| file.canonicalize().ok());
    let is_found = |file: &Path| file.canonicalize().ok() == found;
    if found.is_some() && (is_found(typed) || is_found(program)) {
        return "aye".to_owned();
    }
    crate::text::escape::line(&shell::word(&typed.display().to_string())).into_owned()
}

fn closing(scratch: &Scratch, aye: &str) -> String {
    let path = shell::word(&scratch.root.display().to_string());
    let top = shell::word(&scratch.top().display().to_string());
    format!(
        "Three more proposals wait. Go on there:\n  \
         cd {path} && {aye} review\n  \
         {aye} help getting-started    # then, in a repository of your own: {aye} init\n  \
         rm -rf {top}    # when you have seen enough"
    )
}
