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

const NOTE: &str = "the change may still be staged";

#[test]
fn what_a_filter_program_stored_leaves_the_index() {
    let repo = Repo::with(&[("x", "x\n")]);
    repo.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    repo.write(".gitattributes", "*.txt filter=up\n");
    repo.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    repo.commit("Filtered");
    let id = propose(&repo, "a.txt", "two", "zwei");
    repo.aye(&["apply", &id, "--yes", "--index"]).ok();
    assert_eq!(repo.git(&["show", ":a.txt"]), "ONE\nZWEI\nTHREE\nFOUR\nFIVE");
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains(NOTE), "{run}");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    // With another line beneath, that is all that can be said.
    let id = propose(&repo, "a.txt", "two", "zwei");
    repo.aye(&["apply", &id, "--yes", "--index"]).ok();
    repo.write("a.txt", "one\nzwei\nthree\nfour\nmine\n");
    repo.git(&["add", "a.txt"]);
    repo.aye(&["undo", &id, "--yes"]).ok().notes(NOTE);
    assert_eq!(repo.git(&["show", ":a.txt"]), "ONE\nZWEI\nTHREE\nFOUR\nMINE");
}

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

/// A file that git did not know of.
#[test]
fn a_new_file_is_staged_as_it_was_before() {
    let repo = Repo::with(&[("b.txt", "b\n")]);
    repo.write("a.txt", lines("3", "9"));
    let id = propose(&repo, "a.txt", "3", "three");
    repo.aye(&["apply", &id, "--yes", "--index"]).ok();
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), lines("3", "9"));
    assert_eq!(repo.git(&["show", ":a.txt"]), lines("3", "9").trim_end());
}

#[test]
fn what_is_staged_in_part_leaves_as_well() {
    let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
    let args = ["propose", "a.txt", "--content-file", "-", "-q"];
    let id = repo.aye_stdin(&args, lines("three", "nine")).ok().id();
    repo.aye(&["apply", &id, "--yes", "--index"]).ok();
    repo.write("a.txt", lines("three", "9"));
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", lines("three", "nine"));
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    // In the same lines something else is.
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

/// What is not merged, somebody's mode, files below a name: that is not for an undo to settle.
#[test]
fn what_else_the_index_says_of_the_file_stays() {
    let delete = |repo: &Repo| {
        let id = repo.aye(&["propose", "a.txt", "--delete", "-q"]).ok().id();
        repo.aye(&["apply", &id, "--yes", "--index"]).ok();
        id
    };
    let repo = Repo::with(&[("a.txt", &lines("3", "9")), ("b.txt", &"b\n".to_owned())]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a.txt", lines("side", "9"));
    repo.commit("side");
    repo.git(&["checkout", "-q", "-"]);
    let id = delete(&repo);
    repo.git(&["commit", "-qm", "gone"]);
    repo.try_git(&["merge", "side"]).exits(1);
    let stages = repo.git(&["ls-files", "--stage"]);
    repo.remove("a.txt");
    let run = repo.aye(&["undo", &id, "--yes"]);
    assert_eq!(repo.git(&["ls-files", "--stage"]), stages, "{run}");

    let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
    let id = delete(&repo);
    repo.write("a.txt/q", "q\n");
    repo.git(&["add", "a.txt/q"]);
    std::fs::remove_dir_all(repo.path("a.txt")).expect("remove");
    repo.aye(&["undo", &id, "--yes"]).ok().notes(NOTE);
    assert!(repo.git(&["ls-files"]).contains("a.txt/q"));

    let (repo, id) = staged();
    repo.git(&["update-index", "--chmod=+x", "a.txt"]);
    repo.aye(&["undo", &id, "--yes"]).ok();
    let entry = repo.git(&["ls-files", "--stage", "a.txt"]);
    assert!(entry.starts_with("100755 "), "{entry}");
    assert_eq!(repo.git(&["show", ":a.txt"]), lines("3", "9").trim_end());
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
    // With changes of theirs it stays, and that is said.
    let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
    let id = propose(&repo, "a.txt", "3", "three");
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.write("a.txt", lines("three", "nine"));
    repo.git(&["add", "a.txt"]);
    repo.aye(&["undo", &id, "--yes"]).ok().notes("still staged: git restore --staged 'a.txt'");
    assert_eq!(repo.git(&["show", ":a.txt"]), lines("three", "nine").trim_end());
    // What is committed is nothing that is staged.
    let id = propose(&repo, "a.txt", "5", "five");
    repo.git(&["commit", "-qam", "mine"]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let run = repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!run.err().contains("staged"), "{run}");
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn where_the_file_was_moved_that_is_said() {
    let repo = Repo::with(&[("a.txt", &lines("3", "9"))]);
    let id = propose(&repo, "a.txt", "3", "three");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    repo.git(&["mv", "a.txt", "aa.txt"]);
    repo.git(&["commit", "-qm", "move"]);
    for flags in [&["--yes"][..], &["--dry-run"]] {
        let run = repo.aye(&[&["undo", &id], flags].concat());
        run.fails("conflict", 5).notes("a.txt was moved to aa.txt since");
    }
}
