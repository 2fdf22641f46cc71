//! The chunks of one `*** Update File`, put into a file.

use super::Chunk;
use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::locate::{BOM, Finder, Pass, key};
use crate::changeset::patch::place::{ambiguous, ending, failed};
use crate::changeset::patch::{HunkReport, codes};
use crate::changeset::unified::{Kind, excerpt};
use crate::error::{Error, Result};

/// From strict to lenient. The first is exact but for line endings, which an envelope cannot
/// express.
const PASSES: [Pass; 4] = [Pass::Ending, Pass::TrailingBlanks, Pass::Blanks, Pass::Typography];

/// A file with its chunks put in.
pub(super) struct Updated {
    pub bytes: Vec<u8>,
    pub hunks: Vec<HunkReport>,
    /// A chunk fits where its result is already.
    pub doubtful: bool,
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
    let mut doubtful = false;
    for (index, chunk) in chunks.iter().enumerate() {
        let spot = search.find(index + 1, chunk)?;
        doubtful |= search.result_is_there(chunk, &spot);
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
    Ok(Updated { bytes: write(&text, chunks, &spots), hunks, doubtful })
}

/// Is every chunk's result in the file, in order, and in one place only? Chunks that leave nothing
/// to look for do not count; if there are no others, the answer is no.
pub(super) fn is_applied(path: &RepoPath, content: &[u8], chunks: &[Chunk<'_>]) -> bool {
    let text = Text::new(content);
    let mut search = Search::new(path, &text);
    let mut seen = false;
    for chunk in chunks {
        let new = chunk.new_lines(chunk.loose_tail);
        if new.iter().all(|line| line.trim_ascii().is_empty()) {
            continue;
        }
        match search.matches(Pass::Ending, &new, search.from) {
            Ok(hits) if hits.len() == 1 => {
                search.from = hits[0] + new.len();
                seen = true;
            }
            _ => return false,
        }
    }
    seen
}

struct Search<'t> {
    path: &'t RepoPath,
    text: &'t Text<'t>,
    finders: [Option<Finder<'t>>; PASSES.len()],
    /// Where the chunk before ended.
    from: usize,
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
        Self { path, text, finders: [const { None }; PASSES.len()], from: 0 }
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
        let anchored = self.anchors(hunk, chunk)?;
        let from = anchored.as_ref().map_or(self.from, |anchored| anchored.from);
        let cuts = if chunk.loose_tail == 0 { &[0][..] } else { &[0, chunk.loose_tail] };
        for cut in cuts {
            let old = chunk.old_lines(*cut);
            if old.is_empty() {
                return self.insertion(hunk, chunk, *cut, anchored.as_ref());
            }
            if let Some((start, pass)) = self.run(hunk, chunk, &old, from, anchored.as_ref())? {
                return Ok(Spot { start, len: old.len(), cut: *cut, pass });
            }
        }
        let old = chunk.old_lines(chunk.loose_tail);
        Err(failed(self.path, self.text, &old, from, hunk, chunk.number))
    }

    /// Goes down the anchors. Each is the first line like it; whether that is good enough is for
    /// the chunk's own lines to tell.
    fn anchors(&mut self, hunk: usize, chunk: &Chunk<'_>) -> Result<Option<Anchored>> {
        let mut at: Option<Anchored> = None;
        for anchor in &chunk.anchors {
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

    /// Is the chunk's result where the chunk fits, so that it may have been applied before?
    fn result_is_there(&self, chunk: &Chunk<'_>, spot: &Spot) -> bool {
        let new = chunk.new_lines(spot.cut);
        if new.len() <= spot.len {
            return false;
        }
        let is_at = |start: usize| {
            start + new.len() <= self.text.len()
                && new.iter().enumerate().all(|(at, line)| {
                    let there = self.text.line(start + at);
                    key(there, Pass::Ending, start + at == 0) == key(line, Pass::Ending, true)
                })
        };
        is_at(spot.start) || (spot.start + spot.len).checked_sub(new.len()).is_some_and(is_at)
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

/// Context keeps the file's own bytes; new lines take its line ending; a byte-order mark and the
/// final newline, or its absence, stay.
fn write(text: &Text<'_>, chunks: &[Chunk<'_>], spots: &[Spot]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.bytes().len() + 1024);
    let mut done = 0;
    for (chunk, spot) in chunks.iter().zip(spots) {
        out.extend_from_slice(text.lines(done..spot.start));
        let ending = ending(text, spot.start);
        let mut at = spot.start;
        for line in &chunk.lines[..chunk.lines.len() - spot.cut] {
            if line.kind != Kind::Removed && !out.is_empty() && !out.ends_with(b"\n") {
                out.extend_from_slice(ending);
            }
            match line.kind {
                Kind::Added => {
                    out.extend_from_slice(line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes));
                    out.extend_from_slice(ending);
                }
                Kind::Context => {
                    out.extend_from_slice(text.line(at));
                    at += 1;
                }
                Kind::Removed => at += 1,
            }
        }
        done = spot.start + spot.len;
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
    if old.starts_with(BOM) && !out.is_empty() && !out.starts_with(BOM) {
        out.splice(0..0, BOM.iter().copied());
    }
    out
}
