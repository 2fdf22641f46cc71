//! A proposal split into units that are decided one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use super::sections::Sections;
use crate::changeset::change_entry::{ChangeEntry, EntryKind, entries};
use crate::changeset::hunks::{Diff, Hunk};
use crate::changeset::open_conflicts::ConflictedFile;
use crate::changeset::plan::ConflictReason;
use crate::changeset::{File, FileChange, RepoPath, bytes};

/// Identifies a unit by what it shows, wherever in its file that is: a hash, the number of equal
/// units, the place among these, and the index in each unit that it was split from.
pub type UnitKey = Vec<u64>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A file as a whole: its creation, deletion, or binary content.
    Whole,
    /// Path and mode, if the content is asked about apart.
    Place,
    Hunk(Hunk),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Take,
    Leave,
    Edit {
        #[serde(with = "bytes")]
        bytes: Vec<u8>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub file: usize,
    pub part: UnitKind,
    pub key: UnitKey,
    pub decision: Option<Decision>,
    /// A saved edit. Its text is not the proposal's, and anyone who can write the git directory can
    /// plant it. It therefore decides nothing: an editor starts with it.
    pub draft: Option<Vec<u8>>,
    /// Changed sections of a memory file.
    pub section: Option<String>,
    /// Conflict: the unit cannot be taken as proposed.
    pub conflict: Option<ConflictReason>,
    /// Reason if the unit folds a file that is not read line by line.
    pub folded: Option<&'static str>,
}

impl Unit {
    /// The reviewer's own text was decided for.
    pub fn is_edited(&self) -> bool {
        matches!(self.decision, Some(Decision::Edit { .. }))
    }

    fn new(file: usize, part: UnitKind) -> Self {
        Self {
            file,
            part,
            key: UnitKey::new(),
            decision: None,
            draft: None,
            section: None,
            conflict: None,
            folded: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct FileReview {
    pub kind: EntryKind,
    pub old_path: RepoPath,
    pub path: RepoPath,
    pub before: Option<File>,
    pub after: Option<File>,
    /// Empty for a binary file.
    pub diff: Diff<'static>,
    /// Original changes: two for a rename, else one.
    pub(super) originals: Vec<FileChange>,
    /// Conflicts with the present file.
    unfit: Option<ConflictedFile>,
    /// Reason if the file is not read line by line.
    pub(super) quiet: Option<&'static str>,
}

impl FileReview {
    /// Hunks in order; no conflict, from first to last marker, is split between two.
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

    fn is_foldable(&self, context: usize) -> bool {
        let counts = self.diff.counts();
        let is_text = self.kind != EntryKind::Renamed && self.kind != EntryKind::Copied;
        is_text && (self.diff.hunks(context).len() > 1 || counts.added + counts.removed > LITTLE)
    }

    /// Changed lines of the new content.
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

    /// First and last lines of conflicts, and lines that name the common base.
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

    fn unfit(&self, part: &UnitKind) -> Option<ConflictReason> {
        let unfit = self.unfit.as_ref()?;
        let is_it = match part {
            UnitKind::Hunk(hunk) if !unfit.regions.is_empty() => {
                let lines = self.changed(hunk);
                unfit.regions.iter().any(|at| at.start < lines.end && lines.start < at.end)
            }
            UnitKind::Place => unfit.regions.is_empty(),
            _ => true,
        };
        is_it.then_some(unfit.reason)
    }

    /// Hash of what `part` shows, and of the lines that an edit replaces.
    fn shown(&self, part: &UnitKind) -> u64 {
        let mut hasher = DefaultHasher::new();
        let ChangeEntry { old_path, path, before, after, .. } = self.entry();
        (old_path, path).hash(&mut hasher);
        match part {
            UnitKind::Whole => (before, after).hash(&mut hasher),
            UnitKind::Place => [before, after].map(|it| it.map(|it| it.mode)).hash(&mut hasher),
            UnitKind::Hunk(hunk) => {
                // Of equal lines, a neighbour decides how many an edit replaces.
                let replaced = self.diff.editable(hunk).0;
                (replaced.start - hunk.before.start, replaced.len()).hash(&mut hasher);
                let lines = self.diff.lines(hunk);
                lines.for_each(|line| (line.side, line.bytes).hash(&mut hasher));
            }
        }
        hasher.finish()
    }

    pub fn entry(&self) -> ChangeEntry<'_> {
        ChangeEntry {
            kind: self.kind,
            old_path: &self.old_path,
            path: &self.path,
            before: self.before.as_ref(),
            after: self.after.as_ref(),
        }
    }
}

/// Changed lines; larger files fold.
const LITTLE: usize = 40;

/// Files that are not read line by line, and why.
pub type FoldedFiles = BTreeMap<RepoPath, &'static str>;

#[derive(Clone, Debug)]
pub struct Review {
    files: Vec<FileReview>,
    units: Vec<Unit>,
    context: usize,
    whole: bool,
}

impl Review {
    pub fn new(changes: &[FileChange], context: usize) -> Self {
        Self::folding(changes, &[], &FoldedFiles::new(), context)
    }

    /// Like [`Review::new`]. `unfit` changes cannot be taken as they are. Files of `quiet` come
    /// last; with several hunks or many lines, each is folded into one decision.
    pub fn folding(
        changes: &[FileChange],
        unfit: &[ConflictedFile],
        quiet: &FoldedFiles,
        context: usize,
    ) -> Self {
        let file = |entry: &ChangeEntry<'_>| {
            let is_it =
                |unfit: &&ConflictedFile| [entry.path, entry.old_path].contains(&&unfit.path);
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
                units.push(Unit { folded: Some(why), ..unit(UnitKind::Whole) });
            } else if !apart {
                units.push(unit(UnitKind::Whole));
            } else {
                let modes = (entry.before.map(|f| f.mode), entry.after.map(|f| f.mode));
                if entry.kind == EntryKind::Renamed || modes.0 != modes.1 {
                    units.push(unit(UnitKind::Place));
                }
                let hunks = file.hunks(context).into_iter();
                units.extend(hunks.map(|hunk| unit(UnitKind::Hunk(hunk))));
            }
        }
        let mut equal: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, unit) in units.iter_mut().enumerate() {
            unit.conflict = files[unit.file].unfit(&unit.part);
            equal.entry(files[unit.file].shown(&unit.part)).or_default().push(at);
        }
        for (hash, equal) in &equal {
            for (nth, at) in (0..).zip(equal) {
                units[*at].key = vec![*hash, equal.len() as u64, nth];
            }
        }
        Self { files, units, context, whole: false }
    }

    /// Splits changes of memory by section for reading. They are decided as a whole: operations of
    /// a memory proposal belong together.
    pub fn of_memory(changes: &[FileChange], context: usize) -> Self {
        let mut review = Self::new(changes, context);
        review.whole = true;
        for at in (0..review.units.len()).rev() {
            review.split(at);
        }
        for at in 0..review.files.len() {
            let sections = Sections::of(&review.files[at].diff);
            for unit in review.units_of(at) {
                if let UnitKind::Hunk(hunk) = &review.units[unit].part {
                    let label = sections.label(&review.files[at].diff, hunk);
                    review.units[unit].section = label;
                }
            }
        }
        review
    }

    pub fn is_whole(&self) -> bool {
        self.whole
    }

    pub fn files(&self) -> &[FileReview] {
        &self.files
    }

    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    pub fn context(&self) -> usize {
        self.context
    }

    pub fn file_of(&self, unit: usize) -> &FileReview {
        &self.files[self.units[unit].file]
    }

    pub fn units_of(&self, file: usize) -> Range<usize> {
        let start = self.units.partition_point(|unit| unit.file < file);
        start..self.units.partition_point(|unit| unit.file <= file)
    }

    pub fn decided(&self) -> usize {
        self.units.iter().filter(|unit| unit.decision.is_some()).count()
    }

    pub fn is_edited(&self) -> bool {
        self.units.iter().any(Unit::is_edited)
    }

    /// Then the proposal cannot be applied as a whole.
    pub fn is_unfit(&self) -> bool {
        self.units.iter().any(|unit| unit.conflict.is_some())
    }

    /// Sets a decision and returns the previous one. Taking an unfit unit clears the decision.
    pub fn decide(&mut self, unit: usize, decision: Option<Decision>) -> Option<Decision> {
        let is_unfit = self.units[unit].conflict.is_some();
        let decision = decision.filter(|said| !(is_unfit && *said == Decision::Take));
        std::mem::replace(&mut self.units[unit].decision, decision)
    }

    /// Sets the editor's initial text, if the unit has text.
    pub fn draft(&mut self, unit: usize, bytes: Vec<u8>) {
        self.units[unit].draft = self.editable(unit).map(|_| bytes);
    }

    /// The open unit of `path` that shares the most lines with `text`.
    pub(super) fn nearest(&self, path: &RepoPath, text: &[u8]) -> Option<usize> {
        let lines: BTreeSet<&[u8]> = text.lines().collect();
        let alike = |at: usize| {
            let Unit { decision, draft, folded, .. } = &self.units[at];
            let is_open = decision.is_none() && draft.is_none() && folded.is_none();
            let own = (is_open && self.file_of(at).path == *path).then(|| self.proposed(at))??;
            Some((own.lines().filter(|line| lines.contains(line)).count(), at))
        };
        (0..self.units.len()).filter_map(alike).max().map(|(_, at)| at)
    }

    pub fn parts(&self, unit: usize) -> Option<Vec<Hunk>> {
        let UnitKind::Hunk(hunk) = &self.units[unit].part else { return None };
        // Conflict markers belong together.
        (hunk.edits.len() > 1 && self.units[unit].conflict.is_none())
            .then(|| self.file_of(unit).diff.split(hunk, self.context))
    }

    /// Replaces a unit by its parts, undecided, and returns their number. `None` if it cannot be
    /// split.
    pub fn split(&mut self, unit: usize) -> Option<usize> {
        let parts = self.parts(unit)?.into_iter().map(UnitKind::Hunk).collect();
        Some(self.replace(unit, parts))
    }

    fn replace(&mut self, unit: usize, parts: Vec<UnitKind>) -> usize {
        let Unit { file, key, .. } = self.units[unit].clone();
        let count = parts.len();
        let parts = (0..).zip(parts).map(|(nth, part)| {
            let key = [&key[..], &[nth]].concat();
            Unit { key, ..Unit::new(file, part) }
        });
        self.units.splice(unit..=unit, parts);
        count
    }

    /// Replaces a folded unit by the parts of its file, undecided, and returns their number. `None`
    /// if it is not folded.
    pub fn open(&mut self, unit: usize) -> Option<usize> {
        self.units[unit].folded?;
        let file = self.units[unit].file;
        let entry = self.files[file].entry();
        let mut parts = Vec::new();
        match (entry.before, entry.after) {
            (Some(before), Some(after)) if !entry.is_whole() => {
                if before.mode != after.mode {
                    parts.push(UnitKind::Place);
                }
                parts.extend(self.files[file].hunks(self.context).into_iter().map(UnitKind::Hunk));
            }
            _ => parts.push(UnitKind::Whole),
        }
        Some(self.replace(unit, parts))
    }

    /// Undoes [`Review::split`].
    pub(super) fn join(&mut self, unit: usize, count: usize, whole: Unit) {
        self.units.splice(unit..unit + count, [whole]);
    }

    /// Initial text for editing a unit: its new lines, with context that belongs to no other unit.
    /// `None` without text.
    pub fn editable(&self, unit: usize) -> Option<Vec<u8>> {
        match (&self.units[unit].decision, &self.units[unit].draft) {
            (Some(Decision::Edit { bytes }), _) | (_, Some(bytes)) => Some(bytes.clone()),
            _ => self.proposed(unit),
        }
    }

    /// [`Review::editable`] without an edit.
    pub(super) fn proposed(&self, unit: usize) -> Option<Vec<u8>> {
        let file = self.file_of(unit);
        if self.units[unit].conflict.is_some()
            && file.unfit.as_ref().is_some_and(|unfit| !unfit.is_editable)
        {
            return None;
        }
        match &self.units[unit].part {
            UnitKind::Hunk(hunk) => {
                let (_, after) = file.diff.editable(hunk);
                Some(file.diff.after().lines(after).to_vec())
            }
            UnitKind::Whole if !file.entry().is_whole() => Some(file.after.as_ref()?.bytes.clone()),
            _ => None,
        }
    }

    /// True if `text` contains, to the byte, a conflict marker that [`crate::changeset::open_conflicts`]
    /// wrote into this file. Similar lines of the file itself are shorter.
    pub fn has_markers(&self, unit: usize, text: &[u8]) -> bool {
        let markers = self.file_of(unit).markers();
        !markers.is_empty() && text.lines().any(|line| markers.contains(&line))
    }

    pub(super) fn undecided(&self, range: Range<usize>) -> Vec<usize> {
        range.filter(|at| self.units[*at].decision.is_none()).collect()
    }

    /// Wraps around; `None` if all units are decided.
    pub fn next_undecided(&self, from: usize) -> Option<usize> {
        let open = |at: &usize| self.units[*at].decision.is_none();
        (from + 1..self.units.len())
            .find(open)
            .or_else(|| (0..self.units.len().min(from + 1)).find(open))
    }

    /// The next unit, wrapping around, whose path or lines hold `text`. ASCII case matters only if
    /// `text` has a capital letter.
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
                    UnitKind::Hunk(hunk) => file.diff.lines(hunk).any(|line| holds(line.content())),
                    _ => holds(file.diff.before().bytes()) || holds(file.diff.after().bytes()),
                }
        })
    }
}

fn file_review(changes: &[FileChange], entry: &ChangeEntry<'_>) -> FileReview {
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
