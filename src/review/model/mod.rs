//! A review as values: current position, decisions, results.
//!
//! [`Review`] splits one proposal into units that are decided one by one. [`Session`] walks several
//! proposals and records every step for undo. [`Answers`] outlive it. Nothing here reads a
//! terminal, a clock or a repository.

mod answers;
mod comment;
mod compose;
mod keys;
mod numbers;
mod review;
mod sections;
mod session;

pub use answers::{Answers, Intent};
pub use compose::rest;
pub use keys::{Facilities, Key};
pub use numbers::parse_numbers;
pub use review::{Decision, FileReview, Part, Quiet, Review, Unit};
pub use session::{Action, Refusal, Session, Slot, Ticket, Verdict};

#[cfg(test)]
mod tests;
