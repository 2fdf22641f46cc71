//! A patch, applied directly, or proposed where the repository gates writes.

use std::cell::Cell;

use super::propose::{self, Details};
use super::{Draft, Session, capture, denied_files};
use crate::apply;
use crate::changeset::patch::{CompiledPatch, Options};
use crate::changeset::{Changeset, Snapshot, sensitive};
use crate::decide::{self, patch::Ids};
use crate::error::{Error, Result};
use crate::memory::code_changes;
use crate::proposal::event::InputForm;
use crate::proposal::rules::{self, Verb};
use crate::proposal::{ActorKind, ProposalId};
use crate::repository::{Gate, ScanMode};
use crate::scan::gate::{self, ScanWarning};
use crate::worktree::Reader;

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub patch: Vec<u8>,
    pub options: Options,
    pub dry_run: bool,
    pub index: bool,
    pub propose: bool,
    pub description: Option<String>,
    /// A person seems to be at the terminal.
    pub attended: bool,
    /// Gate beside the repository's settings.
    pub gate: Option<Gate>,
}

#[derive(Debug)]
pub struct PatchOutcome {
    /// Its changeset is taken out.
    pub compiled: CompiledPatch,
    pub is_applied: bool,
    /// Reason for a proposal.
    pub gate: Option<Gate>,
    pub proposal: Option<ProposalId>,
    /// Returned an equal pending proposal.
    pub is_duplicate: bool,
}

/// `answer` gets the result before cleanup.
///
/// # Errors
/// After an error nothing is changed.
pub fn run<R>(
    session: &Session<'_>,
    request: &Request,
    answer: impl FnOnce(PatchOutcome) -> R,
) -> Result<R> {
    let store = session.store;
    let repository = store.repository();
    // A session proposes all its files at the end of the run.
    let in_session = store.is_in_session();
    // The session's index is unused, and git would run with a `.git` that the agent may have
    // changed.
    let index = request.index && !in_session;
    let mut gate = None;
    if !(request.propose || request.dry_run || in_session) {
        // Check before writing files that could be neither recorded nor undone.
        store.require_no_trial()?;
        store.require_clone()?;
        let holds = rules::is_gated(session.caller.class(), request.attended);
        gate = repository.gate()?.filter(|_| holds).or(request.gate);
    }
    if request.dry_run || request.propose || gate.is_some() {
        return Ok(answer(held_back(session, request, gate)?));
    }
    // Memory and instruction files always need a person, whatever the settings. A caller without a
    // terminal may be an unmarked agent, and nobody sits at a build machine's terminal.
    let is_human = session.caller.actor.kind == ActorKind::Human;
    let gated = Cell::new(None);
    let answer = Cell::new(Some(answer));
    let make = |worktree: &Reader<'_>| {
        let mut compiled = read(session, request, worktree)?;
        store.accept(&compiled.changeset)?;
        let changes = compiled.changeset.changes();
        if in_session {
            return Ok((std::mem::take(&mut compiled.changeset), compiled));
        }
        let waits = || {
            if !is_human || request.attended {
                return Ok(!is_human);
            }
            repository.permits().map(|permits| permits.wants_terminal(true, true))
        };
        if changes.iter().any(code_changes::touches) && waits()? {
            gated.set(Some(Gate::Memory));
        } else if !is_human && sensitive::instructs(changes, &store.repository().instructions()) {
            gated.set(Some(Gate::Instructions));
        }
        if gated.get().is_some() {
            return Err(Error::bug("what waits for a person was written"));
        }
        // People see what they write, and scanning reads each file completely.
        if !is_human || repository.settings()?.scan == ScanMode::Block {
            let warnings = gate::line_warnings(repository, &compiled.changeset, &[])?;
            compiled.notes.extend(warnings.iter().map(ScanWarning::line));
        }
        Ok((std::mem::take(&mut compiled.changeset), compiled))
    };
    let hash = repository.repo().object_hash();
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
            let record = || record(session, written.changeset, written.computed);
            let recorded = (!in_session).then(record).transpose();
            warnings.extend(recorded.err().map(|error| {
                format!("the files are written but not recorded: {}", error.message())
            }));
        }
        answer.take().map(|answer| answer(PatchOutcome::new(compiled, warnings)))
    });
    match written {
        Err(_) if gated.get().is_some() => {
            let done = held_back(session, request, gated.get())?;
            answer.take().map(|answer| answer(done))
        }
        written => written?,
    }
    .ok_or_else(|| Error::bug("a patch was answered twice"))
}

/// See `denied`.
fn read(session: &Session<'_>, request: &Request, files: &dyn Snapshot) -> Result<CompiledPatch> {
    let read = capture::patch(session.store.repository(), &request.patch, files, &request.options);
    let compiled = read.map_err(|error| denied_files::unquoted(session, error))?;
    denied_files::refuse_copies(session, &compiled.changeset)?;
    Ok(compiled)
}

/// Log and undo need the record.
fn record(session: &Session<'_>, changeset: &Changeset, ids: Result<Vec<Ids>>) -> Result<String> {
    let evidence = decide::patch::evidence(session.caller.tool);
    let (store, caller) = (session.store, &session.caller);
    let authority = decide::authorise(store, caller, Verb::Patch, &[], &evidence, "aye patch")?;
    decide::patch::record(store, &authority, session.now, changeset, ids?)
}

fn held_back(session: &Session<'_>, request: &Request, gate: Option<Gate>) -> Result<PatchOutcome> {
    let store = session.store;
    let repository = store.repository();
    let limit = repository.settings()?.max_file_size;
    let files = repository.worktree()?.with_size_limit(limit);
    let mut compiled = read(session, request, &files)?;
    let draft = Draft::new(store, std::mem::take(&mut compiled.changeset), InputForm::Patch)?;
    if request.dry_run && request.index {
        apply::refuse_unstaged(repository, draft.changeset())?;
    }
    let lines = |warnings: &[ScanWarning]| warnings.iter().map(ScanWarning::line).collect();
    if request.dry_run || compiled.already_applied {
        let warnings = gate::file_warnings(repository, draft.changeset(), |_, _| false);
        return Ok(PatchOutcome {
            is_applied: false,
            gate,
            ..PatchOutcome::new(compiled, lines(&warnings))
        });
    }
    let details = Details { description: request.description.clone(), ..Details::default() };
    let recorded = propose::propose(session, draft, details)?;
    Ok(PatchOutcome {
        is_applied: false,
        gate,
        proposal: Some(recorded.proposal.id),
        is_duplicate: recorded.duplicate,
        ..PatchOutcome::new(compiled, lines(&recorded.warnings))
    })
}

impl PatchOutcome {
    fn new(mut compiled: CompiledPatch, notes: Vec<String>) -> Self {
        compiled.notes.extend(notes);
        let is_applied = !compiled.already_applied;
        Self { compiled, is_applied, gate: None, proposal: None, is_duplicate: false }
    }
}
