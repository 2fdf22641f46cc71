//! `docs/format.md` says what events are: its examples are read and written again to the same bytes,
//! and no kind and no field is left out.

use std::collections::BTreeSet;

use aye::proposal::event::{Data, Event};

const FORMAT: &str = include_str!("../../docs/format.md");
const DATA: &str = include_str!("../../src/proposal/event/data.rs");
const DECISIONS: &str = include_str!("../../src/proposal/event/decisions.rs");
const CHANGES: &str = include_str!("../../src/proposal/event/changes.rs");
const EVENT: &str = include_str!("../../src/proposal/event/mod.rs");

/// The JSON examples, each one line.
fn examples() -> Vec<&'static str> {
    let blocks = FORMAT.split("```json\n").skip(1);
    blocks.map(|block| block.split("\n```").next().expect("the end of the example")).collect()
}

#[test]
fn every_example_is_canonical() {
    let examples = examples();
    assert!(examples.len() > 15, "{}", examples.len());
    for example in examples {
        let event = Event::from_bytes(example.as_bytes()).expect(example);
        let again = String::from_utf8(event.to_bytes().expect("JSON")).expect("UTF-8");
        assert_eq!(again, format!("{example}\n"));
    }
}

#[test]
fn the_result_of_try_is_canonical() {
    use aye::proposal::try_result::TryResult;
    let (_, section) = FORMAT.split_once("## Results of try\n").expect("the section");
    let example = section.split("```text\n").nth(1).and_then(|text| text.split_once("\n```"));
    let (example, _) = example.expect("the example");
    let result = TryResult::from_bytes(example.as_bytes()).expect(example);
    let again = String::from_utf8(result.to_bytes().expect("JSON")).expect("UTF-8");
    assert_eq!(again, format!("{example}\n"));
    let value: serde_json::Value = serde_json::from_str(example).expect("JSON");
    for key in value.as_object().expect("an object").keys() {
        assert!(section.contains(&format!("| `{key}` |")), "nothing is said of '{key}'");
    }
}

#[test]
fn the_lines_of_a_purged_proposal_are_read() {
    use aye::proposal::snapshot::{self, Item};
    let (_, section) = FORMAT.split_once("### Purge\n").expect("the section");
    let example = section.split("```text\n").nth(1).and_then(|text| text.split_once("```"));
    let (example, _) = example.expect("the example");
    let items = snapshot::read(example.as_bytes(), "l", 3, |_| None).expect(example);
    let mut subjects = Vec::new();
    let mut keys = BTreeSet::new();
    for item in items {
        match item.expect("a line") {
            Item::Figures(figures) => {
                let lines = Vec::new();
                subjects.push(snapshot::Subject {
                    figures: Some(figures),
                    lines,
                    stubs: Vec::new(),
                });
            }
            Item::Stub(_, stub) => {
                let value = serde_json::to_value(&stub).expect("JSON");
                keys.extend(value.as_object().expect("an object").keys().cloned());
                subjects.last_mut().expect("a subject").stubs.push(stub);
            }
            Item::Event(_) => panic!("an event"),
        }
    }
    assert_eq!(String::from_utf8(snapshot::write(&subjects).concat()).expect("UTF-8"), example);
    for key in keys {
        assert!(FORMAT.contains(&format!("`{key}`")), "nothing is said of '{key}'");
    }
}

/// The words of `source` that are declared as public fields of structs.
fn fields(source: &'static str) -> impl Iterator<Item = &'static str> {
    source.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("    pub ")?.split_once(':')?;
        name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_').then_some(name)
    })
}

#[test]
fn every_kind_and_field_has_an_example() {
    let mut keys = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    fn collect(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    keys.insert(key.clone());
                    collect(value, keys);
                }
            }
            serde_json::Value::Array(values) => {
                values.iter().for_each(|value| collect(value, keys));
            }
            _ => {}
        }
    }
    for example in examples() {
        let event = Event::from_bytes(example.as_bytes()).expect(example);
        if !matches!(event.data, Data::Unknown(..)) {
            kinds.insert(event.data.kind().to_owned());
        }
        collect(&serde_json::from_str(example).expect("JSON"), &mut keys);
    }
    // What `is_known` lists, word for word.
    let (_, known) = DATA.split_once("fn is_known(").expect("the list of kinds");
    let known: BTreeSet<String> = known.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(known.contains("propose") && known.len() >= 15, "{known:?}");
    assert_eq!(kinds, known);
    let wanted: BTreeSet<&str> = [DATA, DECISIONS, CHANGES].into_iter().flat_map(fields).collect();
    assert!(wanted.contains("revision") && wanted.contains("snippets"), "{wanted:?}");
    for field in wanted {
        assert!(keys.contains(field), "no example has the field '{field}'");
    }
    // The header, as it is written.
    let (_, header) = EVENT.split_once("struct Header<'a> {").expect("the header");
    let header = header.split_once("\n}").expect("its end").0;
    let names = header.lines().filter_map(|line| line.trim().split_once(": "));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    assert!(names.contains(&"heads") && names.len() > 8, "{names:?}");
    for name in names {
        assert!(keys.contains(name), "no example has '{name}'");
        assert!(FORMAT.contains(&format!("`{name}`")), "nothing is said of '{name}'");
    }
}

#[test]
fn every_kind_about_a_proposal_has_its_row_in_the_fold() {
    let (_, section) = FORMAT.split_once("## From events to a state\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("its end");
    let rows: String = section.lines().filter(|line| line.starts_with("| `")).collect();
    for example in examples() {
        let event = Event::from_bytes(example.as_bytes()).expect(example);
        // The others are about no proposal, or make none what it is.
        if !matches!(
            event.data,
            Data::Plan(_) | Data::Patch(_) | Data::Fold(_) | Data::Purge(_) | Data::Unknown(..)
        ) {
            let kind = format!("`{}`", event.data.kind());
            assert!(rows.contains(&kind), "no row has {kind}");
        }
    }
}
