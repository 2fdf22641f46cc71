//! The chunks of one `*** Update File`, put into a file.

use super::Chunk;
use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::locate::{Finder, Pass, key};
use crate::changeset::patch::evidence::{Budget, Place, is_likely, is_proof};
use crate::changeset::patch::place::{Mark, ambiguous, ending, failed};
use crate::changeset::patch::{HunkReport, codes};
use crate::changeset::unified::{Kind, Line, excerpt};
use crate::error::{Error, Result};

/// From strict to lenient. The first is exact but for line endings, which an envelope cannot
/// express.
const PASSES: [Pass; 4] = [Pass::Ending, Pass::TrailingBlanks, Pass::Blanks, Pass::Typography];

/// A file with its chunks put in.
pub(super) struct Updated {
    pub bytes: Vec<u8>,
    pub hunks: Vec<HunkReport>,
    /// There are chunks, and each one's result is right where it would go.
    pub there: bool,
}

/// Where a chunk goes: `len` lines from `start` on.
struct Spot {
    start: usize,
    len: usize,
    /// Empty lines at the chunk's end that turned out to be no context.
    cut: usize,
    pass: Pass,
}

/// Puts `chunks` into `content`, the file at `path`.
///
/// # Errors
/// `hunk_failed`, `hunk_ambiguous`.
pub(super) fn apply(path: &RepoPath, content: &[u8], chunks: &[Chunk<'_>]) -> Result<Updated> {
    let text = Text::new(content);
    let mut search = Search::new(path, &text);
    let mut spots = Vec::with_capacity(chunks.len());
    let mut there = !chunks.is_empty();
    for (index, chunk) in chunks.iter().enumerate() {
        let spot = search.find(index + 1, chunk)?;
        there = there && search.result_is_there(chunk, &spot);
        search.from = spot.start + spot.len;
        spots.push(spot);
    }
    let report = |(index, spot): (usize, &Spot)| HunkReport {
        hunk: index + 1,
        line: spot.start + 1,
        offset: 0,
        fuzz: 0,
        recounted: false,
        matched: (spot.pass != Pass::Ending).then(|| spot.pass.as_str()),
    };
    let hunks = spots.iter().enumerate().map(report).collect();
    Ok(Updated { bytes: write(&text, chunks, &spots), hunks, there })
}

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

struct Search<'t> {
    path: &'t RepoPath,
    text: &'t Text<'t>,
    finders: [Option<Finder<'t>>; PASSES.len()],
    /// Where the chunk before ended.
    from: usize,
    budget: Budget,
}

/// Where the anchors of a chunk lead.
struct Anchored {
    /// The line below the last anchor.
    from: usize,
    /// The places the last anchor could mean.
    places: Vec<usize>,
}

impl<'t> Search<'t> {
    fn new(path: &'t RepoPath, text: &'t Text<'t>) -> Self {
        let finders = [const { None }; PASSES.len()];
        Self { path, text, finders, from: 0, budget: Budget::default() }
    }

    /// Up to ten matches of `pattern` from line `from` on.
    fn matches(&mut self, pass: Pass, pattern: &[&[u8]], from: usize) -> Result<Vec<usize>> {
        let slot = PASSES.iter().position(|p| *p == pass).unwrap_or(0);
        let text = self.text;
        let finder = self.finders[slot].get_or_insert_with(|| Finder::new(text, pass));
        match finder.tokens(pattern.iter().copied()) {
            Some(tokens) if from <= text.len() => finder.all(&tokens, from..text.len(), 10),
            _ => Ok(Vec::new()),
        }
    }

    fn find(&mut self, hunk: usize, chunk: &Chunk<'_>) -> Result<Spot> {
        let anchored = self.anchors(hunk, chunk, &chunk.anchors)?;
        let from = anchored.as_ref().map_or(self.from, |anchored| anchored.from);
        for cut in chunk.cuts() {
            let old = chunk.old_lines(cut);
            if old.is_empty() {
                return self.insertion(hunk, chunk, cut, anchored.as_ref());
            }
            if let Some((start, pass)) = self.run(hunk, chunk, &old, from, anchored.as_ref())? {
                return Ok(Spot { start, len: old.len(), cut, pass });
            }
        }
        let old = chunk.old_lines(chunk.loose_tail);
        Err(failed(self.path, self.text, &old, from, hunk, chunk.number))
    }

    /// Goes down the anchors. Each is the first line like it; whether that is good enough is for
    /// the chunk's own lines to tell.
    fn anchors(
        &mut self,
        hunk: usize,
        chunk: &Chunk<'_>,
        anchors: &[&[u8]],
    ) -> Result<Option<Anchored>> {
        let mut at: Option<Anchored> = None;
        for anchor in anchors {
            let from = at.as_ref().map_or(self.from, |at| at.from);
            let mut places = Vec::new();
            for pass in PASSES {
                places = self.matches(pass, &[anchor], from)?;
                if !places.is_empty() {
                    break;
                }
            }
            let Some(first) = places.first() else {
                return Err(self.anchor_missing(hunk, chunk, anchor, from));
            };
            at = Some(Anchored { from: first + 1, places });
        }
        Ok(at)
    }

    /// Looks for the old lines, pass by pass. One match only, unless it is right below its anchor
    /// and that anchor is the only one.
    fn run(
        &mut self,
        hunk: usize,
        chunk: &Chunk<'_>,
        old: &[&[u8]],
        from: usize,
        anchored: Option<&Anchored>,
    ) -> Result<Option<(usize, Pass)>> {
        let sure = anchored.is_some_and(|anchored| anchored.places.len() == 1);
        for pass in PASSES {
            if chunk.at_end {
                let last = self.text.len().checked_sub(old.len()).filter(|last| *last >= from);
                if let Some(last) = last
                    && !self.matches(pass, old, last)?.is_empty()
                {
                    return Ok(Some((last, pass)));
                }
                continue;
            }
            match self.matches(pass, old, from)?.as_slice() {
                [] => {}
                [one] => return Ok(Some((*one, pass))),
                [first, ..] if sure && *first == from => return Ok(Some((*first, pass))),
                several => return Err(ambiguous(self.path, hunk, chunk.number, several)),
            }
        }
        // The anchor written once more as the first line of context.
        if let (Some(above), true) = (from.checked_sub(1), sure && !chunk.at_end) {
            for pass in PASSES {
                if self.matches(pass, old, above)?.first() == Some(&above) {
                    return Ok(Some((above, pass)));
                }
            }
        }
        Ok(None)
    }

    /// A chunk that only adds goes below its anchor; without one, at the end of the file.
    fn insertion(
        &self,
        hunk: usize,
        chunk: &Chunk<'_>,
        cut: usize,
        anchored: Option<&Anchored>,
    ) -> Result<Spot> {
        let start = match anchored {
            _ if chunk.at_end => self.text.len(),
            Some(anchored) if anchored.places.len() > 1 => {
                return Err(ambiguous(self.path, hunk, chunk.number, &anchored.places));
            }
            Some(anchored) => anchored.from,
            None => self.text.len(),
        };
        Ok(Spot { start, len: 0, cut, pass: Pass::Ending })
    }

    /// Is the chunk's result where the chunk fits, so that putting it there would double it?
    fn result_is_there(&self, chunk: &Chunk<'_>, spot: &Spot) -> bool {
        let kept = chunk.kept(spot.cut);
        let len = chunk.new_lines(spot.cut).len();
        let above = (spot.start + spot.len).checked_sub(len);
        let below = Some(spot.start);
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
        lines.iter().filter(|line| line.kind != Kind::Removed).all(|line| {
            let pass = if line.kind == Kind::Added { Pass::Ending } else { pass };
            let first = at == 0;
            at += 1;
            at <= self.text.len()
                && key(self.text.line(at - 1), pass, first) == key(line.bytes, pass, true)
        })
    }

    /// Looks for the chunk's result from the cursor on, and moves the cursor below it.
    fn holds(&mut self, chunk: &Chunk<'_>, moved: bool) -> bool {
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
        let found = chunk.cuts().into_iter().find_map(|cut| {
            let start = self.result(chunk, cut, anchored.as_ref(), moved)?;
            Some(start + chunk.new_lines(cut).len())
        });
        self.from = found.unwrap_or(self.from);
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
            let result = start..start + new.len();
            let bare = anchored.is_none() && !chunk.at_end && hits.len() == 1;
            let applied = is_proof(kept, Kind::Added, place)
                || (bare && is_likely(kept, Kind::Added, self.text, result, &mut self.budget));
            return applied.then_some(start);
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

    fn anchor_missing(&self, hunk: usize, chunk: &Chunk<'_>, anchor: &[u8], from: usize) -> Error {
        Error::new(
            &codes::HUNK_FAILED,
            format!(
                "hunk {hunk} of {} (line {} of the patch): no line '{}' below line {from}",
                self.path.display(),
                chunk.number,
                excerpt(anchor)
            ),
        )
        .with("path", self.path.display().to_string())
        .with("hunk", hunk)
        .with("line", chunk.number)
        .with("expected", excerpt(anchor))
        .hint("an @@ line must repeat a whole line of the file; read the file again")
    }
}

/// Context keeps the file's own bytes; new lines take its line ending; the final newline, or its
/// absence, stays, as does a byte-order mark unless the patch speaks of it.
fn write(text: &Text<'_>, chunks: &[Chunk<'_>], spots: &[Spot]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.bytes().len() + 1024);
    let mut done = 0;
    for (chunk, spot) in chunks.iter().zip(spots) {
        out.extend_from_slice(text.lines(done..spot.start));
        let ending = ending(text, spot.start);
        let kept = chunk.kept(spot.cut);
        let mark = Mark::new(text, kept, spot.start, &out);
        let mut at = spot.start;
        for line in kept {
            if line.kind != Kind::Removed && !out.is_empty() && !out.ends_with(b"\n") {
                out.extend_from_slice(ending);
            }
            match line.kind {
                Kind::Added => {
                    let bytes = mark.off(line.bytes, &out);
                    out.extend_from_slice(bytes.strip_suffix(b"\r").unwrap_or(bytes));
                    out.extend_from_slice(ending);
                }
                Kind::Context => {
                    out.extend_from_slice(mark.off_line(text, at));
                    at += 1;
                }
                Kind::Removed => at += 1,
            }
        }
        done = spot.start + spot.len;
        mark.put(&mut out, done < text.len());
    }
    out.extend_from_slice(text.lines(done..text.len()));
    let old = text.bytes();
    if !old.is_empty() && !old.ends_with(b"\n") {
        let keep = out.strip_suffix(b"\r\n").or_else(|| out.strip_suffix(b"\n"));
        let len = keep.map_or(out.len(), <[u8]>::len);
        out.truncate(len);
    } else if !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out
}
