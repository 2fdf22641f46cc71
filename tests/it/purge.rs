//! `aye purge`: what should never have been recorded is gone, here and wherever the same command is
//! run, and nothing else is.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::clones::{clone, fetch, join, lane, push};
use crate::support::hostile::{Hostile, fed};
use crate::support::terminal::Terminal;

/// What must not be found anywhere afterwards.
const SECRET: &str = "opensesame-4711";

const NAMES: &[&str] = &["a", "b", "c", "d", "e", "f"];

fn files() -> Vec<(String, String)> {
    NAMES.iter().map(|name| ((*name).to_owned(), format!("{name}1\nkeep\n"))).collect()
}

fn propose(repo: &Repo, path: &str, new: &str) -> String {
    let old = format!("{path}1");
    repo.aye(&["propose", path, "--old", &old, "--new", new, "-m", new, "-q"]).ok().id()
}

/// A repository in which several proposals were decided, and a server that has its branch.
fn scene() -> (Repo, Repo) {
    let files = files();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let (repo, server) = (Repo::with(&files), Repo::bare());
    let applied = propose(&repo, "a", "new a");
    repo.aye(&["apply", &applied, "--yes"]).ok();
    let rejected = propose(&repo, "b", "new b");
    repo.aye(&["comment", &rejected, "-m", "what for?"]).ok();
    repo.aye(&["reject", &rejected, "--yes", "-m", "no"]).ok();
    propose(&repo, "c", "new c");
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    (repo, server)
}

/// A file in which a private proposal was applied, and one about another line of it that is for everybody.
fn private_and_public() -> (Repo, String, String) {
    let text: String = (1..=30).map(|n| format!("{n}\n")).collect();
    let repo = Repo::with(&[("f", text)]);
    let private = ["propose", "f", "--old", "10\n", "--new", &format!("{SECRET}\n"), "-q"];
    let private = repo.aye(&[&private[..], &["--private"]].concat()).ok().id();
    let public = repo.aye(&["propose", "f", "--old", "25\n", "--new", "x\n", "-q"]).ok().id();
    (repo, private, public)
}

/// Whether the lanes that are pushed have the secret.
fn is_shared(repo: &Repo) -> bool {
    let objects = repo.git(&["rev-list", "--objects", "--glob=refs/aye/log"]);
    let mut ids = objects.lines().map(|line| &line[..40]);
    ids.any(|id| {
        repo.git(&["cat-file", "-t", id]).trim() == "blob"
            && repo.git(&["cat-file", "blob", id]).contains(SECRET)
    })
}

/// What it wrote stands in the work tree still, and nothing in the lanes says any more whom it is for.
#[test]
fn what_a_purged_private_proposal_wrote_stays_private() {
    let (repo, private, public) = private_and_public();
    repo.aye(&["apply", &private, "--yes"]).ok();
    purge(&repo, &private);
    repo.aye(&["apply", &public, "--yes"]).fails("private_path", 4);
    let next = repo.aye(&["propose", "f", "--old", "7\n8\n", "--new", "y\n", "-q"]).ok().id();
    repo.aye(&["revise", "--public", &next, "--yes"]).fails("private_path", 4);
    assert!(!is_shared(&repo));
    let kept = repo.text(".git/aye/purged");
    assert!(!kept.contains(SECRET) && kept.lines().count() == 2, "{kept}");
    // Nobody can take back what a person has committed.
    repo.commit("With it");
    repo.aye(&["apply", &public, "--yes"]).ok();
}

#[test]
fn what_stands_on_a_purged_private_proposal_is_not_published() {
    let (repo, private, _) = private_and_public();
    let on = ["propose", "f", "--on", &private, "--old", "12\n", "--new", "twelve\n", "-q"];
    let upper = repo.aye(&on).ok().id();
    repo.aye(&["revise", "--public", &upper, "--yes"]).fails("private_path", 4);
    purge(&repo, &private);
    repo.aye(&["revise", "--public", &upper, "--yes"]).fails("private_path", 4);
    assert!(!is_shared(&repo));
}

/// A proposal with the secret in its content, its description and a comment.
fn leak(repo: &Repo) -> String {
    let id = propose(repo, "d", SECRET);
    repo.aye(&["comment", &id, "-m", &format!("is {SECRET} right?")]).ok();
    id
}

#[track_caller]
fn purge(repo: &Repo, what: &str) -> Value {
    read(&repo.aye(&["purge", what, "-m", "a key in it", "--yes"]).ok().out())
}

/// What `aye purge` prints, by the words of its lines.
fn read(out: &str) -> Value {
    let [mut lanes, mut removed, mut remotes, mut left] = [const { Vec::<Value>::new() }; 4];
    let [mut sessions, mut standing, mut also_in] = [const { Vec::<Value>::new() }; 3];
    let (head, rest) = out.split_once('\n').expect("a line");
    let (ids, what) = head.split_once("  ").expect("ids");
    for line in rest.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["lane", lane, .., "in", "epoch", epoch, "without", "it"] => {
                lanes.push(json!({ "lane": lane, "epoch": epoch, "copied": false }));
            }
            ["it", "is", "private", "and", "was", "copied", ..] => {
                lanes.last_mut().expect("a lane")["copied"] = true.into();
            }
            ["lane", lane, "of", by, .., name] => {
                left.push(json!({ "ref": name, "lane": lane, "by": [by] }));
            }
            ["removed:", name] | ["to", "be", "removed:", name] => removed.push(name.into()),
            [path, .., "work", "tree", "(blob", blob] => {
                standing.push(json!([path, blob.trim_end_matches(')')]));
            }
            ["session", name, ..] => sessions.push(name.into()),
            ["its", "content,", .., "are", "in", _, "too"] | ["its", "content,", ..] => {
                let ids = words.iter().filter(|word| word.starts_with("prop_"));
                also_in.extend(ids.map(|id| Value::from(id.trim_end_matches(','))));
            }
            [remote, "may", "still", "have", "it:"] => {
                remotes.push(json!({ "remote": remote, "commands": [] }));
            }
            ["git", "push", ..] => {
                let commands = remotes.last_mut().expect("a remote")["commands"].as_array_mut();
                commands.expect("a list").push(line.trim().into());
            }
            _ => {}
        }
    }
    let proposals: Vec<&str> = ids.split(", ").collect();
    json!({
        "asked": what.starts_with("asked for"), "proposals": proposals, "lanes": lanes, "removed": removed,
        "remotes": remotes, "left": left, "sessions": sessions, "standing": standing, "also_in": also_in,
    })
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|text| text.as_str().expect("text")).collect()
}

/// All proposals, the same with the cache as it is and with none.
#[track_caller]
fn list(repo: &Repo) -> Value {
    let list = || repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let warm = list();
    let _ = std::fs::remove_file(repo.path(".git/aye/cache.sqlite"));
    assert_eq!(list(), warm, "cold and warm");
    warm
}

fn others(list: &Value, id: &str) -> Vec<Value> {
    let all = list["proposals"].as_array().expect("a list").iter();
    all.filter(|item| item["proposal_id"] != id).cloned().collect()
}

/// The content of every object that a ref leads to.
fn reachable(repo: &Repo) -> String {
    let ids = repo.git(&["rev-list", "--objects", "--no-object-names", "--all", "--reflog"]);
    fed(repo, &["cat-file", "--batch"], ids + "\n")
}

/// Whether `text` is in a file below `path`.
fn is_in_files(path: &std::path::Path, text: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    entries.flatten().any(|entry| match entry.file_type().expect("a type").is_dir() {
        true => is_in_files(&entry.path(), text),
        false => {
            let bytes = std::fs::read(entry.path()).expect("a file");
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        }
    })
}

#[track_caller]
fn is_gone(repo: &Repo, id: &str) {
    let refs = || repo.git(&["for-each-ref"]);
    assert!(!reachable(repo).contains(SECRET), "an object that a ref leads to has it: {}", refs());
    assert!(!is_in_files(&repo.path(".git/aye"), SECRET), "a file of aye's own has it");
    assert!(!is_in_files(&repo.path(".agent-memory"), SECRET), "a projection has it");
    repo.aye(&["show", id]).fails("proposal_purged", 3);
    repo.aye(&["diff", id]).fails("proposal_purged", 3);
    repo.aye(&["apply", id, "--yes"]).fails("proposal_purged", 3);
    let log = repo.aye(&["log", id, "--json"]).ok().json();
    let kinds: BTreeSet<&str> = log["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|e| e["kind"].as_str().expect("text"))
        .collect();
    assert_eq!(kinds, BTreeSet::from(["purge"]));
    repo.aye(&["list"]).ok().lacks(id);
    repo.aye(&["list", "--status", "all"]).ok().says(&format!("{id}  purged"));
    let listed = list(repo);
    let purged = listed["purged"].as_array().expect("a list");
    assert!(purged.iter().any(|gone| gone["proposal_id"] == id), "{listed:#}");
    let all = repo.aye(&["log", "--json"]).ok().out();
    assert!(!all.contains(SECRET), "{all}");
    repo.aye(&["doctor"]).ok();
    repo.git(&["fsck", "--strict", "--no-dangling"]);
}

/// The commit of what stands on it had its commit, with its words, as parent.
#[test]
fn nor_does_the_pending_ref_of_what_stands_on_it() {
    let (repo, _) = scene();
    let lower = repo.aye(&["propose", "d", "--old", "d1", "--new", "new d", "-m", SECRET, "-q"]);
    let lower = lower.ok().id();
    let on = |lower: &str, new: &str| {
        let on = ["propose", "d", "--on", lower, "--old", "keep\n", "--new", new, "-q"];
        repo.aye(&on).ok().id()
    };
    let upper = on(&lower, "keep\nkept\n");
    let top = on(&upper, "keep\nsaid\n");
    assert!(reachable(&repo).contains(SECRET));
    purge(&repo, &lower);
    is_gone(&repo, &lower);
    for id in [upper, top] {
        repo.git(&["rev-parse", "--verify", &format!("refs/aye/pending/{id}")]);
        repo.aye(&["diff", &id]).ok();
    }
}

/// What a direct patch has written over is kept for an undo.
#[test]
fn nor_does_what_stood_before_a_direct_patch() {
    let (repo, _) = scene();
    let id = leak(&repo);
    let whole = repo.text("d");
    let diff = repo.aye(&["diff", &id, "--patch"]).ok().stdout;
    repo.program("git").args(&["apply", "-"]).stdin(diff).run().ok();
    let lines = whole.lines().count();
    let back = repo.git(&["diff", "-R", "--", "d"]) + "\n";
    repo.aye_stdin(&["patch"], back).ok();
    assert_eq!(repo.text("d").lines().count(), lines);
    assert!(reachable(&repo).contains(SECRET));
    let purged = purge(&repo, &id);
    assert!(texts(&purged["removed"]).iter().any(|name| name.starts_with("refs/aye/before/")));
    is_gone(&repo, &id);
}

#[test]
fn nothing_leads_to_a_purged_proposal_any_more() {
    for state in ["pending", "folded", "applied"] {
        let (repo, server) = scene();
        let id = leak(&repo);
        match state {
            "pending" => {}
            "applied" => drop(repo.aye(&["apply", &id, "--yes"]).ok()),
            _ => drop(repo.aye(&["reject", &id, "--yes", "-m", SECRET]).ok()),
        }
        if state == "folded" {
            repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
            // In the snapshot, and in an archive.
            let late = propose(&repo, "e", "new e");
            repo.aye(&["reject", &late, "--yes"]).ok();
            repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
        }
        push(&repo);
        fetch(&repo);
        let lane = lane(&repo);
        let old = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
        repo.git(&["update-ref", &format!("refs/aye/broken/{lane}"), &old]);
        repo.write(".git/aye/answers", format!("{{\"note\":\"{SECRET}\"}}"));
        repo.write(".git/aye/broken/cache-20260101T000000Z.sqlite", SECRET);
        // Where a terminal was closed while somebody edited a hunk.
        repo.write(".git/aye/edited/hunk-Ab12Cd/hunk.txt", SECRET);
        assert!(reachable(&repo).contains(SECRET));
        let blob = fed(&repo, &["hash-object", "--stdin"], format!("{SECRET}\nkeep\n"));
        let before = others(&list(&repo), &id);
        let answer = purge(&repo, &id);
        if state == "applied" {
            assert_eq!(answer["standing"], json!([["d", blob[..12]]]), "{answer:#}");
        }
        assert_eq!(answer["proposals"], json!([id]));
        assert_eq!(answer["lanes"][0]["lane"], lane.as_str());
        let commands = texts(&answer["remotes"][0]["commands"]);
        let gone = format!(":{old}");
        assert!(commands.iter().any(|command| command.ends_with(&gone)), "{commands:?}");
        let removed = texts(&answer["removed"]);
        assert!(removed.contains(&format!("refs/aye/broken/{lane}").as_str()), "{removed:?}");
        is_gone(&repo, &id);
        assert_eq!(others(&list(&repo), &id), before, "{state}");
        assert!(repo.git(&["fsck", "--unreachable"]).contains(&blob));
        repo.git(&["gc", "-q", "--prune=now"]);
        repo.try_git(&["cat-file", "-e", &blob]).exits(1);
        is_gone(&repo, &id);
        // What was not purged is as it was, with its content.
        for item in &before {
            let other = item["proposal_id"].as_str().expect("an id");
            repo.aye(&["diff", other]).ok();
        }
        // And a remote that does what the answer says has it no more.
        for command in commands.iter().filter(|command| !command.contains("archive")) {
            let words: Vec<String> =
                command.split(' ').skip(1).map(|word| word.replace('\'', "")).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            repo.git(&words);
        }
        let fresh = clone(&server);
        is_gone(&fresh, &id);
        assert_eq!(others(&list(&fresh), &id), before, "{state}");
        drop(server);
    }
}

/// Runs what an answer says is to be run for each remote.
fn follow(repo: &Repo, answer: &Value) {
    for remote in answer["remotes"].as_array().expect("remotes") {
        for command in texts(&remote["commands"]) {
            repo.program("sh").args(&["-c", command]).run().ok();
        }
    }
}

/// Names of the refs below `prefixes`.
fn names(repo: &Repo, prefixes: &[&str]) -> Vec<String> {
    let names = repo.git(&[&["for-each-ref", "--format=%(refname)"], prefixes].concat());
    names.lines().map(str::to_owned).collect()
}

/// Nobody has sent, or removed there, what the answers before said.
#[test]
fn a_remote_loses_every_epoch_whatever_it_was_told_before() {
    let (repo, server) = scene();
    let backup = Repo::bare();
    repo.git(&["remote", "add", "backup", &backup.root().to_string_lossy()]);
    let id = leak(&repo);
    push(&repo);
    // What is for the default remote goes to whichever is named.
    repo.git(&["push", "-q", "backup", "refs/aye/log/*"]);
    repo.aye(&["reject", &id, "--yes"]).ok();
    repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
    let late = propose(&repo, "e", "new e");
    repo.aye(&["reject", &late, "--yes"]).ok();
    repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
    // A second one, of which the remote has yet another epoch.
    let also = propose(&repo, "f", &format!("{SECRET} too"));
    push(&repo);
    for remote in ["origin", "backup"] {
        repo.git(&["push", "-q", remote, "refs/aye/archive/*"]);
    }
    let shown = read(&repo.aye(&["purge", &also, "-m", "a key in it", "--dry-run"]).ok().out());
    let first = purge(&repo, &also);
    assert_eq!(shown["remotes"], first["remotes"]);
    let second = purge(&repo, &id);
    assert!(reachable(&server).contains(SECRET) && reachable(&backup).contains(SECRET));
    follow(&repo, &second);
    for remote in [&server, &backup] {
        assert!(!reachable(remote).contains(SECRET));
        assert!(!remote.git(&["log", "--all", "--format=%B", "--", "d", "f"]).contains(SECRET));
    }
    assert_eq!(names(&server, &["refs/aye"]), names(&repo, &["refs/aye/archive", "refs/aye/log"]));
    assert_eq!(names(&backup, &["refs/aye"]), [""; 0]);
    assert_eq!(list(&clone(&server))["proposals"], list(&repo)["proposals"]);
}

/// What a fetch takes away of a lane leaves what was made of it.
#[test]
fn what_is_still_shown_of_a_purged_proposal_goes_where_its_lane_has_gone() {
    let (repo, server) = scene();
    let id = leak(&repo);
    push(&repo);
    let warm = clone(&server);
    let before = others(&list(&warm), &id);
    let other = before[0]["proposal_id"].as_str().expect("an id");
    warm.aye(&["comment", other, "-m", "noted"]).ok();
    follow(&repo, &purge(&repo, &id));
    warm.git(&["fetch", "-q", "--prune", "origin"]);
    let shown = format!("refs/aye/pending/{id}");
    assert_ne!(warm.git(&["for-each-ref", &shown]), "");
    // It writes what any writer would.
    warm.aye(&["doctor"]).ok();
    assert_eq!(warm.git(&["for-each-ref", &shown]), "");
    purge(&warm, &id);
    is_gone(&warm, &id);
    warm.aye(&["doctor"]).lacks("purged_content");
}

#[test]
fn other_clones_are_told_and_the_same_command_removes_it_there() {
    let (repo, server) = scene();
    let id = leak(&repo);
    push(&repo);
    let warm = clone(&server);
    warm.aye(&["show", &id]).ok();
    let before = others(&list(&warm), &id);
    // Its projection and its pending ref are there.
    let other = before[0]["proposal_id"].as_str().expect("an id").to_owned();
    warm.aye(&["comment", &other, "-m", "noted"]).ok();
    assert!(is_in_files(&warm.path(".agent-memory"), SECRET));
    purge(&repo, &id);
    push(&repo);
    fetch(&warm);
    let lane = lane(&repo);
    warm.aye(&["show", &id]).fails("proposal_purged", 3);
    assert_eq!(others(&list(&warm), &id).len(), before.len());
    warm.aye(&["log"]).ok().lacks(SECRET);
    let name = format!("refs/aye/remotes/origin/{lane}");
    warm.aye(&["doctor"]).exits(1).says("purged_content").says(&name);
    // A writer takes away what stands in the work tree.
    warm.aye(&["comment", &other, "-m", "and again"]).ok();
    assert!(!is_in_files(&warm.path(".agent-memory"), SECRET));
    let answer = purge(&warm, &id);
    assert!(texts(&answer["removed"]).contains(&name.as_str()), "{answer:#}");
    let commands = texts(&answer["remotes"][0]["commands"]);
    assert_eq!(commands, [format!("git push origin :refs/aye/log/{lane}")]);
    assert_eq!((&answer["lanes"], &answer["left"]), (&json!([]), &json!([])));
    is_gone(&warm, &id);
    // It comes back as long as the remote has it, and not after that.
    fetch(&warm);
    warm.aye(&["doctor"]).exits(1).says("purged_content");
    warm.git(&["push", "-q", "origin", &format!(":refs/aye/log/{lane}")]);
    warm.git(&["fetch", "-q", "--prune", "origin"]);
    warm.aye(&["list"]).ok();
    is_gone(&warm, &id);
    purge(&warm, &id);
    is_gone(&warm, &id);
    is_gone(&clone(&server), &id);
}

#[test]
fn what_others_said_goes_when_they_purge_it_too() {
    let (repo, server) = scene();
    let id = leak(&repo);
    push(&repo);
    let far = clone(&server);
    far.git(&["config", "user.name", "Bob"]);
    far.git(&["config", "user.email", "bob@example.com"]);
    far.aye(&["comment", &id, "-m", &format!("no {SECRET} please")]).ok();
    far.aye(&["apply", &id, "--yes"]).ok();
    push(&far);
    fetch(&repo);
    let theirs = lane(&far);
    // Not theirs to purge before its owner has.
    let run = far.aye(&["purge", &id, "-m", "r", "--yes"]).fails("purge_not_own", 4);
    run.notes(&lane(&repo));
    let answer = purge(&repo, &id);
    let holder = json!([{
        "ref": format!("refs/aye/remotes/origin/{theirs}"), "lane": theirs, "by": ["Bob"],
    }]);
    let kept = format!("refs/aye/kept/{theirs}");
    let left: Vec<Value> = answer["left"].as_array().expect("a list").clone();
    let left: Vec<&Value> = left.iter().filter(|left| left["ref"] != kept).collect();
    assert_eq!(json!(left), holder, "{answer:#}");
    repo.aye(&["doctor"]).exits(1).says("purged_content").says(&theirs);
    repo.aye(&["log"]).ok().lacks(SECRET);
    push(&repo);
    fetch(&far);
    let answer = purge(&far, &id);
    assert_eq!(answer["lanes"][0]["lane"], theirs.as_str());
    far.write("d", "d1\nkeep\n");
    is_gone(&far, &id);
    push(&far);
    far.git(&["push", "-q", "origin", &format!(":refs/aye/log/{theirs}")]);
    repo.git(&["push", "-q", "origin", &format!(":refs/aye/log/{}", lane(&repo))]);
    for repo in [&repo, &far] {
        repo.git(&["fetch", "-q", "--prune", "origin"]);
    }
    purge(&repo, &id);
    is_gone(&repo, &id);
    let fresh = clone(&server);
    is_gone(&fresh, &id);
    assert_eq!(list(&fresh)["proposals"], list(&repo)["proposals"]);
}

#[test]
fn a_lane_purges_nothing_of_another() {
    let (repo, server) = scene();
    let id = leak(&repo);
    push(&repo);
    let reader = clone(&server);
    let first = {
        let shown = repo.aye(&["show", &id, "--json"]).ok().json();
        let revision = shown["revision"].as_str().or(shown["revisions"][0]["event"].as_str());
        revision.map(str::to_owned).unwrap_or_else(|| {
            let log = repo.aye(&["log", &id, "--json"]).ok().json();
            let events = log["events"].as_array().expect("events").clone();
            let first = events.iter().find(|event| event["kind"] == "propose").expect("the first");
            first["event"].as_str().expect("an id").to_owned()
        })
    };
    let before = list(&reader);
    let mut hostile = Hostile::new(&reader, "mallory000000000");
    let said = hostile.comment(&id, "mine");
    let root = hostile.step(&said, &[]);
    let event = |hostile: &mut Hostile<'_>, lane: Option<&str>| {
        let data = json!({"reason": "mine", "evidence": "flag"});
        let text = hostile.event("purge", Some(&id), data);
        let mut event: Value = serde_json::from_str(&text).expect("JSON");
        event["first"] = first.as_str().into();
        if let Some(lane) = lane {
            event["lane"] = lane.into();
            event["seq"] = 99.into();
        }
        format!("{event}\n")
    };
    let purge = event(&mut hostile, None);
    hostile.push(&hostile.step(&purge, &[&root]));
    let with_comment = list(&reader);
    assert_eq!(others(&with_comment, &id), others(&before, &id));
    assert_eq!(
        with_comment["proposals"].as_array().map(Vec::len),
        before["proposals"].as_array().map(Vec::len)
    );
    assert!(with_comment.get("purged").is_none(), "{with_comment:#}");
    reader.aye(&["show", &id]).ok().says("mine");
    // An epoch of that lane that leaves its own words out takes nothing away either.
    let comment = fed(&reader, &["hash-object", "--stdin"], &said);
    let stub = json!({"stub": {
        "id": comment, "kind": "comment", "seq": 1, "time": "2026-02-01T00:00:01Z",
    }});
    let part = format!("{{\"subject\":{{\"id\":\"{id}\"}}}}\n{stub}\n");
    let snapshot = hostile.blob(&part);
    let sum = reader.program("sha256sum").stdin(part.as_str()).run().ok().out()[..64].to_owned();
    let fold = json!({
        "v": 1, "kind": "fold", "lane": "mallory000000000", "seq": 3, "heads": [],
        "actor": {"name": "M", "email": "m@x", "kind": "human"},
        "time": "2026-02-01T00:01:00.000Z",
        "data": {"epoch": 2, "from": format!("mallory000000000 2 {root}"), "part": 1, "parts": 1,
                 "snapshot": {"id": snapshot, "sha256": sum}},
    });
    let fold = hostile.blob(format!("{fold}\n"));
    let tree = format!("100644 blob {fold}\tevent.json\n100644 blob {snapshot}\tsnapshot-0001\n");
    let fold = hostile.commit(&hostile.tree(&tree), &[]);
    let tip = hostile.step(&purge, &[&fold]);
    let name = "refs/aye/remotes/origin/mallory000000000.2/mallory000000000";
    reader.git(&["update-ref", name, &tip]);
    assert_eq!(list(&reader), with_comment);
    reader.aye(&["show", &id]).ok().says("mine");
    reader.aye(&["doctor"]).says(" histories").lacks("purged_content");
    // What somebody puts behind the owner's lane, whose name is the owner's, hides it from all alike.
    // What was said is still there, and the owner is told of the other history.
    let own = lane(&repo);
    let mut forged = Hostile::new(&repo, &own);
    let purge = event(&mut forged, Some(&own));
    let tip = repo.git(&["rev-parse", &format!("refs/aye/log/{own}")]);
    forged.push(&forged.step(&purge, &[&tip]));
    assert_eq!(list(&repo)["purged"][0]["proposal_id"], id.as_str());
    repo.aye(&["doctor"]).exits(1).says("lane_equivocates").says("purged_content");
    assert!(reachable(&repo).contains(SECRET));
}

/// A clone that was restored from a backup made before its own purge, and has fetched what it pushed
/// since, says what all others say before it writes anything: warm or cold, folded or not.
#[test]
fn a_restored_clone_knows_what_it_purged() {
    for folded in [false, true] {
        let (repo, server) = scene();
        let id = leak(&repo);
        if folded {
            repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok();
        }
        push(&repo);
        let backup = repo.copy();
        let later = propose(&repo, "e", "new e");
        purge(&repo, &id);
        push(&repo);
        fetch(&backup);
        backup.aye(&["show", &id]).fails("proposal_purged", 3);
        backup.aye(&["comment", &id, "-m", "hello"]).fails("proposal_purged", 3);
        let all = list(&backup);
        assert_eq!(all["proposals"], list(&repo)["proposals"], "{folded}");
        assert_eq!(all["purged"], list(&repo)["purged"], "{folded}");
        backup.aye(&["doctor"]).exits(1).says("purged_content");
        backup.aye(&["reject", &later, "--yes"]).ok();
        // The lane that it has left moves on to what the remote has of it.
        list(&backup);
        push(&backup);
        fetch(&repo);
        let third = clone(&server);
        assert_eq!(list(&backup)["proposals"], list(&repo)["proposals"], "{folded}");
        assert_eq!(list(&backup)["proposals"], list(&third)["proposals"], "{folded}");
        purge(&backup, &id);
        is_gone(&backup, &id);
    }
}

#[test]
fn only_people_purge_and_nothing_happens_before_they_say_so() {
    let (repo, _server) = scene();
    let id = leak(&repo);
    let args = ["purge", id.as_str(), "-m", "r", "--yes"];
    repo.agent("codex", &args).fails("human_approval_required", 4);
    repo.cmd(&args).env("CI", "true").run().fails("human_approval_required", 4);
    repo.aye(&args[..4]).fails("confirmation_required", 4);
    repo.aye(&["purge", &id, "-m", " ", "--yes"]).fails("invalid_argument", 6);
    repo.aye(&["purge", &id]).exits(2);
    let before = (repo.git(&["for-each-ref"]), list(&repo));
    let dry = repo.aye(&["purge", &id, "-m", "r", "--dry-run"]).ok();
    dry.says(&format!("refs/aye/pending/{id}")).says("epoch 2");
    assert_eq!((repo.git(&["for-each-ref"]), list(&repo)), before);
    repo.aye(&["purge", "zzzz", "-m", "r", "--yes"]).fails("proposal_not_found", 3);
}

#[test]
fn a_blob_is_purged_with_every_proposal_that_names_it() {
    let (repo, _server) = scene();
    let first = leak(&repo);
    let second = propose(&repo, "e", "new e");
    // In a later revision, and not in the present one.
    repo.aye(&["revise", &second, "d", "--old", "d1", "--new", SECRET]).ok();
    repo.aye(&["revise", &second, "e", "--old", "e1", "--new", "newer e"]).ok();
    let blob = fed(&repo, &["hash-object", "--stdin"], format!("{SECRET}\nkeep\n"));
    let before = list(&repo);
    repo.aye(&["purge", &blob[..3], "-m", "r", "--yes"]).exits(6);
    let none = "f".repeat(40);
    repo.aye(&["purge", &none, "-m", "r", "--yes"]).fails("proposal_not_found", 3);
    let answer = purge(&repo, &blob[..12]);
    let purged: BTreeSet<&str> = texts(&answer["proposals"]).into_iter().collect();
    assert_eq!(purged, BTreeSet::from([first.as_str(), second.as_str()]));
    assert!(!reachable(&repo).contains(SECRET));
    let left = |list: &Value| -> Vec<Value> {
        others(list, &first)
            .into_iter()
            .filter(|item| item["proposal_id"] != second.as_str())
            .collect()
    };
    let after = list(&repo);
    assert_eq!(left(&after), left(&before));
    assert_eq!(after["purged"].as_array().map(Vec::len), Some(2));
    repo.aye(&["doctor"]).ok();
}

/// Content goes on in what was decided on top of it: under the same id, and in merged results under others.
#[test]
fn what_was_decided_on_top_of_it_is_named() {
    let lines: String = (0..60).map(|n| format!("line {n} of the file\n")).collect();
    let repo = Repo::with(&[("f", lines.as_str()), ("g", "g1\n")]);
    let propose = |at: u32, new: &str| {
        let old = format!("line {at} of the file\n");
        repo.aye(&["propose", "f", "--old", &old, "--new", new, "-q"]).ok().id()
    };
    let leak = propose(5, &format!("{SECRET}\n"));
    let (above, second) = (propose(30, "thirty\n"), propose(50, "fifty\n"));
    let other = repo.aye(&["propose", "g", "--old", "g1", "--new", "g2", "-q"]).ok().id();
    for id in [&leak, &above, &second, &other] {
        repo.aye(&["apply", id, "--yes"]).ok();
    }
    let outlook = read(&repo.aye(&["purge", &leak, "-m", "r", "--dry-run"]).ok().out());
    let named: BTreeSet<&str> = texts(&outlook["also_in"]).into_iter().collect();
    assert_eq!(named, BTreeSet::from([above.as_str(), second.as_str()]));
    repo.aye(&["purge", &leak, "-m", "r", "--yes"]).ok();
    for id in [&above, &second] {
        purge(&repo, id);
    }
    assert!(!reachable(&repo).contains(SECRET));
}

#[test]
fn two_persons_have_to_ask_where_the_policy_says_so() {
    let (repo, server) = scene();
    repo.write(".agent-memory/policy.toml", "purge_persons = 2\n");
    repo.git(&["add", "-f", ".agent-memory/policy.toml"]);
    repo.git(&["commit", "-q", "-m", "Two persons"]);
    repo.git(&["push", "-q", "origin", "main"]);
    let id = leak(&repo);
    let other = propose(&repo, "e", &format!("{SECRET} once more"));
    for _ in 0..2 {
        let answer = purge(&repo, &id);
        assert_eq!((&answer["asked"], &answer["lanes"]), (&json!(true), &json!([])));
    }
    let command = format!("as well: aye purge {id} -m 'it'\\''s a key'\n");
    repo.aye(&["purge", &id, "-m", "it's a key", "--yes"]).ok().says(&command);
    let log = repo.aye(&["log", &id, "--json"]).ok().json();
    let asked = log["events"].as_array().expect("events").iter().filter(|e| e["kind"] == "purge");
    assert_eq!(asked.count(), 1, "the same person asks once");
    repo.aye(&["show", &id]).ok();
    // Somebody else asks in another clone.
    push(&repo);
    let far = clone(&server);
    far.git(&["config", "user.name", "Bob"]);
    far.git(&["config", "user.email", "bob@example.com"]);
    assert_eq!(purge(&far, &id)["asked"], true);
    push(&far);
    fetch(&repo);
    let answer = purge(&repo, &id);
    assert_eq!(answer["asked"], false);
    repo.aye(&["show", &id]).fails("proposal_purged", 3);
    // Or in this one.
    purge(&repo, &other);
    repo.git(&["config", "user.name", "Bob"]);
    repo.git(&["config", "user.email", "bob@example.com"]);
    assert_eq!(purge(&repo, &other)["asked"], false);
    assert!(!reachable(&repo).contains(SECRET));
    // A misspelt or impossible count closes the gate.
    repo.write(".agent-memory/policy.toml", "purge_persons = 3\n");
    repo.aye(&["purge", "zzzz", "-m", "r", "--yes"]).exits(3);
}

#[test]
fn a_lane_goes_on_and_is_folded_after_a_purge() {
    let (repo, server) = scene();
    let id = leak(&repo);
    push(&repo);
    let warm = clone(&server);
    list(&warm);
    purge(&repo, &id);
    let late = propose(&repo, "e", "new e");
    repo.aye(&["reject", &late, "--yes"]).ok();
    repo.aye(&["doctor", "--gc", "--now", "--keep", "0"]).ok().says("epoch 3 begins");
    is_gone(&repo, &id);
    let next = propose(&repo, "f", "new f");
    push(&repo);
    fetch(&warm);
    // The second epoch was never seen there.
    assert_eq!(list(&warm), list(&repo));
    warm.aye(&["show", &next]).ok();
    warm.aye(&["doctor"]).exits(1).says("purged_content");
    purge(&warm, &id);
    is_gone(&warm, &id);
    // Purged once more, with stubs of the first in place.
    purge(&repo, &next);
    is_gone(&repo, &id);
    push(&repo);
    fetch(&warm);
    assert_eq!(list(&warm)["proposals"], list(&repo)["proposals"]);
    assert_eq!(list(&warm)["purged"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_published_proposal_is_purged_in_both_lanes() {
    let (repo, server) = scene();
    let args = ["propose", "d", "--old", "d1", "--new", SECRET, "--private", "-q"];
    let id = repo.aye(&args).ok().id();
    repo.aye(&["comment", &id, "-m", SECRET]).ok();
    repo.aye(&["revise", "--public", &id, "--yes"]).ok();
    push(&repo);
    let warm = clone(&server);
    warm.aye(&["show", &id]).ok();
    let answer = purge(&repo, &id);
    assert_eq!(answer["lanes"].as_array().map(Vec::len), Some(2));
    assert_eq!(names(&repo, &["refs/aye/private", "refs/aye/log"]).len(), 2);
    is_gone(&repo, &id);
    push(&repo);
    fetch(&warm);
    warm.aye(&["show", &id]).fails("proposal_purged", 3);
    purge(&warm, &id);
    is_gone(&warm, &id);
}

#[test]
fn where_the_place_of_a_lane_is_gone_it_is_written_back() {
    let (repo, server) = scene();
    purge(&repo, &propose(&repo, "e", "new e"));
    let id = leak(&repo);
    push(&repo);
    let reader = clone(&server);
    // A copy beside the original, as `cp -r` makes it.
    let copy = repo.copy();
    copy.write(".git/aye/place", repo.read(".git/aye/place"));
    let noted = repo.text(".git/aye/lane");
    drop(repo);
    copy.aye(&["comment", &id, "-m", SECRET]).ok();
    copy.aye(&["purge", &id, "-m", "r", "--yes"]).fails("purge_not_own", 4);
    // As docs/sharing.md has it.
    for lane in [noted, copy.text(".git/aye/lane")] {
        copy.write(".git/aye/lane", lane);
        std::fs::remove_file(copy.path(".git/aye/place")).expect("a place");
        purge(&copy, &id);
    }
    is_gone(&copy, &id);
    push(&copy);
    fetch(&reader);
    purge(&reader, &id);
    is_gone(&reader, &id);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever a reader has of both epochs of both lanes, and in whatever order it comes, every other
    /// proposal is what it was, and the purged one never comes back once its owner's word is there.
    #[test]
    fn every_other_proposal_is_as_it_was_in_any_order_of_arrival(
        order in Just((0..4_usize).collect::<Vec<_>>()).prop_shuffle(),
        looks in 0..16_u8,
    ) {
        let (repo, server) = scene();
        let id = leak(&repo);
        push(&repo);
        let far = clone(&server);
        let other = propose(&far, "f", "new f");
        far.aye(&["comment", &id, "-m", SECRET]).ok();
        far.aye(&["reject", &id, "--yes"]).ok();
        push(&far);
        fetch(&repo);
        let expected = others(&list(&repo), &id);
        prop_assert!(expected.iter().any(|item| item["proposal_id"] == other.as_str()));
        purge(&repo, &id);
        push(&repo);
        fetch(&far);
        purge(&far, &id);
        push(&far);
        let (one, two) = (lane(&repo), lane(&far));
        let names = [one.clone(), format!("{one}.2/{one}"), two.clone(), format!("{two}.2/{two}")];
        let reader = Repo::new();
        join(&reader, &server);
        reader.git(&["fetch", "-q", "origin", "main"]);
        reader.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
        for (at, which) in order.iter().enumerate() {
            let name = &names[*which];
            let refspec = format!("+refs/aye/log/{name}:refs/aye/remotes/origin/{name}");
            reader.git(&["-c", "remote.origin.fetch=", "fetch", "-q", "origin", &refspec]);
            if looks & (1 << at) != 0 {
                list(&reader);
            }
        }
        let found = list(&reader);
        prop_assert_eq!(others(&found, &id), expected);
        prop_assert_eq!(&found["purged"][0]["proposal_id"], &json!(id));
        reader.aye(&["doctor"]).lacks(" histories");
        purge(&reader, &id);
        prop_assert!(!reachable(&reader).contains(SECRET));
    }
}

#[test]
fn at_a_terminal_what_goes_is_said_before_the_question() {
    let (repo, _server) = scene();
    let id = leak(&repo);
    for (answer, status) in [("n\n", 1), ("y\n", 0)] {
        let cmd = repo.cmd(&["purge", &id, "-m", "a key in it"]).env("TERM", "dumb");
        let mut t = Terminal::start(cmd, 30, 100);
        t.sees("purged").sees("[y/n]").types(answer);
        assert_eq!(t.ends(), status, "{}", t.text());
        assert!(!t.text().contains(SECRET), "{}", t.text());
        assert_eq!(reachable(&repo).contains(SECRET), status == 1);
    }
    is_gone(&repo, &id);
}

#[test]
fn a_blob_that_nothing_names_is_told() {
    let repo = Repo::with(&[("a", "a1\n")]);
    let patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a1\n+opensesame\n";
    repo.aye_stdin(&["patch", "-q"], patch).ok();
    let blob = repo.git(&["hash-object", "a"]);
    repo.aye(&["purge", blob.trim(), "-m", "key", "--yes"]).fails("proposal_not_found", 3);
    assert!(!reachable(&repo).contains("opensesame"));
}

/// Requests to memory are shown in the work tree in which they were made, which need not be this one.
#[test]
fn another_work_tree_shows_nothing_of_it_either() {
    let (repo, _) = scene();
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    let there = repo.outer().join("there");
    repo.git(&["worktree", "add", "-q", "-b", "side", there.to_str().expect("a path")]);
    let request = json!({
        "intent": "update_conventions",
        "rationale": "why",
        "operations": [{
            "operation": "append_to_section",
            "path": "conventions.md",
            "section_id": "conventions",
            "content": format!("- {SECRET}"),
        }],
        "sources": [{"type": "user"}],
    });
    let call = ["call", "memory.propose_update", &request.to_string()].map(str::to_owned);
    let staged = repo.cmd(&call).env("AYE_AGENT", "codex").dir(&there).run().ok().json();
    let id = staged["proposal_id"].as_str().expect("an id").to_owned();
    let found = || repo.program("grep").args(&["-rl", SECRET, there.to_str().unwrap()]).run().out();
    assert!(found().contains("staging"), "{}", found());
    purge(&repo, &id);
    assert_eq!(found(), "");
    for directory in [there.as_path(), repo.root()] {
        repo.cmd(&["doctor"]).dir(directory).run().ok();
    }
}

/// The index by which memory is searched has the text of sections, those included that are gone.
#[test]
fn what_was_searched_is_forgotten() {
    let (repo, _) = scene();
    repo.aye(&["memory", "init"]).ok();
    repo.let_flags_decide();
    repo.commit("memory");
    let request = json!({
        "intent": "update_conventions",
        "operations": [{
            "operation": "append_to_section",
            "path": "conventions.md",
            "section_id": "conventions",
            "content": format!("- {SECRET}"),
        }],
        "sources": [{"type": "user"}],
    });
    let staged = repo.agent("codex", &["call", "memory.propose_update", &request.to_string()]);
    let id = staged.ok().json()["proposal_id"].as_str().expect("an id").to_owned();
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.aye(&["memory", "search", SECRET]).ok();
    repo.aye(&["undo", &id, "--yes"]).ok();
    // Objects are for git's next prune.
    let args = ["-rla", "--exclude-dir=objects", SECRET, "."];
    let found = || repo.program("grep").args(&args).run().out();
    assert!(found().contains("memory.sqlite"), "{}", found());
    purge(&repo, &id);
    assert_eq!(found(), "");
    repo.aye(&["memory", "search", "conventions"]).ok();
}

/// What an agent left in the tree of its session is kept there and by a ref: it is named until it is gone.
#[test]
fn a_session_that_has_it_is_named_until_it_ends() {
    let (repo, _) = scene();
    let run = ["run", "--keep", "--name", "s", "--", "sh", "-c"];
    let script = format!("sed -i s/d1/{SECRET}/ d");
    repo.agent("codex", &[&run[..], &[&script]].concat()).ok();
    let shown = repo.aye(&["session", "--json"]).ok().json();
    let id = shown["sessions"][0]["proposal_id"].as_str().expect("an id").to_owned();
    let dry = ["purge", &id, "-m", "a key in it", "--dry-run"];
    repo.aye(&dry).ok().says("aye session end s --discard");
    let answer = purge(&repo, &id);
    assert_eq!(answer["sessions"], json!(["s"]));
    let ended = "aye session end s --discard";
    for _ in 0..2 {
        repo.aye(&["doctor"]).exits(1).says("purged_content").says(ended);
        let _ = std::fs::remove_file(repo.path(".git/aye/cache.sqlite"));
    }
    assert!(reachable(&repo).contains(SECRET));
    repo.aye(&["session", "end", "s", "--discard"]).ok();
    repo.aye(&["doctor"]).ok().lacks("purged_content");
    assert!(!reachable(&repo).contains(SECRET));
}
