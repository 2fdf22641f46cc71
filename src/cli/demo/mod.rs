//! `aye demo`: the main workflow in a scratch repository.

mod scratch;
mod stage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::stage::{Stage, Story};
use super::Context;
use crate::error::{Error, Exit, Result};
use crate::render::style::Role;
use crate::text::shell;

/// Show the main workflow in a scratch repository.
///
/// Makes a small generated repository, in which agents propose changes. At a terminal you review
/// them, in three screens: an easy yes, a risky one, two on the same line; then `undo` and the log.
/// Without a terminal the same story is printed. More proposals wait at the end. Nothing outside of
/// the scratch directory is touched; it stays where it is for you to go on in.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  aye demo\n  aye demo --dir /tmp/play")]
pub struct Args {
    /// The scratch directory to make (absent or empty); a temporary directory otherwise.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A failure removes the temporary directory.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let story: Story = serde_yaml::from_str(include_str!("story.yaml"))
        .map_err(|error| Error::bug(format!("the story of the demonstration: {error}")))?;
    let temporary = tempfile::Builder::new().prefix("aye-demo-").tempdir();
    let temporary = temporary.map_err(|e| Error::io("make a temporary directory", &e))?;
    let top = args.dir.map_or(temporary.path().to_owned(), |dir| context.directory.join(dir));
    let root = scratch::make(&top, &story.files)?;
    let program = std::env::current_exe().map_err(|e| Error::io("find this program", &e))?;
    let aye = name(context, &program);
    let asks = context.interactive();
    let path = root.display().to_string();
    let ids = BTreeMap::new();
    let mut stage = Stage { context, root: &root, story: &story, program, quiet: false, ids };
    stage.say(Role::Plain, &format!("A small web shop in {path}; nothing else is touched."))?;
    stage.play(if asks { &story.asked } else { &story.told }, asks)?;
    stage.quiet = true;
    story.waiting.iter().try_for_each(|name| stage.propose(name))?;
    if top == temporary.path() {
        let _ = temporary.keep();
    }
    context.print(closing(&root, &aye).as_bytes())
}

/// `aye` if PATH finds this program, else its path. npm's launcher passes its own path as the
/// program's name.
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

fn closing(root: &Path, aye: &str) -> String {
    let path = shell::word(&root.display().to_string());
    let top = shell::word(&root.parent().unwrap_or(root).display().to_string());
    format!(
        "More proposals wait. Go on there:\n  \
         cd {path} && {aye} review\n  \
         {aye} help getting-started    # then, in a repository of your own: {aye} init\n  \
         rm -rf {top}    # when you have seen enough\n"
    )
}
