//! Applying: what was shown is written, all files or none, and recorded.

use std::time::Duration;

use chrono::{DateTime, Utc};
use gix::state::InProgress;

use super::shown::{self, Shown, entry};
use super::{Draft, Made, Part, Seen, digest_of, steps, still, subject};
use crate::apply::{self as files, Beside, Committed, Wanted};
use crate::changeset::plan::{Planned, Resolution};
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath, Snapshot};
use crate::error::{Error, Result};
use crate::proposal::event::{
    Apply, BlobRef, Comment, Effect, FileOutcome, InputForm, Note, Subject, Written, digest, lists,
};
use crate::proposal::statement::Verdict;
use crate::proposal::steps::Step;
use crate::proposal::{Actor, Authority, ChangeRecord, Data, Proposal, ProposalId, trailers};
use crate::store::{NewProposal, NewRevision, Store, Writer};

/// What to do besides deciding.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to write.
    pub effect: Effect,
    /// First part of the commit message; the proposal's description otherwise.
    pub message: Option<String>,
    /// What to apply instead of the proposal's own changes: those of its hunks that were taken.
    pub part: Option<Part>,
    /// What the files hold besides is approved too.
    pub take_residue: bool,
    /// Comments that go into the same lane commit, before the decision.
    pub comments: Vec<Comment>,
    /// Changed lines that were not on the screen before the answer.
    pub unshown_lines: u64,
    /// Digest of the group that is decided in one answer ([`super::group`]).
    pub group: Option<String>,
    /// An earlier proposal of the same command was committed, so HEAD is not where it was shown.
    pub after_commit: bool,
    /// What a commit has of it already, which only has to be recorded.
    pub made: Option<Made>,
    /// Where this clone's lanes were when it was shown, for what is shown without a plan: a mark.
    pub seen: Option<Seen>,
}

impl Request {
    /// All of the proposal, with `effect`.
    pub fn all(effect: Effect) -> Self {
        Self {
            effect,
            message: None,
            part: None,
            take_residue: false,
            comments: Vec::new(),
            unshown_lines: 0,
            group: None,
            after_commit: false,
            made: None,
            seen: None,
        }
    }
}

/// What an apply came to.
#[derive(Clone, Debug)]
pub struct Applied {
    /// What became of every file; empty for a mark.
    pub files: Vec<Planned>,
    /// The commit made.
    pub commit: Option<String>,
    /// What did not go as asked after the decision stood, and what was ignored, in words.
    pub warnings: Vec<String>,
    /// A commit hook changed what was approved; the proposal that asks about it.
    pub amended: Option<ProposalId>,
    /// Files that hold changes of others, which the decision does not approve.
    pub not_approved: Vec<String>,
}

/// Applies the current revision of `proposal`, all files or none, and records it. With `shown`,
/// only if what would be written is exactly that.
///
/// # Errors
/// `conflict`, `not_pending`, `revised_meanwhile`, `changed_since_shown`, `file_changed`,
/// `uncommitted_changes`, `private_path`, and those of the store, the work tree and git. Nothing is changed then.
pub fn apply(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    request: &Request,
    shown: Option<&Shown>,
) -> Result<Applied> {
    if request.effect == Effect::MarkOnly {
        let proposal = &super::verified(store, proposal)?;
        return without_files(store, authority, now, proposal, request);
    }
    let journal = files::lock_within(store, subject::patience(store, proposal)?)?;
    let _lock = subject::lock(store, authority, now, proposal)?;
    let worktree = store.worktree()?;
    let reader = worktree.reader();
    let part = request.part.as_ref();
    let wanted = (part, request.made.as_ref());
    let (proposal, mut planned) =
        plan_again(store, now, proposal, wanted, &reader, shown, request.after_commit)?;
    let proposal = &proposal;
    let followed = planned.followed.clone();
    let part = followed.as_ref().map(|followed| &followed.part).or(part);
    if request.take_residue {
        planned.take_residue();
    }
    let known: &[ChangeRecord] = match part {
        Some(_) => &[],
        None => &proposal.current().changes,
    };
    let plan = planned.made.as_ref().unwrap_or(&planned.plan);
    let written = files::written(store, known, plan, |path| {
        let record = planned.manifest.record(path)?;
        Some([entry(&record.now), entry(&record.after)])
    })?;
    super::require_apart(store, &proposal.id, false, super::merged(&written))?;
    let mut kind = files::APPLY;
    let mut warnings = super::ignored::warnings(store, request.effect, &planned.plan)?;
    if request.effect == Effect::Commit {
        kind = files::COMMIT;
        let seen = require_recordable(store, authority, now, proposal, (&planned, part))?;
        let wanted = (request, part);
        keep_ahead(store, authority, now, proposal, wanted, (&planned, seen), &written)?;
    }
    let wanted = Wanted {
        effect: request.effect,
        message: request.message.as_deref(),
        subject: files::subject(kind, &proposal.id, now),
    };
    let reviewers = reviewers(store, authority, proposal, part, &planned);
    let (mut follow_up, mut unasked_about) = (None, Vec::new());
    let made = files::write(
        store,
        &journal,
        &reader,
        &worktree,
        &planned.plan,
        wanted,
        |commit| {
            let amended = amended(store, &planned, commit)?;
            unasked_about = commit.map(unasked).unwrap_or_default();
            store.write(authority.actor(), now, |writer| {
                let current = still(writer, proposal, &planned.seen)?;
                let decided = Decided {
                    current: &current,
                    request,
                    part,
                    planned: &planned,
                    written,
                    amended,
                    commit,
                };
                let differs = decided.amended.clone();
                decided.record(writer, authority, now)?;
                if !differs.is_empty() {
                    follow_up = Some(ask_about(writer, &current, &differs, commit)?);
                }
                Ok(())
            })
        },
        &reviewers,
        proposal,
    )?;
    drop(journal);
    warnings.extend(made.warning);
    warnings.extend(made.commit.as_ref().and_then(|commit| on_no_branch(store, commit)));
    warnings.extend(unasked_about);
    warnings.extend(subject::follow(store, authority, now, proposal, &reviewers));
    let not_approved = if planned.takes_residue() {
        Vec::new()
    } else {
        planned.foreign().map(|residue| residue.path.display().to_string()).collect()
    };
    Ok(Applied {
        files: planned.plan.files,
        commit: made.commit,
        warnings,
        amended: follow_up,
        not_approved,
    })
}

/// The people whom a commit names as reviewers: who decides, and who approved exactly this before. A
/// part of a proposal is a revision that nobody has approved yet.
fn reviewers(
    store: &Store,
    authority: &Authority,
    proposal: &Proposal,
    part: Option<&Part>,
    planned: &Shown,
) -> Vec<Actor> {
    let decides = authority.is_of_a_person().then(|| authority.actor().clone());
    let mut found = Vec::from_iter(decides);
    if part.is_none() {
        let approvals = steps::approvers(store, proposal, &planned.manifest);
        trailers::add(&mut found, approvals.into_iter().map(|approval| approval.by));
    }
    found
}

/// The proposal as [`super::verified`], and its plan, or that of `part` of it, or what was `made`, again while the
/// journal is locked, and held to what was shown: one look at the lanes. With `after_commit`, HEAD may
/// have moved.
///
/// # Errors
/// As [`super::verified`]; `not_pending`, `conflict`, `changed_since_shown`; those of the store and the work tree.
pub(super) fn plan_again(
    store: &Store,
    now: DateTime<Utc>,
    proposal: &Proposal,
    (part, made): (Option<&Part>, Option<&Made>),
    snapshot: &dyn Snapshot,
    shown: Option<&Shown>,
    after_commit: bool,
) -> Result<(Proposal, Shown)> {
    let view = store.look()?;
    let proposal = super::verified_in(store, &view, proposal)?;
    proposal.require_pending(now)?;
    let mut planned = match made {
        Some(made) => shown::show_made(store, &view, &proposal, made, snapshot)?,
        None => shown::show(store, &view, &proposal, part, snapshot)?,
    };
    drop(view);
    if let Some(refusal) = conflict(&planned.plan, &proposal.id) {
        return Err(store.name_sparse(refusal));
    }
    if let Some(shown) = shown {
        shown.require_same(&planned, after_commit)?;
        // The lane tip that the person had seen is the earlier one.
        let target = planned.seen.target.clone();
        planned.seen = Seen { target, ..shown.seen.clone() };
    }
    Ok((proposal, planned))
}

/// Applies without writing files: the person carries it out.
fn without_files(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    request: &Request,
) -> Result<Applied> {
    // Nobody can have seen what cannot be read.
    store.changeset(&proposal.current().changes)?;
    let seen = match &request.seen {
        Some(seen) => seen.clone(),
        None => Seen::now(store, &store.view()?)?,
    };
    store.write(authority.actor(), now, |writer| {
        let current = still(writer, proposal, &seen)?;
        let revision = current.current();
        let (event, digest) = (revision.event.clone(), digest_of(revision));
        comment(writer, &current.id, &request.comments)?;
        let draft = Draft {
            authority,
            now: writer.now(),
            seen: &seen,
            proposal: &current,
            revision: &event,
            digest: &digest,
            verdict: Verdict::Apply,
            reason: None,
            effect: Some(Effect::MarkOnly),
            unshown_lines: request.unshown_lines,
        };
        let statement = draft.attach(writer, None)?;
        let apply = Apply {
            written_blob: None,
            revision: event.clone(),
            digest: digest.clone(),
            how: authority.evidence().how(),
            effect: Effect::MarkOnly,
            commit: None,
            written: Vec::new(),
            amended: Vec::new(),
            evidence: Some(authority.evidence().clone()),
            statement: Some(statement),
            group: request.group.clone(),
        };
        writer.decide(authority, Some(&current.id), Data::Apply(apply)).map(drop)
    })?;
    Ok(Applied {
        files: Vec::new(),
        commit: None,
        warnings: Vec::new(),
        amended: None,
        not_approved: Vec::new(),
    })
}

/// An apply that is about to be recorded.
struct Decided<'a> {
    current: &'a Proposal,
    request: &'a Request,
    /// What is applied instead of the proposal's own changes.
    part: Option<&'a Part>,
    planned: &'a Shown,
    written: Vec<Written>,
    amended: Vec<Written>,
    commit: Option<&'a Committed>,
}

impl Decided<'_> {
    fn record(
        self,
        writer: &mut Writer<'_>,
        authority: &Authority,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let id = &self.current.id;
        comment(writer, id, &self.request.comments)?;
        let (revision, digest) = match self.part {
            Some(part) => {
                let (changes, reason) = (&part.changes, part.reason.clone());
                let on = self.current.current().on.clone();
                let new = NewRevision { on, ..NewRevision::new(changes, reason) };
                let revised = writer.revise(authority, id, new)?;
                let digest = digest(revised.event.data.changes());
                (revised.id, digest)
            }
            None => (self.current.current().event.clone(), digest_of(self.current.current())),
        };
        let effect = self.request.effect;
        let draft = Draft {
            authority,
            now,
            seen: &self.planned.seen,
            proposal: self.current,
            revision: &revision,
            digest: &digest,
            verdict: Verdict::Apply,
            reason: None,
            effect: Some(effect),
            unshown_lines: self.request.unshown_lines,
        };
        let statement = draft.attach(writer, Some(&self.planned.manifest))?;
        let apply = Apply {
            written_blob: None,
            revision,
            digest,
            how: authority.evidence().how(),
            effect,
            commit: self.commit.map(|commit| commit.id.clone()),
            written: self.written,
            amended: self.amended,
            evidence: Some(authority.evidence().clone()),
            statement: Some(statement),
            group: self.request.group.clone(),
        };
        writer.decide(authority, Some(id), Data::Apply(apply)).map(drop)
    }
}

/// Refuses, before git makes the commit, which nothing takes back, what could not be recorded after it: a proposal
/// that is not as it was shown any more, a lock or a lane that cannot be had, a `part` that others must not see.
/// Returns the commit that its statement names as seen.
fn require_recordable(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    (planned, part): (&Shown, Option<&Part>),
) -> Result<Option<String>> {
    store.write(authority.actor(), now, |writer| {
        still(writer, proposal, &planned.seen)?;
        part.map_or(Ok(()), |part| writer.require_revisable(proposal, &part.changes))?;
        writer.seen(&proposal.id, false, &planned.seen.own)
    })
}

/// Flushes, before git makes the commit, what its record names and does not depend on the commit:
/// after that the event, its trees and its lane commit are left. Nothing names these objects yet.
fn keep_ahead(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    (request, part): (&Request, Option<&Part>),
    (planned, seen): (&Shown, Option<String>),
    written: &[Written],
) -> Result<()> {
    let manifest = File::regular(planned.manifest.to_bytes());
    let mut kept = Vec::new();
    if let Some(part) = part {
        // Its revision is not there yet, so that the statement cannot be made.
        kept.extend(part.changes.changes().iter().filter_map(|change| change.after.clone()));
    } else {
        let (revision, digest) = (proposal.current(), digest_of(proposal.current()));
        let draft = Draft {
            authority,
            now,
            seen: &planned.seen,
            proposal,
            revision: &revision.event,
            digest: &digest,
            verdict: Verdict::Apply,
            reason: None,
            effect: Some(request.effect),
            unshown_lines: request.unshown_lines,
        };
        let id = store.entry_of(&manifest)?.id;
        let sha256 = crate::sha256::hex(&manifest.bytes);
        kept.push(File::regular(draft.statement(Some(BlobRef { id, sha256 }), seen)?));
    }
    kept.extend(lists::of_written(written)?.map(File::regular));
    kept.push(manifest);
    let kept: Vec<Option<&File>> = kept.iter().map(Some).collect();
    store.keep(&kept).map(drop)
}

/// Writes comments of the same session, before what it decides.
pub(super) fn comment(
    writer: &mut Writer<'_>,
    id: &ProposalId,
    comments: &[Comment],
) -> Result<()> {
    for comment in comments {
        writer.note(Some(id), Note::Comment(comment.clone()))?;
    }
    Ok(())
}

/// What the commit holds otherwise than was approved: a hook changed it or put it there, or somebody has
/// saved the file before git read it.
fn amended(store: &Store, planned: &Shown, commit: Option<&Committed>) -> Result<Vec<Written>> {
    let Some(commit) = commit else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for record in planned.manifest.records() {
        let committed = files::entry_in(store, &commit.id, &record.path)?;
        let approved = entry(&record.after);
        if committed != approved {
            let (path, outcome) = (record.path.clone(), FileOutcome::Hooked);
            found.push(Written { path, before: approved, after: committed, outcome });
        }
    }
    for file in commit.beside.iter().filter(|file| is_proposable(file)) {
        let Ok(path) = RepoPath::new(&file.path) else { continue };
        let (before, after) = (file.before.clone(), file.after.clone());
        found.push(Written { path, before, after, outcome: FileOutcome::Hooked });
    }
    Ok(found)
}

/// Whether a proposal can hold it: regular files alone.
fn is_proposable(file: &Beside) -> bool {
    let mut sides = file.before.iter().chain(&file.after);
    sides.all(|entry| Mode::parse(&entry.mode).is_some()) && RepoPath::new(&file.path).is_ok()
}

/// What a hook committed beside, and no proposal can ask about.
fn unasked(commit: &Committed) -> Vec<String> {
    let others = commit.beside.iter().filter(|file| !is_proposable(file));
    let id = commit.id.get(..12).unwrap_or(&commit.id);
    others
        .map(|file| format!("a hook put {} into commit {id}, which nobody approved", file.path))
        .collect()
}

/// What becomes of `commit`, made in the middle of something at whose end HEAD is on its branch again, where that
/// does not take it along.
fn on_no_branch(store: &Store, commit: &str) -> Option<String> {
    let repo = store.repo();
    if repo.head_name().ok()?.is_some() {
        return None;
    }
    let leaves = match repo.state()? {
        InProgress::Bisect => "`git bisect reset` leaves it behind",
        InProgress::Rebase | InProgress::RebaseInteractive => {
            "a rebase that is aborted leaves it behind"
        }
        _ => return None,
    };
    let short = commit.get(..12).unwrap_or(commit);
    Some(format!(
        "commit {short} is on no branch, and {leaves}; to keep it: git branch NAME {short}"
    ))
}

/// Proposes what the commit has otherwise than was approved, so that a person decides on it.
fn ask_about(
    writer: &mut Writer<'_>,
    proposal: &Proposal,
    amended: &[Written],
    commit: Option<&Committed>,
) -> Result<ProposalId> {
    let store = writer.store();
    let changes: Result<Vec<FileChange>> =
        amended.iter().map(|written| subject::change(store, &Step::from(written))).collect();
    let id = commit.map_or("", |commit| commit.id.get(..12).unwrap_or(&commit.id));
    let new = NewProposal {
        changeset: Changeset::new(changes?)?,
        description: Some(format!(
            "What commit {id} has otherwise than approved in {}",
            proposal.id
        )),
        domain: proposal.domain.clone(),
        related_task_id: None,
        proposed_by: "git commit".to_owned(),
        expires_in: store.settings()?.expires_in,
        subject: Subject::Code,
        form: InputForm::Commit,
        instead_of: None,
        on: None,
        target: None,
        memory: None,
        private: false,
    };
    Ok(writer.propose(new)?.id)
}

/// Writes the present files with conflict markers where the proposal of `shown` does not fit, and records
/// nothing: the proposal stays pending, and nothing is approved.
///
/// # Errors
/// `conflict` where lines cannot show it (binary, deleted), and as [`apply`].
pub fn write_markers(store: &Store, now: DateTime<Utc>, shown: &Shown) -> Result<Resolution> {
    let journal = files::lock(store)?;
    let worktree = store.worktree()?;
    let reader = worktree.reader();
    let view = store.look()?;
    let proposal = super::verified_in(store, &view, &shown.proposal)?;
    proposal.require_pending(now)?;
    let (plan, _) = subject::forward(store, &view, &proposal, None, &reader)?;
    if plan != shown.plan {
        return Err(super::changed(&proposal, "the files changed"));
    }
    let plan = plan.with_markers()?;
    files::write_unrecorded(&journal, &reader, &worktree, &plan)?;
    Ok(plan)
}

/// The refusal of `plan`, made of the proposal `id`, with what to do about it; `None` where it fits.
pub fn conflict(plan: &Resolution, id: &ProposalId) -> Option<Error> {
    let markers = if plan.conflicts().all(|(_, conflict)| conflict.marked.is_some()) {
        format!(", `aye apply {id} --conflict-markers` writes both versions")
    } else {
        String::new()
    };
    Some(plan.refusal()?.with("proposal_id", id.as_str()).hint(format!(
        "nothing was written; `aye review {id}` settles it{markers}, `aye revise {id} …` gives it again on \
         the present files"
    )))
}

/// Proposes and applies at once what the memory manifest lets pass, or what a person has decided
/// on together with making it: one lane commit.
///
/// # Errors
/// As [`apply`].
pub(super) fn propose_and_apply(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    wait: Duration,
    plan: impl FnOnce() -> Result<Option<(NewProposal, Resolution)>>,
) -> Result<Option<Proposal>> {
    let journal = files::lock_within(store, wait)?;
    let _lock = crate::memory::service::lock(store, authority.actor(), now)?;
    let Some((new, plan)) = plan()? else { return Ok(None) };
    let worktree = store.worktree()?;
    let reader = worktree.reader();
    let written = files::written(store, &[], &plan, |_| None)?;
    let seen = Seen::now(store, &store.view()?)?;
    let proposal = store.write(authority.actor(), now, |writer| {
        let proposal = writer.propose_another(new)?;
        writer.flush_objects()?;
        let planned = shown::of_plan(store, &writer.view, &proposal, None, plan.clone())?;
        let planned = Shown { seen, ..planned };
        let steps = files::steps(&worktree, &plan)?;
        let subject = files::subject(files::APPLY, &proposal.id, writer.now());
        journal.apply(&reader, &steps, Some(&subject), |_| {
            let request = Request::all(Effect::Files);
            let decided = Decided {
                current: &proposal,
                request: &request,
                part: None,
                planned: &planned,
                written,
                amended: Vec::new(),
                commit: None,
            };
            decided.record(writer, authority, now)?;
            crate::failpoint!("apply.event");
            writer.commit()
        })?;
        Ok(proposal)
    })?;
    Ok(Some(proposal))
}
