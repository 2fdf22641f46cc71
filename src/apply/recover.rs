//! What an interrupted apply left, settled by the next command.

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
use crate::worktree::journal::{self, Action, Claim, Journal, Left, Named, Recovered};
use crate::worktree::{Worktree, codes as worktree};

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
    /// Journals that were not carried out, or not to their end, and stay: `journal_foreign`,
    /// `journal_invalid`, `index_locked`.
    pub refused: Vec<Error>,
}

/// Settles what a process that is gone left half written. Costs one look where there is nothing;
/// does not wait where another process is at work.
///
/// # Errors
/// `private_dir_unsafe`, and those of the store and the work tree.
pub fn recover(store: &Store) -> Result<Settled> {
    let settled = journal::recover(&journal_directory(store.repository()), &OfStore(store))?;
    let done = settled.done.into_iter().map(|recovered| words(store, recovered)).collect();
    Ok(Settled { done, refused: settled.refused })
}

/// Sets journals aside that are not carried out, so that applies can go on; says which.
///
/// # Errors
/// `apply_busy`, `private_dir_unsafe`, and those of the file system.
pub fn set_refused_aside(store: &Store) -> Result<Vec<String>> {
    let journal = Journal::open(&journal_directory(store.repository()), super::PATIENCE)?;
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
        if !self.0.repository().lists(claim.root) {
            return Ok(Some(format!("{shown} is not a work tree of this repository")));
        }
        let enters = self.0.repository().enters_git_dir(root);
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

    fn undone(&self, claim: &Claim<'_>, subject: &str) -> Result<Vec<Left>> {
        let Some(subject) = Subject::parse(subject).filter(|subject| subject.kind == COMMIT) else {
            return Ok(Vec::new());
        };
        match unstage(self.0, claim) {
            Err(error) if error.is(&worktree::INDEX_LOCKED) => Err(error.after(format_args!(
                "what an interrupted '{} {}' has staged in {} is still staged",
                subject.kind,
                subject.id,
                claim.root.root().display()
            ))),
            Err(error) => {
                let why = format!("may still be staged: {}", error.message());
                let first = claim.paths().take(1);
                Ok(first.map(|path| Left { path: path.clone(), why: why.clone() }).collect())
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

/// What names the event that stands for a transaction: `id` is a proposal's, or, of an undo, a direct patch's
/// (`patch_…`). All events of one command bear its time, and one command at a time writes files, so kind, id
/// and time are enough.
pub fn subject(kind: &str, id: &dyn std::fmt::Display, now: DateTime<Utc>) -> String {
    format!("{kind} {id} {}", timestamp(now))
}

/// A subject, taken apart.
struct Subject<'a> {
    kind: &'a str,
    /// The proposal's, or that of the direct patch's event.
    id: ProposalId,
    time: &'a str,
    seconds: i64,
}

impl<'a> Subject<'a> {
    /// Reads what [`subject`] writes; `None` for anything else.
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

fn recorded(store: &Store, claim: &Claim<'_>, subject: &Subject<'_>) -> Result<Option<Named>> {
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
    // A commit was made and the event was not: the files stay as committed. Whose decision it was,
    // nothing here can tell: whoever can write the git directory can write such a journal, and such
    // a commit. So nothing is recorded, and the person is asked again.
    let other = elsewhere(store.repository(), claim.root)?;
    let store = other.as_ref().unwrap_or(store);
    Ok(Some(
        claim.paths().map(|path| (path.clone(), store.repository().id_in_head(path))).collect(),
    ))
}

/// The store as seen from the work tree `root`, which is one of its own, where that is another than the present one.
fn elsewhere(repository: &Repository, root: &Worktree) -> Result<Option<Store>> {
    match repository.work_dir() {
        Some(present) if root.is_at(&present) => Ok(None),
        _ => Store::discover(root.root()).map(Some),
    }
}

/// True if git has made the commit: one of HEAD, or of its reflog, names the proposal; or HEAD has
/// exactly the files that were written, for a hook may have changed the message.
fn committed(store: &Store, claim: &Claim<'_>, subject: &Subject<'_>) -> Result<bool> {
    let other = elsewhere(store.repository(), claim.root)?;
    let store = other.as_ref().unwrap_or(store);
    let repo = store.repository().repo();
    Ok(history::commit_of(store.repository(), &subject.id, subject.seconds).is_some()
        || history::head_was_at(repo, &subject.id, subject.seconds)
        || claim
            .after()
            .all(|(path, after)| is_content(store, store.repository().id_in_head(path), after)))
}

/// Takes what was staged for a commit that was not made out of the index again. The files were as
/// HEAD had them, or `--commit` would have refused; what the index has otherwise by now is somebody
/// else's.
fn unstage(store: &Store, claim: &Claim<'_>) -> Result<Vec<Left>> {
    let repository = store.repository();
    let other = elsewhere(repository, claim.root)?;
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
            left.push(Left {
                path: path.clone(),
                why: "is staged otherwise than HEAD has it; see `git status`".into(),
            })
        }
    }
    if !ours.is_empty() {
        // Git that was killed leaves its lock for long: no command waits for it.
        super::index::refuse_locked_index(repository)?;
        super::index::unstage(repository, &ours)?;
    }
    Ok(left)
}

/// True if the blob `id` of the repository is the content that a journal names, whose ids are SHA-1
/// everywhere.
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

/// What to do about a commit of the proposal `id` whose decision is not recorded.
pub fn not_recorded(id: &ProposalId) -> String {
    format!("decide on what was committed: aye apply {id} --commit")
}

/// The proposal of an apply whose commit stands and whose event does not.
fn unrecorded(store: &Store, recovered: &Recovered) -> Option<ProposalId> {
    let subject = Subject::parse(recovered.subject.as_deref()?)?;
    let made = subject.kind == COMMIT && recovered.action == Action::Finished;
    let id = Some(subject.id).filter(|_| made)?;
    let proposal = store.view().ok()?.proposal(&id).ok()?;
    matches!(proposal.state, crate::proposal::State::Pending).then_some(id)
}

fn words(store: &Store, recovered: Recovered) -> Recovery {
    let unrecorded = unrecorded(store, &recovered);
    let what = recovered.subject.as_deref().unwrap_or("write");
    let what = what.rsplit_once(' ').map_or(what, |(what, _)| what);
    let root = recovered.root.display();
    let mut message = match recovered.action {
        Action::Finished => format!("completed the interrupted '{what}' in {root}"),
        Action::Undone => format!("undid the interrupted '{what}' in {root}"),
        Action::WorktreeGone => format!("dropped the interrupted '{what}': {root} is gone"),
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
    let left = recovered.left.iter().map(|l| format!("{} {}", l.path.display(), l.why)).collect();
    Recovery { message, left }
}
