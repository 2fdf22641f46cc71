//! Putting the hunks of a unified diff into a file.
//!
//! Where a hunk may go follows git's `apply.c`: at its line, else at the nearest place where all
//! its old lines are; a hunk that starts at line 1 only at the beginning, one without context
//! below only at the end; never over lines that an earlier hunk has touched.

use std::collections::BTreeSet;

use super::evidence::{Budget, Place, is_likely, is_proof};
use super::failure::{ambiguous, failed};
use super::{HunkReport, Options};
use crate::changeset::RepoPath;
use crate::changeset::hunks::Text;
use crate::changeset::limits::codes;
use crate::changeset::locate::{Finder, Pass, Token, closest, key};
use crate::changeset::unified::{FilePatch, Hunk, Line, LineKind};
use crate::error::{Error, Result};

mod write;

/// How many lines of a file are looked for in place of the last line of a patch.
const MOST_LONGER: usize = 8;

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
    /// Hunks (counted from 1) below which stand lines that could be more of them.
    pub cut_short: Vec<usize>,
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
    /// Context lines of the hunk left out at its start and end.
    cut: (usize, usize),
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
        budget: Budget::default(),
    };
    let mut chosen = Vec::with_capacity(hunks.len());
    let mut placed = Placed { there: true, ..Placed::default() };
    placed.hunks.reserve(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        let (job, spot) = placer.choose(index, hunk)?;
        let hunk = job.hunk;
        let fuzzy = spot.cut != (0, 0);
        // Where all its context is let differ, nothing says that it goes here.
        let blind = fuzzy && job.cut(spot.cut).is_empty();
        placed.there = placed.there && (blind || placer.result_is_there(&job, spot));
        placed.doubtful |= placed.there && (job.loose || fuzzy);
        let (added, removed) = hunk.counts();
        placed.counts = (placed.counts.0 + added, placed.counts.1 + removed);
        placer.grown.push(added as i64 - removed as i64);
        placer.last_start = placer.last_start.max(hunk.old_start.unwrap_or(0));
        placer.taken.insert(spot);
        if hunk.longer.as_ref().is_some_and(|longer| placer.goes_on(hunk, longer, spot)) {
            placed.cut_short.push(index + 1);
        }
        placed.hunks.push(HunkReport {
            hunk: index + 1,
            line: spot.start + 1 - usize::from(spot.start == spot.end && spot.start > 0),
            offset: hunk.old_start.map_or(0, |_| job.offset(spot)),
            fuzz: spot.cut.0.max(spot.cut.1),
            recounted: hunk.recounted && hunk.old_start.is_some(),
            matched: placer.leniently(&job, spot),
        });
        chosen.push(hunk);
    }
    placed.bytes = write::write(&text, &chosen, &placer.taken);
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

    /// Its old lines, less those of context that are let differ.
    fn cut(&self, cut: (usize, usize)) -> &[&'h [u8]] {
        &self.old[cut.0..self.old.len() - cut.1]
    }

    /// How many lines below its own `spot` is.
    fn offset(&self, spot: Spot) -> i64 {
        (spot.start as i64 - spot.cut.0 as i64) - self.claimed as i64
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
    budget: Budget,
}

impl Placer<'_> {
    /// Which reading of a hunk is right, and where it goes. The counts of its header decide, unless
    /// they lead nowhere, or the lines below, which they leave out, go on in the file as well.
    ///
    /// Context right below the last line counted comes first: models leave it out of their counts,
    /// and it may be what tells two places apart. Where it is nowhere it is text, as the lines of
    /// `git log --stat` are. So do empty lines at the end that are counted.
    fn choose<'h>(&mut self, index: usize, hunk: &'h Hunk<'h>) -> Result<(Job<'h>, Spot)> {
        let make = |placer: &Self, hunk: &'h Hunk<'h>| {
            Job::new(index, hunk, placer.expected(hunk), placer.options, placer.text)
        };
        let mut job = make(self, hunk);
        let Some(longer) = hunk.longer.as_deref() else {
            let spot = self.find(&job)?;
            return Ok((job, spot));
        };
        let tail = &longer.lines[hunk.lines.len()..];
        let is_solid = |line: &Line<'_>| !line.bytes.trim_ascii().is_empty();
        let is_context = tail.iter().all(|line| line.kind == LineKind::Context);
        if (tail.first().is_some_and(is_solid) || !longer.recounted) && is_context {
            let whole = make(self, longer);
            match self.find(&whole) {
                Err(error) if error.is(&codes::HUNK_FAILED) => job.loose = true,
                found => return found.map(|spot| (whole, spot)),
            }
        }
        match self.find(&job) {
            Ok(spot) => {
                let is_old = |line: &&Line<'_>| line.kind != LineKind::Added && is_solid(line);
                if !tail.iter().any(|line| is_old(&line)) || !self.goes_on(hunk, longer, spot) {
                    return Ok((job, spot));
                }
                let job = make(self, longer);
                let end = spot.start + job.old.len();
                Ok((job, Spot { end, ..spot }))
            }
            Err(error) => {
                let job = make(self, longer);
                let spot = self.find(&job).map_err(|_| error)?;
                Ok((job, spot))
            }
        }
    }

    /// Do the lines of the `longer` reading of a hunk go on in the file, where the shorter one is?
    fn goes_on(&self, hunk: &Hunk<'_>, longer: &Hunk<'_>, spot: Spot) -> bool {
        let old: Vec<_> = longer.old_lines().map(|line| line.bytes).collect();
        spot.cut == (0, 0)
            && longer.lines.len() > hunk.lines.len()
            && self.fits(&old, spot.start, spot.pass)
    }

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
        let lines = &job.hunk.lines[spot.cut.0..job.hunk.lines.len() - spot.cut.1];
        let place = Place {
            exact: !job.loose && job.offset(spot) == 0,
            begins: spot.start == 0,
            ends: spot.end == self.text.len(),
            named: false,
            fits,
        };
        // Turned backwards, what was added is what goes.
        let applied = is_proof(lines, LineKind::Removed, place)
            || (job.loose && {
                let result = spot.start..spot.end;
                is_likely(lines, LineKind::Removed, self.text, result, &mut self.budget)
            });
        if applied { Ok(spot) } else { Err(self.failure(job)) }
    }

    fn search_all(&mut self, job: &Job<'_>) -> Result<Spot> {
        if job.old.is_empty() {
            return self.insertion(job);
        }
        let (leading, trailing) = job.hunk.context();
        let longest = leading.max(trailing);
        let most = self.options.fuzz.min(longest);
        for fuzz in 0..=most {
            // As GNU patch: the longer context is cut first, so that both ends get as short.
            let cut =
                (fuzz.saturating_sub(longest - leading), fuzz.saturating_sub(longest - trailing));
            if cut.0 + cut.1 > job.old.len() {
                break;
            }
            if let Some(spot) = self.search(job, Pass::Exact, cut)? {
                return Ok(spot);
            }
        }
        if let Some(spot) = self.search(job, Pass::Ending, (0, 0))? {
            return Ok(spot);
        }
        Err(self.failure(job))
    }

    /// One pass over the file with `cut` context lines left out.
    fn search(&mut self, job: &Job<'_>, pass: Pass, cut: (usize, usize)) -> Result<Option<Spot>> {
        let old = job.cut(cut);
        let found = self.search_for(job, pass, cut, old)?;
        let Some((last, above)) = old.split_last() else { return Ok(found) };
        let anywhere = !job.anchors.1 && !job.loose && self.purpose == Purpose::Apply;
        if pass != Pass::Exact || last.ends_with(b"\n") || !anywhere {
            return Ok(found);
        }
        // The patch ends in a line without a newline, which is the last one of the file. (git goes to a
        // nearer one that has a newline.)
        if found.is_some() {
            return Ok(found);
        }
        // Else, like git, treat it as the beginning of a line that goes on with whitespace: the file has
        // got its newline since.
        let mut longer = BTreeSet::new();
        for at in 0..self.text.len() {
            let line = self.text.line(at);
            let rest = line.strip_prefix(*last).unwrap_or_default();
            if !rest.is_empty() && rest.iter().all(u8::is_ascii_whitespace) {
                longer.insert(line);
            }
        }
        let expected = job.expected + cut.0;
        let mut nearest = None;
        for line in longer.into_iter().take(MOST_LONGER) {
            let old: Vec<&[u8]> = above.iter().copied().chain([line]).collect();
            let found = self.search_for(job, pass, cut, &old)?;
            // Of two that are as near, git takes the one below.
            let distance = |spot: &Spot| (spot.start.abs_diff(expected), spot.start < expected);
            nearest = nearest.into_iter().chain(found).min_by_key(distance);
        }
        Ok(nearest)
    }

    /// One pass over the file for the lines `old`.
    fn search_for(
        &mut self,
        job: &Job<'_>,
        pass: Pass,
        cut: (usize, usize),
        old: &[&[u8]],
    ) -> Result<Option<Spot>> {
        let Some(last) = self.text.len().checked_sub(old.len()) else { return Ok(None) };
        let expected = (job.expected + cut.0).min(self.text.len());
        let spot =
            |start: usize| Spot { start, end: start + old.len(), hunk: job.index, cut, pass };
        let (begins, ends) = if cut == (0, 0) { job.anchors } else { (false, false) };
        if begins || ends {
            let start = if begins { 0 } else { last };
            let fits = (!ends || start == last)
                && self.fits(old, start, pass)
                && self.is_free(start, start + old.len());
            return Ok(fits.then(|| spot(start)));
        }
        let unique = job.loose || pass != Pass::Exact || self.purpose != Purpose::Apply;
        if expected <= last
            && job.hunk.old_start.is_some()
            && self.fits(old, expected, pass)
            && self.is_free(expected, expected + old.len())
        {
            return Ok(Some(spot(expected)));
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
                finder.nearest(&tokens, expected, 0..self.text.len(), free)
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
        let at = |start| Spot { start, end: start, hunk: job.index, cut: (0, 0), pass };
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
        let same = || self.fits(job.cut(spot.cut), spot.start, Pass::Exact);
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
        let bound = Spot { start: end, end: 0, hunk: 0, cut: (0, 0), pass: Pass::Exact };
        self.taken.range(..bound).next_back().is_none_or(|before| before.end <= start)
    }

    /// Is the hunk's result where the hunk fits, so that it may have been applied before?
    fn result_is_there(&self, job: &Job<'_>, spot: Spot) -> bool {
        let new: Vec<_> = job.hunk.new_lines().map(|line| line.bytes).collect();
        let new = &new[spot.cut.0..new.len() - spot.cut.1];
        let above = spot.end.checked_sub(new.len());
        new.len() > spot.end - spot.start
            && [Some(spot.start), above]
                .into_iter()
                .flatten()
                .any(|start| self.fits(new, start, Pass::Ending))
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
