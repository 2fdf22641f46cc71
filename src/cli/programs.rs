//! The user's own pager and editor, chosen as in git, but never by the repository's configuration,
//! which an agent may be able to write.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use super::Context;
use crate::error::{Error, Result};
use crate::prompt::SignalHold;
use crate::repository::Repository;

/// The order is git's. `None` for `cat` and an empty variable.
pub fn pager(context: &Context, repository: Option<&Repository>) -> Option<OsString> {
    if std::env::var_os("GIT_PAGER").is_some_and(|value| value.is_empty()) {
        return None;
    }
    let chosen = context
        .var("GIT_PAGER")
        .or_else(|| {
            repository
                .and_then(|repository| repository.trusted_config("core.pager"))
                .map(Into::into)
        })
        .or_else(|| std::env::var_os("PAGER"))
        .unwrap_or_else(|| "less".into());
    (!chosen.is_empty() && chosen != "cat").then_some(chosen)
}

/// The order is git's.
pub fn editor(context: &Context, repository: &Repository) -> OsString {
    let dumb = context.var("TERM").is_none_or(|term| term == "dumb");
    context
        .var("GIT_EDITOR")
        .or_else(|| repository.trusted_config("core.editor").map(Into::into))
        .or_else(|| context.var("VISUAL").filter(|_| !dumb))
        .or_else(|| context.var("EDITOR"))
        .unwrap_or_else(|| "vi".into())
}

/// Runs in a shell, as in git.
pub fn shell(command_line: &OsString, arguments: &[&std::ffi::OsStr]) -> Command {
    let mut script = command_line.clone();
    if !arguments.is_empty() {
        script.push(" \"$@\"");
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(command_line).args(arguments);
    command
}

/// Pipes `text` through `filter`.
///
/// # Errors
/// `io_error` if it cannot be run, fails, or prints invalid UTF-8.
pub fn run_filter(filter: &OsString, text: &str) -> Result<String> {
    use std::io::Write as _;
    let failed = |error: &std::io::Error| Error::io("run it", error);
    let _hold = SignalHold::interrupts();
    let mut child = shell(filter, &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut stdin = child.stdin.take();
    // The filter may print before it has read everything.
    let output = std::thread::scope(|scope| {
        let feed = move || stdin.as_mut().map(|stdin| stdin.write_all(text.as_bytes()));
        let feeder = std::thread::Builder::new().spawn_scoped(scope, feed);
        let output = child.wait_with_output();
        feeder.and(output)
    });
    let output = output.map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&std::io::Error::other(output.status.to_string())));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(&std::io::Error::other(error)))
}

/// `false` if it could not be started.
pub fn run_pager<Piece: AsRef<[u8]>>(
    pager: &OsString,
    pieces: impl Iterator<Item = Result<Piece>>,
) -> Result<bool> {
    use std::io::Write as _;
    let mut command = shell(pager, &[]);
    // Git's defaults: quit if one screen suffices, pass colour, keep the screen.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    if std::env::var_os("LV").is_none() {
        command.env("LV", "-c");
    }
    let _hold = SignalHold::interrupts();
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return Ok(false) };
    let mut given = Ok(());
    if let Some(mut stdin) = child.stdin.take() {
        for piece in pieces {
            match piece {
                // Quitting the pager closes the pipe.
                Ok(piece) if stdin.write_all(piece.as_ref()).is_err() => break,
                Ok(_) => {}
                Err(error) => {
                    given = Err(error);
                    break;
                }
            }
        }
    }
    // The shell's status for a missing command.
    let shown = child.wait().is_ok_and(|status| status.code() != Some(127));
    given.map(|()| shown)
}
