//! Folding proposals into the cache.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gix::ObjectId;
use rusqlite::{Connection, Transaction};

use super::filling::{Fresh, Steps};
use super::forks::Chains;
use super::gather::Gathered;
use super::news::{News, note};
use super::parsed::Parsed;
use super::row::{Known, Tables, last, store};
use super::source::Check;
use super::statements::Flaw;
use super::{audience, counts, gather, lanes, purge};
use crate::proposal::audit::{self, Own, Why};
use crate::proposal::{Proposal, event};
use crate::store::traces::Traces;
use crate::store::trouble::{Trouble, TroubleKind};

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
        if proposal.is_none() && !is_fresh && is_known(transaction, id)? {
            // Its first event does not count any more: a new cache has nothing of it.
            forget(transaction, id)?;
            self.last = last(transaction)?;
        }
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

/// Whether something was folded of `id`.
fn is_known(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<bool> {
    transaction.prepare_cached("SELECT 1 FROM proposal WHERE id = ?1")?.exists([id])
}

/// Forgets what a proposal was.
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
