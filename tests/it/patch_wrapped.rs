//! Envelopes behind a shell command, as agents write them: a here-document for `apply_patch` is read, and other
//! commands are refused rather than dropped.

use crate::support::Repo;
use serde_json::json;

const BODY: &str = "*** Begin Patch\n*** Update File: b.txt\n@@\n-one\n+two\n*** End Patch\n";

fn scene() -> Repo {
    Repo::with(&[("b.txt", "one\n"), ("src/b.txt", "one\ninner\n")])
}

#[test]
fn a_patch_in_a_here_document_is_read_at_the_top() {
    for (before, after) in [
        ("$ apply_patch <<'EOF'\n", "EOF\n"),
        ("apply_patch <<'EOF' && make\n", "EOF\n"),
        ("I fix it:\n\napplypatch <<-\"EOF\"\n", "EOF\n"),
        ("bash -lc \"apply_patch <<'PATCH'\n", "PATCH\"\n"),
        ("Use `cd src && make` to see it.\n", ""),
        ("| a | b |\n\n```\napply_patch <<'EOF'\n", "EOF\n"),
    ] {
        let repo = scene();
        let patch = format!("{before}{BODY}{after}");
        let run = repo.aye_stdin(&["patch"], &patch);
        assert_eq!(run.status, 0, "{patch}\n{run}");
        assert_eq!(
            (repo.text("b.txt").as_str(), repo.text("src/b.txt").as_str()),
            ("two\n", "one\ninner\n")
        );
    }
}

#[test]
fn other_commands_in_front_are_refused() {
    let repo = scene();
    let before = repo.snapshot();
    for command in [
        "cd src && apply_patch <<'EOF'",
        "cd .. && apply_patch <<'EOF'",
        "cd src; apply_patch <<'EOF'",
        "cd src && apply_patch <<'EOF' \nprose",
        "cd src && apply_patch \"",
        "pushd src && apply_patch <<'EOF'",
        "(cd src && apply_patch <<'EOF'",
        "cd src && cat <<'EOF' | apply_patch",
        "cd src\napply_patch <<'EOF'",
        "cd src && \\\napply_patch <<'EOF'",
        "bash -lc \"cd src; apply_patch <<'EOF'",
        "env -C src apply_patch <<'EOF'",
    ] {
        let patch = format!("{command}\n{BODY}EOF\n");
        repo.aye_stdin(&["patch", "--format", "text"], &patch).fails("patch_invalid", 6);
        repo.aye_stdin(&["call", "apply_patch", "-"], json!({"patch": patch}).to_string()).exits(6);
    }
    // Also in front of a unified diff.
    let diff = "cd src && apply_patch <<'EOF'\n*** Begin Patch\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+two\n*** End Patch\nEOF\n";
    repo.aye_stdin(&["patch", "--format", "text"], diff).fails("patch_invalid", 6);
    assert_eq!(repo.snapshot(), before);
}
