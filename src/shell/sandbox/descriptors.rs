//! Descriptors leaked into this process by its parent must not reach the programs it starts: a
//! file opened for writing elsewhere could be written through one of them.

use std::os::fd::BorrowedFd;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// Marks every descriptor above the standard three to be closed when a program is started.
///
/// What this process opened itself is marked already; nothing is closed here.
pub(super) fn close_on_exec() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.filter(|number| *number > 2) {
        // SAFETY: the descriptor is borrowed for two system calls that neither read nor write
        // through it nor close it. If it was closed meanwhile (the one that lists the directory is)
        // the calls fail with EBADF; if the number was reused, the new descriptor is marked as
        // the standard library marks its own.
        #[allow(unsafe_code)]
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(descriptor)
            && !flags.contains(FdFlags::CLOEXEC)
        {
            let _ = fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC);
        }
    }
}
