//! Whether the store is sound, and what can be repaired of it.

mod asides;
mod damage;
mod find;
mod remotes;
mod repair;
pub mod table;

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

pub use self::asides::{COMMAND, question};
use self::find::Look;
use crate::app::plan as task_plan;
use crate::error::{Error, Result};
use crate::proposal::Actor;
use crate::store::{Aside, Audience, Damage, Depth, Inspection, Pushes, Store, View};

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
    /// What is wrong is repaired.
    pub repair: bool,
    /// Somebody says of something that was set aside that it was said here.
    pub trust: bool,
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
    /// What an earlier repair set aside and no problem names.
    pub aside: Vec<Aside>,
}

/// What was put back of what had been set aside, in words, and what could not be.
pub type PutBack = (Vec<String>, Vec<Problem>);

/// Most times that what is due is seen to: each takes care of a hundred fetched proposals or more.
const MOST_ROUNDS: usize = 10_000;

/// Looks at all that `store` has, does as `actor` at the time `now` what the next writer would do, and repairs
/// what is wrong where that is `wanted`. What a person says was said in this clone is put back by `put_back`.
///
/// # Errors
/// Those of the store and of `put_back`.
pub fn examine(
    store: &mut Store,
    actor: &Actor,
    wanted: Wanted,
    now: DateTime<Utc>,
    put_back: impl FnOnce(&Store, &View) -> Result<PutBack>,
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
    let mut examination = Examination { store, actor, wanted, now, saved: None, repaired };
    let (mut view, mut found) = examination.restore()?;
    // What is in a lane that cannot be read is in no view.
    let aside = match view.broken() {
        [] => examination.store.asides(&view, wanted.reads_all())?,
        _ => Vec::new(),
    };
    // What is written now takes the place of what may be put back.
    let is_waiting = wanted.repair && !aside.is_empty();
    if !is_waiting && !found.damaged.iter().any(Damage::breaks_lane) {
        let store = &*examination.store;
        if examination.catch_up(&mut view)? {
            found = examination.inspect(&view)?;
        }
        // Nothing is read from it: whatever stands there is written anew.
        let _ = task_plan::project(store, &view, &store.branch());
    }
    let look = examination.look(&view, &found)?;
    let is_due = !(look.problems.is_empty() && examination.repaired.is_empty());
    if wanted.repair && (is_due || is_waiting || wanted.trust) {
        return examination.repair(view, &found, &look, put_back);
    }
    Ok(Findings {
        problems: look.problems,
        repaired: examination.repaired,
        pending: view.count_pending(now)?,
        view: Some(view),
        aside,
    })
}

/// What is under way.
struct Examination<'a> {
    store: &'a mut Store,
    actor: &'a Actor,
    wanted: Wanted,
    now: DateTime<Utc>,
    /// The old cache, where it was kept.
    saved: Option<PathBuf>,
    /// What was repaired so far.
    repaired: Vec<String>,
}

impl Examination<'_> {
    fn inspect(&self, view: &View) -> Result<Inspection> {
        let depth = if self.wanted.reads_all() { Depth::Full } else { Depth::Headers };
        self.store.inspect(Some(view), depth)
    }

    /// All that is wrong in `view`, in which the objects `found` were looked at.
    fn look(&self, view: &View, found: &Inspection) -> Result<Look> {
        Look::at(self.store, view, found, self.wanted, self.now)
    }

    /// Does what the next writers would do. Where nothing can be written it waits; it is no damage.
    /// Returns whether something was done.
    fn catch_up(&self, view: &mut View) -> Result<bool> {
        let (store, now) = (&*self.store, self.now);
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

/// What is not damaged, but worth knowing of the remotes of `store`, of `view`, and of what was set `aside`.
pub fn warnings(store: &Store, view: Option<&View>, aside: &[Aside]) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(view) = view {
        let pushes = store.pushes_of_others().into_iter();
        let harmless = pushes.filter(|pushes| !is_leak(view, pushes));
        warnings.extend(harmless.map(|pushes| remotes::leaks(&pushes)));
        warnings.extend(remotes::remotes(store, view));
    }
    warnings.extend(asides::warnings(aside));
    warnings.extend(store.fetches_over_own().iter().map(remotes::overwrites));
    warnings.extend(remotes::passwords(store));
    warnings
}

/// Whether there are lanes now that `pushes` would send to somebody they are not for.
fn is_leak(view: &View, pushes: &Pushes) -> bool {
    view.lanes_by_audience().iter().any(|(audience, _)| match audience {
        Audience::Default => false,
        Audience::Private => true,
        Audience::Remote(remote) => *remote != pushes.remote,
    })
}
