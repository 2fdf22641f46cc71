//! Ends the programs after aye itself was killed.
//!
//! The kernel ends the first program together with the thread that started it, but not that
//! program's children. A forked copy of aye therefore waits at a pipe whose other end only aye
//! holds. When it closes, the copy kills the process group whose number the first program wrote
//! into it.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};

/// Killed on drop.
pub(super) struct Watcher {
    copy: Pid,
    held: OwnedFd,
}

impl Watcher {
    pub(super) fn start() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        // SAFETY: the child has one thread and only makes system calls: it takes no lock and
        // allocates no memory until it ends.
        #[allow(unsafe_code)]
        let number = unsafe { libc::fork() };
        if number == 0 {
            watch(read.as_fd());
        }
        let copy =
            Pid::from_raw(number).filter(|_| number > 0).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { copy, held: write.into() })
    }

    /// Write end, for the number of the process group.
    pub(super) fn pipe(&self) -> Option<RawFd> {
        Some(self.held.as_raw_fd())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The copy must not act once the group's number can be reused.
        let _ = kill_process(self.copy, Signal::KILL);
        let _ = waitpid(Some(self.copy), WaitOptions::empty());
    }
}

/// Waits until the pipe closes, then kills the group whose number it read.
fn watch(pipe: BorrowedFd<'_>) -> ! {
    // Signals to aye's group must not reach the copy, and no reader may wait for its copies of
    // streams.
    let _ = rustix::process::setpgid(None, None);
    let kept = pipe.as_raw_fd();
    if kept > 0 {
        close(0, kept - 1);
    }
    close(kept + 1, RawFd::MAX);
    let mut number = [0_u8; 4];
    let mut group = None;
    loop {
        match rustix::io::read(pipe, &mut number) {
            Ok(0) => break,
            Ok(4) => group = Pid::from_raw(i32::from_ne_bytes(number)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    // SAFETY: ends the process without aye's exit handlers.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(0)
    }
}

fn close(first: RawFd, last: RawFd) {
    // SAFETY: system calls on numbers; nothing in this process uses these descriptors again.
    #[allow(unsafe_code)]
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
            // Before Linux 5.9: the default limit of descriptors.
            for number in first..=last.min(1024) {
                libc::close(number);
            }
        }
    }
}
