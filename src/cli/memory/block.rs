//! The block for agents in AGENTS.md and CLAUDE.md: put in, and taken out again.

use bstr::ByteSlice as _;

use super::init::Initialized;
use crate::beneath::codes::SYMLINK;
use crate::changeset::codes;
use crate::changeset::{File, RepoPath, Snapshot as _};
use crate::cli::Context;
use crate::cli::agents;
use crate::error::Result;
use crate::harness::guide;
use crate::memory::scaffold::{is_edited, with_block, without_block};
use crate::repository::Repository;
use crate::worktree::{Flush, Worktree};

/// What most agents read.
const AGENTS: &str = "AGENTS.md";

/// Claude's own, which may only lead to the other one.
const CLAUDE: &str = "CLAUDE.md";

/// Puts the block into AGENTS.md, and into CLAUDE.md where there is one of its own. A file that cannot be edited, or
/// that has another block, is named, and stays as it is.
///
/// # Errors
/// None but bugs.
pub fn keep(context: &Context, tree: &Worktree, done: &mut Initialized) -> Result<()> {
    let mut is_left = false;
    for name in [AGENTS, CLAUDE] {
        match put(tree, name)? {
            Outcome::NotOwn => {}
            Outcome::Written => done.created.push(name.into()),
            Outcome::Kept => done.kept.push(name.into()),
            Outcome::Left(why) => {
                context.note(&format!("warning: {name} is left as it is: {why}"));
                done.kept.push(name.into());
                is_left = true;
            }
        }
    }
    if is_left {
        context.note("hint: `aye agents guide` prints what agents have to know; put it in by hand");
    }
    Ok(())
}

/// What became of a file.
enum Outcome {
    /// Nobody keeps a file of this name, or it only leads to the other one.
    NotOwn,
    /// It has the block now.
    Written,
    /// It has the block already, or is the other one.
    Kept,
    /// It cannot be edited, and why.
    Left(String),
}

fn put(tree: &Worktree, name: &str) -> Result<Outcome> {
    let path = RepoPath::new(name)?;
    let old = match tree.file(&path) {
        Ok(old) => old,
        Err(error) if error.is(&SYMLINK) && are_one(tree) => return Ok(Outcome::Kept),
        Err(error) if error.is(&SYMLINK) => return Ok(Outcome::Left("it is a symlink".into())),
        Err(error) if error.is(&codes::DIRECTORY) => {
            return Ok(Outcome::Left("it is a directory".into()));
        }
        Err(error) => return Ok(Outcome::Left(error.message().into())),
    };
    if name == CLAUDE && old.is_none() {
        return Ok(Outcome::NotOwn);
    }
    let (bytes, mode) = old.map(|file| (file.bytes, file.mode)).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Ok(Outcome::Left("it is not UTF-8".into()));
    };
    if name == CLAUDE && text.contains("@AGENTS.md") {
        return Ok(Outcome::NotOwn);
    }
    if is_edited(text, guide::TEXT) {
        return Ok(Outcome::Left(
            "the block between its markers is another one; without it, `aye init --agents` puts this one in".into(),
        ));
    }
    let new = with_block(text, guide::TEXT);
    if text == new {
        return Ok(Outcome::Kept);
    }
    Ok(match tree.write_file(&path, new.as_bytes(), mode, Flush::Yes) {
        Ok(_) => Outcome::Written,
        Err(error) => Outcome::Left(error.message().into()),
    })
}

/// The files of the work tree that have the block.
#[derive(Debug, Default)]
pub struct Blocks {
    /// It is taken out of these, and what is left.
    taken: Vec<(&'static str, RepoPath, File)>,
    /// Git tracks these, and they hold nothing else.
    pub tracked: Vec<&'static str>,
    /// It is not as this version writes it.
    pub edited: Vec<&'static str>,
}

impl Blocks {
    /// Looks for them.
    ///
    /// # Errors
    /// Those of git.
    pub fn find(repository: &Repository) -> Result<Self> {
        let mut blocks = Self::default();
        if repository.work_dir().is_none() {
            return Ok(blocks);
        }
        let tree = repository.worktree()?;
        for name in [AGENTS, CLAUDE] {
            let path = RepoPath::new(name)?;
            // What cannot be read is not what `init` has written: a symlink, a directory.
            let Ok(Some(mut file)) = tree.file(&path) else { continue };
            let Ok(text) = std::str::from_utf8(&file.bytes) else { continue };
            let left = without_block(text);
            if left == text {
                continue;
            }
            if with_block(text, guide::TEXT) != text {
                blocks.edited.push(name);
            } else if left.trim().is_empty() && agents::is_tracked(repository, &path.to_path())? {
                blocks.tracked.push(name);
            } else {
                file.bytes = left.into();
                blocks.taken.push((name, path, file));
            }
        }
        Ok(blocks)
    }

    /// The names of the files that it is taken out of.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.taken.iter().map(|(name, ..)| *name)
    }

    /// Takes it out; a file goes that holds nothing else.
    ///
    /// # Errors
    /// Those of the work tree.
    pub fn take_out(&self, repository: &Repository) -> Result<()> {
        for (_, path, file) in &self.taken {
            let tree = repository.worktree()?;
            if file.bytes.trim().is_empty() {
                tree.remove_file(path)?;
            } else {
                tree.write_file(path, &file.bytes, file.mode, Flush::Yes)?;
            }
        }
        Ok(())
    }
}

/// Whether both are the same file, by a symlink.
fn are_one(tree: &Worktree) -> bool {
    let end = |name: &str| std::fs::canonicalize(tree.root().join(name)).ok();
    end(AGENTS).is_some_and(|agents| end(CLAUDE) == Some(agents))
}
