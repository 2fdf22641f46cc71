//! What shows that a change is in a file already.
//!
//! That the lines a change adds stand somewhere shows little: most lines stand in many files. What
//! counts is what ties them, or the absence of those it removes, to the place the change means.

use std::ops::Range;

use crate::changeset::hunks::Text;
use crate::changeset::unified::{Line, LineKind};

/// How many bytes of a file may still be compared to see whether lines are gone from it. What
/// takes more is no small change without context.
pub(in crate::changeset) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(64 << 20)
    }
}

/// What is known about the place where a change's result stands.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::changeset) struct Place {
    /// It is the very line that a sound header names.
    pub exact: bool,
    /// Nothing can be between it and what is above: the file's start, or the change's own anchor.
    pub begins: bool,
    /// It reaches to the end of the file.
    pub ends: bool,
    /// Something other than its lines says that the change belongs here: an anchor above it.
    pub named: bool,
    /// The change itself would go there too, so that any line of context will do.
    pub fits: bool,
}

/// Does the result of `lines`, found at `place`, show that they were applied? `there` is the kind
/// of the lines that are in the result alone.
///
/// Something beyond those lines must fit: context, both ends of the file, an anchor, or the line
/// number. Where nothing telling is added, as where lines are removed and not replaced, the result
/// must be whole from one line of context to another, or be on its very line. Brackets and empty
/// lines, which are everywhere, tell nothing.
pub(in crate::changeset) fn is_proof(lines: &[Line<'_>], there: LineKind, place: Place) -> bool {
    let exact = place.exact && lines.iter().any(|l| l.kind == there || l.kind == LineKind::Context);
    if exact || (place.begins && place.ends) {
        return true;
    }
    let is_context = |line: &Line<'_>| line.kind == LineKind::Context;
    let context = lines.iter().any(|line| is_context(line) && (place.fits || is_telling(line)));
    if !context && !place.named {
        return false;
    }
    let runs = || lines.chunk_by(|a, b| is_context(a) == is_context(b));
    let last = runs().count().saturating_sub(1);
    runs().enumerate().all(|(at, run)| {
        is_context(&run[0])
            || run.iter().any(|line| line.kind == there && is_telling(line))
            || ((at > 0 || place.begins) && (at < last || place.ends))
            || (place.fits && run.iter().any(|line| line.kind == there))
    })
}

/// Is it likely that a change without anything to tie it to its place was applied at `result`, the
/// only lines of `text` that read as its result? Only if those lines are telling, and a line that
/// it removes is nowhere: not even almost, as it would be where it was never quite the same.
pub(in crate::changeset) fn is_likely(
    lines: &[Line<'_>],
    there: LineKind,
    text: &Text<'_>,
    result: Range<usize>,
    budget: &mut Budget,
) -> bool {
    let adds = lines.iter().any(|line| line.kind == there);
    let tells = |line: &&Line<'_>| {
        line.kind == if adds { there } else { LineKind::Context } && is_telling(line)
    };
    let gone = |line: &&Line<'_>| line.kind != there && line.kind != LineKind::Context;
    let removed = || lines.iter().filter(gone).filter(|line| is_telling(line));
    let cost = removed().count().saturating_mul(text.bytes().len());
    let Some(left) = budget.0.checked_sub(cost) else { return false };
    budget.0 = left;
    lines.iter().any(|line| tells(&line))
        && removed().any(|line| {
            (0..text.len())
                .filter(|at| !result.contains(at))
                .all(|at| !is_almost(text.line(at), line.bytes))
        })
}

/// Are two lines the same but for blanks around them and up to three bytes in one place? Bytes that
/// one of them lacks, or other marks; another letter or number makes another name.
fn is_almost(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (one.trim_ascii(), other.trim_ascii());
    let longer = one.len().max(other.len());
    if one.len().abs_diff(other.len()) > 3 {
        return false;
    }
    let above = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[above..], &other[above..]);
    let below = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[..one.len() - below], &other[..other.len() - below]);
    let differs = one.len().max(other.len());
    let lacks = one.is_empty() || other.is_empty();
    let names = |byte: &u8| byte.is_ascii_digit() || (!lacks && byte.is_ascii_alphanumeric());
    let renamed = one.iter().chain(other).any(names);
    differs == 0 || (differs <= 3 && 2 * differs <= longer && !renamed)
}

/// Does a line have anything in it that sets it apart?
pub(in crate::changeset) fn is_telling(line: &Line<'_>) -> bool {
    line.bytes.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(signs: &str, place: Place) -> bool {
        let lines: Vec<_> = signs
            .chars()
            .map(|sign| match sign {
                '+' => Line { kind: LineKind::Added, bytes: &b"x\n"[..] },
                '}' => Line { kind: LineKind::Added, bytes: b"}\n" },
                '-' => Line { kind: LineKind::Removed, bytes: b"x\n" },
                '.' => Line { kind: LineKind::Context, bytes: b"\n" },
                _ => Line { kind: LineKind::Context, bytes: b"x\n" },
            })
            .collect();
        is_proof(&lines, LineKind::Added, place)
    }

    #[test]
    fn added_lines_alone_show_nothing() {
        let nowhere = Place::default();
        assert!(!proof("+", nowhere) && !proof("-+", nowhere));
        assert!(proof(" -+", nowhere) && proof("+ ", nowhere));
        for place in [
            Place { exact: true, ..nowhere },
            Place { named: true, ..nowhere },
            Place { begins: true, ends: true, ..nowhere },
        ] {
            assert!(proof("-+", place), "{place:?}");
        }
    }

    #[test]
    fn what_is_missing_must_be_missing_between_two_things() {
        let nowhere = Place::default();
        assert!(proof(" - ", nowhere) && proof(" - -+", nowhere));
        assert!(!proof(" -", nowhere) && !proof("- ", nowhere) && !proof(" -+ -", nowhere));
        assert!(proof(" -", Place { ends: true, ..nowhere }));
        assert!(proof("- ", Place { begins: true, ..nowhere }));
        assert!(proof("- ", Place { exact: true, ..nowhere }));
        assert!(!proof("-", Place { exact: true, ..nowhere }));
    }

    #[test]
    fn what_is_everywhere_tells_nothing() {
        let nowhere = Place::default();
        assert!(!proof(".+", nowhere) && !proof(".-.", nowhere) && !proof(" -}", nowhere));
        assert!(proof(" -}.", nowhere) && proof(".+", Place { exact: true, ..nowhere }));
        let fits = Place { fits: true, ..nowhere };
        assert!(proof(".+", fits) && proof(".}", fits) && !proof("+", fits));
    }

    #[test]
    fn almost_the_same_is_a_few_bytes_and_no_number() {
        for (one, other) in [("foo()\n", "  fooo()\n"), ("f('a')", "f(\"a')"), ("same", "same")] {
            assert!(is_almost(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
        for (one, other) in [("line 4", "line 5"), ("two", "TWO"), ("v = 1", "w = 1"), ("", "x")] {
            assert!(!is_almost(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
    }
}
