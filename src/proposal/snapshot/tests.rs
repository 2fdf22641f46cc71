use chrono::DateTime;
use proptest::prelude::*;

use super::super::event::{
    Comment, Evidence, Head, How, Mark, Marked, Propose, Purge, Reject, RevisionReason,
};
use super::super::{Actor, ActorKind, Stamped, fold};
use super::*;

fn hash(bytes: &[u8]) -> Option<String> {
    use gix::objs::{Kind, compute_hash};
    compute_hash(gix::hash::Kind::Sha1, Kind::Blob, bytes).ok().map(|id| id.to_string())
}

fn blob(bytes: &[u8]) -> BlobRef {
    BlobRef { id: hash(bytes).unwrap(), sha256: crate::sha256::hex(bytes) }
}

fn event(lane: &str, seq: u64, proposal: Option<&ProposalId>, data: Data) -> Event {
    Event {
        proposal: proposal.cloned(),
        first: None,
        lane: lane.into(),
        seq,
        actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Human },
        agent: None,
        time: DateTime::from_timestamp(seq as i64, 0).unwrap(),
        heads: Vec::<Head>::new(),
        witness: Vec::new(),
        forked: None,
        needs: None,
        data,
    }
}

fn line(event: &Event) -> Line {
    Line { event: event.to_bytes().unwrap(), statement: None, manifest: None }
}

fn comment(body: &str) -> Data {
    Data::Comment(Comment { body: body.into(), ..Comment::default() })
}

fn subject(seq: u64) -> (Subject, ProposalId) {
    let first = event("l", seq, None, Data::Propose(Propose::default()));
    let id = ProposalId::from_event(&hash(&first.to_bytes().unwrap()).unwrap());
    let figures = Figures { id: id.clone(), digest: Some("d".into()), added: seq, removed: 0 };
    (Subject { figures: Some(figures), lines: vec![line(&first)], stubs: Vec::new() }, id)
}

fn stub(seq: u64) -> Stub {
    Stub::of(&Stamped { id: "a".repeat(40), event: event("l", seq, None, comment("c")) })
}

fn items(part: &[u8], last: u64) -> Result<Vec<Item<'_>>, String> {
    read(part, "l", last, hash)?.collect()
}

#[test]
fn a_statement_and_its_manifest_follow_their_event() {
    let manifest = b"clean none - - 100644:\"a\n\0".to_vec();
    let named = blob(&manifest);
    let statement =
        json(&serde_json::json!({"manifest": {"id": named.id, "sha256": named.sha256}}));
    let (mut one, id) = subject(1);
    let mark = |statement: &[u8]| {
        let mark = Mark {
            verdict: Marked::Applied,
            revision: String::new(),
            digest: String::new(),
            reason: None,
            evidence: Evidence::Tool,
            statement: Some(blob(statement)),
        };
        event("l", 2, Some(&id), Data::Mark(mark)).to_bytes().unwrap()
    };
    let line = Line {
        event: mark(&statement),
        statement: Some(statement.clone()),
        manifest: Some(manifest.clone()),
    };
    assert!(line.is_plain());
    one.lines.push(line.clone());
    let part = write(std::slice::from_ref(&one)).remove(0);
    let found = items(&part, 2).unwrap();
    let Some(Item::Event(last)) = found.last() else { panic!("no event") };
    assert_eq!((last.statement, last.manifest.as_ref()), (Some(&statement[..]), Some(&manifest)));
    for broken in [
        Line { manifest: None, ..line.clone() },
        Line { statement: None, manifest: None, ..line.clone() },
        Line { manifest: Some(b"clean".to_vec()), ..line },
    ] {
        one.lines[1] = broken;
        let part = write(std::slice::from_ref(&one)).remove(0);
        assert!(items(&part, 2).unwrap_err().contains("lacks"), "{:?}", one.lines[1]);
    }
}

#[test]
fn what_is_not_of_the_lane_or_at_its_place_is_refused() {
    let (one, id) = subject(3);
    let part = write(std::slice::from_ref(&one)).remove(0);
    assert_eq!(items(&part, 3).unwrap().len(), 2);
    assert!(items(&part, 2).unwrap_err().contains("goes on from 2"));
    assert!(read(&part, "m", 3, hash).unwrap().find_map(Result::err).unwrap().contains("lane 'l'"));
    let alone = Subject { figures: None, ..one.clone() };
    assert!(items(&write(&[alone])[0], 3).unwrap_err().contains("wrong place"));
    let (other, _) = subject(2);
    let mut mixed = one;
    mixed.lines.extend(other.lines);
    assert!(items(&write(&[mixed])[0], 3).unwrap_err().contains("wrong place"));
    let blank = format!("{{\"subject\": {{\"id\":\"{id}\"}}}}\n");
    assert!(items(blank.as_bytes(), 3).unwrap_err().contains("canonical"));
    assert!(items(b"{\"stub\":{\"id\":\"x\"}}", 3).unwrap_err().contains("line feed"));
    let stubbed = |seq: u64, id: &str| {
        let subject = Subject {
            figures: Some(Figures::none(ProposalId::from_event(&"a".repeat(40)))),
            lines: Vec::new(),
            stubs: vec![Stub { id: id.into(), ..stub(seq) }],
        };
        write(&[subject]).remove(0)
    };
    assert_eq!(items(&stubbed(3, &"a".repeat(40)), 3).unwrap().len(), 2);
    assert!(items(&stubbed(4, &"a".repeat(40)), 3).unwrap_err().contains("wrong place"));
    assert!(items(&stubbed(3, "x"), 3).unwrap_err().contains("wrong place"));
    let alone = stubbed(3, &"a".repeat(40));
    let alone = alone.split_inclusive(|b| *b == b'\n').next_back().unwrap();
    assert!(items(alone, 3).unwrap_err().contains("wrong place"));
    assert!(ids(alone, hash).unwrap_err().contains("nothing"));
    assert!(items(&vec![b'\n'; MAX_LINES + 1], 3).unwrap_err().contains("lines"));
    assert!(items(&vec![b'\n'; MAX_PART + 1], 3).unwrap_err().contains("bytes"));
    // Of a later version.
    assert_eq!(items(b"{\"later\":1}\n", 3).unwrap(), []);
}

proptest! {
    // Hashing mebibytes takes a while in a debug build.
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn what_was_written_is_read(
        sizes in proptest::collection::vec((0..3_usize, 0..200_000_usize), 0..12)
    ) {
        let mut seq = 0;
        let subjects: Vec<Subject> = sizes.iter().map(|(count, size)| {
            seq += 1;
            let (mut subject, id) = subject(seq);
            for _ in 0..*count {
                seq += 1;
                let said = event("l", seq, Some(&id), comment(&"x".repeat(*size)));
                subject.lines.push(line(&said));
            }
            subject.stubs = vec![stub(seq); *count];
            subject
        }).collect();
        let parts = write(&subjects);
        let (mut bodies, mut figures, mut all, mut stubs) = (vec![], vec![], vec![], 0);
        for part in &parts {
            prop_assert!(part.len() <= MAX_PART);
            all.extend(ids(part, hash).unwrap());
            for item in items(part, seq).unwrap() {
                match item {
                    Item::Event(read) => bodies.push((read.id, read.body.to_vec())),
                    Item::Figures(found) if figures.last() != Some(&found) => figures.push(found),
                    Item::Figures(_) => {}
                    Item::Stub(..) => stubs += 1,
                }
            }
        }
        let expected: Vec<Vec<u8>> =
            subjects.iter().flat_map(|s| &s.lines).map(|line| line.event.clone()).collect();
        let expected: Vec<_> =
            expected.into_iter().map(|body| (hash(&body).unwrap(), body)).collect();
        prop_assert_eq!(all.len(), expected.len() + stubs);
        prop_assert_eq!(bodies, expected);
        let named: Vec<Figures> = subjects.iter().filter_map(|s| s.figures.clone()).collect();
        prop_assert_eq!(figures, named);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Nothing is left of what is purged but its places, and every other line is as it was.
    #[test]
    fn a_part_without_a_subject_has_every_other_line(
        sizes in proptest::collection::vec((0..4_usize, any::<bool>()), 1..8),
    ) {
        let mut seq = 0;
        let mut purged = BTreeSet::new();
        let subjects: Vec<Subject> = sizes.iter().map(|(count, goes)| {
            seq += 1;
            let (mut subject, id) = subject(seq);
            let word = if *goes { "secret" } else { "public" };
            for _ in 0..*count {
                seq += 1;
                subject.lines.push(line(&event("l", seq, Some(&id), comment(word))));
            }
            seq += 1;
            let manifest = format!("clean none - - 100644:\"{word}\n\0").into_bytes();
            let statement = json(&serde_json::json!({
                "actor": word, "manifest": {"id": hash(&manifest), "sha256": blob(&manifest).sha256},
            }));
            let mark = Mark {
                verdict: Marked::Applied, revision: String::new(), digest: String::new(),
                reason: None, evidence: Evidence::Tool, statement: Some(blob(&statement)),
            };
            let mark = line(&event("l", seq, Some(&id), Data::Mark(mark)));
            let (statement, manifest) = (Some(statement), Some(manifest));
            subject.lines.push(Line { statement, manifest, ..mark });
            seq += 1;
            let purge = Purge {
                reason: "why".into(), blob: None, asked: true, evidence: Evidence::Flag,
            };
            subject.lines.push(line(&event("l", seq, Some(&id), Data::Purge(purge))));
            purged.extend(goes.then_some(id));
            subject
        }).collect();
        let part = write(&subjects).remove(0);
        let kept = without(&part, &purged, hash).unwrap();
        prop_assert!(!String::from_utf8_lossy(&kept).contains("secret"));
        let all = |part: &[u8]| -> Vec<String> {
            ids(part, hash).unwrap().into_iter().map(|(id, _)| id).collect()
        };
        prop_assert_eq!(all(&kept), all(&part));
        for (id, of) in ids(&kept, hash).unwrap() {
            prop_assert!(of.is_none_or(|of| purged.contains(&of)), "{}", id);
        }
        let events = |part: &[u8]| -> Vec<(String, Vec<u8>)> {
            items(part, seq).unwrap().into_iter().filter_map(|item| match item {
                Item::Event(read) => Some((read.id, read.body.to_vec())),
                _ => None,
            }).collect()
        };
        let stays = |event: &Event| match &event.data {
            Data::Purge(_) => true,
            Data::Propose(_) => false,
            _ => event.proposal.as_ref().is_some_and(|id| !purged.contains(id)),
        };
        let expected: Vec<_> = events(&part).into_iter().filter(|(id, body)| {
            let event = Event::from_bytes(body).unwrap();
            let first = matches!(event.data, Data::Propose(_));
            first && !purged.contains(&ProposalId::from_event(id)) || stays(&event)
        }).collect();
        prop_assert_eq!(events(&kept), expected);
        prop_assert_eq!(&without(&kept, &purged, hash).unwrap(), &kept, "again");
        if purged.is_empty() {
            prop_assert_eq!(kept, part);
        }
    }
}

proptest! {
    /// A lane's events of a subject, through a snapshot, among those of other lanes: whatever
    /// these had seen, and in whatever order all of it is read, the state is the same.
    #[test]
    fn a_history_is_folded_alike_with_and_without_a_snapshot(
        steps in proptest::collection::vec((0..3_usize, any::<bool>(), 0..6_u8, 0..50_i64), 0..16),
        cut in 0..16_u64,
        turn in 0..16_usize,
    ) {
        let names = ["l", "m", "n"];
        let mut known = [[1_u64, 0, 0], [0; 3], [0; 3]];
        let first = event("l", 1, None, Data::Propose(Propose::default()));
        let first = Stamped { id: hash(&first.to_bytes().unwrap()).unwrap(), event: first };
        let id = first.proposal().unwrap();
        let mut events = vec![first];
        for (lane, learns, kind, second) in steps {
            if learns {
                for theirs in known {
                    for (mine, theirs) in known[lane].iter_mut().zip(theirs) {
                        *mine = (*mine).max(theirs);
                    }
                }
            }
            let heads = (0..3).filter(|of| *of != lane && known[lane][*of] > 0);
            let heads = heads.map(|of| Head {
                lane: names[of].into(), seq: known[lane][of], tip: "t".into(),
            });
            let data = match kind {
                0 | 1 => super::super::forks::tests::data(kind),
                2 => super::super::forks::tests::data(2),
                3 => Data::Reject(Reject {
                    group: None,
                    reason: None, revision: String::new(), digest: String::new(),
                    how: How::Flag, withdrawn: false, evidence: None, statement: None,
                }),
                4 => Data::Revise(super::super::event::Revise {
                    on: None,
                    description: Some(second.to_string()), expires_at: None,
                    reason: RevisionReason::Edited, base: None, target: None, changes: Vec::new(),
                    changes_blob: None, memory: None,
                }),
                _ => comment("c"),
            };
            let heads = heads.collect();
            known[lane][lane] += 1;
            let mut next = event(names[lane], known[lane][lane], Some(&id), data);
            next.heads = heads;
            next.time = DateTime::from_timestamp(second, 0).unwrap();
            let bytes = next.to_bytes().unwrap();
            events.push(Stamped { id: hash(&bytes).unwrap(), event: next });
        }
        let is_folded = |stamped: &&Stamped| stamped.event.lane == "l" && stamped.event.seq <= cut;
        let figures = Figures { id, digest: None, added: 0, removed: 0 };
        let lines = events.iter().filter(is_folded).map(|stamped| line(&stamped.event)).collect();
        let parts = write(&[Subject { figures: Some(figures), lines, stubs: Vec::new() }]);
        let mut again: Vec<Stamped> =
            events.iter().filter(|stamped| !is_folded(stamped)).cloned().collect();
        for part in &parts {
            for item in items(part, cut).unwrap() {
                if let Item::Event(read) = item {
                    again.push(Stamped { id: read.id, event: *read.event });
                }
            }
        }
        // What came late may be in a clone that has both epochs.
        again.extend(events.iter().take(turn).cloned());
        let by = turn % again.len().max(1);
        again.rotate_left(by);
        prop_assert_eq!(fold(&again), fold(&events));
    }

    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = items(&bytes, 9);
        let _ = ids(&bytes, hash);
    }
}
