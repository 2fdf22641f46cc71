use proptest::prelude::*;

use super::super::{ActorKind, AgentRun};
use super::*;

fn event(data: Data) -> Event {
    Event {
        proposal: None,
        first: None,
        lane: "l".into(),
        seq: 3,
        actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Agent },
        agent: None,
        time: "2026-03-14T10:30:00.123Z".parse().unwrap(),
        heads: vec![Head { lane: "l".into(), seq: 2, tip: "abc".into() }],
        witness: Vec::new(),
        forked: None,
        needs: None,
        data,
    }
}

#[test]
fn what_is_written_is_read_again() {
    let events = [
        event(Data::Comment(Comment { body: "x".into(), line: Some(2), ..Comment::default() })),
        event(Data::Comment(Comment {
            kind: CommentKind::Other("praise".into()),
            replacement: Some(String::new()),
            resolves: Some("abc".into()),
            ..Comment::default()
        })),
        event(Data::Plan(serde_json::json!({"steps": []}))),
        event(Data::Unknown("dance".into(), serde_json::json!({"a": 1}))),
    ];
    for event in events {
        let bytes = event.to_bytes().unwrap();
        assert_eq!(Event::from_bytes(&bytes).unwrap(), event);
        assert_eq!(Event::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
    }
}

#[test]
fn times_have_milliseconds_at_a_whole_second_too() {
    let time = "2026-03-14T10:30:00Z".parse().unwrap();
    let event = Event { time, ..event(Data::Plan(serde_json::json!({}))) };
    let text = String::from_utf8(event.to_bytes().unwrap()).unwrap();
    assert!(text.contains("\"time\":\"2026-03-14T10:30:00.000Z\""), "{text}");
}

/// What is read in one go is what is read otherwise, whatever the order of the keys is and whichever
/// kinds are named elsewhere.
#[test]
fn frequent_kinds_are_read_as_any_other() {
    let propose = Data::Propose(Propose {
        description: Some(r#""kind":"apply""#.into()),
        memory: Some(serde_json::json!({"kind": "reject", "data": {"kind": "apply"}})),
        ..Propose::default()
    });
    let reject = Data::Reject(Reject {
        group: None,
        reason: Some("no".into()),
        revision: "r".into(),
        digest: "d".into(),
        how: How::Flag,
        withdrawn: false,
        evidence: None,
        statement: None,
    });
    let apply = r#"{"revision":"r","digest":"d","how":"flag","effect":"files"}"#;
    let apply: Apply = serde_json::from_str(apply).unwrap();
    let mut frequent = 0;
    for data in [propose, reject, Data::Apply(apply), Data::Plan(serde_json::json!({}))] {
        let event = event(data);
        let canonical = event.to_bytes().unwrap();
        let mut value: serde_json::Value = serde_json::from_slice(&canonical).unwrap();
        let mut forms = vec![canonical];
        let keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        for key in keys {
            // To the end.
            let object = value.as_object_mut().unwrap();
            let moved = object.shift_remove(&key).unwrap();
            object.insert(key.clone(), moved);
            forms.push(serde_json::to_vec(&value).unwrap());
            let mut without = value.clone();
            without.as_object_mut().unwrap().shift_remove(&key);
            forms.push(serde_json::to_vec(&without).unwrap());
            without.as_object_mut().unwrap().insert(key, serde_json::Value::Null);
            forms.push(serde_json::to_vec(&without).unwrap());
        }
        for bytes in forms {
            let slow = Event::of_any_kind(&bytes);
            if let Some(fast) = Event::of_frequent_kind(&bytes) {
                frequent += 1;
                assert_eq!(slow.ok(), Some(fast), "{}", String::from_utf8_lossy(&bytes));
            }
        }
    }
    assert!(frequent > 10, "{frequent}");
}

#[test]
fn a_known_kind_with_broken_data_is_an_error() {
    let bytes = br#"{"v":1,"kind":"apply","data":{},"lane":"l","seq":1,"actor":{"name":"","email":"","kind":"human"},"time":"2026-01-01T00:00:00Z"}"#;
    assert!(Event::from_bytes(bytes).unwrap_err().is(&codes::EVENT_INVALID));
}

#[test]
fn paths_in_events_are_checked() {
    let text = r#"{"path":"../x","after":{"id":"00","mode":"100644"}}"#;
    assert!(serde_json::from_str::<ChangeRecord>(text).is_err());
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Event::from_bytes(&bytes);
    }
}

#[test]
fn a_run_that_is_not_understood_is_ignored() {
    let bytes = |agent: &str| {
        let text = String::from_utf8(event(Data::Plan(serde_json::json!({}))).to_bytes().unwrap())
            .unwrap();
        text.replacen("\"data\"", &format!("\"agent\":{agent},\"data\""), 1).into_bytes()
    };
    let run = |agent: &str| Event::from_bytes(&bytes(agent)).unwrap().agent;
    assert_eq!(run(r#"{"model":"m","session":"s"}"#), AgentRun::new(Some("s"), Some("m")));
    assert_eq!(run(r#"{"model":5,"session":"s"}"#), AgentRun::new(Some("s"), None));
    let long = "x".repeat(201);
    for odd in
        ["5", "null", "[]", "{}", r#"{"session":"a\nb"}"#, &format!(r#"{{"session":"{long}"}}"#)]
    {
        assert_eq!(run(odd), None, "{odd}");
    }
    let bytes = bytes(r#"{"model":"m","session":"s"}"#);
    assert_eq!(Event::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
}
