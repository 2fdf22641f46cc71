//! Edits as JSON: `--from-json`.

use serde::Deserialize;
use serde::de::Error as _;

use super::DetailArgs;
use crate::changeset::RepoPath;
use crate::changeset::snippet::SnippetEdit;
use crate::error::{Error, Result, codes};
use crate::repository::{DURATION, parse_duration};
use crate::tools::edits::{Bytes, JsonEdit, OccurrenceArgument, compile, invalid};
use crate::tools::json::{self, strip_bom};

#[derive(Debug, Default, Deserialize)]
pub struct EditsRequest {
    #[serde(default)]
    edits: Vec<JsonEdit>,
    file_path: Option<String>,
    old_content: Option<Bytes>,
    new_content: Option<Bytes>,
    content: Option<Bytes>,
    #[serde(default)]
    delete: bool,
    occurrence: Option<OccurrenceArgument>,
    description: Option<String>,
    domain: Option<String>,
    related_task_id: Option<String>,
    proposed_by: Option<String>,
    expires_in: Option<String>,
}

impl EditsRequest {
    /// The request may be a bare list of edits.
    ///
    /// # Errors
    /// `invalid_json`, with line and column.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        const SHAPE: &str = "{\"description\": \"…\", \"edits\": [{\"file_path\": \"…\", \"old_content\": \"…\", \"new_content\": \"…\"}]}";
        let failed = |error: serde_json::Error| {
            Error::new(&codes::INVALID_JSON, format!("the JSON cannot be used: {error}"))
                .with("line", error.line())
                .with("column", error.column())
                .hint(json::shape_hint(bytes).unwrap_or(SHAPE))
        };
        let bytes = strip_bom(bytes);
        let mut unknown = Vec::new();
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let name = |path: serde_ignored::Path<'_>| unknown.push(path.to_string());
        let request = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => serde_ignored::deserialize(&mut reader, name)
                .map(|edits| Self { edits, ..Self::default() }),
            _ => serde_ignored::deserialize(&mut reader, name),
        };
        let request = request.and_then(|request| reader.end().map(|()| request));
        match (request, unknown.first()) {
            (Ok(_), Some(name)) => {
                Err(serde_json::Error::custom(format!("the field '{name}' is not known")))
            }
            (request, _) => request,
        }
        .map_err(failed)
    }

    /// The command line wins.
    ///
    /// # Errors
    /// `invalid_argument` for an `expires_in` that is not a duration.
    pub fn fill(&self, meta: &mut DetailArgs) -> Result<()> {
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
                .hint(DURATION)
            })?;
            meta.expires_in = Some(span);
        }
        Ok(())
    }

    /// # Errors
    /// `invalid_argument` with the edit's index; `path_invalid`.
    pub fn edits(self, named: impl Fn(&[u8]) -> Result<RepoPath>) -> Result<Vec<SnippetEdit>> {
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
        compile(edits, named)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changeset::snippet::EditAction;

    #[test]
    fn one_edit_or_several() {
        let one = br#"{"file_path":"a","old_content":"x","new_content":"y"}"#;
        assert_eq!(
            EditsRequest::read(one).unwrap().edits(|path| RepoPath::new(path)).unwrap().len(),
            1
        );
        let list =
            br#"[{"file_path":"a","delete":true},{"file_path":"b","content":{"base64":"/w=="}}]"#;
        let edits = EditsRequest::read(list).unwrap().edits(|path| RepoPath::new(path)).unwrap();
        assert_eq!(edits[1].action, EditAction::Write { content: vec![0xff], mode: None });
    }

    #[test]
    fn what_is_unclear_is_refused() {
        for text in [
            r#"{"file_path":"a"}"#,
            r#"{"file_path":"a","delete":true,"content":"x"}"#,
            r#"{"new_content":"a"}"#,
            r#"[{"file_path":"a","old_content":"x","new_content":"y","occurrence":0}]"#,
        ] {
            assert!(
                EditsRequest::read(text.as_bytes())
                    .unwrap()
                    .edits(|path| RepoPath::new(path))
                    .is_err(),
                "{text}"
            );
        }
        assert!(
            EditsRequest::read(br#"{"file_path":"a","typo":1}"#)
                .unwrap_err()
                .is(&codes::INVALID_JSON)
        );
    }

    proptest! {
        #[test]
        fn hostile_json_never_panics(text in ".{0,200}") {
            let _ = EditsRequest::read(text.as_bytes()).map(|request| request.edits(|path| RepoPath::new(path)));
        }
    }
}
