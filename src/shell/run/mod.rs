//! Runs a plan: starts argument lists, connects the pipes, keeps the time and the ceiling.

mod builtin;
mod capture;
mod process;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(target_os = "linux"))]
#[path = "watch_nothing.rs"]
mod watch;
mod worker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::codes;
use super::sandbox::{self, Confinement, Layers};
use super::steps::{self, Action, Plan, Step, Stream};
use super::world::World;
use crate::error::{Error, Result};
use builtin::Answer;
use capture::Capture;
use process::{Ending, Pipes};
use watch::Watcher;
use worker::{Spec, Worker};

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
pub struct Outcome {
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
pub fn run(plan: &Plan<'_>, request: &Request, world: &World) -> Result<Outcome> {
    let mut session = Session::new(request, world, confinement(plan, world));
    let mut cwd = world.cwd.clone();
    let mut status = 0;
    for (index, pipeline) in plan.script.pipelines.iter().enumerate() {
        if !steps::runs(pipeline.link, status) {
            continue;
        }
        let steps = plan.steps_of(index, &cwd)?;
        status = session.pipeline(steps)?;
        if session.ending != Ending::Done {
            break;
        }
        if let (Action::Move(folder), 0) = (&steps[0].action, status) {
            cwd.clone_from(folder);
        }
        if pipeline.negated {
            status = i32::from(status == 0);
        }
    }
    Ok(session.outcome(status))
}

/// What the programs of a plan may do: start themselves and their helpers, read what is not
/// denied.
fn confinement(plan: &Plan<'_>, world: &World) -> Confinement {
    let mut programs = BTreeSet::new();
    let mut denied = BTreeSet::new();
    for step in plan.steps() {
        if let Action::Run(path) = &step.action {
            programs.insert(path.clone());
        }
        programs.extend(step.helpers.iter().cloned());
        denied.extend(step.denied.iter().cloned());
    }
    if !programs.is_empty() {
        denied.extend(world.access.existing_trees());
    }
    Confinement {
        programs: Some(programs.into_iter().collect()),
        denied: denied.into_iter().collect(),
    }
}

/// Runs a text by a real shell inside the sandbox, with no policy at all.
///
/// Only for the tests that show that the sandbox alone holds; no command reaches it.
///
/// # Errors
/// As [`run`].
#[doc(hidden)]
pub fn run_unchecked(argv: &[String], request: &Request, world: &World) -> Result<Outcome> {
    single(PathBuf::from(&argv[0]), argv.to_vec(), &world.cwd, request, None, world)
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
    let outcome = single(program, argv, cwd, &request, programs, world)?;
    if outcome.timed_out || outcome.truncated || outcome.interrupted {
        return Err(Error::new(&crate::error::codes::IO, "git did not answer in time"));
    }
    Ok((outcome.exit_code == 0).then_some(outcome.output))
}

/// Runs one program; it may start `programs`, or any.
fn single(
    program: PathBuf,
    argv: Vec<String>,
    cwd: &Path,
    request: &Request,
    programs: Option<Vec<PathBuf>>,
    world: &World,
) -> Result<Outcome> {
    let confinement = Confinement { programs, denied: world.access.existing_trees() };
    let mut session = Session::new(request, world, confinement);
    let step = Step {
        segment: argv.join(" "),
        cwd: cwd.to_owned(),
        argv,
        action: Action::Run(program),
        rule: "unchecked",
        helpers: Vec::new(),
        stdout: Stream::Out,
        stderr: Stream::Err,
        input: None,
        denied: Vec::new(),
    };
    let status = session.pipeline(&[step])?;
    Ok(session.outcome(status))
}

struct Session<'a> {
    request: &'a Request,
    world: &'a World,
    started: Instant,
    output: Capture,
    errors: Capture,
    /// The confined thread, once a program had to be started.
    worker: Option<Worker>,
    confinement: Confinement,
    ending: Ending,
    /// Unique to this run; in the environment of every program it starts.
    mark: String,
}

/// A mark for a run: this process and a number.
fn mark() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

impl<'a> Session<'a> {
    fn new(request: &'a Request, world: &'a World, confinement: Confinement) -> Self {
        Self {
            request,
            world,
            started: Instant::now(),
            output: Capture::new(request.output_limit),
            errors: Capture::new(request.output_limit),
            worker: None,
            confinement,
            ending: Ending::Done,
            mark: mark(),
        }
    }

    fn outcome(self, status: i32) -> Outcome {
        let timed_out = self.ending == Ending::TimedOut;
        Outcome {
            exit_code: if timed_out { STATUS_TIMEOUT } else { status },
            truncated: self.output.truncated() || self.errors.truncated(),
            timed_out,
            interrupted: self.ending == Ending::Interrupted,
            sandbox: self.worker.as_ref().map_or("no program", |worker| worker.layers().name()),
            output: self.output.into_bytes(),
            errors: self.errors.into_bytes(),
            duration: self.started.elapsed(),
        }
    }

    fn pipeline(&mut self, steps: &[Step]) -> Result<i32> {
        let answers: Vec<Option<Answer>> =
            steps.iter().map(|step| builtin::answer(step, self.world)).collect();
        match (steps, answers.as_slice()) {
            ([step], [Some(answer)]) => {
                self.say(step.stdout, &answer.out);
                self.say(step.stderr, &answer.err);
                Ok(answer.status)
            }
            _ => self.programs(steps, answers),
        }
    }

    fn say(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Err if self.request.apart => self.errors.push(bytes),
            Stream::Out | Stream::Err => self.output.push(bytes),
            Stream::Null => {}
        }
    }

    fn programs(&mut self, steps: &[Step], answers: Vec<Option<Answer>>) -> Result<i32> {
        let starts = answers.iter().any(Option::is_none);
        if starts && self.worker.is_none() {
            sandbox::close_inherited();
            self.worker = Some(Worker::new(self.confinement.clone())?);
        }
        let mut pipes = Pipes::new(self.request.apart)?;
        let mut specs = Vec::new();
        let mut writers = Vec::new();
        let last = steps.len() - 1;
        let mut status = 0;
        for (index, (step, answer)) in steps.iter().zip(answers).enumerate() {
            let streams = pipes.streams(step, index == last)?;
            match answer {
                None => {
                    let seconds = self.request.timeout.as_secs();
                    specs.push(Spec::new(step, streams, self.world, &self.mark, seconds));
                }
                Some(answer) => {
                    if index == last {
                        status = answer.status;
                    }
                    let writer = process::write(streams, answer);
                    writers.push(writer.map_err(|error| Error::io("start a thread", &error))?);
                }
            }
        }
        let last_is_program = matches!(steps[last].action, Action::Run(_));
        // Without one the programs still end with aye, only what they started may not.
        let watcher = if starts { Watcher::start().ok() } else { None };
        let children = match &self.worker {
            Some(worker) if starts => {
                self.require(worker.layers())?;
                worker.start(specs, watcher.as_ref().map_or(0, |w| w.group().as_raw_pid()))?
            }
            _ => Vec::new(),
        };
        for (child, step) in
            children.iter().zip(steps.iter().filter(|s| matches!(s.action, Action::Run(_))))
        {
            if let Err(error) = child {
                let message = format!("{}: cannot be started: {error}\n", step.argv[0]);
                self.say(step.stderr, message.as_bytes());
            }
        }
        let mut group = process::Group::new(children, watcher, &self.mark);
        self.ending = group.follow(
            pipes,
            &mut self.output,
            &mut self.errors,
            self.started + self.request.timeout,
            self.request.interrupt.as_deref(),
        );
        for writer in writers {
            let _ = writer.join();
        }
        let last_status = group.finish();
        Ok(if last_is_program { last_status } else { status })
    }

    fn require(&self, layers: Layers) -> Result<()> {
        if self.request.require_sandbox && !(layers.landlock || layers.seccomp) {
            return Err(Error::new(
                &codes::SANDBOX_REQUIRED,
                "aye.shellSandbox is `require`, and this kernel offers neither Landlock nor seccomp",
            )
            .hint("set it to `auto` to rely on the policy alone"));
        }
        Ok(())
    }
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
