//! The `readonly_shell` contract: one command in, its output out, nothing changed.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{answered, beside, required, shorten, whole};
use super::registry::Answer;
use super::{Arguments, codes as tool_codes};
use crate::error::{Error, Exit, Result};
use crate::proposal::event::timestamp;
use crate::shell::{Refusal, Request, RunOutcome, World, codes, plan, run};

/// The name of the tool in `aye call`.
pub const NAME: &str = "readonly_shell";
const SCHEMA: &str = "aye/readonly_shell@1";

/// The longest that a command may take, in milliseconds.
const LONGEST: usize = 3_600_000;

/// The shortest, in milliseconds: less is meant in another unit.
const SHORTEST: usize = 1_000;

/// Arguments of the tool: the contract's `command`, and what models send with it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The command to execute.
    #[schemars(required)]
    command: Option<String>,
    /// Where to run it: a directory inside the repository. The caller's own otherwise.
    #[serde(alias = "cwd", alias = "directory")]
    workdir: Option<PathBuf>,
    /// Stop after so many milliseconds: at least 1,000, at most 3,600,000.
    #[serde(default, alias = "timeout", deserialize_with = "whole")]
    timeout_ms: Option<usize>,
}

/// A call of the tool.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The command to execute.
    pub command: String,
    /// Where to run it.
    pub workdir: Option<PathBuf>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Arguments that nobody asked for.
    pub ignored: Vec<String>,
}

impl Asked {
    /// Takes the arguments of a call.
    ///
    /// # Errors
    /// `missing_parameter`, `invalid_parameter`.
    pub fn new(value: Value) -> Result<Self> {
        let Arguments { known, ignored } =
            Arguments::<Parameters>::read(value, "{\"command\": \"ls -la\"}")?;
        let timeout = known.timeout_ms.map(|ms| ms.clamp(SHORTEST, LONGEST) as u64);
        let command = required("command", known.command, &ignored);
        Ok(Self {
            command: command.map_err(|error| beside(error, ignored.clone()))?,
            workdir: known.workdir,
            timeout: timeout.map(Duration::from_millis),
            ignored,
        })
    }

    /// `world` with the directory that the command is to run in.
    ///
    /// # Errors
    /// `invalid_parameter` if it is not a directory of the repository.
    pub fn place(&self, world: World) -> Result<World> {
        let Some(workdir) = &self.workdir else { return Ok(world) };
        let wrong = |why: &str| {
            let shown = shorten(&workdir.display().to_string());
            let message = format!("the parameter 'workdir' is '{shown}', {why}");
            Error::new(&tool_codes::INVALID_PARAMETER, message)
                .with("parameter", "workdir")
                .hint("give a directory inside the repository")
        };
        let cwd = world.cwd.join(workdir).canonicalize();
        let cwd = cwd.map_err(|_| wrong("which does not exist"))?;
        match cwd.starts_with(&world.root) && cwd.is_dir() {
            true => Ok(World { cwd, ..world }),
            false => Err(wrong("which is not a directory inside the repository")),
        }
    }
}

/// Reads what a command may depend on, and the limits of the front end. Asked for once the arguments
/// are known to be good.
pub type Surroundings<'a> = &'a dyn Fn() -> Result<(World, Request)>;

/// Answers a call. Every answer, an error too, has the contract's shape.
///
/// # Errors
/// `missing_parameter`, `invalid_parameter`, and those of [`call`].
pub fn answer(
    surroundings: Surroundings<'_>,
    now: DateTime<Utc>,
    arguments: Value,
) -> Result<Answer> {
    let called = Asked::new(arguments).and_then(|asked| {
        let respond = || {
            let (world, request) = surroundings()?;
            let request = Request { timeout: asked.timeout.unwrap_or(request.timeout), ..request };
            call(&asked.command, &request, &asked.place(world)?, now)
        };
        match respond() {
            Ok(response) => Ok((response, asked.ignored)),
            Err(error) => Err(beside(error, asked.ignored)),
        }
    });
    let (mut response, ignored) = called?;
    // No tool's answer names its schema; `aye shell --json` does.
    let exit = match &mut response {
        Response::Ran(ran) => {
            ran.schema = None;
            Exit::Done
        }
        Response::Refused(refused) => {
            refused.schema = None;
            codes::COMMAND_NOT_ALLOWED.exit
        }
    };
    Ok(Answer { value: answered(&response, ignored)?, exit })
}

/// What the tool answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Response {
    /// The command ran, whatever its exit code.
    Ran(Ran),
    /// The command was refused; nothing ran.
    Refused(Refused),
}

/// What the tool and `aye shell --json` answer, as the published schema has it.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Published {
    /// The command ran, or was refused.
    Answered(Response),
    /// The call itself was wrong, or could not be carried out.
    Failed(super::failure::Plain),
}

/// A command that ran.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ran {
    /// `aye/readonly_shell@1`; the tool's answers have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<&'static str>,
    /// `ok`.
    pub status: &'static str,
    /// The command, as given.
    pub command: String,
    /// Standard output and standard error in the order they came, as UTF-8.
    pub output: String,
    /// The command's own exit code.
    pub exit_code: i32,
    /// When it was started, RFC 3339 in UTC.
    pub executed_at: String,
    /// How long it took.
    pub duration_ms: u64,
    /// Output over the limit was left out of the middle.
    pub truncated: bool,
    /// The time ran out; the exit code is 124.
    pub timed_out: bool,
    /// What held it: `landlock+seccomp`; or, where the kernel has no Landlock, `seccomp` or
    /// `policy-only`.
    pub sandbox: &'static str,
    /// What else the reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A command that was refused.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Refused {
    /// `aye/readonly_shell@1`; the tool's answers have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<&'static str>,
    /// `error`.
    pub status: &'static str,
    /// The command, as given.
    pub command: String,
    /// `COMMAND_NOT_ALLOWED`.
    pub code: &'static str,
    /// What is not allowed.
    pub message: String,
    /// What to write instead.
    pub hint: String,
    /// Where in the command.
    pub details: Particulars,
}

/// What of a command is refused.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Particulars {
    /// Where the refused part begins in the command, in bytes.
    pub position: usize,
}

impl Response {
    /// The status a process should end with: the command's own, or 4 when refused.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Ran(ran) => ran.exit_code,
            Self::Refused(_) => codes::COMMAND_NOT_ALLOWED.exit as i32,
        }
    }
}

/// Runs the tool at time `now`.
///
/// # Errors
/// `sandbox_required`, or a failure of the machine. A refusal is a response.
pub fn call(
    command: &str,
    request: &Request,
    world: &World,
    now: DateTime<Utc>,
) -> Result<Response> {
    Ok(match plan(command, world) {
        Err(refusal) => refused(command, refusal),
        Ok(plan) => ran(command, run(&plan, request, world)?, request.timeout, now),
    })
}

fn refused(command: &str, refusal: Refusal) -> Response {
    Response::Refused(Refused {
        schema: Some(SCHEMA),
        status: "error",
        command: command.to_owned(),
        code: codes::COMMAND_NOT_ALLOWED.id,
        message: refusal.message,
        hint: refusal.hint,
        details: Particulars { position: refusal.position },
    })
}

fn ran(command: &str, outcome: RunOutcome, timeout: Duration, now: DateTime<Utc>) -> Response {
    let mut notes = outcome.notes;
    let output = match String::from_utf8(outcome.output) {
        Ok(text) => text,
        Err(error) => {
            notes.push("bytes that are not UTF-8 were replaced by U+FFFD in the output".into());
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    };
    if outcome.timed_out {
        notes.push(format!("stopped after {} ms", timeout.as_millis()));
    }
    if outcome.interrupted {
        notes.push("stopped by the user".into());
    }
    Response::Ran(Ran {
        schema: Some(SCHEMA),
        status: "ok",
        command: command.to_owned(),
        output,
        exit_code: outcome.exit_code,
        executed_at: timestamp(now),
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        truncated: outcome.truncated,
        timed_out: outcome.timed_out,
        sandbox: outcome.sandbox,
        notes,
    })
}
