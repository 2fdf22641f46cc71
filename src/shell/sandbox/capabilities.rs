//! Drops a superuser's capabilities except the one that reads files. Others look past Landlock
//! (`CAP_PERFMON` opens `/proc/*/environ`).

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// With `no_new_privs`, started programs do not regain them.
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
