//! The record of a session: origin of its tree, proposals, and reports to the agent.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::client::ClientProcess;
use super::codes;
use super::tree::is_id;
use crate::error::{Error, Result};
use crate::proposal::AgentRun;
use crate::proposal::statement::Target;

pub const FORMAT: &str = "aye/session-record@1";

/// Agents may be able to write a record: it never decides which files are read or removed, and
/// commits are looked up before use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRecord {
    pub format: String,
    pub agent: String,
    /// First word, or empty.
    pub command: String,
    /// RFC 3339.
    pub started_at: String,
    /// Commit that the tree is compared with.
    pub base: String,
    /// HEAD of the checkout when the tree last followed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Full id of the last proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Commit with the last proposed files: the base after their decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<String>,
    /// Until the record has its outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposing: Option<Proposing>,
    /// Event of the last foreign revision met while pending; the tree followed it if made here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Reported by the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<AgentRun>,
    /// Session of the Agent Client Protocol, to load again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp: Option<String>,
    /// Process of its client or its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// All that its tree held is proposed, and its agent has begun nothing since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_settled: bool,
    /// By `aye run --keep`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kept: bool,
    /// HEAD of the tree at the last proposal, and at the last decided one: commits up to that are
    /// not the words of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_head: Option<String>,
    /// Time of the last decision reported to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// Decisions not yet reported, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<UnreportedDecision>,
}

/// After a crash, the threads show if the proposal exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposing {
    /// Commit with the files.
    pub files: String,
    /// Older proposals of the same files are different ones.
    pub at: DateTime<Utc>,
}

/// A decision that the tree followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnreportedDecision {
    /// `None` if the agent knows the decision, or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Proposal of the undecided files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<(String, String)>,
}

impl SessionRecord {
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
        let record = SessionRecord {
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
            acp: Some("0193".to_owned()),
            client: None,
            head: None,
            decided_head: None,
            is_settled: true,
            is_kept: false,
            told: None,
            untold: vec![UnreportedDecision {
                kept: vec![("a".into(), "b".into())],
                ..UnreportedDecision::default()
            }],
        };
        assert_eq!(SessionRecord::read("x", &record.to_bytes().unwrap()).unwrap(), record);
        for (field, bad) in [("base", "HEAD"), ("base", "--output=x"), ("format", "2")] {
            let mut value = serde_json::to_value(&record).unwrap();
            value[field] = bad.into();
            let bytes = serde_json::to_vec(&value).unwrap();
            assert!(
                SessionRecord::read("x", &bytes).unwrap_err().is(&codes::SESSION_RECORD_INVALID)
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = SessionRecord::read("x", &bytes);
        }
    }
}
