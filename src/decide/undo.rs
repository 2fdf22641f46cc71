//! Taking an apply, or a direct patch, back.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::draft::{self, Draft};
use super::{Seen, pinned, shown, subject};
use crate::apply as files;
use crate::changeset::Snapshot;
use crate::changeset::codes::CONFLICT;
use crate::changeset::plan::{Conflict, Planned, Reason, Resolution, Resolved};
use crate::error::{Error, Result};
use crate::proposal::event::{Effect, Patch, Subject, Verdict, Written};
use crate::proposal::state::Decision;
use crate::proposal::{Authority, ChangeRecord, Data, Proposal, ProposalId, Stamped, codes};
use crate::store::{LogEntry, NewDecision, Store, View, Writer};

/// What an undo came to.
#[derive(Clone, Debug)]
pub struct Undone {
    /// What became of every file; empty if the apply had only marked.
    pub files: Vec<Planned>,
    /// The commit that still contains the change.
    pub commit: Option<String>,
    /// Where else the change still is, in words.
    pub notes: Vec<String>,
}

impl Undone {
    /// True unless the files were as before already. A generated page follows the files, whichever they are.
    pub fn puts_back(&self) -> bool {
        puts_back(&self.files)
    }
}

fn puts_back(files: &[Planned]) -> bool {
    let is_back_already =
        |file: &Planned| matches!(file.outcome, Resolved::Already | Resolved::Derived(_));
    !files.iter().all(is_back_already)
}

/// Plans taking the apply of `proposal` back. Writes nothing.
///
/// # Errors
/// `not_applied`, `object_missing`, `changed_since_shown` where another clone says what stood
/// before, and what the work tree refuses.
pub fn preview(store: &Store, proposal: &Proposal) -> Result<Resolution> {
    let decision = applied(store, proposal)?;
    let taken = restorable(store, proposal, decision)?;
    let worktree = store.repository().worktree()?;
    let plan = subject::back(store, proposal, decision, &taken, &worktree)?;
    refuse_moved(store, proposal, &plan, &worktree)?;
    Ok(plan)
}

/// Refuses to call a file taken back that is gone only because it was moved since: what was applied is in it.
fn refuse_moved(
    store: &Store,
    proposal: &Proposal,
    plan: &Resolution,
    files: &dyn Snapshot,
) -> Result<()> {
    let is_gone = |file: &&Planned| {
        let is_missing = matches!(
            file.outcome,
            Resolved::Already | Resolved::Conflict(Conflict { reason: Reason::Missing, .. })
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
            let message = format!("{from} was moved to {at} since, with what was applied");
            return Err(Error::new(&CONFLICT, message)
                .with("path", from)
                .with("moved_to", at)
                .with("proposal_id", proposal.id.as_str())
                .hint("nothing was written; move it back first, or revert it by hand"));
        }
    }
    Ok(())
}

/// Puts back what was there before `proposal` was applied, all files or none, and records it: the
/// proposal is pending again. Later changes in other lines of the files stay. `at` is when `seen` was read, before
/// any question: what this clone has recorded of it since refuses the undo. `shown` is what a person has seen
/// of [`preview`] and agreed to: nothing else is written.
///
/// # Errors
/// As [`preview`]; `changed_since_shown`; `conflict` where the same lines have changed since; those of writing files.
pub fn undo(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    seen: &Proposal,
    at: &Seen,
    shown: Option<&Resolution>,
) -> Result<Undone> {
    let view = store.view()?;
    let seen = &super::current(&view, seen)?;
    let decision = applied(store, seen)?;
    let taken = restorable(store, seen, decision)?;
    let commit = decision.commit.clone();
    // The tips are those that were seen, HEAD is the one that is there.
    let at = Seen { target: Seen::now(&view, [])?.target, ..at.clone() };
    let draft = Draft::new(authority, &at, seen, Verdict::Undo);
    let draft = Draft { revision: &decision.revision, ..draft };
    if decision.written.is_empty() {
        store.write(authority.actor(), now, |writer| record(writer, draft, decision))?;
        return Ok(Undone { files: Vec::new(), commit, notes: Vec::new() });
    }
    let journal = files::lock(store)?;
    let _lock = subject::lock(store.repository(), authority, now, seen)?;
    let worktree = store.repository().worktree()?;
    let reader = worktree.reader();
    let plan = subject::back(store, seen, decision, &taken, &reader)?;
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
    super::require_apart(&view, &seen.id, true, super::merged(&written))?;
    let planned = shown::of_plan(store, &view, seen, None, plan, at.clone())?;
    let (effect, manifest) = (Some(Effect::Files), Some(&planned.manifest));
    let draft = Draft { effect, manifest, lines: draft::lines(&planned.plan), ..draft };
    let subject = files::subject(files::UNDO, &seen.id, now);
    journal.apply(&reader, &files::steps(&worktree, &planned.plan)?, Some(&subject), |_| {
        crate::failpoint!("undo.event");
        store.write(authority.actor(), now, |writer| record(writer, draft, decision))
    })?;
    let mut notes = Vec::from_iter(super::unstage::unstage(store.repository(), &written));
    let files = planned.plan.files;
    let nothing = elsewhere(store, seen, &files);
    notes.extend(nothing.map(|why| format!("nothing was put back: {why}")));
    Ok(Undone { files, commit, notes })
}

/// Why taking back what was applied of `proposal` comes to nothing in `files`, and where else it is; `None` where
/// something is put back.
pub fn elsewhere(store: &Store, proposal: &Proposal, files: &[Planned]) -> Option<String> {
    let decision = applied(store, proposal).ok()?;
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

/// A plan's refusal, with what to do about it.
pub fn conflict(store: &Store, refusal: Error, proposal: &Proposal) -> Error {
    let refusal = refusal.with("proposal_id", proposal.id.as_str());
    match upper(store, proposal) {
        Ok(Some(upper)) => refusal.hint(format!(
            "nothing was written; {upper} stands on it and is applied: `aye undo {upper}` first"
        )),
        _ => refusal
            .hint("nothing was written; the same lines have changed since, so revert it by hand"),
    }
}

/// The last applied of those that stand on `proposal`, applied itself: that were made on it, or start from what it
/// wrote.
fn upper(store: &Store, proposal: &Proposal) -> Result<Option<ProposalId>> {
    let (view, lower) = (store.view()?, applied(store, proposal)?);
    for page in view.log_pages(None, None) {
        for LogEntry { id, stamped } in page? {
            // Both may have been decided by one command, at one time.
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

/// The apply that is taken back: this clone's, where several stand.
fn applied<'p>(store: &Store, proposal: &'p Proposal) -> Result<&'p Decision> {
    proposal.apply_here(&store.clone_ids()).ok_or_else(|| {
        let message = format!("{} is not applied, so there is nothing to undo", proposal.id);
        Error::new(&codes::NOT_APPLIED, message)
            .hint(format!("`aye show {}` prints its state", proposal.id))
    })
}

/// What is taken back of `decision`. Content of which only another clone says that it stood there before is not put
/// back: that comes from the revision, whose step is merged into the file as it is, or from a decision of this clone.
fn restorable(store: &Store, proposal: &Proposal, decision: &Decision) -> Result<Vec<Written>> {
    let restorable = proposal.restorable(decision, &store.clone_ids());
    // Memory is put back whole, not merged.
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
        format!("only another clone's record says what {path} held before {}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("nothing was written; revert it by hand, or undo it in the clone that applied it"))
}

/// Records `draft`, the undo of `decision`, where that still stands.
fn record(writer: &mut Writer<'_>, draft: Draft<'_>, decision: &Decision) -> Result<()> {
    let id = &draft.proposal.id;
    let current = pinned(writer, draft.proposal, draft.seen)?;
    if applied(writer.store(), &current)?.event != decision.event {
        return Err(super::changed(&current, "it was applied again"));
    }
    draft.record(writer)?;
    writer.renew(id)
}

/// Plans taking a direct patch back. Writes nothing.
///
/// # Errors
/// `object_missing`, and what the work tree refuses.
pub fn preview_patch(store: &Store, patch: &Patch) -> Result<Resolution> {
    patch_back(store, patch, &store.repository().worktree()?)
}

/// Puts back what stood before, where the files still hold exactly what the patch wrote: its
/// result is in no object database, so there is nothing to merge with.
fn patch_back(store: &Store, patch: &Patch, snapshot: &dyn Snapshot) -> Result<Resolution> {
    let mut files = Vec::with_capacity(patch.written.len());
    for written in &patch.written {
        let now = snapshot.file(&written.path)?;
        let found = now.as_ref().map(|file| store.entry_of(file)).transpose()?;
        let (after, outcome) = if found == written.after {
            let before = written.before.as_ref().map(|entry| store.file(entry)).transpose()?;
            (before, Resolved::Clean)
        } else if found == written.before {
            (now.clone(), Resolved::Already)
        } else {
            let reason = match (&now, &written.before) {
                (None, _) => Reason::Missing,
                (_, None) => Reason::ChangedSince,
                _ => Reason::Replaced,
            };
            let (hunks, marked) = (Vec::new(), None);
            (now.clone(), Resolved::Conflict(Conflict { reason, hunks, marked }))
        };
        files.push(Planned { path: written.path.clone(), now, after, outcome });
    }
    Ok(Resolution { files })
}

/// Takes the direct patch that `stamped` records back, and records that.
///
/// # Errors
/// `conflict` where the files have changed since; `not_applied` where none of them has it and another work tree
/// may; those of writing files.
pub fn undo_patch(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    stamped: &Stamped,
    patch: &Patch,
) -> Result<Vec<Planned>> {
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
    let manifest = shown::manifest(store, &plan)?;
    let target = Seen::now(&store.view()?, [])?.target;
    let subject = files::subject(files::UNDO, &id, now);
    journal.apply(&reader, &files::steps(&worktree, &plan)?, Some(&subject), |_| {
        crate::failpoint!("undo.event");
        store.write(authority.actor(), now, |writer| {
            let (effect, manifest) = (Some(Effect::Files), Some(&manifest));
            let undo = NewDecision { effect, manifest, target, ..NewDecision::new(Verdict::Undo) };
            writer.decide(authority, &ProposalId::long(&stamped.id), undo).map(drop)
        })
    })?;
    // It stands in the files again.
    store.forget_before(&id)?;
    Ok(plan.files)
}

/// Decisions that follow each other within so many seconds were written in one go, as those of a review.
const AT_ONCE: i64 = 5;

/// The proposals whose decisions, or requests for changes, are the last ones that this clone has made in
/// one go and that stand, however many: the newest first.
///
/// # Errors
/// Those of the store.
pub fn last(store: &Store, view: &View<'_>) -> Result<Vec<Proposal>> {
    let own = store.clone_ids();
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    let mut before: Option<DateTime<Utc>> = None;
    for page in view.log_pages(None, None) {
        for LogEntry { id, stamped } in page? {
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
            // A direct patch has no decisions but its undo.
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
