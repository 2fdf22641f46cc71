//! Git hooks: four scripts in the repository's own directory of hooks.
//!
//! A plain hook that is there already stays and is run first (`chain.rs`). Where a hook manager or `core.hooksPath` has
//! the hooks, or a hook is none to be moved, nothing is written: the refusal has the line to paste.

mod chain;
mod place;
mod script;

pub use place::{Place, State};

/// Error codes of the hooks.
pub mod codes {
    crate::codes! {
        HOOKS_MANAGED = "hooks_managed", Refused, "a hook manager or core.hooksPath has the repository's hooks";
        HOOK_NOT_OURS = "hook_not_ours", Refused, "a hook is there that aye does not move";
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

impl Hook {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::PreCommit, Self::CommitMsg, Self::PostCommit, Self::PrePush];

    /// Git's name for it: its file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::CommitMsg => "commit-msg",
            Self::PostCommit => "post-commit",
            Self::PrePush => "pre-push",
        }
    }

    /// The line of a shell script that runs it.
    pub fn line(self) -> String {
        format!("aye hooks run {} \"$@\"", self.name())
    }
}
