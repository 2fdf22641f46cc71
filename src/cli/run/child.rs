//! The command of `aye run`, and processes that outlive it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use crate::actor::{AYE_AGENT, AYE_SESSION};
use crate::cli::child::StopSignals;
use crate::cli::{Context, client_server};
use crate::error::{Error, Result, codes};
use crate::git;
use crate::repository::Repository;
use crate::session::session_store::SessionLock;
use crate::text::escape;

pub(super) struct CommandStatus {
    pub(super) code: i32,
    pub(super) outlived: bool,
}

/// Ctrl-C is for the command alone; a signal that asks aye to end is passed on.
pub(super) fn execute(
    context: &Context,
    repository: &Repository,
    top: &Path,
    held: &SessionLock,
    agent: &str,
    words: &[OsString],
) -> Result<CommandStatus> {
    let prefix = repository.prefix(&context.directory).unwrap_or_default();
    let inside = bstr::ByteSlice::to_path(prefix.as_slice()).map(|prefix| top.join(prefix));
    let directory = inside.ok().filter(|directory| directory.is_dir());
    let directory: PathBuf = directory.unwrap_or_else(|| top.to_owned()).components().collect();
    let args = client_server::arguments(context, words, &directory);
    let stop = listen()?;
    adopt();
    let mut command = Command::new(&words[0]);
    command.args(args).current_dir(&directory).env("PWD", &directory);
    command.env(AYE_SESSION, &held.name).env(AYE_AGENT, agent);
    command.envs(moved_paths(context, repository, top));
    git::scrub(&mut command);
    let lock = held.inheritable()?;
    let started = command.spawn();
    drop(lock);
    let mut child = started.map_err(|error| {
        let shown = words[0].to_string_lossy();
        Error::new(&codes::INVALID_ARGUMENT, format!("cannot run '{shown}': {error}"))
            .hint("the command runs in the session's tree; check its name and PATH")
    })?;
    let status = stop.wait(&mut child)?;
    let outlived = outlive(context, &stop)?;
    Ok(CommandStatus { code: git::status_code(status), outlived })
}

/// Programs of an environment that is activated in the checkout are the tree's, where it has them.
fn moved_paths(
    context: &Context,
    repository: &Repository,
    top: &Path,
) -> Vec<(&'static str, OsString)> {
    let Some(checkout) = repository.work_dir() else { return Vec::new() };
    let moved = |path: PathBuf| {
        let inside =
            path.strip_prefix(&checkout).ok().filter(|inside| !inside.as_os_str().is_empty());
        inside.map(|inside| top.join(inside)).filter(|moved| moved.is_dir()).unwrap_or(path)
    };
    let joined = |name: &'static str| {
        let paths = std::env::split_paths(&context.var(name)?).map(moved).collect::<Vec<_>>();
        Some((name, std::env::join_paths(paths).ok()?))
    };
    ["PATH", "VIRTUAL_ENV"].into_iter().filter_map(joined).collect()
}

fn listen() -> Result<StopSignals> {
    use std::io::IsTerminal as _;
    use std::sync::{Arc, atomic::AtomicBool};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    if !std::io::stdin().is_terminal() {
        return StopSignals::listen(&StopSignals::ALL);
    }
    // The terminal sends these to the command too.
    for signal in [SIGINT, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .map_err(|error| Error::io("listen for signals", &error))?;
    }
    StopSignals::listen(&[SIGTERM, SIGHUP])
}

/// Processes that the agent leaves become children of aye.
pub(in crate::cli) fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Waits for adopted processes. True if one still runs at the end of the time.
pub(in crate::cli) fn has_children_after(time: std::time::Duration) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{WaitOptions, wait};
        let started = Instant::now();
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) if started.elapsed() > time => return true,
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Err(_) => return false,
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// A process that outlives the command may still write to the tree. True if a signal ended the
/// wait.
#[cfg(target_os = "linux")]
fn outlive(context: &Context, stop: &StopSignals) -> Result<bool> {
    use rustix::process::{WaitOptions, wait};

    let interrupt = StopSignals::listen(&[signal_hook::consts::SIGINT])?;
    let started = Instant::now();
    let mut said = false;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(_) => return Ok(false),
        }
        if stop.was_signalled() || interrupt.was_signalled() {
            context.note("aye: what still runs writes to the tree, and is not waited for");
            return Ok(true);
        }
        if !said && started.elapsed() > Duration::from_secs(1) {
            said = true;
            let children = children();
            let names: Vec<&str> = children.iter().map(|(name, _)| name.as_str()).collect();
            context.note(&format!(
                "aye: waiting for what the command has left running ({}); Ctrl-C: do not",
                escape::line(&names.join(", "))
            ));
            let commands: Vec<Vec<u8>> = children.into_iter().map(|(_, command)| command).collect();
            client_server::note_on_server(&commands).iter().for_each(|line| context.note(line));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(not(target_os = "linux"))]
fn outlive(_context: &Context, _stop: &Stop) -> Result<bool> {
    Ok(false)
}

#[cfg(target_os = "linux")]
fn children() -> Vec<(String, Vec<u8>)> {
    let list = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let name = |pid: &str| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (format!("{} {pid}", name.trim()), command)
    };
    list.split_whitespace().take(5).map(name).collect()
}
