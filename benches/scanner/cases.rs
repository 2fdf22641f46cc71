//! Labelled texts that others wrote, read at run time.

use std::collections::BTreeMap;
use std::path::Path;

use aye::secrets::Scanner;

#[derive(Default)]
struct Tally {
    found: usize,
    of: usize,
}

/// Prints the share of texts with a secret in which the scanner finds one, and the number of
/// findings' texts among those without; `detail` lists both kinds of mistake.
pub fn report(file: &Path, detail: bool) {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return println!("cases     {}: {error}", file.display()),
    };
    let scanner = Scanner::default();
    let mut kinds: BTreeMap<String, Tally> = BTreeMap::new();
    let mut rules: BTreeMap<String, Tally> = BTreeMap::new();
    for line in text.lines() {
        let Ok(case) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let field = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
        let (rule, kind, text) = (field("rule"), field("kind"), field("text"));
        let found = !scanner.scan(text.as_bytes()).is_empty();
        let tallies = [(&mut kinds, kind.clone()), (&mut rules, format!("{kind} {rule}"))];
        for (tallies, name) in tallies {
            let tally = tallies.entry(name).or_default();
            tally.of += 1;
            tally.found += usize::from(found);
        }
        if detail && found != (kind == "true") {
            println!("case      {kind} {rule}: {}", text.replace('\n', "⏎"));
        }
    }
    for (kind, tally) in &kinds {
        let share = tally.found as f64 / tally.of as f64;
        println!("cases     {kind}: a finding in {} of {} ({share:.4})", tally.found, tally.of);
    }
    if detail {
        for (rule, tally) in rules.iter().filter(|(rule, tally)| {
            if rule.starts_with("true ") { tally.found < tally.of } else { tally.found > 0 }
        }) {
            println!("          {rule}: {} of {}", tally.found, tally.of);
        }
    }
}
