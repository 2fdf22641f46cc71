//! What of a memory file is searched: the own text of each section, with what is known about it.

use crate::memory::markdown::{self, fields, lines};
use crate::memory::settings::Settings;

/// One searchable section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// File, relative to the store.
    pub path: String,
    /// Its category.
    pub category: String,
    /// Id of the marker, if it has one.
    pub section_id: Option<String>,
    /// Headings from the outermost down to its own, joined by ` > `.
    pub trail: String,
    /// Its own heading.
    pub heading: String,
    /// Line of the heading in the file, from 1.
    pub line: usize,
    /// Text under the heading, without children.
    pub body: String,
    /// `confirmed`, `inferred`, …, where a field says so.
    pub confidence: Option<String>,
    /// `active`, `superseded`, …, where a field says so.
    pub status: Option<String>,
    /// True where its own sources are not trusted.
    pub untrusted: bool,
}

/// The sections of the file at `path` worth finding: those with text of their own, and those
/// without children. A file without sections is one entry.
pub fn of_file(path: &str, text: &str, settings: &Settings) -> Vec<Entry> {
    let category = settings.schema.category(path).map_or("", |c| c.name.as_str()).to_owned();
    let document = markdown::parse(text);
    let first = document.sections.first().map_or(text.len(), |s| s.start());
    let mut entries = Vec::new();
    let preamble = text[document.start.min(first)..first].trim();
    if !preamble.is_empty() {
        entries.push(Entry {
            path: path.to_owned(),
            category: category.clone(),
            section_id: None,
            trail: path.to_owned(),
            heading: path.to_owned(),
            line: 1,
            body: preamble.to_owned(),
            confidence: None,
            status: None,
            untrusted: false,
        });
    }
    let mut at = 0;
    let mut line = 1;
    for i in 0..document.sections.len() {
        let section = &document.sections[i];
        line += lines::iter(&text[at..section.start()]).count();
        at = section.start();
        let body = document.own_body(i).trim();
        let leaf = document.sections.get(i + 1).is_none_or(|next| next.parent != Some(i));
        if body.is_empty() && !leaf {
            continue;
        }
        let found = fields::of_section(&document, i);
        let field = |name: &str| {
            found
                .iter()
                .find(|f| f.name == name)
                .map(|f| f.value.to_lowercase())
                .filter(|v| !v.is_empty())
        };
        let confidence = field("Confidence");
        let sources = field("Sources").or_else(|| field("Source")).unwrap_or_default();
        let untrusted = sources.contains("external")
            || sources.contains("http://")
            || sources.contains("https://")
            || sources.contains("inference");
        entries.push(Entry {
            path: path.to_owned(),
            category: category.clone(),
            section_id: section.id.clone(),
            trail: document.trail(i).join(" > "),
            heading: section.heading.clone(),
            line,
            body: body.to_owned(),
            confidence,
            status: field("Status"),
            untrusted,
        });
    }
    entries
}
