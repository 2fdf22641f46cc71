//! Changed lines that were on the screen: lines omitted from the last screen may have been shown
//! before. Pure.

use std::collections::{BTreeMap, HashMap};

use crate::changeset::RepoPath;
use crate::changeset::change_entry::ChangeEntry;
use crate::changeset::hunks::{Diff, Hunk, Line, LineSide};
use crate::render::diff::LONGEST;

/// A changed line and its file. A change without lines, such as a binary file or a move, is an
/// empty context line.
type Key = (RepoPath, LineSide, Vec<u8>);

/// Changed lines of one screen.
#[derive(Clone, Debug, Default)]
pub(super) struct ScreenLines(Vec<Key>);

impl ScreenLines {
    /// Adds the first `shown` lines of `hunk`; if `limited`, without cut lines.
    pub(super) fn hunk(
        &mut self,
        path: &RepoPath,
        diff: &Diff<'_>,
        hunk: &Hunk,
        shown: usize,
        limited: bool,
    ) {
        let lines = diff.lines(hunk).take(shown);
        let whole = lines.filter(|line| is_change(line) && !(limited && is_cut(line)));
        self.0.extend(whole.map(|line| (path.clone(), line.side, line.bytes.to_vec())));
    }

    /// All of a file, as in the pager.
    pub(super) fn entry(entry: &ChangeEntry<'_>) -> Self {
        let mut lines = Self::default();
        let diff = Diff::new(entry.old_bytes(), entry.new_bytes());
        let hunks = if entry.is_whole() { Vec::new() } else { diff.hunks(0) };
        for hunk in &hunks {
            lines.hunk(entry.path, &diff, hunk, usize::MAX, false);
        }
        if hunks.is_empty() && !entry.is_large() {
            lines.file(entry.path);
        }
        lines
    }

    /// A change without lines.
    pub(super) fn file(&mut self, path: &RepoPath) {
        self.0.push((path.clone(), LineSide::Context, Vec::new()));
    }
}

/// Lines of the last display of each unit, and of each file in the pager.
#[derive(Debug, Default)]
pub(super) struct ShownLines {
    units: BTreeMap<(usize, usize), ScreenLines>,
    pages: BTreeMap<(usize, RepoPath), ScreenLines>,
}

impl ShownLines {
    pub(super) fn shown(&mut self, at: usize, unit: usize, lines: ScreenLines) {
        self.units.insert((at, unit), lines);
    }

    pub(super) fn paged(&mut self, at: usize, entry: &ChangeEntry<'_>) {
        self.pages.insert((at, entry.path.clone()), ScreenLines::entry(entry));
    }

    /// All lines shown of proposal `at`.
    pub(super) fn of(&self, at: usize) -> ShownLineCounts {
        let mut pool = ShownLineCounts::default();
        let units = self.units.iter().map(|((of, _), lines)| (of, lines));
        let pages = self.pages.iter().map(|((of, _), lines)| (of, lines));
        for (_, lines) in units.chain(pages).filter(|(of, _)| **of == at) {
            for line in &lines.0 {
                *pool.0.entry(line.clone()).or_default() += 1;
            }
        }
        pool
    }
}

/// Shown lines with counts. Each showing excuses one written line: the second of two equal lines
/// does not count as shown with the first.
#[derive(Debug, Default)]
pub(super) struct ShownLineCounts(HashMap<Key, usize>);

impl ShownLineCounts {
    /// True if `line` was shown; consumes one showing.
    pub(super) fn takes(&mut self, path: &RepoPath, line: &Line<'_>) -> bool {
        self.take(&(path.clone(), line.side, line.bytes.to_vec()))
    }

    /// The same for a file without lines.
    pub(super) fn takes_file(&mut self, path: &RepoPath) -> bool {
        self.take(&(path.clone(), LineSide::Context, Vec::new()))
    }

    fn take(&mut self, key: &Key) -> bool {
        match self.0.get_mut(key) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

pub(super) fn is_change(line: &Line<'_>) -> bool {
    line.side != LineSide::Context
}

/// True if a limited screen cuts `line`.
pub(super) fn is_cut(line: &Line<'_>) -> bool {
    line.content().len() > LONGEST
}
