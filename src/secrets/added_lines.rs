//! Lines that a change adds.

use std::collections::HashMap;
use std::ops::Range;

/// Lines of `after` that `before` lacks, compared without a final CR and counted: moved lines are
/// old, a second copy is new. Linear, which no line diff is.
pub(super) struct AddedLines {
    /// Byte offsets in `after`, ascending.
    lines: Vec<Range<usize>>,
}

impl AddedLines {
    pub fn between(before: &[u8], after: &[u8]) -> Self {
        let mut old: HashMap<&[u8], usize> = HashMap::new();
        for (_, line) in lines(before) {
            *old.entry(line).or_default() += 1;
        }
        let new = lines(after).filter(|(_, line)| match old.get_mut(line) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        });
        Self { lines: new.map(|(range, _)| range).collect() }
    }

    /// True if a new line overlaps `start..end`.
    pub fn touches(&self, start: usize, end: usize) -> bool {
        let first = self.lines.partition_point(|line| line.end <= start);
        self.lines.get(first).is_some_and(|line| line.start < end)
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = (Range<usize>, &[u8])> {
    let mut at = 0;
    text.split_inclusive(|b| *b == b'\n').map(move |line| {
        let start = at;
        at += line.len();
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        (start..at, bare.strip_suffix(b"\r").unwrap_or(bare))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_touch() {
        let after = b"b\r\na\nnew\na\n";
        let added = AddedLines::between(b"a\nb\n", after);
        assert!(!added.touches(0, 5), "moved, and a carriage return more");
        assert!(added.touches(5, 6));
        assert!(added.touches(9, 10), "the second copy");
        assert!(added.touches(4, 6), "spans an old and a new line");
        assert!(!AddedLines::between(after, after).touches(0, after.len()));
    }
}
