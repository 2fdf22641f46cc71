//! The read-only shell: a command an agent may run without asking, because it can change nothing.
//!
//! Three independent layers. The text is parsed by a strict reader of a small subset of POSIX
//! shell ([`syntax`]); every program, flag and operand must be on an include-list ([`policy`]);
//! and on Linux the kernel takes away every right to write, connect or start another program
//! ([`sandbox`]). No shell ever runs: argument lists are executed and connected here ([`mod@run`]).

pub mod access;
pub mod denied;
mod expand;
mod glob;
#[cfg(unix)]
mod groups;
mod history;
mod objects;
pub mod plan;
pub mod policy;
pub mod programs;
mod redact;
pub mod repository;
pub mod run;
pub mod sandbox;
pub mod steps;
pub mod syntax;
pub mod world;

use crate::error::Error;

pub use objects::NOT_ASKED;
pub use plan::{CommandPlan, plan};
pub use run::{Request, RunOutcome, is_same_file, run};
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
pub struct Refusal(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    message: String,
    hint: String,
    segment: String,
    position: Option<usize>,
    rule: String,
}

impl Refusal {
    /// A refusal with one sentence and what to write instead.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            message: message.into(),
            hint: hint.into(),
            segment: String::new(),
            position: None,
            rule: "policy".into(),
        }))
    }

    /// Names the part of the command it is about, unless one is named already.
    #[must_use]
    pub fn in_segment(mut self, segment: impl Into<String>) -> Self {
        if self.0.segment.is_empty() {
            self.0.segment = segment.into();
        }
        self
    }

    /// Names the position in the command text, in bytes, unless one is named already.
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        self.0.position.get_or_insert(position);
        self
    }

    /// Names the rule that decided.
    #[must_use]
    pub fn by(mut self, rule: impl Into<String>) -> Self {
        self.0.rule = rule.into();
        self
    }

    /// What is wrong, one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to write instead.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }

    /// The part of the command it is about.
    pub fn segment(&self) -> &str {
        &self.0.segment
    }

    /// Where that part begins, in bytes.
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }

    /// The rule that decided: `syntax`, `limit`, or a table of the policy file.
    pub fn rule(&self) -> &str {
        &self.0.rule
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let error = Error::new(&codes::COMMAND_NOT_ALLOWED, refusal.0.message)
            .hint(refusal.0.hint)
            .with("segment", refusal.0.segment)
            .with("rule", refusal.0.rule);
        match refusal.0.position {
            Some(position) => error.with("position", position),
            None => error,
        }
    }
}
