//! `aye agents` for the clients beside Claude Code: each in its own form, all into the session's tree.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::Repo;
use crate::support::agents::{
    Answer, Client, FILES, OTHERS, REWRITTEN, pending, read, trees, write,
};
use crate::support::record::{apply, reject};

fn tree(repo: &Repo) -> PathBuf {
    trees(repo).remove(0)
}

fn sh(repo: &Repo, text: &str) {
    repo.program("sh").args(&["-c", text]).run().ok();
}

#[test]
fn edits_and_commands_are_rewritten_into_the_tree_and_proposed_once() {
    for name in REWRITTEN {
        let repo = Repo::with(FILES);
        let client = Client::new(&repo, name);
        let path = if name == "codex" { "src/a.txt".into() } else { repo.path("src/a.txt") };
        let input = client.edit(path).rewritten();
        let tree = tree(&repo);
        let moved = tree.join("src/a.txt");
        assert!(input.to_string().contains(moved.to_str().expect("UTF-8")), "{name}: {input}");
        write(&moved, "one\nTWO\n");
        // A command that names the checkout means the tree.
        let text = format!("sed -i s/bee/wasp/ {}/b.txt", repo.root().display());
        sh(&repo, &client.shell(&text).command());
        assert_eq!(repo.text("b.txt"), "bee\n");
        assert!(client.edit(tree.join("n")).is_nothing(), "{name}");
        client.stop();
        let id = pending(&repo);
        let shown = repo.item(&id);
        assert_eq!(shown["history"][0]["session"], "s", "{name}");
        let agent = aye::harness::client(name).expect("a client").agent;
        assert_eq!(shown["proposed_by"], agent);
        reject(&repo, &id, "No wasps");
        assert!(client.told().contains("No wasps"), "{name}");
        assert_eq!(client.told(), "", "{name}");
        write(tree.join("new.txt"), "new\n");
        client.stop();
        apply(&repo, &pending(&repo));
        assert_eq!((repo.text("new.txt"), repo.text("b.txt")), ("new\n".into(), "bee\n".into()));
    }
}

/// Searches of Copilot CLI name one place or several, under `paths`; where that is not there, `path` counts.
#[test]
fn what_is_read_is_what_was_written() {
    let repo = Repo::with(FILES);
    let (gemini, copilot) = (Client::new(&repo, "gemini"), Client::new(&repo, "copilot"));
    let file = |path: &Path| gemini.tool("read_file", &json!({ "file_path": path }));
    assert!(file(&repo.path("b.txt")).is_nothing());
    gemini.edit(repo.path("b.txt"));
    let (tree, top) = (tree(&repo), repo.root());
    assert_eq!(file(&repo.path("b.txt")).rewritten()["file_path"], json!(tree.join("b.txt")));
    let listed = gemini.tool("glob", &json!({ "pattern": "*" })).rewritten();
    assert_eq!(listed["dir_path"], json!(tree));
    // What the tree was never given is read where it is.
    repo.write("untracked.log", "x");
    assert!(file(&repo.path("untracked.log")).is_nothing());
    let several = json!({ "paths": ["b.txt", top.join("src"), "/etc"] });
    for (mut input, key, expected) in [
        (json!({}), "paths", json!(tree)),
        (json!({ "paths": "src" }), "paths", json!(tree.join("src"))),
        (json!({ "paths": top }), "paths", json!(tree)),
        (several, "paths", json!([tree.join("b.txt"), tree.join("src"), "/etc"])),
        (json!({ "path": "src" }), "path", json!(tree.join("src"))),
    ] {
        input["pattern"] = json!("wasp");
        for name in ["grep", "rg", "glob"] {
            assert_eq!(copilot.tool(name, &input).rewritten()[key], expected, "{name} {input}");
        }
    }
}

#[test]
fn a_client_that_rewrites_nothing_is_given_the_path() {
    let repo = Repo::with(FILES);
    let qwen = Client::new(&repo, "qwen");
    let reason = qwen.edit(repo.path("b.txt")).refused();
    let tree = tree(&repo);
    let shown = tree.to_str().expect("UTF-8");
    assert!(reason.contains(shown), "{reason}");
    assert!(qwen.shell("sed -i s/bee/wasp/ b.txt").refused().contains(shown));
    let monitor = |text: &str| qwen.tool("monitor", &json!({ "command": text }));
    for text in [format!("cd {shown} && ls"), format!("cd '{shown}'  && ls")] {
        assert!(qwen.shell(&text).is_nothing() && monitor(&text).is_nothing(), "{text}");
    }
    for goes in ["; ls", "/../x && ls", "x && ls"] {
        let text = format!("cd {shown}{goes}");
        qwen.shell(&text).refused();
        monitor(&text).refused();
    }
    let notebook = |path: PathBuf| {
        qwen.tool("notebook_edit", &json!({ "notebook_path": path, "cell_id": "c" }))
    };
    assert!(notebook(repo.path("n.ipynb")).refused().contains(shown));
    assert!(notebook(tree.join("n.ipynb")).is_nothing());
    // Nor is a command of PowerShell rewritten.
    let copilot = Client::new(&repo, "copilot");
    let run = |text: &str| copilot.tool("powershell", &json!({ "command": text }));
    assert!(run("Set-Content b.txt wasp").refused().ends_with(&format!("cd '{shown}';")));
    assert!(run(&format!("cd {shown}; Set-Content b.txt wasp")).is_nothing());
    run(&format!("cd {shown}; Set-Content {}/b.txt wasp", repo.root().display())).refused();
    write(tree.join("b.txt"), "wasp\n");
    qwen.stop();
    pending(&repo);
    assert_eq!(repo.text("b.txt"), "bee\n");
}

/// The checkout is named by its path, by a command that runs somewhere else.
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
        let client = Client::new(&repo, name);
        let run = |text: &str| client.tool(shell, &json!({ "command": text, key: elsewhere }));
        assert!(run("echo x >b.txt").is_nothing(), "{name}");
        let answer = run(&format!("echo wasp >>{}/b.txt", repo.root().display()));
        let tree = tree(&repo);
        match REWRITTEN.contains(&name) {
            true => assert_eq!(answer.command(), format!("echo wasp >>{}/b.txt", tree.display())),
            false => assert!(answer.refused().contains(tree.to_str().expect("UTF-8"))),
        }
    }
}

#[test]
fn a_checkout_that_is_named_from_the_home_directory_is_the_tree() {
    let repo = Repo::with(FILES);
    let home = repo.root().parent().expect("a directory").to_owned();
    let name = repo.root().file_name().expect("a name").to_str().expect("UTF-8").to_owned();
    let client = Client::new(&repo, "codex");
    for text in ["~/R/b.txt", "$HOME/R/b.txt", "\"${HOME}/R/b.txt\"", "\"$HOME\"/R/b.txt"] {
        let text = format!("echo wasp >>{}", text.replace('R', &name));
        let cmd = client.cmd("PreToolUse").env("HOME", &home);
        let cmd = cmd.env("XDG_STATE_HOME", repo.outer().join("home/.local/state"));
        let run = cmd.stdin(client.tool_call("Bash", &json!({ "command": text }))).run().ok();
        let text = Answer::of(&run).command();
        repo.program("sh").args(&["-c", &text]).env("HOME", &home).run().ok();
        assert_eq!(repo.text("b.txt"), "bee\n", "{text}");
    }
    assert_eq!(read(tree(&repo).join("b.txt")).lines().count(), 5);
}

/// Also by links in the tree and beside it, whether what they lead to is there or not: whoever writes through one makes it.
#[test]
fn what_is_guarded_is_refused_by_every_client() {
    let repo = Repo::with(FILES);
    Client::new(&repo, "codex").edit("b.txt");
    let (tree, home) = (tree(&repo), repo.outer().join("home"));
    let link = |target: PathBuf, name: &str| {
        let links = [tree.join(name), repo.outer().join(name)];
        links.iter().for_each(|link| symlink(&target, link).expect("a link"));
        links
    };
    let mut guarded = vec![
        repo.path(".git/config"),
        repo.path("src/../.git/hooks/x"),
        repo.path(".agent-memory/policy.toml"),
        tree.join(".git/config"),
        tree.join("../other/b.txt"),
        home.join(".codex/hooks.json"),
        home.join(".codex/config.toml"),
        home.join(".claude/settings.json"),
        home.join(".copilot/hooks/aye.json"),
    ];
    for (target, name) in [
        (repo.path(".git/hooks/post-commit"), "hook"),
        (repo.path(".agent-memory/policy.toml"), "policy"),
        (tree.join(".git/hooks/post-commit"), "own"),
        (tree.join("../other/b.txt"), "other"),
        (home.join(".copilot/hooks/aye.json"), "settings"),
        (tree.join("hook"), "twice"),
    ] {
        guarded.extend(link(target, name));
    }
    // A directory on the way, and one that leads back into the checkout.
    let memory = link(repo.path(".agent-memory"), "memory");
    guarded.extend(memory.map(|link| link.join("policy.toml")));
    symlink(tree.join(".git"), tree.join("git")).expect("a link");
    symlink(repo.root(), tree.join("way")).expect("a link");
    guarded.extend([tree.join("git/config"), repo.path("way/new.txt")]);
    for name in OTHERS {
        guarded.iter().for_each(|path| drop(Client::new(&repo, name).edit(path).refused()));
    }
    // One guarded file of a patch is enough.
    let patch = "*** Begin Patch\n*** Add File: n\n+x\n*** Delete File: .git/config\n*** End Patch";
    Client::new(&repo, "codex").tool("apply_patch", &json!({ "command": patch })).refused();
    // A new file of the checkout is one of the tree instead, or refused.
    let moved = tree.join("src/new.txt");
    for path in link(repo.path("src/new.txt"), "new") {
        Client::new(&repo, "qwen").edit(&path).refused();
        for name in REWRITTEN {
            let input = Client::new(&repo, name).edit(&path).rewritten().to_string();
            assert!(input.contains(moved.to_str().expect("UTF-8")), "{name}: {input}");
        }
    }
    // One within the tree is the tree's.
    symlink("src/n.txt", tree.join("inside")).expect("a link");
    assert!(Client::new(&repo, "qwen").edit(tree.join("inside")).is_nothing());
}

#[test]
fn what_is_not_understood_is_refused_in_each_clients_form() {
    let repo = Repo::with(FILES);
    for name in OTHERS {
        let client = Client::new(&repo, name);
        for bytes in [&b""[..], b"{", b"[]", b"\xff\xfe", br#"{"session_id":"s"}"#] {
            Answer::of(&client.cmd(client.before()).stdin(bytes).run().ok()).refused();
        }
        client.cmd("unheard-of").stdin(b"{}").run().ok();
    }
    repo.cmd(&["agents", "hook", "unheard-of", "PreToolUse"]).stdin(b"{}").run().exits(2);
}

#[test]
fn a_command_that_names_the_checkout_as_a_shell_is_told_to_writes_the_tree() {
    for name in ["my project", "a(b)&c", "it's", "a$b"] {
        let repo = Repo::with(FILES);
        let top = repo.outer().join(name);
        let top = top.to_str().expect("a path");
        repo.git(&["worktree", "add", "-q", "-b", "other", top]);
        let special = |c: char| " ()&'$".contains(c);
        let escaped: String =
            top.chars().flat_map(|c| [special(c).then_some('\\'), Some(c)]).flatten().collect();
        let single = format!("'{}'", top.replace('\'', "'\\''"));
        let double = format!("\"{}\"", top.replace('$', "\\$"));
        for spelled in [escaped, single, double] {
            let client = Client::new(&repo, "codex").at(top);
            sh(&repo, &client.shell(&format!("echo wasp >>{spelled}/b.txt")).command());
            assert_eq!(repo.git(&["-C", top, "status", "--short"]), "", "{spelled}");
        }
        assert_eq!(read(tree(&repo).join("b.txt")), "bee\nwasp\nwasp\nwasp\n");
    }
}
