//! Whether the store is sound, and what can be repaired of it.

mod find;
mod objects;
mod remotes;
pub mod table;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use self::find::Look;
use crate::app::plan as task_plan;
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind};
use crate::store::{Store, Trouble, View};
use crate::worktree::codes as apply;

/// Something that is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// A stable code, of those that `aye help codes` lists.
    pub code: String,
    /// Where and what.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Problem {
    fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        let hint = table::remedy(&code).to_owned();
        Self { code, message, hint }
    }

    /// What `error` says, with its hint, or with that of the table.
    pub fn of(error: &Error) -> Self {
        Self::new(error.code().id, error.message()).hint(error.hint_text())
    }

    /// With `hint` in the place of that of the table, if there is one.
    fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        if let Some(hint) = hint {
            self.hint = hint.into();
        }
        self
    }
}

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Every object is read, contents included.
    pub full: bool,
    /// What can be rebuilt is, and what cannot be read is set aside.
    pub repair: bool,
}

impl Wanted {
    /// Whether contents are read too: what is repaired has to be known whole.
    fn reads_all(self) -> bool {
        self.full || self.repair
    }
}

/// What was found.
#[derive(Default)]
pub struct Findings<'s> {
    /// What is wrong, and was not repaired.
    pub problems: Vec<Problem>,
    /// Refs that others have pushed and that are not read, and events that decide nothing. Untrusted.
    pub notices: Vec<String>,
    /// What was repaired, in words. Untrusted.
    pub repaired: Vec<String>,
    /// How many proposals are pending.
    pub pending: usize,
    /// What there is now; `None` where refs stand in the way that hold no object id.
    pub view: Option<View<'s>>,
}

/// Most times that what is due is seen to: each takes care of a hundred fetched proposals or more.
const MOST_ROUNDS: usize = 10_000;

/// Looks at all that `store` has, does as `actor` at the time `now` what the next writer would do, and repairs
/// what is wrong where that is `wanted`.
///
/// # Errors
/// Those of the store.
pub fn examine<'s>(
    store: &'s Store,
    actor: &Actor,
    wanted: Wanted,
    now: DateTime<Utc>,
) -> Result<Findings<'s>> {
    let mut repaired = Vec::new();
    let unreadable = store.unreadable_refs();
    if wanted.repair {
        for name in &unreadable {
            repaired.push(store.set_ref_aside(name)?);
        }
    } else if !unreadable.is_empty() {
        // Nothing else can be looked at before these are out of the way.
        let problem = |name: &String| {
            Problem::new("thread_damaged", format!("{name} holds no object id"))
                .hint(Some(table::REPAIR))
        };
        let problems = unreadable.iter().map(problem).collect();
        return Ok(Findings { problems, ..Findings::default() });
    }
    let examination = Examination { store, actor, wanted, now };
    let mut view = examination.catch_up(store.view()?)?;
    // Nothing is read from it: whatever stands there is written anew.
    let _ = task_plan::project(store.repository(), &view, &store.repository().branch());
    let mut look = examination.look(&view)?;
    if wanted.repair && !(look.problems.is_empty() && repaired.is_empty()) {
        view = examination.repair(&view, &look, &mut repaired)?;
        look = examination.look(&view)?;
    }
    let pending = view.count_pending(now)?;
    let others = look.troubles.iter().filter(|trouble| is_by_others(trouble)).take(MOST);
    let notice = |trouble: &Trouble| format!("{}: {}", trouble.code, trouble.message());
    let notices = others.map(notice).collect();
    Ok(Findings { problems: look.problems, notices, repaired, pending, view: Some(view) })
}

/// What is under way.
struct Examination<'a, 'w> {
    store: &'a Store,
    actor: &'w Actor,
    wanted: Wanted,
    now: DateTime<Utc>,
}

impl<'s> Examination<'s, '_> {
    /// Sets aside what cannot be read, and makes again what can be derived. `look` is of `view`.
    fn repair(&self, view: &View<'_>, look: &Look, repaired: &mut Vec<String>) -> Result<View<'s>> {
        let store = self.store;
        let refused = [apply::JOURNAL_INVALID.id, apply::JOURNAL_FOREIGN.id];
        if look.problems.iter().any(|problem| refused.contains(&&*problem.code)) {
            repaired.extend(crate::apply::set_refused_aside(store)?);
        }
        if !look.left.is_empty() {
            repaired.extend(store.remove_leftovers(&look.left)?);
        }
        // Whatever is not in an unreadable part of the ledger can be found again without it.
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
        // Whatever stands there is nobody's.
        let _ = task_plan::project(store.repository(), &view, &store.repository().branch());
        repaired.push(format!("memo, pending refs and projections rebuilt ({pending} pending)"));
        Ok(view)
    }

    /// All that is wrong in `view`.
    fn look(&self, view: &View<'_>) -> Result<Look> {
        Look::at(self.store, view, self.wanted, self.now)
    }

    /// Does what the next writers would do. Where nothing can be written it waits; it is no damage.
    /// Returns what there is then.
    fn catch_up(&self, mut view: View<'s>) -> Result<View<'s>> {
        let (store, now) = (self.store, self.now);
        let mut left = None;
        for _ in 0..MOST_ROUNDS {
            // What cannot be done now, under git's lock for example, is not done by asking again.
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

/// Whether it is a part of this clone's own ledger.
fn is_own_chunk(trouble: &Trouble) -> bool {
    let directories = crate::store::Space::ALL.map(|space| format!("{}closed/", space.directory()));
    directories.iter().any(|directory| trouble.name.starts_with(directory))
}

/// Whether only what others have pushed is left out by it, and the thread is read.
fn is_by_others(trouble: &Trouble) -> bool {
    let fetched = ["refs/aye/remotes/", "refs/aye/kept/"];
    trouble.is_skipped() || fetched.iter().any(|directory| trouble.name.starts_with(directory))
}

/// Most notices about threads that are printed: whoever may push refs chooses how many there are.
const MOST: usize = 50;

/// What is not damaged, but worth knowing of the settings of `store`, and of what was set aside.
///
/// # Errors
/// If the refs cannot be read.
pub fn warnings(store: &Store) -> Result<Vec<String>> {
    let settings = store.misconfigured_remotes();
    let harmless = settings.iter().filter(|found| !remotes::is_leak(store, found));
    let mut warnings: Vec<String> = harmless.map(remotes::setting).collect();
    warnings.extend(remotes::missing(store));
    warnings.extend(remotes::passwords(store.repository()));
    let aside = |name: String| {
        format!(
            "{name} was set aside and is not read: `git log -p {name}` shows what it holds, `git update-ref -d {name}` \
             lets it go"
        )
    };
    warnings.extend(store.asides()?.into_iter().map(aside));
    Ok(warnings)
}
