//! Histories of lanes that a repair has set aside because nothing names them, and how a person has them put
//! back.
//!
//! Whoever can push a branch here can put commits into the object database that claim to be of this clone's
//! lane. So no repair takes them on its own; a person says which of them are this clone's.

use std::collections::BTreeSet;

use gix::ObjectId;

use super::known::span;
use crate::error::{Error, Result, codes::INVALID_ARGUMENT};
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, Data, ProposalId};
use crate::store::lane::{self, Limits, Reader};
use crate::store::refs::{self, BROKEN, LaneRef};
use crate::store::{Store, View, codes, lock, place};

/// Shortest beginning of an id that names a commit.
const SHORTEST: usize = 4;

/// Most histories that a daily look is at, and most commits of each: who can push here chooses how many there
/// are once a repair has found them.
const MOST_HISTORIES: usize = 10;
const MOST_COMMITS: usize = 1_000;

/// A history below `refs/aye/broken/` with events that no lane here has.
#[derive(Debug)]
pub struct Aside {
    /// Its ref.
    pub name: String,
    /// Its last commit, hex.
    pub tip: String,
    /// Those events, oldest first: the id of each, and what it is, in words.
    pub events: Vec<(String, String)>,
    /// It can be put back.
    pub is_free: bool,
    /// It is of somebody else's lane.
    pub is_fetched: bool,
    history: LaneRef,
}

impl Aside {
    /// How many events it has, in words.
    pub fn count(&self) -> String {
        count(self.events.len())
    }
}

/// A ref of what was set aside.
struct History {
    name: String,
    /// The lane, by its id, and the last commit.
    lane: LaneRef,
    /// This clone wrote it.
    is_own: bool,
    /// Nothing that is left names it, or it is this clone's: each look says so. The whole of a lane that was
    /// fetched is only waiting until it is fetched again.
    is_asked_about: bool,
}

fn count(events: usize) -> String {
    if events == 1 { "1 event".to_owned() } else { format!("{events} events") }
}

/// A lane with what was set aside of it.
struct Joined {
    name: String,
    old: Option<ObjectId>,
    commits: Vec<ObjectId>,
}

impl Store {
    /// What was set aside and has events that `view` has not. Unless it `is_full`, the look is bounded.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn asides(&self, view: &View, is_full: bool) -> Result<Vec<Aside>> {
        let (histories, most) =
            if is_full { (usize::MAX, usize::MAX) } else { (MOST_HISTORIES, MOST_COMMITS) };
        let found = self.histories()?.into_iter().filter(|history| history.is_asked_about);
        self.with_events(view, found.take(histories), most)
    }

    /// The histories of other clones' `lanes` that were set aside and have events that `view` has not.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn fetched_asides(&self, view: &View, lanes: &BTreeSet<String>) -> Result<Vec<Aside>> {
        let found = self.histories()?.into_iter();
        let found = found.filter(|it| !it.is_asked_about && lanes.contains(&it.lane.name));
        self.with_events(view, found, usize::MAX)
    }

    fn with_events(
        &self,
        view: &View,
        histories: impl Iterator<Item = History>,
        most: usize,
    ) -> Result<Vec<Aside>> {
        let mut found = Vec::new();
        for History { name, lane: history, is_own, .. } in histories {
            let events = self.only_in(view, &history, most);
            if !events.is_empty() {
                let is_free = self.joined(&history)?.is_some();
                let (tip, is_fetched) = (history.tip.to_string(), !is_own);
                found.push(Aside { name, tip, events, is_free, is_fetched, history });
            }
        }
        Ok(found)
    }

    /// Whether `aside` can be put back still: of two that claim the same positions one can.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn is_free(&self, aside: &Aside) -> Result<bool> {
        Ok(self.joined(&aside.history)?.is_some())
    }

    /// Puts the history that ends in the commit which `commit` begins the id of back into its lane. Says
    /// what was done.
    ///
    /// # Errors
    /// `not_set_aside`, `lane_written_since`, `invalid_argument`, `busy`, and those of the file system.
    pub fn put_back(&self, authority: &Authority, view: &View, commit: &str) -> Result<String> {
        if authority.verb() != Verb::Force {
            return Err(Error::bug("a lane put together by another authority"));
        }
        let _lock = lock::Lock::acquire(&self.make_private()?, "lock")?;
        let commit = commit.to_ascii_lowercase();
        let mut found: Vec<LaneRef> = Vec::new();
        for history in self.histories()?.into_iter().filter(|_| commit.len() >= SHORTEST) {
            let mut next = Some(history.lane.tip);
            while let Some(tip) = next {
                if tip.to_string().starts_with(&commit) && found.iter().all(|it| it.tip != tip) {
                    found.push(LaneRef { name: history.lane.name.clone(), tip });
                }
                next = self.parent(tip);
            }
        }
        let history = match &found[..] {
            [history] => history,
            [] => {
                let why = format!("no commit '{commit}' was set aside by a repair");
                return Err(Error::new(&codes::NOT_SET_ASIDE, why)
                    .hint("`aye doctor` names what was; `git log REF` shows its commits"));
            }
            _ => {
                let why = format!("more than one commit that was set aside begins with '{commit}'");
                return Err(Error::new(&INVALID_ARGUMENT, why).hint("give more of its id"));
            }
        };
        let events = self.only_in(view, history, usize::MAX).len();
        if events == 0 {
            let why = format!("all that was said up to '{commit}' counts already");
            return Err(Error::new(&codes::NOT_SET_ASIDE, why).hint("`aye log` shows it"));
        }
        let Some(Joined { name, old, commits }) = self.joined(history)? else {
            let (lane, tip) = (&history.name, history.tip);
            let why = format!(
                "lane {lane} was written to after it was put together without {tip}, or is not this clone's any more"
            );
            return Err(Error::new(&codes::LANE_WRITTEN_SINCE, why)
                .with("lane", lane.clone())
                .hint(format!(
                    "`git log -p {tip}` shows what was said; say again what still holds"
                )));
        };
        let tip = self.chain(&commits)?.ok_or_else(|| Error::bug("a history of no commits"))?;
        refs::compare_and_swap(&self.repo, &self.common_dir, &name, old, tip, true)?.sure()?;
        Ok(format!("{name}: {} up to {} put back", count(events), history.tip))
    }

    /// Whether something was set aside of `lane` that nothing names.
    pub(in crate::store) fn is_set_aside(&self, lane: &str) -> bool {
        let mut found = false;
        let begins = format!("{BROKEN}{lane}.");
        let _ = refs::each(&self.repo, BROKEN, |name, _| found |= name.starts_with(&begins));
        found
    }

    /// What was set aside of lanes.
    fn histories(&self) -> Result<Vec<History>> {
        let (mut found, mut own) = (Vec::new(), None);
        refs::each(&self.repo, BROKEN, |name, tip| {
            let rest = &name[BROKEN.len()..];
            let (lane, is_part) =
                rest.split_once('.').map_or((rest, false), |(lane, _)| (lane, true));
            if refs::is_lane_name(lane) {
                let own = own.get_or_insert_with(|| self.own_lanes());
                let is_own = own.iter().any(|own| own == lane);
                let lane = LaneRef { name: lane.to_owned(), tip };
                found.push(History { name, lane, is_own, is_asked_about: is_part || is_own });
            }
        })?;
        Ok(found)
    }

    /// The events of the last `most` commits of `history` that `view` has not, oldest first.
    pub(super) fn only_in(
        &self,
        view: &View,
        history: &LaneRef,
        most: usize,
    ) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut next = Some(history.tip);
        for _ in 0..most {
            // What counts in a lane does so with all that comes before it.
            let Some(id) = next.filter(|id| view.seq_of(id).is_none()) else { break };
            next = self.parent(id);
            let held = Reader::held(&self.repo, history, id, None).unwrap_or_default();
            if held.iter().all(|event| view.has_event(&event.to_string())) {
                continue;
            }
            let rows = lane::rows(&self.repo, history, id, Limits::LOCAL).unwrap_or_default();
            for row in rows.iter().rev().filter(|row| !view.has_event(&row.hex)) {
                let proposal = row.proposal.as_ref();
                found.push((row.hex.clone(), words(proposal, row.kind(), &row.hex, &history.name)));
            }
        }
        found.reverse();
        found
    }

    /// This clone's lane with `history` in it; `None` where that cannot be done: positions are taken, as by
    /// what was written since, or the lane is in another epoch, or not this clone's.
    fn joined(&self, history: &LaneRef) -> Result<Option<Joined>> {
        let Some((name, old)) = self.own_ref(&history.name)? else { return Ok(None) };
        let commits = lane::readable(&self.repo, history);
        let begins = commits.first().and_then(|id| {
            lane::events(&self.repo, history, *id, Limits::LOCAL)?.into_iter().next()
        });
        let epoch = match begins.map(|row| row.event.data) {
            Some(Data::Fold(fold)) => fold.epoch,
            _ => 1,
        };
        let spans = || commits.iter().filter_map(|id| span(&self.repo, *id));
        let first = spans().map(|(_, first, _)| first).min();
        let last = spans().map(|(_, _, last)| last).max();
        let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
        if epoch != refs::epoch_of(&name).unwrap_or(1) {
            return Ok(None);
        }
        let tree = |id: ObjectId| Some(self.repo.find_commit(id).ok()?.tree_id().ok()?.detach());
        let known: BTreeSet<ObjectId> = commits.iter().filter_map(|id| tree(*id)).collect();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let lane = old.map(|tip| LaneRef { name: history.name.clone(), tip });
        for id in lane.map(|lane| lane::readable(&self.repo, &lane)).unwrap_or_default() {
            match span(&self.repo, id) {
                Some((_, _, end)) if end < first => before.push(id),
                Some((_, begin, _)) if begin > last => after.push(id),
                _ if tree(id).is_some_and(|tree| known.contains(&tree)) => {}
                _ => return Ok(None),
            }
        }
        let commits = before.into_iter().chain(commits).chain(after).collect();
        Ok(Some(Joined { name, old, commits }))
    }

    /// The ref of this clone's lane `id`, and where it is.
    pub(super) fn own_ref(&self, id: &str) -> Result<Option<(String, Option<ObjectId>)>> {
        let Some(private) = self.private()? else { return Ok(None) };
        let own = self.noted_lanes().into_iter().find(|(_, lane)| lane == id);
        let Some((audience, lane)) = own else { return Ok(None) };
        if place::is_copy(&private, &audience, &lane)? {
            return Ok(None);
        }
        let epoch = place::noted_epoch(&private, &audience)?.map_or(1, |(_, epoch)| epoch);
        let local = refs::local(&self.repo)?;
        let names = local.iter().map(|found| found.name.as_str());
        let newest = refs::newest(names, &audience, &lane).map(str::to_owned);
        let name = newest.unwrap_or_else(|| audience.lane(&lane, epoch));
        let old = refs::target(&self.repo, &name)?;
        Ok(Some((name, old)))
    }

    /// The commit before `id`.
    pub(super) fn parent(&self, id: ObjectId) -> Option<ObjectId> {
        let commit = self.repo.find_commit(id).ok()?;
        commit.parent_ids().next().map(gix::Id::detach)
    }
}

/// An event, with the id of the proposal in front where it is about one.
pub(super) fn words(about: Option<&ProposalId>, kind: &str, id: &str, lane: &str) -> String {
    let about = about.map(|id| format!("{id}: ")).unwrap_or_default();
    format!("{about}{kind} event {id} of lane {lane}")
}
