//! Hooks of coding agents, asked as their clients ask, in session `s`; and their answers, whatever form they have.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Cmd, Repo, Run};

pub const FILES: &[(&str, &str)] = &[("src/a.txt", "one\ntwo\n"), ("b.txt", "bee\n")];

/// The clients: their events before a tool, at a prompt, and at the end; their tools that write a file and that run a command.
const CLIENTS: [(&str, [&str; 3], [&str; 2]); 6] = [
    ("claude-code", ["PreToolUse", "UserPromptSubmit", "Stop"], ["Write", "Bash"]),
    ("codex", ["PreToolUse", "UserPromptSubmit", "Stop"], ["apply_patch", "Bash"]),
    ("gemini", ["BeforeTool", "BeforeAgent", "AfterAgent"], ["write_file", "run_shell_command"]),
    ("qwen", ["PreToolUse", "UserPromptSubmit", "Stop"], ["write_file", "run_shell_command"]),
    ("copilot", ["preToolUse", "userPromptSubmitted", "agentStop"], ["create", "bash"]),
    ("opencode", ["before", "prompt", "idle"], ["write", "bash"]),
];

/// The clients beside Claude Code.
pub const OTHERS: [&str; 5] = ["codex", "gemini", "qwen", "copilot", "opencode"];
/// Those whose tools are rewritten.
pub const REWRITTEN: [&str; 4] = ["codex", "gemini", "copilot", "opencode"];

/// A client that works in a directory.
pub struct Client<'a> {
    pub repo: &'a Repo,
    pub name: &'static str,
    pub directory: PathBuf,
    /// Options of its hooks.
    pub options: &'static [&'static str],
}

impl<'a> Client<'a> {
    pub fn new(repo: &'a Repo, name: &'static str) -> Self {
        Self { repo, name, directory: repo.root().to_owned(), options: &[] }
    }

    /// The same, in `directory`.
    pub fn at(&self, directory: impl AsRef<Path>) -> Self {
        Self { directory: directory.as_ref().to_owned(), ..*self }
    }

    fn row(&self) -> &'static (&'static str, [&'static str; 3], [&'static str; 2]) {
        CLIENTS.iter().find(|row| row.0 == self.name).expect("a client")
    }

    pub fn before(&self) -> &'static str {
        self.row().1[0]
    }

    pub fn cmd(&self, event: &str) -> Cmd {
        self.repo.cmd(&[&["agents", "hook", self.name, event], self.options].concat())
    }

    /// What it sends.
    pub fn call(&self, event: &str, more: &Value) -> String {
        let mut value = match self.name {
            "copilot" => json!({"sessionId": "s", "timestamp": 1, "cwd": self.directory}),
            "opencode" => json!({"session": "s", "directory": self.directory}),
            _ => json!({"session_id": "s", "cwd": self.directory, "hook_event_name": event,
                "transcript_path": "/t", "permission_mode": "acceptEdits"}),
        };
        let value_of = value.as_object_mut().expect("an object");
        value_of.extend(more.as_object().cloned().unwrap_or_default());
        value.to_string()
    }

    /// What it sends before a tool.
    pub fn tool_call(&self, tool: &str, input: &Value) -> String {
        let keys = match self.name {
            "copilot" => ["toolName", "toolArgs"],
            "opencode" => ["tool", "args"],
            _ => ["tool_name", "tool_input"],
        };
        self.call(self.before(), &json!({ keys[0]: tool, keys[1]: input }))
    }

    pub fn hook(&self, event: &str, more: Value) -> Run {
        self.cmd(event).stdin(self.call(event, &more)).run().ok()
    }

    pub fn tool(&self, tool: &str, input: &Value) -> Answer {
        Answer::of(&self.cmd(self.before()).stdin(self.tool_call(tool, input)).run().ok())
    }

    /// Writes the file at `path` with its own tool.
    pub fn edit(&self, path: impl AsRef<Path>) -> Answer {
        let path = path.as_ref().to_str().expect("UTF-8");
        let input = match self.name {
            "codex" => {
                let body = format!("*** Update File: {path}\n@@\n-x\n+y\n");
                json!({ "command": format!("*** Begin Patch\n{body}*** End Patch\n") })
            }
            "copilot" => json!({ "path": path, "file_text": "x" }),
            "opencode" => json!({ "filePath": path, "content": "x" }),
            _ => json!({ "file_path": path, "content": "x" }),
        };
        self.tool(self.row().2[0], &input)
    }

    pub fn shell(&self, text: &str) -> Answer {
        self.tool(self.row().2[1], &json!({ "command": text }))
    }

    /// What it tells its model with the next prompt, if anything.
    pub fn told(&self) -> String {
        let answer = Answer::of(&self.hook(self.row().1[1], json!({ "prompt": "go on" })));
        let text = ["additionalContext", "inform"].map(|key| answer.field(key).as_str());
        text.into_iter().flatten().collect::<String>()
    }

    pub fn stop(&self) -> Run {
        self.hook(self.row().1[2], json!({ "stop_hook_active": false, "background_tasks": [] }))
    }

    /// Has Claude Code enter the tree of the session, as it does when the model calls `EnterWorktree`.
    pub fn enter(&self) -> PathBuf {
        let reason = self.edit(self.repo.path("b.txt")).refused();
        let name = reason.split("with name ").nth(1).and_then(|rest| rest.split(',').next());
        self.tree(name.expect("a name"))
    }

    /// Has it ask for a work tree of that name.
    pub fn tree(&self, name: &str) -> PathBuf {
        PathBuf::from(self.hook("WorktreeCreate", json!({ "name": name })).out())
    }
}

/// The answer of a hook; null where it says nothing.
#[derive(Debug)]
pub struct Answer(Value);

impl Answer {
    pub fn of(run: &Run) -> Self {
        let value = if run.out().is_empty() { Value::Null } else { run.json() };
        Self(if value == json!({}) { Value::Null } else { value })
    }

    fn field(&self, key: &str) -> &Value {
        match &self.0["hookSpecificOutput"] {
            Value::Null => &self.0[key],
            own => &own[key],
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.0.is_null()
    }

    /// The reason of a refusal.
    #[track_caller]
    pub fn refused(&self) -> String {
        let denied = |key, reason| (self.field(key) == "deny").then(|| self.field(reason));
        let reason = denied("permissionDecision", "permissionDecisionReason")
            .or_else(|| denied("decision", "reason"))
            .unwrap_or_else(|| self.field("refuse"));
        reason.as_str().unwrap_or_else(|| panic!("not refused: {self:?}")).to_owned()
    }

    /// The input that is put in the place of the tool's own.
    #[track_caller]
    pub fn rewritten(&self) -> Value {
        let all = ["updatedInput", "tool_input", "modifiedArgs", "args"];
        let mut found = all.into_iter().map(|key| self.field(key)).filter(|it| it.is_object());
        found.next().unwrap_or_else(|| panic!("not rewritten: {self:?}")).clone()
    }

    /// The command that is put in the place of the tool's own.
    #[track_caller]
    pub fn command(&self) -> String {
        self.rewritten()["command"].as_str().expect("a command").to_owned()
    }
}

/// The only proposal that is pending.
#[track_caller]
pub fn pending(repo: &Repo) -> String {
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["count"], 1, "{list:#}");
    list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned()
}

/// The trees of all sessions.
pub fn trees(repo: &Repo) -> Vec<PathBuf> {
    let list = repo.aye(&["session", "list", "--json"]).ok().json();
    let all = list["sessions"].as_array().expect("a list").iter();
    all.map(|one| PathBuf::from(one["tree"].as_str().expect("a tree"))).collect()
}

pub fn write(path: impl AsRef<Path>, text: &str) {
    std::fs::write(path, text).expect("write");
}

pub fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("read")
}
