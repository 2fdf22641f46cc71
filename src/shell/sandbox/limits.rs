//! Resource limits, and the end of a program with ours: set by the program's own process between
//! its start and the program, so that nothing of it ever runs without them.

use std::io;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, prlimit, set_parent_process_death_signal,
};

/// Bytes of private memory a program may have: enough for git on a large repository.
const MEMORY: u64 = 4 << 30;
/// Processes of the user; a brake on runaway forking, not a quota.
const PROCESSES: u64 = 8_192;

/// Bounds the calling process, which `parent` started, to `seconds` of processor time and the
/// rest; has the kernel kill it when the thread that started it is gone.
///
/// Makes system calls only, as has to be between `fork` and `exec`.
///
/// # Errors
/// What the system says; `parent` being gone already is an error too.
pub(super) fn bind(parent: Pid, seconds: u64) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(parent) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    for (resource, value) in [
        (Resource::Cpu, seconds + 1),
        (Resource::Data, MEMORY),
        (Resource::Nproc, PROCESSES),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        // A limit that is lower already stays; a higher one could not be set.
        let _ = prlimit(None, resource, Rlimit { current: Some(value), maximum: Some(value) });
    }
    Ok(())
}
