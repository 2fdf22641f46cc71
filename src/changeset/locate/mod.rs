//! Finds a run of lines in linear time, however repetitive the text is.
//!
//! A search starts at the pattern's rarest line, and falls back to Knuth-Morris-Pratt if even that
//! one is frequent.

mod closest;
mod pass;

pub use closest::{Closest, closest, first_differing};
pub use pass::{BOM, Pass, key};

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::hunks::Text;
use crate::error::{Error, Result, codes as general};

/// Most line comparisons per text: about a second.
const WORK: u64 = 1 << 32;

/// Equal for lines that are equal under the pass.
pub type Token = u32;

#[derive(Debug)]
pub struct Finder<'t> {
    pass: Pass,
    tokens: Vec<Token>,
    ids: HashMap<Cow<'t, [u8]>, Token>,
    /// Lines with each token, ascending: `places[starts[token]..starts[token + 1]]`.
    starts: Vec<u32>,
    places: Vec<u32>,
    work: u64,
}

impl<'t> Finder<'t> {
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

    /// `None` if a line is not in the text.
    pub fn tokens<'p>(&self, pattern: impl IntoIterator<Item = &'p [u8]>) -> Option<Vec<Token>> {
        pattern
            .into_iter()
            .map(|line| self.ids.get(&*key(line, self.pass, true)).copied())
            .collect()
    }

    pub fn is_at(&self, pattern: &[Token], start: usize) -> bool {
        self.tokens.get(start..).and_then(|rest| rest.get(..pattern.len())) == Some(pattern)
    }

    /// First lines of up to `max` matches, ascending.
    ///
    /// # Errors
    /// `size_limit_exceeded` if the searches of this text cost too much.
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

    /// The match nearest to line `expected` that `free` allows; of two equally near the later, as
    /// in git.
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

    /// Index of the pattern's rarest line, and the entries of `places` that put the pattern inside
    /// `within`. `None` if the pattern is empty or too long.
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

/// Knuth-Morris-Pratt, until `hit` returns false.
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
