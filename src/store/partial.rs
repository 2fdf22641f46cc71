//! Partial clones: `git clone --filter=blob:none` leaves manifests, lists and contents with the promisor
//! remote. The events themselves are in commits, which every clone has.
//!
//! Git would fetch them one by one, a process and a connection each. What a thread needs, and what a proposal
//! changes, is asked for at once instead, as git itself asks (`fetch_objects` in its `promisor-remote.c`).
//! Where the remote cannot be reached, what is missing stays missing, which is reported, and every later
//! command asks again: an object that is not here yet is not a damaged one. A remote that takes long to fail
//! is left alone for ten times as long, so that commands do not wait for it one after the other.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bstr::ByteSlice as _;
use gix::ObjectId;
use gix::objs::Exists as _;

use super::Store;
use crate::proposal::ChangeRecord;

/// How many objects that the remote does not have are found out, one for each time it is asked.
const MOST_REFUSED: usize = 16;

/// How long it may take a remote to fail without being left alone afterwards.
const SHORT: Duration = Duration::from_secs(1);

/// Longest time for which a remote is left alone.
const LONGEST: Duration = Duration::from_mins(10);

/// The file in aye's own directory that says until when, in milliseconds since 1970.
pub(super) const UNANSWERED: &str = "unanswered";

/// What the promisor remote of a clone was asked for in vain.
#[derive(Default)]
pub(super) struct Promised(RefCell<Asked>);

#[derive(Default)]
struct Asked {
    /// What the remote does not have.
    refused: HashSet<ObjectId>,
    /// Until when it is not asked again.
    until: Option<Instant>,
}

impl Store {
    /// Whether the promisor remote may be asked again for what threads lack: there is one, and it has not
    /// just kept a command waiting in vain.
    pub(super) fn may_ask_again(&self) -> bool {
        self.repository().is_partial()
            && self.promised.0.borrow().may_ask()
            && !self.is_left_alone()
    }

    /// Lets the promisor remote be asked again, however long it took to fail.
    pub fn ask_again(&self) {
        if !self.repository().is_partial() {
            return;
        }
        *self.promised.0.borrow_mut() = Asked::default();
        if let Ok(Some(private)) = self.repository().private() {
            private.remove(UNANSWERED);
        }
    }

    fn is_left_alone(&self) -> bool {
        let until = || {
            let bytes = self.repository().private().ok()??.read(UNANSWERED).ok()??;
            bytes.to_str().ok()?.trim().parse::<u64>().ok()
        };
        let now = since_epoch().as_millis();
        // A clock that was set back leaves it alone for no longer than one that was not.
        until().is_some_and(|until| {
            let until = u128::from(until);
            until > now && until - now <= LONGEST.as_millis()
        })
    }

    /// Fetches what both sides of `changes` consist of and is not here, in one go, where this is a
    /// partial clone.
    pub fn fetch_contents<'c>(&self, changes: impl IntoIterator<Item = &'c ChangeRecord>) {
        if !self.repository().is_partial() {
            return;
        }
        let sides = changes.into_iter().flat_map(|change| [&change.before, &change.after]);
        let ids = sides.flatten().filter_map(|entry| ObjectId::from_hex(entry.id.as_bytes()).ok());
        self.ask(ids.collect());
    }

    /// Whether this is a partial clone that does not have the blob `id`, though it asked its remote.
    pub(super) fn lacks(&self, id: &str) -> bool {
        if !self.repository().is_partial() || self.repository().has(id) {
            return false;
        }
        self.ask(ObjectId::from_hex(id.as_bytes()).into_iter().collect());
        !self.repository().has(id)
    }

    /// Asks the promisor remote for those of `wanted` that are not here. Returns whether it gave any.
    pub(super) fn ask(&self, mut wanted: BTreeSet<ObjectId>) -> bool {
        let Some(remote) = self.repository().promisor() else { return false };
        if crate::git::kept_offline().is_some() {
            return false;
        }
        wanted.retain(|id| !self.repository().repo.objects.exists(id));
        let started = Instant::now();
        for _ in 0..MOST_REFUSED {
            wanted.retain(|id| !self.promised.0.borrow().refused.contains(id));
            if wanted.is_empty() || !self.promised.0.borrow().may_ask() {
                return false;
            }
            let ids: String = wanted.iter().map(|id| format!("{id}\n")).collect();
            let Ok(git) = self.repository().git() else { return false };
            let answer = git
                .without_hooks()
                .config("fetch.negotiationAlgorithm", "noop")
                .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
                .args(["--no-auto-maintenance", "--recurse-submodules=no"])
                .args(["--filter=blob:none", "--stdin", remote])
                .stdin(ids)
                .answer();
            let Ok(answer) = answer else { return false };
            if answer.ok() {
                return true;
            }
            // It refuses all for the first one that it lacks, and names it.
            let words = answer.stderr.split(|byte| !byte.is_ascii_hexdigit());
            let named = words.filter_map(|word| ObjectId::from_hex(word).ok());
            let refused: Vec<ObjectId> = named.filter(|id| wanted.contains(id)).collect();
            self.leave_alone(started.elapsed(), !refused.is_empty());
            if refused.is_empty() {
                return false;
            }
            self.promised.0.borrow_mut().refused.extend(refused);
        }
        false
    }

    /// The promisor remote took `time` to fail, or to say that it does not have something.
    fn leave_alone(&self, time: Duration, has_answered: bool) {
        let pause = time.saturating_mul(10).min(LONGEST);
        if !has_answered {
            // This process does not ask again at once; it may run for long.
            self.promised.0.borrow_mut().until = Instant::now().checked_add(pause.max(SHORT));
        }
        if time < SHORT && !has_answered {
            return;
        }
        if let Ok(Some(private)) = self.repository().private() {
            let until = since_epoch().saturating_add(pause.max(SHORT)).as_millis();
            let _ = private.replace(UNANSWERED, until.to_string().as_bytes(), false);
        }
    }
}

impl Asked {
    fn may_ask(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
