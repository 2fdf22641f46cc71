//! aye, the write gate between coding agents and a git repository.
//!
//! `ARCHITECTURE.md` maps the modules. Clock, environment and terminal are read in `cli` alone.

#![cfg_attr(without_sources, doc(html_no_source))]

#[cfg(not(unix))]
compile_error!("aye needs a Unix system; on Windows, build and run it inside of WSL");

pub mod acp;
pub mod actor;
pub mod app;
pub mod apply;
pub mod beneath;
pub mod changeset;
pub mod check;
pub mod cli;
mod database;
pub mod decide;
pub mod error;
pub mod failpoint;
mod flush;
pub mod git;
pub mod harness;
pub mod hooks;
pub mod mcp;
pub mod memory;
mod obstacle;
pub mod plan;
mod private;
mod process_wait;
pub mod prompt;
pub mod proposal;
pub mod render;
pub mod report;
pub mod repository;
pub mod review;
pub mod scan;
pub mod secrets;
pub mod session;
mod sha256;
pub mod shell;
mod spelling;
pub mod store;
pub mod sync;
pub mod text;
pub mod tools;
mod words;
pub mod worktree;
