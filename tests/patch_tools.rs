//! Patches as Mercurial, Subversion, CVS, Bazaar, GNU diff and the rarer options of git print them:
//! each is applied as it is meant, or refused by its name, or says what of it is missing.

#![cfg(unix)]

mod support;

use support::Repo;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const HUNK: &str = "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n";
const NEW: &str = "@@ -0,0 +1 @@\n+new\n";

fn patched() -> String {
    LINES.replace('5', "five")
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

/// One name without prefix does not make the other's a folder.
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
    run.fails("patch_invalid", 6).notes("no file name is left");
}
