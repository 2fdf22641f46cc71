//! Putting the hunks of a unified diff into a file.
//!
//! Where a hunk may go follows git's `apply.c`: at its line, else at the nearest place where all
//! its old lines are; a hunk that starts at line 1 only at the beginning, one without context
//! below only at the end; never over lines that an earlier hunk has touched.

use std::collections::BTreeSet;

use super::evidence::{Place, is_proof};
use super::failure::{ambiguous, failed};
use super::{HunkReport, Options};
use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::limits::codes;
use crate::changeset::locate::{Finder, Pass, Token, closest, key};
use crate::changeset::unified::{FilePatch, Hunk, LineKind};
use crate::error::{Error, Result};

mod write;

pub(in crate::changeset) use write::{Mark, ending};

/// A file with its hunks put in.
#[derive(Debug, Default)]
pub(in crate::changeset) struct Placed {
    /// The new content.
    pub bytes: Vec<u8>,
    /// Where each hunk went.
    pub hunks: Vec<HunkReport>,
    /// Lines the hunks add and remove.
    pub counts: (usize, usize),
    /// A hunk that may go where git would not put it fits where its result is already.
    pub doubtful: bool,
    /// Every hunk fits where its result is already.
    pub there: bool,
}

/// What hunks are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::changeset) enum Purpose {
    /// To apply them.
    Apply,
    /// Turned backwards, to see whether they were applied: each must be tied to its place.
    Prove {
        /// Forwards they fit as well, in the same places.
        fits: bool,
    },
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
        exact: None,
        ending: None,
        taken: BTreeSet::new(),
        last_start: 0,
        grown: Vec::with_capacity(hunks.len()),
        crlf: patch.crlf,
        options,
        purpose,
    };
    let mut placed = Placed { there: true, ..Placed::default() };
    placed.hunks.reserve(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        let job = Job::new(index, hunk, placer.expected(hunk), options, &text);
        let spot = placer.find(&job)?;
        placed.there = placed.there && placer.result_is_there(&job, spot);
        placed.doubtful |= placed.there && job.loose;
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
    placed.bytes = write::write(&text, hunks, &placer.taken);
    Ok(placed)
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
        let (_, trailing) = hunk.context();
        let loose = hunk.recounted || hunk.old_start.is_none();
        let zero = options.unidiff_zero;
        let begins = hunk.old_start == Some(0) || (hunk.old_start == Some(1) && !zero);
        let anchors = if loose { (false, false) } else { (begins, !zero && trailing == 0) };
        Self {
            index,
            hunk,
            old: hunk.old_lines().map(|line| line.bytes).collect(),
            expected: expected.min(text.len()),
            claimed: expected,
            anchors,
            loose,
        }
    }

    /// How many lines below its own `spot` is.
    fn offset(&self, spot: Spot) -> i64 {
        spot.start as i64 - self.claimed as i64
    }
}

struct Placer<'t> {
    path: &'t RepoPath,
    text: &'t Text<'t>,
    exact: Option<Finder<'t>>,
    ending: Option<Finder<'t>>,
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
        let spot = self.search_all(job)?;
        let Purpose::Prove { fits } = self.purpose else { return Ok(spot) };
        let place = Place {
            exact: !job.loose && job.offset(spot) == 0,
            begins: spot.start == 0,
            ends: spot.end == self.text.len(),
            named: false,
            fits,
        };
        // Turned backwards, what was added is what goes.
        if is_proof(&job.hunk.lines, LineKind::Removed, place) {
            Ok(spot)
        } else {
            Err(self.failure(job))
        }
    }

    fn search_all(&mut self, job: &Job<'_>) -> Result<Spot> {
        if job.old.is_empty() {
            return self.insertion(job);
        }
        for pass in [Pass::Exact, Pass::Ending] {
            if let Some(spot) = self.search(job, pass)? {
                return Ok(spot);
            }
        }
        Err(self.failure(job))
    }

    /// One pass over the file.
    fn search(&mut self, job: &Job<'_>, pass: Pass) -> Result<Option<Spot>> {
        let old = job.old.as_slice();
        let Some(last) = self.text.len().checked_sub(old.len()) else { return Ok(None) };
        let spot = |start: usize| Spot { start, end: start + old.len(), hunk: job.index, pass };
        let (begins, ends) = job.anchors;
        if begins || ends {
            let start = if begins { 0 } else { last };
            let fits = (!ends || start == last)
                && self.fits(old, start, pass)
                && self.is_free(start, start + old.len());
            return Ok(fits.then(|| spot(start)));
        }
        let unique = job.loose || pass != Pass::Exact || self.purpose != Purpose::Apply;
        if job.expected <= last
            && job.hunk.old_start.is_some()
            && self.fits(old, job.expected, pass)
            && self.is_free(job.expected, job.expected + old.len())
        {
            return Ok(Some(spot(job.expected)));
        }
        let slot = if pass == Pass::Exact { &mut self.exact } else { &mut self.ending };
        let mut finder = match slot.take() {
            Some(finder) => finder,
            None => Finder::new(self.text, pass),
        };
        let tokens: Option<Vec<Token>> = finder.tokens(old.iter().copied());
        let found = match tokens {
            None => Ok(None),
            Some(tokens) if unique => self.unique(job, &mut finder, &tokens),
            Some(tokens) => {
                let free = |range: std::ops::Range<usize>| self.is_free(range.start, range.end);
                finder.nearest(&tokens, job.expected, 0..self.text.len(), free)
            }
        };
        *(if pass == Pass::Exact { &mut self.exact } else { &mut self.ending }) = Some(finder);
        Ok(found?.map(spot))
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
        let hits = finder.all(tokens, from..self.text.len(), 10_000)?;
        let hits: Vec<usize> = hits
            .into_iter()
            .filter(|start| self.is_free(*start, start + tokens.len()))
            .take(10)
            .collect();
        match hits.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => Err(ambiguous(self.path, job.index + 1, job.hunk.number, several)),
        }
    }

    /// A hunk that finds nothing and only adds: at its line if that is asked for, else only where
    /// there is nothing to be wrong about.
    fn insertion(&self, job: &Job<'_>) -> Result<Spot> {
        let end = self.text.len();
        // A file that has no line ending yet takes none from what the patch went through.
        let pass = if end == 0 && self.crlf { Pass::Ending } else { Pass::Exact };
        let at = |start| Spot { start, end: start, hunk: job.index, pass };
        let expected = match (job.hunk.old_start, self.options.unidiff_zero) {
            _ if end == 0 => return Ok(at(0)),
            (Some(0), true) => 0,
            (Some(_), true) => job.expected,
            // At the very end of the file, by its own line number: nothing is below that it could belong to.
            (Some(old), false) if old > 0 && job.claimed == end => end,
            _ => {
                let hint =
                    self.hint_without_context("add context lines", " if its line number is right");
                return Err(self.refused(job, "only adds lines and has no context").hint(hint));
            }
        };
        if !self.is_free(expected, expected) {
            return Err(self
                .refused(job, "only adds lines, and an earlier hunk has changed those around them")
                .hint("add context lines, or create the patch again"));
        }
        Ok(at(expected))
    }

    /// What was let differ, if the lines of the file are not those of the hunk.
    fn leniently(&self, job: &Job<'_>, spot: Spot) -> Option<&'static str> {
        let same = || self.fits(&job.old, spot.start, Pass::Exact);
        match spot.pass {
            Pass::Exact if same() => None,
            Pass::Exact => Some(Pass::Ending.as_str()),
            pass => Some(pass.as_str()),
        }
    }

    fn fits(&self, old: &[&[u8]], start: usize, pass: Pass) -> bool {
        start + old.len() <= self.text.len()
            && old.iter().enumerate().all(|(at, line)| match pass {
                Pass::Exact => self.text.line(start + at) == *line,
                _ => {
                    key(self.text.line(start + at), pass, start + at == 0) == key(line, pass, true)
                }
            })
    }

    /// Has no earlier hunk touched these lines?
    fn is_free(&self, start: usize, end: usize) -> bool {
        let bound = Spot { start: end, end: 0, hunk: 0, pass: Pass::Exact };
        self.taken.range(..bound).next_back().is_none_or(|before| before.end <= start)
    }

    /// Is the hunk's result where the hunk fits, so that it may have been applied before?
    fn result_is_there(&self, job: &Job<'_>, spot: Spot) -> bool {
        let new: Vec<_> = job.hunk.new_lines().map(|line| line.bytes).collect();
        let above = spot.end.checked_sub(new.len());
        new.len() > spot.end - spot.start
            && [Some(spot.start), above]
                .into_iter()
                .flatten()
                .any(|start| self.fits(&new, start, Pass::Ending))
    }

    fn failure(&self, job: &Job<'_>) -> Error {
        // The lines are there, but the hunk claims to be at one end of the file, or an earlier one
        // has changed them.
        let there = if self.fits(&job.old, job.expected, Pass::Exact) {
            Some(job.expected)
        } else {
            let place = closest(self.text, &job.old, job.expected).map(|place| place.start);
            place.filter(|start| self.fits(&job.old, *start, Pass::Ending))
        };
        if let Some(line) = there.filter(|start| !self.is_free(*start, start + job.old.len())) {
            return self
                .refused(job, &format!("fits at line {}, where an earlier hunk is", line + 1))
                .with("file_line", line + 1)
                .hint("join the two hunks, or drop from one what is in the other");
        }
        if let Some(line) = there.filter(|_| job.anchors != (false, false)) {
            let (context, end) = if job.anchors.1 { ("below", "end") } else { ("above", "start") };
            let why = format!(
                "has no context {context}, so it must be at the {end} of the file, and is not"
            );
            return self
                .refused(job, &why)
                .with("file_line", line + 1)
                .hint(self.hint_without_context("the lines are there: add context", ""));
        }
        failed(self.path, self.text, &job.old, job.expected, job.index + 1, job.hunk.number)
    }

    /// What to do about a hunk that lacks context, with what the caller can say to have it taken as it is.
    fn hint_without_context(&self, instead: &str, when: &str) -> String {
        match self.options.zero_is_said {
            Some(how) => format!("{instead}, or say {how}{when}"),
            None => instead.to_owned(),
        }
    }

    fn refused(&self, job: &Job<'_>, why: &str) -> Error {
        let (path, hunk, line) = (self.path.display().to_string(), job.index + 1, job.hunk.number);
        let text = format!("hunk {hunk} of {path} (line {line} of the patch) {why}");
        let error = Error::new(&codes::HUNK_FAILED, text).with("path", path);
        error.with("hunk", hunk).with("line", line)
    }
}
