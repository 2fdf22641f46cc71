//! `aye mcp`: the tool server for coding agents.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Context;
use super::tool::{self, Client};
use crate::error::{Error, Exit, Result, codes};
use crate::mcp::{self, CallResult, Cancel, Server, ToolHost};
use crate::tools::registry::{TOOLS, Tool};

/// Serve the tools to a coding agent, over the Model Context Protocol on standard input and
/// output.
///
/// The agent's client starts the command. Agents propose, comment, wait and look; people decide.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye mcp --repo ~/src/project
  claude mcp add aye -- aye mcp
  codex mcp add aye -- aye mcp
  gemini mcp add aye aye mcp

As JSON, for clients that are configured so:
  {\"mcpServers\": {\"aye\": {\"command\": \"aye\", \"args\": [\"mcp\"]}}}")]
pub struct Args {
    /// Work in the repository of this directory instead of the agent's directory.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub repo: Option<PathBuf>,
    /// List only these tools (names: `aye call --help`). Other tools still answer.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// Call the tool that standard input names, and end.
    #[arg(long, hide = true, conflicts_with = "repo")]
    pub answer_one: bool,
}

/// Runs each call in a process of its own: a panic becomes an answer.
struct Tools {
    directory: PathBuf,
}

/// A call, as the child process reads it.
#[derive(Serialize, Deserialize)]
struct Call {
    name: String,
    arguments: Value,
    client: Option<String>,
}

impl ToolHost for Tools {
    fn call(
        &self,
        tool: &'static Tool,
        name: &str,
        arguments: Value,
        client: Option<&str>,
        cancel: &Cancel,
    ) -> CallResult {
        let (name, client) = (name.to_owned(), client.map(str::to_owned));
        // Tools that write are not stopped half-way.
        let cancel = tool.read_only.then_some(cancel);
        let called = self.call_apart(&Call { name, arguments, client }, cancel);
        called.unwrap_or_else(|error| CallResult::new(tool, Err(error)))
    }
}

impl Tools {
    fn call_apart(&self, call: &Call, cancel: Option<&Cancel>) -> Result<CallResult> {
        let request = serde_json::to_vec(call).map_err(|e| Error::bug(e.to_string()))?;
        let failed = |error: std::io::Error| Error::io("start the tool", &error);
        let mut child = Command::new(own_program().map_err(failed)?)
            .arg("-C")
            .arg(&self.directory)
            .args(["mcp", "--answer-one"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        // The child reads everything before it writes. Unread input shows as a missing answer.
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(&request);
        }
        // Read one line: background processes may keep the pipe open.
        let (mut answer, output) = (Vec::new(), child.stdout.take());
        let child = match cancel {
            Some(cancel) => {
                cancel.keep(child);
                None
            }
            None => Some(child),
        };
        if let Some(output) = output {
            let _ = BufReader::new(output).read_until(b'\n', &mut answer);
        }
        let child = child.or_else(|| cancel?.release());
        let mut child = child.ok_or_else(|| Error::bug("the process of the tool is lost"))?;
        let status = child.wait().map_err(failed)?;
        serde_json::from_slice(&answer)
            .map_err(|_| Error::bug(format!("the tool ended without an answer ({status})")))
    }
}

/// Finds the running program even if another version replaced its file.
fn own_program() -> std::io::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && own.exists() { Ok(own) } else { std::env::current_exe() }
}

/// The child's side of a call.
fn answer_one(context: &mut Context) -> Result<Exit> {
    // Nobody reads the answer once the server is gone.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let call: Call = serde_json::from_reader(std::io::stdin().lock())
        .map_err(|error| Error::bug(format!("the call cannot be read: {error}")))?;
    let tool = Tool::find(&call.name)?;
    let client = Client { name: call.client.as_deref() };
    let answer = tool::run(context, tool, &call.name, call.arguments, Some(client));
    let called = CallResult::new(tool, answer);
    let mut line = serde_json::to_vec(&called).map_err(|e| Error::bug(e.to_string()))?;
    line.push(b'\n');
    context.print(&line)
}

/// # Errors
/// `invalid_argument` for a directory that cannot be entered.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    if args.answer_one {
        return answer_one(context);
    }
    if let Some(directory) = args.repo {
        std::env::set_current_dir(&directory).map_err(|error| {
            let shown = directory.display();
            Error::new(&codes::INVALID_ARGUMENT, format!("--repo: cannot enter '{shown}': {error}"))
                .hint("name a directory of the repository")
        })?;
        context.directory = ".".into();
    }
    let listed = match args.tools.as_slice() {
        [] => TOOLS.iter().collect(),
        names => names.iter().map(|name| Tool::find(name)).collect::<Result<_>>()?,
    };
    let tools = Tools { directory: context.directory.clone() };
    let input = BufReader::new(std::io::stdin());
    mcp::serve(input, std::io::stdout().lock(), &Server::new(listed), &tools)?;
    Ok(Exit::Done)
}
