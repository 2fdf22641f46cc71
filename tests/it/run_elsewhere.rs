//! What other clones say of a session's proposal: it is shown and told, and no file of theirs comes into the tree,
//! where it would be run, before a person here has decided for it.

use std::path::PathBuf;

use crate::support::clones::{clone, fetch, push};
use crate::support::record::apply;
use crate::support::{Cmd, Repo};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("test.sh", "echo pass\n")];

/// A clone with a session whose proposal is pending, and another clone that has it; with their server.
fn pair() -> (Repo, Repo, String, Repo) {
    let server = Repo::bare();
    let seed = Repo::with(FILES);
    seed.git(&["push", "-q", &server.root().to_string_lossy(), "main"]);
    let (here, other) = (clone(&server), clone(&server));
    agent(&here, "sed -i s/two/TWO/ a.txt").run().ok();
    push(&here);
    fetch(&other);
    let id = other.aye(&["list", "--json"]).ok().json()["proposals"][0]["proposal_id"].clone();
    (here, other, id.as_str().expect("an id").to_owned(), server)
}

fn agent(repo: &Repo, script: &str) -> Cmd {
    let run = ["run", "--keep", "--name", "x", "--", "sh", "-c", script];
    repo.cmd(&run).env("AYE_AGENT", "robo")
}

fn tree(repo: &Repo) -> PathBuf {
    repo.aye(&["session", "path", "x"]).ok().out().trim().into()
}

fn exchange(from: &Repo, to: &Repo) {
    push(from);
    fetch(to);
}

#[test]
fn what_another_clone_makes_of_a_pending_proposal_does_not_run_here() {
    let (here, other, id, _server) = pair();
    let edit = |file, old, new| ["--edit", file, "--old", old, "--new", new];
    let edits = [edit("a.txt", "two", "2"), edit("test.sh", "pass", "owned")].concat();
    other.aye(&[&["revise", &id][..], &edits].concat()).ok();
    exchange(&other, &here);
    let ran = agent(&here, "sh test.sh; cat a.txt").run().ok();
    assert_eq!(ran.out(), "pass\none\nTWO\n", "{ran}");
    ran.notes("has revised it in another clone");
    // What the other clone has made of it stands until the agent edits on.
    here.aye(&["diff", &id, "--no-pager"]).ok().says("owned");
    here.aye(&["session", "submit", "x"]).ok().notes("in another clone");
    agent(&here, "echo three >>a.txt").run().ok().notes("revised: 1 file");
    let diff = here.aye(&["diff", &id, "--no-pager"]).ok().out();
    assert!(diff.contains("+TWO\n+three\n") && !diff.contains("owned"), "{diff}");
}

#[test]
fn what_a_person_here_decides_for_comes_into_the_tree() {
    let (here, other, id, _server) = pair();
    other.aye(&["revise", &id, "a.txt", "--old", "two", "--new", "2"]).ok();
    exchange(&other, &here);
    agent(&here, "grep -q TWO a.txt").run().ok();
    apply(&here, &id);
    agent(&here, "cat a.txt").run().ok().says("one\n2\n").notes("nothing changed");
}

/// What carries the files of another clone on is no decision for them.
#[test]
fn what_was_rebased_or_described_here_is_still_what_another_clone_has_made() {
    let (here, other, id, _server) = pair();
    other.aye(&["revise", &id, "a.txt", "--old", "two", "--new", "2"]).ok();
    exchange(&other, &here);
    here.write("b.txt", "b\n");
    here.commit("Beside");
    here.aye(&["rebase", &id]).ok();
    here.aye(&["revise", &id, "-m", "Another description"]).ok();
    agent(&here, "cat a.txt").run().ok().says("one\nTWO\n").notes("in another clone");
    here.agent("robo", &["revise", &id, "-m", "By the agent, elsewhere"]).ok();
    agent(&here, "cat a.txt").run().ok().says("one\nTWO\n").notes("in another clone");
    here.aye(&["diff", &id, "--no-pager"]).ok().says("+2");
    // What somebody here has put into it was looked at.
    here.aye(&["revise", &id, "a.txt", "--old", "one", "--new", "1"]).ok();
    agent(&here, "cat a.txt").run().ok().says("1\n");
}

/// The decision names what it was for, whatever another clone has made of it meanwhile.
#[test]
fn what_was_applied_here_is_what_the_tree_and_show_have() {
    let (here, other, id, _server) = pair();
    other.aye(&["revise", &id, "a.txt", "--old", "two", "--new", "2"]).ok();
    apply(&here, &id);
    exchange(&other, &here);
    agent(&here, "cat a.txt").run().ok().says("one\nTWO\n").notes("nothing changed");
    here.aye(&["show", &id, "--no-pager"]).ok().says("+TWO").lacks("+2");
    here.aye(&["undo", &id, "--yes"]).ok();
    here.aye(&["show", &id, "--no-pager"]).ok().says("+2");
}

#[test]
fn what_another_clone_applies_in_another_form_leaves_the_tree_as_it_is() {
    let (here, other, id, _server) = pair();
    other.aye(&["revise", &id, "a.txt", "--old", "two", "--new", "2"]).ok();
    apply(&other, &id);
    exchange(&other, &here);
    agent(&here, "grep -q TWO a.txt").run().ok().notes("nothing changed");
    assert_eq!(here.aye(&["list", "--json"]).ok().json()["count"], 0);
    // With what the other clone has committed it follows, as any checkout does.
    other.git(&["commit", "-qam", "Two"]);
    other.git(&["push", "-q", "origin", "HEAD:main"]);
    here.git(&["pull", "-q", "--rebase", "origin", "main"]);
    here.aye(&["session", "sync", "x"]).ok();
    assert_eq!(std::fs::read_to_string(tree(&here).join("a.txt")).expect("read"), "one\n2\n");
}

/// As it was made here it is followed wherever it is decided.
#[test]
fn what_another_clone_applies_as_it_is_is_what_the_session_goes_on_from() {
    let (here, other, id, _server) = pair();
    apply(&other, &id);
    exchange(&other, &here);
    agent(&here, "echo three >>a.txt").run().ok().notes("1 file +1 −0");
}

#[test]
fn what_another_clone_calls_the_rest_of_a_decision_does_not_come_in() {
    let (here, other, id, _server) = pair();
    apply(&here, &id);
    exchange(&here, &other);
    let rest = ["propose", "test.sh", "--old", "pass", "--new", "owned", "--instead-of", &id];
    other.cmd(&rest).env("AYE_AGENT", "robo").run().ok();
    exchange(&other, &here);
    let ran = agent(&here, "sh test.sh").run().ok();
    assert_eq!(ran.out(), "pass\n", "{ran}");
}
