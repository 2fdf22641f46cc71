//! A review as values: what is shown next, what is decided, what results.
//!
//! [`Review`] is one proposal taken apart into units that can be decided one by one. [`Session`]
//! walks several of them, keeps every step so that it can be undone, and says what is to be
//! written at the end. [`Answers`] outlive it. Nothing here reads a terminal, a clock or a repository.

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
