//! What other clones say of a session's proposal: it is shown and told, and no file of theirs comes into the tree,
//! where it would be run, before a person here has decided for it.

use aye::changeset::{File, FileChange, RepoPath};

use crate::support::Repo;
use crate::support::clones::{clone, fetch, push};
use crate::support::record::{apply, reject, revise};
use crate::support::sessions::{kept, nothing_pending, only, read, tree};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("test.sh", "echo pass\n")];

/// A clone with a session whose proposal is pending, and another clone that has it; with their server.
fn pair() -> (Repo, Repo, String, Repo) {
    let server = Repo::bare();
    let seed = Repo::with(FILES);
    seed.git(&["push", "-q", &server.root().to_string_lossy(), "main"]);
    let (here, other) = (clone(&server), clone(&server));
    kept(&here, "sed -i s/two/TWO/ a.txt").ok();
    push(&here);
    fetch(&other);
    let id = only(&other);
    (here, other, id, server)
}

fn exchange(from: &Repo, to: &Repo) {
    push(from);
    fetch(to);
}

#[test]
fn a_proposal_of_a_session_is_revised_in_its_own_clone_alone() {
    let (here, other, id, _server) = pair();
    let revise = ["revise", &id, "a.txt", "--old", "two", "--new", "2"];
    other.aye(&revise).fails("session_elsewhere", 4).notes("--instead-of");
    // One of its own takes its place, and a comment goes back.
    let instead = ["propose", "a.txt", "--old", "two", "--new", "2", "--instead-of", &id];
    other.aye(&instead).ok();
    other.aye(&["comment", &id, "--request-changes", "-m", "why"]).ok();
    // Of no session, it is anybody's.
    let plain =
        other.agent("codex", &["propose", "a.txt", "--old", "one", "--new", "1", "-q"]).ok();
    exchange(&other, &here);
    here.aye(&["revise", &plain.id(), "a.txt", "--old", "one", "--new", "eins"]).ok();
    here.aye(&["revise", &id, "a.txt", "--old", "one", "--new", "1"]).ok();
    kept(&here, "cat a.txt").ok().says("1\ntwo\n");
}

/// Gives the proposal a revision in a clone that is not its session's, which the command refuses.
fn revised_all_the_same(repo: &Repo, id: &str, files: &[(&str, &str)]) {
    let change = |(path, after): &(&str, &str)| {
        let before = FILES.iter().find(|(known, _)| known == path);
        FileChange {
            path: RepoPath::new(*path).expect("a path"),
            before: before.map(|(_, text)| File::regular(*text)),
            after: Some(File::regular(*after)),
            origin: None,
            snippets: Vec::new(),
        }
    };
    revise(repo, id, files.iter().map(change).collect());
}

#[test]
fn what_another_clone_makes_of_a_pending_proposal_does_not_run_here() {
    let (here, other, id, _server) = pair();
    let owned = [("a.txt", "one\n2\n"), ("test.sh", "echo owned\n")];
    revised_all_the_same(&other, &id, &owned);
    exchange(&other, &here);
    let ran = kept(&here, "sh test.sh; cat a.txt").ok();
    assert_eq!(ran.out(), "pass\none\nTWO\n", "{ran}");
    // A person who decides for it has seen it.
    revised_all_the_same(&other, &id, &[("a.txt", "one\n2\n")]);
    exchange(&other, &here);
    apply(&here, &id);
    kept(&here, "cat a.txt").ok().says("one\n2\n");
}

/// The decision names what it was for, whatever another clone has made of it meanwhile.
#[test]
fn what_was_applied_here_is_what_the_tree_and_show_have() {
    let (here, other, id, _server) = pair();
    revised_all_the_same(&other, &id, &[("a.txt", "one\n2\n")]);
    apply(&here, &id);
    exchange(&other, &here);
    kept(&here, "cat a.txt").ok().says("one\nTWO\n");
    here.aye(&["show", &id, "--no-pager"]).ok().says("+TWO").lacks("+2");
    here.aye(&["undo", &id, "--yes"]).ok();
    here.aye(&["show", &id, "--no-pager"]).ok().says("+2");
}

#[test]
fn what_another_clone_applies_in_another_form_leaves_the_tree_as_it_is() {
    let (here, other, id, _server) = pair();
    revised_all_the_same(&other, &id, &[("a.txt", "one\n2\n")]);
    apply(&other, &id);
    exchange(&other, &here);
    kept(&here, "grep -q TWO a.txt").ok();
    nothing_pending(&here);
    // With what the other clone has committed it follows, as any checkout does.
    other.git(&["commit", "-qam", "Two"]);
    other.git(&["push", "-q", "origin", "HEAD:main"]);
    here.git(&["pull", "-q", "--rebase", "origin", "main"]);
    here.aye(&["session", "sync", "x"]).ok();
    assert_eq!(read(&tree(&here, "x"), "a.txt"), "one\n2\n");
}

#[test]
fn what_another_clone_calls_the_rest_of_a_decision_does_not_come_in() {
    let (here, other, id, _server) = pair();
    apply(&here, &id);
    exchange(&here, &other);
    let rest = ["propose", "test.sh", "--old", "pass", "--new", "owned", "--instead-of", &id];
    other.cmd(&rest).env("AYE_AGENT", "robo").run().ok();
    exchange(&other, &here);
    let ran = kept(&here, "sh test.sh").ok();
    assert_eq!(ran.out(), "pass\n", "{ran}");
}

/// What is pending, and what the tree holds, once the session has followed.
#[track_caller]
fn goes_on_with(here: &Repo, id: &str, lines: &str, diff: &[&str]) {
    here.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4);
    here.aye(&["session", "submit", "x"]).ok();
    let tree = tree(here, "x");
    assert_eq!(
        (read(&tree, "a.txt"), read(&tree, "new.txt")),
        (lines.to_owned(), "new\n".to_owned())
    );
    // Beside what the other clone may have made a proposal of.
    let list = here.aye(&["list", "--json"]).ok().json();
    let mut all = list["proposals"].as_array().expect("a list").iter();
    let new = all.find(|it| it["description"].as_str().is_some_and(|it| it.starts_with("What")));
    let new = new.expect("a proposal")["proposal_id"].as_str().expect("an id");
    assert_ne!(new, id);
    let shown = here.aye(&["diff", new, "--proposed", "--no-pager"]).ok();
    diff.iter().fold(shown, |shown, line| shown.says(line));
}

#[test]
fn what_was_revised_before_another_clone_decided_on_what_it_knew_is_proposed_again() {
    for (word, second) in [("applied", "TWO"), ("rejected", "two")] {
        let (here, other, id, _server) = pair();
        kept(&here, "sed -i 1ifirst a.txt; echo new >new.txt").ok();
        match word {
            "applied" => apply(&other, &id),
            _ => reject(&other, &id, "loud"),
        }
        exchange(&other, &here);
        let lines = format!("first\none\n{second}\n");
        goes_on_with(&here, &id, &lines, &["+first", &format!(" {second}"), "+new"]);
    }
}

#[test]
fn what_was_revised_before_another_clone_applied_a_part_is_proposed_again() {
    for more in [&[][..], &["--split-rest"]] {
        let (here, other, id, _server) = pair();
        kept(&here, "sed -i s/one/ONE/ a.txt; sed -i s/pass/PASS/ test.sh").ok();
        exchange(&here, &other);
        kept(&here, "sed -i 1ifirst a.txt; echo new >new.txt").ok();
        let shown = other.item(&id);
        let id = format!("{id}@{}", shown["revision"].as_str().expect("a revision"));
        other.aye(&[&["apply", &id, "--hunks", "1", "--yes"], more].concat()).ok();
        exchange(&other, &here);
        let (id, _) = id.split_once('@').expect("a revision");
        goes_on_with(&here, id, "first\nONE\nTWO\n", &["+first", "+new"]);
    }
}

/// The checkout moved on between both revisions: no line of it becomes the agent's.
#[test]
fn what_the_tree_has_followed_between_is_not_proposed_as_its_own() {
    let (here, other, id, _server) = pair();
    here.write("test.sh", "echo passed\n");
    here.write("a.txt", "zero\n\none\ntwo\n");
    here.commit("Beside");
    here.aye(&["session", "sync", "x"]).ok();
    kept(&here, "sed -i 1ifirst a.txt; echo new >new.txt").ok();
    apply(&other, &id);
    exchange(&other, &here);
    goes_on_with(&here, &id, "first\nzero\n\none\nTWO\n", &["+first", " zero", "+new"]);
}
