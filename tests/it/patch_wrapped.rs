//! Envelopes behind a shell command, as agents write them: `cd DIR && apply_patch <<'EOF'` is read in DIR,
//! by every way in which a patch comes in, and other commands are refused rather than dropped.

use crate::support::Repo;
use serde_json::json;

const ROOT: &str = "one\n";
const INNER: &str = "one\ninner\n";
const BODY: &str = "*** Begin Patch\n*** Update File: b.txt\n@@\n-one\n+two\n*** End Patch\n";

fn scene() -> Repo {
    Repo::with(&[("b.txt", ROOT), ("src/b.txt", INNER), ("my dir/b.txt", INNER)])
}

#[track_caller]
fn only_in(repo: &Repo, directory: &str, command: &str) {
    for (name, text) in [("", ROOT), ("src/", INNER), ("my dir/", INNER)] {
        let expected = if name == directory { text.replace("one", "two") } else { text.to_owned() };
        assert_eq!(repo.text(&format!("{name}b.txt")), expected, "{command}");
    }
}

#[test]
fn the_paths_of_a_patch_behind_cd_are_read_there() {
    for (directory, before, after) in [
        ("src/", "cd src && apply_patch <<'EOF'\n", "EOF\n"),
        ("src/", "cd ./src/ && apply_patch <<EOF\n", "EOF\n"),
        ("src/", "I fix it:\n\ncd 'src'   &&   applypatch <<-\"EOF\"\n", "EOF\n"),
        ("src/", "bash -lc \"cd src && apply_patch <<'PATCH'\n", "PATCH\"\n"),
        ("my dir/", "bash -lc \"cd \\\"my dir\\\" && apply_patch <<'PATCH'\n", "PATCH\"\n"),
        ("src/", "/bin/sh -c 'cd \"src\" && apply_patch <<EOF\n", "EOF'\n"),
        ("my dir/", "cd 'my dir' && apply_patch << 'EOF'\n", "EOF\n"),
        ("", "cd . && apply_patch <<'EOF'\n", "EOF\n"),
        ("", "$ apply_patch <<'EOF'\n", "EOF\n"),
        ("", "apply_patch <<'EOF' && make\n", "EOF\n"),
        ("", "Use `cd src && make` to see it.\n", ""),
        ("", "| a | b |\n\n```\napply_patch <<'EOF'\n", "EOF\n"),
    ] {
        let repo = scene();
        let patch = format!("{before}{BODY}{after}");
        let run = repo.aye_stdin(&["patch"], &patch);
        assert_eq!(run.status, 0, "{patch}\n{run}");
        only_in(&repo, directory, &patch);
    }
}

#[test]
fn every_way_in_reads_them_there() {
    let patch = format!("cd src && apply_patch <<'EOF'\n{BODY}EOF\n");
    let repo = scene();
    let arguments = json!({ "patch": patch }).to_string();
    repo.aye_stdin(&["call", "apply_patch", "-"], arguments).ok();
    only_in(&repo, "src/", "call");
    let repo = scene();
    let id = repo.aye_stdin(&["propose", "--patch", "-", "-m", "x", "-q"], &patch).ok().id();
    repo.aye(&["apply", &id, "--yes"]).ok();
    only_in(&repo, "src/", "propose");
    let tool = json!({ "patch": patch, "propose": true }).to_string();
    repo.aye(&["undo", &id, "--yes"]).ok();
    repo.aye_stdin(&["call", "apply_patch", "-"], tool).ok();
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["proposals"][0]["file_path"], "src/b.txt");
}

#[test]
fn files_come_go_and_move_there() {
    let repo = scene();
    let patch = "cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new/n.txt\n+n\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-one\n+two\n*** End Patch\nEOF\n";
    repo.aye_stdin(&["patch"], patch).ok();
    assert_eq!(
        (repo.text("src/new/n.txt"), repo.text("src/c.txt")),
        ("n\n".into(), "two\ninner\n".into())
    );
    assert!(!repo.exists("src/b.txt") && !repo.exists("c.txt"));
    // A shell would not have come so far.
    let before = repo.snapshot();
    for directory in ["none", "b.txt"] {
        let patch = format!(
            "cd {directory} && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n.txt\n+n\n*** End Patch\nEOF\n"
        );
        repo.aye_stdin(&["patch", "--format", "text"], patch).fails("file_not_found", 3);
    }
    let patch = "cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/c.txt\n@@\n-two\n+x\n*** End Patch\nEOF\n";
    repo.aye_stdin(&["patch", "--format", "text"], patch).fails("file_not_found", 3);
    assert_eq!(repo.snapshot(), before);
}

#[test]
fn other_commands_in_front_are_refused() {
    let repo = scene();
    let before = repo.snapshot();
    for (code, command) in [
        ("path_invalid", "cd .. && apply_patch <<'EOF'"),
        ("path_invalid", "cd src/../.. && apply_patch <<'EOF'"),
        ("path_invalid", "cd /tmp && apply_patch <<'EOF'"),
        ("path_invalid", "cd - && apply_patch <<'EOF'"),
        ("patch_invalid", "cd && apply_patch <<'EOF'"),
        ("patch_invalid", "cd ~/src && apply_patch <<'EOF'"),
        ("patch_invalid", "cd $HOME && apply_patch <<'EOF'"),
        ("patch_invalid", "cd \"$(pwd)\" && apply_patch <<'EOF'"),
        ("patch_invalid", "cd sr* && apply_patch <<'EOF'"),
        ("patch_invalid", "cd src; apply_patch <<'EOF'"),
        ("patch_invalid", "cd src || apply_patch <<'EOF'"),
        ("patch_invalid", "cd src && cd . && apply_patch <<'EOF'"),
        ("patch_invalid", "cd src && apply_patch <<'EOF' \nprose"),
        ("patch_invalid", "cd src && apply_patch \""),
        ("patch_invalid", "pushd src && apply_patch <<'EOF'"),
        ("patch_invalid", "(cd src && apply_patch <<'EOF'"),
        ("patch_invalid", "true && apply_patch <<'EOF'"),
        ("patch_invalid", "cd src && cat <<'EOF' | apply_patch"),
        ("patch_invalid", "cd src && cat > p.txt <<'EOF'"),
        ("patch_invalid", "cd src\napply_patch <<'EOF'"),
        ("patch_invalid", "cd src && \\\napply_patch <<'EOF'"),
        ("patch_invalid", "bash -lc \"cd src; apply_patch <<'EOF'"),
        ("patch_invalid", "env -C src apply_patch <<'EOF'"),
    ] {
        let patch = format!("{command}\n{BODY}EOF\n");
        if command.ends_with("prose") {
            // What stands between is prose; the command still says where.
            repo.aye_stdin(&["patch", "--dry-run"], patch).ok().says("path: src/b.txt");
            continue;
        }
        let run = repo.aye_stdin(&["patch", "--format", "text"], &patch);
        assert!(run.status == 6 && run.err().contains(code), "{patch}\n{run}");
        let call =
            repo.aye_stdin(&["call", "apply_patch", "-"], json!({"patch": patch}).to_string());
        call.exits(6);
    }
    for (directory, path) in [("/src", "src/b.txt"), ("/src/", "src/b.txt"), ("", "b.txt")] {
        let here = repo.root().display();
        let patch = format!("cd {here}{directory} && apply_patch <<'EOF'\n{BODY}EOF\n");
        let run = repo.aye_stdin(&["patch", "--dry-run"], patch);
        run.ok().says(&format!("path: {path}"));
    }
    // Which names of a unified diff have a prefix is guessed from the top.
    let diff = "cd src && apply_patch <<'EOF'\n*** Begin Patch\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+two\n*** End Patch\nEOF\n";
    repo.aye_stdin(&["patch", "--format", "text"], diff).fails("patch_invalid", 6);
    assert_eq!(repo.snapshot(), before);
}
