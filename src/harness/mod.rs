//! Coding agents' hooks: the messages of each client, and the exact bytes that it honours. Pure.
//!
//! All clients are one table ([`CLIENTS`]). An edit that is not understood gets a refusal in the
//! client's own form: the gate is closed. Messages and answers were recorded from the clients;
//! their documentation differs in places.

mod clients;
pub mod command_path;
mod dialect;
pub mod guide;
pub mod redirect;
mod settings;
pub mod shared_server;
mod trees;

use std::path::PathBuf;

use serde_json::Value;

pub use clients::{CLIENTS, client, client_of};
pub use dialect::Dialect;
use redirect::Field;
pub use settings::{HookFileFormat, HookProgram};
pub use trees::Trees;

#[derive(Debug)]
pub struct Client {
    pub name: &'static str,
    /// As in events.
    pub agent: &'static str,
    pub dialect: Dialect,
    pub edit_route: EditRoute,
    /// The hook before a tool comes first.
    pub events: &'static [(&'static str, HookKind)],
    pub tools: &'static [(&'static str, Tool)],
    /// The settings limit the hook before a tool to these tools.
    pub has_matcher: bool,
    pub project_directory: &'static str,
    /// The user's directory: a variable, and a path below its value; the first one set wins.
    pub user_directory: &'static [(&'static str, &'static str)],
    /// Below either directory.
    pub file: &'static str,
    pub form: HookFileFormat,
    pub trees: Trees,
    /// The person's own settings of a project, usually ignored by git: a session's tree gets copies.
    pub local_files: &'static [&'static str],
    /// Words that resume a conversation, which the client finds by the path of its directory.
    pub resume_words: &'static [&'static str],
    /// Option, and the start of its value, that add a text to what the model reads first.
    pub instruct: Option<(&'static str, &'static str)>,
}

impl Client {
    pub fn tool_hook(&self) -> &'static str {
        self.events[0].0
    }
}

/// How an edit of the checkout reaches the session's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditRoute {
    /// The client moves into the tree with its own tool, which a refusal names.
    Enter,
    Rewrite,
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    Tool,
    Begin,
    Prompt,
    Stop,
    /// A subagent is done.
    PartStop,
    /// The session ends, even with work in progress.
    End,
    Tree,
}

#[derive(Clone, Copy, Debug)]
pub enum Tool {
    Edit(Field),
    Read(Field),
    /// The key of the working directory.
    Shell(Option<&'static str>),
    /// Not a POSIX shell.
    ForeignShell,
    /// Starts a subagent; the key of its type.
    Part(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The client's session id.
    pub session: String,
    pub model: Option<String>,
    pub directory: PathBuf,
    /// A subagent asks.
    pub is_part: bool,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Edit(Edit),
    /// A file is read, or a directory searched.
    Read {
        input: Value,
        field: Field,
    },
    Shell(Command),
    Other,
    Begin,
    /// The person's prompt, not one that the client repeats.
    Prompt,
    Stop {
        /// Subagents still work, or were told to continue: nothing is complete.
        is_busy: bool,
        /// The agent's last message.
        message: Option<String>,
    },
    PartStop,
    /// The agent starts a subagent that may edit.
    Part,
    /// Name of the wanted work tree.
    Tree(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// Absolute, or from the working directory; never empty.
    pub files: Vec<PathBuf>,
    pub input: Value,
    pub field: Field,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub text: String,
    /// For a shell that is not POSIX; never rewritten.
    pub is_foreign: bool,
    /// `None`: the working directory.
    pub directory: Option<PathBuf>,
    pub input: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum HookReply {
    /// Go on.
    Proceed,
    /// The model reads the reason.
    Refuse(String),
    Rewrite(Value),
    TellModel(String),
    ShowPerson(String),
    Tree(PathBuf),
}

#[cfg(test)]
mod tests;
