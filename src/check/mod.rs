//! Read-only findings over pending proposals, staged changes and commits.

pub mod approved;
pub mod brought;
pub mod commits;
pub mod contested;
pub mod fit;
pub mod instructions;
pub mod marks;
pub mod merged;
mod moved;
pub mod policy;
pub mod range;
pub mod relations;
pub mod rules;
mod scope;
pub mod touched;
pub mod undecided;
mod unmoved;

use crate::error::Error;
use crate::store::codes;

pub use rules::{Concern, FailOn};
pub use scope::Scope;

/// True if other threads can still be checked.
pub fn is_of_its_thread(error: &Error) -> bool {
    [&codes::THREAD_DAMAGED, &codes::THREAD_INCOMPLETE].iter().any(|code| error.is(code))
}
