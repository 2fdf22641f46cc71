//! `aye init`: optional, idempotent, leaves what is there.

use crate::support::Repo;
use crate::support::terminal::Terminal;

const PATCH: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";

#[test]
fn init_makes_the_scaffold_once() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.aye(&["init"]).ok();
    assert!(repo.exists(".agent-memory/index.md"));
    let before = repo.snapshot();
    repo.aye(&["init"]).ok().shown("init_again");
    assert_eq!(repo.snapshot(), before);
}

#[test]
fn a_file_that_is_there_stays() {
    let repo = Repo::with(&[(".agent-memory/conventions.md", "# Ours\n")]);
    repo.aye(&["init"]).ok();
    assert_eq!(repo.text(".agent-memory/conventions.md"), "# Ours\n");
    assert!(repo.text(".agent-memory/.gitignore").contains("proposals/"));
}

#[test]
fn nothing_is_written_through_a_symlink() {
    let repo = Repo::with(&[("f", "a\n")]);
    let outside = repo.outer().join("outside");
    std::fs::create_dir(&outside).unwrap();
    repo.symlink(outside.to_str().unwrap(), ".agent-memory");
    repo.aye(&["init"]).fails("symlink_in_way", 6);
    // A proposal is recorded all the same; only its projection is missing.
    repo.aye(&["propose", "f", "--old", "a", "--new", "b"]).ok();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_not_utf8_keeps_its_bytes() {
    let repo = Repo::with(&[("f", "a\n")]);
    let utf16: &[u8] = b"\xff\xfe#\0 \0R\0u\0l\0e\0s\0\r\0\n\0";
    repo.write("AGENTS.md", b"R\xe9sum\xe9\n");
    repo.write("CLAUDE.md", utf16);
    repo.write(".agent-memory/.gitignore", b"caf\xe9/");
    repo.write(".agent-memory/.gitattributes", b"caf\xe9 -text\n");
    repo.aye(&["init", "--agents"]).ok().notes("AGENTS.md").notes("CLAUDE.md");
    assert_eq!(repo.read("AGENTS.md"), b"R\xe9sum\xe9\n");
    assert_eq!(repo.read("CLAUDE.md"), utf16);
    assert!(repo.read(".agent-memory/.gitignore").starts_with(b"caf\xe9/\n"));
    assert!(repo.read(".agent-memory/.gitignore").ends_with(b"proposals/\n"));
    assert_eq!(repo.read(".agent-memory/.gitattributes"), b"caf\xe9 -text\n");
    // The rest of it is there, and nothing is left to do.
    assert!(repo.text(".agent-memory/index.md").contains("Memory"));
    repo.aye(&["init", "--agents"]).ok().lacks("wrote ");
}

/// One file for several agents is a usual layout, in either direction.
#[test]
fn a_symlink_between_instruction_files_is_kept() {
    for (file, link) in [("AGENTS.md", "CLAUDE.md"), ("CLAUDE.md", "AGENTS.md")] {
        let repo = Repo::with(&[(file, "# Ours\n")]);
        repo.symlink(file, link);
        let first = repo.aye(&["init", "--agents"]).ok();
        first.says(&format!("wrote {file}\n")).lacks(&format!("wrote {link}\n"));
        assert!(repo.exists(".agent-memory/policy.toml"));
        assert!(repo.text(file).starts_with("# Ours\n\n"));
        assert!(repo.path(link).is_symlink());
    }
}

#[test]
fn an_instruction_file_that_cannot_be_written_is_named() {
    let repo = Repo::with(&[("docs/rules.md", "# Ours\n"), ("CLAUDE.md/x", "a directory\n")]);
    repo.symlink("docs/rules.md", "AGENTS.md");
    let run = repo.aye(&["init", "--agents"]).ok();
    run.notes("AGENTS.md").notes("CLAUDE.md").notes("aye agents guide");
    assert_eq!(repo.text("docs/rules.md"), "# Ours\n");
    assert!(repo.text(".agent-memory/index.md").contains("Memory"));
}

/// What is no proposal is not written into the checkout by an agent that has a tree of its own, nor where direct
/// writes are gated.
#[test]
fn an_agent_writes_no_scaffold_in_a_session_or_past_the_gate() {
    let repo = Repo::with(&[("f", "a\n"), ("CLAUDE.md", "# Mine\n")]);
    let before = repo.git(&["status", "--short", "--ignored"]);
    let aye = crate::support::tested().to_str().expect("UTF-8");
    for command in [
        "init --agents --name x".to_owned(),
        "memory init".to_owned(),
        format!("-C '{}' init", repo.root().display()),
        format!("-C '{}' agents install claude-code", repo.root().display()),
    ] {
        let script = format!("'{aye}' {command} 2>&1; echo \"status $?\"");
        let run = repo.agent("codex", &["run", "--", "sh", "-c", &script]);
        run.says("in_session").says("status 4");
        assert_eq!(repo.git(&["status", "--short", "--ignored"]), before, "{command}");
    }
    // In the tree hooks are files like any other.
    let script = format!("'{aye}' agents install claude-code");
    repo.agent("codex", &["run", "--", "sh", "-c", &script]).ok().says("trees");
    assert!(!repo.exists(".claude"));
    // Outside it may, unless the policy says otherwise.
    repo.write(".agent-memory/policy.toml", "gate = true\n");
    repo.commit("gate");
    for command in [&["init"][..], &["memory", "init", "--agents"]] {
        repo.agent("codex", command).fails("human_approval_required", 4);
    }
    assert_eq!(repo.git(&["status", "--short"]), "");
    repo.aye(&["init"]).ok();
    let open = Repo::with(&[("f", "a\n")]);
    open.agent("codex", &["init", "--agents"]).ok();
    assert!(open.exists("AGENTS.md"));
}

/// Whoever nothing shows to be a person at a terminal has proposed, by each way in; a person there has written.
#[test]
fn init_shuts_the_gate() {
    let open = Repo::with(&[("f", "a\n")]);
    let repo = open.copy();
    repo.aye(&["init"]).ok();
    assert_eq!(repo.git(&["config", "aye.gate"]).trim(), "true");
    let before = repo.text(".git/config");
    repo.aye(&["init"]).ok();
    assert_eq!(repo.text(".git/config"), before);
    let call = serde_json::json!({ "patch": PATCH }).to_string();
    let calls: [(&[&str], &str); 4] = [
        (&["patch", "--json"], "codex"),
        (&["patch", "--json"], ""),
        (&["call", "apply_patch", &call, "--json"], "codex"),
        (&["call", "apply_patch", &call, "--json"], ""),
    ];
    for (args, agent) in calls {
        let cmd = |repo: &Repo| repo.cmd(args).env("AYE_AGENT", agent).stdin(PATCH).run().ok();
        assert_eq!(cmd(&open).json()["patch_applied"], true, "{args:?} without init");
        open.write("f", "a\n");
        let answer = cmd(&repo).json();
        assert_eq!(answer["patch_applied"], false, "{answer:#}");
        assert_eq!(answer["gated"], true, "{answer:#}");
        assert_eq!(repo.text("f"), "a\n");
        let id = answer["proposal_id"].as_str().expect("a proposal");
        repo.aye(&["reject", id, "--yes"]).ok();
    }
    let patch = repo.outer().join("p.diff");
    std::fs::write(&patch, PATCH).expect("a file");
    let mut t = Terminal::start(repo.cmd(&["patch", patch.to_str().expect("UTF-8")]), 24, 100);
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f"), "b\n");
    // What a person has set stays.
    open.git(&["config", "aye.gate", "false"]);
    open.aye(&["init"]).ok();
    assert_eq!(open.git(&["config", "aye.gate"]).trim(), "false");
}

#[test]
fn a_name_with_a_line_break_is_refused_before_anything_is_written() {
    let repo = Repo::with(&[("f", "a\n")]);
    for name in ["x\ny", "x\n", "x\r", "x\u{1b}[31m"] {
        repo.aye(&["init", "--name", name]).fails("invalid_argument", 6);
        assert!(!repo.exists(".agent-memory"));
    }
    // A directory has the name that it has.
    let odd = repo.outer().join("x\ny: z");
    std::fs::create_dir(&odd).expect("make");
    let git = repo.program("git").args(&["init", "-q"]).dir(&odd).run();
    assert_eq!(git.err(), "");
    repo.cmd(&["init"]).dir(&odd).run().ok();
    repo.cmd(&["memory", "lint"]).dir(&odd).run().ok();
    let manifest =
        std::fs::read_to_string(odd.join(".agent-memory/meta/manifest.yaml")).expect("read");
    assert!(manifest.contains("name: 'x y: z'"), "{manifest}");
}

#[test]
fn the_files_with_the_block_for_agents_are_to_be_committed_too() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.aye(&["init"]).ok().lacks("AGENTS.md");
    repo.aye(&["init", "--agents"]).ok().says("AGENTS.md").lacks("CLAUDE.md");
    repo.write("CLAUDE.md", "# Ours\n");
    repo.aye(&["memory", "init", "--agents"]).ok().shown("memory_init_agents");
}
