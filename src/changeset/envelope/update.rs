//! Applies the chunks of one `*** Update File`.

use super::Chunk;
use crate::changeset::RepoPath;
use crate::changeset::fit::failure::HunkName;
use crate::changeset::fit::write::Writer;
use crate::changeset::hunks::Text;
use crate::changeset::locate::{Finder, Pass};
use crate::changeset::unified::{LineKind, excerpt};
use crate::changeset::{fit::HunkReport, limits::codes};
use crate::error::Result;

/// Strict to lenient. The first ignores line endings, which an envelope cannot express.
const PASSES: [Pass; 4] = [Pass::Ending, Pass::TrailingBlanks, Pass::Blanks, Pass::Typography];

struct ChunkSpot {
    start: usize,
    len: usize,
    /// Dropped lines at the end: empty lines that are not context, and context shared with the next
    /// chunk.
    cut: usize,
    pass: Pass,
}

/// The new content, and the place of each chunk.
///
/// # Errors
/// `hunk_failed`, `hunk_ambiguous`.
pub(super) fn apply(
    path: &RepoPath,
    content: &[u8],
    chunks: &[Chunk<'_>],
) -> Result<(Vec<u8>, Vec<HunkReport>)> {
    let text = Text::new(content);
    let finders = [const { None }; PASSES.len()];
    let mut search = Search { path, text: &text, finders, from: 0, shared: 0 };
    let mut spots = Vec::with_capacity(chunks.len());
    for (index, chunk) in chunks.iter().enumerate() {
        let spot = search.find(index + 1, chunk)?;
        if let Some(before) = spots.last_mut() {
            leave_to(before, &spot);
        }
        let kept = chunk.kept(spot.cut).iter().rev();
        search.shared = kept.take_while(|line| line.kind == LineKind::Context).count();
        search.from = spot.start + spot.len;
        spots.push(spot);
    }
    let report = |(index, spot): (usize, &ChunkSpot)| HunkReport {
        hunk: index + 1,
        line: spot.start + 1,
        offset: 0,
        recounted: false,
        matched: (spot.pass != Pass::Ending).then(|| spot.pass.as_str()),
    };
    let hunks = spots.iter().enumerate().map(report).collect();
    Ok((write(&text, chunks, &spots), hunks))
}

/// Gives shared context to the `next` chunk.
fn leave_to(spot: &mut ChunkSpot, next: &ChunkSpot) {
    let shared = (spot.start + spot.len).saturating_sub(next.start);
    spot.len -= shared;
    spot.cut += shared;
}

struct Search<'t> {
    path: &'t RepoPath,
    text: &'t Text<'t>,
    finders: [Option<Finder<'t>>; PASSES.len()],
    /// End of the previous chunk.
    from: usize,
    shared: usize,
}

struct Anchored {
    /// Below the last anchor.
    from: usize,
    /// Candidates of the last anchor.
    places: Vec<usize>,
}

impl<'t> Search<'t> {
    /// At most ten.
    fn matches(&mut self, pass: Pass, pattern: &[&[u8]], from: usize) -> Result<Vec<usize>> {
        let slot = PASSES.iter().position(|p| *p == pass).unwrap_or(0);
        let text = self.text;
        let finder = self.finders[slot].get_or_insert_with(|| Finder::new(text, pass));
        match finder.tokens(pattern.iter().copied()) {
            Some(tokens) if from <= text.len() => finder.all(&tokens, from..text.len(), 10),
            _ => Ok(Vec::new()),
        }
    }

    /// Searches below the previous chunk, and only then in its context below its changes.
    fn find(&mut self, hunk: usize, chunk: &Chunk<'_>) -> Result<ChunkSpot> {
        let found = self.find_below(hunk, chunk);
        match &found {
            Err(error) if self.shared > 0 && error.is(&codes::HUNK_FAILED) => {
                self.from -= std::mem::take(&mut self.shared);
                self.find_below(hunk, chunk).or(found)
            }
            _ => found,
        }
    }

    fn find_below(&mut self, hunk: usize, chunk: &Chunk<'_>) -> Result<ChunkSpot> {
        let anchored = self.anchors(hunk, chunk)?;
        let from = anchored.as_ref().map_or(self.from, |anchored| anchored.from);
        for cut in chunk.cuts() {
            let old = chunk.old_lines(cut);
            if old.is_empty() {
                return self.insertion(hunk, chunk, cut, anchored.as_ref());
            }
            if let Some((start, pass)) = self.run(hunk, chunk, &old, from, anchored.as_ref())? {
                return Ok(ChunkSpot { start, len: old.len(), cut, pass });
            }
        }
        if let Some(spot) = self.at_final_newline(chunk, from)? {
            return Ok(spot);
        }
        let old = chunk.old_lines(chunk.loose_tail);
        Err(self.name(hunk, chunk).failed(self.text, &old, from))
    }

    /// The file's final newline may be the last context line.
    fn at_final_newline(&mut self, chunk: &Chunk<'_>, from: usize) -> Result<Option<ChunkSpot>> {
        let Some(cut) = chunk.final_newline() else { return Ok(None) };
        let old = chunk.old_lines(cut);
        let start = self.text.len().checked_sub(old.len()).filter(|start| *start >= from);
        let Some(start) = start else { return Ok(None) };
        let spot = |pass| ChunkSpot { start, len: old.len(), cut, pass };
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

    /// Each anchor is the first match. The chunk's own lines decide if that is good enough.
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
                let anchor = excerpt(anchor);
                return Err(self
                    .name(hunk, chunk)
                    .refuse(
                        &codes::HUNK_FAILED,
                        format!("starts below a line '{anchor}', which is not below line {from}"),
                    )
                    .with("expected", anchor)
                    .hint("an @@ line must repeat a whole line of the file; read the file again"));
            };
            at = Some(Anchored { from: first + 1, places });
        }
        Ok(at)
    }

    /// Several matches are an error, unless one is right below a unique anchor.
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
                several => return Err(self.name(hunk, chunk).ambiguous(several)),
            }
        }
        // The anchor repeated as the first line of context.
        if let (Some(above), true) = (from.checked_sub(1), sure && !chunk.at_end) {
            for pass in PASSES {
                if self.matches(pass, old, above)?.first() == Some(&above) {
                    return Ok(Some((above, pass)));
                }
            }
        }
        Ok(None)
    }

    /// A chunk that only adds goes below its anchor, or to the end of the file.
    fn insertion(
        &self,
        hunk: usize,
        chunk: &Chunk<'_>,
        cut: usize,
        anchored: Option<&Anchored>,
    ) -> Result<ChunkSpot> {
        let start = match anchored {
            _ if chunk.at_end => self.text.len(),
            Some(anchored) if anchored.places.len() > 1 => {
                return Err(self.name(hunk, chunk).ambiguous(&anchored.places));
            }
            Some(anchored) => anchored.from,
            None => self.text.len(),
        };
        Ok(ChunkSpot { start, len: 0, cut, pass: Pass::Ending })
    }

    fn name(&self, hunk: usize, chunk: &Chunk<'_>) -> HunkName<'_> {
        HunkName { path: self.path, hunk, number: chunk.number }
    }
}

/// The final newline, or its absence, stays; an empty file gets one.
fn write(text: &Text<'_>, chunks: &[Chunk<'_>], spots: &[ChunkSpot]) -> Vec<u8> {
    let mut writer = Writer::new(text, 1024);
    for (chunk, spot) in chunks.iter().zip(spots) {
        writer.adapted(chunk.kept(spot.cut), spot.start..spot.start + spot.len);
    }
    writer.end(text.is_empty() || text.bytes().ends_with(b"\n"));
    writer.finish()
}
