//! The cache: a disposable index of events and folded proposals, keyed by lane tips.
//!
//! Whatever is wrong with the file (missing, older, corrupt, locked, not writable) it is rebuilt,
//! in memory if need be; nobody is told, because nothing is lost.

mod audience;
mod budget;
mod counts;
mod elsewhere;
mod events;
mod filling;
mod filter;
mod forks;
mod gather;
mod lanes;
mod marks;
mod names;
mod news;
mod parsed;
#[cfg(test)]
mod plans;
mod publish;
mod purge;
mod query;
mod rebuild;
mod relations;
mod row;
mod schema;
mod shares;
mod source;
mod statements;
mod update;

pub use elsewhere::Content;
pub use events::{LogEntry, LogPages, PAGE};
pub use filter::Filter;
pub use purge::Record as PurgeRecord;
pub use query::Summary;
pub(super) use source::Source;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusqlite::Connection;

use self::schema::Index;
use super::audience::{Audiences, default_remotes};
use super::lane::Broken;
use super::lock::Lock;
use super::own::{self, OwnLane};
use super::refs::{self, LaneRef};
use super::trouble::Trouble;
use super::{Audience, Store, seen};
use crate::changeset::RepoPath;
use crate::database;
use crate::error::{Error, Result};
use crate::proposal::ProposalId;
use crate::proposal::event::Head;
use lanes::Reach;
use rebuild::{begun_again, is_in_the_way};

/// The store as it was when this was made: every query is answered from one state.
pub struct View {
    /// `None` as long as there are no lanes: most repositories never pay for the cache.
    pub(super) connection: Option<Connection>,
    /// The lanes and their tips.
    pub(super) lanes: Vec<LaneRef>,
    /// This clone's own lane, if it could not be read to its end.
    pub(super) broken: Vec<Broken>,
    /// What is wrong with the others.
    troubles: Vec<Trouble>,
    /// This clone's own lanes, once somebody has asked for them.
    own: OnceCell<Vec<OwnLane>>,
    /// The remotes whose lanes are for the default audience; `None`: all.
    home_remotes: Option<Vec<String>>,
    /// Whether everything is for the default audience, once somebody has asked.
    is_plain: OnceCell<bool>,
    /// The indices that were made, or looked for, one bit each.
    indexed: Cell<u8>,
    /// Whom the lanes are for, once somebody has asked.
    audiences: OnceCell<Audiences>,
    /// The files that git has moved, by the commits that were asked for.
    moves: RefCell<BTreeMap<String, Moves>>,
    /// Where the connection goes afterwards, unless it is one in memory.
    home: Kept,
    /// Where objects are.
    repo: gix::Repository,
}

/// How long to wait for others before a view is made in memory.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait for others with a view that was made.
const PATIENCE_WITH_ANSWERS: Duration = Duration::from_secs(30);

/// The connection to the cache between two views: a command that decides looks at the store
/// before it takes the lock and again under it, and opening costs more than the second look.
pub(super) type Kept = Rc<Cell<Option<Connection>>>;

/// Where files were, and where git has moved them.
pub type Moves = Rc<[(RepoPath, RepoPath)]>;

/// What an event can be about.
#[derive(Clone, Copy)]
pub(super) enum About<'a> {
    /// The id of a proposal.
    Proposal(&'a str),
    /// The branch of a plan.
    Plan(&'a str),
}

/// How far one of this clone's own lanes has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTip {
    /// The lane's id.
    pub lane: String,
    /// Its ref, that of its epoch.
    pub name: String,
    /// Its tip, hex.
    pub tip: String,
    /// The position of its last event.
    pub seq: u64,
}

/// How far the lane of a ref has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Where the ref was.
    pub(super) tip: String,
    /// The last position up to `reached`.
    pub(super) seq: u64,
    /// The last commit that counts; before `tip` where the lane cannot be read to its end.
    pub(super) reached: Option<String>,
}

impl Store {
    /// The store's present state. Reads the lane tips, and only commits not read before. Lanes of
    /// other clones that cannot be read are no error; [`View::troubles`] has them.
    ///
    /// # Errors
    /// `lane_broken` if this clone's own lane cannot be read; [`Store::readable_view`] goes on
    /// with what can be read of it.
    pub fn view(&self) -> Result<View> {
        let view = self.look()?;
        view.release();
        Ok(view)
    }

    /// As [`Store::view`], and what is asked of it is answered in the same look at the cache until it
    /// is dropped or [released](View::release): see [`View::hold`].
    ///
    /// # Errors
    /// As [`Store::view`].
    pub fn look(&self) -> Result<View> {
        let view = self.readable_look()?;
        match view.broken.first() {
            None => Ok(view),
            Some(broken) => Err(broken.error()),
        }
    }

    /// As [`Store::view`], with what can be read of a broken lane; [`View::broken`] has the place.
    ///
    /// # Errors
    /// If the refs themselves cannot be read.
    pub fn readable_view(&self) -> Result<View> {
        let view = self.readable_look()?;
        view.release();
        Ok(view)
    }

    fn readable_look(&self) -> Result<View> {
        let lanes = refs::lanes(&self.repository().repo)?;
        // A cache may know of an own lane whose ref is gone.
        let has_cache = || self.repository().common_dir.join("aye/cache.sqlite").exists();
        if lanes.is_empty() && refs::kept(&self.repository().repo).is_empty() && !has_cache() {
            return Ok(View {
                connection: None,
                lanes,
                broken: Vec::new(),
                troubles: Vec::new(),
                own: OnceCell::new(),
                home_remotes: None,
                is_plain: OnceCell::new(),
                indexed: Cell::default(),
                audiences: OnceCell::new(),
                moves: RefCell::default(),
                home: self.kept.clone(),
                repo: self.repository().repo.clone(),
            });
        }
        if let Some(connection) = self.kept.take()
            && let Ok(view) = self.view_on(connection, &lanes, self.kept.clone())
        {
            return Ok(view);
        }
        let path = self.repository().private_dir().join("cache.sqlite");
        match self.view_at(&path, &lanes) {
            Ok(view) => return Ok(view),
            Err(error) if is_in_the_way(&error) => {}
            // Corrupt or of another version: begin anew, one process at a time.
            Err(_) => {
                let private = self.repository().private().ok().flatten();
                let _lock = private.map(|private| Lock::acquire(&private, "cache.lock"));
                if let Ok(view) = self.view_at(&path, &lanes) {
                    return Ok(view);
                }
                if let Ok(view) = begun_again(|| self.view_anew(&path, &lanes)) {
                    return Ok(view);
                }
            }
        }
        begun_again(|| self.view_in_memory(&lanes)).map_err(|error| {
            Error::bug(format!("the cache cannot be built even in memory: {error}"))
        })
    }

    /// The store's present state as [`Store::readable_view`] has it, with a cache that is empty before: what
    /// was in it is in no file any more. Other processes wait meanwhile.
    ///
    /// # Errors
    /// As [`Store::readable_view`].
    pub fn view_with_new_cache(&self) -> Result<View> {
        self.kept.take();
        if let Ok(Some(private)) = self.repository().private() {
            for name in ["idle", seen::CHECKED, seen::EXAMINED] {
                private.remove(name);
            }
            let lanes = refs::lanes(&self.repository().repo)?;
            let path = self.repository().private_dir().join("cache.sqlite");
            if let Ok(view) = begun_again(|| self.view_anew(&path, &lanes)) {
                view.release();
                return Ok(view);
            }
        }
        self.readable_view()
    }

    /// Where the cache has last seen the ref `name`.
    pub(super) fn tip_in_cache(&self, name: &str) -> Option<gix::ObjectId> {
        let connection =
            schema::open(&self.repository().private_dir().join("cache.sqlite")).ok()?;
        let position = lanes::positions(&connection).ok()?.remove(name)?;
        gix::ObjectId::from_hex(position.tip.as_bytes()).ok()
    }

    fn view_at(&self, path: &Path, lanes: &[LaneRef]) -> rusqlite::Result<View> {
        self.view_on(schema::open(path)?, lanes, self.kept.clone())
    }

    fn view_anew(&self, path: &Path, lanes: &[LaneRef]) -> rusqlite::Result<View> {
        let mut connection = schema::open_empty(path)?;
        lanes::catch_up(self, &mut connection, lanes, Reach::All)?;
        database::share(&connection)?;
        self.view_on(connection, lanes, self.kept.clone())
    }

    fn view_in_memory(&self, lanes: &[LaneRef]) -> rusqlite::Result<View> {
        self.view_on(schema::open(Path::new(":memory:"))?, lanes, Kept::default())
    }

    fn view_on(
        &self,
        mut connection: Connection,
        lanes: &[LaneRef],
        home: Kept,
    ) -> rusqlite::Result<View> {
        let mut broken = Vec::new();
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch("BEGIN")?;
        let mut troubles = lanes::troubles(&connection)?;
        if !lanes::is_current(self, &connection, lanes, &troubles)? {
            // Others may write meanwhile; what a remote has may have to come first.
            connection.execute_batch("COMMIT")?;
            broken = lanes::catch_up(self, &mut connection, lanes, Reach::All)?;
            connection.execute_batch("BEGIN")?;
            troubles = lanes::troubles(&connection)?;
        }
        self.notices.add(&troubles);
        // What is asked of it later has to wait where another process begins again.
        connection.busy_timeout(PATIENCE_WITH_ANSWERS)?;
        Ok(View {
            connection: Some(connection),
            lanes: lanes.to_vec(),
            broken,
            troubles,
            own: OnceCell::new(),
            home_remotes: default_remotes(&self.repository().repo),
            is_plain: OnceCell::new(),
            indexed: Cell::default(),
            audiences: OnceCell::new(),
            moves: RefCell::default(),
            home,
            repo: self.repository().repo.clone(),
        })
    }
}

impl View {
    /// This clone's own lane, if it could not be read to its end.
    pub fn broken(&self) -> &[Broken] {
        &self.broken
    }

    /// This clone's lanes, each with its audience; without those that have no event yet, but for the
    /// one for the default remote. As they were when this was asked first.
    pub(super) fn own_lanes(&self, store: &Store) -> &[OwnLane] {
        let names = || self.lanes.iter().map(|lane| lane.name.as_str());
        self.own.get_or_init(|| own::lanes(store, names()))
    }

    /// How far this clone's lanes have come; without those that have no event yet.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn own_tips(&self, store: &Store) -> Result<Vec<OwnTip>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let mut tips = Vec::new();
        for OwnLane { lane, name, .. } in self.own_lanes(store) {
            let position = lanes::position(connection, name);
            if let Some(Position { tip, seq, .. }) =
                position.map_err(|error| self.failed(&error))?
            {
                tips.push(OwnTip { lane: lane.clone(), name: name.clone(), tip, seq });
            }
        }
        Ok(tips)
    }

    /// Whether the lanes are still where this was asked of.
    pub fn is_current(&self, store: &Store) -> bool {
        refs::lanes(&store.repository().repo).is_ok_and(|lanes| lanes == self.lanes)
    }

    /// Where all lanes are: what one view finds out from them alone holds for another that has the same.
    pub fn state(&self) -> Vec<String> {
        self.lanes.iter().map(|lane| format!("{} {}", lane.name, lane.tip)).collect()
    }

    /// The moves of files in the commits of `range`: `read` is asked once, however many proposals want them.
    pub fn moves_in(
        &self,
        range: String,
        read: impl FnOnce() -> Vec<(RepoPath, RepoPath)>,
    ) -> Moves {
        self.moves.borrow_mut().entry(range).or_insert_with(|| read().into()).clone()
    }

    /// How many lanes there are, this clone's own and those of others.
    pub fn count_lanes(&self) -> usize {
        self.lanes.iter().map(LaneRef::lane).collect::<BTreeSet<_>>().len()
    }

    /// Answers what is asked until this is dropped in one look at the file, which saves eight system
    /// calls for each question. Whoever writes to the cache waits meanwhile, so not for long.
    pub fn hold(&self) -> Hold<'_> {
        // Within another one nothing more has to be held.
        let free = self.connection.as_ref().filter(|connection| connection.is_autocommit());
        let mut state = free.and_then(|connection| connection.unchecked_transaction().ok());
        // An index that was made meanwhile stays.
        if let Some(state) = &mut state {
            state.set_drop_behavior(rusqlite::DropBehavior::Commit);
        }
        Hold { _state: state }
    }

    /// The cache, with `index` if it can be made: without it answers are the same, and take longer.
    fn by(&self, index: Index) -> Option<&Connection> {
        let connection = self.connection.as_ref()?;
        let (indexed, bit) = (self.indexed.get(), 1 << index as u8);
        if indexed & bit == 0 {
            schema::want(connection, index);
            self.indexed.set(indexed | bit);
        }
        Some(connection)
    }

    /// Makes the indices that a check asks for, before it takes the facts of the file that they would
    /// change ([`Store::cache_facts`]).
    pub fn index_for_check(&self) {
        for index in [Index::Event, Index::Approved, Index::State] {
            let _ = self.by(index);
        }
    }

    /// The file that this is answered from, unless it is in memory.
    pub(super) fn file(&self) -> Option<&Path> {
        let path = self.connection.as_ref()?.path()?;
        (!path.is_empty()).then(|| Path::new(path))
    }

    /// Ends the look that [`Store::look`] began. What is asked afterwards is looked up by itself.
    pub fn release(&self) {
        if let Some(connection) = self.connection.as_ref().filter(|c| !c.is_autocommit())
            // An index that was made meanwhile has to wait for other readers.
            && connection.execute_batch("COMMIT").is_err()
        {
            let _ = connection.execute_batch("ROLLBACK");
        }
    }

    /// What is wrong with what other clones have recorded.
    pub fn troubles(&self) -> &[Trouble] {
        &self.troubles
    }

    /// The directories of the files that proposals are about, relative to the work tree's top.
    pub(super) fn directories(&self) -> Result<BTreeSet<PathBuf>> {
        let Some(connection) = &self.connection else { return Ok(BTreeSet::new()) };
        let read = || -> rusqlite::Result<BTreeSet<PathBuf>> {
            let mut statement = connection.prepare_cached("SELECT DISTINCT path FROM path")?;
            let paths = statement.query_map([], |row| row.get::<_, String>(0))?;
            let above = |path: String| Path::new(&path).parent().map(Path::to_owned);
            paths.filter_map(|path| path.map(above).transpose()).collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// How far every ref has been read.
    pub(super) fn positions(&self) -> Result<BTreeMap<String, Position>> {
        match &self.connection {
            None => Ok(BTreeMap::new()),
            Some(connection) => lanes::positions(connection).map_err(|e| self.failed(&e)),
        }
    }

    /// The tips of all chains for `audience` that were read: of a forked lane that of every part. A
    /// lane that this clone writes for somebody else is not among them, wherever it was fetched from.
    pub(super) fn chains(&self, audience: &Audience) -> Result<BTreeMap<String, Head>> {
        let mut chains: BTreeMap<String, Head> = BTreeMap::new();
        let Some(connection) = &self.connection else { return Ok(chains) };
        let forks = forks::load(connection).map_err(|error| self.failed(&error))?;
        for (name, Position { seq, reached, .. }) in self.positions()? {
            let Some(tip) = reached else { continue };
            let lane = refs::lane_of(&name).to_owned();
            let is_named = if self.is_plain() {
                *audience == Audience::Default
            } else {
                self.audiences().is_named(&lane, &name, audience)
            };
            if !is_named {
                continue;
            }
            let id = gix::ObjectId::from_hex(tip.as_bytes()).ok();
            let id = id.filter(|_| forks.is_forked(&lane));
            let step = id.map(|id| forks::step(connection, &id)).transpose();
            let part = step.map_err(|error| self.failed(&error))?.flatten().and_then(|step| step.2);
            let chain = part.unwrap_or_else(|| lane.clone());
            if chains.get(&chain).is_none_or(|known| known.seq < seq) {
                chains.insert(chain, Head { lane, seq, tip });
            }
        }
        Ok(chains)
    }

    /// The lanes that hold events about a subject: a proposal, by its id, or a plan, by its branch.
    pub(super) fn lanes_about(&self, subject: About<'_>) -> Result<BTreeSet<String>> {
        let Some(connection) = self.by(Index::Event) else { return Ok(BTreeSet::new()) };
        let (column, value) = match subject {
            About::Proposal(id) => ("proposal", id),
            About::Plan(key) => ("plan", key),
        };
        let query = || -> rusqlite::Result<BTreeSet<String>> {
            let sql = format!("SELECT DISTINCT lane FROM event WHERE {column} = ?1");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([value], |row| row.get(0))?;
            rows.collect()
        };
        query().map_err(|error| self.failed(&error))
    }

    /// Those of `tips` that this clone's own lane has not put on record.
    pub(super) fn unwitnessed(&self, tips: Vec<Head>) -> Result<Vec<Head>> {
        let Some(connection) = &self.connection else { return Ok(tips) };
        let query = || -> rusqlite::Result<Vec<Head>> {
            let mut statement =
                connection.prepare_cached("SELECT 1 FROM witness WHERE tip = ?1")?;
            let mut new = Vec::new();
            for head in tips {
                if !statement.exists([&head.tip])? {
                    new.push(head);
                }
            }
            Ok(new)
        };
        query().map_err(|error| self.failed(&error))
    }

    /// The last position up to a commit of a lane, if it counts.
    pub(super) fn seq_of(&self, id: &gix::ObjectId) -> Option<u64> {
        let connection = self.connection.as_ref()?;
        forks::step(connection, id).ok().flatten().map(|(_, seq, _)| seq)
    }

    /// The commit before `id` in its lane, across epochs.
    pub(super) fn parent(
        &self,
        repo: &gix::Repository,
        id: &gix::ObjectId,
    ) -> Option<gix::ObjectId> {
        let connection = self.connection.as_ref()?;
        forks::parents(repo, connection, id).ok()?.first().copied()
    }

    /// Whether somebody else writes `lane`, which is this clone's own: commits of it are here that
    /// are in neither its chain nor one that has got a name of its own.
    pub(super) fn is_shared(&self, lane: &str) -> bool {
        let Some(connection) = &self.connection else { return false };
        let positions = lanes::positions(connection).unwrap_or_default();
        let of_lane = || positions.iter().filter(|(name, _)| refs::lane_of(name) == lane);
        let named = of_lane().filter(|(name, _)| refs::part_of(name).is_some());
        let named: BTreeSet<&String> = named.filter_map(|(_, row)| row.reached.as_ref()).collect();
        let mut others = of_lane()
            .filter(|(name, _)| refs::own_of(name) != Some(lane))
            .filter_map(|(_, position)| position.reached.as_ref())
            .filter(|tip| !named.contains(tip))
            .filter_map(|tip| gix::ObjectId::from_hex(tip.as_bytes()).ok());
        others.any(|tip| matches!(forks::step(connection, &tip), Ok(Some((_, _, Some(_))))))
    }

    /// At most `most` proposals that other clones' lanes have brought news of, whose projections
    /// here have not followed yet.
    pub(super) fn fetched(&self, most: usize) -> BTreeSet<ProposalId> {
        let found = self.connection.as_ref().map(|connection| news::fetched(connection, most));
        found.and_then(Result::ok).unwrap_or_default()
    }

    /// The projections of these proposals follow now, by what is asked from here on. Failing that they do so
    /// again.
    pub(super) fn followed(&self, ids: &BTreeSet<ProposalId>) {
        self.release();
        let _ = self.connection.as_ref().map(|connection| news::followed(connection, ids));
    }

    /// Takes over events that this process has just written to lanes, which are now as `own` says.
    ///
    /// Failure is no error: the next reader catches up. This process answers from memory then,
    /// because what it has recorded it must be able to show.
    pub(super) fn written(&mut self, store: &Store, own: &[LaneRef]) {
        self.release();
        (self.own, self.is_plain, self.audiences) = Default::default();
        self.indexed = Cell::default();
        self.lanes.retain(|lane| own.iter().all(|moved| moved.name != lane.name));
        self.lanes.extend_from_slice(own);
        self.lanes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let known = match self.connection.take() {
            Some(connection) => Ok(connection),
            None => schema::open(&store.repository().private_dir().join("cache.sqlite")),
        };
        let caught_up = known.and_then(|mut connection| {
            lanes::catch_up(store, &mut connection, own, Reach::Own).map(|_| connection)
        });
        match caught_up {
            Ok(connection) => self.connection = Some(connection),
            Err(_) => {
                self.home = Kept::default();
                let view = begun_again(|| store.view_in_memory(&self.lanes)).ok();
                self.connection = view.and_then(|mut view| view.connection.take());
            }
        }
    }
}

/// See [`View::hold`].
pub struct Hold<'v> {
    _state: Option<rusqlite::Transaction<'v>>,
}

impl Drop for View {
    fn drop(&mut self) {
        self.release();
        if let Some(connection) = self.connection.take() {
            self.home.set(Some(connection));
        }
    }
}
