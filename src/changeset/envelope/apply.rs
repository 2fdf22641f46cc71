//! The operations of an envelope, judged on the present files one after another.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use super::{Change, Operation, parse, there, update, wrapper};
use crate::changeset::fit::{Action, Compiled, Dialect, FileReport, may_be_applied};
use crate::changeset::hunks::Text;
use crate::changeset::limits::Budget;
use crate::changeset::unified::LineKind;
use crate::changeset::{Changeset, File, FileChange, RepoPath, Snapshot, codes};
use crate::error::{Error, Result};

/// Compiles an envelope against `files`.
///
/// # Errors
/// See [`crate::changeset::patch::read`].
pub fn compile(bytes: &[u8], files: &dyn Snapshot) -> Result<Compiled> {
    let mut operations = parse(bytes)?;
    let directory = wrapper::directory(bytes, files)?;
    let names = names(&operations, directory.as_ref(), files);
    for (operation, (name, target)) in operations.iter_mut().zip(&names) {
        operation.path = name;
        if let (Change::Update { to, .. }, Some(target)) = (&mut operation.kind, target) {
            *to = Some(target);
        }
    }
    let compiled = compile_all(&operations, files);
    let Some(directory) = directory else { return compiled };
    require_directory(&directory, &operations, files)?;
    compiled.map_err(|error| {
        if error.is(&codes::FILE_NOT_FOUND) {
            error.hint(format!(
                "check the path; behind `cd` in front of the patch it starts at '{}'",
                directory.display()
            ))
        } else {
            error
        }
    })
}

/// The names of files that `operations` have, and those that they move them to, from the top of `files`;
/// read in `directory`, if there is one.
fn names(
    operations: &[Operation<'_>],
    directory: Option<&RepoPath>,
    files: &dyn Snapshot,
) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let name = |name: &[u8]| {
        let name = name.strip_prefix(b"./").unwrap_or(name);
        files.below_top(name).unwrap_or_else(|| match directory {
            // An absolute one that leads elsewhere is refused as such.
            Some(directory) if !name.starts_with(b"/") => {
                [directory.as_bstr().as_bytes(), b"/", name].concat()
            }
            _ => name.to_vec(),
        })
    };
    let both = |operation: &Operation<'_>| match operation.kind {
        Change::Update { to: Some(to), .. } => (name(operation.path), Some(name(to))),
        _ => (name(operation.path), None),
    };
    operations.iter().map(both).collect()
}

/// A shell would not have come to a patch behind a `cd` that fails. Where a file in the directory is
/// changed, the directory is there.
fn require_directory(
    directory: &RepoPath,
    operations: &[Operation<'_>],
    files: &dyn Snapshot,
) -> Result<()> {
    if operations.iter().any(|operation| !matches!(operation.kind, Change::Add(_))) {
        return Ok(());
    }
    match files.file(directory) {
        Err(error) if error.is(&codes::DIRECTORY) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            let name = directory.display().to_string();
            Err(Error::new(&codes::FILE_NOT_FOUND, format!("{name} is not a directory"))
                .with("path", name)
                .hint("check `cd` in front of the patch; it starts at the repository's top"))
        }
    }
}

fn compile_all(operations: &[Operation<'_>], files: &dyn Snapshot) -> Result<Compiled> {
    let forward = forward(operations, files);
    let applied = match &forward {
        // It fits; but so it does after an insertion that is there already.
        Ok(compiled) => compiled.doubtful,
        Err(error) => may_be_applied(error) && is_applied(operations, files)?,
    };
    if applied { already(operations, forward) } else { forward }
}

fn forward(operations: &[Operation<'_>], files: &dyn Snapshot) -> Result<Compiled> {
    let mut state = State {
        files,
        original: BTreeMap::new(),
        present: BTreeMap::new(),
        origins: BTreeMap::new(),
        budget: Budget::default(),
        there: true,
    };
    let reports =
        operations.iter().map(|operation| state.apply(operation)).collect::<Result<Vec<_>>>()?;
    Ok(Compiled {
        doubtful: state.there,
        changeset: state.into_changeset()?,
        dialect: Dialect::Envelope,
        files: reports,
        notes: Vec::new(),
        already_applied: false,
    })
}

/// Is the result of every operation there? Deleted files alone show nothing.
fn is_applied(operations: &[Operation<'_>], files: &dyn Snapshot) -> Result<bool> {
    let mut seen = false;
    for operation in operations {
        let from = path(operation.path)?;
        let file = files.file(&from)?;
        let there = match &operation.kind {
            Change::Delete => {
                if file.is_some() {
                    return Ok(false);
                }
                continue;
            }
            Change::Add(lines) => file.is_some_and(|file| file.bytes == content(lines)),
            Change::Update { to, chunks } => {
                let to = to.map_or_else(|| Ok(from.clone()), path)?;
                let holds = |file: File| {
                    (chunks.is_empty() && to != from)
                        || there::is_applied(&to, &file.bytes, chunks, to != from)
                };
                if to == from {
                    file.is_some_and(holds)
                } else {
                    file.is_none() && files.file(&to)?.is_some_and(holds)
                }
            }
        };
        if !there {
            return Ok(false);
        }
        seen = true;
    }
    Ok(seen)
}

fn already(operations: &[Operation<'_>], forward: Result<Compiled>) -> Result<Compiled> {
    let mut files = match forward {
        Ok(compiled) => compiled.files,
        Err(_) => operations.iter().map(report).collect::<Result<Vec<_>>>()?,
    };
    files.iter_mut().for_each(|file| file.hunks.clear());
    Ok(Compiled {
        changeset: Changeset::default(),
        dialect: Dialect::Envelope,
        files,
        notes: Vec::new(),
        already_applied: true,
        doubtful: false,
    })
}

/// What an operation says, without regard to what is there.
fn report(operation: &Operation<'_>) -> Result<FileReport> {
    let mut at = path(operation.path)?;
    let mut origin = None;
    let (action, added, removed) = match &operation.kind {
        Change::Add(lines) => (Action::Added, lines.len(), 0),
        Change::Delete => (Action::Deleted, 0, 0),
        Change::Update { to, chunks } => {
            let to = to.map(path).transpose()?.filter(|to| *to != at);
            let action = if to.is_some() { Action::Renamed } else { Action::Modified };
            if let Some(to) = to {
                origin = Some(std::mem::replace(&mut at, to));
            }
            let count = |kind| chunks.iter().map(|chunk| chunk.count(kind)).sum();
            (action, count(LineKind::Added), count(LineKind::Removed))
        }
    };
    Ok(FileReport { path: at, origin, action, added, removed, hunks: Vec::new() })
}

fn path(name: &[u8]) -> Result<RepoPath> {
    RepoPath::new(name.strip_prefix(b"./").unwrap_or(name))
}

/// The content of an added file: every line ends in LF.
fn content(lines: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for line in lines {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    bytes
}

struct State<'a> {
    files: &'a dyn Snapshot,
    original: BTreeMap<RepoPath, Option<File>>,
    present: BTreeMap<RepoPath, Option<File>>,
    origins: BTreeMap<RepoPath, RepoPath>,
    budget: Budget,
    /// Every operation so far finds its result where it would put it.
    there: bool,
}

impl State<'_> {
    fn file(&mut self, path: &RepoPath) -> Result<Option<File>> {
        if let Some(file) = self.present.get(path).or_else(|| self.original.get(path)) {
            return Ok(file.clone());
        }
        let file = match self.files.file(path) {
            // A directory that an operation above has emptied gives way to a file.
            Err(error) if error.is(&codes::DIRECTORY) && self.emptied(path) => None,
            other => other?,
        };
        self.budget.spend(file.as_ref())?;
        self.original.insert(path.clone(), file.clone());
        Ok(file)
    }

    /// Has a file been taken away from below `directory`? That others stay there is noticed when it
    /// is written.
    fn emptied(&self, directory: &RepoPath) -> bool {
        self.present
            .iter()
            .any(|(path, file)| file.is_none() && path.parents().any(|above| above == *directory))
    }

    fn existing(&mut self, path: &RepoPath) -> Result<File> {
        self.file(path)?.ok_or_else(|| {
            Error::new(&codes::FILE_NOT_FOUND, format!("{} does not exist", path.display()))
                .with("path", path.display().to_string())
                .hint("check the path; it starts at the repository's top")
        })
    }

    fn check_free(&mut self, path: &RepoPath) -> Result<()> {
        if self.file(path)?.is_none() {
            return Ok(());
        }
        Err(Error::new(&codes::FILE_EXISTS, format!("{} exists already", path.display()))
            .with("path", path.display().to_string())
            .hint(
                "an existing file is never overwritten; use '*** Update File:', or delete it first",
            ))
    }

    fn put(&mut self, path: &RepoPath, file: Option<File>) -> Result<()> {
        self.budget.spend(file.as_ref())?;
        self.present.insert(path.clone(), file);
        Ok(())
    }

    fn apply(&mut self, operation: &Operation<'_>) -> Result<FileReport> {
        let mut report = report(operation)?;
        let mut there = false;
        match &operation.kind {
            Change::Add(lines) => {
                self.check_free(&report.path)?;
                self.put(&report.path, Some(File::regular(content(lines))))?;
            }
            Change::Delete => {
                let old = self.existing(&report.path)?;
                report.removed = Text::new(&old.bytes[..]).len();
                self.put(&report.path, None)?;
            }
            Change::Update { chunks, .. } => {
                let source = report.origin.clone().unwrap_or_else(|| report.path.clone());
                let File { bytes, mode } = self.existing(&source)?;
                if report.origin.is_some() {
                    self.check_free(&report.path)?;
                }
                let updated = update::apply(&source, &bytes, chunks)?;
                there = updated.there && report.origin.is_none();
                report.hunks = updated.hunks;
                if report.origin.is_some() {
                    self.put(&source, None)?;
                    let first = self.origins.remove(&source).unwrap_or(source);
                    self.origins.insert(report.path.clone(), first);
                }
                self.put(&report.path, Some(File { bytes: updated.bytes, mode }))?;
            }
        }
        self.there &= there;
        Ok(report)
    }

    fn into_changeset(self) -> Result<Changeset> {
        let Self { present, mut original, mut origins, files, .. } = self;
        let mut changes: Vec<FileChange> = present
            .into_iter()
            .map(|(path, after)| {
                let before = original.remove(&path).flatten();
                let origin = origins
                    .remove(&path)
                    .filter(|origin| before.is_none() && after.is_some() && *origin != path);
                FileChange { path, before, after, origin, snippets: Vec::new() }
            })
            .collect();
        crate::changeset::store_form(&mut changes, files)?;
        Changeset::new(changes)
    }
}
