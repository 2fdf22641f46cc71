//! `aye acp`: sessions of a coding agent in an editor.

mod sessions;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use sessions::Sessions;

use super::Context;
use super::child::StopSignals;
use super::run::agent;
use super::run::child::{adopt, has_children_after};
use crate::acp::{Proxy, Side};
use crate::actor::{AYE_AGENT, AYE_SESSION};
use crate::error::{Error, Exit, Result, codes};
use crate::git;
use crate::mcp::{self, Read, message, read_line};

/// Run a coding agent for an editor, over the Agent Client Protocol; each session has a work tree of
/// its own.
///
/// For the settings of the editor, which starts the command itself. The editor shows the paths of
/// the checkout, and the agent works in the tree. After each turn the changes become a proposal, and
/// the chat shows its id. Before a turn the agent reads the decisions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye acp -- gemini --acp
  aye acp -- opencode acp
  aye acp -- codex-acp

As JSON, for Zed:
  {\"agent_servers\": {\"Gemini, reviewed\": {\"type\": \"custom\", \"command\": \"aye\",
    \"args\": [\"acp\", \"--\", \"gemini\", \"--acp\"]}}}")]
pub struct Args {
    /// The agent and its arguments.
    #[arg(
        value_name = "AGENT",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub agent: Vec<OsString>,
}

/// Between two looks at signals and at the agent's process.
const PAUSE: Duration = Duration::from_millis(50);

/// For the agent to end by itself, once the editor is gone or a signal was passed on.
const GRACE: Duration = Duration::from_secs(5);

type Message = (Side, std::io::Result<Read>, Vec<u8>);

/// # Errors
/// `invalid_argument` for a command that cannot be started. A session's errors are answers to the
/// editor.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let name = agent(context, &args.agent);
    let stop = StopSignals::listen(&StopSignals::ALL)?;
    adopt();
    let mut child = start(&name, &args.agent)?;
    let (messages, inbox) = mpsc::channel();
    listen(Side::Editor, BufReader::new(std::io::stdin()), messages.clone())?;
    if let Some(output) = child.stdout.take() {
        listen(Side::Agent, BufReader::new(output), messages)?;
    }
    let mut sessions = Sessions::new(context, &name, &args.agent[0].to_string_lossy());
    let mut proxy = Proxy::new(&mut sessions, (AYE_AGENT, &name));
    let (mut input, mut asked_to_end) = (child.stdin.take(), None);
    loop {
        match inbox.recv_timeout(PAUSE) {
            Ok((side, Ok(Read::Line), line)) => deliver(proxy.receive(side, &line), input.as_mut()),
            Ok((side, Ok(Read::TooLong), _)) => {
                let answer = message::too_long(mcp::MOST).to_string();
                deliver(vec![(side, answer.into())], input.as_mut());
            }
            Ok((Side::Editor, ..)) => {
                input = None;
                asked_to_end.get_or_insert_with(Instant::now);
            }
            Ok((Side::Agent, ..)) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if child.try_wait().is_ok_and(|it| it.is_some()) => {
                break;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        context.notify();
        stop.pass_on(&child);
        if stop.was_signalled() {
            asked_to_end.get_or_insert_with(Instant::now);
        }
        if asked_to_end.is_some_and(|at| at.elapsed() > GRACE) {
            let _ = child.kill();
        }
    }
    drop(input.take());
    let status = stop.wait(&mut child)?;
    deliver(proxy.end(has_children_after(GRACE)), None);
    Ok(context.ends_with(git::status_code(status)))
}

/// Either side may be gone; the end of its output shows that.
fn deliver(output: Vec<(Side, Vec<u8>)>, mut agent: Option<&mut ChildStdin>) {
    for (side, mut line) in output {
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        let _ = match (side, &mut agent) {
            (Side::Editor, _) => {
                let mut editor = std::io::stdout().lock();
                editor.write_all(&line).and_then(|()| editor.flush())
            }
            (Side::Agent, Some(agent)) => agent.write_all(&line),
            (Side::Agent, None) => Ok(()),
        };
    }
}

/// Sessions begin later, so that the environment names none.
fn start(name: &str, words: &[OsString]) -> Result<Child> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_remove(AYE_SESSION).env(AYE_AGENT, name);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    git::scrub(&mut command);
    command.spawn().map_err(|error| {
        let shown = words[0].to_string_lossy();
        Error::new(&codes::INVALID_ARGUMENT, format!("cannot run '{shown}': {error}"))
            .hint("name the agent as in a shell; editors may start aye with another PATH")
    })
}

/// Unbounded: a side that writes is always read, so that two full pipes never wait for each other.
fn listen(
    side: Side,
    mut input: impl BufRead + Send + 'static,
    messages: Sender<Message>,
) -> Result<()> {
    let read = move || loop {
        let mut line = Vec::new();
        let read = read_line(&mut input, &mut line);
        let is_last = matches!(read, Ok(Read::End) | Err(_));
        if messages.send((side, read, line)).is_err() || is_last {
            return;
        }
    };
    let started = std::thread::Builder::new().spawn(read);
    started.map(drop).map_err(|error| Error::io("start a thread", &error))
}
