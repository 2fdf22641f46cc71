//! Runs a plan in the sandbox, limits time and output, and ends all processes.

mod capture;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(target_os = "linux"))]
mod watch {
    /// Other systems cannot fork aye without starting it.
    pub(super) struct Watcher;

    impl Watcher {
        pub(super) fn start() -> std::io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn pipe(&self) -> Option<std::os::fd::RawFd> {
            None
        }
    }
}

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};

use super::plan::Plan;
use super::programs::AllowedPrograms;
use super::read_grants::ReadGrants;
use super::sandbox::{self, Confinement};
use super::{Machine, git, mask};
use crate::error::{Error, Result};
use capture::Capture;

/// As `timeout` exits.
pub const STATUS_TIMEOUT: i32 = 124;
/// Polling interval while a process holds the output open.
const LOOK: Duration = Duration::from_millis(10);
/// The kernel needs a moment to end a program of several GB.
const ENDING: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub struct Request {
    pub timeout: Duration,
    pub output_limit: usize,
    /// Becomes readable when the user wants to stop.
    pub interrupt: Option<Arc<OwnedFd>>,
}

impl Default for Request {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), output_limit: 256 * 1024, interrupt: None }
    }
}

#[derive(Debug)]
pub struct RunOutcome {
    /// Standard output and standard error, interleaved.
    pub output: Vec<u8>,
    pub exit_code: i32,
    pub truncated: bool,
    pub timed_out: bool,
    pub interrupted: bool,
    /// Layers in force: `landlock+seccomp`, `seccomp`, `policy-only`.
    pub sandbox: &'static str,
    pub notes: Vec<String>,
    pub duration: Duration,
}

/// # Errors
/// `io_error` if no process or sandbox can be created. A failing command is an outcome.
pub fn run(plan: &Plan, request: &Request, world: &Machine) -> Result<RunOutcome> {
    let mut found = AllowedPrograms::default();
    for name in &plan.programs {
        world.search.add(name, world.home.as_deref(), &mut found);
    }
    let reads = if plan.programs.is_empty() && !plan.text.contains('<') {
        ReadGrants::of_names(world)
    } else {
        ReadGrants::of_files(world, &found.directories)
    };
    let mut command = match &plan.argv {
        Some(argv) => {
            let mut command = Command::new(&argv[0]);
            command.args(&argv[1..]);
            command
        }
        None => shell(&plan.text, world, &mut found),
    };
    let mut outcome = start(&mut command, found.programs, reads, request, world)?;
    outcome.output = mask::mask(outcome.output, plan.is_configuration);
    if plan.is_configuration {
        let note = "git reads the repository's configuration here, not the user's own";
        outcome.notes.push(note.to_owned());
    }
    Ok(outcome)
}

/// Runs unchecked `text`, for tests that the sandbox alone holds.
#[doc(hidden)]
pub fn run_unchecked(
    text: &str,
    programs: Vec<PathBuf>,
    request: &Request,
    world: &Machine,
) -> Result<RunOutcome> {
    let mut found = AllowedPrograms { programs, ..AllowedPrograms::default() };
    let mut command = shell(text, world, &mut found);
    start(&mut command, found.programs, ReadGrants::of_files(world, &[]), request, world)
}

fn shell(text: &str, world: &Machine, found: &mut AllowedPrograms) -> Command {
    world.search.add_program(&world.shell, found);
    let mut command = Command::new(&world.shell);
    // bash behaves as `sh` under this name.
    command.arg0("sh").args(["-c", text]);
    command
}

fn start(
    command: &mut Command,
    programs: Vec<PathBuf>,
    reads: ReadGrants,
    request: &Request,
    world: &Machine,
) -> Result<RunOutcome> {
    let begun = Instant::now();
    let failed = |error: io::Error| Error::io("run a command in the sandbox", &error);
    let path = std::env::join_paths(world.search.directories()).unwrap_or_default();
    command.env_clear().envs(git::environment(&world.root)).envs(world.environment.iter().cloned());
    command.envs(world.home.iter().map(|home| ("HOME", home)));
    command.env("PATH", path).env("PWD", &world.cwd).current_dir(&world.cwd);
    let (output, write) = io::pipe().map_err(failed)?;
    let copy = write.try_clone().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(write).stderr(copy);
    let ReadGrants { readable: whole, listed, unread, is_cut } = reads;
    let seconds = request.timeout.as_secs() + 1;
    let confinement = Confinement { programs, readable: whole, listed, seconds };
    let programs = Programs::start(command, &confinement, world).map_err(failed)?;
    // The command keeps the pipe's write ends; close them.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut capture = Capture::new(request.output_limit);
    let ending = programs.follow(output, &mut capture, begun + request.timeout, request);
    let status = programs.end().map_err(failed)?;
    let truncated = capture.truncated();
    let output = capture.into_bytes();
    let mut notes = Vec::new();
    let has = |words: &[u8]| output.windows(words.len()).any(|bytes| bytes == words);
    if has(b"ermission denied") || has(b"not permitted") {
        notes.push(format!(
            "the sandbox may have stopped this: nothing is written but to /dev/null, nothing is read outside the \
             repository and the system's own files, and {unread} entries of the repository are kept from reading"
        ));
    }
    if is_cut {
        notes.push("the repository has too many files: only some of them can be read".into());
    }
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(RunOutcome {
        output,
        exit_code: if ending == Ending::TimedOut { STATUS_TIMEOUT } else { status },
        truncated,
        timed_out: ending == Ending::TimedOut,
        interrupted: ending == Ending::Interrupted,
        sandbox: world.layers.name(),
        notes,
        duration: begun.elapsed(),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done,
    TimedOut,
    Interrupted,
}

/// A call's programs: one session and process group, which seccomp does not let them leave.
struct Programs {
    first: Child,
    group: Pid,
    watcher: watch::Watcher,
}

impl Programs {
    fn start(
        command: &mut Command,
        confinement: &Confinement,
        world: &Machine,
    ) -> io::Result<Self> {
        let watcher = watch::Watcher::start()?;
        sandbox::confine(command, confinement, world.layers, watcher.pipe())?;
        let first = command.spawn()?;
        let group = Pid::from_child(&first);
        Ok(Self { first, group, watcher })
    }

    /// Captures output until the first program ends or time is up, then drains the pipe.
    fn follow(
        &self,
        mut output: io::PipeReader,
        capture: &mut Capture,
        deadline: Instant,
        request: &Request,
    ) -> Ending {
        let mut buffer = vec![0; 64 * 1024];
        let (mut is_open, mut ending) = (true, None);
        loop {
            if ending.is_none() {
                let interrupt = request.interrupt.as_deref();
                ending = if self.has_ended() {
                    // aye does not wait for processes that hold the pipe.
                    Some(Ending::Done)
                } else if Instant::now() >= deadline {
                    Some(Ending::TimedOut)
                } else if interrupt.is_some_and(|end| is_ready(end, Duration::ZERO)) {
                    Some(Ending::Interrupted)
                } else {
                    None
                };
            }
            if ending.is_some() {
                self.kill();
            }
            if is_open && is_ready(&output, LOOK) {
                match output.read(&mut buffer) {
                    Ok(0) => is_open = false,
                    Ok(length) => capture.push(&buffer[..length]),
                    Err(error) => is_open = error.kind() == io::ErrorKind::Interrupted,
                }
            } else if let Some(ending) = ending {
                return ending;
            } else if !is_open {
                std::thread::sleep(LOOK / 100);
            }
        }
    }

    /// The process id stays reserved until [`Self::end`].
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    fn kill(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    fn end(self) -> io::Result<ExitStatus> {
        self.kill();
        let Self { mut first, group, watcher } = self;
        // Before the group's number can be reused.
        drop(watcher);
        let status = first.wait()?;
        let begun = Instant::now();
        while test_kill_process_group(group).is_ok() && begun.elapsed() < ENDING {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(status)
    }
}

fn is_ready(end: &impl AsFd, wait: Duration) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&wait)).is_ok_and(|ready| ready > 0)
}
