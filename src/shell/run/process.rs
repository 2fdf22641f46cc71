//! Pipes, process groups, and following both to their end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::super::steps::{Step, Stream};
use super::builtin::Answer;
use super::capture::Capture;
use super::watch::Watcher;
use super::worker::Streams;
use crate::error::{Error, Result};

/// How the programs of a pipeline came to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    TimedOut,
    Interrupted,
}

/// The pipes of one pipeline: towards us, and between its commands.
pub(super) struct Pipes {
    output: (File, OwnedFd),
    errors: Option<(File, OwnedFd)>,
    /// Reading end of the pipe from the command before.
    previous: Option<OwnedFd>,
    null: OwnedFd,
}

impl Pipes {
    pub(super) fn new(apart: bool) -> Result<Self> {
        let make = || -> io::Result<(File, OwnedFd)> {
            let (read, write) = io::pipe()?;
            Ok((File::from(OwnedFd::from(read)), write.into()))
        };
        let all = || -> io::Result<Self> {
            Ok(Self {
                output: make()?,
                errors: if apart { Some(make()?) } else { None },
                previous: None,
                null: rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?,
            })
        };
        all().map_err(|error| Error::io("make a pipe", &error))
    }

    /// The streams of the next command of the pipeline.
    pub(super) fn streams(&mut self, step: &Step, last: bool) -> Result<Streams> {
        let mut all = || -> io::Result<Streams> {
            let stdin = match (self.previous.take(), &step.input) {
                (Some(previous), _) => previous,
                (None, Some(path)) => open_file(path)?,
                (None, None) => self.null.try_clone()?,
            };
            let onward = if last {
                self.output.1.try_clone()?
            } else {
                let (read, write) = io::pipe()?;
                self.previous = Some(read.into());
                write.into()
            };
            let stream = |stream: Stream| match stream {
                Stream::Out => onward.try_clone(),
                Stream::Err => self.errors.as_ref().unwrap_or(&self.output).1.try_clone(),
                Stream::Null => self.null.try_clone(),
            };
            Ok(Streams { stdin, stdout: stream(step.stdout)?, stderr: stream(step.stderr)? })
        };
        all().map_err(|error| Error::io(format_args!("connect `{}`", step.segment), &error))
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

/// Writes the answer of a builtin into its streams, beside whatever reads them.
///
/// # Errors
/// What the system says when it has no thread left.
pub(super) fn write(streams: Streams, answer: Answer) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().spawn(move || {
        // A reader that left early is no error.
        let _ = File::from(streams.stderr).write_all(&answer.err);
        let _ = File::from(streams.stdout).write_all(&answer.out);
    })
}

/// The programs of one pipeline.
pub(super) struct Group {
    children: Vec<io::Result<Child>>,
    leader: Option<Pid>,
    /// Leads the group, where there is one; ends after the programs are collected.
    _watcher: Option<Watcher>,
    /// The mark of this run in the environment of everything it started.
    mark: String,
}

impl Group {
    /// The programs `children`, in the group of `watcher`, or else of the first of them.
    pub(super) fn new(
        children: Vec<io::Result<Child>>,
        watcher: Option<Watcher>,
        mark: &str,
    ) -> Self {
        let first = || children.iter().flatten().next();
        let leader = match &watcher {
            Some(watcher) => Some(watcher.group()),
            None => first().and_then(|child| Pid::from_raw(i32::try_from(child.id()).ok()?)),
        };
        Self { children, leader, _watcher: watcher, mark: mark.to_owned() }
    }

    /// Reads until every stream is closed and every program has ended, or time is up.
    pub(super) fn follow(
        &mut self,
        pipes: Pipes,
        output: &mut Capture,
        errors: &mut Capture,
        deadline: Instant,
        interrupt: Option<&OwnedFd>,
    ) -> Ending {
        // Our own writing ends go, or the streams would never end.
        let Pipes { output: (out, out_write), errors: err, previous, null } = pipes;
        drop((out_write, previous, null));
        let mut sources = vec![(out, false)];
        sources.extend(err.map(|(err, _)| (err, true)));
        let mut buffer = vec![0; 64 * 1024];
        let mut pause = Duration::from_millis(50);
        let mut end = None;
        let ending = loop {
            let now = Instant::now();
            if now >= deadline {
                break Ending::TimedOut;
            }
            if sources.is_empty() {
                let Some(running) = self.running().next() else { break Ending::Done };
                end = end_of(running);
                if end.is_none() {
                    pause = Duration::from_millis(1);
                }
            }
            let ready = wait(&sources, interrupt, end.as_ref(), pause.min(deadline - now));
            if ready.first() == Some(&true) {
                break Ending::Interrupted;
            }
            let mut index = 0;
            let mut quiet = true;
            sources.retain_mut(|(source, is_error)| {
                index += 1;
                if !ready.get(index).copied().unwrap_or(false) {
                    return true;
                }
                quiet = false;
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
            // The programs ended, nothing more to read, yet someone holds a stream open: what
            // they left behind in the background ends with them.
            if quiet && !sources.is_empty() && self.running().next().is_none() {
                break Ending::Done;
            }
        };
        self.kill();
        if ending != Ending::Done {
            kill_marked(&self.mark);
        }
        ending
    }

    /// The programs that have not ended; none is collected yet, so the group keeps its number.
    fn running(&self) -> impl Iterator<Item = Pid> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let pids = self.children.iter().flatten();
        let pids = pids.filter_map(|child| Pid::from_raw(i32::try_from(child.id()).ok()?));
        pids.filter(move |pid| matches!(waitid(WaitId::Pid(*pid), options), Ok(None)))
    }

    /// Kills whatever of the group is left.
    fn kill(&self) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Collects the programs and returns the status of the last.
    pub(super) fn finish(self) -> i32 {
        let mut status = 0;
        for child in self.children {
            status = match child {
                Ok(mut child) => match child.wait() {
                    Ok(ended) => {
                        ended.code().or(ended.signal().map(|signal| 128 + signal)).unwrap_or(1)
                    }
                    Err(_) => 1,
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => 127,
                Err(_) => 126,
            };
        }
        status
    }
}

/// Kills what left the process group: it still carries the mark in its environment.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &str) {
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
fn kill_marked(_mark: &str) {}

/// A descriptor that becomes readable when a program ends, where the system has such: its streams
/// are closed a little before that.
#[cfg(target_os = "linux")]
fn end_of(program: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(program, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_program: Pid) -> Option<OwnedFd> {
    None
}

/// Waits until something can be read: first the interrupt, then each source in order; or until
/// `end` can.
fn wait(
    sources: &[(File, bool)],
    interrupt: Option<&OwnedFd>,
    end: Option<&OwnedFd>,
    pause: Duration,
) -> Vec<bool> {
    let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(3);
    if let Some(interrupt) = interrupt {
        fds.push(PollFd::new(interrupt, PollFlags::IN));
    }
    fds.extend(sources.iter().map(|(source, _)| PollFd::new(source, PollFlags::IN)));
    fds.extend(end.map(|end| PollFd::new(end, PollFlags::IN)));
    let timeout = Timespec {
        tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(pause.subsec_nanos()),
    };
    let _ = poll(&mut fds, Some(&timeout));
    let ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let none = interrupt.is_none().then_some(false);
    none.into_iter().chain(ready).collect()
}
