//! The read-only shell: a command an agent may run without asking, because it can change nothing.
//!
//! The kernel is the guard. A text is read just far enough to see which programs it names ([`text`]), and is refused if one is
//! not on the list ([`list`]). Then the system's own `sh` runs it, in a sandbox that is in force before `sh` starts
//! ([`sandbox`]): it writes nothing, starts nothing else, reaches nobody, and reads the repository and the
//! system's own files. No rule of the front is needed for that: a test runs every hostile command without it.

pub mod denied;
mod git;
mod groups;
pub mod list;
mod mask;
mod plain;
mod plan;
pub mod programs;
mod reads;
pub mod run;
pub mod sandbox;
pub mod text;
mod world;

use crate::error::Error;

pub use git::places;
pub use plan::{Plan, plan};
pub use run::{Request, RunOutcome, run};
pub use world::World;

/// Error codes of the read-only shell.
pub mod codes {
    crate::codes! {
        COMMAND_NOT_ALLOWED = "COMMAND_NOT_ALLOWED", Refused, "the read-only shell does not run this command; nothing was run";
        SANDBOX_REQUIRED = "sandbox_required", Refused, "aye.shellSandbox is `require` and the kernel offers no sandbox";
    }
}

/// Result of everything that may refuse a command.
pub type Result<T> = std::result::Result<T, Refusal>;

/// Why a command is not run, where in it, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, one sentence.
    pub message: String,
    /// What to write instead.
    pub hint: String,
    /// Where the part begins that is refused, in bytes.
    pub position: usize,
}

impl Refusal {
    /// A refusal of the whole command, with one sentence and what to write instead.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), position: 0 }
    }

    /// Names the position in the command text, in bytes.
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        self.position = position;
        self
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let Refusal { message, hint, position } = refusal;
        Error::new(&codes::COMMAND_NOT_ALLOWED, message).hint(hint).with("position", position)
    }
}
