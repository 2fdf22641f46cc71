//! Proposals on top of each other: the files as one makes them, and what follows when it is revised.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, SubsecRound as _, Utc};

use super::{Session, is_own};
use crate::changeset::merge::Sides;
use crate::changeset::plan;
use crate::changeset::snippet::{self, Edit};
use crate::changeset::{Changeset, File, FileChange, RepoPath, Snapshot};
use crate::check::relations::{self, MOST_HIGH};
use crate::error::{Error, Result, codes};
use crate::proposal::event::{Evidence, On, RevisionReason, Subject};
use crate::proposal::relations::{Lower, Relations, stack_below};
use crate::proposal::{Authority, DEFAULT_LIFETIME, Proposal, ProposalId, Status};
use crate::store::{NewRevision, Store, View, Writer};

/// What edits are made on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// The files as they are now.
    Files,
    /// These, or else what the only pending proposal of the same session that has the old content
    /// makes of them.
    #[default]
    Any,
    /// What this pending proposal makes of them: an id or the beginning of one.
    On(String),
    /// What those make of them that this proposal stands on.
    Below(ProposalId),
}

impl From<Option<String>> for Ground {
    fn from(on: Option<String>) -> Self {
        on.map_or(Self::Any, Self::On)
    }
}

impl Ground {
    /// The files as pending proposals make them, where it is these.
    ///
    /// # Errors
    /// `proposal_not_found` and its kin, `not_pending`; `invalid_argument` for a proposal about memory and
    /// on a stack that is as high as one may be.
    pub fn made<'s>(&self, session: &Session<'s>) -> Result<Option<Below<'s>>> {
        match self {
            Self::On(id) => below(session, id).map(Some),
            Self::Below(id) => under(session, id).map(Some),
            Self::Files | Self::Any => Ok(None),
        }
    }
}

/// What a revision of `proposal` is made on: the pending proposals that it stands on, or the files.
///
/// # Errors
/// Those of the store.
pub fn ground_of(session: &Session<'_>, proposal: &Proposal) -> Result<Ground> {
    let Session { store, now, .. } = session;
    let related = relations::relations(store, &store.view()?, *now)?;
    let lower =
        related.get(&proposal.id).map_or_else(Vec::new, |related| related.needed(|_| false));
    Ok(match lower[..] {
        [] => Ground::Files,
        [lower] => Ground::On(lower.id.to_string()),
        _ => Ground::Below(proposal.id.clone()),
    })
}

/// The files as a pending proposal makes them, and those that it stands on.
pub struct Below<'s> {
    files: Box<dyn Snapshot + 's>,
    made: BTreeMap<RepoPath, Option<File>>,
    on: Option<On>,
}

impl Below<'_> {
    /// The proposal, at its present revision; `None` for several, which contents tell.
    pub fn on(&self) -> Option<On> {
        self.on.clone()
    }
}

impl Snapshot for Below<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        match self.made.get(path) {
            Some(made) => Ok(made.clone()),
            None => self.files.file(path),
        }
    }

    fn expect(&self, paths: &[&RepoPath]) {
        self.files.expect(paths);
    }

    fn announce(&self, changes: &[FileChange]) -> Result<()> {
        self.files.announce(changes)
    }

    fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.files.stored(path, bytes)
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.files.merges_lines(path)
    }
}

/// The files as the pending proposal `id` makes them.
fn below<'s>(session: &Session<'s>, id: &str) -> Result<Below<'s>> {
    let Session { store, now, .. } = session;
    let view = store.view()?;
    let lower = view.find(id)?;
    lower.require_pending(*now)?;
    if lower.subject != Subject::Code {
        let message = format!("{} is about memory, and no proposal can stand on it", lower.id);
        return Err(Error::new(&codes::INVALID_ARGUMENT, message)
            .with("proposal_id", lower.id.as_str())
            .hint(format!("wait for its decision: aye wait {}", lower.id)));
    }
    let related = relations::relations(store, &view, *now)?;
    made_by(store, &view, &related, lower)
}

/// The files as those make them that the pending proposal `id` stands on.
fn under<'s>(session: &Session<'s>, id: &ProposalId) -> Result<Below<'s>> {
    let Session { store, now, .. } = session;
    let view = store.view()?;
    let related = relations::relations(store, &view, *now)?;
    let recorded = view.proposal(id)?.current().on.clone();
    let (mut order, mut on) = (Vec::new(), None);
    let needed = related.get(id).map_or_else(Vec::new, |related| related.needed(|_| false));
    for lower in needed {
        let lower = view.proposal(&lower.id)?;
        let below = below_of(&related, &lower.id)?.into_iter().chain([lower.id.clone()]);
        // One that several stand on is in front of them all.
        let new = below.filter(|id| !order.contains(id)).collect::<Vec<_>>();
        order.extend(new);
        // Where it was made on one of them, that stays on record.
        if recorded.as_ref().is_some_and(|recorded| recorded.proposal == lower.id) {
            on = Some(On { revision: lower.current().event.clone(), proposal: lower.id });
        }
    }
    Ok(Below { files: store.repository().files()?, made: made_in(store, &view, &order)?, on })
}

/// The files as `lower`, and what it stands on by `related`, makes them.
fn made_by<'s>(
    store: &'s Store,
    view: &View,
    related: &BTreeMap<ProposalId, Relations>,
    lower: Proposal,
) -> Result<Below<'s>> {
    let on = On { proposal: lower.id.clone(), revision: lower.current().event.clone() };
    let order = [below_of(related, &lower.id)?, vec![lower.id]].concat();
    Ok(Below {
        files: store.repository().files()?,
        made: made_in(store, view, &order)?,
        on: Some(on),
    })
}

/// What `id` stands on by `related`, from below.
fn below_of(related: &BTreeMap<ProposalId, Relations>, id: &ProposalId) -> Result<Vec<ProposalId>> {
    let below = stack_below(related, id, MOST_HIGH, |lower| !lower.is_revised);
    if below.is_too_high || below.taken.len() == MOST_HIGH {
        let message = format!("the stack of {id} is {MOST_HIGH} proposals high");
        return Err(Error::new(&codes::INVALID_ARGUMENT, message)
            .with("proposal_id", id.as_str())
            .hint("wait for the decision on what lies below"));
    }
    Ok(below.taken)
}

/// What the proposals `order` make, one after the other.
fn made_in(
    store: &Store,
    view: &View,
    order: &[ProposalId],
) -> Result<BTreeMap<RepoPath, Option<File>>> {
    let mut made = BTreeMap::new();
    for id in order {
        for change in &view.proposal(id)?.current().changes {
            let after = change.after.as_ref().map(|entry| store.file(entry)).transpose()?;
            made.insert(change.path.clone(), after);
        }
    }
    Ok(made)
}

/// `edits`, which do not fit the files as `error` says, on the only pending proposal of the caller's
/// session that makes what they replace. Of a stack that is the highest one.
///
/// # Errors
/// `error`, where there is no such proposal or more than one, or where a reviewer has said something
/// about it that is not answered yet: it has to be revised first.
pub(super) fn own(
    session: &Session<'_>,
    error: Error,
    edits: Vec<Edit>,
) -> Result<(Changeset, Option<On>)> {
    let Session { store, caller, now } = session;
    let given = error.details().iter().find(|(key, _)| *key == "path");
    let named = |edit: &&Edit| {
        let path = given.and_then(|(_, path)| path.as_str());
        path == Some(edit.path.display().to_string().as_str())
    };
    let Some(edit) = edits.iter().find(named) else { return Err(error) };
    let view = store.view()?;
    let mut holders = Vec::new();
    let mut related = None;
    for summary in view.touching(&edit.path, *now)? {
        let Ok(proposal) = view.proposal(&summary.id) else { continue };
        let is_own = proposal.subject == Subject::Code
            && session_of(&proposal) == session.session()
            && is_own(store, &proposal, &caller.actor);
        if !is_own {
            continue;
        }
        if related.is_none() {
            related = Some(relations::relations(store, &view, *now)?);
        }
        let related = related.as_ref().map_or_else(|| Err(Error::bug("no relations")), Ok)?;
        let Ok(below) = made_by(store, &view, related, proposal.clone()) else { continue };
        if let Ok(changeset) = snippet::compile(edits.clone(), &below) {
            holders.push((proposal, changeset, below.on()));
        }
    }
    let related = related.unwrap_or_default();
    let ids: Vec<ProposalId> = holders.iter().map(|(holder, ..)| holder.id.clone()).collect();
    let carries = |id: &ProposalId| {
        let stands_on = |upper: &ProposalId| {
            let lower = related.get(upper).map_or(&[][..], |related| &related.stands_on);
            lower.iter().any(|lower| lower.id == *id)
        };
        ids.iter().any(stands_on)
    };
    let mut holders: Vec<_> =
        holders.into_iter().filter(|(holder, ..)| !carries(&holder.id)).collect();
    match holders.len() {
        0 => return Err(error),
        1 => {}
        _ => {
            let ids: Vec<String> =
                holders.iter().map(|(holder, ..)| holder.id.to_string()).collect();
            let named = ids.join(" and ");
            return Err(error.with("pending", ids).hint(format!(
                "{named}, pending and of this session, make it: say on which one with --on ID"
            )));
        }
    }
    let Some((holder, changeset, on)) = holders.pop() else { return Err(error) };
    match unanswered(&holder) {
        Some(what) => {
            let id = holder.id.to_string();
            Err(error.with("pending", id.clone()).hint(format!(
                "{id} (pending, yours) writes this and was {what}: answer that first: aye revise {id} …"
            )))
        }
        None => Ok((changeset, on)),
    }
}

/// The agent's session in which `proposal` was made.
fn session_of(proposal: &Proposal) -> Option<&str> {
    proposal.revisions.first()?.agent.as_ref()?.session.as_deref()
}

/// What a reviewer has said of the present revision of `proposal`, that its proposer has not answered.
fn unanswered(proposal: &Proposal) -> Option<&'static str> {
    if proposal.changes_requested.is_some() {
        return Some("sent back");
    }
    let current = proposal.current();
    let is_new = |remark: &crate::proposal::state::Remark| {
        let is_by_another =
            (&remark.by.name, remark.by.kind) != (&proposal.actor.name, proposal.actor.kind);
        let about = remark.comment.revision.as_deref();
        let is_open = is_by_another && remark.resolved.is_none();
        is_open && about.map_or(remark.at >= current.at, |about| about == current.event)
    };
    proposal.comments.iter().any(is_new).then_some("commented on")
}

/// How long a proposal on `on` waits that is to wait for `usual`: no longer than that one where it is
/// hardly older, so that its own time need not be extended.
///
/// # Errors
/// Those of the store.
pub fn lifetime(session: &Session<'_>, on: Option<&On>, usual: Duration) -> Result<Duration> {
    let now = session.now.trunc_subsecs(3);
    let Some(on) = on else { return Ok(usual) };
    let left = session.store.view()?.proposal(&on.proposal)?.expires_at - now;
    Ok(if left < usual && usual - left < NEARLY { left } else { usual })
}

/// Less than this is no difference between two ends.
const NEARLY: Duration = Duration::hours(12);

/// Lets nothing that a proposal of the writer's own was made on expire before `expires_at`, when that one
/// does: as far down as the stack is the writer's own.
///
/// # Errors
/// Those of the store.
pub fn outlive(writer: &mut Writer<'_>, on: Option<&On>, expires_at: DateTime<Utc>) -> Result<()> {
    let mut next = on.map(|on| on.proposal.clone());
    if next.is_none() {
        return Ok(());
    }
    for _ in 0..MOST_HIGH {
        let Some(id) = next else { break };
        // It may be in no thread here.
        let Ok(lower) = writer.view.proposal(&id) else { break };
        let is_own = is_own(writer.store(), &lower, writer.actor());
        if !is_own || lower.status(writer.now()) != Status::Pending {
            break;
        }
        // A term has one length: what is to wait longer is extended again.
        if lower.expires_at < expires_at.min(writer.now() + DEFAULT_LIFETIME) {
            writer.extend(&id, Evidence::Flag)?;
        }
        next = lower.current().on.as_ref().map(|on| on.proposal.clone());
    }
    Ok(())
}

/// What became of the proposals that stand on one that was revised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// They have a new revision on that one.
    pub rebased: Vec<ProposalId>,
    /// They stand on the earlier revision still: somebody else's, and those that do not fit.
    pub left: Vec<ProposalId>,
}

/// The proposals that stand on one, lower ones first.
pub struct Above {
    lower: Proposal,
    uppers: Vec<Upper>,
}

struct Upper {
    proposal: Proposal,
    changeset: Changeset,
    /// Which of these it stands on, from below.
    on: Vec<ProposalId>,
    /// It is the same proposer's.
    is_own: bool,
}

/// The pending proposals that stand on the present revision of `lower`, and on those in turn.
///
/// # Errors
/// Those of the store.
pub fn above(session: &Session<'_>, lower: &Proposal) -> Result<Above> {
    let Session { store, now, .. } = session;
    let view = store.view()?;
    let related = relations::relations(store, &view, *now)?;
    let mut uppers: Vec<Upper> = Vec::new();
    let mut at = vec![lower.id.clone()];
    for _ in 0..MOST_HIGH {
        let mut next = Vec::new();
        for (id, related) in &related {
            let is_on = |lower: &&Lower| !lower.is_revised && at.contains(&lower.id);
            if !related.stands_on.iter().any(|lower| is_on(&lower)) {
                continue;
            }
            if *id == lower.id || uppers.iter().any(|upper| upper.proposal.id == *id) {
                continue;
            }
            let proposal = view.proposal(id)?;
            let is_own = proposal.is_proposed_by(&lower.actor, Some(&lower.clone));
            // What cannot be read now cannot be rebased either.
            let changeset = store.changeset(proposal.current())?;
            uppers.push(Upper { proposal, changeset, on: Vec::new(), is_own });
            next.push(id.clone());
        }
        if next.is_empty() {
            break;
        }
        at = next;
    }
    let ids: BTreeSet<ProposalId> =
        uppers.iter().map(|upper| &upper.proposal.id).chain([&lower.id]).cloned().collect();
    for upper in &mut uppers {
        let is_one = |lower: &Lower| !lower.is_revised && ids.contains(&lower.id);
        let needed = related.get(&upper.proposal.id).map_or_else(Vec::new, |it| it.needed(is_one));
        let on = needed.into_iter().filter(|lower| is_one(lower));
        upper.on = on.map(|lower| lower.id.clone()).collect();
    }
    Ok(Above { uppers: from_below(&lower.id, uppers), lower: lower.clone() })
}

/// `uppers` so that each comes behind those that it stands on. Those that go round in a circle, as
/// fetched ones may, come last.
fn from_below(lower: &ProposalId, uppers: Vec<Upper>) -> Vec<Upper> {
    let (mut placed, mut ordered) = (BTreeSet::from([lower.clone()]), Vec::new());
    let mut left = uppers;
    for _ in 0..left.len() {
        let is_next = |upper: &Upper| upper.on.iter().all(|on| placed.contains(on));
        let (next, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_next);
        left = others;
        if next.is_empty() {
            break;
        }
        placed.extend(next.iter().map(|upper| upper.proposal.id.clone()));
        ordered.extend(next);
    }
    ordered.extend(left);
    ordered
}

/// Some files as they will be; of all others each change finds what it started from.
struct Made<'a> {
    store: &'a Store,
    files: &'a BTreeMap<RepoPath, Option<File>>,
    upper: &'a Changeset,
}

impl Snapshot for Made<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        if let Some(made) = self.files.get(path) {
            return Ok(made.clone());
        }
        let change = self.upper.changes().iter().find(|change| change.path == *path);
        Ok(change.and_then(|change| change.before.clone()))
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.store.repository().files()?.merges_lines(path)
    }
}

impl Above {
    /// When the last of those of the same proposer expires.
    pub fn expires_at(&self) -> Option<DateTime<Utc>> {
        let own = self.uppers.iter().filter(|upper| upper.is_own);
        own.map(|upper| upper.proposal.expires_at).max()
    }

    /// Gives those of the same proposer a new revision on `changeset`, the content of the lower one's
    /// new `revision` (an event id); those that do not fit it stay.
    ///
    /// # Errors
    /// Those of the store.
    pub fn follow(
        self,
        writer: &mut Writer<'_>,
        authority: &Authority,
        changeset: &Changeset,
        revision: &str,
    ) -> Result<Followed> {
        let mut followed = Followed::default();
        if self.uppers.is_empty() {
            return Ok(followed);
        }
        let mut files = BTreeMap::new();
        let store = writer.store();
        for change in &self.lower.current().changes {
            // What it no longer changes is as it was.
            let before = change.before.as_ref().map(|entry| store.file(entry)).transpose()?;
            files.insert(change.path.clone(), before);
        }
        extend(&mut files, changeset);
        // From below, as they are revised.
        let (id, revision) = (self.lower.id.clone(), revision.to_owned());
        let mut lowers =
            vec![Revised { id, revision, files, stack: BTreeSet::from([self.lower.id.clone()]) }];
        for upper in self.uppers {
            let id = upper.proposal.id.clone();
            let of = |on: &ProposalId| lowers.iter().find(|lower| lower.id == *on);
            let direct: Option<Vec<&Revised>> = upper.on.iter().map(of).collect();
            let below: Option<BTreeSet<ProposalId>> = direct
                .map(|direct| direct.into_iter().flat_map(|lower| &lower.stack).cloned().collect());
            let rebased = match below {
                Some(below) if upper.is_own && upper.is_as_it_was(writer)? => {
                    let its = lowers.iter().filter(|lower| below.contains(&lower.id));
                    let files = its.flat_map(|lower| lower.files.clone()).collect();
                    upper.rebased(store, &files)?.map(|changeset| (below, changeset))
                }
                _ => None,
            };
            let Some((mut stack, changeset)) = rebased else {
                followed.left.push(id);
                continue;
            };
            let at = |proposal: &ProposalId| {
                let revision = of(proposal)?.revision.clone();
                Some(On { proposal: proposal.clone(), revision })
            };
            let on = match upper.proposal.current().on.clone() {
                Some(on) => at(&on.proposal).or(Some(on)),
                None => upper.on.last().and_then(at),
            };
            // It stays for the branch that it was made for, wherever the one below it was revised.
            let target = upper.proposal.current().target.clone();
            let new =
                NewRevision { on, target, ..NewRevision::new(&changeset, RevisionReason::Rebase) };
            let revised = writer.revise(authority, &id, new)?;
            let mut files = BTreeMap::new();
            extend(&mut files, &changeset);
            stack.insert(id.clone());
            lowers.push(Revised { id: id.clone(), revision: revised.id, files, stack });
            followed.rebased.push(id);
        }
        Ok(followed)
    }
}

/// A proposal with the revision that it was given.
struct Revised {
    id: ProposalId,
    revision: String,
    /// What it makes.
    files: BTreeMap<RepoPath, Option<File>>,
    /// It, and those of these that it stands on.
    stack: BTreeSet<ProposalId>,
}

fn extend(files: &mut BTreeMap<RepoPath, Option<File>>, changes: &Changeset) {
    files.extend(changes.changes().iter().map(|c| (c.path.clone(), c.after.clone())));
}

impl Upper {
    /// Whether it was neither revised nor decided since it was read.
    fn is_as_it_was(&self, writer: &Writer<'_>) -> Result<bool> {
        let now = writer.view.proposal(&self.proposal.id)?;
        Ok(now.status(writer.now()) == Status::Pending
            && now.current().event == self.proposal.current().event)
    }

    /// Its changes on `files`; `None` where they do not fit, or are all there.
    fn rebased(
        &self,
        store: &Store,
        files: &BTreeMap<RepoPath, Option<File>>,
    ) -> Result<Option<Changeset>> {
        let made = Made { store, files, upper: &self.changeset };
        let sides = Sides { ours: "lower", theirs: "upper" };
        let plan = plan::plan(self.changeset.changes(), &made, sides)?;
        if plan.refusal().is_some() {
            return Ok(None);
        }
        let origin = |path: &RepoPath| {
            self.changeset.changes().iter().find(|change| change.path == *path)?.origin.clone()
        };
        let changes: Vec<_> = plan.writes().map(|file| file.change(origin(&file.path))).collect();
        if changes.is_empty() {
            return Ok(None);
        }
        Changeset::new(changes).map(Some)
    }
}
