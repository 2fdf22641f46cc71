//! `aye run`: a coding agent in a work tree of its own; what it leaves there is proposed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use super::child::Stop;
use super::{Context, session, shared};
use crate::actor::{AYE_AGENT, AYE_SESSION};
use crate::app;
use crate::error::{Error, Exit, Result, codes};
use crate::git;
use crate::mcp::client;
use crate::session::codes::SESSION_TREE_GONE;
use crate::session::home::Held;
use crate::session::strays::{self, Strays};
use crate::session::{Home, tree};
use crate::store::Store;
use crate::text::escape;

/// Run a coding agent in a work tree of its own; what it leaves there becomes a proposal.
///
/// The tree lies outside the checkout and shares the repository's objects: the agent edits, tests and
/// commits there, and the checkout stays as it is. When the last process of the run is gone, what differs is
/// proposed, and the tree removed. Exit status: the command's own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye run claude
  aye run -- codex exec 'Fix the failing test'
  aye run -m 'Dark mode' --keep --name dark -- aider src/theme.ts
  aye run --base head -- make format")]
pub struct Args {
    /// A name for the session: lower-case letters, digits and -. A session that was kept goes on under it.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Why, for the reviewer.
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub message: Option<String>,
    /// What the tree starts from: the tracked files as they are, or HEAD.
    #[arg(long, value_enum, default_value = "worktree", value_name = "BASE")]
    pub base: Base,
    /// Keep the tree, so that the session can go on: aye run --name NAME.
    #[arg(long)]
    pub keep: bool,
    /// The command and its arguments.
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// What a tree starts from.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Base {
    /// The tracked files of the work tree as they are, uncommitted changes included.
    Worktree,
    /// The commit that is checked out.
    Head,
}

impl From<Base> for tree::Base {
    fn from(base: Base) -> Self {
        match base {
            Base::Worktree => Self::Worktree,
            Base::Head => Self::Head,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// `in_session`, `no_commit`, `no_state_directory`, `session_live`, `invalid_argument` for a command that
/// cannot be started; those of git and of the file system. What comes after the command is reported and does
/// not change its status.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let mut store = context.store_to_edit()?;
    store.require_lane()?;
    let home = Home::make(store.common_dir(), &context.state_directory()?)?;
    session::finish(&store, &home);
    strays::expire(&home, context.now);
    session::note_left(context, &home);
    let held = match &args.name {
        Some(name) => home.hold(name)?,
        None => home.hold_new()?,
    };
    let name = held.name.clone();
    let agent = agent(context, &args.command[0]);
    store.run_by(context.run_of(&name, None));
    let goes_on = home.has(&name);
    if !goes_on {
        let command = args.command[0].to_string_lossy();
        let base = args.base.into();
        let back = app::session::begin(&store, &home, &held, base, &agent, &command, context.now)?;
        session::met(&back).iter().for_each(|line| context.note(line));
    } else {
        session::follow(context, &store, &home, &name, &agent)?;
    }
    let top = home.tree(&name);
    let word = if goes_on { " goes on" } else { "" };
    context.note(&format!("aye: session {name}{word} in {}", escape::line(&top.to_string_lossy())));
    let status = execute(context, &store, &top, &held, &agent, &args.command);
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            if !goes_on {
                session::end(context, &store, &home, held, &Strays::default())?;
            }
            return Err(error);
        }
    };
    let done = session::submit(context, &store, &home, &name, &agent, args.message);
    match done {
        Ok(done) => {
            session::say(context, &done);
            let reason = match () {
                () if status.outlived => Some("processes of the run still live"),
                () if !done.passed_over.is_empty() => Some("not all of it is proposed"),
                () => None,
            };
            match reason {
                None if !args.keep => {
                    match session::end(context, &store, &home, held, &done.strays) {
                        Ok(found) => {
                            let lines = session::stray_lines(&found);
                            lines.iter().for_each(|line| context.note(line));
                        }
                        Err(error) => context.report_beside(&error),
                    }
                }
                None => {
                    context.note(&format!("aye: the session is kept: aye run --name {name} -- …"))
                }
                Some(reason) => context.note(&format!(
                    "aye: the tree is kept, because {reason}: aye session end {name} --discard"
                )),
            }
        }
        Err(error) => {
            context.report_beside(&error);
            if !error.is(&SESSION_TREE_GONE) {
                context.note(&format!(
                    "aye: the work is still there, and is not proposed: aye session submit {name}"
                ));
            }
        }
    }
    Ok(context.ends_with(status.code))
}

/// The name of the agent: as the environment says, or else by the program.
fn agent(context: &Context, program: &OsString) -> String {
    if let Some(name) = context.var(AYE_AGENT) {
        return name.to_string_lossy().into_owned();
    }
    let program = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match program.as_str() {
        "claude" => "claude-code".to_owned(),
        "gemini" => "gemini-cli".to_owned(),
        "qwen" => "qwen-code".to_owned(),
        other => client::agent(other).unwrap_or_else(|| "agent".to_owned()),
    }
}

/// How the command ended.
struct Status {
    code: i32,
    /// Something that it started still runs.
    outlived: bool,
}

/// Runs the command in the tree, in the directory that corresponds to the present one. It has the terminal to
/// itself: Ctrl-C is for it alone, and a signal that asks aye to end is passed on.
fn execute(
    context: &Context,
    store: &Store,
    top: &Path,
    held: &Held,
    agent: &str,
    words: &[OsString],
) -> Result<Status> {
    let prefix = store.prefix(&context.directory).unwrap_or_default();
    let inside = bstr::ByteSlice::to_path(prefix.as_slice()).map(|prefix| top.join(prefix));
    let directory = inside.ok().filter(|directory| directory.is_dir());
    // Without the slash behind.
    let directory: PathBuf = directory.unwrap_or_else(|| top.to_owned()).components().collect();
    let args = shared::arguments(context, words, &directory);
    let stop = listen()?;
    adopt();
    let mut command = Command::new(&words[0]);
    command.args(args).current_dir(&directory).env("PWD", &directory);
    command.env(AYE_SESSION, &held.name).env(AYE_AGENT, agent);
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
    Ok(Status { code: git::status_code(status), outlived })
}

fn listen() -> Result<Stop> {
    use std::io::IsTerminal as _;
    use std::sync::{Arc, atomic::AtomicBool};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    if !std::io::stdin().is_terminal() {
        return Stop::listen(&Stop::ALL);
    }
    // The terminal gives these to the command too, and twice is once too often.
    for signal in [SIGINT, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .map_err(|error| Error::io("listen for signals", &error))?;
    }
    Stop::listen(&[SIGTERM, SIGHUP])
}

/// Makes this process the parent of what the command leaves running.
fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Waits for the processes that the command has left running: they may still write. True if they were
/// given up, after a signal.
#[cfg(target_os = "linux")]
fn outlive(context: &Context, stop: &Stop) -> Result<bool> {
    use rustix::process::{WaitOptions, wait};

    let interrupt = Stop::listen(&[signal_hook::consts::SIGINT])?;
    let started = Instant::now();
    let mut said = false;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            // There is none left.
            Err(_) => return Ok(false),
        }
        if stop.was_told() || interrupt.was_told() {
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
            shared::left(&commands).iter().for_each(|line| context.note(line));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(not(target_os = "linux"))]
fn outlive(_context: &Context, _stop: &Stop) -> Result<bool> {
    Ok(false)
}

/// Names with numbers of this process's children, and their arguments, each with a zero byte behind.
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
