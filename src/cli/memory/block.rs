//! The block for agents in AGENTS.md and CLAUDE.md.

use bstr::ByteSlice as _;

use super::init::ScaffoldOutcome;
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

const AGENTS: &str = "AGENTS.md";

/// Claude's own file may be a link to the other one.
const CLAUDE: &str = "CLAUDE.md";

/// A file that cannot be edited, or has another block, stays, with a note.
pub fn write_blocks(context: &Context, tree: &Worktree, done: &mut ScaffoldOutcome) -> Result<()> {
    let mut is_left = false;
    for name in [AGENTS, CLAUDE] {
        match put(tree, name)? {
            BlockOutcome::NotOwn => {}
            BlockOutcome::Written => done.created.push(name.into()),
            BlockOutcome::Kept => done.kept.push(name.into()),
            BlockOutcome::Left(why) => {
                context.note(&format!("warning: {name} is left as it is: {why}"));
                done.kept.push(name.into());
                is_left = true;
            }
        }
    }
    if is_left {
        context.note("hint: `aye agents guide` prints the text for agents; insert it by hand");
    }
    Ok(())
}

enum BlockOutcome {
    /// The file is missing, or leads to the other one.
    NotOwn,
    Written,
    /// The block is there, or the file is the other one.
    Kept,
    Left(String),
}

fn put(tree: &Worktree, name: &str) -> Result<BlockOutcome> {
    let path = RepoPath::new(name)?;
    let old = match tree.file(&path) {
        Ok(old) => old,
        Err(error) if error.is(&SYMLINK) && are_one(tree) => return Ok(BlockOutcome::Kept),
        Err(error) if error.is(&SYMLINK) => {
            return Ok(BlockOutcome::Left("it is a symlink".into()));
        }
        Err(error) if error.is(&codes::DIRECTORY) => {
            return Ok(BlockOutcome::Left("it is a directory".into()));
        }
        Err(error) => return Ok(BlockOutcome::Left(error.message().into())),
    };
    if name == CLAUDE && old.is_none() {
        return Ok(BlockOutcome::NotOwn);
    }
    let (bytes, mode) = old.map(|file| (file.bytes, file.mode)).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Ok(BlockOutcome::Left("it is not UTF-8".into()));
    };
    if name == CLAUDE && text.contains("@AGENTS.md") {
        return Ok(BlockOutcome::NotOwn);
    }
    if is_edited(text, guide::TEXT) {
        return Ok(BlockOutcome::Left(
            "the block between its markers is another one; without it, `aye init --agents` puts this one in".into(),
        ));
    }
    let new = with_block(text, guide::TEXT);
    if text == new {
        return Ok(BlockOutcome::Kept);
    }
    Ok(match tree.write_file(&path, new.as_bytes(), mode, Flush::Yes) {
        Ok(_) => BlockOutcome::Written,
        Err(error) => BlockOutcome::Left(error.message().into()),
    })
}

#[derive(Debug, Default)]
pub struct Blocks {
    taken: Vec<(&'static str, RepoPath, File)>,
    /// Git tracks these files, which hold nothing else.
    pub tracked: Vec<&'static str>,
    /// The block is not as this version writes it.
    pub edited: Vec<&'static str>,
}

impl Blocks {
    pub fn find(repository: &Repository) -> Result<Self> {
        let mut blocks = Self::default();
        if repository.work_dir().is_none() {
            return Ok(blocks);
        }
        let tree = repository.worktree()?;
        for name in [AGENTS, CLAUDE] {
            let path = RepoPath::new(name)?;
            // `init` writes no symlink or directory.
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

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.taken.iter().map(|(name, ..)| *name)
    }

    pub fn remove(&self, repository: &Repository) -> Result<()> {
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

/// True if a symlink makes both one file.
fn are_one(tree: &Worktree) -> bool {
    let end = |name: &str| std::fs::canonicalize(tree.root().join(name)).ok();
    end(AGENTS).is_some_and(|agents| end(CLAUDE) == Some(agents))
}
