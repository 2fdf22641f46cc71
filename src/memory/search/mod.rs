//! Full-text search over memory: leaf sections with their heading trail, ranked by weighted BM25.
//!
//! The index is a disposable SQLite file that follows the files: every query compares what is on
//! disk with what was indexed, so hand edits, pulls and branch switches are seen at once.

pub mod analyse;
mod index;
pub mod query;
mod rank;
pub mod sections;
pub mod synonyms;

pub use index::{Index, Seen};
pub use query::Query;
pub use rank::{Boosts, Hit};
pub use synonyms::Synonyms;
