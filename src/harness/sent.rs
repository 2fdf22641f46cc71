//! What clients send that follow the form of Claude Code's hooks; tables say how they name things.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::redirect::{Field, paths};
use super::{Call, Event, Shell};

/// What a tool does.
#[derive(Clone, Copy, Debug)]
pub enum ToolKind {
    /// It writes the files named there.
    Edit(Field),
    /// It reads what is named there.
    Read(Field),
    /// It runs a command, in the directory that this key names.
    Shell(Option<&'static str>),
    /// It runs a command of another language than a POSIX shell's.
    ForeignShell,
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

/// How a client names tools and moments.
#[derive(Debug)]
pub struct Names {
    /// Events.
    pub moments: &'static [(&'static str, Moment)],
    /// Tools.
    pub tools: &'static [(&'static str, ToolKind)],
}

/// One call, in the terms that clients share.
#[derive(Debug, Default)]
pub struct Said {
    pub session: String,
    pub directory: PathBuf,
    pub model: Option<String>,
    pub tool: String,
    pub input: Value,
    pub prompt: Option<String>,
    pub is_busy: bool,
    pub name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Sent {
    session_id: String,
    cwd: PathBuf,
    hook_event_name: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    stop_hook_active: bool,
    #[serde(default)]
    background_tasks: Vec<Value>,
    #[serde(default)]
    name: Option<String>,
    // Whatever these are, they keep nothing from being judged.
    #[serde(default)]
    model: Value,
}

/// Reads what such a client sends to the hook of `event`.
///
/// # Errors
/// In words, for what is not understood.
pub fn read(names: &Names, event: &str, bytes: &[u8]) -> Result<Call, String> {
    let sent: Sent = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if sent.hook_event_name != event {
        return Err(other_event(&sent.hook_event_name, event));
    }
    let said = Said {
        session: sent.session_id,
        directory: sent.cwd,
        model: sent.model.as_str().map(str::to_owned),
        tool: sent.tool_name,
        input: sent.tool_input,
        prompt: sent.prompt,
        is_busy: sent.stop_hook_active || !sent.background_tasks.is_empty(),
        name: sent.name,
    };
    judge(names, event, said)
}

/// It is about another event than the hook that was asked.
pub fn other_event(named: &str, event: &str) -> String {
    let named: String = named.chars().take(40).collect();
    format!("it is about {named:?}, and this is the hook of {event}")
}

/// What a call is about.
///
/// # Errors
/// In words, for what is not understood.
pub fn judge(names: &Names, event: &str, said: Said) -> Result<Call, String> {
    if said.session.is_empty() || !said.directory.is_absolute() {
        return Err("it names no session, or no directory".to_owned());
    }
    let moment = names.moments.iter().find(|(name, _)| *name == event);
    let (_, moment) = moment.ok_or_else(|| format!("there is no hook of {event:?}"))?;
    let event = match moment {
        Moment::Tool => {
            if said.tool.is_empty() {
                return Err("it names no tool".to_owned());
            }
            let kind = names.tools.iter().find(|(name, _)| *name == said.tool);
            match kind.map(|(_, kind)| *kind) {
                None => Event::Other,
                Some(ToolKind::Edit(field)) => {
                    let files = paths(&said.input, field)?.into_iter().map(PathBuf::from);
                    Event::Edit { files: files.collect(), input: said.input, field }
                }
                Some(ToolKind::Read(field)) => {
                    paths(&said.input, field)?;
                    Event::Read { input: said.input, field }
                }
                // What Claude Code's Monitor may open in the place of a command.
                Some(ToolKind::Shell(_)) if is_socket(&said.input) => Event::Other,
                Some(ToolKind::Shell(directory)) => shell(said.input, directory, Shell::Posix)?,
                Some(ToolKind::ForeignShell) => shell(said.input, None, Shell::Foreign)?,
            }
        }
        Moment::Begin => Event::Begin,
        Moment::Prompt if said.prompt.as_deref().is_some_and(|text| !text.is_empty()) => {
            Event::Prompt
        }
        Moment::Prompt => Event::Other,
        Moment::Stop => Event::Stop { is_busy: said.is_busy },
        Moment::PartStop => Event::PartStop,
        Moment::End => Event::Stop { is_busy: false },
        Moment::Tree => Event::Tree(said.name.ok_or("it names no work tree")?),
    };
    let Said { session, model, directory, .. } = said;
    Ok(Call { session, model, directory, event })
}

fn is_socket(input: &Value) -> bool {
    input.get("ws").is_some() && input.get("command").is_none()
}

fn shell(input: Value, directory: Option<&'static str>, shell: Shell) -> Result<Event, String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let command = text("command").ok_or("the tool's input has no command")?.to_owned();
    let directory = match directory.and_then(|key| input.get(key)) {
        None | Some(Value::Null) => None,
        Some(path) => Some(path.as_str().ok_or("the directory is not a text")?.into()),
    };
    Ok(Event::Shell { command, shell, directory, input })
}
