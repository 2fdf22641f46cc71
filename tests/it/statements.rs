//! Decision statements are read with their events: one that is missing, says something else, or was
//! made at another place in its lane decides nothing.

use crate::support::Repo;
use crate::support::hostile::{self, Hostile};
use crate::support::record::{proposal, propose};
use serde_json::{Value, json};

fn sha256(repo: &Repo, bytes: impl AsRef<[u8]>) -> String {
    let script = "sha256sum 2>/dev/null || shasum -a 256";
    let run = repo.program("sh").args(&["-c", script]).stdin(bytes).run().ok();
    run.out()[..64].to_owned()
}

const LANE: &str = "mallory0mallory0";

/// A proposal of this clone, and what a decision on it says.
struct Scene {
    repo: Repo,
    id: String,
    statement: Value,
    data: Value,
    first: String,
}

fn scene() -> Scene {
    let repo = Repo::with(&[("a", "a\n"), ("b", "b\n")]);
    let id = propose(&repo, "a", "a", "A");
    let known = proposal(&repo, &id);
    let (revision, first) = (known.current().event.clone(), known.first_event.clone());
    let digest = aye::proposal::event::digest(&known.current().changes);
    let hostile = Hostile::new(&repo, LANE);
    let side = |text: &str| {
        let id = hostile.blob(text);
        format!("100644:{id}:{}", sha256(&repo, text))
    };
    let (now, after) = (side("a\n"), side("A\n"));
    let manifest = format!("clean none {now} {now} {after} a\0");
    let manifest = json!({"id": hostile.blob(&manifest), "sha256": sha256(&repo, &manifest)});
    let statement = json!({
        "actor": {"email": "m@x", "kind": "human", "name": "Mallory"}, "digest": digest,
        "effect": "files", "evidence": "flag", "format": "aye-decision@1", "manifest": manifest,
        "policy": null, "proposal": first, "reason": null, "reason_sha256": null,
        "repository": null, "revision": revision, "seen": null,
        "target": {"commit": null, "ref": "refs/heads/main"},
        "time": "2026-02-01T00:00:00.000Z", "unshown_lines": 0, "verdict": "apply",
    });
    let data = json!({
        "revision": revision, "digest": digest, "how": "flag", "effect": "files",
        "evidence": "flag",
    });
    Scene { repo, id, statement, data, first }
}

/// What is different in a forged decision.
#[derive(Default)]
struct Forged<'a> {
    statement: Value,
    data: Value,
    /// An event in front, about this proposal.
    before: Option<&'a str>,
    /// An event between that one and the decision, about this proposal.
    between: Option<&'a str>,
    /// The statement has seen the lane before the event in between.
    sees_before: bool,
    /// Bytes that are appended to the statement.
    tail: &'static str,
    /// The statement's object stays away.
    missing: bool,
}

impl Scene {
    /// A copy with a lane of somebody else that decides as `forged`; the bytes of the statement.
    fn with(&self, forged: Forged<'_>) -> (Repo, String) {
        let repo = self.repo.copy();
        let mut hostile = Hostile::new(&repo, LANE);
        let mut tip: Option<String> = None;
        let mut seen = None;
        for about in [forged.before, forged.between] {
            seen = tip.clone();
            if let Some(about) = about {
                let event = hostile.comment(about, "said");
                let parents: Vec<&str> = tip.as_deref().into_iter().collect();
                tip = Some(hostile.step(&event, &parents));
            }
        }
        let mut statement = self.statement.clone();
        statement["seen"] = if forged.sees_before { json!(seen) } else { json!(tip) };
        let merge = |into: &mut Value, from: &Value| {
            for (key, value) in from.as_object().into_iter().flatten() {
                into[key] = value.clone();
            }
        };
        merge(&mut statement, &forged.statement);
        let bytes = format!("{statement}\n{}", forged.tail);
        let id = match forged.missing {
            true => hostile::fed(&repo, &["hash-object", "--stdin"], &bytes),
            false => hostile.blob(&bytes),
        };
        let mut data = self.data.clone();
        data["statement"] = json!({"id": id, "sha256": sha256(&repo, &bytes)});
        merge(&mut data, &forged.data);
        let event = hostile.event("apply", Some(&self.id), data);
        let mut event: Value = serde_json::from_str(&event).expect("JSON");
        event["first"] = self.first.clone().into();
        let parents: Vec<&str> = tip.as_deref().into_iter().collect();
        let tip = hostile.step(&format!("{event}\n"), &parents);
        hostile.push(&tip);
        (repo, bytes)
    }

    #[track_caller]
    fn counts(&self, forged: Forged<'_>) -> Repo {
        let (repo, _) = self.with(forged);
        let shown = repo.aye(&["show", &self.id, "--json"]).ok().json();
        assert_eq!(shown["status"], "applied");
        repo.aye(&["doctor"]).lacks("event_rejected");
        repo
    }

    #[track_caller]
    fn is_ignored(&self, forged: Forged<'_>, why: &str) -> (Repo, String) {
        let (repo, bytes) = self.with(forged);
        // With the cache that was there, and with none.
        for _ in 0..2 {
            let shown = repo.aye(&["show", &self.id, "--json"]).ok().json();
            assert_eq!(shown["status"], "pending", "{bytes}");
            repo.aye(&["doctor"]).exits(1).says("event_rejected").says(why);
            std::fs::remove_file(repo.path(".git/aye/cache.sqlite")).expect("removed");
        }
        assert!(repo.aye(&["doctor"]).out().contains("event_rejected"));
        (repo, bytes)
    }
}

#[test]
fn a_statement_has_to_say_what_its_event_says() {
    let scene = scene();
    scene.counts(Forged::default());
    // As version 0.1.0 writes it.
    scene
        .counts(Forged { data: json!({"statement": null, "evidence": null}), ..Forged::default() });
    let other = "1".repeat(40);
    for statement in [
        json!({"verdict": "approve"}),
        json!({"verdict": "reject"}),
        json!({"proposal": other}),
        json!({"revision": other}),
        json!({"digest": other}),
        json!({"actor": {"email": "m@x", "kind": "human", "name": "Ada"}}),
        json!({"actor": {"email": "m@x", "kind": "agent", "name": "Mallory"}}),
        json!({"evidence": "terminal"}),
        json!({"effect": "commit"}),
        json!({"effect": null}),
        json!({"manifest": null}),
        json!({"format": "aye-decision@2"}),
        json!({"surprise": 1}),
    ] {
        let forged = Forged { statement, ..Forged::default() };
        scene.is_ignored(forged, "its decision statement is about something else");
    }
    let why = "its decision statement is about something else";
    scene.is_ignored(Forged { tail: " ", ..Forged::default() }, why);
    let (id, sha256) = (&scene.statement["manifest"]["id"], "0".repeat(64));
    let data = json!({"statement": {"id": id, "sha256": sha256}});
    scene.is_ignored(Forged { data, ..Forged::default() }, why);
}

#[test]
fn a_statement_has_to_be_of_its_place_in_the_lane() {
    let scene = scene();
    let (id, own) = (scene.id.as_str(), scene.repo.git(&["for-each-ref", "refs/aye/log"]));
    let own = own.split(' ').next().expect("a tip").to_owned();
    let other = propose(&scene.repo, "b", "b", "B");
    let why = "its decision statement was made at another place in its lane";
    let about =
        |before, between, sees_before| Forged { before, between, sees_before, ..Forged::default() };
    scene.counts(about(Some(id), None, false));
    scene.counts(about(Some(id), Some(id), false));
    scene.counts(about(Some(id), Some(&other), true));
    scene.is_ignored(about(Some(id), Some(id), true), why);
    scene.is_ignored(about(Some(&other), Some(id), true), why);
    for seen in [json!(own), json!("1".repeat(40)), json!("main"), Value::Null] {
        let statement = json!({"seen": seen});
        scene.is_ignored(Forged { statement, ..about(Some(id), None, false) }, why);
    }
    // Nothing about this proposal was there before.
    let statement = json!({"seen": null});
    scene.counts(Forged { statement, ..about(Some(&other), None, false) });
}

#[test]
fn a_missing_statement_decides_nothing_until_it_comes() {
    let scene = scene();
    let forged = Forged { missing: true, ..Forged::default() };
    let (repo, bytes) = scene.is_ignored(forged, "its decision statement is missing");
    repo.aye(&["list"]).ok();
    Hostile::new(&repo, LANE).blob(bytes);
    let shown = repo.aye(&["show", &scene.id, "--json"]).ok().json();
    assert_eq!(shown["status"], "applied");
    repo.aye(&["check"]).ok();
}

/// What a decision approves stands in its manifest, so that one without decides nothing.
#[test]
fn a_manifest_that_cannot_be_read_decides_nothing() {
    let scene = scene();
    let hostile = Hostile::new(&scene.repo, LANE);
    let side = |text: &str| format!("100644:{}:{}", hostile.blob(text), sha256(&scene.repo, text));
    let (now, after, evil) = (side("a\n"), side("A\n"), side("EVIL\n"));
    let record = |path: &str| format!("clean none {now} {now} {after} {path}\0");
    let good = record("a");
    let text = |text: &str| json!({"id": hostile.blob(text), "sha256": sha256(&scene.repo, text)});
    let with =
        |manifest: Value| Forged { statement: json!({"manifest": manifest}), ..Forged::default() };
    scene.counts(with(text(&good)));
    let hash = sha256(&scene.repo, &good);
    for (name, manifest) in [
        ("empty", text("")),
        ("in .git", text(&record(".git/config"))),
        ("out of order", text(&format!("{}{good}", record("b")))),
        ("twice", text(&format!("{good}{good}"))),
        ("without its end", text(good.trim_end_matches('\0'))),
        ("more behind it", text(&format!("{good}\0"))),
        ("an outcome that is none", text(&good.replacen("clean", "fine", 1))),
        ("a residue that is none", text(&good.replacen("none", "some", 1))),
        ("a mode that is none", text(&good.replacen("100644", "10644", 1))),
        ("hex in upper case", text(&good.replacen(&now, &now.to_uppercase(), 1))),
        ("another file", text(&record("b"))),
        ("another content", text(&good.replacen(&after, &evil, 1))),
        ("another content, merged", text(&format!("merged none {now} {now} {evil} a\0"))),
        ("another content, edited", text(&format!("edited none {now} {now} {evil} a\0"))),
        ("generated", text(&format!("derived=memory-index@1 none {now} {now} {evil} b\0"))),
        ("another hash", json!({"id": hostile.blob(&good), "sha256": "0".repeat(64)})),
        ("other bytes", json!({"id": hostile.blob("other"), "sha256": hash})),
        ("a tree", json!({"id": hostile.tree(""), "sha256": hash})),
        ("absent", json!({"id": "1".repeat(40), "sha256": hash})),
    ] {
        let (repo, _) = scene.with(with(manifest));
        for _ in 0..2 {
            let shown = repo.aye(&["show", &scene.id, "--json"]).ok().json();
            assert_eq!(shown["status"], "pending", "{name}");
            assert!(repo.aye(&["doctor"]).exits(1).out().contains("event_rejected"), "{name}");
            std::fs::remove_file(repo.path(".git/aye/cache.sqlite")).expect("removed");
        }
        repo.aye(&["apply", &scene.id, "--yes"]).ok();
    }
    // Said to write a file that it is silent about.
    let written = json!([{"path": "b", "outcome": "clean"}]);
    let forged = Forged { data: json!({"written": written}), ..with(text(&good)) };
    let (repo, _) = scene.with(forged);
    assert_eq!(repo.aye(&["show", &scene.id, "--json"]).ok().json()["status"], "pending");
}
