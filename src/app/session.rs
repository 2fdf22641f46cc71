//! What an agent has left in the tree of its session becomes a proposal, or the next revision of one.

use chrono::{DateTime, SecondsFormat, Utc};

use crate::changeset::Changeset;
use crate::changeset::entry::entries;
use crate::decide;
use crate::error::Result;
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, Status};
use crate::session::home::{Changing, Held, Home};
use crate::session::tree::Base;
use crate::session::{Record, read, record, tree};
use crate::store::Store;

use super::propose::{self, Details, Recorded, Revision};
use super::{Draft, Session, wait};

/// What became of the files of a session.
#[derive(Debug)]
pub struct Submitted {
    /// The proposal; `None` where nothing differs from the base.
    pub outcome: Option<Outcome>,
    /// Lines added and removed, in all files.
    pub lines: (usize, usize),
    /// What is not proposed: the path, and why. Untrusted.
    pub passed_over: Vec<(String, String)>,
}

/// A proposal with the files of a session.
#[derive(Debug)]
pub enum Outcome {
    /// A new one.
    Proposed(Recorded),
    /// A new revision of the session's own.
    Revised(Recorded),
    /// The session's own, which says the same already.
    Unchanged(Proposal),
}

impl Outcome {
    /// The proposal.
    pub fn proposal(&self) -> &Proposal {
        match self {
            Self::Proposed(recorded) | Self::Revised(recorded) => &recorded.proposal,
            Self::Unchanged(proposal) => proposal,
        }
    }
}

/// Makes the tree and the record of a session that is held. `command` is what is to run in it.
///
/// # Errors
/// `no_commit`; those of git and of the file system, after which nothing is left of it.
pub fn begin(
    store: &Store,
    home: &Home,
    held: &Held,
    base: Base,
    agent: &str,
    command: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let base = tree::base(store, base)?;
    let make = || {
        tree::make(store, &held.name, &home.tree(&held.name), &base)?;
        let changing = home.change(&held.name)?;
        let record = Record {
            format: record::FORMAT.to_owned(),
            agent: agent.to_owned(),
            command: command.to_owned(),
            started_at: now.to_rfc3339_opts(SecondsFormat::Secs, true),
            base: base.clone(),
            proposal: None,
            submitted: None,
            run: store.run().cloned(),
            told: None,
        };
        home.write(&changing, &record)
    };
    make().inspect_err(|_| {
        home.clear(held);
        unpin(store, &held.name);
    })
}

/// Lets go of the commits of session `name`.
pub fn unpin(store: &Store, name: &str) {
    let delete = ["update-ref", "-d", &tree::pin(name)];
    let deleted = tree::git(store).and_then(|git| git.args(delete).run());
    drop(deleted);
}

/// Proposes what the tree of session `name` holds beside its base, and notes that in its record. While the
/// session's last proposal is pending, that one is revised; once it is decided, what was proposed is the
/// base of what follows, so that it is not proposed again.
///
/// # Errors
/// `session_not_found`, `session_record_invalid`; those of [`read::left`], [`propose::propose`] and
/// [`propose::revise`]. The files stay as they are.
pub fn submit(
    session: &Session<'_>,
    home: &Home,
    changing: &Changing,
    name: &str,
    message: Option<String>,
) -> Result<Submitted> {
    let Session { store, caller, now } = session;
    let mut record = home.record(name)?;
    let last = record.proposal.as_ref().and_then(|id| store.view().ok()?.find(id).ok());
    let pending = last.filter(|proposal| proposal.status(*now) == Status::Pending);
    if pending.is_none() && record.proposal.take().is_some() {
        record.base = record.submitted.take().unwrap_or(record.base);
    }
    let read::Left { changes, passed_over } = read::left(store, &home.tree(name), &record.base)?;
    if changes.is_empty() {
        return Ok(Submitted { outcome: None, lines: (0, 0), passed_over });
    }
    let changeset = Changeset::new(changes)?;
    store.refuse_foreign(&changeset)?;
    let lines = entries(changeset.changes()).iter().fold((0, 0), |(added, removed), entry| {
        let counts = entry.counts();
        (added + counts.added, removed + counts.removed)
    });
    let outcome = match pending {
        Some(proposal) if is_same(store, &proposal, &changeset) => Outcome::Unchanged(proposal),
        Some(proposal) => {
            let proposals = std::slice::from_ref(&proposal);
            let command = format!("aye revise {}", proposal.id);
            let (verb, evidence) = (Verb::Revise, Evidence::Flag);
            let authority = decide::authorise(store, caller, verb, proposals, &evidence, &command)?;
            let draft = Draft::new(store, changeset, "session")?;
            let revision = Revision { draft, description: message, expires_in: None };
            Outcome::Revised(propose::revise(session, &authority, &proposal, revision)?)
        }
        None => {
            let why = format!("What {} left in session {name}", caller.actor.name);
            let details =
                Details { description: Some(message.unwrap_or(why)), ..Details::default() };
            let draft = Draft::new(store, changeset, "session")?;
            Outcome::Proposed(propose::propose(session, draft, details)?)
        }
    };
    let proposal = outcome.proposal();
    record.submitted = Some(snapshot(store, &record, proposal)?);
    record.proposal = Some(proposal.id.to_string());
    let pinned = record.submitted.as_deref().unwrap_or(&record.base);
    tree::git(store)?.args(["update-ref", &tree::pin(name), pinned]).run()?;
    home.write(changing, &record)?;
    Ok(Submitted { outcome: Some(outcome), lines, passed_over })
}

/// What became of the session's last proposal, where its agent has not been told yet; from then on it has.
///
/// # Errors
/// Those of the store and of the record.
pub fn news(
    session: &Session<'_>,
    home: &Home,
    changing: &Changing,
    name: &str,
) -> Result<Option<wait::Document>> {
    let mut record = home.record(name)?;
    let Some(id) = &record.proposal else { return Ok(None) };
    let (store, now) = (session.store, session.now);
    let Ok(proposal) = store.view()?.find(id) else { return Ok(None) };
    let decided = proposal.decision().map(|decision| decision.at);
    let asked = proposal.changes_requested.as_ref().map(|request| request.at);
    let Some(at) = decided.or(asked) else { return Ok(None) };
    let at = at.to_rfc3339();
    if record.told.as_ref() == Some(&at) {
        return Ok(None);
    }
    record.told = Some(at);
    home.write(changing, &record)?;
    Ok(Some(wait::document(store, &proposal, proposal.status(now), false)))
}

fn is_same(store: &Store, proposal: &Proposal, changeset: &Changeset) -> bool {
    let current = store.changeset(&proposal.current().changes);
    current.is_ok_and(|current| {
        let sides = |changeset: &Changeset| {
            let changes = changeset.changes().iter();
            changes.map(|c| (c.path.clone(), c.before.clone(), c.after.clone())).collect::<Vec<_>>()
        };
        sides(&current) == sides(changeset)
    })
}

/// A commit above the base with the files as `proposal` has them.
fn snapshot(store: &Store, record: &Record, proposal: &Proposal) -> Result<String> {
    let scratch = tempfile::tempdir()
        .map_err(|error| crate::error::Error::io("make a temporary directory", &error))?;
    let git = || {
        Ok::<_, crate::error::Error>(
            tree::git(store)?.env("GIT_INDEX_FILE", scratch.path().join("index")),
        )
    };
    git()?.args(["read-tree", &record.base]).run()?;
    let mut lines = Vec::new();
    for change in &proposal.current().changes {
        let line = match &change.after {
            Some(entry) => format!("{} {}\t", entry.mode, entry.id),
            None => format!("0 {}\t", "0".repeat(record.base.len())),
        };
        lines.extend_from_slice(line.as_bytes());
        lines.extend_from_slice(change.path.as_bstr());
        lines.push(0);
    }
    git()?.args(["update-index", "-z", "--index-info"]).stdin(lines).run()?;
    let written = git()?.args(["write-tree"]).text()?;
    tree::commit(store, written.trim(), &record.base, "What a session proposed")
}
