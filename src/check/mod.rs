//! Read-only findings over pending proposals, staged changes and commits.

pub mod approvals;
pub mod commits;
pub mod conflict_check;
pub mod contained_proposals;
pub mod contested;
mod index_entries;
pub mod instructions;
pub mod marks;
pub mod merged_steps;
pub mod pending_findings;
pub mod pending_paths;
pub mod policy;
pub mod range;
pub mod relations;
mod renamed_covers;
pub mod rules;
mod scope;

use crate::error::Error;
use crate::store::codes;

pub use rules::{Concern, FailOn};
pub use scope::Scope;

/// True if other threads can still be checked.
pub fn is_of_its_thread(error: &Error) -> bool {
    [&codes::THREAD_DAMAGED, &codes::THREAD_INCOMPLETE].iter().any(|code| error.is(code))
}
