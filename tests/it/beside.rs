//! Decisions that people make in clones that do not know of each other yet: alike ones are one answer, others are
//! contested until somebody settles it.

use crate::support::clones::{clone, fetch, join, push};
use crate::support::{Repo, Run};
use serde_json::Value;

const FILE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";

/// The repository of whoever proposes, and those of two people.
struct Team {
    proposer: Repo,
    ada: Repo,
    bob: Repo,
    _server: Repo,
}

impl Team {
    fn new() -> (Self, String) {
        let (proposer, server) = (Repo::with(&[("a.txt", FILE)]), Repo::bare());
        join(&proposer, &server);
        proposer.git(&["push", "-q", "origin", "main"]);
        let id = proposer.aye(&["propose", "a.txt", "--old", "5", "--new", "five", "-q"]).ok().id();
        push(&proposer);
        let (ada, bob) = (clone(&server), clone(&server));
        (Self { proposer, ada, bob, _server: server }, id)
    }

    fn all(&self) -> [&Repo; 3] {
        [&self.proposer, &self.ada, &self.bob]
    }

    fn sync(&self) {
        for repo in [&self.ada, &self.bob] {
            push(repo);
        }
        for repo in self.all() {
            fetch(repo);
        }
    }

    /// What each says of the proposal, which is the same everywhere.
    #[track_caller]
    fn state(&self, id: &str) -> Value {
        let [first, rest @ ..] = self.all().map(|repo| repo.item(id));
        for other in rest {
            assert_eq!(other, first);
        }
        first
    }
}

fn as_bob(repo: &Repo, args: &[&str]) -> Run {
    let bob = [("NAME", "Bob"), ("EMAIL", "bob@example.com")];
    let mut command = repo.cmd(args);
    for (key, value) in bob {
        for who in ["AUTHOR", "COMMITTER"] {
            command = command.env(&format!("GIT_{who}_{key}"), value);
        }
    }
    command.run()
}

#[test]
fn two_people_who_decide_alike_agree() {
    for words in [&["apply"][..], &["reject", "-m", "no"]] {
        let (team, id) = Team::new();
        let args = [words, &[&id, "--yes"]].concat();
        team.ada.aye(&args).ok();
        as_bob(&team.bob, &args).ok();
        team.sync();
        let state = team.state(&id);
        assert_eq!(state["contested"], false, "{state}");
        assert_eq!(state["other_decisions"][0]["status"], state["status"]);
        for repo in team.all() {
            repo.aye(&["check"]).lacks("contested");
            repo.aye(&["show", &id]).ok().says("Bob").says(", alike");
        }
    }
}

/// The usual day: one commits, the other pulls that, still sees the proposal pending and applies it.
#[test]
fn what_both_have_applied_is_reviewed_by_either_and_taken_back_whole() {
    let (team, id) = Team::new();
    let apply = ["apply", &id, "--yes", "--commit"];
    team.ada.aye(&apply).ok();
    team.ada.git(&["push", "-q", "origin", "main"]);
    team.bob.git(&["pull", "-q", "origin", "main"]);
    as_bob(&team.bob, &["apply", &id, "--yes"]).ok();
    team.sync();
    let range = ["check", "--range", "HEAD~1..HEAD", "--require-proposal"];
    for repo in [&team.ada, &team.bob] {
        repo.aye(&["check"]).ok();
        repo.aye(&range).ok();
        let _ = std::fs::remove_file(repo.path(".git/aye/open"));
        repo.aye(&range).ok();
    }
    // Whoever wrote nothing takes back what the other has written.
    as_bob(&team.bob, &["undo", &id, "--yes"]).ok();
    assert_eq!(team.bob.text("a.txt"), FILE);
    team.sync();
    assert_eq!(team.state(&id)["status"], "pending");
}

/// Each has lines of their own beside it, and what each has approved is known by their own record.
#[test]
fn each_takes_back_what_they_have_written() {
    let (team, id) = Team::new();
    let own = |mine: &str| FILE.replace("12", mine);
    team.ada.write("a.txt", own("ada's"));
    team.bob.write("a.txt", own("bob's"));
    team.ada.aye(&["apply", &id, "--yes"]).ok();
    as_bob(&team.bob, &["apply", &id, "--yes"]).ok();
    team.sync();
    // Each has approved another content.
    assert_eq!(team.state(&id)["contested"], true);
    for (repo, mine) in [(&team.ada, "ada's"), (&team.bob, "bob's")] {
        let copy = repo.copy();
        as_bob(&copy, &["undo", &id, "--yes"]).ok();
        assert_eq!(copy.text("a.txt"), own(mine));
    }
    // Bob's commit is Bob's, whoever was earlier.
    team.bob.aye(&["hooks", "install"]).ok();
    team.bob.write("a.txt", FILE.replace('5', "five"));
    team.bob.git(&["add", "a.txt"]);
    team.bob.git(&["commit", "-qm", "Alone"]);
    let message = team.bob.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains(&format!("Proposal-Id: {id}")), "{message}");
    assert!(message.contains("Reviewed-by: Bob"), "{message}");
    team.bob.aye(&["check", "--range", "HEAD~1.."]).ok();
}

/// What stood before an apply that merged is known where that was made; elsewhere the proposal's own step is reverted.
#[test]
fn an_apply_that_merged_is_undone_in_another_clone() {
    let (team, id) = Team::new();
    let own = FILE.replace("12", "ada's");
    team.ada.write("a.txt", &own);
    team.ada.commit("Own");
    team.ada.aye(&["apply", &id, "--yes", "--commit"]).ok();
    team.ada.git(&["push", "-q", "origin", "main"]);
    team.sync();
    // Where the files have nothing of it.
    as_bob(&team.bob.copy(), &["undo", &id, "--yes"]).ok();
    // Where they have it, among other lines.
    team.bob.git(&["pull", "-q", "origin", "main"]);
    team.bob.write("a.txt", team.bob.text("a.txt").replace('2', "bob's"));
    as_bob(&team.bob, &["undo", &id, "--yes", "--dry-run"]).ok().says("merged");
    let now = team.bob.text("a.txt");
    as_bob(&team.bob, &["undo", &id, "--yes"]).ok();
    assert_eq!(team.bob.text("a.txt"), now.replace("five", "5"));
    team.sync();
    assert_eq!(team.state(&id)["status"], "pending");
}

/// An apply and a rejection: both are shown, and either can be let stand.
#[test]
fn a_contested_proposal_is_settled_either_way() {
    for (more, becomes) in [(&[][..], "rejected"), (&["--rejection"], "applied")] {
        let (team, id) = Team::new();
        team.ada.aye(&["apply", &id, "--yes"]).ok();
        as_bob(&team.bob, &["reject", &id, "--yes", "-m", "not good"]).ok();
        team.sync();
        let state = team.state(&id);
        assert_eq!((&state["status"], &state["contested"]), (&"applied".into(), &true.into()));
        let other = &state["other_decisions"][0];
        assert_eq!((&other["status"], &other["reason"]), (&"rejected".into(), &"not good".into()));
        for repo in team.all() {
            repo.aye(&["check"]).says("[contested]");
            repo.aye(&["show", &id]).ok().says(&format!("aye undo {id} --rejection"));
        }
        let undone = team.ada.aye(&[&["undo", &id, "--yes", "--json"], more].concat()).ok().json();
        assert_eq!(undone["proposals"][0]["status"], becomes);
        team.sync();
        let state = team.state(&id);
        assert_eq!((&state["status"], &state["contested"]), (&becomes.into(), &false.into()));
        assert!(state.get("other_decisions").is_none(), "{state}");
        for repo in team.all() {
            repo.aye(&["check"]).lacks("contested");
        }
    }
}

/// A clone that never had the code has nothing to put back.
#[test]
fn an_undo_where_the_code_never_was_settles_it_too() {
    let (team, id) = Team::new();
    team.ada.aye(&["apply", &id, "--yes"]).ok();
    as_bob(&team.bob, &["reject", &id, "--yes", "-m", "not good"]).ok();
    team.sync();
    team.proposer.aye(&["undo", &id, "--yes"]).ok().says("rejected").notes("Ada");
    assert_eq!(team.proposer.text("a.txt"), FILE);
}

/// A revision by the agent at the same time: what was said of the one before it is about that alone.
#[test]
fn what_was_said_of_one_revision_is_not_said_of_another() {
    let words = [
        &["apply"][..],
        &["reject", "-m", "no"],
        &["comment", "-m", "other words", "--request-changes"],
    ];
    for words in words {
        for is_first in [true, false] {
            let (team, id) = Team::new();
            let say = || match words[0] {
                "comment" => {
                    let args = [&["comment", &id][..], &words[1..]].concat();
                    as_bob(&team.bob, &args).ok();
                }
                _ => {
                    as_bob(&team.bob, &[words, &[&id, "--yes"]].concat()).ok();
                }
            };
            let revise =
                || team.proposer.aye(&["revise", &id, "a.txt", "--old", "5", "--new", "V"]).ok();
            // The order in time says nothing.
            if is_first {
                say();
                revise();
            } else {
                revise();
                say();
            }
            push(&team.proposer);
            team.sync();
            let state = team.state(&id);
            let history = &state["history"];
            assert_eq!(history.as_array().map(Vec::len), Some(2), "{state}");
            let [first, second] = [&history[0]["revision"], &history[1]["revision"]];
            let shown = team.ada.aye(&["show", &id]).ok();
            if words[0] == "comment" {
                assert_eq!(state["changes_requested"]["reason"], "other words", "{state}");
                shown.says("other words");
                // Answered by whoever knows of it.
                team.proposer.aye(&["revise", &id, "a.txt", "--old", "5", "--new", "5.0"]).ok();
                assert!(team.proposer.item(&id)["changes_requested"].is_null());
                continue;
            }
            assert_eq!((&state["revision"], &state["decision"]["revision"]), (first, first));
            assert_eq!(&state["undecided_revisions"][0], second);
            shown.says("+five").lacks("+V");
            // Once the decision is taken back, the newest one is pending.
            team.bob.aye(&["undo", &id, "--yes"]).ok();
            assert_eq!(&team.bob.item(&id)["revision"], second);
        }
    }
}

/// A part is a revision of each one's own: the same part is the same answer, another one is not, and whoever takes it
/// back puts back what was written there.
#[test]
fn parts_of_a_proposal_are_alike_where_they_are_the_same() {
    for (other, contested) in [("1", false), ("2", true)] {
        let (team, _) = Team::new();
        let edit = |old: &str, new: &str| serde_json::json!({ "file_path": "a.txt", "old_content": old, "new_content": new });
        let edits = serde_json::json!({ "edits": [edit("2\n3", "two\n3"), edit("11", "eleven")] });
        let from = ["propose", "--from-json", "-", "-q"];
        let id = team.proposer.aye_stdin(&from, edits.to_string()).ok().id();
        push(&team.proposer);
        team.sync();
        team.ada.aye(&["apply", &id, "--hunks", "1", "--yes"]).ok();
        as_bob(&team.bob, &["apply", &id, "--hunks", other, "--yes"]).ok();
        let theirs = team.bob.text("a.txt");
        assert_ne!(theirs, FILE);
        team.sync();
        let state = team.state(&id);
        assert_eq!(state["contested"], contested, "{state}");
        assert!(state.get("undecided_revisions").is_none(), "{state}");
        as_bob(&team.bob, &["undo", &id, "--yes"]).ok();
        assert_eq!(team.bob.text("a.txt"), FILE);
        team.sync();
        assert_eq!(team.state(&id)["status"], "pending");
    }
}

/// Two people have approved one insertion, and it was committed twice.
#[test]
fn what_two_people_have_approved_is_approved_once() {
    let (team, _) = Team::new();
    let retry = |count: usize| format!("begin\n{}end\n", "retry();\n".repeat(count));
    for repo in [&team.ada, &team.bob, &team.proposer] {
        repo.write("r.txt", retry(2));
        repo.commit("Retry");
    }
    let edit =
        ["propose", "r.txt", "--old", "retry();\nend", "--new", "retry();\nretry();\nend", "-q"];
    let id = team.proposer.aye(&edit).ok().id();
    push(&team.proposer);
    team.sync();
    as_bob(&team.bob, &["apply", &id, "--yes"]).ok();
    team.ada.write("r.txt", retry(2).replace("begin\nretry();\n", "begin\nretry();\nMY\n"));
    team.ada.aye(&["apply", &id, "--yes"]).ok();
    team.sync();
    // At once, or one after the other.
    for (count, exit, stays) in [(4, 1, false), (3, 0, true), (4, 1, true)] {
        team.bob.write("r.txt", retry(count));
        team.bob.git(&["commit", "-qam", &format!("x\n\nProposal-Id: {id}")]);
        team.bob.aye(&["check", "--range", "HEAD~1.."]).exits(exit);
        if !stays {
            team.bob.git(&["reset", "-q", "--hard", "HEAD~1"]);
        }
    }
}
