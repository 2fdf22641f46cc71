//! Where in a file a hunk stands: a decision must never pass to lines that only look the same.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

use crate::changeset::hunks::Text;

/// The lines of a content by what is in them.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    hasher: RandomState,
    /// Hash and number of each line, sorted.
    sorted: Vec<(u64, usize)>,
}

impl Lines {
    /// Indexes `text`.
    pub(super) fn of(text: &Text<'_>) -> Self {
        let hasher = RandomState::new();
        let mut sorted: Vec<_> =
            (0..text.len()).map(|number| (hasher.hash_one(text.line(number)), number)).collect();
        sorted.sort_unstable();
        Self { hasher, sorted }
    }

    /// True when the lines `range` of `text`, which was indexed, are nowhere else in it. No lines
    /// are everywhere.
    pub(super) fn are_only_at(&self, text: &Text<'_>, range: &Range<usize>) -> bool {
        // Of the lines of a hunk, the rarest says fastest where else it might stand.
        let rarest = range.clone().map(|number| (self.like(text.line(number)), number));
        let Some((places, rarest)) = rarest.min_by_key(|(places, _)| places.len()) else {
            return false;
        };
        let above = rarest - range.start;
        let same = |start: usize| {
            let end = start + range.len();
            end <= text.len() && text.lines(start..end) == text.lines(range.clone())
        };
        let starts = places.iter().filter_map(|(_, number)| number.checked_sub(above));
        starts.filter(|start| same(*start)).take(2).count() == 1
    }

    fn like(&self, line: &[u8]) -> &[(u64, usize)] {
        let hash = self.hasher.hash_one(line);
        let start = self.sorted.partition_point(|(other, _)| *other < hash);
        let len = self.sorted[start..].partition_point(|(other, _)| *other == hash);
        &self.sorted[start..start + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stand_twice_are_not_the_only_ones() {
        let text = Text::new(&b"a\nb\nc\na\nb\nd\nb"[..]);
        let lines = Lines::of(&text);
        let only = |range: Range<usize>| lines.are_only_at(&text, &range);
        assert!(!only(0..2));
        assert!(!only(1..2));
        assert!(only(0..3));
        assert!(only(3..6));
        assert!(only(6..7), "a last line without its end is another line");
        assert!(!only(2..2));
        assert!(only(0..7));
    }
}
