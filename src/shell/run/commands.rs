//! Runs the commands of a plan, in threads beside the one that follows their output.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::super::codes;
use super::super::sandbox::{self, Confinement, Layers};
use super::super::steps::{Action, Compound, List, Part, Stream};
use super::super::syntax::Link;
use super::super::world::World;
use super::builtin::{self, Answer};
use super::filter::Filter;
use super::process::Connector;
use super::watch::Watcher;
use super::worker::{Ends, Spec, Worker};
use crate::error::{Error, Result};

/// What starts programs and can end them all, shared by the threads of one run.
pub(super) struct Starter {
    confinement: Confinement,
    require_sandbox: bool,
    /// The confined thread, once a program had to be started.
    worker: Option<Worker>,
    /// Leads the process group of all programs, where there is one.
    watcher: Option<Watcher>,
    /// Process groups with programs that are not collected yet.
    groups: Vec<Pid>,
    /// Nothing is started any more.
    stopped: bool,
}

impl Starter {
    pub(super) fn new(confinement: Confinement, require_sandbox: bool) -> Self {
        Self {
            confinement,
            require_sandbox,
            worker: None,
            watcher: None,
            groups: Vec::new(),
            stopped: false,
        }
    }

    /// Starts the programs of one pipeline in one process group.
    fn start(&mut self, specs: Vec<Spec>) -> Result<(Vec<io::Result<Child>>, Option<Pid>)> {
        if self.stopped {
            return Ok((Vec::new(), None));
        }
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => {
                sandbox::close_inherited();
                let worker = Worker::new(self.confinement.clone())?;
                // Without one the programs still end with aye, only what they started may not.
                self.watcher = Watcher::start().ok();
                worker
            }
        };
        let worker = self.worker.insert(worker);
        let layers = worker.layers();
        if self.require_sandbox && !(layers.landlock || layers.seccomp) {
            return Err(Error::new(
                &codes::SANDBOX_REQUIRED,
                "aye.shellSandbox is `require`, and this kernel offers neither Landlock nor seccomp",
            )
            .hint("set it to `auto` to rely on the policy alone"));
        }
        let shared = self.watcher.as_ref().map(Watcher::group);
        let children = worker.start(specs, shared.map_or(0, Pid::as_raw_pid))?;
        let first = || pid(children.iter().flatten().next()?);
        let group = shared.or_else(first);
        self.groups.extend(group.filter(|group| !self.groups.contains(group)));
        Ok((children, group.filter(|_| shared.is_none())))
    }
}

/// Runs lists of commands.
#[derive(Clone, Copy)]
pub(super) struct Commands<'a> {
    pub(super) starter: &'a Mutex<Starter>,
    pub(super) world: &'a World,
    /// Unique to this run; in the environment of every program it starts.
    pub(super) mark: &'a str,
    /// The limit of time, of which no program may spend more on the processor.
    pub(super) time: Duration,
}

impl Commands<'_> {
    fn starter(&self) -> MutexGuard<'_, Starter> {
        self.starter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every program, and starts no more.
    pub(super) fn stop(&self) {
        let mut starter = self.starter();
        starter.stopped = true;
        for group in &starter.groups {
            let _ = kill_process_group(*group, Signal::KILL);
        }
    }

    /// The layers in force; none when no program was started.
    pub(super) fn layers(&self) -> Option<Layers> {
        self.starter().worker.as_ref().map(Worker::layers)
    }

    /// Runs a list from the directory `cwd`, which becomes the one it ends in; returns its status.
    ///
    /// # Errors
    /// `sandbox_required`; `io_error` when the system gives no pipe or thread.
    pub(super) fn list(&self, list: &List, cwd: &mut PathBuf, ends: &Ends) -> Result<i32> {
        let mut status = 0;
        for pipeline in &list.pipelines {
            if self.starter().stopped {
                break;
            }
            let runs = match pipeline.link {
                Link::Always => true,
                Link::IfOk => status == 0,
                Link::IfFailed => status != 0,
            };
            if runs {
                let parts = pipeline.parts(cwd)?;
                status = self.pipeline(parts, cwd, ends)?;
                if pipeline.negated {
                    status = i32::from(status == 0);
                }
            }
        }
        Ok(status)
    }

    fn pipeline(&self, parts: &[Part], cwd: &mut PathBuf, ends: &Ends) -> Result<i32> {
        let mut connector = Connector::new(ends)?;
        match parts {
            [Part::Compound(compound)] => {
                let own = connector.ends(&parts[0], true)?;
                let (status, end) = self.compound(compound, &own)?;
                if !compound.subshell {
                    *cwd = end;
                }
                return Ok(status);
            }
            [Part::Step(step)] => {
                if let Some(answer) = builtin::answer(step, self.world) {
                    let own = connector.ends(&parts[0], true)?;
                    let status = say(own, &answer);
                    if let (Action::Move(directory), 0) = (&step.action, status) {
                        cwd.clone_from(directory);
                    }
                    return Ok(status);
                }
            }
            _ => {}
        }
        std::thread::scope(|scope| {
            let no_pipe = |error| Error::io("make a pipe", &error);
            let no_thread = |error| Error::io("start a thread", &error);
            let mut specs = Vec::new();
            let mut messages = Vec::new();
            let mut threads: Vec<ScopedJoinHandle<'_, Result<i32>>> = Vec::new();
            let mut connector = connector;
            let last = parts.len() - 1;
            for (index, part) in parts.iter().enumerate() {
                let mut own = connector.ends(part, index == last)?;
                let builder = std::thread::Builder::new();
                threads.push(
                    match part {
                        Part::Compound(compound) => builder
                            .spawn_scoped(scope, move || Ok(self.compound(compound, &own)?.0)),
                        Part::Step(step) => match builtin::answer(step, self.world) {
                            Some(answer) => {
                                builder.spawn_scoped(scope, move || Ok(say(own, &answer)))
                            }
                            None => {
                                messages.push((step, index == last));
                                if let Some(redaction) = step.redaction {
                                    let inserted = Filter::insert(&mut own, redaction);
                                    for filter in inserted.map_err(no_pipe)? {
                                        let builder = std::thread::Builder::new();
                                        let thread = builder.spawn_scoped(scope, || filter.run());
                                        thread.map_err(no_thread)?;
                                    }
                                }
                                let seconds = self.time.as_secs();
                                specs.push(Spec::new(step, own, self.world, self.mark, seconds));
                                continue;
                            }
                        },
                    }
                    .map_err(no_thread)?,
                );
            }
            // Readers must see the end of what their writers leave.
            drop(connector);
            let mut status = 0;
            if !specs.is_empty() {
                let (children, group) = self.starter().start(specs)?;
                for ((step, last), child) in messages.iter().zip(&children) {
                    if let Err(error) = child {
                        let message = format!("{}: cannot be started: {error}\n", step.argv[0]);
                        let to = match step.streams.stderr {
                            Stream::Out if *last => &ends.stdout,
                            Stream::Null => continue,
                            _ => &ends.stderr,
                        };
                        write(to, message.as_bytes());
                    }
                }
                status = self.collect(children, group);
            }
            let ends_with_program =
                matches!(&parts[last], Part::Step(step) if matches!(step.action, Action::Run(_)));
            for thread in threads {
                let ended = thread.join();
                let ended = ended.map_err(|_| Error::bug("the thread of a command is gone"))??;
                // Those of the threads come in order, the last one last.
                if !ends_with_program {
                    status = ended;
                }
            }
            Ok(status)
        })
    }

    /// Runs a subshell or a loop; returns its status and the directory it ends in.
    fn compound(&self, compound: &Compound, ends: &Ends) -> Result<(i32, PathBuf)> {
        let mut cwd = compound.cwd.clone();
        let mut status = 0;
        for list in &compound.rounds {
            status = self.list(list, &mut cwd, ends)?;
        }
        Ok((status, cwd))
    }

    /// Waits for the programs of one pipeline and returns the status of the last. The group `own`
    /// is theirs alone.
    fn collect(&self, children: Vec<io::Result<Child>>, own: Option<Pid>) -> i32 {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        for pid in children.iter().flatten().filter_map(pid) {
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        }
        // Once they are collected their numbers may be those of other processes.
        let mut starter = self.starter();
        if let Some(own) = own {
            let _ = kill_process_group(own, Signal::KILL);
            starter.groups.retain(|group| *group != own);
        }
        let mut status = 0;
        for child in children {
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

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Writes the answer of a builtin into its streams; a reader that left early is no error.
fn say(ends: Ends, answer: &Answer) -> i32 {
    write(&ends.stderr, &answer.err);
    write(&ends.stdout, &answer.out);
    answer.status
}

fn write(to: &OwnedFd, bytes: &[u8]) {
    if let Ok(to) = to.try_clone() {
        let _ = File::from(to).write_all(bytes);
    }
}
