//! Hooks of an agent that works in another place than the repository whose files it edits, and in a place whose
//! git directory cannot be believed.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("src/a.txt", "one\ntwo\n"), ("b.txt", "bee\n")];

fn hook(repo: &Repo, directory: &Path, event: &str, more: Value) -> Run {
    let mut call = json!({"session_id": "s", "cwd": directory, "hook_event_name": event});
    call.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
    repo.cmd(&["agents", "hook", "claude-code", event])
        .stdin(call.to_string().as_bytes())
        .run()
        .ok()
}

fn tool(repo: &Repo, directory: &Path, tool: &str, input: &Value) -> Run {
    hook(repo, directory, "PreToolUse", json!({ "tool_name": tool, "tool_input": input }))
}

fn edit(repo: &Repo, directory: &Path, file: &Path) -> Run {
    tool(repo, directory, "Write", &json!({ "file_path": file, "content": "x" }))
}

#[track_caller]
fn refused(run: Run) -> String {
    let output = run.json()["hookSpecificOutput"].clone();
    assert_eq!(output["permissionDecision"], "deny", "{run}");
    output["permissionDecisionReason"].as_str().expect("a reason").to_owned()
}

#[test]
fn an_edit_from_outside_of_any_repository_is_refused() {
    let repo = Repo::with(FILES);
    let outer = repo.outer().to_owned();
    for file in ["b.txt", "new/deep.txt", ".git/config", ".agent-memory/policy.toml"] {
        let reason = refused(edit(&repo, &outer, &repo.path(file)));
        assert!(reason.contains("aye propose") && reason.contains("cd '/"), "{reason}");
    }
    // Each client, and a patch of which one file is the repository's.
    let patch = format!(
        "*** Begin Patch\n*** Add File: n.txt\n+x\n*** Delete File: {}\n*** End Patch\n",
        repo.path("b.txt").display()
    );
    let file = repo.path("b.txt");
    for (name, event, call) in [
        (
            "codex",
            "PreToolUse",
            json!({ "tool_name": "apply_patch", "tool_input": { "command": patch } }),
        ),
        (
            "gemini",
            "BeforeTool",
            json!({ "tool_name": "write_file", "tool_input": { "file_path": file } }),
        ),
        (
            "qwen",
            "PreToolUse",
            json!({ "tool_name": "write_file", "tool_input": { "file_path": file } }),
        ),
    ] {
        let mut sent = json!({"session_id": "s", "cwd": outer, "hook_event_name": event});
        sent.as_object_mut().expect("object").extend(call.as_object().cloned().unwrap_or_default());
        let cmd = repo.cmd(&["agents", "hook", name, event]);
        let run = cmd.stdin(sent.to_string().as_bytes()).run().ok();
        assert!(run.out().contains("\"deny\""), "{name}: {run}");
    }
    for file in [outer.join("x.txt"), outer.join("new/x.txt")] {
        assert_eq!(edit(&repo, &outer, &file).out(), "");
    }
    assert!(sessions(&repo).is_empty());
}

#[test]
fn an_edit_of_another_repository_is_refused_where_that_has_hooks() {
    let (repo, other) = (Repo::with(FILES), Repo::with(FILES));
    let file = other.path("b.txt");
    assert_eq!(edit(&repo, repo.root(), &file).out(), "");
    let settings = other.path(".claude/settings.json");
    other.aye(&["agents", "install", "claude-code"]).ok();
    assert!(settings.is_file());
    refused(edit(&repo, repo.root(), &file));
    other.aye(&["agents", "remove", "claude-code"]).ok();
    assert_eq!(edit(&repo, repo.root(), &file).out(), "");
    repo.aye(&["agents", "install", "claude-code", "--user"]).ok();
    refused(edit(&repo, repo.root(), &file));
    // In its own it is sent into its tree, as ever.
    assert!(refused(edit(&repo, repo.root(), &repo.path("b.txt"))).contains("EnterWorktree"));
}

/// The hooks are in the main checkout alone; the repository is the same.
#[test]
fn an_edit_of_a_linked_work_tree_of_the_same_repository_is_refused() {
    let (repo, other) = (Repo::with(FILES), Repo::with(FILES));
    repo.aye(&["agents", "install", "claude-code", "--local"]).ok();
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "l", linked.to_str().expect("UTF-8")]);
    for file in ["b.txt", "new/deep.txt"] {
        let reason = refused(edit(&repo, repo.root(), &linked.join(file)));
        assert!(reason.contains(&format!("cd '{}'", linked.display())), "{reason}");
        assert!(refused(edit(&repo, &linked, &linked.join(file))).contains("EnterWorktree"));
    }
    refused(edit(&repo, &linked, &repo.path("b.txt")));
    assert_eq!(edit(&repo, repo.root(), &other.path("b.txt")).out(), "");
}

/// The same conversation, resumed in a linked work tree: other files, and another tree for them.
#[test]
fn a_session_that_goes_on_in_a_linked_work_tree_has_a_tree_of_that() {
    let repo = Repo::with(FILES);
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "l", linked.to_str().expect("UTF-8")]);
    std::fs::write(linked.join("b.txt"), "wasp\n").expect("write");
    repo.git(&["-C", linked.to_str().expect("UTF-8"), "commit", "-qam", "wasp"]);
    let ask = |directory: &Path, event: &str, more: Value| {
        let mut call = json!({"session_id": "s", "cwd": directory, "hook_event_name": event});
        call.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
        let cmd = repo.cmd(&["agents", "hook", "codex", event]);
        cmd.stdin(call.to_string().as_bytes()).run().ok()
    };
    let bash = |directory: &Path, text: &str| {
        let call = json!({ "tool_name": "Bash", "tool_input": { "command": text } });
        let run = ask(directory, "PreToolUse", call);
        let input = run.json()["hookSpecificOutput"]["updatedInput"]["command"].clone();
        let text = input.as_str().map_or_else(|| text.to_owned(), str::to_owned);
        let shell =
            std::process::Command::new("sh").args(["-c", &text]).current_dir(directory).output();
        String::from_utf8(shell.expect("sh").stdout).expect("UTF-8")
    };
    assert_eq!(bash(repo.root(), "cat b.txt; echo 1 >>src/a.txt"), "bee\n");
    assert_eq!(bash(&linked, "cat b.txt; echo ant >>b.txt"), "wasp\n");
    assert_eq!(bash(repo.root(), "cat src/a.txt"), "one\ntwo\n1\n");
    for directory in [repo.root(), &linked] {
        ask(directory, "Stop", json!({}));
    }
    let list = repo.aye(&["list", "--json"]).ok().json();
    let listed = list["proposals"].as_array().expect("an array");
    let ids: Vec<&str> = listed.iter().filter_map(|one| one["proposal_id"].as_str()).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    let there = ids.iter().find(|id| repo.aye(&["diff", id]).ok().out().contains("+ant"));
    repo.cmd(&["-C", linked.to_str().expect("UTF-8"), "apply", there.expect("there"), "--yes"])
        .run()
        .ok();
    assert_eq!(std::fs::read_to_string(linked.join("b.txt")).expect("read"), "wasp\nant\n");
}

/// The trees of all sessions.
fn sessions(repo: &Repo) -> Vec<Value> {
    let list = repo.aye(&["session", "list", "--json"]).ok().json();
    list["sessions"].as_array().expect("a list").iter().map(|one| one["tree"].clone()).collect()
}

/// Codex names the directory of the command, and not its own: that is where it starts its hooks.
#[test]
fn a_command_outside_of_any_repository_that_names_the_checkout_means_the_tree() {
    let repo = Repo::with(FILES);
    let outer = repo.outer().to_owned();
    let ask = |start: &Path, text: &str| {
        let call = json!({"session_id": "s", "cwd": outer, "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": { "command": text }});
        let start = start.to_str().expect("UTF-8");
        let cmd = repo.cmd(&["-C", start, "agents", "hook", "codex", "PreToolUse"]);
        cmd.stdin(call.to_string().as_bytes()).run().ok()
    };
    let text = format!("echo wasp >>{}", repo.path("b.txt").display());
    // Nothing here knows of the repository, and nothing there names it.
    assert_eq!(ask(&outer, &text).out(), "");
    assert_eq!(ask(repo.root(), "echo wasp >>b.txt").out(), "");
    assert!(sessions(&repo).is_empty());
    let moved = ask(&repo.path("src"), &text).json();
    let tree = sessions(&repo)[0].as_str().expect("a tree").to_owned();
    let expected = format!("echo wasp >>{tree}/b.txt");
    assert_eq!(moved["hookSpecificOutput"]["updatedInput"]["command"], expected);
}

#[test]
fn a_repository_that_cannot_be_opened_is_closed() {
    let repo = Repo::with(FILES);
    let config = repo.text(".git/config");
    repo.write(".git/config", format!("{config}[broken\n"));
    let file = repo.path("b.txt");
    for directory in [repo.root(), repo.outer()] {
        assert!(refused(edit(&repo, directory, &file)).contains("[invalid_config]"));
    }
    let run = tool(&repo, repo.root(), "Bash", &json!({ "command": "echo x >b.txt" }));
    assert!(refused(run).contains("[invalid_config]"));
}

/// Git itself finds another repository there, none, or a work tree that is somewhere else.
#[test]
fn a_git_directory_that_leads_to_no_work_tree_here_is_closed() {
    let moved = |repo: &Repo| {
        std::fs::create_dir(repo.outer().join("other")).expect("make");
        repo.git(&["config", "core.worktree", "../../other"]);
    };
    type Break<'a> = &'a dyn Fn(&Repo);
    let breaks: [(&str, Break<'_>); 7] = [
        ("elsewhere", &moved),
        ("bare", &|repo| drop(repo.git(&["config", "core.bare", "true"]))),
        ("no HEAD", &|repo| std::fs::remove_file(repo.path(".git/HEAD")).expect("remove")),
        ("no objects", &|repo| std::fs::remove_dir_all(repo.path(".git/objects")).expect("remove")),
        ("format 99", &|repo| drop(repo.git(&["config", "core.repositoryformatversion", "99"]))),
        ("a link to nothing", &|repo| {
            std::fs::rename(repo.path(".git"), repo.outer().join("away")).expect("rename");
            repo.write(".git", "gitdir: /nowhere\n");
        }),
        ("an empty file", &|repo| {
            std::fs::rename(repo.path(".git"), repo.outer().join("away")).expect("rename");
            repo.write(".git", "");
        }),
    ];
    for (name, make) in breaks {
        let repo = Repo::with(FILES);
        make(&repo);
        for directory in [repo.root().to_owned(), repo.path("src"), repo.outer().to_owned()] {
            let run = edit(&repo, &directory, &repo.path("b.txt"));
            assert!(run.out().contains("\"deny\""), "{name}: {run}");
        }
        let run = tool(&repo, &repo.path("src"), "Bash", &json!({ "command": "echo x >b.txt" }));
        assert!(run.out().contains("\"deny\""), "{name}: {run}");
        // Nothing keeps the agent from ending, or from reading.
        hook(&repo, repo.root(), "Stop", json!({})).says("aye: ");
    }
    // Where there is none at all, there is no gate.
    let repo = Repo::with(FILES);
    std::fs::remove_dir_all(repo.path(".git")).expect("remove");
    assert_eq!(edit(&repo, repo.root(), &repo.path("b.txt")).out(), "");
}

/// The agent has put a repository of its own in the place of the tree's git directory.
#[test]
fn the_git_directory_of_a_tree_runs_nothing_outside_of_it() {
    let repo = Repo::with(FILES);
    let name = refused(edit(&repo, repo.root(), &repo.path("b.txt")));
    let name = name.split("with name ").nth(1).and_then(|rest| rest.split(',').next());
    let made = hook(&repo, repo.root(), "WorktreeCreate", json!({ "name": name })).out();
    let tree = Path::new(&made);
    let mark = repo.outer().join("ran");
    let text = format!(
        "cd {made} && rm -rf .git && git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm x
         git config filter.x.clean 'touch {mark}; cat'; git config core.fsmonitor 'touch {mark}'
         echo '* filter=x' >.gitattributes; echo wasp >b.txt",
        mark = mark.display()
    );
    repo.program("sh").args(&["-c", &text]).run().ok();
    for file in [tree.join("n.txt"), repo.path("b.txt")] {
        assert!(refused(edit(&repo, tree, &file)).contains("[session_record_invalid]"));
    }
    refused(tool(&repo, tree, "Bash", &json!({ "command": "true" })));
    for event in ["Stop", "UserPromptSubmit"] {
        hook(&repo, tree, event, json!({ "prompt": "x" })).says("aye session submit");
    }
    assert!(!mark.exists() && !tree.join(".git/aye").exists());
    // Its work is not lost.
    repo.aye(&["session", "submit", name.expect("a name")]).ok();
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 1);
}

/// A person's `git switch` may take the directory away in which the client was started.
#[test]
fn a_turn_that_ends_where_its_directory_is_gone_is_proposed() {
    let repo = Repo::with(FILES);
    let started = repo.path("src");
    let input = json!({ "command": "echo x >../b.txt" });
    let moved = tool(&repo, &started, "Bash", &input).json();
    let moved = moved["hookSpecificOutput"]["updatedInput"]["command"].clone();
    let args = ["-c", moved.as_str().expect("a command")];
    let args = ["-c", "cd src && eval \"$1\"", "sh", args[1]];
    repo.program("sh").args(&args).run().ok();
    std::fs::remove_dir_all(&started).expect("removed");
    hook(&repo, &started, "Stop", json!({}));
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["proposals"][0]["file_path"], "b.txt", "{list}");
    let news = hook(&repo, &started, "SessionStart", json!({ "source": "resume" }));
    assert!(!news.out().is_empty());
}
