//! The `apply_patch` tool: a patch in either dialect, applied at once, or proposed where the
//! repository gates direct writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::whole;
use super::{Arguments, failure};
use crate::app::Session;
use crate::app::patch::{self, Done, Request};
use crate::changeset::patch::{Action, Compiled, Dialect, FileReport, HunkReport, Options};
use crate::error::{Error, Result};
use crate::proposal::event::timestamp;
use crate::repository::Gate;

/// Response of the tool. The first four fields are the contract's own.
#[derive(Debug, Serialize)]
pub struct Response {
    /// Always `ok`; see [`failure()`] otherwise.
    pub status: &'static str,
    /// The first file of the patch.
    pub path: String,
    /// Whether this call changed the files.
    pub patch_applied: bool,
    /// When, in RFC 3339; null if it did not.
    pub applied_at: Option<String>,
    /// `unified` or `envelope`.
    pub dialect: Dialect,
    /// Every change of the patch was there before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already_applied: bool,
    /// Nothing was changed because that was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The repository's settings turned the patch into a proposal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// The proposal it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// The same changes were pending already; this is that proposal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// In words.
    pub message: String,
    /// Every file of the patch.
    pub files: Vec<FileItem>,
    /// What was read otherwise than written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One file of the patch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileItem {
    /// Where it is afterwards (was before, for a deleted one).
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed` or `copied`.
    pub action: Action,
    /// Where its content comes from, if from another path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Where its hunks went.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<HunkReport>,
}

impl FileItem {
    /// What is reported of `file`.
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
    #[serde(default, deserialize_with = "whole")]
    strip: Option<usize>,
    /// Description of the proposal, if it becomes one.
    description: Option<String>,
}

/// Calls the tool with `arguments`: see [`Parameters`]. `gate` is as in [`Request`].
///
/// # Errors
/// As [`patch::run`]; `missing_parameter`, `invalid_parameter`.
pub fn call(session: &Session<'_>, gate: Option<Gate>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let request = Request {
            patch: known.patch.into_bytes(),
            options: Options {
                strip: known.strip,
                reverse: known.reverse,
                unidiff_zero: known.unidiff_zero,
                zero_is_said: Some("\"unidiff_zero\": true"),
                strip_is_said: Some("\"strip\""),
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
    /// The response to what was `done` at `session`'s time.
    pub fn new(session: &Session<'_>, request: &Request, done: Done) -> Self {
        let Compiled { dialect, files, notes, already_applied, .. } = done.compiled;
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

/// The response to a call that failed. The first four fields are the contract's own.
pub fn failure(error: &Error) -> Value {
    let path = error.details().iter().find(|(key, _)| *key == "path");
    let path = path.and_then(|(_, path)| path.as_str());
    let own =
        json!({ "status": "error", "path": path, "patch_applied": false, "applied_at": null });
    failure::beside(own, error)
}
