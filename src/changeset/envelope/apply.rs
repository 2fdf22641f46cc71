//! The operations of an envelope, judged on the present files one after another.

use std::collections::BTreeMap;

use super::{Change, Chunk, Operation, parse, update};
use crate::changeset::fit::{Action, Compiled, Dialect, FileReport};
use crate::changeset::hunks::count_lines;
use crate::changeset::limits::Budget;
use crate::changeset::unified::LineKind;
use crate::changeset::{Changeset, File, FileChange, RepoPath, Snapshot, codes};
use crate::error::{Error, Result};

/// Compiles an envelope against `files`.
///
/// # Errors
/// See [`crate::changeset::patch::read`].
pub fn compile(bytes: &[u8], files: &dyn Snapshot) -> Result<Compiled> {
    let mut state = State {
        files,
        original: BTreeMap::new(),
        present: BTreeMap::new(),
        origins: BTreeMap::new(),
        budget: Budget::default(),
    };
    let operations = parse(bytes)?;
    let reports =
        operations.iter().map(|operation| state.apply(operation)).collect::<Result<Vec<_>>>()?;
    Ok(Compiled {
        changeset: state.into_changeset()?,
        dialect: Dialect::Envelope,
        files: reports,
        notes: Vec::new(),
        already_applied: false,
    })
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
}

impl State<'_> {
    /// A path as an agent writes it, which may be absolute.
    fn path(&self, name: &[u8]) -> Result<RepoPath> {
        let name = name.strip_prefix(b"./").unwrap_or(name);
        RepoPath::new(self.files.below_top(name).as_deref().unwrap_or(name))
    }

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
        let path = self.path(operation.path)?;
        let (action, added, removed) = match &operation.kind {
            Change::Add(lines) => {
                self.check_free(&path)?;
                self.put(&path, Some(File::regular(content(lines))))?;
                (Action::Added, lines.len(), 0)
            }
            Change::Delete => {
                let old = self.existing(&path)?;
                self.put(&path, None)?;
                (Action::Deleted, 0, count_lines(&old.bytes))
            }
            Change::Update { to, chunks } => return self.update(path, *to, chunks),
        };
        Ok(FileReport { path, origin: None, action, added, removed, hunks: Vec::new() })
    }

    fn update(
        &mut self,
        source: RepoPath,
        to: Option<&[u8]>,
        chunks: &[Chunk<'_>],
    ) -> Result<FileReport> {
        let to = to.map(|to| self.path(to)).transpose()?.filter(|to| *to != source);
        let File { bytes, mode } = self.existing(&source)?;
        if let Some(to) = &to {
            self.check_free(to)?;
        }
        let (bytes, hunks) = update::apply(&source, &bytes, chunks)?;
        let count = |kind| chunks.iter().map(|chunk| chunk.count(kind)).sum();
        let (added, removed) = (count(LineKind::Added), count(LineKind::Removed));
        let after = Some(File { bytes, mode });
        let Some(path) = to else {
            self.put(&source, after)?;
            let action = Action::Modified;
            return Ok(FileReport { path: source, origin: None, action, added, removed, hunks });
        };
        self.put(&source, None)?;
        self.put(&path, after)?;
        let first = self.origins.remove(&source).unwrap_or_else(|| source.clone());
        self.origins.insert(path.clone(), first);
        let action = Action::Renamed;
        Ok(FileReport { path, origin: Some(source), action, added, removed, hunks })
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
