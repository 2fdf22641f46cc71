//! Coding agents' hooks: what a client sends, and the exact bytes that it honours. Pure.
//!
//! One file a client. A client that is not understood gets a refusal in its own form: for an edit that
//! cannot be judged, the gate is closed. What each client sends and honours was recorded from the
//! clients themselves, by version; their documentation differs in places.

pub mod claude;
pub mod guide;
pub mod settings;

use std::path::PathBuf;

/// What a client tells of.
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

/// Something that a client tells of.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A tool is about to write this file, as an absolute path or one from the working directory.
    Edit(PathBuf),
    /// A shell command is about to run.
    Shell {
        /// The command.
        command: String,
        /// All that the tool is called with, of which the command is a part.
        input: serde_json::Value,
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
    /// The client wants a work tree of that name.
    Tree(String),
}

/// What the client is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What it was about to do.
    Nothing,
    /// Not that, for this reason, which the model reads.
    Refuse(String),
    /// That, with another input.
    Rewrite(serde_json::Value),
    /// Tell the model.
    Inform(String),
    /// Tell the person.
    Say(String),
    /// Use the work tree there.
    Tree(PathBuf),
}
