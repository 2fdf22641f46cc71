//! Repairing: damaged objects are written again, what cannot be is set aside, and what can be derived is.

use std::collections::BTreeSet;

use super::find::Look;
use super::{Examination, Findings, PutBack, asides};
use crate::app::plan as task_plan;
use crate::error::Result;
use crate::store::{Damage, Depth, Inspection, Store, Trouble, TroubleKind, View};
use crate::worktree::codes as apply;

impl Examination<'_> {
    /// Writes damaged objects again where that is wanted. Returns what there is then, and what is damaged of it.
    pub(super) fn restore(&mut self) -> Result<(View, Inspection)> {
        if self.wanted.repair {
            self.repaired.extend(self.store.find_lanes_gone()?);
            let damaged = self.store.inspect(None, Depth::Full)?.damaged;
            if !damaged.is_empty() {
                self.write_again(None, damaged)?;
            }
        }
        let view = self.store.readable_view()?;
        let mut found = self.inspect(&view)?;
        if !self.wanted.repair || found.damaged.is_empty() {
            return Ok((view, found));
        }
        self.write_again(Some(&view), std::mem::take(&mut found.damaged))?;
        // It reads objects by what was there before.
        drop(view);
        let view = self.store.readable_view()?;
        let found = self.inspect(&view)?;
        Ok((view, found))
    }

    fn write_again(&mut self, view: Option<&View>, damaged: Vec<Damage>) -> Result<()> {
        self.save_cache()?;
        let restored = self.store.restore(view, damaged, self.saved.as_deref())?;
        self.repaired.extend(restored.lines);
        Ok(())
    }

    /// Keeps the old cache, if that was not done yet.
    fn save_cache(&mut self) -> Result<()> {
        if self.saved.is_none() {
            self.saved = self.store.save_cache(self.now)?;
        }
        Ok(())
    }

    /// Sets aside what is damaged still, has what a person says put back by `put_back`, makes again what can be
    /// derived, and looks once more. `found` and `look` are of `view`.
    pub(super) fn repair(
        mut self,
        mut view: View,
        found: &Inspection,
        look: &Look,
        put_back: impl FnOnce(&Store, &View) -> Result<PutBack>,
    ) -> Result<Findings> {
        let refused = [apply::JOURNAL_INVALID.id, apply::JOURNAL_FOREIGN.id];
        if look.problems.iter().any(|problem| refused.contains(&&*problem.code)) {
            self.repaired.extend(crate::apply::set_refused_aside(self.store)?);
        }
        let broken: Vec<&Damage> = found.damaged.iter().filter(|d| d.breaks_lane()).collect();
        let mut lanes: BTreeSet<String> = broken.iter().map(|damage| damage.lane()).collect();
        if !(lanes.is_empty() && view.broken().is_empty()) {
            self.save_cache()?;
        }
        if !lanes.is_empty() {
            // What is in the cache came from objects that are not there any more.
            drop(view);
            view = self.store.view_with_new_cache()?;
        }
        let own: BTreeSet<String> =
            view.broken().iter().map(|broken| broken.name.clone()).collect();
        if !look.left.is_empty() {
            self.repaired.extend(self.store.remove_leftovers(&look.left)?);
        }
        let unread = self.set_aside(&view, &mut lanes)?;
        drop(view);
        view = self.store.view_with_new_cache()?;
        let (back, refused) = put_back(self.store, &view)?;
        if !back.is_empty() {
            self.repaired.extend(back);
            drop(view);
            view = self.store.view_with_new_cache()?;
        }
        let pending = self.store.rebuild_projections(&view, self.now)?;
        if !view.is_current(self.store) {
            drop(view);
            view = self.store.readable_view()?;
        }
        // Whatever stands there is nobody's.
        let _ = task_plan::project(self.store, &view, &self.store.branch());
        let rebuilt = format!("cache, pending refs and projections rebuilt ({pending} pending)");
        self.repaired.push(rebuilt);
        let mut aside = self.store.asides(&view, true)?;
        aside.extend(self.store.fetched_asides(&view, &lanes)?);
        let broken = broken.into_iter().filter(|damage| own.contains(damage.lane_ref()));
        let broken: Vec<&Damage> = broken.chain(&unread).collect();
        let saved = self.saved.as_deref();
        let lost = super::damage::lost(self.store, &view, &broken, &lanes, saved, &aside);
        let found = self.inspect(&view)?;
        let mut problems = self.look(&view, &found)?.problems;
        problems.extend(refused);
        problems.extend(asides::problems(&aside));
        problems.extend(lost);
        Ok(Findings {
            problems,
            repaired: self.repaired,
            pending: view.count_pending(self.now)?,
            view: Some(view),
            aside: Vec::new(),
        })
    }

    /// Sets aside the lanes of `view` that cannot be read, adds those of other clones to `lanes`, and returns what is
    /// damaged of these.
    fn set_aside(&mut self, view: &View, lanes: &mut BTreeSet<String>) -> Result<Vec<Damage>> {
        // What is not here yet is not damaged.
        for lane in view.broken().iter().filter(|broken| !broken.is_absent) {
            self.repaired.push(self.store.set_lane_aside(lane)?);
        }
        let mut unread = Vec::new();
        let is_unread = |trouble: &&Trouble| {
            // What is refused is not damaged: it is named as long as its remote has it.
            trouble.kind == TroubleKind::Unreadable && !trouble.is_refused()
        };
        for trouble in view.troubles().iter().filter(is_unread) {
            let damaged = self.store.inspect_ref(&trouble.name)?;
            lanes.extend(damaged.iter().map(Damage::lane));
            unread.extend(damaged);
            self.repaired.push(self.store.set_fetched_lane_aside(view, trouble)?);
        }
        Ok(unread)
    }
}
