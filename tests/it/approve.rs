//! `aye approve`: a person's approval that writes nothing, and what it counts for.

use crate::support::clones;
use crate::support::forger::{self, Forged};
use crate::support::record::{apply, proposal, propose, reject, request_changes, store, undo};
use crate::support::terminal::Terminal;
use crate::support::{Cmd, EMAIL, NAME, Repo, Run};
use aye::decide::{self, approve::Remarks};
use aye::proposal::event::Evidence;
use aye::proposal::rules::Verb;
use aye::proposal::{Actor, ActorKind, Caller};
use serde_json::{Value, json};

const LAST: [&str; 3] = ["check", "--range", "HEAD~1..HEAD"];

fn hello() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    let id = propose(&repo, "a.txt", "two", "2");
    (repo, id)
}

/// Somebody else at the same machine.
fn bob(cmd: Cmd) -> Cmd {
    cmd.env("GIT_COMMITTER_NAME", "Bob").env("GIT_COMMITTER_EMAIL", "bob@example.com")
}

fn approve(repo: &Repo, id: &str) -> Run {
    repo.aye(&["approve", id, "--yes"])
}

fn approve_as_bob(repo: &Repo, id: &str) {
    bob(repo.cmd(&["approve", id, "--yes"])).run().ok();
}

/// Who approved, and whether it counts.
fn approvals(repo: &Repo, id: &str) -> Vec<(String, bool)> {
    let one = |approval: &Value| {
        let by = approval["by"].as_str().expect("a name").split(" <").next().unwrap_or_default();
        (by.to_owned(), approval["counts"].as_bool().expect("a flag"))
    };
    let shown = repo.item(id)["approvals"].as_array().expect("a list").clone();
    // The list says the same.
    let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let items = list["proposals"].as_array().expect("a list");
    let item = items.iter().find(|item| item["proposal_id"] == id).expect("it");
    assert_eq!(item["approvals"], Value::Array(shown.clone()));
    shown.iter().map(one).collect()
}

fn counting(repo: &Repo, id: &str) -> usize {
    approvals(repo, id).iter().filter(|(_, counts)| *counts).count()
}

/// The proposed content, written and committed by hand.
fn land(repo: &Repo, id: &str, trailers: &str) {
    repo.write("a.txt", repo.text("a.txt").replace("two", "2"));
    let message = format!("Land it\n\nProposal-Id: {id}\n{trailers}");
    repo.git(&["commit", "-q", "-a", "-m", &message]);
}

#[test]
fn an_approval_is_on_record_and_writes_nothing() {
    let (repo, id) = hello();
    let before = repo.git(&["status", "--porcelain"]);
    let run = repo.aye(&["approve", &id, "--yes", "-m", "tested on Windows", "--json"]).ok();
    let answer = run.json();
    assert_eq!(answer["schema"], "aye/approve@1");
    assert_eq!(answer["proposals"][0]["status"], "pending");
    assert_eq!(answer["proposals"][0]["files"][0]["outcome"], "clean");
    assert_eq!(repo.text("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(repo.git(&["status", "--porcelain"]), before);

    let shown = repo.item(&id);
    assert_eq!(shown["status"], "pending");
    let approval = &shown["approvals"][0];
    assert_eq!(approval["by"], format!("{NAME} <{EMAIL}>"));
    assert_eq!(approval["evidence"], "flag");
    assert_eq!(approval["revision"], shown["revision"]);
    assert_eq!(approval["reason"], "tested on Windows");
    assert_eq!(approvals(&repo, &id), [(NAME.to_owned(), true)]);
    repo.aye(&["show", &id]).ok().says("approved");
    repo.aye(&["list"]).ok().says("approved");

    let log = repo.aye(&["log", "--json"]).ok().json();
    let event = &log["events"][0];
    assert_eq!((&event["kind"], &event["evidence"]), (&json!("approve"), &json!("flag")));
    assert_eq!(event["text"], "tested on Windows");
    let approve = Forged::read(&repo, event["event"].as_str().expect("an id"));
    let statement = approve.statement.expect("a statement");
    assert_eq!(statement["verdict"], "approve");
    assert_eq!(statement["reason"], "tested on Windows");
    let manifest = statement["manifest"]["id"].as_str().expect("a manifest");
    let records = repo.git(&["cat-file", "blob", manifest]);
    assert!(records.starts_with("clean none 100644:") && records.contains(" a.txt"), "{records}");
    repo.aye(&["doctor"]).ok();
}

#[test]
fn repeated_by_one_person_it_is_one_and_another_person_is_a_second() {
    let (repo, id) = hello();
    approve(&repo, &id).ok();
    approve(&repo, &id).ok();
    let upper = repo.cmd(&["approve", &id, "--yes"]).env("GIT_COMMITTER_EMAIL", "ADA@example.com");
    upper.env("GIT_COMMITTER_NAME", "Ada at home").run().ok();
    // Anybody can give her address: such a record takes the place of none, and is no other person's.
    let all = [NAME, "Ada at home"].map(|name| (name.to_owned(), true));
    assert_eq!(approvals(&repo, &id), all);
    approve_as_bob(&repo, &id);
    assert_eq!(counting(&repo, &id), 3);
    repo.aye(&["list"]).ok().says("approved");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert_eq!(message.matches("Reviewed-by: ").count(), 2, "{message}");
}

#[test]
fn a_new_revision_or_an_objection_ends_it() {
    let objections: [fn(&Repo, &str); 4] = [
        |repo, id| {
            repo.agent("codex", &["revise", id, "a.txt", "--old", "two", "--new", "II"]).ok();
        },
        |repo, id| request_changes(repo, id, "no"),
        |repo, id| {
            reject(repo, id, "no");
            repo.aye(&["undo", id, "--yes"]).ok();
        },
        |repo, id| {
            apply(repo, id);
            undo(repo, id);
        },
    ];
    let (repo, id) = hello();
    approve(&repo, &id).ok();
    for objection in objections {
        let repo = repo.copy();
        objection(&repo, &id);
        assert_eq!(approvals(&repo, &id), [(NAME.to_owned(), false)]);
        land(&repo, &id, "");
        repo.aye(&LAST).exits(1).says("error[not_applied]");
        // It may be given again.
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        let named = repo.at_revision(&id);
        approve(&repo, &named).ok();
        assert_eq!(counting(&repo, &id), 1);
    }
}

#[test]
fn of_several_revisions_it_takes_the_one_that_was_looked_at() {
    let (repo, id) = hello();
    let first = repo.at_revision(&id);
    repo.agent("codex", &["revise", &id, "a.txt", "--old", "two", "--new", "II"]).ok();
    approve(&repo, &id).fails("revision_required", 4);
    approve(&repo, &first).fails("revised_meanwhile", 5);
    approve(&repo, &repo.at_revision(&id)).ok();
}

#[test]
fn only_people_approve() {
    let (repo, id) = hello();
    repo.write(".agent-memory/policy.toml", "ci_may_apply = true\nagents_may_mark = \"own\"\n");
    repo.commit("Policy");
    let refused = |run: Run| run.fails("human_approval_required", 4);
    refused(repo.agent("codex", &["approve", &id, "--yes"]));
    refused(repo.cmd(&["approve", &id, "--yes"]).env("CLAUDECODE", "1").run());
    refused(repo.cmd(&["approve", &id, "--yes"]).env("CI", "true").run());
    // The tool contract has no such action.
    let request = json!({"action": "approve", "proposal_id": id}).to_string();
    assert_ne!(repo.aye(&["call", "changes", &request]).status, 0);
    // Nobody said so, and there is no terminal.
    repo.aye(&["approve", &id]).fails("confirmation_required", 4);
    assert_eq!(approvals(&repo, &id), []);
}

#[test]
fn memory_and_sensitive_paths_are_approved_at_a_terminal() {
    let repo = Repo::with(&[("Makefile", "all:\n"), (".github/workflows/ci.yml", "on: push\n")]);
    let id = propose(&repo, ".github/workflows/ci.yml", "push", "pull_request");
    approve(&repo, &id).fails("terminal_required", 4);
    repo.let_flags_decide();
    approve(&repo, &id).ok();
}

#[test]
fn at_a_terminal_it_shows_what_an_apply_would_write() {
    let (repo, id) = hello();
    repo.write("a.txt", "one\ntwo\nthree\nmine\n");
    let mut terminal = Terminal::start(repo.cmd(&["approve", &id]), 40, 100);
    terminal.sees("+2").sees("also").sees("+mine");
    terminal.sees("[y,n,?]").types("n");
    assert_eq!(terminal.ends(), 1);
    assert_eq!(approvals(&repo, &id), []);
    let mut terminal = Terminal::start(repo.cmd(&["approve", &id]), 40, 100);
    terminal.sees("[y,n,?]").types("y").sees("approved");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(repo.item(&id)["approvals"][0]["evidence"], "terminal");
    // What was in the file beside it is not approved.
    land(&repo, &id, "");
    repo.aye(&LAST).exits(1).says("error[content_differs]");
}

#[test]
fn what_changed_since_it_was_shown_is_not_approved() {
    let (repo, id) = hello();
    let (store, proposal) = (store(&repo), proposal(&repo, &id));
    let actor = Actor { name: NAME.into(), email: EMAIL.into(), kind: ActorKind::Human };
    let caller = Caller { actor, marker: None, tool: false };
    let (proposals, now) = (std::slice::from_ref(&proposal), chrono::Utc::now());
    let authority =
        decide::authorise(&store, &caller, Verb::Approve, proposals, &Evidence::Terminal, "");
    let authority = authority.expect("the rules");
    let shown = {
        let view = store.view().expect("a view");
        let worktree = store.repository().worktree().expect("a work tree");
        decide::show(&store, &view, &proposal, None, &worktree).expect("a plan")
    };
    repo.write("a.txt", "zero\none\ntwo\nthree\n");
    let remarks = Remarks::default();
    let error =
        decide::approve(&store, &authority, now, &proposal, &remarks, Some(&shown)).unwrap_err();
    assert_eq!(error.code().id, "changed_since_shown");
    // Nor is it an authority to apply.
    let request = decide::Request::all(aye::proposal::event::Effect::Files);
    decide::apply(&store, &authority, now, &proposal, &request, None).unwrap_err();
    assert_eq!(repo.text("a.txt"), "zero\none\ntwo\nthree\n");
    assert_eq!(approvals(&repo, &id), []);
}

#[test]
fn a_conflict_is_not_approved() {
    let (repo, id) = hello();
    repo.write("a.txt", "one\nTWO\nthree\n");
    approve(&repo, &id).fails("conflict", 5);
    assert_eq!(approvals(&repo, &id), []);
}

#[test]
fn the_range_accepts_a_commit_of_what_a_person_approved() {
    let (repo, id) = hello();
    let other = propose(&repo, "b.txt", "b", "B");
    let unapproved = repo.copy();
    land(&unapproved, &id, "");
    unapproved.aye(&LAST).exits(1).says("error[not_applied]").says("touches_pending");

    approve(&repo, &id).ok();
    repo.git(&["add", "a.txt"]);
    let landed = repo.copy();
    land(&landed, &id, "");
    landed.aye(&LAST).ok().lacks("touches");
    landed.aye(&[&LAST[..], &["--require-proposal"]].concat()).ok();

    // Another reviewer than the one who approved.
    let named = repo.copy();
    land(&named, &id, "Reviewed-by: Mallory <m@x>\n");
    named.aye(&LAST).exits(1).says("error[reviewer_mismatch]");
    let named = repo.copy();
    land(&named, &id, "Reviewed-by: Ada Reviewer <ada@example.com>\n");
    named.aye(&LAST).ok();

    // Something else than was approved, and something besides.
    let different = repo.copy();
    different.write("a.txt", "one\nII\nthree\n");
    different.git(&["commit", "-qam", &format!("Land\n\nProposal-Id: {id}")]);
    different.aye(&LAST).exits(1).says("error[content_differs]");
    let more = repo.copy();
    more.write("b.txt", "evil\n");
    land(&more, &id, "");
    more.aye(&LAST).exits(1).says("error[extra_file]");
    let both = repo.copy();
    both.write("b.txt", "B\n");
    land(&both, &id, &format!("Proposal-Id: {other}\n"));
    both.aye(&LAST).exits(1).says("error[not_applied]");
    approve(&both, &other).ok();
    both.aye(&LAST).ok();
}

#[test]
fn an_approval_of_files_as_they_no_longer_are_does_not_count() {
    let (repo, id) = hello();
    approve(&repo, &id).ok();
    // The base moves on in another line of the same file.
    repo.write("a.txt", "one\ntwo\nTHREE\n");
    repo.git(&["commit", "-qam", "Move on"]);
    let by_hand = repo.copy();
    land(&by_hand, &id, "");
    by_hand.aye(&LAST).exits(1).says("error[content_differs]");
    // Nor is it a review of what is applied to them.
    bob(repo.cmd(&["apply", &id, "--yes", "--commit"])).run().ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Reviewed-by: Bob <bob@example.com>"), "{message}");
    assert!(!message.contains(NAME), "{message}");
    repo.aye(&LAST).ok();
}

#[test]
fn whoever_approved_is_named_as_a_reviewer_once() {
    let (repo, id) = hello();
    approve(&repo, &id).ok();
    approve_as_bob(&repo, &id);
    let committed = repo.copy();
    committed.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let reviewers = |repo: &Repo| -> Vec<String> {
        let message = repo.git(&["log", "-1", "--format=%B"]);
        let lines = message.lines().filter_map(|line| line.strip_prefix("Reviewed-by: "));
        lines.map(str::to_owned).collect()
    };
    let ada = format!("{NAME} <{EMAIL}>");
    assert_eq!(reviewers(&committed), [ada.clone(), "Bob <bob@example.com>".to_owned()]);
    committed.aye(&LAST).ok();

    // A part is another revision.
    let part = repo.copy();
    part.aye(&["apply", &id, "--yes", "--hunks", "1", "--commit"]).ok();
    assert!(reviewers(&part).contains(&ada), "{:?}", reviewers(&part));

    // The hooks write the same.
    repo.aye(&["hooks", "install"]).ok();
    repo.aye(&["apply", &id, "--yes"]).ok();
    let aye = std::path::Path::new(env!("CARGO_BIN_EXE_aye"));
    let path = format!("{}:/usr/bin:/bin", aye.parent().expect("a directory").display());
    let commit = repo.program("git").args(&["commit", "-q", "-a", "-m", "By hand"]);
    commit.env("PATH", path).run().ok();
    assert_eq!(reviewers(&repo), [ada, "Bob <bob@example.com>".to_owned()]);
}

#[test]
fn a_build_machine_may_apply_what_a_person_approved() {
    let (repo, id) = hello();
    repo.write(".agent-memory/policy.toml", "ci_may_apply = true\n");
    repo.commit("Policy");
    let apply = |repo: &Repo| {
        repo.cmd(&["apply", &id, "--yes", "--commit"]).in_ci("c1c1c1c1c1c1c1c1").run().ok();
    };
    let alone = repo.copy();
    apply(&alone);
    alone.aye(&LAST).exits(1).says("error[marked_without_approval]");
    approve(&repo, &id).ok();
    apply(&repo);
    repo.aye(&LAST).ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Reviewed-by: Ada Reviewer"), "{message}");
}

#[test]
fn what_is_staged_as_approved_is_no_finding() {
    let (repo, id) = hello();
    let edited = |text: &str| {
        repo.write("a.txt", text);
        repo.git(&["add", "a.txt"]);
    };
    edited("one\n2\nthree\n");
    repo.aye(&["check", "--staged"]).ok().says("touches_pending");
    repo.git(&["reset", "-q", "--hard"]);
    approve(&repo, &id).ok();
    edited("one\n2\nthree\n");
    repo.aye(&["check", "--staged"]).ok();
    edited("one\n2\nthree\nmore\n");
    repo.aye(&["check", "--staged"]).ok().says("touches_pending");
}

#[test]
fn approvals_of_other_clones_count_when_they_fit() {
    let (repo, id) = hello();
    let other = repo.copy();
    other.git(&["config", "aye.clone", "b0bb0bb0bb0bb0bb"]);
    approve_as_bob(&other, &id);
    clones::exchange(&repo, &other);
    assert_eq!(approvals(&repo, &id), [("Bob".to_owned(), true)]);
    land(&repo, &id, "");
    repo.aye(&LAST).ok();
    // What somebody else can record: by an agent, by nobody's evidence, without a statement.
    let first = clones::thread(&repo, &id);
    let genuine = Forged::read(&repo, &clones::tip(&other, &first));
    let forged = [
        genuine.clone().by("Mallory", "agent"),
        genuine.clone().by("Mallory", "human").stated(json!({"evidence": "tool"})),
        Forged { statement: None, ..genuine.clone().by("Mallory", "human") },
    ];
    for (number, forged) in forged.iter().enumerate() {
        let clone = format!("{number:016x}");
        forger::fetched_from(&repo, &clone, &first, &forged.write(&repo));
    }
    assert_eq!(counting(&repo, &id), 1);
    // The same statement once more is the same approval.
    forger::fetched(&repo, &first, &genuine.write(&repo));
    assert_eq!(counting(&repo, &id), 1);
}
