//! Plans how a changeset applies to the present files. Pure.
//!
//! A file equal to `before` is written, one equal to `after` is done already. Otherwise a three-way
//! merge has `before` as base, and on conflict the change's snippets are matched again. The merge
//! comes first because it knows the replaced text: `x` → `x y` matches again where `x y` already
//! is.

use std::collections::{BTreeMap, BTreeSet};

use super::merge::{ConflictHunk, MergeLabels, MergeOutcome, merge};
use super::{File, FileChange, Mode, RepoPath, Snapshot, codes, snippet};
use crate::error::{Error, Result};
use crate::words::words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeStatus {
    Clean,
    Already,
    Merged(MergedBy),
    Conflict(Conflict),
    /// Generated from other files, by a generator of this name and version.
    Derived(&'static str),
}

impl MergeStatus {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Already => "already",
            Self::Merged(_) => "merged",
            Self::Conflict(_) => "conflict",
            Self::Derived(_) => "derived",
        }
    }
}

words! {
    /// The method that made a change fit a changed file.
    pub enum MergedBy {
        /// Three-way merge of the lines.
        ThreeWay = "three_way",
        /// The replaced text was found again, at one place.
        Snippet = "snippet",
        /// The file was moved by the change, and what it has become moves with it.
        Moved = "moved",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub reason: ConflictReason,
    pub hunks: Vec<ConflictHunk>,
    /// `None` if lines cannot show the conflict.
    pub marked: Option<File>,
}

words! {
    /// Kinds of conflict.
    #[schemars(rename = "ConflictReason")]
    pub enum ConflictReason {
        /// Both changed the same lines.
        Content = "content",
        /// Both changed a binary file, or one that git's attribute `merge` has taken for binary.
        Binary = "binary",
        /// The change edits or moves a file that is gone.
        Missing = "missing",
        /// The change deletes a file that has changed since.
        ChangedSince = "changed_since",
        /// The change, of which no lines are known, replaces a file that has changed since.
        Replaced = "replaced",
        /// The change creates a file that is there with other content.
        Exists = "exists",
    }
}

impl ConflictReason {
    /// Completes a sentence that starts with the path.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Content => "has other changes in the same lines",
            Self::Binary => "is binary, or so by its attribute merge, and has changed since",
            Self::Missing => "is gone, and the change edits or moves it",
            Self::ChangedSince => "has changed since, and the change deletes it",
            Self::Replaced => "has changed since, and the change replaces it as a whole",
            Self::Exists => "exists with other content, and the change creates it",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: RepoPath,
    pub now: Option<File>,
    /// The present file on conflict.
    pub after: Option<File>,
    pub outcome: MergeStatus,
}

impl PlannedFile {
    /// `origin` is the source of a move or copy.
    pub fn change(&self, origin: Option<RepoPath>) -> FileChange {
        FileChange {
            path: self.path.clone(),
            before: self.now.clone(),
            after: self.after.clone(),
            origin,
            snippets: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyPlan {
    /// In path order.
    pub files: Vec<PlannedFile>,
}

/// One file after another proposal's change.
struct AfterChange<'a>(&'a FileChange, Option<&'a dyn Snapshot>);

impl Snapshot for AfterChange<'_> {
    fn file(&self, _: &RepoPath) -> Result<Option<File>> {
        Ok(self.0.after.clone())
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.1.map_or(Ok(true), |files| files.merges_lines(path))
    }
}

/// True if `second` applies to the file that `first` makes. `files` have the attributes for merges.
pub fn applies_after(
    first: &FileChange,
    second: &FileChange,
    files: Option<&dyn Snapshot>,
) -> bool {
    let sides = MergeLabels { ours: "first", theirs: "second" };
    let planned = plan(std::slice::from_ref(second), &AfterChange(first, files), sides);
    planned.is_ok_and(|plan| plan.conflicts().next().is_none())
}

/// # Errors
/// Errors of the snapshot only: conflicts are part of the plan.
pub fn plan(
    changes: &[FileChange],
    snapshot: &dyn Snapshot,
    sides: MergeLabels<'_>,
) -> Result<ApplyPlan> {
    let deleted: BTreeSet<&RepoPath> =
        changes.iter().filter(|c| c.after.is_none()).map(|c| &c.path).collect();
    // Indexes by path, for origins.
    let places: BTreeMap<&RepoPath, usize> = if changes.iter().any(|c| c.origin.is_some()) {
        changes.iter().enumerate().map(|(at, change)| (&change.path, at)).collect()
    } else {
        BTreeMap::new()
    };
    // Index of the deletion that `change` moves.
    let source = |change: &FileChange| {
        let origin = change.origin.as_ref().filter(|_| change.before.is_none())?;
        let at = *places.get(origin)?;
        changes.get(at).is_some_and(|source| source.after.is_none()).then_some(at)
    };
    let mut moved_on = BTreeSet::new();
    let mut files = Vec::with_capacity(changes.len());
    for change in changes {
        let now = present(change, snapshot, &deleted)?;
        let (after, outcome) =
            match moved(change, &now, source(change).map(|at| &changes[at]), snapshot, sides)? {
                Some((from, file)) => {
                    moved_on.insert(from);
                    (Some(file), MergeStatus::Merged(MergedBy::Moved))
                }
                None => plan_file(change, &now, snapshot, sides)?,
            };
        files.push(PlannedFile { path: change.path.clone(), now, after, outcome });
    }
    for (at, change) in changes.iter().enumerate() {
        // The source was moved or deleted since, and the target is missing.
        let source = source(change).filter(|source| changes[*source].before.is_some());
        let source = source.filter(|source| files[*source].now.is_none());
        if let Some(source) = source.filter(|_| files[at].now.is_none()) {
            let (reason, hunks) = (ConflictReason::Missing, Vec::new());
            files[source].outcome = MergeStatus::Conflict(Conflict { reason, hunks, marked: None });
        }
    }
    for file in files.iter_mut().filter(|file| moved_on.contains(&file.path)) {
        if matches!(file.outcome, MergeStatus::Conflict(_)) {
            (file.after, file.outcome) = (None, MergeStatus::Merged(MergedBy::Moved));
        }
    }
    Ok(ApplyPlan { files })
}

pub fn inverse(changes: &[FileChange]) -> Vec<FileChange> {
    changes
        .iter()
        .map(|change| FileChange {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
            origin: None,
            snippets: Vec::new(),
        })
        .collect()
}

/// A directory that the change itself empties counts as absent.
fn present(
    change: &FileChange,
    snapshot: &dyn Snapshot,
    deleted: &BTreeSet<&RepoPath>,
) -> Result<Option<File>> {
    match snapshot.file(&change.path) {
        Err(error)
            if error.is(&codes::DIRECTORY)
                && change.before.is_none()
                && deleted.iter().any(|path| path.parents().any(|p| p == change.path)) =>
        {
            Ok(None)
        }
        other => other,
    }
}

/// Moves the present content if the moved file has changed since.
fn moved(
    change: &FileChange,
    now: &Option<File>,
    source: Option<&FileChange>,
    snapshot: &dyn Snapshot,
    sides: MergeLabels<'_>,
) -> Result<Option<(RepoPath, File)>> {
    let (Some(source), None, Some(theirs)) = (source, now, &change.after) else { return Ok(None) };
    let origin = &source.path;
    let (Some(base), Some(ours)) = (&source.before, snapshot.file(origin)?) else {
        return Ok(None);
    };
    if *base == ours {
        return Ok(None);
    }
    let mode = merge_mode(base.mode, ours.mode, theirs.mode);
    Ok(match merge_by_attribute(&change.path, base, &ours, theirs, snapshot, sides)? {
        MergeOutcome::Clean(bytes) => Some((origin.clone(), File { bytes, mode })),
        _ => None,
    })
}

/// As [`merge`], but binary for a file that git does not merge by lines.
fn merge_by_attribute(
    path: &RepoPath,
    base: &File,
    ours: &File,
    theirs: &File,
    snapshot: &dyn Snapshot,
    sides: MergeLabels<'_>,
) -> Result<MergeOutcome> {
    let (base, ours, theirs) = (&base.bytes, &ours.bytes, &theirs.bytes);
    let is_met = base != ours && base != theirs && ours != theirs;
    if is_met && !snapshot.merges_lines(path)? {
        return Ok(MergeOutcome::Binary);
    }
    Ok(merge(base, ours, theirs, sides))
}

fn plan_file(
    change: &FileChange,
    now: &Option<File>,
    snapshot: &dyn Snapshot,
    sides: MergeLabels<'_>,
) -> Result<(Option<File>, MergeStatus)> {
    if *now == change.before {
        return Ok((change.after.clone(), MergeStatus::Clean));
    }
    if *now == change.after {
        return Ok((now.clone(), MergeStatus::Already));
    }
    let both = |base: &File, ours, theirs| {
        merge_by_attribute(&change.path, base, ours, theirs, snapshot, sides)
    };
    let conflict = |reason, hunks, marked| {
        (now.clone(), MergeStatus::Conflict(Conflict { reason, hunks, marked }))
    };
    let merged = match (&change.before, now, &change.after) {
        (Some(base), Some(ours), Some(theirs)) => {
            let mode = merge_mode(base.mode, ours.mode, theirs.mode);
            three_way(change, ours, mode, both(base, ours, theirs)?)
        }
        (None, Some(ours), Some(theirs)) => {
            let base = File { bytes: Vec::new(), mode: theirs.mode };
            match both(&base, ours, theirs)? {
                // Same bytes, another mode: the change decides.
                MergeOutcome::Clean(bytes) if bytes == theirs.bytes => {
                    Ok((File { bytes, mode: theirs.mode }, MergedBy::ThreeWay))
                }
                MergeOutcome::Conflict { marked, hunks } => {
                    let marked = File { bytes: marked, mode: ours.mode };
                    Err((ConflictReason::Exists, hunks, Some(marked)))
                }
                _ => Err((ConflictReason::Exists, Vec::new(), None)),
            }
        }
        (_, Some(_), None) => Err((ConflictReason::ChangedSince, Vec::new(), None)),
        (_, None, _) => Err((ConflictReason::Missing, Vec::new(), None)),
    };
    Ok(match merged {
        Err((reason, hunks, marked)) => conflict(reason, hunks, marked),
        Ok((file, _)) if Some(&file) == now.as_ref() => (now.clone(), MergeStatus::Already),
        Ok((file, how)) => (Some(file), MergeStatus::Merged(how)),
    })
}

type MergeFailure = (ConflictReason, Vec<ConflictHunk>, Option<File>);

fn three_way(
    change: &FileChange,
    ours: &File,
    mode: Mode,
    merged: MergeOutcome,
) -> std::result::Result<(File, MergedBy), MergeFailure> {
    match merged {
        MergeOutcome::Clean(bytes) => Ok((File { bytes, mode }, MergedBy::ThreeWay)),
        MergeOutcome::Binary => Err((ConflictReason::Binary, Vec::new(), None)),
        MergeOutcome::Conflict { marked, hunks } => match rematch_snippets(change, ours) {
            Some(bytes) => Ok((File { bytes, mode }, MergedBy::Snippet)),
            None => Err((ConflictReason::Content, hunks, Some(File { bytes: marked, mode }))),
        },
    }
}

/// `None` unless all snippets match as stated and none seems applied already.
fn rematch_snippets(change: &FileChange, ours: &File) -> Option<Vec<u8>> {
    use bstr::ByteSlice;
    let already =
        |s: &super::Snippet| s.new.find(&s.old).is_some() && ours.bytes.find(&s.new).is_some();
    if change.snippets.is_empty() || change.snippets.iter().any(already) {
        return None;
    }
    snippet::apply_all(&change.path, ours, &change.snippets).ok().map(|file| file.bytes)
}

/// The side that changed the mode decides.
fn merge_mode(base: Mode, ours: Mode, theirs: Mode) -> Mode {
    if ours == base { theirs } else { ours }
}

impl ApplyPlan {
    pub fn conflicts(&self) -> impl Iterator<Item = (&PlannedFile, &Conflict)> {
        self.files.iter().filter_map(|file| match &file.outcome {
            MergeStatus::Conflict(conflict) => Some((file, conflict)),
            _ => None,
        })
    }

    pub fn writes(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| file.now != file.after)
    }

    pub fn already(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| file.outcome == MergeStatus::Already)
    }

    pub fn is_already_there(&self) -> bool {
        self.already().count() == self.files.len()
    }

    pub fn refusal(&self) -> Option<Error> {
        let list: Vec<serde_json::Value> = self
            .conflicts()
            .map(|(file, conflict)| {
                let hunks: Vec<serde_json::Value> = conflict.hunks.iter().map(hunk_json).collect();
                serde_json::json!({
                    "path": file.path,
                    "reason": conflict.reason.as_str(),
                    "hunks": hunks,
                })
            })
            .collect();
        let (file, conflict) = self.conflicts().next()?;
        let more = match list.len() {
            1 => String::new(),
            n => format!(" (and {} more in conflict)", n - 1),
        };
        let message = format!("{} {}{more}", file.path.display(), conflict.reason.meaning());
        Some(
            Error::new(&codes::CONFLICT, message)
                .with("path", file.path.display().to_string())
                .with("conflicts", list),
        )
    }

    /// # Errors
    /// `conflict` if lines cannot show one (binary, missing, deleted).
    pub fn with_markers(mut self) -> Result<Self> {
        for file in &mut self.files {
            if let MergeStatus::Conflict(conflict) = &file.outcome {
                let Some(marked) = &conflict.marked else {
                    let message = format!("{} {}", file.path.display(), conflict.reason.meaning());
                    return Err(Error::new(&codes::CONFLICT, message)
                        .with("path", file.path.display().to_string())
                        .hint("conflict markers cannot show this; settle that file by hand"));
                };
                file.after = Some(marked.clone());
            }
        }
        Ok(self)
    }
}

fn hunk_json(hunk: &ConflictHunk) -> serde_json::Value {
    serde_json::json!({
        "line": hunk.line,
        "current": String::from_utf8_lossy(&hunk.ours),
        "proposed": String::from_utf8_lossy(&hunk.theirs),
    })
}

#[cfg(test)]
mod tests;
