//! Partial clones: `git clone --filter=blob:none` leaves manifests, lists and contents with the
//! promisor remote. The events are in commits, which every clone has.
//!
//! Git would fetch the objects one by one, a process and a connection each. A thread's and a
//! proposal's objects are requested at once instead, as in git's `fetch_objects`
//! (`promisor-remote.c`). If the remote cannot be reached, the missing objects are reported, and
//! later commands ask again: an object that is not here yet is not damaged. A remote that takes
//! long to fail is not asked for ten times as long, so that commands do not wait one after the
//! other.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bstr::ByteSlice as _;
use gix::ObjectId;
use gix::objs::Exists as _;

use super::Store;
use crate::proposal::ChangeRecord;

/// Objects missing at the remote that are found out, one for each request.
const MOST_REFUSED: usize = 16;

/// Time that a remote may take to fail without a pause afterwards.
const SHORT: Duration = Duration::from_secs(1);

const LONGEST: Duration = Duration::from_mins(10);

/// The file in `.git/aye` with the end of the pause, in milliseconds since 1970.
pub(super) const UNANSWERED: &str = "unanswered";

#[derive(Default)]
pub(super) struct PromisorRequests(RefCell<RequestState>);

#[derive(Default)]
struct RequestState {
    refused: HashSet<ObjectId>,
    until: Option<Instant>,
}

impl Store {
    /// True if there is a promisor remote and it is not paused.
    pub(super) fn may_ask_again(&self) -> bool {
        self.repository().is_partial()
            && self.promised.0.borrow().may_ask()
            && !self.is_left_alone()
    }

    pub fn ask_again(&self) {
        if !self.repository().is_partial() {
            return;
        }
        *self.promised.0.borrow_mut() = RequestState::default();
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
        // The pause is limited: the clock may have been set back.
        until().is_some_and(|until| {
            let until = u128::from(until);
            until > now && until - now <= LONGEST.as_millis()
        })
    }

    /// Fetches missing content of both sides of `changes` in one request, in a partial clone.
    pub fn fetch_contents<'c>(&self, changes: impl IntoIterator<Item = &'c ChangeRecord>) {
        if !self.repository().is_partial() {
            return;
        }
        let sides = changes.into_iter().flat_map(|change| [&change.before, &change.after]);
        let ids = sides.flatten().filter_map(|entry| ObjectId::from_hex(entry.id.as_bytes()).ok());
        self.ask(ids.collect());
    }

    /// True if this is a partial clone without the blob `id`, even after a request.
    pub(super) fn lacks(&self, id: &str) -> bool {
        if !self.repository().is_partial() || self.repository().has(id) {
            return false;
        }
        self.ask(ObjectId::from_hex(id.as_bytes()).into_iter().collect());
        !self.repository().has(id)
    }

    /// Requests the missing ones of `wanted` from the promisor remote. Returns true if it sent any.
    pub(super) fn ask(&self, mut wanted: BTreeSet<ObjectId>) -> bool {
        let Some(remote) = self.repository().promisor() else { return false };
        if crate::git::offline_key().is_some() {
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
            // The remote refuses all for the first missing one, and names it.
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

    /// Pauses the promisor remote, which took `time` to fail or to report a missing object.
    fn leave_alone(&self, time: Duration, has_answered: bool) {
        let pause = time.saturating_mul(10).min(LONGEST);
        if !has_answered {
            // This process may run for long, and does not ask again at once.
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

impl RequestState {
    fn may_ask(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
