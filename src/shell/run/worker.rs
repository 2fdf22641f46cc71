//! The confined thread that starts programs.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::super::sandbox::{self, Confinement, Layers};
use super::super::steps::{Action, Step};
use super::super::world::World;
use crate::error::{Error, Result};

/// Variables that make programs quiet, repeatable, and deaf to the user's own set-up.
pub(super) const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_ADVICE", "0"),
    ("GOTOOLCHAIN", "local"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONNOUSERSITE", "1"),
    ("PYTHONSAFEPATH", "1"),
];

/// The variable that marks every program of a run.
pub(super) const MARK: &str = "AYE_SHELL";

/// The three streams of a command.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// One program to start.
pub(super) struct Spec {
    program: PathBuf,
    argv: Vec<String>,
    cwd: PathBuf,
    environment: Vec<(String, OsString)>,
    streams: Ends,
    /// Processor time it may take.
    seconds: u64,
}

impl Spec {
    pub(super) fn new(step: &Step, streams: Ends, world: &World, mark: &str, seconds: u64) -> Self {
        let program = match &step.action {
            Action::Run(path) => path.clone(),
            _ => PathBuf::new(),
        };
        let mut environment: Vec<(String, OsString)> =
            FIXED.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
        environment.extend(world.environment.iter().cloned());
        let set = step.environment.iter().map(|(name, value)| (name.clone(), value.into()));
        environment.extend(set);
        environment.push(("PATH".into(), world.path().into()));
        environment.push((MARK.into(), mark.into()));
        environment.push(("PWD".into(), step.cwd.clone().into()));
        if let Some(home) = &world.home {
            environment.push(("HOME".into(), home.clone().into()));
        }
        let (argv, cwd) = (step.argv.clone(), step.cwd.clone());
        Self { program, argv, cwd, environment, streams, seconds }
    }

    /// Starts it in the process group `group`, or in one of its own.
    fn start(self, group: i32) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .arg0(&self.argv[0])
            .args(&self.argv[1..])
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.environment)
            .stdin(Stdio::from(self.streams.stdin))
            .stdout(Stdio::from(self.streams.stdout))
            .stderr(Stdio::from(self.streams.stderr))
            .process_group(group);
        sandbox::bind(&mut command, self.seconds);
        command.spawn()
    }
}

type Started = Vec<io::Result<Child>>;

/// The thread, as seen from outside.
pub(super) struct Worker {
    jobs: Sender<(Vec<Spec>, i32)>,
    started: Receiver<Started>,
    ready: Receiver<Layers>,
    layers: OnceCell<Layers>,
}

impl Worker {
    /// Starts a thread that confines itself, and does not wait for it: that takes a while.
    pub(super) fn new(confinement: Confinement) -> Result<Self> {
        let (jobs, inbox) = channel::<(Vec<Spec>, i32)>();
        let (outbox, started) = channel();
        let (confined, ready) = channel();
        std::thread::Builder::new()
            .name("confined".into())
            .spawn(move || {
                let _ = confined.send(sandbox::confine(&confinement));
                for (specs, group) in inbox {
                    if outbox.send(start_all(specs, group)).is_err() {
                        break;
                    }
                }
            })
            .map_err(|error| Error::io("start the confined thread", &error))?;
        Ok(Self { jobs, started, ready, layers: OnceCell::new() })
    }

    /// The layers in force, once it is confined.
    pub(super) fn layers(&self) -> Layers {
        // A thread that has ended starts nothing either.
        *self.layers.get_or_init(|| self.ready.recv().unwrap_or_default())
    }

    /// Starts the programs of one pipeline, all in the process group `group`; in that of the
    /// first if it is 0.
    pub(super) fn start(&self, specs: Vec<Spec>, group: i32) -> Result<Started> {
        let gone = |_| Error::bug("the confined thread is gone");
        self.jobs.send((specs, group)).map_err(|_| gone(()))?;
        self.started.recv().map_err(|_| gone(()))
    }
}

fn start_all(specs: Vec<Spec>, mut group: i32) -> Started {
    let mut started = Vec::with_capacity(specs.len());
    for spec in specs {
        let child = spec.start(group);
        if let (0, Ok(child)) = (group, &child) {
            group = i32::try_from(child.id()).unwrap_or(0);
        }
        started.push(child);
    }
    started
}
