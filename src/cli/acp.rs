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
use crate::acp::{Output, Proxy};
use crate::actor::{AYE_AGENT, AYE_SESSION};
use crate::error::{Error, Exit, Result, codes};
use crate::git;
use crate::mcp::{self, Read, message, read_line};

/// Run a coding agent for an editor, over the Agent Client Protocol; each session has a work tree of
/// its own.
///
/// For the settings of the editor, which starts the command itself. The editor shows the paths of
/// the checkout, and the agent works in the tree. After each turn the changes become a proposal, and
/// the chat shows its id. Before a turn the agent reads what was decided.
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

enum Event {
    Editor(std::io::Result<Read>, Vec<u8>),
    Agent(std::io::Result<Read>, Vec<u8>),
}

/// Between two looks at signals and at the agent's process.
const PAUSE: Duration = Duration::from_millis(50);

/// For the agent to end by itself once the editor is gone; then again until it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// # Errors
/// `invalid_argument` for a command that cannot be started. A session's errors are answers to the
/// editor.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let name = agent(context, &args.agent);
    let sessions = Sessions::begin(context, &name, &args.agent[0]);
    let stop = StopSignals::listen(&StopSignals::ALL)?;
    adopt();
    let mut child = start(&sessions, &name, &args.agent)?;
    let (events, inbox) = mpsc::channel();
    listen(BufReader::new(std::io::stdin()), events.clone(), Event::Editor)?;
    if let Some(output) = child.stdout.take() {
        listen(BufReader::new(output), events, Event::Agent)?;
    }
    let mut agent = Agent { input: child.stdin.take(), child, killed_at: None };
    let mut proxy = Proxy::new(sessions);
    loop {
        let event = inbox.recv_timeout(PAUSE);
        let output = match event {
            Ok(Event::Editor(Ok(Read::Line), line)) => proxy.from_editor(&line),
            Ok(Event::Agent(Ok(Read::Line), line)) => proxy.from_agent(&line),
            Ok(Event::Editor(Ok(Read::TooLong), _)) => vec![Output::Editor(too_long())],
            Ok(Event::Agent(Ok(Read::TooLong), _)) => vec![Output::Agent(too_long())],
            Ok(Event::Editor(..)) => {
                agent.input = None;
                agent.end_by(Instant::now() + GRACE);
                Vec::new()
            }
            Ok(Event::Agent(..)) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if agent.has_ended()? => break,
            Err(RecvTimeoutError::Timeout) => Vec::new(),
        };
        agent.deliver(output);
        context.notify();
        if stop.was_signalled() {
            stop.pass_on(&agent.child);
            agent.end_by(Instant::now() + GRACE);
        }
        agent.kill_if_late();
    }
    agent.input = None;
    agent.end_by(Instant::now() + GRACE);
    while !agent.has_ended()? {
        std::thread::sleep(PAUSE);
        agent.kill_if_late();
    }
    let status = agent.child.wait().map_err(|error| Error::io("wait for the agent", &error))?;
    proxy.host().outlived = has_children_after(GRACE);
    let output = proxy.end();
    agent.deliver(output);
    drop(proxy);
    Ok(context.ends_with(git::status_code(status)))
}

fn too_long() -> Vec<u8> {
    message::too_long(mcp::MOST).to_string().into_bytes()
}

struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    /// When it is asked to end; later, when it is killed.
    killed_at: Option<(Instant, bool)>,
}

impl Agent {
    fn has_ended(&mut self) -> Result<bool> {
        let waited = self.child.try_wait();
        Ok(waited.map_err(|error| Error::io("wait for the agent", &error))?.is_some())
    }

    fn end_by(&mut self, at: Instant) {
        self.killed_at.get_or_insert((at, false));
    }

    fn kill_if_late(&mut self) {
        use rustix::process::{Pid, Signal, kill_process};
        let Some((at, is_asked)) = self.killed_at.filter(|(at, _)| Instant::now() >= *at) else {
            return;
        };
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let signal = if is_asked { Signal::KILL } else { Signal::TERM };
        // A process that is gone was waited for, or will be.
        let _ = pid.map(|pid| kill_process(pid, signal));
        self.killed_at = Some((at + GRACE, true));
    }

    /// Either side may be gone; the end of its output shows that.
    fn deliver(&mut self, output: Vec<Output>) {
        for message in output {
            let _ = match message {
                Output::Editor(mut line) => {
                    end_line(&mut line);
                    let mut editor = std::io::stdout().lock();
                    editor.write_all(&line).and_then(|()| editor.flush())
                }
                Output::Agent(mut line) => {
                    end_line(&mut line);
                    self.input.as_mut().map_or(Ok(()), |input| input.write_all(&line))
                }
            };
        }
    }
}

fn end_line(line: &mut Vec<u8>) {
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
}

fn start(sessions: &Sessions<'_>, name: &str, words: &[OsString]) -> Result<Child> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_remove(AYE_SESSION).env(AYE_AGENT, name);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    git::scrub(&mut command);
    let lock = sessions.reserved().map(|held| {
        command.env(AYE_SESSION, &held.name);
        held.inheritable()
    });
    let lock = lock.transpose()?;
    let started = command.spawn();
    drop(lock);
    started.map_err(|error| {
        let shown = words[0].to_string_lossy();
        Error::new(&codes::INVALID_ARGUMENT, format!("cannot run '{shown}': {error}"))
            .hint("name the agent as in a shell; editors may start aye with another PATH")
    })
}

/// Unbounded: a side that writes is always read, so that two full pipes never wait for each other.
fn listen(
    mut input: impl BufRead + Send + 'static,
    events: Sender<Event>,
    event: impl Fn(std::io::Result<Read>, Vec<u8>) -> Event + Send + 'static,
) -> Result<()> {
    let read = move || loop {
        let mut line = Vec::new();
        let read = read_line(&mut input, &mut line);
        let is_last = matches!(read, Ok(Read::End) | Err(_));
        if events.send(event(read, line)).is_err() || is_last {
            return;
        }
    };
    let started = std::thread::Builder::new().spawn(read);
    started.map(drop).map_err(|error| Error::io("start a thread", &error))
}
