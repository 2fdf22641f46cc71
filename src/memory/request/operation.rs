//! The eight operations and their fields.

use serde_json::{Map, Value};

use super::reader::{Reader, RequestText, texts};
use crate::memory::problem::{Problem, brief};
use crate::spelling::{did_you_mean, one_of};

/// Effect of `create_file` on an existing file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfExists {
    #[default]
    Reject,
    Append,
    Replace,
}

/// Effect of `replace_section` without such a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfMissing {
    #[default]
    Reject,
    Append,
    CreateFile,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Id(String),
    Heading {
        /// With or without `#` marks.
        text: String,
        /// From 1 to 6.
        level: Option<u8>,
        /// From 1, among equal headings.
        occurrence: Option<u32>,
    },
}

impl Target {
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Id(id) => Some(id),
            Self::Heading { .. } => None,
        }
    }
}

/// The format defines the variants. An absent level means the present one; the heading of a new
/// section is added unless the content begins with one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    CreateFile { content: String, if_exists: IfExists },
    ReplaceSection { target: Target, content: String, if_missing: IfMissing },
    AppendSection { heading: Heading, content: String, parent: Option<String> },
    AppendToSection { target: Target, content: String },
    ReplaceSectionContent { target: Target, content: String },
    ArchiveSection { target: Target, archive_path: String, replacement: String },
    RemoveSection { target: Target, archive_path: String, reason: Option<String> },
    RenameHeading { target: Target, heading: String, level: Option<u8> },
}

/// As far as given beside the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// With or without `#` marks.
    pub text: Option<String>,
    /// From 1 to 6.
    pub level: Option<u8>,
}

pub const OPERATIONS: [&str; 8] = [
    "create_file",
    "replace_section",
    "append_section",
    "append_to_section",
    "replace_section_content",
    "archive_section",
    "remove_section",
    "rename_heading",
];

impl Edit {
    pub fn archives(&self) -> bool {
        matches!(self, Self::ArchiveSection { .. } | Self::RemoveSection { .. })
    }

    /// Empty without new text.
    pub fn content(&self) -> &str {
        match self {
            Self::CreateFile { content, .. }
            | Self::ReplaceSection { content, .. }
            | Self::AppendSection { content, .. }
            | Self::AppendToSection { content, .. }
            | Self::ReplaceSectionContent { content, .. } => content,
            Self::ArchiveSection { .. }
            | Self::RemoveSection { .. }
            | Self::RenameHeading { .. } => "",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// As given; should be in [`OPERATIONS`].
    pub name: String,
    /// Relative to the store.
    pub path: String,
    /// `None` if unreadable.
    pub edit: Option<Edit>,
    /// All given texts, to be screened.
    pub texts: Vec<RequestText>,
}

impl Operation {
    /// An operation with problems has no edit.
    pub(super) fn read(i: usize, value: &Value, problems: &mut Vec<Problem>) -> Self {
        let nothing = Map::new();
        let map = value.as_object().unwrap_or(&nothing);
        let before = problems.len();
        let mut fields = Reader::new(map, Some(i), problems);
        if !value.is_object() {
            fields.wrong("", "an operation has to be an object", "{\"operation\": …, \"path\": …}");
        }
        let name = fields.text("operation").unwrap_or_default();
        // A session log may omit its path.
        let path = fields.text("path").unwrap_or_default();
        let edit = match name.as_str() {
            "create_file" => {
                let if_exists = fields.word("if_exists").unwrap_or_default();
                Some(Edit::CreateFile { content: fields.need("content"), if_exists })
            }
            "replace_section" => {
                let if_missing = fields.word("if_missing").unwrap_or_default();
                let (target, content) = (fields.target(), fields.need("content"));
                Some(Edit::ReplaceSection { target, content, if_missing })
            }
            "append_section" => {
                let (text, level) = (fields.text("heading"), fields.level("heading_level"));
                let (heading, content) = (Heading { text, level }, fields.need("content"));
                let parent = fields.text("parent_section_id");
                Some(Edit::AppendSection { heading, content, parent })
            }
            "append_to_section" => {
                let (target, content) = (fields.target(), fields.need("content"));
                Some(Edit::AppendToSection { target, content })
            }
            "replace_section_content" => {
                let (target, content) = (fields.target(), fields.need("content"));
                Some(Edit::ReplaceSectionContent { target, content })
            }
            "archive_section" => {
                let (target, archive_path) = (fields.target(), fields.need("archive_path"));
                let replacement = fields.need("replacement");
                Some(Edit::ArchiveSection { target, archive_path, replacement })
            }
            "remove_section" => {
                let (target, archive_path) = (fields.target(), fields.need("archive_path"));
                Some(Edit::RemoveSection { target, archive_path, reason: fields.text("reason") })
            }
            "rename_heading" => {
                let (target, heading) = (fields.target(), fields.need("new_heading"));
                let level = fields.level("new_heading_level");
                Some(Edit::RenameHeading { target, heading, level })
            }
            "" => {
                fields.wrong(
                    "operation",
                    "the operation is not named",
                    &one_of(OPERATIONS.into_iter()),
                );
                None
            }
            other => {
                let message = format!("'{}' is not an operation", brief(other));
                fields.wrong("operation", message, &did_you_mean(other, OPERATIONS.into_iter()));
                None
            }
        };
        if edit.is_some() {
            fields.refuse_others(&name);
        }
        let edit = edit.filter(|_| problems.len() == before);
        Self { name, path, edit, texts: texts(map, "") }
    }
}
