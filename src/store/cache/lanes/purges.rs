//! Which proposals were purged by their owners, and which refs still hold what they said.

use std::collections::BTreeSet;

use super::super::purge;
use super::{Pass, report};
use crate::store::purge::has;
use crate::store::refs;
use crate::store::trouble::{Trouble, TroubleKind};

/// Refs that a finding names: more are counted.
const MOST_NAMED: usize = 8;

impl Pass<'_> {
    /// Finds out which proposals are purged, before the histories of lanes are held against each other:
    /// an epoch may leave those out and no others.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn follow_purges(&mut self, was_empty: bool) -> rusqlite::Result<()> {
        if self.filling.is_some() {
            // Nothing that was read says so.
            return Ok(());
        }
        let found = purge::believed(&self.store.repository().repo, self.transaction)?;
        let known = purge::all(self.transaction)?;
        if found == known {
            return Ok(());
        }
        let ids = |all: &purge::Purged| all.keys().cloned().collect::<BTreeSet<_>>();
        let (new, old) = (ids(&found), ids(&known));
        let mut changed = new.symmetric_difference(&old).cloned().peekable();
        if changed.peek().is_some() && !was_empty && purge::has_stubs(self.transaction)? {
            // Lanes with stubs were compared by another answer before.
            self.begins_again = true;
        }
        self.fetched.extend(changed);
        self.forget_purged()?;
        purge::set(self.transaction, &found)?;
        let mut statement = self.transaction.prepare_cached("SELECT DISTINCT lane FROM stub")?;
        let lanes = statement.query_map([], |row| row.get::<_, String>(0))?;
        for lane in lanes.collect::<rusqlite::Result<Vec<String>>>()? {
            self.unbind(&lane)?;
            self.moved.insert(lane);
        }
        Ok(())
    }

    /// Reports what is left here of purged proposals.
    pub(super) fn report_purged(&self) -> rusqlite::Result<()> {
        let purged = purge::all(self.transaction)?;
        if purged.is_empty() {
            return Ok(());
        }
        self.forget_purged()?;
        for (id, _) in purged {
            let events = purge::events_of(self.transaction, &id)?;
            let mut names: BTreeSet<&str> = BTreeSet::new();
            for (name, row) in self.rows.iter().filter(|_| !events.is_empty()) {
                let tip = row.reached.as_deref().and_then(super::id);
                if let (Some(events), Some(tip)) = (events.get(refs::lane_of(name)), tip)
                    && has(&self.store.repository().repo, name, tip, events)
                {
                    names.insert(name);
                }
            }
            let Some(first) = names.first() else { continue };
            let more = names.len().saturating_sub(MOST_NAMED);
            let mut why = names.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
            if more > 0 {
                why += &format!(" and {more} more");
            }
            let trouble = Trouble {
                kind: TroubleKind::Purged,
                name: (*first).to_owned(),
                object: String::new(),
                proposal: Some(id),
                why,
            };
            report(self.transaction, &trouble, None, None)?;
        }
        Ok(())
    }

    fn forget_purged(&self) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("DELETE FROM trouble WHERE kind = ?1")?
            .execute([TroubleKind::Purged.id()])
            .map(drop)
    }
}
