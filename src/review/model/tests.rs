mod properties;

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

fn ticket(name: &str) -> QueuedProposal {
    let id = ProposalId::from_event(&format!("{:0>40}", name));
    QueuedProposal {
        id,
        title: String::new(),
        proposed_by: String::new(),
        path: String::new(),
        files: 1,
        marks: Vec::new(),
        revision: String::new(),
        lines: 0,
        answers: None,
    }
}

fn session(proposals: &[Vec<FileChange>]) -> ReviewSession {
    let tickets = (0..proposals.len()).map(|n| ticket(&format!("{n:x}{n:x}"))).collect();
    let mut session = ReviewSession::new(tickets);
    for changes in proposals {
        session.open(Review::new(changes, 3), None);
        session.act(Action::Skip).unwrap();
    }
    session.visit(0);
    session
}

fn lines(edit: impl Fn(usize) -> Option<String>) -> String {
    (0..40).map(|n| edit(n).unwrap_or(format!("{n}\n"))).collect()
}

fn three_hunks() -> Vec<FileChange> {
    let before = lines(|_| None);
    let after = lines(|n| [5, 20, 35].contains(&n).then(|| format!("new {n}\n")));
    vec![change("a.txt", Some(&before), Some(&after))]
}

#[test]
fn the_walk_follows_an_order() {
    let mut s = session(&[three_hunks(), three_hunks(), three_hunks()]);
    s.reorder(&[2, 0]);
    s.visit(2);
    let mut walked = vec![s.position()];
    while s.act(Action::Skip).is_ok() {
        walked.push(s.position());
    }
    assert_eq!(walked, [2, 0, 1, 3]);
    for back in [1, 0, 2] {
        s.act(Action::Back).unwrap();
        assert_eq!(s.position(), back);
    }
    assert_eq!(s.act(Action::Back), Err(Refusal::NO_PREVIOUS));
    assert_eq!([0, 1, 2, 3].map(|slot| s.place(slot)), [1, 2, 0, 3]);
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
    // The rest on top gives the whole.
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
fn the_rest_of_a_file_or_proposal_keeps_each_no() {
    let two = || vec![three_hunks()[0].clone(), change("b.txt", Some("1\n"), Some("2\n"))];
    let decisions = |s: &ReviewSession| -> String {
        let units = s.slots()[0].review.as_ref().unwrap().units().iter();
        let letter = |unit: &Unit| match &unit.decision {
            Some(Decision::Take) => 'y',
            Some(Decision::Leave) => 'n',
            Some(Decision::Edit { .. }) => 'e',
            None => '-',
        };
        units.map(letter).collect()
    };
    for (rest, expected) in
        [(Action::TakeFile, "-ny-"), (Action::LeaveFile, "-nn-"), (Action::TakeRest, "yyny")]
    {
        let mut s = session(&[two()]);
        s.act(Action::Next).unwrap();
        let at = if rest == Action::TakeRest { 2 } else { 1 };
        s.act(Action::Goto(at)).unwrap();
        s.act(Action::Leave).unwrap();
        s.act(Action::Goto(1)).unwrap();
        s.act(rest).unwrap();
        assert_eq!(decisions(&s), expected);
        s.act(Action::Undo).unwrap();
        assert_eq!(decisions(&s).matches('-').count(), 3);
    }
    // A verdict on the whole gives way to a decision on hunks.
    let mut s = session(&[three_hunks()]);
    s.act(Action::Reject("no".into())).unwrap();
    s.act(Action::Back).unwrap();
    s.act(Action::TakeRest).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Apply);
    s.act(Action::Undo).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Reject { reason: "no".into() });
    s.act(Action::Take).unwrap();
    s.act(Action::TakeRest).unwrap();
    s.act(Action::Back).unwrap();
    assert_eq!(s.act(Action::TakeRest), Err(Refusal::NOTHING_UNDECIDED));
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
    assert_eq!(s.act(Action::Split), Err(Refusal::CANNOT_SPLIT));
    s.act(Action::Take).unwrap();
    assert_eq!(s.act(Action::Edit(Vec::new())), Err(Refusal::CANNOT_EDIT));
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
    let mut s = ReviewSession::new(vec![ticket("1")]);
    s.open(review, None);
    for action in [
        Action::Take,
        Action::Leave,
        Action::TakeFile,
        Action::LeaveFile,
        Action::Split,
        Action::Edit(Vec::new()),
    ] {
        assert_eq!(s.act(action), Err(Refusal::DECIDED_AS_WHOLE));
    }
    let keys: String = s.keys(Facilities::default()).iter().map(|key| key.key).collect();
    assert_eq!(keys, "Acjg/wW+opRx>q?");
    s.act(Action::Next).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Open { decided: 0, total: 4 });
    s.act(Action::TakeRest).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Apply);
    s.act(Action::Undo).unwrap();
    assert_eq!(s.slots()[0].verdict(), Verdict::Open { decided: 0, total: 4 });
}

#[test]
fn the_legend_lists_only_what_applies() {
    let legend = |s: &ReviewSession| -> String {
        s.keys(Facilities::default()).iter().map(|key| key.key).collect()
    };
    let mut s = session(&[three_hunks()]);
    assert_eq!(legend(&s), "ynadAlecjg/wW+opRx>q?");
    s.act(Action::Take).unwrap();
    assert_eq!(legend(&s), "ynadAlecjkg/uwW+opRx>q?");
    s.act(Action::TakeFile).unwrap();
    assert_eq!(legend(&s), "u<q?");
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
    assert_eq!(s.act(Action::Search("nowhere".into())), Err(Refusal::NOT_FOUND));
}

fn saved(session: &ReviewSession) -> SavedAnswers {
    let answers = SavedAnswers::of(&session.slots()[0]).unwrap();
    serde_json::from_slice(&serde_json::to_vec(&answers).unwrap()).unwrap()
}

#[test]
fn saved_decisions_count_for_the_same_lines_alone() {
    let mut s = session(&[three_hunks()]);
    assert_eq!(SavedAnswers::of(&s.slots()[0]), None);
    s.act(Action::Take).unwrap();
    s.act(Action::Leave).unwrap();
    let answers = saved(&s);
    assert_eq!(answers.intent, Intent::Begun);
    let mut same = Review::new(&three_hunks(), 3);
    answers.clone().restore(&mut same, false);
    let decided: Vec<_> = same.units().iter().map(|unit| unit.decision.clone()).collect();
    assert_eq!(decided, [Some(Decision::Take), Some(Decision::Leave), None]);

    // One more line above, or in the hunk, as if the files had changed.
    for (line, decided) in [("0\n", 1), ("6\n", 0)] {
        let changed = |text: String| text.replacen(line, &format!("more\n{line}"), 1);
        let before = changed(lines(|_| None));
        let after = changed(lines(|n| (n == 5).then(|| "new 5\n".into())));
        let mut other = Review::new(&[change("a.txt", Some(&before), Some(&after))], 3);
        answers.clone().restore(&mut other, false);
        assert_eq!(other.decided(), decided);
    }

    let mut apart = Review::new(&three_hunks(), 0);
    answers.clone().restore(&mut apart, false);
    assert_eq!(apart.decided(), 0);

    let mut revised = Review::new(&three_hunks(), 3);
    answers.carried_over("rev1").restore(&mut revised, false);
    assert_eq!(revised.decided(), 0);
}

#[test]
fn a_saved_edit_is_a_draft_and_no_decision() {
    let mut s = session(&[three_hunks()]);
    s.act(Action::Edit(b"mine\n".to_vec())).unwrap();
    let answers = saved(&s);
    let mut other = ReviewSession::new(vec![ticket("00")]);
    other.open(Review::new(&three_hunks(), 3), Some(answers.clone()));
    let review = other.review().unwrap();
    assert_eq!((review.decided(), review.editable(0)), (0, Some(b"mine\n".to_vec())));
    assert!(review.changes().is_empty());
    // Leaving without a decision keeps the answers.
    assert_eq!(saved(&other), answers);
}

#[test]
fn split_hunks_are_split_again_when_resumed() {
    let near = vec![change("b", Some("1\n2\n3\n4\n5\n"), Some("1\nx\n3\ny\n5\n"))];
    let mut s = session(std::slice::from_ref(&near));
    s.act(Action::Split).unwrap();
    s.act(Action::Leave).unwrap();
    let mut again = Review::new(&near, 3);
    saved(&s).restore(&mut again, false);
    assert_eq!(again.units().len(), 2);
    assert_eq!(again.units()[0].decision, Some(Decision::Leave));
    assert_eq!(again.units()[1].decision, None);
}
