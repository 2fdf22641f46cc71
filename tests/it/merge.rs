//! The three-way merge held to `git merge-file`.

use std::process::Command;

use aye::changeset::merge::{MergeLabels, MergeOutcome, merge};
use proptest::prelude::*;

const SIDES: MergeLabels<'static> = MergeLabels { ours: "ours", theirs: "theirs" };

/// What git says: the merged text, and whether it has conflicts.
fn git(base: &[u8], ours: &[u8], theirs: &[u8]) -> (Vec<u8>, bool) {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        std::fs::write(directory.path().join(name), text).expect("written");
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "--diff-algorithm=histogram"])
        .args(["-L", "ours", "-L", "base", "-L", "theirs", "ours", "base", "theirs"])
        .current_dir(directory.path())
        .output()
        .expect("git runs");
    (output.stdout, !output.status.success())
}

fn line() -> impl Strategy<Value = String> {
    (0..40_u32).prop_map(|n| format!("line number {n}\n"))
}

#[derive(Clone, Debug)]
enum Edit {
    Replace(String),
    Insert(String),
    Delete,
}

fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, Edit)>> {
    let fresh = "[a-z]{3,9}\n";
    let edit = prop_oneof![
        fresh.prop_map(Edit::Replace),
        fresh.prop_map(Edit::Insert),
        Just(Edit::Delete),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), edit), 0..4)
}

fn edited(base: &[String], edits: &[(prop::sample::Index, Edit)], last_newline: bool) -> Vec<u8> {
    let mut lines = base.to_vec();
    for (index, edit) in edits {
        let at = index.index(lines.len() + 1);
        match edit {
            Edit::Insert(text) => lines.insert(at, text.clone()),
            Edit::Replace(text) if at < lines.len() => lines[at] = text.clone(),
            Edit::Delete if at < lines.len() => drop(lines.remove(at)),
            _ => {}
        }
    }
    let mut text = lines.concat();
    if !last_newline && text.ends_with('\n') {
        text.pop();
    }
    text.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Where both are clean the bytes are the same, and where git sees a conflict so do we.
    #[test]
    fn merges_are_gits(
        base in prop::collection::vec(line(), 0..30),
        ours in edits(), theirs in edits(),
        newline in any::<(bool, bool, bool)>(),
    ) {
        let ours = edited(&base, &ours, newline.0 || newline.1);
        let theirs = edited(&base, &theirs, newline.0 || newline.2);
        let base = edited(&base, &[], newline.0);
        let (text, conflict) = git(&base, &ours, &theirs);
        match merge(&base, &ours, &theirs, SIDES) {
            MergeOutcome::Clean(bytes) => {
                prop_assert!(!conflict, "git conflicts:\n{}", String::from_utf8_lossy(&text));
                prop_assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&text));
            }
            MergeOutcome::Conflict { marked, hunks } => {
                prop_assert!(conflict, "git merges:\n{}\nwe:\n{}", String::from_utf8_lossy(&text), String::from_utf8_lossy(&marked));
                prop_assert!(!hunks.is_empty());
            }
            MergeOutcome::Binary => prop_assert!(false, "text is not binary"),
        }
    }
}
