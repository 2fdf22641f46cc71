//! What is known of a session beside its files.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::codes;
use super::tree::is_id;
use crate::error::{Error, Result};
use crate::proposal::AgentRun;
use crate::proposal::statement::Target;

/// The format of records.
pub const FORMAT: &str = "aye/session-record@1";

/// The record of a session. It lies where an agent may write, so nothing in it decides what is read or
/// removed; commits are looked up before they are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`FORMAT`].
    pub format: String,
    /// Name of the agent.
    pub agent: String,
    /// The command's first word, or empty.
    pub command: String,
    /// When it began, in RFC 3339.
    pub started_at: String,
    /// The commit that the tree is compared with.
    pub base: String,
    /// HEAD of the checkout when it was started, or followed the checkout last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// What was proposed last: the whole id of the proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// A commit with the files as they were proposed last: the base once that is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<String>,
    /// What is being proposed, until the record says what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposing: Option<Proposing>,
    /// The revision by somebody else that was met last while it was pending, and followed where it was made here:
    /// its event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What its harness says of the agent's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<AgentRun>,
    /// When that was decided which the agent was told of last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// What the agent has not been told yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<Untold>,
}

/// What a command was about to propose. Where it was stopped, the threads say whether it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposing {
    /// A commit with the files.
    pub files: String,
    /// When, in RFC 3339: what is older is another proposal of the same files.
    pub at: DateTime<Utc>,
}

/// A decision that the tree has followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Untold {
    /// The proposal; `None` where the agent knows of the decision, or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// The proposal that was made of what its decision left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// Files in which the agent's edits were kept, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<(String, String)>,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// `session_record_invalid`.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self> {
        let invalid = |why: String| {
            Error::new(
                &codes::SESSION_RECORD_INVALID,
                format!("the record of session '{name}' cannot be read: {why}"),
            )
            .hint(format!(
                "look at the files of its tree (aye session list), then remove it: aye session end \
                 {name} --discard"
            ))
        };
        let record: Self =
            serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        if record.format != FORMAT {
            return Err(invalid(format!("its format is not {FORMAT}")));
        }
        let proposing = record.proposing.as_ref().map(|proposing| &proposing.files);
        let named = [Some(&record.base), record.submitted.as_ref(), proposing];
        if !named.iter().flatten().all(|id| is_id(id)) {
            return Err(invalid("a commit in it is no object id".to_owned()));
        }
        Ok(record)
    }

    /// Its bytes.
    ///
    /// # Errors
    /// None that a caller can bring about.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::bug(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = Record {
            format: FORMAT.to_owned(),
            agent: "codex".to_owned(),
            command: "codex".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            base: "a".repeat(40),
            target: Some(Target { commit: None, name: Some("refs/heads/main".to_owned()) }),
            proposal: None,
            submitted: Some("b".repeat(64)),
            proposing: Some(Proposing { files: "c".repeat(40), at: DateTime::UNIX_EPOCH }),
            revision: None,
            run: AgentRun::new(Some("dark"), None),
            told: None,
            untold: vec![Untold { kept: vec![("a".into(), "b".into())], ..Untold::default() }],
        };
        assert_eq!(Record::read("x", &record.to_bytes().unwrap()).unwrap(), record);
        for (field, bad) in [("base", "HEAD"), ("base", "--output=x"), ("format", "2")] {
            let mut value = serde_json::to_value(&record).unwrap();
            value[field] = bad.into();
            let bytes = serde_json::to_vec(&value).unwrap();
            assert!(Record::read("x", &bytes).unwrap_err().is(&codes::SESSION_RECORD_INVALID));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = Record::read("x", &bytes);
        }
    }
}
