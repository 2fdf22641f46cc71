//! Refs that are set aside and events that do not count: reported, and never in the way.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::View;
use super::thread::{SetAside, Thread};
use crate::error::{Error, Result};
use crate::proposal::history::History;
use crate::proposal::state::Skipped;
use crate::proposal::{ProposalId, fold};

pub const SKIPPED: &str = "event_skipped";

/// A fault of a thread, a ref of it, or an event in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadFault {
    pub code: String,
    /// The ref, the event's commit, or the thread.
    pub name: String,
    pub proposal: Option<ProposalId>,
    pub why: String,
}

impl View<'_> {
    /// The faults of all threads as their commits are now: the memo does not notice that an object was
    /// lost. `each` gets every thread that can be read.
    pub fn troubles_now(
        &self,
        mut each: impl FnMut(&ProposalId, &History),
    ) -> Result<Vec<ThreadFault>> {
        let ids = self.threads.all_ids()?;
        let mut found: Vec<ThreadFault> =
            self.threads.ledger()?.aside().iter().map(ThreadFault::of_chunk).collect();
        for id in ids {
            let thread = match self.thread_now(&id) {
                Ok(thread) => thread,
                Err(error) => {
                    found.push(ThreadFault::of_thread(&id, &error));
                    continue;
                }
            };
            each(&ProposalId::from_event(&id.to_string()), &thread.history);
            found.extend(thread.set_aside.iter().map(|aside| ThreadFault::of_ref(&thread, aside)));
            let skipped =
                fold(&thread.history).map(|proposal| proposal.skipped).unwrap_or_default();
            found.extend(skipped.iter().map(|skipped| ThreadFault::of_event(&thread, skipped)));
        }
        Ok(found)
    }
}

impl ThreadFault {
    pub(super) fn of_ref(thread: &Thread, aside: &SetAside) -> Self {
        Self {
            proposal: Some(ProposalId::from_event(&thread.id.to_string())),
            ..Self::of_chunk(aside)
        }
    }

    pub(super) fn of_chunk(aside: &SetAside) -> Self {
        Self {
            code: aside.code.id.to_owned(),
            name: aside.name.clone(),
            proposal: None,
            why: aside.why.clone(),
        }
    }

    pub(super) fn of_event(thread: &Thread, skipped: &Skipped) -> Self {
        Self {
            code: SKIPPED.to_owned(),
            name: skipped.event.clone(),
            proposal: Some(ProposalId::from_event(&thread.id.to_string())),
            why: skipped.why.as_str().to_owned(),
        }
    }

    pub(super) fn of_thread(id: &ObjectId, error: &Error) -> Self {
        let id = id.to_string();
        Self {
            code: error.code().id.to_owned(),
            proposal: Some(ProposalId::from_event(&id)),
            name: id,
            why: error.message().to_owned(),
        }
    }

    /// True for an event that does not count, which damages nothing.
    pub fn is_skipped(&self) -> bool {
        self.code == SKIPPED
    }

    /// One sentence without a final period. It quotes untrusted text unescaped.
    pub fn message(&self) -> String {
        let Self { name, why, .. } = self;
        let short: String = name.chars().take(12).collect();
        match &self.proposal {
            Some(id) if self.is_skipped() => format!("event {short} of {id} does not count: {why}"),
            Some(id) if name.starts_with("refs/") => format!("{name} is set aside in {id}: {why}"),
            Some(id) => format!("{id} cannot be read: {why}"),
            None => format!("{name} is set aside: {why}"),
        }
    }
}

/// Trouble that the views of one command have met, each once.
#[derive(Clone, Debug, Default)]
pub struct Notices(Rc<RefCell<NoticeList>>);

#[derive(Debug, Default)]
struct NoticeList {
    trouble: BTreeSet<ThreadFault>,
    unflushed: BTreeSet<String>,
}

impl Notices {
    /// Notes the faults that every command warns of. Checks report events that do not count.
    pub(super) fn add(&self, found: &[ThreadFault]) {
        if found.is_empty() {
            return;
        }
        if let Ok(mut notices) = self.0.try_borrow_mut() {
            notices.trouble.extend(found.iter().filter(|trouble| !trouble.is_skipped()).cloned());
        }
    }

    /// Notes that the ref `name` was moved and could not be flushed.
    pub(super) fn unflushed(&self, name: &str, error: &std::io::Error) {
        if let Ok(mut notices) = self.0.try_borrow_mut() {
            notices.unflushed.insert(format!(
                "this is recorded in {name}, and the disk does not say that it stays there: {error}"
            ));
        }
    }

    /// At most one line for each code; the notices are taken.
    pub fn take_lines(&self) -> Vec<String> {
        let met = self.0.try_borrow_mut().map(|mut found| std::mem::take(&mut *found));
        let NoticeList { trouble, unflushed } = met.unwrap_or_default();
        let mut by_code: BTreeMap<&str, Vec<&ThreadFault>> = BTreeMap::new();
        for found in &trouble {
            by_code.entry(&found.code).or_default().push(found);
        }
        let line = |(code, found): (&str, Vec<&ThreadFault>)| match &found[..] {
            [one] => format!("{}; `aye check` reports it", one.message()),
            all => format!("{} refs or threads are {code}; `aye check` reports them", all.len()),
        };
        unflushed.into_iter().chain(by_code.into_iter().map(line)).collect()
    }
}
