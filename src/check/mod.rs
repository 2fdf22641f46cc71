//! Read-only findings over pending proposals, staged changes and commits.

pub mod approvals;
mod causes;
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
mod requirement;
pub mod rules;
mod scope;
pub mod unsynced;

use crate::error::Error;
use crate::store::codes as store_codes;

pub use requirement::{Requirement, Requirements};
pub use rules::{Concern, FailOn};
pub use scope::Scope;

pub mod codes {
    crate::codes! {
        NO_EVENTS = "no_events", Usage, "no event has been fetched into this clone, so nothing can be checked";
    }
}

/// True if other threads can still be checked.
pub fn is_of_its_thread(error: &Error) -> bool {
    [&store_codes::THREAD_DAMAGED, &store_codes::THREAD_INCOMPLETE]
        .iter()
        .any(|code| error.is(code))
}
