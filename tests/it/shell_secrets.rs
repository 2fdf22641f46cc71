//! `aye shell`: what is not read, by classes of secrets; and credentials in what is printed.

use std::path::Path;

use super::shell::repo;
use crate::support::{Repo, has_sandbox};

const SECRET: &str = "hunter2";

/// One probe or more for each class. The kernel answers, whichever way the file is reached.
#[test]
fn no_class_of_secrets_is_read() {
    if !has_sandbox() {
        return;
    }
    let repo = repo();
    let home = repo.outer().join("home");
    let put = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let line = format!("SECRET={SECRET}\n");
    for path in [
        ".env", "sub/.env.local", "..env.swp", ".npmrc", "id_ed25519", "prod.tfstate", "x.P12",
        "configured.txt", "open/K", ".git/credentials", "cert.txt",
    ] {
        put(&repo.path(path), &line);
    }
    put(&repo.path("deploy.key"), &format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n"));
    for path in [".ssh/id_rsa", ".gitconfig", ".codex/sessions/a.jsonl", "notes.txt"] {
        put(&home.join(path), &line);
    }
    put(&repo.outer().join("sibling/plain.txt"), &line);
    repo.symlink(".env", "soft");
    repo.symlink("cert.txt", "soft.p12");
    repo.symlink(home.join(".ssh").to_str().unwrap(), "keys");
    std::fs::hard_link(repo.path(".env"), repo.path("hard.txt")).unwrap();
    std::fs::hard_link(repo.path("x.P12"), repo.path("sub/deep.txt")).unwrap();
    std::fs::hard_link(repo.path("deploy.key"), repo.path(".git/description2")).unwrap();
    repo.git(&["config", "aye.shellDenyRead", "configured.*"]);
    repo.git(&["config", "--add", "aye.shellDenyRead", "open/"]);
    repo.write("a.txt", "one\ncurl https://me:hunter2@host.invalid\n");
    repo.git(&["add", "a.txt"]);
    repo.git(&["commit", "-qm", "Fetch from https://hunter2@host.invalid"]);
    for (key, value) in [
        ("remote.origin.url", "https://me:hunter2@host.invalid/x.git"),
        ("http.extraHeader", "X-Key: hunter2"),
        ("http.https://host.invalid/.extraHeader", "Authorization: basic hunter2hunter2"),
    ] {
        repo.git(&["config", key, value]);
    }
    for command in
        include_str!("../data/shell/secrets.txt").lines().filter(|line| !line.starts_with('#'))
    {
        let run = repo.cmd(&["shell", command]).env("TOKEN", SECRET).run();
        let told = format!("{}{}", run.out(), run.err());
        assert!(!told.contains(SECRET), "{command}: {told}");
        assert!(!command.starts_with("cat") || run.status != 0, "{command}: {told}");
    }
    repo.aye(&["shell", "git remote -v"]).exits(0).says("https://***@host.invalid/x.git (fetch)");
    repo.aye(&["shell", "git config -l"]).says("http.extraheader=***\n").says("core.bare=false");
    repo.git(&["config", "github.token", SECRET]);
    repo.aye(&["shell", "git config -l; git config --get-regexp 'token|header'"])
        .says("github.token=***\n")
        .says("github.token ***\n")
        .lacks(SECRET);
    repo.aye(&["shell", "git config --get user.name"]).notes("not the user's own");
    // What is beside it is read.
    repo.aye(&["shell", "grep -rh 'fn b' ."]).says("fn b");
    repo.aye(&["shell", "cat a.txt src/*"]).exits(0).says("one").says("fn b");
    repo.aye(&["shell", "ls -la .env; git status --short"]).exits(0).says(".env");
    repo.write(".env.example", "KEY=\n");
    repo.aye(&["shell", "cat .env.example"]).exits(0).says("KEY=");
}

/// A pipe would wait for somebody, a socket reach one.
#[test]
fn pipes_of_the_repository_are_not_opened() {
    if !has_sandbox() {
        return;
    }
    let repo = repo();
    assert!(repo.program("mkfifo").args(&["pipe"]).run().status == 0);
    let run = repo.aye(&["shell", "--timeout", "30", "cat pipe; cat < pipe; cat a.txt"]).exits(0);
    assert!(run.out().contains("denied") && run.out().contains("one"), "{run}");
}

/// What git tracks is content: whoever has the repository has it. `aye.shellDenyRead` keeps it unread in the work tree.
#[test]
fn what_git_stores_is_shown_and_what_is_configured_is_not() {
    if !has_sandbox() {
        return;
    }
    let repo = repo();
    repo.write(".env", "A=1\n");
    repo.write("old.pem", "-----BEGIN PRIVATE KEY-----\n");
    repo.commit("Add");
    repo.write(".env", "A=2\n");
    repo.aye(&["shell", "cat .env old.pem"]).exits(0).says("A=2").says("PRIVATE");
    repo.aye(&["shell", "git diff; git show HEAD:.env"]).exits(0).says("+A=2").says("A=1");
    repo.git(&["rm", "-q", "--cached", ".env"]);
    repo.aye(&["shell", "cat .env"]).exits(1);
    repo.git(&["config", "aye.shellDenyRead", "*.pem"]);
    repo.aye(&["shell", "cat old.pem"]).exits(1);
    repo.aye(&["shell", "git show HEAD:old.pem"]).exits(0);
}

#[test]
fn directories_outside_are_read_where_the_user_allows_them() {
    if !has_sandbox() {
        return;
    }
    let repo = repo();
    let cache = repo.outer().join("home/cache");
    std::fs::create_dir_all(cache.join("priv")).unwrap();
    std::fs::write(cache.join("lib.rs"), "cached\n").unwrap();
    std::fs::write(cache.join("priv/x"), SECRET).unwrap();
    let read = |command: &str, setting: &str| {
        let run = repo.cmd(&["shell", command]).env("GIT_CONFIG_COUNT", "2");
        let run =
            run.env("GIT_CONFIG_KEY_0", "aye.shellAllowRead").env("GIT_CONFIG_VALUE_0", setting);
        run.env("GIT_CONFIG_KEY_1", "aye.shellDenyRead")
            .env("GIT_CONFIG_VALUE_1", "~/cache/priv")
            .run()
    };
    read("cat ~/cache/lib.rs", "~/cache").exits(0).says("cached");
    read("cat ~/cache/priv/x", "~/cache").exits(1).lacks(SECRET);
    read("cat ~/cache/lib.rs", "~/other").exits(1);
    // A repository does not allow itself more.
    repo.git(&["config", "aye.shellAllowRead", cache.to_str().unwrap()]);
    repo.aye(&["shell", "cat ~/cache/lib.rs"]).exits(1);
}

/// Files that lead elsewhere may be anybody's; only git directories are followed.
#[test]
fn a_repository_leads_to_nothing_but_git_directories() {
    if !has_sandbox() {
        return;
    }
    let repo = repo();
    let outside = repo.outer().join("objects");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x"), SECRET).unwrap();
    repo.write(".git/objects/info/alternates", outside.to_str().unwrap());
    repo.aye(&["shell", "cat ../objects/x"]).exits(1);
    repo.write("sub/.git", format!("gitdir: {}\n", outside.display()));
    repo.cmd(&["shell", "cat ../../objects/x"]).dir(repo.path("sub")).run().exits(1);
    let lender = Repo::with(&[("b.txt", "lent\n")]);
    let id = lender.git(&["rev-parse", "HEAD:b.txt"]);
    repo.write(".git/objects/info/alternates", lender.path(".git/objects").to_str().unwrap());
    repo.aye(&["shell", &format!("git cat-file -p {}", id.trim())]).exits(0).says("lent");
}

/// Of a home that is a repository, what git tracks is read, and what begins with no dot.
#[test]
fn a_home_that_is_a_repository_keeps_its_dot_files() {
    if !has_sandbox() {
        return;
    }
    let repo = Repo::with(&[(".vimrc", "tracked\n"), (".config/a", "tracked\n"), ("b.txt", "b\n")]);
    repo.write(".config/b", SECRET);
    repo.write(".mytool/token", SECRET);
    repo.write("new.txt", "new\n");
    let run = |command: &str| repo.cmd(&["shell", command]).env("HOME", repo.root()).run();
    run("cat .vimrc .config/a b.txt new.txt; git log --oneline")
        .exits(0)
        .says("tracked\ntracked\nb\nnew\n");
    run("cat .config/b").exits(1).lacks(SECRET);
    run("grep -r hunter .").lacks(SECRET);
}

/// What the shell does not read, no other tool quotes or copies for it.
#[test]
fn other_tools_quote_and_copy_nothing_of_a_denied_file() {
    let repo = repo();
    repo.write(".gitignore", ".env\n");
    repo.write(".env", "A=1\nSTRIPE_KEY=hunter2\nB=2\nC=3\nD=4\nE=5\n");
    let guess = |path| ["propose", path, "--old", "A=1\nSTRIPE_KEY=\n", "--new", "x", "-m", "m"];
    let call = |tool: &str, request: serde_json::Value| {
        repo.agent("codex", &["call", tool, &request.to_string()])
    };
    let edit = serde_json::json!({"action": "propose", "file_path": ".env",
        "old_content": "A=1\nSTRIPE_KEY=\n", "new_content": "x"});
    let patches = [
        "*** Begin Patch\n*** Update File: .env\n@@\n A=1\n-STRIPE_KEY=q\n+x\n*** End Patch\n",
        "--- a/.env\n+++ b/.env\n@@ -1,3 +1,3 @@\n A=1\n-STRIPE_KEY=q\n+x\n B=2\n",
    ];
    let patched = patches.map(|patch| call("apply_patch", serde_json::json!({ "patch": patch })));
    let json = repo.agent("codex", &[&guess(".env")[..], &["--json"]].concat());
    let runs = [repo.agent("codex", &guess(".env")), json, call("changes", edit)];
    for run in runs.into_iter().chain(patched) {
        assert_ne!(run.status, 0, "{run}");
        let told = format!("{}{}", run.out(), run.err());
        assert!(told.contains("to agents") && !told.contains("hunter2"), "{run}");
    }
    for word in ["copy", "rename"] {
        let patch = format!(
            "diff --git a/.env b/pub.txt\nsimilarity index 100%\n{word} from .env\n{word} to pub.txt\n"
        );
        let run = call("apply_patch", serde_json::json!({ "patch": patch })).exits(4);
        assert!(run.lacks("hunter2").out().contains("private_path"), "{word}");
    }
    assert!(!repo.exists("pub.txt") && repo.exists(".env"));
    // People see what the file has, and agents what is not denied.
    repo.aye(&guess(".env")).notes("hunter2");
    repo.git(&["config", "aye.shellDenyRead", "a.txt"]);
    for path in ["a.txt", "open.txt"] {
        repo.write(path, "A=1\nSTRIPE_KEY=hunter2\n");
        let run = repo.agent("codex", &guess(path)).fails("old_content_not_found", 6);
        assert_eq!(run.err().contains("hunter2"), path == "open.txt", "{run}");
    }
    let edit = ["propose", ".env", "--old", "A=1", "--new", "A=2", "-m", "m"];
    repo.agent("codex", &edit).ok();
}
