//! The chunks of one `*** Update File`, put into a file.

use super::Chunk;
use crate::changeset::RepoPath;
use crate::changeset::fit::failure::{ambiguous, failed};
use crate::changeset::fit::place::{Mark, ending};
use crate::changeset::hunks::Text;
use crate::changeset::locate::{Finder, Pass};
use crate::changeset::unified::{LineKind, excerpt};
use crate::changeset::{fit::HunkReport, limits::codes};
use crate::error::{Error, Result};

/// From strict to lenient. The first is exact but for line endings, which an envelope cannot
/// express.
pub(super) const PASSES: [Pass; 4] =
    [Pass::Ending, Pass::TrailingBlanks, Pass::Blanks, Pass::Typography];

/// A file with its chunks put in.
pub(super) struct Updated {
    pub bytes: Vec<u8>,
    pub hunks: Vec<HunkReport>,
    /// There are chunks, and each one's result is right where it would go.
    pub there: bool,
}

/// Where a chunk goes: `len` lines from `start` on.
pub(super) struct Spot {
    pub start: usize,
    pub len: usize,
    /// Lines at the chunk's end that are left out: empty ones that turned out to be no context,
    /// and context that the next chunk has as well.
    pub cut: usize,
    pub pass: Pass,
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
        if let Some(before) = spots.last_mut() {
            leave_to(before, &spot);
        }
        search.go_below(spot.start + spot.len, chunk, spot.cut);
        spots.push(spot);
    }
    let report = |(index, spot): (usize, &Spot)| HunkReport {
        hunk: index + 1,
        line: spot.start + 1,
        offset: 0,
        recounted: false,
        matched: (spot.pass != Pass::Ending).then(|| spot.pass.as_str()),
    };
    let hunks = spots.iter().enumerate().map(report).collect();
    Ok(Updated { bytes: write(&text, chunks, &spots), hunks, there })
}

/// Leaves the context at the end of a chunk's `spot` that the `next` one has at its start to that.
fn leave_to(spot: &mut Spot, next: &Spot) {
    let shared = (spot.start + spot.len).saturating_sub(next.start);
    spot.len -= shared;
    spot.cut += shared;
}

/// Looks for one chunk after another.
pub(super) struct Search<'t> {
    path: &'t RepoPath,
    pub text: &'t Text<'t>,
    finders: [Option<Finder<'t>>; PASSES.len()],
    /// Where the chunk before ended.
    pub from: usize,
    /// How many lines of context it ended in.
    pub shared: usize,
}

/// Where the anchors of a chunk lead.
pub(super) struct Anchored {
    /// The line below the last anchor.
    pub from: usize,
    /// The places the last anchor could mean.
    pub places: Vec<usize>,
}

impl<'t> Search<'t> {
    pub fn new(path: &'t RepoPath, text: &'t Text<'t>) -> Self {
        let finders = [const { None }; PASSES.len()];
        Self { path, text, finders, from: 0, shared: 0 }
    }

    /// Goes on at line `from`, below a `chunk` that was found there less `cut` lines at its end.
    pub fn go_below(&mut self, from: usize, chunk: &Chunk<'_>, cut: usize) {
        let below = chunk.kept(cut).iter().rev().take_while(|line| line.kind == LineKind::Context);
        (self.from, self.shared) = (from, below.count());
    }

    /// Up to ten matches of `pattern` from line `from` on.
    pub fn matches(&mut self, pass: Pass, pattern: &[&[u8]], from: usize) -> Result<Vec<usize>> {
        let slot = PASSES.iter().position(|p| *p == pass).unwrap_or(0);
        let text = self.text;
        let finder = self.finders[slot].get_or_insert_with(|| Finder::new(text, pass));
        match finder.tokens(pattern.iter().copied()) {
            Some(tokens) if from <= text.len() => finder.all(&tokens, from..text.len(), 10),
            _ => Ok(Vec::new()),
        }
    }

    /// The place of a chunk below the one before. Only if it is not there it may start in what that
    /// one has as context below its changes.
    fn find(&mut self, hunk: usize, chunk: &Chunk<'_>) -> Result<Spot> {
        let found = self.find_below(hunk, chunk);
        match &found {
            Err(error) if self.shared > 0 && error.is(&codes::HUNK_FAILED) => {
                self.from -= std::mem::take(&mut self.shared);
                self.find_below(hunk, chunk).or(found)
            }
            _ => found,
        }
    }

    fn find_below(&mut self, hunk: usize, chunk: &Chunk<'_>) -> Result<Spot> {
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
        if let Some(spot) = self.at_final_newline(chunk, from)? {
            return Ok(spot);
        }
        let old = chunk.old_lines(chunk.loose_tail);
        if let Some(line) = self.not_at_end(chunk, &old, from)? {
            return Err(self.misplaced_end(hunk, chunk, line));
        }
        if let Some(line) = self.above(&old, from)? {
            return Err(self.out_of_order(hunk, chunk, line, anchored.is_some()));
        }
        Err(failed(self.path, self.text, &old, from, hunk, chunk.number))
    }

    /// The place of a chunk whose last line of context is what the file's last newline ends.
    fn at_final_newline(&mut self, chunk: &Chunk<'_>, from: usize) -> Result<Option<Spot>> {
        let Some(cut) = chunk.final_newline() else { return Ok(None) };
        let old = chunk.old_lines(cut);
        let start = self.text.len().checked_sub(old.len()).filter(|start| *start >= from);
        let Some(start) = start else { return Ok(None) };
        let spot = |pass| Spot { start, len: old.len(), cut, pass };
        if old.is_empty() {
            return Ok(Some(spot(Pass::Ending)));
        }
        for pass in PASSES {
            if !self.matches(pass, &old, start)?.is_empty() {
                return Ok(Some(spot(pass)));
            }
        }
        Ok(None)
    }

    /// Where `old` starts that '*** End of File' says to be at the end, and that is not.
    fn not_at_end(
        &mut self,
        chunk: &Chunk<'_>,
        old: &[&[u8]],
        from: usize,
    ) -> Result<Option<usize>> {
        if !chunk.at_end {
            return Ok(None);
        }
        for pass in PASSES {
            if let Some(line) = self.matches(pass, old, from)?.into_iter().next() {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn misplaced_end(&self, hunk: usize, chunk: &Chunk<'_>, line: usize) -> Error {
        let why = format!(
            "has '*** End of File', but its lines are at line {}, and the file goes on below",
            line + 1
        );
        let hint = "leave '*** End of File' out, or add the lines down to the end of the file";
        self.elsewhere(hunk, chunk, line, &why).hint(hint)
    }

    /// That the lines of a hunk are at `line`, which is not where it may be, because of `why`.
    fn elsewhere(&self, hunk: usize, chunk: &Chunk<'_>, line: usize, why: &str) -> Error {
        let path = self.path.display().to_string();
        Error::new(
            &codes::HUNK_FAILED,
            format!("hunk {hunk} of {path} (line {} of the patch) {why}", chunk.number),
        )
        .with("path", path)
        .with("hunk", hunk)
        .with("line", chunk.number)
        .with("file_line", line + 1)
    }

    /// Where `old` starts that is not to be found from line `from` on, but above.
    fn above(&mut self, old: &[&[u8]], from: usize) -> Result<Option<usize>> {
        for pass in PASSES {
            let first = self.matches(pass, old, 0)?.into_iter().next();
            if let Some(line) = first.filter(|line| *line < from) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn out_of_order(&self, hunk: usize, chunk: &Chunk<'_>, line: usize, anchored: bool) -> Error {
        let what =
            if anchored { "the line that its '@@' names" } else { "what the hunk before is for" };
        let hint =
            "write the hunks from the top of the file to its end, each line in one hunk only";
        self.elsewhere(hunk, chunk, line, &format!("is for line {}, above {what}", line + 1))
            .hint(hint)
    }

    /// Goes down the anchors. Each is the first line like it; whether that is good enough is for
    /// the chunk's own lines to tell.
    pub fn anchors(
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
    pub fn insertion(
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
            if line.kind != LineKind::Removed && !out.is_empty() && !out.ends_with(b"\n") {
                out.extend_from_slice(ending);
            }
            match line.kind {
                LineKind::Added => {
                    let bytes = mark.off(line.bytes, &out);
                    out.extend_from_slice(bytes.strip_suffix(b"\r").unwrap_or(bytes));
                    out.extend_from_slice(ending);
                }
                LineKind::Context => {
                    out.extend_from_slice(mark.off_line(text, at));
                    at += 1;
                }
                LineKind::Removed => at += 1,
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
