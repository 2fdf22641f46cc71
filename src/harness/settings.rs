//! Adds hooks to a client's settings and removes them. All other bytes of the file stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstRootNode};
use serde_json::{Value, json};

use super::{Client, HookKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFileFormat {
    /// Client settings with a program and arguments; `onFailure` refuses if the program is missing.
    Arguments,
    Command {
        /// In the client's own unit.
        timeout: u32,
    },
    /// A file of aye's own, for Copilot CLI.
    CopilotFile,
    /// A file of aye's own, a plugin of OpenCode.
    Plugin,
}

impl HookFileFormat {
    pub fn is_own(self) -> bool {
        matches!(self, Self::CopilotFile | Self::Plugin)
    }
}

/// The aye that hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookProgram<'a> {
    /// At a path of this machine.
    At(&'a str),
    /// The one in `PATH`, for settings that are committed. Where there is none, the client goes on
    /// as without hooks: a colleague without aye is not blocked.
    InPath,
}

impl HookProgram<'_> {
    fn command(self, moment: HookKind, args: &str) -> String {
        let path = match self {
            Self::At(path) => path,
            Self::InPath => {
                let otherwise = if moment == HookKind::Tree { PLAIN_TREE } else { "exit 0" };
                return format!("command -v aye >/dev/null 2>&1 || {otherwise}; aye {args}");
            }
        };
        format!("'{}' {args}", path.replace('\'', r"'\''"))
    }
}

/// Claude Code's own work tree: its hook replaces what the client would do.
const PLAIN_TREE: &str = r#"{ n=$(tr -d '\n' | sed -n 's/.*"name" *: *"\([A-Za-z0-9._-]*\)".*/\1/p'); t=$PWD/.claude/worktrees/$n; git worktree add -q -b "worktree-$n" "$t" >&2 && printf %s "$t"; exit; }"#;

/// Hooks refuse edits.
const STRICT: &str = "--strict";

/// Stands for a missing file.
const NOTHING: &str = "{\n}\n";

impl Client {
    /// # Errors
    /// In words, if `text` cannot be parsed.
    pub fn is_in(&self, text: &str) -> Result<bool, String> {
        if text.trim().is_empty() {
            return Ok(false);
        }
        match self.form {
            HookFileFormat::Plugin => Ok(text.contains("\"agents\", \"hook\", ")),
            HookFileFormat::CopilotFile => Ok(text.contains(" agents hook ")),
            HookFileFormat::Arguments | HookFileFormat::Command { .. } => {
                let value = parse(split_mark(text).1)?.to_serde_value().unwrap_or_default();
                Ok(!self.entries_of(&value).is_empty())
            }
        }
    }

    pub fn is_strict_in(&self, text: &str) -> bool {
        match self.form {
            HookFileFormat::Plugin => text.contains("strict = true"),
            _ => text.contains(STRICT),
        }
    }

    /// Puts hooks that run `program` into `text` (settings, or empty), in place of earlier ones.
    ///
    /// # Errors
    /// In words, if the text cannot be parsed, or has another value where hooks belong.
    pub fn put(
        &self,
        text: &str,
        program: HookProgram<'_>,
        is_strict: bool,
    ) -> Result<String, String> {
        if self.form.is_own() && !text.is_empty() && !self.is_in(text)? {
            return Err("it is not a file of aye's".to_owned());
        }
        let entries: Vec<(&str, Value)> = self
            .events
            .iter()
            .map(|(event, moment)| (*event, self.entry(event, *moment, program, is_strict)))
            .collect();
        match self.form {
            HookFileFormat::Plugin => {
                let text = include_str!("opencode.js");
                let text = match program {
                    HookProgram::At(path) => {
                        text.replace("\"aye\"", &Value::from(path).to_string())
                    }
                    HookProgram::InPath => text.replace("shared = false", "shared = true"),
                };
                Ok(text.replace("strict = false", &format!("strict = {is_strict}")))
            }
            HookFileFormat::CopilotFile => {
                let hooks: serde_json::Map<String, Value> = entries
                    .into_iter()
                    .map(|(event, entry)| (event.to_owned(), json!([entry])))
                    .collect();
                Ok(format!("{:#}\n", json!({ "version": 1, "hooks": hooks })))
            }
            HookFileFormat::Arguments | HookFileFormat::Command { .. } => {
                self.put_entries(text, &entries)
            }
        }
    }

    /// Removes aye's hooks, and lists and objects that become empty; `None` if nothing remains.
    pub fn take(&self, text: &str) -> Result<Option<String>, String> {
        match self.form {
            HookFileFormat::Plugin | HookFileFormat::CopilotFile => {
                Ok((!self.is_in(text)?).then(|| text.to_owned()))
            }
            HookFileFormat::Arguments | HookFileFormat::Command { .. } if !self.is_in(text)? => {
                Ok(Some(text.to_owned()))
            }
            HookFileFormat::Arguments | HookFileFormat::Command { .. } => {
                let (mark, text) = split_mark(text);
                let root = parse(text)?;
                self.take_entries(&root)?;
                Ok(left(format!("{mark}{root}")))
            }
        }
    }

    fn entry(
        &self,
        event: &str,
        moment: HookKind,
        program: HookProgram<'_>,
        is_strict: bool,
    ) -> Value {
        let mut args = vec!["agents", "hook", self.name, event];
        args.extend(is_strict.then_some(STRICT));
        let command = program.command(moment, &args.join(" "));
        let hook = match (self.form, program) {
            (HookFileFormat::Arguments, HookProgram::At(path)) => {
                json!({ "type": "command", "command": path, "args": args, "timeout": 60, "onFailure": "block" })
            }
            (HookFileFormat::Arguments, HookProgram::InPath) => {
                json!({ "type": "command", "command": command, "timeout": 60, "onFailure": "block" })
            }
            (HookFileFormat::Command { timeout }, _) => {
                json!({ "type": "command", "command": command, "timeout": timeout })
            }
            (HookFileFormat::CopilotFile | HookFileFormat::Plugin, _) => {
                return json!({ "type": "command", "bash": command, "timeoutSec": 60 });
            }
        };
        if self.has_matcher && moment == HookKind::Tool {
            let tools: Vec<&str> = self.tools.iter().map(|(tool, _)| *tool).collect();
            return json!({ "matcher": tools.join("|"), "hooks": [hook] });
        }
        json!({ "hooks": [hook] })
    }

    fn put_entries(&self, whole: &str, entries: &[(&str, Value)]) -> Result<String, String> {
        let (mark, text) = split_mark(whole);
        let root = parse(if text.trim().is_empty() { NOTHING } else { text })?;
        let present = self.entries_of(&root.to_serde_value().unwrap_or_default());
        let has =
            |(event, entry): &(&str, Value)| present.iter().any(|(e, p)| e == event && p == entry);
        if present.len() == entries.len() && entries.iter().all(has) {
            return Ok(whole.to_owned());
        }
        self.take_entries(&root)?;
        let top = root.object_value_or_create().ok_or("its top is not an object")?;
        let hooks = top.object_value_or_create("hooks").ok_or("its 'hooks' is not an object")?;
        for (event, entry) in entries {
            let list = hooks
                .array_value_or_create(event)
                .ok_or_else(|| format!("its hooks of {event} are not a list"))?;
            list.append(input(entry));
        }
        // Clients read the last of two equal names; the editor wrote to the first.
        if self.entries_of(&root.to_serde_value().unwrap_or_default()).len() != entries.len() {
            return Err("it names its hooks, or an event of them, twice".to_owned());
        }
        Ok(format!("{mark}{root}"))
    }

    fn take_entries(&self, root: &CstRootNode) -> Result<(), String> {
        let Some(property) = root.object_value().and_then(|top| top.get("hooks")) else {
            return Ok(());
        };
        let hooks = property.object_value().ok_or("its 'hooks' is not an object")?;
        let is_ours =
            |node: &CstNode| node.to_serde_value().is_some_and(|value| self.is_entry(&value));
        let mut is_changed = false;
        for event in hooks.properties() {
            let Some(list) = event.array_value() else { continue };
            let ours: Vec<CstNode> = list.elements().into_iter().filter(is_ours).collect();
            is_changed |= !ours.is_empty();
            if !ours.is_empty() && ours.len() == list.elements().len() {
                event.remove();
            } else {
                ours.into_iter().for_each(CstNode::remove);
            }
        }
        if is_changed && hooks.properties().is_empty() {
            property.remove();
        }
        Ok(())
    }

    fn entries_of(&self, settings: &Value) -> Vec<(String, Value)> {
        let hooks = settings["hooks"].as_object().into_iter().flatten();
        let entries = hooks.flat_map(|(event, list)| {
            let list = list.as_array().into_iter().flatten();
            list.map(move |entry| (event.clone(), entry.clone()))
        });
        entries.filter(|(_, entry)| self.is_entry(entry)).collect()
    }

    pub fn is_entry(&self, entry: &Value) -> bool {
        let is_ours = |hook: &Value| {
            let args = hook["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let command = hook["command"].as_str().unwrap_or_default();
            args.take(3).eq(["agents", "hook", self.name])
                || command.contains(&format!(" agents hook {} ", self.name))
        };
        entry["hooks"].as_array().is_some_and(|hooks| hooks.iter().any(is_ours))
    }

    /// True if Codex's `config.toml` trusts aye's edit hook in `hooks`, the file at `path`. `None`
    /// for clients without trust. The trusted hash is not compared: Codex asks again when the hook
    /// changes.
    pub fn is_trusted(&self, config: &str, path: &str, hooks: &str) -> Option<bool> {
        if self.name != "codex" {
            return None;
        }
        let hooks = serde_json::from_str::<Value>(hooks).unwrap_or_default();
        let list = hooks["hooks"][self.tool_hook()].as_array();
        let at = list.and_then(|list| list.iter().position(|entry| self.is_entry(entry)));
        let config = config.parse::<toml_edit::DocumentMut>().unwrap_or_default();
        let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
        let key = at.map(|at| format!("{path}:pre_tool_use:{at}:0"));
        let state = state.zip(key).and_then(|(state, key)| state.get(key));
        Some(state.is_some_and(|state| {
            let is_on = state.get("enabled").and_then(toml_edit::Item::as_bool) != Some(false);
            is_on && state.get("trusted_hash").is_some()
        }))
    }
}

/// `None` if nothing remains.
pub(super) fn left(text: String) -> Option<String> {
    // The editor's text of an empty object, from a file that aye created.
    Some(text).filter(|text| !text.trim().is_empty() && text != "{}\n")
}

/// Splits off a byte order mark, which some editors add.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => (&text[..text.len() - rest.len()], rest),
        None => ("", text),
    }
}

/// JSON with comments and trailing commas. No client reads the other extensions of JSON5: it would
/// ignore the settings, hooks included.
pub(super) fn parse(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let text = if text.trim().is_empty() { NOTHING } else { text };
    CstRootNode::parse(text, &options).map_err(|error| error.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is_it) => CstInputValue::Bool(*is_it),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::client;
    use super::*;

    #[test]
    fn what_is_put_in_and_taken_out_again_leaves_the_bytes_of_a_file() {
        let (claude, gemini) = (client("claude-code").unwrap(), client("gemini").unwrap());
        for text in [
            "",
            "{}",
            "{\n  \"model\": \"x\"\n}\n",
            "{\n  // mine\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": 1}\n    ]\n  },\n  \"z\": 1\n}\n",
            "{\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \"hooks\": []\n            }\n        ]\n    }\n}",
            "\u{feff}{\r\n\t\"z\": null, /* why */\r\n\t\"b\": [\r\n]\r\n}\r\n",
            // One line: the editor breaks it and changes nothing else.
            "{\"a\":1,\"hooks\":{\"C\":[{\"x\":[1,2]}]}}",
        ] {
            for client in [claude, gemini] {
                let with = client.put(text, HookProgram::At("/o'h/a y/aye"), false).unwrap();
                assert!(client.is_in(&with).unwrap() && !client.is_in(text).unwrap(), "{with}");
                // A second run changes nothing; another mode replaces the entries.
                assert_eq!(
                    client.put(&with, HookProgram::At("/o'h/a y/aye"), false).unwrap(),
                    with
                );
                let strict = client.put(&with, HookProgram::At("/o'h/a y/aye"), true).unwrap();
                assert!(client.is_strict_in(&strict) && !client.is_strict_in(&with), "{strict}");
                for text_with in [with, strict] {
                    let without = client.take(&text_with).unwrap().unwrap_or_default();
                    let bare = |text: &str| text.split_whitespace().collect::<String>();
                    assert_eq!(bare(&without), bare(text), "{text_with}");
                    assert!(without == text || text.starts_with("{\"a\""), "{without}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_settings_is_refused_and_nothing_made_of_it() {
        for text in [
            "[",
            "{\"hooks\": []}",
            "[]",
            "{\"hooks\": {\"Stop\": {}}}",
            "nonsense {",
            "{'a': 1}",
            "{a: 1}",
            "{\"a\": 0x1}",
            "{\"a\": NaN}",
            "{\"a\": 1 \"b\": 2}",
            "{\"hooks\": {}, \"hooks\": {}}",
            "{\"hooks\": {\"Stop\": [], \"Stop\": []}}",
        ] {
            assert!(
                client("claude-code").unwrap().put(text, HookProgram::At("/aye"), false).is_err(),
                "{text}"
            );
        }
        for name in ["copilot", "opencode"] {
            assert!(
                client(name).unwrap().put("theirs", HookProgram::At("/aye"), false).is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn codex_trusts_a_hook_where_its_settings_say_so() {
        let codex = client("codex").unwrap();
        let entry = |command: &str| json!({ "hooks": [{ "type": "command", "command": command }] });
        let hooks = json!({ "hooks": {
            "PreToolUse": [entry("theirs"), entry("'/aye' agents hook codex PreToolUse")],
        }});
        let hooks = hooks.to_string();
        let config = |key: &str, more: &str| {
            format!("[hooks.state]\n\n[hooks.state.\"/h/hooks.json:{key}\"]\n{more}\n")
        };
        let hash = "trusted_hash = \"sha256:88\"";
        let is_trusted =
            |config: &str| codex.is_trusted(config, "/h/hooks.json", &hooks) == Some(true);
        assert!(is_trusted(&config("pre_tool_use:1:0", hash)));
        for other in [
            config("pre_tool_use:0:0", hash),
            config("stop:1:0", hash),
            config("pre_tool_use:1:0", ""),
            config("pre_tool_use:1:0", &format!("enabled = false\n{hash}")),
            String::new(),
            "hooks = 5".to_owned(),
            "[".to_owned(),
        ] {
            assert!(!is_trusted(&other), "{other}");
        }
    }
}
