//! Folding proposals into the cache.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gix::ObjectId;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Transaction, params};

use super::counts::{self, Counted, counted};
use super::filling::{Fresh, Steps};
use super::forks::Chains;
use super::gather::Gathered;
use super::parsed::Parsed;
use super::source::Check;
use super::statements::Flaw;
use super::{audience, budget, gather, lanes, purge, relations};
use crate::changeset::hunks::{Counts, Lines};
use crate::proposal::audit::{self, Own, Why};
use crate::proposal::event::Subject;
use crate::proposal::{ActorKind, Entry, Proposal, ProposalId, State, document, event, steps};
use crate::store::traces::Traces;
use crate::store::trouble::{Trouble, TroubleKind};

/// Bytes of a text that a list shows, of whatever lane: it is one line there.
const MOST_LISTED: usize = 64 << 10;

/// Approvals of one proposal that a list has: the newest.
const MOST_APPROVALS: usize = 100;

/// At most `most` proposals that other clones' lanes have brought news of and that were not
/// [`followed`] since.
pub(super) fn fetched(
    connection: &Connection,
    most: usize,
) -> rusqlite::Result<BTreeSet<ProposalId>> {
    let mut statement = connection.prepare_cached("SELECT proposal FROM fetched LIMIT ?1")?;
    let rows = statement
        .query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get::<_, String>(0))?;
    let ids = rows.map(|row| row.map(|id| ProposalId::parse(&id).ok()));
    ids.filter_map(Result::transpose).collect()
}

/// The projections of these proposals have followed.
pub(super) fn followed(
    connection: &Connection,
    ids: &BTreeSet<ProposalId>,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    for id in ids {
        transaction
            .prepare_cached("DELETE FROM fetched WHERE proposal = ?1")?
            .execute([id.as_str()])?;
    }
    transaction.commit()
}

/// Proposals that other clones' lanes have brought news of.
pub(super) struct News<'t> {
    pub(super) ids: BTreeSet<String>,
    /// What stands here for proposals, where that is known.
    pub(super) traces: Option<&'t Traces>,
}

/// Notes that what stands here for the proposal `id`, of which another clone's lane has brought news, has to
/// follow. `folded` is what all that there is of it leads to, and `traces` what stands here for proposals,
/// where that is known.
///
/// # Errors
/// Those of SQLite.
fn note(
    transaction: &Transaction<'_>,
    id: &str,
    folded: Option<&Proposal>,
    traces: Option<&Traces>,
) -> rusqlite::Result<()> {
    // A clone of a long history has nothing of what was decided in it before.
    let is_past = |proposal: &Proposal| {
        proposal.state != State::Pending && traces.is_some_and(|traces| !traces.has(proposal))
    };
    if !folded.is_some_and(is_past) {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO fetched (proposal) VALUES (?1)")?
            .execute([id])?;
    }
    Ok(())
}

/// Folds the proposals `ids` again, of which some are `news`. `own` are this clone's own lanes, with their last positions, and
/// `parsed` has events of them that need not be parsed.
pub(super) fn refold(
    repo: &gix::Repository,
    transaction: &Transaction<'_>,
    (ids, news): (BTreeSet<String>, News<'_>),
    own: Vec<(String, u64)>,
    mut parsed: Parsed,
) -> rusqlite::Result<()> {
    // An event may have waited for this clone's own lane to come so far.
    let mut ids = ids;
    if let Some(seq) = own.iter().map(|(_, seq)| *seq).max() {
        let mut due = transaction
            .prepare_cached("SELECT DISTINCT proposal FROM trouble WHERE awaits <= ?1")?;
        for id in due.query_map([lanes::number(seq)], |row| row.get::<_, String>(0))? {
            ids.insert(id?);
        }
    }
    let mut folding = Folding::new(transaction, own, None)?;
    for id in &ids {
        let fresh = parsed.take_fresh(id);
        let traces = news.ids.contains(id).then_some(news.traces);
        folding.fold(repo, id, (fresh, &mut parsed), traces)?;
    }
    Ok(())
}

/// Folds proposals, one after the other. What is the same for all of them is asked once, and not for each of a
/// hundred thousand.
pub(super) struct Folding<'t> {
    transaction: &'t Transaction<'t>,
    own: Vec<(String, u64)>,
    chains: Chains,
    has_purged: bool,
    has_troubles: bool,
    last: Option<(String, i64)>,
    tables: Tables<'t>,
}

impl<'t> Folding<'t> {
    /// With this clone's `own` lanes and their last positions, and the `steps` that the cache may have, where
    /// these are known.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn new(
        transaction: &'t Transaction<'_>,
        own: Vec<(String, u64)>,
        steps: Option<Steps>,
    ) -> rusqlite::Result<Self> {
        let has = |table: &str| {
            transaction.prepare_cached(&format!("SELECT 1 FROM {table} LIMIT 1"))?.exists([])
        };
        Ok(Self {
            transaction,
            own,
            chains: Chains::load(transaction, steps)?,
            has_purged: has("purged")?,
            has_troubles: has("trouble")?,
            last: last(transaction)?,
            tables: Tables::new(transaction)?,
        })
    }

    /// Whether nothing has been purged, and nothing is wrong with any event.
    pub(super) fn is_plain(&self) -> bool {
        !self.has_purged && !self.has_troubles
    }

    /// Folds the proposal `id`, from `fresh` if that is all that there is of it, or else from the cache, without
    /// parsing what is in `parsed`. `traces` are given where it is news.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn fold(
        &mut self,
        repo: &gix::Repository,
        id: &str,
        (fresh, parsed): (Option<Fresh>, &mut Parsed),
        traces: Option<Option<&Traces>>,
    ) -> rusqlite::Result<()> {
        let (transaction, own) = (self.transaction, Own(&self.own));
        let note = |folded: Option<&Proposal>| match traces {
            Some(traces) => note(transaction, id, folded, traces),
            None => Ok(()),
        };
        if self.has_purged && purge::is_purged(transaction, id)? {
            forget(transaction, id)?;
            self.last = last(transaction)?;
            return note(None);
        }
        let is_fresh = fresh.is_some();
        let folded = match fresh {
            Some(rows) => fold(gather::fresh(repo, transaction, &self.chains, own, rows)?, id, own),
            None => folded(repo, transaction, &self.chains, id, own, None, parsed)?,
        };
        let Folded { proposal, troubles, is_archived, owner, digest, figures } = folded;
        note(proposal.as_ref().filter(|_| is_fresh))?;
        if self.has_troubles {
            transaction.prepare_cached("DELETE FROM trouble WHERE proposal = ?1")?.execute([id])?;
        }
        self.has_troubles |= !troubles.is_empty();
        for Awaiting { trouble, seq, missing } in troubles {
            lanes::report(transaction, &trouble, missing, seq)?;
        }
        let Some(proposal) = proposal else { return Ok(()) };
        let owners = match owner {
            None if !is_fresh => audience::owners(transaction, &proposal)?,
            owner => audience::owned(owner, &proposal),
        };
        let digest = digest.unwrap_or_else(|| event::digest(&proposal.current().changes));
        let mut said = figures.iter().filter(|(lane, _)| *lane == proposal.lane);
        let said = said.find_map(|(_, figures)| counts::read(figures, &digest));
        let known = Known { digest, said, is_archived, owners: &owners };
        store(repo, (transaction, &mut self.tables), &proposal, known, &mut self.last)
    }
}

/// The row with the highest id, with its prefix: what comes behind it is new, and has no other neighbour.
/// Snapshots are in this order.
fn last(transaction: &Transaction<'_>) -> rusqlite::Result<Option<(String, i64)>> {
    transaction
        .prepare_cached("SELECT id, prefix FROM proposal ORDER BY id DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Forgets what a purged proposal was.
fn forget(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM proposal WHERE id = ?1",
        "DELETE FROM folded WHERE id = ?1",
        "DELETE FROM path WHERE proposal = ?1",
        "DELETE FROM approved WHERE proposal = ?1",
        "DELETE FROM trouble WHERE proposal = ?1",
    ] {
        transaction.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}

/// Trouble, and what would end it.
pub(super) struct Awaiting {
    trouble: Trouble,
    /// The position that this clone's own lane has to reach.
    seq: Option<u64>,
    /// The object that has to come.
    missing: Option<ObjectId>,
}

/// A proposal, folded from the events in the cache.
pub(super) struct Folded {
    /// What they lead to, if they begin one.
    pub(super) proposal: Option<Proposal>,
    /// What is wrong with them.
    troubles: Vec<Awaiting>,
    /// All of them are lines of snapshots.
    is_archived: bool,
    /// The lane that holds the first of them, where that is among them.
    owner: Option<String>,
    /// The digest of the current changes, where it is known already.
    digest: Option<String>,
    /// What snapshots of these lanes count of its changes.
    figures: Vec<(String, String)>,
}

/// The proposal `id`, folded from the events in the cache; each goes through `check` where there is
/// one. `chains` are those of the cache.
pub(super) fn folded(
    repo: &gix::Repository,
    connection: &Connection,
    chains: &Chains,
    id: &str,
    own: Own<'_>,
    check: Option<Check<'_>>,
    parsed: &mut Parsed,
) -> rusqlite::Result<Folded> {
    let gathered = gather::events(repo, connection, chains, id, (own, parsed), check)?;
    Ok(fold(gathered, id, own))
}

/// What `gathered`, the events of the proposal `id`, lead to.
fn fold(gathered: Gathered, id: &str, own: Own<'_>) -> Folded {
    let is_archived = gathered.is_archived;
    let audit::Folded { mut proposal, rejected, digest } =
        audit::fold(&gathered.events, own, &gathered.private);
    let rejected = rejected.into_iter().map(|rejection| Flaw { rejection, missing: None });
    let rejected = rejected.chain(gathered.flaws);
    let ids = gathered.events.iter().map(|stamped| stamped.id.as_str());
    let commits: BTreeMap<&str, &Rc<str>> = ids.zip(&gathered.commits).collect();
    for revision in proposal.iter_mut().flat_map(|proposal| &mut proposal.revisions) {
        let commit = commits.get(revision.event.as_str());
        revision.commit = commit.map(|commit| commit.to_string()).unwrap_or_default();
    }
    let trouble = |kind, name: String, object: String, why: &str| Trouble {
        kind,
        name,
        object,
        proposal: Some(id.to_owned()),
        why: why.to_owned(),
    };
    let mut troubles: Vec<_> = rejected
        .map(|Flaw { rejection: found, missing }| {
            let kind = match found.why {
                Why::DuplicateId => TroubleKind::DuplicateId,
                _ => TroubleKind::Rejected,
            };
            let trouble = trouble(kind, found.lane, found.event, found.why.as_str());
            Awaiting { trouble, seq: found.awaits, missing }
        })
        .collect();
    troubles.extend(gathered.cut.into_iter().map(|(lane, (event, missing))| {
        let why = match missing {
            Some(_) => "the list of its files is not here; what follows is ignored as well",
            None => "its lane says too much about this proposal; what follows is ignored as well",
        };
        let trouble = trouble(TroubleKind::Rejected, lane, event, why);
        Awaiting { trouble, seq: None, missing }
    }));
    let owner = proposal.as_ref().and_then(|proposal| {
        let mut first = gathered.first.into_iter();
        first.find(|(id, _)| *id == proposal.first_event).map(|(_, lane)| lane)
    });
    Folded { proposal, troubles, is_archived, owner, digest, figures: gathered.figures }
}

/// As it is in the cache.
pub(super) fn body(proposal: &Proposal) -> Vec<u8> {
    serde_json::to_vec(proposal).unwrap_or_default()
}

/// The word for a state in the cache.
pub(super) fn word(state: &State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Applied(_) => "applied",
        State::Rejected(_) => "rejected",
    }
}

/// A row of `proposal`.
const INSERT: &str = "INSERT OR REPLACE INTO proposal (id, prefix, subject, state, domain, task,
    proposed_by, created, expires, expiry_recorded, digest, description, path, files,
    added, removed, revisions, comments, changes_requested, contested, checked, marked,
    recorded_by, author, revision, approvals, staging, decided, needs, owners,
    lower, lower_revision)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
    ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)";

/// The same of a row that is there, where what no event changes is as it was: SQLite writes the indices
/// of the columns that are set, and no others.
const UPDATE: &str = "UPDATE proposal SET state = ?4, domain = ?5, task = ?6, proposed_by = ?7,
    expires = ?9, expiry_recorded = ?10, digest = ?11, description = ?12, path = ?13, files = ?14,
    added = ?15, removed = ?16, revisions = ?17, comments = ?18, changes_requested = ?19,
    contested = ?20, checked = ?21, marked = ?22, recorded_by = ?23, author = ?24, revision = ?25,
    approvals = ?26, decided = ?28, needs = ?29, owners = ?30, lower = ?31,
    lower_revision = ?32
    WHERE id = ?1 AND prefix = ?2 AND subject = ?3 AND created = ?8 AND staging IS ?27";

/// A row of `proposal` as it was.
pub(super) struct Stored {
    prefix: i64,
    pub(super) digest: String,
    pub(super) lines: Lines,
    /// It is pending.
    pub(super) is_open: bool,
}

/// The row of the proposal `id`, if there is one.
fn stored(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<Stored>> {
    transaction
        .prepare_cached("SELECT prefix, digest, added, removed, state FROM proposal WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(Stored {
                prefix: row.get(0)?,
                digest: row.get(1)?,
                lines: counts::lines(row, 2)?,
                is_open: row.get_ref(4)?.as_str()? == word(&State::Pending),
            })
        })
        .optional()
}

/// Statements that add rows: looking each up takes a while, for a hundred thousand proposals.
struct Tables<'t> {
    proposal: CachedStatement<'t>,
    path: CachedStatement<'t>,
    approved: CachedStatement<'t>,
}

impl<'t> Tables<'t> {
    fn new(transaction: &'t Transaction<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            proposal: transaction.prepare_cached(INSERT)?,
            path: transaction.prepare_cached(
                "INSERT OR IGNORE INTO path (path, proposal, open, before, after, lines)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            approved: transaction.prepare_cached(
                "INSERT INTO approved (proposal, number, path, before, after)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?,
        })
    }
}

/// What is known of a proposal beside itself.
struct Known<'k> {
    /// The digest of its current changes.
    digest: String,
    /// What the lane that it begins in counts of these, in a snapshot.
    said: Option<Counts>,
    /// Only snapshots have it.
    is_archived: bool,
    /// The lanes that hold its first event, or a publication of it.
    owners: &'k str,
}

/// What only snapshots have (`is_archived`) is decided, and nobody asks much of it: that is folded
/// whenever somebody does, instead of being kept in full.
fn store(
    repo: &gix::Repository,
    (transaction, tables): (&Transaction<'_>, &mut Tables<'_>),
    proposal: &Proposal,
    Known { digest, said, is_archived, owners }: Known<'_>,
    last: &mut Option<(String, i64)>,
) -> rusqlite::Result<()> {
    let changes = &proposal.current().changes;
    let state = word(&proposal.state);
    let id = proposal.id.as_str();
    let is_last = last.as_ref().is_none_or(|(last, _)| last.as_str() < id);
    let known = if is_last { None } else { stored(transaction, id)? };
    let prefix = match &known {
        Some(known) => known.prefix,
        None if is_last => match last.take() {
            None => 1,
            Some(last) => part(transaction, id, last)?,
        },
        None => prefix(transaction, &proposal.id)?,
    };
    if is_last {
        *last = Some((id.to_owned(), prefix));
    }
    let Counted { total, lines } = counted(repo, proposal, &digest, said, known.as_ref());
    let approvals = (!proposal.approvals.is_empty()).then(|| {
        let all = document::approvals(proposal);
        let newest = &all[all.len().saturating_sub(MOST_APPROVALS)..];
        serde_json::to_string(newest).unwrap_or_default()
    });
    let (added, removed) = counts::columns(total);
    let path = changes.first().map(|change| change.path.display().to_string());
    let lower = proposal.current().on.as_ref();
    let values = params![
        id,
        prefix,
        proposal.subject.as_str(),
        state,
        proposal.domain,
        proposal.related_task_id,
        proposal.proposed_by,
        proposal.created_at.timestamp_millis(),
        proposal.expires_at.timestamp_millis(),
        proposal.expiry_recorded.map(|at| at.timestamp_millis()),
        digest,
        proposal.description.as_deref().map(|text| budget::capped(text, MOST_LISTED)),
        path,
        changes.len() as i64,
        added,
        removed,
        proposal.revisions.len() as i64,
        proposal.comments.len() as i64,
        proposal.changes_requested.is_some(),
        proposal.contested,
        // A check that an agent ran says what the agent wants to have said.
        proposal
            .check()
            .filter(|check| check.kind() != ActorKind::Agent)
            .map(|check| i64::from(check.check.exit_code.unwrap_or(-1))),
        proposal.mark().map(|mark| mark.verdict.as_str()),
        proposal.actor.name,
        proposal.current().actor.name,
        proposal.current().event,
        approvals,
        proposal.staging_id().filter(|_| proposal.subject == Subject::Memory),
        proposal.decision().map(|decision| decision.at.timestamp_millis()),
        proposal.needs,
        owners,
        lower.map(|on| on.proposal.as_str()),
        lower.map(|on| on.revision.as_str()),
    ];
    // What says the same in the indices stays where it is in them.
    let is_updated = known.is_some() && transaction.prepare_cached(UPDATE)?.execute(values)? > 0;
    if !is_updated {
        tables.proposal.execute(values)?;
    }
    keep(transaction, proposal, known.is_some(), is_archived)?;
    // What has run out is pending again where the clock is set back, so that it is not left out.
    let open = proposal.state == State::Pending;
    let is_known = known.is_some();
    let was_open = known.filter(|known| known.digest == digest).map(|known| known.is_open);
    if was_open == Some(true) && !open {
        // Nobody asks any more which lines it touches; a cache that never had them says the same.
        transaction
            .prepare_cached("UPDATE path SET open = 0, lines = NULL WHERE proposal = ?1")?
            .execute(params![id])?;
    } else if was_open != Some(open) {
        if is_known {
            transaction.prepare_cached("DELETE FROM path WHERE proposal = ?1")?.execute([id])?;
        }
        for (at, change) in changes.iter().enumerate() {
            tables.path.execute(params![
                change.path.display().to_string(),
                id,
                open,
                change.before.as_ref().map(side),
                change.after.as_ref().map(side),
                lines.get(at).and_then(|lines| lines.as_deref().and_then(relations::ranges)),
            ])?;
        }
    }
    approve((transaction, tables), proposal, is_known)
}

/// Keeps the whole of `proposal`, unless it `is_archived`.
fn keep(
    transaction: &Transaction<'_>,
    proposal: &Proposal,
    is_known: bool,
    is_archived: bool,
) -> rusqlite::Result<()> {
    let id = proposal.id.as_str();
    if is_archived {
        if is_known {
            transaction.prepare_cached("DELETE FROM folded WHERE id = ?1")?.execute([id])?;
        }
        return Ok(());
    }
    let body = body(proposal);
    let mut update = transaction.prepare_cached("UPDATE folded SET body = ?2 WHERE id = ?1")?;
    if !is_known || update.execute(params![id, body])? == 0 {
        transaction
            .prepare_cached("INSERT OR REPLACE INTO folded (id, body) VALUES (?1, ?2)")?
            .execute(params![id, body])?;
    }
    Ok(())
}

/// Notes which steps of files a person's decision on `proposal` has made.
fn approve(
    (transaction, tables): (&Transaction<'_>, &mut Tables<'_>),
    proposal: &Proposal,
    is_known: bool,
) -> rusqlite::Result<()> {
    if is_known {
        transaction
            .prepare_cached("DELETE FROM approved WHERE proposal = ?1")?
            .execute([proposal.id.as_str()])?;
    }
    let State::Applied(decision) = &proposal.state else { return Ok(()) };
    if !decision.is_by_a_person() {
        return Ok(());
    }
    for (number, step) in (0_i64..).zip(steps::of_events(proposal, decision)) {
        tables.approved.execute(params![
            proposal.id.as_str(),
            number,
            step.path.display().to_string(),
            step.before.as_ref().map(side),
            step.after.as_ref().map(side),
        ])?;
    }
    Ok(())
}

/// Mode and id of one side of a step.
pub(super) fn side(entry: &Entry) -> String {
    format!("{} {}", entry.mode, entry.id)
}

/// As [`side`] wrote it.
pub(super) fn entry(side: &str) -> Option<Entry> {
    let (mode, id) = side.split_once(' ')?;
    Some(Entry::new(id, mode))
}

/// Length of the shortest prefix (behind `prop_`) that names only this new proposal; lengthens those
/// of its two neighbours where they share more with it than with each other.
fn prefix(transaction: &Transaction<'_>, id: &ProposalId) -> rusqlite::Result<i64> {
    let mut longest = 1;
    for query in [
        "SELECT id, prefix FROM proposal WHERE id < ?1 ORDER BY id DESC LIMIT 1",
        "SELECT id, prefix FROM proposal WHERE id > ?1 ORDER BY id LIMIT 1",
    ] {
        let neighbour: Option<(String, i64)> = transaction
            .prepare_cached(query)?
            .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some(neighbour) = neighbour {
            longest = longest.max(part(transaction, id.as_str(), neighbour)?);
        }
    }
    Ok(longest)
}

/// Length of the shortest prefix that tells `id` from its `neighbour`, whose own is made as long.
fn part(
    transaction: &Transaction<'_>,
    id: &str,
    (neighbour, length): (String, i64),
) -> rusqlite::Result<i64> {
    let shared = neighbour.bytes().zip(id.bytes()).take_while(|(a, b)| a == b).count();
    let needed = shared as i64 - "prop_".len() as i64 + 1;
    if needed > length {
        transaction
            .prepare_cached("UPDATE proposal SET prefix = ?2 WHERE id = ?1 AND prefix < ?2")?
            .execute(params![neighbour, needed])?;
    }
    Ok(needed.max(1))
}
