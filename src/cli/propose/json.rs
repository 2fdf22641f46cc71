//! Edits as JSON: `--from-json`.

use serde::Deserialize;

use super::Meta;
use crate::changeset::snippet::{Action, Edit};
use crate::changeset::{Mode, Occurrence, RepoPath, Snippet};
use crate::error::{Error, Result, codes};
use crate::store::parse_duration;
use crate::tools::json::without_mark;

/// One proposal: several edits, or one written directly.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default)]
    edits: Vec<JsonEdit>,
    file_path: Option<String>,
    old_content: Option<Bytes>,
    new_content: Option<Bytes>,
    content: Option<Bytes>,
    #[serde(default)]
    delete: bool,
    occurrence: Option<JsonOccurrence>,
    description: Option<String>,
    domain: Option<String>,
    related_task_id: Option<String>,
    proposed_by: Option<String>,
    expires_in: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonEdit {
    file_path: String,
    old_content: Option<Bytes>,
    new_content: Option<Bytes>,
    content: Option<Bytes>,
    #[serde(default)]
    delete: bool,
    #[serde(default)]
    executable: bool,
    occurrence: Option<JsonOccurrence>,
}

/// A string, or `{"base64": "…"}` for bytes that are not UTF-8.
#[derive(Debug, Deserialize)]
struct Bytes(#[serde(with = "crate::changeset::bytes")] Vec<u8>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum JsonOccurrence {
    Number(u32),
    Word(String),
}

impl Request {
    /// Reads a request: an object, or a bare list of edits.
    ///
    /// # Errors
    /// `invalid_json` with the place.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let failed = |error: serde_json::Error| {
            Error::new(&codes::INVALID_JSON, format!("the JSON cannot be used: {error}"))
                .with("line", error.line())
                .with("column", error.column())
                .hint("{\"description\": \"…\", \"edits\": [{\"file_path\": \"…\", \"old_content\": \"…\", \"new_content\": \"…\"}]}")
        };
        let bytes = without_mark(bytes);
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => {
                let edits = serde_json::from_slice(bytes).map_err(failed)?;
                Ok(Self { edits, ..Self::default() })
            }
            _ => serde_json::from_slice(bytes).map_err(failed),
        }
    }

    /// Puts what it says about the proposal into `meta`; the command line wins.
    ///
    /// # Errors
    /// `invalid_argument` for an `expires_in` that is no time span.
    pub fn fill(&self, meta: &mut Meta) -> Result<()> {
        let take = |target: &mut Option<String>, value: &Option<String>| {
            if target.is_none() {
                target.clone_from(value);
            }
        };
        take(&mut meta.message, &self.description);
        take(&mut meta.domain, &self.domain);
        take(&mut meta.task, &self.related_task_id);
        take(&mut meta.by, &self.proposed_by);
        if let (None, Some(text)) = (meta.expires_in, &self.expires_in) {
            let span = parse_duration(text).ok_or_else(|| {
                Error::new(
                    &codes::INVALID_ARGUMENT,
                    format!("expires_in is '{text}', not a time span"),
                )
                .hint("give a number and one of s, m, h, d, w, such as 7d")
            })?;
            meta.expires_in = Some(span);
        }
        Ok(())
    }

    /// Its edits; paths are relative to the repository's top.
    ///
    /// # Errors
    /// `invalid_argument` with the edit's index; `path_invalid`.
    pub fn edits(self) -> Result<Vec<Edit>> {
        let mut edits = self.edits;
        if let Some(file_path) = self.file_path {
            edits.insert(
                0,
                JsonEdit {
                    file_path,
                    old_content: self.old_content,
                    new_content: self.new_content,
                    content: self.content,
                    delete: self.delete,
                    executable: false,
                    occurrence: self.occurrence,
                },
            );
        } else if self.old_content.is_some() || self.new_content.is_some() || self.content.is_some()
        {
            return Err(invalid(0, "has no file_path"));
        }
        edits.into_iter().enumerate().map(|(index, edit)| edit.read(index)).collect()
    }
}

fn invalid(index: usize, why: &str) -> Error {
    Error::new(&codes::INVALID_ARGUMENT, format!("edit {index} {why}"))
        .with("edit", index)
        .hint("each edit has file_path and one of: old_content with new_content, content, delete")
}

impl JsonEdit {
    fn read(self, index: usize) -> Result<Edit> {
        let path = RepoPath::new(self.file_path)?;
        let occurrence = match self.occurrence {
            None => Occurrence::Unique,
            Some(JsonOccurrence::Number(n)) if n > 0 => Occurrence::Nth(n),
            Some(JsonOccurrence::Word(word)) if word == "all" => Occurrence::All,
            Some(_) => {
                return Err(invalid(
                    index,
                    "has an occurrence that is neither a number from 1 nor \"all\"",
                ));
            }
        };
        let action = match (self.delete, self.content, self.old_content, self.new_content) {
            (true, None, None, None) => Action::Delete,
            (false, Some(Bytes(content)), None, None) => {
                Action::Write { content, mode: self.executable.then_some(Mode::Executable) }
            }
            (false, None, Some(Bytes(old)), Some(Bytes(new))) => {
                Action::Replace(Snippet { old, new, occurrence })
            }
            _ => return Err(invalid(index, "does not say what to do, or says two things")),
        };
        Ok(Edit { path, action })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_edit_or_several() {
        let one = br#"{"file_path":"a","old_content":"x","new_content":"y"}"#;
        assert_eq!(Request::read(one).unwrap().edits().unwrap().len(), 1);
        let list =
            br#"[{"file_path":"a","delete":true},{"file_path":"b","content":{"base64":"/w=="}}]"#;
        let edits = Request::read(list).unwrap().edits().unwrap();
        assert_eq!(edits[1].action, Action::Write { content: vec![0xff], mode: None });
    }

    #[test]
    fn what_is_unclear_is_refused() {
        for text in [
            r#"{"file_path":"a"}"#,
            r#"{"file_path":"a","delete":true,"content":"x"}"#,
            r#"{"new_content":"a"}"#,
            r#"[{"file_path":"a","old_content":"x","new_content":"y","occurrence":0}]"#,
        ] {
            assert!(Request::read(text.as_bytes()).unwrap().edits().is_err(), "{text}");
        }
        assert!(
            Request::read(br#"{"file_path":"a","typo":1}"#).unwrap_err().is(&codes::INVALID_JSON)
        );
    }

    proptest! {
        #[test]
        fn hostile_json_never_panics(text in ".{0,200}") {
            let _ = Request::read(text.as_bytes()).map(Request::edits);
        }
    }
}
