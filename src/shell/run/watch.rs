//! What ends the programs of a pipeline when aye itself is killed and can end nothing any more.
//!
//! The kernel ends the programs that aye started with the thread that started them
//! ([`sandbox::bind`](super::super::sandbox::bind)), but not what those start in turn (git
//! another git, yq a jq). So a copy of aye that does nothing leads their process group, and holds
//! one end of a pipe. The other is aye's alone: when it closes, the copy kills the group.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, setpgid, waitpid};

/// The leader of a process group, which ends with the value.
pub(super) struct Watcher {
    leader: Pid,
    /// `None` once it was let go.
    held: Option<OwnedFd>,
}

impl Watcher {
    /// Starts it.
    ///
    /// # Errors
    /// What the system says when it has no pipe or process left.
    pub(super) fn start() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        // SAFETY: the new process has one thread, and calls what makes system calls and nothing
        // else: no lock is taken and no memory allocated until it ends.
        #[allow(unsafe_code)]
        let number = unsafe { libc::fork() };
        if number == 0 {
            watch(read.as_fd());
        }
        let leader = Pid::from_raw(number).filter(|_| number > 0);
        let leader = leader.ok_or_else(io::Error::last_os_error)?;
        let watcher = Self { leader, held: Some(write.into()) };
        // Here too: the programs join the group whichever of the two comes first.
        let _ = setpgid(Some(leader), Some(leader));
        Ok(watcher)
    }

    /// The process group that programs are to join.
    pub(super) fn group(&self) -> Pid {
        self.leader
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.held.take();
        let _ = kill_process_group(self.leader, Signal::KILL);
        let _ = waitpid(Some(self.leader), WaitOptions::empty());
    }
}

/// The life of the copy: it waits until the pipe is closed, and ends with its group.
fn watch(pipe: BorrowedFd<'_>) -> ! {
    let _ = setpgid(None, None);
    // Nobody must wait for the end of a stream because of a copy that holds it, and the other
    // end of the pipe is among them.
    let kept = pipe.as_raw_fd();
    if kept > 0 {
        close(0, kept - 1);
    }
    close(kept + 1, RawFd::MAX);
    while let Err(rustix::io::Errno::INTR) = rustix::io::read(pipe, &mut [0_u8; 1]) {}
    let _ = rustix::process::kill_current_process_group(Signal::KILL);
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_programs_started_ends_when_the_pipe_closes() {
        let mut watcher = Watcher::start().unwrap();
        let mut child = Command::new("/bin/sh")
            .args(["-c", "sleep 300 & echo started; exit 3"])
            .stdout(Stdio::piped())
            .process_group(watcher.group().as_raw_pid())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        assert_eq!(child.wait().unwrap().into_raw() >> 8, 3);
        // All that happens when aye is killed.
        watcher.held.take();
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(text, "started\n", "the stream ends when its last holder does");
    }
}
