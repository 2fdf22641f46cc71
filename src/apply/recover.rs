//! Recovers interrupted applies.

use chrono::{DateTime, Utc};

use super::{history, journal_directory};
use crate::error::{Error, Result};
use crate::proposal::codes::PROPOSAL_NOT_FOUND;
use crate::proposal::event::{Verdict, timestamp};
use crate::proposal::manifest::Manifest;
use crate::proposal::{Entry, ProposalId};
use crate::repository::Repository;
use crate::repository::codes::OBJECT_MISSING;
use crate::store::{LogEntry, Store};
use crate::worktree::journal::{
    self, EventBlobs, Journal, JournalClaim, RecoveredTransaction, RecoveryOutcome, SkippedFile,
};
use crate::worktree::{Worktree, codes as worktree};

/// First word of the subject of an apply's journal.
pub const APPLY: &str = "apply";
/// For an apply with a commit.
pub const COMMIT: &str = "apply-and-commit";
/// For an undo.
pub const UNDO: &str = "undo";

/// Changed files named in a message.
const SHOWN: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryMessage {
    pub message: String,
    pub left: Vec<String>,
}

#[derive(Debug, Default)]
pub struct RecoveryMessages {
    pub done: Vec<RecoveryMessage>,
    /// Journals that stay: not carried out, or not completely (`index_locked`).
    pub refused: Vec<Error>,
}

/// Settles what a dead process left. Returns at once while another process writes.
pub fn recover(store: &Store) -> Result<RecoveryMessages> {
    let settled = journal::recover(&journal_directory(store.repository()), &StoreOracle(store))?;
    let done = settled.transactions.into_iter().map(|recovered| words(store, recovered)).collect();
    Ok(RecoveryMessages { done, refused: settled.refused })
}

/// Renames refused journals, so that applies can continue.
///
/// # Errors
/// `apply_busy`, `private_dir_unsafe`.
pub fn set_refused_aside(store: &Store) -> Result<Vec<String>> {
    let journal = Journal::open(&journal_directory(store.repository()), super::PATIENCE)?;
    let moved = journal.set_aside_refused(&StoreOracle(store))?;
    Ok(moved.iter().map(|path| format!("journal set aside as {}", path.display())).collect())
}

/// An unreadable journal stops every writer: a newer aye may have left files half written. A
/// foreign one does not.
///
/// # Errors
/// `journal_invalid`.
pub fn recover_locked(store: &Store, journal: &Journal) -> Result<()> {
    let settled = journal.recover(&StoreOracle(store))?;
    let invalid = settled.refused.into_iter().find(|error| error.is(&worktree::JOURNAL_INVALID));
    invalid.map_or(Ok(()), Err)
}

struct StoreOracle<'a>(&'a Store);

impl journal::RecoveryOracle for StoreOracle<'_> {
    fn refusal(&self, claim: &JournalClaim<'_>) -> Result<Option<String>> {
        let root = claim.root.root();
        let shown = root.display();
        if !self.0.repository().is_own_worktree(claim.root) {
            return Ok(Some(format!("{shown} is not a work tree of this repository")));
        }
        let enters = self.0.repository().enters_git_dir(root);
        if let Some(path) = claim.paths().find(|path| enters(&path.to_path())) {
            return Ok(Some(format!("{} in {shown} is in the git directory", path.display())));
        }
        let subject = claim.subject.is_none_or(|subject| Subject::parse(subject).is_some());
        Ok((!subject).then(|| "it is for an event that aye does not record".into()))
    }

    fn recorded(&self, claim: &JournalClaim<'_>, subject: &str) -> Result<Option<EventBlobs>> {
        match Subject::parse(subject) {
            Some(subject) => recorded(self.0, claim, &subject),
            None => Ok(None),
        }
    }

    fn undone(&self, claim: &JournalClaim<'_>, subject: &str) -> Result<Vec<SkippedFile>> {
        let Some(subject) = Subject::parse(subject).filter(|subject| subject.kind == COMMIT) else {
            return Ok(Vec::new());
        };
        match unstage(self.0, claim) {
            Err(error) if error.is(&worktree::INDEX_LOCKED) => Err(error.after(format_args!(
                "changes that an interrupted '{} {}' staged in {} are still staged",
                subject.kind,
                subject.id,
                claim.root.root().display()
            ))),
            Err(error) => {
                let why = format!("may still be staged: {}", error.message());
                let first = claim.paths().take(1);
                Ok(first.map(|path| SkippedFile { path: path.clone(), why: why.clone() }).collect())
            }
            done => done,
        }
    }

    fn content(&self, id: &str) -> Result<Option<Vec<u8>>> {
        match self.0.blob(id) {
            Err(error) if error.is(&OBJECT_MISSING) => Ok(None),
            other => other.map(Some),
        }
    }
}

/// The subject of a transaction's event. `id` is a proposal's, or for an undo a direct patch's
/// (`patch_…`). One command writes at a time and its events share one time, so kind, id and time
/// suffice.
pub fn subject(kind: &str, id: &dyn std::fmt::Display, now: DateTime<Utc>) -> String {
    format!("{kind} {id} {}", timestamp(now))
}

struct Subject<'a> {
    kind: &'a str,
    id: ProposalId,
    time: &'a str,
    seconds: i64,
}

impl<'a> Subject<'a> {
    /// Inverse of `subject`.
    fn parse(text: &'a str) -> Option<Self> {
        let mut words = text.split(' ');
        let (kind, id, at) = (words.next()?, words.next()?, words.next()?);
        let seconds = DateTime::parse_from_rfc3339(at).ok()?.timestamp();
        let patch = ProposalId::parse_patch(id);
        let is_patch = patch.is_some();
        let id = patch.or_else(|| ProposalId::parse(id).ok())?;
        let known = kind == UNDO || !is_patch && [APPLY, COMMIT].contains(&kind);
        let is_sound = known && words.next().is_none();
        is_sound.then_some(Self { kind, id, time: at, seconds })
    }
}

fn recorded(
    store: &Store,
    claim: &JournalClaim<'_>,
    subject: &Subject<'_>,
) -> Result<Option<EventBlobs>> {
    let view = store.view()?;
    let log = match view.log(Some(&subject.id), None) {
        Err(error) if error.is(&PROPOSAL_NOT_FOUND) => Vec::new(),
        log => log?,
    };
    let written = log.iter().find_map(|LogEntry { stamped, .. }| {
        let papers = stamped.papers().filter(|_| timestamp(stamped.event.time) == subject.time)?;
        let wanted = if subject.kind == UNDO { Verdict::Undo } else { Verdict::Apply };
        let is_it = papers.statement.verdict == wanted;
        papers.manifest.as_ref().filter(|_| is_it).map(Manifest::written)
    });
    if let Some(written) = written {
        let id = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.id.clone());
        return Ok(Some(written.iter().map(|w| (w.path.clone(), id(&w.after))).collect()));
    }
    if subject.kind != COMMIT || !committed(store, claim, subject)? {
        return Ok(None);
    }
    // The commit exists without an event, so the files stay. Nothing is recorded: a writer of the
    // git directory can forge such a journal and commit. The person decides again.
    let other = store_at(store.repository(), claim.root)?;
    let store = other.as_ref().unwrap_or(store);
    Ok(Some(
        claim.paths().map(|path| (path.clone(), store.repository().id_in_head(path))).collect(),
    ))
}

/// The store seen from `root`, if that is another work tree.
fn store_at(repository: &Repository, root: &Worktree) -> Result<Option<Store>> {
    match repository.work_dir() {
        Some(present) if root.is_at(&present) => Ok(None),
        _ => Store::discover(root.root()).map(Some),
    }
}

/// True if git made the commit: HEAD or its reflog names the proposal, or HEAD has exactly the
/// written files, for a hook may have changed the message.
fn committed(store: &Store, claim: &JournalClaim<'_>, subject: &Subject<'_>) -> Result<bool> {
    let other = store_at(store.repository(), claim.root)?;
    let store = other.as_ref().unwrap_or(store);
    let repo = store.repository().repo();
    Ok(history::commit_of(store.repository(), &subject.id, subject.seconds).is_some()
        || history::head_was_at(repo, &subject.id, subject.seconds)
        || claim
            .after()
            .all(|(path, after)| is_content(store, store.repository().id_in_head(path), after)))
}

/// Unstages a commit that was not made. `--commit` required its files to equal HEAD; another index
/// entry is not ours.
fn unstage(store: &Store, claim: &JournalClaim<'_>) -> Result<Vec<SkippedFile>> {
    let repository = store.repository();
    let other = store_at(repository, claim.root)?;
    let store = other.as_ref().unwrap_or(store);
    let mut left = Vec::new();
    let mut ours = Vec::new();
    for (path, after) in claim.after() {
        let staged = super::index::staged_entry(repository, path).map(|entry| entry.id);
        if staged == repository.id_in_head(path) {
            continue;
        }
        if is_content(store, staged, after) {
            ours.push(path.clone())
        } else {
            left.push(SkippedFile {
                path: path.clone(),
                why: "is staged otherwise than HEAD has it; see `git status`".into(),
            })
        }
    }
    if !ours.is_empty() {
        // A killed git's lock stays, so waiting is pointless.
        super::index::refuse_locked_index(repository)?;
        super::index::unstage(repository, &ours)?;
    }
    Ok(left)
}

/// Compares content with a SHA-1 id of the journal; the repository may use another hash.
fn is_content(store: &Store, id: Option<String>, named: Option<&str>) -> bool {
    let (Some(id), Some(named)) = (&id, named) else { return id.is_none() && named.is_none() };
    let sha1 = |bytes: Vec<u8>| {
        let kind = gix::hash::Kind::Sha1;
        let id = gix::objs::compute_hash(kind, gix::objs::Kind::Blob, &bytes).ok()?;
        Some(id.to_hex().to_string())
    };
    id == named
        || (id.len() != named.len()
            && store.blob(id).ok().and_then(sha1).is_some_and(|id| id == named))
}

/// Hint for a commit without a recorded decision.
pub fn not_recorded(id: &ProposalId) -> String {
    format!("decide on the committed content: aye apply {id} --commit")
}

fn unrecorded(store: &Store, recovered: &RecoveredTransaction) -> Option<ProposalId> {
    let subject = Subject::parse(recovered.subject.as_deref()?)?;
    let made = subject.kind == COMMIT && recovered.action == RecoveryOutcome::Finished;
    let id = Some(subject.id).filter(|_| made)?;
    let proposal = store.view().ok()?.proposal(&id).ok()?;
    matches!(proposal.state, crate::proposal::State::Pending).then_some(id)
}

fn words(store: &Store, recovered: RecoveredTransaction) -> RecoveryMessage {
    let unrecorded = unrecorded(store, &recovered);
    let what = recovered.subject.as_deref().unwrap_or("write");
    let what = what.rsplit_once(' ').map_or(what, |(what, _)| what);
    let root = recovered.root.display();
    let mut message = match recovered.action {
        RecoveryOutcome::Finished => format!("completed the interrupted '{what}' in {root}"),
        RecoveryOutcome::Undone => format!("undid the interrupted '{what}' in {root}"),
        RecoveryOutcome::WorktreeGone => {
            format!("dropped the interrupted '{what}': {root} is gone")
        }
    };
    if let Some(id) = unrecorded {
        message = format!(
            "committed, not recorded: {id} was committed in {root} and its files stay, but the \
             decision was not recorded; {}",
            not_recorded(&id)
        );
    }
    if !recovered.changed.is_empty() {
        let shown = recovered.changed.iter().take(SHOWN).map(|path| path.display().to_string());
        message += &format!(", which changed {}", shown.collect::<Vec<_>>().join(", "));
        if let more @ 1.. = recovered.changed.len().saturating_sub(SHOWN) {
            message += &format!(" and {more} more");
        }
    }
    let left =
        recovered.skipped.iter().map(|l| format!("{} {}", l.path.display(), l.why)).collect();
    RecoveryMessage { message, left }
}
