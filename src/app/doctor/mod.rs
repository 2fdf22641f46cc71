//! Whether the store is sound, and what can be repaired of it.

mod find;
mod remotes;
pub mod table;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use self::find::Look;
use crate::app::plan as task_plan;
use crate::error::{Error, Result};
use crate::proposal::Actor;
use crate::store::{Audience, Damage, Pushes, Store, TroubleKind, View};
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
pub struct Findings {
    /// What is wrong, and was not repaired.
    pub problems: Vec<Problem>,
    /// What was repaired, in words. Untrusted.
    pub repaired: Vec<String>,
    /// How many proposals are pending.
    pub pending: usize,
    /// What there is now; `None` where refs stand in the way that hold no object id.
    pub view: Option<View>,
}

/// Most times that what is due is seen to: each takes care of a hundred fetched proposals or more.
const MOST_ROUNDS: usize = 10_000;

/// Looks at all that `store` has, does as `actor` at the time `now` what the next writer would do, and repairs
/// what is wrong where that is `wanted`.
///
/// # Errors
/// Those of the store.
pub fn examine(
    store: &Store,
    actor: &Actor,
    wanted: Wanted,
    now: DateTime<Utc>,
) -> Result<Findings> {
    let mut repaired = Vec::new();
    let unreadable = store.unreadable_refs();
    if wanted.repair {
        for name in &unreadable {
            repaired.push(store.set_ref_aside(name)?);
        }
    } else if !unreadable.is_empty() {
        // Nothing else can be looked at before these are out of the way.
        let problem = |name| Problem::new("lane_broken", format!("{name} holds no object id"));
        let problems = unreadable.iter().map(problem).collect();
        return Ok(Findings { problems, ..Findings::default() });
    }
    let examination = Examination { store, actor, wanted, now };
    let mut view = store.readable_view()?;
    let mut found = examination.inspect(&view)?;
    if !found.iter().any(Damage::breaks_lane) {
        if examination.catch_up(&mut view)? {
            found = examination.inspect(&view)?;
        }
        // Nothing is read from it: whatever stands there is written anew.
        let _ = task_plan::project(store.repository(), &view, &store.repository().branch());
    }
    let mut look = examination.look(&view, &found)?;
    if wanted.repair && !(look.problems.is_empty() && repaired.is_empty()) {
        view = examination.repair(view, &look, &mut repaired)?;
        look = examination.look(&view, &examination.inspect(&view)?)?;
    }
    let pending = view.count_pending(now)?;
    Ok(Findings { problems: look.problems, repaired, pending, view: Some(view) })
}

/// What is under way.
struct Examination<'a> {
    store: &'a Store,
    actor: &'a Actor,
    wanted: Wanted,
    now: DateTime<Utc>,
}

impl Examination<'_> {
    fn inspect(&self, view: &View) -> Result<Vec<Damage>> {
        self.store.inspect(view, self.wanted.reads_all())
    }

    /// Sets aside what cannot be read, and makes again what can be derived. `look` is of `view`.
    fn repair(&self, mut view: View, look: &Look, repaired: &mut Vec<String>) -> Result<View> {
        let store = self.store;
        let refused = [apply::JOURNAL_INVALID.id, apply::JOURNAL_FOREIGN.id];
        if look.problems.iter().any(|problem| refused.contains(&&*problem.code)) {
            repaired.extend(crate::apply::set_refused_aside(store)?);
        }
        if !look.left.is_empty() {
            repaired.extend(store.remove_leftovers(&look.left)?);
        }
        drop(view);
        // What was in the cache may have come from objects that are not there any more.
        view = store.view_with_new_cache()?;
        // What is not here yet is not damaged; what is refused is named as long as its remote has it.
        let broken = view.broken().iter().filter(|broken| !broken.is_absent);
        let unread = view
            .troubles()
            .iter()
            .filter(|trouble| trouble.kind == TroubleKind::Unreadable && !trouble.is_refused());
        let names: Vec<&String> =
            broken.map(|it| &it.name).chain(unread.map(|it| &it.name)).collect();
        for name in &names {
            repaired.push(store.set_lane_aside(&view, name)?);
        }
        if !names.is_empty() {
            drop(view);
            view = store.view_with_new_cache()?;
        }
        let pending = store.rebuild_projections(&view, self.now)?;
        if !view.is_current(store) {
            drop(view);
            view = store.readable_view()?;
        }
        // Whatever stands there is nobody's.
        let _ = task_plan::project(store.repository(), &view, &store.repository().branch());
        repaired.push(format!("cache, pending refs and projections rebuilt ({pending} pending)"));
        Ok(view)
    }

    /// All that is wrong in `view`, in which the objects `found` were looked at.
    fn look(&self, view: &View, found: &[Damage]) -> Result<Look> {
        Look::at(self.store, view, found, self.wanted, self.now)
    }

    /// Does what the next writers would do. Where nothing can be written it waits; it is no damage.
    /// Returns whether something was done.
    fn catch_up(&self, view: &mut View) -> Result<bool> {
        let (store, now) = (self.store, self.now);
        let mut is_due = store.is_unfinished(view)
            || !view.newly_expired(now, 1)?.is_empty()
            || !view.revived(now, 1)?.is_empty();
        let was_due = is_due;
        let mut left = None;
        for _ in 0..MOST_ROUNDS {
            // What cannot be done now, under git's lock for example, is not done by asking again.
            let before = left.replace(store.unfinished(view));
            if !is_due || before == left || store.write(self.actor, now, |_| Ok(())).is_err() {
                break;
            }
            *view = store.readable_view()?;
            is_due = store.is_unfinished(view);
        }
        Ok(was_due)
    }
}

/// What is not damaged, but worth knowing of the remotes of `store`, of `view`, and of what was set aside.
///
/// # Errors
/// If the refs cannot be read.
pub fn warnings(store: &Store, view: Option<&View>) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    if let Some(view) = view {
        let pushes = store.pushes_of_others().into_iter();
        let harmless = pushes.filter(|pushes| !is_leak(view, pushes));
        warnings.extend(harmless.map(|pushes| remotes::leaks(&pushes)));
        warnings.extend(remotes::remotes(store, view));
    }
    let aside = |name: String| {
        format!(
            "{name} was set aside and is not read: `git log -p {name}` shows what it holds, `git update-ref -d {name}` \
             lets it go"
        )
    };
    if view.is_some() {
        warnings.extend(store.asides()?.into_iter().map(aside));
    }
    warnings.extend(store.fetches_over_own().iter().map(remotes::overwrites));
    warnings.extend(remotes::passwords(store.repository()));
    Ok(warnings)
}

/// Whether there are lanes now that `pushes` would send to somebody they are not for.
fn is_leak(view: &View, pushes: &Pushes) -> bool {
    view.lanes_by_audience().iter().any(|(audience, _)| match audience {
        Audience::Default => false,
        Audience::Private => true,
        Audience::Remote(remote) => *remote != pushes.remote,
    })
}
