//! What aye itself writes in the checkout while a command runs there: a person applies, or undoes. That is not the
//! command's.

use bstr::BString;

use crate::error::Result;
use crate::proposal::event::Written;
use crate::proposal::{ActorKind, Data, Entry};
use crate::session::guard::Decided;
use crate::store::Store;

/// Where the lanes of this clone are.
pub(super) fn tips(store: &Store) -> Result<Vec<(String, u64)>> {
    let tips = store.view()?.own_tips(store)?;
    Ok(tips.into_iter().map(|tip| (tip.lane, tip.seq)).collect())
}

/// What the decisions of this clone have written since its lanes were there.
pub(super) fn since(store: &Store, tips: &[(String, u64)]) -> Result<Decided> {
    let mut decided = Decided::new();
    for event in store.view()?.written_since(store, tips)? {
        let written = match event.data {
            Data::Apply(apply) => apply.written,
            Data::Undo(undo) => undo.written,
            // An agent's is a way to write files like any other.
            Data::Patch(patch) if event.actor.kind == ActorKind::Human => patch.written,
            _ => continue,
        };
        for Written { path, before, after, .. } in written {
            let id = |entry: Option<Entry>| entry.map(|entry| entry.id);
            let (before, after) = (id(before), id(after));
            let path = BString::from(path.as_bstr());
            decided.entry(path).or_insert((before, None)).1 = after;
        }
    }
    Ok(decided)
}
