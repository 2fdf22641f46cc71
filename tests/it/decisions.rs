//! Decisions, attacked from outside: what was shown is what is written and what counts, nobody
//! decides in a person's place, and commits are held to exactly what a person approved.

use crate::support::clones::{exchange, thread, tip};
use crate::support::forger::{self, Forged};
use crate::support::record::{apply, propose, reject};
use crate::support::{EMAIL, NAME, Repo, Run};
use serde_json::{Value, json};

const LAST: [&str; 3] = ["check", "--range", "HEAD~1..HEAD"];

/// Lines 1 to 30, some of them replaced.
fn numbers(edits: &[(usize, &str)]) -> String {
    let text = |n: &usize| edits.iter().find(|(at, _)| at == n).map(|(_, text)| (*text).to_owned());
    (1..=30).map(|n| text(&n).unwrap_or_else(|| n.to_string()) + "\n").collect()
}

fn hello() -> Repo {
    Repo::with(&[("a.txt", "hello\n"), ("b.txt", "b\n")])
}

/// Commits all changes of known files under the trailer of `id`.
fn commit_as(repo: &Repo, id: &str) {
    repo.git(&["commit", "-q", "-a", "-m", &format!("Land it\n\nProposal-Id: {id}")]);
}

fn show(repo: &Repo, id: &str) -> Value {
    repo.aye(&["show", id, "--json"]).ok().json()
}

fn call(repo: &Repo, agent: Option<&str>, request: &Value) -> Run {
    let cmd = repo.cmd(&["call", "changes", &request.to_string()]);
    match agent {
        Some(name) => cmd.env("AYE_AGENT", name).run(),
        None => cmd.run(),
    }
}
/// The events of the log, newest first.
fn events(repo: &Repo) -> Vec<Value> {
    let log = repo.aye(&["log", "--json"]).ok().json();
    log["events"].as_array().expect("events").clone()
}

/// The newest decision of a proposal, as this clone has recorded it.
fn decided(repo: &Repo, id: &str) -> Forged {
    Forged::read(repo, &tip(repo, &thread(repo, id)))
}

/// The records of its manifest, held to its SHA-256: outcome, residue, three sides, path.
fn records(repo: &Repo, decided: &Forged) -> Vec<Vec<String>> {
    let named = &decided.statement.as_ref().expect("a statement")["manifest"];
    let id = named["id"].as_str().expect("an id");
    let bytes = repo.program("git").args(&["cat-file", "blob", id]).run().ok().stdout;
    assert_eq!(named["sha256"], forger::sha256(&bytes));
    let text = String::from_utf8(bytes).expect("text");
    let fields = |record: &str| record.splitn(6, ' ').map(str::to_owned).collect();
    text.split_terminator('\0').map(fields).collect()
}

/// The manifest of the newest decision, a line per path.
fn manifest(repo: &Repo, id: &str) -> Vec<String> {
    records(repo, &decided(repo, id)).iter().map(|record| record.join(" ")).collect()
}

// What is shown, written and approved.

/// `f` with a line 25 that nobody proposed, and a proposal that changes line 5.
fn planted() -> (Repo, String) {
    let repo = Repo::with(&[("f", numbers(&[]))]);
    let id = propose(&repo, "f", "\n5\n", "\nfive\n");
    repo.write("f", numbers(&[(25, "PLANTED")]));
    (repo, id)
}

#[test]
fn a_planted_line_is_shown_apart_and_not_approved_by_yes() {
    let (repo, id) = planted();
    let shown = repo.aye(&["apply", &id, "--dry-run"]).ok().out();
    let (own, foreign) =
        shown.split_once("changes that are not the proposal's").expect("a part of its own");
    assert!(own.contains("+five") && !own.contains("PLANTED"), "{shown}");
    assert!(foreign.contains("-25") && foreign.contains("+PLANTED"), "{shown}");

    repo.aye(&["apply", &id, "--yes"]).ok().notes("approved");
    assert_eq!(repo.text("f"), numbers(&[(5, "five"), (25, "PLANTED")]));
    let records = manifest(&repo, &id);
    assert_eq!(records.len(), 1);
    assert!(records[0].starts_with("merged not_taken "), "{records:?}");
    commit_as(&repo, &id);
    repo.aye(&LAST).exits(1).says("error[content_differs]: f");
}

#[test]
fn a_planted_line_is_approved_where_the_residue_is_taken() {
    let (repo, id) = planted();
    let run = repo.aye(&["apply", &id, "--yes", "--with-other-changes"]).ok();
    assert!(!run.err().contains("approved"), "{run}");
    let records = manifest(&repo, &id);
    assert!(records[0].starts_with("merged taken "), "{records:?}");
    commit_as(&repo, &id);
    repo.aye(&LAST).ok();
}

#[test]
fn an_undo_in_the_same_file_leaves_nothing_unapproved() {
    let repo = Repo::with(&[("f", numbers(&[]))]);
    let [a, b, c] = ["5", "15", "25"]
        .map(|line| propose(&repo, "f", &format!("\n{line}\n"), &format!("\nnew {line}\n")));
    for words in [["apply", &a], ["apply", &b], ["undo", &a]] {
        repo.aye(&[&words[..], &["--yes"]].concat()).ok();
    }
    assert!(!repo.aye(&["apply", &c, "--yes"]).ok().err().contains("approved"));
    // Applied again, the undone one is explained by its own undo.
    assert!(!repo.aye(&["apply", &a, "--yes"]).ok().err().contains("approved"));
    let message = format!("Land\n\nProposal-Id: {a}\nProposal-Id: {b}\nProposal-Id: {c}");
    repo.git(&["commit", "-q", "-a", "-m", &message]);
    repo.aye(&LAST).ok();
}

#[test]
fn a_moved_base_is_shown_as_it_will_be_written() {
    let repo = Repo::with(&[("conf.toml", "[prod]\nlogin_without_password = false\n")]);
    repo.write("conf.toml", "[test]\nlogin_without_password = false\n");
    let old = "login_without_password = false";
    let id = propose(&repo, "conf.toml", old, "login_without_password = true");
    repo.git(&["checkout", "-q", "conf.toml"]);
    let diff = repo.aye(&["diff", &id]).ok().says(" [prod]\n").lacks("[test]").out();
    repo.aye(&["apply", &id, "--dry-run"]).ok().says(" [prod]\n").lacks("[test]");
    repo.aye(&["diff", &id, "--proposed"]).ok().says("[test]").lacks("[prod]");
    // What `diff` showed is what is written: git makes the very same of it.
    let at = diff.find("diff --git").expect("a patch");
    repo.program("git").args(&["apply", "-"]).stdin(&diff[at..]).run().ok();
    let expected = repo.text("conf.toml");
    repo.git(&["checkout", "-q", "conf.toml"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("conf.toml"), expected);
    assert_eq!(expected, "[prod]\nlogin_without_password = true\n");
}

#[test]
fn a_change_that_was_committed_first_can_be_approved_afterwards() {
    let repo = hello();
    repo.write("a.txt", "committed\n");
    repo.git(&["commit", "-q", "-a", "-m", "First the commit"]);
    let run = repo.agent("codex", &["propose", "--commit", "HEAD", "-m", "Then the proposal"]);
    let id = run.ok().id();
    // Nothing will be written, and what will be approved is shown all the same.
    let dry = repo.aye(&["apply", &id, "--dry-run"]).ok();
    dry.says("+committed");
    repo.aye(&["diff", &id]).ok().says("+committed");
    repo.aye(&["diff", &id, "--proposed"]).ok().says("+committed").lacks("already");
    let answer = repo.aye(&["apply", &id, "--yes", "--json"]).ok().json();
    assert_eq!(answer["proposals"][0]["files"][0]["outcome"], "already", "{answer:#}");
    assert!(manifest(&repo, &id)[0].starts_with("already none "), "{:?}", manifest(&repo, &id));
    let message = format!("First the commit\n\nProposal-Id: {id}");
    repo.git(&["commit", "-q", "--amend", "-m", &message]);
    repo.aye(&LAST).ok();
}

#[test]
fn a_diff_names_the_files_that_have_their_change_already() {
    let repo = hello();
    repo.write("b.txt", "other\n");
    repo.git(&["add", "b.txt"]);
    let edits = repo.edits(&[["a.txt", "hello", "bye"], ["b.txt", "other", "same"]]);
    let run = repo.agent("codex", &["propose", "-m", "Two files", "--from-json", &edits]);
    let id = run.ok().id();
    repo.aye(&["diff", &id]).ok().lacks("already");
    repo.write("b.txt", "same\n");
    let note = "note: the files have this already: b.txt";
    repo.aye(&["diff", &id]).ok().says("+bye").says("+same").notes(note);
}

#[test]
fn a_formatting_hook_is_reported_and_its_difference_is_asked_about() {
    let repo = hello();
    let hook = ".git/hooks/pre-commit";
    repo.write(hook, "#!/bin/sh\nsed -i 's/$/;/' a.txt && git add a.txt\n");
    repo.chmod(hook, 0o755);
    let id = propose(&repo, "a.txt", "hello", "bye");
    let run = repo.aye(&["apply", &id, "--yes", "--commit", "--json"]).exits(5);
    let run = run.notes("error[commit_differs]");
    assert_eq!(repo.git(&["show", "HEAD:a.txt"]), "bye;");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.aye(&LAST).exits(1).says("content_differs");

    let asks = run.json()["proposals"][0]["amended"].as_str().expect("a proposal").to_owned();
    repo.aye(&["diff", &asks]).ok().says("-bye").says("+bye;");
    repo.aye(&["apply", &asks, "--yes"]).ok();
    repo.aye(&LAST).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_a_hook_commits_beside_is_reported_and_asked_about() {
    let repo = hello();
    let hook = ".git/hooks/pre-commit";
    repo.write(hook, "#!/bin/sh\necho evil > extra; echo EVIL > b.txt; git add extra b.txt\n");
    repo.chmod(hook, 0o755);
    let id = propose(&repo, "a.txt", "hello", "bye");
    let run = repo.aye(&["apply", &id, "--yes", "--commit", "--json"]).exits(5);
    let run = run.notes("error[commit_differs]");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.aye(&LAST).exits(1).says("extra_file");
    let asks = run.json()["proposals"][0]["amended"].as_str().expect("a proposal").to_owned();
    repo.aye(&["diff", &asks]).ok().says("+evil").says("+EVIL").lacks("bye");
    repo.aye(&["apply", &asks, "--yes"]).ok();
    repo.aye(&LAST).ok();
}

// Who decides.

#[test]
fn an_agent_cannot_approve_through_the_tool_contract() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "EVIL");
    for tool in ["changes", "review_changes", "propose_change"] {
        let request = json!({"action": "apply", "proposal_id": id}).to_string();
        let error = repo.agent("codex", &["call", tool, &request]);
        let error = error.fails("human_approval_required", 4).json();
        let hint = error["error"]["hint"].as_str().expect("a hint");
        assert!(hint.contains(&format!("aye apply {id}")), "{error:#}");
    }
    let shown = show(&repo, &id);
    assert_eq!((&shown["status"], &shown["mark"]), (&json!("pending"), &Value::Null));
}

#[test]
fn an_agent_that_rejects_its_own_proposal_withdraws_it() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    let request = json!({"action": "reject", "proposal_id": id, "reason": "found better"});
    let answer = call(&repo, Some("codex"), &request).ok().json();
    assert_eq!(answer["status"], "rejected");
    let shown = show(&repo, &id);
    assert_eq!(shown["decision"]["withdrawn"], true);
    assert_eq!(shown["rejection_reason"], "found better");
}

#[test]
fn an_agent_cannot_reject_another_agents_proposal() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    let request = json!({"action": "reject", "proposal_id": id});
    call(&repo, Some("claude"), &request).fails("human_approval_required", 4);
    repo.agent("claude", &["reject", &id]).fails("human_approval_required", 4);
    repo.aye(&["list"]).ok().says(&id);
}

#[test]
fn an_agent_marks_its_own_proposal_only_where_the_committed_policy_lets_it() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    let request = json!({"action": "apply", "proposal_id": id});
    let policy = ".agent-memory/policy.toml";
    repo.write(policy, "agents_may_mark = \"own\"\n");
    call(&repo, Some("codex"), &request).fails("human_approval_required", 4);
    repo.git(&["add", "-f", policy]);
    repo.commit("Let agents mark");
    call(&repo, Some("claude"), &request).fails("human_approval_required", 4);
    assert_eq!(call(&repo, Some("codex"), &request).ok().json()["status"], "applied");
    let shown = show(&repo, &id);
    assert_eq!(shown["status"], "pending", "{shown:#}");
    assert_eq!(shown["mark"]["verdict"], "applied", "{shown:#}");
}

/// A proposal that an unmarked caller of the contract has marked as applied.
fn marked() -> (Repo, String) {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    let answer = call(&repo, None, &json!({"action": "apply", "proposal_id": id})).ok().json();
    assert_eq!(answer["status"], "applied");
    (repo, id)
}

#[test]
fn a_tool_mark_is_applied_for_the_contract_and_pending_for_people() {
    let (repo, id) = marked();
    repo.aye(&["list"]).ok().says(&id);
    let listed = |status: &str| {
        call(&repo, None, &json!({"action": "list", "status": status})).ok().json()["count"].clone()
    };
    assert_eq!((listed("applied"), listed("pending")), (json!(1), json!(0)));
    repo.aye(&["check"]).exits(1).says("marked_without_approval").says(&id);
    assert_eq!(repo.text("a.txt"), "hello\n");
}

#[test]
fn a_commit_of_a_tool_mark_fails_the_range_and_names_no_reviewer() {
    let (repo, id) = marked();
    repo.aye(&["hooks", "install"]).ok();
    repo.write("a.txt", "x\n");
    let message = format!("Land it\n\nProposal-Id: {id}");
    // The hook stops it; who goes on without it is found by the range.
    repo.git(&["commit", "-q", "-a", "--no-verify", "-m", &message]);
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(!message.contains("Reviewed-by"), "{message}");
    repo.aye(&LAST).exits(1).says("error[marked_without_approval]");
}

#[test]
fn a_person_still_decides_what_a_tool_has_marked() {
    let (repo, id) = marked();
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(show(&repo, &id)["status"], "applied");
    assert_eq!(repo.text("a.txt"), "x\n");
    commit_as(&repo, &id);
    repo.aye(&LAST).ok();
    let (repo, id) = marked();
    repo.aye(&["reject", &id, "--yes"]).ok();
    assert_eq!(show(&repo, &id)["status"], "rejected");
}

#[test]
fn memory_is_not_decided_through_the_changes_tool() {
    let (repo, id, staging) = staged();
    for name in [&id, &staging] {
        for agent in [None, Some("codex"), Some("bot")] {
            for action in ["apply", "reject"] {
                let request = json!({"action": action, "proposal_id": name});
                call(&repo, agent, &request).fails("wrong_tool", 4);
            }
        }
    }
    assert_eq!(show(&repo, &id)["status"], "pending");
}

#[test]
fn an_agent_cannot_revise_anothers_proposal() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "HELLO");
    let args = ["revise", &id, "a.txt", "--old", "hello", "--new", "evil"];
    let run = repo.agent("claude", &args).fails("human_approval_required", 4);
    run.notes(&format!("--instead-of {id}"));
    assert_eq!(show(&repo, &id)["revisions"], 1);
    // Nor does it under the same name as a person.
    repo.agent(NAME, &args).fails("human_approval_required", 4);
}

#[test]
fn every_revision_names_its_author_and_the_trailers_do_too() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "HELLO");
    let revise =
        |new: &str| ["revise", &id, "a.txt", "--old", "hello", "--new", new].map(String::from);
    repo.agent("codex", &revise("two")).ok();
    let history = show(&repo, &id)["history"].clone();
    let by: Vec<_> = (0..2).map(|at| history[at]["by"].as_str().unwrap_or_default()).collect();
    assert!(by.iter().all(|by| by.starts_with("codex")), "{history:#}");
    repo.aye(&revise("three")).ok();
    let history = show(&repo, &id)["history"].clone();
    assert_eq!(history[2]["by"], format!("{NAME} <{EMAIL}>"), "{history:#}");
    assert_eq!(history[2]["kind"], "human");
    repo.aye(&["apply", &repo.at_revision(&id), "--yes", "--commit"]).ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains(&format!("Proposed-by: {NAME}")), "{message}");
    assert!(!message.contains("Proposed-by: codex"), "nothing of it is left\n{message}");
    assert!(message.contains(&format!("Reviewed-by: {NAME} <{EMAIL}>")), "{message}");
}

#[test]
fn a_revised_proposal_is_applied_at_the_revision_that_was_looked_at() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "harmless");
    let diff = repo.aye(&["diff", &id]).ok().says("+harmless");
    let seen = diff.err().split_whitespace().next().expect("ID@REV").to_owned();
    assert!(seen.starts_with(&format!("{id}@")), "{diff}");
    repo.agent("codex", &["revise", &id, "a.txt", "--old", "hello", "--new", "EVIL"]).ok();
    repo.aye(&["apply", &id, "--yes"]).fails("revision_required", 4);
    repo.aye(&["apply", &seen, "--yes"]).fails("revised_meanwhile", 5);
    // A few digits of one are soon made to be those of another.
    let short = repo.at_revision(&id)[..id.len() + 1 + 11].to_owned();
    for verb in ["apply", "approve", "reject"] {
        repo.aye(&[verb, &short, "--yes"]).fails("revision_required", 4);
    }
    repo.aye(&["diff", &short]).ok().says("+EVIL");
    assert_eq!(repo.text("a.txt"), "hello\n");
    repo.aye(&["apply", &repo.at_revision(&id), "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), "EVIL\n");
}

#[test]
fn only_the_proposer_rejects_without_a_person() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    repo.agent("claude", &["reject", &id]).fails("human_approval_required", 4);
    repo.agent("codex", &["reject", &id]).ok();
    assert_eq!(show(&repo, &id)["decision"]["withdrawn"], true);
    repo.agent("codex", &["reject", &id]).fails("not_pending", 5);
}

#[test]
fn only_a_person_undoes_a_rejection() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    for yes in [&["--yes"][..], &[]] {
        repo.aye(&[&["undo", &id, "--rejection"], yes].concat()).fails("not_rejected", 5);
    }
    repo.agent("codex", &["reject", &id]).ok();
    repo.agent("codex", &["undo", &id, "--yes"]).fails("human_approval_required", 4);
    repo.aye(&["undo", &id]).fails("confirmation_required", 4);
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(show(&repo, &id)["status"], "pending");
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), "x\n");
}

#[test]
fn memory_and_sensitive_paths_take_a_terminal_until_the_policy_loosens_it() {
    let (repo, id, staging) = staged_strictly();
    let workflow = ".github/workflows/ci.yml";
    let sensitive = {
        let args = ["propose", workflow, "--content-file", "-", "--json"];
        let run = repo.cmd(&args).env("AYE_AGENT", "codex").stdin("on: push\n").run().ok();
        run.json()["proposal_id"].as_str().expect("an id").to_owned()
    };
    let before = repo.snapshot();
    let refused = repo.aye(&["apply", &id, "--yes"]).fails("terminal_required", 4);
    refused.notes("ask your user to run at a terminal");
    repo.aye(&["apply", &staging, "--yes"]).fails("terminal_required", 4);
    let run = repo.aye(&["apply", &sensitive, "--yes"]).fails("terminal_required", 4);
    run.notes(&format!("{sensitive} changes a sensitive path"));
    // A policy that nobody has committed loosens nothing.
    let policy = ".agent-memory/policy.toml";
    let kept = if repo.exists(policy) { repo.text(policy) } else { String::new() };
    repo.write(policy, format!("{kept}\n[evidence]\nsensitive = \"flag\"\nmemory = \"flag\"\n"));
    repo.aye(&["apply", &sensitive, "--yes"]).fails("terminal_required", 4);
    match kept.is_empty() {
        true => repo.remove(policy),
        false => repo.write(policy, kept),
    }
    assert_eq!(repo.snapshot(), before);
    repo.let_flags_decide();
    repo.aye(&["apply", &sensitive, "--yes"]).ok();
    repo.aye(&["apply", &staging, "--yes"]).ok();
    assert_eq!(repo.text(workflow), "on: push\n");
}

#[test]
fn what_is_memory_and_a_sensitive_path_takes_both_keys() {
    let repo = Repo::with(&[(".agent-memory/conventions.md", "# Conventions\n")]);
    let id = repo.aye(&[
        "propose",
        ".agent-memory/conventions.md",
        "--old",
        "# C",
        "--new",
        "# Our c",
        "-q",
    ]);
    let id = id.ok().id();
    let refused = |message: &str| {
        let run = repo.aye(&["apply", &id, "--yes"]).fails("terminal_required", 4);
        run.notes(message).notes("ask your user to run at a terminal: aye apply");
    };
    refused(" changes memory and a sensitive path");
    repo.write(".agent-memory/policy.toml", "[evidence]\nmemory = \"flag\"\n");
    repo.commit("Half of it");
    refused(" changes a sensitive path");
    repo.remove(".agent-memory/policy.toml");
    repo.let_flags_decide();
    repo.aye(&["apply", &id, "--yes"]).ok();
}

/// A person's apply, as somebody who can write git objects turns it into others'.
fn forged(repo: &Repo, id: &str) -> Forged {
    let copy = repo.copy();
    copy.aye(&["apply", id, "--yes"]).ok();
    forger::borrow(repo, &copy);
    decided(&copy, id)
}

#[test]
fn a_fetched_mark_by_a_tool_is_no_decision() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    let keys = json!({"effect": "mark_only", "evidence": "tool", "manifest": null});
    let mark = forged(&repo, &id).by("codex", "agent").stated(keys);
    forger::fetched(&repo, &thread(&repo, &id), &mark.write(&repo));
    let shown = show(&repo, &id);
    assert_eq!(
        (&shown["status"], &shown["mark"]["verdict"]),
        (&json!("pending"), &json!("applied"))
    );
    repo.write("a.txt", "x\n");
    commit_as(&repo, &id);
    repo.aye(&LAST).exits(1).says("marked_without_approval");
}

#[test]
fn a_decision_on_another_proposal_hides_no_planted_line() {
    let repo = Repo::with(&[("f", numbers(&[]))]);
    let id = propose(&repo, "f", "\n5\n", "\nfive\n");
    let other = propose(&repo, "f", "\n9\n", "\nnine\n");
    let forged = forged(&repo, &other);
    repo.write("f", numbers(&[(25, "PLANTED")]));
    let side = |edits: &[(usize, &str)]| forger::record(&repo, &numbers(edits));
    let (base, now) = (side(&[]), side(&[(24, "x")]));
    let manifest = format!("merged none {base} {now} {} f\0", side(&[(25, "PLANTED")]));
    let forged = forged.manifest(&repo, &manifest).by("Mallory", "human");
    forger::fetched(&repo, &thread(&repo, &other), &forged.write(&repo));
    repo.aye(&["apply", &id, "--dry-run"]).ok().says("+PLANTED");
}

/// A memo says what a list shows, and nothing else.
#[test]
fn an_edited_memo_decides_nothing() {
    for verb in ["apply", "reject"] {
        let repo = hello();
        let id = propose(&repo, "a.txt", "hello", "harmless");
        let other = propose(&repo, "b.txt", "b", "EVIL");
        repo.aye(&["list"]).ok();
        for memo in [".git/aye/open", ".git/aye/decided"] {
            let Ok(text) = std::fs::read_to_string(repo.path(memo)) else { continue };
            let swapped = text
                .replace(&thread(&repo, &id), "?")
                .replace(&thread(&repo, &other), &thread(&repo, &id));
            repo.write(
                memo,
                swapped.replace('?', &thread(&repo, &other)).replace("pending", "applied"),
            );
        }
        repo.aye(&[verb, &id, "--yes"]).ok();
        let content = if verb == "apply" { "harmless\n" } else { "hello\n" };
        assert_eq!((repo.text("a.txt"), repo.text("b.txt")), (content.into(), "b\n".into()));
        assert_eq!(show(&repo, &other)["status"], "pending");
    }
}

/// Without a policy that asks for more, a contested decision is a warning; others cannot make CI red.
#[test]
fn a_contested_decision_warns_in_a_range() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    let other = hello();
    exchange(&other, &repo);
    reject(&other, &id, "no");
    apply(&repo, &id);
    commit_as(&repo, &id);
    repo.aye(&LAST).ok();
    exchange(&repo, &other);
    repo.aye(&LAST).ok().says("contested");
}

#[test]
fn what_a_commit_holds_beside_an_approved_change_is_found() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    apply(&repo, &id);
    repo.write("b.txt", "backdoor\n");
    repo.write("extra.sh", "backdoor\n");
    repo.git(&["add", "-A", "--", "a.txt", "b.txt", "extra.sh"]);
    commit_as(&repo, &id);
    let run = repo.aye(&LAST).exits(1);
    run.says("error[extra_file]: b.txt").says("error[extra_file]: extra.sh").lacks("]: a.txt");
}

#[test]
fn a_commit_without_a_proposal_is_found_where_one_is_required() {
    let repo = hello();
    repo.write("b.txt", "unasked\n");
    repo.commit("No proposal");
    repo.aye(&LAST).ok();
    let required = [LAST.as_slice(), &["--require-proposal"]].concat();
    repo.aye(&required).exits(1).says("error[no_proposal]");
}

#[test]
fn an_old_approval_does_not_carry_a_rollback() {
    let repo = Repo::with(&[("a.txt", "v0\n")]);
    for (from, to) in [("v0", "v1"), ("v1", "v2")] {
        let id = propose(&repo, "a.txt", from, to);
        apply(&repo, &id);
        commit_as(&repo, &id);
        repo.aye(&LAST).ok();
    }
    let old =
        repo.git(&["log", "-1", "--skip=1", "--format=%(trailers:key=Proposal-Id,valueonly)"]);
    repo.write("a.txt", "v1\n");
    commit_as(&repo, old.trim());
    repo.aye(&LAST).exits(1).says("error[content_differs]: a.txt");
}

#[test]
fn a_reviewer_who_did_not_decide_is_found() {
    let repo = hello();
    let id = propose(&repo, "a.txt", "hello", "x");
    apply(&repo, &id);
    let message = |who: &str| format!("Land it\n\nProposal-Id: {id}\nReviewed-by: {who}");
    repo.git(&["commit", "-q", "-a", "-m", &message("Eve <eve@x>")]);
    repo.aye(&LAST).exits(1).says("error[reviewer_mismatch]");
    repo.git(&["commit", "-q", "--amend", "-m", &message(&format!("{NAME} <{EMAIL}>"))]);
    repo.aye(&LAST).ok();
}

#[test]
fn many_files_with_other_changes_are_one_note() {
    let names: Vec<String> = (1..=5).map(|n| format!("f{n}")).collect();
    let text = |edits: &[(usize, &str)]| -> String {
        let line =
            |n: usize| edits.iter().find(|(at, _)| *at == n).map_or(n.to_string(), |e| e.1.into());
        (1..=30).map(|n| line(n) + "\n").collect()
    };
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), text(&[]))).collect();
    let repo = Repo::with(&files);
    names.iter().for_each(|name| repo.write(name, text(&[(5, "five")])));
    let patch = repo.git(&["diff"]);
    names.iter().for_each(|name| repo.write(name, text(&[(25, "mine")])));
    repo.write("../five.patch", patch);
    let made = repo.agent("bot", &["propose", "--patch", "../five.patch", "--json"]).ok().json();
    let id = made["proposal_id"].as_str().expect("an id");
    let applied = repo.aye(&["apply", id, "--yes"]);
    applied.ok().notes("note: f1, f2, f3 and 2 ");
}

// One engine for code, memory and patches.

const MEMORY: &str = ".agent-memory/decisions.md";

fn decisions(text: &str) -> String {
    let fields = "**Date:** 2026-01-02\n**Status:** active\n**Confidence:** confirmed\n";
    format!("# Decisions\n<!-- @id: decisions -->\n\n## A\n<!-- @id: a -->\n\n{fields}\n{text}\n")
}

/// A repository with memory, and a staged change of its decision; the ids of that.
fn staged_strictly() -> (Repo, String, String) {
    let repo = hello();
    repo.aye(&["memory", "init"]).ok();
    repo.write(MEMORY, decisions("old"));
    repo.commit("Memory");
    let content = decisions("new");
    let (_, content) = content.split_once("<!-- @id: a -->\n\n").expect("a section");
    let request = json!({"intent": "record_decision", "sources": [{"type": "user"}],
        "operations": [{"operation": "replace_section_content", "path": "decisions.md",
            "section_id": "a", "content": content}]});
    let answer = repo.agent("bot", &["call", "memory.propose_update", &request.to_string()]);
    let answer = answer.ok().json();
    assert_eq!(answer["status"], "staged", "{answer:#}");
    let staging = answer["staging_id"].as_str().expect("an id").to_owned();
    let list = repo.aye(&["list", "--json"]).ok().json();
    let id = list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    (repo, id, staging)
}

/// The same, where `--yes` decides.
fn staged() -> (Repo, String, String) {
    let staged = staged_strictly();
    staged.0.let_flags_decide();
    staged
}

#[test]
fn the_index_of_memory_is_written_and_approved() {
    let (repo, id, staging) = staged();
    repo.aye(&["apply", &staging, "--yes"]).ok();
    assert_eq!(repo.text(MEMORY), decisions("new"));
    let records = manifest(&repo, &id);
    let derived = |record: &&String| record.ends_with(" .agent-memory/index.md");
    let index = records.iter().find(derived).expect("the index is approved");
    assert!(index.starts_with("derived=memory-index@1 "), "{records:?}");
    let after = repo.git(&["hash-object", ".agent-memory/index.md"]);
    assert!(index.split(' ').nth(4).is_some_and(|side| side.contains(&after)), "{index}");
}

#[test]
fn a_direct_patch_is_on_record_and_is_taken_back() {
    let repo = hello();
    let patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n";
    repo.cmd(&["patch"]).env("AYE_AGENT", "bot").stdin(patch).run().ok();
    assert_eq!(repo.text("b.txt"), "B\n");
    let event = events(&repo)[0].clone();
    assert_eq!((&event["kind"], &event["by"]), (&json!("patch"), &json!("bot")), "{event:#}");
    let id = event["patch_id"].as_str().expect("an id").to_owned();
    assert!(id.starts_with("patch_"), "{id}");
    repo.aye(&["log"]).ok().says(&id);

    repo.agent("bot", &["undo", &id, "--yes"]).fails("human_approval_required", 4);
    repo.write("b.txt", "B\nmine\n");
    repo.aye(&["undo", &id, "--yes"]).fails("conflict", 5);
    assert_eq!(repo.text("b.txt"), "B\nmine\n");
    repo.write("b.txt", "B\n");
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text("b.txt"), "b\n");
    repo.aye(&["undo", &id, "--yes"]).fails("not_applied", 5);
    assert_eq!(repo.text("b.txt"), "b\n");
}

/// What a person has not committed is nowhere else.
#[test]
fn what_stood_before_a_direct_patch_outlives_git_gc() {
    let repo = hello();
    repo.write("b.txt", "b\nmine\n");
    repo.write("new/c.txt", "new\n");
    let patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n b\n-mine\n+theirs\n\
                 --- a/new/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-new\n";
    repo.aye_stdin(&["patch"], patch).ok();
    let clean = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-hello\n+bye\n";
    repo.aye_stdin(&["patch"], clean).ok();
    let id = events(&repo)[1]["patch_id"].as_str().expect("an id").to_owned();
    let refs = || repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/before"]);
    // HEAD has the other one's file.
    assert_eq!(refs(), format!("refs/aye/before/{id}"));
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["fsck", "--strict", "--no-dangling"]);
    repo.aye(&["doctor", "--full"]).ok();
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!((repo.text("b.txt"), repo.text("new/c.txt")), ("b\nmine\n".into(), "new\n".into()));
    assert_eq!(refs(), "");
}

#[test]
fn the_last_decision_is_taken_back_without_an_id() {
    use crate::support::terminal::Terminal;
    let repo = Repo::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let propose = |file: &str, why: &str| {
        let args = ["propose", file, "--content-file", "-", "-m", why, "--json"];
        repo.cmd(&args).env("AYE_AGENT", "bot").stdin("x\n").run().ok().id()
    };
    let (one, two) = (propose("a.txt", "one"), propose("b.txt", "two"));
    let status = |id: &str| {
        let shown = repo.aye(&["show", id, "--json"]).ok().json();
        shown["status"].as_str().expect("a status").to_owned()
    };
    repo.aye(&["undo"]).fails("usage", 2);
    repo.aye(&["undo", "--yes"]).fails("usage", 2);
    let in_minutes =
        |minutes| (chrono::Utc::now() + chrono::TimeDelta::minutes(minutes)).to_rfc3339();
    let undo = || {
        let cmd = repo.cmd(&["undo"]).env("AYE_NOW", in_minutes(20));
        Terminal::start(cmd.env("TERM", "dumb"), 30, 120)
    };
    let mut t = undo();
    t.sees("stands");
    t.ends();
    // Not in one go: `tests/it/taking_back.rs` has that.
    repo.cmd(&["apply", &one, "--yes"]).env("AYE_NOW", in_minutes(1)).run().ok();
    let reject = ["reject", &two, "--yes", "-m", "no"];
    repo.cmd(&reject).env("AYE_NOW", in_minutes(10)).run().ok();
    let mut t = undo();
    t.sees(&two).sees("b.txt").sees("[y,n,?]").types("n");
    t.sees("nothing");
    t.ends();
    assert_eq!(status(&two), "rejected");
    let mut t = undo();
    t.sees("[y,n,?]").types("y").sees("pending");
    assert_eq!(t.ends(), 0);
    assert_eq!((status(&one).as_str(), status(&two).as_str()), ("applied", "pending"));
    let mut t = undo();
    t.sees(&one).sees("a.txt").sees("[y,n,?]").types("y");
    t.sees("undone");
    assert_eq!(t.ends(), 0);
    assert_eq!(status(&one), "pending");
    assert_eq!(repo.text("a.txt"), "a\n");
    // By id; an agent may not.
    repo.aye(&["reject", &two, "--yes", "-m", "no"]).ok();
    repo.agent("bot", &["undo", &two, "--yes"]).fails("human_approval_required", 4);
    repo.aye(&["undo", &two, "--dry-run"]).ok();
    assert_eq!(status(&two), "rejected");
    repo.aye(&["undo", &two, "--yes", "--json"]).ok();
    assert_eq!(status(&two), "pending");
}

#[test]
fn a_question_says_what_it_is_about_and_a_no_has_a_reason() {
    use crate::support::terminal::Terminal;
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let propose = |content: &str| {
        let args = ["propose", "a.txt", "--content-file", "-", "-m", "Because so", "--json"];
        repo.cmd(&args).env("AYE_AGENT", "bot").stdin(content).run().ok().id()
    };
    let (one, many) = (propose("x\n"), propose(&"line\n".repeat(60)));
    let start = |args: &[&str]| Terminal::start(repo.cmd(args).env("TERM", "dumb"), 40, 120);
    let mut t = start(&["apply", &one]);
    t.sees("bot").sees("Because so").sees("+x").sees("Apply").types("n");
    t.ends();
    let mut t = start(&["reject", &one]);
    t.sees("bot").sees("Because so").sees("+x").sees("Reject").types("y");
    t.sees("because").types("\x1b").sees("nothing");
    t.ends();
    let mut t = start(&["reject", &one]);
    t.sees("Reject").types("y").sees("because").types("\r").sees("reason");
    t.sees("because").types("not so\r").sees("rejected: a.txt");
    assert_eq!(t.ends(), 0);
    let shown = repo.aye(&["show", &one, "--json"]).ok().json();
    assert_eq!(shown["rejection_reason"], "not so");
    let mut t = start(&["reject", &many]);
    t.sees("aye diff").sees("[y,n,?]").types("n").sees("nothing");
    t.ends();
}

#[test]
fn all_of_an_agent_are_decided_by_one_question() {
    use crate::support::terminal::Terminal;
    let repo = Repo::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let propose = |who: &str, file: &str, content: &str| {
        let args = ["propose", file, "--content-file", "-", "--json"];
        repo.cmd(&args).env("AYE_AGENT", who).stdin(content).run().ok().id()
    };
    let (one, two) = (propose("bot", "a.txt", "x\n"), propose("bot", "b.txt", "y\n"));
    let (clash, other) = (propose("bot", "a.txt", "z\n"), propose("cat", "c.txt", "x\n"));
    let back = propose("bot", "c.txt", "sent back\n");
    repo.aye(&["comment", &back, "--request-changes", "-m", "no"]).ok();
    repo.aye(&["apply", "--by", "nobody", "--yes"]).fails("proposal_not_found", 3);
    repo.aye(&["apply", &one, "--by", "bot"]).fails("usage", 2);
    let start = |args: &[&str]| Terminal::start(repo.cmd(args).env("TERM", "dumb"), 60, 120);
    let mut t = start(&["apply", "--by", "bot"]);
    t.sees(&clash).sees("a.txt").sees("+x").sees("+y");
    t.sees("Apply 2").sees("[y,n,?]").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    let statuses = || {
        let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        let all = list["proposals"].as_array().expect("a list").clone();
        let status = |id: &str| {
            let item = all.iter().find(|item| item["proposal_id"] == id).expect("it");
            item["status"].as_str().expect("a status").to_owned()
        };
        [&one, &two, &clash, &other, &back].map(|id| status(id))
    };
    assert_eq!(statuses(), ["applied", "applied", "pending", "pending", "pending"]);
    let mut t = start(&["reject", "--path", "c.txt"]);
    t.sees("Reject 1").sees("[y,n,?]").types("y").sees("because").types("no\r");
    t.sees("rejected: c.txt");
    assert_eq!(t.ends(), 0);
    assert_eq!(statuses(), ["applied", "applied", "pending", "rejected", "pending"]);
}
