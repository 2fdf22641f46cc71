//! Undo of an apply, or of a direct patch.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::draft::{self, Draft};
use super::{ViewedState, decision_plan, pin_thread, subject};
use crate::apply as files;
use crate::changeset::Snapshot;
use crate::changeset::codes::CONFLICT;
use crate::changeset::plan::{ApplyPlan, Conflict, ConflictReason, MergeStatus, PlannedFile};
use crate::error::{Error, Result};
use crate::proposal::event::{Effect, Patch, Subject, Verdict, Written};
use crate::proposal::state::Decision;
use crate::proposal::{Authority, ChangeRecord, Data, Proposal, ProposalId, StoredEvent, codes};
use crate::store::{LogEntry, NewDecision, Store, View, Writer};

#[derive(Clone, Debug)]
pub struct UndoResult {
    /// Empty if the apply was a mark.
    pub files: Vec<PlannedFile>,
    /// Commit that still has the change.
    pub commit: Option<String>,
    pub notes: Vec<String>,
}

impl UndoResult {
    /// True if an undo changes a file. Generated pages do not count.
    pub fn puts_back(&self) -> bool {
        puts_back(&self.files)
    }
}

fn puts_back(files: &[PlannedFile]) -> bool {
    let is_back_already =
        |file: &PlannedFile| matches!(file.outcome, MergeStatus::Already | MergeStatus::Derived(_));
    !files.iter().all(is_back_already)
}

/// # Errors
/// `not_applied`, `object_missing`; `changed_since_shown` if only another clone vouches for the
/// content before.
pub fn preview(store: &Store, proposal: &Proposal) -> Result<ApplyPlan> {
    let decision = require_apply(store, proposal)?;
    let taken = restorable(store, proposal, decision)?;
    let worktree = store.repository().worktree()?;
    let plan = subject::plan_undo(store, proposal, decision, &taken, &worktree)?;
    refuse_moved(store, proposal, &plan, &worktree)?;
    Ok(plan)
}

/// A file that is missing because it moved is not undone: the change moved with it.
fn refuse_moved(
    store: &Store,
    proposal: &Proposal,
    plan: &ApplyPlan,
    files: &dyn Snapshot,
) -> Result<()> {
    let is_gone = |file: &&PlannedFile| {
        let is_missing = matches!(
            file.outcome,
            MergeStatus::Already
                | MergeStatus::Conflict(Conflict { reason: ConflictReason::Missing, .. })
        );
        file.now.is_none() && is_missing
    };
    let mut gone = plan.files.iter().filter(is_gone).peekable();
    if gone.peek().is_none() || proposal.subject != Subject::Code {
        return Ok(());
    }
    let view = store.view()?;
    for file in gone {
        if let Some(at) = super::moved_to(store.repository(), &view, proposal, &file.path, files)? {
            let (from, at) = (file.path.display().to_string(), at.display().to_string());
            let message = format!("{from} was moved to {at} since, with the applied change");
            return Err(Error::new(&CONFLICT, message)
                .with("path", from)
                .with("moved_to", at)
                .with("proposal_id", proposal.id.as_str())
                .hint("nothing was written; move it back first, or revert it by hand"));
        }
    }
    Ok(())
}

/// Restores the files, all or none, and records it; the proposal is pending again. Later changes to
/// other lines stay. `at` was read with `seen`, before any question: newer events of this clone
/// refuse the undo. `decision_plan` is the plan that a person agreed to.
///
/// # Errors
/// `changed_since_shown`; `conflict` if the same lines have changed since.
pub fn undo(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    seen: &Proposal,
    at: &ViewedState,
    shown: Option<&ApplyPlan>,
) -> Result<UndoResult> {
    let view = store.view()?;
    let seen = &super::current(&view, seen)?;
    let decision = require_apply(store, seen)?;
    let taken = restorable(store, seen, decision)?;
    let commit = decision.commit.clone();
    // Tips as seen, HEAD as it is now.
    let at = ViewedState { target: ViewedState::now(&view, [])?.target, ..at.clone() };
    let draft = Draft::new(authority, &at, seen, Verdict::Undo);
    let draft = Draft { revision: &decision.revision, ..draft };
    if decision.written.is_empty() {
        store.write(authority.actor(), now, |writer| record(writer, draft, decision))?;
        return Ok(UndoResult { files: Vec::new(), commit, notes: Vec::new() });
    }
    let journal = files::lock(store)?;
    let _lock = subject::lock(store.repository(), authority, now, seen)?;
    let worktree = store.repository().worktree()?;
    let reader = worktree.reader();
    let plan = subject::plan_undo(store, seen, decision, &taken, &reader)?;
    refuse_moved(store, seen, &plan, &reader)?;
    if let Some(refusal) = plan.refusal() {
        return Err(conflict(store, refusal, seen));
    }
    if shown.is_some_and(|shown| *shown != plan) {
        let message = "its files were edited while you decided, so something else would be written";
        return Err(Error::new(&codes::CHANGED_SINCE_SHOWN, message)
            .with("proposal_id", seen.id.as_str())
            .hint(format!("nothing was written; look at it again: aye undo {}", seen.id)));
    }
    let written = files::written(store, &[], &plan, |_| None)?;
    super::refuse_private_merge(&view, &seen.id, true, super::merged(&written))?;
    let planned = decision_plan::of_plan(store, &view, seen, None, plan, at.clone())?;
    let (effect, manifest) = (Some(Effect::Files), Some(&planned.manifest));
    let draft = Draft { effect, manifest, lines: draft::lines(&planned.plan), ..draft };
    let subject = files::subject(files::UNDO, &seen.id, now);
    journal.apply(&reader, &files::steps(&worktree, &planned.plan)?, Some(&subject), |_| {
        crate::failpoint!("undo.event");
        store.write(authority.actor(), now, |writer| record(writer, draft, decision))
    })?;
    let mut notes = Vec::from_iter(super::unstage::unstage(store.repository(), &written));
    let files = planned.plan.files;
    let nothing = explain_no_change(store, seen, &files);
    notes.extend(nothing.map(|why| format!("nothing was restored: {why}")));
    Ok(UndoResult { files, commit, notes })
}

/// Reason why an undo changes nothing, and where the change still is.
pub fn explain_no_change(
    store: &Store,
    proposal: &Proposal,
    files: &[PlannedFile],
) -> Option<String> {
    let decision = require_apply(store, proposal).ok()?;
    if decision.written.is_empty() || puts_back(files) {
        return None;
    }
    let had_it = decision.written.iter().filter(|file| file.before == file.after).count();
    if had_it == decision.written.len() {
        return Some("the files had the change before it was applied".to_owned());
    }
    let files = if had_it == 0 { "the files here" } else { "the files that it wrote" };
    let where_else = match &decision.commit {
        Some(commit) => {
            format!(
                "commit {commit:.12} stays where it is: `git branch --all --contains {commit:.12}`"
            )
        }
        None if !decision.is_of(&store.clone_ids()) => {
            format!("{} applied it in another clone", decision.by.name)
        }
        None if store.repository().has_linked() => {
            "another work tree that it was applied in may".to_owned()
        }
        None => "look for it in `git stash list`".to_owned(),
    };
    Some(format!("{files} do not have the change; {where_else}"))
}

pub fn conflict(store: &Store, refusal: Error, proposal: &Proposal) -> Error {
    let refusal = refusal.with("proposal_id", proposal.id.as_str());
    match find_dependent(store, proposal) {
        Ok(Some(upper)) => refusal.hint(format!(
            "nothing was written; {upper} depends on it and is applied: `aye undo {upper}` first"
        )),
        _ => refusal
            .hint("nothing was written; the same lines have changed since, so revert it by hand"),
    }
}

/// Last applied proposal that was made on `proposal`, or starts from what it wrote.
fn find_dependent(store: &Store, proposal: &Proposal) -> Result<Option<ProposalId>> {
    let (view, lower) = (store.view()?, require_apply(store, proposal)?);
    for page in view.log_pages(None, None) {
        for LogEntry { id, stamped, .. } in page? {
            // One command may decide both at the same time.
            if stamped.event.time < lower.at {
                return Ok(None);
            }
            let Data::Decision(said) = &stamped.event.data else { continue };
            if said.verdict != Verdict::Apply {
                continue;
            }
            let Ok(upper) = view.proposal(&id) else { continue };
            let made = upper.applies().find(|made| made.event == stamped.id);
            let Some(made) = made.and_then(|made| upper.revision(&made.revision)) else { continue };
            let is_on = made.on.as_ref().is_some_and(|on| on.proposal == proposal.id);
            let goes_on = |written: &Written| {
                let starts = |change: &ChangeRecord| change.before == written.after;
                let mut changes = made.changes.iter().filter(|it| it.path == written.path);
                written.after.is_some() && changes.any(starts)
            };
            if is_on || lower.written.iter().any(goes_on) {
                return Ok(Some(upper.id));
            }
        }
    }
    Ok(None)
}

/// The apply to undo: this clone's, if there are several.
fn require_apply<'p>(store: &Store, proposal: &'p Proposal) -> Result<&'p Decision> {
    proposal.apply_here(&store.clone_ids()).ok_or_else(|| {
        let message = format!("{} is not applied, so there is nothing to undo", proposal.id);
        Error::new(&codes::NOT_APPLIED, message)
            .hint(format!("`aye show {}` prints its state", proposal.id))
    })
}

/// Files to restore. Content for which only another clone vouches is not restored. It comes from
/// the revision, whose step is merged into the file, or from a decision of this clone.
fn restorable(store: &Store, proposal: &Proposal, decision: &Decision) -> Result<Vec<Written>> {
    let restorable = proposal.restorable(decision, &store.clone_ids());
    // Memory files are restored whole, not merged.
    let is_merged = proposal.subject == Subject::Code;
    let known = |written: &&Written| {
        let is_it = |known: &Written| known == *written || is_merged && known.path == written.path;
        written.before == written.after || restorable.iter().any(is_it)
    };
    let Some(foreign) = decision.written.iter().find(|written| !known(written)) else {
        return Ok(restorable);
    };
    let path = foreign.path.display();
    Err(Error::new(
        &codes::CHANGED_SINCE_SHOWN,
        format!("only another clone has the content of {path} before {}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("nothing was written; revert it by hand, or undo it in the clone that applied it"))
}

fn record(writer: &mut Writer<'_>, draft: Draft<'_>, decision: &Decision) -> Result<()> {
    let id = &draft.proposal.id;
    let current = pin_thread(writer, draft.proposal, draft.seen)?;
    if require_apply(writer.store(), &current)?.event != decision.event {
        return Err(super::changed_since_shown(&current, "it was applied again"));
    }
    let evidence = draft.authority.evidence();
    draft.record(writer)?;
    writer.renew(id, evidence)
}

pub fn preview_patch(store: &Store, patch: &Patch) -> Result<ApplyPlan> {
    patch_back(store, patch, &store.repository().worktree()?)
}

/// Restores only files that hold exactly the patch's result: no object database has that, so there
/// is nothing to merge with.
fn patch_back(store: &Store, patch: &Patch, snapshot: &dyn Snapshot) -> Result<ApplyPlan> {
    let mut files = Vec::with_capacity(patch.written.len());
    for written in &patch.written {
        let now = snapshot.file(&written.path)?;
        let found = now.as_ref().map(|file| store.entry_of(file)).transpose()?;
        let (after, outcome) = if found == written.after {
            let before = written.before.as_ref().map(|entry| store.file(entry)).transpose()?;
            (before, MergeStatus::Clean)
        } else if found == written.before {
            (now.clone(), MergeStatus::Already)
        } else {
            let reason = match (&now, &written.before) {
                (None, _) => ConflictReason::Missing,
                (_, None) => ConflictReason::ChangedSince,
                _ => ConflictReason::Replaced,
            };
            let (hunks, marked) = (Vec::new(), None);
            (now.clone(), MergeStatus::Conflict(Conflict { reason, hunks, marked }))
        };
        files.push(PlannedFile { path: written.path.clone(), now, after, outcome });
    }
    Ok(ApplyPlan { files })
}

/// # Errors
/// `conflict` if the files have changed since; `not_applied` if none of them has the patch and
/// another work tree may.
pub fn undo_patch(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    stamped: &StoredEvent,
    patch: &Patch,
) -> Result<Vec<PlannedFile>> {
    let id = super::patch::id(&stamped.id);
    let journal = files::lock(store)?;
    let worktree = store.repository().worktree()?;
    let reader = worktree.reader();
    let plan = patch_back(store, patch, &reader)?;
    if let Some(refusal) = plan.refusal() {
        return Err(refusal
            .hint("nothing was written; the files have changed since, so revert it by hand")
            .with("patch_id", id));
    }
    if plan.writes().next().is_none() && store.repository().has_linked() {
        let message = format!("{id} is not in the files of this work tree");
        return Err(Error::new(&codes::NOT_APPLIED, message)
            .hint("undo it in the work tree that it was applied in: git worktree list")
            .with("patch_id", id));
    }
    files::written(store, &[], &plan, |_| None)?;
    let manifest = decision_plan::manifest(store, &plan)?;
    let target = ViewedState::now(&store.view()?, [])?.target;
    let subject = files::subject(files::UNDO, &id, now);
    journal.apply(&reader, &files::steps(&worktree, &plan)?, Some(&subject), |_| {
        crate::failpoint!("undo.event");
        store.write(authority.actor(), now, |writer| {
            let (effect, manifest) = (Some(Effect::Files), Some(&manifest));
            let undo = NewDecision { effect, manifest, target, ..NewDecision::new(Verdict::Undo) };
            writer.decide(authority, &ProposalId::long(&stamped.id), undo).map(drop)
        })
    })?;
    // The files hold that content again.
    store.forget_before(&id)?;
    Ok(plan.files)
}

/// Seconds between decisions of one answer.
const AT_ONCE: i64 = 5;

/// Proposals of this clone's newest answer: standing decisions and requests for changes, newest
/// first.
pub fn last_answer(store: &Store, view: &View<'_>) -> Result<Vec<Proposal>> {
    let own = store.clone_ids();
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    let mut before: Option<DateTime<Utc>> = None;
    for page in view.log_pages(None, None) {
        for LogEntry { id, stamped, .. } in page? {
            let event = &stamped.event;
            let Data::Decision(said) = &event.data else { continue };
            let is_request = said.verdict == Verdict::RequestChanges;
            let is_no = matches!(said.verdict, Verdict::Reject | Verdict::Withdraw);
            let decides = is_request || is_no || said.verdict == Verdict::Apply;
            if !decides || !own.contains(&event.clone) {
                continue;
            }
            if before.is_some_and(|last| (last - event.time).num_seconds() > AT_ONCE) {
                return Ok(found);
            }
            // A direct patch is decided only by its undo.
            let Ok(proposal) = view.proposal(&id) else { continue };
            let stands = match (is_request, &proposal.changes_requested) {
                (false, _) => proposal.decisions().any(|made| made.event == stamped.id),
                (true, Some(request)) => proposal.decision().is_none() && request.at == event.time,
                (true, None) => false,
            };
            if stands && known.insert(proposal.id.clone()) {
                before = Some(event.time);
                found.push(proposal);
            }
        }
    }
    Ok(found)
}
