//! `aye agents show`: which agents are here, and whether they are gated; settings that are not what they seem.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Repo, Run};

/// A package of version `version` with the program `name`, and a directory that has it.
fn install(repo: &Repo, name: &str, version: &str) -> PathBuf {
    let (bin, package) = (repo.outer().join("bin"), repo.outer().join("lib").join(name));
    for directory in [&bin, &package.join("dist")] {
        std::fs::create_dir_all(directory).expect("mkdir");
    }
    let file = package.join("dist/cli.js");
    std::fs::write(&file, "#!/bin/sh\nexit 9\n").expect("write");
    std::fs::write(package.join("package.json"), format!("{{\"version\": \"{version}\"}}"))
        .expect("write");
    std::os::unix::fs::symlink(file, bin.join(name)).expect("symlink");
    bin
}

fn show(repo: &Repo, path: &std::path::Path) -> Run {
    repo.cmd(&["agents", "show", "--json"]).env("PATH", path).run()
}

fn agent(run: &Run, name: &str) -> Value {
    let agents = run.json()["agents"].as_array().expect("agents").clone();
    agents.into_iter().find(|agent| agent["harness"] == name).expect("the agent")
}

#[test]
fn what_is_known_of_an_agent_is_shown() {
    let repo = Repo::new();
    let bin = install(&repo, "claude", "2.1.330");
    let seen = show(&repo, &bin).exits(1).notes("claude-code is installed here, and has no hooks");
    let claude = agent(&seen, "claude-code");
    assert_eq!(claude["version"], "2.1.330");
    assert_eq!(claude["program"], bin.join("claude").to_str().expect("UTF-8"));
    assert_eq!((&claude["gated"], &claude["when_missing"]), (&json!(false), &json!("closed")));
    assert_eq!(claude["last_hook_at"], Value::Null);
    assert_eq!(agent(&seen, "codex")["program"], Value::Null);
    repo.aye(&["agents", "install", "claude-code"]).ok();
    let call = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": "SessionStart"});
    let hook = repo.cmd(&["agents", "hook", "claude-code", "SessionStart"]);
    hook.stdin(call.to_string().as_bytes()).run().ok();
    let seen = show(&repo, &bin).ok();
    let claude = agent(&seen, "claude-code");
    assert_eq!(claude["gated"], true);
    assert!(claude["last_hook_at"].as_str().expect("a time").ends_with('Z'), "{claude}");
    let text = repo.cmd(&["agents", "show"]).env("PATH", &bin).run().ok();
    text.says("claude-code  2.1.330       gated");
}

#[test]
fn what_is_there_is_shown_without_a_home() {
    let repo = Repo::new();
    let bin = install(&repo, "claude", "2.1.330");
    repo.aye(&["agents", "install", "claude-code"]).ok();
    let homeless = |args: &[&str]| {
        let cmd = repo.cmd(args).env("PATH", &bin);
        cmd.env("HOME", "").env("XDG_STATE_HOME", "").run()
    };
    let seen = homeless(&["agents", "show", "--json"]).ok().notes("XDG_STATE_HOME");
    assert_eq!(agent(&seen, "claude-code")["gated"], true);
    homeless(&["agents", "install", "claude-code"]).fails("no_state_directory", 4);
}

#[test]
fn hooks_that_codex_does_not_trust_gate_nothing() {
    let repo = Repo::new();
    let bin = install(&repo, "codex", "0.169.0");
    repo.aye(&["agents", "install", "codex"]).ok();
    let seen = show(&repo, &bin).exits(1).notes("its hooks are not trusted: run /hooks in codex");
    assert_eq!(agent(&seen, "codex")["gated"], false);
    let home = repo.outer().join("home/.codex");
    let config = std::fs::read_to_string(home.join("config.toml")).expect("settings");
    let hooks = home.join("hooks.json");
    let trust = format!(
        "{config}\n[hooks.state.\"{}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:x\"\n",
        hooks.display()
    );
    std::fs::write(home.join("config.toml"), trust).expect("write");
    let seen = show(&repo, &bin).ok();
    assert_eq!(agent(&seen, "codex")["gated"], true);
    let settings = seen.json()["settings"].as_array().expect("a list").clone();
    let trusted = settings.iter().filter(|item| item["trusted"] == true).count();
    assert_eq!(trusted, 1, "{settings:#?}");
}

#[test]
fn settings_that_are_no_regular_file_are_refused() {
    let repo = Repo::new();
    repo.write(".claude", "not a directory\n");
    let install = || repo.aye(&["agents", "install", "claude-code"]);
    install().fails("invalid_json", 6).notes("not a directory");
    repo.aye(&["agents", "show"]).fails("invalid_json", 6);
    assert_eq!(repo.text(".claude"), "not a directory\n");
    repo.remove(".claude");
    // Nor is a file put in the place of a symlink, or where one leads to.
    for (to, name) in [("nowhere", ".claude"), (".claude", ".claude")] {
        repo.symlink(to, name);
        install().fails("invalid_json", 6).notes("leads nowhere");
        repo.remove(name);
    }
    std::fs::create_dir(repo.path(".claude")).expect("mkdir");
    for to in ["nowhere", "settings.json"] {
        repo.symlink(to, ".claude/settings.json");
        install().fails("invalid_json", 6).notes("leads nowhere");
        assert!(repo.path(".claude/settings.json").is_symlink());
        assert!(!repo.exists(".claude/nowhere"));
        repo.remove(".claude/settings.json");
    }
    // What aye itself keeps of it lies in the state directory.
    let state = repo.outer().join("state");
    std::fs::create_dir(&state).expect("mkdir");
    std::fs::write(state.join("aye"), "").expect("a file");
    let elsewhere = repo.cmd(&["agents", "install", "claude-code"]).env("XDG_STATE_HOME", &state);
    elsewhere.run().fails("no_state_directory", 4);
    assert!(!repo.exists(".claude/settings.json"));
    let pipe = repo.path(".claude/settings.json");
    repo.program("mkfifo").args(&[pipe.to_str().expect("UTF-8")]).run().ok();
    repo.aye(&["agents", "install", "claude-code"]).fails("invalid_json", 6).notes("regular file");
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
