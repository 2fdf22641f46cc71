//! JSON form of `aye diff`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::changeset::FileChange;
use crate::changeset::bytes::Text;
use crate::changeset::change_entry::{EntryKind, entries};
use crate::changeset::patch::FileAction;
use crate::proposal::Proposal;

/// The changes of a proposal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// `aye/diff@1`
    pub schema: &'static str,
    /// The proposal.
    pub proposal_id: &'a str,
    /// Number of the revision, counted from 1.
    pub revision: usize,
    /// The files have changed since: this is what applying the proposal would do to them now.
    pub planned: bool,
    /// Each file that changes.
    pub files: Vec<DiffFile>,
    /// The changes as `git apply` takes them; `{"base64": …}` where they are not UTF-8.
    pub patch: Text<'a>,
}

/// One file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffFile {
    /// Path afterwards; for a deleted file, the path before.
    pub file_path: String,
    /// Path that its content comes from, if from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Action on the file.
    pub action: FileAction,
    /// Lines added; null for binary content and for large changes (over 10 MiB or 200,000 lines).
    pub added: Option<usize>,
    /// Lines removed; null as `added` is.
    pub removed: Option<usize>,
}

impl<'a> Document<'a> {
    pub fn new(
        proposal: &'a Proposal,
        planned: bool,
        changes: &[FileChange],
        patch: &'a [u8],
    ) -> Self {
        let files = entries(changes).into_iter().map(|entry| {
            let counts = (!entry.is_whole()).then(|| entry.counts());
            let (action, moves) = match entry.kind {
                EntryKind::Added => (FileAction::Added, false),
                EntryKind::Deleted => (FileAction::Deleted, false),
                EntryKind::Modified => (FileAction::Modified, false),
                EntryKind::Renamed => (FileAction::Renamed, true),
                EntryKind::Copied => (FileAction::Copied, true),
            };
            DiffFile {
                file_path: entry.path.display().to_string(),
                origin: moves.then(|| entry.old_path.display().to_string()),
                action,
                added: counts.map(|counts| counts.added),
                removed: counts.map(|counts| counts.removed),
            }
        });
        let files = files.collect();
        let schema = "aye/diff@1";
        let (proposal_id, revision) = (proposal.id.as_str(), proposal.revisions.len());
        Self { schema, proposal_id, revision, planned, files, patch: Text(patch) }
    }
}
