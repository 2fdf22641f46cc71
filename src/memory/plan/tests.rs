mod properties;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::memory::guard::NoGuard;
use crate::memory::provenance::AnySources;
use crate::memory::request::Edit;

type Store = BTreeMap<String, Vec<u8>>;

const DECISIONS: &str = "# Decisions\n<!-- @id: decisions -->\n\nIntro.\n\n## Use Postgres\n<!-- @id: use-postgres -->\n\n**Date:** 2026-01-02\n**Status:** active\n**Confidence:** confirmed\n\nBecause.\n\n### Notes\n<!-- @id: notes -->\n\n- one\n\n## Use Rust\n<!-- @id: use-rust -->\n\nDate: 2026-01-03\nStatus: active\nConfidence: confirmed\n";
const PITFALLS: &str = "# Pitfalls\n\n## Build\n<!-- @id: build -->\n\n- a\n\n## Twice\n<!-- @id: twice -->\n\nx\n\n## Twice\n<!-- @id: twice-2 -->\n\ny\n";

fn store() -> Store {
    [("decisions.md", DECISIONS), ("pitfalls.md", PITFALLS), ("archive/old.md", "## Old\n")]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn request(intent: &str, operations: Value) -> Request {
    let value = json!({
        "intent": intent,
        "operations": operations,
        "sources": [{"type": "user"}],
    });
    read(&value)
}

/// Fails if the request is malformed.
fn read(value: &Value) -> Request {
    let request = Request::read(value);
    assert!(request.problems.is_empty(), "{:#?}", request.problems);
    request
}

fn archives(request: &Request) -> bool {
    request.operations[0].edit.as_ref().is_some_and(Edit::archives)
}

fn run(store: &Store, request: &Request) -> (Result<MemoryPlan, Vec<Problem>>, Vec<Precondition>) {
    let settings = Settings::default();
    let world = PlanInputs {
        settings: &settings,
        files: store,
        guard: &NoGuard,
        sources: &AnySources,
        at: "2026-02-03T04:05:06Z".parse().unwrap(),
        branch: Some("feature/x"),
    };
    probe(request, &world)
}

fn after(store: &Store, request: &Request, path: &str) -> String {
    let plan = run(store, request).0.unwrap_or_else(|p| panic!("{p:#?}"));
    String::from_utf8(plan.files[path].after.clone()).unwrap()
}

fn reasons(store: &Store, request: &Request) -> Vec<&'static str> {
    run(store, request).0.unwrap_err().iter().map(|p| p.code.id).collect()
}

const FIELDS: &str = "Date: 2026-05-05\nStatus: active\nConfidence: inferred\n";

#[test]
fn sections_are_appended_at_the_end_and_inside_a_parent() {
    let op = json!([{"operation": "append_section", "path": "decisions.md", "heading": "Use Nix",
        "heading_level": 2, "content": format!("## Use Nix\n\n{FIELDS}")}]);
    let text = after(&store(), &request("record_decision", op), "decisions.md");
    assert_eq!(text, format!("{DECISIONS}\n## Use Nix\n<!-- @id: use-nix -->\n\n{FIELDS}"));

    let op = json!([{"operation": "append_section", "path": "decisions.md", "heading": "More",
        "heading_level": 3, "content": "### More\nx", "parent_section_id": "use-postgres"}]);
    let text = after(&store(), &request("record_decision", op), "decisions.md");
    assert_eq!(
        text,
        DECISIONS.replace("## Use Rust", "### More\n<!-- @id: more -->\nx\n\n## Use Rust")
    );
}

/// Each operation with a target, and its effect on section `Build` of the pitfalls.
fn targeted() -> Vec<(Value, String)> {
    vec![
        (
            json!({"operation": "append_to_section", "content": "- b\n"}),
            PITFALLS.replace("- a\n", "- a\n- b\n"),
        ),
        (
            json!({"operation": "replace_section_content", "content": "- z"}),
            PITFALLS.replace("- a\n", "- z\n"),
        ),
        (
            json!({"operation": "replace_section", "content": "## Building\n\nnew\n"}),
            PITFALLS.replace(
                "## Build\n<!-- @id: build -->\n\n- a\n",
                "## Building\n<!-- @id: build -->\n\nnew\n",
            ),
        ),
        (
            json!({"operation": "rename_heading", "new_heading": "Building"}),
            PITFALLS.replace("## Build\n", "## Building\n"),
        ),
        (
            json!({"operation": "archive_section", "archive_path": "archive/build.md", "replacement": "Moved."}),
            PITFALLS.replace("- a\n", "Moved.\n"),
        ),
        (
            json!({"operation": "remove_section", "archive_path": "archive/build.md", "reason": "gone"}),
            PITFALLS.replace("## Build\n<!-- @id: build -->\n\n- a\n\n", ""),
        ),
    ]
}

#[test]
fn every_operation_takes_both_forms_of_target() {
    for (op, expected) in targeted() {
        for target in [
            json!({"section_id": "build"}),
            json!({"heading": "Build"}),
            json!({"heading": "## Build", "heading_level": 2, "occurrence": 1}),
        ] {
            let mut op = op.clone();
            op["path"] = "pitfalls.md".into();
            for (key, value) in target.as_object().unwrap() {
                op[key] = value.clone();
            }
            let request = request("add_pitfall", json!([op]));
            assert_eq!(after(&store(), &request, "pitfalls.md"), expected, "{op}");
            if archives(&request) {
                let copy = after(&store(), &request, "archive/build.md");
                assert!(copy.starts_with("## Build\n<!-- @id: build -->\n\n- a\n\n<!-- @archived: 2026-02-03 from pitfalls.md#build -->\n"), "{copy}");
            }
        }
    }
}

#[test]
fn every_operation_notices_the_drift_that_concerns_it() {
    let changed = |from: &str, to: &str| {
        let mut store = store();
        store.insert("pitfalls.md".into(), PITFALLS.replace(from, to).into_bytes());
        store
    };
    for (op, _) in targeted() {
        let mut op = op;
        op["path"] = "pitfalls.md".into();
        op["section_id"] = "build".into();
        let request = request("add_pitfall", json!([op]));
        let (_, recorded) = run(&store(), &request);
        let drifts = |store: &Store| drift(&recorded, &run(store, &request).1, &[]).len();
        let strict = !matches!(
            request.operations[0].edit,
            Some(Edit::AppendToSection { .. } | Edit::RenameHeading { .. })
        );
        assert_eq!(drifts(&store()), 0, "{op}");
        assert_eq!(drifts(&changed("- a\n", "- a\n- mine\n")), usize::from(strict), "{op}");
        assert_eq!(drifts(&changed("\nx\n", "\nother\n")), 0, "other sections do not matter: {op}");
        assert_eq!(drifts(&changed("# Pitfalls\n", "# Pitfalls\n\nintro\n")), 0, "{op}");
        assert!(drifts(&changed("@id: build", "@id: gone")) >= 1, "{op}");
        if archives(&request) {
            let mut store = store();
            store.insert("archive/build.md".into(), b"x".to_vec());
            assert_eq!(drifts(&store), 1, "{op}");
        }
    }
}

#[test]
fn new_sections_behind_and_line_endings_are_no_drift() {
    let op = json!([{"operation": "replace_section", "path": "decisions.md", "section_id": "use-rust",
        "content": format!("## Use Rust\n\n{FIELDS}")}]);
    let request = request("record_decision", op);
    let (_, recorded) = run(&store(), &request);
    let mut later = store();
    later.insert(
        "decisions.md".into(),
        format!("{DECISIONS}\n## New\n<!-- @id: new -->\n").into_bytes(),
    );
    assert_eq!(drift(&recorded, &run(&later, &request).1, &[]), []);
    later.insert("decisions.md".into(), DECISIONS.replace('\n', "\r\n").into_bytes());
    assert_eq!(drift(&recorded, &run(&later, &request).1, &[]), []);
}

#[test]
fn files_are_created_once_unless_asked_otherwise() {
    let op = |extra: Value| {
        let mut op = json!({"operation": "create_file", "path": "modules/store.md", "content": "# Store\n\n## A\n\ntext\n"});
        for (key, value) in extra.as_object().unwrap() {
            op[key] = value.clone();
        }
        request("refresh_module", json!([op]))
    };
    let made = "# Store\n<!-- @id: store -->\n\n## A\n<!-- @id: a -->\n\ntext\n";
    assert_eq!(after(&store(), &op(json!({})), "modules/store.md"), made);
    let mut there = store();
    there.insert("modules/store.md".into(), b"# Old\n<!-- @id: store -->\n".to_vec());
    assert_eq!(reasons(&there, &op(json!({}))), ["plan_failed"]);
    assert_eq!(after(&there, &op(json!({"if_exists": "replace"})), "modules/store.md"), made);
    assert_eq!(
        after(&there, &op(json!({"if_exists": "append"})), "modules/store.md"),
        "# Old\n<!-- @id: store -->\n\n# Store\n<!-- @id: store-2 -->\n\n## A\n<!-- @id: a -->\n\ntext\n"
    );
    let (_, absent) = run(&store(), &op(json!({})));
    assert_eq!(drift(&absent, &run(&there, &op(json!({}))).1, &[]).len(), 1);
}

#[test]
fn a_missing_section_is_refused_or_added_as_asked() {
    let op = |missing: &str| {
        request(
            "add_pitfall",
            json!([{"operation": "replace_section", "path": "pitfalls.md",
            "section_id": "new-one", "content": "## New\n\nx\n", "if_missing": missing}]),
        )
    };
    assert_eq!(reasons(&store(), &op("reject")), ["plan_failed"]);
    assert_eq!(
        after(&store(), &op("append"), "pitfalls.md"),
        format!("{PITFALLS}\n## New\n<!-- @id: new-one -->\n\nx\n")
    );
    let mut empty = store();
    empty.remove("pitfalls.md");
    assert_eq!(reasons(&empty, &op("append")), ["plan_failed"]);
    assert_eq!(
        after(&empty, &op("create_file"), "pitfalls.md"),
        "## New\n<!-- @id: new-one -->\n\nx\n"
    );
}

#[test]
fn operations_see_what_the_ones_before_them_did() {
    let ops = json!([
        {"operation": "append_section", "path": "pitfalls.md", "heading": "A", "heading_level": 2, "content": "## A\n"},
        {"operation": "append_to_section", "path": "pitfalls.md", "section_id": "a", "content": "- x"},
        {"operation": "rename_heading", "path": "pitfalls.md", "section_id": "a", "new_heading": "B"},
    ]);
    let text = after(&store(), &request("add_pitfall", ops), "pitfalls.md");
    assert_eq!(text, format!("{PITFALLS}\n## B\n<!-- @id: a -->\n\n- x\n"));
}

#[test]
fn routing_is_the_strictest_that_has_a_say() {
    let mode = |request: &Request| run(&store(), request).0.unwrap().routing.mode;
    let append = json!({"operation": "append_to_section", "path": "pitfalls.md", "section_id": "build", "content": "- b"});
    let section = json!({"operation": "append_section", "path": "pitfalls.md", "heading": "N", "heading_level": 2, "content": "## N\nx"});
    assert_eq!(mode(&request("add_pitfall", json!([append]))), Approval::Apply);
    assert_eq!(mode(&request("add_pitfall", json!([append, section]))), Approval::Stage);
    let note = json!([{"operation": "create_file", "path": "local/current.feature-x.md", "content": "x", "if_exists": "replace"}]);
    assert_eq!(mode(&request("update_current", note)), Approval::Apply);
}

#[test]
fn an_intent_covers_its_own_files_only() {
    let op = |path: &str| json!([{"operation": "append_section", "path": path, "heading": "N", "heading_level": 2, "content": format!("## N\n\n{FIELDS}")}]);
    for (intent, path) in [
        ("update_current", "decisions.md"),
        ("update_current", "local/current.shared.md"),
        ("update_shared", "local/current.x.md"),
        ("session_log", "decisions.md"),
        ("add_pitfall", "conventions.md"),
        ("record_decision", "pitfalls.md"),
        ("refresh_module", "decisions.md"),
        ("archive_stale", "decisions.md"),
    ] {
        assert_eq!(
            reasons(&store(), &request(intent, op(path))),
            ["intent_path_mismatch"],
            "{intent} {path}"
        );
    }
    assert_eq!(
        reasons(&store(), &request("refresh_module", op("index.md"))),
        ["server_managed_category"]
    );
    assert_eq!(reasons(&store(), &request("refresh_module", op("notes.md"))), ["unknown_category"]);
    for path in ["../x.md", "/etc/x.md", ".git/x.md", ".agent-memory/decisions.md", "modules//x.md"]
    {
        assert_eq!(
            reasons(&store(), &request("refresh_module", op(path))),
            ["invalid_path"],
            "{path}"
        );
    }
    let archived = json!([{"operation": "append_section", "path": "archive/old.md", "heading": "N", "heading_level": 2, "content": "## N"}]);
    assert_eq!(reasons(&store(), &request("archive_stale", archived)), ["intent_path_mismatch"]);
    let written = json!([{"operation": "create_file", "path": "archive/old.md", "content": "x", "if_exists": "replace"}]);
    assert_eq!(reasons(&store(), &request("archive_stale", written)), ["write_once_violation"]);
}

#[test]
fn session_logs_go_to_todays_file() {
    for path in ["", "sessions/other.md", "sessions/2020-01-01.md"] {
        let op = json!([{"operation": "append_section", "path": path, "heading": "S", "heading_level": 2, "content": "## S\nx"}]);
        let text = after(&store(), &request("session_log", op), "sessions/2026-02-03.md");
        assert_eq!(text, "## S\n<!-- @id: s -->\nx\n");
    }
}

#[test]
fn the_schema_holds_for_what_is_new_or_changed() {
    let op = |content: &str| {
        request(
            "record_decision",
            json!([{"operation": "append_section", "path": "decisions.md",
            "heading": "N", "heading_level": 2, "content": format!("## N\n\n{content}")}]),
        )
    };
    assert_eq!(reasons(&store(), &op("text")), ["validation_failed"; 3]);
    assert_eq!(reasons(&store(), &op(&FIELDS.replace("active", "maybe"))), ["validation_failed"]);
    assert_eq!(
        reasons(&store(), &op(&FIELDS.replace("2026-05-05", "5 May"))),
        ["validation_failed"]
    );
    assert_eq!(reasons(&store(), &op(&format!("{FIELDS}Status: active\n"))), ["validation_failed"]);
    assert!(run(&store(), &op(FIELDS)).0.is_ok());
    let mut old = store();
    old.insert(
        "decisions.md".into(),
        b"# Decisions\n<!-- @id: d -->\n\n## Old\n<!-- @id: old -->\n\nno fields\n".to_vec(),
    );
    assert!(run(&old, &op(FIELDS)).0.is_ok());
}

#[test]
fn provenance_is_asked_of_each_operation() {
    let ops = json!([{"operation": "append_section", "path": "decisions.md", "heading": "N", "heading_level": 2, "content": format!("## N\n\n{FIELDS}")}]);
    let with = |sources: Value, ops: &Value| {
        read(&json!({"intent": "record_decision", "operations": ops, "sources": sources}))
    };
    assert_eq!(reasons(&store(), &with(json!([]), &ops)), ["provenance_violation"]);
    assert_eq!(
        reasons(&store(), &with(json!([{"type": "external", "ref": "https://x"}]), &ops)),
        ["provenance_violation"]
    );
    assert_eq!(
        reasons(&store(), &with(json!([{"type": "user"}, {"type": "inference"}]), &ops)),
        ["provenance_violation"]
    );
    assert_eq!(reasons(&store(), &with(json!([{"type": "file"}]), &ops)), ["provenance_violation"]);
    assert!(run(&store(), &with(json!([{"type": "test", "ref": "t"}]), &ops)).0.is_ok());
    let bullet = json!({"intent": "add_pitfall", "operations": [{"operation": "append_to_section",
        "path": "pitfalls.md", "section_id": "build", "content": "- b"}]});
    assert!(run(&store(), &read(&bullet)).0.is_ok());
    let mut untrusted = bullet;
    untrusted["sources"] = json!([{"type": "external", "ref": "https://x"}]);
    assert_eq!(reasons(&store(), &read(&untrusted)), ["provenance_violation"]);
}

#[test]
fn content_that_would_reach_beyond_its_section_is_refused() {
    let put = |content: &str| {
        request(
            "add_pitfall",
            json!([{"operation": "append_to_section", "path": "pitfalls.md", "section_id": "build", "content": content}]),
        )
    };
    for content in [
        "## Other\n", "# Other\n", "```\nopen", "<!-- open", "x\n\nOther\n---\n", "   \n",
        "<script>\n",
    ] {
        assert_eq!(reasons(&store(), &put(content)), ["invalid_markdown"], "{content}");
    }
    for content in ["x\n<!-- @id: forged -->\n", "- x <!-- @id: forged -->"] {
        assert!(reasons(&store(), &put(content)).contains(&"unsafe_text"), "{content}");
    }
    assert!(run(&store(), &put("```\n# fine\n<!-- @id: shown -->\n```")).0.is_ok());
    let section = |content: &str| {
        request(
            "add_pitfall",
            json!([{"operation": "append_section", "path": "pitfalls.md", "heading": "N", "heading_level": 2, "content": content}]),
        )
    };
    for content in [
        "### N\n", "## Other\n", "x\n## N\n", "## N\n\n## M\n", "## N\n\n# M\n",
        "---\na: b\n---\n## N\n",
    ] {
        let found = reasons(&store(), &section(content));
        assert!(found.iter().all(|code| *code == "invalid_markdown"), "{content:?}: {found:?}");
    }
    assert_eq!(
        reasons(&store(), &section("## N\n<!-- @id: build -->\n")),
        ["duplicate_section_id"]
    );
}

#[test]
fn all_problems_of_all_operations_come_back() {
    let ops = json!([
        {"operation": "append_to_section", "path": "pitfalls.md", "section_id": "bild", "content": "- b"},
        {"operation": "append_to_section", "path": "decisions.md", "section_id": "notes", "content": "- b"},
        {"operation": "append_to_section", "path": "pitfalls.md", "heading": "Twice", "content": "- b"},
        {"operation": "remove_section", "path": "pitfalls.md", "section_id": "build", "archive_path": "archive/old.md"},
    ]);
    let problems = run(&store(), &request("add_pitfall", ops)).0.unwrap_err();
    let seen: Vec<_> = problems.iter().map(|p| (p.operation, p.code.id)).collect();
    assert_eq!(
        seen,
        [
            (Some(0), "plan_failed"),
            (Some(1), "intent_path_mismatch"),
            (Some(2), "plan_failed"),
            (Some(3), "archive_exists"),
        ]
    );
    assert!(problems[0].fix.as_deref().unwrap().contains("'build'"));
    assert!(problems.iter().all(|p| p.fix.is_some() && p.field.is_some()), "{problems:#?}");
}

#[test]
fn problems_of_form_do_not_hide_the_others() {
    let request = Request::read(&json!({
        "intent": "record_decison",
        "operations": [
            {"operation": "append_sektion", "path": "../x.md"},
            {"operation": "append_section", "path": "decisions.md", "heading": "N",
             "heading_level": 2, "content": "# N\n\nx\n\n# M\n"},
            7,
        ]
    }));
    let problems = run(&store(), &request).0.unwrap_err();
    let seen: Vec<_> = problems.iter().map(|p| (p.operation, p.code.id)).collect();
    for expected in [
        (None, "invalid_intent"),
        (Some(0), "invalid_operation"),
        (Some(0), "invalid_path"),
        (Some(1), "invalid_markdown"),
        (Some(1), "validation_failed"),
        (Some(1), "provenance_violation"),
        (Some(2), "invalid_operation"),
    ] {
        assert!(seen.contains(&expected), "{expected:?}: {seen:#?}");
    }
    assert!(!seen.iter().any(|(_, code)| *code == "intent_path_mismatch"), "{seen:#?}");
    assert_eq!(seen.iter().filter(|p| **p == (Some(1), "invalid_markdown")).count(), 2);
}

#[test]
fn a_violation_names_its_operation_and_field() {
    let op = |name: &str, fields: &str| {
        json!({"operation": "append_section", "path": "decisions.md",
            "heading": name, "heading_level": 2, "content": format!("## {name}\n\n{fields}")})
    };
    let bad = FIELDS.replace("active", "maybe");
    let put = json!({"operation": "replace_section_content", "path": "decisions.md",
        "section_id": "use-rust", "content": FIELDS.replace("2026-05-05", "today")});
    let request = request("record_decision", json!([op("A", FIELDS), op("B", &bad), put]));
    let problems = run(&store(), &request).0.unwrap_err();
    let seen: Vec<_> = problems.iter().map(|p| (p.operation, p.field.as_deref())).collect();
    assert_eq!(seen, [(Some(2), Some("Date")), (Some(1), Some("Status"))], "{problems:#?}");
}

#[test]
fn a_heading_is_given_once() {
    let with = |fields: Value| {
        let mut op = json!({"operation": "append_section", "path": "pitfalls.md"});
        op.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let text = after(&store(), &request("add_pitfall", json!([op])), "pitfalls.md");
        text.strip_prefix(PITFALLS).unwrap().to_owned()
    };
    let section = "\n## N\n<!-- @id: n -->\n\nx\n";
    for fields in [
        json!({"content": "## N\n\nx\n"}),
        json!({"heading": "N", "content": "x\n"}),
        json!({"heading": "## N", "heading_level": 2, "content": "x"}),
        json!({"heading": "N", "content": "## N\n\nx"}),
    ] {
        assert_eq!(with(fields.clone()), section, "{fields}");
    }
    assert_eq!(
        with(json!({"heading": "N", "heading_level": 3, "content": "x"})),
        section.replace("## N", "### N")
    );
    let none = json!([{"operation": "append_section", "path": "pitfalls.md", "content": "x"}]);
    assert_eq!(reasons(&store(), &request("add_pitfall", none)), ["invalid_markdown"]);
}

#[test]
fn what_an_earlier_failure_may_explain_says_so() {
    let ops = json!([
        {"operation": "append_section", "path": "pitfalls.md", "heading": "A", "heading_level": 2, "content": "# A\n"},
        {"operation": "append_to_section", "path": "pitfalls.md", "section_id": "a", "content": "- x"},
    ]);
    let problems = run(&store(), &request("add_pitfall", ops)).0.unwrap_err();
    assert!(problems[1].fix.as_deref().unwrap().contains("operation 0"), "{problems:#?}");
}

#[test]
fn files_at_odds_are_left_alone() {
    let op = request(
        "add_pitfall",
        json!([{"operation": "append_to_section", "path": "pitfalls.md", "section_id": "build", "content": "- b"}]),
    );
    let with = |bytes: &[u8]| {
        let mut store = store();
        store.insert("pitfalls.md".into(), bytes.to_vec());
        store
    };
    assert_eq!(reasons(&with(b"## Build\n<!-- @id: build -->\n\xff"), &op), ["read_error"]);
    let conflict = b"## Build\n<!-- @id: build -->\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";
    assert_eq!(reasons(&with(conflict), &op), ["plan_failed"]);
    let double = b"## Build\n<!-- @id: build -->\n## B\n<!-- @id: build -->\n";
    assert_eq!(reasons(&with(double), &op), ["duplicate_section_id"]);
    let long = "x".repeat(30_000);
    let big = request(
        "add_pitfall",
        json!([{"operation": "append_to_section", "path": "pitfalls.md", "section_id": "build", "content": long}]),
    );
    assert_eq!(reasons(&store(), &big), ["size_limit_exceeded"]);
}

#[test]
fn the_index_page_is_deterministic() {
    let page = index_page::render(&store(), &Settings::default()).unwrap();
    assert!(
        page.contains("- decisions.md — durable architecture/product decisions (2 active)\n"),
        "{page}"
    );
    assert!(page.contains("- pitfalls.md — known traps (3 entries)\n"), "{page}");
    assert!(page.contains("- archive/ — 1 file\n"), "{page}");
    assert_eq!(page, index_page::render(&store(), &Settings::default()).unwrap());
}
