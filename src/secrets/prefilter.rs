//! One pass over the text for every keyword; each hit says who should look closer, and where.

use std::collections::BTreeMap;
use std::sync::OnceLock;

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

/// Calls `hit(target, start, end)` for each keyword in `text`, overlapping ones too, in order of
/// their starts.
///
/// An automaton over this many keywords is larger than the nearest cache, and building one costs
/// more than all the rest of proposing a small change. So a bitmap of the keywords' first bytes
/// says where one may start, and the few keywords that start so are compared there.
pub(super) fn scan(text: &[u8], mut hit: impl FnMut(Target, usize, usize)) {
    static KEYWORDS: OnceLock<Keywords> = OnceLock::new();
    let keywords = KEYWORDS.get_or_init(Keywords::new);
    let mut at = 0;
    while let Some(next) = keywords.next_head(&text[at..]) {
        let start = at + next;
        for (word, targets) in keywords.starting_like(&text[start..]) {
            let end = start + word.len();
            if text.get(start..end).is_some_and(|t| t.eq_ignore_ascii_case(word.as_bytes())) {
                for target in targets {
                    hit(*target, start, end);
                }
            }
        }
        at = start + 1;
    }
}

/// How many bytes are a head. No keyword is shorter; a test holds the tables to it.
const HEAD: usize = 3;

/// Values of a head: the low five bits of each byte, which folds letter case.
const HEADS: usize = 1 << (5 * HEAD);

fn head(bytes: &[u8]) -> usize {
    bytes.iter().take(HEAD).fold(0, |head, byte| head << 5 | usize::from(byte & 0x1f))
}

/// The keywords, found by their heads.
struct Keywords {
    /// A bit for each value that is the head of a keyword.
    heads: Box<[u64; HEADS / 64]>,
    /// Ordered by head.
    words: Vec<(usize, &'static str, Vec<Target>)>,
}

impl Keywords {
    fn new() -> Self {
        let mut words: Vec<_> = keywords()
            .into_iter()
            .map(|(word, targets)| (head(word.as_bytes()), word, targets))
            .collect();
        words.sort_by_key(|(head, ..)| *head);
        let mut heads = Box::new([0u64; HEADS / 64]);
        for (head, ..) in &words {
            heads[head / 64] |= 1 << (head % 64);
        }
        Self { heads, words }
    }

    /// The first place where a keyword may start. Apart from the rest, so that the loop over all
    /// bytes stays in registers.
    #[inline(never)]
    fn next_head(&self, text: &[u8]) -> Option<usize> {
        let (before, text) = text.split_at_checked(HEAD - 1)?;
        let mut rolling = head(before);
        text.iter().position(|byte| {
            rolling = rolling << 5 | usize::from(byte & 0x1f);
            let head = rolling % HEADS;
            self.heads[head / 64] >> (head % 64) & 1 == 1
        })
    }

    /// The keywords with the head of `text`.
    fn starting_like(&self, text: &[u8]) -> impl Iterator<Item = (&'static str, &[Target])> {
        let wanted = head(text);
        let from = self.words.partition_point(|(head, ..)| *head < wanted);
        self.words[from..]
            .iter()
            .take_while(move |(head, ..)| *head == wanted)
            .map(|(_, word, targets)| (*word, targets.as_slice()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_has_a_head_and_is_found_in_either_case() {
        for word in keywords().into_keys() {
            assert!(word.len() >= HEAD, "{word}");
            for text in [word.to_owned(), word.to_ascii_uppercase(), format!("x{word}y")] {
                let mut found = false;
                scan(text.as_bytes(), |_, start, end| found |= end - start == word.len());
                assert!(found, "{text}");
            }
        }
    }
}
