//! What ends the programs when aye itself is killed and can end nothing any more.
//!
//! The kernel ends the program that aye started with the thread that started it, but not what that started in turn. So a
//! copy of aye, which does nothing else, waits at one end of a pipe; the other is aye's alone. When it closes, the copy kills
//! the process group whose number the first program has written into it.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};

/// The copy; it ends with the value.
pub(super) struct Watcher {
    copy: Pid,
    held: OwnedFd,
}

impl Watcher {
    /// Starts it.
    ///
    /// # Errors
    /// What the system says when it has no pipe or process left.
    pub(super) fn start() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        // SAFETY: the new process has one thread, and calls what makes system calls and nothing else: no lock is taken
        // and no memory allocated until it ends.
        #[allow(unsafe_code)]
        let number = unsafe { libc::fork() };
        if number == 0 {
            watch(read.as_fd());
        }
        let copy =
            Pid::from_raw(number).filter(|_| number > 0).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { copy, held: write.into() })
    }

    /// The end of the pipe for the number of the process group.
    pub(super) fn pipe(&self) -> Option<RawFd> {
        Some(self.held.as_raw_fd())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // It must not act any more once the number of the group may be another's.
        let _ = kill_process(self.copy, Signal::KILL);
        let _ = waitpid(Some(self.copy), WaitOptions::empty());
    }
}

/// The life of the copy: it reads a number, waits until the pipe is closed, and ends the group of that number.
fn watch(pipe: BorrowedFd<'_>) -> ! {
    // A signal to the group of aye is not for it, and nobody must wait for the end of a stream because it holds a copy.
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
    // SAFETY: ends the process without running what aye registered for its own end.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(0)
    }
}

/// Closes the descriptors from `first` to `last`.
fn close(first: RawFd, last: RawFd) {
    // SAFETY: system calls on numbers; nothing in this process uses these descriptors again.
    #[allow(unsafe_code)]
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
            // Before Linux 5.9: as many as a process has unless it asked for more.
            for number in first..=last.min(1024) {
                libc::close(number);
            }
        }
    }
}
