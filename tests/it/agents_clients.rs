//! `aye agents` for the clients beside Claude Code: each in its own form, all into the session's tree.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::record::{apply, reject};
use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("src/a.txt", "one\ntwo\n"), ("b.txt", "bee\n")];

/// How a client asks: the event before a tool, and that of the end.
const CLIENTS: &[(&str, &str, &str)] = &[
    ("codex", "PreToolUse", "Stop"),
    ("gemini", "BeforeTool", "AfterAgent"),
    ("qwen", "PreToolUse", "Stop"),
    ("copilot", "preToolUse", "agentStop"),
    ("opencode", "before", "idle"),
];

/// Those whose tools are rewritten.
const REWRITTEN: &[&str] = &["codex", "gemini", "copilot", "opencode"];

fn moments(name: &str) -> (&'static str, &'static str) {
    let found = CLIENTS.iter().find(|(client, ..)| *client == name).expect("a client");
    (found.1, found.2)
}

fn call(repo: &Repo, name: &str, event: &str, more: Value) -> Run {
    let mut value = match name {
        "copilot" => json!({"sessionId": "s", "timestamp": 1, "cwd": repo.root()}),
        "opencode" => json!({"session": "s", "directory": repo.root()}),
        _ => json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": event}),
    };
    value.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
    let cmd = repo.cmd(&["agents", "hook", name, event]);
    cmd.stdin(value.to_string().as_bytes()).run()
}

fn tool(repo: &Repo, name: &str, tool: &str, input: &Value) -> Value {
    let keys = match name {
        "copilot" => ["toolName", "toolArgs"],
        "opencode" => ["tool", "args"],
        _ => ["tool_name", "tool_input"],
    };
    let run = call(repo, name, moments(name).0, json!({ keys[0]: tool, keys[1]: input })).ok();
    if run.out().is_empty() { Value::Null } else { run.json() }
}

/// An edit of `path` as the client's own tool makes it.
fn edit(repo: &Repo, name: &str, path: &str) -> Value {
    let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-x\n+y\n*** End Patch\n");
    match name {
        "codex" => tool(repo, name, "apply_patch", &json!({ "command": patch })),
        "gemini" => tool(repo, name, "write_file", &json!({ "file_path": path, "content": "x" })),
        "qwen" => tool(repo, name, "write_file", &json!({ "file_path": path, "content": "x" })),
        "copilot" => tool(repo, name, "create", &json!({ "path": path, "file_text": "x" })),
        _ => tool(repo, name, "write", &json!({ "filePath": path, "content": "x" })),
    }
}

fn command(repo: &Repo, name: &str, text: &str) -> Value {
    let shell = match name {
        "codex" => "Bash",
        "gemini" | "qwen" => "run_shell_command",
        _ => "bash",
    };
    tool(repo, name, shell, &json!({ "command": text }))
}

/// The input that an answer puts in place of the tool's own.
fn rewritten(name: &str, answer: &Value) -> Value {
    match name {
        "codex" => {
            assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "allow", "{answer}");
            answer["hookSpecificOutput"]["updatedInput"].clone()
        }
        "gemini" => answer["hookSpecificOutput"]["tool_input"].clone(),
        "copilot" => answer["modifiedArgs"].clone(),
        _ => answer["args"].clone(),
    }
}

#[track_caller]
fn refused(name: &str, answer: &Value) -> String {
    let reason = match name {
        "gemini" if answer["decision"] == "deny" => &answer["reason"],
        "copilot" if answer["permissionDecision"] == "deny" => &answer["permissionDecisionReason"],
        "opencode" => &answer["refuse"],
        "codex" | "qwen" if answer["hookSpecificOutput"]["permissionDecision"] == "deny" => {
            &answer["hookSpecificOutput"]["permissionDecisionReason"]
        }
        _ => &Value::Null,
    };
    reason.as_str().unwrap_or_else(|| panic!("{name} is not refused: {answer}")).to_owned()
}

fn tree(repo: &Repo) -> PathBuf {
    let list = repo.aye(&["session", "list", "--json"]).ok().json();
    PathBuf::from(list["sessions"][0]["tree"].as_str().expect("a tree"))
}

fn prompt(repo: &Repo, name: &str) -> String {
    let event = match name {
        "gemini" => "BeforeAgent",
        "copilot" => "userPromptSubmitted",
        "opencode" => "prompt",
        _ => "UserPromptSubmit",
    };
    call(repo, name, event, json!({ "prompt": "go on" })).ok().out()
}

fn pending(repo: &Repo) -> Value {
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["count"], 1, "{list:#}");
    list["proposals"][0].clone()
}

#[test]
fn edits_and_commands_are_rewritten_into_the_tree_and_proposed_once() {
    for name in REWRITTEN {
        let repo = Repo::with(FILES);
        let path = if *name == "codex" { "src/a.txt".into() } else { repo.path("src/a.txt") };
        let input = rewritten(name, &edit(&repo, name, path.to_str().expect("UTF-8")));
        let tree = tree(&repo);
        let moved = tree.join("src/a.txt");
        assert!(input.to_string().contains(moved.to_str().expect("UTF-8")), "{name}: {input}");
        std::fs::write(&moved, "one\nTWO\n").expect("write");
        // A command that names the checkout means the tree.
        let text = format!("sed -i s/bee/wasp/ {}/b.txt", repo.root().display());
        let input = rewritten(name, &command(&repo, name, &text));
        let text = input["command"].as_str().expect("a command").to_owned();
        repo.program("sh").args(&["-c", &text]).run().ok();
        assert_eq!(repo.text("b.txt"), "bee\n");
        let inside = edit(&repo, name, tree.join("n").to_str().expect("UTF-8"));
        assert!(inside.is_null() || inside == json!({}), "{name}: {inside}");
        call(&repo, name, moments(name).1, json!({})).ok();
        let proposal = pending(&repo);
        let id = proposal["proposal_id"].as_str().expect("an id").to_owned();
        let shown = repo.aye(&["show", &id, "--json"]).ok().json();
        assert_eq!(shown["history"][0]["session"], "s", "{name}");
        let agent = match *name {
            "gemini" => "gemini-cli",
            "copilot" => "copilot-cli",
            name => name,
        };
        assert_eq!(shown["proposed_by"], agent);
        reject(&repo, &id, "No wasps");
        assert!(prompt(&repo, name).contains("No wasps"), "{name}");
        assert!(!prompt(&repo, name).contains("No wasps"), "{name}");
        std::fs::write(tree.join("new.txt"), "new\n").expect("write");
        call(&repo, name, moments(name).1, json!({})).ok();
        let id = pending(&repo)["proposal_id"].as_str().expect("an id").to_owned();
        apply(&repo, &id);
        assert_eq!(repo.text("new.txt"), "new\n");
        assert_eq!(repo.text("b.txt"), "bee\n");
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    let repo = Repo::with(FILES);
    let read = |path: &Path| tool(&repo, "gemini", "read_file", &json!({ "file_path": path }));
    assert_eq!(read(&repo.path("b.txt")), Value::Null);
    edit(&repo, "gemini", repo.path("b.txt").to_str().expect("UTF-8"));
    let tree = tree(&repo);
    let input = rewritten("gemini", &read(&repo.path("b.txt")));
    assert_eq!(input["file_path"], json!(tree.join("b.txt")));
    let listed = tool(&repo, "gemini", "glob", &json!({ "pattern": "*" }));
    assert_eq!(rewritten("gemini", &listed)["dir_path"], json!(tree));
    // What the tree was never given is read where it is.
    repo.write("untracked.log", "x");
    assert_eq!(read(&repo.path("untracked.log")), Value::Null);
}

#[test]
fn a_client_that_rewrites_nothing_is_given_the_path() {
    let repo = Repo::with(FILES);
    let reason = refused("qwen", &edit(&repo, "qwen", repo.path("b.txt").to_str().expect("UTF-8")));
    let tree = tree(&repo);
    let shown = tree.to_str().expect("UTF-8");
    assert!(reason.contains(shown), "{reason}");
    assert!(refused("qwen", &command(&repo, "qwen", "sed -i s/bee/wasp/ b.txt")).contains(shown));
    for text in [format!("cd {shown} && ls"), format!("cd '{shown}'  && ls")] {
        assert_eq!(command(&repo, "qwen", &text), Value::Null, "{text}");
    }
    for text in
        [format!("cd {shown}; ls"), format!("cd {shown}/../x && ls"), format!("cd {shown}x && ls")]
    {
        refused("qwen", &command(&repo, "qwen", &text));
    }
    std::fs::write(tree.join("b.txt"), "wasp\n").expect("write");
    call(&repo, "qwen", "Stop", json!({})).ok();
    pending(&repo);
    assert_eq!(repo.text("b.txt"), "bee\n");
}

#[test]
fn notebooks_and_monitors_of_qwen_are_held() {
    let repo = Repo::with(FILES);
    let notebook = |path: PathBuf| {
        let input = json!({ "notebook_path": path, "cell_id": "c", "new_source": "print()" });
        tool(&repo, "qwen", "notebook_edit", &input)
    };
    let monitor = |text: &str| {
        let input = json!({ "command": text, "description": "watch" });
        tool(&repo, "qwen", "monitor", &input)
    };
    let reason = refused("qwen", &notebook(repo.path("n.ipynb")));
    let tree = tree(&repo);
    assert!(reason.contains(tree.to_str().expect("UTF-8")), "{reason}");
    assert_eq!(notebook(tree.join("n.ipynb")), Value::Null);
    refused("qwen", &monitor("echo wasp >>b.txt"));
    assert_eq!(monitor(&format!("cd {} && echo wasp >>b.txt", tree.display())), Value::Null);
}

#[test]
fn copilots_powershell_is_sent_into_the_tree() {
    let repo = Repo::with(FILES);
    let run = |text: &str| tool(&repo, "copilot", "powershell", &json!({ "command": text }));
    let reason = refused("copilot", &run("Set-Content b.txt wasp"));
    let goes = format!("cd {};", tree(&repo).display());
    assert!(reason.ends_with(&goes.replace("cd /", "cd '/").replace(';', "';")), "{reason}");
    assert_eq!(run(&format!("{goes} Set-Content b.txt wasp")), Value::Null);
    refused("copilot", &run(&format!("{goes} Set-Content {}/b.txt wasp", repo.root().display())));
}

/// Its searches name one place or several, under `paths`; where that is not there, `path` counts.
#[test]
fn searches_of_copilot_find_what_was_written() {
    let repo = Repo::with(FILES);
    edit(&repo, "copilot", repo.path("b.txt").to_str().expect("UTF-8"));
    let (tree, top) = (tree(&repo), repo.root());
    for (mut input, key, expected) in [
        (json!({}), "paths", json!(tree)),
        (json!({ "paths": "src" }), "paths", json!(tree.join("src"))),
        (json!({ "paths": top }), "paths", json!(tree)),
        (
            json!({ "paths": ["b.txt", top.join("src"), "/etc"] }),
            "paths",
            json!([tree.join("b.txt"), tree.join("src"), "/etc"]),
        ),
        (json!({ "path": "src" }), "path", json!(tree.join("src"))),
    ] {
        input["pattern"] = json!("wasp");
        for name in ["grep", "rg", "glob"] {
            let moved = rewritten("copilot", &tool(&repo, "copilot", name, &input));
            assert_eq!(moved[key], expected, "{name} {input}");
        }
    }
}

/// The checkout is named by its path, and from the home directory, by a command that runs somewhere else.
#[test]
fn a_command_that_runs_elsewhere_and_names_the_checkout_means_the_tree() {
    for (name, shell, key) in [
        ("opencode", "bash", "workdir"),
        ("gemini", "run_shell_command", "dir_path"),
        ("qwen", "run_shell_command", "directory"),
    ] {
        let repo = Repo::with(FILES);
        let elsewhere = repo.outer().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("make");
        let run =
            |text: &str| tool(&repo, name, shell, &json!({ "command": text, key: elsewhere }));
        let harmless = run("echo x >b.txt");
        assert!(harmless.is_null() || harmless == json!({}), "{name}: {harmless}");
        let answer = run(&format!("echo wasp >>{}/b.txt", repo.root().display()));
        if !REWRITTEN.contains(&name) {
            assert!(refused(name, &answer).contains(tree(&repo).to_str().expect("UTF-8")));
            continue;
        }
        let expected = format!("echo wasp >>{}/b.txt", tree(&repo).display());
        assert_eq!(rewritten(name, &answer)["command"], expected, "{name}");
    }
}

#[test]
fn a_checkout_that_is_named_from_the_home_directory_is_the_tree() {
    let repo = Repo::with(FILES);
    let home = repo.root().parent().expect("a directory").to_owned();
    let name = repo.root().file_name().expect("a name").to_str().expect("UTF-8").to_owned();
    for text in ["~/R/b.txt", "$HOME/R/b.txt", "\"${HOME}/R/b.txt\"", "\"$HOME\"/R/b.txt"] {
        let text = format!("echo wasp >>{}", text.replace('R', &name));
        let call = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": { "command": text }});
        let cmd = repo.cmd(&["agents", "hook", "codex", "PreToolUse"]).env("HOME", &home);
        let cmd = cmd.env("XDG_STATE_HOME", repo.outer().join("home/.local/state"));
        let input = rewritten("codex", &cmd.stdin(call.to_string().as_bytes()).run().ok().json());
        let text = input["command"].as_str().expect("a command").to_owned();
        repo.program("sh").args(&["-c", &text]).env("HOME", &home).run().ok();
        assert_eq!(repo.text("b.txt"), "bee\n", "{text}");
    }
    assert_eq!(
        std::fs::read_to_string(tree(&repo).join("b.txt")).expect("read").lines().count(),
        5
    );
}

#[test]
fn what_is_guarded_is_refused_by_every_client() {
    let repo = Repo::with(FILES);
    edit(&repo, "codex", "b.txt");
    let tree = tree(&repo);
    std::os::unix::fs::symlink(repo.root(), tree.join("way")).expect("a link");
    std::os::unix::fs::symlink(tree.join(".git"), tree.join("own")).expect("a link");
    let home = repo.outer().join("home");
    for (name, ..) in CLIENTS {
        for path in [
            repo.path(".git/config"),
            repo.path("src/../.git/hooks/x"),
            repo.path(".agent-memory/policy.toml"),
            tree.join(".git/config"),
            tree.join("own/config"),
            tree.join("../other/b.txt"),
            home.join(".codex/hooks.json"),
            home.join(".codex/config.toml"),
            home.join(".claude/settings.json"),
            home.join(".copilot/hooks/aye.json"),
        ] {
            refused(name, &edit(&repo, name, path.to_str().expect("UTF-8")));
        }
        // A link in the tree that leads back into the checkout.
        let way = repo.path("way/new.txt");
        refused(name, &edit(&repo, name, way.to_str().expect("UTF-8")));
    }
    // One guarded file of a patch is enough.
    let patch = "*** Begin Patch\n*** Add File: n\n+x\n*** Delete File: .git/config\n*** End Patch";
    refused("codex", &tool(&repo, "codex", "apply_patch", &json!({ "command": patch })));
}

/// Whoever writes through a link to what is not there makes that.
#[test]
fn a_link_to_what_is_not_there_is_judged_by_where_it_leads() {
    let repo = Repo::with(FILES);
    edit(&repo, "codex", "b.txt");
    let tree = tree(&repo);
    let home = repo.outer().join("home");
    let link = |target: PathBuf, name: &str| {
        let links = [tree.join(name), repo.outer().join(name)];
        for link in &links {
            std::os::unix::fs::symlink(&target, link).expect("a link");
        }
        links
    };
    let mut guarded: Vec<PathBuf> = [
        (repo.path(".git/hooks/post-commit"), "hook"),
        (repo.path(".agent-memory/policy.toml"), "policy"),
        (tree.join(".git/hooks/post-commit"), "own"),
        (tree.join("../other/b.txt"), "other"),
        (home.join(".copilot/hooks/aye.json"), "settings"),
        (tree.join("hook"), "twice"),
    ]
    .into_iter()
    .flat_map(|(target, name)| link(target, name))
    .collect();
    // A directory on the way.
    let memory = link(repo.path(".agent-memory"), "memory");
    guarded.extend(memory.map(|link| link.join("policy.toml")));
    for (name, ..) in CLIENTS {
        for path in &guarded {
            refused(name, &edit(&repo, name, path.to_str().expect("UTF-8")));
        }
    }
    // A new file of the checkout is one of the tree instead, or refused.
    for path in link(repo.path("src/new.txt"), "new") {
        let path = path.to_str().expect("UTF-8");
        refused("qwen", &edit(&repo, "qwen", path));
        for name in REWRITTEN {
            let input = rewritten(name, &edit(&repo, name, path)).to_string();
            let moved = tree.join("src/new.txt");
            assert!(input.contains(moved.to_str().expect("UTF-8")), "{name}: {input}");
        }
    }
    // One within the tree is the tree's.
    std::os::unix::fs::symlink("src/n.txt", tree.join("inside")).expect("a link");
    let inside = tree.join("inside");
    let answer = edit(&repo, "qwen", inside.to_str().expect("UTF-8"));
    assert!(answer.is_null() || answer == json!({}), "{answer}");
}

#[test]
fn what_is_not_understood_is_refused_in_each_clients_form() {
    let repo = Repo::with(FILES);
    for (name, before, _) in CLIENTS {
        for bytes in [&b""[..], b"{", b"[]", b"\xff\xfe", br#"{"session_id":"s"}"#] {
            let run = repo.cmd(&["agents", "hook", name, before]).stdin(bytes).run().ok();
            refused(name, &run.json());
        }
        repo.cmd(&["agents", "hook", name, "unheard-of"]).stdin(b"{}").run().ok();
    }
    repo.cmd(&["agents", "hook", "unheard-of", "PreToolUse"]).stdin(b"{}").run().exits(2);
}

#[test]
fn a_command_that_names_the_checkout_as_a_shell_is_told_to_writes_the_tree() {
    for name in ["my project", "a(b)&c", "it's", "a$b"] {
        let repo = Repo::with(&[("b.txt", "bee\n")]);
        let top = repo.outer().join(name);
        let top = top.to_str().expect("a path");
        repo.git(&["worktree", "add", "-q", "-b", "other", top]);
        let special = |c: char| " ()&'$".contains(c);
        let escaped: String =
            top.chars().flat_map(|c| [special(c).then_some('\\'), Some(c)]).flatten().collect();
        let single = format!("'{}'", top.replace('\'', "'\\''"));
        let double = format!("\"{}\"", top.replace('$', "\\$"));
        for spelled in [escaped, single, double] {
            let command = format!("echo wasp >>{spelled}/b.txt");
            let value = json!({
                "session_id": "s", "cwd": top, "hook_event_name": "PreToolUse",
                "tool_name": "Bash", "tool_input": { "command": command },
            });
            let cmd = repo.cmd(&["agents", "hook", "codex", "PreToolUse"]).dir(top);
            let answer = cmd.stdin(value.to_string().as_bytes()).run().ok().json();
            let input = rewritten("codex", &answer);
            let moved = input["command"].as_str().expect("a command");
            repo.program("sh").args(&["-c", moved]).run().ok();
            assert_eq!(repo.git(&["-C", top, "status", "--short"]), "", "{moved}");
        }
        let tree = tree(&repo).join("b.txt");
        assert_eq!(std::fs::read_to_string(tree).expect("a file"), "bee\nwasp\nwasp\nwasp\n");
    }
}
