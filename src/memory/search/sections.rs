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
    /// True for the section that all others of its file lie in.
    pub is_top: bool,
    /// Ids of sections that it takes the place of.
    pub supersedes: Vec<String>,
    /// Ids of sections that take its place.
    pub superseded_by: Vec<String>,
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
            is_top: false,
            supersedes: Vec::new(),
            superseded_by: Vec::new(),
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
        let ids = |names: &[&str]| -> Vec<String> {
            let named =
                found.iter().filter(|f| names.iter().any(|n| f.name.eq_ignore_ascii_case(n)));
            let mut ids: Vec<String> = named.flat_map(|f| ids_in(f.value)).collect();
            if names[0] == "Superseded by" {
                // `Status: superseded by #use-nats`
                let status = found.iter().filter(|f| f.name == "Status");
                let tail =
                    |value: &'_ str| value.to_ascii_lowercase().find(" by ").map(|at| at + 4);
                ids.extend(
                    status.flat_map(|f| tail(f.value).map(|at| ids_in(&f.value[at..]))).flatten(),
                );
            }
            ids
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
            status: field("Status").map(|status| first_word(&status)),
            untrusted,
            is_top: section.level == 1 && i == 0 && document.sections.len() > 1,
            supersedes: ids(&["Supersedes", "Replaces"]),
            superseded_by: ids(&["Superseded by", "Superseded-by", "Replaced by", "Replaced-by"]),
        });
    }
    entries
}

/// Ids in a field's value: `use-nats`, `decisions.md#use-nats, other`, `[NATS](#use-nats)`.
fn ids_in(value: &str) -> Vec<String> {
    let words = value
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '[' | ']' | '`'));
    let words = words.filter(|word| !word.is_empty());
    words.map(|word| word.rsplit_once('#').map_or(word, |(_, id)| id).to_owned()).collect()
}

/// `superseded` of `superseded by #use-nats`.
fn first_word(text: &str) -> String {
    match text.split_once(|c: char| c.is_whitespace() || matches!(c, ',' | '(')) {
        Some((word @ ("superseded" | "deprecated"), _)) => word.to_owned(),
        _ => text.to_owned(),
    }
}
