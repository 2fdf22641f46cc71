//! Code between fork and exec: system calls only.

use std::io;
use std::os::fd::RawFd;

use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, setrlimit};

/// Descriptor of `> /dev/null`: seccomp forbids opening for writing. Some shells accept only one
/// digit.
pub(super) const NULL: RawFd = 9;
/// Bytes of private memory, enough for git on a large repository.
const MEMORY: u64 = 4 << 30;
/// A brake on runaway forking, not a quota.
const PROCESSES: u64 = 8_192;
/// First descriptor closed on exec.
const OTHERS: RawFd = 3;

/// Sandboxes this process and all that it starts, for good. The tuple holds descriptors.
///
/// # Errors
/// Nothing is started, also if `parent` has ended already.
pub(super) fn enter(
    (null, rules, watcher): (RawFd, Option<RawFd>, Option<RawFd>),
    filter: Option<&[seccompiler::sock_filter]>,
    parent: Pid,
    seconds: u64,
) -> io::Result<()> {
    let group = rustix::process::setsid()?;
    let checked = |result: libc::c_long| match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: system calls on numbers, and on memory of this process that outlives them.
    #[allow(unsafe_code)]
    unsafe {
        if let Some(watcher) = watcher {
            let bytes = group.as_raw_pid().to_ne_bytes();
            checked(libc::write(watcher, bytes.as_ptr().cast(), bytes.len()) as _)?;
        }
        // An inherited descriptor could write to an open file.
        if libc::syscall(libc::SYS_close_range, OTHERS, RawFd::MAX, libc::CLOSE_RANGE_CLOEXEC) != 0
        {
            // Before Linux 5.11: the default limit of descriptors.
            for number in OTHERS..1024 {
                libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
        match null {
            NULL => checked(libc::fcntl(null, libc::F_SETFD, 0).into())?,
            _ => checked(libc::dup2(null, NULL).into())?,
        }
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(parent) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    rustix::thread::set_no_new_privs(true)?;
    for (resource, value) in [
        (Resource::Cpu, seconds),
        (Resource::Data, MEMORY),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nproc, PROCESSES),
    ] {
        // A lower limit stays.
        let _ = setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) });
    }
    super::capabilities::drop_all_but_reading();
    // SAFETY: as above; the kernel copies the filter.
    #[allow(unsafe_code)]
    unsafe {
        if let Some(rules) = rules {
            checked(libc::syscall(libc::SYS_landlock_restrict_self, rules, 0))?;
        }
        if let Some(filter) = filter {
            let program = libc::sock_fprog {
                len: u16::try_from(filter.len()).unwrap_or(0),
                filter: filter.as_ptr().cast_mut().cast(),
            };
            checked(libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            ))?;
        }
    }
    Ok(())
}
