use std::collections::BTreeMap;

use super::*;
use crate::changeset::patch::{CompiledPatch, FileAction, codes};
use crate::changeset::{File, Mode, RepoPath, codes as changes};
use crate::error::{Code, Error, Result};

type Tree = BTreeMap<RepoPath, File>;

fn path(path: &str) -> RepoPath {
    RepoPath::new(path).unwrap()
}

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(name, text)| (path(name), File::regular(*text))).collect()
}

fn run(files: &Tree, body: &str) -> Result<(Tree, CompiledPatch)> {
    let text = format!("*** Begin Patch\n{body}*** End Patch\n");
    let compiled = compile(text.as_bytes(), files)?;
    let mut after = files.clone();
    for change in compiled.changeset.changes() {
        match &change.after {
            Some(file) => after.insert(change.path.clone(), file.clone()),
            None => after.remove(&change.path),
        };
    }
    Ok((after, compiled))
}

#[track_caller]
fn becomes(before: &[(&str, &str)], body: &str, after: &[(&str, &str)]) -> CompiledPatch {
    let (result, compiled) = run(&tree(before), body).unwrap_or_else(|e| panic!("{e} {e:?}"));
    assert_eq!(result, tree(after));
    compiled
}

#[track_caller]
fn fails(before: &[(&str, &str)], body: &str, code: &'static Code) -> Error {
    let error = run(&tree(before), body).map(|_| ()).unwrap_err();
    assert!(error.is(code), "{error:?}");
    error
}

fn detail(error: &Error, key: &str) -> serde_json::Value {
    let found = error.details().iter().find(|(k, _)| *k == key);
    found.map_or(serde_json::Value::Null, |(_, value)| value.clone())
}

const PY: &str = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n";

#[test]
fn files_are_added_updated_moved_and_deleted() {
    let report = becomes(
        &[("old.txt", "a\nb\n"), ("gone.txt", "x\n")],
        "*** Add File: dir/new.txt\n+hello\n+\n*** Update File: old.txt\n*** Move to: moved.txt\n@@\n a\n-b\n+B\n*** Delete File: gone.txt\n",
        &[("dir/new.txt", "hello\n\n"), ("moved.txt", "a\nB\n")],
    );
    let actions: Vec<_> = report.files.iter().map(|file| file.action).collect();
    assert_eq!(actions, [FileAction::Added, FileAction::Renamed, FileAction::Deleted]);
    assert_eq!(report.changeset.changes()[2].origin, Some(path("old.txt")));
}

#[test]
fn wrappers_blanks_and_line_numbers_are_let_pass() {
    let patch = "apply_patch <<'EOF'\n  *** Begin Patch  \n *** Update File:  f.txt \n@@ -1,2 +1,2 @@ fn x\n a\n-b\n+B\n\n*** End Patch\nEOF\n";
    let compiled = compile(patch.as_bytes(), &tree(&[("f.txt", "a\nb\n")])).unwrap();
    assert_eq!(compiled.changeset.changes()[0].after, Some(File::regular("a\nB\n")));
    assert!(is_envelope(patch.as_bytes()));
    let crlf = patch.replace('\n', "\r\n");
    let compiled = compile(crlf.as_bytes(), &tree(&[("f.txt", "a\nb\n")])).unwrap();
    assert_eq!(compiled.changeset.changes()[0].after, Some(File::regular("a\nB\n")));
}

#[test]
fn a_unified_diff_about_envelopes_is_no_envelope() {
    let text = "--- a/doc\n+++ b/doc\n@@ -1 +1 @@\n-x\n+y\n *** Begin Patch\n";
    assert!(!is_envelope(text.as_bytes()));
}

#[test]
fn commands_in_a_diff_are_in_front_of_nothing() {
    let command = "cd a && apply_patch <<EOF\n";
    for text in [
        format!("--- a/doc\n+++ b/doc\n@@ -1,2 +1 @@\n-{command} x\n"),
        format!("diff --git a/doc b/doc\n {command}*** Begin Patch\n"),
        command.to_owned(),
    ] {
        assert!(refuse_command(text.as_bytes()).is_ok(), "{text}");
    }
    assert!(refuse_command(format!("{command}*** Begin Patch\n").as_bytes()).is_err());
}

#[test]
fn a_match_must_be_unique_from_the_cursor_on() {
    let body = "*** Update File: a.py\n@@\n-        return 1\n+        return 2\n";
    let error = fails(&[("a.py", PY)], body, &codes::HUNK_AMBIGUOUS);
    assert_eq!(detail(&error, "candidates"), serde_json::json!([3, 7]));
    // Anchors move the cursor; several narrow it down.
    let second = PY[..PY.len() - 2].to_owned() + "2\n";
    for anchors in
        ["@@ class B:\n", "@@ class B:\n@@     def f(self):\n", "@@ class B:\n@@ def f(self):\n"]
    {
        let body =
            format!("*** Update File: a.py\n{anchors}-        return 1\n+        return 2\n");
        becomes(&[("a.py", PY)], &body, &[("a.py", &second)]);
    }
    // Right below a unique anchor nothing is ambiguous.
    let body = "*** Update File: a.py\n@@ class A:\n     def f(self):\n-        return 1\n+        return 2\n";
    becomes(&[("a.py", PY)], body, &[("a.py", &PY.replacen('1', "2", 1))]);
    let two = "*** Update File: f\n@@\n-b\n+B\n@@\n-b\n+C\n";
    fails(&[("f", "a\nb\nb\n")], two, &codes::HUNK_AMBIGUOUS);
}

#[test]
fn matching_gets_lenient_step_by_step_and_context_keeps_its_bytes() {
    for (file, body, want, how) in [
        ("a \nb\n", " a\n-b\n+c\n", "a \nc\n", "trailing_blanks"),
        ("  a\n\tb\n", " a\n-b\n+\tc\n", "  a\n\tc\n", "blanks"),
        ("“a” — b\u{a0}c\nx\n", " \"a\" - b c\n-x\n+y\n", "“a” — b\u{a0}c\ny\n", "typography"),
    ] {
        let report =
            becomes(&[("f", file)], &format!("*** Update File: f\n@@\n{body}"), &[("f", want)]);
        assert_eq!(report.files[0].hunks[0].matched, Some(how));
    }
    // An exact match wins over a lenient one elsewhere.
    becomes(&[("f", "a  \na\n")], "*** Update File: f\n-a\n+b\n", &[("f", "a  \nb\n")]);
    let error =
        fails(&[("f", " a\n\ta\n")], "*** Update File: f\n-a\n+b\n", &codes::HUNK_AMBIGUOUS);
    assert_eq!(detail(&error, "candidates"), serde_json::json!([1, 2]));
}

#[test]
fn line_endings_byte_order_mark_and_final_newline_stay() {
    let body = "*** Update File: f\n@@\n a\n-b\n+B\n+C\n";
    becomes(&[("f", "a\r\nb\r\n")], body, &[("f", "a\r\nB\r\nC\r\n")]);
    becomes(&[("f", "a\nb")], body, &[("f", "a\nB\nC")]);
    becomes(&[("f", "\u{feff}a\nb\n")], body, &[("f", "\u{feff}a\nB\nC\n")]);
    becomes(&[("f", "\u{feff}b\n")], "*** Update File: f\n-b\n+B\n", &[("f", "\u{feff}B\n")]);
    becomes(&[("f", "a")], "*** Update File: f\n a\n+b\n", &[("f", "a\nb")]);
    becomes(&[("f", "")], "*** Update File: f\n+a\n", &[("f", "a\n")]);
    // Only LF splits lines.
    becomes(
        &[("f", "a\u{2028}b\u{b}c\rd\n")],
        "*** Update File: f\n-a\u{2028}b\u{b}c\rd\n+x\n",
        &[("f", "x\n")],
    );
}

#[test]
fn bytes_that_are_not_utf8_are_patched() {
    let before: Tree = [(path("f"), File::regular(&b"\xff\xfe\nb\n"[..]))].into();
    let (after, _) = run(&before, "*** Update File: f\n-b\n+c\n").unwrap();
    assert_eq!(after[&path("f")].bytes, b"\xff\xfe\nc\n");
}

#[test]
fn an_insertion_goes_below_its_anchor() {
    let body = "*** Update File: a.py\n@@ class B:\n+    x = 1\n";
    becomes(&[("a.py", PY)], body, &[("a.py", &PY.replace("class B:\n", "class B:\n    x = 1\n"))]);
    let error = fails(
        &[("a.py", PY)],
        "*** Update File: a.py\n@@ def f(self):\n+x\n",
        &codes::HUNK_AMBIGUOUS,
    );
    assert_eq!(detail(&error, "candidates"), serde_json::json!([2, 6]));
    becomes(&[("f", "a\nb\n")], "*** Update File: f\n@@\n+c\n", &[("f", "a\nb\nc\n")]);
    becomes(
        &[("f", "a\nb\n")],
        "*** Update File: f\n@@ a\n+c\n*** End of File\n",
        &[("f", "a\nb\nc\n")],
    );
}

/// Codex may name one of several machines.
#[test]
fn the_environment_of_an_envelope_is_passed_over() {
    let before = [("f", "a\n")];
    becomes(
        &before,
        "*** Environment ID: local\n*** Update File: f\n@@\n-a\n+b\n",
        &[("f", "b\n")],
    );
    let below = "*** Update File: f\n@@\n-a\n+b\n*** Environment ID: local\n";
    fails(&before, below, &codes::PATCH_INVALID);
}

/// Models repeat the lines between two changes, below one and above the other.
#[test]
fn two_chunks_may_share_the_context_between_them() {
    let before = [("f", "a\nb\nc\nd\ne\n")];
    for (second, after) in [
        ("@@\n b\n c\n-d\n+D\n e\n", "A\nb\nc\nD\ne\n"),
        ("@@\n c\n+new\n", "A\nb\nc\nnew\nd\ne\n"),
        ("@@\n-b\n+B\n c\n", "A\nB\nc\nd\ne\n"),
        ("@@ b\n-c\n+C\n", "A\nb\nC\nd\ne\n"),
        ("@@ b\n@@ c\n+new\n", "A\nb\nc\nnew\nd\ne\n"),
    ] {
        let body = format!("*** Update File: f\n@@\n-a\n+A\n b\n c\n{second}");
        becomes(&before, &body, &[("f", after)]);
    }
    let body = "*** Update File: f\n@@\n-a\n+A\n x\n@@\n x\n+new\n";
    becomes(&[("f", "a\nx\nb\nx\n")], body, &[("f", "A\nx\nb\nx\nnew\n")]);
    for second in ["-a\n+B\n", "-b\n+B\n"] {
        let body = format!("*** Update File: f\n@@\n a\n-b\n-c\n+x\n@@\n{second}");
        let error = fails(&before, &body, &codes::HUNK_FAILED);
        assert!(!detail(&error, "file_line").is_null(), "{error}");
    }
}

#[test]
fn one_more_bracket_at_the_end_is_one_more() {
    let body = "*** Update File: f\n@@\n+}\n";
    becomes(&[("f", "{\n{\n}\n")], body, &[("f", "{\n{\n}\n}\n")]);
}

#[test]
fn the_end_of_the_file_can_be_named() {
    let body = "*** Update File: f\n@@\n x\n-y\n+z\n*** End of File\n";
    becomes(&[("f", "x\ny\n.\nx\ny\n")], body, &[("f", "x\ny\n.\nx\nz\n")]);
    fails(&[("f", "x\ny\n.\n")], body, &codes::HUNK_FAILED);
}

/// A text split at its newlines.
#[test]
fn the_final_newline_may_be_written_as_an_empty_line() {
    for body in ["@@\n b\n+c\n \n", "@@\n a\n-b\n+b\n+c\n \n*** End of File\n", "@@ a\n b\n+c\n \n"]
    {
        let body = format!("*** Update File: f\n{body}");
        becomes(&[("f", "a\nb\n")], &body, &[("f", "a\nb\nc\n")]);
        fails(&[("f", "a\nb\nx\n")], &body, &codes::HUNK_FAILED);
    }
    let alone = "*** Update File: f\n@@\n+a\n \n";
    becomes(&[("f", "")], alone, &[("f", "a\n")]);
    becomes(&[("f", "\n")], alone, &[("f", "a\n\n")]);
}

#[test]
fn an_empty_line_is_context_and_a_stray_one_is_not() {
    becomes(&[("f", "a\n\nb\n")], "*** Update File: f\n@@\n a\n\n-b\n+c\n", &[("f", "a\n\nc\n")]);
    becomes(
        &[("f", "a\nb\n"), ("g", "x\n")],
        "*** Update File: f\n@@\n-a\n+A\n\n*** Delete File: g\n\n",
        &[("f", "A\nb\n")],
    );
}

#[test]
fn a_move_onto_itself_is_an_edit_and_one_onto_another_file_is_refused() {
    becomes(&[("f", "a\n")], "*** Update File: f\n*** Move to: f\n@@\n-a\n+b\n", &[("f", "b\n")]);
    let body = "*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n";
    fails(&[("f", "a\n"), ("g", "x\n")], body, &changes::FILE_EXISTS);
    let body = "*** Delete File: g\n*** Update File: f\n*** Move to: g\n";
    becomes(&[("f", "a\n"), ("g", "x\n")], body, &[("g", "a\n")]);
    fails(&[("f", "x\n")], "*** Add File: f\n+a\n", &changes::FILE_EXISTS);
    fails(&[], "*** Delete File: f\n", &changes::FILE_NOT_FOUND);
    fails(&[], "*** Update File: f\n-a\n+b\n", &changes::FILE_NOT_FOUND);
}

#[test]
fn modes_are_kept() {
    let file = File { mode: Mode::Executable, ..File::regular("a\n") };
    let before: Tree = [(path("f"), file)].into();
    let (after, _) = run(&before, "*** Update File: f\n*** Move to: g\n-a\n+b\n").unwrap();
    assert_eq!(after[&path("g")].mode, Mode::Executable);
}

#[test]
fn a_failed_chunk_names_what_differs_and_the_closest_place() {
    let error = fails(
        &[("f", "one\ntwo\nthree\nfour\n")],
        "*** Update File: f\n@@\n two\n-tree\n+3\n four\n",
        &codes::HUNK_FAILED,
    );
    assert_eq!(detail(&error, "path"), "f");
    assert_eq!(detail(&error, "expected"), "tree");
    assert_eq!(detail(&error, "found"), "three");
    assert_eq!(detail(&error, "closest_line"), 2);
    let error = fails(&[("f", "a\n")], "*** Update File: f\n@@ nowhere\n+x\n", &codes::HUNK_FAILED);
    assert_eq!(detail(&error, "expected"), "nowhere");
}

#[test]
fn nothing_is_changed_when_one_file_fails() {
    let body = "*** Update File: f\n-a\n+b\n*** Update File: g\n-nope\n+b\n";
    fails(&[("f", "a\n"), ("g", "x\n")], body, &codes::HUNK_FAILED);
}

/// Only a failure shows that a patch was applied.
#[test]
fn a_repeated_patch_changes_nothing() {
    for (before, body, code) in [
        (&[("f", "a\nb\nc\n")][..], "*** Update File: f\n a\n-b\n+B\n c\n", &codes::HUNK_FAILED),
        (&[("f", "a\n")], "*** Update File: f\n*** Move to: g\n-a\n+b\n", &changes::FILE_NOT_FOUND),
        (&[("f", "a\n")], "*** Add File: g\n+x\n*** Delete File: f\n", &changes::FILE_EXISTS),
    ] {
        let (after, _) = run(&tree(before), body).unwrap();
        assert!(run(&after, body).map(|_| ()).unwrap_err().is(code), "{body}");
    }
}

#[test]
fn malformed_envelopes_are_refused_with_their_line() {
    for (text, line) in [
        ("*** Begin Patch\n*** Update File: f\n-a\n+b\n", 5),
        ("*** Begin Patch\n*** End Patch\n", 1),
        ("*** Update File: f\n-a\n+b\n*** End Patch\n", 1),
        ("*** Begin Patch\n*** Update File: f\nno sign\n*** End Patch\n", 3),
        ("*** Begin Patch\n*** Add File: f\nno plus\n*** End Patch\n", 3),
        ("*** Begin Patch\n*** Frobnicate File: f\n*** End Patch\n", 2),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch\n", 2),
        ("*** Begin Patch\n*** Update File:\n-a\n*** End Patch\n", 2),
        ("*** Begin Patch\n*** Delete File: f\n*** End Patch\n*** Begin Patch\n", 4),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n*** Move to: g\n*** End Patch\n", 5),
    ] {
        let error = compile(text.as_bytes(), &tree(&[("f", "a\n")])).map(|_| ()).unwrap_err();
        assert!(error.is(&codes::PATCH_INVALID), "{text}: {error:?}");
        assert_eq!(detail(&error, "line"), line, "{text}: {error}");
    }
}

#[test]
fn hostile_paths_are_refused() {
    for name in ["/etc/passwd", "../x", "a/../x", ".git/config", "C:\\x", "a\\b"] {
        for body in [
            format!("*** Add File: {name}\n+x\n"),
            format!("*** Update File: f\n*** Move to: {name}\n"),
            format!("*** Delete File: {name}\n"),
        ] {
            let error = run(&tree(&[("f", "a\n")]), &body).map(|_| ()).unwrap_err();
            assert!(error.is(&changes::PATH_INVALID) || error.is(&changes::PATH_IN_GIT_DIR));
        }
    }
}
