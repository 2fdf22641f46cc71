//! `aye agents install`, `remove` and `show`: the settings of all clients, also those that are not what they seem.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Repo, Run};

/// Each client, its file of the user's, and that of a project.
const CLIENTS: [(&str, &str, &str); 6] = [
    ("claude-code", ".claude/settings.json", ".claude/settings.json"),
    ("codex", ".codex/hooks.json", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json", ".qwen/settings.json"),
    ("copilot", ".copilot/hooks/aye.json", ".github/hooks/aye.json"),
    ("opencode", ".config/opencode/plugin/aye.js", ".opencode/plugin/aye.js"),
];

/// Settings as people have them.
const SETTINGS: [&str; 5] = [
    "{\n  \"model\": \"x\",\n  \"env\": {}\n}\n",
    "{\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \"hooks\": []\n            }\n        ]\n    }\n}\n",
    "{\n\t// mine\n\t\"model\": \"x\", // why\n}\n",
    "\u{feff}{\r\n  \"model\": \"x\"\r\n}\r\n",
    "{\n  \"context\": {\n    \"includeDirectories\": [\n      \"/x\"\n    ]\n  }\n}\n",
];

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("make");
    std::fs::write(path, text).expect("write");
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// A directory of programs with the names of clients.
fn programs(repo: &Repo, names: &[&str]) -> PathBuf {
    let bin = repo.outer().join("bin");
    for name in names {
        write(&bin.join(name), "#!/bin/sh\nexit 9\n");
        repo.chmod(bin.join(name).to_str().expect("UTF-8"), 0o755);
    }
    bin
}

#[test]
fn hooks_come_and_go_and_all_else_keeps_its_bytes() {
    for (name, own, project) in CLIENTS {
        let repo = Repo::new();
        let home = repo.outer().join("home");
        let agents = |command: &str, more: &[&str]| {
            repo.aye(&[&["agents", command, name][..], more].concat())
        };
        for (flag, path) in [("--user", home.join(own)), ("--project", repo.path(project))] {
            repo.aye(&["agents", "show"]).exits(1);
            agents("install", &[flag, "--dry-run"]).ok();
            assert_eq!(read(&path), None);
            agents("install", &[flag]).ok();
            let with = read(&path).expect("hooks");
            assert!(with.contains("agents") && !with.contains("strict = true"), "{with}");
            repo.cmd(&["agents", "show"]).env("PATH", "/usr/bin:/bin").run().ok();
            agents("install", &[flag]).ok();
            assert_eq!(read(&path).as_ref(), Some(&with));
            agents("install", &[flag, "--mode", "strict"]).ok();
            let strict = read(&path).expect("hooks");
            assert!(strict != with && strict.contains("strict"), "{strict}");
            agents("install", &[flag]).ok();
            assert_eq!(read(&path).map(|text| text.len()), Some(with.len()));
            agents("remove", &[flag]).ok();
            assert!(!path.exists(), "{name} {flag}");
            agents("remove", &[flag]).ok();
        }
        if name != "claude-code" {
            agents("install", &["--local"]).fails("invalid_argument", 6);
        }
        let path = home.join(own);
        if !path.ends_with("settings.json") && !path.ends_with("hooks.json") {
            write(&path, "theirs");
            agents("install", &["--user"]).fails("invalid_json", 6);
            agents("remove", &["--user"]).ok();
            assert_eq!(read(&path).as_deref(), Some("theirs"), "{name}");
            continue;
        }
        for text in SETTINGS {
            write(&path, text);
            agents("install", &["--user"]).ok();
            assert_ne!(read(&path).as_deref(), Some(text));
            agents("remove", &["--user"]).ok();
            assert_eq!(read(&path).as_deref(), Some(text), "{name}");
            // Edited since: all else stays.
            agents("install", &["--user"]).ok();
            let with = read(&path).expect("hooks");
            write(&path, &format!("{with}\n// more\n"));
            agents("remove", &["--user"]).ok();
            assert_eq!(read(&path), Some(format!("{text}\n// more\n")), "{name}");
        }
        for text in ["{", "[]", "nonsense {", "{\"hooks\": 5}", "{'a': 1}"] {
            write(&path, text);
            agents("install", &["--user"]).fails("invalid_json", 6);
            // Nor is anything written for another.
            repo.aye(&["agents", "install", "copilot", name, "--user"]).fails("invalid_json", 6);
            assert!(!home.join(".copilot").exists());
            assert_eq!(read(&path).as_deref(), Some(text));
        }
    }
}

/// Codex's sandbox and Gemini CLI's workspace would keep the trees out.
#[test]
fn the_trees_are_named_as_long_as_there_are_hooks() {
    for (name, settings, before) in [
        ("codex", ".codex/config.toml", "model = \"x\"   # mine\r\n\r\n[tui]\r\ntheme='dark'\r\n"),
        (
            "codex",
            ".codex/config.toml",
            "[sandbox_workspace_write]\nwritable_roots = [ \"/x\", ] # theirs\nnetwork_access = true\n",
        ),
        ("gemini", ".gemini/settings.json", "{\n  \"model\": \"x\" // mine\n}\n"),
    ] {
        let repo = Repo::new();
        let path = repo.outer().join("home").join(settings);
        write(&path, before);
        let names_trees = || read(&path).is_some_and(|text| text.contains("/aye/trees"));
        repo.aye(&["agents", "install", name]).ok();
        repo.aye(&["agents", "install", name, "--project"]).ok();
        assert!(names_trees());
        repo.aye(&["agents", "remove", name]).ok();
        assert!(names_trees(), "the project's need them");
        repo.aye(&["agents", "remove", name, "--project"]).ok();
        assert_eq!(read(&path).as_deref(), Some(before));
        write(&path, "[");
        repo.aye(&["agents", "install", name]).fails("invalid_json", 6);
        assert!(name != "codex" || !path.with_file_name("hooks.json").exists());
    }
}

#[test]
fn what_is_there_is_shown_and_what_is_not_gated_named() {
    let repo = Repo::new();
    let bin = programs(&repo, &["claude", "codex", "qwen"]);
    let show = || repo.cmd(&["agents", "show"]).env("PATH", &bin).run();
    repo.aye(&["agents", "install", "claude-code"]).ok();
    repo.aye(&["agents", "install", "codex"]).ok();
    repo.aye(&["agents", "install", "gemini", "--mode", "strict"]).ok();
    let run = show().exits(1);
    let outer = repo.outer().to_str().expect("UTF-8").to_owned();
    let seen = |run: &Run| format!("{}--\n{}", run.out(), run.err()).replace(&outer, "…");
    insta::assert_snapshot!(seen(&run));
    // Trusted, as Codex writes it down; and hooks for the last.
    let home = repo.outer().join("home/.codex");
    let config = read(&home.join("config.toml")).expect("settings");
    let hooks = home.join("hooks.json");
    let trust = format!("\n[hooks.state.\"{}:pre_tool_use:0:0\"]\n", hooks.display());
    write(&home.join("config.toml"), &(config + &trust + "trusted_hash = \"sha256:x\"\n"));
    show().exits(1);
    repo.aye(&["agents", "install", "qwen", "--project"]).ok();
    show().ok();
    // Without a home as well.
    let homeless = |args: &[&str]| {
        let cmd = repo.cmd(args).env("PATH", "/usr/bin:/bin");
        cmd.env("HOME", "").env("XDG_STATE_HOME", "").run()
    };
    homeless(&["agents", "show"]).ok();
    homeless(&["agents", "install", "claude-code"]).fails("no_state_directory", 4);
}

#[test]
fn settings_that_are_no_regular_file_are_refused() {
    let repo = Repo::new();
    let refused = || repo.aye(&["agents", "install", "claude-code"]).fails("invalid_json", 6);
    repo.write(".claude", "not a directory\n");
    refused();
    repo.aye(&["agents", "show"]).fails("invalid_json", 6);
    assert_eq!(repo.text(".claude"), "not a directory\n");
    repo.remove(".claude");
    // Nor is a file put in the place of a symlink, or where one leads to.
    for (to, name) in [("nowhere", ".claude"), (".claude", ".claude")] {
        repo.symlink(to, name);
        refused();
        repo.remove(name);
    }
    std::fs::create_dir(repo.path(".claude")).expect("mkdir");
    for to in ["nowhere", "settings.json"] {
        repo.symlink(to, ".claude/settings.json");
        refused();
        assert!(repo.path(".claude/settings.json").is_symlink());
        assert!(!repo.exists(".claude/nowhere"));
        repo.remove(".claude/settings.json");
    }
    let state = repo.outer().join("state");
    write(&state.join("aye"), "a file");
    let elsewhere = repo.cmd(&["agents", "install", "claude-code"]).env("XDG_STATE_HOME", &state);
    elsewhere.run().fails("no_state_directory", 4);
    assert!(!repo.exists(".claude/settings.json"));
    let pipe = repo.path(".claude/settings.json");
    repo.program("mkfifo").args(&[pipe.to_str().expect("UTF-8")]).run().ok();
    refused();
    repo.aye(&["agents", "show"]).fails("invalid_json", 6);
    // Nor does the hook of another repository wait for it.
    let other = Repo::new();
    let call = json!({
        "session_id": "s", "cwd": other.root(), "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": { "file_path": repo.path("x.txt"), "content": "x" },
    });
    let hook = other.cmd(&["agents", "hook", "claude-code", "PreToolUse"]);
    hook.stdin(call.to_string().as_bytes()).run().ok().says("\"deny\"");
}
