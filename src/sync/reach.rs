//! Reachability between refs, asked of git at once for all.

use std::collections::BTreeSet;

use gix::ObjectId;

use crate::error::Result;
use crate::store::Store;

/// The commits that `tips` lead to and `known` do not; `None` if a ref leads to a missing object.
pub(super) fn unreached<'i>(
    store: &Store,
    tips: impl IntoIterator<Item = &'i ObjectId>,
    known: impl IntoIterator<Item = &'i ObjectId>,
) -> Result<Option<BTreeSet<ObjectId>>> {
    let tips: BTreeSet<&ObjectId> = tips.into_iter().collect();
    if tips.is_empty() {
        return Ok(Some(BTreeSet::new()));
    }
    let known: BTreeSet<&ObjectId> = known.into_iter().collect();
    let mut input: String = tips.iter().map(|id| format!("{id}\n")).collect();
    input.extend(known.iter().map(|id| format!("^{id}\n")));
    let listed = store.repository().git()?.args(["rev-list", "--stdin"]).stdin(input).answer()?;
    if !listed.ok() {
        return Ok(None);
    }
    let ids = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(Some(ids.lines().filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok()).collect()))
}
