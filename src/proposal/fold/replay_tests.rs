//! Genuine records in other places, and forged ones: none decides. H2 to M6 number the attack of 28
//! November 2026.

use super::super::Status;
use super::super::event::DecisionData;
use super::super::manifest::{EntryOutcome, Manifest, ManifestEntry, OtherChanges};
use super::super::sample::{
    CLONE, OTHER, Thread, agent, change, manifest, person, propose, revise,
};
use super::super::statement::ends_sha256;
use super::*;

fn status(thread: &Thread) -> Status {
    thread.fold().status(chrono::DateTime::from_timestamp(100, 0).unwrap())
}

fn why(thread: &Thread) -> Vec<SkipReason> {
    thread.fold().skipped.into_iter().map(|skipped| skipped.why).collect()
}

/// Copies the decision `at` behind `parents`.
fn replay(thread: &mut Thread, at: usize, parents: &[usize]) -> usize {
    let papers = thread.papers(at);
    let by = papers.statement.actor.clone();
    thread.carry(&by, OTHER, parents, papers)
}

/// H2.
#[test]
fn an_undone_decision_stays_undone() {
    let ada = person("ada");
    for verdict in [Verdict::Apply, Verdict::Reject] {
        let mut thread = Thread::proposed();
        thread.decide(&ada, &[0], verdict, &[]);
        thread.decide(&ada, &[1], Verdict::Undo, &[1]);
        thread.clock = 0;
        // A copy with the same parents is the same decision.
        replay(&mut thread, 1, &[0]);
        assert_eq!((status(&thread), why(&thread)), (Status::Pending, vec![]));
        for parents in [vec![1], vec![2], vec![1, 2], vec![]] {
            replay(&mut thread, 1, &parents);
            assert_eq!(status(&thread), Status::Pending);
        }
        assert_eq!(why(&thread), [SkipReason::Parents; 4]);
    }
}

/// H2.
#[test]
fn an_ended_approval_stays_ended() {
    let ada = person("ada");
    let mut thread = Thread::proposed();
    thread.decide(&ada, &[0], Verdict::Approve, &[]);
    thread.decide(&ada, &[1], Verdict::RequestChanges, &[]);
    thread.decide(&ada, &[2], Verdict::Undo, &[]);
    let before = thread.fold();
    assert_eq!((before.approvals_in_force().count(), &before.changes_requested), (0, &None));
    for at in [1, 2] {
        let place = [at - 1];
        replay(&mut thread, at, &place);
        replay(&mut thread, at, &[3]);
    }
    let after = thread.fold();
    assert_eq!((after.approvals_in_force().count(), &after.changes_requested), (0, &None));
    assert_eq!(why(&thread), [SkipReason::Parents; 2]);
}

/// H2.
#[test]
fn a_decision_on_something_else_decides_nothing() {
    let ada = person("ada");
    let mut other = Thread::new(propose(Subject::Code, vec![change("a.txt", "a", "c")]));
    other.decide(&ada, &[0], Verdict::Apply, &[]);
    let mut thread = Thread::proposed();
    thread.carry(&ada, OTHER, &[0], other.papers(1));
    assert_eq!(why(&thread), [SkipReason::Proposal]);
    let revision = thread.add(&ada, OTHER, &[0], revise(vec![change("a.txt", "a", "c")]));
    // Not seen.
    thread.decide_as(&ada, &[0], Verdict::Apply, &[], revision, |_| ());
    // Not a revision.
    thread.decide_as(&ada, &[0], Verdict::Reject, &[], 1, |_| ());
    // Nobody wrote an event with this hash.
    thread.decide_as(&ada, &[revision], Verdict::Reject, &[], revision, |papers| {
        papers.statement.revision.as_mut().unwrap().sha256 = "0".repeat(64);
    });
    // Ranges cannot be approved yet.
    thread.decide_as(&ada, &[0], Verdict::Reject, &[], 0, |papers| {
        let (from, to) = ("1".repeat(40), "2".repeat(40));
        papers.statement.range = Some(super::super::statement::Range { from, to });
        (papers.statement.proposal, papers.statement.revision) = (None, None);
    });
    let expected = [
        SkipReason::Proposal,
        SkipReason::Revision,
        SkipReason::Revision,
        SkipReason::Revision,
        SkipReason::Proposal,
    ];
    assert_eq!((status(&thread), why(&thread)), (Status::Pending, expected.to_vec()));
}

/// H2.
#[test]
fn an_undo_is_not_widened() {
    let (ada, bob) = (person("ada"), person("bob"));
    let mut thread = Thread::proposed();
    thread.decide(&ada, &[0], Verdict::Apply, &[]);
    thread.decide(&bob, &[0], Verdict::Apply, &[]);
    let undo = thread.decide(&ada, &[1], Verdict::Undo, &[1]);
    // Behind both, with the list of both.
    let mut papers = thread.papers(undo);
    thread.carry(&ada, OTHER, &[1, 2], papers.clone());
    papers.ended_statements.push(thread.statement(2));
    thread.carry(&ada, OTHER, &[1], papers);
    let proposal = thread.fold();
    assert_eq!(proposal.decision().map(|decision| &decision.by), Some(&bob));
    assert_eq!((proposal.concurrent.len(), proposal.undone.len()), (0, 1));
    assert_eq!(why(&thread), [SkipReason::Parents, SkipReason::Ends]);
}

/// H2.
#[test]
fn nothing_beside_the_statement_is_believed() {
    let ada = person("ada");
    let mut thread = Thread::proposed();
    thread.decide(&ada, &[0], Verdict::Reject, &[]);
    let papers = thread.papers(1);
    thread.carry(&person("bob"), OTHER, &[0], papers.clone());
    let mut thread_of_words = Thread::proposed();
    thread_of_words.carry(&ada, OTHER, &[0], papers);
    let event = &mut thread_of_words.events[1].event;
    event.time = chrono::DateTime::from_timestamp(99, 0).unwrap();
    let proposal = thread_of_words.fold();
    assert_eq!(proposal.decision().unwrap().at.timestamp(), 1);
    assert_eq!(why(&thread), [SkipReason::Event]);
    let Data::Decision(said) = &mut thread_of_words.events[1].event.data else { panic!() };
    said.reason = Some("because".into());
    assert_eq!(why(&thread_of_words), [SkipReason::Reason]);
    let Data::Decision(said) = &mut thread_of_words.events[1].event.data else { panic!() };
    *said = DecisionData { verdict: Verdict::Apply, reason: None };
    assert_eq!(why(&thread_of_words), [SkipReason::Event]);
}

/// H3.
#[test]
fn there_is_no_decision_without_a_statement() {
    let ada = person("ada");
    for verdict in Verdict::ALL {
        let mut thread = Thread::proposed();
        let said = Data::Decision(DecisionData { verdict: *verdict, reason: None });
        thread.add(&ada, OTHER, &[0], said);
        assert_eq!((status(&thread), why(&thread)), (Status::Pending, vec![SkipReason::Statement]));
    }
    // Beside another kind it has no effect.
    let mut thread = Thread::proposed();
    thread.decide(&ada, &[0], Verdict::Apply, &[]);
    thread.events[1].event.data = super::super::sample::comment("x");
    assert_eq!((status(&thread), why(&thread)), (Status::Pending, vec![]));
}

/// H4.
#[test]
fn an_unknown_kind_freezes_nothing() {
    let ada = person("ada");
    let mut thread = Thread::proposed();
    let data = Data::Unknown("ratify".into(), serde_json::json!({"needs": "99.0"}));
    thread.add(&agent("mallory"), OTHER, &[0], data);
    thread.decide(&ada, &[1], Verdict::Apply, &[]);
    assert_eq!((status(&thread), why(&thread)), (Status::Applied, vec![SkipReason::Unknown]));
}

/// M4.
#[test]
fn an_approval_is_ended_and_replaced_by_nobody_else() {
    let (ada, mallory) = (person("ada"), agent("mallory"));
    let mut thread = Thread::proposed();
    thread.decide(&ada, &[0], Verdict::Approve, &[]);
    thread.decide(&mallory, &[1], Verdict::RequestChanges, &[]);
    thread.decide(&mallory, &[1], Verdict::Reject, &[]);
    thread.decide(&mallory, &[1], Verdict::Undo, &[]);
    thread.decide(&mallory, &[1], Verdict::Approve, &[]);
    assert_eq!(why(&thread), [SkipReason::Authority; 4]);
    // In Ada's name: the same approval, and one of a merge that she has not made.
    let forged = |papers: &mut DecisionDocuments, content: &str| {
        let mut made = manifest(&[change("a.txt", "a2", content)]).records().to_vec();
        made[0].outcome = EntryOutcome::Merged;
        let made = Manifest::new(made);
        let sha256 = crate::sha256::hex(&made.to_bytes());
        papers.statement.manifest.as_mut().unwrap().sha256 = sha256;
        papers.manifest = Some(made);
    };
    let first = thread.statement(1);
    thread.decide(&ada, &[1], Verdict::Approve, &[]);
    thread.decide_as(&ada, &[1], Verdict::Approve, &[], 0, |papers| forged(papers, "evil"));
    let proposal = thread.fold();
    let mut counted = proposal.approvals_in_force();
    assert_eq!(counted.next().map(|approval| &approval.statement), Some(&first));
    assert_eq!(counted.count(), 1);
}

#[test]
fn an_agent_ends_no_decision() {
    let (ada, codex) = (person("ada"), agent("codex"));
    for verdict in [Verdict::Undo, Verdict::Withdraw, Verdict::Apply, Verdict::Reject] {
        let mut thread = Thread::proposed();
        thread.decide(&ada, &[0], Verdict::Reject, &[]);
        thread.decide(&codex, &[1], verdict, &[1]);
        let papers = thread.papers(2);
        thread.carry(&codex, CLONE, &[1], papers);
        assert_eq!((status(&thread), why(&thread)), (Status::Rejected, vec![SkipReason::Ends; 2]));
    }
}

/// M5. A copy under another clone uses nothing up.
#[test]
fn an_agent_of_another_clone_is_not_the_proposer() {
    let codex = agent("codex");
    let mut thread = Thread::proposed();
    let withdrawn = thread.decide(&codex, &[0], Verdict::Withdraw, &[]);
    thread.add(&codex, OTHER, &[0], revise(vec![change("a.txt", "a", "c")]));
    assert_eq!((status(&thread), why(&thread)), (Status::Pending, vec![SkipReason::Authority; 2]));
    let papers = thread.papers(withdrawn);
    thread.clock = 60;
    thread.carry(&codex, CLONE, &[0], papers);
    let proposal = thread.fold();
    assert!(proposal.decision().unwrap().withdrawn);
    assert_eq!((status(&thread), proposal.skipped.len()), (Status::Rejected, 2));
}

/// M6.
#[test]
fn a_decision_with_a_wrong_manifest_decides_nothing() {
    let ada = person("ada");
    let decided = |change: &dyn Fn(&mut DecisionDocuments)| {
        let mut thread = Thread::proposed();
        thread.decide_as(&ada, &[0], Verdict::Apply, &[], 0, change);
        (status(&thread), why(&thread))
    };
    let with = |records: Vec<ManifestEntry>| {
        decided(&|papers: &mut DecisionDocuments| {
            let made = Manifest::new(records.clone());
            let sha256 = crate::sha256::hex(&made.to_bytes());
            papers.statement.manifest.as_mut().unwrap().sha256 = sha256;
            papers.manifest = Some(made);
        })
    };
    let records =
        |path: &str, after: &str| manifest(&[change(path, "a", after)]).records().to_vec();
    let outcome = |outcome: EntryOutcome, after: &str| {
        vec![ManifestEntry {
            outcome,
            residue: OtherChanges::None,
            ..records("a.txt", after)[0].clone()
        }]
    };
    let mut executable = records("a.txt", "b");
    executable[0].after.as_mut().unwrap().mode = "100755".into();
    let mut link = records("a.txt", "b");
    link[0].after.as_mut().unwrap().mode = "120000".into();
    assert_eq!(with(records("a.txt", "b")), (Status::Applied, vec![]));
    for records in [
        vec![],
        records("b.txt", "b"),
        records("a.txt", "c"),
        [records("a.txt", "b"), records("b.txt", "b")].concat(),
        outcome(EntryOutcome::Merged, "c"),
        outcome(EntryOutcome::Edited, "c"),
        outcome(EntryOutcome::Derived("index@1".into()), "b"),
        executable,
        link,
    ] {
        assert_eq!(with(records), (Status::Pending, vec![SkipReason::Manifest]));
    }
    let fault = "its manifest is not what its statement names";
    let broken = decided(&|papers: &mut DecisionDocuments| {
        (papers.manifest, papers.fault) = (None, Some(fault));
    });
    assert_eq!(broken, (Status::Pending, vec![SkipReason::Documents(fault)]));
    let unread = decided(&|papers: &mut DecisionDocuments| papers.manifest = None);
    assert_eq!(unread, (Status::Pending, vec![SkipReason::Manifest]));
    let unnamed = decided(&|papers: &mut DecisionDocuments| papers.statement.manifest = None);
    assert_eq!(unnamed, (Status::Pending, vec![SkipReason::Effect]));
    let undone = decided(&|papers: &mut DecisionDocuments| papers.statement.effect = None);
    assert_eq!(undone, (Status::Pending, vec![SkipReason::Effect]));
}

#[test]
fn a_list_of_ends_is_the_one_that_is_named() {
    let ada = person("ada");
    let mut thread = Thread::proposed();
    thread.decide(&ada, &[0], Verdict::Reject, &[]);
    let named = thread.statement(1);
    thread.decide_as(&ada, &[1], Verdict::Undo, &[], 0, |papers| {
        papers.statement.ends = Some(ends_sha256(&["0".repeat(64)]));
        papers.ended_statements = vec![named];
    });
    assert_eq!((status(&thread), why(&thread)), (Status::Rejected, vec![SkipReason::Ends]));
    // This verb ends nothing.
    thread.decide_as(&ada, &[0], Verdict::Approve, &[1], 0, |_| ());
    assert_eq!(why(&thread), [SkipReason::Ends; 2]);
}
