//! The `apply_patch` tool: a patch in either dialect, applied at once, or proposed where the
//! repository gates direct writes.

use std::cell::Cell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::{beside, required, whole};
use super::{Arguments, failure};
use crate::app::{self, Draft, Session, capture, denied, propose::Details};
use crate::apply;
use crate::changeset::patch::{Action, Compiled, Dialect, FileReport, HunkReport, Options};
use crate::changeset::{Changeset, Snapshot, sensitive};
use crate::decide::{self, patch::Ids};
use crate::error::{Error, Result};
use crate::memory::outside;
use crate::proposal::ActorKind;
use crate::proposal::event::{InputForm, timestamp};
use crate::proposal::rules::{self, Verb};
use crate::repository::{Gate, ScanMode};
use crate::scan::gate::{self, Warning};
use crate::worktree::Reader;

/// What to do with a patch.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The patch, as it came.
    pub patch: Vec<u8>,
    /// How to read it.
    pub options: Options,
    /// Do not write anything; only show what would be done.
    pub dry_run: bool,
    /// Also stage the changed files.
    pub index: bool,
    /// Propose it instead of applying it.
    pub propose: bool,
    /// Description of the proposal, if it becomes one.
    pub message: Option<String>,
    /// A person sits at a terminal, as far as can be seen.
    pub attended: bool,
    /// What gates it beside the repository's settings.
    pub gate: Option<Gate>,
}

/// Response of the tool. The first four fields are the contract's own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Response {
    /// Always `ok`; see [`Failure`] otherwise.
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
    /// Parameters that were not understood.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_parameters: Vec<String>,
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

/// Response to a call that failed. The first four fields are the contract's own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Always `error`.
    pub status: &'static str,
    /// The file that it failed at, where it was one.
    pub path: Option<String>,
    /// Always false: a patch is applied whole or not at all.
    pub patch_applied: bool,
    /// Always null.
    pub applied_at: Option<String>,
    /// What went wrong.
    #[serde(flatten)]
    pub failure: failure::Failure,
}

impl Failure {
    /// `error` in the contract's shape.
    pub fn new(error: &Error) -> Self {
        let path = error.details().iter().find(|(key, _)| *key == "path");
        Self {
            status: "error",
            path: path.and_then(|(_, path)| path.as_str()).map(str::to_owned),
            patch_applied: false,
            applied_at: None,
            failure: failure::Failure::new(error),
        }
    }
}

/// Either of the two, as the published schema has them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// The patch was applied, was there already, or became a proposal.
    Done(Box<Response>),
    /// Nothing was changed.
    Failed(Box<Failure>),
}

/// How a tool that takes a patch has its `strip` said.
pub(super) const STRIP: &str = "\"strip\"";

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The patch: a unified diff, as git and others print it, or a `*** Begin Patch` envelope.
    #[schemars(required)]
    patch: Option<String>,
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
    /// How many lines of context may differ.
    #[serde(default, deserialize_with = "whole")]
    fuzz: Option<usize>,
    /// Description of the proposal, if it becomes one.
    message: Option<String>,
}

/// Calls the tool with `arguments`: see [`Parameters`]. `gate` is as in [`Request`].
///
/// # Errors
/// As [`run`]; `missing_parameter`, `invalid_parameter`.
pub fn call(session: &Session<'_>, gate: Option<Gate>, arguments: Value) -> Result<Value> {
    let Arguments { known, ignored } = Arguments::<Parameters>::read(arguments, "{\"patch\": …}")?;
    let answer = act(session, gate, known, &ignored);
    answer.map_err(|error| beside(error, ignored))
}

fn act(
    session: &Session<'_>,
    gate: Option<Gate>,
    known: Parameters,
    ignored: &[String],
) -> Result<Value> {
    let request = Request {
        patch: required("patch", known.patch, ignored)?.into_bytes(),
        options: Options {
            strip: known.strip,
            fuzz: known.fuzz.unwrap_or(0),
            reverse: known.reverse,
            unidiff_zero: known.unidiff_zero,
            zero_is_said: Some("\"unidiff_zero\": true"),
            strip_is_said: Some(STRIP),
        },
        dry_run: known.dry_run,
        index: known.index,
        propose: known.propose,
        message: known.message,
        attended: false,
        gate,
    };
    run(session, &request, |response| {
        serde_json::to_value(Response { ignored_parameters: ignored.to_vec(), ..response })
            .map_err(|error| Error::bug(format!("a response is no JSON: {error}")))
    })?
}

/// Applies, proposes or tries out a patch, and returns what `answer` makes of the response, which
/// it gets when all is done but for cleaning up.
///
/// # Errors
/// Those of [`patch::read`](crate::changeset::patch::read), of [`gate::lines`], of the work tree, and of the store.
/// Nothing is changed then.
pub fn run<R>(
    session: &Session<'_>,
    request: &Request,
    answer: impl FnOnce(Response) -> R,
) -> Result<R> {
    let store = session.store;
    // In the tree of a session the files are what is proposed, all of them, when the run ends.
    let in_session = store.is_in_session();
    // Its index is nobody's, and git would be run with what the agent has made of the tree's `.git`.
    let index = request.index && !in_session;
    let gate = match request.propose || request.dry_run || in_session {
        true => None,
        false => {
            // Before files are written of which nothing could be recorded, let alone undone.
            store.require_no_trial()?;
            store.require_lane()?;
            let holds = rules::is_gated(session.caller.class(), request.attended);
            store.gate()?.filter(|_| holds).or(request.gate)
        }
    };
    if request.dry_run || request.propose || gate.is_some() {
        return Ok(answer(held_back(session, request, gate)?));
    }
    // Whatever the settings say, memory and what instructs agents are not written without a person: a
    // caller without a terminal may be an agent that nothing marks, and a build machine's terminal has
    // nobody at it.
    let unmanned = session.caller.actor.kind != ActorKind::Human;
    let gated = Cell::new(None);
    let answer = Cell::new(Some(answer));
    let make = |worktree: &Reader<'_>| {
        let mut compiled = read(session, request, worktree)?;
        store.accept(&compiled.changeset)?;
        let changes = compiled.changeset.changes();
        let waits = || match unmanned || request.attended {
            true => Ok(unmanned),
            false => store.permits().map(|permits| permits.wants_terminal(true, true)),
        };
        if in_session {
            return Ok((std::mem::take(&mut compiled.changeset), compiled));
        }
        if changes.iter().any(outside::touches) && waits()? {
            gated.set(Some(Gate::Memory));
        } else if unmanned && sensitive::instructs(changes, &store.instructions()) {
            gated.set(Some(Gate::Instructions));
        }
        if gated.get().is_some() {
            return Err(Error::bug("what waits for a person was written"));
        }
        // A person sees what they write, and it takes a look at all of each file.
        let is_a_persons = session.caller.actor.kind == ActorKind::Human;
        if !is_a_persons || store.settings()?.scan == ScanMode::Block {
            let warnings = gate::lines(store, &compiled.changeset, &[])?;
            compiled.notes.extend(warnings.iter().map(Warning::line));
        }
        Ok((std::mem::take(&mut compiled.changeset), compiled))
    };
    let hash = store.repo().object_hash();
    let ids = |changeset: &_| decide::patch::ids(hash, changeset);
    let written = apply::write_direct(store, index, make, ids, |compiled, written| {
        let mut warnings = Vec::new();
        if index != request.index {
            warnings.push(
                "nothing is staged in the tree of a session: it is proposed whole".to_owned(),
            );
        }
        if let Some(written) = written {
            warnings.extend(written.warning);
            let recorded = match in_session {
                true => Ok(String::new()),
                false => record(session, written.changeset, written.computed),
            };
            warnings.extend(recorded.err().map(|error| {
                format!("the files are written but not recorded: {}", error.message())
            }));
        }
        answer.take().map(|answer| answer(applied(session, compiled, warnings)))
    });
    match written {
        Err(_) if gated.get().is_some() => {
            let response = held_back(session, request, gated.get())?;
            answer.take().map(|answer| answer(response))
        }
        written => written?,
    }
    .ok_or_else(|| Error::bug("a patch was answered twice"))
}

/// Reads the patch against `files`; see [`denied`].
fn read(session: &Session<'_>, request: &Request, files: &dyn Snapshot) -> Result<Compiled> {
    let read = capture::patch(session.store, &request.patch, files, &request.options);
    let compiled = read.map_err(|error| denied::unquoted(session, error))?;
    denied::refuse_copies(session, &compiled.changeset)?;
    Ok(compiled)
}

/// Records what was written, so that the log and undo know of it.
fn record(session: &Session<'_>, changeset: &Changeset, ids: Result<Vec<Ids>>) -> Result<String> {
    let evidence = decide::patch::evidence(session.caller.tool);
    let (store, caller) = (session.store, &session.caller);
    let authority = decide::authorise(store, caller, Verb::Patch, &[], &evidence, "aye patch")?;
    decide::patch::record(store, &authority, session.now, changeset, ids?)
}

/// Tries the patch out, or proposes it.
fn held_back(session: &Session<'_>, request: &Request, gate: Option<Gate>) -> Result<Response> {
    let store = session.store;
    let limit = store.settings()?.max_file_size;
    let files = store.worktree()?.with_size_limit(limit);
    let mut compiled = read(session, request, &files)?;
    let draft = Draft::new(store, std::mem::take(&mut compiled.changeset), InputForm::Patch)?;
    if request.dry_run && request.index {
        apply::refuse_unstaged(store, draft.changeset())?;
    }
    let already = compiled.already_applied;
    let mut response = response(compiled, String::new());
    let warnings;
    if request.dry_run || already {
        warnings = gate::files(store, draft.changeset(), |_, _| false);
        response.message = match already {
            true => "The patch is applied already.".to_owned(),
            false => "The patch fits; nothing was changed.".to_owned(),
        };
    } else {
        let details = Details { description: request.message.clone(), ..Details::default() };
        let recorded = app::propose::propose(session, draft, details)?;
        let id = recorded.proposal.id.to_string();
        response.message = match gate {
            Some(gate) => format!(
                "Direct writes are gated here ({}): the patch waits for a person as proposal \
                 {id}, and no file was changed. ",
                gate.as_str()
            ),
            None => format!("The patch waits for a person as proposal {id}. "),
        };
        response.message +=
            &format!("Ask your user to run `aye review {id}`; `aye wait {id}` has the answer.");
        (response.proposal_id, response.duplicate) = (Some(id), recorded.duplicate);
        warnings = recorded.warnings;
    }
    response.notes.extend(warnings.iter().map(Warning::line));
    response.dry_run = request.dry_run;
    response.gated = gate.is_some();
    Ok(response)
}

/// The response to a patch that was carried out. `warning` says what went wrong afterwards.
fn applied(session: &Session<'_>, compiled: Compiled, warnings: Vec<String>) -> Response {
    let already = compiled.already_applied;
    let message = if already { "The patch is applied already." } else { "The patch is applied." };
    let mut response = response(compiled, message.to_owned());
    response.notes.extend(warnings);
    if !already {
        response.patch_applied = true;
        response.applied_at = Some(timestamp(session.now));
    }
    response
}

fn response(compiled: Compiled, message: String) -> Response {
    let path = compiled.files.first().map(|file| file.path.display().to_string());
    Response {
        status: "ok",
        path: path.unwrap_or_default(),
        patch_applied: false,
        applied_at: None,
        dialect: compiled.dialect,
        already_applied: compiled.already_applied,
        dry_run: false,
        gated: false,
        proposal_id: None,
        duplicate: false,
        message,
        files: compiled.files.into_iter().map(FileItem::new).collect(),
        notes: compiled.notes,
        ignored_parameters: Vec::new(),
    }
}

/// [`Failure`] as a JSON value.
pub fn failure(error: &Error) -> Value {
    serde_json::to_value(Failure::new(error)).unwrap_or_else(|_| json!({ "status": "error" }))
}
