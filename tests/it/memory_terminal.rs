//! `memory propose --apply` by a person at a terminal: what would be staged is shown, asked for,
//! and applied.

use crate::support::Repo;
use crate::support::terminal::Terminal;

const DECISION: &[&str] = &[
    "memory",
    "propose",
    "--apply",
    "--intent",
    "record_decision",
    "--operation",
    "append_section",
    "--path",
    "decisions.md",
    "--heading",
    "Use Postgres",
    "--heading-level",
    "2",
    "--source",
    "user",
    "--content",
    "## Use Postgres\n\nDate: 2026-01-02\nStatus: active\nConfidence: confirmed\n\nBecause.",
];

fn store() -> Repo {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    repo
}

fn decisions(repo: &Repo) -> String {
    repo.text(".agent-memory/decisions.md")
}

#[test]
fn a_person_sees_what_would_be_staged_and_applies_it() {
    let repo = store();
    let mut terminal = Terminal::start(repo.cmd(DECISION), 30, 100);
    terminal.sees("decisions.md#use-postgres").sees("+Because.").sees("memory?").types("y\r");
    terminal.sees("applied: decisions.md");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.is_sane());
    assert!(decisions(&repo).contains("use-postgres"));
    assert!(repo.text(".agent-memory/index.md").contains("(1 active)"));
    // The decision is on record as one that was made at a terminal, and can be taken back.
    let log = repo.aye(&["log", "--json"]).ok().json();
    assert_eq!(log["events"][0]["evidence"], "terminal");
    let id = log["events"][0]["proposal_id"].as_str().expect("an id").to_owned();
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!decisions(&repo).contains("use-postgres"));
}

#[test]
fn no_is_no_and_nothing_is_left_behind() {
    let repo = store();
    let before = repo.snapshot();
    let mut terminal = Terminal::start(repo.cmd(DECISION), 30, 100);
    terminal.sees("memory?").types("n\r").sees("nothing");
    assert_eq!(terminal.ends(), 1);
    assert_eq!(repo.snapshot(), before);
    let status = repo.aye(&["memory", "status", "--json"]).ok().json();
    assert_eq!(status["staged_updates"], serde_json::json!([]));
}

#[test]
fn an_agent_at_a_terminal_is_not_asked() {
    let repo = store();
    let mut terminal = Terminal::start(repo.cmd(DECISION).env("AYE_AGENT", "bot"), 30, 100);
    terminal.sees("human_approval_required");
    assert_eq!(terminal.ends(), 4);
    assert!(!decisions(&repo).contains("use-postgres"));
}

#[test]
fn a_request_is_shown_again_where_head_has_moved() {
    let repo = store();
    let mut terminal = Terminal::start(repo.cmd(DECISION), 40, 100);
    terminal.sees("memory?");
    repo.git(&["checkout", "-q", "-b", "elsewhere"]);
    terminal.types("y\r").sees("HEAD").sees("memory?").types("n\r");
    assert_eq!(terminal.ends(), 1);
    assert!(!decisions(&repo).contains("use-postgres"));
}

#[test]
fn a_flag_applies_memory_at_once_only_where_it_would_apply_a_proposal() {
    let repo = store();
    let args = [DECISION, &["--yes"]].concat();
    let policy = ".agent-memory/policy.toml";
    let kept = if repo.exists(policy) { repo.text(policy) } else { String::new() };
    repo.write(policy, format!("{kept}\n[evidence]\nmemory = \"flag\"\n"));
    repo.commit("Half of it");
    repo.aye(&args).fails("terminal_required", 4).notes("sensitive = \"flag\"");
    assert!(!decisions(&repo).contains("use-postgres"));
    repo.write(policy, kept);
    repo.let_flags_decide();
    repo.aye(&args).ok();
    assert!(decisions(&repo).contains("use-postgres"));
}

#[test]
fn what_would_be_rejected_is_not_asked_about() {
    let repo = store();
    let mut args = DECISION.to_vec();
    let last = args.len() - 1;
    args[last] = "## Use Postgres\n\nno fields";
    let mut terminal = Terminal::start(repo.cmd(&args), 30, 100);
    terminal.sees("rejected (validation_failed)");
    assert_eq!(terminal.ends(), 1);
}

#[test]
fn a_rejection_ends_with_esc_and_takes_a_paste_as_one_line() {
    let repo = store();
    let mut staged = DECISION.to_vec();
    staged.retain(|word| *word != "--apply");
    repo.cmd(&staged).env("AYE_AGENT", "bot").run().ok();
    let reject = ["reject", "--latest"];
    let mut terminal = Terminal::start(repo.cmd(&reject), 30, 100);
    terminal.sees("[y/n]").types("y\r").sees("): ").types("\x1b");
    assert_eq!(terminal.ends(), 1);
    let mut terminal = Terminal::start(repo.cmd(&reject), 30, 100);
    terminal.sees("[y/n]").types("y\r").sees("): ");
    terminal.types("\x1b[200~not\nso\x1b[201~").sees("so").types("\r").sees("rejected");
    assert_eq!(terminal.ends(), 0);
    let log = repo.aye(&["log", "--json"]).ok().json();
    assert_eq!(log["events"][0]["text"], "not so", "{log:#}");
}

/// Stages the decision as an agent; the id of the proposal.
fn staged(repo: &Repo) -> String {
    let mut args = DECISION.to_vec();
    args.retain(|word| *word != "--apply");
    repo.cmd(&args).env("AYE_AGENT", "bot").run().ok();
    repo.aye(&["list", "--json"]).ok().json()["proposals"][0]["proposal_id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

/// What a person writes into the same file while the question stands.
fn edit(repo: &Repo, line: &str) {
    let text = decisions(repo);
    repo.write(
        ".agent-memory/decisions.md",
        format!("{text}\n## Own\n<!-- @id: own -->\n\n{line}\n"),
    );
}

#[test]
fn what_changed_while_the_question_stood_is_shown_again() {
    let repo = store();
    let mut terminal = Terminal::start(repo.cmd(DECISION), 30, 100);
    terminal.sees("memory?");
    edit(&repo, "Mine.");
    terminal.types("y\r").sees("again").sees("memory?");
    assert!(!decisions(&repo).contains("use-postgres"));
    terminal.types("y\r").sees("applied: decisions.md");
    assert_eq!(terminal.ends(), 0);
    assert!(decisions(&repo).contains("use-postgres") && decisions(&repo).contains("Mine."));
}

#[test]
fn apply_shows_what_it_asks_about() {
    let repo = store();
    let id = staged(&repo);
    let mut terminal = Terminal::start(repo.cmd(&["apply", "--latest"]), 50, 100);
    terminal.sees("+Because.").sees("index.md").sees("Apply ");
    edit(&repo, "Mine.");
    terminal.types("y\r").sees("again").sees("Mine.").sees("Apply ");
    assert!(!decisions(&repo).contains("use-postgres"));
    terminal.types("y\r").sees("applied");
    assert_eq!(terminal.ends(), 0);
    assert!(decisions(&repo).contains("use-postgres") && decisions(&repo).contains("Mine."));
    repo.aye(&["check"]).lacks(&id);
}

#[test]
fn edits_of_files_are_no_request_to_memory() {
    let repo = store();
    let id = staged(&repo);
    let before = repo.aye(&["log", &id, "--json"]).ok().json();
    let file = ".agent-memory/decisions.md";
    let edit = ["revise", id.as_str(), file, "--old", "# Decisions", "--new", "# Ours", "-m", "x"];
    repo.agent("bot", &edit).fails("wrong_tool", 4).notes("aye memory stage");
    repo.agent("bot", &["revise", &id, "-m", "only words"]).fails("wrong_tool", 4);
    repo.write(file, format!("{}\nMine.\n", decisions(&repo)));
    repo.agent("bot", &["rebase", &id]).fails("wrong_tool", 4).notes("aye memory stage");
    assert_eq!(repo.aye(&["log", &id, "--json"]).ok().json(), before);
    repo.aye(&["show", "--latest"]).ok();
}
