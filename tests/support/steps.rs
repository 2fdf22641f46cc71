//! The steps at which the crash tests stop the process.

/// Every step at which an event is written.
pub const STORE: &[&str] = &[
    "store.objects.write", "store.objects.written", "store.objects.rename", "store.ref.write",
    "store.ref.rename", "store.ref.moved", "store.cache.written",
];
