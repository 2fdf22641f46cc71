//! Saying aye: what is written, what is merged, what is refused, and what is recorded.

use crate::support::terminal::Terminal;
use crate::support::{self, Repo, until};

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn repo() -> Repo {
    Repo::with(&[("src/a.txt", FILE), ("b.txt", "b\n")])
}

/// Proposes `old` → `new` in `path` and returns the id.
fn propose(repo: &Repo, path: &str, old: &str, new: &str) -> String {
    repo.aye(&["propose", path, "--old", old, "--new", new, "--json"]).ok().id()
}

fn is_pending(repo: &Repo, id: &str) -> bool {
    repo.try_git(&["rev-parse", "--verify", "--quiet", &format!("refs/aye/pending/{id}")]).status
        == 0
}

/// Every file but the projections of pending proposals.
fn files(repo: &Repo) -> Vec<(String, Vec<u8>)> {
    let mut files = repo.snapshot();
    files.retain(|(name, _)| !name.starts_with(".agent-memory"));
    files
}

/// Nothing of an apply is left lying about.
fn assert_clean(repo: &Repo) {
    let journal = repo.path(".git/aye/journal");
    let left: Vec<_> = std::fs::read_dir(&journal)
        .map(|found| found.flatten().map(|e| e.file_name()).collect())
        .unwrap_or_default();
    assert!(left.iter().all(|name| name == "lock"), "left in the journal: {left:?}");
    let files = files(repo);
    assert!(!files.iter().any(|(name, _)| name.contains(".aye-")), "{files:?}");
}

/// Where git does not look at modes, the one that a change names still is the one it gets.
#[test]
fn modes_are_staged_and_committed_where_git_does_not_look_at_them() {
    let patch = "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n\
         diff --git a/f b/f\nold mode 100644\nnew mode 100755\n\
         diff --git a/x b/x\nold mode 100755\nnew mode 100644\n\
         diff --git a/k b/k\n--- a/k\n+++ b/k\n@@ -1 +1 @@\n-k\n+K\n";
    let base = Repo::with(&[("f", "f\n"), ("x", "x\n"), ("k", "k\n"), ("other", "o\n")]);
    base.git(&["update-index", "--chmod=+x", "x"]);
    base.git(&["commit", "--quiet", "-m", "Executable"]);
    base.let_flags_decide();
    base.git(&["config", "core.fileMode", "false"]);
    base.chmod("k", 0o755);
    base.chmod("other", 0o755);
    let git = base.copy();
    git.git(&["update-index", "-q", "--refresh"]);
    git.program("git").args(&["apply", "--index", "-"]).stdin(patch).run().ok();
    let wanted = git.git(&["write-tree"]);
    for how in ["patch", "index", "commit"] {
        let repo = base.copy();
        if how == "patch" {
            repo.aye_stdin(&["patch", "--index"], patch).ok();
        } else {
            let id = repo.aye_stdin(&["propose", "--patch", "-"], patch).ok().id();
            repo.aye(&["apply", &id, "--yes", &format!("--{how}")]).ok();
        }
        assert_eq!(repo.git(&["write-tree"]), wanted, "{how}");
        if how == "commit" {
            assert_eq!(repo.git(&["rev-parse", "HEAD^{tree}"]), wanted);
            assert_eq!(repo.git(&["status", "--porcelain"]), "");
        }
    }
}

/// What `git -c` says holds for the git commands that an apply runs, too.
#[test]
fn the_configuration_of_the_command_line_reaches_the_commit() {
    let repo = Repo::with(&[("a", "one\n")]);
    repo.script(".git/hooks/pre-commit", "exit 1");
    let id = repo.aye(&["propose", "a", "--old", "one", "--new", "two"]).ok().id();
    let apply = || repo.cmd(&["apply", "--yes", "--commit", &id]);
    apply().run().fails("git_failed", 4);
    apply().env("GIT_CONFIG_PARAMETERS", "'core.hookspath'='/nowhere'").run().ok();
    assert_eq!(repo.git(&["show", "HEAD:a"]), "two");
}

#[test]
fn a_clean_apply_writes_records_and_leaves_nothing_behind() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    assert!(is_pending(&repo, &id));
    let json = repo.aye(&["apply", &id, "--yes", "--json"]).ok().json();
    assert_eq!(json["schema"], "aye/apply@1");
    assert_eq!(json["proposals"][0]["status"], "applied");
    assert_eq!(json["proposals"][0]["files"][0]["outcome"], "clean");
    assert_eq!(json["proposals"][0]["files"][0]["action"], "write");
    assert_eq!(repo.text("src/a.txt"), FILE.replace("two", "TWO"));
    assert!(!is_pending(&repo, &id));
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");
    repo.aye(&["apply", &id, "--yes"]).fails("not_pending", 5);
    assert_clean(&repo);
}

#[test]
fn changes_elsewhere_in_the_file_are_merged() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.write("src/a.txt", FILE.replace("seven", "SEVEN"));
    let json = repo.aye(&["apply", &id, "--yes", "--json"]).ok().json();
    assert_eq!(json["proposals"][0]["files"][0]["outcome"], "merged");
    assert_eq!(repo.text("src/a.txt"), FILE.replace("two", "TWO").replace("seven", "SEVEN"));
}

#[test]
fn a_snippet_whose_neighbours_changed_is_found_again() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.write("src/a.txt", FILE.replace("one", "1").replace("three", "3"));
    let json = repo.aye(&["apply", &id, "--yes", "--json"]).ok().json();
    assert_eq!(json["proposals"][0]["files"][0]["merged_by"], "snippet");
    assert_eq!(repo.text("src/a.txt"), "1\nTWO\n3\nfour\nfive\nsix\nseven\n");
}

#[test]
fn what_is_there_already_is_only_recorded() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.write("src/a.txt", FILE.replace("two", "TWO"));
    let json = repo.aye(&["apply", &id, "--yes", "--json"]).ok().json();
    assert_eq!(json["proposals"][0]["files"][0]["outcome"], "already");
    assert!(!is_pending(&repo, &id));
    assert_clean(&repo);
}

#[test]
fn a_conflict_in_one_file_refuses_the_whole_proposal() {
    let repo = repo();
    let edits = serde_json::json!({ "edits": [
        { "file_path": "src/a.txt", "old_content": "two", "new_content": "TWO" },
        { "file_path": "b.txt", "old_content": "b", "new_content": "B" },
    ]});
    let run = repo.aye_stdin(&["propose", "--from-json", "-", "--json"], edits.to_string()).ok();
    let id = run.id();
    repo.write("src/a.txt", FILE.replace("two", "zwei"));
    let before = files(&repo);
    let json = repo.aye(&["apply", &id, "--yes", "--json"]).fails("conflict", 5).json();
    assert_eq!(json["error"]["details"]["conflicts"][0]["path"], "src/a.txt");
    assert_eq!(json["error"]["details"]["conflicts"][0]["hunks"][0]["line"], 2);
    assert_eq!(json["error"]["details"]["conflicts"][0]["hunks"][0]["current"], "zwei\n");
    assert_eq!(files(&repo), before);
    assert!(is_pending(&repo, &id));

    let json = repo.aye(&["apply", &id, "--dry-run", "--json"]).exits(5).json();
    assert_eq!(json["proposals"][0]["files"][0]["outcome"], "clean");
    assert_eq!(json["proposals"][0]["files"][1]["outcome"], "conflict");
    assert_eq!(files(&repo), before);

    repo.aye(&["apply", &id, "--yes", "--conflict-markers"]).exits(5);
    let marked = format!("<<<<<<< current\nzwei\n=======\nTWO\n>>>>>>> {id}\n");
    assert_eq!(repo.text("src/a.txt"), FILE.replace("two\n", &marked));
    assert_eq!(repo.text("b.txt"), "B\n");
    assert!(is_pending(&repo, &id), "with markers it stays pending");
    assert_clean(&repo);
}

#[test]
fn a_deletion_takes_emptied_directories_along_and_undo_brings_them_back() {
    let repo = repo();
    let id = repo.aye(&["propose", "src/a.txt", "--delete", "--json"]).ok().id();
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert!(!repo.exists("src"));
    let json = repo.aye(&["undo", &id, "--yes", "--json"]).ok().json();
    assert_eq!(json["proposals"][0]["status"], "pending");
    assert_eq!(repo.text("src/a.txt"), FILE);
    assert!(is_pending(&repo, &id), "an undone proposal can be applied again");
    repo.aye(&["undo", &id, "--yes"]).fails("not_applied", 5);
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert!(!repo.exists("src"));
}

#[test]
fn undo_keeps_later_changes_elsewhere_and_refuses_in_the_same_lines() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.write("src/a.txt", repo.text("src/a.txt").replace("TWO", "Two"));
    repo.aye(&["undo", &id, "--yes"]).fails("conflict", 5);
    assert!(repo.text("src/a.txt").contains("Two"));
    repo.write("src/a.txt", FILE.replace("two", "TWO").replace("seven", "SEVEN"));
    repo.aye(&["undo", &id, "--dry-run"]).ok().says("merged");
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text("src/a.txt"), FILE.replace("seven", "SEVEN"));
}

/// What is taken back is shown before the question, and nothing else is written after it.
#[test]
fn undo_shows_what_it_writes() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.aye(&["apply", &id, "--yes"]).ok();
    let mut terminal = Terminal::start(repo.cmd(&["undo", &id]), 40, 100);
    terminal.sees("-TWO").sees("+two").sees(" [y,n,?]");
    let edited = repo.text("src/a.txt").replace("seven", "SEVEN");
    repo.write("src/a.txt", &edited);
    terminal.types("y").sees("changed_since_shown");
    assert_eq!(terminal.ends(), 5);
    assert_eq!(repo.text("src/a.txt"), edited);
    let mut terminal = Terminal::start(repo.cmd(&["undo", &id]), 40, 100);
    terminal.sees("+two").sees(" [y,n,?]").types("y").sees("undone");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(repo.text("src/a.txt"), FILE.replace("seven", "SEVEN"));
}

#[test]
fn an_undo_of_what_is_nowhere_names_no_other_work_tree() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.git(&["stash", "-q"]);
    repo.aye(&["undo", &id, "--yes"]).ok().notes("git stash list");
}

#[test]
fn mark_only_records_without_touching_a_file() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    let before = files(&repo);
    repo.aye(&["apply", &id, "--yes", "--mark-only"]).ok();
    assert_eq!(files(&repo), before);
    assert!(!is_pending(&repo, &id));
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(is_pending(&repo, &id));
}

#[test]
fn index_stages_just_these_files() {
    let repo = repo();
    repo.write("b.txt", "my own work\n");
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.aye(&["apply", &id, "--yes", "--index"]).ok();
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "src/a.txt");
    assert_eq!(repo.git(&["diff", "--name-only"]), "b.txt");
}

#[test]
fn commit_takes_just_these_files_and_names_proposal_proposer_and_reviewer() {
    let repo = repo();
    repo.write("b.txt", "my own work\n");
    repo.git(&["add", "b.txt"]);
    repo.write("staged-too.txt", "x\n");
    repo.git(&["add", "staged-too.txt"]);
    let id = repo
        .agent(
            "robbie",
            &["propose", "src/a.txt", "--old", "two", "--new", "TWO", "-m", "Shout two", "--json"],
        )
        .ok()
        .id();
    let json = repo.aye(&["apply", &id, "--yes", "--commit", "--json"]).ok().json();
    assert_eq!(json["proposals"][0]["commit"], repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(
        repo.git(&["diff-tree", "--no-commit-id", "--name-only", "-r", "HEAD"]),
        "src/a.txt"
    );
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Shout two");
    let trailers = repo.git(&["log", "-1", "--format=%(trailers:unfold)"]);
    assert_eq!(
        trailers.trim(),
        format!(
            "Proposal-Id: {id}\nProposed-by: robbie\nReviewed-by: {} <{}>",
            support::NAME,
            support::EMAIL
        )
    );
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "b.txt\nstaged-too.txt");
}

#[test]
fn agents_are_named_with_their_model_where_that_is_wanted() {
    let repo = repo();
    repo.git(&["config", "aye.assistedBy", "true"]);
    let propose = ["propose", "src/a.txt", "--old", "two", "--new", "TWO", "--json"];
    let named = repo.cmd(&propose).env("AYE_AGENT", "robbie").env("AYE_MODEL", "m 1:2").run();
    let id = named.ok().id();
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Proposed-by: robbie\nAssisted-by: robbie:m-1-2\nReviewed-by:"),
        "{message}"
    );
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    // What a person proposed has no assistant.
    let id = repo.aye(&["propose", "src/a.txt", "--old", "TWO", "--new", "2"]).id();
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert!(!repo.git(&["log", "-1", "--format=%B"]).contains("Assisted-by"));
}

#[test]
fn a_new_file_and_a_deleted_one_are_committed_too() {
    let repo = repo();
    repo.write(".gitignore", "*.log\n");
    repo.commit("Ignore logs");
    let edits = serde_json::json!({ "edits": [
        { "file_path": "new dir/ü *.log", "old_content": "", "new_content": "new\n" },
        { "file_path": "b.txt", "delete": true },
    ]});
    let id =
        repo.aye_stdin(&["propose", "--from-json", "-", "--json"], edits.to_string()).ok().id();
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let names = repo.git(&["diff-tree", "--no-commit-id", "--name-status", "-r", "-z", "HEAD"]);
    assert_eq!(names, "D\0b.txt\0A\0new dir/ü *.log\0");
    assert_eq!(repo.git(&["status", "--porcelain", "--", "new dir", "b.txt"]), "");
}

/// Nor is a file that git does not know taken along with an edit of it.
#[test]
fn a_commit_of_an_edit_refuses_an_untracked_file() {
    let repo = repo();
    repo.write("u.txt", "one\ntwo\n");
    let id = propose(&repo, "u.txt", "two", "TWO");
    let before = files(&repo);
    for more in [&["--yes", "--commit"][..], &["--yes", "--commit", "--with-other-changes"]] {
        repo.aye(&[&["apply", &id], more].concat()).fails("uncommitted_changes", 5);
        assert_eq!(files(&repo), before);
    }
    // One that is made has nothing else in it, not even where it is there already.
    let made = repo.agent("bot", &["propose", "new.txt", "--content", "new\n"]).ok().id();
    repo.write("new.txt", "new\n");
    repo.aye(&["apply", &made, "--yes", "--commit"]).ok();
    assert_eq!(repo.git(&["show", "--format=", "--name-only", "HEAD"]).trim(), "new.txt");
}

#[test]
fn a_commit_refuses_to_take_someones_own_changes_along() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.write("src/a.txt", FILE.replace("seven", "my own work"));
    let before = files(&repo);
    repo.aye(&["apply", &id, "--yes", "--commit"]).fails("uncommitted_changes", 5);
    assert_eq!(files(&repo), before);
    assert!(is_pending(&repo, &id));
    assert_eq!(repo.git(&["log", "--oneline", "--all", "--", "src/a.txt"]).lines().count(), 2);
}

#[test]
fn a_hook_that_refuses_the_commit_leaves_everything_as_it_was() {
    let repo = repo();
    repo.script(".git/hooks/pre-commit", "echo 'no commits on Sundays' >&2\nexit 1");
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    let before = files(&repo);
    let run = repo.aye(&["apply", &id, "--yes", "--commit"]).fails("git_failed", 4);
    assert!(run.err().contains("Sundays"));
    assert_eq!(files(&repo), before);
    assert_eq!(repo.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    assert!(is_pending(&repo, &id));
    assert_clean(&repo);
}

#[test]
fn a_commit_hook_may_run_aye() {
    let repo = repo();
    let hook = format!("exec {} propose b.txt --old b --new B", env!("CARGO_BIN_EXE_aye"));
    repo.script(".git/hooks/pre-commit", &hook);
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert_eq!(repo.git(&["for-each-ref", "refs/aye/pending"]).lines().count(), 1);
}

#[test]
fn only_a_person_or_a_flag_decides() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    let before = files(&repo);
    repo.aye(&["apply", &id]).fails("confirmation_required", 4);
    let run = repo.agent("robbie", &["apply", &id, "--yes", "--commit"]);
    let run = run.fails("human_approval_required", 4);
    assert!(run.err().contains(&format!("aye apply {id} --commit")), "{run}");
    repo.agent("robbie", &["apply", &id, "--dry-run"]).ok();
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.agent("robbie", &["undo", &id, "--yes"]).fails("human_approval_required", 4);
    repo.aye(&["undo", &id]).fails("confirmation_required", 4);
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(files(&repo), before);
}

#[test]
fn several_proposals_are_planned_on_top_of_each_other() {
    let repo = repo();
    let first = propose(&repo, "src/a.txt", "two", "TWO");
    let second = propose(&repo, "src/a.txt", "six", "SIX");
    let third = propose(&repo, "src/a.txt", "two", "zwei");
    let before = files(&repo);
    repo.aye(&["apply", &first, &second, &third, "--yes"]).fails("conflict", 5);
    assert_eq!(files(&repo), before, "none is applied if one does not fit");
    repo.aye(&["apply", &first, &second, &first, "--yes"]).ok();
    assert_eq!(repo.text("src/a.txt"), FILE.replace("two", "TWO").replace("six", "SIX"));
}

#[test]
fn modes_bytes_and_line_endings_survive() {
    let repo = Repo::new();
    repo.write("run.sh", b"#!/bin/sh\r\necho \xff\r\nexit 0");
    repo.chmod("run.sh", 0o755);
    repo.commit("Start");
    let id = propose(&repo, "run.sh", "exit 0", "exit 1");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert_eq!(repo.read("run.sh"), b"#!/bin/sh\r\necho \xff\r\nexit 1");
    assert_eq!(repo.mode("run.sh"), 0o755);
    assert_eq!(repo.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn what_stands_in_the_way_at_apply_time_is_refused_by_name() {
    for (code, prepare) in [
        (
            "symlink_in_way",
            (|repo: &Repo| {
                std::fs::rename(repo.path("src"), repo.path("real")).expect("renamed");
                repo.symlink("real", "src");
            }) as fn(&Repo),
        ),
        ("symlink_in_way", |repo| {
            std::fs::rename(repo.path("src/a.txt"), repo.path("src/real")).expect("renamed");
            repo.symlink("real", "src/a.txt");
        }),
        ("hard_link", |repo| {
            std::fs::hard_link(repo.path("src/a.txt"), repo.outer().join("link")).expect("linked");
        }),
        ("setuid_file", |repo| repo.chmod("src/a.txt", 0o4755)),
        ("in_submodule", |repo| std::fs::create_dir(repo.path("src/.git")).expect("made")),
        ("is_a_directory", |repo| {
            repo.remove("src/a.txt");
            std::fs::create_dir(repo.path("src/a.txt")).expect("made");
        }),
    ] {
        let repo = repo();
        let id = propose(&repo, "src/a.txt", "two", "TWO");
        prepare(&repo);
        let before = files(&repo);
        repo.aye(&["apply", &id, "--yes"]).fails(code, 6);
        assert_eq!(files(&repo), before, "{code}");
        assert!(is_pending(&repo, &id), "{code}");
    }
}

#[test]
fn a_bare_repository_has_no_files_to_apply_to() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.git(&["config", "core.bare", "true"]);
    repo.aye(&["-C", ".git", "apply", &id, "--yes"]).fails("bare_repository", 4);
    repo.aye(&["-C", ".git", "apply", &id, "--yes", "--mark-only"]).ok();
}

#[test]
fn a_linked_work_tree_applies_to_its_own_files() {
    let repo = repo();
    let id = propose(&repo, "src/a.txt", "two", "TWO");
    repo.git(&["worktree", "add", "--quiet", "../linked"]);
    let args = ["apply", &id, "--yes", "--commit", "--any-branch"];
    repo.cmd(&args).dir(repo.outer().join("linked")).run().ok();
    assert_eq!(repo.text("../linked/src/a.txt"), FILE.replace("two", "TWO"));
    assert_eq!(repo.text("src/a.txt"), FILE);
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "linked"]), "Change src/a.txt");
}

#[test]
fn a_new_file_that_git_ignores_is_named_where_it_gets_into_history() {
    for how in ["--commit", "--index"] {
        let repo = Repo::with(&[("a.txt", "a\n"), (".gitignore", "ign/\n")]);
        let args = ["propose", "ign/n.txt", "--content", "n\n", "-m", "x", "-q"];
        let id = repo.aye(&args).ok().id();
        repo.aye(&["apply", &id, how, "--yes"]).ok().notes("ign/n.txt");
        let id = repo.aye(&["propose", "a.txt", "--old", "a", "--new", "b", "-q"]).ok().id();
        let run = repo.aye(&["apply", &id, "--yes"]).ok();
        assert!(!run.err().contains("ignores"), "{run}");
    }
}

#[test]
fn an_unborn_branch_gets_its_first_commit() {
    let repo = Repo::new();
    let id = repo
        .aye_stdin(&["propose", "first.txt", "--content-file", "-", "--json"], "hi\n")
        .ok()
        .id();
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert_eq!(repo.git(&["ls-tree", "--name-only", "HEAD"]), "first.txt");
}

/// A checkout that is under way holds the index, and would sweep away what is written beside it.
#[test]
fn a_checkout_under_way_keeps_an_apply_from_writing() {
    let repo = repo();
    repo.write(".gitattributes", "slow filter=slow\n");
    repo.write("slow", "slow\n");
    repo.commit("A file that takes its time");
    let id = propose(&repo, "b.txt", "b", "B");
    let (inside, go) = (repo.outer().join("inside"), repo.outer().join("go"));
    let wait = format!(
        "touch {}; while ! test -e {}; do sleep 0.02; done; cat",
        inside.display(),
        go.display()
    );
    repo.remove("slow");
    let checkout = repo
        .program("git")
        .args(&["-c", &format!("filter.slow.smudge={wait}"), "checkout", "--", "slow"])
        .spawn();
    until("git writes the file", || inside.exists());
    let before = files(&repo);
    repo.aye(&["apply", &id, "--yes"]).fails("index_locked", 7);
    assert_eq!(files(&repo), before);
    assert!(is_pending(&repo, &id));
    assert_clean(&repo);
    std::fs::write(&go, "").expect("written");
    checkout.wait().ok();
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("b.txt"), "B\n");
    assert!(repo.path(".git/index.lock").symlink_metadata().is_err());
    repo.git(&["add", "b.txt"]);
}

/// What a killed aye has left is nobody else's: the next command removes it, and git's stays.
#[test]
fn the_lock_of_another_program_is_left_alone() {
    let repo = repo();
    let id = propose(&repo, "b.txt", "b", "B");
    repo.symlink("aye-0123456789abcdef", ".git/index.lock");
    repo.aye(&["list"]).ok();
    repo.aye(&["apply", &id, "--yes"]).fails("index_locked", 7);
    assert!(repo.path(".git/index.lock").symlink_metadata().is_ok());
    repo.aye(&["apply", &id, "--yes", "--index"]).fails("index_locked", 7);
}

/// What git's attribute `merge` takes for binary is a conflict as a whole; every other value is text.
#[test]
fn attributes_say_which_files_are_merged_line_by_line() {
    let merged = |attributes: &str, config: &[&str]| {
        let repo = Repo::with(&[("f", FILE), (".gitattributes", attributes)]);
        if !config.is_empty() {
            repo.git(config);
        }
        let id = propose(&repo, "f", "one", "ONE");
        repo.git(&["switch", "-q", "-c", "theirs"]);
        repo.write("f", FILE.replace("one", "ONE"));
        repo.commit("theirs");
        repo.git(&["switch", "-q", "main"]);
        repo.write("f", FILE.replace("seven", "SEVEN"));
        repo.commit("ours");
        let run = repo.aye(&["apply", &id, "--yes"]);
        let both = FILE.replace("one", "ONE").replace("seven", "SEVEN");
        let is_merged = run.status == 0;
        match is_merged {
            true => assert_eq!(repo.text("f"), both, "{attributes}"),
            false => {
                let run = run.fails("conflict", 5);
                assert!(!run.err().contains("--conflict-markers"), "{run}");
                assert_eq!(repo.text("f"), FILE.replace("seven", "SEVEN"), "{attributes}");
                repo.aye(&["apply", &id, "--yes", "--conflict-markers"]).fails("conflict", 5);
                repo.aye(&["check"]).exits(1).says("conflict");
                repo.commit("What a trial begins with");
                repo.aye(&["try", &id, "--", "true"]).fails("conflict", 5);
            }
        }
        repo.git(&["reset", "-q", "--hard"]);
        let git = repo.try_git(&["merge", "-q", "--no-edit", "theirs"]);
        assert_eq!(git.status == 0, is_merged, "{attributes}");
        is_merged
    };
    for attributes in ["f -merge\n", "f binary\n"] {
        assert!(!merged(attributes, &[]), "{attributes}");
    }
    for attributes in ["f merge\n", "f merge=nobody\n", "x -merge\n"] {
        assert!(merged(attributes, &[]), "{attributes}");
    }
    assert!(!merged("x -merge\n", &["config", "merge.default", "binary"]));
    // Changed on one side only, it is written.
    let repo = Repo::with(&[("f", FILE), (".gitattributes", "f -merge\n")]);
    let id = propose(&repo, "f", "one", "ONE");
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("f"), FILE.replace("one", "ONE"));
}

/// Where a hook refuses a later one, what was committed before it is printed.
#[test]
fn a_failure_after_a_commit_names_what_was_committed() {
    let repo = repo();
    let (one, two) = (propose(&repo, "src/a.txt", "two", "TWO"), propose(&repo, "b.txt", "b", "c"));
    repo.script(".git/hooks/pre-commit", "! git diff --cached | grep -q '^+c'");
    let run = repo.aye(&["apply", &one, &two, "--commit", "--yes"]).exits(4);
    let head = repo.git(&["rev-parse", "--short=12", "HEAD"]);
    run.says(&format!("{one}  applied")).says(head.trim()).lacks(&two).notes("git_failed");
    assert!(is_pending(&repo, &two));
    let json = repo.aye(&["apply", &two, "--commit", "--yes", "--json"]).exits(4).json();
    assert_eq!(json["success"], false, "{json}");
}
