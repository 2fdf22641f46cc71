//! What aye does, from the outside: the real binary in real repositories, a module for each subject.
//!
//! One program, because linking one for each subject took longer than running them all;
//! `cargo test --test it list::` runs one of them.

#![cfg(unix)]

#[path = "../support/mod.rs"]
mod support;

mod agent_session;
mod apply;
mod approve;
mod audiences;
mod bad_input;
mod changes_tool;
mod check;
mod completion;
mod concurrency;
mod conversions;
mod decisions;
mod decisions_property;
mod deinit;
mod demo;
mod dependencies;
mod discovery;
mod doctor;
mod documents;
mod environments;
mod epochs;
mod expiry;
mod format;
mod four_clones;
mod fuzz_targets;
mod generated;
mod hooks;
mod hostile_lanes;
mod hostile_private;
mod identity;
mod import;
mod init;
mod lanes;
mod list;
mod log;
mod memory;
mod memory_codes;
mod memory_concurrency;
mod memory_day;
mod memory_gate;
mod memory_git;
mod memory_history;
mod memory_reading;
mod memory_retrieval;
mod memory_terminal;
mod merge;
mod old_version;
mod patch;
mod patch_commits;
mod patch_differential;
mod patch_foreign;
mod patch_odd_text;
mod patch_repeated;
mod patch_tools;
mod plan;
mod policy;
mod propose;
mod propose_sources;
mod purge;
mod replay;
mod review;
mod review_day;
mod review_memory;
mod review_shown;
mod rules;
mod scan;
mod scan_proposals;
mod scanner_evaluation;
mod schemas;
mod shell;
mod shell_corpus;
mod show;
mod statements;
mod store;
mod support_itself;
mod tools;
mod trials;
mod upkeep;
mod usage;
mod wait;
