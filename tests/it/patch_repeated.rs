//! A patch whose changes are there already is recognised; one that was never applied is not.

use crate::support::patches::{after, of, path, read, read_as};
use aye::changeset::patch::{self, codes};
use aye::changeset::{File, Mode};

fn unified(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}")
}

const TWO: &str = "def a():\n    bar()\n\ndef b():\n    fooo()\n";

/// What a patch adds may stand elsewhere, and what it removes may never have been there.
#[test]
fn lines_that_stand_elsewhere_do_not_make_a_patch_applied() {
    let swap = "-    foo()\n+    bar()\n";
    for (content, patch) in [
        (TWO, format!("*** Begin Patch\n*** Update File: f\n@@ def b():\n{swap}*** End Patch\n")),
        (TWO, unified(&format!("@@ -4,4 +4,4 @@\n{swap}"))),
        (TWO, unified(&format!("@@\n{swap}"))),
        (TWO, unified("@@ -5 +5 @@\n-    foo()\n+    bar()\n")),
        // Removed, and context on one side only.
        (TWO, unified("@@\n def b():\n-    foo()\n")),
        (TWO, unified("@@ -9,9 +9,9 @@\n-    foo()\n def b():\n")),
        // Nothing but what is everywhere.
        ("a {\n}\n}\nb {\n", unified("@@ -3,3 +3,2 @@\n }\n-y()\n }\n")),
        // One of two is there.
        (
            "1\nB\n3\n4\n5\n6\n",
            unified("@@ -1,3 +1,3 @@\n 1\n-2\n+B\n 3\n@@ -4 +4,2 @@\n 4\n-x\n+6\n"),
        ),
    ] {
        let error = read(&of(content), &patch).expect_err(&patch);
        assert!(error.is(&codes::HUNK_FAILED), "{patch}{error}");
    }
}

/// Also where the patch shows a mode change beside content that is there already.
#[test]
fn a_mode_that_is_not_there_is_not_applied_yet() {
    let mut tree = of("1\nB\n3\n");
    tree.insert(path("run"), File::regular("x\n"));
    let patch = unified("@@ -1,3 +1,3 @@\n 1\n-2\n+B\n 3\n")
        + "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    assert!(read(&tree, &patch).expect_err("not there").is(&codes::HUNK_FAILED));
    tree.get_mut(&path("run")).expect("it").mode = Mode::Executable;
    assert!(read(&tree, &patch).expect("there").already_applied);
}

#[test]
fn a_patch_that_was_applied_is_not_applied_again() {
    let exact = patch::Options::default();
    let zero = patch::Options { unidiff_zero: true, ..exact.clone() };
    for (content, patch, options) in [
        ("a\nb\nc\n", unified("@@ -2,2 +2 @@\n b\n-c\n"), &exact),
        ("a\nb\nc\n", unified("@@ -1,3 +1,2 @@\n a\n-b\n c\n"), &exact),
        // At the very line its header names, whatever its counts are.
        ("a\nfoo\nc\n", unified("@@ -2 +2 @@\n-foo\n+bar\n"), &zero),
        ("a\nb\n", unified("@@ -1,3 +1,4 @@\n a\n b\n+c\n"), &exact),
    ] {
        let read = |tree: &_| read_as(patch.as_bytes(), tree, options).expect(&patch);
        let first = read(&of(content));
        assert!(!first.already_applied, "{patch}");
        let again = read(&after(&of(content), &first));
        assert!(again.already_applied && again.changeset.changes().is_empty(), "{content}{patch}");
    }
}
