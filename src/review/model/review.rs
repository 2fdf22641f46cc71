//! One proposal, taken apart into units that are decided one by one.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use super::sections::Sections;
use crate::changeset::entry::{Entry, EntryKind, entries};
use crate::changeset::hunks::{Diff, Hunk};
use crate::changeset::plan::Reason;
use crate::changeset::settle::Unfit;
use crate::changeset::{File, FileChange, RepoPath, bytes};

/// What a unit is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A file as a whole: its creation, its removal, or a binary content.
    Whole,
    /// Where it is and its mode, when its content is asked about apart.
    Place,
    /// Some of its lines.
    Hunk(Hunk),
}

/// What a reviewer said to a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Take it as proposed.
    Take,
    /// Leave it out.
    Leave,
    /// Take this instead.
    Edit {
        /// What is there instead.
        #[serde(with = "bytes")]
        bytes: Vec<u8>,
    },
}

/// The smallest thing that is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Index of its file.
    pub file: usize,
    /// Which part of the file.
    pub part: Part,
    /// What was said, if anything.
    pub decision: Option<Decision>,
    /// The edit that a file says was decided here. It is no decision, for its text is not the proposal's, and
    /// anybody who can write the repository's directory can plant it: an editor begins with it.
    pub draft: Option<Vec<u8>>,
    /// The sections of a memory file that it changes.
    pub section: Option<String>,
    /// Why it does not fit the present file: it cannot be taken as it is.
    pub unfit: Option<Reason>,
    /// It stands for all of a file that is not read line by line, and why that is so.
    pub folded: Option<&'static str>,
}

impl Unit {
    fn new(file: usize, part: Part) -> Self {
        Self { file, part, decision: None, draft: None, section: None, unfit: None, folded: None }
    }
}

/// One file of the proposal.
#[derive(Clone, Debug)]
pub struct FileReview {
    /// What happens to it.
    pub kind: EntryKind,
    /// Where it was.
    pub old_path: RepoPath,
    /// Where it will be.
    pub path: RepoPath,
    /// What it starts from.
    pub before: Option<File>,
    /// What it leads to.
    pub after: Option<File>,
    /// The difference of the two contents; of nothing with nothing for a binary file.
    pub diff: Diff<'static>,
    /// The changes it stands for: two for a rename, else one.
    pub(super) originals: Vec<FileChange>,
    /// What of it does not fit the present file.
    unfit: Option<Unfit>,
    /// Why it is not read line by line, if it is not.
    pub(super) quiet: Option<&'static str>,
}

impl FileReview {
    /// Its hunks, in order; each conflict, from its first marker to its last, is in one of them.
    fn hunks(&self, context: usize) -> Vec<Hunk> {
        let mut hunks: Vec<Hunk> = Vec::new();
        for hunk in self.diff.hunks(context) {
            match hunks.last_mut() {
                Some(last) if self.is_one_conflict(last, &hunk) => {
                    last.before.end = hunk.before.end;
                    last.after.end = hunk.after.end;
                    last.edits.end = hunk.edits.end;
                }
                _ => hunks.push(hunk),
            }
        }
        hunks
    }

    /// Whether there is so much of it that it is one decision until it is opened.
    fn is_foldable(&self, context: usize) -> bool {
        let counts = self.diff.counts();
        let is_text = self.kind != EntryKind::Renamed && self.kind != EntryKind::Copied;
        is_text && (self.diff.hunks(context).len() > 1 || counts.added + counts.removed > LITTLE)
    }

    /// The lines of the new content that hunk `hunk` changes.
    fn changed(&self, hunk: &Hunk) -> Range<usize> {
        let edits = &self.diff.edits()[hunk.edits.clone()];
        match (edits.first(), edits.last()) {
            (Some(first), Some(last)) => first.after.start..last.after.end,
            _ => hunk.after.clone(),
        }
    }

    fn is_one_conflict(&self, above: &Hunk, below: &Hunk) -> bool {
        let (above, below) = (self.changed(above), self.changed(below));
        let regions = self.unfit.iter().flat_map(|unfit| &unfit.regions);
        regions.into_iter().any(|region| region.start < above.end && below.start < region.end)
    }

    /// The lines that begin and end what does not fit, and those that name the common base.
    fn markers(&self) -> Vec<&[u8]> {
        let Some(unfit) = &self.unfit else { return Vec::new() };
        let mut markers = Vec::new();
        for region in &unfit.regions {
            let lines: Vec<&[u8]> = self.diff.after().lines(region.clone()).lines().collect();
            let Some(first) = lines.first() else { continue };
            let size = first.iter().take_while(|byte| **byte == b'<').count();
            let is_base =
                |line: &&&[u8]| line.iter().take_while(|byte| **byte == b'|').count() == size;
            markers.extend(lines.first().into_iter().chain(lines.last()).copied());
            markers.extend(lines.iter().filter(is_base).copied());
        }
        markers.sort_unstable();
        markers.dedup();
        markers
    }

    /// Why `part` of it does not fit.
    fn unfit(&self, part: &Part) -> Option<Reason> {
        let unfit = self.unfit.as_ref()?;
        let is_it = match part {
            Part::Hunk(hunk) if !unfit.regions.is_empty() => {
                let lines = self.changed(hunk);
                unfit.regions.iter().any(|at| at.start < lines.end && lines.start < at.end)
            }
            Part::Place => unfit.regions.is_empty(),
            _ => true,
        };
        is_it.then_some(unfit.reason)
    }

    /// As the changeset engine shows it.
    pub fn entry(&self) -> Entry<'_> {
        Entry {
            kind: self.kind,
            old_path: &self.old_path,
            path: &self.path,
            before: self.before.as_ref(),
            after: self.after.as_ref(),
        }
    }
}

/// No more changed lines than these are folded.
const LITTLE: usize = 40;

/// Files that are not read line by line, and why.
pub type Quiet = BTreeMap<RepoPath, &'static str>;

/// A proposal under review.
#[derive(Clone, Debug)]
pub struct Review {
    files: Vec<FileReview>,
    units: Vec<Unit>,
    context: usize,
    whole: bool,
    /// Hash of the contents, once somebody asks.
    shown: OnceCell<u64>,
}

impl Review {
    /// Takes `changes` apart, with `context` lines around hunks.
    pub fn new(changes: &[FileChange], context: usize) -> Self {
        Self::folding(changes, &[], &Quiet::new(), context)
    }

    /// As [`Review::new`], where `unfit` of the changes cannot be taken as they are, and the files of `quiet` come
    /// last, each folded to one decision where it has several hunks or many lines.
    pub fn folding(changes: &[FileChange], unfit: &[Unfit], quiet: &Quiet, context: usize) -> Self {
        let file = |entry: &Entry<'_>| {
            let is_it = |unfit: &&Unfit| [entry.path, entry.old_path].contains(&&unfit.path);
            let unfit = unfit.iter().find(is_it).cloned();
            let quiet = quiet.get(entry.path).copied().filter(|_| unfit.is_none());
            FileReview { unfit, quiet, ..file_review(changes, entry) }
        };
        let mut files: Vec<FileReview> = entries(changes).iter().map(file).collect();
        files.sort_by_key(|file| file.quiet.is_some());
        Self::of_files(files, context)
    }

    fn of_files(files: Vec<FileReview>, context: usize) -> Self {
        let mut units = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let entry = file.entry();
            let unit = |part| Unit::new(at, part);
            let both = entry.before.is_some() && entry.after.is_some();
            let apart = both && entry.kind != EntryKind::Copied && !entry.is_whole();
            if let Some(why) = file.quiet.filter(|_| file.is_foldable(context)) {
                units.push(Unit { folded: Some(why), ..unit(Part::Whole) });
            } else if !apart {
                units.push(unit(Part::Whole));
            } else {
                let modes = (entry.before.map(|f| f.mode), entry.after.map(|f| f.mode));
                if entry.kind == EntryKind::Renamed || modes.0 != modes.1 {
                    units.push(unit(Part::Place));
                }
                let hunks = file.hunks(context).into_iter();
                units.extend(hunks.map(|hunk| unit(Part::Hunk(hunk))));
            }
        }
        for unit in &mut units {
            unit.unfit = files[unit.file].unfit(&unit.part);
        }
        Self { files, units, context, whole: false, shown: OnceCell::new() }
    }

    /// Takes changes of memory apart: section by section to be looked at, but decided as a whole,
    /// since a memory proposal is operations that belong together.
    pub fn of_memory(changes: &[FileChange], context: usize) -> Self {
        let mut review = Self::new(changes, context);
        review.whole = true;
        for at in (0..review.units.len()).rev() {
            review.split(at);
        }
        for at in 0..review.files.len() {
            let sections = Sections::of(&review.files[at].diff);
            for unit in review.units_of(at) {
                if let Part::Hunk(hunk) = &review.units[unit].part {
                    let label = sections.label(&review.files[at].diff, hunk);
                    review.units[unit].section = label;
                }
            }
        }
        review
    }

    /// True when it is decided as a whole, so that no unit can be taken or left out.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The files, in path order.
    pub fn files(&self) -> &[FileReview] {
        &self.files
    }

    /// Everything that can be decided, in order.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Lines of context around hunks.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The file that unit `unit` belongs to.
    pub fn file_of(&self, unit: usize) -> &FileReview {
        &self.files[self.units[unit].file]
    }

    /// The indices of the units of file `file`.
    pub fn units_of(&self, file: usize) -> Range<usize> {
        let start = self.units.partition_point(|unit| unit.file < file);
        start..self.units.partition_point(|unit| unit.file <= file)
    }

    /// How many units are decided.
    pub fn decided(&self) -> usize {
        self.units.iter().filter(|unit| unit.decision.is_some()).count()
    }

    /// True when something was edited.
    pub fn is_edited(&self) -> bool {
        self.units.iter().any(|unit| matches!(unit.decision, Some(Decision::Edit { .. })))
    }

    /// True where something does not fit the present files, so that it cannot be applied as a whole.
    pub fn is_unfit(&self) -> bool {
        self.units.iter().any(|unit| unit.unfit.is_some())
    }

    /// Sets a decision; returns the one before. What does not fit is not taken as it is: nothing is
    /// decided then.
    pub fn decide(&mut self, unit: usize, decision: Option<Decision>) -> Option<Decision> {
        let is_unfit = self.units[unit].unfit.is_some();
        let decision = decision.filter(|said| !(is_unfit && *said == Decision::Take));
        std::mem::replace(&mut self.units[unit].decision, decision)
    }

    /// Has an editor begin with `bytes` at unit `unit`, as far as it has text.
    pub fn draft(&mut self, unit: usize, bytes: Vec<u8>) {
        self.units[unit].draft = self.editable(unit).map(|_| bytes);
    }

    /// Hash of the contents, and of how they are taken apart: decisions about others do not count for these.
    pub fn shown(&self) -> u64 {
        *self.shown.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            self.context.hash(&mut hasher);
            for FileReview { old_path, path, before, after, .. } in &self.files {
                (old_path, path, before, after).hash(&mut hasher);
            }
            hasher.finish()
        })
    }

    /// The parts that unit `unit` splits into; `None` if it cannot be split.
    pub fn parts(&self, unit: usize) -> Option<Vec<Hunk>> {
        let Part::Hunk(hunk) = &self.units[unit].part else { return None };
        // Conflict markers belong together.
        (hunk.edits.len() > 1 && self.units[unit].unfit.is_none())
            .then(|| self.file_of(unit).diff.split(hunk, self.context))
    }

    /// Puts the parts of unit `unit` in its place, undecided. Returns how many they are, or
    /// `None` if it cannot be split.
    pub fn split(&mut self, unit: usize) -> Option<usize> {
        let parts = self.parts(unit)?;
        let file = self.units[unit].file;
        let count = parts.len();
        let parts = parts.into_iter().map(|hunk| Unit::new(file, Part::Hunk(hunk)));
        self.units.splice(unit..=unit, parts);
        Some(count)
    }

    /// Opens the folded unit `unit`: puts the parts of its file in its place, undecided. Returns how many they
    /// are, or `None` if it is not folded.
    pub fn open(&mut self, unit: usize) -> Option<usize> {
        self.units[unit].folded?;
        let file = self.units[unit].file;
        let entry = self.files[file].entry();
        let mut parts = Vec::new();
        match (entry.before, entry.after) {
            (Some(before), Some(after)) if !entry.is_whole() => {
                if before.mode != after.mode {
                    parts.push(Part::Place);
                }
                parts.extend(self.files[file].hunks(self.context).into_iter().map(Part::Hunk));
            }
            _ => parts.push(Part::Whole),
        }
        let count = parts.len();
        self.units.splice(unit..=unit, parts.into_iter().map(|part| Unit::new(file, part)));
        Some(count)
    }

    /// Undoes [`Review::split`]: puts `whole` in the place of `count` units from `unit` on.
    pub(super) fn join(&mut self, unit: usize, count: usize, whole: Unit) {
        self.units.splice(unit..unit + count, [whole]);
    }

    /// The text that editing unit `unit` starts with: the lines it leads to, with the context
    /// that belongs to no other unit. `None` where there is no text to edit.
    pub fn editable(&self, unit: usize) -> Option<Vec<u8>> {
        let file = self.file_of(unit);
        if self.units[unit].unfit.is_some()
            && file.unfit.as_ref().is_some_and(|unfit| !unfit.is_editable)
        {
            return None;
        }
        if let Some(Decision::Edit { bytes }) = &self.units[unit].decision {
            return Some(bytes.clone());
        }
        if let Some(draft) = &self.units[unit].draft {
            return Some(draft.clone());
        }
        match &self.units[unit].part {
            Part::Hunk(hunk) => {
                let (_, after) = file.diff.editable(hunk);
                Some(file.diff.after().lines(after).to_vec())
            }
            Part::Whole if !file.entry().is_whole() => Some(file.after.as_ref()?.bytes.clone()),
            _ => None,
        }
    }

    /// Whether `text` has a conflict marker of the file of unit `unit`: a line that is, to the byte,
    /// one of those that [`crate::changeset::settle`] wrote into it. Lines of the file's own that
    /// look like markers are shorter than those.
    pub fn has_markers(&self, unit: usize, text: &[u8]) -> bool {
        let markers = self.file_of(unit).markers();
        !markers.is_empty() && text.lines().any(|line| markers.contains(&line))
    }

    /// The next undecided unit after `from`, then from the start. `None` if all are decided.
    pub fn next_undecided(&self, from: usize) -> Option<usize> {
        let open = |at: &usize| self.units[*at].decision.is_none();
        (from + 1..self.units.len())
            .find(open)
            .or_else(|| (0..self.units.len().min(from + 1)).find(open))
    }

    /// The next unit after `from`, going round, whose path or lines hold `text`. Without a
    /// capital letter in `text`, case does not matter (for ASCII letters).
    pub fn search(&self, from: usize, text: &str) -> Option<usize> {
        let exact = text.chars().any(char::is_uppercase);
        let needle = if exact { text.to_owned() } else { text.to_ascii_lowercase() };
        let holds = |bytes: &[u8]| {
            if exact {
                bytes.contains_str(&needle)
            } else {
                bytes.to_ascii_lowercase().contains_str(&needle)
            }
        };
        let count = self.units.len();
        (1..=count).map(|step| (from + step) % count).find(|at| {
            let unit = &self.units[*at];
            let file = &self.files[unit.file];
            holds(file.path.as_bstr())
                || match &unit.part {
                    Part::Hunk(hunk) => file.diff.lines(hunk).any(|line| holds(line.content())),
                    _ => holds(file.diff.before().bytes()) || holds(file.diff.after().bytes()),
                }
        })
    }
}

fn file_review(changes: &[FileChange], entry: &Entry<'_>) -> FileReview {
    let own = |path: &RepoPath| changes.iter().find(|change| change.path == *path).cloned();
    let mut originals = Vec::new();
    if entry.kind == EntryKind::Renamed {
        originals.extend(own(entry.old_path));
    }
    originals.extend(own(entry.path));
    let diff = if entry.is_whole() {
        Diff::new(Vec::new(), Vec::new())
    } else {
        Diff::new(entry.old_bytes().to_vec(), entry.new_bytes().to_vec())
    };
    FileReview {
        kind: entry.kind,
        old_path: entry.old_path.clone(),
        path: entry.path.clone(),
        before: entry.before.cloned(),
        after: entry.after.cloned(),
        diff,
        originals,
        unfit: None,
        quiet: None,
    }
}
