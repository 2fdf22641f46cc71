//! Pipes, and following what comes through them to its end.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal};

use super::super::steps::{Part, Stream};
use super::capture::Capture;
use super::worker::Ends;
use crate::error::{Error, Result};

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    TimedOut,
    Interrupted,
}

/// The pipes from the commands to us.
pub(super) struct Pipes {
    /// The ends that the commands have.
    pub(super) ends: Ends,
    /// The ends that we read; true for one that brings messages only.
    pub(super) sources: Vec<(File, bool)>,
}

impl Pipes {
    pub(super) fn new(apart: bool) -> Result<Self> {
        let all = || -> io::Result<Self> {
            let (out, stdout) = io::pipe()?;
            let mut sources = vec![(File::from(OwnedFd::from(out)), false)];
            let stderr = if apart {
                let (err, stderr) = io::pipe()?;
                sources.push((File::from(OwnedFd::from(err)), true));
                stderr
            } else {
                stdout.try_clone()?
            };
            let ends = Ends { stdin: null()?, stdout: stdout.into(), stderr: stderr.into() };
            Ok(Self { ends, sources })
        };
        all().map_err(|error| Error::io("make a pipe", &error))
    }
}

fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// Connects the parts of one pipeline with each other and with what is around it.
pub(super) struct Connector<'a> {
    around: &'a Ends,
    /// Reading end of the pipe from the part before; what is around, for the first.
    previous: OwnedFd,
}

impl<'a> Connector<'a> {
    pub(super) fn new(around: &'a Ends) -> Result<Self> {
        let previous = around.stdin.try_clone();
        let previous = previous.map_err(|error| Error::io("connect a pipeline", &error))?;
        Ok(Self { around, previous })
    }

    /// What the next part reads and writes.
    pub(super) fn ends(&mut self, part: &Part, last: bool) -> Result<Ends> {
        let streams = part.streams();
        let mut all = || -> io::Result<Ends> {
            let (read, onward) = if last {
                (null()?, self.around.stdout.try_clone()?)
            } else {
                let (read, write) = io::pipe()?;
                (read.into(), write.into())
            };
            let previous = std::mem::replace(&mut self.previous, read);
            let stdin = match &streams.input {
                Some(path) => open_file(path)?,
                None => previous,
            };
            let stream = |stream: Stream| match stream {
                Stream::Out => onward.try_clone(),
                Stream::Err => self.around.stderr.try_clone(),
                Stream::Null => null(),
            };
            Ok(Ends { stdin, stdout: stream(streams.stdout)?, stderr: stream(streams.stderr)? })
        };
        all().map_err(|error| Error::io("connect a pipeline", &error))
    }
}

/// Opens an ordinary file for reading; a pipe put in its place meanwhile must not block us.
fn open_file(path: &std::path::Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not an ordinary file"));
    }
    Ok(file.into())
}

/// Reads until `finished` says that every command has ended, or time is up.
pub(super) fn follow(
    mut sources: Vec<(File, bool)>,
    finished: &OwnedFd,
    (output, errors): (&mut Capture, &mut Capture),
    deadline: Instant,
    interrupt: Option<&OwnedFd>,
) -> Ending {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let now = Instant::now();
        if now >= deadline {
            return Ending::TimedOut;
        }
        let mut fds = vec![PollFd::new(finished, PollFlags::IN)];
        fds.extend(sources.iter().map(|(source, _)| PollFd::new(source, PollFlags::IN)));
        fds.extend(interrupt.map(|interrupt| PollFd::new(interrupt, PollFlags::IN)));
        let pause = deadline - now;
        let timeout = Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        let _ = poll(&mut fds, Some(&timeout));
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if interrupt.is_some() && ready.last() == Some(&true) {
            return Ending::Interrupted;
        }
        // What programs left behind in the background may hold a stream open: nobody waits for it.
        if ready[0] && !ready[1..].contains(&true) {
            return Ending::Done;
        }
        let mut index = 0;
        sources.retain_mut(|(source, is_error)| {
            index += 1;
            if !ready[index] {
                return true;
            }
            match source.read(&mut buffer) {
                Ok(0) => false,
                Ok(length) => {
                    let capture = if *is_error { &mut *errors } else { &mut *output };
                    capture.push(&buffer[..length]);
                    true
                }
                Err(error) => error.kind() == io::ErrorKind::Interrupted,
            }
        });
    }
}

/// Kills what left the process group: it still carries the mark in its environment.
#[cfg(target_os = "linux")]
pub(super) fn kill_marked(mark: &str) {
    let entry = format!("{}={mark}", super::worker::MARK);
    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
            && let Some(pid) = Pid::from_raw(pid)
        {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill_marked(_mark: &str) {}
