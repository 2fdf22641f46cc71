//! What a command text becomes once it is decided: steps that may run. Made by [`mod@super::plan`], carried
//! out by [`mod@super::run`].

use std::path::{Path, PathBuf};

use super::syntax::{Link, Script};

/// A command text that may run.
#[derive(Debug)]
pub struct Plan<'t> {
    /// What was parsed.
    pub script: Script<'t>,
    /// Each pipeline, decided for every folder it may run in.
    pub(super) decided: Vec<Decided>,
}

/// One pipeline, decided for one folder.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) pipeline: usize,
    pub(super) folder: PathBuf,
    pub(super) steps: Vec<Step>,
}

impl Plan<'_> {
    /// Every step, in the order written.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.decided.iter().flat_map(|decided| &decided.steps)
    }

    /// The steps of pipeline `index` in `folder`.
    ///
    /// # Errors
    /// `internal_error` if that was never decided.
    pub(super) fn steps_of(&self, index: usize, folder: &Path) -> crate::error::Result<&[Step]> {
        self.decided
            .iter()
            .find(|decided| decided.pipeline == index && decided.folder == folder)
            .map(|decided| decided.steps.as_slice())
            .ok_or_else(|| crate::error::Error::bug("a command was not decided for its folder"))
    }
}

/// One command, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The command as it was written.
    pub segment: String,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// The argument list, the program's name first.
    pub argv: Vec<String>,
    /// What is done.
    pub action: Action,
    /// The rule that allowed it.
    pub rule: &'static str,
    /// Other programs it may start.
    pub helpers: Vec<PathBuf>,
    /// Where standard output goes.
    pub stdout: Stream,
    /// Where standard error goes.
    pub stderr: Stream,
    /// Standard input from a file.
    pub input: Option<PathBuf>,
    /// Denied files below what it reads as a whole.
    pub denied: Vec<PathBuf>,
}

/// What running a step means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start this program.
    Run(PathBuf),
    /// The program is not installed in the system's folders: status 127, as in a shell.
    Missing,
    /// Answered in this process.
    Builtin,
    /// Move to this folder.
    Move(PathBuf),
    /// A `cd` that fails: the folder does not exist.
    NoFolder,
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

/// True when the pipeline runs, given the status of what ran last.
pub(super) fn runs(link: Link, status: i32) -> bool {
    match link {
        Link::Always => true,
        Link::IfOk => status == 0,
        Link::IfFailed => status != 0,
    }
}
