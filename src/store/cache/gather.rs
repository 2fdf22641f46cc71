//! The events of one proposal, as far as they are worth folding.
//!
//! Whoever may push a lane chooses how much it says. What other lanes say about one proposal is
//! therefore limited, by what it costs in memory, and their texts are cut to what a person reads.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use gix::ObjectId;
use rusqlite::Connection;

use super::filling::{Fresh, Freshes, Row};
use super::forks::{self, Chains};
use super::source::{Check, Source};
use super::statements::{self, Flaw, Places};
use super::{audience, publish};
use crate::proposal::audit::{Own, Why};
use crate::proposal::event::{CommentKind, InputForm, MAX_WRITTEN, RevisionReason};
use crate::proposal::statement::Statement;
use crate::proposal::{Data, Event, Stamped};
use crate::store::lists;

/// What one foreign lane may cost for one proposal, in bytes.
const MOST_OF_A_LANE: usize = 64 << 20;

/// What all foreign lanes together may cost for one proposal, in bytes.
const MOST_OF_ALL: usize = 128 << 20;

/// What a value inside an event costs in memory, in bytes, on top of its text.
const VALUE: usize = 100;

/// What an event without content costs, in bytes.
const LIGHT: usize = 1 << 10;

/// Most words of a command in a log.
const MOST_WORDS: usize = 1 << 10;

/// What an object costs in values, at least.
const OBJECT: usize = 6;

/// Longest text of a foreign event.
const MOST_TEXT: usize = 64 << 10;

/// Bytes of events that nobody counts: what is in them takes at most 16 MiB, and most proposals have
/// no more.
const UNCOUNTED: usize = 64 << 10;

/// Largest first event that a publication of another lane may carry, in bytes: as large as one of
/// another lane may be.
pub(super) const LARGEST_ORIGINAL: usize = MAX_WRITTEN;

/// Longest name in a foreign event.
const MOST_NAME: usize = 1 << 10;

/// What foreign lanes have cost so far.
#[derive(Default)]
pub(super) struct Budget {
    lanes: BTreeMap<String, usize>,
    all: usize,
    uncounted: usize,
}

impl Budget {
    /// Whether an event of `lane` that is stored as `body` is within what is left.
    pub(super) fn admits(&mut self, lane: &str, body: &[u8]) -> bool {
        if self.uncounted + body.len() <= UNCOUNTED {
            self.uncounted += body.len();
            return true;
        }
        self.takes(lane, body.len() + VALUE * values(body))
    }

    pub(super) fn takes(&mut self, lane: &str, cost: usize) -> bool {
        let sum = match self.lanes.get_mut(lane) {
            Some(sum) => sum,
            None => self.lanes.entry(lane.to_owned()).or_default(),
        };
        if *sum + cost > MOST_OF_A_LANE || self.all + cost > MOST_OF_ALL {
            return false;
        }
        *sum += cost;
        self.all += cost;
        true
    }

    /// The same for an event of a log, which is read without content: that is taken off first.
    pub(super) fn admits_light(&mut self, lane: &str, event: &mut Event) -> bool {
        cut(event);
        event.heads = Vec::new();
        let text = match &mut event.data {
            Data::Propose(propose) => {
                propose.memory = None;
                propose.changes = Vec::new();
                propose.description.as_ref().map_or(0, String::len)
            }
            Data::Revise(revise) => {
                revise.memory = None;
                revise.changes = Vec::new();
                revise.description.as_ref().map_or(0, String::len)
            }
            Data::Apply(apply) => {
                apply.written = Vec::new();
                0
            }
            Data::Undo(undo) => {
                undo.written = Vec::new();
                0
            }
            Data::Patch(patch) => {
                patch.written = Vec::new();
                0
            }
            Data::Mark(mark) => mark.reason.as_ref().map_or(0, String::len),
            Data::Reopen(reopen) => reopen.reason.as_ref().map_or(0, String::len),
            Data::Approve(approve) => approve.reason.as_ref().map_or(0, String::len),
            Data::Check(check) => {
                check.command.truncate(MOST_WORDS);
                check.command.iter().map(String::len).sum()
            }
            Data::Plan(value) => {
                *value = serde_json::Value::Null;
                0
            }
            Data::Comment(comment) => {
                comment.replacement = None;
                comment.body.len()
            }
            Data::RequestChanges(request) => request.reason.as_ref().map_or(0, String::len),
            Data::Reject(reject) => reject.reason.as_ref().map_or(0, String::len),
            Data::Purge(purge) => purge.reason.len(),
            Data::Expire(_)
            | Data::Extend(_)
            | Data::Committed(_)
            | Data::Fold(_)
            | Data::Publish(_)
            | Data::Unknown(..) => 0,
        };
        self.takes(lane, text + LIGHT)
    }
}

/// Events that were just read from objects into the cache, by their ids, so that folding them need not
/// parse what the cache has of them.
#[derive(Default)]
pub(super) struct Parsed {
    events: HashMap<ObjectId, Box<Event>>,
    bytes: usize,
    count: usize,
    /// Proposals of which this is all that there is.
    fresh: Freshes,
    /// The one of these that was met last, beside the others.
    last: Option<(String, Fresh)>,
}

/// Bytes of events of a proposal that waits for the next part of a snapshot.
const MOST_HELD: usize = 1 << 20;

/// Bytes of events of which the parsed ones are kept.
const MOST_PARSED: usize = 16 << 20;

impl Parsed {
    /// Keeps `event`, which is stored as `bytes` bytes, unless there are very many.
    pub(super) fn keep(&mut self, id: ObjectId, event: Box<Event>, bytes: usize) {
        self.count += 1;
        self.bytes += bytes;
        if self.bytes <= MOST_PARSED {
            self.events.insert(id, event);
        }
    }

    /// Keeps an event of a proposal that the cache has nothing else of.
    pub(super) fn keep_fresh(&mut self, proposal: &str, row: Row) {
        self.count += 1;
        self.fresh(proposal).push(row);
    }

    /// What is kept of such a proposal.
    pub(super) fn fresh(&mut self, proposal: &str) -> &mut Fresh {
        // The events of one stand together in a snapshot.
        if !self.is_last(proposal) {
            let found = self.fresh.remove(proposal).unwrap_or_default();
            let before = self.last.replace((proposal.to_owned(), found));
            self.fresh.extend(before);
        }
        &mut self.last.get_or_insert_default().1
    }

    /// Whether something of `proposal` was met last.
    pub(super) fn is_last(&self, proposal: &str) -> bool {
        self.last.as_ref().is_some_and(|(id, _)| id == proposal)
    }

    /// Takes the last of them out, with which the next part of a snapshot may go on.
    pub(super) fn take_last(&mut self) -> Option<(String, Fresh)> {
        let bytes = |fresh: &Fresh| fresh.iter().map(|row| row.body.len()).sum::<usize>();
        self.last.take_if(|(_, fresh)| bytes(fresh) <= MOST_HELD)
    }

    /// Takes the last of them out, whatever its size.
    pub(super) fn take_whole(&mut self) -> Option<(String, Fresh)> {
        self.last.take()
    }

    /// Puts it back.
    pub(super) fn put_last(&mut self, last: (String, Fresh)) {
        let before = self.last.replace(last);
        self.fresh.extend(before);
    }

    /// Whether what is kept of `proposal` is all that there is.
    pub(super) fn is_fresh(&self, proposal: &str) -> bool {
        self.is_last(proposal) || self.fresh.contains_key(proposal)
    }

    /// All of which that is so.
    pub(super) fn fresh_ids(&self) -> impl Iterator<Item = &String> {
        self.fresh.keys().chain(self.last.as_ref().map(|(id, _)| id))
    }

    /// Takes that out.
    pub(super) fn take_fresh(&mut self, proposal: &str) -> Option<Fresh> {
        let last = self.last.take_if(|(id, _)| id == proposal);
        last.map(|(_, fresh)| fresh).or_else(|| self.fresh.remove(proposal))
    }

    /// From now on the cache has all of it.
    pub(super) fn forget_fresh(&mut self) {
        self.fresh.clear();
        self.last = None;
    }

    /// How many there were, those included that were not kept.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn take(&mut self, id: &str) -> Option<Event> {
        if self.events.is_empty() {
            return None;
        }
        self.events.remove(&ObjectId::from_hex(id.as_bytes()).ok()?).map(|event| *event)
    }
}

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
    let mut gathering = Gathering::new(repo, connection, chains, own);
    let mut select = connection.prepare_cached(
        "SELECT id, commit_id, lane, part, body, statement, is_line, figures FROM event
         WHERE proposal = ?1 ORDER BY seq, id",
    )?;
    let mut rows = select.query([id])?;
    while let Some(row) = rows.next()? {
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
            statement: row.get_ref(5)?.as_blob_or_null().unwrap_or_default(),
            stated: None,
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
    mut rows: Vec<Row>,
) -> rusqlite::Result<Gathered> {
    rows.sort_by(|a, b| (a.event.seq, &a.id).cmp(&(b.event.seq, &b.id)));
    let mut gathering = Gathering::new(repo, connection, chains, own);
    gathering.found.events.reserve_exact(rows.len());
    gathering.found.commits.reserve_exact(rows.len());
    for Row { id, commit, event, body, statement, stated, figures, is_line } in rows {
        let said = Said {
            id,
            commit,
            lane: event.lane.clone(),
            part: None,
            body: &body,
            statement: statement.as_deref(),
            stated,
            is_line,
            figures,
        };
        gathering.add(said, || Some(*event));
    }
    gathering.finish()
}

/// An event, as the cache has it.
struct Said<'r> {
    id: String,
    commit: Rc<str>,
    lane: String,
    part: Option<String>,
    body: &'r [u8],
    statement: Option<&'r [u8]>,
    stated: Option<Box<Statement>>,
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
    budget: Budget,
    places: Places,
    /// What the statements of these had seen, by their places among the events.
    stated: Vec<(usize, Option<String>)>,
    originals: Vec<(Stamped, Rc<str>)>,
}

impl<'c> Gathering<'c> {
    fn new(
        repo: &'c gix::Repository,
        connection: &'c Connection,
        chains: &'c Chains,
        own: Own<'c>,
    ) -> Self {
        Self {
            repo,
            connection,
            chains,
            own,
            found: Gathered { is_archived: true, ..Gathered::default() },
            budget: Budget::default(),
            places: Places::default(),
            stated: Vec::new(),
            originals: Vec::new(),
        }
    }

    /// Adds the next event, by position and id, which `read` reads.
    fn add(&mut self, said: Said<'_>, read: impl FnOnce() -> Option<Event>) {
        let Self { repo, connection, chains, own, found, budget, places, .. } = self;
        let Said {
            id,
            commit,
            lane: name,
            part,
            body,
            statement: beside,
            stated,
            is_line,
            figures,
        } = said;
        found.figures.extend(figures.map(|figures| (name.clone(), figures)));
        let is_own = part.is_none() && own.has(&name);
        let lane = part.as_ref().unwrap_or(&name);
        found.is_archived &= is_line;
        if !is_own {
            if found.cut.contains_key(lane) {
                return;
            }
            if !budget.admits(lane, body) {
                found.cut.insert(lane.clone(), (id, None));
                return;
            }
        }
        let Some(mut event) = read() else { return };
        if event.list().is_some() {
            // What it costs in memory is known once it is read, which takes at most 64 MiB.
            let read = lists::inflate(repo, &mut event);
            let cost = event.data.changes().len() * 1024;
            if read.is_err() || !is_own && !budget.takes(lane, cost) {
                let missing = read.err().and_then(|_| lists::missing(repo, &event));
                found.cut.insert(lane.clone(), (id, missing));
                return;
            }
        }
        // Before its texts are cut, which the statement repeats.
        let statement = match stated {
            Some(stated) => statements::held(*stated, &event),
            None => statements::read(repo, &event, beside),
        };
        if !is_own {
            cut(&mut event);
        }
        forks::untangle(connection, &chains.forks, &mut event, part.as_deref(), *own);
        places.add(&event, &commit);
        let stamped = Stamped { id, event };
        match publish::original(repo, &stamped, (!is_own).then_some(budget)) {
            Ok(original) => {
                self.originals.extend(original.map(|original| (original, commit.clone())));
            }
            Err(flaw) => {
                found.flaws.push(flaw);
                return;
            }
        }
        match statement {
            Ok(None) => {}
            Ok(Some(statement)) => self.stated.push((found.events.len(), statement.seen)),
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
        let Self { connection, chains, own, mut found, places, stated, originals, .. } = self;
        let mut elsewhere = BTreeSet::new();
        for (at, seen) in stated {
            let (stamped, commit) = (&found.events[at], &found.commits[at]);
            if !places.fits(connection, chains, stamped, commit, seen.as_deref(), own)? {
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

/// How many values the JSON in `bytes` has, about: every one but the first follows a comma or a
/// bracket. An object counts as several, for as many would fit into what it allocates.
fn values(bytes: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' if !quoted => count += 1,
            b'{' if !quoted => count += OBJECT,
            _ => {}
        }
    }
    count
}

/// Cuts the texts of a foreign event.
pub(super) fn cut(event: &mut Event) {
    let long = |text: &mut String| shorten(text, MOST_TEXT);
    let name = |text: &mut String| shorten(text, MOST_NAME);
    name(&mut event.actor.name);
    name(&mut event.actor.email);
    if let Some(run) = &mut event.agent {
        run.session.as_mut().map(name);
        run.model.as_mut().map(name);
    }
    match &mut event.data {
        Data::Propose(propose) => {
            propose.description.as_mut().map(long);
            propose.domain.as_mut().map(name);
            propose.related_task_id.as_mut().map(name);
            propose.branch.as_mut().map(name);
            name(&mut propose.proposed_by);
            if let InputForm::Other(word) = &mut propose.form {
                name(word);
            }
        }
        Data::Revise(revise) => {
            revise.description.as_mut().map(long);
            if let RevisionReason::Other(word) = &mut revise.reason {
                name(word);
            }
        }
        Data::Comment(comment) => {
            long(&mut comment.body);
            // Half a suggestion would be another one.
            comment.replacement.take_if(|text| text.len() > MOST_TEXT);
            comment.resolves.as_mut().map(name);
            if let CommentKind::Other(word) = &mut comment.kind {
                name(word);
            }
        }
        Data::RequestChanges(request) => {
            request.reason.as_mut().map(long);
        }
        Data::Reject(reject) => {
            reject.reason.as_mut().map(long);
        }
        Data::Mark(mark) => {
            mark.reason.as_mut().map(long);
        }
        Data::Reopen(reopen) => {
            reopen.reason.as_mut().map(long);
        }
        Data::Approve(approve) => {
            approve.reason.as_mut().map(long);
        }
        Data::Check(check) => {
            check.command.iter_mut().for_each(long);
            if let Some(imported) = &mut check.imported {
                name(&mut imported.by.name);
                name(&mut imported.by.email);
                name(&mut imported.result);
            }
        }
        Data::Committed(committed) => name(&mut committed.commit),
        Data::Purge(purge) => {
            long(&mut purge.reason);
            purge.blob.as_mut().map(name);
        }
        // Nothing is read from what this version does not recognise.
        Data::Unknown(_, value) => *value = serde_json::Value::Null,
        Data::Apply(_)
        | Data::Expire(_)
        | Data::Extend(_)
        | Data::Fold(_)
        | Data::Patch(_)
        | Data::Plan(_)
        | Data::Publish(_)
        | Data::Undo(_) => {}
    }
}

fn shorten(text: &mut String, most: usize) {
    if let Cow::Owned(short) = capped(text, most) {
        *text = short;
    }
}

/// `text`, or its beginning with an ellipsis where it is longer than `most` bytes.
pub(super) fn capped(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_inside_strings_are_not_counted() {
        assert_eq!(values(br#"{"a":"[,{\"","b":[1,2]}"#), OBJECT + 3);
    }

    #[test]
    fn long_text_ends_in_an_ellipsis_between_characters() {
        assert_eq!(capped("äää", 3), "ä…");
        assert_eq!(capped("äää", 6), "äää");
    }
}
