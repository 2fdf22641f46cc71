//! What a command text becomes once it is decided: steps that may run. Made by [`mod@super::plan`], carried
//! out by [`mod@super::run`].

use std::path::{Path, PathBuf};

use super::redact::Redaction;
use super::syntax::Link;
use crate::error::{Error, Result};

/// A command text that may run.
#[derive(Debug)]
pub struct CommandPlan {
    pub(super) list: List,
}

impl CommandPlan {
    /// Every command, in the order written; one in a loop once for each round.
    pub fn steps(&self) -> Vec<&Step> {
        self.list.steps()
    }

    /// A note beside the answer, where a command may ask for the configuration of the user.
    pub fn note(&self) -> Option<&'static str> {
        const OF_THE_REPOSITORY: [&str; 3] = ["--local", "--worktree", "--blob"];
        let asks = |step: &&Step| {
            let mut given = step.argv.iter().skip(1);
            (step.rule.starts_with("git config") || step.rule == "git var")
                && !given.any(|it| OF_THE_REPOSITORY.iter().any(|flag| it.starts_with(flag)))
        };
        let asks = self.steps().iter().any(asks);
        asks.then_some("git reads the configuration of the repository here, not the user's own")
    }
}

/// Pipelines in order, each decided for every directory it may run in.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) pipelines: Vec<Pipeline>,
}

/// One pipeline.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) link: Link,
    pub(super) negated: bool,
    pub(super) decided: Vec<Decided>,
}

/// A pipeline as it runs in one directory.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) directory: PathBuf,
    pub(super) parts: Vec<Part>,
}

/// What a pipeline connects.
#[derive(Debug)]
pub(super) enum Part {
    Step(Step),
    Compound(Compound),
}

/// A subshell, or a loop with its rounds.
#[derive(Debug)]
pub(super) struct Compound {
    /// What is run, one after the other.
    pub(super) rounds: Vec<List>,
    /// The directory it ends in is not that of what follows.
    pub(super) subshell: bool,
    /// The directory it begins in.
    pub(super) cwd: PathBuf,
    pub(super) streams: Streams,
}

/// Where a command reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Where standard output goes.
    pub stdout: Stream,
    /// Where standard error goes.
    pub stderr: Stream,
    /// Standard input from a file.
    pub input: Option<PathBuf>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { stdout: Stream::Out, stderr: Stream::Err, input: None }
    }
}

impl List {
    pub(super) fn steps(&self) -> Vec<&Step> {
        let decided = self.pipelines.iter().flat_map(|pipeline| &pipeline.decided);
        let parts = decided.flat_map(|decided| &decided.parts);
        parts
            .flat_map(|part| match part {
                Part::Step(step) => vec![step],
                Part::Compound(compound) => compound.rounds.iter().flat_map(Self::steps).collect(),
            })
            .collect()
    }
}

impl Pipeline {
    /// What it is in `directory`.
    ///
    /// # Errors
    /// `internal_error` if that was never decided.
    pub(super) fn parts(&self, directory: &Path) -> Result<&[Part]> {
        let decided = self.decided.iter().find(|decided| decided.directory == directory);
        decided
            .map(|decided| decided.parts.as_slice())
            .ok_or_else(|| Error::bug("a command was not decided for its directory"))
    }
}

impl Part {
    pub(super) fn streams(&self) -> &Streams {
        match self {
            Self::Step(step) => &step.streams,
            Self::Compound(compound) => &compound.streams,
        }
    }
}

/// One command, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The command as it was written.
    pub segment: String,
    /// The directory it runs in.
    pub cwd: PathBuf,
    /// The argument list, the program's name first.
    pub argv: Vec<String>,
    /// What is done.
    pub action: Action,
    /// The rule that allowed it.
    pub rule: &'static str,
    /// Variables that are set for it.
    pub environment: Vec<(String, String)>,
    /// Other programs it may start.
    pub helpers: Vec<PathBuf>,
    /// Where it reads and writes.
    pub streams: Streams,
    /// What of its output is replaced.
    pub redaction: Option<Redaction>,
    /// Denied files below what it reads as a whole.
    pub denied: Vec<PathBuf>,
}

/// What running a step means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start this program.
    Run(PathBuf),
    /// The program is not installed in the system's directories: status 127, as in a shell.
    Missing,
    /// Answered in this process.
    Builtin,
    /// Move to this directory.
    Move(PathBuf),
    /// A `cd` that fails: the directory does not exist.
    NoDirectory,
}

/// Where an output stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Into the pipe, or to the caller as output.
    Out,
    /// To the caller as messages.
    Err,
    /// Nowhere.
    Null,
}
