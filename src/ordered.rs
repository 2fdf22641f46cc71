//! Sets and maps in order, filled one by one.

use std::collections::{BTreeMap, BTreeSet};

/// Ends iterators as `collect` does. That sorts everything first, with 6 KB of code for each type of element, which
/// none of the lists here is long enough to be worth.
pub trait Ordered: Iterator + Sized {
    /// The items, each once, in order.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        for item in self {
            set.insert(item);
        }
        set
    }

    /// The pairs in the order of their keys; of several with one key the last.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        for (key, value) in self {
            map.insert(key, value);
        }
        map
    }
}

impl<I: Iterator> Ordered for I {}
