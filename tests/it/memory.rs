//! `aye memory` and the memory tools: an agent proposes, a person decides, files and history agree.

use crate::support::memory::{FIELDS, MANIFEST, ask, decision, section, set, store};
use crate::support::{Repo, tested};
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[("src/db.rs", "// db\n// two\n")];

fn status(repo: &Repo) -> Value {
    repo.aye(&["memory", "status", "--json"]).ok().json()
}

/// What waits for a person, by the name of its directory.
fn staged(repo: &Repo, request: &Value) -> String {
    let answer = ask(repo, request);
    assert_eq!(answer["status"], "staged", "{answer:#}");
    answer["staging_id"].as_str().expect("an id").to_owned()
}

#[test]
fn init_is_idempotent_and_keeps_what_is_there() {
    let repo = Repo::with(&[("AGENTS.md", "# Mine\r\n")]);
    repo.aye(&["memory", "init", "--agents"]).ok();
    repo.let_flags_decide();
    let before = repo.snapshot();
    assert!(repo.text("AGENTS.md").starts_with("# Mine\r\n"));
    repo.aye(&["memory", "init", "--agents"]).ok();
    assert_eq!(repo.snapshot(), before);
    repo.aye(&["memory", "lint"]).ok();
}

#[test]
fn without_a_store_the_call_fails_and_says_how_to_start_one() {
    let repo = Repo::new();
    repo.aye(&["memory", "status"]).fails("memory_not_initialized", 3);
}

#[test]
fn an_agent_proposes_a_person_applies_and_rejects() {
    let repo = store(FILES);
    let first = staged(&repo, &decision("Use Postgres"));
    let second = staged(&repo, &decision("Use NATS"));
    let third = staged(&repo, &decision("Use Vim"));
    assert!(!repo.text(".agent-memory/decisions.md").contains("Postgres"), "staged is not applied");
    assert!(repo.exists(&format!(".agent-memory/staging/{first}/proposal.json")));
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "staging is not git's business");

    repo.agent("bot", &["apply", &first, "--yes"]).fails("human_approval_required", 4);
    repo.aye(&["apply", &first]).fails("confirmation_required", 4);
    // In the other order than they were staged: both survive.
    repo.aye(&["apply", &second, "--yes"]).ok();
    repo.aye(&["apply", &first, "--yes"]).ok();
    let text = repo.text(".agent-memory/decisions.md");
    assert!(
        text.contains("NATS\n<!-- @id: use-nats -->\n")
            && text.contains("Postgres\n<!-- @id: use-postgres -->\n"),
        "{text}"
    );
    assert!(repo.text(".agent-memory/index.md").contains("(2 active)"));
    assert!(!repo.exists(&format!(".agent-memory/staging/{first}")));

    repo.aye(&["reject", &third, "--yes", "-m", "no editors here"]).ok();
    let status = self::status(&repo);
    let outcome = status["recent_outcomes"]
        .as_array()
        .and_then(|all| all.iter().find(|o| o["id"] == third.as_str()))
        .expect("the outcome");
    assert_eq!(outcome["status"], "rejected");
    assert_eq!(outcome["reason"], "no editors here");
    repo.aye(&["apply", &third, "--yes"]).fails("not_pending", 5);
    repo.aye(&["memory", "lint"]).ok();

    let path = ".agent-memory/decisions.md";
    let log = repo.aye(&["log", "-n", "1", "--json", "--", path]).ok().json();
    assert_eq!(log["events"][0]["text"], "no editors here", "{log:#}");
}

#[test]
fn what_policy_lets_in_is_applied_at_once() {
    let repo = store(FILES);
    repo.write(
        ".agent-memory/pitfalls.md",
        "# Pitfalls\n<!-- @id: pitfalls -->\n\n## Build\n<!-- @id: build -->\n\n- a\n",
    );
    let request = json!({"intent": "add_pitfall", "operations": [{"operation": "append_to_section",
        "path": "pitfalls.md", "section_id": "build", "content": "- b"}]});
    let answer = ask(&repo, &request);
    assert_eq!(answer["status"], "applied", "{answer:#}");
    assert_eq!(answer["routing"]["mode"], "apply");
    assert_eq!(answer["affected_sections"][0]["section_id"], "build");
    assert!(repo.text(".agent-memory/pitfalls.md").ends_with("- a\n- b\n"));
    // The same intent on another file does not slip through.
    let sly = json!({"intent": "update_current", "operations": [{"operation": "append_to_section",
        "path": "decisions.md", "section_id": "decisions", "content": "x"}]});
    assert_eq!(ask(&repo, &sly)["reason"], "intent_path_mismatch");
    let stage = repo.agent(
        "bot",
        &[
            "memory", "stage", "--intent", "add_pitfall", "-o", "append_to_section", "--path",
            "pitfalls.md", "--section-id", "build", "--content", "- c", "--json",
        ],
    );
    assert_eq!(stage.ok().json()["status"], "staged");
}

#[test]
fn all_problems_come_back_and_nothing_is_written() {
    let repo = store(FILES);
    let before = repo.snapshot();
    let request = json!({
        "intent": "record_decision",
        "sources": [{"type": "file", "ref": "src/gone.rs"}, {"type": "file", "ref": "../etc/passwd"}],
        "operations": [
            {"operation": "append_section", "path": "decisions.md", "heading": "A", "heading_level": 2, "content": "## A\n\nno fields\n"},
            {"operation": "append_section", "path": "decisions.md", "heading": "B", "heading_level": 2,
             "content": format!("## B\n\n{FIELDS}\nkey: AKIA{}\n\u{202e}x\n", "QYLPMN5HHHFPZAM2")},
            {"operation": "rename_heading", "path": "../x.md", "section_id": "a", "new_heading": "C"},
        ]
    });
    let answer = ask(&repo, &request);
    assert_eq!(answer["status"], "rejected");
    let codes: Vec<&str> = answer["violations"]
        .as_array()
        .expect("violations")
        .iter()
        .filter_map(|v| v["code"].as_str())
        .collect();
    for code in [
        "provenance_violation", "validation_failed", "secret_detected", "unsafe_text",
        "invalid_path",
    ] {
        assert!(codes.contains(&code), "{code}: {answer:#}");
    }
    let finding = &answer["findings"][0];
    assert_eq!(
        (finding["operation_index"].as_u64(), finding["line"].as_u64()),
        (Some(1), Some(7)),
        "{answer:#}"
    );
    assert!(!answer.to_string().contains("QYLPMN5HHHFPZAM2"), "the secret is not repeated");
    assert_eq!(repo.snapshot(), before);
    // As a command a rejection is a negative answer.
    let file = request.to_string();
    let run = repo.cmd(&["memory", "propose", "--from-json", "-"]).stdin(file).run();
    assert_eq!(run.status, 1);
}

#[test]
fn drift_is_refused_until_the_target_is_as_it_was() {
    let repo = store(FILES);
    let text =
        format!("# Decisions\n<!-- @id: decisions -->\n\n## A\n<!-- @id: a -->\n\n{FIELDS}\nold\n");
    repo.write(".agent-memory/decisions.md", &text);
    let request = json!({"intent": "record_decision", "sources": [{"type": "user"}],
        "operations": [{"operation": "replace_section_content", "path": "decisions.md", "section_id": "a",
            "content": format!("{FIELDS}\nnew\n")}]});
    let id = staged(&repo, &request);
    repo.write(".agent-memory/decisions.md", text.replace("old", "changed by hand"));
    repo.aye(&["apply", &id, "--yes"]).fails("target_drift", 5);
    let status = self::status(&repo);
    assert_eq!(status["staged_updates"][0]["drift_detected"], true);
    repo.aye(&["revise", "--rebase", &id]).fails("target_drift", 5);
    repo.write(".agent-memory/decisions.md", &text);
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text(".agent-memory/decisions.md"), text.replace("old", "new"));
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text(".agent-memory/decisions.md"), text);
}

/// A staging directory goes from every work tree with its proposal.
#[test]
fn what_is_decided_in_another_work_tree_is_staged_nowhere() {
    let repo = store(FILES);
    let there = repo.outer().join("there");
    repo.git(&["worktree", "add", "-q", "-b", "side", there.to_str().expect("a path")]);
    let id = staged(&repo, &decision("Use Postgres"));
    repo.cmd(&["apply", &id, "--yes", "--any-branch"]).dir(&there).run().ok();
    assert!(!repo.exists(&format!(".agent-memory/staging/{id}")));
}

/// Nobody believes it, and what differs is written again.
#[test]
fn a_tampered_staging_directory_changes_nothing_and_is_written_again() {
    type Change = fn(&Repo, &str);
    let changes: [Change; 4] = [
        |repo, staging| repo.write(&format!("{staging}/files/decisions.md"), "# Ignore it\n"),
        |repo, staging| repo.remove(&format!("{staging}/proposal.json")),
        |repo, staging| repo.write(&format!("{staging}/files/more.md"), "more\n"),
        |repo, staging| {
            let files = repo.path(staging).join("files");
            std::fs::rename(&files, repo.path("elsewhere")).expect("move");
            std::os::unix::fs::symlink(repo.path("elsewhere"), files).expect("link");
        },
    ];
    let repo = store(FILES);
    let id = staged(&repo, &decision("Use Postgres"));
    let staging = format!(".agent-memory/staging/{id}");
    let files = || {
        let mut files = repo.snapshot();
        files.retain(|(path, _)| path.starts_with(&staging));
        files
    };
    let sound = files();
    for change in changes {
        change(&repo, &staging);
        assert_ne!(files(), sound);
        repo.aye(&["memory", "lint"]).ok();
        assert_eq!(files(), sound);
    }
    repo.write(&format!("{staging}/proposal.json"), "{\"operations\": []}\n");
    repo.aye(&["apply", &id, "--yes"]).ok();
    let text = repo.text(".agent-memory/decisions.md");
    assert!(text.contains("use-postgres") && !text.contains("Ignore"));
    assert!(!repo.exists(&staging));
}

#[test]
fn search_sees_hand_edits_and_branch_switches_at_once() {
    let repo = store(FILES);
    let base = "# Decisions\n<!-- @id: decisions -->\n\n## Use Postgres\n<!-- @id: pg -->\n\nDate: 2026-01-02\nStatus: active\nConfidence: confirmed\n\nRelational store for orders.\n";
    repo.write(".agent-memory/decisions.md", base);
    repo.commit("decision");
    repo.aye(&["memory", "search", "stores", "for", "orders"]).ok().says("decisions.md#pg");
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.write(
        ".agent-memory/decisions.md",
        base.replace("Postgres", "CockroachDB").replace("Relational", "Verteilter"),
    );
    repo.commit("by hand");
    repo.aye(&["memory", "search", "cockroachdb"]).ok().says("CockroachDB");
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(repo.aye(&["memory", "search", "cockroachdb"]).status, 1);
    repo.git(&["merge", "-q", "--no-edit", "other"]);
    repo.aye(&["memory", "search", "verteilter"]).ok().says("decisions.md#pg");
    let ask = ["memory", "context", "cockroachdb", "--budget", "2000", "--json"];
    let pack = repo.aye(&ask).ok().json();
    assert!(
        pack["context"]
            .as_str()
            .is_some_and(|text| text.contains("Verteilter") && text.chars().count() <= 2000)
    );
    let bootstrap = repo.aye(&["memory", "context"]).ok();
    bootstrap.says("## conventions.md").says("## index.md");
}

/// Decides on a pitfall and on a decision of the `day`, notes both in the session log, and commits.
fn day_of(repo: &Repo, name: &str, day: &str) {
    let (heading, text) = (format!("{name} trap"), format!("Mind the {name}."));
    let pitfall = section("add_pitfall", "pitfalls.md", &heading, &text);
    repo.aye(&["apply", &staged(repo, &pitfall), "--yes"]).ok();
    let text = format!("{}\nFor {name}.", FIELDS.replace("2026-01-02", day));
    let decision = section("record_decision", "decisions.md", name, &text);
    repo.aye(&["apply", &staged(repo, &decision), "--yes"]).ok();
    let log = repo.text(LOG);
    repo.write(LOG, format!("{log}- {name} is settled\n"));
    repo.git(&["add", "-f", ".agent-memory/sessions"]);
    repo.commit(name);
}

const LOG: &str = ".agent-memory/sessions/2026-01-02.md";

#[test]
fn what_two_branches_append_survives_a_merge() {
    let repo = store(FILES);
    set(&repo, MANIFEST, "track_sessions: false", "track_sessions: true");
    repo.write(LOG, "# 2026-01-02\n\n- begun\n");
    repo.git(&["add", "-f", ".agent-memory/sessions"]);
    repo.commit("log");
    for (theirs, day) in [("Postgres", "2026-01-03"), ("Vim", "2026-01-02")] {
        repo.git(&["switch", "-q", "-c", theirs]);
        day_of(&repo, theirs, day);
        repo.git(&["switch", "-q", "main"]);
        let ours = format!("Not {theirs}");
        day_of(&repo, &ours, "2026-01-02");
        repo.git(&["merge", "-q", "--no-edit", theirs]);
        for name in [theirs, &ours] {
            for (file, wanted) in [
                ("pitfalls.md", format!("## {name} trap\n")),
                ("pitfalls.md", format!("\nMind the {name}.\n")),
                ("decisions.md", format!("## {name}\n")),
                ("decisions.md", format!("\nFor {name}.\n")),
                ("sessions/2026-01-02.md", format!("\n- {name} is settled\n")),
            ] {
                let text = repo.text(&format!(".agent-memory/{file}"));
                assert_eq!(text.matches(&wanted).count(), 1, "{file}: {wanted}: {text}");
                assert!(!text.contains("<<<<<<<"), "{text}");
            }
        }
        // Git writes equal fields of both sides once: a section that lost them is found.
        let lint = repo.aye(&["memory", "lint", "--json"]);
        assert_eq!(lint.status, i32::from(theirs == "Vim"), "{lint}");
    }
}

#[test]
fn a_section_that_two_branches_changed_is_a_conflict() {
    let repo = store(FILES);
    let path = ".agent-memory/conventions.md";
    let base = repo.text(path);
    for (branch, line) in [("theirs", "Tabs."), ("main", "Blanks.")] {
        repo.git(&["switch", "-q", "-C", branch, "main"]);
        repo.write(path, format!("{base}\n{line}\n"));
        repo.commit(line);
        if branch == "theirs" {
            repo.git(&["switch", "-q", "main"]);
        }
    }
    repo.try_git(&["merge", "-q", "--no-edit", "theirs"]).exits(1);
    assert_eq!(repo.text(path).matches("<<<<<<<").count(), 1);
    repo.aye(&["memory", "lint"]).exits(1);
}

#[test]
fn lint_reads_sources_and_markers_as_people_write_them() {
    let repo = store(FILES);
    repo.write(".github/workflows/ci.yml", "on: push\n");
    let text = "# Pitfalls\n<!-- @id: pitfalls -->\n\n## CI\n<!-- @id: ci -->\n\nA region is opened by \
                `<!-- @secret-scan: allow reason=... -->`.\n\n**Files:** `.github/workflows/ci.yml`, \
                .github/workflows/ci.yml.\n";
    repo.write(".agent-memory/pitfalls.md", text);
    repo.commit("pitfalls");
    let findings = |repo: &Repo| {
        let report = repo.aye(&["memory", "lint", "--json"]).json();
        let of = |finding: &Value| {
            finding["file_path"] == ".agent-memory/pitfalls.md" && finding["level"] != "note"
        };
        report["findings"].as_array().expect("findings").iter().filter(|f| of(f)).count()
    };
    assert_eq!(findings(&repo), 0, "{}", repo.aye(&["memory", "lint"]).out());
    repo.write(".agent-memory/pitfalls.md", text.replace("ci.yml`,", "gone.yml`,"));
    assert_eq!(findings(&repo), 1, "{}", repo.aye(&["memory", "lint"]).out());
}

#[test]
fn an_expired_proposal_cannot_be_applied() {
    let repo = store(FILES);
    set(&repo, MANIFEST, "ttl_seconds: 604800", "ttl_seconds: 3600");
    let id = staged(&repo, &decision("Use Postgres"));
    let now = (chrono::Utc::now() + chrono::Duration::hours(2)).to_rfc3339();
    repo.cmd(&["apply", &id, "--yes"]).env("AYE_NOW", now).run().fails("not_pending", 5);
}

#[test]
fn a_store_of_the_public_project_works_unchanged() {
    let data =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memory_public_store");
    let repo = Repo::with(&[
        ("README.md", "x\n"),
        ("src/cli.rs", "x\n"),
        ("src/db.rs", "x\n"),
        ("docs/design.md", "x\n"),
    ]);
    let mut count = 0;
    let mut directories = vec![data.clone()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("the fixture") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let name = path.strip_prefix(&data).expect("beneath").display().to_string();
            repo.write(
                &format!(".agent-memory/{}", name.replace("dot-", ".")),
                std::fs::read(&path).expect("a file"),
            );
            count += 1;
        }
    }
    assert!(count >= 11);
    repo.commit("as it was");
    repo.let_flags_decide();
    let before = repo.text(".agent-memory/decisions.md");
    let lock = repo.text(".agent-memory/meta/stores.lock");
    // Its manifest names another store, which is not read.
    let notes_stores = || {
        let found = repo.aye(&["memory", "lint", "--json"]).ok().json();
        assert!(found.to_string().contains("stores[]"), "{found:#}");
    };
    notes_stores();
    let status = self::status(&repo);
    assert_eq!(status["durable_files"], 8, "{status:#}");
    repo.aye(&["memory", "search", "merge", "driver"]).ok();
    let id = staged(&repo, &decision("Use Postgres"));
    repo.aye(&["apply", &id, "--yes"]).ok();
    let after = repo.text(".agent-memory/decisions.md");
    assert!(after.starts_with(&before), "every byte that was there stays");
    assert_eq!(repo.text(".agent-memory/meta/stores.lock"), lock);
    notes_stores();
}

/// Each as the help has it, with the files that it names.
#[test]
fn the_examples_of_propose_and_stage_run() {
    for verb in ["propose", "stage"] {
        let repo = Repo::with(&[("src/db.rs", "x\n")]);
        repo.aye(&["memory", "init"]).ok();
        repo.commit("Memory");
        repo.write("text.md", "## Cache\n\nClear it after a rename.\n");
        let request = serde_json::json!({
            "intent": "add_pitfall", "rationale": "seen", "sources": [{ "type": "user" }],
            "operations": [{
                "operation": "append_to_section", "path": "pitfalls.md", "section_id": "pitfalls",
                "content": "- Another."
            }],
        });
        repo.write("request.json", request.to_string());
        let help = repo.aye(&["memory", verb, "--help"]).ok().out();
        let (_, examples) = help.split_once("Examples:\n").expect("examples");
        let (examples, _) = examples.split_once("\n\n").expect("an end");
        let examples = examples.replace("\\\n", "");
        assert_eq!(examples.lines().count(), 3, "{examples}");
        for example in examples.lines() {
            let begin = format!("aye memory {verb} ");
            let rest = example.trim().strip_prefix(&begin).expect("the command itself");
            let script = format!("\"$AYE\" memory {verb} {rest}");
            let run = repo.program("sh").args(&["-c", &script]).env("AYE", tested()).run();
            run.ok().says(if verb == "stage" { "staged" } else { "pitfalls.md" });
        }
    }
}
