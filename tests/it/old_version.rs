//! Stores that versions of the program share: what this one writes does not stop version 0.1.0,
//! and what that one wrote is read here.
//!
//! Runs where `AYE_OLD_BINARY` names a binary of 0.1.0; `.ci/run evolution` builds it.

use crate::support::record::{comment, propose, request_changes};
use crate::support::{Repo, Run};
use serde_json::{Value, json};
use std::io::Write as _;

/// A binary of another version, run like our own.
struct Other(std::path::PathBuf);

impl Other {
    /// The one that the environment names; says so where it names none.
    fn find() -> Option<Self> {
        let path = std::env::var_os("AYE_OLD_BINARY");
        if path.is_none() {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: AYE_OLD_BINARY names no binary of version 0.1.0"
            );
        }
        let path = std::path::PathBuf::from(path?);
        let path = path.canonicalize().expect("AYE_OLD_BINARY names a file");
        Some(Self(path))
    }

    fn run(&self, repo: &Repo, args: &[&str]) -> Run {
        repo.program(&self.0).args(args).run()
    }

    fn agent(&self, repo: &Repo, args: &[&str]) -> Run {
        repo.program(&self.0).args(args).env("AYE_AGENT", "codex").run()
    }
}

/// Answered, with or without findings: neither bad data nor an error of the program.
#[track_caller]
fn answered(run: Run) -> Run {
    assert!(![6, 70, 101].contains(&run.status) && run.status < 128, "{run}");
    assert!(!run.err().contains("lane_broken"), "{run}");
    run
}

/// `doctor` finds nothing but projections that the other version writes differently, and from
/// which nothing is read; it repairs those, and finds nothing then.
#[track_caller]
fn sound(doctor: impl Fn(&[&str]) -> Run) {
    let found = answered(doctor(&["doctor"]));
    // What stands for proposals, and a repair makes again: the other version wrote it by what it knows.
    let rebuilt = ["projection_", "pending_ref_missing", "pending_ref_unexpected", "hint: "];
    let harmless = |line: &str| rebuilt.iter().any(|start| line.starts_with(start));
    let problems = found.status == 1;
    assert!(!problems || found.out().lines().all(harmless), "{found}");
    doctor(&["doctor", "--repair"]).ok();
    doctor(&["doctor"]).ok();
}

fn scene() -> Repo {
    let files: Vec<(String, String)> =
        ('a'..='m').map(|name| (name.to_string(), format!("{name}\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    Repo::with(&files)
}

/// The status that `run`, the list of all proposals, gives for `id`.
#[track_caller]
fn status(list: &Value, id: &str) -> Value {
    let items = list["proposals"].as_array().expect("a list");
    let item = items.iter().find(|item| item["proposal_id"] == id);
    item.unwrap_or_else(|| panic!("{id} is not in {list:#}"))["status"].clone()
}

fn mark(repo: &Repo, id: &str, action: &str) {
    let request = json!({"action": action, "proposal_id": id, "reason": "so"}).to_string();
    repo.aye(&["call", "changes", &request]).ok();
}

/// A store with every kind of event that this version writes, and what 0.1.0 has to see in it.
fn of_this_version() -> (Repo, Vec<(String, &'static str)>) {
    let repo = scene();
    let mut expected = Vec::new();
    let mut new = |path: &str, status| {
        let id = propose(&repo, path, path, "new");
        expected.push((id.clone(), status));
        id
    };
    let applied = new("a", "applied");
    repo.aye(&["apply", &applied, "--yes"]).ok();
    let marked = new("b", "pending");
    mark(&repo, &marked, "apply");
    let marked = new("c", "pending");
    mark(&repo, &marked, "reject");
    let withdrawn = new("d", "rejected");
    repo.agent("codex", &["withdraw", &withdrawn, "--reason", "better idea"]).ok();
    let sent_back = new("e", "pending");
    request_changes(&repo, &sent_back, "add a test");
    comment(&repo, &sent_back, "there");
    // Kinds, ranges, suggestions and notes that resolve are fields which 0.1.0 ignores.
    let suggest =
        ["comment", &sent_back, "--path", "e", "--line", "1-1", "--suggest", "x", "--json"];
    let said = repo.aye(&suggest).ok().json()["comment_id"].clone();
    let said = said.as_str().expect("an id");
    repo.aye(&["comment", &sent_back, "--path", "e", "--question", "-m", "why?"]).ok();
    repo.agent("codex", &["comment", &sent_back, "--resolve", said, "-m", "Not so"]).ok();
    repo.agent("codex", &["revise", &sent_back, "e", "--old", "e", "--new", "newer"]).ok();
    let rejected = new("f", "rejected");
    repo.aye(&["reject", &rejected, "--yes", "--reason", "no"]).ok();
    let undone = new("g", "pending");
    repo.aye(&["apply", &undone, "--yes"]).ok();
    repo.aye(&["undo", &undone, "--yes"]).ok();
    let approved = new("h", "pending");
    repo.aye(&["approve", &approved, "--yes"]).ok();
    let only_recorded = new("i", "applied");
    repo.aye(&["apply", &only_recorded, "--yes", "--mark-only"]).ok();
    // With a result that was imported; 0.1.0 ignores where it comes from.
    repo.aye(&["try", &approved, "--no-record", "--result", "out.json", "--", "true"]).ok();
    repo.aye(&["import", "out.json"]).ok();
    repo.remove("out.json");
    let foreign = new("j", "applied");
    repo.write("j", "j\nforeign\n");
    repo.aye(&["apply", &foreign, "--yes", "--take-residue"]).ok();
    // Taken as pending again here; 0.1.0 does not know the word, and keeps what it knows.
    let reopened = new("k", "rejected");
    repo.aye(&["reject", &reopened, "--yes"]).ok();
    repo.aye(&["reopen", &reopened, "--yes"]).ok();
    // 0.1.0 ignores what the rest was left out of (`instead_of`).
    let edits = json!({"edits": [
        {"file_path": "l", "old_content": "l", "new_content": "new"},
        {"file_path": "m", "old_content": "m", "new_content": "new"},
    ]});
    let split = repo.aye_stdin(&["propose", "--from-json", "-"], edits.to_string()).ok().id();
    let args = ["apply", &split, "--hunks", "1", "--split-rest", "--yes", "--json"];
    repo.aye(&args).ok();
    let list = repo.aye(&["list", "--path", "m", "--status", "pending", "--json"]).ok().json();
    let rest = list["proposals"][0]["proposal_id"].as_str().expect("the rest").to_owned();
    let show = repo.aye(&["show", &rest, "--json"]).ok().json();
    assert_eq!(show["instead_of"], split.as_str());
    expected.extend([(split, "applied"), (rest, "pending")]);
    let patch = "--- a/k\n+++ b/k\n@@ -1 +1 @@\n-k\n+K\n";
    repo.cmd(&["patch"]).env("AYE_AGENT", "bot").stdin(patch).run().ok();
    let log = repo.aye(&["log", "--json"]).ok().json();
    let patch = log["events"][0]["patch_id"].as_str().expect("a patch").to_owned();
    repo.aye(&["undo", &patch, "--yes"]).ok();
    (repo, expected)
}

#[test]
fn what_this_version_writes_does_not_stop_version_0_1_0() {
    let Some(old) = Other::find() else { return };
    let (repo, expected) = of_this_version();
    let here = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
    // With the cache of this version in place, and with none.
    for fresh in [false, true] {
        let repo = repo.copy();
        if fresh {
            std::fs::remove_dir_all(repo.path(".git/aye")).expect("removed");
        }
        let list = old.run(&repo, &["list", "--status", "all", "--json"]).ok().json();
        for (id, expected) in &expected {
            assert_eq!(status(&list, id), *expected, "{id} in {list:#}");
            answered(old.run(&repo, &["show", id])).ok();
            answered(old.run(&repo, &["diff", id]));
            answered(old.run(&repo, &["log", id])).ok();
        }
        answered(old.run(&repo, &["log"])).ok();
        answered(old.run(&repo, &["log", "--json"])).ok();
        sound(|args| old.run(&repo, args));
        answered(old.run(&repo, &["check"])).exits(1);
        answered(old.run(&repo, &["check", "--range", "HEAD"]));
        // It goes on working there, and this version reads what it adds.
        old.agent(&repo, &["propose", "k", "--old", "k", "--new", "from 0.1.0"]).ok();
        let (marked, _) = &expected[1];
        old.run(&repo, &["apply", marked, "--yes"]).ok();
        let after = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        assert_eq!(after["count"], expected.len() + 1, "{after:#}");
        assert_eq!(status(&after, marked), "applied");
        for (id, _) in expected.iter().filter(|(id, _)| id != marked) {
            assert_eq!(status(&after, id), status(&here, id), "{id}");
        }
        sound(|args| repo.aye(args));
    }
}

#[test]
fn what_is_private_or_published_does_not_stop_version_0_1_0() {
    let Some(old) = Other::find() else { return };
    let repo = scene();
    let private = |path: &str| {
        let args = ["propose", path, "--old", path, "--new", "new", "--private", "-q"];
        repo.aye(&args).ok().id()
    };
    let (hidden, published) = (private("a"), private("b"));
    repo.aye(&["revise", &published, "b", "--old", "b", "--new", "newer"]).ok();
    repo.aye(&["publish", &published, "--yes"]).ok();
    comment(&repo, &published, "known");
    let public = propose(&repo, "c", "c", "new");
    repo.aye(&["apply", &public, "--yes"]).ok();
    for fresh in [false, true] {
        let repo = repo.copy();
        if fresh {
            std::fs::remove_dir_all(repo.path(".git/aye")).expect("removed");
        }
        let list = old.run(&repo, &["list", "--status", "all", "--json"]).ok().json();
        assert_eq!((&list["count"], status(&list, &public)), (&1.into(), "applied".into()));
        answered(old.run(&repo, &["log"])).ok();
        sound(|args| old.run(&repo, args));
        old.agent(&repo, &["propose", "k", "--old", "k", "--new", "from 0.1.0"]).ok();
        let after = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        assert_eq!(after["count"], 4, "{after:#}");
        for (id, audience) in [(&hidden, "private"), (&published, "default")] {
            let show = repo.aye(&["show", id, "--json"]).ok().json();
            assert_eq!((&show["status"], &show["audience"]), (&"pending".into(), &audience.into()));
        }
        sound(|args| repo.aye(args));
    }
}

#[test]
fn what_version_0_1_0_wrote_is_read() {
    let Some(old) = Other::find() else { return };
    let repo = scene();
    let mut expected: Vec<(String, &str)> = Vec::new();
    let mut new = |path: &str, status| {
        let run = old.agent(&repo, &["propose", path, "--old", path, "--new", "new", "--json"]);
        let id = run.ok().json()["proposal_id"].as_str().expect("an id").to_owned();
        expected.push((id.clone(), status));
        id
    };
    new("a", "pending");
    let applied = new("b", "applied");
    old.run(&repo, &["apply", &applied, "--yes", "--commit"]).ok();
    let rejected = new("c", "rejected");
    old.run(&repo, &["reject", &rejected, "--yes", "--reason", "no"]).ok();
    let undone = new("d", "pending");
    old.run(&repo, &["apply", &undone, "--yes"]).ok();
    old.run(&repo, &["undo", &undone, "--yes"]).ok();
    let revised = new("e", "pending");
    old.agent(&repo, &["revise", &revised, "e", "--old", "e", "--new", "newer"]).ok();
    old.agent(&repo, &["comment", &revised, "-m", "see there"]).ok();
    // The mark that 0.1.0 recorded as an apply is no approval here.
    let marked = new("f", "pending");
    let request = json!({"action": "apply", "proposal_id": marked}).to_string();
    old.agent(&repo, &["call", "changes", &request]).ok();
    let only_recorded = new("g", "applied");
    old.run(&repo, &["apply", &only_recorded, "--yes", "--mark-only"]).ok();
    for fresh in [false, true] {
        let repo = repo.copy();
        if fresh {
            std::fs::remove_dir_all(repo.path(".git/aye")).expect("removed");
        }
        let list = repo.aye(&["list", "--status", "all", "--json"]).ok().json();
        for (id, expected) in &expected {
            assert_eq!(status(&list, id), *expected, "{id} in {list:#}");
            answered(repo.aye(&["show", id])).ok();
            answered(repo.aye(&["log", id])).ok();
        }
        repo.aye(&["show", &marked]).ok().says("not approved");
        answered(repo.aye(&["log"])).ok();
        sound(|args| repo.aye(args));
        answered(repo.aye(&["check"])).exits(1).says("marked_without_approval");
        // What a person has applied with it still carries its commit.
        repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
        // What is pending is decided here.
        repo.aye(&["apply", &marked, "--yes"]).ok();
        repo.aye(&["undo", &applied, "--yes"]).ok();
        assert_eq!((repo.text("f").as_str(), repo.text("b").as_str()), ("new\n", "b\n"));
    }
}

#[test]
fn a_forked_lane_does_not_stop_version_0_1_0() {
    let Some(old) = Other::find() else { return };
    let repo = scene();
    let id = propose(&repo, "a", "a", "new");
    // A rolled-back snapshot: both write the same lane.
    let other = repo.copy();
    repo.aye(&["reject", &id, "--yes"]).ok();
    other.aye(&["apply", &id, "--yes"]).ok();
    let from = repo.root().to_str().expect("UTF-8");
    other.git(&["fetch", "-q", from, "+refs/aye/log/*:refs/aye/remotes/origin/*"]);
    answered(old.run(&other, &["list"]));
    other.aye(&["undo", &id, "--yes"]).ok();
    let refs = other.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    assert!(refs.lines().count() == 2 && refs.contains(".f"), "{refs}");
    // The part that was left, and the lane that goes on from it, where they were pushed.
    let third = scene();
    for repo in [&repo, &other] {
        let from = repo.root().to_str().expect("UTF-8");
        third.git(&["fetch", "-q", from, "+refs/aye/log/*:refs/aye/remotes/origin/*"]);
    }
    for repo in [&other, &third] {
        let _ = std::fs::remove_dir_all(repo.path(".git/aye"));
        answered(old.run(repo, &["list", "--status", "all"])).ok();
        answered(old.run(repo, &["show", &id])).ok();
        answered(old.run(repo, &["log"])).ok();
        old.agent(repo, &["propose", "k", "--old", "k", "--new", "x", "-m", "from 0.1.0"]).ok();
        repo.aye(&["list"]).ok().says("from 0.1.0");
    }
}

#[test]
fn a_purge_does_not_stop_version_0_1_0() {
    let Some(old) = Other::find() else { return };
    let (repo, expected) = of_this_version();
    let (before, third) = (scene(), scene());
    let from = repo.root().to_str().expect("UTF-8");
    let lanes = "+refs/aye/log/*:refs/aye/remotes/origin/*";
    before.git(&["fetch", "-q", from, lanes]);
    answered(old.run(&before, &["list"])).ok();
    let (purged, _) = &expected[0];
    repo.aye(&["purge", purged, "--reason", "a key in it", "--yes"]).ok();
    for other in [&before, &third] {
        other.git(&["fetch", "-q", from, lanes]);
    }
    let others = || expected.iter().filter(|(id, _)| id != purged);
    for other in [&before, &third, &repo] {
        for cold in [false, true] {
            if cold {
                std::fs::remove_dir_all(other.path(".git/aye")).expect("removed");
            }
            let list = answered(old.run(other, &["list", "--status", "all", "--json"])).ok().json();
            for (id, expected) in others() {
                assert_eq!(status(&list, id), *expected, "{id} in {list:#}");
                answered(old.run(other, &["show", id])).ok();
            }
            answered(old.run(other, &["log"])).ok();
            answered(old.run(other, &["check"]));
            answered(old.run(other, &["doctor"]));
        }
        old.agent(other, &["propose", "k", "--old", "k", "--new", "x", "-m", "from 0.1.0"]).ok();
        other.aye(&["list"]).ok().says("from 0.1.0");
        other.aye(&["show", purged]).fails("proposal_purged", 3);
        let list = other.aye(&["list", "--status", "all", "--json"]).ok().json();
        assert_eq!(list["count"], expected.len(), "{list:#}");
    }
}

#[test]
fn epochs_do_not_stop_version_0_1_0() {
    let Some(old) = Other::find() else { return };
    let (repo, expected) = of_this_version();
    let before = scene();
    let third = scene();
    let from = repo.root().to_str().expect("UTF-8");
    let lanes = "+refs/aye/log/*:refs/aye/remotes/origin/*";
    before.git(&["fetch", "-q", from, lanes]);
    answered(old.run(&before, &["list"])).ok();
    repo.aye(&["gc", "--now", "--keep", "0"]).ok().says("epoch 2 begins");
    for other in [&before, &third] {
        other.git(&["fetch", "-q", from, lanes]);
    }
    // What was decided long ago may be unknown to it, and what is pending is not.
    let pending = || expected.iter().filter(|(_, status)| *status == "pending");
    assert!(pending().count() > 3);
    for other in [&before, &third, &repo] {
        for cold in [false, true] {
            if cold {
                std::fs::remove_dir_all(other.path(".git/aye")).expect("removed");
            }
            let list = answered(old.run(other, &["list", "--status", "all", "--json"])).ok().json();
            for (id, _) in pending() {
                assert_eq!(status(&list, id), "pending", "{id} in {list:#}");
                answered(old.run(other, &["show", id])).ok();
                answered(old.run(other, &["diff", id])).ok();
            }
            answered(old.run(other, &["log"])).ok();
            answered(old.run(other, &["check"]));
            answered(old.run(other, &["doctor"]));
        }
        old.agent(other, &["propose", "k", "--old", "k", "--new", "x", "-m", "from 0.1.0"]).ok();
        // It has begun a lane of its own, and both versions go on.
        other.aye(&["list"]).ok().says("from 0.1.0");
        for (id, expected) in &expected {
            let list = other.aye(&["list", "--status", "all", "--json"]).ok().json();
            if *expected == "applied" || *expected == "pending" {
                assert_eq!(status(&list, id), *expected, "{id}");
            }
        }
    }
}
