//! Finding a run of lines in a text, in time linear in both however repetitive they are.
//!
//! Lines are turned into numbers once; a search then starts from the rarest line of the pattern,
//! and falls back to Knuth, Morris and Pratt where even that one is everywhere.

mod closest;
mod pass;

pub use closest::{Closest, closest, differing};
pub use pass::{BOM, Pass, key};

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::hunks::Text;
use crate::error::{Error, Result, codes as general};

/// Line comparisons one text may cost in all, before the search gives up. About a second.
const WORK: u64 = 1 << 32;

/// A line's number: equal exactly where the lines are equal under the pass.
pub type Token = u32;

/// A text made ready for many searches under one pass.
#[derive(Debug)]
pub struct Finder<'t> {
    pass: Pass,
    tokens: Vec<Token>,
    ids: HashMap<Cow<'t, [u8]>, Token>,
    /// Where the lines with each token are: `places[starts[token]..starts[token + 1]]`, ascending.
    starts: Vec<u32>,
    places: Vec<u32>,
    work: u64,
}

impl<'t> Finder<'t> {
    /// Indexes `text`.
    pub fn new(text: &'t Text<'_>, pass: Pass) -> Self {
        let mut ids = HashMap::new();
        let mut tokens = Vec::with_capacity(text.len());
        for number in 0..text.len() {
            let next = ids.len() as Token;
            tokens.push(*ids.entry(key(text.line(number), pass, number == 0)).or_insert(next));
        }
        let mut starts = vec![0u32; ids.len() + 1];
        for token in &tokens {
            starts[*token as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut fill = starts.clone();
        let mut places = vec![0u32; tokens.len()];
        for (line, token) in tokens.iter().enumerate() {
            let slot = &mut fill[*token as usize];
            places[*slot as usize] = line as u32;
            *slot += 1;
        }
        Self { pass, tokens, ids, starts, places, work: 0 }
    }

    /// The tokens of a pattern; `None` if one of its lines is nowhere in the text.
    pub fn tokens<'p>(&self, pattern: impl IntoIterator<Item = &'p [u8]>) -> Option<Vec<Token>> {
        pattern
            .into_iter()
            .map(|line| self.ids.get(&*key(line, self.pass, true)).copied())
            .collect()
    }

    /// Is `pattern` at line `start`?
    pub fn is_at(&self, pattern: &[Token], start: usize) -> bool {
        self.tokens.get(start..).and_then(|rest| rest.get(..pattern.len())) == Some(pattern)
    }

    /// The first lines of up to `max` matches that lie in `within`, ascending.
    ///
    /// # Errors
    /// `size_limit_exceeded` when searching this text has become too costly.
    pub fn all(
        &mut self,
        pattern: &[Token],
        within: Range<usize>,
        max: usize,
    ) -> Result<Vec<usize>> {
        let Some((offset, places)) = self.rarest(pattern, &within) else {
            return Ok(Vec::new());
        };
        if self.is_cheap(places.len(), pattern.len()) {
            self.spend(places.len() * pattern.len())?;
            let starts = self.places[places].iter().map(|place| *place as usize - offset);
            return Ok(starts.filter(|start| self.is_at(pattern, *start)).take(max).collect());
        }
        self.spend(within.len() + pattern.len())?;
        let mut found = Vec::new();
        scan(&self.tokens[within.clone()], pattern, |start| {
            found.push(within.start + start);
            found.len() < max
        });
        Ok(found)
    }

    /// The match in `within` nearest to line `expected` that `free` allows; of two equally near
    /// the later one, as in git.
    ///
    /// # Errors
    /// As [`Finder::all`].
    pub fn nearest(
        &mut self,
        pattern: &[Token],
        expected: usize,
        within: Range<usize>,
        free: impl Fn(Range<usize>) -> bool,
    ) -> Result<Option<usize>> {
        let len = pattern.len();
        let Some((offset, places)) = self.rarest(pattern, &within) else { return Ok(None) };
        let places = &self.places[places];
        let budget = (4 * (self.tokens.len() + len) / len.max(1)).max(8);
        let fits = |start: usize| self.is_at(pattern, start) && free(start..start + len);
        let mut right = places.partition_point(|place| (*place as usize) < expected + offset);
        let mut left = right;
        let mut tried = 0;
        let mut found = None;
        while tried < budget {
            let after = places.get(right).map(|place| *place as usize - offset);
            let before = left.checked_sub(1).map(|at| places[at] as usize - offset);
            let start = match (before, after) {
                (None, None) => break,
                (Some(b), Some(a)) if expected - b < a - expected => b,
                (Some(b), None) => b,
                (_, Some(a)) => a,
            };
            if after == Some(start) {
                right += 1;
            } else {
                left -= 1;
            }
            tried += 1;
            if fits(start) {
                found = Some(start);
                break;
            }
        }
        self.spend(tried * len)?;
        if found.is_some() || tried < budget {
            return Ok(found);
        }
        self.spend(within.len() + len)?;
        let mut best: Option<usize> = None;
        scan(&self.tokens[within.clone()], pattern, |at| {
            let start = within.start + at;
            let nearer = best.is_none_or(|b| start.abs_diff(expected) <= b.abs_diff(expected));
            if nearer && free(start..start + len) {
                best = Some(start);
            }
            nearer || start <= expected
        });
        Ok(best)
    }

    /// The pattern's rarest line: its place in the pattern, and which entries of `places` would
    /// put the pattern inside `within`. `None` if the pattern is empty or too long.
    fn rarest(&self, pattern: &[Token], within: &Range<usize>) -> Option<(usize, Range<usize>)> {
        let last = within.end.min(self.tokens.len()).checked_sub(pattern.len())?;
        let span = |token: Token| {
            self.starts[token as usize] as usize..self.starts[token as usize + 1] as usize
        };
        let (offset, token) =
            pattern.iter().enumerate().min_by_key(|(_, token)| span(**token).len())?;
        let all = span(*token);
        let places = &self.places[all.clone()];
        let from = places.partition_point(|place| (*place as usize) < within.start + offset);
        let to = places.partition_point(|place| *place as usize <= last + offset);
        Some((offset, all.start + from..all.start + to.max(from)))
    }

    fn is_cheap(&self, candidates: usize, len: usize) -> bool {
        candidates.saturating_mul(len) <= 2 * (self.tokens.len() + len)
    }

    fn spend(&mut self, lines: usize) -> Result<()> {
        self.work += lines as u64 + 1;
        if self.work > WORK {
            return Err(Error::new(
                &general::SIZE_LIMIT,
                "finding the hunks in this file takes too long",
            )
            .hint(
                "the file is very repetitive; create the patch again so that its line numbers fit",
            ));
        }
        Ok(())
    }
}

/// Knuth, Morris, Pratt: calls `hit` with every match until it returns false.
fn scan(text: &[Token], pattern: &[Token], mut hit: impl FnMut(usize) -> bool) {
    let mut fallback = vec![0usize; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[at] != pattern[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(pattern[at] == pattern[matched]);
        fallback[at] = matched;
    }
    matched = 0;
    for (at, token) in text.iter().enumerate() {
        while matched > 0 && (matched == pattern.len() || *token != pattern[matched]) {
            matched = fallback[matched - 1];
        }
        matched += usize::from(*token == pattern[matched]);
        if matched == pattern.len() && !hit(at + 1 - matched) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(tokens: &[u8]) -> Vec<u8> {
        tokens.iter().flat_map(|t| [b'a' + t, b'\n']).collect()
    }

    proptest! {
        /// Both ways of searching find what a plain search finds.
        #[test]
        fn nothing_is_missed(
            text in prop::collection::vec(0u8..3, 0..60),
            pattern in prop::collection::vec(0u8..3, 1..6),
            expected in 0usize..70,
        ) {
            let bytes = lines(&text);
            let split = Text::new(&bytes[..]);
            let mut finder = Finder::new(&split, Pass::Exact);
            let want: Vec<usize> = text
                .windows(pattern.len())
                .enumerate()
                .filter(|(_, window)| *window == pattern)
                .map(|(at, _)| at)
                .collect();
            let pattern_bytes = lines(&pattern);
            let Some(tokens) = finder.tokens(pattern_bytes.chunks(2)) else {
                prop_assert!(want.is_empty());
                return Ok(());
            };
            let all = 0..text.len();
            prop_assert_eq!(&finder.all(&tokens, all.clone(), 100).unwrap(), &want);
            let mut scanned = Vec::new();
            scan(&finder.tokens, &tokens, |at| { scanned.push(at); true });
            prop_assert_eq!(&scanned, &want);
            let nearest = finder.nearest(&tokens, expected, all, |_| true).unwrap();
            let plain = want.iter().copied().min_by_key(|at| {
                (at.abs_diff(expected), *at < expected)
            });
            prop_assert_eq!(nearest, plain);
        }
    }

    #[test]
    fn a_repetitive_text_costs_no_more_than_a_few_passes() {
        let bytes = lines(&vec![0; 200_000]);
        let text = Text::new(&bytes[..]);
        let mut finder = Finder::new(&text, Pass::Exact);
        let pattern = vec![0; 100_000];
        let hits = finder.all(&pattern, 0..200_000, usize::MAX).unwrap();
        assert_eq!(hits.len(), 100_001);
        assert!(finder.work < 1_000_000);
        let taken = |range: Range<usize>| range.start == 100_000;
        let found = finder.nearest(&pattern, 0, 0..200_000, taken).unwrap();
        assert_eq!(found, Some(100_000));
        assert!(finder.work < 4_000_000, "{}", finder.work);
    }
}
