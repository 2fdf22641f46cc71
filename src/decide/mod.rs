//! The one place where a person's word becomes events and bytes.
//!
//! Plan, show, decide happen before any lock is taken. Then the lock, the plan again, and the
//! comparison: what would be written has to be what was shown, byte for byte, or nothing is
//! written and the caller asks again. The event carries the [`statement`](crate::proposal::statement), which
//! names its [`manifest`](crate::proposal::manifest).
//! Who may decide is for [`crate::proposal::authority`]; every function here takes its answer.

mod ahead;
pub mod apply;
pub mod approve;
mod draft;
mod follow;
pub mod group;
mod ignored;
pub mod memory;
pub mod patch;
mod publish;
pub mod purge;
pub mod shown;
mod standing;
pub mod steps;
mod subject;
pub mod undo;
mod unrecorded;
mod unstage;
pub mod verdict;

use std::collections::BTreeMap;

pub use ahead::Ahead;
pub use apply::{Applied, Request, apply};
pub use approve::approve;
pub use follow::{Followed, follow, moved_to};
pub use publish::publish;
pub use shown::{Residue, Shown, Visible, show, visible, visible_on};
pub use standing::{is_here, target, target_here, written_here};
pub use subject::{contains, plan_wherever};
pub use undo::{Undone, undo};
pub use unrecorded::{Made, Unrecorded, require_recorded, unrecorded};

use crate::changeset::instructions::Instructions;
use crate::changeset::{Changeset, RepoPath, sensitive};
use crate::error::{Error, Result};
use crate::proposal::event::{BlobRef, Evidence, RevisionReason, Subject, Written};
use crate::proposal::rules::{self, Answer, Class, Verb};
use crate::proposal::statement::Target;
use crate::proposal::{Authority, Caller, Entry, Proposal, ProposalId, authority, codes};
use crate::store::{Content, Space, Store, Tips, View, Writer};

/// Part of a proposal. It becomes a revision in the same step as it is applied, so that the
/// decision names exactly what was taken, and a failure leaves the proposal as it was.
#[derive(Clone, Debug)]
pub struct Part {
    /// What was taken.
    pub changes: Changeset,
    /// Why there is a new revision: taken in part, edited, or rebased to where files have moved.
    pub reason: RevisionReason,
}

/// HEAD, the policy and the tips of proposals when these were shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// HEAD.
    pub target: Target,
    tips: BTreeMap<ProposalId, Tips>,
    policy: Option<BlobRef>,
    repository: Option<String>,
}

impl Seen {
    /// As it was `seen`; as it is now where that is not known.
    fn or_now(seen: Option<&Self>, view: &View<'_>, shown: &[Proposal]) -> Result<Self> {
        let ids = shown.iter().map(|proposal| &proposal.id);
        seen.map_or_else(|| Self::now(view, ids), |seen| Ok(seen.clone()))
    }

    /// As they are now.
    ///
    /// # Errors
    /// `invalid_policy`; those of the store.
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

/// The proposal as the store has it now.
///
/// # Errors
/// `revised_meanwhile` where it is at another revision than the one `shown`.
pub(crate) fn current(view: &View<'_>, shown: &Proposal) -> Result<Proposal> {
    let proposal = view.proposal(&shown.id)?;
    proposal.require_revision(&shown.current().event)?;
    Ok(proposal)
}

/// Refuses where `shown` is not what this clone has now: still pending or contested, at the same revision, and with nothing
/// new in its thread but what was fetched since, which is then no parent of what is written.
///
/// # Errors
/// `not_pending`, `revised_meanwhile`, `changed_since_shown`.
pub(crate) fn still(writer: &mut Writer<'_>, shown: &Proposal, seen: &Seen) -> Result<()> {
    let proposal = match pinned(writer, shown, seen) {
        Err(changed) => {
            // What was decided meanwhile is said to be.
            writer.proposal(&shown.id)?.require_open(writer.now())?;
            return Err(changed);
        }
        Ok(proposal) => proposal,
    };
    proposal.require_open(writer.now())?;
    proposal.require_revision(&shown.current().event)
}

/// As [`still`], also of what is decided.
pub(crate) fn pinned(writer: &mut Writer<'_>, shown: &Proposal, seen: &Seen) -> Result<Proposal> {
    match seen.tips.get(&shown.id) {
        Some(tips) => writer.pin(&shown.id, tips),
        None => writer.proposal(&shown.id),
    }
}

/// Something is not as it was shown.
pub(crate) fn changed(proposal: &Proposal, what: &str) -> Error {
    Error::new(
        &codes::CHANGED_SINCE_SHOWN,
        format!("{} is not as it was shown: {what}", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint(format!("nothing was written; look again: aye diff {}", proposal.id))
}

/// The files that were merged with what they held, as they were before.
pub(crate) fn merged(written: &[Written]) -> impl Iterator<Item = (&RepoPath, Option<&Entry>)> {
    let merged = written.iter().filter(|file| !file.outcome.is_of_proposal());
    merged.map(|file| (&file.path, file.before.as_ref()))
}

/// Refuses to merge with uncommitted content that is private, for a proposal that is shared: the thread would hold
/// the result, and the manifest has hashes, by which short content can be guessed. So it is with a file that has
/// become private since. `merged`: such files, and what they hold. `takes_back`: the decision is taken back.
///
/// # Errors
/// `private_path`; those of the store.
pub(crate) fn require_apart<'f>(
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
    // The lines of one that HEAD has are where its commits go.
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
    if !store.stands_elsewhere(view, Some(id), files)? {
        return Ok(());
    }
    refused(
        format!("a file holds uncommitted changes that are private, and {id} is not"),
        "nothing was written; commit those changes or undo them first: aye list --status applied"
            .to_owned(),
    )
}

/// The rules of this repository applied to one caller: see [`crate::proposal::authority`].
///
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
    // What the repository adds to the lists is looked up only where it may matter.
    let is_decided = *evidence == Evidence::Flag && rules::answer(class, verb) == Answer::Decides;
    let ask = |proposal: Option<&Proposal>| {
        let made_it = |clone: &&String| proposal.is_some_and(|it| it.clone == **clone);
        let clone = clones.iter().find(made_it).or(clones.first());
        let request = authority::Request {
            verb,
            proposal,
            clone: clone.map(String::as_str),
            evidence: evidence.clone(),
            // Without a proposal, only a request to memory is applied at once.
            memory: proposal.map_or(verb == Verb::Apply, is_memory),
            sensitive: is_decided && proposal.is_none_or(|proposal| is_sensitive(store, proposal)),
            instructs: class == Class::Ci
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
    // Before files are written and nothing can be recorded of it.
    store.require_clone()?;
    Ok(granted)
}

/// True for proposals that change the project's memory, whatever they are called.
fn is_memory(proposal: &Proposal) -> bool {
    let mut changes = proposal.current().changes.iter();
    proposal.subject == Subject::Memory || changes.any(|change| is_of_memory(&change.path))
}

/// True for a file of the project's memory, its settings and the policy among them. Case does not matter.
pub fn is_of_memory(path: &RepoPath) -> bool {
    let below = format!("{}/", crate::memory::DIR);
    path.as_bstr().to_ascii_lowercase().starts_with(below.as_bytes())
}

fn is_sensitive(store: &Store, proposal: &Proposal) -> bool {
    let changes = &proposal.current().changes;
    let is_it = |known: &Instructions| !sensitive::of(changes, known).is_empty();
    is_it(&Instructions::default()) || is_it(&store.instructions())
}

/// True for what changes a file that instructs agents.
fn instructs(store: &Store, proposal: &Proposal) -> bool {
    let known = store.instructions();
    let changes = proposal.current().changes.iter();
    let mut paths = changes.flat_map(|change| std::iter::once(&change.path).chain(&change.origin));
    paths.any(|path| known.kind(path).is_some())
}
