//! How each client is started against a scripted model, in a home and a repository of its own, so that it can
//! be seen whether its edits reach the checkout. What points a client at an endpoint was found out with the
//! clients themselves. Pure.

pub mod wire;

use std::path::Path;

use serde_json::{Value, json};

use super::{claude, codex, copilot, gemini, opencode, qwen};
use wire::{Step, Wire};

/// The file that the client's tool writes.
pub const BY_EDIT: &str = "canary-by-edit.txt";
/// The file that a command of the client's shell writes.
pub const BY_COMMAND: &str = "canary-by-command.txt";

/// The command of that.
const COMMAND: &str = "echo canary > canary-by-command.txt";

/// Where a client is tried.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The home directory, which holds nothing else.
    pub home: &'a Path,
    /// The checkout.
    pub checkout: &'a Path,
    /// The scripted model, as `http://127.0.0.1:PORT`.
    pub endpoint: &'a str,
}

/// How a client is tried.
#[derive(Clone, Debug)]
pub struct Canary {
    /// What it speaks.
    pub wire: Wire,
    /// The arguments that let it do a task without a person.
    pub args: Vec<&'static str>,
    /// Variables of its environment.
    pub variables: Vec<(&'static str, String)>,
    /// Its settings before hooks are installed: the path in the home directory, and the text.
    pub before: Vec<(&'static str, String)>,
    /// Text that its settings get in front of what an installer wrote.
    pub ahead: Vec<(&'static str, String)>,
    /// What the model has it do: an edit of the checkout, and a command there.
    pub steps: Vec<Step>,
}

/// The name of the program of a client.
pub fn program(client: &str) -> &str {
    if client == claude::NAME { "claude" } else { client }
}

/// How the client of that name is tried; `None` for one that nobody knows how to point at a model.
pub fn of(client: &str, place: Place<'_>) -> Option<Canary> {
    let Place { home, checkout, endpoint } = place;
    let file = checkout.join(BY_EDIT).to_string_lossy().into_owned();
    let step = |tool, input: Value| Step { tool, input };
    let base = |wire, args: &[&'static str], variables: &[(&'static str, &str)], steps| {
        let own = |(name, value): &(&'static str, &str)| (*name, (*value).to_owned());
        let variables = variables.iter().map(own).collect();
        Canary { wire, args: args.to_vec(), variables, before: vec![], ahead: vec![], steps }
    };
    let v1 = format!("{endpoint}/v1");
    Some(match client {
        claude::NAME => base(
            Wire::Messages,
            &[
                "-p",
                TASK,
                "--permission-mode",
                "acceptEdits",
                "--allowedTools",
                "Bash Edit Write EnterWorktree",
            ],
            &[
                ("ANTHROPIC_BASE_URL", endpoint),
                ("ANTHROPIC_API_KEY", "none"),
                ("DISABLE_TELEMETRY", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ],
            vec![
                step("Write", json!({ "file_path": file, "content": "canary\n" })),
                step("EnterWorktree", json!({ "name": "@NAME@" })),
                step(
                    "Write",
                    json!({ "file_path": format!("@TREE@/{BY_EDIT}"), "content": "canary\n" }),
                ),
                step("Bash", json!({ "command": COMMAND, "description": "Write a file" })),
            ],
        ),
        codex::NAME => {
            let patch = format!("*** Begin Patch\n*** Add File: {BY_EDIT}\n+canary\n*** End Patch");
            let mut canary = base(
                Wire::Responses,
                // The flag stands for the trust that a person gives once in /hooks.
                &["exec", "--dangerously-bypass-hook-trust", "--sandbox", "workspace-write", TASK],
                &[("CODEX_HOME", &home.join(".codex").to_string_lossy())],
                vec![
                    step("apply_patch", patch.into()),
                    step("exec_command", json!({ "cmd": COMMAND })),
                ],
            );
            canary.ahead = vec![(
                ".codex/config.toml",
                format!(
                    "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\n\
                     name = \"scripted\"\nbase_url = \"{v1}\"\nwire_api = \"responses\"\n"
                ),
            )];
            canary
        }
        gemini::NAME => {
            let mut canary = base(
                Wire::Gemini,
                &["-p", TASK, "--yolo", "-m", "gemini-2.5-pro"],
                &[
                    ("GOOGLE_GEMINI_BASE_URL", endpoint),
                    ("GEMINI_API_KEY", "none"),
                    ("GEMINI_TELEMETRY_ENABLED", "false"),
                    ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
                    ("GEMINI_SANDBOX", "false"),
                ],
                vec![
                    step("write_file", json!({ "file_path": file, "content": "canary\n" })),
                    step("run_shell_command", json!({ "command": COMMAND })),
                ],
            );
            canary.before = vec![(
                ".gemini/settings.json",
                json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } }).to_string(),
            )];
            canary
        }
        qwen::NAME => {
            let mut canary = base(
                Wire::Chat,
                &["-p", TASK, "--yolo"],
                &[
                    ("OPENAI_BASE_URL", &v1),
                    ("OPENAI_API_KEY", "none"),
                    ("OPENAI_MODEL", "scripted"),
                    ("QWEN_TELEMETRY_ENABLED", "false"),
                ],
                vec![
                    step("write_file", json!({ "file_path": file, "content": "canary\n" })),
                    step(
                        "write_file",
                        json!({ "file_path": format!("@TREE@/{BY_EDIT}"), "content": "canary\n" }),
                    ),
                    step(
                        "run_shell_command",
                        json!({ "command": COMMAND, "is_background": false }),
                    ),
                    step(
                        "run_shell_command",
                        json!({
                            "command": format!("cd '@TREE@' && {COMMAND}"), "is_background": false,
                        }),
                    ),
                ],
            );
            canary.before = vec![(
                ".qwen/settings.json",
                json!({ "security": { "auth": { "selectedType": "openai" } } }).to_string(),
            )];
            canary
        }
        copilot::NAME => base(
            Wire::Chat,
            &["-p", TASK, "--allow-all-tools", "--allow-all-paths"],
            &[
                ("COPILOT_PROVIDER_BASE_URL", &v1),
                ("COPILOT_PROVIDER_API_KEY", "none"),
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_MODEL", "scripted"),
                ("COPILOT_AUTO_UPDATE", "false"),
            ],
            vec![
                step("create", json!({ "path": file, "file_text": "canary\n" })),
                step(
                    "bash",
                    json!({
                        "command": COMMAND, "description": "Write a file", "sessionId": "x",
                        "initial_wait": 10,
                    }),
                ),
            ],
        ),
        opencode::NAME => {
            let mut canary = base(
                Wire::Chat,
                &["run", TASK],
                &[],
                vec![
                    step("write", json!({ "filePath": file, "content": "canary\n" })),
                    step("bash", json!({ "command": COMMAND, "description": "Write a file" })),
                ],
            );
            let settings = json!({
                "provider": { "scripted": {
                    "npm": "@ai-sdk/openai-compatible", "name": "scripted",
                    "options": { "baseURL": v1, "apiKey": "none" },
                    "models": { "m": { "name": "m" } },
                }},
                "model": "scripted/m", "small_model": "scripted/m", "autoupdate": false,
                "share": "disabled", "permission": { "external_directory": "allow" },
            });
            canary.before = vec![(".config/opencode/opencode.json", settings.to_string())];
            canary
        }
        _ => return None,
    })
}

/// What the client is asked to do; the scripted model does not read it.
const TASK: &str = "Write the two files";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_that_was_tried_is_pointed_at_the_endpoint_and_nothing_else() {
        let place = Place {
            home: Path::new("/h"),
            checkout: Path::new("/r"),
            endpoint: "http://127.0.0.1:9",
        };
        for client in
            [claude::NAME, codex::NAME, gemini::NAME, qwen::NAME, copilot::NAME, opencode::NAME]
        {
            let canary = of(client, place).unwrap();
            let all = format!("{canary:?}");
            assert!(all.contains("127.0.0.1:9"), "{client}");
            assert_eq!(all.matches("://").count(), all.matches("http://127.0.0.1:9").count());
            assert!(all.contains(BY_EDIT) && all.contains(BY_COMMAND), "{client}");
        }
        assert!(of("nobody", place).is_none());
    }
}
