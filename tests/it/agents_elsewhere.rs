//! Hooks of an agent that works in another place than the repository whose files it edits, and in a place whose
//! git directory cannot be believed.

use std::path::Path;

use serde_json::json;

use crate::support::Repo;
use crate::support::agents::{Answer, Client, FILES, read, trees};

fn claude<'a>(repo: &'a Repo, directory: &Path) -> Client<'a> {
    Client::new(repo, "claude-code").at(directory)
}

#[test]
fn an_edit_from_outside_of_any_repository_is_refused() {
    let repo = Repo::with(FILES);
    let outer = repo.outer();
    for name in ["claude-code", "codex", "gemini", "qwen"] {
        let client = Client::new(&repo, name).at(outer);
        for file in ["b.txt", "new/deep.txt", ".git/config", ".agent-memory/policy.toml"] {
            let reason = client.edit(repo.path(file)).refused();
            assert!(reason.contains("aye propose") && reason.contains("cd '/"), "{reason}");
        }
        for file in [outer.join("x.txt"), outer.join("new/x.txt")] {
            assert!(client.edit(file).is_nothing());
        }
    }
    // A patch of which one file is the repository's.
    let patch = format!(
        "*** Begin Patch\n*** Add File: n.txt\n+x\n*** Delete File: {}\n*** End Patch\n",
        repo.path("b.txt").display()
    );
    let codex = Client::new(&repo, "codex").at(outer);
    codex.tool("apply_patch", &json!({ "command": patch })).refused();
    assert!(trees(&repo).is_empty());
}

#[test]
fn an_edit_of_another_repository_is_refused_where_that_has_hooks() {
    let (repo, other) = (Repo::with(FILES), Repo::with(FILES));
    let file = other.path("b.txt");
    assert!(claude(&repo, repo.root()).edit(&file).is_nothing());
    let settings = other.path(".claude/settings.json");
    other.aye(&["agents", "install", "claude-code"]).ok();
    assert!(settings.is_file());
    claude(&repo, repo.root()).edit(&file).refused();
    other.aye(&["agents", "remove", "claude-code"]).ok();
    assert!(claude(&repo, repo.root()).edit(&file).is_nothing());
    repo.aye(&["agents", "install", "claude-code", "--user"]).ok();
    claude(&repo, repo.root()).edit(&file).refused();
    // In its own it is sent into its tree, as ever.
    assert!(
        claude(&repo, repo.root()).edit(repo.path("b.txt")).refused().contains("EnterWorktree")
    );
}

/// The hooks are in the main checkout alone; the repository is the same.
#[test]
fn an_edit_of_a_linked_work_tree_of_the_same_repository_is_refused() {
    let (repo, other) = (Repo::with(FILES), Repo::with(FILES));
    repo.aye(&["agents", "install", "claude-code", "--local"]).ok();
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "l", linked.to_str().expect("UTF-8")]);
    for file in ["b.txt", "new/deep.txt"] {
        let reason = claude(&repo, repo.root()).edit(linked.join(file)).refused();
        assert!(reason.contains(&format!("cd '{}'", linked.display())), "{reason}");
        assert!(claude(&repo, &linked).edit(linked.join(file)).refused().contains("EnterWorktree"));
    }
    claude(&repo, &linked).edit(repo.path("b.txt")).refused();
    assert!(claude(&repo, repo.root()).edit(other.path("b.txt")).is_nothing());
}

/// The same conversation, resumed in a linked work tree: other files, and another tree for them.
#[test]
fn a_session_that_goes_on_in_a_linked_work_tree_has_a_tree_of_that() {
    let repo = Repo::with(FILES);
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "l", linked.to_str().expect("UTF-8")]);
    std::fs::write(linked.join("b.txt"), "wasp\n").expect("write");
    repo.git(&["-C", linked.to_str().expect("UTF-8"), "commit", "-qam", "wasp"]);
    let codex = |directory: &Path| Client::new(&repo, "codex").at(directory);
    let bash = |directory: &Path, text: &str| {
        let answer = codex(directory).shell(text);
        let text = if answer.is_nothing() { text.to_owned() } else { answer.command() };
        let shell =
            std::process::Command::new("sh").args(["-c", &text]).current_dir(directory).output();
        String::from_utf8(shell.expect("sh").stdout).expect("UTF-8")
    };
    assert_eq!(bash(repo.root(), "cat b.txt; echo 1 >>src/a.txt"), "bee\n");
    assert_eq!(bash(&linked, "cat b.txt; echo ant >>b.txt"), "wasp\n");
    assert_eq!(bash(repo.root(), "cat src/a.txt"), "one\ntwo\n1\n");
    codex(repo.root()).stop();
    codex(&linked).stop();
    let list = repo.aye(&["list", "--json"]).ok().json();
    let listed = list["proposals"].as_array().expect("an array");
    let ids: Vec<&str> = listed.iter().filter_map(|one| one["proposal_id"].as_str()).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    let there = ids.iter().find(|id| repo.aye(&["diff", id]).ok().out().contains("+ant"));
    repo.cmd(&["-C", linked.to_str().expect("UTF-8"), "apply", there.expect("there"), "--yes"])
        .run()
        .ok();
    assert_eq!(read(linked.join("b.txt")), "wasp\nant\n");
}

/// Codex names the directory of the command, and not its own: that is where it starts its hooks.
#[test]
fn a_command_outside_of_any_repository_that_names_the_checkout_means_the_tree() {
    let repo = Repo::with(FILES);
    let outer = repo.outer().to_owned();
    let ask = |start: &Path, text: &str| {
        let start = start.to_str().expect("UTF-8");
        let cmd = repo.cmd(&["-C", start, "agents", "hook", "codex", "PreToolUse"]);
        let call =
            Client::new(&repo, "codex").at(&outer).tool_call("Bash", &json!({ "command": text }));
        Answer::of(&cmd.stdin(call).run().ok())
    };
    let text = format!("echo wasp >>{}", repo.path("b.txt").display());
    // Nothing here knows of the repository, and nothing there names it.
    assert!(ask(&outer, &text).is_nothing());
    assert!(ask(repo.root(), "echo wasp >>b.txt").is_nothing());
    assert!(trees(&repo).is_empty());
    let moved = ask(&repo.path("src"), &text).command();
    assert_eq!(moved, format!("echo wasp >>{}/b.txt", trees(&repo)[0].display()));
}

#[test]
fn a_repository_that_cannot_be_opened_is_closed() {
    let repo = Repo::with(FILES);
    let config = repo.text(".git/config");
    repo.write(".git/config", format!("{config}[broken\n"));
    let file = repo.path("b.txt");
    for directory in [repo.root(), repo.outer()] {
        assert!(claude(&repo, directory).edit(&file).refused().contains("[invalid_config]"));
    }
    let reason = claude(&repo, repo.root()).shell("echo x >b.txt").refused();
    assert!(reason.contains("[invalid_config]"));
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
            println!("{name}");
            claude(&repo, &directory).edit(repo.path("b.txt")).refused();
        }
        claude(&repo, &repo.path("src")).shell("echo x >b.txt").refused();
        // Nothing keeps the agent from ending, or from reading.
        claude(&repo, repo.root()).stop().says("aye: ");
    }
    // Where there is none at all, there is no gate.
    let repo = Repo::with(FILES);
    std::fs::remove_dir_all(repo.path(".git")).expect("remove");
    assert!(claude(&repo, repo.root()).edit(repo.path("b.txt")).is_nothing());
}

/// The agent has put a repository of its own in the place of the tree's git directory.
#[test]
fn the_git_directory_of_a_tree_runs_nothing_outside_of_it() {
    let repo = Repo::with(FILES);
    let tree = &claude(&repo, repo.root()).enter();
    let mark = repo.outer().join("ran");
    let text = format!(
        "cd {tree} && rm -rf .git && git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm x
         git config filter.x.clean 'touch {mark}; cat'; git config core.fsmonitor 'touch {mark}'
         echo '* filter=x' >.gitattributes; echo wasp >b.txt",
        tree = tree.display(),
        mark = mark.display()
    );
    repo.program("sh").args(&["-c", &text]).run().ok();
    for file in [tree.join("n.txt"), repo.path("b.txt")] {
        assert!(claude(&repo, tree).edit(&file).refused().contains("[session_record_invalid]"));
    }
    claude(&repo, tree).shell("true").refused();
    for event in ["Stop", "UserPromptSubmit"] {
        claude(&repo, tree).hook(event, json!({ "prompt": "x" })).says("aye session submit");
    }
    assert!(!mark.exists() && !tree.join(".git/aye").exists());
    // Its work is not lost.
    let list = repo.aye(&["session", "--json"]).ok().json();
    repo.aye(&["session", "submit", list["sessions"][0]["name"].as_str().expect("a name")]).ok();
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 1);
}

/// A person's `git switch` may take the directory away in which the client was started.
#[test]
fn a_turn_that_ends_where_its_directory_is_gone_is_proposed() {
    let repo = Repo::with(FILES);
    let started = repo.path("src");
    let moved = claude(&repo, &started).shell("echo x >../b.txt").command();
    repo.program("sh").args(&["-c", "cd src && eval \"$1\"", "sh", &moved]).run().ok();
    std::fs::remove_dir_all(&started).expect("removed");
    claude(&repo, &started).stop();
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["proposals"][0]["file_path"], "b.txt", "{list}");
    let news = claude(&repo, &started).hook("SessionStart", json!({ "source": "resume" }));
    assert!(!news.out().is_empty());
}
