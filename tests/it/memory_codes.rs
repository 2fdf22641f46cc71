//! Every reason code that a memory request or its apply may answer with, provoked from outside.

use std::collections::BTreeSet;

use crate::support::Repo;
use crate::support::memory::{self, FIELDS, MANIFEST, ask, request, set, staged};
use serde_json::{Value, json};

/// The codes of the public format, and ours.
const CODES: [&str; 23] = [
    "invalid_intent",
    "no_operations",
    "invalid_operation",
    "validation_failed",
    "invalid_path",
    "unknown_category",
    "server_managed_category",
    "write_once_violation",
    "lock_held",
    "read_error",
    "plan_failed",
    "invalid_markdown",
    "archive_exists",
    "allowlist_parse_error",
    "allowlist_limit_exceeded",
    "secret_detected",
    "provenance_violation",
    "server_only_category",
    "target_drift",
    "intent_path_mismatch",
    "duplicate_section_id",
    "size_limit_exceeded",
    "unsafe_text",
];

fn store() -> Repo {
    memory::store(&[
        (
            ".agent-memory/pitfalls.md",
            "# Pitfalls\n<!-- @id: pitfalls -->\n\n## Log\n<!-- @id: log -->\n\n- a\n",
        ),
        (".agent-memory/archive/old.md", "# Old\n<!-- @id: old -->\n\nx\n"),
    ])
}

fn append(content: &str) -> Value {
    let more = json!({"section_id": "log", "content": content});
    request("add_pitfall", "append_to_section", "pitfalls.md", more)
}

fn decision(content: &str) -> Value {
    let more = json!({"heading": "A", "heading_level": 2, "content": content});
    request("record_decision", "append_section", "decisions.md", more)
}

/// Requests that the store as it is rejects, by their reason.
fn rejected() -> Vec<(&'static str, Value)> {
    let region = |inner: &str| {
        format!("<!-- @secret-scan: allow reason=\"docs\" -->\n{inner}\n<!-- @secret-scan: end -->")
    };
    let module =
        |path: &str| request("refresh_module", "create_file", path, json!({"content": "# M\n"}));
    let archive = json!({"section_id": "log", "archive_path": "archive/old.md"});
    let inside = json!({"content": "# Old\n", "if_exists": "append"});
    let twice = format!("## A\n<!-- @id: decisions -->\n\n{FIELDS}");
    vec![
        ("invalid_intent", json!({"intent": "gossip", "operations": []})),
        ("no_operations", json!({"intent": "add_pitfall", "operations": []})),
        ("invalid_operation", request("add_pitfall", "burn", "pitfalls.md", json!({}))),
        ("validation_failed", decision("## A\n\nno fields\n")),
        ("invalid_path", module("../m.md")),
        ("unknown_category", module("elsewhere.md")),
        ("server_managed_category", module("index.md")),
        ("write_once_violation", request("archive_stale", "create_file", "archive/old.md", inside)),
        ("plan_failed", append("- b").tap(|r| r["operations"][0]["section_id"] = "gone".into())),
        ("invalid_markdown", append("```\nnever closed")),
        ("archive_exists", request("add_pitfall", "remove_section", "pitfalls.md", archive)),
        (
            "allowlist_parse_error",
            append("<!-- @secret-scan: allow -->\nx\n<!-- @secret-scan: end -->"),
        ),
        ("allowlist_limit_exceeded", append(&region(&"long ".repeat(200)))),
        ("secret_detected", append(&format!("- AKIA{}", "QYLPMN5HHHFPZAM2"))),
        ("provenance_violation", decision("## A\n").tap(|r| r["sources"] = json!([]))),
        ("intent_path_mismatch", append("- b").tap(|r| r["intent"] = "update_current".into())),
        ("duplicate_section_id", decision(&twice)),
        ("size_limit_exceeded", append(&"long ".repeat(5000))),
        ("unsafe_text", append("a\u{202e}b")),
    ]
}

trait Tap: Sized {
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Tap for Value {}

/// What [`rejected`] cannot show, because the world has to change for it; each has a test below.
const ELSEWHERE: [&str; 4] = ["lock_held", "read_error", "server_only_category", "target_drift"];

#[test]
fn every_code_is_provoked_somewhere() {
    let here: BTreeSet<&str> = rejected().iter().map(|(code, _)| *code).chain(ELSEWHERE).collect();
    assert_eq!(here, BTreeSet::from(CODES));
    let table = Repo::outside().aye(&["help", "codes"]).ok().out();
    for code in CODES {
        assert!(table.contains(code), "{code} is not in the table of codes");
    }
}

#[test]
fn a_bad_request_is_answered_with_its_reason_and_writes_nothing() {
    let repo = store();
    let before = repo.snapshot();
    for (code, request) in rejected() {
        let answer = ask(&repo, &request);
        assert_eq!(answer["status"], "rejected", "{code}: {answer:#}");
        assert_eq!(answer["reason"], code, "{answer:#}");
        let violations = answer["violations"].as_array().expect("violations");
        let told = |v: &Value| v["code"] == code && v["fix"].is_string() && v["message"] != "";
        assert!(violations.iter().any(told), "{code}: {answer:#}");
    }
    assert_eq!(repo.snapshot(), before);
}

#[test]
fn a_lock_that_another_process_holds() {
    let repo = store();
    set(&repo, MANIFEST, "wait_timeout_seconds: 10", "wait_timeout_seconds: 0");
    let id = staged(&repo, &decision(&format!("## A\n\n{FIELDS}")));
    repo.write(".git/aye/journal/lock", "");
    let lock = std::fs::File::open(repo.path(".git/aye/journal/lock")).expect("the lock");
    lock.lock().expect("to hold it");
    assert_eq!(ask(&repo, &append("- b"))["reason"], "lock_held");
    repo.aye(&["apply", &id, "--yes"]).fails("apply_busy", 7);
    // Staging writes no file of memory, so nobody has to wait for it.
    let other = decision(&format!("## A\n\n{FIELDS}\nOther.\n"));
    assert_eq!(ask(&repo, &other)["status"], "staged");
    lock.unlock().expect("to let go");
    assert_eq!(ask(&repo, &append("- b"))["status"], "applied");
}

#[test]
fn a_file_that_cannot_be_read() {
    let repo = store();
    for bytes in [&b"\xff\xfe"[..], b"# P\n\x80\n"] {
        repo.write(".agent-memory/pitfalls.md", bytes);
        assert_eq!(ask(&repo, &append("- b"))["reason"], "read_error");
        assert_eq!(repo.read(".agent-memory/pitfalls.md"), bytes);
    }
}

#[test]
fn a_category_that_only_the_program_writes() {
    let repo = store();
    let manifest = repo.text(MANIFEST);
    set(&repo, MANIFEST, "pitfalls_append: apply", "pitfalls_append: server_only");
    let answer = ask(&repo, &append("- b"));
    assert_eq!(answer["reason"], "server_only_category", "{answer:#}");
    // One category's own word, with the slot as it was.
    repo.write(MANIFEST, &manifest);
    let schema = repo.text(".agent-memory/meta/schema.yaml");
    let closed =
        schema.replace("file: pitfalls.md", "file: pitfalls.md\n        approval: server_only");
    let closed = closed.replacen("approval: apply\n        agent_writable", "agent_writable", 1);
    repo.write(".agent-memory/meta/schema.yaml", closed);
    assert_eq!(ask(&repo, &append("- b"))["reason"], "server_only_category");
}

#[test]
fn a_target_that_is_another_by_now_has_drifted() {
    let repo = store();
    let content = json!({"section_id": "log", "content": "new"});
    let request = request("add_pitfall", "replace_section_content", "pitfalls.md", content);
    let id = staged(&repo, &request);
    let text = repo.text(".agent-memory/pitfalls.md");
    for now in [
        text.replace("- a", "- other").into_bytes(),
        text.replace("@id: log", "@id: other").into_bytes(),
        format!("{text}\n## Copy\n<!-- @id: log -->\n").into_bytes(),
        format!("{text}\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n").into_bytes(),
        b"\xff".to_vec(),
    ] {
        repo.write(".agent-memory/pitfalls.md", &now);
        repo.aye(&["apply", &id, "--yes"]).fails("target_drift", 5);
        assert_eq!(repo.read(".agent-memory/pitfalls.md"), now);
    }
}

#[test]
fn an_answer_does_not_repeat_the_secret_wherever_it_was() {
    let repo = store();
    let key = format!("AKIA{}", "QYLPMN5HHHFPZAM2");
    let places = [
        ("path", json!(format!("modules/{key}.md"))),
        ("section_id", json!(key)),
        ("parent_section_id", json!(key)),
        ("archive_path", json!(format!("archive/{key}.md"))),
        (key.as_str(), json!(1)),
        ("operation", json!(key)),
    ];
    for (field, value) in places {
        for operation in ["append_section", "remove_section"] {
            let fields = json!({"section_id": "log", "content": "x", field: value});
            let answer = ask(&repo, &request("add_pitfall", operation, "pitfalls.md", fields));
            assert_eq!(answer["status"], "rejected", "{field} {operation}: {answer:#}");
            assert!(!answer.to_string().contains("QYLPMN5"), "{field} {operation}: {answer:#}");
        }
    }
    // A name in a path is a word of its own: not a piece of base64 between slashes.
    let archive = json!({"section_id": "log", "archive_path": format!("archive/{key}.md")});
    let answer = ask(&repo, &request("add_pitfall", "remove_section", "pitfalls.md", archive));
    assert_eq!(answer["reason"], "secret_detected", "{answer:#}");
    let mut cited = append("- b");
    cited["sources"] = json!([{"type": "session", "ref": format!("https://example.com/{key}/x")}]);
    let answer = ask(&repo, &cited);
    assert_eq!(answer["reason"], "secret_detected", "{answer:#}");
    assert!(!answer.to_string().contains("QYLPMN5"), "{answer:#}");
}
