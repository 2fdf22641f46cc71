//! `aye agents install --mode strict`: edits of the checkout are refused, and what a command has written in it is
//! proposed and put back.

use serde_json::{Value, json};

use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] =
    &[("a.txt", "one\ntwo\n"), ("src/b.txt", "bee\n"), ("c.txt", "sea\n")];

/// A hook of Codex, as it is installed.
fn hook(repo: &Repo, event: &str, more: Value) -> Run {
    let mut value = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": event});
    value.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
    let cmd = repo.cmd(&["agents", "hook", "codex", event, "--strict"]);
    cmd.stdin(value.to_string().as_bytes()).run().ok()
}

fn shell(command: &str) -> Value {
    json!({ "tool_name": "Bash", "tool_input": { "command": command } })
}

/// A command as the client runs it, with its hooks; `meanwhile` the person works on. What the model is told.
fn runs(repo: &Repo, command: &str, meanwhile: impl FnOnce()) -> String {
    assert_eq!(hook(repo, "PreToolUse", shell(command)).out(), "", "{command}");
    repo.program("sh").args(&["-c", command]).run();
    meanwhile();
    let run = hook(repo, "PostToolUse", shell(command));
    if run.out().is_empty() {
        return String::new();
    }
    run.json()["hookSpecificOutput"]["additionalContext"].as_str().expect("a text").to_owned()
}

fn list(repo: &Repo) -> Value {
    repo.aye(&["list", "--json"]).ok().json()
}

#[test]
fn an_edit_is_refused_with_the_way_to_propose() {
    let repo = Repo::with(FILES);
    let begun = hook(&repo, "SessionStart", json!({})).out();
    assert!(begun.contains("aye propose PATH"), "{begun}");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n";
    let edit = json!({ "tool_name": "apply_patch", "tool_input": { "command": patch } });
    let output = hook(&repo, "PreToolUse", edit).json()["hookSpecificOutput"].clone();
    assert_eq!(output["permissionDecision"], "deny");
    let reason = output["permissionDecisionReason"].as_str().expect("a reason");
    assert!(reason.contains("aye propose PATH") && !reason.contains("trees"), "{reason}");
    // Nothing was made for it.
    assert_eq!(repo.aye(&["session", "list", "--json"]).ok().json()["sessions"], json!([]));
    repo.agent("codex", &["propose", "a.txt", "--old", "one", "--new", "1", "-m", "count"]).ok();
    hook(&repo, "Stop", json!({}));
    assert_eq!(list(&repo)["count"], 1);
}

#[test]
fn what_a_command_writes_is_put_back_and_proposed() {
    let repo = Repo::with(FILES);
    repo.write("c.txt", "sea, mine\n");
    let before = repo.snapshot();
    let command = "sed -i s/bee/wasp/ src/b.txt; echo new >new.txt; rm a.txt; cat c.txt";
    let told = runs(&repo, command, || {});
    for file in ["a.txt", "new.txt", "src/b.txt"] {
        assert!(told.contains(&format!("\n{file}")), "{told}");
    }
    assert!(!told.contains("c.txt"), "{told}");
    let is_work = |(path, _): &(String, Vec<u8>)| !path.starts_with(".git");
    let only = |all: Vec<(String, Vec<u8>)>| all.into_iter().filter(is_work).collect::<Vec<_>>();
    assert_eq!(only(repo.snapshot()), only(before));
    hook(&repo, "Stop", json!({}));
    let list = list(&repo);
    assert_eq!(list["count"], 1);
    let id = list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    let diff = repo.aye(&["diff", &id]).ok().out();
    for line in ["+wasp", "+new", "-one"] {
        assert!(diff.contains(line), "{diff}");
    }
    assert!(!diff.contains("mine"), "{diff}");
    // A second command adds to it.
    runs(&repo, "echo three >>c.txt", || {});
    assert_eq!(repo.text("c.txt"), "sea, mine\n");
    hook(&repo, "Stop", json!({}));
    assert!(repo.aye(&["diff", &id]).ok().out().contains("+three"));
}

/// Codex names the directory of the command; it starts its hooks in its own.
#[test]
fn a_command_that_runs_elsewhere_and_names_the_checkout_is_put_back() {
    let repo = Repo::with(FILES);
    let command = format!("echo wasp >>{}", repo.path("c.txt").display());
    let sent = |event: &str| {
        let mut call = shell(&command);
        call["cwd"] = json!(repo.outer());
        hook(&repo, event, call)
    };
    assert_eq!(sent("PreToolUse").out(), "");
    repo.program("sh").args(&["-c", &command]).run().ok();
    sent("PostToolUse").says("c.txt");
    assert_eq!(repo.text("c.txt"), "sea\n");
    hook(&repo, "Stop", json!({}));
    assert_eq!(list(&repo)["count"], 1);
}

/// Of what Claude Code's Monitor runs no end is reported.
#[test]
fn what_a_monitor_writes_is_named_when_the_agent_stops() {
    let repo = Repo::with(FILES);
    let ask = |event: &str, more: Value| {
        let mut call = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": event});
        call.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
        let cmd = repo.cmd(&["agents", "hook", "claude-code", event, "--strict"]);
        cmd.stdin(call.to_string().as_bytes()).run().ok()
    };
    for tool in ["Monitor", "PowerShell"] {
        let command = format!("echo {tool} >>c.txt");
        let call = json!({ "tool_name": tool, "tool_input": { "command": command } });
        assert_eq!(ask("PreToolUse", call.clone()).out(), "");
        repo.program("sh").args(&["-c", &command]).run().ok();
        if tool == "PowerShell" {
            ask("PostToolUse", call).says("c.txt");
            assert_eq!(repo.text("c.txt"), "sea\nMonitor\n");
        }
    }
    ask("Stop", json!({})).says("c.txt");
}

/// The next commit is the person's: nothing of the agent's is in it.
#[test]
fn what_a_command_stages_is_not_staged_once_it_is_put_back() {
    let repo = Repo::with(FILES);
    let staged = || repo.git(&["diff", "--cached", "--name-status", "--no-renames"]);
    for command in [
        "echo wasp >src/b.txt; git add src/b.txt",
        "echo new >new.txt; git add new.txt",
        "echo new >new.txt; echo x >>a.txt; git add -A",
        "git mv a.txt z.txt",
        "git rm -q a.txt",
        "git rm -q --cached a.txt",
        "chmod +x a.txt; git add a.txt",
    ] {
        let told = runs(&repo, command, || {});
        assert!(told.contains("they are put back"), "{command}: {told}");
        let status = repo.git(&["status", "--short"]);
        assert_eq!((staged().as_str(), status.as_str()), ("", ""), "{command}: {told}");
        assert_eq!(
            (repo.text("a.txt"), repo.text("src/b.txt")),
            ("one\ntwo\n".into(), "bee\n".into())
        );
        // Of which nothing is left for the next one.
        for item in list(&repo)["proposals"].as_array().expect("a list") {
            repo.aye(&["reject", item["proposal_id"].as_str().expect("an id"), "--yes"]);
        }
        let sessions = repo.aye(&["session", "list", "--json"]).ok().json()["sessions"].clone();
        for item in sessions.as_array().expect("a list") {
            let name = item["name"].as_str().expect("a name");
            repo.aye(&["session", "end", name, "--discard"]).ok();
        }
    }
}

/// Files that are as they were: only the next commit would show it.
#[test]
fn what_a_command_stages_beside_the_files_is_taken_out_of_the_index() {
    let repo = Repo::with(FILES);
    repo.write("src/b.txt", "mine\n");
    repo.git(&["add", "src/b.txt"]);
    let before = repo.git(&["ls-files", "-s"]);
    for command in [
        "echo wasp >a.txt; git add a.txt; git show HEAD:a.txt >a.txt",
        "git update-index --cacheinfo 100644,$(echo wasp | git hash-object -w --stdin),a.txt",
        "git restore --staged src/b.txt",
    ] {
        let told = runs(&repo, command, || {});
        assert!(told.contains("was staged otherwise by the command"), "{command}: {told}");
        assert_eq!(repo.git(&["ls-files", "-s"]), before, "{command}");
        assert_eq!(repo.text("src/b.txt"), "mine\n");
    }
}

#[test]
fn what_the_person_has_staged_stays_staged() {
    let repo = Repo::with(FILES);
    repo.write("a.txt", "one\nstaged\n");
    repo.write("mine.txt", "mine\n");
    repo.git(&["add", "a.txt", "mine.txt"]);
    repo.write("a.txt", "one\nnot staged\n");
    let before = (repo.git(&["ls-files", "-s"]), repo.git(&["status", "--short"]));
    let command = "echo wasp >a.txt; echo wasp >mine.txt; echo wasp >src/b.txt; git add -A";
    let told = runs(&repo, command, || {});
    for file in ["a.txt", "mine.txt", "src/b.txt"] {
        assert!(told.contains(&format!("\n{file}")), "{told}");
    }
    assert_eq!(repo.text("a.txt"), "one\nnot staged\n");
    assert_eq!((repo.git(&["ls-files", "-s"]), repo.git(&["status", "--short"])), before);
    // Where somebody holds the index, that is named.
    let told = runs(&repo, "echo x >n.txt; git add n.txt; touch .git/index.lock", || {});
    assert!(told.contains("n.txt: is as before, but what the command staged is not"), "{told}");
    assert!(!repo.exists("n.txt"));
}

#[test]
fn what_the_person_writes_meanwhile_is_never_touched() {
    let repo = Repo::with(FILES);
    // A file that the command does not name.
    let told = runs(&repo, "sed -i s/bee/wasp/ src/b.txt", || repo.write("c.txt", "mine\n"));
    assert!(told.contains("c.txt: changed while the command ran"), "{told}");
    assert_eq!((repo.text("c.txt"), repo.text("src/b.txt")), ("mine\n".into(), "bee\n".into()));
    // One that it names, and that is another branch by now.
    let told = runs(&repo, "echo x >a.txt", || {
        repo.git(&["switch", "-q", "-c", "other"]);
        repo.git(&["commit", "-qam", "mine"]);
    });
    assert!(told.contains("a.txt: changed while"), "{told}");
    assert_eq!(repo.text("a.txt"), "x\n");
    assert_eq!(repo.git(&["status", "--porcelain"]).trim(), "");
    // An untracked file of the person's.
    repo.write("notes.txt", "mine\n");
    let told = runs(&repo, "echo x >>notes.txt; rm notes.txt", || {});
    assert!(!told.contains("put back, and what it wrote"), "{told}");
}

/// Nobody can tell who wrote it: documented, and nothing is lost.
#[test]
fn a_save_of_a_file_that_a_running_command_names_is_in_the_proposal() {
    let repo = Repo::with(FILES);
    let told = runs(&repo, "sed -i s/nothing/x/ src/b.txt", || repo.write("src/b.txt", "mine\n"));
    assert!(told.contains("\nsrc/b.txt"), "{told}");
    assert_eq!(repo.text("src/b.txt"), "bee\n");
    hook(&repo, "Stop", json!({}));
    let id = list(&repo)["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    assert!(repo.aye(&["diff", &id]).ok().out().contains("+mine"));
}

#[cfg(unix)]
#[test]
fn a_symlink_that_a_command_makes_is_named_and_stays() {
    let repo = Repo::with(FILES);
    let told = runs(&repo, "ln -s /etc link.txt; rm a.txt; ln -s /etc/passwd a.txt", || {});
    assert!(told.contains("link.txt: ") && told.contains("a.txt: "), "{told}");
    for name in ["link.txt", "a.txt"] {
        assert!(repo.path(name).is_symlink(), "{name}");
    }
}

#[test]
fn commands_that_only_read_or_write_nothing_are_not_reported() {
    let repo = Repo::with(FILES);
    assert_eq!(runs(&repo, "grep -n one a.txt", || repo.write("a.txt", "mine\n")), "");
    assert_eq!(repo.aye(&["session", "list", "--json"]).ok().json()["sessions"], json!([]));
    assert_eq!(runs(&repo, "true > /dev/null; sh -c :", || {}), "");
    // Ignored files are nobody's proposal.
    repo.write(".gitignore", "target\n");
    repo.commit("ignore");
    assert_eq!(runs(&repo, "mkdir -p target; echo x >target/out.txt", || {}), "");
    assert!(repo.exists("target/out.txt"));
    // What cannot be recorded does not run.
    repo.write(".git/MERGE_HEAD", "nonsense");
    std::fs::write(repo.path(".git/index"), "broken").expect("write");
    let refused = hook(&repo, "PreToolUse", shell("echo x >a.txt")).json();
    assert_eq!(refused["hookSpecificOutput"]["permissionDecision"], "deny", "{refused}");
}

#[test]
fn the_mode_is_installed_shown_and_changed() {
    let repo = Repo::new();
    for name in ["claude-code", "codex", "gemini", "qwen", "copilot", "opencode"] {
        let item = |run: Run| {
            let settings = run.json()["settings"].as_array().expect("a list").clone();
            let is_it = |item: &&Value| {
                item["harness"] == name && item["scope"] == "user" && !item["mode"].is_null()
            };
            settings.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {settings:#?}")).clone()
        };
        let install = |mode: &str| {
            let args = ["agents", "install", name, "--user", "--mode", mode, "--json"];
            item(repo.aye(&args).ok())
        };
        let strict = install("strict");
        assert_eq!(strict["mode"], "strict");
        let shown = || item(repo.aye(&["agents", "show", "--json"]));
        assert_eq!(shown()["mode"], "strict", "{name}");
        let count = |item: &Value| item["hooks"].as_array().expect("a list").len();
        let tree = install("tree");
        // Claude Code reports the end of a command that failed by an event of its own.
        let after = if name == "claude-code" { 2 } else { 1 };
        let (of_strict, of_tree) = (count(&strict), count(&tree));
        assert_eq!((of_strict, shown()["mode"].clone()), (of_tree + after, json!("tree")));
        repo.aye(&["agents", "remove", name, "--user"]).ok();
    }
    let run = repo.aye(&["agents", "install", "qwen", "--mode", "capture"]);
    run.fails("invalid_argument", 6).notes("--mode strict");
}

fn before(repo: &Repo, command: &str) {
    assert_eq!(hook(repo, "PreToolUse", shell(command)).out(), "", "{command}");
}

/// What the model is told at an end, or with the person's next words.
fn told(repo: &Repo, event: &str, more: Value) -> String {
    let run = hook(repo, event, more);
    if run.out().is_empty() {
        return String::new();
    }
    run.json()["hookSpecificOutput"]["additionalContext"].as_str().expect("a text").to_owned()
}

fn after(repo: &Repo, command: &str) -> String {
    told(repo, "PostToolUse", shell(command))
}

/// The files are as they were, and the one proposal has `lines`.
#[track_caller]
fn is_put_back_and_proposed(repo: &Repo, lines: &[&str]) {
    hook(repo, "Stop", json!({}));
    assert_eq!(repo.git(&["status", "--short"]), "");
    let list = list(repo);
    assert_eq!(list["count"], 1, "{list}");
    let id = list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    let diff = repo.aye(&["diff", &id]).ok().out();
    for line in lines {
        assert!(diff.contains(line), "{diff}");
    }
}

/// Parts of an agent run their commands side by side; the client may not say which part it is.
#[test]
fn commands_that_overlap_are_each_compared_with_what_was_before_them() {
    let repo = Repo::with(FILES);
    let (writes, other) = ("echo wasp >a.txt", "echo lake >c.txt");
    // One that only reads comes and goes meanwhile.
    before(&repo, writes);
    before(&repo, "ls");
    repo.write("a.txt", "wasp\n");
    assert_eq!(after(&repo, "ls"), "");
    assert_eq!(repo.text("a.txt"), "wasp\n");
    assert!(after(&repo, writes).contains("put back, and what it wrote"));
    is_put_back_and_proposed(&repo, &["+wasp"]);
    // One that writes, before the first has written or after.
    for is_early in [true, false] {
        let repo = Repo::with(FILES);
        before(&repo, writes);
        if is_early {
            repo.write("a.txt", "wasp\n");
        }
        before(&repo, other);
        repo.write("a.txt", "wasp\n");
        repo.write("c.txt", "lake\n");
        let told = after(&repo, other);
        assert!(told.contains("\nc.txt") && !told.contains("a.txt: "), "{told}");
        assert!(after(&repo, writes).contains("\na.txt"));
        is_put_back_and_proposed(&repo, &["+wasp", "+lake"]);
    }
}

/// A command that failed, was interrupted, was not allowed, or goes on in the background: nobody knows when it ended,
/// or that it ran, and what is there may be the person's.
#[test]
fn after_a_command_whose_end_nobody_reports_nothing_is_put_back() {
    let named = "src/b.txt: changed after a command that names it, of which no end was reported";
    let prompt = json!({ "prompt": "I did it myself" });
    let begun = || {
        let repo = Repo::with(FILES);
        before(&repo, "sed -i s/bee/wasp/ src/b.txt");
        repo.write("src/b.txt", "mine\n");
        repo.git(&["add", "src/b.txt"]);
        repo
    };
    let is_mine = |repo: &Repo| {
        assert_eq!(repo.text("src/b.txt"), "mine\n");
        assert_eq!(repo.git(&["status", "--short"]), "M  src/b.txt");
        assert_eq!(list(repo)["count"], 0);
    };
    // When the agent stops: the model hears of it with the next prompt, once.
    let repo = begun();
    hook(&repo, "Stop", json!({}));
    is_mine(&repo);
    let told_once = told(&repo, "UserPromptSubmit", prompt.clone());
    assert!(told_once.contains(named), "{told_once}");
    assert_eq!(told(&repo, "UserPromptSubmit", prompt.clone()), "");
    // With the prompt.
    let repo = begun();
    assert!(told(&repo, "UserPromptSubmit", prompt.clone()).contains(named));
    hook(&repo, "Stop", json!({}));
    is_mine(&repo);
    assert_eq!(told(&repo, "UserPromptSubmit", prompt.clone()), "");
    // With that of a command that began when a later one had ended: until then they may run side by side.
    let repo = begun();
    for is_told in [false, true, false] {
        assert_eq!(runs(&repo, "echo more >>c.txt", || {}).contains(named), is_told);
    }
    hook(&repo, "Stop", json!({}));
    assert_eq!(repo.git(&["status", "--short"]), "M  src/b.txt");
    // Where the end is reported after all, it ran until then.
    let repo = begun();
    assert!(told(&repo, "UserPromptSubmit", prompt).contains(named));
    assert!(after(&repo, "sed -i s/bee/wasp/ src/b.txt").contains("they are put back"));
    is_put_back_and_proposed(&repo, &["+mine"]);
}

#[test]
fn the_person_is_told_of_what_a_command_without_an_end_may_have_written() {
    let repo = Repo::with(FILES);
    let command = json!({ "tool_name": "Bash", "tool_input": { "command": "echo x >a.txt" } });
    claude(&repo, "PreToolUse", command);
    repo.write("a.txt", "mine\n");
    let said = claude(&repo, "Stop", json!({})).json()["systemMessage"].clone();
    let said = said.as_str().expect("a text");
    assert!(said.contains("perhaps by a command whose end was not reported:\na.txt: "), "{said}");
    assert_eq!(repo.text("a.txt"), "mine\n");
}

/// The first run of it has failed, and its end was not reported.
#[test]
fn the_end_of_a_command_that_runs_again_is_that_of_the_last() {
    let repo = Repo::with(FILES);
    let command = "python3 check.py src/b.txt";
    before(&repo, command);
    before(&repo, command);
    assert_eq!(after(&repo, command), "");
    repo.write("src/b.txt", "mine\n");
    runs(&repo, "make", || {});
    hook(&repo, "Stop", json!({}));
    assert_eq!(repo.text("src/b.txt"), "mine\n");
    assert_eq!(list(&repo)["count"], 0);
    // A client that does not repeat the text reports the end of what it has begun last.
    before(&repo, command);
    repo.write("src/b.txt", "mine again\n");
    before(&repo, "ls");
    assert_eq!(told(&repo, "PostToolUse", json!({ "tool_name": "Bash" })), "");
    assert_eq!(repo.text("src/b.txt"), "mine again\n");
}

/// As the refusal of an edit tells the agent: it proposes, and waits.
#[test]
fn what_a_person_applies_while_a_command_runs_stays() {
    let edit = ["--old", "bee", "--new", "wasp"];
    let new = ["--content-file", "c.txt"];
    for (path, how, content) in [("src/b.txt", &edit[..], "wasp\n"), ("new.txt", &new, "sea\n")] {
        let repo = Repo::with(FILES);
        let command = format!("id=$(aye propose {path} …); aye wait $id");
        before(&repo, &command);
        repo.agent("codex", &[&["propose", path, "-m", "why"], how].concat()).ok();
        repo.aye(&["apply", "--latest", "--yes", "--index"]).ok();
        let status = repo.git(&["status", "--short"]);
        assert_eq!(after(&repo, &command), "");
        hook(&repo, "Stop", json!({}));
        assert_eq!(repo.text(path), content);
        assert_eq!(repo.git(&["status", "--short"]), status);
        assert_eq!(list(&repo)["count"], 0);
        repo.aye(&["check"]).ok();
        // Undone meanwhile, it stays so.
        let id = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        let id = id["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
        let told = runs(&repo, &format!("make {path}"), || {
            repo.aye(&["undo", &id, "--yes"]).ok();
        });
        assert_eq!(told, "");
        assert_eq!(repo.git(&["status", "--short", "--", "src"]), "");
        assert!(!repo.exists("new.txt"));
    }
    // What was applied before is no reason.
    let repo = Repo::with(FILES);
    repo.agent("codex", &["propose", "src/b.txt", "--old", "bee", "--new", "wasp", "-m", "y"]).ok();
    repo.aye(&["apply", "--latest", "--yes"]).ok();
    let told = runs(&repo, "echo hornet >src/b.txt", || {});
    assert!(told.contains("they are put back"), "{told}");
    assert_eq!(repo.text("src/b.txt"), "wasp\n");
    // Who has written the rest is not known.
    let repo = Repo::with(FILES);
    before(&repo, "edit a.txt");
    repo.agent("codex", &["propose", "a.txt", "--old", "one", "--new", "1", "-m", "why"]).ok();
    repo.aye(&["apply", "--latest", "--yes"]).ok();
    repo.write("a.txt", "1\n2\n");
    let told = after(&repo, "edit a.txt");
    assert!(told.contains("a.txt: was applied or undone meanwhile, and was edited"), "{told}");
    assert_eq!(repo.text("a.txt"), "1\n2\n");
}

fn claude(repo: &Repo, event: &str, more: Value) -> Run {
    let mut value = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": event});
    value.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
    let cmd = repo.cmd(&["agents", "hook", "claude-code", event, "--strict"]);
    cmd.stdin(value.to_string().as_bytes()).run().ok()
}

#[test]
fn claude_code_reports_ends_by_two_events_and_parts_by_their_id() {
    let repo = Repo::with(FILES);
    let bash = |command: &str, part: &str, is_background: bool| {
        let input = json!({ "command": command, "run_in_background": is_background });
        json!({ "tool_name": "Bash", "tool_input": input, "agent_id": part })
    };
    let failing = bash("echo wasp >a.txt; false", "", false);
    claude(&repo, "PreToolUse", failing.clone());
    repo.write("a.txt", "wasp\n");
    claude(&repo, "PostToolUseFailure", failing).says("put back, and what it wrote");
    // Another part's command is not disturbed in the middle of its work.
    let slow = bash("make >log.txt", "1", false);
    claude(&repo, "PreToolUse", slow.clone());
    repo.write("log.txt", "half\n");
    let other = bash("echo lake >c.txt", "2", false);
    claude(&repo, "PreToolUse", other.clone());
    repo.write("c.txt", "lake\n");
    claude(&repo, "PostToolUse", other).says("c.txt").lacks("log.txt");
    assert_eq!(repo.text("log.txt"), "half\n");
    repo.write("log.txt", "whole\n");
    claude(&repo, "PostToolUse", slow).says("log.txt");
    // Nor one in the background, until the agent is done.
    let server = bash("serve >out.txt", "", true);
    claude(&repo, "PreToolUse", server.clone());
    claude(&repo, "PostToolUse", server);
    repo.write("out.txt", "served\n");
    let next = bash("echo x >>c.txt", "", false);
    claude(&repo, "PreToolUse", next.clone());
    claude(&repo, "PostToolUse", next);
    claude(&repo, "UserPromptSubmit", json!({ "prompt": "go on" }));
    assert!(repo.exists("out.txt"));
    // Whose it is by then nobody knows.
    let said = claude(&repo, "Stop", json!({})).says("out.txt").json();
    let said = said["systemMessage"].as_str().expect("a text");
    assert!(said.contains("perhaps by a command whose end was not reported"), "{said}");
    repo.remove("out.txt");
    is_put_back_and_proposed(&repo, &["+wasp", "+lake", "+whole"]);
}

/// What is there when one begins may be what another has written so far.
#[test]
fn a_file_that_is_put_back_is_so_for_commands_that_began_meanwhile() {
    let (writes, other) =
        ("sed -i s/bee/wasp/ src/b.txt; make", "prettier --check src/b.txt; touch x");
    // A new file that is staged as well.
    let adds = "echo new >n.txt; git add n.txt";
    for is_new in [false, true] {
        let (writes, path) = if is_new { (adds, "n.txt") } else { (writes, "src/b.txt") };
        let other = other.replace("src/b.txt", path);
        let write = |repo: &Repo| {
            repo.write(path, "wasp\n");
            repo.git(&["add", path]);
        };
        let bash = |command: &str, part: &str| {
            let input = json!({ "command": command });
            json!({ "tool_name": "Bash", "tool_input": input, "agent_id": part })
        };
        // Two parts of an agent.
        let repo = Repo::with(FILES);
        claude(&repo, "PreToolUse", bash(writes, "1"));
        write(&repo);
        claude(&repo, "PreToolUse", bash(&other, "2"));
        claude(&repo, "PostToolUse", bash(writes, "1")).says("they are put back");
        assert_eq!(claude(&repo, "PostToolUse", bash(&other, "2")).out(), "");
        assert_eq!(repo.git(&["status", "--short"]), "");
        claude(&repo, "Stop", json!({}));
        is_put_back_and_proposed(&repo, &["+wasp"]);
        // Two sessions.
        let repo = Repo::with(FILES);
        before(&repo, writes);
        write(&repo);
        let theirs = json!({ "command": other });
        let theirs = json!({ "session_id": "t", "tool_name": "Bash", "tool_input": theirs });
        claude(&repo, "PreToolUse", theirs.clone());
        assert!(after(&repo, writes).contains("they are put back"));
        assert_eq!(claude(&repo, "PostToolUse", theirs).out(), "");
        claude(&repo, "Stop", json!({ "session_id": "t" }));
        is_put_back_and_proposed(&repo, &["+wasp"]);
    }
    // What began before is still compared with what it found.
    let repo = Repo::with(FILES);
    before(&repo, "echo wasp >src/b.txt; make");
    repo.write("src/b.txt", "wasp\n");
    let input = json!({ "command": "echo hornet >src/b.txt" });
    let bash = json!({ "session_id": "t", "tool_name": "Bash", "tool_input": input });
    claude(&repo, "PreToolUse", bash.clone());
    repo.write("src/b.txt", "hornet\n");
    claude(&repo, "PostToolUse", bash).says("they are put back");
    assert_eq!(repo.text("src/b.txt"), "wasp\n");
    assert!(after(&repo, "echo wasp >src/b.txt; make").contains("they are put back"));
    assert_eq!(repo.git(&["status", "--short"]), "");
}

/// As `git-crypt` and `git lfs install --local` set them up.
#[test]
fn a_file_behind_a_filter_of_the_repository_is_left_and_named() {
    let repo = Repo::with(FILES);
    let rot = "tr a-zA-Z n-za-mN-ZA-M";
    for key in ["clean", "smudge"] {
        repo.git(&["config", &format!("filter.crypt.{key}"), rot]);
    }
    repo.write(".gitattributes", "*.key filter=crypt\n");
    repo.write("s.key", "secret\n");
    repo.commit("secret");
    let told = runs(&repo, "echo more >>s.key; echo wasp >a.txt", || {});
    assert!(told.contains("s.key: goes through the filter 'crypt'"), "{told}");
    assert!(told.contains("they are put back") && repo.text("a.txt") == "one\ntwo\n", "{told}");
    assert_eq!(repo.text("s.key"), "secret\nmore\n");
    assert!(runs(&repo, "rm s.key", || {}).contains("s.key: goes through"));
    assert!(!repo.exists("s.key"));
}

#[test]
fn a_snapshot_that_git_has_pruned_keeps_no_command_from_running() {
    let repo = Repo::with(FILES);
    runs(&repo, "make", || {});
    repo.write("c.txt", "mine\n");
    let gc = "git gc -q --prune=now; echo x >>a.txt";
    let prune = || {
        repo.git(&["gc", "-q", "--prune=now"]);
    };
    let told = runs(&repo, gc, prune);
    assert!(told.contains("Git has pruned what the checkout was") && told.contains(gc), "{told}");
    assert_eq!(repo.text("a.txt"), "one\ntwo\nx\n");
    assert!(runs(&repo, "echo x >>src/b.txt", || {}).contains("they are put back"));
    // By the person, after a command whose end nobody reported.
    let test = json!({ "tool_name": "Bash", "tool_input": { "command": "npm test" } });
    claude(&repo, "PreToolUse", test);
    repo.write("c.txt", "mine again\n");
    prune();
    claude(&repo, "UserPromptSubmit", json!({ "prompt": "go on" })).says("Git has pruned");
    let said = claude(&repo, "Stop", json!({})).json()["systemMessage"].clone();
    assert!(said.as_str().expect("a text").contains("\nnpm test"));
    claude(&repo, "Stop", json!({})).lacks("pruned");
}

#[test]
fn a_merge_that_conflicts_can_be_gone_on_with_and_aborted() {
    let diverged = || {
        let repo = Repo::with(FILES);
        repo.git(&["switch", "-q", "-c", "other"]);
        repo.write("a.txt", "theirs\n");
        repo.commit("Theirs");
        repo.git(&["switch", "-q", "-"]);
        repo.write("a.txt", "ours\n");
        repo.commit("Ours");
        repo
    };
    let repo = diverged();
    let status = || repo.git(&["status", "--short"]);
    assert!(runs(&repo, "git merge other; cat a.txt", || {}).contains("a.txt: changed while"));
    assert_eq!(status(), "UU a.txt");
    // Files that it does not concern are put back as ever.
    let told = runs(&repo, "echo wasp >src/b.txt; git add src/b.txt; echo mine >a.txt", || {});
    assert!(told.contains("they are put back, and what it wrote") && told.contains("\nsrc/b.txt"));
    assert!(told.contains("a.txt: changed while"), "{told}");
    assert_eq!((status(), repo.text("src/b.txt")), ("UU a.txt".into(), "bee\n".into()));
    runs(&repo, "git add a.txt", || {});
    assert_eq!(status(), "M  a.txt");
    runs(&repo, "git merge --abort", || {});
    assert_eq!(status(), "");
    // From the beginning of a session, in either mode: an agent is asked to settle a merge.
    for mode in [&["--strict"][..], &[]] {
        let repo = diverged();
        repo.try_git(&["merge", "-q", "other"]).exits(1);
        let mut value = shell("make");
        value["session_id"] = "s".into();
        value["cwd"] = repo.root().to_str().expect("a text").into();
        value["hook_event_name"] = "PreToolUse".into();
        let args = [&["agents", "hook", "codex", "PreToolUse"], mode].concat();
        let run = repo.cmd(&args).stdin(value.to_string().as_bytes()).run().ok();
        assert!(!run.out().contains("deny"), "{}", run.out());
        assert_eq!(repo.git(&["status", "--short"]), "UU a.txt");
        hook(&repo, "Stop", json!({}));
        assert_eq!(list(&repo)["count"], 0);
    }
}

#[test]
fn a_file_is_named_also_where_its_name_is_escaped() {
    let repo = Repo::with(&[("my file.txt", "m\n"), ("page(1).ts", "p\n")]);
    for command in ["echo x >>my\\ file.txt", "echo x >>page\\(1\\).ts"] {
        assert!(runs(&repo, command, || {}).contains("they are put back"), "{command}");
        assert_eq!(repo.git(&["status", "--short"]), "", "{command}");
    }
}

/// A command that names none of them loses them as well.
#[test]
fn untracked_files_that_are_gone_are_named_to_the_person() {
    for (command, line) in [
        ("git clean -fdq", "notes.md: removed"),
        ("rm -rf notes*", "notes.md: removed"),
        ("git stash -uq", "notes.md: removed"),
        ("mv notes.md new.md", "notes.md: renamed to new.md"),
        ("for f in *.md; do mv $f $f.bak; done", "notes.md: renamed to notes.md.bak"),
    ] {
        let repo = Repo::with(FILES);
        repo.write("notes.md", "mine\n");
        let bash = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        claude(&repo, "PreToolUse", bash.clone());
        repo.program("sh").args(&["-c", command]).run().ok();
        claude(&repo, "PostToolUse", bash).says("is not tracked, and was ");
        let said = claude(&repo, "Stop", json!({})).json()["systemMessage"].clone();
        let said = said.as_str().expect("a text");
        assert!(format!("{said}\n").contains(&format!("\n{line}\n")), "{command}: {said}");
    }
}

/// Git has no copy of it, so that it cannot be put back.
#[test]
fn untracked_files_that_a_command_changes_are_named_to_model_and_person() {
    let repo = Repo::with(FILES);
    repo.write(".gitignore", "*.log\n");
    repo.commit("ignore");
    for name in ["notes.txt", "gone.txt", "old.txt", "same.txt", "other.txt", "x.log"] {
        repo.write(name, format!("mine: {name}\n"));
    }
    let command = "echo wasp >notes.txt; rm gone.txt x.log; mv old.txt new.txt; cat same.txt";
    let bash = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
    claude(&repo, "PreToolUse", bash.clone());
    repo.program("sh").args(&["-c", command]).run().ok();
    repo.write("other.txt", "mine, again\n");
    let run = claude(&repo, "PostToolUse", bash);
    let told = run.json()["hookSpecificOutput"]["additionalContext"].clone();
    let told = told.as_str().expect("a text");
    for line in [
        "notes.txt: is not tracked, and was overwritten by the command; aye has no copy",
        "gone.txt: is not tracked, and was removed by the command; aye has no copy",
        "new.txt: is not tracked, and was named old.txt",
        "other.txt: is not tracked, and was overwritten\n",
    ] {
        assert!(format!("{told}\n").contains(&format!("\n{line}")), "{told}");
    }
    assert!(!told.contains("same.txt") && !told.contains("x.log"), "{told}");
    assert_eq!(repo.text("new.txt"), "mine: old.txt\n");
    let said = claude(&repo, "Stop", json!({})).json()["systemMessage"].clone();
    let said = said.as_str().expect("a text");
    assert!(
        said.contains("notes.txt: overwritten\n") && said.contains("gone.txt: removed"),
        "{said}"
    );
    assert!(!said.contains("other.txt"), "{said}");
    assert_eq!(claude(&repo, "Stop", json!({})).out(), "");
}

#[test]
fn more_untracked_files_than_are_compared_are_said_to_be_too_many() {
    let repo = Repo::with(FILES);
    std::fs::create_dir(repo.path("many")).expect("make");
    for number in 0..20_010 {
        std::fs::write(repo.path("many").join(number.to_string()), "").expect("write");
    }
    let told = runs(&repo, "echo x >many/7; echo wasp >a.txt", || {});
    assert!(told.contains("more than 20000 files") && told.contains("\na.txt"), "{told}");
    // Once; and what cannot be compared is not taken for new.
    std::fs::remove_file(repo.path("many/1")).expect("remove");
    let told = runs(&repo, "rm -f many/2 many/3; echo x >many/7", || {});
    assert_eq!(told, "");
    assert_eq!(std::fs::read(repo.path("many/7")).expect("read"), b"x\n");
}

#[test]
fn a_directory_in_the_place_of_a_file_and_a_file_in_that_of_a_directory_are_put_back() {
    for (command, lines) in [
        ("rm a.txt; mkdir a.txt; echo wasp >a.txt/y", ["-one", "+wasp"]),
        ("rm -r src; echo wasp >src; : b.txt", ["-bee", "+wasp"]),
    ] {
        let repo = Repo::with(FILES);
        let told = runs(&repo, command, || {});
        assert!(told.contains("they are put back"), "{command}: {told}");
        assert_eq!(repo.text("a.txt"), "one\ntwo\n");
        assert_eq!(repo.text("src/b.txt"), "bee\n");
        is_put_back_and_proposed(&repo, &lines);
    }
}

/// A file of the same last name elsewhere is the person's.
#[test]
fn a_word_with_directories_names_the_file_that_they_lead_to() {
    let files = &[
        ("src/i.ts", "s\n"),
        ("lib/i.ts", "l\n"),
        ("README.md", "r\n"),
        ("docs/README.md", "d\n"),
    ];
    let repo = Repo::with(files);
    let absolute = format!("tsc {}", repo.path("src/i.ts").display());
    for (command, saved) in [
        ("tsc --noEmit src/i.ts", "lib/i.ts"),
        (absolute.as_str(), "lib/i.ts"),
        ("touch ./docs/README.md; make", "README.md"),
    ] {
        let text = format!("mine: {command}\n");
        let told = runs(&repo, command, || repo.write(saved, &text));
        assert!(told.contains(&format!("{saved}: changed while")), "{command}: {told}");
        assert_eq!(repo.text(saved), text, "{command}");
    }
    hook(&repo, "Stop", json!({}));
    assert_eq!(list(&repo)["count"], 0);
    let repo = Repo::with(files);
    for command in ["echo x >>src/i.ts", "cd lib; echo x >>../docs/README.md", "mv src/i.ts docs"] {
        assert!(runs(&repo, command, || {}).contains("they are put back"), "{command}");
        assert_eq!(repo.git(&["status", "--short"]), "", "{command}");
    }
}

/// Only the index has it.
#[test]
fn a_new_file_that_is_staged_and_that_a_command_removes_is_put_back() {
    for command in
        ["rm mine.txt", "mv mine.txt n.txt", "git mv mine.txt n.txt", "git rm -qf mine.txt"]
    {
        let repo = Repo::with(FILES);
        repo.write("mine.txt", "mine\n");
        repo.git(&["add", "mine.txt"]);
        let before = repo.git(&["ls-files", "-s"]);
        let told = runs(&repo, command, || {});
        assert!(
            told.contains("they are put back") && told.contains("\nmine.txt"),
            "{command}: {told}"
        );
        assert_eq!(repo.text("mine.txt"), "mine\n", "{command}");
        assert_eq!(repo.git(&["status", "--short"]), "A  mine.txt", "{command}");
        assert_eq!(repo.git(&["ls-files", "-s"]), before, "{command}");
    }
}

/// It does not find the first one in the file, which was put back.
#[test]
fn a_second_edit_in_the_same_place_is_put_back_and_proposed_as_the_later() {
    for (first, second, lines, gone) in [
        (
            "echo x >>a.txt; sed -i s/one/uno/ a.txt",
            "echo y >>a.txt; git add a.txt",
            &["+y", "+uno"],
            "+x",
        ),
        ("sed -i s/one/uno/ a.txt", "sed -i s/one/eins/ a.txt", &["+eins", "-one"], "+uno"),
        ("rm a.txt", "echo y >>a.txt; git add a.txt", &["+y", "+++"], "-one"),
        ("echo x >>a.txt", "rm a.txt", &["-one", "-two"], "+x"),
        ("echo new >n.txt", "echo newer >n.txt", &["+newer", "n.txt"], "+new\n"),
    ] {
        let repo = Repo::with(FILES);
        assert!(!runs(&repo, first, || {}).contains("made way"), "{first}");
        let told = runs(&repo, second, || {});
        assert!(
            told.contains("they are put back") && told.contains("made way"),
            "{second}: {told}"
        );
        is_put_back_and_proposed(&repo, lines);
        let id = list(&repo)["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
        repo.aye(&["diff", &id]).ok().lacks(gone);
    }
    // Where they do not meet, both stay.
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    runs(&repo, "sed -i s/1/one/ a.txt", || {});
    assert!(!runs(&repo, "sed -i s/5/five/ a.txt", || {}).contains("made way"));
    is_put_back_and_proposed(&repo, &["+one", "+five"]);
}

/// That of a subagent in the background: the agent has stopped by then.
#[test]
fn the_end_of_a_command_counts_that_is_reported_after_the_agent_has_stopped() {
    let repo = Repo::with(FILES);
    let input = json!({ "command": "sleep 5; echo wasp >src/b.txt" });
    let slow = json!({ "tool_name": "Bash", "tool_input": input, "agent_id": "1" });
    claude(&repo, "PreToolUse", slow.clone());
    assert_eq!(claude(&repo, "Stop", json!({})).out(), "");
    // What others write meanwhile is looked at, though it names the file.
    let make = json!({ "tool_name": "Bash", "tool_input": { "command": "make" } });
    claude(&repo, "PreToolUse", make.clone());
    repo.write("src/b.txt", "wasp\n");
    claude(&repo, "PostToolUse", make).says("src/b.txt: changed while the command ran");
    assert_eq!(claude(&repo, "Stop", json!({})).out(), "");
    claude(&repo, "PostToolUse", slow).says("put back, and what it wrote");
    assert_eq!(repo.text("src/b.txt"), "bee\n");
    is_put_back_and_proposed(&repo, &["+wasp"]);
    // One that was not allowed is said once, and in nobody's way.
    let repo = Repo::with(FILES);
    let refused = |number: usize| {
        let command = format!("echo {number} >a.txt");
        json!({ "tool_name": "Bash", "tool_input": { "command": command } })
    };
    for number in 0..20 {
        claude(&repo, "PreToolUse", refused(number));
        repo.write("a.txt", format!("mine {number}\n"));
        claude(&repo, "Stop", json!({})).says("a.txt");
    }
    assert_eq!(claude(&repo, "Stop", json!({})).out(), "");
    assert_eq!(repo.text("a.txt"), "mine 19\n");
}

#[test]
fn a_branch_without_a_commit_keeps_no_command_from_running() {
    for begin in ["git switch -q --orphan fresh", "git checkout -q --orphan fresh"] {
        let repo = Repo::with(FILES);
        runs(&repo, begin, || {});
        runs(&repo, "echo wasp >new.txt; git add new.txt", || {});
        assert!(!repo.exists("new.txt"), "{begin}");
        runs(&repo, "git switch -q -f main", || {});
        assert_eq!(repo.git(&["status", "--short"]), "", "{begin}");
        runs(&repo, "echo x >>c.txt", || {});
        is_put_back_and_proposed(&repo, &["+wasp", "+x"]);
    }
    let repo = Repo::new();
    repo.write("mine.txt", "mine\n");
    repo.git(&["add", "mine.txt"]);
    let told = runs(&repo, "echo x >a.txt; echo x >>mine.txt", || {});
    assert!(told.contains("\na.txt\nmine.txt"), "{told}");
    assert_eq!((repo.exists("a.txt"), repo.text("mine.txt")), (false, "mine\n".into()));
    hook(&repo, "Stop", json!({}));
    let id = list(&repo)["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!((repo.text("a.txt"), repo.text("mine.txt")), ("x\n".into(), "mine\nx\n".into()));
    assert_eq!(runs(&repo, "git commit -q --allow-empty -m first", || {}), "");
}

/// Which git cannot add.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_named_and_keeps_no_command_from_running() {
    let repo = Repo::with(FILES);
    let told = runs(&repo, "rm a.txt; mkfifo a.txt; echo x >>c.txt", || {});
    assert!(told.contains("\na.txt: ") && told.contains("put back"), "{told}");
    assert_eq!(repo.text("c.txt"), "sea\n");
    let told = runs(&repo, "echo x >>src/b.txt", || {});
    assert!(told.contains("\nsrc/b.txt") && !told.contains("a.txt"), "{told}");
    repo.remove("a.txt");
    repo.git(&["checkout", "a.txt"]);
    is_put_back_and_proposed(&repo, &["+x"]);
}

/// The text of a file of ten lines, with some of them otherwise.
fn ten(other: &[(usize, &str)]) -> String {
    let line = |at| other.iter().find(|it| it.0 == at).map(|it| it.1.to_owned());
    (1..=10).map(|at| line(at).unwrap_or_else(|| format!("line {at}")) + "\n").collect()
}

/// What the pending proposal makes of the checkout, in the file `c.txt`.
fn applied(repo: &Repo) -> String {
    hook(repo, "Stop", json!({}));
    let list = list(repo);
    assert_eq!(list["count"], 1, "{list}");
    let id = list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    repo.aye(&["diff", &id, "--proposed", "--no-pager"]).ok().lacks("+PERSON");
    crate::support::record::apply(repo, &id);
    repo.text("c.txt")
}

#[test]
fn what_the_person_has_changed_since_is_where_a_command_starts() {
    let six = "sed -i 's/^line 6$/AGENT/' c.txt";
    let five = "sed -i 's/^PERSON$/AGENT/' c.txt";
    let cases = [(six, &[(5, "PERSON"), (6, "AGENT")][..]), (five, &[(5, "AGENT")])];
    for ((command, made), is_committed) in cases.iter().flat_map(|it| [(it, true), (it, false)]) {
        let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("c.txt", &ten(&[]))]);
        runs(&repo, "sed -i s/one/1/ a.txt", || {});
        hook(&repo, "Stop", json!({}));
        repo.write("c.txt", ten(&[(5, "PERSON")]));
        if is_committed {
            repo.commit("By a person");
        }
        let told = runs(&repo, command, || {});
        assert!(told.contains("\nc.txt") && !told.contains("made way"), "{told}");
        assert_eq!(repo.text("c.txt"), ten(&[(5, "PERSON")]));
        assert_eq!(applied(&repo), ten(made));
        assert_eq!(repo.text("a.txt"), "1\ntwo\n");
    }
}

#[test]
fn what_the_person_has_changed_since_beside_edits_of_the_agent_stays_the_persons() {
    let repo = Repo::with(&[("c.txt", &ten(&[]))]);
    runs(&repo, "sed -i 's/^line 2$/TWO/' c.txt", || {});
    hook(&repo, "Stop", json!({}));
    repo.write("c.txt", ten(&[(5, "PERSON")]));
    runs(&repo, "sed -i 's/^line 6$/AGENT/' c.txt", || {});
    // Decided while the last edit is not proposed yet.
    let id = list(&repo)["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    crate::support::record::apply(&repo, &id);
    assert_eq!(repo.text("c.txt"), ten(&[(2, "TWO"), (5, "PERSON")]));
    assert_eq!(applied(&repo), ten(&[(2, "TWO"), (5, "PERSON"), (6, "AGENT")]));
}

#[test]
fn a_file_that_the_person_has_changed_and_a_command_removes_is_proposed_to_be_removed() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("c.txt", &ten(&[]))]);
    runs(&repo, "sed -i s/one/1/ a.txt", || {});
    hook(&repo, "Stop", json!({}));
    repo.write("c.txt", ten(&[(5, "PERSON")]));
    runs(&repo, "rm c.txt", || {});
    assert_eq!(repo.text("c.txt"), ten(&[(5, "PERSON")]));
    hook(&repo, "Stop", json!({}));
    let id = list(&repo)["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    repo.aye(&["diff", &id, "--proposed", "--no-pager"]).ok().says("-PERSON");
    crate::support::record::apply(&repo, &id);
    assert!(!repo.root().join("c.txt").exists());
}
