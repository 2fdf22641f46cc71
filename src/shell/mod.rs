//! The read-only shell: commands that an agent may run without asking.
//!
//! The kernel is the guard. aye reads a text just far enough to find the programs it names
//! (`parser`), and refuses unlisted ones ([`list`]). Then the system's `sh` runs the text in a
//! sandbox that is in force before `sh` starts ([`sandbox`]). The sandbox forbids writing, unlisted
//! programs and the network, and limits reading to the repository and system files. Safety does not
//! depend on the list: a test runs every hostile command without it.

pub mod deny_list;
mod git;
mod groups;
pub mod list;
mod machine;
mod mask;
pub mod parser;
mod plan;
pub mod programs;
mod read_grants;
pub mod run;
pub mod sandbox;
mod without_landlock;

use crate::error::Error;

pub use git::places;
pub use machine::Machine;
pub use plan::{Plan, only_reads, plan};
pub use run::{Request, RunOutcome, run};

pub mod codes {
    crate::codes! {
        COMMAND_NOT_ALLOWED = "COMMAND_NOT_ALLOWED", Refused, "the read-only shell does not run this command; nothing ran";
        SANDBOX_REQUIRED = "sandbox_required", Refused, "aye.shellSandbox is `require`, and the kernel offers no sandbox";
    }
}

pub type Result<T> = std::result::Result<T, Refusal>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One sentence.
    pub message: String,
    pub hint: String,
    /// Byte offset.
    pub position: usize,
}

impl Refusal {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), position: 0 }
    }

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
