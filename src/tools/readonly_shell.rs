//! The `readonly_shell` contract.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{shorten, whole_number};
use super::{Arguments, codes, failure};
use crate::error::{Error, Result};
use crate::proposal::event::timestamp;
use crate::shell::{Machine, Request, plan, run};

/// Milliseconds.
const LONGEST: usize = 3_600_000;

/// Milliseconds; less was meant in another unit.
const SHORTEST: usize = 1_000;

/// Arguments of the tool: the contract's `command`, and what models send with it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The command to execute.
    command: String,
    /// A directory inside the repository to run the command in; by default the caller's own.
    #[serde(alias = "cwd", alias = "directory")]
    workdir: Option<PathBuf>,
    /// Stop after so many milliseconds: at least 1,000, at most 3,600,000.
    #[serde(default, alias = "timeout", deserialize_with = "whole_number")]
    timeout_ms: Option<usize>,
}

/// Called only once the arguments are accepted.
pub type ShellContext<'a> = &'a dyn Fn() -> Result<(Machine, Request)>;

pub fn answer(
    surroundings: ShellContext<'_>,
    now: DateTime<Utc>,
    arguments: Value,
) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let (mut world, mut request) = surroundings()?;
        if let Some(ms) = known.timeout_ms {
            request.timeout = Duration::from_millis(ms.clamp(SHORTEST, LONGEST) as u64);
        }
        if let Some(workdir) = &known.workdir {
            world.cwd = resolve_workdir(&world, workdir)?;
        }
        call(&known.command, &request, &world, now)
    })
}

fn resolve_workdir(world: &Machine, workdir: &Path) -> Result<PathBuf> {
    let place = world.cwd.join(workdir).canonicalize();
    place.ok().filter(|place| place.starts_with(&world.root) && place.is_dir()).ok_or_else(|| {
        let shown = shorten(&workdir.display().to_string());
        let why = "which is not a directory inside the repository";
        let message = format!("the parameter 'workdir' is '{shown}', {why}");
        Error::new(&codes::INVALID_PARAMETER, message)
            .with("parameter", "workdir")
            .hint("give a directory inside the repository")
    })
}

/// A failing command is an answer.
///
/// # Errors
/// `COMMAND_NOT_ALLOWED`, `sandbox_required`, or errors of the operating system.
pub fn call(
    command: &str,
    request: &Request,
    world: &Machine,
    now: DateTime<Utc>,
) -> Result<Value> {
    let plan = plan(command, world);
    let plan = plan.map_err(|refusal| Error::from(refusal).with(COMMAND, command))?;
    let outcome = run(&plan, request, world)?;
    let mut notes = outcome.notes;
    let output = match String::from_utf8(outcome.output) {
        Ok(text) => text,
        Err(error) => {
            notes.push("bytes that are not UTF-8 were replaced by U+FFFD in the output".into());
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    };
    if outcome.timed_out {
        notes.push(format!("stopped after {} ms", request.timeout.as_millis()));
    }
    if outcome.interrupted {
        notes.push("stopped by the user".into());
    }
    let mut value = json!({
        "status": "ok",
        "command": command,
        // Standard output and error, interleaved.
        "output": output,
        "exit_code": outcome.exit_code,
        "executed_at": timestamp(now),
        "duration_ms": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        "truncated": outcome.truncated,
        "timed_out": outcome.timed_out,
        "sandbox": outcome.sandbox,
    });
    if !notes.is_empty() {
        value["notes"] = notes.into();
    }
    Ok(value)
}

const COMMAND: &str = "command";

pub fn failure(error: &Error) -> Value {
    let command = error.details().iter().find(|(key, _)| *key == COMMAND);
    let command = command.map(|(_, command)| command);
    failure::yaml_failure(json!({ "status": "error", "command": command }), error)
}
