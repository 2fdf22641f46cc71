//! The apply journal.
