//! What an interrupted apply left, settled by the next command.

use chrono::{DateTime, SecondsFormat, Utc};

use super::journal_folder;
use crate::error::{Error, Result};
use crate::proposal::event::Effect;
use crate::proposal::{Data, ProposalId};
use crate::store::{Store, codes as store_codes};
use crate::worktree::journal::{self, Action, Journal, Recovered};

/// First word of the journal's subject for an apply.
pub const APPLY: &str = "apply";
/// First word of the journal's subject for an apply that commits.
pub const COMMIT: &str = "apply-and-commit";
/// First word of the journal's subject for an undo.
pub const UNDO: &str = "undo";

/// One settled transaction, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// What was done.
    pub message: String,
    /// Files that were left alone, and why.
    pub left: Vec<String>,
}

/// Settles what a process that is gone left half written. Costs one look where there is nothing;
/// does not wait where another process is at work.
///
/// # Errors
/// `journal_invalid`, and those of the store and the work tree.
pub fn recover(store: &Store) -> Result<Vec<Recovery>> {
    let folder = journal_folder(store);
    if !journal::pending(&folder) {
        return Ok(Vec::new());
    }
    let recovered =
        journal::recover(&folder, &|subject, _| recorded(store, subject), &|id| fetch(store, id))?;
    Ok(recovered.into_iter().map(words).collect())
}

/// Sets journals aside that cannot be read, so that applies can go on; says which.
///
/// # Errors
/// `apply_busy`, and those of the file system.
pub fn set_broken_aside(store: &Store) -> Result<Vec<String>> {
    let journal = Journal::open(&journal_folder(store), super::PATIENCE)?;
    let moved = journal.set_aside_invalid()?;
    Ok(moved.iter().map(|path| format!("journal set aside as {}", path.display())).collect())
}

/// As [`recover`], with the journal's lock held.
pub fn with(store: &Store, journal: &Journal) -> Result<Vec<Recovery>> {
    let recovered =
        journal.recover(&|subject, _| recorded(store, subject), &|id| fetch(store, id))?;
    Ok(recovered.into_iter().map(words).collect())
}

/// What names the event that stands for a transaction. All events of one command bear its time,
/// and one command at a time writes files, so kind, proposal and time are enough.
pub fn subject(kind: &str, id: &ProposalId, now: DateTime<Utc>) -> String {
    format!("{kind} {id} {}", time(now))
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn recorded(store: &Store, subject: &str) -> Result<bool> {
    let mut words = subject.split(' ');
    let (Some(kind), Some(id), Some(at)) = (words.next(), words.next(), words.next()) else {
        return Err(Error::bug(format!("a journal for '{subject}'")));
    };
    let id = ProposalId::parse(id)?;
    let log = store.view()?.log(Some(&id), None)?;
    let found = log.iter().filter(|entry| time(entry.stamped.event.time) == at).any(|entry| {
        match &entry.stamped.event.data {
            Data::Apply(apply) => kind != UNDO && apply.effect != Effect::MarkOnly,
            Data::Undo(_) => kind == UNDO,
            _ => false,
        }
    });
    if found || kind != COMMIT {
        return Ok(found);
    }
    // A commit was made and the event was not: the files stay as committed.
    let since = DateTime::parse_from_rfc3339(at)
        .map_err(|_| Error::bug(format!("a journal for '{subject}'")))?;
    Ok(super::commit::head_is_of(store, &id, since.timestamp()))
}

fn fetch(store: &Store, id: &str) -> Result<Option<Vec<u8>>> {
    match store.blob(id) {
        Err(error) if error.is(&store_codes::OBJECT_MISSING) => Ok(None),
        other => other.map(Some),
    }
}

fn words(recovered: Recovered) -> Recovery {
    let what = recovered.subject.as_deref().unwrap_or("write");
    let what = what.rsplit_once(' ').map_or(what, |(what, _)| what);
    let root = recovered.root.display();
    let message = match recovered.action {
        Action::Finished => format!("completed the interrupted '{what}' in {root}"),
        Action::Undone => format!("took the interrupted '{what}' in {root} back"),
        Action::WorktreeGone => format!("dropped the interrupted '{what}': {root} is gone"),
    };
    let left = recovered.left.iter().map(|l| format!("{} {}", l.path.display(), l.why)).collect();
    Recovery { message, left }
}
