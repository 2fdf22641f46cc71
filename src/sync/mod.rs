//! Exchange of threads between clones, through a remote. Git is the transport.
//!
//! Fetch brings all clones' directories, push sends this clone's own. Neither is forced, so git
//! refuses what goes back, and nothing here replaces an event. What a remote has lost is kept
//! before its ref goes. Each step can be repeated: after a kill the next sync completes it.

mod directory;
pub mod disclosure;
mod fetch;
pub mod probe;
mod push;
mod reach;
mod sendable;

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use gix::ObjectId;
use schemars::JsonSchema;
use serde::Serialize;

use self::directory::Directory;
use crate::error::{Error, Result};
use crate::git::GitOutput;
use crate::proposal::ProposalId;
use crate::store::{Refs, Role, Store, codes as store_codes, fetched_directory, push_directory};

pub mod codes {
    crate::codes! {
        REMOTE_FAILED = "remote_failed", Busy, "git could not reach a remote, or the remote refused all";
        SYNC_NOT_ENABLED = "sync_not_enabled", Refused, "this clone does not share proposals with the remote";
        NOT_SENDABLE = "not_sendable", Invalid, "a proposal has content that servers refuse, and is sent in no pack";
        PUSH_REFUSED = "push_refused", Refused, "a remote refused a ref of this clone";
        CLONE_COPIED = "clone_copied", Conflict, "somebody else writes below this clone's directory of a remote";
    }
}

/// Another clone may move refs between fetch and push; then both are done again.
const ROUNDS: usize = 4;

/// A second writer in this clone's directory within this time is not taken for another copy.
const RENEWAL: Duration = Duration::days(1);

/// The file in `.git/aye` with the time of the last new name, in seconds since 1970.
const RENEWED: &str = "renewed";

#[derive(Clone, Copy, Debug)]
pub struct SyncRequest<'a> {
    pub remote: &'a str,
    pub push: bool,
    /// Git may ask for credentials at the terminal.
    pub prompts: bool,
    pub now: DateTime<Utc>,
}

/// What was exchanged with one remote.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SyncAnswer {
    /// The remote.
    pub remote: String,
    /// Commit ids of the first events of the threads with new events of other clones.
    #[schemars(with = "Vec<String>")]
    pub received: BTreeSet<String>,
    /// The same of the threads with events that were sent.
    #[schemars(with = "Vec<String>")]
    pub sent: BTreeSet<String>,
    /// Refs of this clone that the remote does not need any more, and that were deleted there.
    pub deleted: usize,
    /// Refs of events that the remote has lost.
    pub kept: Vec<String>,
    /// This clone's new name, if somebody else writes under the old one: a copy of it, or itself
    /// before it was restored from a backup.
    pub clone: Option<String>,
    /// Refs that were not sent.
    pub refused: Vec<RefusedRef>,
}

/// A ref that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedRef {
    /// `not_sendable`, `thread_damaged`, `push_refused` or `clone_copied`.
    pub code: &'static str,
    /// The ref at the remote.
    pub name: String,
    /// The proposal, if it is one's ref.
    pub proposal_id: Option<String>,
    /// Git's or the remote's words. Untrusted.
    pub why: String,
}

impl RefusedRef {
    fn new(code: &'static crate::error::Code, name: String, why: impl Into<String>) -> Self {
        let thread = name.rsplit_once('/').map(|(above, id)| (above.rsplit('/').next(), id));
        let thread = thread.filter(|(above, _)| !matches!(above, Some("closed" | "gone")));
        let proposal_id = thread.map(|(_, id)| ProposalId::from_event(id).to_string());
        Self { code: code.id, name, proposal_id, why: why.into() }
    }
}

/// Fetches from the remote, and pushes to it if that is asked for.
///
/// # Errors
/// `remote_not_found`, `remote_failed`, `busy`, `ci_has_no_clone`.
pub fn sync(store: &Store, request: &SyncRequest<'_>) -> Result<SyncAnswer> {
    require_remote(store, request.remote)?;
    let remote = request.remote.to_owned();
    let mut answer = SyncAnswer { remote, ..SyncAnswer::default() };
    let before = store.fetched_refs(request.remote)?;
    let mut fetched = before.clone();
    for round in 1..=ROUNDS {
        fetch::fetch(store, request, &mut fetched, &mut answer)?;
        if !request.push || !push_once(store, request, &fetched, &mut answer, round == ROUNDS)? {
            break;
        }
        fetched = store.fetched_refs(request.remote)?;
    }
    if fetched.is_empty() {
        store.note_empty_remote()?;
    }
    let own = store.clone_id();
    for (name, at) in fetched {
        if before.get(&name) == Some(&at) {
            continue;
        }
        let Some(found) = store.remote_ref(&name) else { continue };
        if found.role == Role::Thread && Some(&found.clone) != own.as_ref() {
            answer.received.insert(found.id.to_string());
        }
    }
    Ok(answer)
}

/// Pushes this clone's directory. Returns true if the remote has moved since the fetch.
fn push_once(
    store: &Store,
    request: &SyncRequest<'_>,
    fetched: &Refs,
    answer: &mut SyncAnswer,
    is_last: bool,
) -> Result<bool> {
    let own = store.shared_refs()?;
    let Some(mut clone) = store.clone_id().filter(|_| !own.is_empty()) else { return Ok(false) };
    let damaged = store.damaged_refs()?;
    let compare = |clone: &str| {
        let above = fetched_directory(request.remote, clone);
        Directory::compare(store, fetched, &above, &own, &damaged)
    };
    let mut directory = compare(&clone)?;
    if !directory.foreign.is_empty() {
        match renew(store, request.now)? {
            Some(fresh) => {
                answer.clone = Some(fresh.clone());
                clone = fresh;
                directory = compare(&clone)?;
            }
            None => {
                let why = "another clone has written it, again within a day; \
                           `aye doctor --repair` gives this clone a new name";
                let refused = directory.foreign.iter().map(|rest| {
                    RefusedRef::new(&codes::CLONE_COPIED, push_directory(&clone) + rest, why)
                });
                answer.refused = refused.collect();
            }
        }
    }
    let unsent = sendable::remove_unsendable(store, request.remote, fetched, &mut directory.send)?;
    let unsent = unsent.into_iter().map(|(rest, why)| (rest, why, &codes::NOT_SENDABLE));
    let why = "no events here, as after `git filter-repo`; `aye doctor` names the remedy";
    let damaged = damaged.iter().filter(|rest| own.contains_key(*rest));
    let damaged = damaged.map(|rest| (rest.clone(), why.to_owned(), &store_codes::THREAD_DAMAGED));
    let unsent = unsent
        .chain(damaged)
        .map(|(rest, why, code)| RefusedRef::new(code, push_directory(&clone) + &rest, why));
    let mut refused: Vec<RefusedRef> = answer.refused.drain(..).chain(unsent).collect();
    let pushed = push::push(store, request, &clone, &directory)?;
    let is_thread = |rest: &&String| ObjectId::from_hex(rest.as_bytes()).is_ok();
    answer.sent.extend(pushed.sent.iter().filter(is_thread).cloned());
    answer.deleted += pushed.deleted;
    if pushed.is_behind && !is_last {
        return Ok(true);
    }
    refused.extend(pushed.refused);
    answer.refused = refused;
    Ok(false)
}

/// A new name for this clone; `None` if it got one less than a day ago.
fn renew(store: &Store, now: DateTime<Utc>) -> Result<Option<String>> {
    let private = store.repository().make_private()?;
    let last = private.read(RENEWED)?.and_then(|bytes| String::from_utf8(bytes).ok());
    let last = last.and_then(|text| DateTime::from_timestamp(text.trim().parse().ok()?, 0));
    if last.is_some_and(|last| last <= now && now - last < RENEWAL) {
        return Ok(None);
    }
    private.replace(RENEWED, now.timestamp().to_string().as_bytes(), false)?;
    crate::failpoint!("sync.renew");
    let clone = store.renew_clone_id()?;
    crate::failpoint!("sync.renewed");
    Ok(Some(clone))
}

/// # Errors
/// `remote_not_found`.
pub fn require_remote(store: &Store, remote: &str) -> Result<()> {
    let all = store.remotes();
    if all.iter().any(|name| name == remote) {
        return Ok(());
    }
    let hint = match &all[..] {
        [] => "git remote add origin URL".to_owned(),
        all => format!("git's configuration has {}", all.join(", ")),
    };
    Err(Error::new(
        &crate::store::codes::REMOTE_NOT_FOUND,
        format!("there is no remote '{remote}'"),
    )
    .hint(hint))
}

fn failed(remote: &str, answer: &GitOutput) -> Error {
    let message = format!("{remote}: {}", answer.reason());
    Error::new(&codes::REMOTE_FAILED, message).hint(format!(
        "nothing is lost: try again later; `git ls-remote {remote}` shows whether git reaches it"
    ))
}
