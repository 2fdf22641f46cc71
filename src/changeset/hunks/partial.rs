//! Applies part of a difference: hunks are taken, left or replaced by a reviewer's text.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Diff, Hunk};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    Take,
    Leave,
    /// The range holds the hunk's edits and no other hunk's (see [`Diff::editable`]).
    Replace {
        /// Lines of the first content, 0-based.
        before: &'a Range<usize>,
        bytes: &'a [u8],
    },
}

impl Diff<'_> {
    /// The hunk's edits and context, which neighbours share half and half. Returns lines of the
    /// first and second content.
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
    /// The editable part of `hunk` with only the changed lines of `chosen`, counted from 0 in the
    /// order of [`Diff::lines`]. Other removed lines stay; other added lines are dropped.
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

/// `choices` are in order and do not overlap; other edits are not taken. All hunks taken give the
/// second content, none the first.
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

/// A reviewer's text may lack the final LF; the next line still starts on its own.
fn append(out: &mut Vec<u8>, lines: &[u8]) {
    if !lines.is_empty() && !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.extend_from_slice(lines);
}
