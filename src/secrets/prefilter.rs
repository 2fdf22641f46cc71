//! One pass over the text for every keyword.

use std::sync::OnceLock;

use super::keys;
use super::rules::RULES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Index in `RULES`.
    Rule(usize),
    PrivateKey,
    Connection,
}

fn keywords() -> Vec<(&'static str, Target)> {
    let rules = RULES.iter().enumerate();
    let rules =
        rules.flat_map(|(at, rule)| rule.keywords.iter().map(move |k| (*k, Target::Rule(at))));
    let mut all: Vec<(&str, Target)> = rules.collect();
    all.extend([(keys::PRIVATE_KEY, Target::PrivateKey), (keys::SCHEME, Target::Connection)]);
    all
}

/// Calls `hit(target, start, end)` for each keyword by start, overlapping ones included.
///
/// An automaton over all keywords exceeds the nearest cache and costs more to build than proposing
/// a small change. A bitmap marks possible starts; the few keywords there are compared.
pub(super) fn scan(text: &[u8], mut hit: impl FnMut(Target, usize, usize)) {
    static HEADS: OnceLock<Heads> = OnceLock::new();
    if text.len() < HEAD {
        return;
    }
    let (bits, mut at) = (may_start_bits(), 0);
    while let Some(next) = next_start(bits, &text[at..]) {
        let start = at + next;
        let heads = HEADS.get_or_init(Heads::new);
        for (word, target) in heads.starting_like(&text[start..]) {
            let end = start + word.len();
            if text.get(start..end).is_some_and(|t| t.eq_ignore_ascii_case(word.as_bytes())) {
                hit(*target, start, end);
            }
        }
        at = start + 1;
    }
}

/// Minimum length of a keyword in bytes; a test checks the tables.
const HEAD: usize = 3;

/// The head and the next byte, which is arbitrary after a short keyword.
const START: usize = HEAD + 1;

/// The low five bits of a byte fold case.
const BITS: usize = 5;

const STARTS: usize = 1 << (BITS * START);

fn fold(value: usize, byte: u8) -> usize {
    value << BITS | (byte & 0x1f) as usize
}

fn head(bytes: &[u8]) -> usize {
    fold(fold(fold(0, bytes[0]), bytes[1]), bytes[2])
}

/// One bit per possible start.
type Bits = [u64; STARTS / 64];

/// Built on first use: as a constant the bitmap would add 128 KiB to the binary.
fn may_start_bits() -> &'static Bits {
    static MADE: OnceLock<Box<Bits>> = OnceLock::new();
    MADE.get_or_init(|| {
        // Allocated without a copy on the stack.
        let zeros: Result<Box<Bits>, _> = vec![0; STARTS / 64].into_boxed_slice().try_into();
        let mut bits = zeros.unwrap_or_else(|_| Box::new([0; STARTS / 64]));
        keywords().iter().for_each(|(keyword, _)| mark(&mut bits, keyword.as_bytes()));
        bits
    })
}

fn mark(bits: &mut Bits, keyword: &[u8]) {
    let head = head(keyword);
    let (mut next, end) = match keyword.len() {
        HEAD => (0, 1 << BITS),
        _ => (keyword[HEAD] & 0x1f, (keyword[HEAD] & 0x1f) + 1),
    };
    while next < end {
        let start = fold(head, next);
        bits[start / 64] |= 1 << (start % 64);
        next += 1;
    }
}

/// The first possible start of a keyword. A separate function keeps the loop in registers; several
/// positions at once save branches.
#[inline(never)]
fn next_start(bits: &Bits, text: &[u8]) -> Option<usize> {
    let (before, last) = text.split_at_checked(START - 1)?;
    let mut rolling = head(before);
    let (blocks, rest) = last.as_chunks::<STEP>();
    for (at, block) in blocks.iter().enumerate() {
        let before = rolling;
        let mut any = 0;
        for byte in block {
            rolling = fold(rolling, *byte);
            any |= may_start(bits, rolling);
        }
        if any != 0 {
            return first(bits, before, block).map(|place| at * STEP + place);
        }
    }
    let found = first(bits, rolling, rest).map(|place| last.len() - rest.len() + place);
    // A keyword may end the text.
    let end = rest.iter().fold(rolling, |rolling, byte| fold(rolling, *byte));
    found.or_else(|| (may_start(bits, fold(end, 0)) != 0).then_some(last.len()))
}

const STEP: usize = 8;

/// 1 if a keyword may start with these bytes, else 0.
fn may_start(bits: &Bits, value: usize) -> u64 {
    let start = value % STARTS;
    bits[start / 64] >> (start % 64) & 1
}

fn first(bits: &Bits, mut rolling: usize, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| {
        rolling = fold(rolling, *byte);
        may_start(bits, rolling) != 0
    })
}

struct Heads {
    /// Head and index of its first keyword in `words`, ascending.
    heads: Vec<(usize, usize)>,
    words: Vec<(&'static str, Target)>,
}

impl Heads {
    fn new() -> Self {
        let mut words = keywords();
        // Stable: keeps the tables' order.
        words.sort_by_key(|(word, _)| (head(word.as_bytes()), *word));
        let mut heads: Vec<(usize, usize)> =
            words.iter().enumerate().map(|(at, (word, _))| (head(word.as_bytes()), at)).collect();
        heads.dedup_by_key(|(head, _)| *head);
        Self { heads, words }
    }

    fn starting_like(&self, text: &[u8]) -> &[(&'static str, Target)] {
        let Ok(at) = self.heads.binary_search_by_key(&head(text), |(head, _)| *head) else {
            return &[];
        };
        let end = self.heads.get(at + 1).map_or(self.words.len(), |(_, start)| *start);
        &self.words[self.heads[at].1..end]
    }
}

/// Slow reference for tests, without provider rules.
#[cfg(test)]
pub(super) fn scan_slowly(text: &[u8], mut hit: impl FnMut(Target, usize, usize)) {
    let mut all = keywords();
    all.retain(|(_, target)| !matches!(target, Target::Rule(_)));
    for start in 0..text.len() {
        for (keyword, target) in &all {
            let end = start + keyword.len();
            if text.get(start..end).is_some_and(|t| t.eq_ignore_ascii_case(keyword.as_bytes())) {
                hit(*target, start, end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_has_a_head_and_is_found_in_either_case() {
        for (word, _) in keywords() {
            assert!(word.len() >= HEAD, "{word}");
            for text in [word.to_owned(), word.to_ascii_uppercase(), format!("x{word}y{word}")] {
                let mut found = false;
                scan(text.as_bytes(), |_, start, end| found |= end - start == word.len());
                assert!(found, "{text}");
            }
        }
    }
}
