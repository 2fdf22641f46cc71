//! Coding agents' hooks: what a client sends, and the exact bytes that it honours. Pure.
//!
//! One file a client. A client that is not understood gets a refusal in its own form: for an edit that
//! cannot be judged, the gate is closed. What each client sends and honours was recorded from the
//! clients themselves, by version; their documentation differs in places.

pub mod claude;
pub mod codex;
pub mod copilot;
pub mod gemini;
pub mod guide;
pub mod in_command;
pub mod included;
pub mod opencode;
pub mod qwen;
pub mod redirect;
mod sent;
pub mod settings;
pub mod shared;
pub mod writable;

use std::path::PathBuf;

use serde_json::Value;

use redirect::Field;

/// All clients that have an adapter, by name.
pub static CLIENTS: [&Client; 6] = [
    &claude::CLIENT,
    &codex::CLIENT,
    &gemini::CLIENT,
    &qwen::CLIENT,
    &copilot::CLIENT,
    &opencode::CLIENT,
];

/// A coding agent's client.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line.
    pub name: &'static str,
    /// Name of its agent, as events record it.
    pub agent: &'static str,
    /// The hooks that are installed: the event, and the tools that it is about.
    pub hooks: &'static [(&'static str, Option<&'static str>)],
    /// The hook that is asked before a tool runs.
    pub before: &'static str,
    /// How an edit of the checkout comes into the session's tree.
    pub way: Way,
    /// What the client makes of a hook whose program is missing.
    pub when_missing: Missing,
    /// Reads what it sends to the hook of an event; in words, what is not understood.
    pub read: fn(&str, &[u8]) -> Result<Call, String>,
    /// The bytes that the hook of an event prints for an answer.
    pub write: fn(&str, &Answer) -> Vec<u8>,
    /// Its settings, where `program` is the absolute path of aye.
    pub settings: Settings,
}

/// How an edit of the checkout comes into the session's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The client moves into the tree, by a tool of its own that a refusal names.
    Enter,
    /// The input of its tools is rewritten.
    Rewrite,
    /// A refusal names the path, and the model uses it.
    Name,
}

/// What a client makes of a hook whose program is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The tool runs.
    Open,
    /// The tool is refused.
    Closed,
    /// It is refused by this version and later ones; what came before is open, as far as is known.
    ClosedFrom(&'static str),
}

impl Missing {
    /// Whether the client is closed where aye is missing, when it is of that version.
    pub fn is_closed(self, version: Option<&str>) -> bool {
        let numbers = |text: &str| -> Vec<u32> {
            text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
        };
        match self {
            Self::Open => false,
            Self::Closed => true,
            Self::ClosedFrom(first) => version.is_some_and(|it| numbers(it) >= numbers(first)),
        }
    }
}

/// What an installer writes.
#[derive(Clone, Copy, Debug)]
pub enum Settings {
    /// An entry for each hook, in a file of the client's own.
    Entries(fn(&Hook<'_>) -> Value),
    /// A file of aye's own; strict or not.
    File(fn(program: &str, is_strict: bool) -> String),
}

/// One hook as it is installed.
#[derive(Clone, Copy, Debug)]
pub struct Hook<'a> {
    /// The absolute path of aye.
    pub program: &'a str,
    /// The event.
    pub event: &'a str,
    /// The tools that it is about; all where there is none.
    pub tools: Option<&'a str>,
    /// Edits of the checkout are refused, and not made in a work tree instead.
    pub is_strict: bool,
}

impl Hook<'_> {
    /// The arguments of aye.
    fn args(&self, client: &str) -> Vec<String> {
        let args = ["agents", "hook", client, self.event].map(str::to_owned);
        let strict = self.is_strict.then(|| STRICT.to_owned());
        args.into_iter().chain(strict).collect()
    }

    /// The command for a shell, with the program as one word.
    fn command(&self, client: &str) -> String {
        let word = self.program.replace('\'', r"'\''");
        format!("'{word}' {}", self.args(client).join(" "))
    }

    /// An entry in the form that Claude Code has given to several clients; the time limit in the client's own
    /// unit.
    fn entry(&self, client: &str, timeout: u32) -> Value {
        let hook = serde_json::json!({
            "type": "command", "command": self.command(client), "timeout": timeout,
        });
        match self.tools {
            Some(tools) => serde_json::json!({ "matcher": tools, "hooks": [hook] }),
            None => serde_json::json!({ "hooks": [hook] }),
        }
    }
}

/// The option of a hook that is strict.
pub const STRICT: &str = "--strict";

/// What a client reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The client's own id of the session.
    pub session: String,
    /// The model, where the client names it.
    pub model: Option<String>,
    /// The directory that the agent works in.
    pub directory: PathBuf,
    /// What is happening.
    pub event: Event,
}

/// Something that a client reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A tool is about to write files.
    Edit {
        /// The files, as absolute paths or from the working directory; never none.
        files: Vec<PathBuf>,
        /// All that the tool is called with.
        input: Value,
        /// Where the files are named in it.
        field: Field,
    },
    /// A tool is about to read a file, or to search a directory.
    Read {
        /// All that the tool is called with.
        input: Value,
        /// Where the file is named in it.
        field: Field,
    },
    /// A shell command is about to run.
    Shell {
        /// The command.
        command: String,
        /// What runs it.
        shell: Shell,
        /// Where it is to run, where that is not the working directory.
        directory: Option<PathBuf>,
        /// All that the tool is called with, of which `command` is a part.
        input: Value,
    },
    /// A tool is called that needs no judgement.
    Other,
    /// The session begins.
    Begin,
    /// The person says something. Not for what a client repeats by itself.
    Prompt,
    /// The agent is done. `is_busy` while parts of it still work, or were told to go on.
    Stop {
        /// Nothing is to be taken for complete.
        is_busy: bool,
    },
    /// A part of the agent, such as a subagent, is done.
    PartStop,
    /// The client wants a work tree of that name.
    Tree(String),
}

/// What runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// A shell in POSIX's language.
    Posix,
    /// A shell of another language, for which nothing is rewritten.
    Foreign,
}

/// What the client is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What it was about to do.
    Nothing,
    /// Not that, for this reason, which the model reads.
    Refuse(String),
    /// That, with another input.
    Rewrite(Value),
    /// Report to the model.
    Inform(String),
    /// Report to the person.
    Say(String),
    /// Use the work tree there.
    Tree(PathBuf),
}

/// The client of that name on the command line.
pub fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().copied().find(|client| client.name == name)
}

/// The name of the program of a client.
pub fn program(client: &str) -> &str {
    if client == claude::NAME { "claude" } else { client }
}

/// Whether an entry of `client`'s settings is one of aye's.
pub fn is_entry_of(client: &str, entry: &Value) -> bool {
    let is_ours = |hook: &Value| {
        let args: Vec<&str> =
            hook["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let command = hook["command"].as_str().unwrap_or_default();
        args.starts_with(&["agents", "hook", client])
            || command.contains(&format!(" agents hook {client} "))
    };
    entry["hooks"].as_array().map_or_else(|| is_ours(entry), |hooks| hooks.iter().any(is_ours))
}

#[cfg(test)]
mod tests;
