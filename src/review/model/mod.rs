//! A review as values: what is shown next, what is decided, what results.
//!
//! [`Review`] is one proposal taken apart into units that can be decided one by one. [`Session`]
//! walks several of them, keeps every step so that it can be undone, and says what is to be
//! written at the end. [`Staged`] is a review on disk between two sessions. Nothing here reads a
//! terminal, a clock or a repository.

mod comment;
mod compose;
mod keys;
mod numbers;
mod place;
mod queue;
mod review;
mod sections;
mod session;
mod staged;

pub use comment::DraftComment;
pub use compose::rest;
pub use keys::{Facilities, Key};
pub use numbers::parse_numbers;
pub use queue::{Ticket, queue};
pub use review::{Decision, FileReview, Part, Quiet, Review, Unit};
pub use session::{Action, Refusal, ReviewOutcome, Session, Slot, Verdict};
pub use staged::{Staged, StagedUnit};

#[cfg(test)]
mod tests;
