//! Three-way merge of file contents by lines, through gix's blob merge.
//!
//! Binary content is not merged. Conflicts come as a list, and as git's marked text.

use std::num::NonZeroU8;
use std::ops::Range;

use bstr::{BStr, ByteSlice};
use gix::diff::blob::{Algorithm, InternedInput};
use gix::merge::blob::Resolution;
use gix::merge::blob::builtin_driver::text::{Conflict as Style, ConflictStyle, Labels, Merge};

use super::file::is_binary;
use super::hunks::is_large;

/// Labels in conflict markers.
#[derive(Clone, Copy, Debug)]
pub struct MergeLabels<'a> {
    /// The present file, after `<<<<<<<`.
    pub ours: &'a str,
    /// The change, after `>>>>>>>`.
    pub theirs: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    Clean(Vec<u8>),
    Conflict {
        /// Text with conflict markers.
        marked: Vec<u8>,
        /// In file order.
        hunks: Vec<ConflictHunk>,
    },
    /// Both sides changed, and one is binary or too large ([`is_large`]).
    Binary,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictHunk {
    /// From 1, in the present file.
    pub line: usize,
    /// Present lines.
    pub ours: Vec<u8>,
    /// Proposed lines.
    pub theirs: Vec<u8>,
}

/// Applies the change from `base` to `theirs` to `ours`.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8], sides: MergeLabels<'_>) -> MergeOutcome {
    if ours == theirs || base == theirs {
        return MergeOutcome::Clean(ours.into());
    }
    if base == ours {
        return MergeOutcome::Clean(theirs.into());
    }
    if !has_lines([base, ours, theirs]) {
        return MergeOutcome::Binary;
    }
    match run(base, ours, theirs, sides, None) {
        Ok(bytes) => MergeOutcome::Clean(bytes),
        Err((marked, size)) => {
            let hunks = hunks(&marked, size);
            MergeOutcome::Conflict { marked, hunks }
        }
    }
}

/// As [`merge`], but takes `theirs` on conflict; true if there was one. `None` if both changed and
/// a side is binary.
pub fn preferring_theirs(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<(Vec<u8>, bool)> {
    match merge(base, ours, theirs, MergeLabels { ours: "", theirs: "" }) {
        MergeOutcome::Clean(bytes) => Some((bytes, false)),
        MergeOutcome::Binary => None,
        MergeOutcome::Conflict { .. } => {
            let mut input = InternedInput::default();
            let prepared = Merge::new(&mut input, ours, base, theirs, Algorithm::Histogram);
            let mut out = Vec::with_capacity(theirs.len() + 64);
            prepared.run(&mut out, Labels::default(), Style::ResolveWithTheirs);
            Some((out, true))
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedConflict {
    /// Conflicts have all three sides, as in git's `diff3` style.
    pub marked: Vec<u8>,
    /// Lines of `marked` (from 0) per conflict, with markers.
    pub regions: Vec<Range<usize>>,
}

/// As [`merge`], with the base between markers, labelled `ancestor`. `None` without conflict, or if
/// a side is binary.
pub fn merge_with_base(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    sides: MergeLabels<'_>,
    ancestor: &str,
) -> Option<MarkedConflict> {
    if !has_lines([base, ours, theirs]) {
        return None;
    }
    let (marked, size) = run(base, ours, theirs, sides, Some(ancestor)).err()?;
    let mut regions = Vec::new();
    let mut open = None;
    for (at, line) in marked.lines_with_terminator().enumerate() {
        match (is_marker(line.as_bstr(), size), open) {
            (Some(b'<'), None) => open = Some(at),
            (Some(b'>'), Some(start)) => {
                regions.push(start..at + 1);
                open = None;
            }
            _ => {}
        }
    }
    (!regions.is_empty()).then_some(MarkedConflict { marked, regions })
}

/// False if a side is binary or changes too much.
fn has_lines([base, ours, theirs]: [&[u8]; 3]) -> bool {
    !([base, ours, theirs].into_iter().any(is_binary))
        && !is_large(base, ours)
        && !is_large(base, theirs)
}

/// The error has the marked text and its marker length.
fn run(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    sides: MergeLabels<'_>,
    ancestor: Option<&str>,
) -> Result<Vec<u8>, (Vec<u8>, usize)> {
    let mut input = InternedInput::default();
    let prepared = Merge::new(&mut input, ours, base, theirs, Algorithm::Histogram);
    let marker_size = marker_size(&[base, ours, theirs]);
    let labels = Labels {
        ancestor: ancestor.map(Into::into),
        current: Some(sides.ours.into()),
        other: Some(sides.theirs.into()),
    };
    let mut out = Vec::with_capacity(ours.len() + 64);
    let style = match ancestor {
        Some(_) => ConflictStyle::ZealousDiff3,
        None => ConflictStyle::Merge,
    };
    match prepared.run(&mut out, labels, Style::Keep { style, marker_size }) {
        Resolution::Complete | Resolution::CompleteWithAutoResolvedConflict => Ok(out),
        Resolution::Conflict => Err((out, usize::from(marker_size.get()))),
    }
}

/// Git's seven; more if the text has lines like markers.
fn marker_size(texts: &[&[u8]]) -> NonZeroU8 {
    let longest = texts
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| match line.first() {
            Some(first @ (b'<' | b'=' | b'>')) => {
                line.iter().take_while(|byte| *byte == first).count()
            }
            _ => 0,
        })
        .max()
        .unwrap_or(0);
    let size = if longest < 7 { 7 } else { longest.saturating_add(1).min(255) as u8 };
    NonZeroU8::new(size).unwrap_or(NonZeroU8::MIN)
}

/// `size` exceeds any marker-like line of the text.
fn hunks(marked: &[u8], size: usize) -> Vec<ConflictHunk> {
    let mut found = Vec::new();
    let mut ours_line = 1;
    let mut open: Option<(ConflictHunk, bool)> = None;
    for line in marked.lines_with_terminator() {
        let marker = is_marker(line.as_bstr(), size);
        match (&mut open, marker) {
            (None, Some(b'<')) => {
                let hunk = ConflictHunk { line: ours_line, ours: Vec::new(), theirs: Vec::new() };
                open = Some((hunk, false));
            }
            (Some((_, in_theirs)), Some(b'=')) => *in_theirs = true,
            (Some(_), Some(b'>')) => found.extend(open.take().map(|(hunk, _)| hunk)),
            (Some((hunk, true)), _) => hunk.theirs.extend_from_slice(line),
            (Some((hunk, false)), _) => {
                hunk.ours.extend_from_slice(line);
                ours_line += 1;
            }
            (None, _) => ours_line += 1,
        }
    }
    found
}

fn is_marker(line: &BStr, size: usize) -> Option<u8> {
    let first = *line.first()?;
    let length = line.iter().take_while(|byte| **byte == first).count();
    let rest = line.get(size).copied();
    (length == size && matches!(first, b'<' | b'=' | b'>'))
        .then_some(first)
        .filter(|_| matches!(rest, None | Some(b' ' | b'\n' | b'\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDES: MergeLabels<'static> = MergeLabels { ours: "ours", theirs: "theirs" };

    #[test]
    fn a_side_can_be_preferred_where_both_changed_the_same_lines() {
        let settle = |base: &str, ours: &str, theirs: &str| {
            let (text, met) =
                preferring_theirs(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
            (String::from_utf8(text).unwrap(), met)
        };
        let lines = |a: &str, b: &str| format!("{a}\n2\n3\n4\n5\n{b}\n");
        let (base, ours) = (lines("1", "6"), lines("one", "six"));
        assert_eq!(settle(&base, &ours, &lines("uno", "6")), (lines("uno", "six"), true));
        assert_eq!(settle(&base, &lines("one", "6"), &lines("1", "six")), (ours.clone(), false));
        assert_eq!(settle(&base, &ours, &base), (ours, false));
        assert_eq!(preferring_theirs(b"\0", b"\0a", b"\0b"), None);
    }

    fn clean(base: &str, ours: &str, theirs: &str) -> String {
        match merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), SIDES) {
            MergeOutcome::Clean(bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("not clean: {other:?}"),
        }
    }

    #[test]
    fn changes_in_different_places_both_stay() {
        assert_eq!(
            clean("1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive"),
            "one\n2\n3\n4\nfive"
        );
        assert_eq!(
            clean("1\r\n2\r\n3\r\n4\r\n", "1\r\n2\r\n3\r\nfour\r\n", "one\r\n2\r\n3\r\n4\r\n"),
            "one\r\n2\r\n3\r\nfour\r\n"
        );
    }

    #[test]
    fn conflicts_are_marked_and_listed() {
        let merged = merge(b"a\nb\nc\n", b"0\na\nours\nc\n", b"a\ntheirs\nc\n", SIDES);
        let MergeOutcome::Conflict { marked, hunks } = merged else { panic!("{merged:?}") };
        assert_eq!(
            marked.as_bstr(),
            "0\na\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\nc\n"
        );
        assert_eq!(
            hunks,
            [ConflictHunk { line: 3, ours: b"ours\n".into(), theirs: b"theirs\n".into() }]
        );
    }

    #[test]
    fn markers_outgrow_lines_that_look_like_them() {
        let merged = merge(b"=======\nb\n", b"=======\nours\n", b"=======\ntheirs\n", SIDES);
        let MergeOutcome::Conflict { marked, hunks } = merged else { panic!("{merged:?}") };
        assert_eq!(
            marked.as_bstr(),
            "=======\n<<<<<<<< ours\nours\n========\ntheirs\n>>>>>>>> theirs\n"
        );
        assert_eq!(hunks.len(), 1);
        assert_eq!(hunks[0].line, 2);
    }

    #[test]
    fn binary_content_is_not_merged_by_lines() {
        assert_eq!(merge(b"a\0b", b"a\0c", b"a\0d", SIDES), MergeOutcome::Binary);
        assert_eq!(merge(b"a\0b", b"a\0b", b"a\0d", SIDES), MergeOutcome::Clean(b"a\0d".into()));
    }
}
