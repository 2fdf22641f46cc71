//! `aye patch` and the apply_patch tool: what is applied, what is refused, and what is said.

use crate::support::record::propose;
use crate::support::{self, Repo};
use serde_json::{Value, json};

const FIX: &str =
    "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n fn a() {\n-    1\n+    2\n }\n";
const A: &str = "fn a() {\n    1\n}\n";

fn yaml(bytes: &[u8]) -> Value {
    serde_yaml::from_slice(bytes)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(bytes)))
}

fn call(repo: &Repo, arguments: &Value) -> support::Run {
    repo.aye_stdin(&["call", "apply_patch", "-"], arguments.to_string())
}

#[test]
fn the_contracts_example_gives_the_contracts_answer() {
    let repo = Repo::with(&[("file.ts", "line1\nline2\n")]);
    let patch = "--- a/file.ts\n+++ b/file.ts\n@@ -1,3 +1,4 @@\n line1\n line2\n+line3\n";
    let answer = yaml(&call(&repo, &json!({ "patch": patch })).ok().stdout);
    assert_eq!(answer["status"], "ok");
    assert_eq!(answer["path"], "file.ts");
    assert_eq!(answer["patch_applied"], true);
    assert!(answer["applied_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(answer["files"][0]["hunks"][0]["recounted"], true);
    assert_eq!(repo.text("file.ts"), "line1\nline2\nline3\n");
    let again = yaml(&call(&repo, &json!({ "patch": patch })).ok().stdout);
    assert_eq!((&again["already_applied"], &again["patch_applied"]), (&json!(true), &json!(false)));
    assert_eq!(repo.text("file.ts"), "line1\nline2\nline3\n");
}

#[test]
fn a_patch_is_applied_whole_or_not_at_all() {
    let repo = Repo::with(&[("src/a.rs", A), ("b", "b\n")]);
    let before = repo.snapshot();
    let patch = format!("{FIX}--- a/b\n+++ b/b\n@@ -1 +1 @@\n-nope\n+B\n");
    repo.aye_stdin(&["patch"], &patch).exits(5);
    assert_eq!(repo.snapshot(), before);
    let patch = patch.replace("-nope", "-b");
    repo.aye_stdin(&["patch"], patch).ok();
    assert_eq!(
        (repo.text("src/a.rs").as_str(), repo.text("b").as_str()),
        ("fn a() {\n    2\n}\n", "B\n")
    );
}

#[test]
fn a_dry_run_changes_nothing_and_index_stages() {
    let repo = Repo::with(&[("src/a.rs", A)]);
    let before = repo.snapshot();
    repo.write("../fix.diff", FIX);
    let run = repo.aye(&["patch", "-n", "../fix.diff"]).ok();
    assert_eq!(yaml(&run.stdout)["dry_run"], true);
    assert_eq!(repo.snapshot(), before);
    repo.aye(&["patch", "--index", "../fix.diff", "--format", "text"])
        .ok()
        .says("M src/a.rs +1 -1");
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "src/a.rs");
    assert_eq!(repo.git(&["diff", "--name-only"]), "");
    repo.aye(&["patch", "-R", "../fix.diff"]).ok();
    assert_eq!(repo.text("src/a.rs"), A);
}

#[test]
fn a_gate_turns_a_patch_into_a_proposal_and_says_so() {
    let repo = Repo::with(&[("src/a.rs", A)]);
    repo.git(&["config", "aye.gate", "true"]);
    let answer = yaml(&call(&repo, &json!({ "patch": FIX })).ok().stdout);
    assert_eq!((&answer["gated"], &answer["patch_applied"]), (&json!(true), &json!(false)));
    assert!(answer["message"].as_str().unwrap().contains("aye.gate"));
    assert_eq!(repo.text("src/a.rs"), A);
    let id = answer["proposal_id"].as_str().unwrap().to_owned();
    repo.aye(&["list"]).ok().says("src/a.rs");
    repo.aye(&["apply", "--yes", &id]).ok();
    assert_eq!(repo.text("src/a.rs"), "fn a() {\n    2\n}\n");
    // The policy in HEAD says the same, and only the one in HEAD.
    let repo = Repo::with(&[("src/a.rs", A)]);
    repo.write(".agent-memory/policy.toml", "gate = true\n");
    repo.git(&["add", "--force", "--all"]);
    repo.aye_stdin(&["patch", "-n"], FIX).ok();
    repo.git(&["commit", "--quiet", "-m", "Gate"]);
    repo.write(".agent-memory/policy.toml", "gate = false\n");
    repo.git(&["config", "aye.gate", "false"]);
    let answer = yaml(&call(&repo, &json!({ "patch": FIX })).ok().stdout);
    assert_eq!(answer["gated"], true);
    assert!(answer["message"].as_str().unwrap().contains(".agent-memory/policy.toml"));
    assert_eq!(repo.text("src/a.rs"), A);
    repo.write(".agent-memory/policy.toml", "gate = maybe\n");
    repo.git(&["add", "--force", "--all"]);
    repo.git(&["commit", "--quiet", "-m", "Break it"]);
    repo.aye_stdin(&["patch", "--format", "text"], FIX).fails("invalid_policy", 6);
    assert_eq!(repo.text("src/a.rs"), A);
    // Asked for, without a gate.
    let repo = Repo::with(&[("src/a.rs", A)]);
    let run = repo.aye_stdin(&["patch", "--propose", "-m", "Two"], FIX).ok();
    assert!(yaml(&run.stdout)["proposal_id"].is_string());
    assert_eq!(repo.text("src/a.rs"), A);
}

/// What is staged stays staged, and what is not is not staged along: git refuses both.
#[test]
fn index_refuses_a_file_that_has_something_else_staged() {
    let lines = |from: &str, to: &str| -> String {
        (1..=20).map(|n| n.to_string() + "\n").collect::<String>().replace(from, to)
    };
    let patch = "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n";
    let base = Repo::with(&[("f", lines("", "")), ("g", "g\n".to_owned())]);
    let xv = lines("15\n", "XV\n");
    // Each: the staged text, the text in the work tree.
    let cases = [(Some(&xv), None), (None, Some(&xv)), (Some(&xv), Some(&xv))];
    for (staged, present) in cases {
        let repo = base.copy();
        let original = repo.text("f");
        repo.write("f", staged.unwrap_or(&original));
        repo.git(&["add", "f"]);
        repo.write("f", present.unwrap_or(&original));
        let before = (repo.snapshot(), repo.git(&["ls-files", "--stage"]));
        let id = repo.aye_stdin(&["propose", "--patch", "-"], patch).ok().id();
        let git = repo.copy();
        git.try_git(&["update-index", "-q", "--refresh"]);
        let theirs = git.program("git").args(&["apply", "--index", "-"]).stdin(patch).run();
        let runs = [
            repo.aye_stdin(&["patch", "--index", "--format", "text"], patch),
            repo.aye(&["apply", "--yes", "--index", &id]),
        ];
        if staged == present {
            theirs.ok();
            runs[0].clone().ok();
            assert_eq!(repo.git(&["ls-files", "--stage"]), git.git(&["ls-files", "--stage"]));
            continue;
        }
        assert!(theirs.err().contains("index"), "{theirs}");
        for run in runs {
            run.fails("uncommitted_changes", 5);
        }
        assert_eq!(repo.git(&["ls-files", "--stage"]), before.1);
        assert_eq!(repo.text("f"), present.unwrap_or(&original).as_str());
        repo.aye_stdin(&["patch"], patch).ok();
    }
    // What was applied before, and is staged only now.
    let repo = base.copy();
    let id = repo.aye_stdin(&["propose", "--patch", "-"], patch).ok().id();
    repo.aye_stdin(&["patch"], patch).ok();
    repo.aye(&["apply", "--yes", "--index", &id]).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "M  f");
    // Removed from the work tree alone, unmerged, or with another mode.
    let refused = |repo: &Repo, patch: &str| {
        let index = repo.git(&["ls-files", "--stage"]);
        for flag in ["--dry-run", "--unidiff-zero"] {
            let run = repo.aye_stdin(&["patch", "--index", "--format=text", flag], patch);
            run.fails("uncommitted_changes", 5);
        }
        assert_eq!(repo.git(&["ls-files", "--stage"]), index);
    };
    let repo = base.copy();
    repo.remove("g");
    refused(&repo, "--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+new\n");
    assert!(!repo.exists("g"));
    let repo = base.copy();
    repo.chmod("f", 0o755);
    refused(&repo, patch);
    let repo = base.copy();
    let blob = repo.git(&["rev-parse", "HEAD:g"]);
    let unmerged = format!("0 {} 0\tg\n100644 {blob} 1\tg\n100644 {blob} 2\tg\n", "0".repeat(40));
    repo.program("git").args(&["update-index", "--index-info"]).stdin(unmerged).run().ok();
    refused(&repo, "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-g\n+G\n");
    // Git would not stage these at all.
    for mark in ["assume-unchanged", "skip-worktree"] {
        let repo = base.copy();
        repo.git(&["update-index", &format!("--{mark}"), "f"]);
        refused(&repo, patch);
        let id = repo.aye_stdin(&["propose", "--patch", "-"], patch).ok().id();
        let apply = repo.aye(&["apply", "--yes", "--commit", &id]);
        apply.fails("uncommitted_changes", 5).notes(&format!("--no-{mark} f"));
        assert!(!repo.text("f").contains("five"));
    }
    // Files that are converted, or have another time, are what the index has.
    let repo = base.copy();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.remove("f");
    repo.git(&["checkout", "-q", "f"]);
    repo.write("f", repo.text("f"));
    assert!(repo.text("f").contains("\r\n"));
    repo.aye_stdin(&["patch", "--index"], patch).ok();
    assert_eq!(repo.git(&["diff", "--cached", "--numstat"]), "1\t1\tf");
}

/// Where git finds `git aye`.
fn path_with_aye() -> std::ffi::OsString {
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_git-aye")).parent();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories =
        directory.map(std::path::Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(directories).expect("directories without a colon")
}

/// However git lets a person say it, the gate is closed.
#[test]
fn a_gate_is_closed_in_every_spelling_of_git_configuration() {
    let clean = Repo::with(&[("src/a.rs", A)]);
    let file = clean.outer().join("gate.config");
    std::fs::write(&file, "[aye]\n\tgate\n").unwrap();
    let gated = |repo: &Repo, cmd: support::Cmd, how: &str| {
        let answer = yaml(&cmd.stdin(FIX).run().ok().stdout);
        assert_eq!(answer["gated"], true, "{how}");
        assert_eq!(repo.text("src/a.rs"), A, "{how}");
    };
    let configured = |text: &str| {
        let repo = clean.copy();
        repo.write(".git/config", repo.text(".git/config") + text);
        repo
    };
    for line in ["gate", "gate = yes", "gate = on", "gate = 1", "GATE = TRUE"] {
        let repo = configured(&format!("[aye]\n\t{line}\n"));
        gated(&repo, repo.cmd(&["patch"]), line);
    }
    // Git follows these too.
    for section in ["INCLUDE", "includeif \"gitdir:**\""] {
        let include = |path: &str| configured(&format!("[{section}]\n\tPATH = {path}\n"));
        let repo = include(file.to_str().unwrap());
        assert_eq!(repo.git(&["config", "--bool", "aye.gate"]), "true", "{section}");
        gated(&repo, repo.cmd(&["patch"]), section);
        include("/nowhere").aye_stdin(&["patch"], FIX).ok().says("patch_applied: true");
    }
    for how in ["aye.gate=true", "aye.gate", "Aye.Gate=yes"] {
        let repo = clean.copy();
        let git = repo.program("git").args(&["-c", how, "-c", "user.name=it's", "aye", "patch"]);
        gated(&repo, git.env("PATH", path_with_aye()), how);
    }
    let included = format!("'include.path'='{}'", file.display());
    for how in ["'aye.gate=true'", "'aye.gate'='true'", "'aye.gate'=", "'aye.gate'", &included] {
        let repo = configured("[aye]\n\tgate = false\n");
        gated(&repo, repo.cmd(&["patch"]).env("GIT_CONFIG_PARAMETERS", how), how);
    }
    for how in ["'aye.gate'='true", "aye.gate=true", "'aye.gate'='maybe'", "'gate'='true'"] {
        let repo = clean.copy();
        let cmd = repo.cmd(&["patch", "--format", "text"]).env("GIT_CONFIG_PARAMETERS", how);
        cmd.stdin(FIX).run().fails("invalid_config", 2);
        assert_eq!(repo.text("src/a.rs"), A, "{how}");
    }
    // What a person has set for all repositories, an agent can loosen in none, nor by what it types.
    let own = clean.user_config(&[("aye.gate", "true")]);
    for (key, text) in
        [("local", "[aye]\n\tgate = true\n"), ("worktree", "[Include]\n[aye]\n\tgate\n")]
    {
        std::fs::write(&own, text).unwrap();
        let repo = clean.copy();
        repo.git(&["config", "extensions.worktreeConfig", "true"]);
        repo.git(&["config", &format!("--{key}"), "aye.gate", "false"]);
        gated(&repo, repo.cmd(&["patch"]).env("GIT_CONFIG_GLOBAL", &own), key);
        let given = repo.cmd(&["patch"]).env("GIT_CONFIG_PARAMETERS", "'aye.gate'='false'");
        gated(&repo, given.env("GIT_CONFIG_GLOBAL", &own), key);
    }
}

/// What cannot be read of HEAD's policy lets nothing pass.
#[test]
fn a_policy_that_cannot_be_read_keeps_the_gate_closed() {
    let refused = |repo: &Repo| {
        repo.aye_stdin(&["patch", "--format", "text"], FIX).fails("invalid_policy", 6);
        assert_eq!(repo.text("src/a.rs"), A);
    };
    let commit = |repo: &Repo| {
        repo.git(&["add", "--force", "--all"]);
        repo.git(&["commit", "--quiet", "-m", "Gate"]);
    };
    let repo = Repo::with(&[("src/a.rs", A)]);
    repo.write(".agent-memory/policy.toml", "Gate = true\n");
    commit(&repo);
    refused(&repo);
    let repo = Repo::with(&[("src/a.rs", A), ("rules/policy.toml", "gate = true\n")]);
    repo.symlink("rules", ".agent-memory");
    commit(&repo);
    refused(&repo);
    let repo = Repo::with(&[("src/a.rs", A)]);
    repo.write(".git/HEAD", "1".repeat(40) + "\n");
    refused(&repo);
}

/// Everything here must leave every file as it was, inside and outside.
#[test]
fn hostile_patches_change_nothing_and_name_the_reason() {
    let repo = Repo::with(&[("f", "x\n"), ("dir/g", "x\n")]);
    let outside = repo.outer().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "x\n").unwrap();
    repo.symlink("../outside", "link");
    repo.symlink("../outside/secret", "filelink");
    std::fs::hard_link(outside.join("secret"), repo.path("hard")).unwrap();
    repo.git(&["init", "-q", "sub"]);
    repo.write("sub/f", "x\n");
    let bomb = aye::changeset::FileChange {
        path: aye::changeset::RepoPath::new("bomb").unwrap(),
        before: None,
        after: Some(aye::changeset::File::regular(vec![0u8; 64 << 20])),
        origin: None,
        snippets: Vec::new(),
    };
    let bomb = aye::changeset::emit::file_patch(&bomb, 3, gix::hash::Kind::Sha1);
    let change = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x\n+evil\n");
    let create = |name: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+evil\n");
    let envelope =
        |name: &str| format!("*** Begin Patch\n*** Add File: {name}\n+evil\n*** End Patch\n");
    let link = "diff --git a/new b/new\nnew file mode 120000\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+../outside\n\\ No newline at end of file\n";
    let mut patches = vec![
        (change("link/secret"), "symlink_in_way"),
        (create("link/new"), "symlink_in_way"),
        (change("filelink"), "symlink_in_way"),
        (change("hard"), "hard_link"),
        (change("sub/f"), "in_submodule"),
        (create("sub/new"), "in_submodule"),
        (create("f/inner"), "not_a_directory"),
        (String::from_utf8(bomb).unwrap(), "size_limit_exceeded"),
        (format!("{link}{}", create("new/evil")), "file_mode_refused"),
        (link.replace("120000", "160000"), "file_mode_refused"),
        (link.replace("120000", "104755"), "file_mode_refused"),
        (
            link.replace("120000", "100644").replace("a/new", "a/link").replace("b/new", "b/link"),
            "symlink_in_way",
        ),
        (
            "diff --git a/link b/copy\ncopy from link/secret\ncopy to copy\n".into(),
            "symlink_in_way",
        ),
        (
            "diff --git a/x b/copy\ncopy from ../outside/secret\ncopy to copy\n".into(),
            "path_invalid",
        ),
        ("1d\n".into(), "patch_unsupported"),
        (format!("{}{}", create("n"), create("n/m")), "changeset_invalid"),
        (format!("{}{}", create("n"), create("n")), "file_exists"),
    ];
    for name in ["../evil", "/tmp/evil", "dir/../../evil", "C:/evil", "dir\\evil", "a//../evil"] {
        patches.push((envelope(name), "path_invalid"));
        patches.push((create(name), "path_invalid"));
    }
    for name in [
        ".git/hooks/pre-commit",
        ".GIT/config",
        "dir/.git/config",
        "git~1/config",
        ".git./config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u{200c}it/config",
        ".git /config",
    ] {
        patches.push((envelope(name), "path_in_git_dir"));
        patches.push((create(name), "path_in_git_dir"));
    }
    let before = (repo.snapshot(), std::fs::read(outside.join("secret")).unwrap());
    for (patch, code) in &patches {
        for index in [false, true] {
            let run = call(&repo, &json!({ "patch": patch, "index": index }));
            assert_ne!(run.status, 0, "{patch}\n{run}");
            assert_eq!(yaml(&run.stdout)["code"], *code, "{patch}\n{run}");
            assert!(repo.snapshot() == before.0, "{patch}");
            assert_eq!(std::fs::read(outside.join("secret")).unwrap(), before.1, "{patch}");
            assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "{patch}");
        }
    }
    assert!(!repo.path(".git/hooks/pre-commit").exists());
    let _listener = std::os::unix::net::UnixListener::bind(repo.path("socket")).unwrap();
    let run = call(&repo, &json!({ "patch": create("socket") })).exits(6);
    assert_eq!(yaml(&run.stdout)["code"], "special_file");
}

/// Nothing on the disk tells that a submodule is one, where it is not checked out: its directory is
/// empty or gone, and `.gitmodules` may be gone too.
#[test]
fn a_submodule_that_only_the_index_knows_takes_no_files() {
    let repo = Repo::with(&[("f", "x\n")]);
    let head = repo.git(&["rev-parse", "HEAD"]);
    for path in ["lib/sub", "far/away/sub"] {
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},{path}")]);
    }
    std::fs::create_dir_all(repo.path("lib/sub")).unwrap();
    let (before, index) = (repo.snapshot(), repo.git(&["ls-files", "--stage"]));
    for name in ["lib/sub/new", "lib/sub/deep/new", "far/away/sub/new"] {
        let patch = format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+evil\n");
        for way in [&["patch"][..], &["patch", "--index"], &["patch", "--propose"]] {
            let run = repo.aye_stdin(&[way, &["--format", "text"]].concat(), &patch);
            run.fails("in_submodule", 6).notes(name);
        }
        repo.aye_stdin(&["propose", "--patch", "-"], &patch).fails("in_submodule", 6);
        assert_eq!(
            (repo.snapshot(), repo.git(&["ls-files", "--stage"])),
            (before.clone(), index.clone())
        );
    }
    // Beside them there is no harm.
    let beside = "--- /dev/null\n+++ b/far/away/new\n@@ -0,0 +1 @@\n+x\n";
    let id = repo.aye_stdin(&["propose", "--patch", "-"], beside).ok().id();
    // Made one while the proposal waited.
    repo.git(&["update-index", "--force-remove", "far/away/sub"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},far/away")]);
    repo.aye(&["apply", "--yes", &id]).fails("in_submodule", 6);
    assert!(!repo.exists("far"));
}

/// Whatever makes a proposal of a patch refuses what could never be applied.
#[test]
fn what_no_apply_could_write_becomes_no_proposal_by_way_of_patch() {
    let repo = Repo::with(&[("f", "x\n")]);
    for (name, code) in [
        ("f/inner", "not_a_directory"),
        (".agent-memory/proposals/prop_0000000000/change.patch", "path_invalid"),
        (".agent-memory/staging/x", "path_invalid"),
    ] {
        let patch = format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+evil\n");
        for way in [&["patch"][..], &["patch", "--propose"], &["patch", "--dry-run"]] {
            repo.aye_stdin(&[way, &["--format", "text"]].concat(), &patch).fails(code, 6);
        }
        repo.git(&["config", "aye.gate", "true"]);
        repo.aye_stdin(&["patch", "--format", "text"], &patch).fails(code, 6);
        repo.git(&["config", "aye.gate", "false"]);
    }
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["proposals"], json!([]));
    assert!(!repo.exists(".agent-memory"));
}

/// A path of 4,000 bytes may have 2,000 directories: each costs the same, or one file takes minutes.
#[test]
fn a_file_in_two_thousand_directories_is_made_and_removed() {
    let repo = Repo::with(&[("f", "x\n")]);
    let before = repo.snapshot();
    let deep = format!("{}f", "d/".repeat(2000));
    let patch = format!("--- /dev/null\n+++ b/{deep}\n@@ -0,0 +1 @@\n+x\n");
    repo.aye_stdin(&["patch"], &patch).ok().says("patch_applied: true");
    assert_eq!(repo.text(&deep), "x\n");
    repo.aye_stdin(&["patch", "-R"], &patch).ok();
    assert_eq!(repo.snapshot(), before);
    assert!(!repo.exists("d"));
}

/// The line number is all that says where such a hunk goes, so it has to be right.
#[test]
fn a_hunk_that_only_adds_and_has_no_context_goes_to_the_very_end_or_nowhere() {
    let repo = Repo::with(&[("f", "a\nb\nc\n")]);
    let patch = |at: &str| format!("--- a/f\n+++ b/f\n@@ {at} @@\n+x\n");
    for at in ["-1,0 +2", "-2,0 +3", "-4,0 +5", "-40,0 +41", "-0,0 +1"] {
        let run = repo.aye_stdin(&["patch", "--format", "text"], patch(at));
        let run = run.fails("hunk_failed", 5);
        assert!(run.err().contains("--unidiff-zero"), "{at} {run}");
        // Each caller is told what it can say itself.
        let answer = yaml(&call(&repo, &json!({ "patch": patch(at) })).exits(5).stdout);
        let hint = answer["hint"].as_str().expect("a hint");
        assert!(hint.contains("\"unidiff_zero\": true") && !hint.contains("--"), "{at} {hint}");
    }
    // Where it is said to go, and nowhere else without a word.
    let far = ["patch", "--unidiff-zero", "--dry-run"];
    let answer = yaml(&repo.aye_stdin(&far, patch("-40,0 +41")).ok().stdout);
    assert_eq!(answer["files"][0]["hunks"][0]["offset"], -37);
    repo.aye_stdin(&["patch"], patch("-3,0 +4")).ok();
    assert_eq!(repo.text("f"), "a\nb\nc\nx\n");
    repo.aye_stdin(&["patch", "--unidiff-zero"], patch("-1,0 +2")).ok();
    assert_eq!(repo.text("f"), "a\nx\nb\nc\nx\n");
    // As in git, lines without context after them are the last of the file.
    let end = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-x\n+X\n";
    repo.aye_stdin(&["patch", "--format", "text"], end).fails("hunk_failed", 5);
    repo.aye_stdin(&["patch", "--unidiff-zero"], end).ok();
}

/// Odd forms that agents send, each with the one change of `FIX`.
#[test]
fn envelopes_are_taken_as_agents_write_them() {
    let body = "@@ fn a() {\n-    1\n+    2\n }\n";
    let update = format!("*** Update File: src/a.rs\n{body}");
    let whole = format!("*** Begin Patch\n{update}*** End Patch\n");
    let habit = "--- a/src/a.rs\n+++ b/src/a.rs\n";
    for patch in [
        whole.clone(),
        whole.replace('\n', "\r\n"),
        whole.trim_end().to_owned(),
        format!("apply_patch <<'EOF'\n{whole}EOF\n"),
        format!("bash -lc \"apply_patch <<'PATCH'\n{whole}PATCH\"\n"),
        format!("Here it is:\n```diff\n{whole}```\n"),
        whole.replace(": src", ": ./src"),
        format!(" *** Begin Patch \n *** Update File: src/a.rs \n{body} *** End Patch \n"),
        format!("*** Begin Patch\n*** Update File: src/a.rs\n{habit}{body}*** End Patch\n"),
        format!("*** Begin Patch\n{FIX}*** End Patch\n"),
        format!("*** Begin Patch\ndiff --git a/src/a.rs b/src/a.rs\n{FIX}*** End Patch\n"),
        format!("{FIX}*** End Patch\n"),
    ] {
        let repo = Repo::with(&[("src/a.rs", A)]);
        let run = repo.aye_stdin(&["patch"], &patch);
        assert_eq!(run.status, 0, "{patch}\n{run}");
        assert_eq!(repo.text("src/a.rs"), A.replace('1', "2"), "{patch}");
    }
    let repo = Repo::with(&[("src/a.rs", A)]);
    for patch in [format!("*** Begin Patch\n{update}"), format!("{whole}{whole}")] {
        repo.aye_stdin(&["patch", "--format", "text"], patch).fails("patch_invalid", 6);
    }
}

/// A file becomes a directory and the directory a file again; what else lies in it stops that.
#[test]
fn a_directory_that_is_emptied_gives_way_to_a_file() {
    let repo = Repo::with(&[("f", "x\n")]);
    let before = repo.snapshot();
    let patch = "diff --git a/f b/f/g\nsimilarity index 100%\nrename from f\nrename to f/g\n";
    repo.aye_stdin(&["patch", "--index"], patch).ok();
    assert_eq!(repo.text("f/g"), "x\n");
    repo.aye_stdin(&["patch", "--index", "-R"], patch).ok();
    assert_eq!(repo.snapshot(), before);
    repo.aye_stdin(&["patch"], patch).ok();
    let envelope = "*** Begin Patch\n*** Delete File: f/g\n*** Add File: f\n+y\n*** End Patch\n";
    repo.write("f/other", "o\n");
    repo.aye_stdin(&["patch", "--format", "text"], envelope).fails("directory_not_empty", 5);
    repo.aye_stdin(&["patch", "--format", "text", "-R"], patch).fails("directory_not_empty", 5);
    assert_eq!((repo.text("f/g").as_str(), repo.text("f/other").as_str()), ("x\n", "o\n"));
    repo.remove("f/other");
    repo.aye_stdin(&["patch"], envelope).ok();
    assert_eq!(repo.text("f"), "y\n");
}

/// What goes and what comes in its place are staged together, in either order.
#[test]
fn a_directory_and_a_file_of_one_name_are_staged_and_committed_in_each_others_place() {
    for (old, new) in [("d/x", "d"), ("d", "d/x")] {
        let repo = Repo::with(&[(old, "old\n"), ("keep", "1\n")]);
        let first = repo.git(&["rev-parse", "HEAD"]);
        repo.git(&["rm", "-q", old]);
        repo.write(new, "new\n");
        repo.git(&["add", "--all"]);
        repo.git(&["commit", "-q", "-m", "Other"]);
        let patch = repo.git(&["diff", "--no-renames", "HEAD^", "HEAD"]) + "\n";
        let wanted = repo.git(&["rev-parse", "HEAD^{tree}"]);
        repo.git(&["checkout", "-q", "--detach", &first]);
        repo.aye_stdin(&["patch", "--index"], &patch).ok();
        assert_eq!(repo.git(&["write-tree"]), wanted);
        repo.git(&["reset", "-q", "--hard"]);
        let id = repo.aye_stdin(&["propose", "--patch", "-"], &patch).ok().id();
        repo.aye(&["apply", "--yes", "--index", &id]).ok();
        assert_eq!(repo.git(&["write-tree"]), wanted);
        repo.git(&["reset", "-q", "--hard"]);
        let id = repo.aye_stdin(&["propose", "--patch", "-"], &patch).ok().id();
        repo.script(".git/hooks/pre-commit", "exit 1");
        repo.aye(&["apply", "--yes", "--commit", &id]).fails("git_failed", 4);
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
        repo.remove(".git/hooks/pre-commit");
        repo.aye(&["apply", "--yes", "--commit", &id]).ok();
        assert_eq!(repo.git(&["rev-parse", "HEAD^{tree}"]), wanted);
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}

/// Stopped while it writes fifty files, at one step after the other: the next command finds
/// all of them old or all of them new.
#[test]
fn a_killed_patch_leaves_all_files_old_or_all_new() {
    let names: Vec<String> = (0..50).map(|n| format!("d{}/f{n}", n % 5)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "old\n")).collect();
    let repo = Repo::with(&files);
    let forward: String =
        names.iter().map(|n| format!("--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@\n-old\n+new\n")).collect();
    repo.write("../forward.diff", forward);
    let state = |text: &str| names.iter().filter(|name| repo.text(name) == text).count();
    let (mut killed, mut reverse) = (0, false);
    let steps = [
        "journal.write", "journal.half", "journal.written", "worktree.create", "worktree.rename",
        "worktree.replace", "journal.commit", "journal.committed", "journal.remove",
    ];
    let times = ["return", "1*off->return", "25*off->return", "49*off->return"];
    for stop in steps.iter().flat_map(|step| times.map(|times| format!("{step}={times}"))) {
        let args: &[&str] = if reverse {
            &["patch", "-R", "../forward.diff"]
        } else {
            &["patch", "../forward.diff"]
        };
        let run = repo.cmd(args).env("FAILPOINTS", &stop).run();
        killed += usize::from(run.status == 128 + 6);
        repo.aye(&["list"]).ok();
        let (old, new) = (state("old\n"), state("new\n"));
        assert!((old, new) == (50, 0) || (old, new) == (0, 50), "{stop}: {old} old, {new} new");
        reverse = new == 50;
    }
    assert!(killed > steps.len(), "only {killed} were stopped");
}

/// Where counts are all there is to go by, a whole last line is believed and half a line is not.
#[test]
fn an_added_line_that_may_be_half_a_line_is_refused() {
    let repo = Repo::with(&[("a", "1\n2\n")]);
    let half = "--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n 1\n 2\n+thr";
    let refused = repo.aye_stdin(&["patch", "--format", "text"], half);
    refused.fails("patch_invalid", 6);
    assert_eq!(repo.text("a"), "1\n2\n");
    repo.aye_stdin(&["patch"], format!("{half}ee\n")).ok();
    assert_eq!(repo.text("a"), "1\n2\nthree\n");
}

#[test]
fn a_file_that_the_sparse_checkout_leaves_out_is_said_to_be() {
    let repo = Repo::with(&[("in/a", "1\n"), ("out/b", "1\n")]);
    repo.git(&["sparse-checkout", "set", "in"]);
    let patch = "--- a/out/b\n+++ b/out/b\n@@ -1 +1 @@\n-1\n+2\n";
    let run = repo.aye_stdin(&["patch", "--format", "text"], patch);
    run.fails("file_not_found", 3).notes("git sparse-checkout add 'out'");
    let run = repo.aye(&["propose", "out/b", "--old", "1", "--new", "2"]);
    run.fails("file_not_found", 3).notes("git sparse-checkout add 'out'");
    repo.git(&["sparse-checkout", "add", "out"]);
    let id = propose(&repo, "out/b", "1", "3");
    repo.git(&["sparse-checkout", "set", "in"]);
    for args in [&["diff", &id][..], &["apply", &id, "--dry-run"]] {
        repo.aye(args).notes("git sparse-checkout add 'out'");
    }
    repo.git(&["sparse-checkout", "add", "out"]);
    repo.aye_stdin(&["patch"], patch).ok();
    assert_eq!(repo.text("out/b"), "2\n");
}

/// Nothing marks the caller, and nobody sits at a terminal: it may be an agent.
#[test]
fn memory_is_not_patched_without_a_terminal() {
    let repo = Repo::with(&[(".agent-memory/notes.md", "a\n"), ("a.txt", "a\n")]);
    let patch = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
    repo.cmd(&["patch"]).stdin(patch("a.txt")).run().ok();
    assert_eq!(repo.text("a.txt"), "b\n");
    let answer = repo.cmd(&["patch", "--json"]).stdin(patch(".agent-memory/notes.md")).run().ok();
    assert_eq!(answer.json()["gated"], true);
    assert_eq!(repo.text(".agent-memory/notes.md"), "a\n");
    repo.aye(&["list"]).says("notes.md");
}

/// The id of the patch that was written last.
fn last_patch(repo: &Repo) -> String {
    let log = repo.aye(&["log", "--json"]).ok().json();
    log["events"][0]["patch_id"].as_str().expect("a patch").to_owned()
}

/// Its files never had it, and the tree that has it would not be asked again.
#[test]
fn a_patch_is_not_undone_in_a_work_tree_that_does_not_have_it() {
    let repo = Repo::with(&[("src/a.rs", A)]);
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "../linked"]);
    repo.aye_stdin(&["patch"], FIX).ok().says("patch_applied: true");
    let patch = last_patch(&repo);
    let run = repo.cmd(&["undo", &patch, "--yes"]).dir(&linked).run();
    run.fails("not_applied", 5).notes("git worktree list");
    repo.aye(&["undo", &patch, "--yes"]).ok();
    assert_eq!(repo.text("src/a.rs"), A);
}

/// What stood before it is content that only the other clone, or an edited memo, tells of.
#[test]
fn a_patch_of_another_clone_is_not_undone_here() {
    let repo = Repo::with(&[("src/a.rs", A)]);
    let other = repo.copy();
    repo.aye_stdin(&["patch"], FIX).ok().says("patch_applied: true");
    let patch = last_patch(&repo);
    crate::support::clones::exchange(&other, &repo);
    let text = other.text("src/a.rs");
    other.aye(&["undo", &patch, "--yes"]).fails("changed_since_shown", 5);
    assert_eq!(other.text("src/a.rs"), text);
    repo.aye(&["undo", &patch, "--yes"]).ok();
}

/// Nothing but the id of what it wrote is known, so that there is nothing to merge with.
#[test]
fn a_patch_of_files_edited_since_is_not_undone_and_says_why() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
    repo.aye_stdin(&["patch"], diff).ok();
    let edit = last_patch(&repo);
    repo.aye_stdin(&["patch"], "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n").ok();
    let addition = last_patch(&repo);
    repo.write("a.txt", "b\nmine\n");
    repo.write("new.txt", "n\nmine\n");
    repo.aye(&["undo", &edit, "--yes"]).fails("conflict", 5);
    repo.aye(&["undo", &addition, "--yes"]).fails("conflict", 5);
    repo.remove("a.txt");
    repo.aye(&["undo", &edit, "--yes"]).fails("conflict", 5);
    assert_eq!(repo.text("new.txt"), "n\nmine\n");
}
