//! Events held against each other: what contradicts the others of its proposal does not count.
//!
//! Any clone can write any event, so an event proves nothing by being there. What can be seen from
//! the events alone is seen here, before they are folded. The result is a function of the events,
//! of how long this clone's own lane is, and of which lanes are private.

use std::collections::{BTreeSet, HashMap};

use super::ActorKind;
use super::event::{ChangeRecord, Data, Head, Propose, Stamped, Subject, digest};
use super::fold::{self, saw};
use super::order::order;
use super::published::withhold;
use super::state::Proposal;
use crate::changeset::RepoPath;

/// Where memory proposals may change something.
pub(super) const MEMORY: &[u8] = b".agent-memory/";

/// This clone's own lanes, one for each audience, with the position of the last event: the only ones
/// that it holds completely.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own<'a>(pub &'a [(String, u64)]);

impl Own<'_> {
    /// The position of the last event of `lane`, if it is one of them.
    pub fn seq(self, lane: &str) -> Option<u64> {
        self.0.iter().find(|(own, _)| own == lane).map(|(_, seq)| *seq)
    }

    /// Whether `lane` is one of them.
    pub fn has(self, lane: &str) -> bool {
        self.seq(lane).is_some()
    }
}

/// Why an event does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Another first event has the same proposal id.
    DuplicateId,
    /// It names a revision that the proposal does not have.
    Revision,
    /// Its digest is not that of the revision it names.
    Digest,
    /// It says that files were written which the revision does not change.
    Written,
    /// It has seen more of this clone's lane than there is.
    Heads,
    /// A memory proposal that changes files elsewhere.
    OutsideMemory,
    /// It was not a person who published it.
    Published,
    /// The first event that it carries is missing, or not that of its proposal.
    Original,
    /// Its statement is not in the object database.
    StatementMissing,
    /// Its statement cannot be read, or says something else than the event.
    Statement,
    /// The manifest that its statement names is not in the object database.
    ManifestMissing,
    /// That manifest cannot be read, or says something else than the event and its revision.
    Manifest,
    /// Its statement was made at another place in the lane, or before something that the lane says of
    /// the proposal.
    Seen,
    /// It is in a private lane, and the proposal is published.
    Private,
}

impl Why {
    /// In words, to follow "is ignored: ".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DuplicateId => "another first event has this proposal id",
            Self::Revision => "it names a revision that the proposal does not have",
            Self::Digest => "its digest is not that of the revision it names",
            Self::Written => "it names written files that its revision does not change",
            Self::Heads => "it claims to have seen events of this clone that do not exist",
            Self::OutsideMemory => "a memory proposal changes files outside .agent-memory/",
            Self::Published => "only a person publishes a proposal",
            Self::Original => "the first event that it carries is missing, or another one",
            Self::StatementMissing => "its decision statement is missing",
            Self::Statement => "its decision statement is about something else",
            Self::ManifestMissing => "the manifest of its decision is missing",
            Self::Manifest => {
                "the manifest of its decision cannot be read, or is about something else"
            }
            Self::Seen => "its decision statement was made at another place in its lane",
            Self::Private => "it was said in private, and the proposal is published: say it again",
        }
    }
}

/// An event that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Its id.
    pub event: String,
    /// Its lane.
    pub lane: String,
    /// Why not.
    pub why: Why,
    /// The position that this clone's own lane would have to reach for it to count.
    pub awaits: Option<u64>,
}

/// What the events of a proposal lead to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    /// Nothing where the first one is missing.
    pub proposal: Option<Proposal>,
    /// The events that do not count.
    pub rejected: Vec<Rejection>,
    /// The digest of its current changes, where decisions had to be held against it.
    pub digest: Option<String>,
}

/// [`fold`](fold::fold) without the events that contradict the others; and these. `private` are the lanes for
/// nobody else.
pub fn fold(events: &[Stamped], own: Own<'_>, private: &BTreeSet<String>) -> Folded {
    let Audited { events, rejected, mut digests } = audit(order(events), own, private);
    let proposal = fold::run(&events);
    let current = proposal.as_ref().map(|proposal| proposal.current().event.as_str());
    let digest = current.and_then(|revision| digests.remove(revision));
    Folded { proposal, rejected, digest }
}

/// The events of a proposal, held against each other.
struct Audited<'e> {
    /// Those that fit together, in order.
    events: Vec<&'e Stamped>,
    rejected: Vec<Rejection>,
    /// The digests of revisions.
    digests: HashMap<&'e str, String>,
}

/// Holds the events of one proposal, in order, against each other.
fn audit<'e>(ordered: Vec<&'e Stamped>, own: Own<'_>, private: &BTreeSet<String>) -> Audited<'e> {
    let mut rejected = Vec::new();
    let mut reject = |stamped: &Stamped, why: Why, awaits: Option<u64>| {
        let lane = stamped.event.lane.clone();
        rejected.push(Rejection { event: stamped.id.clone(), lane, why, awaits });
    };
    let mut events = Vec::with_capacity(ordered.len());
    for stamped in ordered {
        let heads = stamped.event.heads.iter();
        let beyond = |head: &&Head| own.seq(&head.lane).is_some_and(|last| head.seq > last);
        let claimed = heads.filter(beyond).map(|head| head.seq).max();
        match (claimed, outside_memory(&stamped.event.data)) {
            (Some(seq), _) => reject(stamped, Why::Heads, Some(seq)),
            (None, true) => reject(stamped, Why::OutsideMemory, None),
            (None, false) => events.push(stamped),
        }
    }
    let Some(first) = first(&events, own) else {
        return Audited { events, rejected, digests: HashMap::new() };
    };
    for unheard in withhold(&mut events, first, private) {
        reject(unheard, Why::Private, None);
    }
    let subject = match &first.event.data {
        Data::Propose(propose) => propose.subject,
        _ => Subject::Code,
    };
    let mut revisions: HashMap<&str, (String, BTreeSet<&RepoPath>)> = HashMap::new();
    // Most proposals wait and were never decided on: nothing has to be held against their digests.
    let is_decision = |stamped: &&&Stamped| {
        matches!(stamped.event.data, Data::Apply(_) | Data::Reject(_) | Data::Approve(_))
    };
    let is_decided = events.iter().any(|stamped| is_decision(&stamped));
    for stamped in events.iter().filter(|_| is_decided) {
        let is_revision = match &stamped.event.data {
            Data::Propose(_) => stamped.id == first.id,
            Data::Revise(_) => true,
            _ => false,
        };
        if is_revision {
            let changes = stamped.event.data.changes();
            let paths = changes.iter().map(|change| &change.path).collect();
            revisions.insert(stamped.id.as_str(), (digest(changes), paths));
        }
    }
    events.retain(|stamped| {
        let other = !stamped.may_be_about(&first.id);
        let why = match &stamped.event.data {
            _ if other => Some(Why::DuplicateId),
            Data::Propose(_) if stamped.id != first.id => Some(Why::DuplicateId),
            Data::Revise(revise) if subject == Subject::Memory => {
                is_outside(&revise.changes).then_some(Why::OutsideMemory)
            }
            Data::Apply(apply) => match revisions.get(apply.revision.as_str()) {
                None => Some(Why::Revision),
                Some((digest, _)) if *digest != apply.digest => Some(Why::Digest),
                Some((_, paths)) => {
                    // Memory is planned again on the files as they are, and may go elsewhere in it.
                    let strange = apply.written.iter().any(|written| match subject {
                        Subject::Memory => !written.path.as_bstr().starts_with(MEMORY),
                        Subject::Code => !paths.contains(&written.path),
                    });
                    strange.then_some(Why::Written)
                }
            },
            Data::Reject(decision) => match revisions.get(decision.revision.as_str()) {
                None => Some(Why::Revision),
                Some((digest, _)) => (*digest != decision.digest).then_some(Why::Digest),
            },
            Data::Publish(_) => {
                (stamped.event.actor.kind != ActorKind::Human).then_some(Why::Published)
            }
            Data::Approve(approve) => match revisions.get(approve.revision.as_str()) {
                None => Some(Why::Revision),
                Some((digest, _)) if *digest != approve.digest => Some(Why::Digest),
                // The kind is younger than statements.
                Some(_) => approve.statement.is_none().then_some(Why::Statement),
            },
            _ => None,
        };
        if let Some(why) = why {
            reject(stamped, why, None);
        }
        why.is_none()
    });
    let digests = revisions.into_iter().map(|(revision, (digest, _))| (revision, digest)).collect();
    Audited { events, rejected, digests }
}

/// The first event that counts, where several have one proposal id: that of this clone's own lane;
/// or else the one that this clone has decided on, or the one it had seen when it first said
/// something of the proposal; or else the one in front.
fn first<'e>(events: &[&'e Stamped], own: Own<'_>) -> Option<&'e Stamped> {
    let is_first = |stamped: &&&Stamped| matches!(stamped.event.data, Data::Propose(_));
    let mut rivals: Vec<&'e Stamped> = events.iter().filter(is_first).copied().collect();
    if rivals.len() < 2 {
        return rivals.pop();
    }
    let is_own = |stamped: &&&Stamped| own.has(&stamped.event.lane);
    if let Some(mine) = rivals.iter().find(is_own) {
        return Some(mine);
    }
    for said in events.iter().filter(is_own) {
        let of = |rival: &&&Stamped| Some(&rival.id) == said.event.first.as_ref();
        if let Some(rival) = rivals.iter().find(of) {
            return Some(rival);
        }
        let named = match &said.event.data {
            Data::Apply(apply) => Some(&apply.revision),
            Data::Reject(reject) => Some(&reject.revision),
            Data::Approve(approve) => Some(&approve.revision),
            Data::Check(check) => Some(&check.revision),
            Data::Comment(comment) => comment.revision.as_ref(),
            Data::RequestChanges(request) => request.revision.as_ref(),
            _ => None,
        };
        if let Some(rival) = rivals.iter().find(|rival| Some(&rival.id) == named) {
            return Some(rival);
        }
        let mut seen = rivals.iter().filter(|rival| saw(said, rival));
        if let (Some(rival), None) = (seen.next(), seen.next()) {
            return Some(rival);
        }
    }
    rivals.into_iter().min_by_key(|rival| (rival.event.time, &rival.id))
}

fn outside_memory(data: &Data) -> bool {
    match data {
        Data::Propose(Propose { subject: Subject::Memory, changes, .. }) => is_outside(changes),
        _ => false,
    }
}

fn is_outside(changes: &[ChangeRecord]) -> bool {
    changes.iter().any(|change| !change.path.as_bstr().starts_with(MEMORY))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::super::event::{Apply, Comment, Effect, Entry, FileOutcome, How, Written};
    use super::super::{State, sample};
    use super::*;

    /// Ids are forged freely here: finding two that collide takes a minute.
    fn stamp(
        id: &str,
        lane: &str,
        seq: u64,
        second: i64,
        heads: &[(&str, u64)],
        data: Data,
    ) -> Stamped {
        let mut stamped = sample::stamp(lane, seq, second, heads, data);
        stamped.event.actor.name = lane.into();
        stamped.id = format!("{}{id}", "0".repeat(40 - id.len()));
        stamped
    }

    fn change(path: &str) -> ChangeRecord {
        let entry = |byte: &str| Some(Entry { id: byte.repeat(40), mode: "100644".into() });
        ChangeRecord {
            path: RepoPath::new(path).unwrap(),
            before: entry("a"),
            after: entry("b"),
            origin: None,
            snippets: Vec::new(),
        }
    }

    fn propose(path: &str, subject: Subject) -> Data {
        let expires_at = DateTime::from_timestamp(1_000_000, 0).unwrap();
        Data::Propose(Propose {
            subject,
            expires_at,
            changes: vec![change(path)],
            ..Propose::default()
        })
    }

    fn apply(revision: &Stamped, written: &[&str]) -> Data {
        Data::Apply(Apply {
            group: None,
            written_blob: None,
            revision: revision.id.clone(),
            digest: digest(revision.event.data.changes()),
            how: How::Flag,
            amended: Vec::new(),
            evidence: None,
            statement: None,
            effect: Effect::Files,
            commit: None,
            written: written
                .iter()
                .map(|path| Written {
                    path: RepoPath::new(*path).unwrap(),
                    before: None,
                    after: None,
                    outcome: FileOutcome::Clean,
                })
                .collect(),
        })
    }

    fn fold(events: &[Stamped], own: Own<'_>) -> Folded {
        super::fold(events, own, &BTreeSet::new())
    }

    fn why(events: &[Stamped]) -> Vec<Why> {
        let Folded { rejected, .. } = fold(events, Own(&[("own".to_owned(), 5)]));
        rejected.into_iter().map(|rejection| rejection.why).collect()
    }

    #[test]
    fn an_event_about_the_rival_of_a_proposal_does_not_count_for_it() {
        let good = stamp("1", "own", 1, 10, &[], propose("good", Subject::Code));
        let evil = stamp("2", "c", 1, 20, &[], propose("evil", Subject::Code));
        let said = Comment { body: "x".into(), ..Comment::default() };
        let mut about = stamp("3", "c", 2, 30, &[], Data::Comment(said));
        let lanes = [("own".to_owned(), 5)];
        let own = Own(&lanes);
        for (first, comments) in [(None, 1), (Some(&good.id), 1), (Some(&evil.id), 0)] {
            about.event.first = first.cloned();
            let folded = fold(&[good.clone(), evil.clone(), about.clone()], own);
            assert_eq!(folded.proposal.unwrap().comments.len(), comments);
        }
    }

    #[test]
    fn a_rival_first_event_is_ignored_whatever_its_time() {
        let comment = |revision: Option<String>| {
            Data::Comment(Comment { body: "x".into(), revision, ..Comment::default() })
        };
        let mine = stamp("1", "own", 1, 50, &[], propose("good", Subject::Code));
        let good = stamp("1", "b", 1, 50, &[], propose("good", Subject::Code));
        let evil = stamp("2", "c", 1, 10, &[], propose("evil", Subject::Code));
        assert_eq!(good.proposal(), evil.proposal());
        let seen = stamp("3", "own", 2, 60, &[("b", 1)], comment(None));
        let named = stamp("3", "own", 2, 60, &[], comment(Some(good.id.clone())));
        let later = stamp("4", "own", 3, 70, &[("b", 1), ("c", 1)], comment(None));
        for events in [
            vec![mine, evil.clone()],
            vec![evil.clone(), good.clone(), seen, later.clone()],
            vec![evil.clone(), good.clone(), named, later],
        ] {
            let lanes = [("own".to_owned(), 5)];
            let own = Own(&lanes);
            let folded = fold(&events, own);
            let Folded { proposal, rejected, .. } = folded.clone();
            let proposal = proposal.unwrap();
            assert_eq!(proposal.first_event, good.id);
            assert_eq!(proposal.current().changes, [change("good")]);
            assert_eq!(rejected.len(), 1);
            assert_eq!(
                (rejected[0].why, rejected[0].event.clone()),
                (Why::DuplicateId, evil.id.clone())
            );
            let mut turned = events.clone();
            turned.reverse();
            assert_eq!(fold(&turned, own), folded);
        }
        // Nothing was said of either: the earlier one, wherever it is read from.
        let folded = fold(&[good, evil.clone()], Own::default());
        assert_eq!(folded.proposal.unwrap().first_event, evil.id);
    }

    #[test]
    fn decisions_have_to_fit_their_revision() {
        let first = stamp("1", "a", 1, 1, &[], propose("f", Subject::Code));
        let other = stamp("9", "a", 1, 1, &[], propose("g", Subject::Code));
        let decided = |data: Data| [first.clone(), stamp("2", "b", 1, 2, &[("a", 1)], data)];
        assert_eq!(why(&decided(apply(&first, &["f"]))), []);
        assert_eq!(why(&decided(apply(&other, &[]))), [Why::Revision]);
        assert_eq!(why(&decided(apply(&first, &["f", "g"]))), [Why::Written]);
        let Data::Apply(mut wrong) = apply(&first, &[]) else { unreachable!() };
        wrong.digest = "0".repeat(40);
        let events = decided(Data::Apply(wrong));
        assert_eq!(why(&events), [Why::Digest]);
        assert_eq!(fold(&events, Own::default()).proposal.unwrap().state, State::Pending);
    }

    #[test]
    fn nobody_has_seen_what_this_clone_has_not_written() {
        let first = stamp("1", "own", 1, 1, &[], propose("f", Subject::Code));
        let seen = |seq| {
            let applied = stamp("2", "b", 1, 2, &[("own", seq)], apply(&first, &["f"]));
            why(&[first.clone(), applied])
        };
        assert_eq!(seen(5), []);
        assert_eq!(seen(6), [Why::Heads]);
    }

    #[test]
    fn memory_proposals_stay_in_the_memory() {
        let inside = stamp("1", "a", 1, 1, &[], propose(".agent-memory/x.md", Subject::Memory));
        assert_eq!(why(&[inside]), []);
        let outside = stamp("1", "a", 1, 1, &[], propose("src/main.rs", Subject::Memory));
        assert_eq!(why(std::slice::from_ref(&outside)), [Why::OutsideMemory]);
        assert_eq!(fold(&[outside], Own::default()).proposal, None);
    }
}
