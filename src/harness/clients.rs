//! The table of clients.

use super::redirect::Field;
use super::{Client, Dialect, EditRoute, HookFileFormat, HookKind, Tool, Trees};

/// Recorded from Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.24.4, Copilot
/// CLI 1.0.102, OpenCode 1.18.33.
pub static CLIENTS: [Client; 6] = [
    // A refused edit names the client's own tool that moves the session into a work tree without a
    // question. From then on the client refuses writes to the checkout.
    Client {
        name: "claude-code",
        agent: "claude-code",
        dialect: Dialect::Claude,
        edit_route: EditRoute::Enter,
        events: &[
            ("PreToolUse", HookKind::Tool),
            ("SessionStart", HookKind::Begin),
            ("UserPromptSubmit", HookKind::Prompt),
            ("Stop", HookKind::Stop),
            ("SubagentStop", HookKind::PartStop),
            ("SessionEnd", HookKind::End),
            ("WorktreeCreate", HookKind::Tree),
        ],
        tools: &[
            ("Edit", Tool::Edit(Field::Path("file_path"))),
            ("MultiEdit", Tool::Edit(Field::Path("file_path"))),
            ("Write", Tool::Edit(Field::Path("file_path"))),
            ("NotebookEdit", Tool::Edit(Field::Path("notebook_path"))),
            ("Bash", Tool::Shell(None)),
            ("Monitor", Tool::Shell(None)),
            ("PowerShell", Tool::ForeignShell),
            ("Agent", Tool::Part("subagent_type")),
            ("Task", Tool::Part("subagent_type")),
        ],
        has_matcher: true,
        project_directory: ".claude",
        user_directory: &[("CLAUDE_CONFIG_DIR", ""), ("HOME", ".claude")],
        file: "settings.json",
        form: HookFileFormat::Arguments,
        trees: Trees::AdditionalDirectories("settings.json"),
        local_files: &[".claude/settings.local.json", "CLAUDE.local.md"],
        resume_words: &["-c", "--continue", "-r", "--resume"],
        instruct: Some(("--append-system-prompt", "")),
    },
    Client {
        name: "codex",
        agent: "codex",
        dialect: Dialect::Codex,
        edit_route: EditRoute::Rewrite,
        events: &[
            ("PreToolUse", HookKind::Tool),
            ("SessionStart", HookKind::Begin),
            ("UserPromptSubmit", HookKind::Prompt),
            ("Stop", HookKind::Stop),
            ("SessionEnd", HookKind::End),
        ],
        tools: &[("apply_patch", Tool::Edit(Field::Patch("command"))), ("Bash", Tool::Shell(None))],
        has_matcher: false,
        project_directory: ".codex",
        user_directory: &[("CODEX_HOME", ""), ("HOME", ".codex")],
        file: "hooks.json",
        form: HookFileFormat::Command { timeout: 60 },
        trees: Trees::WritableRoots("config.toml"),
        local_files: &["AGENTS.override.md"],
        resume_words: &["resume"],
        instruct: Some(("-c", "developer_instructions=")),
    },
    Client {
        name: "gemini",
        agent: "gemini-cli",
        dialect: Dialect::Gemini,
        edit_route: EditRoute::Rewrite,
        events: &[
            ("BeforeTool", HookKind::Tool),
            ("SessionStart", HookKind::Begin),
            ("BeforeAgent", HookKind::Prompt),
            ("AfterAgent", HookKind::Stop),
            ("SessionEnd", HookKind::End),
        ],
        tools: &[
            ("replace", Tool::Edit(Field::Path("file_path"))),
            ("write_file", Tool::Edit(Field::Path("file_path"))),
            ("run_shell_command", Tool::Shell(Some("dir_path"))),
            ("read_file", Tool::Read(Field::Path("file_path"))),
            ("list_directory", Tool::Read(Field::Search("dir_path"))),
            ("grep_search", Tool::Read(Field::Search("dir_path"))),
            ("search_file_content", Tool::Read(Field::Search("dir_path"))),
            ("glob", Tool::Read(Field::Search("dir_path"))),
        ],
        has_matcher: true,
        project_directory: ".gemini",
        user_directory: &[("GEMINI_CLI_HOME", ".gemini"), ("HOME", ".gemini")],
        file: "settings.json",
        // In milliseconds.
        form: HookFileFormat::Command { timeout: 60_000 },
        trees: Trees::IncludeDirectories("settings.json"),
        local_files: &[".gemini/settings.json", ".gemini/.env"],
        resume_words: &["-r", "--resume"],
        instruct: None,
    },
    // The client ignores a rewritten input: a refusal names the path in the session's tree, and the
    // model uses it.
    Client {
        name: "qwen",
        agent: "qwen-code",
        dialect: Dialect::Claude,
        edit_route: EditRoute::Name,
        events: &[
            ("PreToolUse", HookKind::Tool),
            ("SessionStart", HookKind::Begin),
            ("UserPromptSubmit", HookKind::Prompt),
            ("Stop", HookKind::Stop),
            ("SessionEnd", HookKind::End),
        ],
        tools: &[
            ("edit", Tool::Edit(Field::Path("file_path"))),
            ("write_file", Tool::Edit(Field::Path("file_path"))),
            ("notebook_edit", Tool::Edit(Field::Path("notebook_path"))),
            ("run_shell_command", Tool::Shell(Some("directory"))),
            ("monitor", Tool::Shell(Some("directory"))),
        ],
        has_matcher: true,
        project_directory: ".qwen",
        user_directory: &[("QWEN_HOME", ""), ("HOME", ".qwen")],
        file: "settings.json",
        form: HookFileFormat::Command { timeout: 60 },
        trees: Trees::Unnamed,
        local_files: &[".qwen/settings.json", ".qwen/.env"],
        resume_words: &["-c", "--continue", "-r", "--resume"],
        instruct: Some(("--append-system-prompt", "")),
    },
    Client {
        name: "copilot",
        agent: "copilot-cli",
        dialect: Dialect::Copilot,
        edit_route: EditRoute::Rewrite,
        events: &[
            ("preToolUse", HookKind::Tool),
            ("sessionStart", HookKind::Begin),
            ("userPromptSubmitted", HookKind::Prompt),
            ("agentStop", HookKind::Stop),
        ],
        tools: &[
            ("edit", Tool::Edit(Field::Path("path"))),
            ("create", Tool::Edit(Field::Path("path"))),
            ("apply_patch", Tool::Edit(Field::Patch("patch"))),
            ("str_replace_editor", Tool::Edit(Field::Path("path"))),
            ("bash", Tool::Shell(None)),
            ("powershell", Tool::ForeignShell),
            ("view", Tool::Read(Field::Path("path"))),
            // Copilot's searches fall back to the second key.
            ("grep", Tool::Read(Field::Places(&["paths", "path"]))),
            ("rg", Tool::Read(Field::Places(&["paths", "path"]))),
            ("glob", Tool::Read(Field::Places(&["paths", "path"]))),
        ],
        has_matcher: false,
        project_directory: ".github",
        user_directory: &[("COPILOT_HOME", ""), ("HOME", ".copilot")],
        file: "hooks/aye.json",
        form: HookFileFormat::CopilotFile,
        trees: Trees::Unnamed,
        local_files: &[".github/copilot/settings.local.json"],
        resume_words: &["--continue", "--resume"],
        instruct: None,
    },
    // OpenCode has only plugins. aye's plugin passes each call on, in aye's own format both ways.
    Client {
        name: "opencode",
        agent: "opencode",
        dialect: Dialect::Own,
        edit_route: EditRoute::Rewrite,
        events: &[
            ("before", HookKind::Tool),
            ("prompt", HookKind::Prompt),
            ("idle", HookKind::Stop),
        ],
        tools: &[
            ("edit", Tool::Edit(Field::Path("filePath"))),
            ("multiedit", Tool::Edit(Field::Path("filePath"))),
            ("write", Tool::Edit(Field::Path("filePath"))),
            ("apply_patch", Tool::Edit(Field::Patch("patchText"))),
            ("patch", Tool::Edit(Field::Patch("patchText"))),
            ("bash", Tool::Shell(Some("workdir"))),
            ("read", Tool::Read(Field::Path("filePath"))),
            ("grep", Tool::Read(Field::Search("path"))),
            ("glob", Tool::Read(Field::Search("path"))),
            ("list", Tool::Read(Field::Search("path"))),
        ],
        has_matcher: false,
        project_directory: ".opencode",
        user_directory: &[("XDG_CONFIG_HOME", "opencode"), ("HOME", ".config/opencode")],
        file: "plugin/aye.js",
        form: HookFileFormat::Plugin,
        trees: Trees::Unnamed,
        local_files: &["opencode.json", "opencode.jsonc"],
        resume_words: &["-c", "--continue", "-s", "--session"],
        instruct: None,
    },
];

/// The client of `agent`, as proposals name it.
pub fn client_of(agent: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.agent == agent)
}

pub fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}
