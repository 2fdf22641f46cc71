//! Git's behaviour by case (its `t41*.sh`), and extensions.

use std::collections::BTreeMap;

use super::*;
use crate::changeset::{File, RepoPath, codes as changes};

type Tree = BTreeMap<RepoPath, File>;

fn path(path: &str) -> RepoPath {
    RepoPath::from_tree(path).unwrap()
}

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(name, text)| (path(name), File::regular(*text))).collect()
}

fn run(files: &Tree, patch: &str, options: &Options) -> Result<(Tree, CompiledPatch)> {
    let compiled = read(patch.as_bytes(), files, options)?;
    let mut after = files.clone();
    for change in compiled.changeset.changes() {
        assert_eq!(after.get(&change.path), change.before.as_ref(), "before of {:?}", change.path);
        match &change.after {
            Some(file) => after.insert(change.path.clone(), file.clone()),
            None => after.remove(&change.path),
        };
    }
    Ok((after, compiled))
}

fn plain(files: &[(&str, &str)], patch: &str) -> Result<(Tree, CompiledPatch)> {
    run(&tree(files), patch, &Options::default())
}

#[track_caller]
fn becomes(before: &[(&str, &str)], patch: &str, after: &[(&str, &str)]) -> CompiledPatch {
    let (result, compiled) = plain(before, patch).unwrap_or_else(|e| panic!("{e} {e:?}"));
    assert_eq!(result, tree(after));
    compiled
}

#[track_caller]
fn fails(before: &[(&str, &str)], patch: &str, code: &'static crate::error::Code) -> Error {
    let error = plain(before, patch).map(|_| ()).unwrap_err();
    assert!(error.is(code), "{error:?}");
    error
}

fn detail(error: &Error, key: &str) -> serde_json::Value {
    let found = error.details().iter().find(|(k, _)| *k == key);
    found.map_or(serde_json::Value::Null, |(_, value)| value.clone())
}

const ABC: &str = "a\nb\nc\n";

#[test]
fn a_hunk_is_found_at_any_distance_and_the_offset_reported() {
    let far = format!("{}a\nb\nc\n{}", "x\n".repeat(5000), "y\n".repeat(10));
    let want = far.replace("b\n", "B\n");
    let patch = "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n a\n-b\n+B\n c\n";
    let report = becomes(&[("f", &far)], patch, &[("f", &want)]);
    assert_eq!(report.files[0].hunks[0].offset, 4999);
    assert_eq!(report.files[0].hunks[0].line, 5001);
}

#[test]
fn boundaries_bind_as_in_git() {
    // Line 1 means the beginning; no context below means the end.
    let first = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n+0\n a\n b\n";
    becomes(&[("f", ABC)], first, &[("f", "0\na\nb\nc\n")]);
    fails(&[("f", "x\na\nb\nc\n")], first, &codes::HUNK_FAILED);
    let last = "--- a/f\n+++ b/f\n@@ -2,2 +2,3 @@\n b\n c\n+d\n";
    becomes(&[("f", ABC)], last, &[("f", "a\nb\nc\nd\n")]);
    let error = fails(&[("f", "a\nb\nc\nd\ne\n")], last, &codes::HUNK_FAILED);
    assert_eq!(detail(&error, "file_line"), 2);
}

#[test]
fn hunks_without_context_only_when_asked() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,0 +2,1 @@\n+x\n@@ -3 +4 @@\n-c\n+C\n";
    fails(&[("f", "a\nb\nc\nd\n")], patch, &codes::HUNK_FAILED);
    let zero = Options { unidiff_zero: true, ..Options::default() };
    let (after, _) = run(&tree(&[("f", "a\nb\nc\nd\n")]), patch, &zero).unwrap();
    assert_eq!(after, tree(&[("f", "a\nx\nb\nC\nd\n")]));
}

#[test]
fn a_failed_hunk_names_what_differs_and_the_closest_place() {
    let before = "one\ntwo\nthree\nfour\nfive\n";
    let patch = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n two\n three\n-for\n+4\n five\n";
    let error = fails(&[("f", before)], patch, &codes::HUNK_FAILED);
    assert_eq!(detail(&error, "path"), "f");
    assert_eq!(detail(&error, "hunk"), 1);
    assert_eq!(detail(&error, "line"), 3);
    assert_eq!(detail(&error, "expected"), "for");
    assert_eq!(detail(&error, "found"), "four");
    assert_eq!(detail(&error, "file_line"), 4);
    assert_eq!(detail(&error, "closest_line"), 2);

    // Without a clue: the missing line.
    for (context, before) in [("\n \n ", "\n\n\na\n"), ("x\n x\n ", &"x\n".repeat(1_000))] {
        let patch = format!("--- a/f\n+++ b/f\n@@\n {context}\n-gone\n+new\n");
        let error = fails(&[("f", before)], &patch, &codes::HUNK_FAILED);
        assert_eq!(detail(&error, "expected"), if context.contains('x') { "" } else { "gone" });
        assert!(error.message().contains("no line of the file is that"), "{}", error.message());
    }
}

#[test]
fn recounted_hunks_go_only_where_they_are_unique() {
    let patch = "--- a/f\n+++ b/f\n@@ -7,9 +7,9 @@\n a\n-b\n+B\n";
    let error = fails(&[("f", "a\nb\n.\na\nb\n")], patch, &codes::HUNK_AMBIGUOUS);
    assert_eq!(detail(&error, "candidates"), serde_json::json!([1, 4]));
    becomes(&[("f", ".\na\nb\n")], patch, &[("f", ".\na\nB\n")]);
}

#[test]
fn files_come_and_go_also_empty_ones() {
    becomes(
        &[("gone", "x\n"), ("empty", "")],
        "diff --git a/gone b/gone\ndeleted file mode 100644\nindex 587be6b..0000000\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
         diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n\
         diff --git a/new b/new\nnew file mode 100644\nindex 0000000..e69de29\n\
         diff --git a/dir/text b/dir/text\nnew file mode 100644\n--- /dev/null\n+++ b/dir/text\n@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\n",
        &[("new", ""), ("dir/text", "hello")],
    );
    // GNU diff -N has a time stamp, models often only the range.
    let stamp = "--- a/n\t1970-01-01 00:00:00.000000000 +0000\n+++ b/n\t2026-11-22 01:00:00 +0000\n@@ -0,0 +1 @@\n+x\n";
    becomes(&[], stamp, &[("n", "x\n")]);
    becomes(&[], "--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", &[("n", "x\n")]);
}

#[test]
fn an_existing_file_is_never_overwritten_nor_a_changed_one_deleted() {
    let add = "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n";
    fails(&[("f", "mine\n")], add, &changes::FILE_EXISTS);
    let delete = "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    fails(&[("f", "x\nmore\n")], delete, &codes::HUNK_FAILED);
    fails(&[], delete, &changes::FILE_NOT_FOUND);
    let rename = "diff --git a/f b/g\nrename from f\nrename to g\n";
    fails(&[("f", "x\n"), ("g", "y\n")], rename, &changes::FILE_EXISTS);
    fails(&[], rename, &changes::FILE_NOT_FOUND);
}

#[test]
fn renames_and_copies_look_at_the_state_before() {
    let swap = "diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/a\nrename from b\nrename to a\n";
    becomes(&[("a", "A\n"), ("b", "B\n")], swap, &[("a", "B\n"), ("b", "A\n")]);
    let chain = "diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/c\nrename from b\nrename to c\n";
    let report = becomes(&[("a", "A\n"), ("b", "B\n")], chain, &[("b", "A\n"), ("c", "B\n")]);
    assert_eq!(report.changeset.changes()[2].origin, Some(path("b")));
    let copy = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-A\n+Z\n\
                diff --git a/a b/c\ncopy from a\ncopy to c\n--- a/a\n+++ b/c\n@@ -1 +1,2 @@\n A\n+more\n";
    becomes(&[("a", "A\n")], copy, &[("a", "Z\n"), ("c", "A\nmore\n")]);
    let onto_itself =
        "diff --git a/a b/a\nrename from a\nrename to a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-A\n+B\n";
    becomes(&[("a", "A\n")], onto_itself, &[("a", "B\n")]);
}

#[test]
fn a_second_change_to_a_file_builds_on_the_first() {
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-2\n+3\n";
    becomes(&[("f", "1\n")], patch, &[("f", "3\n")]);
}

#[test]
fn a_series_of_commits_is_applied_one_by_one() {
    let mail = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n\n";
    let series = format!(
        "{mail}--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n{mail}diff --git a/f b/g\nrename from f\nrename to g\n{mail}--- a/g\n+++ b/g\n@@ -1 +1 @@\n-2\n+3\n"
    );
    let report = becomes(&[("f", "1\n")], &series, &[("g", "3\n")]);
    assert_eq!(report.changeset.changes()[1].origin, Some(path("f")));
    let back = Options { reverse: true, ..Options::default() };
    let (after, _) = run(&tree(&[("g", "3\n")]), &series, &back).unwrap();
    assert_eq!(after, tree(&[("f", "1\n")]));
}

#[test]
fn line_endings_and_final_newlines_that_the_patch_does_not_know_of_are_kept() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    let report = becomes(&[("f", "a\r\nb\r\nc\r\n")], patch, &[("f", "a\r\nB\r\nc\r\n")]);
    assert_eq!(report.files[0].hunks[0].matched, Some("line_endings"));
    becomes(&[("f", "a\nb\nc")], patch, &[("f", "a\nB\nc")]);
    becomes(&[("f", "\u{feff}a\nb\nc\n")], patch, &[("f", "\u{feff}a\nB\nc\n")]);
    // Transport wrote CRLF.
    becomes(&[("f", ABC)], &patch.replace('\n', "\r\n"), &[("f", "a\nB\nc\n")]);
    // A patch about CRLF is exact.
    let real = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n";
    becomes(&[("f", "a\r\nb\n")], real, &[("f", "a\nb\n")]);
}

#[test]
fn names_may_be_odd_and_prefixes_missing() {
    let quoted = "diff --git \"a/t\\tab \\303\\274\" \"b/t\\tab \\303\\274\"\n--- \"a/t\\tab \\303\\274\"\n+++ \"b/t\\tab \\303\\274\"\n@@ -1 +1 @@\n-a\n+b\n";
    becomes(&[("t\tab ü", "a\n")], quoted, &[("t\tab ü", "b\n")]);
    let spaces = "--- a/with space\t\n+++ b/with space\t\n@@ -1 +1 @@\n-a\n+b\n";
    becomes(&[("with space", "a\n")], spaces, &[("with space", "b\n")]);
    let bare = "--- src/x\n+++ src/x\n@@ -1 +1 @@\n-a\n+b\n";
    let report = becomes(&[("src/x", "a\n")], bare, &[("src/x", "b\n")]);
    assert_eq!(report.notes.len(), 1);
    becomes(&[], "--- /dev/null\n+++ src/new\n@@ -0,0 +1 @@\n+a\n", &[("src/new", "a\n")]);
    becomes(&[("x", "a\n")], "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", &[("x", "b\n")]);
    // A directory `a` is not a prefix if only it fits.
    becomes(&[("a/x", "a\n")], "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n", &[("a/x", "b\n")]);
    let deep = Options { strip: Some(3), ..Options::default() };
    let patch = "--- one/two/three/x\n+++ one/two/three/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(run(&tree(&[("x", "a\n")]), patch, &deep).unwrap().0, tree(&[("x", "b\n")]));
    // GNU diff of a backup.
    becomes(
        &[("x", "a\n")],
        "--- x.orig\t2026-01-01 00:00:00 +0000\n+++ x\t2026-01-01 00:00:01 +0000\n@@ -1 +1 @@\n-a\n+b\n",
        &[("x", "b\n")],
    );
}

#[test]
fn a_repeated_patch_is_recognised_whatever_is_in_it() {
    let before = [("m", "1\n2\n3\n"), ("d", "x\n"), ("r", "same\n"), ("e", "1\n")];
    let patch = "--- a/m\n+++ b/m\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n\
        --- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
        --- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n\
        diff --git a/r b/s\nrename from r\nrename to s\n\
        --- a/e\n+++ b/e\n@@ -1 +1,2 @@\n 1\n+2\n";
    let (after, first) = plain(&before, patch).unwrap();
    assert!(!first.already_applied);
    let second = read(patch.as_bytes(), &after, &Options::default()).unwrap();
    assert!(second.already_applied && second.changeset.changes().is_empty());
    let paths: Vec<_> = second.files.iter().map(|f| f.path.display().to_string()).collect();
    assert_eq!(paths, ["m", "d", "n", "s", "e"]);
    assert_eq!(second.files[2].action, FileAction::Added);
    let mut half = after;
    half.insert(path("m"), File::regular("1\n2\n3\n"));
    assert!(read(patch.as_bytes(), &half, &Options::default()).is_err());
    // A file that never existed does not prove a deletion.
    let delete = "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    fails(&[], delete, &changes::FILE_NOT_FOUND);
}

#[test]
fn binary_changes_are_for_a_content_and_made_by_git() {
    let read = |patch: &str| {
        run(&tree(&[("bin", "old")]), patch, &Options::default()).map(|_| ()).unwrap_err()
    };
    let id = |content: &str| {
        let kind = gix::objs::Kind::Blob;
        gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, content.as_bytes())
            .unwrap()
            .to_string()
    };
    let patch = |index: &str, body: &str| format!("diff --git a/bin b/bin\n{index}{body}");
    let literal = "GIT binary patch\nliteral 3\nKcmZR(\n\n";
    let index = |old: &str| format!("index {}..{} 100644\n", id(old), id("new"));
    assert!(read(&patch(&index("other"), literal)).is(&codes::BINARY_MISMATCH));
    assert!(read(&patch(&index("old"), literal)).is(&codes::PATCH_UNSUPPORTED));
    assert!(read(&patch("", literal)).is(&codes::PATCH_INVALID));
    let missing = "Binary files a/bin and b/bin differ\n";
    assert!(read(&patch("index 1..2 100644\n", missing)).is(&codes::PATCH_INVALID));
    let large = literal.replace("literal 3", "literal 999999999999");
    assert!(read(&patch(&index("old"), &large)).is(&general::SIZE_LIMIT));
}

#[test]
fn hostile_names_are_refused() {
    for (name, code) in [
        ("/etc/passwd", &changes::PATH_INVALID),
        ("a/../../x", &changes::PATH_INVALID),
        ("a/.git/config", &changes::PATH_IN_GIT_DIR),
        ("a/x/.GIT/hooks/post-checkout", &changes::PATH_IN_GIT_DIR),
        ("a/git~1/config", &changes::PATH_IN_GIT_DIR),
        ("a/.git::$INDEX_ALLOCATION/x", &changes::PATH_IN_GIT_DIR),
        ("a/.g\u{200c}it/x", &changes::PATH_IN_GIT_DIR),
        ("a/C:/x", &changes::PATH_INVALID),
        ("a/x\\y", &changes::PATH_INVALID),
    ] {
        let bare = name.strip_prefix("a/").unwrap_or(name);
        for patch in [
            format!("--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n"),
            format!("diff --git a/ok b/ok\nrename from ok\nrename to {bare}\n"),
            format!("diff --git a/ok b/ok\ncopy from {bare}\ncopy to ok2\n"),
        ] {
            let strip = Some(usize::from(name.starts_with("a/")));
            let options = Options { strip, ..Options::default() };
            let result = run(&tree(&[("ok", "x\n")]), &patch, &options);
            let Err(error) = result else { panic!("{patch} was taken") };
            assert!(error.is(code), "{patch}: {error:?}");
        }
    }
}

#[test]
fn what_is_no_patch_is_named() {
    for (input, code) in [
        ("", &codes::PATCH_INVALID),
        ("hello\n", &codes::PATCH_INVALID),
        ("--- a/x\n+++ b/x\n", &codes::PATCH_INVALID),
        ("diff --cc x\n", &codes::PATCH_INVALID),
        ("1c1\n< a\n---\n> b\n", &codes::PATCH_UNSUPPORTED),
        ("1,2d\n", &codes::PATCH_UNSUPPORTED),
        ("2a\nrm -rf /\n.\nw\n", &codes::PATCH_UNSUPPORTED),
    ] {
        fails(&[("x", "a\n")], input, code);
    }
}

#[test]
fn sizes_are_bounded() {
    let long = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+{}\n", "b".repeat(10 << 20));
    fails(&[("x", "a\n")], &long, &general::SIZE_LIMIT);
    let big: Tree = [(path("big"), File::regular(vec![b'x'; 8 << 20]))].into();
    let many: String = (0..500)
        .map(|n| format!("diff --git a/big b/c{n}\ncopy from big\ncopy to c{n}\n"))
        .collect();
    let error = run(&big, &many, &Options::default()).map(|_| ()).unwrap_err();
    assert!(error.is(&general::SIZE_LIMIT), "{error:?}");
}

#[test]
fn ten_thousand_hunks_far_from_their_lines_take_no_time_to_speak_of() {
    let line = |n: usize| format!("line {n}\n");
    let before: String = (0..60_000).map(line).collect();
    let mut patch = String::from("--- a/f\n+++ b/f\n");
    for n in (0..10_000).rev() {
        let at = n * 6;
        // Reverse order and wrong line numbers.
        patch += &format!(
            "@@ -{0},3 +{0},3 @@\n {1}-{2}+new\n {3}",
            30_000,
            line(at),
            line(at + 1),
            line(at + 2)
        );
    }
    let (after, _) = plain(&[("f", &before)], &patch).unwrap();
    let text = &after[&path("f")].bytes;
    assert_eq!(text.windows(4).filter(|w| w == b"new\n").count(), 10_000);
}
