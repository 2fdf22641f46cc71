use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::changeset::{Occurrence, Snippet};

const SIDES: MergeLabels<'static> = MergeLabels { ours: "current", theirs: "proposed" };

fn at(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn file(text: &str) -> Option<File> {
    Some(File::regular(text))
}

fn change(before: Option<File>, after: Option<File>) -> FileChange {
    FileChange { path: at("f"), before, after, origin: None, snippets: Vec::new() }
}

fn files(list: &[(&str, &str)]) -> BTreeMap<RepoPath, File> {
    list.iter().map(|(path, text)| (at(path), File::regular(*text))).collect()
}

fn planned(change: FileChange, now: Option<File>) -> PlannedFile {
    let snapshot: BTreeMap<_, _> = now.map(|file| (at("f"), file)).into_iter().collect();
    plan(&[change], &snapshot, SIDES).unwrap().files.remove(0)
}

fn reason(planned: &PlannedFile) -> ConflictReason {
    match &planned.outcome {
        MergeStatus::Conflict(conflict) => conflict.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_combination_of_presence() {
    let clean = planned(change(file("1\n"), file("2\n")), file("1\n"));
    assert_eq!((clean.outcome, clean.after), (MergeStatus::Clean, file("2\n")));
    let already = planned(change(file("1\n"), file("2\n")), file("2\n"));
    assert_eq!((already.outcome, already.after), (MergeStatus::Already, file("2\n")));
    assert_eq!(planned(change(None, file("2\n")), None).outcome, MergeStatus::Clean);
    assert_eq!(planned(change(None, file("2\n")), file("2\n")).outcome, MergeStatus::Already);
    assert_eq!(planned(change(file("1\n"), None), file("1\n")).outcome, MergeStatus::Clean);
    assert_eq!(planned(change(file("1\n"), None), None).outcome, MergeStatus::Already);
    assert_eq!(
        reason(&planned(change(file("1\n"), None), file("3\n"))),
        ConflictReason::ChangedSince
    );
    assert_eq!(reason(&planned(change(file("1\n"), file("2\n")), None)), ConflictReason::Missing);
    assert_eq!(reason(&planned(change(None, file("2\n")), file("3\n"))), ConflictReason::Exists);
    assert_eq!(
        reason(&planned(change(file("1\0"), file("2\0")), file("3\0"))),
        ConflictReason::Binary
    );
    assert_eq!(
        reason(&planned(change(file("1\n"), file("2\n")), file("3\n"))),
        ConflictReason::Content
    );
}

#[test]
fn modes_merge_too() {
    let executable = |text: &str| Some(File { mode: Mode::Executable, ..File::regular(text) });
    let merged = planned(change(file("1\n"), file("2\n")), executable("1\n"));
    assert_eq!(
        (merged.outcome, merged.after),
        (MergeStatus::Merged(MergedBy::ThreeWay), executable("2\n"))
    );
    let merged = planned(change(file("1\n"), executable("1\n")), file("2\n"));
    assert_eq!(merged.after, executable("2\n"));
    let merged = planned(change(None, executable("1\n")), file("1\n"));
    assert_eq!(merged.after, executable("1\n"));
}

fn snippet_change(before: &str, old: &str, new: &str) -> FileChange {
    let snippet = Snippet { old: old.into(), new: new.into(), occurrence: Occurrence::Unique };
    FileChange {
        snippets: vec![snippet],
        ..change(file(before), file(&before.replacen(old, new, 1)))
    }
}

#[test]
fn a_snippet_is_found_again_where_its_neighbours_changed() {
    let change = snippet_change("a\nold\nb\n", "old", "new");
    let merged = planned(change, file("A\nold\nB\nmore\n"));
    assert_eq!(
        (merged.outcome, merged.after),
        (MergeStatus::Merged(MergedBy::Snippet), file("A\nnew\nB\nmore\n"))
    );
}

#[test]
fn a_snippet_that_was_applied_by_hand_is_not_applied_twice() {
    let change = snippet_change("a\nx\nb\n", "x", "x y");
    let again = planned(change.clone(), file("a\nx y\nb\nmore\n"));
    assert_eq!((again.outcome, again.after), (MergeStatus::Already, file("a\nx y\nb\nmore\n")));
    assert_eq!(reason(&planned(change, file("A\nx y\nB\n"))), ConflictReason::Content);
}

#[test]
fn a_snippet_that_matches_twice_is_a_conflict() {
    let change = snippet_change("a\nold\nb\n", "old", "new");
    assert_eq!(reason(&planned(change, file("A\nold\nold\nB\n"))), ConflictReason::Content);
}

#[test]
fn a_moved_file_takes_later_edits_along() {
    let text = "1\n2\n3\n4\n5\n";
    let changes = [
        change(file(text), None),
        FileChange {
            path: at("g"),
            origin: Some(at("f")),
            ..change(None, file("1\n2\n3\n4\nfive\n"))
        },
    ];
    let plan = plan(&changes, &files(&[("f", "one\n2\n3\n4\n5\n")]), SIDES).unwrap();
    assert!(plan.refusal().is_none());
    assert_eq!(plan.files[0].after, None);
    assert_eq!(plan.files[1].after, file("one\n2\n3\n4\nfive\n"));
}

#[test]
fn a_directory_the_change_empties_is_not_in_the_way() {
    struct Dir;
    impl Snapshot for Dir {
        fn file(&self, path: &RepoPath) -> Result<Option<File>> {
            match path.as_bstr() {
                path if path == "f" => Err(Error::new(&codes::DIRECTORY, "f is a directory")),
                _ => Ok(file("inner\n")),
            }
        }
    }
    let inner = FileChange { path: at("f/inner"), ..change(file("inner\n"), None) };
    let changes = [change(None, file("file\n")), inner];
    assert!(plan(&changes, &Dir, SIDES).unwrap().refusal().is_none());
    assert!(plan(&changes[..1], &Dir, SIDES).unwrap_err().is(&codes::DIRECTORY));
}

#[test]
fn the_refusal_names_every_conflict() {
    let changes = [
        change(file("1\n"), file("2\n")),
        FileChange { path: at("g"), ..change(file("1\n"), None) },
        FileChange { path: at("h"), ..change(file("1\n"), file("2\n")) },
    ];
    let now = files(&[("f", "3\n"), ("g", "3\n"), ("h", "1\n")]);
    let plan = plan(&changes, &now, SIDES).unwrap();
    let error = plan.refusal().unwrap();
    assert!(error.is(&codes::CONFLICT));
    let conflicts = &error.details().iter().find(|(key, _)| *key == "conflicts").unwrap().1;
    assert_eq!(conflicts[0]["hunks"][0]["line"], 1);
    assert_eq!(conflicts[0]["hunks"][0]["current"], "3\n");
    assert_eq!(conflicts[1]["reason"], "changed_since");
    assert!(plan.clone().with_markers().unwrap_err().is(&codes::CONFLICT));
    let marked = super::plan(&changes[..1], &now, SIDES).unwrap().with_markers().unwrap();
    assert_eq!(marked.files[0].after, file("<<<<<<< current\n3\n=======\n2\n>>>>>>> proposed\n"));
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\r\n", "\n", "d"]), 0..12)
        .prop_map(|lines| lines.concat().into_bytes())
}

fn presence() -> impl Strategy<Value = Option<File>> {
    prop::option::weighted(0.8, (text(), any::<bool>())).prop_map(|file| {
        file.map(|(bytes, executable)| File {
            bytes,
            mode: if executable { Mode::Executable } else { Mode::Regular },
        })
    })
}

proptest! {
    #[test]
    fn a_plan_is_clean_exactly_or_leaves_conflicts_alone(
        before in presence(), after in presence(), now in presence()
    ) {
        prop_assume!(before != after);
        let first = planned(change(before.clone(), after.clone()), now.clone());
        match first.outcome {
            MergeStatus::Clean => {
                prop_assert_eq!(&now, &before);
                prop_assert_eq!(&first.after, &after);
                let again = planned(change(before, after), first.after);
                prop_assert_eq!(again.outcome, MergeStatus::Already);
            }
            MergeStatus::Already | MergeStatus::Conflict(_) | MergeStatus::Derived(_) => prop_assert_eq!(&first.after, &first.now),
            MergeStatus::Merged(_) => prop_assert_ne!(&first.after, &first.now),
        }
    }

    #[test]
    fn undoing_a_clean_apply_gives_back_every_byte(before in presence(), after in presence()) {
        prop_assume!(before != after);
        let applied = planned(change(before.clone(), after.clone()), before.clone());
        prop_assert_eq!(&applied.after, &after);
        let back = inverse(&[change(before.clone(), after)]).remove(0);
        let undone = planned(back, applied.after);
        prop_assert_eq!((undone.outcome, undone.after), (MergeStatus::Clean, before));
    }

    #[test]
    fn merging_is_neutral_where_one_side_did_nothing(base in text(), other in text()) {
        prop_assert_eq!(merge(&base, &base, &other, SIDES), MergeOutcome::Clean(other.clone()));
        prop_assert_eq!(merge(&base, &other, &base, SIDES), MergeOutcome::Clean(other.clone()));
        prop_assert_eq!(merge(&base, &other, &other, SIDES), MergeOutcome::Clean(other));
    }

    #[test]
    fn edits_far_apart_always_merge(
        head in text(), tail in text(), new_head in text(), new_tail in text()
    ) {
        let middle = b"\n-- 1 --\n-- 2 --\n-- 3 --\n-- 4 --\n";
        let join = |a: &[u8], b: &[u8]| [a, &middle[..], b].concat();
        let merged = merge(
            &join(&head, &tail),
            &join(&new_head, &tail),
            &join(&head, &new_tail),
            SIDES,
        );
        prop_assert_eq!(merged, MergeOutcome::Clean(join(&new_head, &new_tail)));
    }
}

/// Checks recompute plans of recorded decisions. If this digest changes, so do the merges that
/// people approved with earlier versions. A new rule needs a new outcome in manifests beside
/// `merged`; the old one stays for existing records.
#[test]
fn recorded_merges_come_out_the_same_for_ever() {
    let mut state: u64 = 1;
    let mut below = |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let (mut results, mut merged) = (Vec::new(), 0);
    for _ in 0..3_000 {
        // Few distinct lines: many repeats.
        let base: Vec<u64> = (0..below(24)).map(|_| below(9)).collect();
        let mut side = || {
            let mut lines = base.clone();
            for _ in 0..=below(3) {
                let at = below(lines.len() as u64 + 1) as usize;
                let end = (at + below(3) as usize).min(lines.len());
                lines.splice(at..end, (0..below(3)).map(|_| below(12)).collect::<Vec<_>>());
            }
            lines
        };
        let (ours, theirs) = (side(), side());
        let text = |lines: &[u64]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let changed = change(file(&text(&base)), file(&text(&theirs)));
        let planned = planned(changed, file(&text(&ours)));
        if matches!(planned.outcome, MergeStatus::Merged(_)) {
            merged += 1;
            results.extend(planned.after.unwrap().bytes);
        }
        results.push(0);
    }
    assert_eq!(merged, 1175);
    let digest = "03d55dc74db47d9e2720b20b068a30c863a47d3461445db041be8a6649b78fb1";
    assert_eq!(crate::sha256::hex(&results), digest);
}
