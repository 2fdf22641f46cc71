//! Word differences inside changed lines: ranges to emphasise, and one merged text.

use std::ops::Range;

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

use crate::changeset::hunks::{Diff, LineEdit, LineSide};

/// Bytes of both sides; beyond them words are not compared.
const LARGEST: usize = 64 * 1024;

/// Byte ranges of differing words, by line.
#[derive(Debug, Default)]
pub(super) struct Emphasis {
    pub(super) removed: Vec<Vec<Range<usize>>>,
    pub(super) added: Vec<Vec<Range<usize>>>,
}

/// Lines with little in common get no ranges: emphasising nearly everything says nothing.
pub(super) fn emphasis(diff: &Diff<'_>, edit: &LineEdit) -> Emphasis {
    let (old, new) = sides(diff, edit);
    if old.is_empty() || new.is_empty() || old.len() + new.len() > LARGEST {
        return Emphasis::default();
    }
    let (old, new) = (words(old), words(new));
    let (mut removed, mut added) = (vec![false; old.len()], vec![false; new.len()]);
    for op in compare(&old, &new) {
        if !matches!(op, DiffOp::Equal { .. }) {
            removed[op.old_range()].fill(true);
            added[op.new_range()].fill(true);
        }
    }
    Emphasis {
        removed: by_line(old.into_iter().zip(removed)),
        added: by_line(new.into_iter().zip(added)),
    }
}

/// In reading order.
pub(super) fn merged<'d>(diff: &'d Diff<'_>, edit: &LineEdit) -> Vec<(LineSide, &'d [u8])> {
    let (old, new) = sides(diff, edit);
    if old.len() + new.len() > LARGEST {
        return vec![(LineSide::Removed, old), (LineSide::Added, new)];
    }
    let (old_words, new_words) = (words(old), words(new));
    let (mut old, mut new) = (old, new);
    let mut out = Vec::new();
    for op in compare(&old_words, &new_words) {
        let before = advance(&mut old, &old_words[op.old_range()]);
        let after = advance(&mut new, &new_words[op.new_range()]);
        match op {
            DiffOp::Equal { .. } => out.push((LineSide::Context, after)),
            _ => out.extend([(LineSide::Removed, before), (LineSide::Added, after)]),
        }
    }
    out.retain(|(_, text)| !text.is_empty());
    out
}

fn advance<'d>(text: &mut &'d [u8], words: &[&[u8]]) -> &'d [u8] {
    let (head, rest) = text.split_at(words.iter().map(|word| word.len()).sum());
    *text = rest;
    head
}

fn sides<'d>(diff: &'d Diff<'_>, edit: &LineEdit) -> (&'d [u8], &'d [u8]) {
    (diff.before().lines(edit.before.clone()), diff.after().lines(edit.after.clone()))
}

/// Bounded in time: on difficult input the edit script need not be the shortest.
fn compare(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    match myers::diff(&mut hook, old, 0..old.len(), new, 0..new.len()) {
        Ok(()) => hook.into_inner().into_inner().into_ops(),
        Err(never) => match never {},
    }
}

fn words(text: &[u8]) -> Vec<&[u8]> {
    Words(text).collect()
}

/// Words, runs of whitespace, line feeds, and single other characters.
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let first = *self.0.first()?;
        let run =
            |test: fn(u8) -> bool| self.0.iter().position(|b| !test(*b)).unwrap_or(self.0.len());
        // Bytes beyond ASCII belong to words: no character is cut in two.
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
    /// Bytes other than whitespace, and how many of them are unchanged.
    ink: usize,
    kept: usize,
    /// True if only whitespace followed the last range.
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
        // Under a third in common: the whole line counts as new.
        if self.ink > 0 && self.kept * 3 < self.ink { Vec::new() } else { self.ranges }
    }
}
