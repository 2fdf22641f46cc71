//! Statements and manifests that do not fit, or are not canonical (M6, L2, L4).

use super::*;
use serde_json::json;

#[test]
fn a_statement_that_does_not_fit_decides_nothing() {
    let scene = scene();
    let apply = scene.apply();
    scene.believes(&apply, "applied");
    let other = json!({"id": "1".repeat(40), "sha256": "1".repeat(64)});
    let proposal = &apply.statement.as_ref().expect("one")["proposal"];
    let half = |key: &str, value: String| {
        let mut named = proposal.clone();
        named[key] = value.into();
        named
    };
    let long = "x".repeat(1025);
    for keys in [
        json!({"proposal": other}),
        json!({"proposal": half("sha256", "1".repeat(64))}),
        json!({"proposal": half("id", "1".repeat(40))}),
        json!({"proposal": null}),
        json!({"revision": other}),
        json!({"revision": half("sha256", "1".repeat(64))}),
        json!({"revision": null}),
        json!({"proposal": null, "revision": null}),
        json!({"range": {"from": "1".repeat(40), "to": "2".repeat(40)}}),
        json!({"verdict": "approve"}),
        json!({"verdict": "reject"}),
        json!({"verdict": "ratify"}),
        json!({"seen": "1".repeat(64)}),
        json!({"seen": null}),
        json!({"effect": null}),
        json!({"effect": "mark_only"}),
        json!({"effect": "everything"}),
        json!({"manifest": null}),
        json!({"manifest": other["id"]}),
        json!({"actor": {"email": "m@x", "kind": "human", "name": "Mallory"}}),
        json!({"actor": {"email": "b@x", "kind": "agent", "name": "Bob"}}),
        json!({"evidence": "a nod"}),
        json!({"reason": "not in the event", "reason_sha256": forger::sha256("not in the event")}),
        json!({"reason_sha256": forger::sha256("absent from the event")}),
        json!({"reason": long}),
        json!({"surprise": 1}),
        json!({"time": "yesterday"}),
        json!({"time": "2026-02-01T00:00:00Z"}),
        json!({"time": "2026-02-01T01:00:00.000+01:00"}),
        json!({"time": "2026-02-30T00:00:00.000Z"}),
        json!({"repository": "any text"}),
        json!({"policy": "any text"}),
        json!({"policy": {"id": "main", "sha256": "0"}}),
        json!({"target": {"commit": null, "ref": "x".repeat(513)}}),
        json!({"target": null}),
        json!({"lines": -1}),
        json!({"lines": 1.5}),
        json!({"shown": "all"}),
        json!({"group": "any text"}),
        json!({"key": 1}),
    ] {
        scene.ignores(&apply.clone().stated(keys.clone()), &keys.to_string());
    }
    // A list that the tree does not have makes the commit no event.
    let ends = apply.clone().stated(json!({"ends": "1".repeat(64)}));
    scene.sets_aside(&ends.write(&scene.repo), "ends that are not there");
    scene.ignores(
        &ends.entry("ends", &format!("100644 blob {}", forger::blob(&scene.repo, "x"))),
        "other ends",
    );
    let both = json!({"reason": "why", "reason_sha256": forger::sha256("why")});
    let both = apply.clone().stated(both).data(json!({"reason": "why"}));
    scene.ignores(&both, "both reasons");
    for key in apply.statement.as_ref().and_then(Value::as_object).expect("an object").keys() {
        let mut forged = apply.clone();
        let statement = forged.statement.as_mut().and_then(Value::as_object_mut).expect("one");
        statement.remove(key);
        scene.ignores(&forged, &format!("without {key}"));
    }
}

/// There is one spelling of a statement.
#[test]
fn a_statement_that_is_not_canonical_decides_nothing() {
    let scene = scene();
    let apply = scene.apply();
    let (event, statement) = apply.lines();
    let line = statement.expect("a statement");
    let keys: Vec<&str> = line[1..line.len() - 1].split(",\"").collect();
    let reversed: Vec<String> =
        keys.iter().rev().map(|key| format!("\"{}", key.trim_start_matches('"'))).collect();
    let spellings = [
        line.replacen(':', ": ", 1),
        format!(" {line}"),
        format!("{line} "),
        format!("{line}\r"),
        format!("{{{}}}", reversed.join(",")),
        line.replacen("apply", "\\u0061pply", 1),
        line.replacen("{\"actor\"", "{\"effect\":\"files\",\"actor\"", 1),
        line.replacen("\"reason\":null", "\"reason\":null,\"reason\":null", 1),
        format!("[{line}]"),
        line[..line.len() - 1].to_owned(),
        format!("{}{}", line, "x".repeat(4096)),
        String::new(),
        "null".into(),
    ];
    for spelling in spellings {
        let copy = scene.copy();
        let forged = apply.write_lines(&copy.repo, &event, Some(&spelling));
        copy.fetches(&forged);
        copy.is("pending");
        copy.repo.aye(&["apply", &copy.id, "--yes"]).ok();
        copy.is("applied");
    }
    // The very bytes in the same hands: what was refused is the spelling.
    let copy = scene.copy();
    copy.fetches(&apply.write_lines(&copy.repo, &event, Some(&line)));
    copy.is("applied");
}

/// A statement is at most 4,096 bytes, however it came to be longer.
#[test]
fn a_decision_whose_statement_would_be_too_large_is_refused() {
    let scene = scene();
    scene.repo.git(&["config", "user.name", &"\u{1}".repeat(250)]);
    scene.repo.aye(&["reject", &scene.id, "--yes"]).fails("size_limit_exceeded", 6);
    scene.repo.git(&["config", "user.name", "Ada Reviewer"]);
    scene.is("pending");
    // A long reason stands in the event, and its hash in the statement.
    let long = "why ".repeat(600);
    scene.repo.aye(&["reject", &scene.id, "--yes", "-m", long.trim()]).ok();
    let reject = Forged::read(&scene.repo, &clones::tip(&scene.repo, &scene.thread));
    let statement = reject.statement.as_ref().expect("a statement");
    assert_eq!(statement["reason"], Value::Null);
    assert_eq!(statement["reason_sha256"], forger::sha256(long.trim()));
    assert_eq!(reject.event["data"], json!({ "reason": long.trim() }));
    assert_eq!(show(&scene.repo, &scene.id)["rejection_reason"], long.trim());
}

/// What a decision approves stands in its manifest, so that one without decides nothing.
#[test]
fn a_manifest_that_does_not_fit_decides_nothing() {
    let scene = scene();
    let repo = &scene.repo;
    let (old, new) = ("one\ntwo\nthree\n", "ONE\ntwo\nthree\n");
    let (now, after, evil) =
        (forger::record(repo, old), forger::record(repo, new), forger::record(repo, "EVIL\n"));
    let line = |path: &str| format!("clean none {now} {now} {after} {path}\0");
    let good = line("a.txt");
    let apply = scene.apply();
    scene.believes(&apply.clone().manifest(repo, &good), "applied");
    let link = after.replacen("100644", "120000", 1);
    let executable = after.replacen("100644", "100755", 1);
    for (what, manifest) in [
        ("empty", String::new()),
        ("in .git", line(".git/config")),
        ("outside", line("../a.txt")),
        ("out of order", format!("{}{good}", line("b.txt"))),
        ("twice", format!("{good}{good}")),
        ("without its end", good.trim_end_matches('\0').to_owned()),
        ("more behind it", format!("{good}\0")),
        ("an unknown outcome", good.replacen("clean", "fine", 1)),
        ("an unknown residue", good.replacen("none", "some", 1)),
        ("an unknown mode", good.replacen("100644", "10644", 1)),
        ("hex in upper case", good.replacen(&now, &now.to_uppercase(), 1)),
        ("another file", line("b.txt")),
        ("another content", good.replacen(&after, &evil, 1)),
        ("another content, merged", format!("merged none {now} {now} {evil} a.txt\0")),
        ("another content, edited", format!("edited none {now} {now} {evil} a.txt\0")),
        ("a symlink", good.replacen(&after, &link, 1)),
        ("executable", good.replacen(&after, &executable, 1)),
        ("generated", format!("derived=memory-index@1 none {now} {now} {evil} b.txt\0")),
    ] {
        scene.ignores(&apply.clone().manifest(repo, &manifest), what);
    }
    let id = forger::blob(repo, &good);
    let named = json!({ "manifest": {"id": id, "sha256": "0".repeat(64)} });
    let entry = format!("100644 blob {id}");
    scene.ignores(&apply.clone().entry("manifest", &entry).stated(named), "another hash");
    let tree = forger::tree(repo, "");
    let named = json!({ "manifest": {"id": tree, "sha256": forger::sha256(&good)} });
    let entry = format!("040000 tree {tree}");
    let copy = scene.copy();
    let forged = apply.entry("manifest", &entry).stated(named);
    copy.fetches(&forged.write(&copy.repo));
    copy.is("pending");
}

/// Nothing says that all was shown where nothing was.
#[test]
fn lines_that_were_shown_are_counted_only_where_something_was() {
    let scene = scene();
    let apply = scene.apply();
    let statement = apply.statement.as_ref().expect("a statement");
    assert_eq!((&statement["lines"], &statement["shown"]), (&json!(2), &Value::Null));
    use crate::support::terminal::Terminal;
    let command = scene.repo.cmd(&["apply", &scene.id]).env("TERM", "dumb");
    let mut terminal = Terminal::start(command, 40, 120);
    terminal.sees("[y,n,?]").types("y");
    assert_eq!(terminal.ends(), 0);
    let own = Forged::read(&scene.repo, &clones::tip(&scene.repo, &scene.thread));
    let statement = own.statement.as_ref().expect("a statement");
    assert_eq!(statement["lines"], 2);
    assert!(statement["shown"].is_u64(), "{statement:#}");
}

/// Every key is there, and each is what can be known of it from outside.
#[test]
fn the_program_writes_the_statement_that_the_format_names() {
    let scene = scene();
    scene.repo.aye(&["apply", &scene.id, "--yes"]).ok();
    let own = Forged::read(&scene.repo, &clones::tip(&scene.repo, &scene.thread));
    let first = Forged::read(&scene.repo, &scene.thread);
    let statement = own.statement.as_ref().expect("a statement").clone();
    let keys: Vec<&String> = statement.as_object().expect("an object").keys().collect();
    let expected = [
        "actor", "effect", "ends", "evidence", "format", "group", "key", "lines", "manifest",
        "policy", "proposal", "range", "reason", "reason_sha256", "repository", "revision", "seen",
        "shown", "target", "time", "verdict",
    ];
    assert_eq!(keys, expected);
    let name = json!({"id": scene.thread, "sha256": forger::sha256(first.lines().0)});
    assert_eq!((&statement["proposal"], &statement["revision"]), (&name, &name));
    assert_eq!(statement["format"], "aye-decision@2");
    assert_eq!(statement["seen"], forger::list_sha256(std::slice::from_ref(&scene.thread)));
    assert_eq!(statement["actor"], own.event["actor"]);
    assert_eq!(statement["target"]["ref"], "refs/heads/main");
    assert_eq!(statement["target"]["commit"], scene.repo.git(&["rev-parse", "HEAD"]));
    assert_eq!((&statement["ends"], &statement["range"]), (&Value::Null, &Value::Null));
    assert_eq!(own.event.get("time"), None);
    assert_eq!(own.event["data"], json!({}));
    // The bytes in the header are these, and name what lies in the tree.
    let text = scene.repo.git(&["cat-file", "commit", &clones::tip(&scene.repo, &scene.thread)]);
    let (event, line) = own.lines();
    assert!(text.contains(&format!("\naye-event {event}\n")), "{text}");
    assert!(text.contains(&format!("\naye-statement {}\n", line.expect("a line"))), "{text}");
    let manifest = &own.tree["manifest"];
    assert!(manifest.ends_with(statement["manifest"]["id"].as_str().expect("an id")), "{manifest}");
    // Undone, by name.
    scene.repo.aye(&["undo", &scene.id, "--yes"]).ok();
    let undo = Forged::read(&scene.repo, &clones::tip(&scene.repo, &scene.thread));
    let ended = undo.statement.as_ref().expect("a statement")["ends"].clone();
    assert_eq!(ended, forger::list_sha256(&[own.identity()]));
    let list =
        scene.repo.git(&["cat-file", "blob", undo.tree["ends"].rsplit(' ').next().expect("an id")]);
    assert_eq!(list.trim(), own.identity());
}
