//! The messages of clients, and the answers that they honour.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::redirect::paths;
use super::{Call, Client, Command, Edit, EditRoute, Event, HookKind, HookReply, Tool};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Claude Code, with `hookSpecificOutput`. Unknown fields of its messages are ignored.
    /// `permissionDecision: "allow"` is never sent.
    Claude,
    /// As Claude, but an input is rewritten only with `permissionDecision: "allow"`; the new target
    /// is always aye's own tree. An answer with an unknown key is ignored whole.
    Codex,
    /// As Claude, but a refusal is `decision` at the top.
    Gemini,
    /// Copilot CLI. A message does not name its event; the reason of an exit status is lost.
    Copilot,
    /// aye's plugin.
    Own,
}

impl Client {
    /// # Errors
    /// In words, if the message is not understood.
    pub fn read(&self, event: &str, bytes: &[u8]) -> Result<Call, String> {
        let sent: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let (session, directory, tool, input) = match self.dialect {
            Dialect::Claude | Dialect::Codex | Dialect::Gemini => {
                if sent["hook_event_name"] != event {
                    let named: String =
                        sent["hook_event_name"].to_string().chars().take(40).collect();
                    return Err(format!("it is about {named}, and this is the hook of {event}"));
                }
                ("session_id", "cwd", "tool_name", "tool_input")
            }
            Dialect::Copilot => ("sessionId", "cwd", "toolName", "toolArgs"),
            Dialect::Own => ("session", "directory", "tool", "args"),
        };
        let text = |key: &str| sent[key].as_str().filter(|text| !text.is_empty());
        let named = text(session).zip(text(directory).map(PathBuf::from));
        let Some((session, directory)) = named.filter(|(_, path)| path.is_absolute()) else {
            return Err("it names no session, or no directory".to_owned());
        };
        let moment = self.events.iter().find(|(name, _)| *name == event);
        let (_, moment) = moment.ok_or_else(|| format!("there is no hook of {event:?}"))?;
        let is_busy = sent["stop_hook_active"] == true
            || sent["background_tasks"].as_array().is_some_and(|tasks| !tasks.is_empty());
        let message = text("last_assistant_message").or(text("prompt_response"));
        let message = message.map(str::to_owned);
        let event = match moment {
            HookKind::Tool => self.judge(text(tool).ok_or("it names no tool")?, &sent[input])?,
            HookKind::Begin => Event::Begin,
            // Qwen Code repeats the event with an empty prompt.
            HookKind::Prompt if text("prompt").is_none() => Event::Other,
            HookKind::Prompt => Event::Prompt,
            HookKind::Stop => Event::Stop { is_busy, message },
            HookKind::PartStop => Event::PartStop,
            HookKind::End => Event::Stop { is_busy: false, message },
            HookKind::Tree => Event::Tree(text("name").ok_or("it names no work tree")?.to_owned()),
        };
        let model = text("model").map(str::to_owned);
        let is_part = text("agent_id").is_some();
        Ok(Call { session: session.to_owned(), model, directory, is_part, event })
    }

    fn judge(&self, tool: &str, input: &Value) -> Result<Event, String> {
        let input = match input {
            // Copilot CLI may send a string.
            Value::String(text) => serde_json::from_str(text).map_err(|error| error.to_string())?,
            input => input.clone(),
        };
        let tool = self.tools.iter().find(|(name, _)| *name == tool);
        Ok(match tool.map(|(_, tool)| *tool) {
            None => Event::Other,
            Some(Tool::Edit(field)) => {
                let files = paths(&input, field)?.into_iter().map(PathBuf::from).collect();
                Event::Edit(Edit { files, input, field })
            }
            Some(Tool::Read(field)) => {
                paths(&input, field)?;
                Event::Read { input, field }
            }
            // Claude Code's Monitor may have `ws` instead of a command.
            Some(Tool::Shell(_)) if input["command"].is_null() && !input["ws"].is_null() => {
                Event::Other
            }
            Some(Tool::Shell(directory)) => shell(input, directory, false)?,
            Some(Tool::ForeignShell) => shell(input, None, true)?,
            Some(Tool::Part(key)) => match input[key].as_str() {
                Some("Explore" | "Plan") => Event::Other,
                _ => Event::Part,
            },
        })
    }

    pub fn write(&self, event: &str, answer: &HookReply) -> Vec<u8> {
        let specific = |fields: Value| {
            let mut output = json!({ "hookEventName": event });
            if let (Some(output), Value::Object(fields)) = (output.as_object_mut(), fields) {
                output.extend(fields);
            }
            json!({ "hookSpecificOutput": output })
        };
        let value = match (self.dialect, answer) {
            (_, HookReply::Tree(path)) => return path.as_os_str().as_encoded_bytes().to_vec(),
            (Dialect::Own, HookReply::Proceed) => json!({}),
            (Dialect::Own, HookReply::Refuse(reason)) => json!({ "refuse": reason }),
            (Dialect::Own, HookReply::Rewrite(input)) => json!({ "args": input }),
            (Dialect::Own, HookReply::TellModel(text)) => json!({ "inform": text }),
            (Dialect::Own, HookReply::ShowPerson(text)) => json!({ "say": text }),
            (_, HookReply::Proceed) => return Vec::new(),
            (Dialect::Copilot, HookReply::Refuse(reason)) => {
                json!({ "permissionDecision": "deny", "permissionDecisionReason": reason })
            }
            (Dialect::Copilot, HookReply::Rewrite(input)) => json!({ "modifiedArgs": input }),
            (Dialect::Copilot, HookReply::TellModel(text)) => json!({ "additionalContext": text }),
            // Codex shows the person no message at `Stop`.
            (Dialect::Codex, HookReply::ShowPerson(_)) if event == "Stop" => json!({}),
            (_, HookReply::ShowPerson(text)) => json!({ "systemMessage": text }),
            (Dialect::Gemini, HookReply::Refuse(reason)) => {
                json!({ "decision": "deny", "reason": reason })
            }
            (Dialect::Gemini, HookReply::Rewrite(input)) => {
                specific(json!({ "tool_input": input }))
            }
            (Dialect::Codex, HookReply::Rewrite(input)) => {
                specific(json!({ "permissionDecision": "allow", "updatedInput": input }))
            }
            // Unreachable: such a client gets no rewrites. The gate stays closed in any case.
            (_, HookReply::Rewrite(_)) if self.edit_route == EditRoute::Name => {
                return self.write(event, &HookReply::Refuse("aye: cannot rewrite".to_owned()));
            }
            (_, HookReply::Rewrite(input)) => specific(json!({ "updatedInput": input })),
            (_, HookReply::Refuse(reason)) => specific(
                json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }),
            ),
            (_, HookReply::TellModel(text)) => specific(json!({ "additionalContext": text })),
        };
        value.to_string().into_bytes()
    }
}

fn shell(input: Value, directory: Option<&'static str>, is_foreign: bool) -> Result<Event, String> {
    let text = input["command"].as_str().ok_or("the tool's input has no command")?.to_owned();
    let directory = match directory.map(|key| &input[key]) {
        None | Some(Value::Null) => None,
        Some(path) => Some(path.as_str().ok_or("the directory is not a text")?.into()),
    };
    Ok(Event::Shell(Command { text, is_foreign, directory, input }))
}
