//! Which words inside changed lines differ.

use std::ops::Range;

use gix::diff::blob::{Algorithm, InternedInput};

use crate::changeset::hunks::{Diff, Edit, Side};

/// Beyond this many bytes on both sides, words are not compared: lines alone are shown.
const LARGEST: usize = 64 * 1024;

/// Byte ranges of the words that differ, for each removed and each added line of one edit.
#[derive(Debug, Default)]
pub(super) struct Emphasis {
    pub(super) removed: Vec<Vec<Range<usize>>>,
    pub(super) added: Vec<Vec<Range<usize>>>,
}

/// Compares the words of one edit. Lines that have little in common with the other side get no
/// ranges: when nearly everything changed, pointing at it says nothing.
pub(super) fn emphasis(diff: &Diff<'_>, edit: &Edit) -> Emphasis {
    let (old, new) = sides(diff, edit);
    if old.is_empty() || new.is_empty() || old.len() + new.len() > LARGEST {
        return Emphasis::default();
    }
    let input = interned(old, new);
    let words = compare(&input);
    let removed = input.before.iter().enumerate();
    let removed = removed.map(|(n, token)| (input.interner[*token], words.is_removed(n as u32)));
    let added = input.after.iter().enumerate();
    let added = added.map(|(n, token)| (input.interner[*token], words.is_added(n as u32)));
    Emphasis { removed: by_line(removed), added: by_line(added) }
}

/// The words of one edit in reading order: unchanged, removed, added.
pub(super) fn merged<'d>(diff: &'d Diff<'_>, edit: &Edit) -> Vec<(Side, &'d [u8])> {
    let (old, new) = sides(diff, edit);
    if old.len() + new.len() > LARGEST {
        return vec![(Side::Removed, old), (Side::Added, new)];
    }
    let input = interned(old, new);
    let words = compare(&input);
    let (mut out, mut at, mut new_at) = (Vec::new(), 0, 0);
    let (mut old_byte, mut new_byte) = (0, 0);
    let mut push = |side, bytes: &'d [u8]| {
        if !bytes.is_empty() {
            out.push((side, bytes));
        }
    };
    let length = |tokens: &[gix::diff::blob::Token]| -> usize {
        tokens.iter().map(|token| input.interner[*token].len()).sum()
    };
    for hunk in words.hunks() {
        let (before, after) = (
            hunk.before.start as usize..hunk.before.end as usize,
            hunk.after.start as usize..hunk.after.end as usize,
        );
        let same = length(&input.after[new_at..after.start]);
        push(Side::Context, &new[new_byte..new_byte + same]);
        let (gone, come) =
            (length(&input.before[before.clone()]), length(&input.after[after.clone()]));
        push(Side::Removed, &old[old_byte + same..old_byte + same + gone]);
        push(Side::Added, &new[new_byte + same..new_byte + same + come]);
        (old_byte, new_byte) = (old_byte + same + gone, new_byte + same + come);
        (at, new_at) = (before.end, after.end);
    }
    debug_assert_eq!(length(&input.before[at..]), length(&input.after[new_at..]));
    push(Side::Context, &new[new_byte..]);
    out
}

fn sides<'d>(diff: &'d Diff<'_>, edit: &Edit) -> (&'d [u8], &'d [u8]) {
    (diff.before().lines(edit.before.clone()), diff.after().lines(edit.after.clone()))
}

fn interned<'d>(old: &'d [u8], new: &'d [u8]) -> InternedInput<&'d [u8]> {
    let mut input = InternedInput::default();
    input.update_before(Words(old));
    input.update_after(Words(new));
    input
}

fn compare(input: &InternedInput<&[u8]>) -> gix::diff::blob::Diff {
    let mut diff = gix::diff::blob::Diff::compute(Algorithm::Myers, input);
    diff.postprocess_no_heuristic(input);
    diff
}

/// Words, runs of blanks, line feeds, and single other characters.
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let first = *self.0.first()?;
        let run =
            |test: fn(u8) -> bool| self.0.iter().position(|b| !test(*b)).unwrap_or(self.0.len());
        // Bytes beyond ASCII stay with their word, so that no character is cut in two.
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
        let blank = |b: u8| b == b' ' || b == b'\t';
        let end = match first {
            b if word(b) => run(word),
            b if blank(b) => run(blank),
            _ => 1,
        };
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

fn by_line<'t>(tokens: impl Iterator<Item = (&'t [u8], bool)>) -> Vec<Vec<Range<usize>>> {
    let mut lines = Vec::new();
    let mut line = LineRanges::default();
    for (token, changed) in tokens {
        line.add(token, changed);
        if token == b"\n" {
            lines.push(std::mem::take(&mut line).finish());
        }
    }
    if line.at > 0 {
        lines.push(line.finish());
    }
    lines
}

#[derive(Default)]
struct LineRanges {
    ranges: Vec<Range<usize>>,
    at: usize,
    /// Bytes that are no blanks, and how many of them are unchanged.
    ink: usize,
    kept: usize,
    /// Only blanks since the last range.
    adjoining: bool,
}

impl LineRanges {
    fn add(&mut self, token: &[u8], changed: bool) {
        let range = self.at..self.at + token.len();
        self.at = range.end;
        let blank = token.iter().all(u8::is_ascii_whitespace);
        if !blank {
            self.ink += token.len();
            self.kept += if changed { 0 } else { token.len() };
        }
        match (changed, self.ranges.last_mut()) {
            (true, Some(last)) if self.adjoining || last.end == range.start => last.end = range.end,
            (true, _) => self.ranges.push(range),
            (false, _) => {
                self.adjoining = blank && (self.adjoining || self.ends_in_change(&range));
                return;
            }
        }
        self.adjoining = false;
    }

    fn ends_in_change(&self, next: &Range<usize>) -> bool {
        self.ranges.last().is_some_and(|last| last.end == next.start)
    }

    fn finish(self) -> Vec<Range<usize>> {
        // Under a third in common: the line as a whole is new.
        if self.ink > 0 && self.kept * 3 < self.ink { Vec::new() } else { self.ranges }
    }
}
