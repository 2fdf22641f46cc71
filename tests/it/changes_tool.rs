//! `aye call changes`: the contract to the letter.

use crate::support::{self, Repo};
use serde_json::{Value, json};

const OLD: &str = "function formatDate(d: Date) {\n return d.toISOString();\n}";
const NEW: &str =
    "function formatDate(d: Date, locale = 'en-US') {\n return d.toLocaleDateString(locale);\n}";

fn repo() -> Repo {
    Repo::with(&[("src/utils/format.ts", format!("// top\n{OLD}\n"))])
}

fn call(repo: &Repo, tool: &str, request: &Value) -> support::Run {
    repo.aye_stdin(&["call", tool, "-"], request.to_string())
}

fn propose(repo: &Repo) -> Value {
    let request = json!({
        "name": "changes",
        "arguments": {
            "action": "propose", "file_path": "src/utils/format.ts",
            "old_content": OLD, "new_content": NEW,
            "description": "Add locale support", "domain": "frontend",
        },
    });
    call(repo, "changes", &request).ok().json()
}

fn is_contract_time(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.'
}

#[test]
fn propose_answers_as_the_contract_prints_it() {
    let repo = repo();
    let answer = propose(&repo);
    assert_eq!(answer["success"], true);
    assert!(answer["proposal_id"].as_str().unwrap().starts_with("prop_"));
    assert_eq!(answer["file_path"], "src/utils/format.ts");
    assert_eq!(answer["domain"], "frontend");
    assert_eq!(answer["status"], "pending");
    assert!(is_contract_time(&answer["expires_at"]), "{answer}");
    assert_eq!(answer["message"], "Change proposal created.");
    assert_eq!(answer["proposed_by"], "agent");
}

#[test]
fn list_answers_as_the_contract_prints_it() {
    let repo = repo();
    let id = propose(&repo)["proposal_id"].clone();
    let request = json!({"action": "list", "status": "pending", "limit": 10});
    let answer = call(&repo, "changes", &request).ok().json();
    assert_eq!(answer["count"], 1);
    let item = &answer["proposals"][0];
    assert_eq!(item["id"], id);
    assert_eq!(item["file_path"], "src/utils/format.ts");
    assert_eq!(item["domain"], "frontend");
    assert_eq!(item["description"], "Add locale support");
    assert_eq!(item["status"], "pending");
    assert_eq!(item["proposed_by"], "agent");
    assert_eq!(item["related_task_id"], Value::Null);
    assert!(item.as_object().unwrap().contains_key("related_task_id"));
    assert!(is_contract_time(&item["expires_at"]) && is_contract_time(&item["created_at"]));
    assert_eq!(item["old_content"], OLD);
    assert_eq!(item["new_content"], NEW);
}

#[test]
fn list_filters() {
    let repo = repo();
    propose(&repo);
    let count = |filter: Value| call(&repo, "changes", &filter).ok().json()["count"].clone();
    assert_eq!(count(json!({"action": "list", "domain": "frontend"})), 1);
    assert_eq!(count(json!({"action": "list", "domain": "api"})), 0);
    assert_eq!(count(json!({"action": "list", "related_task_id": "1"})), 0);
    assert_eq!(count(json!({"action": "list", "status": "applied"})), 0);
    assert_eq!(count(json!({"action": "list", "limit": 0})), 0);
}

#[test]
fn apply_marks_only() {
    let repo = repo();
    let id = propose(&repo)["proposal_id"].clone();
    let before = repo.text("src/utils/format.ts");
    let answer = call(&repo, "changes", &json!({"action": "apply", "proposal_id": id})).ok().json();
    assert_eq!(answer["success"], true);
    assert_eq!(answer["proposal_id"], id);
    assert_eq!(answer["file_path"], "src/utils/format.ts");
    assert_eq!(answer["status"], "applied");
    assert_eq!(answer["old_content"], OLD);
    assert_eq!(answer["new_content"], NEW);
    assert_eq!(
        answer["message"],
        "Proposal marked as applied. Use the Edit tool to apply the actual change."
    );
    assert_eq!(repo.text("src/utils/format.ts"), before);
    let again = call(&repo, "changes", &json!({"action": "apply", "proposal_id": id}));
    let error = again.fails("not_pending", 5).json();
    assert!(error["error"]["hint"].is_string(), "{error}");
}

#[test]
fn reject_keeps_the_reason() {
    let repo = repo();
    let id = propose(&repo)["proposal_id"].clone();
    let request = json!({"action": "reject", "proposal_id": id, "reason": "Use Intl"});
    let answer = call(&repo, "changes", &request).ok().json();
    assert_eq!(answer["success"], true);
    assert_eq!(answer["status"], "rejected");
    assert_eq!(answer["rejection_reason"], "Use Intl");
    assert_eq!(answer["file_path"], "src/utils/format.ts");
    assert_eq!(answer["message"], "Proposal rejected.");
    let list = call(&repo, "changes", &json!({"action": "list", "status": "rejected"})).ok().json();
    assert_eq!(list["proposals"][0]["rejection_reason"], "Use Intl");
    // For people it stays pending: a tool's word is no decision.
    assert!(repo.exists(&format!(".agent-memory/proposals/{}", id.as_str().unwrap())));
    repo.aye(&["list"]).ok().says("marked");
}

/// A tool's list, its `apply` and its `propose` are of one mind on what was marked.
#[test]
fn a_duplicate_of_what_is_marked_is_not_called_pending() {
    for (action, status) in [("apply", "applied"), ("reject", "rejected")] {
        let repo = repo();
        let id = propose(&repo)["proposal_id"].clone();
        let again = propose(&repo);
        assert_eq!((&again["status"], &again["duplicate"]), (&json!("pending"), &json!(true)));
        call(&repo, "changes", &json!({"action": action, "proposal_id": id})).ok();
        let again = propose(&repo);
        let list = call(&repo, "changes", &json!({"action": "list", "status": status})).ok().json();
        assert_eq!(list["proposals"][0]["id"], id, "{list}");
        assert_eq!((&again["proposal_id"], &again["duplicate"]), (&id, &json!(true)));
        assert_eq!(again["status"], status, "{again}");
        let message = again["message"].as_str().expect("a message");
        assert!(message.contains(&format!("marked as {status}")), "{message}");
    }
}

#[test]
fn the_old_names_still_work() {
    let repo = repo();
    let request = json!({
        "file_path": "src/utils/format.ts", "old_content": OLD, "new_content": NEW,
    });
    let id = call(&repo, "propose_change", &request).ok().json()["proposal_id"].clone();
    assert_eq!(call(&repo, "review_changes", &json!({})).ok().json()["count"], 1);
    let request =
        json!({"name": "review_changes", "arguments": {"action": "reject", "proposal_id": id}});
    assert_eq!(call(&repo, "review_changes", &request).ok().json()["status"], "rejected");
}

#[test]
fn new_files_have_an_empty_old_content() {
    let repo = repo();
    let request =
        json!({"action": "propose", "file_path": "n.ts", "old_content": "", "new_content": "n\n"});
    call(&repo, "changes", &request).ok();
    let item =
        call(&repo, "changes", &json!({"action": "list"})).ok().json()["proposals"][0].clone();
    assert_eq!((&item["old_content"], &item["new_content"]), (&json!(""), &json!("n\n")));
}

#[test]
fn every_bad_call_has_a_code_a_message_and_a_hint() {
    let repo = repo();
    propose(&repo);
    let cases: &[(Value, &str)] = &[
        (json!({"action": "dance"}), "unknown_action"),
        (json!({}), "missing_parameter"),
        (json!({"action": "propose"}), "missing_parameter"),
        (
            json!({"action": "propose", "file_path": 7, "old_content": "", "new_content": ""}),
            "invalid_parameter",
        ),
        (
            json!({"action": "propose", "file_path": "../x", "old_content": "", "new_content": "x"}),
            "path_invalid",
        ),
        (
            json!({"action": "propose", "file_path": ".git/config", "old_content": "", "new_content": "x"}),
            "path_in_git_dir",
        ),
        (
            json!({"action": "propose", "file_path": "no.ts", "old_content": "a", "new_content": "x"}),
            "file_not_found",
        ),
        (json!({"action": "list", "limit": "ten"}), "invalid_parameter"),
        (json!({"action": "list", "limit": -1}), "invalid_parameter"),
        (json!({"action": "list", "status": "open"}), "invalid_parameter"),
        (json!({"action": "apply"}), "missing_parameter"),
        (json!({"action": "apply", "proposal_id": "prop_zzzzz"}), "proposal_not_found"),
        (json!({"action": "reject", "proposal_id": "../../etc"}), "invalid_id"),
        (json!({"name": "other", "arguments": {}}), "invalid_parameter"),
        (json!([1]), "invalid_parameter"),
        (json!("x"), "invalid_parameter"),
    ];
    for (request, code) in cases {
        let run = call(&repo, "changes", request);
        let answer = run.json();
        assert_eq!(answer["success"], false, "{request}\n{run}");
        assert_eq!(answer["error"]["code"], *code, "{request}\n{run}");
        for text in ["message", "hint"] {
            assert!(answer["error"][text].is_string() && run.status != 0, "{request}\n{run}");
        }
    }
    repo.aye_stdin(&["call", "changes"], "{broken").fails("invalid_json", 6);
    repo.aye_stdin(&["call", "changes"], b"\xff\xfe").fails("invalid_json", 6);
    repo.aye(&["call", "nonsense", "{}"]).fails("unknown_tool", 3);
}

#[test]
fn json_that_could_mean_two_things_is_refused() {
    let repo = repo();
    let id = propose(&repo)["proposal_id"].as_str().unwrap().to_owned();
    let twice = format!(r#"{{"action":"list","action":"reject","proposal_id":"{id}"}}"#);
    repo.aye(&["call", "changes", &twice]).fails("invalid_json", 6);
    let inside = r#"{"name":"changes","arguments":"{\"action\":\"list\",\"action\":\"x\"}"}"#;
    repo.aye(&["call", "changes", inside]).fails("invalid_json", 6);
    repo.aye(&["list"]).ok().says(&id);
    repo.aye_stdin(&["call", "changes"], "\u{feff}{\"action\":\"list\"}").ok().says(&id);
}
