//! Staged memory decided by a person at a terminal.

use crate::support::Repo;
use crate::support::terminal::Terminal;

const DECISION: &[&str] = &[
    "memory",
    "propose",
    "--intent",
    "record_decision",
    "--operation",
    "append_section",
    "--path",
    "decisions.md",
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
fn a_rejection_ends_with_esc_and_takes_a_paste_as_one_line() {
    let repo = store();
    staged(&repo);
    let reject = ["reject", "--latest"];
    let mut terminal = Terminal::start(repo.cmd(&reject), 30, 100);
    terminal.sees("[y,n,?]").types("y").sees("): ").types("\x1b");
    assert_eq!(terminal.ends(), 1);
    let mut terminal = Terminal::start(repo.cmd(&reject), 30, 100);
    terminal.sees("[y,n,?]").types("y").sees("): ");
    terminal.types("\x1b[200~not\nso\x1b[201~").sees("so").types("\r").sees("rejected");
    assert_eq!(terminal.ends(), 0);
    let log = repo.aye(&["log", "--json"]).ok().json();
    assert_eq!(log["events"][0]["text"], "not so", "{log:#}");
}

/// Stages the decision as an agent; the id of the proposal.
fn staged(repo: &Repo) -> String {
    repo.cmd(DECISION).env("AYE_AGENT", "bot").run().ok();
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
fn apply_shows_what_it_asks_about() {
    let repo = store();
    let id = staged(&repo);
    let mut terminal = Terminal::start(repo.cmd(&["apply", "--latest"]), 50, 100);
    terminal.sees("+Because.").sees("index.md").sees("Apply ");
    edit(&repo, "Mine.");
    terminal.types("y").sees("again").sees("Mine.").sees("Apply ");
    assert!(!decisions(&repo).contains("use-postgres"));
    terminal.types("y").sees("applied");
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
    repo.agent("bot", &["revise", "--rebase", &id])
        .fails("wrong_tool", 4)
        .notes("aye memory stage");
    assert_eq!(repo.aye(&["log", &id, "--json"]).ok().json(), before);
    repo.aye(&["show", "--latest"]).ok();
}
