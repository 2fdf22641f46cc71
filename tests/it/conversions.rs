//! Files that git converts between the work tree and what it stores: line endings, `$Id$`, filter
//! programs. What `git status` calls unchanged is unchanged to aye too.

use crate::support::Repo;
use crate::support::terminal::Terminal;

const PATCH: &str = "--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+more\n three\n";

/// A repository whose work tree is as git checks it out under `config` and `attributes`.
fn converted(config: &[(&str, &str)], attributes: &str, files: &[(&str, &str)]) -> Repo {
    let repo = Repo::with(files);
    for (key, value) in config {
        repo.git(&["config", key, value]);
    }
    if !attributes.is_empty() {
        repo.write(".gitattributes", attributes);
        repo.commit("Attributes");
    }
    for (name, _) in files {
        repo.remove(name);
    }
    repo.git(&["checkout", "-q", "--", "."]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo
}

fn crlf() -> Repo {
    converted(&[("core.autocrlf", "true")], "", &[("a", "one\ntwo\nthree\n"), ("b", "b\n")])
}

#[test]
fn under_autocrlf_a_patch_is_what_git_makes_of_it() {
    for patch in [PATCH.to_owned(), PATCH.replace('\n', "\r\n")] {
        let (ours, theirs) = (crlf(), crlf());
        assert_eq!(ours.text("a"), "one\r\ntwo\r\nthree\r\n");
        ours.aye_stdin(&["patch"], &patch).ok();
        theirs.program("git").args(&["apply", "-"]).stdin(PATCH).run().ok();
        assert_eq!(ours.text("a"), "one\r\nTWO\r\nmore\r\nthree\r\n");
        assert_eq!(ours.text("a"), theirs.text("a"));
        assert_eq!(ours.git(&["diff", "--stat"]), theirs.git(&["diff", "--stat"]));
        ours.aye_stdin(&["patch", "-R"], &patch).ok();
        assert_eq!(ours.git(&["status", "--porcelain"]), "");
        assert_eq!(ours.text("a"), "one\r\ntwo\r\nthree\r\n");
    }
    // New files too.
    let repo = crlf();
    let new = "*** Begin Patch\n*** Add File: n\n+x\n+y\n*** End Patch\n";
    repo.aye_stdin(&["patch", "--index"], new).ok();
    assert_eq!(repo.text("n"), "x\r\ny\r\n");
    assert_eq!(repo.git(&["show", ":n"]), "x\ny");
}

/// One side of the change is the blob that HEAD has, the other the one a commit will have.
#[test]
fn a_proposal_holds_what_git_stores_and_writes_what_git_checks_out() {
    let repo = crlf();
    for args in [
        &["propose", "a", "--old", "one\r\ntwo\r\n", "--new", "one\r\nTWO\r\n"][..],
        &["propose", "a", "--old", "one\ntwo\n", "--new", "one\nTWO\n", "-m", "again"],
    ] {
        let id = repo.aye(args).ok().id();
        let parent = repo.git(&["rev-parse", &format!("refs/aye/pending/{id}^")]);
        assert_eq!(parent, repo.git(&["rev-parse", "HEAD"]), "the files are as HEAD has them");
        assert_eq!(repo.git(&["show", &format!("refs/aye/pending/{id}:a")]), "one\nTWO\nthree");
        repo.aye(&["apply", "--yes", &id]).ok().says("clean");
        assert_eq!(repo.text("a"), "one\r\nTWO\r\nthree\r\n");
        repo.aye(&["undo", "--yes", &id]).ok();
        assert_eq!(repo.text("a"), "one\r\ntwo\r\nthree\r\n");
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn what_is_uncommitted_is_what_git_calls_changed() {
    let repo = crlf();
    repo.write("a", "one\r\nTWO\r\nthree\r\n");
    // Another ending, the same content: no change.
    repo.write("b", "b\n");
    repo.write("new", "n\r\n");
    let id = repo.aye(&["propose", "--worktree"]).ok().id();
    let stat = repo.aye(&["diff", "--stat", &id]).ok().out();
    assert!(stat.contains("2 insertions(+), 1 deletion(-)"), "{stat}");
    assert!(!stat.contains(" b "), "{stat}");
    assert_eq!(repo.text("a"), "one\r\ntwo\r\nthree\r\n");
    assert!(!repo.exists("new"));
    assert_eq!(repo.git(&["diff", "HEAD", "--stat"]), "");
    let patch = repo.aye(&["diff", "--patch", &id]).ok().stdout;
    assert!(!patch.contains(&b'\r'));
    repo.aye(&["apply", "--commit", "--yes", &id]).ok();
    assert_eq!(repo.text("new"), "n\r\n");
    assert_eq!(repo.git(&["show", "HEAD:a"]), "one\nTWO\nthree");
    assert_eq!(repo.git(&["diff", "HEAD", "--stat"]), "");
}

#[test]
fn a_commit_is_proposed_on_files_that_were_checked_out_with_other_endings() {
    let repo = crlf();
    repo.write("a", "one\r\nTWO\r\nthree\r\n");
    repo.commit("Shout");
    let commit = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["checkout", "-q", "--detach", "HEAD^"]);
    let id = repo.aye(&["propose", "--commit", &commit]).ok().id();
    repo.aye(&["apply", "--yes", &id]).ok().says("clean");
    assert_eq!(repo.text("a"), "one\r\nTWO\r\nthree\r\n");
    repo.git(&["add", "a"]);
    assert_eq!(repo.git(&["write-tree"]), repo.git(&["rev-parse", &format!("{commit}^{{tree}}")]));
}

/// A stale proposal on converted files merges as it would without the conversion.
#[test]
fn a_stale_proposal_merges_and_conflict_markers_end_like_the_file() {
    let text = "1\n2\n3\n4\n5\n6\n7\n";
    let repo = converted(&[("core.autocrlf", "true")], "", &[("a", text)]);
    let seven = repo.aye(&["propose", "a", "--old", "7", "--new", "seven"]).ok().id();
    let one = repo.aye(&["propose", "a", "--old", "1", "--new", "one"]).ok().id();
    repo.write("a", text.replace("1\n", "uno\n").replace('\n', "\r\n"));
    repo.aye(&["apply", "--yes", &seven]).ok().says("merged");
    assert_eq!(repo.text("a"), "uno\r\n2\r\n3\r\n4\r\n5\r\n6\r\nseven\r\n");
    repo.aye(&["apply", "--yes", &one]).fails("conflict", 5);
    repo.aye(&["apply", "--yes", "--conflict-markers", &one]).exits(5);
    let marked = repo.text("a");
    assert!(marked.starts_with("<<<<<<< current\r\nuno\r\n=======\r\none\r\n"), "{marked:?}");
    assert_eq!(marked.matches('\n').count(), marked.matches("\r\n").count());
}

/// Files that are not as a checkout writes them keep the lines that a change does not touch.
#[test]
fn lines_that_a_change_does_not_touch_keep_their_bytes() {
    let repo = crlf();
    for (before, after) in [
        ("one\ntwo\nthree\n", "one\nTWO\nmore\nthree\n"),
        ("one\r\ntwo\nthree\n", "one\r\nTWO\r\nmore\r\nthree\n"),
    ] {
        repo.write("a", before);
        repo.aye_stdin(&["patch"], PATCH).ok();
        assert_eq!(repo.text("a"), after);
        repo.aye_stdin(&["patch", "-R"], PATCH).ok();
    }
}

#[test]
fn attributes_decide_per_file() {
    let attributes = "*.win text eol=crlf\n*.bin -text\n*.id ident\ntext=auto\n";
    let files =
        [("a.win", "one\ntwo\n"), ("a.bin", "one\ntwo\n"), ("a.id", "$Id$\none\n"), ("a", "one\n")];
    let repo = converted(&[], attributes, &files);
    assert_eq!(repo.text("a.win"), "one\r\ntwo\r\n");
    assert!(repo.text("a.id").starts_with("$Id: "));
    for name in ["a.win", "a.bin", "a.id", "a"] {
        let id = repo.aye(&["propose", name, "--old", "one", "--new", "eins\nzwei"]).ok().id();
        repo.aye(&["apply", "--yes", "--commit", &id]).ok();
    }
    assert_eq!(repo.text("a.win"), "eins\r\nzwei\r\ntwo\r\n");
    assert_eq!(repo.text("a.bin"), "eins\nzwei\ntwo\n");
    assert_eq!(repo.git(&["show", "HEAD:a.id"]), "$Id$\neins\nzwei");
    // The id is that of the new content, as git's own checkout would write it.
    let ours = repo.text("a.id");
    repo.remove("a.id");
    repo.git(&["checkout", "-q", "--", "a.id"]);
    assert_eq!(repo.text("a.id"), ours);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

/// Stored with CRLF by mistake: `text=auto` leaves such a file alone, and so does aye.
#[test]
fn a_file_stored_with_crlf_keeps_it_under_auto() {
    let repo = Repo::with(&[("a", "one\r\ntwo\r\nthree\r\n")]);
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.aye_stdin(&["patch", "--index"], PATCH).ok();
    assert_eq!(repo.text("a"), "one\r\nTWO\r\nmore\r\nthree\r\n");
    assert_eq!(repo.git(&["diff", "--cached", "--numstat"]), "2\t1\ta");
}

/// What another tool has committed with CRLF, as a new file or over one without: a checkout cannot be told from it.
#[test]
fn a_commit_with_crlf_is_proposed_as_git_would_store_it() {
    let lines = "one\ntwo\n";
    let repo = Repo::with(&[("a", lines), ("kept", "k\r\n"), (".gitattributes", "* text=auto\n")]);
    let blob = |text: &str| {
        let args = ["hash-object", "-w", "--stdin", "--no-filters"];
        repo.program("git").args(&args).stdin(text).run().ok().out().trim().to_owned()
    };
    let stage = |path: &str, text: &str| {
        let info = format!("100644,{},{path}", blob(text));
        repo.git(&["update-index", "--add", "--cacheinfo", &info]);
    };
    stage("kept", "k\r\n");
    repo.git(&["commit", "-q", "-m", "CRLF"]);
    let before = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    for (path, text) in [("new", "x\r\ny\r\n"), ("a", "one\r\ntwo\r\n"), ("kept", "k\r\nl\r\n")] {
        stage(path, text);
    }
    repo.git(&["commit", "-q", "-m", "Of another tool"]);
    let topic = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repo.git(&["reset", "-q", "--hard", &before]);
    let was = repo.text("kept");
    let id = repo.aye(&["propose", "--commit", &topic]).ok().id();
    let has = |path: &str| repo.git(&["show", &format!("refs/aye/pending/{id}:{path}")]);
    assert_eq!((has("new").as_str(), has("kept").as_str()), ("x\ny", "k\r\nl\r"));
    repo.aye(&["diff", &id]).ok().lacks("+++ b/a\n");
    repo.aye(&["apply", "--yes", &id]).ok();
    repo.aye(&["undo", "--yes", &id]).ok();
    assert!(!repo.exists("new"));
    assert_eq!((repo.text("kept"), repo.text("a").as_str()), (was, lines));
    repo.aye(&["apply", "--yes", "--commit", "-m", "Mine", &id]).ok();
    assert_eq!(repo.git(&["show", "HEAD:new"]), "x\ny");
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
}

/// A filter program is never run: patches and edits work on the bytes in the work tree, and what
/// would have to be compared with a commit is refused.
#[test]
fn filter_programs_are_not_run_and_their_files_are_taken_as_they_lie() {
    let repo = Repo::with(&[("big.dat", "one\ntwo\nthree\n"), ("a", "a\n")]);
    repo.write(".gitattributes", "*.dat filter=caesar\n*.u16 working-tree-encoding=UTF-16\n");
    repo.commit("Attributes");
    repo.git(&["config", "filter.caesar.clean", "touch ../ran; cat"]);
    repo.git(&["config", "filter.caesar.smudge", "touch ../ran; cat"]);
    let id = repo.aye(&["propose", "big.dat", "--old", "two", "--new", "TWO"]).ok().id();
    repo.aye(&["apply", "--yes", &id]).ok();
    assert_eq!(repo.text("big.dat"), "one\nTWO\nthree\n");
    assert!(!repo.outer().join("ran").exists(), "a program of the repository's was run");
    repo.write("big.dat", "one\nTWO\nTHREE\n");
    let run = repo.aye(&["propose", "--worktree"]).fails("filtered_file", 6);
    assert!(run.err().contains("'caesar'"), "{run}");
    assert_eq!(repo.text("big.dat"), "one\nTWO\nTHREE\n");
    repo.commit("Change it");
    repo.aye(&["propose", "--commit", "HEAD"]).fails("filtered_file", 6);
    repo.write("x.u16", b"\xff\xfea\0\n\0");
    repo.aye(&["propose", "--worktree", "x.u16"]).fails("filtered_file", 6);
    repo.write("a", "b\n");
    repo.aye(&["propose", "--worktree", "a"]).ok();
    // Without a program the filter's name means nothing, to git as to us.
    repo.git(&["config", "--remove-section", "filter.caesar"]);
    repo.write("big.dat", "one\n");
    repo.aye(&["propose", "--worktree", "big.dat"]).ok();
}

/// Whatever git would have to run to compare a file whose time, or whose content, has changed.
#[test]
fn nothing_that_the_repository_names_as_a_filter_runs_to_compare_a_file() {
    for name in ["evil", "e.vi\u{e4}l", "a=b"] {
        let repo = Repo::with(&[("a", "a\n"), ("b", "b\n")]);
        let ran = repo.outer().join("ran");
        let section = format!("[filter {name:?}]\n");
        let included = repo.outer().join("included");
        let text = format!("{section}process = touch {0}; cat\nrequired = true\n", ran.display());
        std::fs::write(&included, text).expect("write");
        let path = ".git/config";
        let include = format!("[includeIf \"onbranch:main\"]\npath = {}\n", included.display());
        let clean = format!("{section}clean = touch {}; cat\n", ran.display());
        repo.write(path, repo.text(path) + &include + &clean);
        repo.write(".gitattributes", format!("a filter={name}\n"));
        // Compared as it lies there, it is the same, or cannot be proposed.
        for (content, code) in [("a\n", "no_change"), ("A\n", "filtered_file")] {
            repo.write("a", content);
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
            let file = std::fs::File::options().write(true).open(repo.path("a")).expect("open");
            file.set_modified(later).expect("touch");
            repo.aye(&["propose", "--worktree", "a"]).fails(code, 6);
            assert!(!ran.exists(), "{name}: a program of the repository's was run");
        }
        // The others can be proposed.
        repo.write("b", "B\n");
        repo.aye(&["propose", "--worktree", "b"]).ok();
        assert!(!ran.exists(), "{name}: a program of the repository's was run");
    }
}

/// What git stores of such a file is not for everybody who gets the objects: `git-crypt`, say.
#[test]
fn a_proposal_about_a_filtered_file_is_for_nobody_else_and_git_commits_it() {
    let repo = Repo::with(&[("a", "a\n"), (".gitattributes", "*.r filter=rot\n")]);
    repo.git(&["config", "filter.rot.clean", "tr a-z b-za"]);
    repo.git(&["config", "filter.rot.smudge", "tr b-za a-z"]);
    repo.write("f.r", "abc\nxyz\n");
    repo.commit("Rotated");
    assert_eq!(repo.git(&["show", "HEAD:f.r"]), "bcd\nyza");
    let proposed = repo.aye(&["propose", "f.r", "--old", "abc", "--new", "abd"]).ok().id();
    let refs = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/p"]);
    assert_eq!(refs, "", "the text goes to everybody");
    let before = repo.snapshot();
    let run = repo.aye(&["apply", &proposed, "--yes", "--commit"]);
    run.fails("filtered_file", 6).notes("without --commit");
    assert_eq!(repo.snapshot(), before);
    repo.aye(&["apply", &proposed, "--yes"]).ok();
    assert_eq!(repo.text("f.r"), "abd\nxyz\n");
    repo.git(&["commit", "-q", "-a", "-m", "By git"]);
    assert_eq!(repo.git(&["show", "HEAD:f.r"]), "bce\nyza");
    // What is for everybody does not get it either.
    let other = repo.aye(&["propose", "a", "--old", "a", "--new", "b"]).ok().id();
    let edits = serde_json::json!({ "edits": [
        { "file_path": "a", "old_content": "a", "new_content": "c" },
        { "file_path": "f.r", "old_content": "xyz", "new_content": "secret" },
    ]});
    let revise = ["revise", &other, "--from-json", "-"];
    repo.aye_stdin(&revise, edits.to_string()).fails("private_path", 4);
    // Git LFS only stores it elsewhere.
    repo.write(".gitattributes", "*.r filter=lfs\n");
    repo.git(&["config", "filter.lfs.clean", "git-lfs clean"]);
    repo.write("g.r", "one\n");
    repo.commit("Another");
    repo.aye(&["propose", "g.r", "--old", "one", "--new", "two"]).ok();
    let tree = repo.git(&["log", "--format=", "--name-only", "--root", "--glob=refs/aye/p/*"]);
    assert!(tree.contains("after/g.r"), "{tree}");
}

/// Git reads the files by the attributes that the change brings, and would store other bytes.
#[test]
fn attributes_in_the_change_itself_decide_how_its_files_are_written() {
    let repo = Repo::with(&[(".gitattributes", "*.txt text eol=crlf\n"), ("f.txt", "a\nb\n")]);
    repo.let_flags_decide();
    let checkout = ["checkout-index", "--force", "--all"];
    repo.git(&checkout);
    repo.git(&["update-index", "--refresh"]);
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write(".gitattributes", "*.txt -text\n");
    repo.write("f.txt", "a\nB\n");
    repo.write("sub/.gitattributes", "*.txt text eol=crlf\n");
    repo.write("sub/new.txt", "x\n");
    repo.commit("Topic");
    repo.git(&["checkout", "-q", "main"]);
    assert_eq!(repo.read("f.txt"), b"a\r\nb\r\n");
    let id = repo.aye(&["propose", "--commit", "topic", "-q"]).ok().id();
    repo.aye(&["apply", &id, "--yes", "--index"]).ok();
    assert_eq!(repo.read("f.txt"), b"a\nB\n");
    assert_eq!(repo.read("sub/new.txt"), b"x\r\n");
    assert_eq!(repo.git(&["write-tree"]), repo.git(&["rev-parse", "topic^{tree}"]));
    assert_eq!(repo.git(&["diff"]), "");
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.read("f.txt"), b"a\r\nb\r\n");
    repo.git(&["reset", "-q"]);
    assert_eq!(repo.git(&["status", "--short"]), "");
}

/// Commits all that is there as the proposal `id`, and holds it against what was approved.
#[track_caller]
fn committed_as_approved(repo: &Repo, id: &str) {
    repo.git(&["commit", "-qam", "It", "--trailer", &format!("Proposal-Id: {id}")]);
    repo.aye(&["check", "--range", "HEAD~1..", "--require-proposal"]).ok();
    assert_eq!(repo.git(&["show", "--format=", "--numstat"]), "1\t1\ta.txt");
}

#[test]
fn what_an_editor_saves_is_approved_as_git_stores_it() {
    let text: String = (1..40).map(|n| format!("{n}\n")).collect();
    let repo = converted(&[], "*.txt text eol=crlf\n", &[("a.txt", &text)]);
    assert!(repo.text("a.txt").starts_with("1\r\n2\r\n"));
    let args = ["propose", "a.txt", "--old", "5\n6\n", "--new", "5\nSIX\n"];
    let proposed = repo.agent("codex", &args).id();
    let editor = repo.editor("sed -i -e 's/$/\r/' -e 's/SIX/sechs/' \"$1\"");
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm");
    let mut t = Terminal::start(cmd.env("GIT_EDITOR", editor), 40, 100);
    t.sees("+SIX").types("e").sees("+sechs").sees("Write").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(repo.text("a.txt").contains("5\r\nsechs\r\n7\r\n"), "{:?}", repo.text("a.txt"));
    committed_as_approved(&repo, &proposed);
}

#[test]
fn a_suggestion_is_taken_as_git_stores_it() {
    let repo = converted(&[("core.autocrlf", "true")], "", &[("a.txt", "1\n2\n3\n")]);
    let proposed = repo.agent("codex", &["propose", "a.txt", "--old", "2", "--new", "two"]).id();
    let comment =
        ["comment", &proposed, "--path", "a.txt", "--line", "2", "--suggest", "zwei\r", "--json"];
    let comment = repo.aye(&comment).ok().json()["comment_id"].clone();
    let taken = ["revise", &proposed, "--take", comment.as_str().expect("an id")];
    repo.agent("codex", &taken).ok();
    repo.aye(&["apply", &repo.at_revision(&proposed), "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), "1\r\nzwei\r\n3\r\n");
    committed_as_approved(&repo, &proposed);
}
