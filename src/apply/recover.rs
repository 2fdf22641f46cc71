//! What an interrupted apply left, settled by the next command.

use chrono::{DateTime, SecondsFormat, Utc};

use super::journal_folder;
use crate::error::{Error, Result};
use crate::proposal::event::Effect;
use crate::proposal::{Data, Entry, ProposalId};
use crate::store::{LogEntry, Store, codes as store_codes};
use crate::worktree::codes as worktree;
use crate::worktree::journal::{self, Action, Claim, Journal, Named, Recovered};

/// First word of the journal's subject for an apply.
pub const APPLY: &str = "apply";
/// First word of the journal's subject for an apply that commits.
pub const COMMIT: &str = "apply-and-commit";
/// First word of the journal's subject for an undo.
pub const UNDO: &str = "undo";

/// How many changed files a message names.
const SHOWN: usize = 10;

/// One settled transaction, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// What was done.
    pub message: String,
    /// Files that were left alone, and why.
    pub left: Vec<String>,
}

/// What [`recover`] has come to.
#[derive(Debug, Default)]
pub struct Settled {
    /// Transactions that were settled.
    pub done: Vec<Recovery>,
    /// Journals that were not carried out and stay: `journal_foreign`, `journal_invalid`.
    pub refused: Vec<Error>,
}

/// Settles what a process that is gone left half written. Costs one look where there is nothing;
/// does not wait where another process is at work.
///
/// # Errors
/// `private_dir_unsafe`, and those of the store and the work tree.
pub fn recover(store: &Store) -> Result<Settled> {
    let settled = journal::recover(&journal_folder(store), &OfStore(store))?;
    let done = settled.done.into_iter().map(words).collect();
    Ok(Settled { done, refused: settled.refused })
}

/// Sets journals aside that are not carried out, so that applies can go on; says which.
///
/// # Errors
/// `apply_busy`, `private_dir_unsafe`, and those of the file system.
pub fn set_refused_aside(store: &Store) -> Result<Vec<String>> {
    let journal = Journal::open(&journal_folder(store), super::PATIENCE)?;
    let moved = journal.set_aside_refused(&OfStore(store))?;
    Ok(moved.iter().map(|path| format!("journal set aside as {}", path.display())).collect())
}

/// As [`recover`], with the journal's lock held. A journal that cannot be read stops what writes
/// files, for a newer aye may have left files half written; one that nobody here can have left does
/// not.
///
/// # Errors
/// `journal_invalid`, and as [`recover`].
pub fn with(store: &Store, journal: &Journal) -> Result<()> {
    let settled = journal.recover(&OfStore(store))?;
    let invalid = settled.refused.into_iter().find(|error| error.is(&worktree::JOURNAL_INVALID));
    invalid.map_or(Ok(()), Err)
}

/// What the repository says about journals.
struct OfStore<'a>(&'a Store);

impl journal::Judge for OfStore<'_> {
    fn refusal(&self, claim: &Claim<'_>) -> Result<Option<String>> {
        let root = claim.root.root();
        let shown = root.display();
        if !self.0.lists(claim.root) {
            return Ok(Some(format!("{shown} is not a work tree of this repository")));
        }
        let enters = self.0.enters_git_dir(root);
        if let Some(path) = claim.paths().find(|path| enters(&path.to_path())) {
            return Ok(Some(format!("{} in {shown} is in the git directory", path.display())));
        }
        let subject = claim.subject.is_none_or(|subject| Subject::parse(subject).is_some());
        Ok((!subject).then(|| "it is for an event that aye does not record".into()))
    }

    fn recorded(&self, claim: &Claim<'_>, subject: &str) -> Result<Option<Named>> {
        match Subject::parse(subject) {
            Some(subject) => recorded(self.0, claim, &subject),
            None => Ok(None),
        }
    }

    fn content(&self, id: &str) -> Result<Option<Vec<u8>>> {
        match self.0.blob(id) {
            Err(error) if error.is(&store_codes::OBJECT_MISSING) => Ok(None),
            other => other.map(Some),
        }
    }
}

/// What names the event that stands for a transaction. All events of one command bear its time,
/// and one command at a time writes files, so kind, proposal and time are enough.
pub fn subject(kind: &str, id: &ProposalId, now: DateTime<Utc>) -> String {
    format!("{kind} {id} {}", time(now))
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A subject, taken apart.
struct Subject<'a> {
    kind: &'a str,
    id: ProposalId,
    time: &'a str,
    seconds: i64,
}

impl<'a> Subject<'a> {
    /// Reads what [`subject`] writes; `None` for anything else.
    fn parse(text: &'a str) -> Option<Self> {
        let mut words = text.split(' ');
        let (kind, id, at) = (words.next()?, words.next()?, words.next()?);
        let known = [APPLY, COMMIT, UNDO].contains(&kind) && words.next().is_none();
        let seconds = DateTime::parse_from_rfc3339(at).ok()?.timestamp();
        let id = ProposalId::parse(id).ok()?;
        known.then_some(Self { kind, id, time: at, seconds })
    }
}

fn recorded(store: &Store, claim: &Claim<'_>, subject: &Subject<'_>) -> Result<Option<Named>> {
    let mut log = store.view()?.log(Some(&subject.id), None)?;
    for entry in &mut log {
        // Without its list it names nothing, and nothing is completed for it.
        let _ = store.inflate(&mut entry.stamped.event);
    }
    let of_command = |entry: &&LogEntry| time(entry.stamped.event.time) == subject.time;
    let written = log.iter().filter(of_command).find_map(|entry| match &entry.stamped.event.data {
        Data::Apply(apply) if subject.kind != UNDO && apply.effect != Effect::MarkOnly => {
            Some(&apply.written)
        }
        Data::Undo(undo) if subject.kind == UNDO => Some(&undo.written),
        _ => None,
    });
    if let Some(written) = written {
        let id = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.id.clone());
        return Ok(Some(written.iter().map(|w| (w.path.clone(), id(&w.after))).collect()));
    }
    if subject.kind != COMMIT || !super::commit::head_is_of(store, &subject.id, subject.seconds) {
        return Ok(None);
    }
    // A commit was made and the event was not: the files stay as committed.
    Ok(Some(claim.paths().map(|path| (path.clone(), store.id_in_head(path))).collect()))
}

fn words(recovered: Recovered) -> Recovery {
    let what = recovered.subject.as_deref().unwrap_or("write");
    let what = what.rsplit_once(' ').map_or(what, |(what, _)| what);
    let root = recovered.root.display();
    let mut message = match recovered.action {
        Action::Finished => format!("completed the interrupted '{what}' in {root}"),
        Action::Undone => format!("undid the interrupted '{what}' in {root}"),
        Action::WorktreeGone => format!("dropped the interrupted '{what}': {root} is gone"),
    };
    if !recovered.changed.is_empty() {
        let shown = recovered.changed.iter().take(SHOWN).map(|path| path.display().to_string());
        message += &format!(", which changed {}", shown.collect::<Vec<_>>().join(", "));
        if let more @ 1.. = recovered.changed.len().saturating_sub(SHOWN) {
            message += &format!(" and {more} more");
        }
    }
    let left = recovered.left.iter().map(|l| format!("{} {}", l.path.display(), l.why)).collect();
    Recovery { message, left }
}
