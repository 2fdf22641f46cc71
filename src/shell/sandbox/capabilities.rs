//! Capabilities: what a superuser may beyond files. They let it look into other processes past
//! Landlock (`CAP_PERFMON` opens `/proc/*/environ`), so all go but the one that reads files.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Drops them from the calling thread. With no new privileges, a program started from it does
/// not regain them.
pub(super) fn drop_all_but_reading() {
    let Ok(now) = capabilities(None) else { return };
    if now.permitted.is_empty() && now.effective.is_empty() && now.inheritable.is_empty() {
        return;
    }
    let kept = CapabilitySet::DAC_READ_SEARCH;
    let sets = CapabilitySets {
        effective: now.effective & kept,
        permitted: now.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    let _ = set_capabilities(None, sets);
}
