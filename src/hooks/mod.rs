//! Git hooks: the scripts aye installs, and how it does so beside what is there already.
//!
//! An existing hook is never edited: it moves aside under its own name, is run first by ours, and
//! moves back on uninstall. Where a hook manager owns the directory, nothing is installed and the
//! error says what to add to the manager's own configuration; but for a pre-push hook beside that of
//! the pre-commit framework, which cannot see all of a push.

pub mod install;
pub mod kept;
pub mod managers;
pub mod place;
pub mod script;

use serde::Serialize;

pub use install::{
    InstallOutcome, State, install, is_installed, moved, require_room, require_unedited,
    runs_another, runs_chained, state, uninstall,
};
pub use managers::Manager;
pub use place::{Place, obstacle};
pub use script::Setting;

/// Error codes of the hooks.
pub mod codes {
    crate::codes! {
        HOOKS_MANAGED = "hooks_managed", Refused, "a hook manager owns the repository's hooks";
        HOOKS_SHARED = "hooks_shared", Refused, "the hooks directory is shared by all of the user's repositories";
        HOOKS_OFF = "hooks_off", Refused, "git is configured to run no hooks here";
        HOOK_CHANGED = "hook_changed", Conflict, "a hook that aye installed was edited since";
        HOOK_IN_THE_WAY = "hook_in_the_way", Conflict, "a file stands where the earlier hook would be kept";
    }
}

/// The hooks aye knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// Before a commit: `aye check --staged`.
    PreCommit,
    /// Before a push: `aye check --range` over what is pushed.
    PrePush,
    /// Adds the trailers of proposals applied since HEAD.
    PrepareCommitMsg,
    /// Takes them back where nothing else was written, so that git gives the commit up.
    CommitMsg,
    /// Records the new commit on them.
    PostCommit,
}

impl Hook {
    /// All of them, in the order of listing.
    pub const ALL: [Self; 5] =
        [Self::PreCommit, Self::PrePush, Self::PrepareCommitMsg, Self::CommitMsg, Self::PostCommit];

    /// Git's name for it: its file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PrePush => "pre-push",
            Self::PrepareCommitMsg => "prepare-commit-msg",
            Self::CommitMsg => "commit-msg",
            Self::PostCommit => "post-commit",
        }
    }

    /// When the hook that was there before runs.
    pub fn when_chained(self) -> &'static str {
        match self {
            Self::CommitMsg => "after it",
            _ => "first",
        }
    }
}

#[cfg(test)]
mod tests;
