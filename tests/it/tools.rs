//! One convention for all tools: codes, errors, unknown arguments, and the order of keys.

use aye::tools::registry::TOOLS;

use crate::support::{Repo, Run};
use serde_json::{Value, json};

const FILE: &str = "one\ntwo\ntwo\nthree\n";

fn repo() -> Repo {
    let repo = Repo::with(&[("f", FILE), ("sub/g", "g\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo
}

/// A call by somebody who bears no mark of an agent.
fn call(repo: &Repo, tool: &str, arguments: &Value) -> Run {
    repo.aye(&["call", tool, &arguments.to_string()])
}

fn answer(run: &Run) -> Value {
    serde_yaml::from_str(&run.out()).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

/// The keys of an object in the order in which they were printed.
fn keys(answer: &Value) -> Vec<&str> {
    answer.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// A call of each tool that is answered in `repo`.
fn calls(repo: &Repo) -> Vec<(&'static str, Value)> {
    let propose =
        json!({"action": "propose", "file_path": "sub/g", "old_content": "g", "new_content": "G"});
    let proposed = answer(&call(repo, "changes", &propose).ok());
    let id = &proposed["proposal_id"];
    vec![
        ("comment", json!({"proposal_id": id, "body": "A thought"})),
        ("show", json!({"proposal_id": id})),
        ("wait", json!({"proposal_id": id, "timeout_s": 0})),
        ("revise", json!({"proposal_id": id, "description": "Better"})),
        ("apply_patch", json!({"patch": "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n+eins\n two\n"})),
        ("changes", json!({"action": "list"})),
        (
            "changes",
            json!({"action": "propose", "file_path": "f", "old_content": "three", "new_content": "3"}),
        ),
        ("memory.search", json!({"query": "tabs"})),
        ("memory.propose_update", json!({"intent": "update_current", "operations": []})),
        ("readonly_shell", json!({"command": "ls"})),
        ("update_plan", json!({"plan": [{"step": "a", "status": "pending"}]})),
    ]
}

#[test]
fn an_argument_that_nobody_knows_is_named_and_nothing_else() {
    for at in 0..calls(&repo()).len() {
        let repo = repo();
        let (tool, mut arguments) = calls(&repo).swap_remove(at);
        arguments["justification"] = json!("because");
        let answer = answer(&call(&repo, tool, &arguments).ok());
        assert_eq!(answer["ignored_parameters"], json!(["justification"]), "{tool}: {answer}");
        assert_eq!(keys(&answer).last(), Some(&"ignored_parameters"), "{tool}");
    }
    let repo = repo();
    let steps = json!({"plan": [{"id": 1, "step": "a", "status": "pending", "priority": "high"}]});
    let answer = answer(&call(&repo, "update_plan", &steps).ok());
    assert_eq!(answer["ignored_parameters"], json!(["plan[0].id", "plan[0].priority"]));
}

#[test]
fn an_argument_of_the_wrong_type_is_refused_by_its_name() {
    let repo = repo();
    for (tool, arguments, name) in [
        ("apply_patch", json!({"patch": 5}), "patch"),
        ("apply_patch", json!({"patch": "x", "strip": "two"}), "strip"),
        ("changes", json!({"action": "list", "limit": 1.5}), "limit"),
        ("changes", json!({"action": 1}), "action"),
        ("memory.search", json!({"query": "x", "scope": "src"}), "scope"),
        ("readonly_shell", json!({"command": ["ls"]}), "command"),
        ("readonly_shell", json!({"command": "ls", "timeout_ms": "soon"}), "timeout_ms"),
        ("update_plan", json!({"plan": "Fix bug"}), "plan"),
        ("update_plan", json!({"plan": [], "explanation": 3}), "explanation"),
    ] {
        let run = call(&repo, tool, &arguments).exits(6);
        let answer = answer(&run);
        let error = answer.get("error").unwrap_or(&answer);
        assert_eq!(error["code"], "invalid_parameter", "{tool}: {answer}");
        assert!(error["message"].as_str().unwrap().contains(name), "{tool}: {answer}");
    }
}

/// Beside an error an unknown argument is often the reason of it.
#[test]
fn an_argument_that_nobody_knows_is_named_beside_an_error() {
    let repo = repo();
    let none = json!("prop_none0none");
    for (tool, mut arguments) in [
        ("apply_patch", json!({"patch": "garbage"})),
        ("apply_patch", json!({"patch": "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-no\n+yes\n"})),
        ("apply_patch", json!({})),
        (
            "changes",
            json!({"action": "propose", "file_path": "f", "old_content": "none", "new_content": "x"}),
        ),
        ("changes", json!({"action": "apply", "proposal_id": none})),
        ("comment", json!({"proposal_id": none, "body": "x"})),
        ("changes", json!({"action": "list", "status": "odd"})),
        ("memory.search", json!({})),
        ("readonly_shell", json!({"command": "rm f"})),
        ("readonly_shell", json!({"command": "ls", "workdir": "/"})),
        ("readonly_shell", json!({})),
        ("revise", json!({"proposal_id": none})),
        ("show", json!({"proposal_id": none})),
        ("update_plan", json!({"plan": [{"step": "a", "status": "odd"}]})),
        ("wait", json!({"proposal_id": none})),
    ] {
        let plain = answer(&call(&repo, tool, &arguments));
        assert!(plain.get("ignored_parameters").is_none(), "{tool}: {plain}");
        arguments["zz"] = json!(1);
        let run = call(&repo, tool, &arguments);
        assert_ne!(run.status, 0, "{tool}");
        let found = answer(&run);
        assert_eq!(found["ignored_parameters"], json!(["zz"]), "{tool}: {found}");
        assert_eq!(keys(&found).last(), Some(&"ignored_parameters"), "{tool}: {found}");
    }
}

#[test]
fn two_names_of_one_parameter_are_refused_by_its_name() {
    let arguments = json!({"command": "ls", "timeout_ms": 5000, "timeout": 5});
    let answer = answer(&call(&repo(), "readonly_shell", &arguments).exits(6));
    assert_eq!(answer["details"]["parameter"], "timeout_ms");
    let message = answer["message"].as_str().expect("a message");
    assert!(message.contains("'timeout_ms'"), "{message}");
}

/// A model that gives a list as a text reads what it should have been, and not all of its text again.
#[test]
fn a_long_value_of_the_wrong_type_is_not_echoed_whole() {
    let repo = repo();
    let long = "a, expected ".repeat(5000);
    for (tool, arguments) in [
        ("revise", json!({"proposal_id": "prop_x", "edits": long})),
        ("revise", json!({"proposal_id": "prop_x", "edits": [{"file_path": "f", "delete": long}]})),
        ("apply_patch", json!({"patch": "x", "dry_run": long})),
        ("changes", json!({"action": "list", "limit": long})),
        ("readonly_shell", json!({"command": "ls", "timeout_ms": long})),
        ("readonly_shell", json!({"command": "ls", "workdir": long})),
        ("update_plan", json!({"plan": long})),
        ("update_plan", json!({"plan": [{"step": "a", "status": long}]})),
        ("changes", json!({"action": long})),
    ] {
        let run = call(&repo, tool, &arguments).exits(6);
        assert!(run.out().len() < 1000, "{tool}: {}", run.out().len());
    }
}

/// Nor are names of parameters that a tool does not know, which may be a text that lost its quotes.
#[test]
fn a_long_unknown_name_is_not_echoed_whole() {
    let repo = repo();
    let long = "ä".repeat(5000);
    let cut = format!("{}…", "ä".repeat(60));
    for (tool, mut arguments) in [
        ("apply_patch", json!({"patch": "garbage"})),
        ("changes", json!({"action": "list"})),
        ("memory.propose_update", json!({"intent": "odd", "operations": []})),
        ("readonly_shell", json!({"command": "ls"})),
        ("show", json!({})),
        ("update_plan", json!({"plan": []})),
    ] {
        arguments[&long] = json!(1);
        let run = call(&repo, tool, &arguments);
        let found = answer(&run);
        assert_eq!(found["ignored_parameters"], json!([cut]), "{tool}: {found}");
        assert!(!run.out().contains(&long), "{tool}");
    }
    let steps = json!([{"step": "a", "status": "pending", &long: 1}]);
    let run = call(&repo, "update_plan", &json!({"plan": steps})).ok();
    assert!(run.out().contains("plan[0].ä") && run.out().len() < 1000, "{run}");
    let run = repo.aye(&["plan", "update", &steps.to_string()]).ok();
    assert!(run.err().contains("plan[0].ä") && run.err().len() < 1000, "{run}");
}

/// What an error is in particular stands in its `details`, whatever the contract has around it.
#[test]
fn every_tool_has_one_shape_of_errors() {
    let repo = repo();
    // Whoever generates a client reads all of them with this.
    let schema = repo.aye(&["util", "schema", "error"]).ok().json();
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    for tool in TOOLS {
        for (arguments, key) in [(json!([]), None), (json!({}), Some("parameter"))] {
            let answer = answer(&call(&repo, tool.name(), &arguments));
            if answer["status"] == "rejected" {
                // An answer of that tool.
                assert_eq!(tool.name(), "memory.propose_update");
                continue;
            }
            assert!(answer["status"] == "error" || schema.is_valid(&answer), "{answer}");
            let error = answer.get("error").unwrap_or(&answer);
            let own = ["status", "command", "path", "patch_applied", "applied_at"];
            let shape: Vec<&str> =
                keys(error).into_iter().filter(|key| !own.contains(key)).collect();
            let details = key.map(|_| "details");
            let expected: Vec<&str> =
                ["code", "message", "hint"].into_iter().chain(details).collect();
            assert_eq!(shape, expected, "{}: {answer}", tool.name());
            if let Some(key) = key {
                assert_eq!(error["code"], "missing_parameter", "{}: {answer}", tool.name());
                let found = keys(&error["details"]);
                assert_eq!(found, [key, "faults", "call"], "{}: {answer}", tool.name());
            }
        }
    }
    // Commands as well.
    let edit = ["propose", "f", "--old", "two", "--new", "2", "--json"];
    let error = repo.aye(&edit).exits(6).json()["error"].take();
    assert_eq!(keys(&error), ["code", "message", "hint", "details"]);
    assert!(error["details"]["path"] == "f", "{error}");
}

#[test]
fn codes_are_in_lower_case_but_for_the_three_of_the_contract() {
    let repo = repo();
    let hunk = |file: &str| format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-no\n+yes\n");
    for (tool, arguments, exit, code) in [
        ("apply_patch", json!({}), 6, "missing_parameter"),
        ("apply_patch", json!({"patch": "nonsense"}), 6, "PATCH_INVALID"),
        ("apply_patch", json!({"patch": hunk("nowhere")}), 3, "FILE_NOT_FOUND"),
        ("apply_patch", json!({"patch": hunk("f")}), 5, "hunk_failed"),
        ("readonly_shell", json!({}), 6, "missing_parameter"),
        ("readonly_shell", json!({"command": "rm f"}), 4, "COMMAND_NOT_ALLOWED"),
        ("update_plan", json!({}), 6, "missing_parameter"),
    ] {
        let run = call(&repo, tool, &arguments).exits(exit);
        let answer = answer(&run);
        assert_eq!(answer["code"], code, "{tool}: {answer}");
        assert_eq!(answer["status"], "error");
        assert!(answer["hint"].is_string(), "{tool}: {answer}");
    }
}

#[test]
fn answers_have_their_keys_in_the_order_of_the_contract() {
    let repo = repo();
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n+eins\n two\n";
    let head = ["status", "path", "patch_applied", "applied_at"];
    for format in [&["call", "apply_patch"][..], &["call", "apply_patch", "--json"]] {
        let request = json!({"patch": patch, "dry_run": true}).to_string();
        let ok = answer(&repo.aye(&[format, &[&request]].concat()).ok());
        assert_eq!(&keys(&ok)[..4], head);
        let request = json!({"patch": patch.replace("one", "no")}).to_string();
        let failed = answer(&repo.aye(&[format, &[&request]].concat()).exits(5));
        assert_eq!(
            &keys(&failed)[..6],
            ["status", "path", "patch_applied", "applied_at", "code", "message"]
        );
        assert_eq!((&failed["path"], &failed["patch_applied"]), (&json!("f"), &json!(false)));
        assert_eq!(failed["applied_at"], Value::Null);
    }
    let request = json!({
        "action": "propose", "file_path": "f", "old_content": "three", "new_content": "3"
    });
    let proposed = answer(&call(&repo, "changes", &request).ok());
    assert_eq!(&keys(&proposed)[..3], ["success", "proposal_id", "file_path"]);
    let listed = answer(&call(&repo, "changes", &json!({"action": "list"})).ok());
    assert_eq!(keys(&listed), ["proposals", "count"]);
    assert_eq!(&keys(&listed["proposals"][0])[..2], ["id", "file_path"]);
    let ran = answer(&call(&repo, "readonly_shell", &json!({"command": "ls"})).ok());
    let head = ["status", "command", "output", "exit_code", "executed_at"];
    assert_eq!(&keys(&ran)[..5], head);
    let plan = json!({"plan": [{"step": "a", "status": "pending"}]});
    let planned = answer(&call(&repo, "update_plan", &plan).ok());
    assert_eq!(&keys(&planned)[..3], ["status", "plan", "updated_at"]);
}

#[test]
fn the_shell_takes_what_models_send_with_a_command() {
    let repo = repo();
    let shell = |arguments: Value| call(&repo, "readonly_shell", &arguments);
    for name in ["workdir", "cwd", "directory"] {
        let answer = answer(&shell(json!({"command": "ls", name: "sub", "timeout_ms": 5000})).ok());
        assert_eq!(answer["output"], "g\n", "{name}");
        assert!(answer.get("ignored_parameters").is_none(), "{answer}");
    }
    let here = repo.root().to_str().expect("a path").to_owned();
    let absolute = answer(&shell(json!({"command": "ls", "workdir": format!("{here}/sub")})).ok());
    assert_eq!(absolute["output"], "g\n");
    for outside in ["..", "/", "nowhere", "f", "sub/../../.."] {
        let refused = answer(&shell(json!({"command": "ls", "workdir": outside})).exits(6));
        assert_eq!(refused["code"], "invalid_parameter", "{outside}");
        assert_eq!(refused["details"]["parameter"], "workdir");
    }
    std::os::unix::fs::symlink("/", repo.root().join("out")).expect("a symlink");
    shell(json!({"command": "ls", "workdir": "out"})).exits(6);
}

#[test]
fn one_of_several_equal_contents_can_be_meant() {
    let repo = repo();
    let propose = |occurrence: Value| {
        let mut request = json!({
            "action": "propose", "file_path": "f", "old_content": "two", "new_content": "2"
        });
        if !occurrence.is_null() {
            request["occurrence"] = occurrence;
        }
        call(&repo, "changes", &request)
    };
    let refused = answer(&propose(Value::Null).exits(6));
    assert_eq!(refused["error"]["code"], "old_content_ambiguous");
    let hint = refused["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("occurrence") && !hint.contains("--"), "{hint}");
    for (occurrence, result) in
        [(json!(2), "one\ntwo\n2\nthree\n"), (json!("all"), "one\n2\n2\nthree\n")]
    {
        let id = answer(&propose(occurrence).ok())["proposal_id"].as_str().unwrap().to_owned();
        assert_eq!(repo.git(&["show", &format!("refs/aye/pending/{id}:f")]), result.trim_end());
    }
    propose(json!("first")).exits(6).says("invalid_parameter");
    propose(json!(3)).exits(6).says("old_content_ambiguous");
}

#[test]
fn the_schemas_of_the_arguments_say_what_is_required() {
    let repo = repo();
    let schema = |name: &str| repo.aye(&["util", "schema", &format!("{name}-input")]).ok().json();
    let valid = |name: &str, arguments: &Value| {
        jsonschema::validator_for(&schema(name)).expect("a schema").is_valid(arguments)
    };
    for (tool, good, bad) in [
        ("apply_patch", json!({"patch": "x"}), json!({"dry_run": true})),
        ("changes", json!({"action": "list", "limit": 10}), json!({"action": "propose"})),
        (
            "changes",
            json!({"action": "reject", "proposal_id": "prop_x"}),
            json!({"action": "reject"}),
        ),
        ("readonly_shell", json!({"command": "ls -la"}), json!({"workdir": "."})),
        (
            "update_plan",
            json!({"plan": [{"step": "a", "status": "pending"}]}),
            json!({"plan": [{"step": "a"}]}),
        ),
        ("memory.search", json!({"query": "x", "scope": ["src"]}), json!({"scope": []})),
        (
            "memory.propose_update",
            json!({
                "intent": "record_decision",
                "operations": [{
                    "operation": "append_section", "path": "decisions.md", "heading": "Tabs",
                    "heading_level": 2, "content": "## Tabs\n"
                }],
                "sources": [{"type": "user"}],
                "confidence": "confirmed",
                "owner": "me",
                "priority": "high",
            }),
            json!({
                "intent": "update_current",
                "operations": [{"operation": "create_file", "path": "x.md", "contents": "x"}],
            }),
        ),
        (
            "memory.propose_update",
            json!({"intent": "update_current", "operations": [{"operation": "create_file", "path": "x.md"}]}),
            json!({"intent": "update_all", "operations": [{"operation": "create_file", "path": "x.md"}]}),
        ),
    ] {
        assert!(valid(tool, &good), "{tool}: {good}");
        assert!(!valid(tool, &bad), "{tool}: {bad}");
    }
}

#[test]
fn every_tool_answers_to_each_of_its_names() {
    for tool in TOOLS {
        let all = calls(&repo());
        let mut places = (0..all.len()).filter(|at| all[*at].0 == tool.name()).peekable();
        assert!(places.peek().is_some(), "{} is not called here", tool.name());
        for at in places {
            let repo = repo();
            let (_, arguments) = calls(&repo).swap_remove(at);
            for name in tool.names {
                call(&repo, name, &arguments).ok();
            }
        }
    }
}

#[test]
fn every_tool_stands_in_the_help_of_call() {
    let help = Repo::outside().aye(&["call", "--help"]).ok().out();
    for tool in TOOLS {
        let line = help.lines().find(|line| line.trim_start().starts_with(tool.name()));
        let line = line.unwrap_or_else(|| panic!("{} is missing:\n{help}", tool.name()));
        assert!(tool.names.iter().all(|name| line.contains(name)), "{line}");
    }
}

/// A line without its file, or the last one without the first, is not dropped without a word.
#[test]
fn a_comment_on_lines_is_on_the_one_file_or_says_which() {
    let repo = repo();
    let edits = [
        json!({"file_path": "sub/g", "content": "G\nH\n"}),
        json!({"file_path": "f", "old_content": "three", "new_content": "3"}),
    ];
    let propose = |edits: &[Value]| {
        let edits = json!({ "edits": edits }).to_string();
        repo.aye_stdin(&["propose", "--from-json", "-", "-q"], edits).ok().id()
    };
    let comment = |id: &str, more: Value| {
        let mut arguments = json!({"proposal_id": id, "body": "x"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&repo, "comment", &arguments)
    };
    let one = propose(&edits[..1]);
    comment(&one, json!({"line": 1, "end_line": 2})).ok();
    comment(&one, json!({"line": 2, "replacement": "I"})).ok();
    let shown = repo.aye(&["show", &one, "--comments", "--json"]).ok().json();
    for (index, line) in [1, 2].into_iter().enumerate() {
        let said = &shown["comments"][index];
        assert_eq!((said["path"].as_str(), said["line"].as_u64()), (Some("sub/g"), Some(line)));
    }
    comment(&one, json!({"path": "sub/g", "end_line": 2})).fails("invalid_argument", 6);
    let two = propose(&edits);
    comment(&two, json!({"line": 1})).fails("invalid_argument", 6);
    comment(&two, json!({"path": "f", "line": 1})).ok();
}

/// Coding agents name files by absolute paths in their own tools.
#[test]
fn an_absolute_path_inside_the_work_tree_is_taken() {
    let repo = repo();
    let top = repo.path("");
    let top = top.to_str().unwrap().trim_end_matches('/');
    for path in [format!("{top}/sub/g"), "./sub/g".to_owned()] {
        let edit = json!({"file_path": &path, "old_content": "g\n", "new_content": "G\n"});
        let propose = json!({"action": "propose", "file_path": &path, "old_content": "g\n", "new_content": "G\n"});
        let proposed = answer(&call(&repo, "changes", &propose).ok());
        let listed = repo.aye(&["list", "--path", "sub/g", "--json"]).ok().json();
        assert_eq!(listed["count"], 1, "{proposed:#}\n{listed:#}");
        let id = proposed["proposal_id"].as_str().unwrap();
        call(&repo, "comment", &json!({"proposal_id": id, "body": "x", "path": &path, "line": 1}))
            .ok();
        repo.aye(&["reject", id, "--yes"]).ok();
        let file = json!({"edits": [edit]}).to_string();
        let id = repo.aye_stdin(&["propose", "--from-json", "-", "-q"], file).ok().id();
        repo.aye(&["reject", &id, "--yes"]).ok();
    }
    // Git's own directory, and what lies elsewhere, are refused as ever.
    for (path, code) in [
        (format!("{top}/.git/config"), "path_in_git_dir"),
        (format!("{top}/../x"), "path_invalid"),
        ("/etc/passwd".to_owned(), "path_invalid"),
        ("sub/../f".to_owned(), "path_invalid"),
    ] {
        let new =
            json!({"action": "propose", "file_path": path, "old_content": "", "new_content": "x"});
        call(&repo, "changes", &new).fails(code, 6);
    }
}

/// In patches, too, which are written like other paths.
#[test]
fn an_absolute_path_in_a_patch_is_taken() {
    let base = repo();
    let envelope = |body: &str| format!("*** Begin Patch\n{body}*** End Patch\n");
    let update = |path: &str| format!("*** Update File: {path}\n@@\n-one\n+eins\n");
    let diff = |old: &str, new: &str| {
        format!("--- {old}\n+++ {new}\n@@ -1,2 +1,2 @@\n-one\n+eins\n two\n")
    };
    let changed = FILE.replace("one", "eins");
    let at = |top: &str, name: &str| format!("{top}/{name}");
    let tops = |repo: &Repo| {
        let top = repo.path("").to_str().unwrap().trim_end_matches('/').to_owned();
        let link = format!("{top}-link");
        std::os::unix::fs::symlink(&top, &link).expect("a symlink");
        [top, link]
    };
    let repo = base.copy();
    for top in tops(&repo) {
        let f = at(&top, "f");
        for patch in [
            envelope(&update(&f)),
            diff(&f, &f),
            diff("a/f", &f),
            diff(&format!("{f}\t2026-11-22 01:55:54.000000000 +0000"), &f),
            diff(&f, &f) + "--- a/sub/g\n+++ b/sub/g\n@@ -1 +1 @@\n-g\n+G\n",
        ] {
            for (file, text) in [("f", FILE), ("sub/g", "g\n")] {
                repo.write(file, text);
            }
            let ok = answer(&call(&repo, "apply_patch", &json!({"patch": patch})).ok());
            assert_eq!(ok["path"], "f", "{patch}\n{ok}");
            assert!(ok.get("notes").is_none(), "{patch}\n{ok}");
            assert_eq!(repo.text("f"), changed, "{patch}");
            if patch.starts_with("--- ") {
                let again = answer(&call(&repo, "apply_patch", &json!({"patch": patch})).ok());
                assert_eq!(again["already_applied"], true, "{patch}\n{again}");
            }
        }
        repo.write("f", FILE);
        // A new file in a new directory, and a move to another.
        let patch = envelope(&format!("*** Add File: {}\n+n\n", at(&top, "new/n"))).replace(
            "*** End",
            &format!(
                "{}*** End",
                update(&f).replace("@@", &format!("*** Move to: {}\n@@", at(&top, "moved")))
            ),
        );
        call(&repo, "apply_patch", &json!({"patch": patch})).ok();
        assert_eq!((repo.text("new/n"), repo.text("moved")), ("n\n".to_owned(), changed.clone()));
        for gone in ["new/n", "moved"] {
            std::fs::remove_file(repo.path(gone)).expect("it was there");
        }
        let patch = format!("--- /dev/null\n+++ {}\n@@ -0,0 +1 @@\n+n\n", at(&top, "new/n"));
        let proposed =
            answer(&call(&repo, "apply_patch", &json!({"patch": patch, "propose": true})).ok());
        assert_eq!(proposed["path"], "new/n");
        repo.write("f", FILE);
        let id = repo.aye_stdin(&["propose", "--patch", "-", "-q"], diff(&f, &f)).ok().id();
        repo.aye(&["reject", &id, "--yes"]).ok();
        repo.aye(&["reject", proposed["proposal_id"].as_str().unwrap(), "--yes"]).ok();
        // What is elsewhere, or git's own, is refused; the work tree is named.
        for (path, code) in [
            (at(&top, ".git/config"), "path_in_git_dir"),
            (at(&top, "../x"), "path_invalid"),
            ("/etc/passwd".to_owned(), "path_invalid"),
        ] {
            for patch in [
                envelope(&format!("*** Add File: {path}\n+x\n")),
                format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+x\n"),
            ] {
                let run = call(&repo, "apply_patch", &json!({"patch": patch})).exits(6);
                let answer = answer(&run);
                assert_eq!(answer["code"], code, "{answer}");
                let hint = answer["hint"].as_str().expect("a hint");
                let top = repo.path("").display().to_string();
                let named = hint.contains(top.trim_end_matches('/'));
                assert_eq!(named, path.starts_with("/etc"), "{answer}");
            }
        }
    }
}

/// What is to be done next is something that this tool, or this command, can be given.
#[test]
fn hints_name_what_the_caller_can_give() {
    let repo = repo();
    repo.write("bin", "\0x");
    let hint = |tool: &str, arguments: &Value| {
        let answer = answer(&call(&repo, tool, arguments));
        let hint = answer["error"]["hint"].as_str().or(answer["hint"].as_str());
        hint.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let change = |path: &str, old: &str| {
        hint(
            "changes",
            &json!({"action": "propose", "file_path": path, "old_content": old, "new_content": "y"}),
        )
    };
    assert!(!change("f", "").contains("\"content\""));
    assert!(change("bin", "x").contains("\"propose\": true"));
    let patch = "--- a/no\n+++ b/no\n@@ -1 +1 @@\n-a\n+b\n";
    let found = hint("apply_patch", &json!({ "patch": patch }));
    assert!(found.contains("\"strip\"") && !found.contains("-p"), "{found}");
    repo.aye_stdin(&["patch"], patch).exits(3).notes("-p ");
    repo.aye(&["propose", "f", "--old", "", "--new", "x"]).exits(5).notes("--content-file");
    repo.aye(&["propose", "bin", "--old", "x", "--new", "y"]).exits(6).notes("--content-file");
    repo.aye(&["shell", "git branch 'to*'"]).exits(4).notes("add `--list`");
}
