//! What shows that a change is in a file already.
//!
//! That the lines a change adds stand somewhere shows little: most lines stand in many files. What
//! counts is what ties them, or the absence of those it removes, to the place the change means.

use crate::changeset::unified::{Kind, Line};

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
}

/// Does the result of `lines`, found at `place`, show that they were applied? `there` is the kind
/// of the lines that are in the result alone.
///
/// Something beyond those lines must fit: context, both ends of the file, an anchor, or the line
/// number. Lines that are removed and not replaced must be missing between two things that are
/// there, or the result must be on its very line.
pub(in crate::changeset) fn is_proof(lines: &[Line<'_>], there: Kind, place: Place) -> bool {
    let exact = place.exact && lines.iter().any(|l| l.kind == there || l.kind == Kind::Context);
    if exact || (place.begins && place.ends) {
        return true;
    }
    let context = lines.iter().any(|line| line.kind == Kind::Context);
    if !context && !place.named {
        return false;
    }
    let runs = || lines.chunk_by(|a, b| (a.kind == Kind::Context) == (b.kind == Kind::Context));
    let last = runs().count().saturating_sub(1);
    runs().enumerate().all(|(at, run)| {
        run.iter().any(|line| line.kind == there || line.kind == Kind::Context)
            || ((at > 0 || place.begins) && (at < last || place.ends))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(signs: &str, place: Place) -> bool {
        let kind = |sign| match sign {
            '+' => Kind::Added,
            '-' => Kind::Removed,
            _ => Kind::Context,
        };
        let lines: Vec<_> =
            signs.chars().map(|sign| Line { kind: kind(sign), bytes: &b"x\n"[..] }).collect();
        is_proof(&lines, Kind::Added, place)
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
}
