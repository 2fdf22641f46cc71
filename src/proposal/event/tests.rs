use proptest::prelude::*;
use serde_json::json;

use super::super::ActorKind;
use super::super::sample::{CLONE, change, propose, revise};
use super::*;

fn event(data: Data) -> Event {
    Event {
        actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Agent },
        agent: None,
        clone: CLONE.into(),
        time: "2026-03-14T10:30:00Z".parse().unwrap(),
        data,
    }
}

fn plan() -> Data {
    Data::Plan(json!({"branch": "main", "plan": []}))
}

fn text(data: Data) -> String {
    String::from_utf8(event(data).to_line().unwrap()).unwrap()
}

fn read(line: &str) -> Result<Event> {
    Event::from_line(line.as_bytes(), None)
}

#[test]
fn what_is_written_is_read_again() {
    let id = || "a".repeat(40);
    let blob = || BlobRef { id: id(), sha256: "b".repeat(64) };
    let mut moved = change("a", "1", "2");
    moved.origin = Some(crate::changeset::RepoPath::new("c").unwrap());
    moved.snippets = vec![SnippetRecord {
        old: b"\xff".to_vec(),
        new: b"x".to_vec(),
        occurrence: Some("2".into()),
    }];
    let written = Written {
        path: moved.path.clone(),
        before: moved.before.clone(),
        after: None,
        outcome: FileOutcome::Clean,
    };
    for data in [
        propose(Subject::Memory, vec![moved]),
        revise(vec![]),
        Data::Comment(Comment {
            body: "x".into(),
            kind: CommentKind::Other("praise".into()),
            replacement: Some(String::new()),
            resolves: Some(id()),
            ..Comment::default()
        }),
        Data::Check(Check {
            command: vec!["true".into()],
            exit_code: None,
            duration_ms: 1,
            revision: id(),
            imported: None,
        }),
        Data::Committed(Committed {
            commit: id(),
            amended: vec![written.clone()],
            statement: Some("b".repeat(64)),
        }),
        plan(),
        Data::Patch(Patch { written: vec![written], written_blob: None, evidence: Evidence::Tool }),
        Data::Patch(Patch {
            written: vec![],
            written_blob: Some(blob()),
            evidence: Evidence::Other("seal".into()),
        }),
        Data::Sign(Sign { statement: "b".repeat(64) }),
        Data::Purge(Purge {
            thread: id(),
            reason: "r".into(),
            blob: None,
            asked: true,
            evidence: Evidence::Flag,
        }),
        Data::Unknown("dance".into(), json!({"a": 1})),
    ] {
        let event = event(data);
        let line = event.to_line().unwrap();
        assert_eq!(Event::from_line(&line, None).unwrap(), event);
    }
}

#[test]
fn a_decision_has_the_time_of_its_statement() {
    let said = DecisionData { verdict: Verdict::RequestChanges, reason: Some("because".into()) };
    let line = text(Data::Decision(said.clone()));
    assert!(!line.contains("time") && line.contains(r#""kind":"request_changes""#), "{line}");
    let read_back = read(&line).unwrap();
    assert_eq!((read_back.time, read_back.data), (DateTime::default(), Data::Decision(said)));
    let time = "2026-03-14T10:30:00.125Z".parse().unwrap();
    let statement = Statement::new(Verdict::Undo, event(plan()).actor, Evidence::Terminal, time);
    assert_eq!(Event::from_line(line.as_bytes(), Some(&statement)).unwrap().time, time);
    let timed = line.replace(r#","v":2"#, r#","time":"2026-03-14T10:30:00.125Z","v":2"#);
    assert!(read(&timed).unwrap_err().is(&codes::EVENT_INVALID));
}

#[test]
fn other_spellings_and_other_types_are_refused() {
    let line = text(propose(Subject::Code, vec![change("a", "1", "2")]));
    assert!(read(&line).is_ok());
    for (from, to) in [
        (r#""v":2"#, r#""v":2.0"#),
        (r#""v":2"#, r#""v": 2"#),
        (r#""v":2"#, r#""v":0"#),
        (r#""v":2}"#, r#""v":2,"v":2}"#),
        (r#""v":2}"#, "\"v\":2}\n"),
        (r#""v":2}"#, r#""v":2,"a":1}"#),
        (r#""kind":"propose""#, r#""kind":"prop\u006fse""#),
        (".000Z\",\"v\"", "Z\",\"v\""),
        (".000Z\",\"v\"", ".000+00:00\",\"v\""),
        (r#""clone":"0123456789abcdef""#, r#""clone":"0123456789abcdeF""#),
        (r#""clone":"0123456789abcdef","#, ""),
        (r#""kind":"agent""#, r#""kind":"robot""#),
        (r#""mode":"100644""#, r#""mode":"644""#),
        (r#""subject":"code""#, r#""subject":"words""#),
        (r#""subject":"code""#, r#""subject":null"#),
        (r#""path":"a""#, r#""path":"../a""#),
        (r#""path":"a""#, r#""path":".git/config""#),
        (r#""sha256":"#, r#""sha":"#),
    ] {
        let other = line.replacen(from, to, 1);
        assert_ne!(other, line, "{from}");
        assert!(read(&other).unwrap_err().is(&codes::EVENT_INVALID), "{to}");
    }
}

#[test]
fn unknown_keys_are_passed_over_and_null_is_absence() {
    let line = text(propose(Subject::Code, vec![]));
    for (from, to) in [
        (r#""v":2}"#, r#""v":2,"zeal":{"a":[1]}}"#),
        (r#""data":{"#, r#""data":{"aim":"x","#),
        (r#""data":{"changes""#, r#""data":{"base":null,"changes""#),
        (r#""form":"snippet","#, r#""form":"snippet","incomplete":null,"#),
        (r#""clone""#, r#""agent":5,"clone""#),
        (r#""clone""#, r#""agent":{"session":"a\nb"},"clone""#),
    ] {
        let other = line.replacen(from, to, 1);
        assert_ne!(other, line, "{from}");
        assert_eq!(read(&other).unwrap(), read(&line).unwrap(), "{to}");
    }
    let run = r#""agent":{"model":5,"session":"s"},"clone""#;
    let named = read(&line.replacen(r#""clone""#, run, 1)).unwrap();
    assert_eq!(named.agent, AgentRun::new(Some("s"), None));
}

#[test]
fn kinds_and_versions_that_are_not_known_are_kept() {
    let unknown = |line: &str| match read(line).unwrap() {
        Event { data: Data::Unknown(kind, _), time, .. } => (kind, time.timestamp()),
        other => panic!("{other:?}"),
    };
    let line = text(plan());
    let at = event(plan()).time.timestamp();
    assert_eq!(
        unknown(&line.replace("\"plan\",\"time", "\"ratify\",\"time")),
        ("ratify".into(), at)
    );
    assert_eq!(unknown(&line.replace("\"v\":2", "\"v\":3")), ("plan@3".into(), at));
    let odd = line.replace("\"v\":2", "\"v\":3").replace("2026-03-14", "2026-3-14");
    assert_eq!(unknown(&odd), ("plan@3".into(), 0));
}

#[test]
fn a_long_list_is_named_by_its_blob() {
    let mut event = event(propose(Subject::Code, vec![change("a", "1", "2")]));
    let whole = event.clone();
    let bytes = event.take_list().unwrap().unwrap();
    let sha256 = crate::sha256::hex(&bytes);
    event.name_list(BlobRef { id: "a".repeat(40), sha256 });
    assert_eq!(Event::from_line(&event.to_line().unwrap(), None).unwrap(), event);
    assert!(event.clone().put_list(b"[]\n").is_err());
    event.put_list(&bytes).unwrap();
    assert_eq!(event.data.changes(), whole.data.changes());
}

#[test]
fn a_digest_is_of_paths_modes_and_contents() {
    let of = |path: &str, before: &str, after: &str| digest(&[change(path, before, after)]);
    let one = of("a", "1", "2");
    let mut executable = change("a", "1", "2");
    executable.after.as_mut().unwrap().mode = "100755".into();
    let mut gone = change("a", "1", "2");
    gone.after = None;
    for other in [
        of("b", "1", "2"),
        of("a", "0", "2"),
        of("a", "1", "3"),
        digest(&[executable]),
        digest(&[gone]),
    ] {
        assert_ne!(one, other);
    }
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Event::from_line(&bytes, None);
    }

    #[test]
    fn a_changed_byte_is_refused_or_another_event(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let line = event(propose(Subject::Code, vec![change("a", "1", "2")])).to_line().unwrap();
        let mut other = line.clone();
        let at = at.index(line.len());
        other[at] = byte;
        if let Ok(read) = Event::from_line(&other, None) {
            prop_assert_eq!(read == Event::from_line(&line, None).unwrap(), other == line);
        }
    }
}
