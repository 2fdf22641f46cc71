//! Build step: `rules.toml` becomes a static table. A wrong line stops the build, so that nothing
//! is left to be misread when a command is decided.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const SOURCE: &str = "src/shell/policy/rules.toml";

/// Most arguments one flag may take.
const MOST_VALUES: usize = 2;

/// One table as written; what a field means is said at the head of the file.
#[derive(serde::Deserialize, Default, Clone)]
#[serde(deny_unknown_fields, default)]
struct Section {
    operands: Option<Vec<String>>,
    flags: Option<String>,
    also: Option<String>,
    numbers: Option<bool>,
    bundle: Option<bool>,
    attach: Option<bool>,
    permute: Option<bool>,
    builtin: Option<bool>,
    instead: Option<Vec<String>>,
    only_with: Option<Vec<String>>,
    recursive: Option<Vec<String>>,
    follows: Option<Vec<String>>,
    insert: Option<Vec<String>>,
    names: Option<Vec<String>>,
    helpers: Option<Vec<String>>,
    versions: Option<Vec<String>>,
    check: Option<String>,
    same_as: Option<String>,
}

type Sections = BTreeMap<String, Section>;

/// Writes `shell_rules.rs` into the build's output directory.
///
/// # Panics
/// Stops the build when the rules file is wrong; the message names the table.
pub fn write() {
    for input in [SOURCE, "src/shell/policy/compile.rs"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let text = std::fs::read_to_string(SOURCE).expect("read rules.toml");
    let sections: Sections = toml::from_str(&text).unwrap_or_else(|e| panic!("{SOURCE}: {e}"));
    let mut code = String::from(
        "/// The tables of `rules.toml`, by name.\nstatic PROGRAMS: &[Program] = &[\n",
    );
    for name in sections.keys() {
        code += &program(name, &sections);
    }
    code += "];\n";
    let _ = writeln!(
        code,
        "/// Their keys.\nstatic PROGRAM_KEYS: &[u128] = &{:?};",
        keys(sections.keys())
    );
    let _ = writeln!(code, "/// Most arguments one flag takes.");
    let _ = writeln!(code, "pub(super) const MOST_VALUES: usize = {MOST_VALUES};");
    let out = std::env::var("OUT_DIR").expect("OUT_DIR");
    std::fs::write(format!("{out}/shell_rules.rs"), code).expect("write the table");
}

fn program(name: &str, sections: &Sections) -> String {
    let section = resolved(name, sections);
    let mut code = format!("Program {{ name: {name:?}, ");
    code += &operands(name, &section.operands.unwrap_or_default());
    let mut listed = Vec::new();
    for text in [section.flags, section.also].into_iter().flatten() {
        flags(name, &text, sections, &mut listed);
    }
    let mut names = BTreeMap::new();
    code += "flags: &[\n";
    for (at, flag) in listed.iter().enumerate() {
        let _ = writeln!(code, "    Flag {{ names: &{:?}, takes: {} }},", flag.names, flag.takes);
        for name in &flag.names {
            names.entry(name).or_insert(at);
        }
    }
    let keys = keys(names.keys().copied());
    let names: Vec<_> = names.into_iter().collect();
    let _ = write!(code, "], flag_names: &{names:?}, flag_keys: &{keys:?}, ");
    let switches = [
        ("numbers", section.numbers.unwrap_or(false)),
        ("bundle", section.bundle.unwrap_or(true)),
        ("attach", section.attach.unwrap_or(true)),
        ("permute", section.permute.unwrap_or(true)),
        ("builtin", section.builtin.unwrap_or(false)),
    ];
    for (field, value) in switches {
        let _ = write!(code, "{field}: {value}, ");
    }
    let lists = [
        ("instead", section.instead.unwrap_or_default()),
        ("only_with", section.only_with.unwrap_or_default()),
        ("recursive", section.recursive.unwrap_or_default()),
        ("follows", section.follows.unwrap_or_default()),
        ("insert", section.insert.unwrap_or_default()),
        ("names", section.names.unwrap_or_else(|| vec![name.to_owned()])),
        ("helpers", section.helpers.unwrap_or_default()),
        ("versions", section.versions.unwrap_or_default()),
    ];
    for (field, value) in lists {
        let _ = write!(code, "{field}: &{value:?}, ");
    }
    let _ = writeln!(code, "check: {:?} }},", section.check);
    code
}

/// What `table::key` makes of each name.
fn keys<'a>(names: impl Iterator<Item = &'a String>) -> Vec<u128> {
    let key = |name: &String| {
        let mut first = [0; 16];
        let length = name.len().min(first.len());
        first[..length].copy_from_slice(&name.as_bytes()[..length]);
        u128::from_be_bytes(first)
    };
    names.map(key).collect()
}

/// The table as written, with what it takes over from another filled in.
fn resolved(name: &str, sections: &Sections) -> Section {
    let own = sections.get(name).unwrap_or_else(|| panic!("{SOURCE}: no table [{name}]")).clone();
    let Some(other) = own.same_as.as_deref() else { return own };
    assert!(sections[other].same_as.is_none(), "{SOURCE}: [{name}] takes over from a copy");
    let other = resolved(other, sections);
    Section {
        operands: own.operands.or(other.operands),
        flags: own.flags.or(other.flags),
        also: own.also.or(other.also),
        numbers: own.numbers.or(other.numbers),
        bundle: own.bundle.or(other.bundle),
        attach: own.attach.or(other.attach),
        permute: own.permute.or(other.permute),
        builtin: own.builtin.or(other.builtin),
        instead: own.instead.or(other.instead),
        only_with: own.only_with.or(other.only_with),
        recursive: own.recursive.or(other.recursive),
        follows: own.follows.or(other.follows),
        insert: own.insert.or(other.insert),
        // A copy has its own name.
        names: own.names,
        helpers: own.helpers.or(other.helpers),
        versions: own.versions.or(other.versions),
        check: own.check.or(other.check),
        same_as: None,
    }
}

fn kind(table: &str, word: &str) -> &'static str {
    match word {
        "path" => "OperandKind::Path",
        "text" => "OperandKind::Text",
        "num" => "OperandKind::Number",
        "word" => "OperandKind::Word",
        "rev" => "OperandKind::Revision",
        "format" => "OperandKind::Format",
        _ => panic!("{SOURCE}: [{table}] has an unknown kind `{word}`"),
    }
}

fn operands(table: &str, list: &[String]) -> String {
    let (mut kinds, mut least, mut repeat) = (Vec::new(), 0, false);
    for word in list {
        repeat = word.ends_with('*');
        least += usize::from(!word.ends_with(['?', '*']));
        kinds.push(kind(table, word.trim_end_matches(['?', '*'])));
    }
    let kinds = kinds.join(", ");
    format!("operands: Operands {{ kinds: &[{kinds}], least: {least}, repeat: {repeat} }}, ")
}

/// A flag, as it is written into the table.
struct Flag {
    names: Vec<String>,
    takes: String,
}

/// One flag per line: its names, then what it takes; `@TABLE` stands for that table's flags.
fn flags(table: &str, text: &str, sections: &Sections, listed: &mut Vec<Flag>) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(other) = line.strip_prefix('@') {
            let text = resolved(other, sections).flags.unwrap_or_default();
            flags(other, &text, sections, listed);
            continue;
        }
        let mut names = Vec::new();
        let mut takes = "Takes::Nothing".to_owned();
        let mut needs = Vec::new();
        for word in line.split_whitespace() {
            match word.split_at(1) {
                ("-", _) => names.push(word.to_owned()),
                ("?", rest) => takes = format!("Takes::Maybe({})", kind(table, rest)),
                ("~", rest) => takes = format!("Takes::UnlessLast({})", kind(table, rest)),
                ("=", rest) => needs.push(kind(table, rest)),
                _ => panic!("{SOURCE}: [{table}] has `{word}` among its flags"),
            }
        }
        assert!(!names.is_empty(), "{SOURCE}: [{table}] has a line without a flag: {line}");
        assert!(needs.len() <= MOST_VALUES, "{SOURCE}: [{table}] takes too much: {line}");
        if !needs.is_empty() {
            takes = format!("Takes::Needs(&[{}])", needs.join(", "));
        }
        listed.push(Flag { names, takes });
    }
}
