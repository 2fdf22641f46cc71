//! Applies the hunks of a unified diff to a file.
//!
//! As in git's `apply.c`, a hunk goes to its line, else to the nearest place with all its old
//! lines. A hunk from line 1 fits only at the beginning, one without context below only at the end.
//! No hunk overlaps lines of an earlier one.

use std::collections::BTreeSet;
use std::ops::Range;

use super::failure::HunkName;
use super::write::Writer;
use super::{HunkReport, Options};
use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::limits::codes;
use crate::changeset::locate::{Finder, Pass, Token, key};
use crate::changeset::unified::{FilePatch, PatchHunk};
use crate::error::Result;

#[derive(Debug, Default)]
pub(in crate::changeset) struct PatchedFile {
    pub bytes: Vec<u8>,
    pub hunks: Vec<HunkReport>,
    /// Added and removed lines.
    pub counts: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::changeset) enum FitPurpose {
    Apply,
    /// Reversed hunks show if they were applied: each must be at the line of its header.
    Prove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HunkSpot {
    start: usize,
    end: usize,
    hunk: usize,
    pass: Pass,
}

/// # Errors
/// `hunk_failed` with expected and found lines and the closest candidate; `hunk_ambiguous` with the
/// candidates.
pub(in crate::changeset) fn apply(
    path: &RepoPath,
    content: &[u8],
    patch: &FilePatch<'_>,
    options: &Options,
    purpose: FitPurpose,
) -> Result<PatchedFile> {
    let hunks = patch.hunks.as_slice();
    let text = Text::new(content);
    let mut placer = Placer {
        path,
        text: &text,
        finders: [None, None],
        taken: BTreeSet::new(),
        last_start: 0,
        grown: Vec::with_capacity(hunks.len()),
        crlf: patch.crlf,
        options,
        purpose,
    };
    let mut placed = PatchedFile::default();
    placed.hunks.reserve(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        let job = HunkSearch::new(index, hunk, placer.expected(hunk), options, &text);
        let spot = placer.find(&job)?;
        let (added, removed) = hunk.counts();
        placed.counts = (placed.counts.0 + added, placed.counts.1 + removed);
        placer.grown.push(added as i64 - removed as i64);
        placer.last_start = placer.last_start.max(hunk.old_start.unwrap_or(0));
        placer.taken.insert(spot);
        placed.hunks.push(HunkReport {
            hunk: index + 1,
            line: spot.start + 1 - usize::from(spot.start == spot.end && spot.start > 0),
            offset: hunk.old_start.map_or(0, |_| job.offset(spot)),
            recounted: hunk.recounted && hunk.old_start.is_some(),
            matched: placer.leniently(&job, spot),
        });
    }
    placed.bytes = write(&text, hunks, &placer.taken);
    Ok(placed)
}

fn write(text: &Text<'_>, hunks: &[PatchHunk<'_>], spots: &BTreeSet<HunkSpot>) -> Vec<u8> {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    let mut writer = Writer::new(text, lines.map(|line| line.bytes.len() + 1).sum());
    for spot in spots {
        let hunk = &hunks[spot.hunk];
        if spot.pass == Pass::Exact {
            writer.exactly(&hunk.lines, spot.start..spot.end);
            continue;
        }
        writer.adapted(&hunk.lines, spot.start..spot.end);
        if spot.end == text.len() {
            // The final newline, or its absence, stays unless the hunk mentions it.
            let spoken = hunk.lines.iter().any(|line| !line.bytes.ends_with(b"\n"));
            writer.end(match hunk.new_lines().last() {
                Some(last) if spoken => last.bytes.ends_with(b"\n"),
                _ => text.is_empty() || text.bytes().ends_with(b"\n"),
            });
        }
    }
    writer.finish()
}

struct HunkSearch<'h> {
    index: usize,
    hunk: &'h PatchHunk<'h>,
    /// With their LF.
    old: Vec<&'h [u8]>,
    expected: usize,
    /// 0-based line of the header; may exceed the file.
    claimed: usize,
    /// At the beginning; at the end.
    anchors: (bool, bool),
    /// Header wrong or missing: any unique place.
    loose: bool,
}

impl<'h> HunkSearch<'h> {
    fn new(
        index: usize,
        hunk: &'h PatchHunk<'h>,
        expected: usize,
        options: &Options,
        text: &Text<'_>,
    ) -> Self {
        let loose = hunk.recounted || hunk.old_start.is_none();
        let zero = options.unidiff_zero;
        let begins = hunk.old_start == Some(0) || (hunk.old_start == Some(1) && !zero);
        let ends = !zero && hunk.trailing_context() == 0;
        Self {
            index,
            hunk,
            old: hunk.old_lines().map(|line| line.bytes).collect(),
            expected: expected.min(text.len()),
            claimed: expected,
            anchors: if loose { (false, false) } else { (begins, ends) },
            loose,
        }
    }

    /// Lines below the header's line.
    fn offset(&self, spot: HunkSpot) -> i64 {
        spot.start as i64 - self.claimed as i64
    }

    fn spot(&self, start: usize, pass: Pass) -> HunkSpot {
        HunkSpot { start, end: start + self.old.len(), hunk: self.index, pass }
    }
}

struct Placer<'t> {
    path: &'t RepoPath,
    text: &'t Text<'t>,
    /// One per pass.
    finders: [Option<Finder<'t>>; 2],
    taken: BTreeSet<HunkSpot>,
    /// Largest start line so far.
    last_start: usize,
    /// Lines that each earlier hunk adds, less removed ones.
    grown: Vec<i64>,
    /// The patch ends its lines in CRLF.
    crlf: bool,
    options: &'t Options,
    purpose: FitPurpose,
}

impl Placer<'_> {
    /// The 0-based line in the old file. Computed from the new line, as in git: if earlier hunks
    /// were removed from the patch, the search still goes in the right direction.
    fn expected(&self, hunk: &PatchHunk<'_>) -> usize {
        match (hunk.old_start, hunk.new_start) {
            (Some(old), Some(_)) if old < self.last_start => old.saturating_sub(1),
            (Some(_), Some(new)) => self.line_before(new.saturating_sub(1)),
            _ => self.taken.last().map_or(0, |spot| spot.end),
        }
    }

    /// The old line of line `new` after the earlier hunks. Hunks below do not shift it.
    fn line_before(&self, new: usize) -> usize {
        let (new, mut shift) = (new as i64, 0);
        for spot in &self.taken {
            let grown = self.grown[spot.hunk];
            let is_empty = (spot.end - spot.start) as i64 + grown == 0;
            if new < spot.start as i64 + shift + i64::from(!is_empty) {
                break;
            }
            shift += grown;
        }
        usize::try_from(new - shift).unwrap_or(0)
    }

    fn find(&mut self, job: &HunkSearch<'_>) -> Result<HunkSpot> {
        if job.old.is_empty() {
            return self.insertion(job);
        }
        for pass in [Pass::Exact, Pass::Ending] {
            if let Some(spot) = self.search(job, pass)? {
                return Ok(spot);
            }
        }
        Err(self.name(job).failed(self.text, &job.old, job.expected))
    }

    fn search(&mut self, job: &HunkSearch<'_>, pass: Pass) -> Result<Option<HunkSpot>> {
        let Some(last) = self.text.len().checked_sub(job.old.len()) else { return Ok(None) };
        let (begins, ends) = job.anchors;
        let fixed = match self.purpose {
            FitPurpose::Apply if begins => Some(0),
            FitPurpose::Apply if ends => Some(last),
            FitPurpose::Apply => None,
            FitPurpose::Prove if job.hunk.old_start.is_none() => return Ok(None),
            FitPurpose::Prove => Some(job.claimed),
        };
        if let Some(start) = fixed {
            let fits = (!ends || start == last) && (!begins || start == 0);
            return Ok((fits && self.fits(job, start, pass)).then(|| job.spot(start, pass)));
        }
        if job.hunk.old_start.is_some() && self.fits(job, job.expected, pass) {
            return Ok(Some(job.spot(job.expected, pass)));
        }
        let slot = usize::from(pass != Pass::Exact);
        let mut finder = self.finders[slot].take().unwrap_or_else(|| Finder::new(self.text, pass));
        let found = match finder.tokens(job.old.iter().copied()) {
            None => Ok(None),
            Some(tokens) if job.loose || pass != Pass::Exact => {
                self.unique(job, &mut finder, &tokens)
            }
            Some(tokens) => {
                let free = |range: Range<usize>| self.is_free(range.start, range.end);
                finder.nearest(&tokens, job.expected, 0..self.text.len(), free)
            }
        };
        self.finders[slot] = Some(finder);
        Ok(found?.map(|start| job.spot(start, pass)))
    }

    fn unique(
        &self,
        job: &HunkSearch<'_>,
        finder: &mut Finder<'_>,
        tokens: &[Token],
    ) -> Result<Option<usize>> {
        // Without line numbers only the order tells.
        let from = match job.hunk.old_start {
            None => self.taken.last().map_or(0, |spot| spot.end),
            Some(_) => 0,
        };
        let mut hits = finder.all(tokens, from..self.text.len(), 10_000)?;
        hits.retain(|start| self.is_free(*start, start + tokens.len()));
        hits.truncate(10);
        match hits.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => Err(self.name(job).ambiguous(several)),
        }
    }

    /// A hunk that only adds: at its line if requested, else only where no doubt is possible.
    fn insertion(&self, job: &HunkSearch<'_>) -> Result<HunkSpot> {
        let end = self.text.len();
        // An empty file does not take CRLF from the patch's transport.
        let pass = if end == 0 && self.crlf { Pass::Ending } else { Pass::Exact };
        let expected = match (job.hunk.old_start, self.options.unidiff_zero) {
            _ if end == 0 => return Ok(job.spot(0, pass)),
            (Some(0), true) => 0,
            (Some(_), true) => job.expected,
            // At the very end by its own number, the hunk can belong to nothing below.
            (Some(old), false) if old > 0 && job.claimed == end => end,
            _ => {
                let hint = match self.options.unidiff_zero_option {
                    Some(how) => {
                        format!("add context lines, or say {how} if its line number is right")
                    }
                    None => "add context lines".to_owned(),
                };
                let what = "only adds lines and has no context";
                return Err(self.name(job).refuse(&codes::HUNK_FAILED, what).hint(hint));
            }
        };
        if !self.is_free(expected, expected) {
            let what = "only adds lines, and an earlier hunk has changed those around them";
            let error = self.name(job).refuse(&codes::HUNK_FAILED, what);
            return Err(error.hint("add context lines, or create the patch again"));
        }
        Ok(job.spot(expected, pass))
    }

    fn leniently(&self, job: &HunkSearch<'_>, spot: HunkSpot) -> Option<&'static str> {
        let same = self.equals(&job.old, spot.start, Pass::Exact);
        (spot.pass != Pass::Exact || !same).then_some(Pass::Ending.as_str())
    }

    fn fits(&self, job: &HunkSearch<'_>, start: usize, pass: Pass) -> bool {
        self.equals(&job.old, start, pass) && self.is_free(start, start + job.old.len())
    }

    fn equals(&self, old: &[&[u8]], start: usize, pass: Pass) -> bool {
        let same = |at: usize, line: &[u8]| {
            key(self.text.line(at), pass, at == 0) == key(line, pass, true)
        };
        start.saturating_add(old.len()) <= self.text.len()
            && old.iter().enumerate().all(|(at, line)| same(start + at, line))
    }

    fn is_free(&self, start: usize, end: usize) -> bool {
        let bound = HunkSpot { start: end, end: 0, hunk: 0, pass: Pass::Exact };
        self.taken.range(..bound).next_back().is_none_or(|before| before.end <= start)
    }

    fn name(&self, job: &HunkSearch<'_>) -> HunkName<'_> {
        HunkName { path: self.path, hunk: job.index + 1, number: job.hunk.number }
    }
}
