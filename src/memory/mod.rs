//! Project memory: manifest, schema, Markdown sections, operations, provenance, routing, search.
//!
//! The layout under `.agent-memory/` is that of the public agent-memory project (v0.5), so a
//! store written by either works with both. Everything here but [`search`] is pure: it takes
//! bytes and values and returns bytes and values.

pub mod markdown;
