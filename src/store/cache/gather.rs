//! The events of one proposal, as far as they are worth folding.
//!
//! Whoever may push a lane chooses how much it says. What other lanes say about one proposal is
//! therefore limited lane by lane, by what it costs in memory ([`Shares`]), and their texts are cut to what a
//! person reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use gix::ObjectId;
use rusqlite::Connection;

use super::budget;
use super::filling::Row;
use super::forks::{self, Chains};
use super::parsed::Parsed;
use super::shares::{Shares, Speakers};
use super::source::{Check, Source};
use super::statements::{self, Beside, Flaw, Places};
use super::{audience, publish};
use crate::proposal::audit::{Own, Why};
use crate::proposal::manifest::Manifest;
use crate::proposal::{Data, Event, Stamped};
use crate::store::lists;

/// The events of a proposal.
#[derive(Default)]
pub(super) struct Gathered {
    /// In no particular order.
    pub(super) events: Vec<Stamped>,
    /// The lane commit of each, hex.
    pub(super) commits: Vec<Rc<str>>,
    /// Lanes whose events were too many, with the first event that does not count, and the list that it
    /// is about where only that is not here.
    pub(super) cut: BTreeMap<String, (String, Option<ObjectId>)>,
    /// All of them are lines of snapshots.
    pub(super) is_archived: bool,
    /// Events that do not count because of their statements.
    pub(super) flaws: Vec<Flaw>,
    /// The lanes of first events, by the ids of these.
    pub(super) first: Vec<(String, String)>,
    /// What snapshots of these lanes count of its changes, as the cache has it.
    pub(super) figures: Vec<(String, String)>,
    /// Where it is published, the lanes for nobody else.
    pub(super) private: BTreeSet<String>,
}

/// The events about the proposal `id`, with lanes and heads that name chains. `chains` are those of the
/// cache, `own` this clone's own lanes. Each goes through `check`, where there is one, which may end the reading.
pub(super) fn events(
    repo: &gix::Repository,
    connection: &Connection,
    chains: &Chains,
    id: &str,
    (own, parsed): (Own<'_>, &mut Parsed),
    mut check: Option<Check<'_>>,
) -> rusqlite::Result<Gathered> {
    // What is asked first and the rows themselves are of one state.
    let _state =
        if connection.is_autocommit() { Some(connection.unchecked_transaction()?) } else { None };
    let (shares, places) = said(connection, id, own)?;
    let mut gathering = Gathering::new(repo, connection, chains, own, shares);
    let mut select = connection.prepare_cached(
        "SELECT id, commit_id, lane, part, body, statement, is_line, figures, manifest FROM event
         WHERE rowid = ?1",
    )?;
    for place in places {
        let mut rows = select.query([place])?;
        let Some(row) = rows.next()? else { continue };
        let event_id: String = row.get(0)?;
        let part: Option<String> = row.get(3)?;
        let body = row.get_ref(4)?.as_bytes().unwrap_or_default();
        let mut read = None;
        if let Some(check) = &mut check {
            let event = read.insert(Event::from_bytes(body));
            let source = Source {
                event: &event_id,
                lane: row.get_ref(2)?.as_str()?,
                part: part.as_deref(),
                commit: row.get_ref(1)?.as_str()?,
                body,
                says: event.as_ref(),
            };
            if !check(source) {
                return Ok(gathering.found);
            }
        }
        let read = read.or_else(|| parsed.take(&event_id).map(Ok));
        let said = Said {
            id: event_id,
            commit: row.get_ref(1)?.as_str()?.into(),
            lane: row.get(2)?,
            part,
            body,
            beside: Beside {
                statement: row.get_ref(5)?.as_blob_or_null().unwrap_or_default(),
                stated: None,
                manifest: row.get_ref(8)?.as_blob_or_null().unwrap_or_default(),
            },
            is_line: row.get(6)?,
            figures: row.get(7)?,
        };
        gathering.add(said, || read.unwrap_or_else(|| Event::from_bytes(body)).ok());
    }
    gathering.finish()
}

/// The same of a proposal that the cache has nothing else of than what was just read.
pub(super) fn fresh(
    repo: &gix::Repository,
    connection: &Connection,
    chains: &Chains,
    own: Own<'_>,
    rows: Vec<Row>,
) -> rusqlite::Result<Gathered> {
    let mut speakers = Speakers::default();
    let mut numbered = Vec::with_capacity(rows.len());
    for row in rows {
        let (number, speaker) = speakers.at(&row.event.lane);
        speaker.is_own = own.has(&row.event.lane);
        speaker.has_first |= matches!(row.event.data, Data::Propose(_));
        speaker.bytes += row.body.len();
        numbered.push((number, row));
    }
    let (shares, places) = Shares::new(speakers);
    numbered.sort_unstable_by(|(one, a), (other, b)| {
        let place = |number: &usize, row: &Row| (places[*number], row.event.seq);
        place(one, a).cmp(&place(other, b)).then_with(|| a.id.cmp(&b.id))
    });
    let mut gathering = Gathering::new(repo, connection, chains, own, shares);
    gathering.found.events.reserve_exact(numbered.len());
    gathering.found.commits.reserve_exact(numbered.len());
    for (_, row) in numbered {
        let Row { id, commit, event, body, statement, stated, manifest, figures, is_line } = row;
        let said = Said {
            id,
            commit,
            lane: event.lane.clone(),
            part: None,
            body: &body,
            beside: Beside {
                statement: statement.as_deref(),
                stated,
                manifest: manifest.as_deref(),
            },
            is_line,
            figures,
        };
        gathering.add(said, || Some(*event));
    }
    gathering.finish()
}

/// Who says how much about the proposal `id`, and the rows of the events, in the order in which they are
/// taken.
fn said(connection: &Connection, id: &str, own: Own<'_>) -> rusqlite::Result<(Shares, Vec<i64>)> {
    let mut select = connection.prepare_cached(
        "SELECT rowid, lane, part, kind = 'propose', length(body) FROM event
         WHERE proposal = ?1 ORDER BY seq, id",
    )?;
    let mut rows = select.query([id])?;
    let (mut speakers, mut said) = (Speakers::default(), Vec::new());
    while let Some(row) = rows.next()? {
        let lane = row.get_ref(1)?.as_str()?;
        let part = row.get_ref(2)?.as_str_or_null()?;
        let (number, speaker) = speakers.at(part.unwrap_or(lane));
        speaker.is_own = part.is_none() && own.has(lane);
        speaker.has_first |= row.get::<_, bool>(3)?;
        speaker.bytes += usize::try_from(row.get::<_, i64>(4)?).unwrap_or_default();
        said.push((number, row.get::<_, i64>(0)?));
    }
    let (shares, places) = Shares::new(speakers);
    // Each lane in its order.
    said.sort_by_key(|(number, _)| places[*number]);
    Ok((shares, said.into_iter().map(|(_, row)| row).collect()))
}

/// An event, as the cache has it.
struct Said<'r> {
    id: String,
    commit: Rc<str>,
    lane: String,
    part: Option<String>,
    body: &'r [u8],
    beside: Beside<'r>,
    is_line: bool,
    figures: Option<String>,
}

/// The events of a proposal that were gathered so far.
struct Gathering<'c> {
    repo: &'c gix::Repository,
    connection: &'c Connection,
    chains: &'c Chains,
    own: Own<'c>,
    found: Gathered,
    shares: Shares,
    places: Places,
    /// What the statements of these had seen, by their places among the events.
    stated: Vec<(usize, Option<String>)>,
    /// Their manifests, in the same way.
    manifests: Vec<(usize, Manifest)>,
    originals: Vec<(Stamped, Rc<str>)>,
    /// The SHA-256 of each of these.
    carried: HashMap<String, String>,
}

impl<'c> Gathering<'c> {
    fn new(
        repo: &'c gix::Repository,
        connection: &'c Connection,
        chains: &'c Chains,
        own: Own<'c>,
        shares: Shares,
    ) -> Self {
        Self {
            repo,
            connection,
            chains,
            own,
            found: Gathered { is_archived: true, ..Gathered::default() },
            shares,
            places: Places::default(),
            stated: Vec::new(),
            manifests: Vec::new(),
            originals: Vec::new(),
            carried: HashMap::new(),
        }
    }

    /// Adds the next event, lane by lane, in each by position and id, which `read` reads.
    fn add(&mut self, said: Said<'_>, read: impl FnOnce() -> Option<Event>) {
        let Self { repo, connection, chains, own, found, shares, places, .. } = self;
        let Said { id, commit, lane: name, part, body, beside, is_line, figures } = said;
        found.figures.extend(figures.map(|figures| (name.clone(), figures)));
        let is_own = part.is_none() && own.has(&name);
        let lane = part.as_ref().unwrap_or(&name);
        found.is_archived &= is_line;
        if !is_own {
            if found.cut.contains_key(lane) {
                return;
            }
            if !shares.admits(lane, body) {
                found.cut.insert(lane.clone(), (id, None));
                return;
            }
        }
        let Some(mut event) = read() else { return };
        if event.list().is_some() {
            // What it costs in memory is known once it is read, which takes at most 64 MiB.
            let read = lists::inflate(repo, &mut event);
            let cost = event.data.changes().len() * 1024;
            if read.is_err() || !is_own && !shares.takes(lane, cost) {
                let missing = read.err().and_then(|_| lists::missing(repo, &event));
                found.cut.insert(lane.clone(), (id, missing));
                return;
            }
        }
        // Before its texts are cut, which the statement repeats.
        let statement = statements::read(repo, &event, beside);
        let manifest = statement.as_ref().ok().and_then(|read| read.as_ref()?.1.as_ref());
        let cost = manifest.map_or(0, |manifest| manifest.records().len() * 1024);
        if !is_own && cost > 0 && !shares.takes(lane, cost) {
            found.cut.insert(lane.clone(), (id, None));
            return;
        }
        if !is_own {
            budget::cut(&mut event);
        }
        forks::untangle(connection, &chains.forks, &mut event, part.as_deref(), *own);
        places.add(&event, &commit);
        let stamped = Stamped { id, event };
        match publish::original(repo, &stamped, &self.carried, (!is_own).then_some(shares)) {
            Ok(original) => {
                if let (Some(original), Data::Publish(publish)) = (&original, &stamped.event.data) {
                    let sha256 = publish.original.sha256.clone();
                    self.carried.insert(original.id.clone(), sha256);
                }
                self.originals.extend(original.map(|original| (original, commit.clone())));
            }
            Err(flaw) => {
                found.flaws.push(flaw);
                return;
            }
        }
        match statement {
            Ok(None) => {}
            Ok(Some((statement, manifest))) => {
                let at = found.events.len();
                self.stated.push((at, statement.seen));
                self.manifests.extend(manifest.map(|manifest| (at, manifest)));
            }
            Err((why, missing)) => {
                found.flaws.push(statements::flaw(&stamped, why, missing));
                return;
            }
        }
        if matches!(stamped.event.data, Data::Propose(_)) {
            found.first.push((stamped.id.clone(), name));
        }
        found.commits.push(commit);
        found.events.push(stamped);
    }

    /// What counts of them.
    fn finish(self) -> rusqlite::Result<Gathered> {
        let Self {
            connection, chains, own, mut found, places, stated, manifests, originals, ..
        } = self;
        let mut elsewhere = BTreeSet::new();
        for (at, manifest) in manifests {
            let stamped = &found.events[at];
            let all = found.events.iter().chain(originals.iter().map(|(original, _)| original));
            if !fits(&manifest, stamped, all) {
                found.flaws.push(statements::flaw(stamped, Why::Manifest, None));
                elsewhere.insert(stamped.id.clone());
            }
        }
        for (at, seen) in stated {
            let (stamped, commit) = (&found.events[at], &found.commits[at]);
            if !elsewhere.contains(&stamped.id)
                && !places.fits(connection, chains, stamped, commit, seen.as_deref(), own)?
            {
                found.flaws.push(statements::flaw(stamped, Why::Seen, None));
                elsewhere.insert(stamped.id.clone());
            }
        }
        if !elsewhere.is_empty() {
            let all = std::mem::take(&mut found.events).into_iter().zip(found.commits);
            (found.events, found.commits) =
                all.filter(|(stamped, _)| !elsewhere.contains(&stamped.id)).unzip();
        }
        publish::add(&mut found, originals, own);
        let is_publication = |stamped: &Stamped| matches!(stamped.event.data, Data::Publish(_));
        if found.events.iter().any(is_publication) {
            found.private = audience::private(connection)?;
        }
        // What an event says of lanes that say nothing here orders nothing here.
        if found.events.iter().any(|stamped| !stamped.event.heads.is_empty()) {
            let lanes: BTreeSet<String> =
                found.events.iter().map(|stamped| stamped.event.lane.clone()).collect();
            for stamped in &mut found.events {
                let heads = &mut stamped.event.heads;
                heads.retain(|head| lanes.contains(&head.lane) || own.has(&head.lane));
                heads.shrink_to_fit();
            }
        }
        Ok(found)
    }
}

/// Whether `manifest` can be that of `decision` on a revision that is among `all` events of its proposal. Of one that is
/// not, the audit says so.
fn fits<'e>(
    manifest: &Manifest,
    decision: &Stamped,
    all: impl Iterator<Item = &'e Stamped> + Clone,
) -> bool {
    let revision = match &decision.event.data {
        Data::Apply(apply) => &apply.revision,
        Data::Approve(approve) => &approve.revision,
        _ => return true,
    };
    let Some(revision) = all.clone().find(|stamped| stamped.id == *revision) else { return true };
    let is_first =
        |stamped: &&Stamped| decision.event.first.as_ref().is_none_or(|first| *first == stamped.id);
    let subject = all.filter(is_first).find_map(|stamped| match &stamped.event.data {
        Data::Propose(propose) => Some(propose.subject),
        _ => None,
    });
    manifest.fits(&decision.event.data, revision.event.data.changes(), subject.unwrap_or_default())
}
