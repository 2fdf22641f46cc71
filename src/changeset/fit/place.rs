//! Putting the hunks of a unified diff into a file.
//!
//! Where a hunk may go follows git's `apply.c`: at its line, else at the nearest place where all
//! its old lines are; a hunk that starts at line 1 only at the beginning, one without context
//! below only at the end; never over lines that an earlier hunk has touched.

use std::collections::BTreeSet;
use std::ops::Range;

use super::failure::HunkName;
use super::write::Writer;
use super::{HunkReport, Options};
use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::limits::codes;
use crate::changeset::locate::{Finder, Pass, Token, key};
use crate::changeset::unified::{FilePatch, Hunk};
use crate::error::Result;

/// A file with its hunks put in.
#[derive(Debug, Default)]
pub(in crate::changeset) struct Placed {
    /// The new content.
    pub bytes: Vec<u8>,
    /// Where each hunk went.
    pub hunks: Vec<HunkReport>,
    /// Lines the hunks add and remove.
    pub counts: (usize, usize),
}

/// What hunks are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::changeset) enum Purpose {
    /// To apply them.
    Apply,
    /// Turned backwards, to see whether they were applied: each must stand on the very line that its header names.
    Prove,
}

/// Where one hunk goes: these lines of the old file become its new lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    start: usize,
    end: usize,
    /// Index of the hunk.
    hunk: usize,
    pass: Pass,
}

/// Applies the hunks of `patch` to `content`, the file at `path`.
///
/// # Errors
/// `hunk_failed` with what was expected and found and the closest candidate, `hunk_ambiguous`
/// with the lines of the candidates.
pub(in crate::changeset) fn apply(
    path: &RepoPath,
    content: &[u8],
    patch: &FilePatch<'_>,
    options: &Options,
    purpose: Purpose,
) -> Result<Placed> {
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
    let mut placed = Placed::default();
    placed.hunks.reserve(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        let job = Job::new(index, hunk, placer.expected(hunk), options, &text);
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

/// Builds the new content from the old `text` and the places of the hunks.
fn write(text: &Text<'_>, hunks: &[Hunk<'_>], spots: &BTreeSet<Spot>) -> Vec<u8> {
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
            // The final newline, or the want of it, stays unless the hunk speaks of it.
            let spoken = hunk.lines.iter().any(|line| !line.bytes.ends_with(b"\n"));
            writer.end(match hunk.new_lines().last() {
                Some(last) if spoken => last.bytes.ends_with(b"\n"),
                _ => text.is_empty() || text.bytes().ends_with(b"\n"),
            });
        }
    }
    writer.finish()
}

/// A hunk made ready to be looked for.
struct Job<'h> {
    index: usize,
    hunk: &'h Hunk<'h>,
    /// Its old lines with their LF, as they must be in the file.
    old: Vec<&'h [u8]>,
    expected: usize,
    /// The line that its header names (0-based), which may be far beyond the end of the file.
    claimed: usize,
    /// It must be at the beginning, at the end.
    anchors: (bool, bool),
    /// Its header cannot be trusted: anywhere, but only where it is unique.
    loose: bool,
}

impl<'h> Job<'h> {
    fn new(
        index: usize,
        hunk: &'h Hunk<'h>,
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

    /// How many lines below its own `spot` is.
    fn offset(&self, spot: Spot) -> i64 {
        spot.start as i64 - self.claimed as i64
    }

    fn spot(&self, start: usize, pass: Pass) -> Spot {
        Spot { start, end: start + self.old.len(), hunk: self.index, pass }
    }
}

struct Placer<'t> {
    path: &'t RepoPath,
    text: &'t Text<'t>,
    /// One for each pass.
    finders: [Option<Finder<'t>>; 2],
    taken: BTreeSet<Spot>,
    /// The furthest line an earlier hunk claimed to start on.
    last_start: usize,
    /// How many lines each earlier hunk adds, less those it removes.
    grown: Vec<i64>,
    /// Every line of the patch ends in CRLF, whatever the file's do.
    crlf: bool,
    options: &'t Options,
    purpose: Purpose,
}

impl Placer<'_> {
    /// The line (0-based) of the old file where a hunk should be. As git does, from its line in
    /// the new file, so that a hunk whose predecessors were taken out of the patch is looked for
    /// in the right direction.
    fn expected(&self, hunk: &Hunk<'_>) -> usize {
        match (hunk.old_start, hunk.new_start) {
            (Some(old), Some(_)) if old < self.last_start => old.saturating_sub(1),
            (Some(_), Some(new)) => self.line_before(new.saturating_sub(1)),
            _ => self.taken.last().map_or(0, |spot| spot.end),
        }
    }

    /// The line of the old file that is line `new` after the earlier hunks: one that went below has moved
    /// nothing above it.
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

    fn find(&mut self, job: &Job<'_>) -> Result<Spot> {
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

    /// One pass over the file.
    fn search(&mut self, job: &Job<'_>, pass: Pass) -> Result<Option<Spot>> {
        let Some(last) = self.text.len().checked_sub(job.old.len()) else { return Ok(None) };
        let (begins, ends) = job.anchors;
        let fixed = match self.purpose {
            Purpose::Apply if begins => Some(0),
            Purpose::Apply if ends => Some(last),
            Purpose::Apply => None,
            Purpose::Prove if job.hunk.old_start.is_none() => return Ok(None),
            Purpose::Prove => Some(job.claimed),
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
        job: &Job<'_>,
        finder: &mut Finder<'_>,
        tokens: &[Token],
    ) -> Result<Option<usize>> {
        // Without line numbers the order of the hunks is all there is to go by.
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

    /// A hunk that finds nothing and only adds: at its line if that is asked for, else only where
    /// there is nothing to be wrong about.
    fn insertion(&self, job: &Job<'_>) -> Result<Spot> {
        let end = self.text.len();
        // A file that has no line ending yet takes none from what the patch went through.
        let pass = if end == 0 && self.crlf { Pass::Ending } else { Pass::Exact };
        let expected = match (job.hunk.old_start, self.options.unidiff_zero) {
            _ if end == 0 => return Ok(job.spot(0, pass)),
            (Some(0), true) => 0,
            (Some(_), true) => job.expected,
            // At the very end of the file, by its own line number: nothing is below that it could belong to.
            (Some(old), false) if old > 0 && job.claimed == end => end,
            _ => {
                let hint = match self.options.zero_is_said {
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

    /// What was let differ, if the lines of the file are not those of the hunk.
    fn leniently(&self, job: &Job<'_>, spot: Spot) -> Option<&'static str> {
        let same = self.equals(&job.old, spot.start, Pass::Exact);
        (spot.pass != Pass::Exact || !same).then_some(Pass::Ending.as_str())
    }

    /// Are the hunk's old lines at `start`, where no earlier hunk has touched them?
    fn fits(&self, job: &Job<'_>, start: usize, pass: Pass) -> bool {
        self.equals(&job.old, start, pass) && self.is_free(start, start + job.old.len())
    }

    fn equals(&self, old: &[&[u8]], start: usize, pass: Pass) -> bool {
        let same = |at: usize, line: &[u8]| {
            key(self.text.line(at), pass, at == 0) == key(line, pass, true)
        };
        start.saturating_add(old.len()) <= self.text.len()
            && old.iter().enumerate().all(|(at, line)| same(start + at, line))
    }

    /// Has no earlier hunk touched these lines?
    fn is_free(&self, start: usize, end: usize) -> bool {
        let bound = Spot { start: end, end: 0, hunk: 0, pass: Pass::Exact };
        self.taken.range(..bound).next_back().is_none_or(|before| before.end <= start)
    }

    fn name(&self, job: &Job<'_>) -> HunkName<'_> {
        HunkName { path: self.path, hunk: job.index + 1, number: job.hunk.number }
    }
}
