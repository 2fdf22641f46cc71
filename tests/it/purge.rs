//! `aye purge`: what should never have been recorded is gone, here and wherever the same command is
//! run, and nothing else is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::clones::{clone, fetch, join, name, push, refs, thread};
use crate::support::forger::fed;
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

/// Whether the threads that are pushed have the secret.
fn is_shared(repo: &Repo) -> bool {
    let objects = repo.git(&["rev-list", "--objects", "--glob=refs/aye/p"]);
    let mut ids = objects.lines().map(|line| &line[..40]);
    ids.any(|id| {
        repo.git(&["cat-file", "-t", id]).trim() == "blob"
            && repo.git(&["cat-file", "blob", id]).contains(SECRET)
    })
}

/// What it wrote stands in the work tree still, and nothing says any more that it was private.
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
    let [mut removed, mut remotes] = [const { Vec::<Value>::new() }; 2];
    let [mut sessions, mut standing, mut also_in] = [const { Vec::<Value>::new() }; 3];
    let (head, rest) = out.split_once('\n').expect("a line");
    let (ids, what) = head.split_once("  ").expect("ids");
    for line in rest.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
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
        "asked": what.starts_with("asked for"), "proposals": proposals, "removed": removed,
        "remotes": remotes, "sessions": sessions, "standing": standing, "also_in": also_in,
    })
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|text| text.as_str().expect("text")).collect()
}

/// All proposals, the same with the memo as it is and with none.
#[track_caller]
fn list(repo: &Repo) -> Value {
    let list = || repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    let warm = list();
    for memo in ["open", "decided"] {
        let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{memo}")));
    }
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

/// Runs the commands that an answer prints for each remote.
fn follow(repo: &Repo, answer: &Value) {
    for remote in answer["remotes"].as_array().expect("remotes") {
        for command in texts(&remote["commands"]) {
            repo.program("sh").args(&["-c", command]).run().ok();
        }
    }
}

#[test]
fn nothing_leads_to_a_purged_proposal_any_more() {
    for state in ["pending", "rejected", "closed", "applied"] {
        let (repo, server) = scene();
        let id = leak(&repo);
        match state {
            "pending" => {}
            "applied" => drop(repo.aye(&["apply", &id, "--yes"]).ok()),
            _ => drop(repo.aye(&["reject", &id, "--yes", "-m", SECRET]).ok()),
        }
        if state == "closed" {
            repo.aye(&["doctor", "--gc"]).ok();
            assert_eq!(refs(&repo, &["refs/aye/p/closed"]).len(), 1);
        }
        push(&repo);
        fetch(&repo);
        let clone_name = name(&repo).expect("a name");
        repo.write(".git/aye/answers", format!("{{\"note\":\"{SECRET}\"}}"));
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
        let commands = texts(&answer["remotes"][0]["commands"]);
        let there = format!("refs/aye/by/{clone_name}/");
        assert!(commands.iter().any(|command| command.contains(&there)), "{commands:?}");
        let removed = texts(&answer["removed"]);
        let fetched = format!("refs/aye/remotes/origin/{clone_name}/");
        assert!(removed.iter().any(|name| name.starts_with(&fetched)), "{removed:?}");
        is_gone(&repo, &id);
        assert_eq!(others(&list(&repo), &id), before, "{state}");
        assert!(repo.git(&["fsck", "--unreachable"]).contains(&blob));
        repo.git(&["gc", "-q", "--prune=now"]);
        repo.try_git(&["cat-file", "-e", &blob]).exits(1);
        is_gone(&repo, &id);
        // What was not purged is as it was, with its content.
        for item in &before {
            repo.aye(&["diff", item["proposal_id"].as_str().expect("an id")]).ok();
        }
        // And a remote that does what the answer says has it no more.
        push(&repo);
        follow(&repo, &answer);
        assert!(!reachable(&server).contains(SECRET), "{state}");
        let fresh = clone(&server);
        assert!(!reachable(&fresh).contains(SECRET), "{state}");
        assert_eq!(others(&list(&fresh), &id), before, "{state}");
    }
}

#[test]
fn other_clones_are_told_and_the_same_command_removes_it_there() {
    let (repo, server) = scene();
    let id = leak(&repo);
    push(&repo);
    let far = clone(&server);
    far.git(&["config", "user.name", "Bob"]);
    far.git(&["config", "user.email", "bob@example.com"]);
    far.aye(&["comment", &id, "-m", &format!("no {SECRET} please")]).ok();
    push(&far);
    fetch(&repo);
    // Somebody else's refs of it go as well, and what was said there.
    let answer = purge(&repo, &id);
    let theirs = format!("refs/aye/remotes/origin/{}/", name(&far).expect("a name"));
    let removed = texts(&answer["removed"]);
    assert!(removed.iter().any(|name| name.starts_with(&theirs)), "{removed:?}");
    is_gone(&repo, &id);
    push(&repo);
    follow(&repo, &answer);
    // Nobody is made to follow.
    fetch(&far);
    far.aye(&["show", &id]).ok();
    far.aye(&["doctor"]).exits(1).says("purged_content");
    let answer = purge(&far, &id);
    is_gone(&far, &id);
    push(&far);
    follow(&far, &answer);
    far.aye(&["doctor"]).ok();
    assert!(!reachable(&server).contains(SECRET));
}

/// What was fetched again of a purged thread counts nowhere.
#[test]
fn a_purged_thread_that_comes_back_stays_purged() {
    let (repo, server) = scene();
    let id = leak(&repo);
    push(&repo);
    let far = clone(&server);
    far.aye(&["comment", &id, "-m", "mine"]).ok();
    push(&far);
    purge(&repo, &id);
    fetch(&repo);
    repo.aye(&["show", &id]).fails("proposal_purged", 3);
    repo.aye(&["comment", &id, "-m", "x"]).fails("proposal_purged", 3);
    repo.aye(&["doctor"]).exits(1).says("purged_content");
    purge(&repo, &id);
    is_gone(&repo, &id);
}

/// A backup from before the purge has the thread, and is told.
#[test]
fn a_restored_clone_is_told_of_its_own_purge() {
    let (repo, _server) = scene();
    let id = leak(&repo);
    push(&repo);
    let backup = repo.copy();
    purge(&repo, &id);
    push(&repo);
    fetch(&backup);
    backup.aye(&["show", &id]).ok();
    backup.aye(&["doctor"]).exits(1).says("purged_content");
    purge(&backup, &id);
    is_gone(&backup, &id);
}

/// A chunk of the ledger is replaced, and the other threads of it are where they were.
#[test]
fn a_purge_leaves_the_other_closed_threads() {
    let (repo, server) = scene();
    let id = leak(&repo);
    repo.aye(&["reject", &id, "--yes"]).ok();
    repo.aye(&["doctor", "--gc"]).ok();
    let before = (refs(&repo, &["refs/aye/p/closed"]), others(&list(&repo), &id));
    purge(&repo, &id);
    let after = refs(&repo, &["refs/aye/p/closed"]);
    assert!(after.len() == 1 && after != before.0, "{after:?}");
    assert_eq!(others(&list(&repo), &id), before.1);
    is_gone(&repo, &id);
    let late = propose(&repo, "e", "new e");
    repo.aye(&["reject", &late, "--yes"]).ok();
    repo.aye(&["doctor", "--gc"]).ok();
    is_gone(&repo, &id);
    push(&repo);
    assert_eq!(list(&clone(&server))["proposals"], list(&repo)["proposals"]);
}

#[test]
fn a_published_proposal_is_purged_in_both_spaces() {
    let (repo, _server) = scene();
    let args = ["propose", "d", "--old", "d1", "--new", SECRET, "--private", "-q"];
    let id = repo.aye(&args).ok().id();
    repo.aye(&["comment", &id, "-m", SECRET]).ok();
    repo.aye(&["revise", "--public", &id, "--yes"]).ok();
    let thread = thread(&repo, &id);
    let own = [format!("refs/aye/p/{thread}"), format!("refs/aye/private/{thread}")];
    assert_eq!(refs(&repo, &[&own[0], &own[1]]).len(), 2);
    purge(&repo, &id);
    assert_eq!(refs(&repo, &[&own[0], &own[1]]).len(), 0);
    is_gone(&repo, &id);
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
    dry.says(&format!("refs/aye/pending/{id}"));
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
        assert_eq!((&answer["asked"], &answer["removed"]), (&json!(true), &json!([])));
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
    assert_eq!(purge(&far, &id)["asked"], false);
    far.aye(&["show", &id]).fails("proposal_purged", 3);
    push(&far);
    // Its tombstone says that a second person wants it.
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
fn at_a_terminal_what_goes_is_said_before_the_question() {
    let (repo, _server) = scene();
    let id = leak(&repo);
    for (answer, status) in [("n\n", 1), ("y\n", 0)] {
        let cmd = repo.cmd(&["purge", &id, "-m", "a key in it"]).env("TERM", "dumb");
        let mut t = Terminal::start(cmd, 30, 100);
        t.sees("purged").sees("[y,n,?]").types(answer);
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
    }
    assert!(reachable(&repo).contains(SECRET));
    repo.aye(&["session", "end", "s", "--discard"]).ok();
    repo.aye(&["doctor"]).ok().lacks("purged_content");
    assert!(!reachable(&repo).contains(SECRET));
}
