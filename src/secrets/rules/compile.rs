//! Build step: turns `rules.toml` into a static table, so that no process parses TOML or derives
//! keywords. Examples stay out of the binary.

use std::fmt::Write as _;

use crate::derive::derive;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Rule>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    title: String,
    pattern: String,
    #[serde(default)]
    guessable: bool,
    #[serde(default)]
    min_entropy: f32,
    #[serde(default)]
    mixed: bool,
    #[serde(default)]
    except: String,
    // Read by tests; required here.
    positive: Vec<String>,
    negative: Vec<String>,
}

/// # Panics
/// On an invalid rules file; the message names the rule.
pub fn write() {
    const SOURCE: &str = "src/secrets/rules/rules.toml";
    for input in [SOURCE, "src/secrets/rules/compile.rs", "src/secrets/rules/derive.rs"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let text = std::fs::read_to_string(SOURCE).expect("read rules.toml");
    let file: File = toml::from_str(&text).unwrap_or_else(|e| panic!("{SOURCE}: {e}"));
    let out = std::env::var("OUT_DIR").expect("OUT_DIR");
    std::fs::write(format!("{out}/secret_rules.rs"), table(&file.rule)).expect("write the table");
}

fn table(rules: &[Rule]) -> String {
    let mut ids = std::collections::BTreeSet::new();
    let mut code = String::from(
        "/// The rules of `rules.toml`, in its order.\npub static RULES: &[Rule] = &[\n",
    );
    let mut wrong = Vec::new();
    for rule in rules {
        let id = &rule.id;
        assert!(ids.insert(id), "rule {id} is there twice");
        assert!(!rule.positive.is_empty() && !rule.negative.is_empty(), "rule {id} lacks examples");
        let derived = match derive(&rule.pattern) {
            Ok(derived) => derived,
            Err(what) => {
                wrong.push(format!("rule {id} {what}"));
                continue;
            }
        };
        let _ = writeln!(
            code,
            "Rule {{ id: {id:?}, title: {:?}, pattern: {:?}, guessable: {}, min_entropy: {:?}, \
             mixed: {}, except: {:?}, keywords: &{:?}, cased: &{:?}, max_len: {} }},",
            rule.title,
            rule.pattern,
            rule.guessable,
            rule.min_entropy,
            rule.mixed,
            rule.except,
            derived.keywords,
            derived.cased,
            derived.max_len
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    code += "];\n";
    code
}
