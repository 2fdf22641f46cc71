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

/// The keywords that share a head.
#[derive(Default)]
struct Group {
    /// A bit for each value of the byte after the head; all of them where a keyword ends with it.
    next: u32,
    words: Vec<(&'static str, Vec<Target>)>,
}

/// The keywords, found by their heads.
struct Keywords {
    /// A bit for each value that is the head of a keyword: small enough for the nearest cache.
    heads: Box<[u64; HEADS / 64]>,
    /// Where in `groups` the keywords of a head are; looked at only where its bit is set.
    places: Box<[u16; HEADS]>,
    groups: Vec<Group>,
}

impl Keywords {
    fn new() -> Self {
        let (mut heads, mut places) = (Box::new([0; HEADS / 64]), Box::new([0; HEADS]));
        let mut groups: Vec<Group> = Vec::new();
        for (word, targets) in keywords() {
            let head = head(word.as_bytes());
            if heads[head / 64] >> (head % 64) & 1 == 0 {
                heads[head / 64] |= 1 << (head % 64);
                places[head] = u16::try_from(groups.len()).unwrap_or(u16::MAX);
                groups.push(Group::default());
            }
            let group = &mut groups[usize::from(places[head])];
            group.next |= word.as_bytes().get(HEAD).map_or(u32::MAX, |byte| 1 << (byte & 0x1f));
            group.words.push((word, targets));
        }
        Self { heads, places, groups }
    }

    /// The first place where a keyword may start. Apart from the rest, so that the loop over all
    /// bytes stays in registers.
    #[inline(never)]
    fn next_head(&self, text: &[u8]) -> Option<usize> {
        let (before, last) = text.split_at_checked(HEAD - 1)?;
        let mut rolling = head(before);
        last.iter().enumerate().position(|(at, byte)| {
            rolling = rolling << 5 | usize::from(byte & 0x1f);
            let head = rolling % HEADS;
            self.heads[head / 64] >> (head % 64) & 1 == 1 && {
                let next = self.groups[usize::from(self.places[head])].next;
                last.get(at + 1).map_or(next == u32::MAX, |byte| next >> (byte & 0x1f) & 1 == 1)
            }
        })
    }

    /// The keywords with the head of `text`, which is one.
    fn starting_like(&self, text: &[u8]) -> &[(&'static str, Vec<Target>)] {
        &self.groups[usize::from(self.places[head(text)])].words
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
