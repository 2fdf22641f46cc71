//! Is an update there already?

use super::Chunk;
use super::update::{Anchored, PASSES, Search, Spot};
use crate::changeset::RepoPath;
use crate::changeset::fit::evidence::{Place, is_proof, is_telling};
use crate::changeset::hunks::Text;
use crate::changeset::locate::{Pass, key};
use crate::changeset::unified::{Line, LineKind};

/// Is every chunk's result in the file, in order, each found as strictly as the chunk itself would
/// be and tied to its place by more than the lines it adds? `moved` says that the file went where
/// the same operation sends it, which is such a tie.
pub(super) fn is_applied(
    path: &RepoPath,
    content: &[u8],
    chunks: &[Chunk<'_>],
    moved: bool,
) -> bool {
    let text = Text::new(content);
    let mut search = Search::new(path, &text);
    !chunks.is_empty() && chunks.iter().all(|chunk| search.holds(chunk, moved))
}

impl Search<'_> {
    /// Is the chunk's result where the chunk fits, so that putting it there would double it?
    pub fn result_is_there(&self, chunk: &Chunk<'_>, spot: &Spot) -> bool {
        let kept = chunk.kept(spot.cut);
        let len = chunk.new_lines(spot.cut).len();
        let above = (spot.start + spot.len).checked_sub(len);
        let below = Some(spot.start);
        // Brackets and empty lines at the end of a file may well be there twice.
        if spot.len == 0 && chunk.anchors.is_empty() && !kept.iter().any(is_telling) {
            return false;
        }
        let starts = match (spot.len, spot.start == self.text.len()) {
            // An insertion goes below its anchor, or to the end of the file.
            (0, true) => [None, above],
            (0, false) => [below, None],
            _ => [below, above],
        };
        len > spot.len
            && starts.into_iter().flatten().any(|at| self.is_at(kept, at, Pass::Typography))
    }

    /// Is the result of `lines` at line `start`? Context is compared as leniently as `pass` says;
    /// what the patch would have added is there as it would have been written.
    fn is_at(&self, lines: &[Line<'_>], start: usize, pass: Pass) -> bool {
        let mut at = start;
        lines.iter().filter(|line| line.kind != LineKind::Removed).all(|line| {
            let pass = if line.kind == LineKind::Added { Pass::Ending } else { pass };
            let first = at == 0;
            at += 1;
            at <= self.text.len()
                && key(self.text.line(at - 1), pass, first) == key(line.bytes, pass, true)
        })
    }

    /// Looks for the chunk's result as for the chunk itself, and moves the cursor below it.
    fn holds(&mut self, chunk: &Chunk<'_>, moved: bool) -> bool {
        self.holds_below(chunk, moved) || {
            self.from -= std::mem::take(&mut self.shared);
            self.holds_below(chunk, moved)
        }
    }

    fn holds_below(&mut self, chunk: &Chunk<'_>, moved: bool) -> bool {
        let anchored = match self.anchors(0, chunk, &chunk.anchors) {
            Ok(anchored) => anchored,
            // The chunk itself takes its anchor away.
            Err(_) => match chunk.anchors.split_last() {
                Some((last, rest)) if chunk.removes(last) => match self.anchors(0, chunk, rest) {
                    Ok(anchored) => anchored,
                    Err(_) => return false,
                },
                _ => return false,
            },
        };
        let mut cuts = chunk.cuts().into_iter().chain(chunk.final_newline());
        let found = cuts.find_map(|cut| {
            let start = self.result(chunk, cut, anchored.as_ref(), moved)?;
            let end = start + chunk.new_lines(cut).len();
            (cut <= chunk.loose_tail || end == self.text.len()).then_some((end, cut))
        });
        if let Some((from, cut)) = found {
            self.go_below(from, chunk, cut);
        }
        found.is_some()
    }

    /// Where the chunk's result is, less `cut` lines at its end, if that shows that the chunk was
    /// applied.
    fn result(
        &mut self,
        chunk: &Chunk<'_>,
        cut: usize,
        anchored: Option<&Anchored>,
        moved: bool,
    ) -> Option<usize> {
        let new = chunk.new_lines(cut);
        let kept = chunk.kept(cut);
        let from = anchored.map_or(self.from, |anchored| anchored.from);
        let last = self.text.len().checked_sub(new.len());
        if chunk.old_lines(cut).is_empty() {
            let spot = self.insertion(0, chunk, cut, anchored).ok()?;
            let start = if spot.start == self.text.len() { last? } else { spot.start };
            return (start >= self.from && self.is_at(kept, start, Pass::Ending)).then_some(start);
        }
        if new.is_empty() {
            return self.text.is_empty().then_some(0);
        }
        let sure = anchored.is_some_and(|anchored| anchored.places.len() == 1);
        // The anchor may be written once more as the first line of context.
        let starts = [Some(from), from.checked_sub(1).filter(|_| sure && !chunk.at_end)];
        for (pass, from) in
            starts.into_iter().flatten().flat_map(|from| PASSES.map(|pass| (pass, from)))
        {
            let mut hits = self.matches(pass, &new, from).ok()?;
            hits.retain(|start| {
                self.is_at(kept, *start, pass) && (!chunk.at_end || Some(*start) == last)
            });
            let start = match hits.as_slice() {
                [] => continue,
                [one] => *one,
                [first, ..] if sure && *first == from => *first,
                _ => return None,
            };
            let anchor =
                anchored.filter(|_| sure).and_then(|anchored| anchored.from.checked_sub(1));
            let place = Place {
                exact: false,
                begins: start == 0 || anchor.is_some_and(|anchor| anchor + 1 == start),
                ends: start + new.len() == self.text.len(),
                fits: false,
                named: moved || anchor.is_some_and(|anchor| self.is_in_scope(anchor, start)),
            };
            return is_proof(kept, LineKind::Added, place).then_some(start);
        }
        None
    }

    /// Does line `at` belong to what the line `anchor` heads? To its indented block, if it has
    /// one, else to the paragraph below it.
    fn is_in_scope(&self, anchor: usize, at: usize) -> bool {
        let line = |at: usize| self.text.line(at).trim_ascii_end();
        let indent = |at: usize| line(at).len() - line(at).trim_ascii_start().len();
        let Some(first) = (anchor + 1..self.text.len()).find(|at| !line(*at).is_empty()) else {
            return false;
        };
        let block = indent(first) > indent(anchor);
        (first + 1..=at.max(first)).all(|at| match (block, line(at).is_empty()) {
            (true, empty) => empty || indent(at) > indent(anchor),
            (false, empty) => !empty,
        })
    }
}
