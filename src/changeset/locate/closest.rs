//! Where a run of lines was probably meant to be, when it is nowhere.

use std::collections::HashMap;

use super::{Finder, Pass, key};
use crate::changeset::hunks::Text;

/// Lines of the pattern that are asked for their place. More adds nothing to a diagnosis.
const VOTERS: usize = 400;
/// A line that is in more places than this says nothing about where.
const COMMON: usize = 200;

/// The place that most of a pattern's lines agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closest {
    /// Its first line, 0-based.
    pub start: usize,
    /// How many of the pattern's lines are there, of those that were asked.
    pub matched: usize,
    /// The first line of the pattern that differs there, 0-based.
    pub differs: usize,
    /// No line differs but for its line ending.
    pub fits: bool,
}

/// Looks for the place in `text` that most lines of `pattern` (with their endings) fit; of several
/// the one nearest to line `expected`. Lines of a single character, brackets for the most part, are
/// asked where the others know nothing. `None` if not one line is found, even with its blanks
/// ignored, that is not blank.
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

/// The first line of `pattern` (0-based) that differs from `text`, whose line `start` it begins at; the first one
/// where none does but for its line ending.
pub fn differing(text: &Text<'_>, pattern: &[&[u8]], start: usize) -> usize {
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
