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
    let repo = Repo::readable(FILES);
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
        assert_eq!((count(&strict), shown()["mode"].clone()), (count(&tree) + 1, json!("tree")));
        repo.aye(&["agents", "remove", name, "--user"]).ok();
    }
    let run = repo.aye(&["agents", "install", "qwen", "--mode", "capture"]);
    run.fails("invalid_argument", 6).notes("--mode strict");
}
