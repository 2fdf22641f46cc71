//! `aye check --range` and the hooks over what git does with commits: work trees, merges, rebases, reverts.

use crate::support::Repo;
use crate::support::clones::exchange;
use crate::support::record::{apply, propose, undo};

const NUMBERS: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";

fn repo() -> Repo {
    Repo::with(&[("n.txt", NUMBERS), ("a.txt", "a\n")])
}

/// Proposes, applies and commits a change of `n.txt`.
fn commit(repo: &Repo, old: &str, new: &str) -> String {
    let id = propose(repo, "n.txt", old, new);
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    id
}

fn trailers(repo: &Repo) -> String {
    repo.git(&["log", "-1", "--format=%(trailers:key=Proposal-Id,valueonly,separator=%x2C)"])
}

#[test]
fn each_work_tree_has_a_head_of_its_own() {
    let repo = repo();
    let id = propose(&repo, "a.txt", "a", "b");
    apply(&repo, &id);
    repo.git(&["stash", "-q"]);
    let tree = repo.path("../tree");
    repo.git(&["worktree", "add", "-q", tree.to_str().expect("UTF-8"), "-b", "side"]);
    let tree = tree.to_str().expect("UTF-8");
    repo.git(&["-C", tree, "stash", "pop", "-q"]);
    std::fs::write(repo.path("../tree/extra.txt"), "extra\n").expect("written");
    repo.git(&["-C", tree, "add", "-A"]);
    repo.git(&["-C", tree, "commit", "-q", "-m", &format!("More\n\nProposal-Id: {id}")]);
    repo.aye(&["-C", tree, "check", "--range", "HEAD~1..HEAD"]).exits(1).says("extra.txt");
}

/// What a merge brings was changed where it was committed, in the files that both sides have changed too.
#[test]
fn a_merge_that_git_makes_by_itself_needs_no_proposal() {
    let repo = repo();
    repo.git(&["switch", "-q", "-c", "side"]);
    commit(&repo, "12", "twelve");
    repo.git(&["switch", "-q", "-"]);
    commit(&repo, "1\n2", "one\n2");
    repo.git(&["merge", "-q", "--no-edit", "side"]);
    let check = ["check", "--range", "HEAD~2..HEAD", "--require-proposal"];
    repo.aye(&check).ok();
    repo.write("a.txt", "beside\n");
    repo.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    repo.aye(&check).exits(1).says("no_proposal");
}

/// `git pull --rebase` onto another change of the same file.
#[test]
fn an_approved_step_that_git_has_merged_is_held() {
    let repo = repo();
    repo.aye(&["hooks", "install"]).ok();
    repo.git(&["switch", "-q", "-c", "upstream"]);
    repo.write("n.txt", NUMBERS.replace("12\n", "twelve\n"));
    repo.commit("Theirs");
    repo.git(&["switch", "-q", "-"]);
    let id = commit(&repo, "3", "three");
    repo.git(&["rebase", "-q", "upstream"]);
    let check = ["check", "--range", "HEAD~1..HEAD"];
    repo.aye(&check).ok();

    // Anything beside it is not.
    let merged = NUMBERS.replace("12\n", "twelve\n").replace("3\n", "three\n");
    repo.write("n.txt", merged.replace('7', "x"));
    repo.git(&["commit", "-q", "-a", "--no-verify", "--amend", "--no-edit"]);
    repo.aye(&check).exits(1).says("content_differs").says(&id);
    repo.write("n.txt", NUMBERS.replace("12\n", "twelve\n"));
    repo.write("a.txt", "b\n");
    repo.git(&["commit", "-q", "-a", "--no-verify", "--amend", "--no-edit"]);
    repo.aye(&check).exits(1).says("content_differs").says(&id);
}

/// As [`an_approved_step_that_git_has_merged_is_held`], where the other branch has moved the file.
#[test]
fn an_approved_step_in_a_file_that_has_moved_is_held() {
    for to in ["dir/n.txt", "AGENTS.md"] {
        let repo = repo();
        repo.git(&["switch", "-q", "-c", "upstream"]);
        std::fs::create_dir(repo.path("dir")).expect("made");
        repo.git(&["mv", "n.txt", to]);
        repo.commit("Moved");
        repo.write(to, NUMBERS.replace("12\n", "twelve\n"));
        repo.commit("Theirs");
        repo.git(&["switch", "-q", "-"]);
        let id = commit(&repo, "3", "three");
        repo.git(&["rebase", "-q", "upstream"]);
        let check = ["check", "--range", "HEAD~1..HEAD"];
        if to == "AGENTS.md" {
            repo.aye(&check).exits(1).says("content_differs").says(&id);
            continue;
        }
        repo.aye(&check).ok().lacks("extra_file");
        for other in [NUMBERS, &repo.text(to).replace('7', "x")] {
            repo.write(to, other);
            repo.git(&["commit", "-q", "-a", "--no-verify", "--amend", "--no-edit"]);
            repo.aye(&check).exits(1).says("content_differs").says(&id);
        }
    }
}

/// `git add -p` makes two commits of one proposal, the second of which names it.
#[test]
fn the_rest_of_an_approved_step_is_held() {
    let repo = repo();
    let edits = repo.edits(&[["n.txt", "3\n", "three\n"], ["n.txt", "9", "nine"]]);
    let id = repo.aye(&["propose", "--from-json", &edits]).ok().id();
    for (planted, is_held) in [("12", true), ("x", false)] {
        let one = NUMBERS.replace("3\n", "three\n").replace("12", planted);
        repo.write("n.txt", NUMBERS);
        repo.git(&["commit", "-q", "--allow-empty", "-am", "Base"]);
        if is_held {
            apply(&repo, &id);
        }
        repo.write("n.txt", &one);
        repo.git(&["commit", "-q", "-am", "One"]);
        repo.write("n.txt", NUMBERS.replace("3\n", "three\n").replace('9', "nine"));
        repo.git(&["commit", "-q", "-am", &format!("Two\n\nProposal-Id: {id}")]);
        let run = repo.aye(&["check", "--range", "HEAD~1..HEAD"]);
        match is_held {
            true => run.ok().lacks("content_differs"),
            false => run.exits(1).says("content_differs"),
        };
    }
}

/// As GitHub makes one of a pull request whose description has the trailers.
#[test]
fn a_merge_that_names_its_proposals_is_held_to_gits_own() {
    let repo = repo();
    repo.git(&["switch", "-q", "-c", "side"]);
    let id = commit(&repo, "3", "three");
    repo.write("n.txt", NUMBERS.replace("3\n", "three\n").replace("6\n", "six\n"));
    repo.commit("Mine");
    repo.git(&["switch", "-q", "-"]);
    repo.write("n.txt", NUMBERS.replace("12\n", "twelve\n"));
    repo.commit("Theirs");
    repo.git(&["merge", "-q", "--no-ff", "side", "-m", &format!("Merge\n\nProposal-Id: {id}")]);
    let check = ["check", "--range", "HEAD^1..HEAD"];
    repo.aye(&check).ok().lacks("content_differs");
    let merged = repo.text("n.txt");
    for other in [merged.replace("three", "3"), merged.replace('9', "x")] {
        repo.write("n.txt", other);
        repo.git(&["commit", "-q", "-a", "--no-verify", "--amend", "--no-edit"]);
        repo.aye(&check).exits(1).says("content_differs").says(&id);
    }
}

/// Where edits meet, git says so, and what it has there is no merge: with `-merge` it is one side.
#[test]
fn a_conflict_is_no_merge_of_gits() {
    let repo = repo();
    repo.write(".gitattributes", "CLAUDE.md -merge\n");
    repo.write("CLAUDE.md", "rule\n");
    repo.commit("Base");
    let main = repo.git(&["symbolic-ref", "--short", "HEAD"]);
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.write("CLAUDE.md", "rule of the branch\n");
    repo.commit("Mine");
    repo.git(&["switch", "-q", &main]);
    repo.write("CLAUDE.md", "rule of all\n");
    repo.commit("Theirs");
    repo.git(&["switch", "-q", "side"]);
    let merge = repo.program("git").args(&["merge", "-q", &main]).run();
    assert_eq!(merge.status, 1, "{merge}");
    repo.git(&["checkout", "-q", "--ours", "CLAUDE.md"]);
    repo.git(&["add", "CLAUDE.md"]);
    repo.git(&["commit", "-q", "--no-edit"]);
    let who = "--author=claude[bot] <noreply@anthropic.com>";
    repo.git(&["commit", "-q", "--amend", "--no-edit", who]);
    repo.aye(&["check", "--range", "HEAD^1..HEAD"]).exits(1).says("instruction_file_changed");
}

/// What is moved to where it instructs agents has to be approved there as it is.
#[test]
fn a_move_to_where_it_instructs_agents_takes_nothing_along() {
    let repo = repo();
    repo.let_flags_decide();
    repo.commit("Policy");
    repo.git(&["mv", "n.txt", "CLAUDE.md"]);
    let id = repo.aye(&["propose", "--worktree", "n.txt", "CLAUDE.md"]).ok().id();
    repo.git(&["reset", "-q", "--hard"]);
    repo.aye(&["approve", &id, "--yes"]).ok();
    repo.write("n.txt", NUMBERS.replace("12\n", "always\n"));
    repo.commit("Beside");
    repo.git(&["mv", "n.txt", "CLAUDE.md"]);
    let who = "--author=claude[bot] <noreply@anthropic.com>";
    repo.git(&["commit", "-q", "-m", &format!("Move\n\nProposal-Id: {id}"), who]);
    let found = repo.aye(&["check", "--range", "HEAD~1..HEAD"]).exits(1);
    found.says("content_differs").says("instruction_file_changed");
}

/// A merge that names what its branch has is no freer than another one, nor is one of histories without a common commit.
#[test]
fn a_merge_leaves_nothing_out_whatever_it_names() {
    let repo = repo();
    repo.commit("Base");
    let main = repo.git(&["symbolic-ref", "--short", "HEAD"]);
    repo.git(&["switch", "-q", "-c", "side"]);
    let id = commit(&repo, "3", "three");
    repo.git(&["switch", "-q", &main]);
    repo.write("n.txt", NUMBERS.replace("12\n", "fix\n"));
    repo.write("a.txt", "fix\n");
    repo.commit("Fix");
    repo.git(&["switch", "-q", "side"]);
    let message = format!("Merge\n\nProposal-Id: {id}");
    repo.git(&["merge", "-q", "-s", "ours", &main, "-m", &message]);
    let check = ["check", "--range", &format!("{main}..side"), "--require-proposal"];
    repo.aye(&check).exits(1).says("extra_file").says("n.txt").says("a.txt");

    let only = repo.git(&["rev-parse", "HEAD:a.txt"]);
    let tree = repo.program("git").args(&["mktree"]).stdin(format!("100644 blob {only}\ta.txt\n"));
    let tree = tree.run().ok().out().trim().to_owned();
    let orphan = repo.git(&["commit-tree", &tree, "-m", &message]);
    let lost = repo.git(&["commit-tree", &tree, "-p", &main, "-p", &orphan, "-m", "Merge"]);
    let check = ["check", "--range", &format!("{orphan}..{lost}"), "--require-proposal"];
    repo.aye(&check).exits(1).says("error[no_proposal]").says(&lost[..7]);
}

/// A merge can take things out, too: what one side has of a file, and the other one alone has changed.
#[test]
fn a_merge_that_leaves_out_what_git_merges_is_not_gits_own() {
    let bot = |repo: &Repo| {
        let who = "--author=claude[bot] <noreply@anthropic.com>";
        repo.git(&["commit", "-q", "--amend", "--no-edit", who]);
    };
    for file in ["CLAUDE.md", "a.txt"] {
        for is_whole in [false, true] {
            let repo = repo();
            repo.write(file, "# rules\n");
            let base = repo.commit("Base");
            repo.git(&["switch", "-q", "-c", "side"]);
            repo.write("n.txt", NUMBERS.replace("3\n", "three\n"));
            repo.commit("Work");
            bot(&repo);
            repo.git(&["switch", "-q", "-"]);
            repo.write(file, "# rules\n# more\n");
            repo.commit("More");
            let main = repo.git(&["rev-parse", "HEAD"]);
            repo.git(&["switch", "-q", "side"]);
            let ways: [&[&str]; 2] = [&["-s", "ours"], &["-s", "ort"]];
            let way = ways[usize::from(is_whole)];
            repo.git(&[&["merge", "-q", "--no-edit"], way, &[&main]].concat());
            bot(&repo);
            let range = format!("{base}..HEAD");
            let required = ["check", "--range", "HEAD^2..HEAD", "--require-proposal"];
            let run = repo.aye(&["check", "--range", &range]);
            match (is_whole, file) {
                (false, "a.txt") => {
                    run.ok();
                    // The work that it merges has none, either.
                    repo.aye(&required).exits(1).says("no_proposal]: each of 2 commits");
                }
                (false, _) => {
                    run.exits(1).says("instruction_file_changed").says(file);
                }
                (true, _) => {
                    run.ok();
                    repo.aye(&required).exits(1).says("no_proposal]: commit");
                }
            }
        }
    }
}

/// One commit of several, as a squash merge makes it, onto another change of the same file.
#[test]
fn several_approved_steps_in_one_commit_are_merged_one_after_the_other() {
    let repo = repo();
    repo.git(&["switch", "-q", "-c", "side"]);
    let ids = [commit(&repo, "3", "three"), commit(&repo, "9", "nine")];
    repo.git(&["switch", "-q", "-"]);
    repo.write("n.txt", NUMBERS.replace("6\n", "six\n"));
    repo.commit("Theirs");
    repo.git(&["merge", "-q", "--squash", "side"]);
    let [p, r] = &ids;
    let message = format!("Side (#1)\n\nProposal-Id: {p}\nProposal-Id: {r}");
    repo.git(&["commit", "-q", "-m", &message]);
    let check = ["check", "--range", "HEAD~1..HEAD", "--require-proposal"];
    repo.aye(&check).ok().lacks("content_differs");
    // Neither may be missing, nor anything else be there.
    let squashed = repo.text("n.txt");
    for other in [squashed.replace("nine", "9"), squashed.replace("12", "x")] {
        repo.write("n.txt", other);
        repo.git(&["commit", "-q", "-a", "--no-verify", "--amend", "--no-edit"]);
        repo.aye(&check).exits(1).says("content_differs").says(r);
    }
}

/// A decision that was taken back, with the commit that follows: the range ends without it.
#[test]
fn what_was_taken_back_and_is_gone_at_the_end_is_no_finding() {
    let repo = repo();
    let untouched = repo.copy();
    let base = repo.git(&["rev-parse", "HEAD"]);
    let check = ["check", "--range", &format!("{base}..HEAD")];
    let id = commit(&repo, "3", "three");
    repo.aye(&["undo", &id, "--yes"]).ok();
    repo.aye(&check).exits(1).says("not_applied").says("git revert");
    repo.git(&["commit", "-q", "-a", "-m", "Take it back"]);
    repo.aye(&check).ok();

    // The same by git alone.
    let id = commit(&untouched, "5", "five");
    untouched.git(&["revert", "--no-edit", "HEAD"]);
    untouched.aye(&check).ok();
    undo(&untouched, &id);
    untouched.aye(&check).ok();
}

/// What was reset, or taken from another branch, is named again: no commit that HEAD leads to has it.
#[test]
fn a_proposal_is_named_where_its_commit_is_not() {
    let repo = repo();
    repo.aye(&["hooks", "install"]).ok();
    let id = propose(&repo, "n.txt", "3", "three");
    apply(&repo, &id);
    repo.git(&["commit", "-q", "-a", "-m", "One"]);
    assert_eq!(trailers(&repo), id);
    let branch = repo.git(&["branch", "--show-current"]);

    repo.git(&["reset", "-q", "--soft", "HEAD~1"]);
    repo.git(&["commit", "-q", "-m", "Again"]);
    assert_eq!(trailers(&repo), id, "after a reset");

    repo.git(&["switch", "-q", "-c", "other", "HEAD~1"]);
    repo.git(&["checkout", "-q", &branch, "--", "n.txt"]);
    repo.git(&["commit", "-q", "-m", "Taken"]);
    assert_eq!(trailers(&repo), id, "on another branch");

    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.git(&["merge", "-q", "--squash", &branch]);
    repo.git(&["commit", "-q", "-m", "Squashed"]);
    assert_eq!(trailers(&repo), id, "after a squash");

    // HEAD has it: what changes the file next is something else.
    repo.write("a.txt", "b\n");
    repo.git(&["commit", "-q", "-a", "-m", "Another"]);
    assert_eq!(trailers(&repo), "");
}

/// What a shallow clone lacks of the range has not been looked at.
#[test]
fn a_range_that_is_not_whole_is_not_passed() {
    let repo = repo();
    repo.git(&["switch", "-q", "-c", "pr"]);
    repo.write("a.txt", "b\n");
    repo.git(&["commit", "-qam", "By hand\n\nProposal-Id: prop_aaaaaaaaaa"]);
    repo.write("a.txt", "c\n");
    repo.git(&["commit", "-qam", "More"]);
    let range = ["check", "--range", "origin/main..origin/pr"];
    propose(&repo, "n.txt", "3\n", "three\n");
    let build = |depth: &str| {
        let build = Repo::new();
        let origin = format!("file://{}", repo.root().display());
        build.git(&["remote", "add", "origin", &origin]);
        build.git(&["fetch", "-q", depth, "origin"]);
        exchange(&build, &repo);
        build
    };
    build("--depth=1").aye(&range).exits(1).says("error[range_shallow]").says("--unshallow");
    build("--depth=2").aye(&range).exits(1).says("error[range_shallow]");
    let whole = build("--depth=3").aye(&range).exits(1).says("error[unknown_proposal]");
    assert!(!whole.out().contains("range_shallow"), "{whole}");
}

/// Nobody else can know a private proposal, which its own clone says while that can still be changed.
#[test]
fn a_commit_that_names_a_private_proposal_says_so() {
    let repo = repo();
    let args = ["propose", "n.txt", "--old", "3", "--new", "three", "--private", "-q"];
    let id = repo.aye(&args).ok().id();
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let run = repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    run.says("note[unknown_proposal]").says("git commit --amend");
}

/// What was taken along with an apply that was undone was never approved by itself, nor is the way back of an apply
/// that was taken back before the one that stands.
#[test]
fn an_undo_approves_no_more_than_it_puts_back() {
    let repo = repo();
    let planted = NUMBERS.replace("12\n", "PLANTED\n");
    let q = propose(&repo, "n.txt", "3", "three");
    repo.write("n.txt", &planted);
    repo.aye(&["apply", &q, "--yes", "--with-other-changes"]).ok();
    repo.aye(&["undo", &q, "--yes"]).ok();
    assert_eq!(repo.text("n.txt"), planted);
    let other = propose(&repo, "a.txt", "a", "b");
    apply(&repo, &other);
    repo.git(&["commit", "-q", "-am", &format!("x\n\nProposal-Id: {other}")]);
    let check = ["check", "--range", "HEAD~1..HEAD"];
    repo.aye(&check).exits(1).says("error[extra_file]: n.txt");

    repo.write("n.txt", NUMBERS);
    repo.commit("Back");
    for word in ["apply", "undo", "apply"] {
        repo.aye(&[word, &q, "--yes"]).ok();
    }
    repo.git(&["commit", "-q", "-am", &format!("x\n\nProposal-Id: {q}")]);
    repo.aye(&check).ok();
    repo.write("n.txt", NUMBERS);
    let other = propose(&repo, "a.txt", "b", "c");
    apply(&repo, &other);
    repo.git(&["commit", "-q", "-am", &format!("x\n\nProposal-Id: {other}")]);
    repo.aye(&check).exits(1).says("error[extra_file]: n.txt");
}

/// The files of a proposal are not free to be changed by the commit that names it: only what was approved is in it.
#[test]
fn what_was_left_out_of_an_apply_is_approved_by_nobody() {
    let repo = repo();
    repo.aye(&["hooks", "install"]).ok();
    let edits = repo.edits(&[["a.txt", "a", "b"], ["n.txt", "3\n", "three\n"]]);
    let id = repo.agent("codex", &["propose", "--from-json", &edits, "-q"]).ok().id();
    repo.aye(&["apply", &id, "--hunks", "1", "--yes"]).ok();
    let base = repo.git(&["rev-parse", "HEAD"]);
    let check = ["check", "--range", &format!("{base}..HEAD")];
    repo.git(&["commit", "-q", "-am", "As approved"]);
    assert_eq!(trailers(&repo), id);
    repo.aye(&check).ok();
    for other in [NUMBERS.replace("3\n", "three\n"), NUMBERS.replace('5', "x")] {
        repo.write("n.txt", other);
        repo.git(&["commit", "-q", "--no-verify", "--amend", "-a", "--no-edit"]);
        repo.aye(&check).exits(1).says("extra_file").says("n.txt").says(&id);
    }
}

/// A decision that was taken back is a note where the commit holds what it approved, and the range ends without it.
#[test]
fn what_was_undone_frees_no_file() {
    let repo = repo();
    let base = repo.git(&["rev-parse", "HEAD"]);
    let check = ["check", "--range", &format!("{base}..HEAD"), "--require-proposal"];
    let id = propose(&repo, "n.txt", "3\n", "three\n");
    apply(&repo, &id);
    undo(&repo, &id);
    let message = format!("Text\n\nProposal-Id: {id}");
    let commit = |file: &str, text: &str| {
        repo.write(file, text);
        repo.git(&["commit", "-q", "-am", &message]);
    };
    commit("n.txt", &NUMBERS.replace("12", "x"));
    repo.aye(&check).exits(1).says("content_differs").says(&id);
    repo.git(&["reset", "-q", "--hard", &base]);
    // As it was approved, and gone with a later commit.
    commit("n.txt", &NUMBERS.replace("3\n", "three\n"));
    repo.aye(&check).exits(1).says("not_applied").lacks("extra_file");
    // Whatever else is in the file.
    let check = ["check", "--range", &format!("{base}..HEAD")];
    repo.write("n.txt", NUMBERS.replace("3\n", "three\n").replace("12", "x"));
    repo.commit("More");
    repo.aye(&check).exits(1).says("not_applied");
    repo.write("n.txt", NUMBERS.replace("12", "x"));
    repo.commit("Undone");
    repo.aye(&check).ok().says("note[not_applied]");
}

/// There git keeps what is pushed where only git looks.
#[test]
fn a_hook_of_the_receiving_side_is_told_where_to_check() {
    let (repo, server) = (repo(), Repo::bare());
    let url = server.root().to_str().expect("UTF-8");
    repo.git(&["push", "-q", url, "HEAD:refs/heads/main"]);
    let check = |hook: &str, or_fail: &str| {
        let aye = crate::support::tested().display();
        let each = format!("'{aye}' check --range $old..$new {or_fail}");
        let path = format!("hooks/{hook}");
        server.write(&path, format!("#!/bin/sh\nwhile read old new ref; do {each}; done\n"));
        server.chmod(&path, 0o755);
    };
    check("pre-receive", "|| exit 1");
    repo.commit("Pushed");
    let push = ["push", url, "HEAD:refs/heads/main"];
    let run = repo.program("git").args(&push).run();
    run.exits(1).notes("error[invalid_range]").notes("post-receive");
    std::fs::remove_file(server.path("hooks/pre-receive")).expect("removed");
    check("post-receive", "");
    repo.program("git").args(&push).run().ok();
}
