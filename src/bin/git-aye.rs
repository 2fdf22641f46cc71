//! `git aye …`: runs the `aye` beside this program, else the one on `PATH`.
//!
//! A launcher instead of a copy saves size and link time.

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// A shell's status for an unknown command.
const NOT_FOUND: u8 = 127;

fn main() -> ExitCode {
    let aye = aye();
    let mut command = Command::new(&aye);
    command.args(env::args_os().skip(1));
    let error = match run(&mut command) {
        Ok(code) => return code,
        Err(error) => error,
    };
    let _ = writeln!(
        std::io::stderr(),
        "error: cannot start {}: {error}\nhint: install `aye` beside `git-aye`, or on PATH",
        aye.to_string_lossy()
    );
    ExitCode::from(NOT_FOUND)
}

/// Absolute, or a name for `PATH`.
fn aye() -> OsString {
    let name = format!("aye{}", env::consts::EXE_SUFFIX);
    let beside = |program: PathBuf| {
        let path = program.parent()?.join(&name);
        path.is_file().then_some(path)
    };
    let program = env::current_exe().ok();
    // Package managers install links: look beside the link, then beside its target.
    let real = program.as_ref().and_then(|program| program.canonicalize().ok());
    program.and_then(beside).or_else(|| real.and_then(beside)).map_or(name.into(), Into::into)
}

fn run(command: &mut Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec())
}
