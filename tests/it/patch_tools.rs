//! Patches as Mercurial, Subversion, GNU diff and the rarer options of git print them:
//! each is applied as it is meant, or refused by its name, or says what of it is missing.

use crate::support::Repo;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const HUNK: &str = "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n";
const NEW: &str = "@@ -0,0 +1 @@\n+new\n";

fn patched() -> String {
    LINES.replace('5', "five")
}

/// `hg export --git` and `hg log --patch --git` of three commits, whose first message quotes what
/// looks like a patch: a file that a commit makes is another's to rename.
#[test]
fn changesets_of_mercurial_build_on_each_other() {
    let export = |id: &str, message: &str| {
        format!(
            "# HG changeset patch\n# User me\n# Date 1795409072 0\n\
             #      Mon Nov 23 04:44:32 2026 +0000\n# Node ID {id}\n# Parent  {id}\n{message}\n\n"
        )
    };
    let log = |id: &str, message: &str| {
        format!(
            "changeset:   3:{id}\ntag:         tip\nuser:        me\n\
             date:        Mon Nov 23 04:44:32 2026 +0000\ndescription:\n{message}\n\n\n"
        )
    };
    let quoting = "Why\n\n- a list\n@@ -1 +1 @@\n-x\n+y\nOnly in a: b";
    let add =
        format!("diff --git a/one b/one\nnew file mode 100644\n--- /dev/null\n+++ b/one\n{NEW}");
    let rename = "diff --git a/one b/two\nrename from one\nrename to two\n";
    let edit = "diff --git a/two b/two\n--- a/two\n+++ b/two\n@@ -1,1 +1,2 @@\n new\n+more\n";
    for header in [&export as &dyn Fn(&str, &str) -> String, &log] {
        let repo = Repo::with(&[("f", LINES)]);
        let patch = header("a219156df95c", quoting)
            + &add
            + &header("9645aeca854f", "Rename it")
            + rename
            + &header("cc8f5e0bc640", "Fill its place")
            + &add
            + edit;
        let run = repo.aye_stdin(&["patch", "--json"], &patch).ok();
        assert!(!run.out().contains("notes"), "{run}");
        assert_eq!((repo.text("one"), repo.text("two")), ("new\n".into(), "new\nmore\n".into()));
    }
}

/// What no side of a patch holds is said, once for each change.
#[test]
fn changes_that_other_programs_only_announce_are_named() {
    let rule = "=".repeat(67);
    let svn = |name: &str| format!("Index: {name}\n{rule}\n");
    let change = format!("--- f\n+++ f\n{HUNK}");
    for (text, line) in [
        ("Symbolic links a/l and b/l differ\n".to_owned(), "Symbolic links"),
        ("File a/l is a directory while file b/l is a regular file\n".to_owned(), "File a/l is a"),
        ("* Unmerged path g\n".to_owned(), "* Unmerged path g"),
        ("Submodule lib contains modified content\n".to_owned(), "Submodule lib contains"),
        ("Submodule lib contains untracked content\n".to_owned(), "Submodule lib contains"),
    ] {
        for patch in [format!("{text}{}{change}", svn("f")), format!("{}{change}{text}", svn("f"))]
        {
            let repo = Repo::with(&[("f", LINES)]);
            let run = repo.aye_stdin(&["patch", "--json"], &patch).ok();
            let told = format!("'{line}");
            assert_eq!(run.out().matches(&told).count(), 1, "{patch}\n{run}");
            assert_eq!(repo.text("f"), patched());
        }
    }
    // Where the change is below, nothing is missing.
    let old = "diff -u -r1.2 f\n--- f\t1 Jan 2001 00:00:00 -0000\t1.2\n\
               +++ f\t2 Jan 2001 00:00:00 -0000\n";
    for patch in [
        svn("f") + &change,
        svn("f") + "RCS file: /cvs/f,v\nretrieving revision 1.2\n" + old + HUNK,
        format!("{}diff --git a/f b/f\n--- a/f\t(revision 2)\n+++ b/f\n{HUNK}", svn("f")),
    ] {
        let repo = Repo::with(&[("f", LINES)]);
        let run = repo.aye_stdin(&["patch", "--json"], &patch).ok();
        let notes = run.json()["notes"].clone();
        let told = notes.as_array().into_iter().flatten().filter_map(|note| note.as_str());
        assert!(!told.into_iter().any(|note| note.starts_with("line ")), "{patch}\n{run}");
    }
}

/// Whatever stands above it, where git and GNU patch take it for text.
#[test]
fn a_diff_without_context_is_refused_below_a_patch_of_another_file() {
    let repo = Repo::with(&[("f", LINES), ("g", LINES)]);
    let change = format!("--- a/f\n+++ b/f\n{HUNK}");
    for (text, line) in [
        ("5c5\n< 5\n---\n> V\n", 10),
        ("\nIndex: g\n=====\n5c5\n< 5\n---\n> V\n", 13),
        ("Index: g\n5c\nV\n.\n", 11),
    ] {
        let run = repo.aye_stdin(&["patch", "--format", "text"], change.clone() + text);
        run.fails("patch_invalid", 6).notes(&format!("line {line} "));
    }
    assert_eq!(repo.text("f"), LINES);
}

/// `diff -u src/x.orig src/x` at the top, where git finds no `x`, or another.
#[test]
fn the_names_of_a_copy_that_was_kept_have_no_prefix() {
    for top in [&[][..], &[("x", LINES)]] {
        let files = [&[("src/x", LINES)][..], top].concat();
        for names in ["--- src/x.orig\n+++ src/x\n", "--- src/x\n+++ src/x.new\n"] {
            let repo = Repo::with(&files);
            repo.aye_stdin(&["patch"], format!("{names}{HUNK}")).ok();
            assert_eq!(repo.text("src/x"), patched(), "{names}");
            assert!(top.is_empty() || repo.text("x") == LINES, "{names}");
        }
    }
}

/// One name without prefix does not make the other's a directory.
#[test]
fn a_name_with_a_prefix_loses_it_whatever_the_other_is() {
    let base = Repo::with(&[("f", LINES), ("b/f", LINES)]);
    for (names, body, path) in [
        ("--- f\n+++ b/f\n", HUNK, "f"),
        ("--- a/f\n+++ f\n", HUNK, "f"),
        ("--- n\n+++ b/n\n", NEW, "n"),
        ("--- NUL\n+++ b/n\n", NEW, "n"),
        ("--- \\dev\\null\n+++ b/n\n", NEW, "n"),
    ] {
        let repo = base.copy();
        let run = repo.aye_stdin(&["patch", "--json"], format!("{names}{body}")).ok();
        run.says(&format!("\"path\": \"{path}\""));
        assert!(!repo.exists("b/n") && repo.text("b/f") == LINES, "{names}");
    }
    // With -p it is taken as said.
    let run =
        base.aye_stdin(&["patch", "-p1", "--format", "text"], format!("--- f\n+++ b/f\n{HUNK}"));
    run.fails("patch_invalid", 6);
}

/// `git diff --no-index f /tmp/g`: git moves the file without a word.
#[test]
fn a_move_that_the_patch_does_not_tell_of_is_named() {
    let (ours, theirs) = (Repo::with(&[("f", LINES)]), Repo::with(&[("f", LINES)]));
    let patch = format!("diff --git a/f b/tmp/g\n--- a/f\n+++ b/tmp/g\n{HUNK}");
    let run = ours.aye_stdin(&["patch", "--json"], &patch).ok();
    assert_eq!(run.json()["notes"].as_array().map(Vec::len), Some(1), "{run}");
    theirs.program("git").args(&["apply", "-"]).stdin(&patch).run().ok();
    assert_eq!((ours.exists("f"), ours.text("tmp/g")), (theirs.exists("f"), theirs.text("tmp/g")));
}

/// Git takes the one, GNU patch both.
#[test]
fn space_in_a_header_does_not_part_it_from_its_hunks() {
    for (patch, count) in [
        (format!("diff --git a/f b/f\n\n--- a/f\n+++ b/f\n{HUNK}"), 1),
        (format!("--- a/f\n+++ b/f\n\n{HUNK}"), 1),
        (format!("diff --git a/f b/f\nindex 1234567..89abcde\n\n--- a/f\n+++ b/f\n \n\n{HUNK}"), 1),
        (format!("--- a/g\n+++ b/g\n{HUNK}\n--- a/f\n+++ b/f\n\n{HUNK}"), 2),
    ] {
        let repo = Repo::with(&[("f", LINES), ("g", LINES)]);
        let run = repo.aye_stdin(&["patch", "--json"], &patch).ok();
        assert_eq!(run.out().matches("\"action\"").count(), count, "{patch}");
        assert_eq!(repo.text("f"), patched(), "{patch}");
    }
}

#[test]
fn a_remark_on_the_final_newline_needs_no_blank() {
    let patch =
        |remark: &str| format!("--- a/f\n+++ b/f\n@@ -7,3 +7,3 @@\n 7\n 8\n-9\n+nine\n{remark}\n");
    for remark in ["\\ No newline at end of file", "\\No newline at end of file", "\\ Kein Umbruch"]
    {
        let repo = Repo::with(&[("f", LINES)]);
        repo.aye_stdin(&["patch"], patch(remark)).ok();
        assert_eq!(repo.text("f"), LINES.replace("9\n", "nine"), "{remark}");
    }
}

/// Forms of git that are for the eye.
#[test]
fn what_git_prints_for_the_eye_is_refused_by_its_name() {
    let repo = Repo::with(&[("f", LINES), ("gone", "x\n")]);
    repo.git(&["checkout", "--quiet", "-b", "topic"]);
    repo.write("f", LINES.replace('5', "V"));
    repo.git(&["commit", "--quiet", "--all", "-m", "V"]);
    repo.git(&["checkout", "--quiet", "-"]);
    repo.write("f", patched());
    repo.git(&["rm", "--quiet", "gone"]);
    let text = "--format=text";
    for (args, option) in [
        (&["diff", "HEAD", "--word-diff"][..], "--word-diff"),
        (&["diff", "HEAD", "--word-diff=porcelain"], "--word-diff"),
        (&["diff", "HEAD", "-D", "--", "gone"], "--irreversible-delete"),
    ] {
        let run = repo.aye_stdin(&["patch", text], repo.git(args) + "\n");
        run.fails("patch_invalid", 6).notes(option);
    }
    repo.git(&["commit", "--quiet", "--all", "-m", "five"]);
    repo.program("git").args(&["merge", "--quiet", "topic"]).run();
    repo.write("f", LINES.replace('5', "5.0"));
    repo.git(&["commit", "--quiet", "--all", "-m", "Both"]);
    let before = repo.snapshot();
    for option in ["--cc", "-c", "--remerge-diff"] {
        let run = repo.aye_stdin(&["patch", text], repo.git(&["show", option]) + "\n");
        run.fails("patch_invalid", 6).notes("merge");
    }
    assert!(repo.snapshot() == before);
}
