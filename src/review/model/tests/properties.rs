use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => Just(Action::Take),
        4 => Just(Action::Leave),
        1 => Just(Action::TakeFile),
        1 => Just(Action::LeaveFile),
        3 => Just(Action::Split),
        2 => prop::sample::select(vec!["", "mine", "mine\nyours\n"])
            .prop_map(|text| Action::Edit(text.into())),
        2 => Just(Action::Next),
        2 => Just(Action::Previous),
        2 => (0usize..6).prop_map(Action::Goto),
        1 => prop::sample::select(vec![Action::NextFile, Action::PreviousFile]),
        1 => (0usize..3).prop_map(Action::GotoFile),
        1 => Just(Action::Search("b".into())),
        1 => Just(Action::TakeRest),
        1 => Just(Action::Reject("no".into())),
        1 => Just(Action::RequestChanges("please".into())),
        1 => Just(Action::Skip),
        1 => Just(Action::Back),
        3 => Just(Action::Undo),
        1 => Just(Action::Comment(Comment { body: "hm".into(), ..Comment::default() })),
    ]
}

fn content() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a", "b", "c", "d", "e"]);
    (prop::collection::vec(line, 0..14), any::<bool>()).prop_map(|(lines, end)| {
        let text = lines.join("\n");
        if end && !text.is_empty() { text + "\n" } else { text }
    })
}

fn proposal() -> impl Strategy<Value = Vec<FileChange>> {
    let file = |name: &'static str| {
        (prop::option::of(content()), prop::option::of(content()), any::<bool>()).prop_map(
            move |(before, after, executable)| {
                let mut change = change(name, before.as_deref(), after.as_deref());
                if let Some(file) = &mut change.after
                    && executable
                {
                    file.mode = Mode::Executable;
                }
                change
            },
        )
    };
    (file("a"), file("b"), file("c"))
        .prop_map(|(a, b, c)| {
            let list = [a, b, c].into_iter();
            list.filter(|change| change.before != change.after).collect::<Vec<_>>()
        })
        .prop_filter("something changes", |changes| !changes.is_empty())
}

/// All observable state.
fn snapshot(s: &ReviewSession) -> String {
    let slots: Vec<_> = s
        .slots()
        .iter()
        .map(|slot| {
            let units = slot.review.as_ref().map(|review| review.units().to_vec());
            format!("{units:?} {:?} {:?}", slot.outcome, slot.comments)
        })
        .collect();
    format!("{} {} {slots:?}", s.position(), s.unit_index())
}

/// Result for one file, computed independently line by line; `None` with edits.
fn oracle(review: &Review, file: usize) -> Option<Option<File>> {
    let this = &review.files()[file];
    let units = &review.units()[review.units_of(file)];
    if units.iter().any(|unit| matches!(unit.decision, Some(Decision::Edit { .. }))) {
        return None;
    }
    let takes = |unit: &Unit| unit.decision == Some(Decision::Take);
    if units[0].part == UnitKind::Whole {
        return Some(if takes(&units[0]) { this.after.clone() } else { this.before.clone() });
    }
    let (before, after) = (this.before.as_ref().unwrap(), this.after.as_ref().unwrap());
    let diff = Diff::new(&before.bytes, &after.bytes);
    let mut bytes = Vec::new();
    let mut at = 0;
    for (number, edit) in diff.edits().iter().enumerate() {
        bytes.extend_from_slice(diff.before().lines(at..edit.before.start));
        let unit = units.iter().find(
            |unit| matches!(&unit.part, UnitKind::Hunk(hunk) if hunk.edits.contains(&number)),
        );
        if takes(unit.unwrap()) {
            bytes.extend_from_slice(diff.after().lines(edit.after.clone()))
        } else {
            bytes.extend_from_slice(diff.before().lines(edit.before.clone()))
        }
        at = edit.before.end;
    }
    bytes.extend_from_slice(diff.before().lines(at..diff.before().len()));
    let placed = units.iter().all(|unit| unit.part != UnitKind::Place || takes(unit));
    Some(Some(File { bytes, mode: if placed { after.mode } else { before.mode } }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn units_are_known_by_what_they_lead_to(
        changes in proposal(),
        takes in proptest::collection::vec(any::<bool>(), 40),
        other in content(),
    ) {
        let mut review = Review::new(&changes, 3);
        let count = review.units().len();
        for (unit, take) in takes.iter().enumerate().take(count) {
            let decision = if *take { Decision::Take } else { Decision::Leave };
            review.decide(unit, Some(decision));
        }
        let files = |review: &Review| -> BTreeMap<RepoPath, Option<File>> {
            let before = changes.iter().map(|change| (change.path.clone(), change.before.clone()));
            let after = review.changes().into_iter().map(|change| (change.path, change.after));
            before.chain(after).collect()
        };
        let committed = files(&review);
        let found = review.leading_to(&committed);
        let Some(found) = found else {
            prop_assert!(!takes[..count].contains(&true));
            return Ok(());
        };
        for unit in 0..review.units().len() {
            let decision = if found.contains(&unit) { Decision::Take } else { Decision::Leave };
            review.decide(unit, Some(decision));
        }
        prop_assert_eq!(files(&review), committed.clone());
        let mut forged = committed;
        if let Some(file) = forged.values_mut().next() {
            *file = Some(File::regular((other + "forged").into_bytes()));
        }
        prop_assert_eq!(review.leading_to(&forged), None);
    }

    #[test]
    fn whatever_is_pressed_no_conflict_marker_is_taken(
        base in prop::collection::vec(0_u8..4, 0..24),
        now in prop::collection::vec(0_u8..4, 0..24),
        theirs in prop::collection::vec(0_u8..4, 0..24),
        context in 0_usize..4,
        actions in prop::collection::vec(action(), 0..20),
    ) {
        let text = |lines: &[u8]| lines.iter().map(|n| format!("{n}\n")).collect::<String>();
        let file = |lines: &[u8]| Some(text(lines));
        let (base, now, theirs) = (file(&base), file(&now), file(&theirs));
        prop_assume!(base != theirs);
        let changes = [change("f.txt", base.as_deref(), theirs.as_deref())];
        let mut files = std::collections::BTreeMap::new();
        files.insert(path("f.txt"), File::regular(now.clone().unwrap()));
        let sides = crate::changeset::merge::MergeLabels { ours: "now", theirs: "proposed" };
        let plan = crate::changeset::plan::plan(&changes, &files, sides).unwrap();
        let open = crate::changeset::open_conflicts::open_conflicts(&plan, &changes);
        let mut s = session(&[]);
        prop_assert_eq!(open.unfit.is_empty(), plan.refusal().is_none());
        if !open.unfit.is_empty() {
            s = ReviewSession::new(vec![ticket("a")]);
            s.open(Review::folding(&open.changes, &open.unfit, &FoldedFiles::new(), context), None);
            let review = s.review().unwrap();
            let asked = review.units().iter().filter(|unit| unit.conflict.is_some()).count();
            prop_assert!((1..=open.unfit[0].regions.len()).contains(&asked));
        }
        for action in actions {
            let _ = s.act(action);
            for slot in s.slots() {
                prop_assert!(slot.verdict() != Verdict::Apply);
                let review = slot.review.as_ref().unwrap();
                for change in review.changes().into_iter().chain(rest(review)) {
                    let after = change.after.unwrap();
                    prop_assert!(!String::from_utf8_lossy(&after.bytes).contains("<<<<<<<"));
                }
            }
        }
    }

    #[test]
    fn whatever_is_pressed_the_result_is_what_was_taken(
        proposals in prop::collection::vec(proposal(), 1..3),
        actions in prop::collection::vec(action(), 0..40),
    ) {
        let mut s = session(&proposals);
        for action in actions {
            let _ = s.act(action);
            prop_assert!(s.position() <= s.slots().len());
            prop_assert!(s.review().is_none_or(|r| s.unit_index() < r.units().len()));
        }
        for slot in s.slots() {
            let review = slot.review.as_ref().unwrap();
            let changes = review.changes();
            for (at, file) in review.files().iter().enumerate() {
                let Some(expected) = oracle(review, at) else { continue };
                let result = changes.iter().find(|change| change.path == file.path);
                let result = result.map_or(file.before.clone(), |change| change.after.clone());
                prop_assert_eq!(result, expected);
            }
            for change in &changes {
                prop_assert!(change.before != change.after);
            }
            // The rest on top of the result gives the whole.
            let mut whole = review.clone();
            for unit in 0..whole.units().len() {
                if !matches!(whole.units()[unit].decision, Some(Decision::Edit { .. })) {
                    whole.decide(unit, Some(Decision::Take));
                }
            }
            let (whole, left) = (whole.changes(), rest(review));
            for file in review.files() {
                let of = |list: &[FileChange]| {
                    list.iter().find(|c| c.path == file.path).map(|c| c.after.clone())
                };
                let end = of(&left).or_else(|| of(&changes)).unwrap_or(file.before.clone());
                prop_assert_eq!(end, of(&whole).unwrap_or(file.before.clone()));
            }
        }
    }

    #[test]
    fn undo_is_the_inverse_of_every_step(
        proposals in prop::collection::vec(proposal(), 1..3),
        actions in prop::collection::vec(action(), 0..30),
    ) {
        let mut s = session(&proposals);
        let mut trail = Vec::new();
        for action in actions {
            let steps = s.steps();
            let before = snapshot(&s);
            let undo = action == Action::Undo;
            let done = s.act(action).is_ok();
            match s.steps() {
                now if now > steps => trail.push(before),
                now if now < steps => {
                    prop_assert!(undo && done);
                    let expected = trail.pop().unwrap();
                    prop_assert_eq!(snapshot(&s), expected);
                }
                _ => if !done { prop_assert_eq!(snapshot(&s), before); }
            }
        }
        while let Some(expected) = trail.pop() {
            s.act(Action::Undo).unwrap();
            prop_assert_eq!(snapshot(&s), expected);
        }
        prop_assert_eq!(s.act(Action::Undo), Err(Refusal::NOTHING_TO_UNDO));
    }

    #[test]
    fn saved_answers_come_back(
        changes in proposal(),
        actions in prop::collection::vec(action(), 0..20),
    ) {
        let mut s = session(std::slice::from_ref(&changes));
        for action in actions {
            let _ = s.act(action);
        }
        let slot = &s.slots()[0];
        let Some(answers) = SavedAnswers::of(slot) else { return Ok(()) };
        let json = serde_json::to_vec(&answers).unwrap();
        let answers: SavedAnswers = serde_json::from_slice(&json).unwrap();
        let mut again = Review::new(&changes, 3);
        let (outcome, comments, orphans) = answers.restore(&mut again, false);
        prop_assert!(orphans.is_empty());
        prop_assert_eq!(&outcome, &slot.outcome);
        prop_assert_eq!(&comments, &slot.comments);
        let kept = slot.review.as_ref().unwrap();
        // Edits return as drafts and are taken again.
        for at in 0..again.units().len() {
            if let Some(bytes) = again.units()[at].draft.clone() {
                again.decide(at, Some(Decision::Edit { bytes }));
            }
        }
        prop_assert_eq!(again.changes(), kept.changes());
        prop_assert_eq!(again.decided(), kept.decided());
    }
}
