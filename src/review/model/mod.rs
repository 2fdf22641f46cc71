//! A review as values: current position, decisions, results.
//!
//! [`Review`] splits one proposal into units that are decided one by one. `ReviewSession` walks several
//! proposals and records every step for undo. [`Queue`] lists these. `SavedAnswers` outlive it. Nothing here reads a
//! terminal, a clock or a repository.

mod answers;
mod comment;
mod compose;
mod legend;
mod numbers;
mod queue;
mod review;
mod sections;
mod session;

pub use answers::{Intent, SavedAnswers, SavedDecision};
pub use compose::rest;
pub use legend::Facilities;
pub use numbers::parse_numbers;
pub use queue::{Queue, QueueLine, Sort};
pub use review::{Decision, FileReview, FoldedFiles, Review, Unit, UnitKey, UnitKind};
pub use session::{Action, QueuedProposal, Refusal, ReviewSession, ReviewSlot, Verdict};

#[cfg(test)]
mod tests;
