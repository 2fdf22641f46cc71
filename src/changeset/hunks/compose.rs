//! Taking a difference in part: which bytes result when some hunks are taken, some left out and
//! some replaced by what a reviewer wrote.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Diff, Hunk};

/// What becomes of one hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// Its changed lines are taken.
    Take,
    /// Its changed lines stay as they were.
    Leave,
    /// The lines `before` of the first content become `bytes`. The range holds the hunk's edits
    /// and no other hunk's (see [`Diff::editable`]).
    Replace {
        /// Lines of the first content, 0-based.
        before: &'a Range<usize>,
        /// What is there instead.
        bytes: &'a [u8],
    },
}

impl Diff<'_> {
    /// The part of `hunk` that may be edited on its own: its edits and the context that belongs
    /// to no neighbour. Context between two hunks is shared out half and half. Returns the lines
    /// of the first and of the second content.
    pub fn editable(&self, hunk: &Hunk) -> (Range<usize>, Range<usize>) {
        let (first, last) = (&self.edits[hunk.edits.start], &self.edits[hunk.edits.end - 1]);
        let mut above = first.before.start - hunk.before.start;
        if let Some(previous) = hunk.edits.start.checked_sub(1) {
            above = above.min((first.before.start - self.edits[previous].before.end) / 2);
        }
        let mut below = hunk.before.end - last.before.end;
        if let Some(next) = self.edits.get(hunk.edits.end) {
            below = below.min((next.before.start - last.before.end).div_ceil(2));
        }
        (
            first.before.start - above..last.before.end + below,
            first.after.start - above..last.after.end + below,
        )
    }
}

impl Diff<'_> {
    /// What [`Diff::editable`] of `hunk` becomes where only the changed lines of `chosen` are taken, counted
    /// from 0 in the order of [`Diff::lines`]: a removed line that is not among them stays, an added one is
    /// left out.
    pub fn with_lines(&self, hunk: &Hunk, chosen: &BTreeSet<usize>) -> Vec<u8> {
        let lines = self.editable(hunk).0;
        let (mut out, mut done, mut number) = (Vec::new(), lines.start, 0..);
        let mut is_chosen = || number.next().is_some_and(|number| chosen.contains(&number));
        for edit in &self.edits[hunk.edits.clone()] {
            append(&mut out, self.before.lines(done..edit.before.start));
            for line in edit.before.clone() {
                if !is_chosen() {
                    append(&mut out, self.before.lines(line..line + 1));
                }
            }
            for line in edit.after.clone() {
                if is_chosen() {
                    append(&mut out, self.after.lines(line..line + 1));
                }
            }
            done = edit.before.end;
        }
        append(&mut out, self.before.lines(done..lines.end));
        out
    }
}

/// The bytes that result from `diff`'s first content when each hunk is treated as chosen.
///
/// `choices` are in order and do not overlap; edits that are in none of them are left out. With
/// all hunks taken this is the second content, with none it is the first.
pub fn compose<'h>(
    diff: &Diff<'_>,
    choices: impl IntoIterator<Item = (&'h Hunk, Choice<'h>)>,
) -> Vec<u8> {
    let (before, after) = (diff.before(), diff.after());
    let mut out = Vec::with_capacity(before.bytes().len().max(after.bytes().len()));
    let mut done = 0;
    for (hunk, choice) in choices {
        match choice {
            Choice::Leave => {}
            Choice::Take => {
                for edit in &diff.edits()[hunk.edits.clone()] {
                    append(&mut out, before.lines(done..edit.before.start));
                    append(&mut out, after.lines(edit.after.clone()));
                    done = edit.before.end;
                }
            }
            Choice::Replace { before: lines, bytes } => {
                append(&mut out, before.lines(done..lines.start));
                append(&mut out, bytes);
                done = lines.end;
            }
        }
    }
    append(&mut out, before.lines(done..before.len()));
    out
}

/// Appends whole lines. Bytes that a reviewer wrote may lack the final LF; whatever follows them
/// still starts a line of its own.
fn append(out: &mut Vec<u8>, lines: &[u8]) {
    if !lines.is_empty() && !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.extend_from_slice(lines);
}
