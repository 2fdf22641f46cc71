//! Text tables, diffs, JSON and YAML, and the escaping of untrusted text.

pub mod escape;
pub mod report;
