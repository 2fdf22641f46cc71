//! `propose` and `propose_patch`: several edits, or a patch, as one proposal.

use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::apply_patch::{FileItem, STRIP};
use super::arguments::{required, shorten, whole};
use super::edits::{JsonEdit, compile};
use super::{Arguments, changes, codes};
use crate::app::capture::{self, Source};
use crate::app::propose::{Details, Recorded};
use crate::app::stack::Ground;
use crate::app::{self, Draft, Session};
use crate::changeset::RepoPath;
use crate::changeset::patch::Options;
use crate::changeset::snippet::Edit;
use crate::error::{Error, Result};
use crate::proposal::event::InputForm;
use crate::repository::{DURATION, parse_duration};

/// Names of the two tools.
pub const NAMES: [&str; 2] = ["propose", "propose_patch"];

/// Answer: that of the contract, and all files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Proposed {
    /// `aye/propose@1`
    pub schema: &'static str,
    /// What the `changes` tool answers too.
    #[serde(flatten)]
    pub proposed: changes::Proposed,
    /// All changed files.
    pub files: Vec<String>,
    /// Those that were taken back in the work tree, because their changes came from there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<String>,
    /// The files of the patch with hunks that went elsewhere, or were matched otherwise, than written; of each
    /// those hunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adapted: Vec<FileItem>,
}

impl Proposed {
    /// The answer for a proposal that was recorded.
    pub fn new(recorded: &Recorded) -> Self {
        let paths = |paths: &mut dyn Iterator<Item = &RepoPath>| {
            paths.map(|path| path.display().to_string()).collect()
        };
        let changes = &recorded.proposal.current().changes;
        Self {
            schema: "aye/propose@1",
            proposed: changes::Proposed::new(recorded),
            files: paths(&mut changes.iter().map(|change| &change.path)),
            put_back: paths(&mut recorded.taken_back.files.iter()),
            adapted: recorded.adapted.iter().cloned().map(FileItem::new).collect(),
        }
    }
}

/// Arguments of `propose`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The edits: each file as it is now, and what to make of it.
    #[schemars(required)]
    edits: Option<Vec<JsonEdit>>,
    /// Why, for the reviewer.
    description: Option<String>,
    /// Topic.
    domain: Option<String>,
    /// The task it belongs to.
    related_task_id: Option<String>,
    /// How long it waits for a decision: `12h`, `7d`.
    expires_in: Option<String>,
    /// The proposal of somebody else that it is to take the place of.
    instead_of: Option<String>,
    /// A pending proposal to make it on top of: its result is what it changes.
    on: Option<String>,
}

/// Arguments of `propose_patch`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PatchParameters {
    /// The patch: a unified diff, as git and others print it, or a `*** Begin Patch` envelope.
    #[schemars(required)]
    patch: Option<String>,
    /// How many leading components of the paths to strip.
    #[serde(default, deserialize_with = "whole")]
    strip: Option<usize>,
    /// Why, for the reviewer.
    description: Option<String>,
    /// Topic.
    domain: Option<String>,
    /// The task it belongs to.
    related_task_id: Option<String>,
    /// How long it waits for a decision: `12h`, `7d`.
    expires_in: Option<String>,
    /// The proposal of somebody else that it is to take the place of.
    instead_of: Option<String>,
    /// A pending proposal to make it on top of: its result is what it changes.
    on: Option<String>,
}

/// What arguments look like.
pub(super) const EXAMPLE: &str = "{\"edits\": [{\"file_path\": …, \"old_content\": …, \"new_content\": …}], \
                                 \"description\": …}";

/// Proposes edits.
///
/// # Errors
/// `missing_parameter`, `invalid_parameter`; those of matching and of the store.
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments, EXAMPLE)?.answer(|known, ignored| {
        let edits = required("edits", known.edits, ignored)?;
        let details = Details {
            description: known.description,
            domain: known.domain,
            related_task_id: known.related_task_id,
            expires_in: span(known.expires_in)?,
            instead_of: known.instead_of,
            ..Details::default()
        };
        let edits = given(session, edits)?;
        let draft = capture::edits(session, edits, &known.on.into(), InputForm::Tool)?;
        let recorded = app::propose::propose(session, draft, details)?;
        Ok(Proposed::new(&recorded))
    })
}

/// Proposes a patch.
///
/// # Errors
/// As [`call`]; those of patches.
pub fn call_patch(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<PatchParameters>::read(arguments, "{\"patch\": …, \"description\": …}")?.answer(
        |known, ignored| {
            let patch = required("patch", known.patch, ignored)?;
            let details = Details {
                description: known.description,
                domain: known.domain,
                related_task_id: known.related_task_id,
                expires_in: span(known.expires_in)?,
                instead_of: known.instead_of,
                ..Details::default()
            };
            let draft = patched(session, patch, (known.strip, Some(STRIP)), known.on.into())?;
            let recorded = app::propose::propose(session, draft, details)?;
            Ok(Proposed::new(&recorded))
        },
    )
}

/// `edits` in the engine's words.
pub(super) fn given(session: &Session<'_>, edits: Vec<JsonEdit>) -> Result<Vec<Edit>> {
    if edits.is_empty() {
        return Err(Error::new(&codes::INVALID_PARAMETER, "the list 'edits' is empty")
            .with("parameter", "edits")
            .hint(format!("the arguments look like {EXAMPLE}")));
    }
    compile(edits, |path| session.store.given(path))
}

/// What a patch makes of the files: how many components of its paths to leave out, and how the caller says so.
pub(super) fn patched(
    session: &Session<'_>,
    patch: String,
    (strip, strip_is_said): (Option<usize>, Option<&'static str>),
    ground: Ground,
) -> Result<Draft> {
    let options = Options { strip, strip_is_said, ..Options::default() };
    let source = Source::Patch { bytes: patch.into_bytes(), options, ground };
    // Its remarks are of the patch; where its hunks went is in the draft.
    capture::capture(session, &source, &mut Vec::new())
}

/// A time span that a caller wrote.
pub(super) fn span(text: Option<String>) -> Result<Option<Duration>> {
    let read = |text: String| {
        parse_duration(&text).ok_or_else(|| {
            Error::new(&codes::INVALID_PARAMETER, format!("'{}' is not a duration", shorten(&text)))
                .with("parameter", "expires_in")
                .hint(DURATION)
        })
    };
    text.map(read).transpose()
}
