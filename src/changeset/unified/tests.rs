use proptest::prelude::*;

use super::*;
use crate::changeset::patch::codes;

fn one(text: &str) -> FilePatch<'_> {
    let mut files = parse(text.as_bytes()).unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn counts(hunk: &PatchHunk<'_>) -> (usize, usize, bool) {
    (hunk.old_lines().count(), hunk.new_lines().count(), hunk.recounted)
}

#[test]
fn prose_and_mail_headers_around_a_patch_are_skipped() {
    let file = one("From: someone\nSubject: x\n\n- a list\n+ in prose\n---\n a | 2 +-\n\n\
         diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@ fn x\n-a\n+b\n-- \n2.47.3\n\n");
    assert_eq!(file.number, 9);
    assert_eq!(file.old, Some(HeaderName::Name("a/a".into())));
    assert_eq!(counts(&file.hunks[0]), (1, 1, false));
}

#[test]
fn extended_headers_are_read() {
    let file = one(
        "diff --git a/old b/new\nold mode 100644\nnew mode 100755\nsimilarity index 90%\n\
         rename from old\nrename to new\nindex 123..456\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-a\n+b\n",
    );
    assert_eq!((file.old_mode, file.new_mode), (Some(0o100_644), Some(0o100_755)));
    assert_eq!((file.from.as_deref(), file.to.as_deref()), (Some(&b"old"[..]), Some(&b"new"[..])));
    assert_eq!(file.index, Some((&b"123"[..], &b"456"[..])));
    assert_eq!(file.hunks.len(), 1);
}

#[test]
fn a_hunk_with_right_counts_is_taken_at_its_word() {
    // Lines below look like changes but belong to the next file.
    let text = "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n";
    let files = parse(text.as_bytes()).unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(counts(&files[0].hunks[0]), (2, 1, false));
    // With one more counted line the header is a removed `-- a/y`.
    let text = "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n--- a/y\n";
    assert_eq!(counts(&one(text).hunks[0]), (2, 1, false));
}

#[test]
fn empty_lines_between_two_hunks_part_no_file() {
    for space in ["\n", " \n", "\n\n", "\r\n"] {
        let text = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n{space}@@ -9 +9 @@\n-c\n+d\n");
        let file = one(&text);
        assert_eq!(file.hunks.iter().map(counts).collect::<Vec<_>>(), [(1, 1, false); 2], "{text}");
    }
}

#[test]
fn wrong_counts_are_recounted() {
    for (header, body, want) in [
        // too large, as in the contract's own example
        ("@@ -1,3 +1,4 @@", " a\n b\n+c\n", (2, 3)),
        // too small: a line would be dropped
        ("@@ -1,1 +1,1 @@", "-a\n+b\n+c\n", (1, 2)),
        ("@@ -1 +1,2 @@", " a\n+b\n c\n-d\n", (3, 3)),
        // an empty line that lost its space is context, except at the end
        ("@@ -1,9 +1,9 @@", " a\n\n-b\n+c\n\n", (3, 3)),
        // mail signature
        ("@@ -1,9 +1,9 @@", "-a\n+b\n-- \n2.47.3\n", (1, 1)),
        // no numbers at all
        ("@@", " a\n+b\n", (1, 2)),
        ("@@ fn x() @@", "-a\n", (1, 0)),
    ] {
        let text = format!("--- a/x\n+++ b/x\n{header}\n{body}");
        assert_eq!(counts(&one(&text).hunks[0]), (want.0, want.1, true), "{text}");
    }
}

#[test]
fn recounting_stops_at_the_next_file() {
    let text = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n+b\n--- a/y\n+++ b/y\n@@ -1,9 +1 @@\n-c\n";
    let files = parse(text.as_bytes()).unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(counts(&files[0].hunks[0]), (1, 2, true));
    assert_eq!(counts(&files[1].hunks[0]), (1, 0, true));
}

#[test]
fn what_cannot_be_told_is_refused_with_its_line() {
    for (text, line) in [
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\nb\n c\n", 5),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\nprose\n", 7),
        ("--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n a\n", 3),
        ("--- a/x\n+++ b/x\n@@ -1,18446744073709551615 +1 @@\n a\n", 3),
        ("--- a/x\n+++ b/x\n@@ -1,4294967295 +1 @@\n a\n", 3),
        ("@@ -1 +1 @@\n-a\n+b\n", 1),
        ("diff --git a/x b/x\nold mode 9\n", 2),
        ("diff --git a/x b/y\nrename from x\n", 1),
        ("diff --cc x\nindex 1,2..3\n@@@ -1 -1 +1 @@@\n", 1),
        ("--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 1),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral x\n", 4),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\n$$$\n", 6),
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.is(&codes::PATCH_INVALID), "{text}: {error}");
        let at = error.details().iter().find(|(key, _)| *key == "line").map(|(_, v)| v.clone());
        assert_eq!(at, Some(line.into()), "{text}: {error}");
    }
}

#[test]
fn what_another_program_printed_is_named() {
    for text in [
        "*** a/x\n--- b/x\n***************\n*** 1 ****\n",
        "1c1\n< a\n---\n> b\n",
        "# HG changeset patch\n# User x\ndiff -r 1 x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "Index: x\n==========\n--- x\t(revision 1)\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.is(&codes::PATCH_UNSUPPORTED), "{text}: {error}");
    }
}

#[test]
fn a_series_is_split_at_its_commits() {
    let id = "0123456789012345678901234567890123456789";
    let part = |n: u8| format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{n}\n+{}\n-- \n2.47\n\n", n + 1);
    let mail = format!("From {id} Mon Sep 17 00:00:00 2001\nFrom: x\n\n");
    let text = format!("{mail}{}{mail}{}", part(1), part(2));
    let stages: Vec<_> = parse(text.as_bytes()).unwrap().iter().map(|file| file.stage).collect();
    assert_eq!(stages, [0, 1]);
}

#[test]
fn a_million_hunks_and_a_bomb_of_blank_lines_are_bounded() {
    let mut text = String::from("--- a/x\n+++ b/x\n");
    text.push_str(&"@@ -1 +1 @@\n-a\n+b\n".repeat(1_000_000));
    assert!(parse(text.as_bytes()).unwrap_err().is(&crate::error::codes::SIZE_LIMIT));
    let mut text = String::from("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    text.push_str(&"\n".repeat(1_000_000));
    assert_eq!(counts(&one(&text).hunks[0]), (1, 1, false));
}

proptest! {
    #[test]
    fn noise_never_panics(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }

    #[test]
    fn turning_a_patch_twice_gives_it_back(body in "([ +-][a-c]{0,2}\n){1,12}") {
        let text = format!("--- a/x\n+++ b/y\n@@ -1,99 +1,99 @@\n+z\n{body} z\n");
        let files = parse(text.as_bytes()).unwrap();
        let mut turned = files.clone();
        turned.iter_mut().for_each(FilePatch::reverse);
        turned.iter_mut().for_each(FilePatch::reverse);
        prop_assert_eq!(format!("{files:?}"), format!("{turned:?}"));
    }
}
