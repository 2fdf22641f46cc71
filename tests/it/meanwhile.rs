//! What comes in while a question stands: a decision is about what was shown.

use crate::support::Repo;
use crate::support::record::propose;
use crate::support::terminal::Terminal;

/// A repository with a pending proposal for `a.txt`.
fn scene() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let id = propose(&repo, "a.txt", "one", "eins");
    (repo, id)
}

/// Runs the command, does `meanwhile` while it asks, and says yes; what it has said, and its exit status.
fn asked(repo: &Repo, args: &[&str], meanwhile: impl FnOnce(&Repo)) -> (String, u32) {
    let mut terminal = Terminal::dumb(repo.cmd(args));
    terminal.sees("[y,n,?]");
    meanwhile(repo);
    terminal.types("y");
    let status = terminal.ends();
    (terminal.text(), status)
}

#[track_caller]
fn refused((text, status): &(String, u32), code: &str, expected: u32) {
    assert!(text.contains(&format!("error[{code}]")), "{text}");
    assert_eq!((*status, text.matches("[y,n,?]").count()), (expected, 1), "{text}");
}

fn revise(repo: &Repo, id: &str) {
    repo.aye(&["revise", id, "a.txt", "--old", "one", "--new", "better"]).ok();
}

#[test]
fn a_purge_removes_no_revision_that_nobody_was_shown() {
    let (repo, id) = scene();
    let run = asked(&repo, &["purge", &id, "-m", "x"], |repo| revise(repo, &id));
    refused(&run, "revised_meanwhile", 5);
    repo.aye(&["diff", &id]).ok().says("better");
    // Nor what was decided, or said, of it.
    let run = asked(&repo, &["purge", &id, "-m", "x"], |repo| {
        repo.aye(&["comment", &id, "-m", "wait"]).ok();
    });
    refused(&run, "changed_since_shown", 5);
    let run = asked(&repo, &["purge", &id, "-m", "x"], |repo| {
        let revision = repo.item(&id)["revision"].clone();
        let at = format!("{id}@{}", &revision.as_str().expect("an id")[..12]);
        repo.aye(&["apply", &at, "--yes"]).ok();
    });
    refused(&run, "changed_since_shown", 5);
    // What is known is purged, and what the files have of it is said.
    let run = asked(&repo, &["purge", &id, "-m", "x"], |_| {});
    assert!(run.1 == 0 && run.0.contains("a.txt "), "{}", run.0);
    repo.aye(&["show", &id]).fails("proposal_purged", 3);
}

/// The question is another one then.
#[test]
fn a_purge_is_asked_for_again_where_the_policy_has_changed() {
    let (repo, id) = scene();
    let run = asked(&repo, &["purge", &id, "-m", "x"], |repo| {
        repo.write(".agent-memory/policy.toml", "purge_persons = 2\n");
    });
    refused(&run, "changed_since_shown", 5);
    repo.aye(&["show", &id]).ok();
    repo.remove(".agent-memory/policy.toml");
    // What has the content by now is named.
    let mut other = String::new();
    let run = asked(&repo, &["purge", &id, "-m", "x"], |repo| {
        let args = ["propose", "b.txt", "--old", "two", "--new", "eins", "-m", "too", "-q"];
        other = repo.agent("codex", &args).ok().id();
    });
    assert!(run.1 == 0 && run.0.contains(&format!("are in {other} too")), "{}", run.0);
}

#[test]
fn a_mark_and_a_publication_are_of_what_was_shown() {
    let (repo, id) = scene();
    let mut t = Terminal::dumb(repo.cmd(&["apply", &id, "--mark-only"]));
    t.sees("[y,n,?]");
    repo.agent("codex", &["comment", &id, "-m", "wait"]).ok();
    t.types("y").sees("shown").sees("[y,n,?]").types("n");
    t.ends();
    repo.aye(&["show", &id]).ok().says("pending");
    let private = repo
        .aye(&["propose", "b.txt", "--old", "two", "--new", "zwei", "--private", "-q"])
        .ok()
        .id();
    let run = asked(&repo, &["revise", "--public", &private], |repo| {
        repo.aye(&["comment", &private, "--request-changes", "-m", "not yet"]).ok();
    });
    refused(&run, "changed_since_shown", 5);
}

#[test]
fn an_undo_is_of_what_was_shown() {
    let again = |repo: &Repo, id: &str| {
        repo.aye(&["undo", id, "--yes"]).ok();
        repo.aye(&["apply", id, "--yes"]).ok();
    };
    let (repo, id) = scene();
    repo.aye(&["apply", &id, "--yes"]).ok();
    let run = asked(&repo, &["undo", &id], |repo| again(repo, &id));
    refused(&run, "changed_since_shown", 5);
    let other = propose(&repo, "b.txt", "two", "zwei");
    repo.aye(&["apply", &other, "--yes"]).ok();
    let mut t = Terminal::dumb(repo.cmd(&["undo"]));
    t.sees("Undo");
    again(&repo, &other);
    t.types("a").sees("changed_since_shown");
    assert_eq!(t.ends(), 5);
    assert_eq!((repo.text("a.txt").as_str(), repo.text("b.txt").as_str()), ("eins\n", "zwei\n"));
    let run = asked(&repo, &["undo", &other], |_| ());
    assert_eq!((run.1, repo.text("b.txt").as_str()), (0, "two\n"), "{}", run.0);
}

#[test]
fn a_purge_of_a_blob_leaves_no_proposal_out() {
    let (repo, id) = scene();
    let hash = repo.program("git").args(&["hash-object", "--stdin"]).stdin("eins\n");
    let blob = hash.run().ok().out();
    let mut other = String::new();
    let run = asked(&repo, &["purge", blob.trim(), "-m", "x"], |repo| {
        other = propose(repo, "b.txt", "two", "eins");
    });
    refused(&run, "changed_since_shown", 5);
    assert!(run.0.contains(&other), "{}", run.0);
    repo.aye(&["show", &id]).ok();
}

#[test]
fn deinit_removes_nothing_that_nobody_was_shown() {
    let (repo, id) = scene();
    repo.aye(&["hooks", "install"]).ok();
    let mut other = String::new();
    let run =
        asked(&repo, &["init", "--remove"], |repo| other = propose(repo, "b.txt", "two", "zwei"));
    refused(&run, "changed_since_shown", 5);
    let run = asked(&repo, &["init", "--remove"], |repo| revise(repo, &id));
    refused(&run, "changed_since_shown", 5);
    repo.aye(&["diff", &id]).ok().says("better");
    repo.aye(&["diff", &other]).ok().says("zwei");
    assert!(repo.exists(".git/hooks/pre-commit"), "nothing is gone");
    let run = asked(&repo, &["init", "--remove"], |_| {});
    assert!(run.1 == 0 && run.0.contains("2 pending "), "{}", run.0);
    assert!(!repo.exists(".git/aye"));
}

fn deciding<'a>(command: &'a str, id: &'a str) -> Vec<&'a str> {
    let reason: &[&str] = if command == "reject" { &["-m", "no"] } else { &[] };
    [&[command, id], reason].concat()
}

#[test]
fn what_was_decided_meanwhile_is_not_asked_about_again() {
    for command in ["apply", "approve", "reject"] {
        let (repo, id) = scene();
        let run = asked(&repo, &deciding(command, &id), |repo| {
            repo.aye(&["apply", &id, "--yes"]).ok();
        });
        refused(&run, "not_pending", 5);
    }
}

#[test]
fn what_was_purged_meanwhile_is_said_to_be() {
    for command in ["apply", "approve", "reject"] {
        let (repo, id) = scene();
        let run = asked(&repo, &deciding(command, &id), |repo| {
            repo.aye(&["purge", &id, "-m", "a key", "--yes"]).ok();
        });
        refused(&run, "proposal_purged", 3);
    }
}

#[test]
fn conflict_markers_are_written_of_what_was_shown_alone() {
    let (repo, id) = scene();
    repo.write("a.txt", "uno\n");
    let marked = ["apply", &id, "--conflict-markers"];
    let run = asked(&repo, &marked, |repo| repo.write("a.txt", "due\n"));
    refused(&run, "changed_since_shown", 5);
    let run = asked(&repo, &marked, |repo| {
        repo.aye(&["revise", &id, "a.txt", "--old", "due", "--new", "better"]).ok();
    });
    refused(&run, "revised_meanwhile", 5);
    repo.write("a.txt", "tre\n");
    let run = asked(&repo, &marked, |repo| {
        repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    });
    refused(&run, "not_pending", 5);
    assert_eq!(repo.text("a.txt"), "tre\n");
}
