//! Who counts as an agent, and under which name people are recorded.

use crate::support::{Cmd, EMAIL, NAME, Repo};
use serde_json::{Value, json};

/// Variable, value, and the name of the agent that sets it.
const MARKERS: &[(&str, &str, &str)] = &[
    ("CLAUDECODE", "1", "claude-code"),
    ("CLAUDE_CODE_ENTRYPOINT", "cli", "claude-code"),
    ("CODEX_SANDBOX", "seatbelt", "codex"),
    ("CODEX_THREAD_ID", "0199", "codex"),
    ("CODEX_CI", "1", "codex"),
    ("CODEX_SESSION_ID", "0199", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "1", "codex"),
    ("CURSOR_AGENT", "1", "cursor"),
    ("GEMINI_CLI", "1", "gemini-cli"),
    ("QWEN_CODE", "1", "qwen-code"),
    ("COPILOT_CLI", "1", "copilot-cli"),
    ("COPILOT_AGENT", "1", "copilot"),
    ("COPILOT_AGENT_SESSION_ID", "x", "copilot-cli"),
    ("CRUSH", "1", "crush"),
    ("OPENCODE", "1", "opencode"),
    ("AMP_CURRENT_THREAD_ID", "T-1", "amp"),
    ("CLINE_ACTIVE", "true", "cline"),
    ("AUGMENT_AGENT", "1", "augment"),
    ("GOOSE_TERMINAL", "1", "goose"),
    ("AGENT", "goose", "goose"),
    ("AGENT", "amp", "amp"),
    ("AGENT", "crush", "crush"),
    ("AIDER_AGENT", "1", "aider"),
    ("AI_AGENT", "x", "agent"),
    ("AYE_AGENT", "codex", "codex"),
    ("AYE_AGENT", " ", " "),
];

fn proposed() -> (Repo, String) {
    let repo = Repo::with(&[("f", "a\n")]);
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "b"]).ok().id();
    (repo, id)
}

fn last_event(repo: &Repo) -> Value {
    repo.aye(&["log", "--json"]).ok().json()["events"][0].clone()
}

#[test]
fn every_marker_refuses_a_decision_and_is_not_named() {
    let (repo, id) = proposed();
    for (variable, value, agent) in MARKERS {
        let cmd = |args: &[&str]| repo.cmd(args).env(variable, value);
        let run = cmd(&["apply", &id, "--yes"]).run();
        let run = run.fails("human_approval_required", 4);
        let told = format!("'{agent}' is an agent, and");
        assert!(run.err().contains(&told), "{variable}={value}: {run}");
        assert!(!run.err().contains("is set"), "{variable}={value}: {run}");
        assert!(!run.err().contains("--yes"), "{variable}={value}: {run}");
        let run = cmd(&["reject", &id, "--yes", "--json"]).run();
        let error = run.fails("human_approval_required", 4).json()["error"].clone();
        assert_eq!(error["details"]["marker"], Value::Null, "{error:#}");
        cmd(&["comment", &id, "-m", variable]).run().ok();
        let event = last_event(&repo);
        assert_eq!(event["actor_kind"], "agent", "{variable}: {event:#}");
        assert_eq!(event["by"], json!(agent), "{variable}: {event:#}");
    }
    assert_eq!(repo.text("f"), "a\n");
}

#[test]
fn session_and_model_of_an_agent_are_recorded_and_a_persons_never() {
    let repo = Repo::with(&[("f", "a\n")]);
    let propose = ["propose", "f", "--old", "a", "--new", "b"];
    let codex = || repo.cmd(&propose).env("CODEX_CI", "1").env("CODEX_SESSION_ID", "0199");
    let id = codex().env("AYE_MODEL", "gpt-x").run().ok().id();
    let shown = repo.item(&id);
    assert_eq!(shown["history"][0]["session"], "0199");
    assert_eq!(shown["history"][0]["model"], "gpt-x");
    repo.aye(&["show", &id]).ok().says(" 0199, ").says("gpt-x");
    let said = |id: &str| {
        let event = last_event(&repo);
        assert_eq!(event["proposal_id"], id);
        (event["session"].clone(), event["model"].clone())
    };
    assert_eq!(said(&id), (json!("0199"), json!("gpt-x")));
    // The name that aye's run gives comes first; what is not one short line names nothing.
    let comment = ["comment", &id, "-m", "x"];
    repo.agent("codex", &comment).ok();
    assert_eq!(said(&id), (Value::Null, Value::Null));
    let run = repo.cmd(&comment).env("CODEX_SESSION_ID", "0199").env("AYE_SESSION", "dark");
    run.env("AYE_MODEL", "two\nlines").run().ok();
    assert_eq!(said(&id), (json!("dark"), Value::Null));
    // A person who works in a shell with these variables is no agent by them.
    repo.cmd(&comment).env("AYE_SESSION", "dark").env("AYE_MODEL", "gpt-x").run().ok();
    assert_eq!(last_event(&repo)["actor_kind"], "human");
    assert_eq!(said(&id), (Value::Null, Value::Null));
}

#[test]
fn empty_and_unrelated_variables_mark_nobody() {
    let (repo, id) = proposed();
    let cmd = repo.cmd(&["apply", &id, "--yes"]).env("AYE_AGENT", "").env("CLAUDECODE", "");
    cmd.env("AGENT", "/tmp/ssh/agent.1").run().ok();
    assert_eq!(last_event(&repo)["actor_kind"], "human");
    // No name of its own, and still an agent.
    let cmd = repo.cmd(&["undo", &id, "--yes"]).env("AYE_AGENT", "").env("CODEX_CI", "1");
    cmd.run().fails("human_approval_required", 4);
}

#[test]
fn the_author_of_a_commit_is_not_who_decides() {
    let author = |cmd: Cmd| cmd.env("GIT_AUTHOR_NAME", "Eve").env("GIT_AUTHOR_EMAIL", "eve@x");
    let (repo, id) = proposed();
    author(repo.cmd(&["apply", &id, "--yes"])).run().ok();
    assert_eq!(last_event(&repo)["by"], NAME);
    // As in the report: a hook that git starts for `git commit --author`.
    let (repo, id) = proposed();
    let aye = env!("CARGO_BIN_EXE_aye");
    repo.script(".git/hooks/pre-commit", &format!("exec {aye} apply {id} --yes"));
    repo.write("g", "g\n");
    repo.git(&["add", "g"]);
    let args = ["commit", "-q", "--author=Eve <eve@x>", "-m", "g"];
    repo.program("git").args(&args).run().ok();
    assert_eq!(last_event(&repo)["by"], NAME);
    let event = repo.git(&["log", "--all", "-1", "--format=%an <%ae>", "--grep", "^apply"]);
    assert_eq!(event, format!("{NAME} <{EMAIL}>"));
}

#[test]
fn the_committer_is_found_as_git_finds_it() {
    let (repo, id) = proposed();
    let comment = |cmd: Cmd| {
        cmd.run().ok();
        last_event(&repo)["by"].clone()
    };
    let cmd = || repo.cmd(&["comment", &id, "-m", "x"]);
    assert_eq!(comment(cmd()), NAME);
    repo.git(&["config", "committer.name", "Carol"]);
    assert_eq!(comment(cmd()), "Carol");
    assert_eq!(comment(cmd().env("GIT_COMMITTER_NAME", "Dora")), "Dora");
    repo.git(&["config", "--unset", "committer.name"]);
    repo.git(&["config", "--unset", "user.name"]);
    assert_eq!(comment(cmd().env("USER", "login")), "login");
}

#[test]
fn a_call_without_a_marker_is_an_agents() {
    let repo = Repo::with(&[("f", "a\n")]);
    let request =
        json!({"action": "propose", "file_path": "f", "old_content": "a", "new_content": "b"});
    let call = |cmd: Cmd| cmd.run().ok().json()["proposed_by"].clone();
    let cmd = || repo.cmd(&["call", "changes", &request.to_string()]);
    assert_eq!(call(cmd()), "agent");
    let event = last_event(&repo);
    assert_eq!((&event["by"], &event["actor_kind"]), (&json!("agent"), &json!("agent")));
    // Neither a build machine nor the person whose git this is.
    let request =
        json!({"action": "propose", "file_path": "f", "old_content": "a", "new_content": "c"});
    let cmd = || repo.cmd(&["call", "changes", &request.to_string()]);
    let cmd = cmd().in_ci("c1c1c1c1c1c1c1c1").env("GIT_COMMITTER_NAME", "Ada");
    assert_eq!(call(cmd), "agent");
    let request =
        json!({"action": "propose", "file_path": "f", "old_content": "a", "new_content": "d"});
    let cmd = || repo.cmd(&["call", "changes", &request.to_string()]);
    assert_eq!(call(cmd().env("QWEN_CODE", "1")), "qwen-code");
    assert_eq!(last_event(&repo)["by"], "qwen-code");
    // Memory says the same.
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    let request = crate::support::memory::decision("A");
    repo.aye(&["call", "memory.propose_update", &request.to_string()]).ok().says("staged");
    let event = last_event(&repo);
    assert_eq!((&event["by"], &event["actor_kind"]), (&json!("agent"), &json!("agent")));
}

#[test]
fn doctor_warns_of_a_start_up_file_that_marks_the_whole_shell() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.write("../home/.bashrc", "alias x='AYE_AGENT=codex codex'\nexport AYE_AGENT=codex\n");
    repo.write("../home/.config/fish/config.fish", "set -gx CLAUDECODE 1\n");
    let run = repo.aye(&["doctor"]).ok().says("AYE_AGENT").says("~/.bashrc, line 2 ");
    run.says("CLAUDECODE").says("~/.config/fish/config.fish, line 1 ");
    let json = repo.aye(&["doctor", "--json"]).ok().json();
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(2), "{json:#}");
    assert_eq!(json["sound"], true);
}
