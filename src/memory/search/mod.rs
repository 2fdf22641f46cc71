//! Full-text search over memory, ranked by SQLite's FTS5.
//!
//! The index is disposable. Every query compares it with the files, so edits, pulls and checkouts
//! are seen at once.

mod index;
mod query;
pub mod sections;
pub mod synonyms;

use serde::Serialize;

pub use index::{FileStamp, Index};
pub use query::Query;
pub use synonyms::Synonyms;

use self::sections::Section;

#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// Empty for the pack at start.
    pub query: String,
    /// Paths or module names to prefer.
    pub scope: Vec<String>,
    /// Categories; empty for all.
    pub include: Vec<String>,
    pub exclude_archive: bool,
    /// Characters; the manifest's budget otherwise.
    pub budget: Option<usize>,
}

impl SearchRequest {
    pub fn includes(&self, category: &str) -> bool {
        !(self.exclude_archive && category == "archive")
            && (self.include.is_empty() || self.include.iter().any(|name| name == category))
    }
}

/// A section that answers.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Hit {
    /// The section.
    #[serde(flatten)]
    pub section: Section,
    /// How well the section answers; comparable within one answer only.
    pub score: f64,
    /// Text around the words, on one line.
    pub snippet: String,
}

impl std::ops::Deref for Hit {
    type Target = Section;

    fn deref(&self) -> &Section {
        &self.section
    }
}

/// Separates characters of scripts without word spaces, for FTS5.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unspaced(c) {
            out.push(' ');
        }
        out.push(c);
        if is_unspaced(c) {
            out.push(' ');
        }
    }
    out
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{303f}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
