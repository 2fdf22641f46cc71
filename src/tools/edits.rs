//! Edits as JSON, for tools and `--from-json`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::changeset::snippet::{EditAction, SnippetEdit};
use crate::changeset::{Mode, Occurrence, RepoPath, Snippet};
use crate::error::{Error, Result, codes};

/// One edit: `old_content` with `new_content`, or `content`, or `delete`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct JsonEdit {
    /// The file, as a path from the top of the repository.
    pub file_path: String,
    /// The content to be replaced, exactly; empty for a new file.
    pub old_content: Option<Bytes>,
    /// The content to put there.
    pub new_content: Option<Bytes>,
    /// The whole new content of the file.
    pub content: Option<Bytes>,
    /// Delete the file.
    #[serde(default)]
    pub delete: bool,
    /// With `content`: make the file executable.
    #[serde(default)]
    pub executable: bool,
    /// The occurrence that is meant if the old content is in the file more than once.
    pub occurrence: Option<OccurrenceArgument>,
}

/// A string, or `{"base64": "…"}` for bytes that are not UTF-8.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Bytes(
    #[serde(with = "crate::changeset::bytes")]
    #[schemars(with = "String")]
    pub Vec<u8>,
);

/// The chosen one of several equal contents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number from 1, or \"all\"")]
pub enum OccurrenceArgument {
    /// The nth, counted from 1.
    Nth(u32),
    /// Every one.
    Word(All),
}

/// The word for every one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum All {
    /// Every one.
    All,
}

impl From<OccurrenceArgument> for Occurrence {
    fn from(which: OccurrenceArgument) -> Self {
        match which {
            OccurrenceArgument::Nth(number) => Self::Nth(number),
            OccurrenceArgument::Word(All::All) => Self::All,
        }
    }
}

/// `named` resolves paths.
///
/// # Errors
/// `invalid_argument` with the edit's index; `path_invalid`.
pub fn compile(
    edits: Vec<JsonEdit>,
    named: impl Fn(&[u8]) -> Result<RepoPath>,
) -> Result<Vec<SnippetEdit>> {
    edits.into_iter().enumerate().map(|(index, edit)| edit.read(&named, index)).collect()
}

pub fn invalid(index: usize, why: &str) -> Error {
    Error::new(&codes::INVALID_ARGUMENT, format!("edit {index} {why}"))
        .with("edit", index)
        .hint("each edit has file_path and one of: old_content with new_content, content, delete")
}

impl JsonEdit {
    fn read(self, named: impl Fn(&[u8]) -> Result<RepoPath>, index: usize) -> Result<SnippetEdit> {
        let path = named(self.file_path.as_bytes())?;
        let occurrence = match self.occurrence {
            None => Occurrence::Unique,
            Some(OccurrenceArgument::Nth(0)) => {
                return Err(invalid(
                    index,
                    "has an occurrence that is neither a number from 1 nor \"all\"",
                ));
            }
            Some(which) => which.into(),
        };
        let action = match (self.delete, self.content, self.old_content, self.new_content) {
            (true, None, None, None) => EditAction::Delete,
            (false, Some(Bytes(content)), None, None) => {
                EditAction::Write { content, mode: self.executable.then_some(Mode::Executable) }
            }
            (false, None, Some(Bytes(old)), Some(Bytes(new))) => {
                EditAction::Replace(Snippet { old, new, occurrence })
            }
            _ => return Err(invalid(index, "names no edit, or two edits")),
        };
        Ok(SnippetEdit { path, action })
    }
}
