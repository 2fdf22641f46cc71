//! Git hooks: four scripts in the repository's own hooks directory.
//!
//! An earlier plain hook stays and runs first (`chain.rs`). A hook manager, `core.hooksPath` or
//! another hook leads to a refusal with the line to paste; nothing is written.

mod chain;
mod directory;
mod script;

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

    pub fn line(self) -> String {
        format!("aye hooks run {} \"$@\"", self.name())
    }
}
