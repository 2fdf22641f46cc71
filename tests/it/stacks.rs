//! Branches into proposals and back: `aye propose --range A..B --stack`, `aye apply ID… --branch NAME`.

use serde_json::Value;

use crate::support::Repo;
use crate::support::record::{propose, reject};

const NUMBERS: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";

fn stack(repo: &Repo, range: &str) -> Vec<String> {
    let answer = repo.aye(&["propose", "--range", range, "--stack", "--json"]).ok().json();
    assert_eq!(answer["schema"], "aye/propose-stack@1");
    let made = answer["proposals"].as_array().expect("a list").iter();
    made.map(|one| one["proposal_id"].as_str().expect("an id").to_owned()).collect()
}

fn apply(repo: &Repo, ids: &[String], branch: &str) -> Value {
    let named: Vec<String> = ids.iter().map(|id| repo.at_revision(id)).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    repo.aye(&[&["apply"], &named[..], &["--branch", branch, "--yes", "--json"]].concat())
        .ok()
        .json()
}

/// A topic with edits of the same lines, a rename, a mode, a deletion, bytes, a merge and nothing at all.
fn topic() -> Repo {
    let repo = Repo::with(&[("n.txt", NUMBERS), ("run.sh", "#!/bin/sh\n"), ("gone.txt", "x\n")]);
    // A mode is a sensitive change.
    repo.write(".agent-memory/policy.toml", "[evidence]\nsensitive = \"flag\"\n");
    repo.commit("Policy");
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.write("n.txt", NUMBERS.replace("3\n", "three\n"));
    repo.commit("Name three\n\nIt is a word.");
    repo.write("n.txt", NUMBERS.replace("3\n", "THREE\n"));
    repo.commit("Louder");
    repo.git(&["mv", "n.txt", "numbers.txt"]);
    repo.commit("Rename");
    repo.chmod("run.sh", 0o755);
    repo.commit("Make it run");
    repo.git(&["rm", "-q", "gone.txt"]);
    repo.write("deep/er/bytes", [0_u8, 255, 10, 13]);
    repo.commit("Bytes for text");
    repo.git(&["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    repo.git(&["switch", "-q", "-c", "side", "main"]);
    repo.write("side.txt", "side\n");
    repo.commit("Beside");
    repo.git(&["switch", "-q", "topic"]);
    repo.git(&["merge", "-q", "--no-edit", "side"]);
    repo.git(&["switch", "-q", "main"]);
    repo
}

#[test]
fn a_branch_becomes_proposals_and_a_branch_again() {
    let repo = topic();
    let ids = stack(&repo, "main..topic");
    assert_eq!(ids.len(), 6);
    assert_eq!(stack(&repo, "main..topic"), ids, "a second time they are pending");
    assert_eq!(repo.item(&ids[0])["description"], "Name three\n\nIt is a word.");
    let before =
        (repo.git(&["rev-parse", "HEAD"]), repo.git(&["status", "--porcelain=v1", "--ignored"]));
    let answer = apply(&repo, &ids, "again");
    let now =
        (repo.git(&["rev-parse", "HEAD"]), repo.git(&["status", "--porcelain=v1", "--ignored"]));
    assert_eq!(before.0, now.0);
    assert_eq!(before.1.replace(".agent-memory/", ""), now.1.replace(".agent-memory/", ""));
    assert_eq!(repo.git(&["rev-parse", "again^{tree}"]), repo.git(&["rev-parse", "topic^{tree}"]));
    let listed = repo.git(&["rev-list", "--reverse", "main..again"]);
    let commits: Vec<&str> = listed.lines().collect();
    assert_eq!(commits.len(), ids.len());
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(answer["proposals"][at]["commit"], commits[at]);
        let named =
            repo.git(&["log", "-1", "--format=%(trailers:key=Proposal-Id,valueonly)", commits[at]]);
        assert_eq!(
            (named.trim(), repo.item(id)["status"].clone()),
            (id.as_str(), "applied".into())
        );
    }
    let first = repo.git(&["log", "-1", "--format=%B", commits[0]]);
    assert!(first.starts_with("Name three\n\nIt is a word.\n"), "{first}");
    // What came of it is what was approved.
    repo.aye(&["check", "--range", "main..again", "--require-proposal"]).ok();
    repo.aye(&["apply", &ids[0], "--branch", "again", "--yes"]).fails("not_pending", 5);
}

#[test]
fn commits_of_one_line_are_a_stack_in_their_order() {
    for _ in 0..3 {
        let repo = Repo::with(&[("f", "0\n")]);
        repo.git(&["switch", "-q", "-c", "topic"]);
        for n in ["1\n", "2\n", "3\n", "4\n", "5\n"] {
            repo.write("f", repo.text("f") + n);
            repo.commit(n.trim());
        }
        repo.git(&["switch", "-q", "main"]);
        let ids = stack(&repo, "main..topic");
        let list = repo.aye(&["list", "--json"]).ok().json();
        for (at, id) in ids.iter().enumerate() {
            let one = &list["proposals"][at];
            assert_eq!(one["proposal_id"], id.as_str());
            assert_eq!(
                one["stands_on"].get(0),
                at.checked_sub(1).map(|at| ids[at].as_str().into()).as_ref()
            );
        }
        let tip = repo.at_revision(&ids[4]);
        repo.aye(&["apply", &tip, "--with-lower", "--branch", "again", "--yes"]).ok();
        let tree = |of: &str| repo.git(&["log", "--format=%T", &format!("main..{of}")]);
        assert_eq!(tree("again"), tree("topic"));
    }
}

/// A change, its revert and the change again: the third is no duplicate of the first.
#[test]
fn a_change_that_a_stack_makes_twice_is_there_twice() {
    let repo = Repo::with(&[("f", "0\n")]);
    repo.git(&["switch", "-q", "-c", "topic"]);
    for n in ["1\n", "0\n", "1\n", "0\n", "1\n"] {
        repo.write("f", n);
        repo.commit(n.trim());
    }
    let ids = stack(&repo, "main..topic");
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 5, "{ids:?}");
    assert_eq!(stack(&repo, "main..topic"), ids, "a second time they are pending");
    repo.git(&["switch", "-q", "main"]);
    apply(&repo, &ids, "again");
    let trees = |of: &str| repo.git(&["log", "--format=%T", &format!("main..{of}")]);
    assert_eq!(trees("again"), trees("topic"));
}

#[test]
fn a_stack_of_any_height_becomes_a_branch_if_all_of_it_is_named() {
    let repo = Repo::with(&[("f", "0\n"), ("run.sh", "#!/bin/sh\n")]);
    repo.git(&["switch", "-q", "-c", "topic"]);
    for n in 1..=25 {
        repo.write("f", format!("{n}\n"));
        repo.commit(&format!("Count {n}"));
    }
    repo.chmod("run.sh", 0o755);
    repo.commit("Run");
    let ids = stack(&repo, "main..topic");
    repo.git(&["switch", "-q", "main"]);
    let named: Vec<String> = ids.iter().map(|id| repo.at_revision(id)).collect();
    let branch = |ids: &[String], more: &[&str]| {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        repo.aye(&[&["apply"], &ids[..], &["--branch", "all", "--yes"], more].concat())
    };
    branch(&named[24..25], &["--with-lower"]).fails("stands_on", 5);
    // The refusal says of which one.
    assert!(branch(&named, &[]).fails("terminal_required", 4).err().contains(&ids[25]));
    let run = branch(&named[..25], &[]).ok();
    assert!(!run.err().contains("other_branch"), "{run}");
    let trees = |of: &str| repo.git(&["log", "--format=%T", &format!("main..{of}")]);
    assert_eq!(trees("all"), trees("topic~1"));
}

#[test]
fn a_branch_is_made_whole_or_not_at_all() {
    let repo = Repo::with(&[("n.txt", NUMBERS), ("a.txt", "a\n")]);
    let one = propose(&repo, "n.txt", "3\n", "three\n");
    let two = propose(&repo, "a.txt", "a", "b");
    let far = propose(&repo, "n.txt", "12\n", "twelve\n");
    // Both changes of a file fit; the second is a merge.
    repo.write("n.txt", NUMBERS.replace("1\n2", "one\n2"));
    repo.write("a.txt", "c\n");
    repo.git(&["commit", "-qam", "Meanwhile"]);
    let flags = |id: &str, name: &str| {
        let id = repo.at_revision(id);
        repo.aye(&["apply", &id, "--branch", name, "--yes"])
    };
    flags(&two, "topic").fails("conflict", 5);
    assert_eq!(repo.item(&two)["status"], "pending");
    assert_eq!(repo.git(&["branch", "--list", "topic"]), "");
    apply(&repo, &[one, far], "topic");
    let text =
        NUMBERS.replace("1\n2", "one\n2").replace("3\n", "three\n").replace("12\n", "twelve\n");
    assert_eq!(repo.git(&["show", "topic:n.txt"]), text.trim_end());
    repo.aye(&["check", "--range", "main..topic", "--require-proposal"]).ok();
    let other = propose(&repo, "a.txt", "c", "d");
    flags(&other, "topic").fails("branch_exists", 5);
    flags(&other, "a..b").fails("invalid_argument", 6);
    repo.agent("codex", &["apply", &other, "--branch", "x", "--yes"])
        .fails("human_approval_required", 4);
    reject(&repo, &other, "no");
    repo.aye(&["propose", "--range", "main..main", "--stack"]).fails("no_change", 6);
    repo.aye(&["propose", "--range", "main..topic", "--stack", "-m", "x"]).exits(2);
}

#[test]
fn a_deletion_has_the_null_id_of_the_repository() {
    let repo = Repo::sha256();
    repo.write("gone.txt", "x\n");
    repo.write("stays.txt", "y\n");
    repo.commit("Start");
    let id =
        repo.agent("codex", &["propose", "--delete", "gone.txt", "-m", "Away", "-q"]).ok().id();
    repo.aye(&["apply", &id, "--branch", "topic", "--yes"]).ok();
    assert_eq!(repo.git(&["ls-tree", "--name-only", "topic"]), "stays.txt");
}

#[test]
fn what_became_of_proposals_is_counted() {
    let repo = Repo::with(&[("n.txt", NUMBERS), ("src/a.txt", "a\n")]);
    let by = |agent: &str, old: &str, new: &str| {
        let args = ["propose", "n.txt", "--old", old, "--new", new, "-q"];
        repo.agent(agent, &args).ok().id()
    };
    let (one, two, three) = (
        by("codex", "1\n2", "one\n2"),
        by("codex", "3\n", "three\n"),
        by("gemini", "5\n", "five\n"),
    );
    repo.aye(&["apply", &one, "--yes"]).ok();
    reject(&repo, &two, "no");
    repo.agent("gemini", &["reject", &three, "-m", "mine"]).ok();
    repo.agent("gemini", &["propose", "src/a.txt", "--old", "a", "--new", "b"]).ok();
    let stats =
        |more: &[&str]| repo.aye(&[&["log", "--stats", "--json"], more].concat()).ok().json();
    let all = stats(&["--by", "agent"]);
    assert_eq!((&all["schema"], &all["total"]["proposed"]), (&"aye/log-stats@1".into(), &4.into()));
    let groups = &all["groups"];
    assert_eq!(
        (&groups[0]["name"], &groups[0]["applied"], &groups[0]["rejected"]),
        (&"codex".into(), &1.into(), &1.into())
    );
    assert_eq!((&groups[1]["name"], &groups[1]["pending"]), (&"gemini".into(), &1.into()));
    assert!(all["total"]["median_wait"].is_i64(), "{all}");
    assert_eq!(all["total"]["revisions"], 1.0);
    assert_eq!(stats(&["--by", "path"])["groups"][1]["name"], "src/");
    assert_eq!(stats(&["--", "src"])["total"]["proposed"], 1);
    assert_eq!(stats(&["--since", "2999-01-01T00:00:00Z"])["total"]["proposed"], 0);
    repo.aye(&["log", "--stats", "--since", "HEAD"]).fails("usage", 2);
    repo.aye(&["log", "--stats", "--by", "agent"]).ok().says("PROPOSED").says("codex").says("all");
    repo.aye(&["log", "--by", "agent"]).exits(2);
}
