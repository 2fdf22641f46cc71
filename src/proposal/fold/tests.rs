use proptest::prelude::*;

use super::super::Status;
use super::super::event::DecisionData;
use super::super::sample::{CLONE, OTHER, Thread, agent, change, comment, person, propose, revise};
use super::*;

fn ada() -> super::super::Actor {
    person("ada")
}

fn bob() -> super::super::Actor {
    person("bob")
}

fn status(thread: &Thread) -> Status {
    thread.fold().status(chrono::DateTime::from_timestamp(100, 0).unwrap())
}

fn why(thread: &Thread) -> Vec<SkipReason> {
    thread.fold().skipped.into_iter().map(|skipped| skipped.why).collect()
}

#[test]
fn who_had_seen_a_decision_makes_no_other_beside_it() {
    let mut thread = Thread::proposed();
    thread.decide(&ada(), &[0], Verdict::Reject, &[]);
    thread.decide(&bob(), &[1], Verdict::Apply, &[]);
    assert_eq!((status(&thread), why(&thread)), (Status::Rejected, vec![SkipReason::Decided]));
    thread.decide(&bob(), &[2], Verdict::Apply, &[1]);
    let proposal = thread.fold();
    assert_eq!((status(&thread), proposal.concurrent.len()), (Status::Applied, 0));
}

#[test]
fn decisions_that_did_not_know_of_each_other_are_contested_until_one_names_them() {
    let mut thread = Thread::proposed();
    thread.decide(&ada(), &[0], Verdict::Reject, &[]);
    thread.decide(&bob(), &[0], Verdict::Apply, &[]);
    let proposal = thread.fold();
    assert!(proposal.contested && matches!(proposal.state, State::Applied(_)));
    let first = thread.decide(&ada(), &[1, 2], Verdict::Reject, &[1]);
    assert_eq!(why(&thread), [SkipReason::Decided]);
    thread.decide(&ada(), &[first], Verdict::Reject, &[1, 2]);
    let proposal = thread.fold();
    assert!(!proposal.contested && matches!(proposal.state, State::Rejected(_)));
}

#[test]
fn applies_that_write_the_same_are_alike() {
    for (content, contested) in [("b", false), ("c", true)] {
        let mut thread = Thread::proposed();
        let mine = thread.add(&ada(), OTHER, &[0], revise(vec![change("a.txt", "a", content)]));
        thread.decide(&bob(), &[0], Verdict::Apply, &[]);
        thread.decide_as(&ada(), &[mine], Verdict::Apply, &[], mine, |_| ());
        let proposal = thread.fold();
        assert_eq!((proposal.concurrent.len(), proposal.contested), (1, contested), "{content}");
        assert_eq!(proposal.undecided, [""; 0]);
        thread.decide_as(&person("cy"), &[mine], Verdict::Apply, &[], mine, |papers| {
            papers.statement.effect = Some(Effect::MarkOnly);
            (papers.statement.manifest, papers.manifest) = (None, None);
        });
        assert_eq!((thread.fold().concurrent.len(), thread.fold().contested), (2, contested));
    }
}

#[test]
fn an_undo_ends_what_it_names_and_has_seen() {
    let mut thread = Thread::proposed();
    thread.decide(&ada(), &[0], Verdict::Apply, &[]);
    thread.decide(&bob(), &[0], Verdict::Apply, &[]);
    thread.decide(&ada(), &[1], Verdict::Undo, &[1, 2]);
    let proposal = thread.fold();
    assert_eq!((proposal.undone.len(), proposal.undos.len()), (1, 1));
    assert_eq!(proposal.decision().unwrap().by, bob());
    thread.decide(&bob(), &[2, 3], Verdict::Undo, &[2]);
    assert_eq!((status(&thread), thread.fold().undone.len()), (Status::Pending, 2));
    thread.decide(&bob(), &[4], Verdict::Apply, &[]);
    assert_eq!(status(&thread), Status::Applied);
}

#[test]
fn requests_are_closed_by_a_revision_or_an_undo_that_has_seen_them() {
    let mut thread = Thread::proposed();
    let open = |thread: &Thread| thread.fold().requests.iter().filter(|it| it.is_open).count();
    thread.decide(&ada(), &[0], Verdict::RequestChanges, &[]);
    thread.decide(&bob(), &[0], Verdict::RequestChanges, &[]);
    assert_eq!(open(&thread), 2);
    thread.add(&agent("codex"), CLONE, &[1], revise(vec![change("a.txt", "a", "c")]));
    assert_eq!((open(&thread), thread.fold().revisions.len()), (1, 2));
    thread.decide(&ada(), &[3], Verdict::Undo, &[]);
    assert_eq!(open(&thread), 1);
    thread.decide(&ada(), &[2, 4], Verdict::Undo, &[]);
    assert_eq!((open(&thread), why(&thread)), (0, vec![]));
}

#[test]
fn approvals_count_until_an_objection_and_once_for_a_person() {
    let mut thread = Thread::proposed();
    let count = |thread: &Thread| thread.fold().approvals_in_force().count();
    let mut last = 0;
    for (by, expected) in [(ada(), 1), (ada(), 1), (bob(), 2)] {
        last = thread.decide(&by, &[last], Verdict::Approve, &[]);
        assert_eq!(count(&thread), expected);
    }
    last = thread.decide(&ada(), &[last], Verdict::RequestChanges, &[]);
    assert_eq!((count(&thread), thread.fold().approvals.len()), (0, 2));
    last = thread.decide(&ada(), &[last], Verdict::Approve, &[]);
    assert_eq!(count(&thread), 1);
    last = thread.decide(&bob(), &[last], Verdict::Reject, &[]);
    thread.decide(&bob(), &[last], Verdict::Undo, &[last]);
    assert_eq!((count(&thread), status(&thread)), (0, Status::Pending));
    thread.decide_as(&ada(), &[0], Verdict::Approve, &[], 0, |papers| {
        papers.statement.evidence = Evidence::Tool;
    });
    assert_eq!(why(&thread), [SkipReason::Authority]);
}

#[test]
fn a_mark_is_no_decision() {
    let mut thread = Thread::proposed();
    let mark = |papers: &mut DecisionDocuments| {
        papers.statement.effect = Some(Effect::MarkOnly);
        papers.statement.evidence = Evidence::Tool;
        (papers.statement.manifest, papers.manifest) = (None, None);
    };
    thread.decide_as(&agent("codex"), &[0], Verdict::Apply, &[], 0, mark);
    thread.decide_as(&agent("codex"), &[1], Verdict::Reject, &[], 0, mark);
    assert_eq!((status(&thread), why(&thread)), (Status::Pending, vec![]));
    let marks: Vec<Marked> = thread.fold().marks.iter().map(|mark| mark.verdict).collect();
    assert_eq!(marks, [Marked::Applied, Marked::Rejected]);
}

#[test]
fn an_extension_lasts_a_week() {
    let mut thread = Thread::proposed();
    thread.clock = 900_000;
    thread.decide(&agent("codex"), &[0], Verdict::Extend, &[]);
    // An agent of another clone is not the proposer.
    assert_eq!(why(&thread), [SkipReason::Authority]);
    let papers = thread.papers(1);
    thread.carry(&agent("codex"), CLONE, &[0], papers);
    let week = chrono::Duration::days(7);
    assert_eq!(thread.fold().expires_at, thread.events[1].event.time + week);
    thread.decide(&ada(), &[2], Verdict::Reject, &[]);
    thread.decide(&ada(), &[3], Verdict::Extend, &[]);
    assert_eq!(why(&thread), [SkipReason::Authority, SkipReason::Decided]);
}

#[test]
fn expiry_is_computed_and_not_stored() {
    let proposal = Thread::proposed().fold();
    let at = |second| proposal.status(chrono::DateTime::from_timestamp(second, 0).unwrap());
    assert_eq!(at(2_000_000), Status::Expired);
    assert_eq!(at(5), Status::Pending);
    assert_eq!(at(1_000_000), Status::Expired);
}

#[test]
fn a_note_stands_with_the_comment_that_it_resolves() {
    let mut thread = Thread::proposed();
    let said = thread.add(&ada(), OTHER, &[0], comment("c"));
    let note = |thread: &Thread| {
        let resolves = Some(thread.events[said].id.clone());
        Data::Comment(Comment { body: "done".into(), resolves, ..Comment::default() })
    };
    for (by, clone, comments) in [
        (agent("codex"), OTHER, 2),
        (agent("codex"), CLONE, 2),
        (bob(), OTHER, 2),
        (agent("claude"), CLONE, 3),
    ] {
        let data = note(&thread);
        thread.add(&by, clone, &[said], data);
        assert_eq!(thread.fold().comments.len(), comments, "{by}");
    }
    assert_eq!(thread.fold().comments[0].resolved.as_ref().unwrap().by, bob());
}

#[test]
fn a_commit_is_a_note_to_the_decision_that_it_names() {
    let mut thread = Thread::proposed();
    thread.decide(&ada(), &[0], Verdict::Apply, &[]);
    let commit = |digit: &str, statement: Option<String>| {
        Data::Committed(Committed { commit: digit.repeat(40), amended: vec![], statement })
    };
    thread.add(&ada(), OTHER, &[1], commit("1", None));
    let statement = thread.statement(1);
    thread.add(&ada(), OTHER, &[2], commit("2", Some(statement)));
    let proposal = thread.fold();
    assert_eq!(proposal.decision().unwrap().commit, Some("2".repeat(40)));
    assert_eq!(proposal.committed().count(), 2);
    thread.decide(&ada(), &[3], Verdict::Undo, &[1]);
    assert_eq!((thread.fold().committed().count(), thread.fold().commits.len()), (0, 2));
}

#[test]
fn memory_stays_in_its_directory() {
    let inside = || vec![change(".agent-memory/a.md", "a", "b")];
    let outside = Thread::new(propose(Subject::Memory, vec![change("a.txt", "a", "b")]));
    assert_eq!(fold(&outside.history()), None);
    let mut thread = Thread::new(propose(Subject::Memory, inside()));
    thread.add(&ada(), CLONE, &[0], revise(vec![change("a.txt", "a", "b")]));
    assert_eq!(why(&thread), [SkipReason::OutsideMemory]);
    // The manifest lets evidence `tool` pass; any other needs a person.
    for (evidence, expected) in
        [(Evidence::Tool, Status::Applied), (Evidence::Flag, Status::Pending)]
    {
        let mut thread = Thread::new(propose(Subject::Memory, inside()));
        thread.decide_as(&agent("codex"), &[0], Verdict::Apply, &[], 0, |papers| {
            papers.statement.evidence = evidence;
        });
        assert_eq!(status(&thread), expected);
    }
}

#[test]
fn only_what_begins_a_thread_begins_a_proposal() {
    let mut thread = Thread::proposed();
    thread.add(&ada(), OTHER, &[0], propose(Subject::Code, vec![]));
    assert_eq!(why(&thread), [SkipReason::Start]);
    let plan = Data::Plan(serde_json::json!({"branch": "main", "plan": []}));
    assert_eq!(fold(&Thread::new(plan).history()), None);
    assert_eq!(fold(&History::default()), None);
}

#[test]
fn a_direct_patch_is_undone_once_by_who_is_no_agent() {
    let patch = super::super::event::Patch {
        written: vec![],
        written_blob: None,
        evidence: Evidence::Flag,
    };
    let mut thread = Thread::new(Data::Patch(patch));
    assert_eq!(fold(&thread.history()), None);
    thread.decide(&agent("codex"), &[0], Verdict::Undo, &[]);
    assert_eq!(undone_patch(&thread.history()), None);
    let undo = thread.decide(&ada(), &[0], Verdict::Undo, &[]);
    assert_eq!(undone_patch(&thread.history()), Some(&thread.events[undo]));
}

/// Parents, kind, actor, other event, clock.
type Step = (Vec<prop::sample::Index>, u8, u8, prop::sample::Index, i64);

/// A history of any shape: people and agents, decisions of every kind, any of them ended.
fn history() -> impl Strategy<Value = Thread> {
    let parents = proptest::collection::vec(any::<prop::sample::Index>(), 1..4);
    let step = (parents, 0..10_u8, 0..4_u8, any::<prop::sample::Index>(), 0..50_i64);
    proptest::collection::vec(step, 0..16).prop_map(|steps: Vec<Step>| {
        let mut thread = Thread::proposed();
        for (parents, kind, who, other, clock) in steps {
            let len = thread.events.len();
            let mut parents: Vec<usize> = parents.iter().map(|parent| parent.index(len)).collect();
            parents.sort_unstable();
            parents.dedup();
            let is_named = |at: &usize| thread.events[*at].documents.is_some() && who < 3;
            let ends: Vec<usize> = (0..len).filter(|at| at % 3 != 1).filter(is_named).collect();
            let by = [ada(), bob(), person("cy"), agent("codex")][usize::from(who)].clone();
            thread.clock = clock;
            match kind {
                0..=6 => {
                    let verdict = Verdict::ALL[usize::from(kind)];
                    let can_end = !matches!(
                        verdict,
                        Verdict::Approve | Verdict::RequestChanges | Verdict::Extend
                    );
                    let ends = if can_end { ends } else { Vec::new() };
                    thread.decide(&by, &parents, verdict, &ends);
                }
                7 => {
                    let text = clock.to_string();
                    thread.add(&by, CLONE, &parents, revise(vec![change("a.txt", "a", &text)]));
                }
                8 => {
                    thread.add(&by, OTHER, &parents, comment("c"));
                }
                _ => {
                    // The same statement again.
                    let at = other.index(len);
                    if let Some(papers) = thread.events[at].documents.clone() {
                        let by = papers.statement.actor.clone();
                        thread.carry(&by, OTHER, &parents, papers);
                    }
                }
            }
        }
        thread
    })
}

proptest! {
    #[test]
    fn any_order_and_any_repetition_gives_one_state(thread in history(), turn in any::<usize>()) {
        let mut events = thread.events.clone();
        events.rotate_left(turn % thread.events.len());
        events.extend(thread.events.iter().take(3).cloned());
        prop_assert_eq!(fold(&History::new(events)), Some(thread.fold()));
    }

    #[test]
    fn what_is_said_beside_changes_no_decision(thread in history(), at in any::<prop::sample::Index>()) {
        let before = thread.fold();
        let mut thread = thread;
        let parent = at.index(thread.events.len());
        thread.add(&agent("mallory"), OTHER, &[parent], comment("c"));
        thread.decide(&agent("mallory"), &[parent], Verdict::Undo, &[]);
        let unsaid = Data::Decision(DecisionData { verdict: Verdict::Apply, reason: None });
        thread.add(&ada(), OTHER, &[parent], unsaid);
        let after = thread.fold();
        prop_assert_eq!(&after.state, &before.state);
        prop_assert_eq!(&after.concurrent, &before.concurrent);
        prop_assert_eq!(&after.approvals, &before.approvals);
        prop_assert_eq!(&after.requests, &before.requests);
        prop_assert_eq!(after.skipped.len(), before.skipped.len() + 2);
    }

    #[test]
    fn one_statement_is_one_decision(thread in history()) {
        let proposal = thread.fold();
        let mut names: Vec<&str> = proposal
            .decisions()
            .chain(&proposal.undone)
            .map(|decision| decision.statement.as_str())
            .chain(proposal.approvals.iter().map(|approval| approval.statement.as_str()))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), count);
    }
}
