//! Checks and repairs a store.

mod find;
mod leftovers;
mod objects;
mod refs;
mod remotes;
mod rewritten;
pub mod table;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use self::find::StoreScan;
use crate::app::plan as task_plan;
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind};
use crate::store::{Store, ThreadFault, View};
use crate::worktree::codes as apply;

/// A problem.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// A stable code, listed by `aye help codes`.
    pub code: String,
    /// The place and the problem.
    pub message: String,
    /// The remedy.
    pub hint: String,
}

impl Problem {
    fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        let hint = table::remedy(&code).to_owned();
        Self { code, message, hint }
    }

    pub fn of(error: &Error) -> Self {
        Self::new(error.code().id, error.message()).hint(error.hint_text())
    }

    /// Replaces the table's hint.
    fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        if let Some(hint) = hint {
            self.hint = hint.into();
        }
        self
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ExamineOptions {
    /// Reads every object, including contents.
    pub full: bool,
    /// Rebuilds derived data and sets unreadable data aside.
    pub repair: bool,
}

impl ExamineOptions {
    /// A repair needs a complete examination.
    fn reads_all(self) -> bool {
        self.full || self.repair
    }
}

#[derive(Default)]
pub struct Findings<'s> {
    /// Problems that were not repaired.
    pub problems: Vec<Problem>,
    /// Refs from others that are not read, and events without effect. Untrusted.
    pub notices: Vec<String>,
    /// Text. Untrusted.
    pub repaired: Vec<String>,
    pub pending: usize,
    /// State after repair; `None` while malformed refs are in the way.
    pub view: Option<View<'s>>,
}

/// Each round handles a hundred fetched proposals or more.
const MOST_ROUNDS: usize = 10_000;

/// Examines `store` after the work that any next writer would do, and repairs it if wanted.
pub fn examine<'s>(
    store: &'s Store,
    actor: &Actor,
    wanted: ExamineOptions,
    now: DateTime<Utc>,
) -> Result<Findings<'s>> {
    let mut repaired = Vec::new();
    let unreadable = refs::unreadable(store.repository());
    if wanted.repair {
        for name in &unreadable {
            repaired.push(refs::set_aside(store.repository(), name)?);
        }
    } else if !unreadable.is_empty() {
        // Malformed refs prevent every other check.
        let problem = |name: &String| {
            Problem::new("thread_damaged", format!("{name} holds no object id"))
                .hint(Some(table::REPAIR))
        };
        let problems = unreadable.iter().map(problem).collect();
        return Ok(Findings { problems, ..Findings::default() });
    }
    let examination = Examination { store, actor, wanted, now };
    let mut view = examination.catch_up(store.view()?)?;
    // Projections are only written, so any content may be replaced.
    let _ = task_plan::project(store.repository(), &view, &store.repository().branch());
    let mut look = examination.look(&view)?;
    if wanted.repair && !(look.problems.is_empty() && repaired.is_empty()) {
        view = examination.repair(&view, &look, &mut repaired)?;
        look = examination.look(&view)?;
    }
    let pending = view.count_pending(now)?;
    let others = look.troubles.iter().filter(|trouble| is_by_others(trouble)).take(MOST);
    let notice = |trouble: &ThreadFault| format!("{}: {}", trouble.code, trouble.message());
    let notices = others.map(notice).collect();
    Ok(Findings { problems: look.problems, notices, repaired, pending, view: Some(view) })
}

struct Examination<'a, 'w> {
    store: &'a Store,
    actor: &'w Actor,
    wanted: ExamineOptions,
    now: DateTime<Utc>,
}

impl<'s> Examination<'s, '_> {
    fn repair(
        &self,
        view: &View<'_>,
        look: &StoreScan,
        repaired: &mut Vec<String>,
    ) -> Result<View<'s>> {
        let store = self.store;
        let refused = [apply::JOURNAL_INVALID.id, apply::JOURNAL_FOREIGN.id];
        if look.problems.iter().any(|problem| refused.contains(&&*problem.code)) {
            repaired.extend(crate::apply::set_refused_aside(store)?);
        }
        if !look.left.is_empty() {
            repaired.extend(leftovers::remove(store, &look.left)?);
        }
        // Every other part of the ledger can be derived again without it.
        for trouble in look.troubles.iter().filter(|trouble| is_own_chunk(trouble)) {
            repaired.push(store.set_thread_aside(&trouble.name)?);
        }
        if self.actor.kind != ActorKind::Ci && !store.copied_refs(view)?.is_empty() {
            let clone = store.renew_clone_id()?;
            repaired.push(format!("aye.clone is {clone} now: the next push goes below that name"));
        }
        store.forget_memo();
        if let Ok(Some(private)) = store.repository().private() {
            private.remove("idle");
        }
        let pending = store.rebuild_projections(&store.view()?, self.now)?;
        let view = store.view()?;
        // Projections have no owner.
        let _ = task_plan::project(store.repository(), &view, &store.repository().branch());
        repaired.push(format!("memo, pending refs and projections rebuilt ({pending} pending)"));
        Ok(view)
    }

    fn look(&self, view: &View<'_>) -> Result<StoreScan> {
        StoreScan::at(self.store, view, self.wanted, self.now)
    }

    /// Does the pending work of writers. An unwritable store waits, which is not damage.
    fn catch_up(&self, mut view: View<'s>) -> Result<View<'s>> {
        let (store, now) = (self.store, self.now);
        let mut left = None;
        for _ in 0..MOST_ROUNDS {
            // Stop if a round made no progress, for example under git's lock.
            let before = left.replace(store.unfinished(&view, now));
            let is_due = store.is_unfinished(&view, now);
            if !is_due || before == left || store.write(self.actor, now, |_| Ok(())).is_err() {
                break;
            }
            view = store.view()?;
        }
        Ok(view)
    }
}

/// True for a part of this clone's ledger.
fn is_own_chunk(trouble: &ThreadFault) -> bool {
    let directories = crate::store::Space::ALL.map(|space| format!("{}closed/", space.directory()));
    directories.iter().any(|directory| trouble.name.starts_with(directory))
}

/// True if only refs of others are skipped and the thread is readable.
fn is_by_others(trouble: &ThreadFault) -> bool {
    let fetched = ["refs/aye/remotes/", "refs/aye/kept/"];
    trouble.is_skipped() || fetched.iter().any(|directory| trouble.name.starts_with(directory))
}

/// Anyone with push access determines the number of notices.
const MOST: usize = 50;

/// Harmless settings worth knowing, and refs set aside.
pub fn warnings(store: &Store) -> Result<Vec<String>> {
    let settings = remotes::misconfigured(store.repository());
    let harmless = settings.iter().filter(|found| !remotes::is_leak(store, found));
    let mut warnings: Vec<String> = harmless.map(remotes::setting).collect();
    warnings.extend(remotes::missing(store));
    warnings.extend(remotes::passwords(store.repository()));
    let lost = rewritten::lost(&store.view()?)?;
    if let Some((id, path)) = lost.first() {
        let more = match lost.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        warnings.push(format!(
            "no commit of a branch, tag or remote has any more what {id} holds of {}{more}: if it was taken out of \
             the history, `aye purge {id} -m TEXT` takes it out of the events",
            path.display()
        ));
    }
    let aside = |name: String| {
        format!(
            "{name} was set aside and is not read: `git log -p {name}` shows what it holds, `git update-ref -d {name}` \
             lets it go"
        )
    };
    warnings.extend(store.asides()?.into_iter().map(aside));
    Ok(warnings)
}
