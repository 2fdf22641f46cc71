//! The `apply_patch` tool; writes become proposals where the repository gates them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::whole_number;
use super::{Arguments, failure};
use crate::app::Session;
use crate::app::patch::{self, PatchOutcome, Request};
use crate::changeset::patch::{
    CompiledPatch, Dialect, FileAction, FileReport, HunkReport, Options,
};
use crate::error::{Error, Result};
use crate::proposal::event::timestamp;
use crate::repository::Gate;

/// The first four fields are the contract's.
#[derive(Debug, Serialize)]
pub struct Response {
    pub status: &'static str,
    pub path: String,
    pub patch_applied: bool,
    /// RFC 3339.
    pub applied_at: Option<String>,
    pub dialect: Dialect,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already_applied: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Proposed because of the repository's gate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    pub message: String,
    pub files: Vec<FileItem>,
    /// Deviations from the patch's text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One file of the patch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileItem {
    /// Its path afterwards, or before for a deleted file.
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed` or `copied`.
    pub action: FileAction,
    /// The path that its content comes from, if another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// The places of its hunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<HunkReport>,
}

impl FileItem {
    pub(super) fn new(file: FileReport) -> Self {
        Self {
            path: file.path.display().to_string(),
            action: file.action,
            origin: file.origin.map(|origin| origin.display().to_string()),
            added: file.added,
            removed: file.removed,
            hunks: file.hunks,
        }
    }
}

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The patch: a unified diff, as git and others print it, or a `*** Begin Patch` envelope.
    patch: String,
    /// Do not write anything; only show what would be done.
    #[serde(default)]
    dry_run: bool,
    /// Also stage the changed files.
    #[serde(default)]
    index: bool,
    /// Propose it instead of applying it.
    #[serde(default)]
    propose: bool,
    /// Apply it in reverse.
    #[serde(default)]
    reverse: bool,
    /// Accept hunks without context.
    #[serde(default)]
    unidiff_zero: bool,
    /// How many leading components of the paths to strip.
    #[serde(default, deserialize_with = "whole_number")]
    strip: Option<usize>,
    /// Description of the proposal, if it becomes one.
    description: Option<String>,
}

pub fn call(session: &Session<'_>, gate: Option<Gate>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let request = Request {
            patch: known.patch.into_bytes(),
            options: Options {
                strip: known.strip,
                reverse: known.reverse,
                unidiff_zero: known.unidiff_zero,
                unidiff_zero_option: Some("\"unidiff_zero\": true"),
                strip_option: Some("\"strip\""),
            },
            dry_run: known.dry_run,
            index: known.index,
            propose: known.propose,
            description: known.description,
            attended: false,
            gate,
        };
        patch::run(session, &request, |done| Response::new(session, &request, done))
    })
}

impl Response {
    pub fn new(session: &Session<'_>, request: &Request, done: PatchOutcome) -> Self {
        let CompiledPatch { dialect, files, notes, already_applied, .. } = done.compiled;
        let id = done.proposal.map(|id| id.to_string());
        let message = match (&id, done.gate) {
            (None, _) if already_applied => "The patch is applied already.".to_owned(),
            (None, _) if done.is_applied => "The patch is applied.".to_owned(),
            (None, _) => "The patch fits; nothing was changed.".to_owned(),
            (Some(id), gate) => {
                let gated = gate.map_or_else(
                    || format!("The patch waits for a person as proposal {id}."),
                    |gate| {
                        let gate = gate.as_str();
                        format!(
                            "Direct writes are gated here ({gate}): the patch waits for a person as proposal {id}, \
                             and no file was changed."
                        )
                    },
                );
                format!(
                    "{gated} Ask your user to run `aye review {id}`; `aye wait {id}` has the answer."
                )
            }
        };
        Self {
            status: "ok",
            path: files.first().map(|file| file.path.display().to_string()).unwrap_or_default(),
            patch_applied: done.is_applied,
            applied_at: done.is_applied.then(|| timestamp(session.now)),
            dialect,
            already_applied,
            dry_run: request.dry_run,
            gated: done.gate.is_some(),
            proposal_id: id,
            duplicate: done.is_duplicate,
            message,
            files: files.into_iter().map(FileItem::new).collect(),
            notes,
        }
    }
}

/// The first four fields are the contract's.
pub fn failure(error: &Error) -> Value {
    let path = error.details().iter().find(|(key, _)| *key == "path");
    let path = path.and_then(|(_, path)| path.as_str());
    let own =
        json!({ "status": "error", "path": path, "patch_applied": false, "applied_at": null });
    failure::yaml_failure(own, error)
}
