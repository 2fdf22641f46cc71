//! Git hooks: four scripts in the repository's own hooks directory.
//!
//! An earlier plain hook stays and runs first (`chain.rs`). A hook manager, `core.hooksPath` or
//! another hook leads to a refusal with the line to paste; nothing is written.

mod chain;
mod directory;
mod script;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use directory::{HookDirectory, HookState};

pub mod codes {
    crate::codes! {
        HOOKS_MANAGED = "hooks_managed", Refused, "a hook manager or core.hooksPath owns the repository's hooks";
        HOOK_NOT_OURS = "hook_not_ours", Refused, "a hook exists that aye cannot move";
    }
}

/// The hooks of aye.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Hook {
    /// Before a commit: `aye check --staged`.
    PreCommit,
    /// Adds the trailers of the proposals that the commit brings.
    CommitMsg,
    /// Records the commit on the proposals that its trailers name.
    PostCommit,
    /// Before a push: `aye check --range` over what is pushed.
    PrePush,
}

/// Files of a hooks directory with the names that they had without aye, and without git's samples.
pub fn others(directory: &Path) -> Vec<(PathBuf, OsString)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let other = |entry: std::fs::DirEntry| {
        let (path, name) = (entry.path(), entry.file_name());
        let text = name.to_str()?;
        if let Some(earlier) = text.strip_suffix(chain::SUFFIX) {
            return Some((path, earlier.into()));
        }
        let is_ours = || std::fs::read(&path).is_ok_and(|bytes| script::is_ours(&bytes));
        let is_plain = entry.file_type().is_ok_and(|kind| !kind.is_dir());
        (is_plain && !text.ends_with(".sample") && !is_ours()).then_some((path, name))
    };
    entries.filter_map(other).collect()
}

impl Hook {
    pub const ALL: [Self; 4] = [Self::PreCommit, Self::CommitMsg, Self::PostCommit, Self::PrePush];

    /// Git's file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::CommitMsg => "commit-msg",
            Self::PostCommit => "post-commit",
            Self::PrePush => "pre-push",
        }
    }

    /// The line for a hook of another's, which colleagues without aye may run too.
    pub fn line(self) -> String {
        format!("! command -v aye >/dev/null || aye hooks run {} \"$@\"", self.name())
    }
}
