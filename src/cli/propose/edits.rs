//! The edit of one file by flags.

use std::ffi::OsString;

use super::super::{Context, paths};
use crate::changeset::snippet::{EditAction, SnippetEdit};
use crate::changeset::{Mode, Occurrence, Snippet, codes as changeset_codes};
use crate::error::{Error, Result, codes};
use crate::repository::Repository;

#[derive(Debug, Default, clap::Args)]
pub struct EditArgs {
    /// File to change; several files are changed with --from-json.
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    path: Option<OsString>,
    /// Text to replace; empty for a new file.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "old_file")]
    old: Option<OsString>,
    /// Text to put there.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "new_file")]
    new: Option<OsString>,
    /// As --old, from a file (- for standard input).
    #[arg(long, value_name = "FILE")]
    old_file: Option<OsString>,
    /// As --new, from a file (- for standard input).
    #[arg(long, value_name = "FILE")]
    new_file: Option<OsString>,
    /// The whole new content.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "content_file")]
    content: Option<OsString>,
    /// The whole new content, from a file (- for standard input).
    #[arg(long, value_name = "FILE")]
    content_file: Option<OsString>,
    /// Delete the file.
    #[arg(long)]
    delete: bool,
    /// Make the file executable (with --content or --content-file).
    #[arg(long)]
    executable: bool,
    /// The match to replace if there are several.
    #[arg(long, value_name = "N|all", value_parser = occurrence)]
    occurrence: Option<Occurrence>,
}

pub fn name_flag(error: Error) -> Error {
    if error.is(&changeset_codes::FILE_EXISTS) {
        error.hint("give the old content to replace, or --content-file for the whole new content")
    } else if error.is(&changeset_codes::NOT_TEXT) {
        error.hint("give the whole new file with --content-file")
    } else {
        error
    }
}

fn occurrence(text: &str) -> Result<Occurrence, String> {
    match text.parse::<u32>() {
        _ if text == "all" => Ok(Occurrence::All),
        Ok(n) if n > 0 => Ok(Occurrence::Nth(n)),
        _ => Err("give a number from 1, or all".into()),
    }
}

impl EditArgs {
    /// The path was typed in the place of an id.
    ///
    /// # Errors
    /// `usage` if another file is named.
    pub fn name(&mut self, path: OsString) -> Result<()> {
        match self.path.replace(path) {
            None => Ok(()),
            Some(_) => {
                Err(Error::new(&codes::USAGE, "two files are named, or an id beside --latest")
                    .hint("name one: aye revise --latest PATH --old TEXT --new TEXT"))
            }
        }
    }

    /// The path is relative to the directory of the command's start. `None` if nothing was typed.
    ///
    /// # Errors
    /// `usage` for a wrong combination; `path_invalid`; `file_not_found`.
    pub fn read(
        self,
        context: &Context,
        repository: &Repository,
        limit: u64,
    ) -> Result<Option<SnippetEdit>> {
        let from_stdin = [&self.old_file, &self.new_file, &self.content_file];
        if from_stdin.iter().filter(|file| file.as_deref() == Some("-".as_ref())).count() > 1 {
            return Err(Error::new(&codes::USAGE, "standard input (-) can be read only once")
                .hint("give the other content in a file"));
        }
        let source = |text: Option<OsString>, file: Option<OsString>| match (text, file) {
            (Some(text), _) => Ok(Some(paths::bytes(&text))),
            (None, Some(file)) => paths::content(context, &file, limit).map(Some),
            (None, None) => Ok(None),
        };
        let old = source(self.old, self.old_file)?;
        let new = source(self.new, self.new_file)?;
        let content = source(self.content, self.content_file)?;
        let Some(path) = self.path else {
            if old.is_none() && new.is_none() && content.is_none() && !self.delete {
                return Ok(None);
            }
            return Err(Error::new(&codes::USAGE, "which file? its options are given without it")
                .hint("give its PATH"));
        };
        let path = paths::typed(context, repository, &path)?;
        let action = match (self.delete, content, old, new) {
            (true, None, None, None) => EditAction::Delete,
            (false, Some(content), None, None) => {
                EditAction::Write { content, mode: self.executable.then_some(Mode::Executable) }
            }
            (false, None, Some(old), Some(new)) => {
                let occurrence = self.occurrence.unwrap_or_default();
                EditAction::Replace(Snippet { old, new, occurrence })
            }
            _ => {
                let message = format!("the edit of '{}' is missing", path.display());
                return Err(Error::new(&codes::USAGE, message)
                    .hint("give --old and --new, or --content, or --delete"));
            }
        };
        Ok(Some(SnippetEdit { path, action }))
    }
}
