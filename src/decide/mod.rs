//! The one place where a person's word becomes events and bytes.
//!
//! Plan, show, decide happen before any lock is taken. Then the lock, the plan again, and the
//! comparison: what would be written has to be what was shown, byte for byte, or nothing is
//! written and the caller asks again. The event names the [`statement`](crate::proposal::statement) and
//! its [`manifest`](crate::proposal::manifest).
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

use crate::proposal::statement::Target;
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
use crate::proposal::event::{Evidence, RevisionReason, Subject, Written, digest};
use crate::proposal::rules::{Class, Verb};
use crate::proposal::{
    Authority, Caller, Data, Entry, Event, Proposal, ProposalId, Revision, authority, codes,
};
use crate::store::{Audience, Content, OwnTip, Store, View, Writer};

/// Part of a proposal. It becomes a revision in the same step as it is applied, so that the
/// decision names exactly what was taken, and a failure leaves the proposal as it was.
#[derive(Clone, Debug)]
pub struct Part {
    /// What was taken.
    pub changes: Changeset,
    /// Why there is a new revision: taken in part, edited, or rebased to where files have moved.
    pub reason: RevisionReason,
}

/// Where this clone's lanes and HEAD were when something was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// HEAD.
    pub target: Target,
    /// This clone's lanes.
    pub own: Vec<OwnTip>,
    policy: Option<String>,
    repository: Option<String>,
}

impl Seen {
    /// As it was `seen`; as it is now where that is not known.
    fn or_now(seen: Option<&Self>, store: &Store) -> Result<Self> {
        seen.map_or_else(|| Self::now(store, &store.view()?), |seen| Ok(seen.clone()))
    }

    /// As they are now.
    ///
    /// # Errors
    /// `invalid_policy`; those of the store.
    pub fn now(store: &Store, view: &View) -> Result<Self> {
        let own = view.own_tips(store)?;
        let (policy, head) = store.repository().policy_and_head()?;
        let (policy, repository) = (policy.blob, policy.repository);
        let target =
            Target { commit: head.commit.map(|commit| commit.to_string()), name: head.branch };
        Ok(Self { target, own, policy, repository })
    }
}

/// The proposal folded again from its event blobs: the cache decides nothing.
///
/// # Errors
/// `cache_tampered`; `revised_meanwhile`, `changed_since_shown` where it is not `shown`.
pub(crate) fn verified(store: &Store, shown: &Proposal) -> Result<Proposal> {
    verified_in(store, &store.look()?, shown)
}

/// As [`verified`], by what `view` has.
///
/// # Errors
/// As [`verified`].
pub(crate) fn verified_in(store: &Store, view: &View, shown: &Proposal) -> Result<Proposal> {
    let mut verified = of_view(store, view, std::slice::from_ref(shown))?;
    verified.pop().ok_or_else(|| Error::bug("a proposal was verified and is gone"))
}

/// As [`verified`], for several that are decided together, in one look at the lanes.
///
/// # Errors
/// As [`verified`].
pub(crate) fn verified_all(store: &Store, shown: &[Proposal]) -> Result<Vec<Proposal>> {
    of_view(store, &store.look()?, shown)
}

fn of_view(store: &Store, view: &View, shown: &[Proposal]) -> Result<Vec<Proposal>> {
    let verified = store.verified_proposals(view, shown.iter().map(|shown| &shown.id))?;
    for (shown, proposal) in shown.iter().zip(&verified) {
        proposal.require_revision(&shown.current().event)?;
        if proposal.current().changes != shown.current().changes {
            return Err(changed(shown, "its changes are other ones"));
        }
    }
    Ok(verified)
}

/// Refuses where `shown` is not what the lanes have now: still pending, at the same revision, and with nothing
/// new about it in this clone's lanes.
///
/// # Errors
/// `not_pending`, `revised_meanwhile`, `changed_since_shown`.
pub(crate) fn still(writer: &Writer<'_>, shown: &Proposal, seen: &Seen) -> Result<()> {
    let _reading = writer.view.hold();
    let proposal = writer.view.proposal(&shown.id)?;
    proposal.require_understood()?;
    proposal.require_pending(writer.now())?;
    proposal.require_revision(&shown.current().event)?;
    require_quiet(writer, shown, seen)
}

/// Refuses where one of this clone's lanes has said something about the proposal since it was shown.
pub(crate) fn require_quiet(writer: &Writer<'_>, shown: &Proposal, seen: &Seen) -> Result<()> {
    let now = writer.view.own_tips(writer.store())?;
    if now == seen.own {
        return Ok(());
    }
    // Of a lane that has begun since, everything is new.
    let known = |lane: &str| seen.own.iter().find(|own| own.lane == lane).map_or(0, |own| own.seq);
    let entries = writer.view.log(Some(&shown.id), None)?;
    let newer = entries.iter().map(|entry| &entry.stamped.event);
    let is_own = |lane: &str| now.iter().any(|own| own.lane == lane);
    // What expires later was still shown as it is.
    let is_said = |event: &&Event| !matches!(event.data, Data::Extend(_));
    let mut newer =
        newer.filter(is_said).filter(|event| is_own(&event.lane) && event.seq > known(&event.lane));
    match newer.next() {
        None => Ok(()),
        Some(event) => Err(changed(shown, &format!("a new event ({})", event.data.kind()))),
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

/// Refuses to merge with content that is not for those whom an event about `id` is for, and that is
/// not committed: its lane would keep the result, and what stands on that would seem to be for them; and its
/// manifest has hashes, by which short content can be guessed. So it is with a file that has become private since.
/// `merged`: such files, and what they hold. `takes_back`: the event takes the decision on it back.
///
/// # Errors
/// `private_path`; those of the store.
pub(crate) fn require_apart<'f>(
    store: &Store,
    id: &ProposalId,
    takes_back: bool,
    merged: impl Iterator<Item = (&'f RepoPath, Option<&'f Entry>)>,
) -> Result<()> {
    let merged: Vec<_> = merged.collect();
    if merged.is_empty() {
        return Ok(());
    }
    let view = store.view()?;
    let audience = if takes_back { view.audience_of_decision(id)? } else { view.audience(id)? };
    if audience == Audience::Private {
        return Ok(());
    }
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
    if !store.stands_elsewhere(&view, &audience, Some(id), files)? {
        return Ok(());
    }
    refused(
        format!("a file holds uncommitted changes that are not for those whom {id} is for"),
        "nothing was written; commit those changes or undo them first: aye list --status applied"
            .to_owned(),
    )
}

/// The digest of a revision's changes.
pub(crate) fn digest_of(revision: &Revision) -> String {
    digest(&revision.changes)
}

/// The rules of this repository applied to one caller: see [`crate::proposal::authority`].
///
/// # Errors
/// `human_approval_required`, `terminal_required`, `invalid_policy`, `ci_has_no_lane`, `in_trial`.
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
    let own = match caller.class() {
        // What they may do does not hang on it.
        Class::Human => store.own_lanes(),
        _ => store.lanes_written()?,
    };
    let ask = |proposal: Option<&Proposal>| {
        let made_it = |lane: &&String| proposal.is_some_and(|proposal| proposal.is_of_lane(lane));
        let lane = own.iter().find(made_it).or(own.first());
        let request = authority::Request {
            verb,
            proposal,
            lane: lane.map(String::as_str),
            evidence: evidence.clone(),
            // Without a proposal, only a request to memory is applied at once.
            memory: proposal.map_or(verb == Verb::Apply, is_memory),
            sensitive: proposal
                .map_or(verb == Verb::Apply, |proposal| is_sensitive(store, caller, proposal)),
            instructs: proposal.is_some_and(|proposal| instructs(store, caller, proposal)),
            command,
        };
        authority::authorise(caller, &request, &permits)
    };
    let mut granted = None;
    for proposal in proposals {
        proposal.require_understood()?;
        granted = Some(ask(Some(proposal))?);
    }
    let granted = match granted {
        Some(authority) => authority,
        None => ask(None)?,
    };
    // Before files are written and nothing can be recorded of it.
    store.require_lane()?;
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

fn is_sensitive(store: &Store, caller: &Caller, proposal: &Proposal) -> bool {
    let changes = &proposal.current().changes;
    let is_it = |known: &Instructions| !sensitive::of(changes, known).is_empty();
    // What the repository adds to the list is looked up only where it may matter.
    is_it(&Instructions::default())
        || caller.class() == Class::Human && is_it(&store.instructions())
}

/// True where a build machine would change what instructs agents.
fn instructs(store: &Store, caller: &Caller, proposal: &Proposal) -> bool {
    let names = |known: &Instructions| {
        let paths = proposal
            .current()
            .changes
            .iter()
            .flat_map(|change| std::iter::once(&change.path).chain(&change.origin));
        paths.into_iter().any(|path| known.kind(path).is_some())
    };
    caller.class() == Class::Ci && names(&store.instructions())
}
