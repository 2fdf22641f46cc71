//! What is read of a lane at most.

use crate::proposal::event::{MAX_BYTES, MAX_WRITTEN};

/// What is read of one lane at most.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Limits {
    /// Bytes of one event.
    pub(super) event: u64,
    /// Events of one commit.
    pub(super) events: usize,
    /// Bytes of all events of one commit, which are in memory together.
    pub(super) commit_events: u64,
    /// Bytes of one commit object or one tree.
    pub(super) object: u64,
    /// Commits of the lane.
    pub(super) commits: usize,
    /// Bytes of all objects of the lane.
    pub(super) total: u64,
    /// Whether sizes are looked up before an object is loaded.
    pub(super) distrust: bool,
}

impl Limits {
    /// For this clone's own lane: everything that any version has written into it.
    pub(in crate::store) const OWN: Self = Self {
        event: MAX_BYTES as u64,
        events: 100_000,
        commit_events: u64::MAX,
        object: u64::MAX,
        commits: usize::MAX,
        total: u64::MAX,
        distrust: false,
    };
    /// For another lane below `refs/aye/log/`: the lane of this clone before it lost its name, or
    /// one that was pushed here.
    pub(in crate::store) const LOCAL: Self = Self {
        event: MAX_BYTES as u64,
        events: 100_000,
        commit_events: MAX_BYTES as u64,
        object: 64 << 20,
        distrust: true,
        ..Self::FOREIGN
    };
    /// For a fetched lane.
    pub(in crate::store) const FOREIGN: Self = Self {
        event: MAX_WRITTEN as u64,
        events: 1_000,
        commit_events: 16 << 20,
        object: 4 << 20,
        commits: 1_000_000,
        total: 1 << 30,
        distrust: true,
    };
}
