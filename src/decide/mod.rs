//! The one place where a person's decision becomes events and file contents.
//!
//! Plan, display and answer need no lock. Then, under the lock, the plan is made again and
//! compared: unless every byte is as shown, nothing is written and the caller asks again.
//! `proposal::authority` rules who may decide; functions here take its answer.

pub mod apply;
pub mod approve;
pub mod decision_plan;
mod draft;
mod follow;
pub mod group;
mod ignored_warning;
pub mod memory;
mod missing_decision;
pub mod patch;
mod planned_files;
mod publish;
pub mod purge;
pub mod steps;
mod subject;
mod uncommitted;
pub mod undo;
mod unstage;
pub mod verdict;

use std::collections::BTreeMap;

pub use apply::{ApplyResult, Request, apply};
pub use approve::approve;
pub use decision_plan::{DecisionPlan, OtherChange, ProposalDisplay, display, show, visible_on};
pub use follow::{MovedChanges, follow, moved_to};
pub use missing_decision::{CommittedPlan, UnrecordedCommit, require_recorded, unrecorded};
pub use planned_files::PlannedFiles;
pub use publish::publish;
pub use subject::{contains, plan_wherever};
pub use uncommitted::{is_here, target, target_here, written_here};
pub use undo::{UndoResult, undo};

use crate::changeset::instructions::Instructions;
use crate::changeset::{Changeset, RepoPath, sensitive};
use crate::error::{Error, Result};
use crate::proposal::event::{BlobRef, Evidence, RevisionReason, Subject, Written};
use crate::proposal::rules::{self, CallerClass, Permission, Verb};
use crate::proposal::statement::Target;
use crate::proposal::{Authority, Caller, Entry, Proposal, ProposalId, authority, codes};
use crate::store::{Content, ShownTips, Space, Store, View, Writer};

/// Part of a proposal. Its revision is recorded together with the apply, so the decision names
/// exactly the part, and a failure leaves the proposal unchanged.
#[derive(Clone, Debug)]
pub struct PartialProposal {
    pub changes: Changeset,
    /// Partial, edited, or rebased to moved files.
    pub reason: RevisionReason,
}

/// HEAD, policy and tips at display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewedState {
    pub target: Target,
    tips: BTreeMap<ProposalId, ShownTips>,
    policy: Option<BlobRef>,
    repository: Option<String>,
}

impl ViewedState {
    fn or_now(seen: Option<&Self>, view: &View<'_>, shown: &[Proposal]) -> Result<Self> {
        let ids = shown.iter().map(|proposal| &proposal.id);
        seen.map_or_else(|| Self::now(view, ids), |seen| Ok(seen.clone()))
    }

    /// # Errors
    /// `invalid_policy`.
    pub fn now<'p>(view: &View<'_>, ids: impl IntoIterator<Item = &'p ProposalId>) -> Result<Self> {
        let (policy, head) = view.store().repository().policy_and_head()?;
        let tips = ids.into_iter().map(|id| Ok((id.clone(), view.tips(id)?)));
        let target =
            Target { commit: head.commit.map(|commit| commit.to_string()), name: head.branch };
        Ok(Self {
            target,
            tips: tips.collect::<Result<_>>()?,
            policy: policy.blob,
            repository: policy.repository,
        })
    }
}

/// # Errors
/// `revised_meanwhile` at another revision than `decision_plan`.
pub(crate) fn current(view: &View<'_>, shown: &Proposal) -> Result<Proposal> {
    let proposal = view.proposal(&shown.id)?;
    proposal.require_revision(&shown.current().event)?;
    Ok(proposal)
}

/// Refuses unless the proposal is as shown: undecided or contested, at the same revision, with no
/// new events of this clone. Events fetched since are allowed, and do not become parents.
///
/// # Errors
/// `not_pending`, `revised_meanwhile`, `changed_since_shown`.
pub(crate) fn require_unchanged(
    writer: &mut Writer<'_>,
    shown: &Proposal,
    seen: &ViewedState,
) -> Result<()> {
    let proposal = match pin_thread(writer, shown, seen) {
        Err(changed) => {
            // A decision made meanwhile is the clearer error.
            writer.proposal(&shown.id)?.require_open(writer.now())?;
            return Err(changed);
        }
        Ok(proposal) => proposal,
    };
    proposal.require_open(writer.now())?;
    proposal.require_revision(&shown.current().event)
}

/// Allows decided proposals, too.
pub(crate) fn pin_thread(
    writer: &mut Writer<'_>,
    shown: &Proposal,
    seen: &ViewedState,
) -> Result<Proposal> {
    match seen.tips.get(&shown.id) {
        Some(tips) => writer.pin(&shown.id, tips),
        None => writer.proposal(&shown.id),
    }
}

pub(crate) fn changed_since_shown(proposal: &Proposal, what: &str) -> Error {
    Error::new(
        &codes::CHANGED_SINCE_SHOWN,
        format!("{} is not as it was shown: {what}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint(format!("nothing was written; look again: aye diff {}", proposal.id))
}

/// With their content before.
pub(crate) fn merged(written: &[Written]) -> impl Iterator<Item = (&RepoPath, Option<&Entry>)> {
    let merged = written.iter().filter(|file| !file.outcome.is_of_proposal());
    merged.map(|file| (&file.path, file.before.as_ref()))
}

/// Refuses to merge private uncommitted content into a shared proposal, also in a file that became
/// private since. The thread would hold the result, and short content can be guessed from the
/// manifest's hashes. `takes_back` is true for an undo.
///
/// # Errors
/// `private_path`.
pub(crate) fn refuse_private_merge<'f>(
    view: &View<'_>,
    id: &ProposalId,
    takes_back: bool,
    merged: impl Iterator<Item = (&'f RepoPath, Option<&'f Entry>)>,
) -> Result<()> {
    let merged: Vec<_> = merged.collect();
    if merged.is_empty() || view.space(id)? == Space::Private {
        return Ok(());
    }
    let store = view.store();
    let refused = |why: String, hint: String| {
        let error = Error::new(&crate::store::codes::PRIVATE_PATH, why);
        Err(error.with("proposal_id", id.as_str()).hint(hint))
    };
    // Lines that HEAD has go where its commits go.
    let not_in_head = merged.iter().map(|(path, _)| *path);
    if store.is_private(not_in_head.filter(|path| store.repository().id_in_head(path).is_none()))? {
        let hint = if takes_back {
            "nothing was written; undo it in the file by hand".to_owned()
        } else {
            format!(
                "nothing was written; propose it again, which is private, or edit the file by hand and close this \
                 one: aye apply {id} --mark-only"
            )
        };
        return refused(
            format!(
                "a file that is private by now (aye.private, a filter, or ignored by git) has other lines, which \
                 would be recorded with {id}, and that is not private"
            ),
            hint,
        );
    }
    let files = merged.into_iter().filter_map(|(path, now)| Content::before(path, now));
    if !store.is_from_private(view, Some(id), files)? {
        return Ok(());
    }
    refused(
        format!("a file holds uncommitted changes that are private, and {id} is not"),
        "nothing was written; commit those changes or undo them first: aye list --status applied"
            .to_owned(),
    )
}

/// # Errors
/// `human_approval_required`, `terminal_required`, `invalid_policy`, `ci_has_no_clone`, `in_trial`.
pub fn authorise(
    store: &Store,
    caller: &Caller,
    verb: Verb,
    proposals: &[Proposal],
    evidence: &Evidence,
    command: &str,
) -> Result<Authority> {
    store.require_outside_trial(caller.actor.kind)?;
    let permits = store.repository().permits()?;
    let clones = store.clone_ids();
    let class = caller.class();
    // The instruction lists are read only where they may matter.
    let is_decided =
        *evidence == Evidence::Flag && rules::permission(class, verb) == Permission::Decides;
    let ask = |proposal: Option<&Proposal>| {
        let made_it = |clone: &&String| proposal.is_some_and(|it| it.clone == **clone);
        let clone = clones.iter().find(made_it).or(clones.first());
        let request = authority::Request {
            verb,
            proposal,
            clone: clone.map(String::as_str),
            evidence: evidence.clone(),
            // Without a proposal, only memory is applied at once.
            memory: proposal.map_or(verb == Verb::Apply, is_memory),
            sensitive: is_decided && proposal.is_none_or(|proposal| is_sensitive(store, proposal)),
            instructs: class == CallerClass::Ci
                && proposal.is_some_and(|proposal| instructs(store, proposal)),
            command,
        };
        authority::authorise(caller, &request, &permits)
    };
    let mut granted = None;
    for proposal in proposals {
        granted = Some(ask(Some(proposal))?);
    }
    let granted = match granted {
        Some(authority) => authority,
        None => ask(None)?,
    };
    // Checked before files are written that nothing could record. A fetch records nothing: build
    // machines need it most.
    if verb != Verb::Fetch {
        store.require_clone()?;
    }
    Ok(granted)
}

/// True if it changes memory files, under whatever subject.
fn is_memory(proposal: &Proposal) -> bool {
    let mut changes = proposal.current().changes.iter();
    proposal.subject == Subject::Memory || changes.any(|change| is_of_memory(&change.path))
}

/// True for memory files, settings and policy, in any case.
pub fn is_of_memory(path: &RepoPath) -> bool {
    let below = format!("{}/", crate::memory::DIR);
    path.as_bstr().to_ascii_lowercase().starts_with(below.as_bytes())
}

fn is_sensitive(store: &Store, proposal: &Proposal) -> bool {
    let changes = &proposal.current().changes;
    let is_it = |known: &Instructions| !sensitive::sensitive_changes(changes, known).is_empty();
    is_it(&Instructions::default()) || is_it(&store.repository().instructions())
}

fn instructs(store: &Store, proposal: &Proposal) -> bool {
    let known = store.repository().instructions();
    let changes = proposal.current().changes.iter();
    let mut paths = changes.flat_map(|change| std::iter::once(&change.path).chain(&change.origin));
    paths.any(|path| known.kind(path).is_some())
}
