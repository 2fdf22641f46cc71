//! Applying: what was shown is written, all files or none, and recorded.

use std::time::Duration;

use chrono::{DateTime, Utc};
use gix::state::InProgress;

use super::decision_plan::{self, DecisionPlan, entry};
use super::draft::{self, Draft};
use super::{CommittedPlan, PartialProposal, ViewedState, require_unchanged, steps, subject};
use crate::apply::{self as files, ApplyRequest, ExtraFile, ProposalCommit};
use crate::changeset::plan::{ApplyPlan, PlannedFile};
use crate::changeset::{Changeset, FileChange, Mode, RepoPath, Snapshot};
use crate::error::{Error, Result};
use crate::proposal::event::{
    self, Comment, Effect, FileOutcome, InputForm, Note, Subject, Verdict, Written,
};
use crate::proposal::steps::FileStep;
use crate::proposal::{Actor, Authority, ChangeRecord, Proposal, ProposalId, trailers};
use crate::repository::Repository;
use crate::store::{NewProposal, Store, View, Writer};

#[derive(Clone, Debug)]
pub struct Request {
    pub effect: Effect,
    /// First part of the commit message; the proposal's description by default.
    pub message: Option<String>,
    /// Hunks that were taken, instead of all changes.
    pub part: Option<PartialProposal>,
    /// Approves other changes in the files, too.
    pub approve_other_changes: bool,
    pub comments: Vec<Comment>,
    pub unshown_lines: u64,
    /// See `super::group`.
    pub group: Option<String>,
    /// An earlier proposal of the same command moved HEAD by its commit.
    pub after_commit: bool,
    /// Existing commit; only its record is missing.
    pub made: Option<CommittedPlan>,
    /// For a mark, which has no plan.
    pub seen: Option<ViewedState>,
}

impl Request {
    pub fn all(effect: Effect) -> Self {
        Self {
            effect,
            message: None,
            part: None,
            approve_other_changes: false,
            comments: Vec::new(),
            unshown_lines: 0,
            group: None,
            after_commit: false,
            made: None,
            seen: None,
        }
    }

    fn draft<'a>(
        &'a self,
        authority: &'a Authority,
        seen: &'a ViewedState,
        proposal: &'a Proposal,
    ) -> Draft<'a> {
        Draft {
            effect: Some(self.effect),
            comments: &self.comments,
            unshown_lines: self.unshown_lines,
            group: self.group.as_deref(),
            ..Draft::new(authority, seen, proposal, Verdict::Apply)
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ApplyResult {
    /// Empty for a mark.
    pub files: Vec<PlannedFile>,
    pub commit: Option<String>,
    /// Failures after the decision stood; ignored files.
    pub warnings: Vec<String>,
    /// Follow-up proposal where a commit hook changed the approved content.
    pub amended: Option<ProposalId>,
    /// Files with other changes, not approved.
    pub not_approved: Vec<String>,
}

/// Applies the current revision, all files or none, and records it. With `decision_plan`, anything else
/// that would be written is refused.
///
/// # Errors
/// `conflict`, `not_pending`, `revised_meanwhile`, `changed_since_shown`, `file_changed`,
/// `uncommitted_changes`, `private_path`. Nothing is changed then.
pub fn apply(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    request: &Request,
    shown: Option<&DecisionPlan>,
) -> Result<ApplyResult> {
    let repository = store.repository();
    if request.effect == Effect::MarkOnly {
        let view = store.view()?;
        let proposal = super::current(&view, proposal)?;
        // Nobody can have seen unreadable content.
        store.changeset(proposal.current())?;
        let seen =
            ViewedState::or_now(request.seen.as_ref(), &view, std::slice::from_ref(&proposal))?;
        store.write(authority.actor(), now, |writer| {
            require_unchanged(writer, &proposal, &seen)?;
            request.draft(authority, &seen, &proposal).record(writer).map(drop)
        })?;
        return Ok(ApplyResult::default());
    }
    let journal = files::lock_within(store, subject::patience(store, proposal)?)?;
    let _lock = subject::lock(repository, authority, now, proposal)?;
    let worktree = repository.worktree()?;
    let reader = worktree.reader();
    let mut planned = plan_again(store, now, proposal, request, &reader, shown)?;
    if request.approve_other_changes {
        planned.approve_other_changes();
    }
    let planned = planned;
    let proposal = &planned.proposal;
    let followed = planned.followed.as_ref().map(|followed| &followed.part);
    let part = followed.or(request.part.as_ref());
    let known: &[ChangeRecord] = match part {
        Some(_) => &[],
        None => &proposal.current().changes,
    };
    let plan = planned.made.as_ref().unwrap_or(&planned.plan);
    let written = files::written(store, known, plan, |path| {
        let record = planned.manifest.record(path)?;
        Some([entry(&record.now), entry(&record.after)])
    })?;
    super::refuse_private_merge(&store.view()?, &proposal.id, false, super::merged(&written))?;
    let mut kind = files::APPLY;
    let mut warnings = super::ignored_warning::warnings(repository, request.effect, &planned.plan)?;
    let draft = request.draft(authority, &planned.seen, proposal);
    let (manifest, lines) = (Some(&planned.manifest), draft::lines(plan));
    let draft = Draft { part, manifest, lines, ..draft };
    if request.effect == Effect::Commit {
        kind = files::COMMIT;
        store.write(authority.actor(), now, |writer| draft.prepare(writer))?;
    }
    let reviewers = reviewers(&store.view()?, authority, part, &planned);
    let wanted = ApplyRequest {
        effect: request.effect,
        message: request.message.as_deref(),
        subject: files::subject(kind, &proposal.id, now),
        plan: &planned.plan,
        reviewers: &reviewers,
        proposal,
    };
    let (mut follow_up, mut unasked_about) = (None, Vec::new());
    let made = files::write(repository, &journal, &worktree, &reader, wanted, |commit| {
        let amended = amended(repository, &planned, commit)?;
        unasked_about = commit.map(unasked).unwrap_or_default();
        store.write(authority.actor(), now, |writer| {
            require_unchanged(writer, proposal, &planned.seen)?;
            let decided = draft.record(writer)?;
            let Some(commit) = commit else { return Ok(()) };
            if !amended.is_empty() {
                follow_up = Some(ask_about(writer, proposal, &amended, commit)?);
            }
            let statement = decided.documents.map(|papers| papers.sha256);
            let note = event::Committed { commit: commit.id.clone(), amended, statement };
            writer.note(Some(&proposal.id), Note::Committed(note)).map(drop)
        })
    })?;
    drop(journal);
    warnings.extend(made.warning);
    warnings.extend(made.commit.as_ref().and_then(|commit| on_no_branch(repository, commit)));
    let decided_on = planned.seen.target.name.as_deref();
    warnings.extend(made.commit.as_ref().and_then(|it| elsewhere(repository, it, decided_on)));
    warnings.extend(unasked_about);
    warnings.extend(subject::commit_memory(store, authority, now, proposal, &reviewers));
    let not_approved = if planned.takes_residue() {
        Vec::new()
    } else {
        planned.foreign().map(|residue| residue.path.display().to_string()).collect()
    };
    Ok(ApplyResult {
        files: planned.plan.files,
        commit: made.commit,
        warnings,
        amended: follow_up,
        not_approved,
    })
}

/// People to name as reviewers: who decides, and who approved exactly this before. A part is a new
/// revision that nobody has approved.
fn reviewers(
    view: &View<'_>,
    authority: &Authority,
    part: Option<&PartialProposal>,
    planned: &DecisionPlan,
) -> Vec<Actor> {
    let decides = authority.is_of_a_person().then(|| authority.actor().clone());
    let mut found = Vec::from_iter(decides);
    if part.is_none() {
        let approvals = steps::approvers(view, &planned.proposal, &planned.manifest);
        trailers::add(&mut found, approvals.into_iter().map(|approval| approval.by));
    }
    found
}

/// Plans again under the journal lock, and compares with what was shown.
///
/// # Errors
/// `revised_meanwhile`, `not_pending`, `conflict`, `changed_since_shown`.
pub(super) fn plan_again(
    store: &Store,
    now: DateTime<Utc>,
    proposal: &Proposal,
    request: &Request,
    snapshot: &dyn Snapshot,
    shown: Option<&DecisionPlan>,
) -> Result<DecisionPlan> {
    let view = store.view()?;
    let proposal = super::current(&view, proposal)?;
    proposal.require_open(now)?;
    let mut planned = match &request.made {
        Some(made) => decision_plan::show_made(store, &view, &proposal, made, snapshot)?,
        None => decision_plan::show(store, &view, &proposal, request.part.as_ref(), snapshot)?,
    };
    drop(view);
    if let Some(refusal) = conflict(&planned.plan, &proposal.id) {
        return Err(store.repository().name_sparse(refusal));
    }
    if let Some(shown) = shown {
        shown.require_same(&planned, request.after_commit)?;
        // The person saw the earlier tips.
        let target = planned.seen.target.clone();
        planned.seen = ViewedState { target, ..shown.seen.clone() };
    }
    Ok(planned)
}

/// Differences between commit and approval: a hook changed or added files, or somebody saved a file
/// before git read it.
fn amended(
    repository: &Repository,
    planned: &DecisionPlan,
    commit: Option<&ProposalCommit>,
) -> Result<Vec<Written>> {
    let Some(commit) = commit else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for record in planned.manifest.records() {
        let committed = files::entry_in(repository, &commit.id, &record.path)?;
        let approved = entry(&record.after);
        if committed != approved {
            let (path, outcome) = (record.path.clone(), FileOutcome::Hooked);
            found.push(Written { path, before: approved, after: committed, outcome });
        }
    }
    for file in commit.extra_files.iter().filter(|file| is_proposable(file)) {
        let Ok(path) = RepoPath::new(&file.path) else { continue };
        let (before, after) = (file.before.clone(), file.after.clone());
        found.push(Written { path, before, after, outcome: FileOutcome::Hooked });
    }
    Ok(found)
}

/// True for regular files: a proposal holds no others.
fn is_proposable(file: &ExtraFile) -> bool {
    let mut sides = file.before.iter().chain(&file.after);
    sides.all(|entry| Mode::parse(&entry.mode).is_some()) && RepoPath::new(&file.path).is_ok()
}

/// Files that a hook added and no proposal can hold.
fn unasked(commit: &ProposalCommit) -> Vec<String> {
    let others = commit.extra_files.iter().filter(|file| !is_proposable(file));
    let id = commit.id.get(..12).unwrap_or(&commit.id);
    others
        .map(|file| format!("a hook put {} into commit {id}, which nobody approved", file.path))
        .collect()
}

/// Warns that a commit made during a bisect or rebase may be left behind.
fn on_no_branch(repository: &Repository, commit: &str) -> Option<String> {
    let repo = repository.repo();
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

/// Warns if a hook moved HEAD to another branch.
fn elsewhere(repository: &Repository, commit: &str, decided_on: Option<&str>) -> Option<String> {
    let now = repository.repo().head_name().ok()?.map(|name| name.to_string());
    let short = commit.get(..12).unwrap_or(commit);
    (now.as_deref() != decided_on).then(|| {
        let [was, is] = [decided_on, now.as_deref()].map(|name| name.unwrap_or("no branch"));
        format!("a hook moved HEAD: commit {short} is on {is}, and it was decided on {was}")
    })
}

fn ask_about(
    writer: &mut Writer<'_>,
    proposal: &Proposal,
    amended: &[Written],
    commit: &ProposalCommit,
) -> Result<ProposalId> {
    let store = writer.store();
    let changes: Result<Vec<FileChange>> =
        amended.iter().map(|written| subject::change(store, &FileStep::from(written))).collect();
    let id = commit.id.get(..12).unwrap_or(&commit.id);
    let new = NewProposal {
        changeset: Changeset::new(changes?)?,
        description: Some(format!(
            "What commit {id} has otherwise than approved in {}",
            proposal.id
        )),
        domain: proposal.domain.clone(),
        related_task_id: None,
        proposed_by: "git commit".to_owned(),
        expires_in: store.repository().settings()?.expires_in,
        subject: Subject::Code,
        form: InputForm::Commit,
        instead_of: None,
        on: None,
        target: None,
        memory: None,
        incomplete: Vec::new(),
        private: false,
    };
    Ok(writer.propose(new)?.id)
}

/// Writes conflict markers and records nothing: the proposal stays pending.
///
/// # Errors
/// `conflict` where markers cannot show it (binary, deleted).
pub fn write_markers(store: &Store, now: DateTime<Utc>, shown: &DecisionPlan) -> Result<ApplyPlan> {
    let journal = files::lock(store)?;
    let worktree = store.repository().worktree()?;
    let reader = worktree.reader();
    let view = store.view()?;
    let proposal = super::current(&view, &shown.proposal)?;
    proposal.require_pending(now)?;
    let (plan, _) = subject::plan_apply(store, &view, &proposal, None, &reader)?;
    if plan != shown.plan {
        return Err(super::changed_since_shown(&proposal, "the files changed"));
    }
    let plan = plan.with_markers()?;
    journal.apply(&reader, &files::steps(&worktree, &plan)?, None, |_| Ok(()))?;
    Ok(plan)
}

pub fn conflict(plan: &ApplyPlan, id: &ProposalId) -> Option<Error> {
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

/// Proposes and applies in one command: memory that its manifest lets pass, or what a person made
/// and decided on together.
pub(super) fn propose_and_apply(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    wait: Duration,
    plan: impl FnOnce() -> Result<Option<(NewProposal, ApplyPlan)>>,
) -> Result<Option<Proposal>> {
    let journal = files::lock_within(store, wait)?;
    let _lock = crate::memory::service::lock(store.repository(), authority.actor(), now)?;
    let Some((new, plan)) = plan()? else { return Ok(None) };
    let worktree = store.repository().worktree()?;
    let reader = worktree.reader();
    files::written(store, &[], &plan, |_| None)?;
    let seen = ViewedState::now(&store.view()?, [])?;
    let proposal = store.write(authority.actor(), now, |writer| {
        let proposal = writer.propose_another(new)?;
        writer.flush_objects()?;
        let planned =
            decision_plan::of_plan(store, &writer.view, &proposal, None, plan.clone(), seen)?;
        let steps = files::steps(&worktree, &plan)?;
        let subject = files::subject(files::APPLY, &proposal.id, writer.now());
        journal.apply(&reader, &steps, Some(&subject), |_| {
            let request = Request::all(Effect::Files);
            let draft = request.draft(authority, &planned.seen, &proposal);
            let (manifest, lines) = (Some(&planned.manifest), draft::lines(&plan));
            Draft { manifest, lines, ..draft }.record(writer)?;
            crate::failpoint!("apply.event");
            writer.commit()
        })?;
        Ok(proposal)
    })?;
    Ok(Some(proposal))
}
