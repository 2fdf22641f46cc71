//! What a memory operation leaves alone, and requests that stores made by others are used with.

use crate::support::Repo;
use crate::support::memory::{self, ask, request};
use proptest::prelude::*;
use serde_json::{Value, json};

const NOTES: &str = ".agent-memory/pitfalls.md";

fn store(pitfalls: &str) -> Repo {
    memory::store(&[(NOTES, pitfalls)])
}

/// An operation on the notes.
fn noted(repo: &Repo, operation: &str, more: Value) -> Value {
    ask(repo, &request("add_pitfall", operation, "pitfalls.md", more))
}

/// Appends to the section `a` of the notes.
fn append(repo: &Repo, content: &str) -> Value {
    noted(repo, "append_to_section", json!({"section_id": "a", "content": content}))
}

/// Appends to the log of the session.
fn log(repo: &Repo, path: &str, content: &str) -> Value {
    let more = json!({"if_exists": "append", "content": content});
    ask(repo, &request("session_log", "create_file", path, more))
}

fn token() -> String {
    format!("AKIA{}", "QYLPMN5HHHFPZAM2")
}

fn region(inner: &str) -> String {
    format!(
        "<!-- @secret-scan: allow reason=\"the documented form\" -->\n{inner}\n<!-- @secret-scan: end -->"
    )
}

#[test]
fn a_definition_above_an_underlined_heading_is_no_part_of_it() {
    let text = "# P\n\n[x]: https://example.com\nA\n---\n<!-- @id: a -->\n\n- a\n";
    let repo = store(text);
    assert_eq!(append(&repo, "- b")["status"], "applied");
    assert_eq!(repo.text(NOTES), format!("{text}- b\n"));
    let rename = json!({"section_id": "a", "new_heading": "Other"});
    let answer = noted(&repo, "rename_heading", rename);
    assert_ne!(answer["status"], "rejected", "{answer:#}");
    if let Some(id) = answer["staging_id"].as_str() {
        repo.aye(&["apply", id, "--yes"]).ok();
    }
    assert_eq!(repo.text(NOTES), format!("{}- b\n", text.replace("\nA\n", "\nOther\n")));
}

#[test]
fn text_without_a_heading_is_appended_to_a_file_that_has_some() {
    let repo = store("# P\n");
    for content in ["## S1\n\n- a\n", "- b\n", "Text.\n", "## S2\n\n- c\n", "- d\n"] {
        let answer = log(&repo, "sessions/x.md", content);
        assert_eq!(answer["status"], "applied", "{content:?}: {answer:#}");
    }
    let path =
        log(&repo, "sessions/x.md", "- e\n")["files"][0].as_str().expect("a file").to_owned();
    let text = repo.text(&format!(".agent-memory/{path}"));
    assert_eq!(text, "## S1\n\n- a\n- b\n\nText.\n\n## S2\n\n- c\n- d\n- e\n");
}

#[test]
fn a_session_log_may_leave_its_path_open() {
    let repo = store("# P\n");
    for path in ["_", "", "sessions/any.md"] {
        let answer = log(&repo, path, "- done\n");
        let file = answer["files"][0].as_str().unwrap_or_default();
        assert!(file.starts_with("sessions/"), "{path}: {answer:#}");
    }
}

#[test]
fn affected_sections_name_ids_that_operations_take() {
    let repo = store("# P\n\n## Same thing\n\n- a\n\n## Same thing\n\n- b\n");
    let more = json!({"heading": "Same thing", "occurrence": 2, "content": "- c"});
    let answer = noted(&repo, "append_to_section", more);
    assert_eq!(answer["status"], "applied", "{answer:#}");
    for section in answer["affected_sections"].as_array().expect("sections") {
        assert_eq!(section["heading"], "Same thing");
        let path = section["file"].as_str().expect("a path");
        let more = json!({"section_id": section["section_id"], "content": "- d"});
        let answer = ask(&repo, &request("add_pitfall", "append_to_section", path, more));
        assert_eq!(answer["status"], "applied", "{answer:#}");
    }
}

#[test]
fn a_region_that_a_proposal_brings_is_for_a_person_to_see() {
    let repo = store("# P\n<!-- @id: p -->\n\n## A\n<!-- @id: a -->\n\n- a\n");
    let answer = append(&repo, &region(&token()));
    assert_eq!(answer["status"], "staged", "{answer:#}");
    assert!(answer["warnings"].to_string().contains("documented"), "{answer:#}");
    let id = answer["staging_id"].as_str().expect("an id").to_owned();
    // What stands beside the region is refused as ever.
    let beside = format!("{}\n{}", region("x"), token());
    assert_eq!(append(&repo, &beside)["reason"], "secret_detected");
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.commit("an example");
    repo.aye(&["memory", "lint"]).ok();
    // The section as it was committed, and a line: the region is agreed on.
    let content = format!("- a\n\n{}\n\n- more", region(&token()));
    let replace = |content: &str| {
        let more = json!({"section_id": "a", "content": content});
        noted(&repo, "replace_section_content", more)
    };
    let answer = replace(&content);
    assert_ne!(answer["status"], "rejected", "{answer:#}");
    assert!(!answer["warnings"].to_string().contains("documented"), "{answer:#}");
    // Another secret in it is not, nor is a region that no commit has.
    let other = format!("AKIA{}", "ZZLPMN5HHHFPZAM2");
    let answer = replace(&content.replace(&token(), &other));
    assert_eq!(answer["status"], "staged", "{answer:#}");
}

#[test]
fn an_uncommitted_region_in_the_file_excuses_nothing() {
    let repo = store("# P\n<!-- @id: p -->\n\n## A\n<!-- @id: a -->\n\n- a\n");
    // An agent with a shell writes the markers, then proposes what stands between them.
    let planted = format!("# P\n\n## A\n<!-- @id: a -->\n\n{}\n", region("x"));
    repo.write(NOTES, &planted);
    let more = json!({"section_id": "a", "content": region(&token())});
    let answer = noted(&repo, "replace_section_content", more);
    assert_eq!(answer["status"], "staged", "{answer:#}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Every byte outside the edit, and the blank lines around it, is what it was.
    #[test]
    fn an_edit_changes_nothing_outside_itself(
        before in body(), mine in body(), after in body(), verb in 0..2usize
    ) {
        let head = format!("# P\n\n## Z\n<!-- @id: z -->\n\n{before}\n\n");
        let tail = format!("## B\n<!-- @id: b -->\n\n{after}\n");
        let section = format!("## A\n<!-- @id: a -->\n\n{mine}\n\n");
        let repo = store(&format!("{head}{section}{tail}"));
        let operation = ["append_to_section", "replace_section_content"][verb];
        let answer = noted(&repo, operation, json!({"section_id": "a", "content": "New text."}));
        if let Some(id) = answer["staging_id"].as_str() {
            repo.aye(&["apply", id, "--yes"]).ok();
        } else {
            prop_assert_eq!(answer["status"].as_str(), Some("applied"));
        }
        let kept = if verb == 0 { format!("{mine}\n\n") } else { String::new() };
        prop_assert_eq!(
            repo.text(NOTES),
            format!("{head}## A\n<!-- @id: a -->\n\n{kept}New text.\n\n{tail}")
        );
    }
}

/// Section texts, as CommonMark's examples have them, whose lines end in blanks of all kinds.
fn body() -> impl Strategy<Value = String> {
    let line = proptest::sample::select(vec![
        "plain", "hard break", "> quote", "1) one", "    code", "`code span`", "a  \\",
        "| a | b |", "[link](/u)", "*emphasis*",
    ]);
    let blanks =
        proptest::sample::select(vec!["", " ", "  ", "\t", "\u{a0}", "\u{3000}", " \u{a0} "]);
    proptest::collection::vec((line, blanks), 1..4).prop_map(|lines| {
        let mut lines: Vec<String> =
            lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        lines.insert(0, "Text.".to_owned());
        lines.join("\n")
    })
}
