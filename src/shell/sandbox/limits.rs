//! Resource limits of a program that was just started.

use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Bytes of private memory a program may have: enough for git on a large repository.
const MEMORY: u64 = 4 << 30;
/// Processes of the user; a brake on runaway forking, not a quota.
const PROCESSES: u64 = 8_192;

/// Sets the limits of `process`, which may have ended already.
pub(super) fn limit(process: u32, seconds: u64) {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return };
    let limits = [
        (Resource::Cpu, seconds + 1),
        (Resource::Data, MEMORY),
        (Resource::Nproc, PROCESSES),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ];
    for (resource, value) in limits {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        let _ = prlimit(Some(pid), resource, limit);
    }
}
