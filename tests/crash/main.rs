//! The process is stopped, or a write fails, at each step (`src/failpoint.rs`): nothing that was
//! acknowledged is lost, and nothing is half written.

#![cfg(all(unix, debug_assertions))]

#[path = "../support/mod.rs"]
mod support;

mod commit_whole;
mod journal;
mod memory;
mod purge;
mod store;
mod sync;
