//! The probable place of lines that fit nowhere.

use std::collections::HashMap;

use super::{Finder, Pass, key};
use crate::changeset::hunks::Text;

/// Pattern lines that vote. More would not help a diagnosis.
const VOTERS: usize = 400;
/// A line in more places does not vote.
const COMMON: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closest {
    /// 0-based.
    pub start: usize,
    /// Voting lines that are there.
    pub matched: usize,
    /// 0-based line of the pattern.
    pub differs: usize,
    /// Only line endings differ.
    pub fits: bool,
}

/// The place that fits most lines of `pattern` (with endings), nearest to line `expected`. Lines of
/// one character, mostly brackets, vote only if no other line is found. `None` if no line is found,
/// even ignoring whitespace.
pub fn closest(text: &Text<'_>, pattern: &[&[u8]], expected: usize) -> Option<Closest> {
    [(Pass::Ending, 2), (Pass::Blanks, 2), (Pass::Blanks, 1)]
        .into_iter()
        .find_map(|(pass, shortest)| vote(text, pattern, expected, pass, shortest))
}

fn vote(
    text: &Text<'_>,
    pattern: &[&[u8]],
    expected: usize,
    pass: Pass,
    shortest: usize,
) -> Option<Closest> {
    let finder = Finder::new(text, pass);
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, line) in pattern.iter().enumerate().take(VOTERS) {
        let line = key(line, pass, true);
        if line.trim_ascii().len() < shortest {
            continue;
        }
        let Some(token) = finder.ids.get(&line) else { continue };
        let token = *token as usize;
        let span = finder.starts[token] as usize..finder.starts[token + 1] as usize;
        if span.len() > COMMON {
            continue;
        }
        for place in &finder.places[span] {
            if let Some(start) = (*place as usize).checked_sub(offset) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let (start, matched) = votes.into_iter().max_by_key(|(start, count)| {
        (*count, std::cmp::Reverse((start.abs_diff(expected), *start)))
    })?;
    let differs = first_difference(text, pattern, start);
    Some(Closest { start, matched, differs: differs.unwrap_or(0), fits: differs.is_none() })
}

/// 0-based in `pattern`, ignoring line endings; 0 if no line differs.
pub fn first_differing(text: &Text<'_>, pattern: &[&[u8]], start: usize) -> usize {
    first_difference(text, pattern, start).unwrap_or(0)
}

fn first_difference(text: &Text<'_>, pattern: &[&[u8]], start: usize) -> Option<usize> {
    let bare = |line| key(line, Pass::Ending, true);
    let differs =
        |at: &usize| start + at >= text.len() || bare(text.line(start + at)) != bare(pattern[*at]);
    (0..pattern.len()).find(differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_most_lines_agree_on_wins() {
        let text = Text::new(&b"one\ntwo\nthree\nfour\nzwei\none\nTWO\nthree\n"[..]);
        let pattern = [&b"one\n"[..], b"2\n", b"three\n", b"four\n"];
        assert_eq!(
            closest(&text, &pattern, 5),
            Some(Closest { start: 0, matched: 3, differs: 1, fits: false })
        );
        let indented = [&b"  one\n"[..], b"  two\n"];
        assert_eq!(closest(&text, &indented, 0).unwrap().start, 0);
        assert_eq!(closest(&text, &[&b"nowhere\n"[..]], 0), None);
    }

    #[test]
    fn short_lines_count_where_there_are_no_others() {
        let text = Text::new(&b"{\n1\n\n2\n3\n}\n"[..]);
        let pattern = [&b"2\n"[..], b"drei\n", b"}\n"];
        assert_eq!(
            closest(&text, &pattern, 0),
            Some(Closest { start: 3, matched: 2, differs: 1, fits: false })
        );
        assert_eq!(closest(&text, &[&b"x\n"[..], b"\n"], 0), None);
    }
}
