//! The eight operations, and the fields each takes.

use crate::words::words;

words! {
    /// The eight operations.
    #[allow(missing_docs)]
    pub enum OperationKind {
        CreateFile = "create_file",
        ReplaceSection = "replace_section",
        AppendSection = "append_section",
        AppendToSection = "append_to_section",
        ReplaceSectionContent = "replace_section_content",
        ArchiveSection = "archive_section",
        RemoveSection = "remove_section",
        RenameHeading = "rename_heading",
    }
}

words! {
    /// What `create_file` does where there is a file.
    #[derive(Default)]
    #[allow(missing_docs)]
    pub enum IfExists {
        #[default]
        Reject = "reject",
        Append = "append",
        Replace = "replace",
    }
}

words! {
    /// What `replace_section` does where there is no such section.
    #[derive(Default)]
    #[allow(missing_docs)]
    pub enum IfMissing {
        #[default]
        Reject = "reject",
        Append = "append",
        CreateFile = "create_file",
    }
}

/// How an operation names its target.
const TARGET: [&str; 4] = ["section_id", "heading", "heading_level", "occurrence"];

impl OperationKind {
    /// True for the two operations that move a section into the archive.
    pub fn archives(self) -> bool {
        matches!(self, Self::ArchiveSection | Self::RemoveSection)
    }

    /// True where `section_id` or `heading` says which section is meant.
    pub fn has_target(self) -> bool {
        !matches!(self, Self::CreateFile | Self::AppendSection)
    }

    /// Fields that it needs besides `operation` and `path`.
    pub(super) fn required(self) -> &'static [&'static str] {
        match self {
            Self::CreateFile
            | Self::ReplaceSection
            | Self::AppendToSection
            | Self::ReplaceSectionContent => &["content"],
            Self::AppendSection => &["heading", "heading_level", "content"],
            Self::ArchiveSection => &["archive_path", "replacement"],
            Self::RemoveSection => &["archive_path"],
            Self::RenameHeading => &["new_heading"],
        }
    }

    /// Every field that it takes besides `operation` and `path`, those it needs first.
    pub(super) fn fields(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::CreateFile => &["if_exists"],
            Self::ReplaceSection => &["if_missing"],
            Self::AppendSection => &["parent_section_id"],
            Self::RemoveSection => &["reason"],
            Self::RenameHeading => &["new_heading_level"],
            Self::AppendToSection | Self::ReplaceSectionContent | Self::ArchiveSection => &[],
        };
        let target: &[&str] = if self.has_target() { &TARGET } else { &[] };
        [self.required(), target, own].concat()
    }
}

/// One edit. Which fields it takes depends on the operation; an unknown one is an error.
#[derive(Clone, Debug, PartialEq, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Operation {
    /// What to do.
    #[schemars(rename = "operation")]
    pub kind: OperationKind,
    /// The file, relative to `.agent-memory/`.
    pub path: String,
    /// The section, by its id.
    pub section_id: Option<String>,
    /// The section by its heading, without the `#`; for `append_section`, the new one's.
    pub heading: Option<String>,
    /// Level of that heading, from 1 to 6.
    #[schemars(range(min = 0, max = 6))]
    pub heading_level: Option<u8>,
    /// Which of several sections with that heading, from 1.
    pub occurrence: Option<u32>,
    /// `append_section`: the section that the new one belongs to.
    pub parent_section_id: Option<String>,
    /// The new text, as Markdown.
    #[schemars(default)]
    pub content: String,
    /// `create_file`: what to do where the file exists.
    #[schemars(default)]
    pub if_exists: IfExists,
    /// `replace_section`: what to do where there is no such section.
    #[schemars(default)]
    pub if_missing: IfMissing,
    /// `archive_section`, `remove_section`: the file that the section goes to.
    #[schemars(default)]
    pub archive_path: String,
    /// `archive_section`: the text that takes the section's place.
    #[schemars(default)]
    pub replacement: String,
    /// `remove_section`: why.
    pub reason: Option<String>,
    /// `rename_heading`: the new heading.
    #[schemars(default)]
    pub new_heading: String,
    /// `rename_heading`: its level; 0 keeps the present one.
    #[schemars(default, range(min = 0, max = 6))]
    pub new_heading_level: u8,
}
