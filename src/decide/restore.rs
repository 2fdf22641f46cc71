//! Text of a proposal, brought back into the work tree without a decision on it.

use chrono::{DateTime, Utc};

use super::{patch, subject, verified};
use crate::apply::write_direct;
use crate::changeset::plan::Planned;
use crate::changeset::{Changeset, FileChange};
use crate::error::{Error, Result};
use crate::proposal::event::{Evidence, InputForm};
use crate::proposal::rules::{self, Class, Verb};
use crate::proposal::{Caller, Data, Proposal, Status, codes};
use crate::store::{Store, View};
use crate::worktree::Reader;

/// What was brought back.
#[derive(Clone, Debug)]
pub struct Restored {
    /// What became of each file.
    pub files: Vec<Planned>,
    /// The direct patch that it is recorded as; `None` where all files have it already.
    pub patch: Option<String>,
}

/// Whether the text of `proposal` was taken from the work tree, where it may be missed.
///
/// # Errors
/// If the store cannot be read.
pub fn is_from_work_tree(view: &View, proposal: &Proposal) -> Result<bool> {
    let log = view.log(Some(&proposal.id), None)?;
    Ok(log.iter().any(|entry| match &entry.stamped.event.data {
        Data::Propose(propose) => propose.form == InputForm::Worktree,
        _ => false,
    }))
}

/// Writes what `proposal` would change to the work tree, merged with what the files hold now, all
/// files or none. It is recorded as a direct patch of the caller's and decides nothing. Only for
/// people, with the `evidence` that applying it would take; nor for what is pending, which is applied;
/// nor without a terminal where direct patches are gated.
///
/// # Errors
/// `human_approval_required`, `terminal_required`, `in_trial`, `invalid_argument`, `conflict`, those of
/// the work tree and the store.
pub fn restore(
    store: &Store,
    caller: &Caller,
    now: DateTime<Utc>,
    proposal: &Proposal,
    evidence: &Evidence,
) -> Result<Restored> {
    let id = &proposal.id;
    let command = format!("aye restore {id}");
    store.require_outside_trial(caller.actor.kind)?;
    let who = match caller.class() {
        Class::Human => None,
        Class::Ci => Some("this is a build machine (CI is set)".to_owned()),
        Class::Agent | Class::Tool => Some(format!("'{}' is an agent", caller.actor.name)),
    };
    if let Some(who) = who {
        return Err(Error::new(
            &codes::HUMAN_APPROVAL_REQUIRED,
            format!("{who}, and only a person brings text back"),
        )
        .with("command", command.clone())
        .hint(format!("ask your user to run: {command}")));
    }
    let refused = |message: String, hint: String| {
        Err(Error::new(&crate::error::codes::INVALID_ARGUMENT, message).hint(hint))
    };
    if proposal.status(now) == Status::Pending {
        return refused(format!("{id} is pending"), format!("apply it: aye apply {id}"));
    }
    let holds = rules::is_gated(caller.class(), *evidence == Evidence::Terminal);
    if let Some(gate) = store.gate()?.filter(|_| holds) {
        return refused(
            format!("direct writes are gated here ({})", gate.as_str()),
            format!("run `{command}` at a terminal, or have it decided again: aye reopen {id}"),
        );
    }
    let proposal = &verified(store, proposal)?;
    // Before anything is written: files that are brought back and not recorded could not be undone.
    require_as_for_apply(store, caller, proposal, evidence, &command)?;
    let recorded = patch::evidence(caller.tool);
    let authority = super::authorise(store, caller, Verb::Patch, &[], &recorded, &command)?;
    let mut lock = None;
    let make = |files: &Reader<'_>| {
        lock = subject::lock(store, &authority, now, proposal)?;
        let view = store.view()?;
        let (plan, _) = subject::forward(store, &view, proposal, None, files)?;
        drop(view);
        if let Some(refusal) = plan.refusal() {
            return Err(refusal.with("proposal_id", id.as_str()).hint(format!(
                "nothing was written; `aye diff {id} --patch` prints it, to be taken by hand"
            )));
        }
        let changes: Vec<FileChange> = plan.writes().map(|file| file.change(None)).collect();
        if changes.is_empty() {
            return Ok((Changeset::default(), plan.files));
        }
        let changeset = Changeset::new(changes)?;
        store.accept(&changeset)?;
        Ok((changeset, plan.files))
    };
    let hash = store.repo().object_hash();
    let ids = |changeset: &_| patch::ids(hash, changeset);
    write_direct(store, false, make, ids, |files, written| {
        let record =
            |changeset, ids: Result<_>| patch::record(store, &authority, now, changeset, ids?);
        let patch = written.map(|written| record(written.changeset, written.computed)).transpose();
        Ok(Restored { files, patch: patch? })
    })?
}

/// Refuses where `evidence` would not do for applying `proposal`: what it writes is the same.
///
/// # Errors
/// As [`super::authorise`].
fn require_as_for_apply(
    store: &Store,
    caller: &Caller,
    proposal: &Proposal,
    evidence: &Evidence,
    command: &str,
) -> Result<()> {
    let proposals = std::slice::from_ref(proposal);
    match super::authorise(store, caller, Verb::Apply, proposals, evidence, command) {
        // The hint for an apply names a flag that is none of this command's.
        Err(error) if error.is(&codes::TERMINAL_REQUIRED) => {
            Err(Error::new(&codes::TERMINAL_REQUIRED, error.message())
                .with("command", command)
                .hint(format!("nothing was written; run `{command}` at a terminal")))
        }
        granted => granted.map(drop),
    }
}
