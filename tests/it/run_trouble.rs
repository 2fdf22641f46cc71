//! Sessions where something is missing or goes on meanwhile: a clear message, and nothing lost.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::record::apply;
use crate::support::sessions::{diff, kept, no_session_is_left, only, proposed, script, tree};
use crate::support::{Cmd, Repo, Run, until};

const FILES: &[(&str, &str)] = &[("src/a.txt", "one\ntwo\n"), ("b.txt", "bee\n")];

/// The hook of Claude Code before a tool, in `directory`.
fn before(repo: &Repo, directory: &str, tool: &str, input: &Value) -> Cmd {
    let call = json!({
        "session_id": "s", "cwd": directory, "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input,
    });
    repo.cmd(&["agents", "hook", "claude-code", "PreToolUse"]).stdin(call.to_string().as_bytes())
}

fn edit(repo: &Repo, directory: &str, path: &str) -> Cmd {
    before(repo, directory, "Edit", &json!({ "file_path": path }))
}

#[track_caller]
fn refused(run: Run) -> String {
    let output = run.ok().json()["hookSpecificOutput"].clone();
    assert_eq!(output["permissionDecision"], "deny", "{output}");
    output["permissionDecisionReason"].as_str().expect("a reason").to_owned()
}

fn text(path: impl Into<PathBuf>) -> String {
    path.into().into_os_string().into_string().expect("UTF-8")
}

#[test]
fn bare_repository_has_sessions_of_its_head() {
    let source = Repo::with(FILES);
    let repo = Repo::bare();
    source.git(&["push", "-q", &text(repo.root()), "main"]);
    script(&repo, &[], "test -d .git && echo wasp >b.txt").run().ok();
    assert!(proposed(&repo).contains("+wasp\n"));
    let top = text(repo.root());
    assert!(refused(edit(&repo, &top, &text(repo.path("config"))).run()).contains("git directory"));
    repo.aye(&["propose", "--keep"]).fails("bare_repository", 4);
}

#[test]
fn paths_with_spaces_and_non_ascii_letters_are_as_any_other() {
    let plain = Repo::with(FILES);
    let repo = Repo::outside();
    repo.git(&["clone", "-q", &text(plain.root()), "Grüße an  alle"]);
    let top = repo.path("Grüße an  alle");
    let run = |text: &str| {
        let all = ["run", "--keep", "--name", "x", "--", "sh", "-c", text];
        repo.cmd(&all).dir(&top).env("AYE_AGENT", "robo").run()
    };
    run("echo new >'ü b.txt'; git status --short >/dev/null").ok();
    let call = json!({
        "session_id": "s", "cwd": top, "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": format!("cat '{}/b.txt' | tee n.txt", text(&top)) },
    });
    let hook = repo.cmd(&["agents", "hook", "codex", "PreToolUse"]);
    let answer = hook.stdin(call.to_string().as_bytes()).run().ok().json();
    let command = answer["hookSpecificOutput"]["updatedInput"]["command"].clone();
    let command = command.as_str().expect("a command");
    assert!(!command.contains("Grüße"), "{command}");
    repo.program("sh").args(&["-c", command]).run().ok().says("bee");
}

#[test]
fn without_a_home_the_gate_is_closed_and_says_what_to_set() {
    let repo = Repo::with(FILES);
    let top = text(repo.root());
    let homeless = |cmd: Cmd| cmd.env("HOME", "").env("XDG_STATE_HOME", "").run();
    for args in [&["session"][..], &["session", "end", "x"]] {
        homeless(repo.cmd(args)).fails("no_state_directory", 4).notes("XDG_STATE_HOME");
    }
    homeless(repo.cmd(&["agents", "show"])).exits(1).notes("XDG_STATE_HOME");
    let reason = refused(homeless(edit(&repo, &top, &text(repo.path("b.txt")))));
    assert!(reason.contains("no_state_directory") && reason.contains("XDG_STATE_HOME"), "{reason}");
    let command = before(&repo, &top, "Bash", &json!({ "command": "echo x >b.txt" }));
    assert!(refused(homeless(command)).contains("no_state_directory"));
    let state = repo.outer().join("state");
    let named = script(&repo, &[], "echo x >>b.txt").env("HOME", "");
    named.env("XDG_STATE_HOME", &state).run().ok();
}

/// The name once, what is wrong, and the setting; and no advice to submit what cannot be proposed.
#[test]
fn what_cannot_be_proposed_is_named_with_what_to_do() {
    let repo = Repo::with(FILES);
    let text = "head -c 12000000 /dev/zero >huge.bin; ln -s b.txt way; git init -q other";
    kept(&repo, text).ok().notes("huge.bin").notes("aye.maxFileSize");
    let refused = repo.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4);
    let refused = refused.notes("huge.bin").notes("--discard");
    assert!(!refused.err().contains("session submit"), "{refused}");
    kept(&repo, "echo wasp >b.txt").ok();
    std::fs::write(tree(&repo, "x").join("b.txt"), "hornet\n").expect("write");
    let refused = repo.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4);
    refused.notes("session submit x");
}

/// A small file system for the trees, and one for the repository.
#[test]
fn on_a_full_disk_nothing_is_begun_and_nothing_lost() {
    let repo = Repo::with(FILES);
    if repo.program("unshare").args(&["-rm", "true"]).run().status != 0 {
        assert!(std::env::var_os("AYE_REQUIRE_SANDBOX").is_none(), "namespaces are needed");
        return;
    }
    let noise: Vec<u8> = (0..3_000_000_u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
    repo.write("big.bin", &noise[..3_000_000]);
    repo.commit("Big");
    let state = repo.outer().join("state");
    std::fs::create_dir(&state).expect("make");
    let (shown, aye) = (state.display(), env!("CARGO_BIN_EXE_aye"));
    let inside = |text: &str| {
        let all = format!("mount -t tmpfs -o size=2m none {shown} || exit 99\n{text}");
        let run = repo.program("unshare").args(&["-rm", "sh", "-c", &all]);
        run.env("XDG_STATE_HOME", &state).env("AYE_AGENT", "robo").run()
    };
    inside(&format!("{aye} run true; s=$?; find {shown} -type f; exit $s"))
        .fails("disk_full", 7)
        .lacks("/");
    assert_eq!(repo.git(&["for-each-ref", "refs/aye/session"]), "");
    no_session_is_left(&repo);
    // A repository without room for objects: the work stays, and is proposed once there is room.
    let text = format!(
        "cp -r {top}/.git {shown}/git && rm {shown}/git/objects/pack/* 2>/dev/null
         cd {shown} && git init -q r && cd r && git config user.name A && git config user.email a@b
         echo bee >b.txt && git add . && git commit -qm s || exit 98
         export XDG_STATE_HOME={outer}/other
         {aye} run --keep --name w -- sh -c 'echo x >>b.txt' || exit 97
         cat /dev/zero >../fill 2>/dev/null
         {aye} run --name w -- sh -c 'echo y >>b.txt' 2>../../full.txt
         grep -q 'disk_full' ../../full.txt || exit 96
         grep -q 'session submit w' ../../full.txt || exit 95
         rm ../fill; {aye} session submit w || exit 94
         {aye} diff --no-pager $({aye} list --json | grep -o 'prop_[a-z0-9]*' | head -1)",
        top = repo.root().display(),
        outer = repo.outer().display(),
    );
    let text = text.lines().skip(1).collect::<Vec<_>>().join("\n");
    inside(&text).ok().says("+x\n+y\n");
}

#[test]
fn switching_branches_under_a_session_loses_nothing() {
    let repo = Repo::with(FILES);
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.write("f.txt", "feature\n");
    repo.commit("Feature");
    let go = repo.outer().join("go");
    let text = format!(
        "echo one >>b.txt; echo more >>f.txt; while ! [ -e {} ]; do sleep 0.05; done; echo two >>b.txt",
        go.display()
    );
    let running = script(&repo, &["--keep", "--name", "x"], &text).spawn();
    until("the command has written", || tree_is_at(&repo, "more"));
    repo.git(&["switch", "-q", "main"]);
    std::fs::write(&go, "").expect("write");
    running.wait().ok();
    assert_eq!(repo.git(&["status", "--short", "--untracked-files=no"]), "");
    let id = only(&repo);
    repo.let_flags_decide();
    repo.aye(&["apply", &id, "--yes", "--any-branch"]).fails("conflict", 5);
    assert_eq!(repo.text("b.txt"), "bee\n");
    // It follows when it is asked to, and says where it cannot.
    repo.aye(&["session", "sync", "x"]).exits(5).notes("f.txt");
    apply(&repo, &only(&repo));
    assert_eq!(repo.text("b.txt"), "bee\none\ntwo\n");
    assert_eq!(repo.text("f.txt"), "feature\nmore\n");
}

/// Whether the file `f.txt` in the tree of the session has the line.
fn tree_is_at(repo: &Repo, line: &str) -> bool {
    let list = repo.aye(&["session", "list", "--json"]).ok().json();
    let tree = list["sessions"][0]["tree"].as_str().map(PathBuf::from);
    let text = tree.and_then(|tree| std::fs::read_to_string(tree.join("f.txt")).ok());
    text.is_some_and(|text| text.contains(line))
}

#[test]
fn a_tree_that_was_removed_is_named_and_made_again() {
    let repo = Repo::with(FILES);
    kept(&repo, "echo x >>b.txt").ok();
    let (id, top) = (only(&repo), tree(&repo, "x"));
    std::fs::remove_dir_all(&top).expect("remove");
    for verb in ["submit", "sync"] {
        repo.aye(&["session", verb, "x"]).fails("session_tree_gone", 3);
    }
    let list = repo.aye(&["session", "list", "--json"]).ok().json();
    assert_eq!(list["sessions"][0]["state"], "gone");
    // What was proposed is still pending, and the session goes on in a tree of its own.
    kept(&repo, "cat b.txt; echo y >>src/a.txt").ok().says("bee\n").lacks("x\n");
    assert!(diff(&repo, &id).contains("+x\n"));
    repo.aye(&["session", "end", "x"]).ok();
    let gone = format!("rm -rf '{}'", top.display());
    kept(&repo, &gone).ok().notes("session_tree_gone");
    repo.aye(&["session", "end", "x"]).ok();
    no_session_is_left(&repo);
}

/// Does to the checkout what a backup, another clone or `mv` does. Paths are those beside it.
fn beside(repo: &Repo, script: &str) {
    repo.program("sh").args(&["-ec", script]).dir(repo.outer()).run().ok();
}

/// Another clone was there when the tree was made: what lies in it may be proposed nowhere.
#[test]
fn a_tree_that_the_clone_knows_nothing_of_is_left_alone() {
    for script in [
        "rm -rf work; git clone -q other work",
        "rm -rf work/.git/aye",
        "rm -rf work; cp -a bak work",
    ] {
        let repo = Repo::with(FILES);
        beside(&repo, "cp -a work bak; git clone -q work other");
        kept(&repo, "echo x >>b.txt").ok();
        let late = tree(&repo, "x").join("late.txt");
        std::fs::write(&late, "proposed nowhere\n").expect("a file");
        beside(&repo, script);
        // A session of the same name gets another tree, and that one is named.
        let unknown = late.parent().expect("the tree");
        kept(&repo, "cat b.txt").ok().says("bee").notes(&text(unknown));
        assert_ne!(tree(&repo, "x"), unknown);
        repo.aye(&["session", "end", "x"]).ok();
        assert!(late.exists(), "{script}");
    }
}

/// A tree of which a crash left a part, and no record, is the clone's own to make again.
#[test]
fn a_tree_whose_making_was_stopped_is_made_again() {
    let repo = Repo::with(FILES);
    kept(&repo, "echo").ok();
    let record = repo.path(".git/aye/sessions/x.json");
    std::fs::rename(&record, record.with_extension("making")).expect("as before it was written");
    kept(&repo, "cat b.txt").ok().says("bee");
    assert!(record.exists() && !record.with_extension("making").exists());
}

#[test]
fn two_sessions_on_one_file_and_a_person_who_edits_it_meet_as_lines() {
    let lines = |two: &str, five: &str, nine: &str| {
        format!("1\n{two}\n3\n4\n{five}\n6\n7\n8\n{nine}\n10\n")
    };
    let repo = Repo::with(&[("n.txt", lines("2", "5", "9"))]);
    let go = repo.outer().join("go");
    let wait = format!("while ! [ -e {} ]; do sleep 0.05; done", go.display());
    let one = format!("sed -i s/^2$/two/ n.txt; {wait}");
    let two = format!("sed -i 's/^9$/nine/; s/^2$/zwei/' n.txt; {wait}");
    let one = script(&repo, &["--keep", "--name", "one"], &one).spawn();
    let two = script(&repo, &["--keep", "--name", "two"], &two).spawn();
    let live = |list: &Value| list["sessions"].as_array().is_some_and(|all| all.len() == 2);
    until("both live", || live(&repo.aye(&["session", "--json"]).ok().json()));
    repo.write("n.txt", lines("2", "five", "9"));
    std::fs::write(&go, "").expect("write");
    one.wait().ok();
    two.wait().ok();
    assert_eq!(repo.text("n.txt"), lines("2", "five", "9"));
    let list = repo.aye(&["list", "--json"]).ok().json();
    let id = |count: u64| {
        let proposals = list["proposals"].as_array().expect("a list").iter();
        let mut found = proposals.filter(|item| item["added"] == count);
        let id = found.next().unwrap_or_else(|| panic!("{list:#}"))["proposal_id"].clone();
        id.as_str().expect("an id").to_owned()
    };
    apply(&repo, &id(1));
    assert_eq!(repo.text("n.txt"), lines("two", "five", "9"));
    repo.let_flags_decide();
    repo.aye(&["apply", &id(2), "--yes"]).fails("conflict", 5);
    // The other one follows: its lines stay where they met, and apply from there.
    repo.aye(&["session", "sync", "two"]).exits(5);
    apply(&repo, &id(2));
    assert_eq!(repo.text("n.txt"), lines("zwei", "five", "nine"));
}

/// A repository with a submodule at `lib`, checked out.
fn with_submodule() -> (Repo, Repo) {
    let library = Repo::with(&[("b.txt", "bee\n"), ("c.txt", "sea\n")]);
    let repo = Repo::with(FILES);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    repo.git(&[&add[..], &[&text(library.root()), "lib"]].concat());
    repo.commit("Add the library");
    (repo, library)
}

#[test]
fn submodules_are_left_empty_and_named() {
    let (repo, _library) = with_submodule();
    repo.write("lib/c.txt", "sea\nmine\n");
    let ended = kept(&repo, "test -z \"$(ls -A lib)\" || exit 11; echo x >>b.txt").ok();
    ended.notes("lib: is a submodule");
    assert!(!proposed(&repo).contains("lib"));
    // The checkout's moves on.
    let git = ["-C", "lib", "-c", "user.name=L", "-c", "user.email=l@x"];
    repo.git(&[&git[..], &["commit", "-qam", "On"]].concat());
    repo.git(&["commit", "-qam", "The library moves"]);
    repo.aye(&["session", "sync", "x"]).ok();
    // What an agent puts there is named, and keeps the tree.
    let tree = tree(&repo, "x");
    std::fs::write(tree.join("lib/n.txt"), "new\n").expect("write");
    repo.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4).notes("lib");
    assert!(!proposed(&repo).contains("lib"));
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    assert_eq!(repo.git(&["-C", "lib", "for-each-ref", "refs/aye"]), "");
    // An agent that has to be told before it edits is told at once.
    let top = text(repo.root());
    let reason = refused(edit(&repo, &top, &text(repo.path("lib/b.txt"))).run());
    assert!(reason.contains("submodule"), "{reason}");
    let inside = edit(&repo, &text(repo.path("lib")), &text(repo.path("lib/b.txt")));
    assert!(refused(inside.run()).contains("EnterWorktree"));
}

/// The tree's `.git` is the agent's.
#[test]
fn a_patch_in_a_tree_runs_nothing_of_the_trees_configuration_and_stays_in_it() {
    let repo = Repo::with(FILES);
    let (mark, victim) = (repo.outer().join("ran"), repo.outer().join("victim"));
    std::fs::create_dir(&victim).expect("a directory");
    let aye = env!("CARGO_BIN_EXE_aye");
    let text = format!(
        "printf '#!/bin/sh\\ntouch {mark}\\n' >.git/hooks/post-index-change
         chmod +x .git/hooks/post-index-change
         git config core.fsmonitor 'touch {mark};'; git config filter.x.clean 'touch {mark}; cat'
         echo '* filter=x' >.git/info/attributes
         printf '*** Begin Patch\\n*** Update File: b.txt\\n@@\\n-bee\\n+wasp\\n*** End Patch\\n' >p
         {aye} patch --index <p >out; cat out; rm .git/info/attributes
         {aye} patch --index <p >out; cat out; rm out
         git config core.worktree {victim}; {aye} patch <p; test $? = 6 || exit 11
         {aye} propose n.txt --content-file p; test $? = 6 || exit 12; rm p",
        mark = mark.display(),
        victim = victim.display()
    );
    let ended = kept(&repo, &text).ok();
    assert!(!mark.exists(), "{ended}");
    assert_eq!(std::fs::read_dir(&victim).expect("a directory").count(), 0);
    assert_eq!(proposed(&repo).matches("+wasp").count(), 1);
}
