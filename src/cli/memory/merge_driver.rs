//! `aye memory merge-driver`.

use std::path::PathBuf;

use bstr::ByteSlice as _;

use super::driver;
use super::init::with_lines;
use crate::changeset::{Mode, Snapshot as _};
use crate::cli::Context;
use crate::error::{Error, Exit, Result, codes};
use crate::memory::disk::repo_path;
use crate::memory::merge::{Labels, merge};
use crate::memory::plan::index_page;
use crate::memory::scaffold::GITATTRIBUTES;
use crate::store::Store;
use crate::worktree::Flush;

/// Merge memory files by section. Git calls it with three files and a path; --install tells it to.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory merge-driver --install
  aye memory merge-driver %O %A %B %P     # what git is told to run

Exit status: 0 merged, 1 conflicts were left in the file.")]
pub struct Args {
    /// Install it in this clone, for the files of .agent-memory/.
    #[arg(long, conflicts_with_all = ["base", "ours", "theirs", "path", "uninstall"])]
    pub install: bool,
    /// Take it out of this clone's configuration.
    #[arg(long)]
    pub uninstall: bool,
    /// The common ancestor (%O).
    #[arg(value_name = "BASE", required_unless_present_any = ["install", "uninstall"])]
    pub base: Option<PathBuf>,
    /// Our version (%A); the result is written there.
    #[arg(value_name = "OURS", required_unless_present_any = ["install", "uninstall"])]
    pub ours: Option<PathBuf>,
    /// Their version (%B).
    #[arg(value_name = "THEIRS", required_unless_present_any = ["install", "uninstall"])]
    pub theirs: Option<PathBuf>,
    /// Where the result will be (%P).
    #[arg(value_name = "PATH")]
    pub path: Option<String>,
    /// Length of conflict markers (%L).
    #[arg(long, default_value_t = 7, value_name = "N")]
    pub marker_size: usize,
}

/// Runs the command.
///
/// # Errors
/// Those of the files; git then reports a conflict.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.install || args.uninstall {
        let store = context.store_here()?;
        if args.install {
            install(&store)?;
            context.note("installed: git merges .agent-memory/**/*.md by section in this clone");
        } else {
            driver::uninstall(&store)?;
            context.note("taken out of this clone's configuration");
        }
        return Ok(Exit::Done);
    }
    let (Some(base), Some(ours), Some(theirs)) = (&args.base, &args.ours, &args.theirs) else {
        return Err(Error::new(&codes::USAGE, "three files are needed")
            .hint("git calls it with %O %A %B; `aye memory merge-driver --install` sets that up"));
    };
    let read = |path: &PathBuf| {
        let path = context.directory.join(path);
        let bytes = std::fs::read(&path)
            .map_err(|error| Error::io(format_args!("read {}", path.display()), &error))?;
        String::from_utf8(bytes).map_err(|_| {
            Error::new(&codes::INVALID_UTF8, format!("{} is not UTF-8", path.display()))
                .hint("memory files are UTF-8; settle this one by hand")
        })
    };
    let (b, o, t) = (read(base)?, read(ours)?, read(theirs)?);
    // A generated page is ours; the next change of memory makes it anew.
    let generated = args.path.as_deref().is_some_and(|path| path.ends_with(index_page::PATH));
    if generated {
        return Ok(Exit::Done);
    }
    let size = args.marker_size.clamp(1, 100);
    let merged = merge(&b, &o, &t, Labels { size, ..Labels::default() });
    let path = context.directory.join(ours);
    std::fs::write(&path, merged.text)
        .map_err(|error| Error::io(format_args!("write {}", path.display()), &error))?;
    for name in &merged.conflicts {
        let shown = args.path.as_deref().unwrap_or_default();
        context.note(&format!(
            "conflict in {}#{}",
            crate::text::escape::line(shown),
            crate::text::escape::line(name)
        ));
    }
    Ok(if merged.conflicts.is_empty() { Exit::Done } else { Exit::Negative })
}

/// Tells git to call this program, in this clone, and which files it is for.
///
/// # Errors
/// Those of git and of the work tree.
pub fn install(store: &Store) -> Result<()> {
    driver::install(store)?;
    let tree = store.worktree()?;
    let path = repo_path(".gitattributes")?;
    let old = tree.file(&path)?.map(|file| file.bytes).unwrap_or_default();
    if !old.lines().any(|line| line.trim() == GITATTRIBUTES.trim().as_bytes()) {
        tree.write_file(&path, &with_lines(&old, GITATTRIBUTES), Mode::Regular, Flush::Yes)?;
    }
    Ok(())
}
