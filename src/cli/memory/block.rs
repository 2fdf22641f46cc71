//! The block for agents in AGENTS.md and CLAUDE.md.

use super::init::Initialized;
use crate::beneath::codes::SYMLINK;
use crate::changeset::codes;
use crate::changeset::{RepoPath, Snapshot as _};
use crate::cli::Context;
use crate::error::Result;
use crate::harness::guide;
use crate::memory::scaffold::with_block;
use crate::worktree::{Flush, Worktree};

/// What most agents read.
const AGENTS: &str = "AGENTS.md";

/// Claude's own, which may only lead to the other one.
const CLAUDE: &str = "CLAUDE.md";

/// Puts the block into AGENTS.md, and into CLAUDE.md where there is one of its own, or brings it up to
/// date there. A file that cannot be edited is named, and stays as it is.
///
/// # Errors
/// Those of writing.
pub fn keep(context: &Context, tree: &Worktree, done: &mut Initialized) -> Result<()> {
    let mut is_left = false;
    for name in [AGENTS, CLAUDE] {
        let path = RepoPath::new(name)?;
        let why = match tree.file(&path) {
            Ok(None) if name == CLAUDE => continue,
            Ok(old) => match std::str::from_utf8(old.as_ref().map_or(b"", |file| &file.bytes)) {
                Ok(text) if name == CLAUDE && text.contains("@AGENTS.md") => continue,
                Ok(text) => {
                    let new = with_block(text, guide::TEXT);
                    let mode = old.as_ref().map(|file| file.mode).unwrap_or_default();
                    let list = if text == new { &mut done.kept } else { &mut done.created };
                    let write = || tree.write_file(&path, new.as_bytes(), mode, Flush::Yes);
                    match if text == new { Ok(()) } else { write().map(drop) } {
                        Ok(()) => {
                            list.push(name.into());
                            continue;
                        }
                        Err(error) => error.message().to_owned(),
                    }
                }
                Err(_) => "it is not UTF-8".to_owned(),
            },
            Err(error) if error.is(&SYMLINK) => {
                if are_one(tree) {
                    done.kept.push(name.into());
                    continue;
                }
                "it is a symlink".to_owned()
            }
            Err(error) if error.is(&codes::FOLDER) => "it is a directory".to_owned(),
            Err(error) => error.message().to_owned(),
        };
        context.note(&format!("warning: {name} is left as it is: {why}"));
        done.kept.push(name.into());
        is_left = true;
    }
    if is_left {
        context.note("hint: `aye agents guide` prints what agents have to know; put it in by hand");
    }
    Ok(())
}

/// Whether both are the same file, by a symlink.
fn are_one(tree: &Worktree) -> bool {
    let end = |name: &str| std::fs::canonicalize(tree.root().join(name)).ok();
    end(AGENTS).is_some_and(|agents| end(CLAUDE) == Some(agents))
}
