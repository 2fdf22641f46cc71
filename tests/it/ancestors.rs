//! A process below a coding agent is the agent's, whatever it does to its variables and its terminal.
#![cfg(target_os = "linux")]

use crate::support::sessions::script;
use crate::support::terminal::Terminal;
use crate::support::{Repo, Run, until};

/// A proposal, and the script `../decide`, which removes its variables, decides, and writes `../status`.
fn proposed() -> (Repo, String) {
    let repo = Repo::with(&[("f", "a\n")]);
    let id = repo.agent("codex", &["propose", "f", "--old", "a", "--new", "b"]).ok().id();
    let (aye, outer) = (env!("CARGO_BIN_EXE_aye"), repo.outer().display());
    let clean = "env -u AYE_AGENT -u AYE_SESSION";
    repo.script(
        "../decide",
        &format!(
            "cd {outer}/work\n{clean} {aye} apply {id} --yes >{outer}/log 2>&1\n\
             echo $? >{outer}/status.new; mv {outer}/status.new {outer}/status"
        ),
    );
    (repo, id)
}

/// Waits for the script, which has to be refused by a text that shows no way round.
#[track_caller]
fn is_refused(repo: &Repo, way: &str) {
    until(way, || repo.exists("../status"));
    let (status, log) = (repo.text("../status"), repo.text("../log"));
    assert_eq!(status, "4\n", "{way}: {log}");
    assert!(log.contains("error[human_approval_required]"), "{way}: {log}");
    assert!(log.contains("ask your user to run: aye apply"), "{way}: {log}");
    assert!(!log.contains("--yes") && !log.contains("AYE_"), "{way}: {log}");
    assert_eq!(repo.text("f"), "a\n");
    repo.remove("../status");
}

#[test]
fn a_command_of_a_run_is_refused_whatever_it_does_to_its_surroundings() {
    let (repo, _) = proposed();
    let decide = repo.outer().join("decide").display().to_string();
    let tmux = format!("tmux -S {}/tmux -f /dev/null", repo.outer().display());
    for way in [
        decide.clone(),
        format!("script -qec {decide} /dev/null </dev/null"),
        format!("setsid --fork {decide}"),
        format!("setsid sh -c '{decide} &'"),
        format!("python3 -c 'import pty; pty.spawn([\"{decide}\"])' </dev/null"),
        format!("env -u AYE_AGENT -u AYE_SESSION {tmux} new-session -d {decide}"),
    ] {
        let program = way
            .split(' ')
            .find(|word| !["env", "-u"].contains(word) && !word.starts_with("AYE"))
            .unwrap();
        if repo.program("sh").args(&["-c", "command -v $0", program]).run().status != 0 {
            continue;
        }
        script(&repo, &[], &way).run().ok();
        is_refused(&repo, &way);
    }
}

/// As an agent's program that is no run of aye's: `aye comment` in it without a variable.
fn comments_below(repo: &Repo, id: &str, program: &str) -> Run {
    let aye = env!("CARGO_BIN_EXE_aye");
    repo.script(&format!("../{program}"), &format!("{aye} comment {id} -m x\nexit $?"));
    repo.program(repo.outer().join(program)).run().ok();
    repo.aye(&["log", "--json"]).ok()
}

#[test]
fn a_command_below_an_agents_program_is_the_agents() {
    let (repo, id) = proposed();
    for (program, kind, by) in [
        ("claude", "agent", "claude-code"),
        ("gemini", "agent", "gemini-cli"),
        // Editors, in whose terminals people type.
        ("cursor", "human", crate::support::NAME),
        ("code", "human", crate::support::NAME),
    ] {
        let event = comments_below(&repo, &id, program).json()["events"][0].clone();
        assert_eq!((&event["actor_kind"], &event["by"]), (&kind.into(), &by.into()), "{event:#}");
    }
    repo.script("../claude", "\"$0.decide\"; :");
    std::fs::rename(repo.outer().join("decide"), repo.outer().join("claude.decide")).unwrap();
    repo.program(repo.outer().join("claude")).run().ok();
    is_refused(&repo, "claude");
    // The variables of a shell that has unset them for one command.
    let shell =
        repo.program("sh").args(&["-c", "\"$0\"; :"]).args(&[repo.outer().join("claude.decide")]);
    shell.env("CODEX_CI", "1").run().ok();
    assert!(repo.text("../log").contains("'codex' is an agent"), "{}", repo.text("../log"));
}

#[test]
fn a_terminal_of_an_agent_is_no_persons_and_doctor_says_why() {
    let (repo, id) = proposed();
    let aye = env!("CARGO_BIN_EXE_aye");
    repo.script("../codex", &format!("{aye} review; {aye} doctor; :"));
    let mut terminal = Terminal::dumb(repo.program(repo.outer().join("codex")));
    terminal.sees("an agent decides on none of them").sees("agent 'codex', by process ");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(repo.item(&id)["status"], "pending");
}

#[test]
fn a_caller_without_a_terminal_is_shown_the_person_and_no_flag() {
    let (repo, id) = proposed();
    let run = repo.aye(&["apply", &id]).fails("confirmation_required", 4);
    assert!(!run.err().contains("--yes"), "{run}");
    run.notes(&format!("ask your user to run: aye apply {id}"));
    let error = repo.aye(&["reject", &id, "--json"]).fails("confirmation_required", 4).json();
    assert_eq!(error["error"]["details"]["command"], format!("aye reject {id}"), "{error:#}");
}
