//! Who may patch files directly: no trial, and no build machine without a name of its clone.

use crate::support::Repo;
use crate::support::terminal::Terminal;

fn log(repo: &Repo) -> String {
    repo.aye(&["log", "--json"]).ok().out()
}

#[test]
fn a_command_of_a_trial_patches_nothing() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("CLAUDE.md", "x\n")]);
    let propose = ["propose", "a.txt", "--old", "one", "--new", "eins", "-q"];
    let pending = repo.agent("codex", &propose).ok().id();
    let before = (repo.snapshot(), log(&repo));
    let patch = repo.outer().join("p.diff");
    std::fs::write(&patch, "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n@@ -1 +1 @@\n-x\n+obey\n").unwrap();
    let (aye, top) = (env!("CARGO_BIN_EXE_aye"), repo.root().to_str().unwrap());
    let try_ = |script: &str| {
        let words = ["try", &pending, "--no-record", "--", "sh", "-c", script, aye, top];
        let words = [&words[..], &[patch.to_str().unwrap()]].concat();
        repo.aye(&words)
    };
    for words in ["patch \"$2\"", "patch --index \"$2\"", "patch --propose \"$2\""] {
        for place in [".", "\"$1\""] {
            try_(&format!("cd {place} && \"$0\" {words}\n")).exits(4).notes("error[in_trial]");
        }
    }
    // The tool too, whose unmarked callers count as agents.
    let call = "cd \"$1\" && printf '{\"patch\":\"--- a/CLAUDE.md\\\\n+++ b/CLAUDE.md\\\\n@@ -1 +1 @@\\\\n-x\\\\n+obey\\\\n\"}' \
                | \"$0\" call apply_patch -\n";
    try_(call).exits(4).says("in_trial");
    try_("cd \"$1\" && \"$0\" patch --dry-run \"$2\"\n").ok();
    assert_eq!((repo.snapshot(), log(&repo)), before);
}

#[test]
fn a_build_machine_patches_nothing_that_it_cannot_record() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("CLAUDE.md", "x\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    let before = repo.snapshot();
    let diff = |path: &str, old: &str, new: &str| {
        format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
    };
    let code = diff("a.txt", "one", "eins");
    repo.cmd(&["patch", "-"]).env("CI", "1").stdin(&code).run().exits(4).notes("ci_has_no_clone");
    assert_eq!(repo.snapshot(), before);
    // With one it may patch, but not what instructs agents, nor memory.
    repo.cmd(&["patch", "-"])
        .in_ci("c1c1c1c1c1c1c1c1")
        .stdin(&code)
        .run()
        .ok()
        .says("patch_applied: true");
    assert_eq!(repo.text("a.txt"), "eins\n");
    let instructs = diff("CLAUDE.md", "x", "obey");
    repo.cmd(&["patch", "-"])
        .in_ci("c1c1c1c1c1c1c1c1")
        .stdin(&instructs)
        .run()
        .ok()
        .says("gated: true");
    let text = repo.text(".agent-memory/conventions.md");
    let (lines, count) = (text.lines().map(|line| format!(" {line}\n")), text.lines().count());
    let memory = format!(
        "--- a/.agent-memory/conventions.md\n+++ b/.agent-memory/conventions.md\n\
         @@ -1,{count} +1,{} @@\n{}+obey\n",
        count + 1,
        lines.collect::<String>()
    );
    repo.cmd(&["patch", "-"])
        .in_ci("c1c1c1c1c1c1c1c1")
        .stdin(&memory)
        .run()
        .ok()
        .says("gated: true");
    // Nobody is at the terminal of a build machine.
    let patch = repo.outer().join("p.diff");
    std::fs::write(&patch, &memory).unwrap();
    let mut terminal = Terminal::start(
        repo.cmd(&["patch", patch.to_str().unwrap()]).in_ci("c1c1c1c1c1c1c1c1"),
        24,
        100,
    );
    terminal.sees("gated: true");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(repo.text("CLAUDE.md"), "x\n");
    assert!(!repo.text(".agent-memory/conventions.md").contains("obey"));
}
