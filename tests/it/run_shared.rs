//! `aye run` with a client that would hand its work to a server of an earlier run. The real one is driven by
//! `tests/clients/codex.sh`; here a program of its name plays its part.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use crate::support::{Cmd, Repo};

const FILES: &[(&str, &str)] = &[("b.txt", "bee\n")];

/// PATH with a `codex` that writes what it is started with into a file of the tree, and prints `help`.
fn path(repo: &Repo, help: &str) -> String {
    let bin = repo.outer().join("bin");
    std::fs::create_dir_all(&bin).expect("mkdir");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --help ] && echo '{help}' && exit\nfor word; do echo \"$word\"; done >words.txt\n"
    );
    let file = bin.join("codex");
    std::fs::write(&file, text).expect("write");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(file, mode).expect("chmod");
    format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH"))
}

fn run(repo: &Repo, path: &str, words: &[&str]) -> Cmd {
    let home = home(repo);
    repo.cmd(&[&["run", "--"], words].concat()).env("PATH", path).env("CODEX_HOME", home)
}

fn home(repo: &Repo) -> PathBuf {
    repo.outer().join("codex")
}

/// A server that listens where an earlier run has left one.
fn server(repo: &Repo) -> UnixListener {
    for directory in ["app-server-control", "app-server-daemon"] {
        std::fs::create_dir_all(home(repo).join(directory)).expect("mkdir");
    }
    std::fs::write(home(repo).join("app-server-daemon/daemon.pid"), r#"{"pid":4711}"#)
        .expect("write");
    UnixListener::bind(home(repo).join("app-server-control/app-server-control.sock")).expect("bind")
}

/// What it was started with, as the proposal has it.
fn words(repo: &Repo) -> Vec<String> {
    let diff = repo.aye(&["diff", "--latest", "--no-pager"]).ok().out();
    let added = diff.lines().filter(|line| !line.starts_with("+++"));
    added.filter_map(|line| line.strip_prefix('+')).map(str::to_owned).collect()
}

#[test]
fn a_client_does_its_work_in_the_run() {
    let repo = Repo::with(FILES);
    let path = path(&repo, "  --no-daemon  Run without the server");
    let _server = server(&repo);
    run(&repo, &path, &["codex", "Fix it"]).run().ok();
    assert_eq!(words(&repo), ["--no-daemon", "Fix it"]);
    let ended = run(&repo, &path, &["codex", "exec", "Fix it"]).run().ok();
    assert!(!ended.err().contains("daemon"), "{ended}");
    assert_eq!(words(&repo), ["exec", "Fix it"]);
    // Another server is the person's wish.
    run(&repo, &path, &["codex", "--remote", "unix://x"]).run().ok();
    assert_eq!(words(&repo), ["--remote", "unix://x"]);
}

#[test]
fn a_server_that_would_take_the_work_is_named() {
    let repo = Repo::with(FILES);
    // One that does not know the option.
    let path = path(&repo, "  --model MODEL");
    let ended = run(&repo, &path, &["codex", "Fix it"]).run().ok();
    assert!(!ended.err().contains("server"), "{ended}");
    let _server = server(&repo);
    run(&repo, &path, &["codex", "Fix it"]).run().ok().notes("4711");
    assert_eq!(words(&repo), ["Fix it"]);
    // Nor can be seen what a shell makes of it.
    run(&repo, &path, &["sh", "-c", "codex 'Fix it'"]).run().ok().notes("4711");
    let ended = run(&repo, &path, &["sh", "-c", "true codex --no-daemon"]).run().ok();
    assert!(!ended.err().contains("4711"), "{ended}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_was_left_running_is_named() {
    let repo = Repo::with(FILES);
    let text = "sh -c 'sleep 2; exit' app-server --listen unix:// >/dev/null 2>&1 &";
    let path = std::env::var("PATH").expect("a PATH");
    run(&repo, &path, &["sh", "-c", text]).run().ok().notes("codex");
}
