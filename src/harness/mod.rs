//! Coding agents' hooks: what a client sends, and the exact bytes that it honours. Pure.
//!
//! All clients are one table ([`CLIENTS`]), and answers have three dialects ([`Dialect`]). A client that is not
//! understood gets a refusal in its own form: for an edit that cannot be judged, the gate is closed. What each client
//! sends and honours was recorded from the clients themselves; their documentation differs in places.

mod clients;
mod dialect;
pub mod guide;
pub mod in_command;
pub mod redirect;
mod settings;
pub mod shared;
mod trees;

use std::path::PathBuf;

use serde_json::Value;

pub use clients::{CLIENTS, client};
pub use dialect::Dialect;
use redirect::Field;
pub use settings::Form;
pub use trees::Trees;

/// A coding agent's client.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line.
    pub name: &'static str,
    /// Name of its agent, as events record it.
    pub agent: &'static str,
    /// Its program.
    pub program: &'static str,
    /// How it names its hooks, what they are about, and how it is answered.
    pub dialect: Dialect,
    /// How an edit of the checkout comes into the session's tree.
    pub way: Way,
    /// Its hooks; that before a tool first.
    pub events: &'static [(&'static str, Moment)],
    /// Its tools that are judged.
    pub tools: &'static [(&'static str, Tool)],
    /// Its hook before a tool is asked about these tools alone, as its settings name them.
    pub has_matcher: bool,
    /// Its directory in a project.
    pub project: &'static str,
    /// Its directory of the user's: a variable, and a path below what that names; the first that is set.
    pub own: &'static [(&'static str, &'static str)],
    /// The file of hooks in either.
    pub file: &'static str,
    /// What that file is.
    pub form: Form,
    /// How it is told of the trees of sessions.
    pub trees: Trees,
}

impl Client {
    /// The hook that is asked before a tool runs.
    pub fn before(&self) -> &'static str {
        self.events[0].0
    }
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

/// When a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before a tool runs.
    Tool,
    /// When the session begins.
    Begin,
    /// When the person has said something.
    Prompt,
    /// When the agent is done.
    Stop,
    /// When a part of the agent is done.
    PartStop,
    /// When the session ends, whatever still works.
    End,
    /// When a work tree is wanted.
    Tree,
}

/// What a tool does.
#[derive(Clone, Copy, Debug)]
pub enum Tool {
    /// It writes the files named there.
    Edit(Field),
    /// It reads what is named there.
    Read(Field),
    /// It runs a command, in the directory that this key names.
    Shell(Option<&'static str>),
    /// It runs a command of another language than a POSIX shell's.
    ForeignShell,
}

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
    Edit(Edit),
    /// A tool is about to read a file, or to search a directory.
    Read {
        /// All that the tool is called with.
        input: Value,
        /// Where the file is named in it.
        field: Field,
    },
    /// A shell command is about to run.
    Shell(Command),
    /// Nothing that needs judgement.
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

/// A call of a tool that writes files.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The files, as absolute paths or from the working directory; never none.
    pub files: Vec<PathBuf>,
    /// All that the tool is called with.
    pub input: Value,
    /// Where the files are named in it.
    pub field: Field,
}

/// A call of a tool that runs a shell command.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The command.
    pub text: String,
    /// It is one for a shell of another language than POSIX's, and is not rewritten.
    pub is_foreign: bool,
    /// Where it is to run, where that is not the working directory.
    pub directory: Option<PathBuf>,
    /// All that the tool is called with, of which the command is a part.
    pub input: Value,
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

#[cfg(test)]
mod tests;
