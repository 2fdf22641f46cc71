//! Searchable sections of a memory file.

use serde::{Deserialize, Serialize};

use crate::memory::markdown::{self, fields, lines};
use crate::memory::settings::Settings;

/// One searchable section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Section {
    /// File, relative to the store.
    pub path: String,
    /// Section id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// The section's heading.
    pub heading: String,
    /// Headings down to the section, joined by ` > `.
    pub trail: String,
    /// Line of the heading, from 1.
    pub line: usize,
    /// Category of its file.
    pub category: String,
    /// Confidence that the section states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// Status that the section states: whether it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// True if the section rests on sources that are not trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    #[serde(skip)]
    #[schemars(skip)]
    pub body: String,
}

impl Section {
    /// True for superseded, deprecated and archived sections.
    pub fn is_stale(&self) -> bool {
        self.category == "archive"
            || matches!(self.status.as_deref(), Some("superseded" | "deprecated"))
    }
}

/// Sections with own text or without children, and text above the first heading.
pub fn of_file(path: &str, text: &str, settings: &Settings) -> Vec<Section> {
    let category = settings.schema.category(path).map_or("", |c| c.name.as_str());
    let document = markdown::parse(text);
    let first = document.sections.first().map_or(text.len(), |s| s.start());
    let of_it = || Section {
        path: path.to_owned(),
        category: category.to_owned(),
        line: 1,
        ..Section::default()
    };
    let mut found = Vec::new();
    let preamble = text[document.start.min(first)..first].trim();
    if !preamble.is_empty() {
        let (heading, trail) = (path.to_owned(), path.to_owned());
        found.push(Section { heading, trail, body: preamble.to_owned(), ..of_it() });
    }
    for (i, section) in document.sections.iter().enumerate() {
        let body = document.own_body(i).trim();
        let is_leaf = document.sections.get(i + 1).is_none_or(|next| next.parent != Some(i));
        if body.is_empty() && !is_leaf {
            continue;
        }
        let labelled = fields::of_section(&document, i);
        let field = |name: &str| {
            let found = labelled.iter().find(|field| field.name == name && !field.value.is_empty());
            found.map(|field| field.value.to_lowercase())
        };
        let sources = field("Sources").or_else(|| field("Source")).unwrap_or_default();
        let untrusted = ["external", "http://", "https://", "inference"];
        found.push(Section {
            section_id: section.id.clone(),
            trail: document.trail(i).join(" > "),
            heading: section.heading.clone(),
            line: lines::number_of(text, section.start()),
            confidence: field("Confidence"),
            status: field("Status").map(|status| first_word(&status)),
            untrusted: untrusted.iter().any(|word| sources.contains(word)),
            body: body.to_owned(),
            ..of_it()
        });
    }
    found
}

/// `superseded` of `superseded by #use-nats`.
fn first_word(text: &str) -> String {
    match text.split_once(|c: char| c.is_whitespace() || matches!(c, ',' | '(')) {
        Some((word @ ("superseded" | "deprecated"), _)) => word.to_owned(),
        _ => text.to_owned(),
    }
}
