//! Text tables, diffs, JSON and YAML, and the escaping of untrusted text.

pub mod age;
pub mod diff;
pub mod escape;
pub mod lookalike;
pub mod report;
pub mod style;
pub mod syntax;
pub mod table;
pub mod width;
pub mod yaml;
