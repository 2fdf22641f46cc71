//! One pass over the text for every keyword; each hit says who should look closer, and where.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::assign::{self, Class};
use super::keys;
use super::rules::RULES;

/// Who looks closer at a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A provider rule, by its place in the table.
    Rule(usize),
    /// An assignment.
    Assign(Class),
    /// A private key block.
    PrivateKey,
    /// A connection string.
    Connection,
}

/// Every keyword with its targets, keywords in order.
fn keywords() -> BTreeMap<&'static str, Vec<Target>> {
    let mut all: BTreeMap<&'static str, Vec<Target>> = BTreeMap::new();
    for (index, rule) in RULES.iter().enumerate() {
        for keyword in rule.keywords {
            all.entry(keyword).or_default().push(Target::Rule(index));
        }
    }
    for (keyword, class) in assign::KEYWORDS {
        all.entry(keyword).or_default().push(Target::Assign(*class));
    }
    all.entry(keys::PRIVATE_KEY).or_default().push(Target::PrivateKey);
    all.entry(keys::SCHEME).or_default().push(Target::Connection);
    all
}

struct Automaton {
    search: Option<AhoCorasick>,
    targets: Vec<Vec<Target>>,
}

impl Automaton {
    fn build(kind: AhoCorasickKind) -> Self {
        let all = keywords();
        // Fails only past some billions of states.
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(kind))
            .build(all.keys())
            .ok();
        Self { search, targets: all.into_values().collect() }
    }
}

/// Below this many bytes the automaton that is quick to build wins over the one quick to run.
const SMALL: usize = 32 * 1024;

/// Calls `hit(target, start, end)` for each keyword in `text`, overlapping ones too, in order of
/// their ends.
pub(super) fn scan(text: &[u8], mut hit: impl FnMut(Target, usize, usize)) {
    static QUICK: OnceLock<Automaton> = OnceLock::new();
    static FAST: OnceLock<Automaton> = OnceLock::new();
    let automaton = match FAST.get() {
        Some(fast) => fast,
        None if text.len() < SMALL => {
            QUICK.get_or_init(|| Automaton::build(AhoCorasickKind::NoncontiguousNFA))
        }
        None => FAST.get_or_init(|| Automaton::build(AhoCorasickKind::DFA)),
    };
    let Some(search) = &automaton.search else { return };
    for found in search.find_overlapping_iter(text) {
        for target in &automaton.targets[found.pattern().as_usize()] {
            hit(*target, found.start(), found.end());
        }
    }
}

/// As [`scan`] for all but the provider rules, by comparing at every position: the slow truth
/// that the automaton is tested against.
#[cfg(test)]
pub(super) fn scan_slowly(text: &[u8], mut hit: impl FnMut(Target, usize, usize)) {
    let all = keywords();
    for start in 0..text.len() {
        for (keyword, targets) in &all {
            let end = start + keyword.len();
            if text.get(start..end).is_some_and(|t| t.eq_ignore_ascii_case(keyword.as_bytes())) {
                for target in targets.iter().filter(|t| !matches!(t, Target::Rule(_))) {
                    hit(*target, start, end);
                }
            }
        }
    }
}
