//! `aye agents test`: whether the edits of a client reach the checkout. The real clients are tried by hand (they
//! are large); here programs of their names play their parts.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Repo, Run};

/// A directory with git and the program `name`, which runs `script` where it is not asked for its version.
fn path(repo: &Repo, name: &str, script: &str) -> PathBuf {
    let bin = repo.outer().join("bin");
    std::fs::create_dir_all(&bin).expect("mkdir");
    let find = |program: &str| {
        let path = std::env::var_os("PATH").expect("a PATH");
        let mut found = std::env::split_paths(&path).map(|directory| directory.join(program));
        found.find(|file| file.is_file()).expect("a program")
    };
    std::os::unix::fs::symlink(find("git"), bin.join("git")).expect("symlink");
    let text =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && echo 'v9.8.7 (x)' && exit\n{script}\n");
    let file = bin.join(name);
    std::fs::write(&file, text).expect("write");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(file, mode).expect("chmod");
    bin
}

fn test(repo: &Repo, path: &Path, args: &[&str]) -> Run {
    let args = [&["agents", "test", "--json"], args].concat();
    repo.cmd(&args).env("PATH", path).env("ANTHROPIC_API_KEY", "the user's").run()
}

#[track_caller]
fn only(run: &Run) -> Value {
    let tests = run.json()["tests"].as_array().expect("a list").clone();
    assert_eq!(tests.len(), 1, "{tests:#?}");
    tests[0].clone()
}

#[test]
fn an_edit_that_reaches_the_checkout_is_seen() {
    let repo = Repo::new();
    // The user's own key is not for it, and its home is not the user's.
    let script =
        "[ \"$ANTHROPIC_API_KEY\" = none ] && [ -f \"$HOME/.claude/settings.json\" ] || exit
        echo x >canary-by-edit.txt; echo x >other.txt";
    let bin = path(&repo, "claude", script);
    let run = test(&repo, &bin, &[]).exits(1);
    let seen = only(&run);
    assert_eq!(seen["harness"], "claude-code");
    assert_eq!(seen["version"], "9.8.7");
    assert_eq!(seen["outcome"], "open", "{seen:#}");
    assert_eq!(seen["changed"], serde_json::json!(["canary-by-edit.txt", "other.txt"]));
    assert_eq!(run.json()["success"], false);
    // Nothing is left of it.
    let home = repo.outer().join("home");
    let left: Vec<String> = walk(&home);
    assert!(!left.iter().any(|path| path.contains("canary")), "{left:?}");
    assert!(!repo.exists("canary-by-edit.txt"));
}

fn walk(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            let mut below = if path.is_dir() { walk(&path) } else { Vec::new() };
            below.push(path.display().to_string());
            below
        })
        .collect()
}

#[test]
fn a_client_whose_edits_are_proposed_is_gated() {
    let repo = Repo::new();
    let script = r#"aye=@AYE@
        [ -f "$HOME/.config/opencode/plugin/aye.js" ] || { echo canary >canary-by-command.txt; exit; }
        printf '{"session":"s","directory":"%s","tool":"write","args":{"filePath":"%s/canary-by-edit.txt"}}' \
            "$PWD" "$PWD" | "$aye" agents hook opencode before
        set -- "$HOME"/state/aye/trees/*/*
        echo canary >"$1/canary-by-edit.txt"
        echo canary >"$1/canary-by-command.txt"
        printf '{"session":"s","directory":"%s"}' "$PWD" | "$aye" agents hook opencode idle"#;
    let bin = path(&repo, "opencode", &script.replace("@AYE@", env!("CARGO_BIN_EXE_aye")));
    let run = test(&repo, &bin, &["opencode"]).ok();
    let seen = only(&run);
    assert_eq!(seen["outcome"], "gated", "{seen:#}");
    assert_eq!(seen["changed"], serde_json::json!([]));
    assert_eq!(run.json()["success"], true);
    // It is a matter of its own: no proposal of it is in the repository that it was started in.
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 0);
    // As a control, the same without hooks.
    let bare = test(&repo, &bin, &["opencode", "--control"]).exits(1);
    assert!(bare.err().contains("without aye's hooks"), "{}", bare.err());
    assert_eq!(only(&bare)["outcome"], "open");
}

#[test]
fn what_cannot_be_seen_is_said_and_is_no_success() {
    let repo = Repo::new();
    let bin = path(&repo, "codex", "echo 'no \u{1b}[31mlogin' >&2; exit 3");
    let run = test(&repo, &bin, &["codex", "gemini"]).exits(1).json();
    let tests = run["tests"].as_array().expect("a list");
    assert_eq!(tests[0]["outcome"], "unclear");
    let detail = tests[0]["detail"].as_str().expect("a text");
    assert!(detail.contains("status 3") && detail.contains("asked the model nothing"), "{detail}");
    assert!(detail.contains("login"), "{detail}");
    assert_eq!(tests[1]["outcome"], "not_installed");
    let text = repo.cmd(&["agents", "test", "codex"]).env("PATH", &bin).run().exits(1).out();
    assert!(text.contains("codex") && !text.contains('\u{1b}'), "{text:?}");
    // With none here, there is nothing to be sure of.
    std::fs::remove_file(bin.join("codex")).expect("rm");
    let run = test(&repo, &bin, &[]).exits(1);
    assert!(run.err().contains("on PATH"), "{}", run.err());
}

#[test]
fn a_client_that_does_not_end_is_ended() {
    let repo = Repo::new();
    let bin = path(&repo, "gemini", "while :; do :; done");
    let seen = only(&test(&repo, &bin, &["gemini", "--timeout", "1"]).exits(1));
    assert_eq!(seen["outcome"], "unclear");
    assert!(seen["detail"].as_str().expect("a text").contains("within 1 seconds"), "{seen:#}");
}

#[test]
fn what_was_never_tried_is_not_testable_and_is_left_out_of_all() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let place = path(&repo, "cursor", "exit 0");
    for name in ["cursor", "windsurf", "cline", "kiro"] {
        let run = test(&repo, &place, &[name]).exits(1);
        assert_eq!(only(&run)["outcome"], "not_testable");
    }
    let all = test(&repo, &place, &[]).exits(1);
    assert_eq!(all.json()["tests"], serde_json::json!([]));
}
