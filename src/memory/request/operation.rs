//! The eight operations: what each takes, and how that is read.

use serde_json::{Map, Value};

use super::reader::{Reader, Text, texts};
use crate::memory::problem::{Problem, brief};
use crate::spelling::{did_you_mean, one_of};

/// What `create_file` does where there is a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfExists {
    #[default]
    Reject,
    Append,
    Replace,
}

/// What `replace_section` does where there is no such section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfMissing {
    #[default]
    Reject,
    Append,
    CreateFile,
}

/// Which section of the file is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The one with this id.
    Id(String),
    /// One with this heading.
    Heading {
        /// Its text, with or without the `#` marks.
        text: String,
        /// Its level, from 1 to 6.
        level: Option<u8>,
        /// Which of several, from 1.
        occurrence: Option<u32>,
    },
}

impl Target {
    /// The id, where the section is meant by it.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Id(id) => Some(id),
            Self::Heading { .. } => None,
        }
    }
}

/// What an operation does to its file. The variants are the words of the format. A level that is not
/// given is the present one; the heading of a new section is put above a content that begins with none.
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

/// The heading of a new section, as far as it is given beside its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// With or without the `#` marks.
    pub text: Option<String>,
    /// From 1 to 6.
    pub level: Option<u8>,
}

/// The names of the operations.
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
    /// True for the two that move a section into the archive.
    pub fn archives(&self) -> bool {
        matches!(self, Self::ArchiveSection { .. } | Self::RemoveSection { .. })
    }

    /// The new text of the file; empty where there is none.
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

/// One edit of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Which of [`OPERATIONS`], as it was given.
    pub name: String,
    /// The file, relative to the store.
    pub path: String,
    /// What is done to it; `None` where that cannot be read.
    pub edit: Option<Edit>,
    /// All texts that were given, to be screened whatever they are.
    pub texts: Vec<Text>,
}

impl Operation {
    /// Reads operation `i`. Every fault of its form goes to `problems`; with one it has no edit.
    pub(super) fn read(i: usize, value: &Value, problems: &mut Vec<Problem>) -> Self {
        let nothing = Map::new();
        let map = value.as_object().unwrap_or(&nothing);
        let before = problems.len();
        let mut fields = Reader::new(map, Some(i), problems);
        if !value.is_object() {
            fields.wrong("", "an operation has to be an object", "{\"operation\": …, \"path\": …}");
        }
        let name = fields.text("operation").unwrap_or_default();
        // A session log may leave its path open.
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
