//! Full-text search over memory: leaf sections with their heading trail, ranked by SQLite's FTS5.
//!
//! The index is a disposable SQLite file that follows the files: every query compares what is on
//! disk with what was indexed, so hand edits, pulls and branch switches are seen at once.

mod index;
mod query;
pub mod sections;
pub mod synonyms;

use serde::Serialize;

pub use index::{FileStamp, Index};
pub use query::Query;
pub use synonyms::Synonyms;

use self::sections::Section;

/// What a reader asks for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The question; empty for the pack to start with.
    pub query: String,
    /// Paths or module names to prefer.
    pub scope: Vec<String>,
    /// Only these categories; empty for all.
    pub include: Vec<String>,
    /// Leave the archive out.
    pub exclude_archive: bool,
    /// Characters; the manifest's budget otherwise.
    pub budget: Option<usize>,
}

impl Ask {
    /// Whether sections of `category` may answer.
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
    /// How well it answers; comparable within one answer only.
    pub score: f64,
    /// Where the words stand, on one line.
    pub snippet: String,
}

impl std::ops::Deref for Hit {
    type Target = Section;

    fn deref(&self) -> &Section {
        &self.section
    }
}

/// `text` as FTS5 finds the words in it: a space between the characters of scripts that have none
/// between words.
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

/// Characters of scripts written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{303f}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
