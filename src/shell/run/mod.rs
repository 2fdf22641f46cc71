//! Runs a plan: starts argument lists, connects the pipes, keeps the time and the ceiling.

mod builtin;
mod capture;
mod commands;
mod filter;
mod process;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(target_os = "linux"))]
#[path = "watch_nothing.rs"]
mod watch;
mod worker;

pub use filter::is_same_file;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::access;
use super::sandbox::{Confinement, Layers};
use super::steps::{Action, CommandPlan, Decided, List, Part, Pipeline, Step, Streams};
use super::syntax::Link;
use super::world::World;
use crate::error::{Error, Result};
use capture::Capture;
use commands::{Commands, Starter};
use process::{Ending, Pipes};
use worker::Worker;

/// Exit status of a command that ran out of time, as `timeout` has it.
pub const STATUS_TIMEOUT: i32 = 124;

/// How a plan is to be run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Wall-clock limit for everything together.
    pub timeout: Duration,
    /// Most bytes of output kept, for each stream.
    pub output_limit: usize,
    /// Standard output and standard error apart; otherwise both in order, as output.
    pub apart: bool,
    /// Refuse to start a program without the kernel's sandbox.
    pub require_sandbox: bool,
    /// A descriptor that becomes readable when the user wants to stop.
    pub interrupt: Option<std::sync::Arc<std::os::fd::OwnedFd>>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            output_limit: 256 * 1024,
            apart: false,
            require_sandbox: false,
            interrupt: None,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct RunOutcome {
    /// Standard output; standard error too, in order, unless they were asked for apart.
    pub output: Vec<u8>,
    /// Standard error, if asked for apart.
    pub errors: Vec<u8>,
    /// The status of the last pipeline that ran.
    pub exit_code: i32,
    /// Output over the limit was left out.
    pub truncated: bool,
    /// The time ran out and everything was killed.
    pub timed_out: bool,
    /// The user interrupted it.
    pub interrupted: bool,
    /// The layers in force: `landlock+seccomp`, …, `policy-only`, or `no program` when none was
    /// started.
    pub sandbox: &'static str,
    /// How long it took.
    pub duration: Duration,
}

/// Runs `plan`.
///
/// # Errors
/// `sandbox_required` when it is required and the kernel has none; `io_error` when the system
/// gives no pipe or thread. A command that fails is an outcome, not an error.
pub fn run(plan: &CommandPlan, request: &Request, world: &World) -> Result<RunOutcome> {
    execute(&plan.list, confinement(plan, world), &world.cwd, request, world)
}

/// Runs a list, which begins in `cwd`. All of it writes into the same pipes, and has one limit of
/// time and of output.
fn execute(
    list: &List,
    confinement: Confinement,
    cwd: &Path,
    request: &Request,
    world: &World,
) -> Result<RunOutcome> {
    let started = Instant::now();
    let mut output = Capture::new(request.output_limit);
    let mut errors = Capture::new(request.output_limit);
    let Pipes { ends, sources } = Pipes::new(request.apart)?;
    let no_pipe = |error| Error::io("make a pipe", &error);
    let (finished, finishing) = io::pipe().map_err(no_pipe)?;
    let mark = mark();
    let starter = Mutex::new(Starter::new(confinement, request.require_sandbox));
    let commands = Commands { starter: &starter, world, mark: &mark, time: request.timeout };
    let (ending, status) = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || {
            let status = commands.list(list, &mut cwd.to_owned(), &ends);
            drop(ends);
            drop(finishing);
            status
        });
        let thread = thread.map_err(|error| Error::io("start a thread", &error))?;
        let deadline = started + request.timeout;
        let interrupt = request.interrupt.as_deref();
        let ending = process::follow(
            sources,
            &finished.into(),
            (&mut output, &mut errors),
            deadline,
            interrupt,
        );
        commands.stop();
        if ending != Ending::Done {
            process::kill_marked(&mark);
        }
        let status = thread.join().map_err(|_| Error::bug("the thread of a command is gone"))?;
        Ok::<_, Error>((ending, status?))
    })?;
    let timed_out = ending == Ending::TimedOut;
    let layers = commands.layers();
    Ok(RunOutcome {
        exit_code: if timed_out { STATUS_TIMEOUT } else { status },
        truncated: output.truncated() || errors.truncated(),
        timed_out,
        interrupted: ending == Ending::Interrupted,
        sandbox: layers.map_or("no program", Layers::name),
        output: output.into_bytes(),
        errors: errors.into_bytes(),
        duration: started.elapsed(),
    })
}

/// What the programs of a plan may do: start themselves and their helpers, read what is not
/// denied.
fn confinement(plan: &CommandPlan, world: &World) -> Confinement {
    let mut programs = BTreeSet::new();
    let mut denied = BTreeSet::new();
    let steps = plan.steps();
    // Git reads its configuration in the same confinement.
    let git = steps.iter().any(|step| step.redaction.is_some());
    for step in steps {
        if let Action::Run(path) = &step.action {
            programs.insert(path.clone());
        }
        programs.extend(step.helpers.iter().cloned());
        let kept = step.denied.iter().filter(|path| !(git && access::is_git_configuration(path)));
        denied.extend(kept.cloned());
    }
    if !programs.is_empty() {
        denied.extend(world.access.existing_trees());
    }
    Confinement {
        programs: Some(programs.into_iter().collect()),
        denied: denied.into_iter().collect(),
        root: world.root.clone(),
    }
}

/// Runs a text by a real shell inside the sandbox, with no policy at all but for the files that
/// stay unread below the directory it runs in.
///
/// Only for the tests that show that the sandbox alone holds; no command reaches it.
///
/// # Errors
/// As [`run`].
#[doc(hidden)]
pub fn run_unchecked(argv: &[String], request: &Request, world: &World) -> Result<RunOutcome> {
    let mut denied = world.access.existing_trees();
    let below = world.access.denied_below(".", &world.cwd, true).map_err(Error::from)?;
    denied.extend(below);
    let confinement = Confinement { programs: None, denied, root: world.root.clone() };
    single(PathBuf::from(&argv[0]), argv.to_vec(), &world.cwd, request, confinement, world)
}

/// What `program` prints when it is run in `cwd` to find out what may be allowed, in the sandbox;
/// nothing if it fails.
///
/// # Errors
/// As [`run`]; `io_error` if it does not come to its end, or prints without one.
pub(super) fn ask(
    program: PathBuf,
    argv: Vec<String>,
    cwd: &Path,
    world: &World,
) -> Result<Option<Vec<u8>>> {
    let request = Request { output_limit: 16 << 20, apart: true, ..Request::default() };
    let programs = Some(vec![program.clone()]);
    let denied = world.access.existing_trees();
    let confinement = Confinement { programs, denied, root: world.root.clone() };
    let outcome = single(program, argv, cwd, &request, confinement, world)?;
    if outcome.timed_out || outcome.truncated || outcome.interrupted {
        return Err(Error::new(&crate::error::codes::IO, "git did not answer in time"));
    }
    Ok((outcome.exit_code == 0).then_some(outcome.output))
}

/// Runs one program.
fn single(
    program: PathBuf,
    argv: Vec<String>,
    cwd: &Path,
    request: &Request,
    confinement: Confinement,
    world: &World,
) -> Result<RunOutcome> {
    let step = Step {
        segment: argv.join(" "),
        cwd: cwd.to_owned(),
        argv,
        action: Action::Run(program),
        rule: "unchecked",
        environment: Vec::new(),
        helpers: Vec::new(),
        streams: Streams::default(),
        redaction: None,
        denied: Vec::new(),
    };
    let decided = vec![Decided { directory: cwd.to_owned(), parts: vec![Part::Step(step)] }];
    let pipeline = Pipeline { link: Link::Always, negated: false, decided };
    execute(&List { pipelines: vec![pipeline] }, confinement, cwd, request, world)
}

/// A mark for a run: this process and a number.
fn mark() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

/// The variables every program gets, whatever the user's own are.
#[doc(hidden)]
pub fn fixed_environment() -> impl Iterator<Item = (&'static str, &'static str)> {
    worker::FIXED.iter().copied()
}

/// The layers that a confined thread would have now.
pub fn layers() -> Layers {
    Worker::new(Confinement::default()).map(|worker| worker.layers()).unwrap_or_default()
}
