//! Repositories with a memory, and what an agent asks of it.

use serde_json::{Value, json};

use super::Repo;

pub const MANIFEST: &str = ".agent-memory/meta/manifest.yaml";
/// What a decision has to say of itself.
pub const FIELDS: &str = "**Date:** 2026-01-02\n**Status:** active\n**Confidence:** confirmed\n";

/// A repository with `files` and a committed memory, in which flags decide.
pub fn store(files: &[(&str, &str)]) -> Repo {
    let repo = Repo::with(files);
    repo.aye(&["memory", "init", "--name", "shop"]).ok();
    repo.let_flags_decide();
    repo.commit("memory");
    repo
}

/// Replaces text in a settings file, which must be there.
#[track_caller]
pub fn set(repo: &Repo, path: &str, from: &str, to: &str) {
    let text = repo.text(path);
    assert!(text.contains(from), "{from} is not in {path}");
    repo.write(path, text.replacen(from, to, 1));
}

/// What the tool answers to an agent.
pub fn ask(repo: &Repo, request: &Value) -> Value {
    repo.agent("bot", &["call", "memory.propose_update", &request.to_string()]).ok().json()
}

/// The proposal that a request has become, which waits for a person.
#[track_caller]
pub fn staged(repo: &Repo, request: &Value) -> String {
    let answer = ask(repo, request);
    assert_eq!(answer["status"], "staged", "{answer:#}");
    answer["proposal_id"].as_str().expect("an id").to_owned()
}

/// One operation, told by a user.
pub fn request(intent: &str, operation: &str, path: &str, more: Value) -> Value {
    let mut operation = json!({"operation": operation, "path": path});
    let Value::Object(more) = more else { panic!("no object") };
    operation.as_object_mut().expect("an object").extend(more);
    json!({"intent": intent, "sources": [{"type": "user"}], "operations": [operation]})
}

/// A section below its own heading.
pub fn section(intent: &str, path: &str, heading: &str, text: &str) -> Value {
    let content = format!("## {heading}\n\n{text}\n");
    let more = json!({"heading": heading, "heading_level": 2, "content": content});
    request(intent, "append_section", path, more)
}

/// Waits for a person.
pub fn decision(heading: &str) -> Value {
    section("record_decision", "decisions.md", heading, &format!("{FIELDS}\nBecause."))
}

/// Is written at once.
pub fn pitfall(content: &str) -> Value {
    json!({"intent": "add_pitfall", "operations": [{"operation": "append_to_section",
        "path": "pitfalls.md", "section_id": "pitfalls", "content": content}]})
}
