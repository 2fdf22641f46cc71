use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::changeset::hunks::Diff;
use crate::changeset::{File, FileChange, Mode, RepoPath};
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn change(name: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: path(name),
        before: before.map(File::regular),
        after: after.map(File::regular),
        origin: None,
        snippets: Vec::new(),
    }
}

fn ticket(name: &str) -> Ticket {
    let id = ProposalId::from_event(&format!("{:0>40}", name));
    Ticket::new(id, chrono::DateTime::from_timestamp(0, 0).unwrap())
}

fn session(proposals: &[Vec<FileChange>]) -> Session {
    let tickets = (0..proposals.len()).map(|n| ticket(&format!("{n:x}{n:x}"))).collect();
    let mut session = Session::new(tickets);
    for changes in proposals {
        session.open(Review::new(changes, 3), None, Vec::new());
        session.act(Action::Skip).unwrap();
    }
    session.rewind();
    session
}

/// Forty numbered lines, some of them replaced by what `edit` gives.
fn lines(edit: impl Fn(usize) -> Option<String>) -> String {
    (0..40).map(|n| edit(n).unwrap_or(format!("{n}\n"))).collect()
}

fn three_hunks() -> Vec<FileChange> {
    let before = lines(|_| None);
    let after = lines(|n| [5, 20, 35].contains(&n).then(|| format!("new {n}\n")));
    vec![change("a.txt", Some(&before), Some(&after))]
}

#[test]
fn taking_some_hunks_gives_exactly_those() {
    let mut s = session(&[three_hunks()]);
    for action in [Action::Take, Action::Leave, Action::Take] {
        s.act(action).unwrap();
    }
    assert_eq!(s.position(), 1);
    let Verdict::Part(changes) = s.slots()[0].verdict() else { panic!() };
    let expected = lines(|n| [5, 35].contains(&n).then(|| format!("new {n}\n")));
    assert_eq!(changes[0].after.as_ref().unwrap().bytes, expected.as_bytes());
    // What was left out, on top of that, gives the whole.
    let left = rest(s.slots()[0].review.as_ref().unwrap());
    assert_eq!(left[0].before, changes[0].after);
    assert_eq!(left[0].after, three_hunks()[0].after);
}

#[test]
fn all_taken_is_the_proposal_itself_and_none_is_nothing() {
    let mut s = session(&[three_hunks(), three_hunks()]);
    s.act(Action::TakeFile).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Apply);
    s.act(Action::LeaveFile).unwrap();
    assert_eq!(s.slots()[1].verdict(), Verdict::Nothing);
    assert_eq!(rest(s.slots()[1].review.as_ref().unwrap()), three_hunks());
}

#[test]
fn an_edited_hunk_results_in_what_was_written() {
    let mut s = session(&[three_hunks()]);
    let text = s.review().unwrap().editable(0).unwrap();
    assert_eq!(text, b"2\n3\n4\nnew 5\n6\n7\n8\n");
    s.act(Action::Edit(b"2\n3\n4\nmine\n6\n7\n8\n".to_vec())).unwrap();
    s.act(Action::LeaveFile).unwrap();
    let Verdict::Part(changes) = s.slots()[0].verdict() else { panic!() };
    let expected = lines(|n| (n == 5).then(|| "mine\n".into()));
    assert_eq!(changes[0].after.as_ref().unwrap().bytes, expected.as_bytes());
    let left = rest(s.slots()[0].review.as_ref().unwrap());
    let all = lines(|n| match n {
        5 => Some("mine\n".into()),
        20 | 35 => Some(format!("new {n}\n")),
        _ => None,
    });
    assert_eq!(left[0].after.as_ref().unwrap().bytes, all.as_bytes());
}

#[test]
fn a_rename_and_its_content_are_decided_apart() {
    let mut moved = change("new", None, Some("1\n2\n3\nfour\n"));
    moved.origin = Some(path("old"));
    moved.after.as_mut().unwrap().mode = Mode::Executable;
    let changes = vec![moved, change("old", Some("1\n2\n3\n4\n"), None)];
    let review = Review::new(&changes, 3);
    assert_eq!(review.units().len(), 2);

    let mut content_only = review.clone();
    content_only.decide(0, Some(Decision::Leave));
    content_only.decide(1, Some(Decision::Take));
    assert_eq!(
        content_only.changes(),
        [change("old", Some("1\n2\n3\n4\n"), Some("1\n2\n3\nfour\n"))]
    );
    let left = rest(&content_only);
    assert_eq!(left.len(), 2);
    assert_eq!(left[0].origin, Some(path("old")));

    let mut place_only = review.clone();
    place_only.decide(0, Some(Decision::Take));
    place_only.decide(1, Some(Decision::Leave));
    let result = place_only.changes();
    assert_eq!(result[0].path, path("new"));
    assert_eq!(result[0].origin, Some(path("old")));
    assert_eq!(result[0].after.as_ref().unwrap().bytes, b"1\n2\n3\n4\n");
    assert_eq!(result[0].after.as_ref().unwrap().mode, Mode::Executable);
    assert_eq!(result[1].after, None);

    let mut all = review;
    all.decide(0, Some(Decision::Take));
    all.decide(1, Some(Decision::Take));
    assert_eq!(all.changes(), changes);
}

#[test]
fn creations_removals_and_binaries_are_decided_whole() {
    let changes = vec![
        change("added", None, Some("x\n")),
        change("bin", Some("a\0"), Some("b\0")),
        change("gone", Some("x\n"), None),
    ];
    let mut s = session(std::slice::from_ref(&changes));
    assert_eq!(s.act(Action::Split), Err(Refusal::CannotSplit));
    s.act(Action::Take).unwrap();
    assert_eq!(s.act(Action::Edit(Vec::new())), Err(Refusal::CannotEdit));
    s.act(Action::Leave).unwrap();
    s.act(Action::Take).unwrap();
    let Verdict::Part(result) = s.slots()[0].verdict() else { panic!() };
    assert_eq!(result, [changes[0].clone(), changes[2].clone()]);
}

#[test]
fn memory_is_shown_by_section_and_decided_as_a_whole() {
    let before = "# D\n\n## One\n\na\nb\nc\n\n## Two\n\nd\n\n## Three\n\ne\n";
    let after = "# D\n\n## One\n\nA\nb\nc\n\n## Two\n\nD\n\n## Four\n\nf\n";
    let changes = [change(".agent-memory/d.md", Some(before), Some(after))];
    let review = Review::of_memory(&changes, 3);
    let sections: Vec<&str> =
        review.units().iter().filter_map(|unit| unit.section.as_deref()).collect();
    assert_eq!(
        sections,
        ["One", "Two", "Four (new), Three (removed)", "Four (new), Three (removed)"]
    );
    let mut s = Session::new(vec![ticket("1")]);
    s.open(review, None, Vec::new());
    for action in [
        Action::Take,
        Action::Leave,
        Action::TakeFile,
        Action::LeaveFile,
        Action::Split,
        Action::Edit(Vec::new()),
    ] {
        assert_eq!(s.act(action), Err(Refusal::DecidedAsWhole));
    }
    let keys: String = s.keys(Facilities::default()).iter().map(|key| key.key).collect();
    assert_eq!(keys, "cjg/w+opARx>q?");
    s.act(Action::Next).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Open { decided: 0, total: 4 });
    s.act(Action::ApplyAll).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Apply);
    s.act(Action::Undo).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Open { decided: 0, total: 4 });
}

#[test]
fn the_legend_lists_only_what_applies() {
    let legend = |s: &Session| -> String {
        s.keys(Facilities::default()).iter().map(|key| key.key).collect()
    };
    let mut s = session(&[three_hunks()]);
    assert_eq!(legend(&s), "ynadlecjg/w+opARx>q?");
    s.act(Action::Take).unwrap();
    assert_eq!(legend(&s), "ynadlecjkg/uw+opARx>q?");
    s.act(Action::TakeFile).unwrap();
    assert_eq!(legend(&s), "u<Wq?");
    let near = change("b", Some("1\n2\n3\n4\n5\n"), Some("1\nx\n3\ny\n5\n"));
    assert!(legend(&session(&[vec![near]])).contains('s'));
    let gone = session(&[vec![change("gone", Some("x\n"), None)]]);
    assert!(!legend(&gone).contains('e'));
}

#[test]
fn search_goes_round_and_minds_case_only_with_capitals() {
    let mut s = session(&[three_hunks()]);
    s.act(Action::Search("NEW 35".into())).unwrap_err();
    s.act(Action::Search("new 35".into())).unwrap();
    assert_eq!(s.unit_index(), 2);
    s.act(Action::Search("new 5".into())).unwrap();
    assert_eq!(s.unit_index(), 0);
    assert_eq!(s.act(Action::Search("nowhere".into())), Err(Refusal::NotFound));
}

#[test]
fn saved_decisions_count_for_their_revision_alone() {
    let mut s = session(&[three_hunks()]);
    s.act(Action::Take).unwrap();
    s.act(Action::Leave).unwrap();
    let staged = Staged::of(&s.slots()[0], "rev1");
    let json = serde_json::to_vec(&staged).unwrap();
    let id = s.slots()[0].ticket.id.to_string();
    assert_eq!(Staged::parse(&json, &id), Some(staged.clone()));
    assert_eq!(Staged::parse(&json, "prop_other"), None);
    assert_eq!(Staged::parse(b"{", &id), None);

    let mut same = Review::new(&three_hunks(), 3);
    assert_eq!(staged.restore(&mut same, "rev1").2, 0);
    assert_eq!(same.units()[0].decision, Some(Decision::Take));
    assert_eq!(same.units()[1].decision, Some(Decision::Leave));
    assert!(same.units()[0].saved && same.units()[1].saved && !same.units()[2].saved);

    // The second revision changes a context line of the first hunk, and moves the second down.
    let before = lines(|_| None);
    let after = lines(|n| match n {
        4 => Some("4!\n".into()),
        5 | 20 | 35 => Some(format!("new {n}\n")),
        10 => Some("10\n10a\n".into()),
        _ => None,
    });
    let mut revised = Review::new(&[change("a.txt", Some(&before), Some(&after))], 3);
    assert_eq!(staged.restore(&mut revised, "rev2").2, 1);
    assert_eq!(revised.decided(), 0);
    let earlier: Vec<_> = revised.units().iter().map(|u| u.earlier.clone()).collect();
    let moved = earlier.iter().filter(|d| **d == Some(Decision::Leave)).count();
    assert_eq!((earlier[0].clone(), moved), (None, 1));
}

#[test]
fn a_saved_edit_is_not_a_decision_and_stays_saved() {
    let mut s = session(&[three_hunks()]);
    s.act(Action::Edit(b"mine\n".to_vec())).unwrap();
    let staged = Staged::of(&s.slots()[0], "r");
    let mut again = Review::new(&three_hunks(), 3);
    assert_eq!(staged.restore(&mut again, "r").2, 0);
    assert_eq!((again.decided(), again.saved_edit(0)), (0, Some(&b"mine\n"[..])));
    assert!(again.changes().is_empty());
    let (taken, edited) = again.saved_edit_sides(0).unwrap();
    assert!(String::from_utf8(taken).unwrap().contains("new 5\n"));
    assert!(String::from_utf8(edited).unwrap().contains("mine\n"));
    // Looking and leaving keeps it for the next time.
    let mut other = Session::new(vec![ticket("00")]);
    other.open(again, None, Vec::new());
    assert_eq!(Staged::of(&other.slots()[0], "r").units, staged.units);
    other.act(Action::Edit(b"mine\n".to_vec())).unwrap();
    let review = other.slots()[0].review.as_ref().unwrap();
    assert_eq!((review.decided(), review.saved_edit(0)), (1, None));
}

#[test]
fn a_decision_does_not_pass_to_the_same_lines_elsewhere() {
    let block = |name: &str, on: bool| format!("[{name}]\na\nb\nc\nd\non={on}\ne\nf\ng\nh\n");
    let of = |dev, prod, top: &str| [top, &block("dev", dev), &block("prod", prod)].concat();
    let changes = |top: &str, dev, prod| {
        vec![change("c.ini", Some(&of(false, false, top)), Some(&of(dev, prod, top)))]
    };
    let mut s = session(&[changes("", true, false)]);
    s.act(Action::Take).unwrap();
    let staged = Staged::of(&s.slots()[0], "rev1");
    // The same text in the other block, then in both, then in the first of a file that grew.
    let mut other = Review::new(&changes("", false, true), 3);
    assert_eq!((staged.restore(&mut other, "rev2").2, other.decided()), (1, 0));
    let mut both = Review::new(&changes("", true, true), 3);
    assert_eq!((staged.restore(&mut both, "rev2").2, both.decided()), (0, 0));
    assert_eq!(both.units()[0].earlier, Some(Decision::Take));
    let mut grown = Review::new(&changes("new\n", true, false), 3);
    assert_eq!(staged.restore(&mut grown, "rev2").2, 1);
    assert_eq!(grown.units()[0].earlier, None);
}

#[test]
fn another_number_of_context_lines_keeps_what_was_decided() {
    let near = vec![change("b", Some("1\n2\n3\n4\n5\n"), Some("1\nx\n3\ny\n5\n"))];
    let mut s = session(&[three_hunks()]);
    s.act(Action::Take).unwrap();
    s.act(Action::Leave).unwrap();
    let staged = Staged::of(&s.slots()[0], "r");
    for context in [0, 1, 10] {
        let mut again = Review::new(&three_hunks(), context);
        assert_eq!(staged.restore(&mut again, "r").2, 0, "{context}");
        let kept = s.slots()[0].review.as_ref().unwrap();
        assert_eq!(again.changes(), kept.changes(), "{context}");
    }
    // Two hunks that more context makes one come back split.
    let tickets = vec![ticket("00")];
    let mut s = Session::new(tickets);
    s.open(Review::new(&near, 0), None, Vec::new());
    s.act(Action::Take).unwrap();
    s.act(Action::Leave).unwrap();
    let staged = Staged::of(&s.slots()[0], "r");
    let mut again = Review::new(&near, 3);
    assert_eq!(staged.restore(&mut again, "r").2, 0);
    let said: Vec<_> = again.units().iter().map(|unit| unit.decision.clone()).collect();
    assert_eq!(said, [Some(Decision::Take), Some(Decision::Leave)]);
}

#[test]
fn split_hunks_are_split_again_when_resumed() {
    let near = vec![change("b", Some("1\n2\n3\n4\n5\n"), Some("1\nx\n3\ny\n5\n"))];
    let mut s = session(std::slice::from_ref(&near));
    s.act(Action::Split).unwrap();
    s.act(Action::Leave).unwrap();
    let staged = Staged::of(&s.slots()[0], "r");
    let mut again = Review::new(&near, 3);
    staged.restore(&mut again, "r");
    assert_eq!(again.units().len(), 2);
    assert_eq!(again.units()[0].decision, Some(Decision::Leave));
    assert_eq!(again.units()[1].decision, None);
}

#[test]
fn what_deserves_a_second_look_comes_first() {
    let at = |n: i64| chrono::DateTime::from_timestamp(n, 0).unwrap();
    let id = |n: u8| ProposalId::from_event(&format!("{n:02x}").repeat(20));
    let ticket = |n: u8, second| Ticket::new(id(n), at(second));
    let sensitive = Some((path("x.lock"), "is a lock file"));
    let tickets = vec![
        ticket(1, 1),
        Ticket { deletes: true, ..ticket(2, 2) },
        Ticket { is_warned: true, ..ticket(3, 4) },
        Ticket { sensitive, ..ticket(4, 3) },
    ];
    let order: Vec<_> = queue(tickets).into_iter().map(|t| t.id).collect();
    assert_eq!(order, [id(4), id(3), id(2), id(1)]);
}

/// A key press of the property tests.
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
        1 => Just(Action::ApplyAll),
        1 => Just(Action::Reject("no".into())),
        1 => Just(Action::RequestChanges("please".into())),
        1 => Just(Action::Skip),
        1 => Just(Action::Back),
        3 => Just(Action::Undo),
        1 => Just(Action::Comment(DraftComment {
            said: Comment { body: "hm".into(), ..Comment::default() },
            saved: false,
        })),
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

/// Everything that a reviewer could tell apart.
fn snapshot(s: &Session) -> String {
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

/// What results for one file, worked out line by line from the decisions, in another way than
/// the code does it. `None` where an edit is involved.
fn oracle(review: &Review, file: usize) -> Option<Option<File>> {
    let this = &review.files()[file];
    let units = &review.units()[review.units_of(file)];
    if units.iter().any(|unit| matches!(unit.decision, Some(Decision::Edit { .. }))) {
        return None;
    }
    let takes = |unit: &Unit| unit.decision == Some(Decision::Take);
    if units[0].part == Part::Whole {
        return Some(if takes(&units[0]) { this.after.clone() } else { this.before.clone() });
    }
    let (before, after) = (this.before.as_ref().unwrap(), this.after.as_ref().unwrap());
    let diff = Diff::new(&before.bytes, &after.bytes);
    let mut bytes = Vec::new();
    let mut at = 0;
    for (number, edit) in diff.edits().iter().enumerate() {
        bytes.extend_from_slice(diff.before().lines(at..edit.before.start));
        let unit = units
            .iter()
            .find(|unit| matches!(&unit.part, Part::Hunk(hunk) if hunk.edits.contains(&number)));
        match takes(unit.unwrap()) {
            true => bytes.extend_from_slice(diff.after().lines(edit.after.clone())),
            false => bytes.extend_from_slice(diff.before().lines(edit.before.clone())),
        }
        at = edit.before.end;
    }
    bytes.extend_from_slice(diff.before().lines(at..diff.before().len()));
    let placed = units.iter().all(|unit| unit.part != Part::Place || takes(unit));
    Some(Some(File { bytes, mode: if placed { after.mode } else { before.mode } }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// What a commit has of a proposal's files tells which units were taken, and nothing else does.
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
        // Something else, in one of the files.
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
        let sides = crate::changeset::merge::Sides { ours: "now", theirs: "proposed" };
        let plan = crate::changeset::plan::plan(&changes, &files, sides).unwrap();
        let open = crate::changeset::settle::open(&plan, &changes);
        let mut s = session(&[]);
        prop_assert_eq!(open.unfit.is_empty(), plan.refusal().is_none());
        if !open.unfit.is_empty() {
            s = Session::new(vec![ticket("a")]);
            s.open(Review::unsettled(&open.changes, &open.unfit, context), None, Vec::new());
            let review = s.review().unwrap();
            // Each conflict is asked about once.
            let asked = review.units().iter().filter(|unit| unit.unfit.is_some()).count();
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
            // Nothing taken twice, nothing lost: the rest on top of the result is the whole.
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
        prop_assert_eq!(s.act(Action::Undo), Err(Refusal::NothingToUndo));
    }

    #[test]
    fn what_is_staged_comes_back(
        changes in proposal(),
        actions in prop::collection::vec(action(), 0..20),
    ) {
        let mut s = session(std::slice::from_ref(&changes));
        for action in actions {
            let _ = s.act(action);
        }
        let slot = &s.slots()[0];
        let staged = Staged::of(slot, "r");
        let json = serde_json::to_vec(&staged).unwrap();
        let staged = Staged::parse(&json, &slot.ticket.id.to_string()).unwrap();
        let mut again = Review::new(&changes, 3);
        let (outcome, comments, dropped) = staged.restore(&mut again, "r");
        prop_assert_eq!(&outcome, &slot.outcome);
        let said = |comments: &[DraftComment]| -> Vec<_> {
            comments.iter().map(|draft| draft.said.clone()).collect()
        };
        prop_assert_eq!(said(&comments), said(&slot.comments));
        // A hunk that was split comes back split once one of its parts is decided.
        prop_assert_eq!(dropped, 0);
        let kept = slot.review.as_ref().unwrap();
        // Edits come back to be looked at, and are taken again.
        for at in 0..again.units().len() {
            if let Some(bytes) = again.saved_edit(at).map(<[u8]>::to_vec) {
                again.decide(at, Some(Decision::Edit { bytes }));
            }
        }
        prop_assert_eq!(again.changes(), kept.changes());
        prop_assert_eq!(again.decided(), kept.decided());
    }
}
