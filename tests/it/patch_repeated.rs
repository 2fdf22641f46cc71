//! A patch whose changes are there already is recognised; one that was never applied is not.

use crate::support::patches::{after, of, path, read};
use aye::changeset::patch::{self, codes};
use aye::changeset::{File, Mode};

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n")
}

fn unified(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}")
}

const TWO: &str = "def a():\n    bar()\n\ndef b():\n    fooo()\n";

/// What a patch adds may stand elsewhere, and what it removes may never have been there.
#[test]
fn lines_that_stand_elsewhere_do_not_make_a_patch_applied() {
    let swap = "-    foo()\n+    bar()\n";
    for (content, patch) in [
        (TWO, envelope(&format!("@@ def b():\n{swap}"))),
        (TWO, envelope(&format!("@@\n{swap}"))),
        (TWO, envelope(&format!("@@\n{swap}*** End of File\n"))),
        (TWO, unified(&format!("@@ -4,4 +4,4 @@\n{swap}"))),
        (TWO, unified(&format!("@@\n{swap}"))),
        (TWO, unified("@@ -5 +5 @@\n-    foo()\n+    bar()\n")),
        // In the block of another anchor.
        ("def a():\n    fooo()\ndef b():\n    bar()\n", envelope(&format!("@@ def a():\n{swap}"))),
        // Removed, and context on one side only.
        (TWO, envelope("@@\n def b():\n-    foo()\n")),
        (TWO, envelope("@@ def b():\n-    foo()\n")),
        (TWO, envelope("@@\n-    foo()\n")),
        (TWO, unified("@@\n def b():\n-    foo()\n")),
        (TWO, unified("@@ -9,9 +9,9 @@\n-    foo()\n def b():\n")),
        // Nothing but what is everywhere.
        ("a {\n}\n}\nb {\n", envelope("@@\n }\n-y()\n }\n")),
        ("a\n\nb\n", envelope("@@\n a\n-c\n+\n")),
        // One of two is there.
        ("1\nB\n3\n4\n5\n6\n", envelope("@@\n 1\n-2\n+B\n 3\n@@\n 4\n-x\n+6\n")),
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
    let twenty: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let exact = patch::Options::default();
    let zero = patch::Options { unidiff_zero: true, ..exact.clone() };
    for (content, patch, options) in [
        // Context that fits but for its blanks or its typography.
        ("  a  \n\tb\nc\n", envelope("@@\n a\n+new\n"), &exact),
        ("  a\n\tb\n", envelope("@@\n+new\n b\n"), &exact),
        ("x\n  “a”\ny\n", envelope("@@\n x\n \"a\"\n+new\n"), &exact),
        ("  a\n\tb\n", envelope("@@ a\n-b\n+B\n"), &exact),
        // Text that stands elsewhere too.
        (&twenty, envelope("@@ 5\n+new\n@@ 6\n+new\n"), &exact),
        (&twenty, envelope("@@ 5\n+3\n"), &exact),
        (&twenty, envelope("@@ 5\n+\n"), &exact),
        (&twenty, envelope("@@\n+5\n"), &exact),
        (&twenty, envelope("@@ 5\n+4\n*** End of File\n"), &exact),
        // Replaced under an anchor, or all there is.
        (&TWO.replace("fooo", "foo"), envelope("@@ def b():\n-    foo()\n+    bar()\n"), &exact),
        (TWO, envelope("@@ def b():\n-def b():\n+def c():\n     fooo()\n"), &exact),
        ("1.0\n", envelope("@@\n-1.0\n+1.1\n"), &exact),
        ("1.0\n", unified("@@\n-1.0\n+1.1\n"), &exact),
        // Removed between two things, or at an end.
        ("a\nb\nc\n", envelope("@@\n a\n-b\n c\n"), &exact),
        ("a\nb\nc\n", unified("@@ -9,9 +9,9 @@\n a\n-b\n c\n"), &exact),
        ("a\nb\nc\n", unified("@@ -2,2 +2 @@\n b\n-c\n"), &exact),
        // At the very line its header names.
        ("a\nfoo\nc\n", unified("@@ -2 +2 @@\n-foo\n+bar\n"), &zero),
        // Where it fits any context will do.
        ("a {\n}\nb\n", unified("@@ -9,9 +9,9 @@\n }\n+x()\n"), &exact),
        ("a {\n}\nb\n", envelope("@@\n }\n+x()\n"), &exact),
    ] {
        let read = |tree: &_| patch::read(patch.as_bytes(), tree, options).expect(&patch);
        let first = read(&of(content));
        assert!(!first.already_applied, "{patch}");
        let again = read(&after(&of(content), &first));
        assert!(again.already_applied && again.changeset.changes().is_empty(), "{content}{patch}");
    }
}

/// Lines above an insertion that look like it are no result of it.
#[test]
fn an_insertion_is_not_taken_for_the_line_it_goes_below() {
    let before = of("a\n}\nb\n");
    let compiled = read(&before, &envelope("@@ }\n+}\n")).expect("a patch");
    assert_eq!(after(&before, &compiled), of("a\n}\n}\nb\n"));
}
