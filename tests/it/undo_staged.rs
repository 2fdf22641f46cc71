//! `aye undo` of what `aye apply --index` has staged: it leaves the index, or the answer says that it may not have.

use crate::support::Repo;
use crate::support::record::propose;

fn lines(third: &str, last: &str) -> String {
    format!("1\n2\n{third}\n4\n5\n6\n7\n8\n{last}\n")
}

/// A repository in which a proposal for the third line of `a.txt` was applied and staged.
fn staged() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
    let id = propose(&repo, "a.txt", "3", "three");
    repo.aye(&["apply", &id, "--yes", "--index"]).ok();
    (repo, id)
}

const NOTE: &str = " staged";

#[test]
fn what_is_staged_among_other_lines_leaves_them() {
    let (repo, id) = staged();
    repo.write("a.txt", lines("three", "nine"));
    repo.git(&["add", "a.txt"]);
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains(NOTE), "{run}");
    assert_eq!(repo.text("a.txt"), lines("3", "nine"));
    assert_eq!(repo.git(&["show", ":a.txt"]), lines("3", "nine").trim_end());
    assert_eq!(repo.git(&["diff", "--name-only"]), "");
}

#[test]
fn two_that_were_staged_in_one_file_both_leave() {
    for order in [[0, 1], [1, 0]] {
        let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
        let ids = [propose(&repo, "a.txt", "3", "three"), propose(&repo, "a.txt", "9", "nine")];
        repo.aye(&["apply", &ids[0], &ids[1], "--yes", "--index"]).ok();
        assert_eq!(repo.git(&["show", ":a.txt"]), lines("three", "nine").trim_end());
        for at in order {
            let run = repo.aye(&["undo", &ids[at], "--yes"]).ok();
            assert!(!run.err().contains(NOTE), "{run}");
            assert_eq!(repo.git(&["diff", "--name-only"]), "", "{order:?}");
        }
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn other_staged_content_than_the_files_stays_and_is_reported() {
    let (repo, id) = staged();
    repo.write("a.txt", lines("drei", "9"));
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", lines("three", "9"));
    repo.aye(&["undo", &id, "--yes"]).ok().notes(NOTE).notes("git diff --cached");
    assert_eq!(repo.git(&["show", ":a.txt"]), lines("drei", "9").trim_end());
}

#[test]
fn where_it_is_staged_no_more_nothing_is_said() {
    let (repo, id) = staged();
    repo.git(&["reset", "-q"]);
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains(NOTE), "{run}");
    // Something else is, of the same file.
    let (repo, id) = staged();
    repo.write("a.txt", lines("3", "nine"));
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", lines("three", "nine"));
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains(NOTE), "{run}");
    assert_eq!(repo.git(&["show", ":a.txt"]), lines("3", "nine").trim_end());
    assert_eq!(repo.text("a.txt"), lines("3", "nine"));
    // The usual way.
    let (repo, id) = staged();
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains(NOTE), "{run}");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

/// What a person has staged of it leaves the index, too: the next commit would have it.
#[test]
fn what_a_person_has_staged_of_it_leaves_the_index() {
    for is_reset in [false, true] {
        let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
        let id = propose(&repo, "a.txt", "3", "three");
        if is_reset {
            repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
            repo.git(&["reset", "-q", "--soft", "HEAD~1"]);
        } else {
            repo.aye(&["apply", &id, "--yes"]).ok();
            repo.git(&["add", "a.txt"]);
        }
        repo.aye(&["undo", &id, "--yes"]).ok();
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
    // Changes of theirs stay staged.
    let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
    let id = propose(&repo, "a.txt", "3", "three");
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.write("a.txt", lines("three", "nine"));
    repo.git(&["add", "a.txt"]);
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.git(&["show", ":a.txt"]), lines("3", "nine").trim_end());
    // What is committed is nothing that is staged.
    let id = propose(&repo, "a.txt", "5", "five");
    repo.git(&["commit", "-qam", "mine"]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains("staged"), "{run}");
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");
}
