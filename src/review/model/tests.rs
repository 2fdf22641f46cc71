mod properties;

use super::*;
use crate::changeset::hunks::Diff;
use crate::changeset::marks::{Mark, Word};
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
    let marked = |n, second, word| Ticket {
        marks: vec![Mark::of_file(word, &path("x"), "is odd")],
        ..ticket(n, second)
    };
    let tickets = vec![
        ticket(1, 1),
        marked(2, 2, Word::Deletes),
        marked(3, 4, Word::Secret),
        marked(4, 3, Word::Build),
    ];
    let order: Vec<_> = queue(tickets).into_iter().map(|t| t.id).collect();
    assert_eq!(order, [id(4), id(3), id(2), id(1)]);
}
