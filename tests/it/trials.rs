//! `aye try`: a command on a proposal, in a work tree that is gone afterwards.

use crate::support::record::{proposal, propose, reject};
use crate::support::{self, Repo, until};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("b.txt", "three\n")];

/// Nothing is left of any trial: no directory, no lock, no record of git's.
#[track_caller]
fn assert_clean(repo: &Repo) {
    let home = repo.path(".git/aye/try");
    let left: Vec<_> =
        std::fs::read_dir(home).expect("the directory").flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(repo.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn the_command_sees_the_proposal_and_its_status_comes_back() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    // A tool may leave read-only directories.
    let text = "cat a.txt b.txt; git status --short; mkdir -p c/x && chmod -R a-w c; exit 7";
    let run = repo.aye(&["try", &id, "--", "sh", "-c", text]);
    run.exits(7).says("eins\ntwo\nthree\n").says(" M a.txt");
    assert_eq!(repo.text("a.txt"), "one\ntwo\n");
    assert_clean(&repo);
    repo.aye(&["try", &id, "--", "true"]).ok();
    let checks = proposal(&repo, &id).checks;
    let codes: Vec<_> = checks.iter().map(|check| check.check.exit_code).collect();
    assert_eq!(codes, [Some(7), Some(0)]);
    assert_eq!(checks[1].check.command, ["true"]);
    assert_eq!(checks[1].check.revision, proposal(&repo, &id).current().event);
    repo.aye(&["try", &id, "--no-record", "--", "true"]).ok();
    assert_eq!(proposal(&repo, &id).checks.len(), 2);
}

#[test]
fn files_are_written_as_a_checkout_writes_them() {
    let attributes = (".gitattributes", "*.txt text eol=crlf\n*.id ident\n");
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), attributes]);
    let new = ["new.txt", "", "three\nfour\n"];
    let edits = repo.edits(&[["a.txt", "one", "eins"], new, ["x.id", "", "$Id$\n"]]);
    let run = repo.agent("codex", &["propose", "-q", "--from-json", &edits]);
    let cat = ["sh", "-c", "git add -A; cat a.txt new.txt x.id; git ls-files --eol -- '*.txt'"];
    let tried = repo.aye(&[&["try", &run.ok().id(), "--"], &cat[..]].concat()).ok();
    assert!(tried.out().starts_with("eins\r\ntwo\r\nthree\r\nfour\r\n$Id: "), "{tried}");
    assert_eq!(tried.out().matches("i/lf    w/crlf").count(), 2, "{tried}");
}

#[test]
fn the_commands_surroundings_are_those_of_the_new_work_tree() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    // As in a hook: git's variables name the main work tree.
    let run = repo
        .cmd(&[
            "try",
            &id,
            "--",
            "sh",
            "-c",
            "git rev-parse --show-toplevel; pwd; echo $AYE_TRY; echo x > new",
        ])
        .env("GIT_DIR", repo.path(".git"))
        .env("GIT_WORK_TREE", repo.root())
        .env("GIT_INDEX_FILE", repo.path(".git/index"))
        .run()
        .ok();
    let out = run.out();
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].contains("/.git/aye/try/"), "{out}");
    assert_eq!(lines[0], lines[1]);
    assert_eq!(lines[2], id);
    assert!(!repo.exists("new"));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_clean(&repo);
}

#[test]
fn the_default_command_comes_from_the_users_configuration_alone() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.aye(&["try", &id]).fails("usage", 2).notes("aye.tryCommand");
    // The repository's own configuration may be an agent's work.
    repo.git(&["config", "aye.tryCommand", "touch ../trap"]);
    repo.aye(&["try", &id]).fails("usage", 2);
    assert!(!repo.outer().join("trap").exists() && !repo.path(".git/aye/trap").exists());
    let own = repo.user_config(&[("aye.tryCommand", "grep -q eins a.txt && echo fits")]);
    repo.cmd(&["try", &id]).env("GIT_CONFIG_GLOBAL", own).run().ok().says("fits");
    assert_eq!(proposal(&repo, &id).checks[0].check.command[..2], ["sh", "-c"]);
}

#[test]
fn json_is_one_document_and_the_commands_output_goes_elsewhere() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let run = repo.aye(&["try", &id, "--json", "--", "sh", "-c", "echo noise; exit 3"]).exits(3);
    let json = run.clone().json();
    assert_eq!(json["schema"], "aye/try@1");
    assert_eq!(json["proposal_id"], id);
    assert_eq!(json["exit_code"], 3);
    assert_eq!(json["recorded"], true);
    run.notes("noise");
}

#[test]
fn head_that_has_moved_on_is_merged_or_refused() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.write("a.txt", "one\ntwo\nthree\nfour\n");
    repo.commit("Elsewhere in the file");
    repo.aye(&["try", &id, "--", "cat", "a.txt"]).ok().says("eins\ntwo\nthree\nfour\n");
    repo.write("a.txt", "uno\ntwo\n");
    repo.commit("The same line");
    repo.aye(&["try", &id, "--", "true"]).fails("conflict", 5).notes("--as-proposed");
    repo.aye(&["try", &id, "--as-proposed", "--", "cat", "a.txt"]).ok().says("eins\ntwo\n");
    assert_clean(&repo);
}

#[test]
fn a_sparse_checkout_has_the_files_of_the_proposal() {
    let repo = Repo::with(&[("in/a", "a\n"), ("out/b", "one\ntwo\n"), ("out/c", "c\n")]);
    let id = propose(&repo, "out/b", "two", "zwei");
    repo.git(&["sparse-checkout", "set", "in"]);
    for options in [&[][..], &["--as-proposed"]] {
        let command = [&["try", &id], options, &["--", "cat", "out/b"]].concat();
        repo.aye(&command).ok().says("one\nzwei\n");
    }
    repo.aye(&["try", &id, "--", "test", "!", "-e", "out/c"]).ok();
    assert_clean(&repo);
    // Nor does it conflict with what is not here.
    repo.aye(&["check", "--fail-on", "conflict"]).ok();
}

/// What a trial runs may be the proposal's own work: it cannot let itself in.
#[test]
fn a_command_of_a_trial_decides_nothing_and_writes_nothing_in_a_persons_name() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let aye = env!("CARGO_BIN_EXE_aye");
    let run = |script: &str| {
        repo.aye(&["try", &id, "--no-record", "--", "sh", "-c", &format!("{script}\n"), aye, &id])
    };
    let words = [
        "apply \"$1\" --yes",
        "reject \"$1\" --yes -m no",
        "approve \"$1\" --yes",
        "comment \"$1\" --request-changes -m 'Not like this'",
        "propose b.txt --old three --new drei",
    ];
    let before = repo.aye(&["log", "--json"]).ok().out();
    for words in words {
        run(&format!("\"$0\" {words}")).exits(4).notes("error[in_trial]");
        // From the checkout, by the environment; in the trial, by the place.
        run(&format!("cd ../../../.. && \"$0\" {words}")).exits(4).notes("error[in_trial]");
        run(&format!("env -u AYE_TRY \"$0\" {words}")).exits(4).notes("error[in_trial]");
    }
    // CI may apply where the policy says so, but not from within.
    run("CI=1 \"$0\" apply \"$1\" --yes").exits(4).notes("error[in_trial]");
    run("\"$0\" list && \"$0\" show \"$1\" && \"$0\" diff \"$1\"").ok().says("+eins");
    run("\"$0\" try \"$1\" -- true").ok();
    assert_eq!(repo.aye(&["log", "--json"]).ok().out(), before);
    assert_eq!(repo.text("a.txt"), "one\ntwo\n");
    // An agent's own word is recorded as the agent's.
    run("AYE_AGENT=bot \"$0\" propose b.txt --old three --new drei").ok();
    run("AYE_AGENT=bot \"$0\" apply \"$1\" --yes").exits(4).notes("human_approval_required");
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_clean(&repo);
}

/// An unmarked caller of a tool counts as an agent, and a mark reads as a decision.
#[test]
fn a_command_of_a_trial_marks_nothing_and_leaves_the_plan() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let plan = |step: &str| {
        serde_json::json!({ "plan": [{ "step": step, "status": "pending" }] }).to_string()
    };
    repo.aye(&["call", "update_plan", &plan("mine")]).ok();
    let before = repo.aye(&["log", "--json"]).ok().out();
    let aye = env!("CARGO_BIN_EXE_aye");
    for (tool, arguments) in [
        ("changes", serde_json::json!({ "action": "reject", "proposal_id": id }).to_string()),
        ("changes", serde_json::json!({ "action": "apply", "proposal_id": id }).to_string()),
        ("update_plan", plan("theirs")),
    ] {
        for before in ["", "cd ../../../.. && "] {
            let script = format!("{before}\"$0\" call {tool} \"$1\"");
            let try_it = ["try", &id, "--no-record", "--", "sh", "-c", &script, aye, &arguments];
            repo.aye(&try_it).exits(4).says("in_trial");
        }
    }
    let script = "cd ../../../.. && AYE_AGENT=bot \"$0\" plan update '[]'";
    repo.aye(&["try", &id, "--no-record", "--", "sh", "-c", script, aye]).exits(4);
    assert_eq!(repo.aye(&["log", "--json"]).ok().out(), before);
    repo.aye(&["plan"]).ok().says("mine").lacks("theirs");
}

/// Nor does it take the gate away, or write where nobody decides.
#[test]
fn a_command_of_a_trial_changes_neither_hooks_nor_sessions_nor_threads() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    repo.aye(&["agents", "install", "claude-code"]).ok();
    let keep = ["run", "--keep", "--name", "s", "--", "sh", "-c", "echo new >new; echo {} >.x"];
    repo.cmd(&keep).env("AYE_AGENT", "robo").run().ok();
    let tree = support::sessions::tree(&repo, "s");
    std::fs::write(tree.join("unproposed"), "work\n").expect("write");
    let id = propose(&repo, "a.txt", "one", "eins");
    let aye = env!("CARGO_BIN_EXE_aye");
    let run = |script: &str| {
        repo.aye(&["try", &id, "--no-record", "--", "sh", "-c", &format!("{script}\n"), aye])
    };
    let state = || {
        let hooks = repo.aye(&["hooks", "status"]).ok().out();
        let sessions = repo.aye(&["session", "list", "--json"]).ok().out();
        let refs = repo.git(&["for-each-ref", "refs/aye"]);
        (hooks, sessions, refs, repo.git(&["status", "--porcelain"]))
    };
    let before = state();
    let words = [
        "hooks install",
        "hooks uninstall",
        "agents install gemini --project",
        "agents install gemini --user",
        "agents remove claude-code",
        "session end s --discard",
        "doctor --gc",
        "memory init",
        "init --agents",
    ];
    for words in words {
        for actor in ["", "AYE_AGENT=robo "] {
            let script = format!("cd ../../../.. && {actor}\"$0\" {words}");
            run(&script).exits(4).notes("error[in_trial]");
        }
    }
    run("cd ../../../.. && \"$0\" hooks status && \"$0\" session list && \"$0\" doctor --gc -n")
        .ok();
    assert_eq!(state(), before);
}

#[test]
fn all_kinds_of_changes_are_there() {
    let repo = Repo::with(FILES);
    let json = r#"{"edits": [
        {"file_path": "b.txt", "delete": true},
        {"file_path": "new/deep.txt", "content": "deep\n"}
    ]}"#;
    let run = repo.aye_stdin(&["propose", "--from-json", "-", "--json"], json).ok().json();
    let id = run["proposal_id"].as_str().unwrap().to_owned();
    let test = "test ! -e b.txt && cat new/deep.txt";
    repo.aye(&["try", &id, "--", "sh", "-c", test]).ok().says("deep");
    // Decided ones can be looked at again.
    reject(&repo, &id, "no");
    repo.aye(&["try", &id, "--", "sh", "-c", test]).ok();
    repo.aye(&["try", &id, "--as-proposed", "--", "true"]).fails("not_pending", 5);
}

#[test]
fn it_works_before_the_first_commit_and_in_a_bare_repository() {
    let repo = Repo::new();
    let id = propose(&repo, "a.txt", "", "new\n");
    repo.aye(&["try", &id, "--", "cat", "a.txt"]).ok().says("new");
    let source = Repo::with(FILES);
    let id = propose(&source, "a.txt", "one", "eins");
    let bare = source.outer().join("bare.git");
    let bare = bare.to_str().unwrap();
    source.git(&["clone", "-q", "--bare", ".", bare]);
    source.git(&["push", "-q", bare, "refs/aye/p/*:refs/aye/remotes/origin/0123456789abcdef/*"]);
    source.aye(&["-C", bare, "try", &id, "--", "cat", "a.txt"]).ok().says("eins");
}

#[test]
fn a_command_that_does_not_exist_is_said_and_leaves_nothing() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.aye(&["try", &id, "--", "no-such-command"]).fails("invalid_argument", 6);
    // A file that is there and may not be run.
    repo.aye(&["try", &id, "--", "./a.txt"]).fails("invalid_argument", 6);
    assert!(proposal(&repo, &id).checks.is_empty());
    repo.aye(&["try", "prop_zzzzzzzzzz", "--", "true"]).fails("proposal_not_found", 3);
    assert_clean(&repo);
}

#[test]
fn hooks_of_the_repository_do_not_run() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch ../hooked\necho hooked >&2\n");
    repo.chmod(".git/hooks/post-checkout", 0o755);
    let run = repo.aye(&["try", &id, "--", "true"]).ok();
    assert!(!run.err().contains("hooked"), "{}", run.err());
}

#[test]
fn told_to_stop_it_stops_the_command_and_cleans_up() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let sign = repo.outer().join("started");
    let test = format!("touch '{}'; exec sleep 600", sign.display());
    let running = repo.cmd(&["try", &id, "--", "sh", "-c", &test]).spawn();
    until("the command", || sign.exists());
    let pid = rustix::process::Pid::from_child(&running.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    running.wait().exits(128 + 15);
    assert_clean(&repo);
    assert!(proposal(&repo, &id).checks.is_empty());
}

#[test]
fn what_a_killed_try_leaves_the_next_command_removes_but_not_one_that_runs() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let start = |name: &str| {
        let sign = repo.outer().join(name);
        let test = format!(
            "pwd > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 20 >/dev/null 2>&1",
            sign.display()
        );
        let running = repo.cmd(&["try", &id, "--", "sh", "-c", &test]).spawn();
        until("the command", || sign.exists());
        let directory = std::fs::read_to_string(&sign).unwrap().trim().to_owned();
        (running, std::path::PathBuf::from(directory))
    };
    let (mut killed, left) = start("one");
    killed.child.kill().unwrap();
    killed.wait();
    assert!(left.is_dir());
    repo.aye(&["list"]).ok();
    assert!(!left.exists());
    let (alive, used) = start("two");
    repo.aye(&["try", &id, "--", "true"]).ok();
    assert!(used.is_dir());
    let pid = rustix::process::Pid::from_child(&alive.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    alive.wait().exits(128 + 2);
    assert_clean(&repo);
}

#[test]
fn the_result_is_written_to_a_file_anywhere() {
    use serde_json::json;
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let run = repo.aye(&["try", &id, "--result", "out.json", "--", "sh", "-c", "exit 3"]);
    run.exits(3).notes("out.json");
    let known = proposal(&repo, &id);
    let text = repo.text("out.json");
    let mut result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(result["duration_ms"].is_u64() && result["time"].is_string(), "{result:#}");
    for key in ["duration_ms", "time"] {
        result.as_object_mut().expect("an object").remove(key);
    }
    // Nothing in it is about the proposal itself.
    assert_eq!(
        result,
        json!({
            "format": "aye-try-result@1",
            "repository": null,
            "proposal": known.first_event,
            "revision": known.current().event,
            "command": ["sh", "-c", "exit 3"],
            "exit_code": 3,
            "actor": {"name": support::NAME, "email": support::EMAIL, "kind": "human"},
        })
    );
    assert_eq!(repo.mode("out.json") & 0o600, 0o600);
    assert_eq!(known.checks.len(), 1);
    // Written over in one step, and without a record where none is wanted.
    let args = ["try", &id, "--no-record", "--result", "out.json", "--json", "--", "true"];
    let json = repo.aye(&args).ok().json();
    assert_eq!((&json["result"], &json["recorded"]), (&"out.json".into(), &false.into()));
    assert!(repo.text("out.json").contains("\"exit_code\":0"));
    assert_eq!(proposal(&repo, &id).checks.len(), 1);
    let left = std::fs::read_dir(repo.root()).expect("the work tree").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("tmp")), "{left:?}");
    assert_clean(&repo);
}

#[test]
fn a_file_that_cannot_be_written_is_reported_before_the_command_runs() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let sign = repo.outer().join("ran");
    let test = format!("touch '{}'", sign.display());
    for file in ["none/out.json", ".", "none/"] {
        let run = repo.aye(&["try", &id, "--result", file, "--", "sh", "-c", &test]);
        assert!([4, 6].contains(&run.status), "{run}");
        run.notes(file);
    }
    assert!(!sign.exists());
    assert!(proposal(&repo, &id).checks.is_empty());
}

#[test]
fn ci_without_a_name_writes_the_file_and_no_event() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let build = repo.copy();
    let ci = |args: &[&str]| build.cmd(args).env("CI", "true").run();
    let refs = build.git(&["for-each-ref"]);
    ci(&["try", &id, "--", "true"]).ok().notes("--result");
    ci(&["try", &id, "--result", "out.json", "--", "true"]).ok();
    let result: serde_json::Value = serde_json::from_str(&build.text("out.json")).expect("JSON");
    assert_eq!(result["actor"]["kind"], "ci");
    assert_eq!(build.git(&["for-each-ref"]), refs);
}
