//! The gate of the memory store: who edits its settings in the work tree tightens it at once and
//! loosens it with a commit alone; every key of the settings is enforced, refused or reported.

mod support;

use serde_json::{Value, json};
use support::Repo;

const MANIFEST: &str = ".agent-memory/meta/manifest.yaml";
const SCHEMA: &str = ".agent-memory/meta/schema.yaml";
const FIELDS: &str = "**Date:** 2026-01-02\n**Status:** active\n**Confidence:** confirmed\n";

fn store() -> Repo {
    let repo = Repo::with(&[("src/db.rs", "// db\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    repo
}

/// Replaces text in a settings file, which must be there.
#[track_caller]
fn set(repo: &Repo, path: &str, from: &str, to: &str) {
    let text = repo.text(path);
    assert!(text.contains(from), "{from} is not in {path}");
    repo.write(path, text.replacen(from, to, 1));
}

fn propose(repo: &Repo, request: &Value) -> Value {
    repo.agent("bot", &["call", "memory.propose_update", &request.to_string()]).ok().json()
}

fn decision() -> Value {
    json!({"intent": "record_decision", "sources": [{"type": "user"}], "operations": [{
        "operation": "append_section", "path": "decisions.md", "heading": "A", "heading_level": 2,
        "content": format!("## A\n\n{FIELDS}")}]})
}

fn pitfall(content: &str) -> Value {
    json!({"intent": "add_pitfall", "operations": [{"operation": "append_to_section",
        "path": "pitfalls.md", "section_id": "pitfalls", "content": content}]})
}

#[test]
fn an_agent_that_edits_the_settings_does_not_open_its_own_gate() {
    let repo = store();
    set(&repo, MANIFEST, "decisions: stage", "decisions: apply");
    set(&repo, MANIFEST, "secret_scan: true", "secret_scan: false");
    set(&repo, MANIFEST, "pii_scan: true", "pii_scan: false");
    set(
        &repo,
        SCHEMA,
        "approval: stage\n        agent_writable: true\n        git_tracked: true\n        provenance:\n            required: true\n            allowed_source_types",
        "approval: apply\n        agent_writable: true\n        git_tracked: true\n        provenance:\n            required: false\n            allowed_source_types",
    );
    assert_eq!(propose(&repo, &decision())["status"], "staged");
    let mut unsourced = decision();
    unsourced["sources"] = json!([]);
    assert_eq!(propose(&repo, &unsourced)["reason"], "provenance_violation");
    let secret = pitfall(&format!("- AKIA{}", "QYLPMN5HHHFPZAM2"));
    assert_eq!(propose(&repo, &secret)["reason"], "secret_detected");
    assert_eq!(propose(&repo, &pitfall("- 078-05-1120 is an SSN"))["reason"], "pii_detected");
    // It is told, by status and by lint.
    let status = repo.aye(&["memory", "status", "--json"]).ok().json();
    assert!(status["notes"].to_string().contains("updates.approval.decisions"), "{status:#}");
    repo.aye(&["memory", "lint"]).exits(1).says("updates.approval.decisions: stage holds");
    // Once a person has committed it, it counts.
    repo.commit("we trust it");
    assert_eq!(propose(&repo, &decision())["status"], "applied");
    repo.aye(&["memory", "lint"]).ok();
}

#[test]
fn tightening_counts_at_once() {
    let repo = store();
    set(&repo, MANIFEST, "pitfalls_append: apply", "pitfalls_append: stage");
    assert_eq!(propose(&repo, &pitfall("- a"))["status"], "staged");
    set(&repo, SCHEMA, "file: pitfalls.md", "file: pitfalls.md\n        write_once: true");
    assert_eq!(propose(&repo, &pitfall("- b"))["reason"], "write_once_violation");
}

#[test]
fn categories_that_were_not_committed_have_no_files() {
    let repo = store();
    let schema = repo.text(SCHEMA);
    repo.write(SCHEMA, format!("{schema}    aa:\n        file: decisions.md\n        approval: apply\n    notes:\n        file: notes.md\n        approval: apply\n"));
    let mut sly = decision();
    sly["intent"] = "refresh_module".into();
    assert_eq!(propose(&repo, &sly)["reason"], "intent_path_mismatch");
    let note = json!({"intent": "refresh_module", "sources": [{"type": "user"}], "operations": [{
        "operation": "create_file", "path": "notes.md", "content": "# N\n"}]});
    assert_eq!(propose(&repo, &note)["reason"], "unknown_category");
    repo.commit("a category of our own");
    assert_eq!(propose(&repo, &note)["status"], "staged");
}

#[test]
fn unreadable_settings_in_head_close_the_gate() {
    let repo = store();
    let good = repo.text(MANIFEST);
    repo.write(MANIFEST, "nonsense: [\n");
    repo.commit("broken");
    repo.aye(&["memory", "status"]).fails("memory_config_invalid", 6);
    repo.write(MANIFEST, good.replace("decisions: stage", "decisions: apply"));
    assert_eq!(propose(&repo, &decision())["status"], "staged");
}

#[test]
fn before_the_first_commit_the_work_tree_says_what_holds() {
    let repo = Repo::new();
    repo.aye(&["memory", "init"]).ok();
    set(&repo, MANIFEST, "pitfalls_append: apply", "pitfalls_append: stage");
    assert_eq!(propose(&repo, &pitfall("- a"))["status"], "staged");
    set(&repo, MANIFEST, "pitfalls_append: stage", "pitfalls_append: apply");
    assert_eq!(propose(&repo, &pitfall("- b"))["status"], "applied");
    let status = repo.aye(&["memory", "status", "--json"]).ok().json();
    assert!(status["notes"].to_string().contains("in no commit yet"), "{status:#}");
}

#[test]
fn no_proposal_of_memory_reaches_the_settings() {
    let repo = store();
    for path in
        ["meta/manifest.yaml", "meta/schema.yaml", "meta/x.md", "staging/x.md", "scan-allow"]
    {
        for intent in ["refresh_module", "update_conventions", "archive_stale"] {
            let request = json!({"intent": intent, "sources": [{"type": "user"}], "operations": [{
                "operation": "create_file", "path": path, "content": "# X\n", "if_exists": "replace"}]});
            assert_eq!(propose(&repo, &request)["reason"], "unknown_category", "{path} {intent}");
        }
    }
    set(&repo, SCHEMA, "file: pitfalls.md", "file: meta/pitfalls.md");
    repo.aye(&["memory", "status"]).fails("memory_config_invalid", 6);
}

#[test]
fn each_key_of_the_manifest_does_what_it_says() {
    let repo = store();
    let with = |from: &str, to: &str| {
        set(&repo, MANIFEST, from, to);
        repo.commit("settings");
    };
    let refused = |request: &Value| propose(&repo, request)["reason"].clone();
    let note = |path: &str, intent: &str| {
        json!({"intent": intent, "operations": [{"operation": "create_file", "path": path,
            "content": "# Now\n\nwork\n", "if_exists": "append"}]})
    };
    // local_state, sessions
    with("shared_file_enabled: true", "shared_file_enabled: false");
    assert_eq!(refused(&note("local/current.shared.md", "update_shared")), "validation_failed");
    with("per_branch: true", "per_branch: false");
    assert_eq!(refused(&note("local/current.main.md", "update_current")), "validation_failed");
    with("sessions:\n    per_branch: false", "sessions:\n    per_branch: true");
    let log = propose(&repo, &note("", "session_log"));
    assert!(log["files"][0].as_str().is_some_and(|path| path.ends_with(".main.md")), "{log:#}");
    // budgets
    with("max_file_chars: 20000", "max_file_chars: 300");
    assert_eq!(refused(&pitfall(&"long ".repeat(80))), "size_limit_exceeded");
    with("bootstrap_chars: 12000", "bootstrap_chars: 150");
    let pack = repo.aye(&["memory", "context"]).ok().out();
    assert!(pack.trim_end_matches('\n').chars().count() <= 150, "{pack}");
    // archive
    with("enabled: true\n    stale", "enabled: false\n    stale");
    let archive = json!({"intent": "archive_stale", "operations": [{"operation": "create_file",
        "path": "archive/a.md", "content": "# Old\n"}]});
    assert_eq!(refused(&archive), "validation_failed");
    // git: staged and committed on their own, whichever command applies
    with(
        "auto_stage_changes: false\n    auto_commit: false",
        "auto_stage_changes: true\n    auto_commit: true",
    );
    with("commit_message_prefix: 'chore(memory):'", "commit_message_prefix: 'memory:'");
    assert_eq!(propose(&repo, &pitfall("- by rule"))["status"], "applied");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert!(repo.git(&["log", "-1", "--format=%s"]).starts_with("memory: "));
    let staged = propose(&repo, &decision());
    repo.aye(&["apply", staged["proposal_id"].as_str().expect("an id"), "--yes"]).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    // staging
    with("ttl_seconds: 604800", "ttl_seconds: 3600");
    let mut other = decision();
    other["operations"][0]["heading"] = "B".into();
    other["operations"][0]["content"] = format!("## B\n\n{FIELDS}").into();
    assert_eq!(propose(&repo, &other)["staging_ttl_seconds"], 3600);
    // security
    with("reject_untrusted_durable_updates: true", "reject_untrusted_durable_updates: false");
    let mut untrusted = pitfall("- hearsay");
    untrusted["sources"] = json!([{"type": "external", "ref": "https://example.com"}]);
    assert_eq!(propose(&repo, &untrusted)["status"], "applied");
    with("pii_scan_email: false", "pii_scan_email: true");
    assert_eq!(refused(&pitfall("- ask someone.real@corporation.org")), "pii_detected");
}

#[test]
fn what_has_no_effect_is_said_and_nonsense_is_refused() {
    let repo = store();
    let manifest = repo.text(MANIFEST);
    let with = |text: &str| repo.write(MANIFEST, format!("{manifest}{text}"));
    with(
        "stores:\n    - name: wiki\n      source: https://example.com/wiki.git\neval:\n    benchmark_corpus_url: https://example.com/corpus\n",
    );
    repo.write(
        ".agent-memory/meta/stores.lock",
        "version: 1\nstores:\n    gone:\n        source: x\n",
    );
    let lint = repo.aye(&["memory", "lint"]).exits(1);
    lint.clone().says("stores: wiki").says("eval.benchmark_corpus_url").says("'gone' is locked");
    repo.remove(".agent-memory/meta/stores.lock");
    repo.aye(&["memory", "lint"]).ok();
    for nonsense in
        ["stores:\n    - name: wiki\n", "eval:\n    corpus: x\n", "concurency: {}\n", "eval: 3\n"]
    {
        with(nonsense);
        repo.aye(&["memory", "status"]).fails("memory_config_invalid", 6);
    }
    repo.write(MANIFEST, manifest.replace("wait_timeout_seconds: 10", "lock_ttl_seconds: 0"));
    repo.aye(&["memory", "status"]).fails("memory_config_invalid", 6);
    repo.write(MANIFEST, manifest.replace("store_format_version: 1", "store_format_version: 2"));
    repo.aye(&["memory", "status"]).fails("unsupported_store_format", 6);
}

#[test]
fn what_should_not_be_in_git_and_is_is_found() {
    let repo = store();
    repo.write(".agent-memory/local/current.main.md", "# Now\n");
    repo.git(&["add", "--force", ".agent-memory/local/current.main.md"]);
    repo.commit("by mistake");
    repo.aye(&["memory", "lint"]).exits(1).says("git_tracked: false");
    set(&repo, MANIFEST, "track_local: false", "track_local: true");
    repo.write(".agent-memory/.gitignore", "sessions/\nstaging/\nproposals/\n");
    repo.aye(&["memory", "lint"]).ok().lacks("git_tracked");
    // A new scaffold goes by the manifest.
    repo.remove(".agent-memory/.gitignore");
    repo.aye(&["memory", "init"]).ok();
    let ignored = repo.text(".agent-memory/.gitignore");
    assert!(!ignored.contains("local/") && ignored.contains("sessions/"), "{ignored}");
}
