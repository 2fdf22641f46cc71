//! The user's command, run on the current proposal.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::try_;
use crate::error::{Error, Result};
use crate::prompt::SignalHold;
use crate::proposal::ProposalId;
use crate::review::terminal::TrialOutcome;

/// `aye try` is a process: it takes the lock, runs long, and may be stopped with Ctrl-C. Its
/// document tells a failed command from a missing trial; an exit status does not.
pub(super) fn run(directory: &Path, id: &ProposalId, revision: &str) -> Result<TrialOutcome> {
    let failed = |error: &std::io::Error| Error::io("run aye try", error);
    let program = std::env::current_exe().map_err(|e| Error::io("find aye itself", &e))?;
    let _hold = SignalHold::interrupts();
    let child = Command::new(program)
        .arg("try")
        .arg(format!("{id}@{revision}"))
        .arg("--json")
        .current_dir(directory)
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        // The reviewer sees this process's standard output.
        .stderr(Stdio::from(std::io::stdout()))
        .spawn()
        .map_err(|error| failed(&error))?;
    let ended = child.wait_with_output().map_err(|error| failed(&error))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(match serde_json::from_slice::<Value>(&ended.stdout) {
        Ok(document) if document["schema"] == try_::SCHEMA => {
            let signal = ended.status.code().unwrap_or_default() - 128;
            TrialOutcome::Ended(format!("{id}: {}", how(&document, signal)))
        }
        Ok(document) => {
            let error = &document["error"];
            let why = text(&error["message"]).unwrap_or_else(|| "aye try has failed".to_owned());
            TrialOutcome::NotMade { why, hint: text(&error["hint"]) }
        }
        Err(_) => TrialOutcome::NotMade {
            why: format!("aye try ended with {}", ended.status),
            hint: None,
        },
    })
}

fn how(document: &Value, signal: i32) -> String {
    let exit_code = document["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
    let duration_ms = document["duration_ms"].as_u64().unwrap_or_default();
    try_::how_it_ended(exit_code, signal, duration_ms, document["recorded"] == true)
}
