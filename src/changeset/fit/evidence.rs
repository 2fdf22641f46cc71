//! What shows that a change is in a file already.
//!
//! That the lines a change adds stand somewhere shows little: most lines stand in many files. What
//! counts is what ties them, or the absence of those it removes, to the place the change means.

use crate::changeset::unified::{Line, LineKind};

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
}
