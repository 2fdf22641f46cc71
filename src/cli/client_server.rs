//! Clients under `aye run` that hand work to a server of an earlier run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Context;
use crate::git;
use crate::harness::shared_server::{CODEX, SharedServer, Worker};
use crate::text::escape;

/// Adds the option that keeps the work in this run, if the client has it, or prints a note.
pub fn arguments(context: &Context, words: &[OsString], directory: &Path) -> Vec<OsString> {
    let mut args = words[1..].to_vec();
    let server = &CODEX;
    let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let SharedServer { program, bypass_option: without, stop_command: end, .. } = server;
    match server.worker(&texts) {
        Worker::Itself => {}
        Worker::Server if has_option(words, directory, without) => {
            args.insert(0, without.into());
            context.note(&format!(
                "aye: {program} is started with {without}: its work is done in this run, and not by a server \
                 that runs share"
            ));
        }
        Worker::Server | Worker::Perhaps => {
            if let Some(socket) = listening(context, server) {
                let number = process_id(context, server).map(|number| format!("process {number}, "));
                context.note(&format!(
                    "aye: a server of an earlier {program} is there ({}{}): what it is handed is done outside of \
                     this run, and may go on after it; `{end}` ends it, {program} {without} does without it",
                    number.unwrap_or_default(),
                    escape::line(&socket.to_string_lossy())
                ));
            }
        }
        Worker::Remote => context.note(&format!(
            "aye: {program} hands its work to a server that you name: what that does is done outside of this \
             run, and may go on after it"
        )),
    }
    args
}

/// `commands` are the remaining processes' command lines.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing else finds them"))]
pub fn note_on_server(commands: &[Vec<u8>]) -> Option<String> {
    let SharedServer {
        program,
        process_argument: mark,
        stop_command: end,
        bypass_option: without,
        ..
    } = &CODEX;
    let is_word = |word: &[u8]| word == mark.as_bytes();
    let is_server = |command: &Vec<u8>| command.split(|byte| *byte == 0).any(is_word);
    commands.iter().any(is_server).then(|| {
        format!(
            "aye: {program} has left a server that later runs would share: `{end}` ends it, {program} {without} \
             does without it"
        )
    })
}

/// An unknown option would keep the client from starting.
fn has_option(words: &[OsString], directory: &Path, option: &str) -> bool {
    let mut command = Command::new(&words[0]);
    command.arg("--help").current_dir(directory).stdin(Stdio::null()).stderr(Stdio::null());
    git::scrub(&mut command);
    let help = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&help).split_whitespace().any(|word| word == option)
}

fn client_directory(context: &Context) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(context.var("HOME")?).join(".codex"));
    context.var("CODEX_HOME").map(PathBuf::from).or_else(home)
}

/// `None` if no server answers.
fn listening(context: &Context, server: &SharedServer) -> Option<PathBuf> {
    let socket = client_directory(context)?.join(server.socket);
    std::os::unix::net::UnixStream::connect(&socket).is_ok().then_some(socket)
}

/// The server's process id.
fn process_id(context: &Context, server: &SharedServer) -> Option<u32> {
    let bytes = std::fs::read(client_directory(context)?.join(server.pid_file)).ok()?;
    let said: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    said["pid"].as_u64()?.try_into().ok()
}
