//! Lanes and objects through git, the lock, the cache, projections, the apply journal.
