//! Problems of a store.

use chrono::{DateTime, Utc};

use super::leftovers::{self, Leftover};
use super::objects::{Damaged, Objects};
use super::{ExamineOptions, Problem, is_by_others, remotes};
use crate::error::{Error, Result};
use crate::memory::service::settings_problems;
use crate::private::codes::PRIVATE_DIR_UNSAFE;
use crate::proposal::ProposalId;
use crate::repository::codes::INVALID_CONFIG;
use crate::repository::idle;
use crate::store::{ProjectionFaults, Store, ThreadFault, View};
use crate::worktree::codes as apply;

pub(super) struct StoreScan {
    pub(super) problems: Vec<Problem>,
    /// Troubles of refs and events, including other clones'.
    pub(super) troubles: Vec<ThreadFault>,
    pub(super) left: Vec<Leftover>,
}

impl StoreScan {
    pub(super) fn at(
        store: &Store,
        view: &View<'_>,
        wanted: ExamineOptions,
        now: DateTime<Utc>,
    ) -> Result<Self> {
        // First: notes written by this scan would replace unsafe entries.
        let private = match store.repository().private() {
            Ok(None) => Vec::new(),
            Ok(Some(private)) => private.unsafe_entries(),
            Err(error) => vec![error],
        };
        let left = leftovers::find(store, view, wanted.full, now)?;
        let mut objects = Objects::new(store.repository(), wanted.reads_all());
        let troubles = view.troubles_now(|id, history| objects.thread(id, history))?;
        let damaged = objects.damaged;
        let mut looking = Looking { store, view, now, problems: Vec::new() };
        looking.threads(&troubles)?;
        looking.objects(&damaged);
        looking.forged_stamp()?;
        looking.private(&private);
        looking.pushes();
        looking.examined(store.projection_faults(view, wanted.reads_all(), now)?, &damaged);
        looking.settings();
        looking.surroundings(&left);
        Ok(Self { problems: looking.problems, troubles, left })
    }
}

struct Looking<'a> {
    store: &'a Store,
    view: &'a View<'a>,
    now: DateTime<Utc>,
    problems: Vec<Problem>,
}

impl Looking<'_> {
    fn add(&mut self, code: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, message));
    }

    fn add_hinted(&mut self, code: &str, message: String, hint: impl Into<String>) {
        self.problems.push(Problem::new(code, message).hint(Some(hint)));
    }

    fn objects(&mut self, found: &[Damaged]) {
        for Damaged { id, message } in found {
            let (end, given_up) = end_of(self.view, id);
            let hint = format!(
                "git fetch --refetch REMOTE, where a clone or remote has it; to {given_up}: {end}"
            );
            self.add_hinted("object_missing", message.clone(), hint);
        }
    }

    /// Unreadable threads and refs, tombstones to follow, and copies of this clone.
    fn threads(&mut self, troubles: &[ThreadFault]) -> Result<()> {
        for trouble in troubles.iter().filter(|trouble| !is_by_others(trouble)) {
            self.add(trouble.code.clone(), trouble.message());
        }
        for name in self.store.copied_refs(self.view)? {
            self.add("clone_copied", format!("{name} was written by a copy of this clone"));
        }
        for holder in self.store.purged_content(self.view)? {
            let by = if holder.is_own { "here" } else { "by another clone" };
            let (id, names) = (&holder.id, holder.names.join(", "));
            self.add("purged_content", format!("{id} was purged {by}, and is still in {names}"));
        }
        for name in self.store.sessions_of_purged()? {
            let message = format!("session {name} has purged content, in refs/aye/session/{name}");
            let hint = format!("aye session end {name} --discard");
            self.add_hinted("purged_content", message, hint);
        }
        Ok(())
    }

    /// A forged stamp hides pending proposals from `list`, `check` and git's hook.
    fn forged_stamp(&mut self) -> Result<()> {
        let (store, view, now) = (self.store, self.view, self.now);
        let waiting = view.count_pending(now)? + view.contested(now)?.len();
        if waiting == 0 || !idle::look(store.repository().common_dir(), now) || !view.is_current() {
            return Ok(());
        }
        self.add(
            "stamp_forged",
            format!("the file idle in .git/aye says that nothing waits, and {waiting} do"),
        );
        Ok(())
    }

    fn private(&mut self, found: &[Error]) {
        let refused = match crate::apply::recover(self.store) {
            Ok(settled) => settled.refused,
            Err(error) if error.is(&PRIVATE_DIR_UNSAFE) => Vec::new(),
            Err(error) => vec![error],
        };
        for error in found.iter().chain(&refused) {
            // Repairs do not touch unknown files.
            let is_by_hand = error.is(&PRIVATE_DIR_UNSAFE) || error.is(&apply::INDEX_LOCKED);
            match error.hint_text().filter(|_| is_by_hand) {
                Some(hint) => self.add_hinted(error.code().id, error.message().to_owned(), hint),
                None => self.add(error.code().id, error.message()),
            }
        }
    }

    fn pushes(&mut self) {
        for found in remotes::misconfigured(self.store.repository()) {
            if remotes::is_leak(self.store, &found) {
                self.add("private_pushed", remotes::setting(&found));
            }
        }
    }

    /// Skips threads whose missing object is `named` already.
    fn examined(&mut self, examined: ProjectionFaults, named: &[Damaged]) {
        for (what, why) in examined.refs {
            self.add(format!("pending_ref_{what}"), why);
        }
        for (id, error) in examined.unreadable {
            if named.iter().any(|damaged| damaged.id == id) {
                continue;
            }
            // Repair cannot recreate its content.
            let (end, given_up) = end_of(self.view, &id);
            let hint = format!(
                "git fetch --refetch REMOTE, where it has what is missing; to {given_up}: {end}"
            );
            self.add_hinted(error.code().id, format!("{id}: {}", error.message()), hint);
        }
        match examined.projections {
            Ok(found) => {
                for found in found {
                    let (path, id) = (found.path.display(), &found.id);
                    let message = format!("{path} ({id}); nothing is read from it");
                    self.add(format!("projection_{}", found.what), message);
                }
            }
            Err(error) => self.add(error.code().id, error.message()),
        }
    }

    fn settings(&mut self) {
        let config = self.store.repository().settings().err();
        if config.is_some() {
            // Errors caused by the invalid value are not damage.
            self.problems.retain(|problem| problem.code != INVALID_CONFIG.id);
        }
        let policy = self.store.repository().policy().err();
        let policy = policy.filter(|error| !error.is(&INVALID_CONFIG) || config.is_none());
        let errors: Vec<Error> = config
            .into_iter()
            .chain(policy)
            .chain(settings_problems(self.store.repository()))
            .collect();
        self.problems.extend(errors.iter().map(Problem::of));
    }

    fn surroundings(&mut self, left: &[Leftover]) {
        for left in left {
            let path = left.path(self.store);
            let message = format!("{} was left by a process that was stopped", path.display());
            self.add("left_over", message);
        }
        for (path, age) in leftovers::stale_locks(self.store.repository(), self.now) {
            let (path, minutes) = (path.display(), age.as_secs() / 60);
            let message = format!("{path} has been there for {minutes} minutes; git waits for it");
            self.add("git_lock_stale", message);
        }
        for error in leftovers::unwritable(self.store.repository()) {
            self.add("not_writable", error.message());
        }
    }
}

/// Command that ends a damaged proposal, and its effect in words.
fn end_of(view: &View<'_>, id: &ProposalId) -> (String, &'static str) {
    if view.proposal(id).is_ok_and(|proposal| proposal.decision().is_none()) {
        (format!("aye reject {id} -m damaged"), "give it up")
    } else {
        (format!("aye purge {id} -m damaged"), "give up all that is recorded of it")
    }
}
