//! Stacks of proposals: files as a lower proposal leaves them, and rebases after its revision.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, SubsecRound as _, Utc};

use super::{Session, is_own};
use crate::changeset::merge::MergeLabels;
use crate::changeset::plan;
use crate::changeset::snippet::{self, SnippetEdit};
use crate::changeset::{Changeset, File, RepoPath, Snapshot};
use crate::check::relations::{self, MOST_HIGH};
use crate::error::{Error, Result, codes};
use crate::proposal::event::{Evidence, On, RevisionReason, Subject};
use crate::proposal::relations::{Dependency, Relations, stack_below};
use crate::proposal::{Authority, DEFAULT_LIFETIME, Proposal, ProposalId, Status};
use crate::store::{NewRevision, Store, View, Writer};

/// Base of edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EditBase {
    /// Present files.
    Files,
    /// Present files, otherwise the result of the session's only pending proposal with the old
    /// content.
    #[default]
    Any,
    /// Result of this pending proposal (id or prefix).
    On(String),
    /// Result of the proposals below this one.
    Below(ProposalId),
}

impl From<Option<String>> for EditBase {
    fn from(on: Option<String>) -> Self {
        on.map_or(Self::Any, Self::On)
    }
}

impl EditBase {
    /// `None` for present files.
    ///
    /// # Errors
    /// `proposal_not_found` etc., `not_pending`; `invalid_argument` for a memory proposal or a
    /// stack of maximal height.
    pub fn made<'s>(&self, session: &Session<'s>) -> Result<Option<StackSnapshot<'s>>> {
        match self {
            Self::On(id) => below(session, id).map(Some),
            Self::Below(id) => under(session, id).map(Some),
            Self::Files | Self::Any => Ok(None),
        }
    }
}

/// Base of a revision of `proposal`: pending proposals below it, or the files.
pub fn ground_of(session: &Session<'_>, proposal: &Proposal) -> Result<EditBase> {
    let Session { store, now, .. } = session;
    let related = relations::relations(store, &store.view()?, *now)?;
    let lower =
        related.get(&proposal.id).map_or_else(Vec::new, |related| related.needed(|_| false));
    Ok(match lower[..] {
        [] => EditBase::Files,
        [lower] => EditBase::On(lower.id.to_string()),
        _ => EditBase::Below(proposal.id.clone()),
    })
}

/// Files with the results of pending proposals.
pub struct StackSnapshot<'s> {
    files: Box<dyn Snapshot + 's>,
    made: BTreeMap<RepoPath, Option<File>>,
    on: Option<On>,
}

impl StackSnapshot<'_> {
    /// `None` for several proposals: contents determine the relation then.
    pub fn on(&self) -> Option<On> {
        self.on.clone()
    }
}

impl Snapshot for StackSnapshot<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        match self.made.get(path) {
            Some(made) => Ok(made.clone()),
            None => self.files.file(path),
        }
    }

    fn base(&self) -> Option<&dyn Snapshot> {
        Some(&*self.files)
    }
}

fn below<'s>(session: &Session<'s>, id: &str) -> Result<StackSnapshot<'s>> {
    let Session { store, now, .. } = session;
    let view = store.view()?;
    let lower = view.find(id)?;
    lower.require_pending(*now)?;
    if lower.subject != Subject::Code {
        let message = format!("{} is about memory, and no proposal can depend on it", lower.id);
        return Err(Error::new(&codes::INVALID_ARGUMENT, message)
            .with("proposal_id", lower.id.as_str())
            .hint(format!("wait for its decision: aye wait {}", lower.id)));
    }
    let related = relations::relations(store, &view, *now)?;
    made_by(store, &view, &related, lower)
}

/// Files with all results below `id`.
fn under<'s>(session: &Session<'s>, id: &ProposalId) -> Result<StackSnapshot<'s>> {
    let Session { store, now, .. } = session;
    let view = store.view()?;
    let related = relations::relations(store, &view, *now)?;
    let recorded = view.proposal(id)?.current().on.clone();
    let (mut order, mut on) = (Vec::new(), None);
    let needed = related.get(id).map_or_else(Vec::new, |related| related.needed(|_| false));
    for lower in needed {
        let lower = view.proposal(&lower.id)?;
        let below = below_of(&related, &lower.id)?.into_iter().chain([lower.id.clone()]);
        // A proposal below several others comes before them all.
        let new = below.filter(|id| !order.contains(id)).collect::<Vec<_>>();
        order.extend(new);
        // Keep the recorded relation.
        if recorded.as_ref().is_some_and(|recorded| recorded.proposal == lower.id) {
            on = Some(On { revision: lower.current().event.clone(), proposal: lower.id });
        }
    }
    Ok(StackSnapshot {
        files: store.repository().files()?,
        made: made_in(store, &view, &order)?,
        on,
    })
}

fn made_by<'s>(
    store: &'s Store,
    view: &View,
    related: &BTreeMap<ProposalId, Relations>,
    lower: Proposal,
) -> Result<StackSnapshot<'s>> {
    let on = On { proposal: lower.id.clone(), revision: lower.current().event.clone() };
    let order = [below_of(related, &lower.id)?, vec![lower.id]].concat();
    Ok(StackSnapshot {
        files: store.repository().files()?,
        made: made_in(store, view, &order)?,
        on: Some(on),
    })
}

/// In order of application.
fn below_of(related: &BTreeMap<ProposalId, Relations>, id: &ProposalId) -> Result<Vec<ProposalId>> {
    let below = stack_below(related, id, MOST_HIGH, |lower| !lower.is_revised);
    if below.is_too_high || below.taken.len() == MOST_HIGH {
        let message = format!("the stack of {id} is {MOST_HIGH} proposals high");
        return Err(Error::new(&codes::INVALID_ARGUMENT, message)
            .with("proposal_id", id.as_str())
            .hint("wait for the decision on the lower proposal"));
    }
    Ok(below.taken)
}

/// Combines the results in `order`.
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

/// Applies `edits` to the only pending proposal of the caller's session that has their old content,
/// the highest one of a stack.
///
/// # Errors
/// `error` without a unique proposal, or if a reviewer's comment on it is unanswered: it must be
/// revised first.
pub(super) fn own(
    session: &Session<'_>,
    error: Error,
    edits: Vec<SnippetEdit>,
) -> Result<(Changeset, Option<On>)> {
    let Session { store, caller, now } = session;
    let given = error.details().iter().find(|(key, _)| *key == "path");
    let named = |edit: &&SnippetEdit| {
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
            let lower = related.get(upper).map_or(&[][..], |related| &related.depends_on);
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

fn session_of(proposal: &Proposal) -> Option<&str> {
    proposal.revisions.first()?.agent.as_ref()?.session.as_deref()
}

/// A reviewer's unanswered comment on the current revision.
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

/// Lifetime for a proposal on `on`: shortened to the remaining time of `on` if that is nearly
/// `usual`, which avoids an extension.
pub fn lifetime(session: &Session<'_>, on: Option<&On>, usual: Duration) -> Result<Duration> {
    let now = session.now.trunc_subsecs(3);
    let Some(on) = on else { return Ok(usual) };
    let left = session.store.view()?.proposal(&on.proposal)?.expires_at - now;
    Ok(if left < usual && usual - left < NEARLY { left } else { usual })
}

/// Smaller differences in lifetime are ignored.
const NEARLY: Duration = Duration::hours(12);

/// Extends the writer's own proposals in the stack below, so that none expires before `expires_at`.
pub fn outlive(writer: &mut Writer<'_>, on: Option<&On>, expires_at: DateTime<Utc>) -> Result<()> {
    let mut next = on.map(|on| on.proposal.clone());
    if next.is_none() {
        return Ok(());
    }
    for _ in 0..MOST_HIGH {
        let Some(id) = next else { break };
        // Its thread may be missing here.
        let Ok(lower) = writer.view.proposal(&id) else { break };
        let is_own = is_own(writer.store(), &lower, writer.actor());
        if !is_own || lower.status(writer.now()) != Status::Pending {
            break;
        }
        // An extension has a fixed length; longer waits need another.
        if lower.expires_at < expires_at.min(writer.now() + DEFAULT_LIFETIME) {
            writer.extend(&id, Evidence::Flag)?;
        }
        next = lower.current().on.as_ref().map(|on| on.proposal.clone());
    }
    Ok(())
}

/// Proposals stacked on a revised one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebaseOutcome {
    /// With a new revision on it.
    pub rebased: Vec<ProposalId>,
    /// Still on the earlier revision: other proposers' proposals, and conflicts.
    pub left: Vec<ProposalId>,
}

/// Stacked proposals, lower ones first.
pub struct UpperStack {
    lower: Proposal,
    uppers: Vec<Upper>,
}

struct Upper {
    proposal: Proposal,
    changeset: Changeset,
    /// In order of application.
    on: Vec<ProposalId>,
    /// By the same proposer.
    is_own: bool,
}

/// Pending proposals stacked on the current revision of `lower`, transitively.
pub fn above(session: &Session<'_>, lower: &Proposal) -> Result<UpperStack> {
    let Session { store, now, .. } = session;
    let view = store.view()?;
    let related = relations::relations(store, &view, *now)?;
    let mut uppers: Vec<Upper> = Vec::new();
    let mut at = vec![lower.id.clone()];
    for _ in 0..MOST_HIGH {
        let mut next = Vec::new();
        for (id, related) in &related {
            let is_on = |lower: &&Dependency| !lower.is_revised && at.contains(&lower.id);
            if !related.depends_on.iter().any(|lower| is_on(&lower)) {
                continue;
            }
            if *id == lower.id || uppers.iter().any(|upper| upper.proposal.id == *id) {
                continue;
            }
            let proposal = view.proposal(id)?;
            let is_own = proposal.is_proposed_by(&lower.actor, Some(&lower.clone));
            // An unreadable proposal cannot be rebased.
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
        let is_one = |lower: &Dependency| !lower.is_revised && ids.contains(&lower.id);
        let needed = related.get(&upper.proposal.id).map_or_else(Vec::new, |it| it.needed(is_one));
        let on = needed.into_iter().filter(|lower| is_one(lower));
        upper.on = on.map(|lower| lower.id.clone()).collect();
    }
    Ok(UpperStack { uppers: from_below(&lower.id, uppers), lower: lower.clone() })
}

/// Sorts each proposal behind those below it. Cycles, possible in fetched data, come last.
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

/// Files as planned; other files are as each change expects.
struct PlannedSnapshot<'a> {
    store: &'a Store,
    files: &'a BTreeMap<RepoPath, Option<File>>,
    upper: &'a Changeset,
}

impl Snapshot for PlannedSnapshot<'_> {
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

impl UpperStack {
    /// Latest expiry of proposals by the same proposer.
    pub fn expires_at(&self) -> Option<DateTime<Utc>> {
        let own = self.uppers.iter().filter(|upper| upper.is_own);
        own.map(|upper| upper.proposal.expires_at).max()
    }

    /// Rebases proposals of the same proposer onto `changeset`, the content of `revision` (an event
    /// id). Conflicting ones stay.
    pub fn follow(
        self,
        writer: &mut Writer<'_>,
        authority: &Authority,
        changeset: &Changeset,
        revision: &str,
    ) -> Result<RebaseOutcome> {
        let mut followed = RebaseOutcome::default();
        if self.uppers.is_empty() {
            return Ok(followed);
        }
        let mut files = BTreeMap::new();
        let store = writer.store();
        for change in &self.lower.current().changes {
            // Files dropped by the revision return to their before side.
            let before = change.before.as_ref().map(|entry| store.file(entry)).transpose()?;
            files.insert(change.path.clone(), before);
        }
        extend(&mut files, changeset);
        // In order of application.
        let (id, revision) = (self.lower.id.clone(), revision.to_owned());
        let mut lowers = vec![RevisedProposal {
            id,
            revision,
            files,
            stack: BTreeSet::from([self.lower.id.clone()]),
        }];
        for upper in self.uppers {
            let id = upper.proposal.id.clone();
            let of = |on: &ProposalId| lowers.iter().find(|lower| lower.id == *on);
            let direct: Option<Vec<&RevisedProposal>> = upper.on.iter().map(of).collect();
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
            // Keeps its target branch wherever the lower one was revised.
            let target = upper.proposal.current().target.clone();
            let new =
                NewRevision { on, target, ..NewRevision::new(&changeset, RevisionReason::Rebase) };
            let revised = writer.revise(authority, &id, new)?;
            let mut files = BTreeMap::new();
            extend(&mut files, &changeset);
            stack.insert(id.clone());
            lowers.push(RevisedProposal { id: id.clone(), revision: revised.id, files, stack });
            followed.rebased.push(id);
        }
        Ok(followed)
    }
}

/// A proposal with its new revision.
struct RevisedProposal {
    id: ProposalId,
    revision: String,
    files: BTreeMap<RepoPath, Option<File>>,
    /// Itself and proposals below.
    stack: BTreeSet<ProposalId>,
}

fn extend(files: &mut BTreeMap<RepoPath, Option<File>>, changes: &Changeset) {
    files.extend(changes.changes().iter().map(|c| (c.path.clone(), c.after.clone())));
}

impl Upper {
    /// True if neither revised nor decided since.
    fn is_as_it_was(&self, writer: &Writer<'_>) -> Result<bool> {
        let now = writer.view.proposal(&self.proposal.id)?;
        Ok(now.status(writer.now()) == Status::Pending
            && now.current().event == self.proposal.current().event)
    }

    /// `None` for a conflict, or if nothing remains to change.
    fn rebased(
        &self,
        store: &Store,
        files: &BTreeMap<RepoPath, Option<File>>,
    ) -> Result<Option<Changeset>> {
        let made = PlannedSnapshot { store, files, upper: &self.changeset };
        let sides = MergeLabels { ours: "lower", theirs: "upper" };
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
