//! Applies the operations of an envelope in order.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Chunk, Operation, OperationKind, parse, update};
use crate::changeset::fit::overlay::{Overlay, exists};
use crate::changeset::fit::{CompiledPatch, Dialect, FileAction, FileReport};
use crate::changeset::hunks::count_lines;
use crate::changeset::unified::LineKind;
use crate::changeset::{File, RepoPath, Snapshot, codes};
use crate::error::{Error, Result};

/// # Errors
/// As `patch::read`.
pub fn compile(bytes: &[u8], files: &dyn Snapshot) -> Result<CompiledPatch> {
    let mut state = EnvelopeState(Overlay::new(files));
    let operations = parse(bytes)?;
    let reports =
        operations.iter().map(|operation| state.apply(operation)).collect::<Result<Vec<_>>>()?;
    Ok(CompiledPatch {
        changeset: state.0.into_changeset()?,
        dialect: Dialect::Envelope,
        files: reports,
        notes: Vec::new(),
        already_applied: false,
    })
}

/// Every line ends in LF.
fn content(lines: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for line in lines {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    bytes
}

struct EnvelopeState<'a>(Overlay<'a>);

impl EnvelopeState<'_> {
    /// Agents may write absolute paths.
    fn path(&self, name: &[u8]) -> Result<RepoPath> {
        let name = name.strip_prefix(b"./").unwrap_or(name);
        RepoPath::new(self.0.files.below_top(name).as_deref().unwrap_or(name))
    }

    fn existing(&mut self, path: &RepoPath) -> Result<Rc<File>> {
        self.0.file(path, &BTreeSet::new())?.ok_or_else(|| {
            Error::new(&codes::FILE_NOT_FOUND, format!("{} does not exist", path.display()))
                .with("path", path.display().to_string())
                .hint("check the path; it starts at the repository's top")
        })
    }

    fn check_free(&mut self, path: &RepoPath) -> Result<()> {
        match self.0.file(path, &BTreeSet::new())? {
            None => Ok(()),
            Some(_) => Err(exists(path)),
        }
    }

    fn put(&mut self, path: &RepoPath, file: Option<File>) -> Result<()> {
        self.0.budget.spend(file.as_ref())?;
        self.0.put(BTreeMap::from([(path.clone(), file.map(Rc::new))]), Vec::new());
        Ok(())
    }

    fn apply(&mut self, operation: &Operation<'_>) -> Result<FileReport> {
        let path = self.path(operation.path)?;
        let (action, added, removed) = match &operation.kind {
            OperationKind::Add(lines) => {
                self.check_free(&path)?;
                self.put(&path, Some(File::regular(content(lines))))?;
                (FileAction::Added, lines.len(), 0)
            }
            OperationKind::Delete => {
                let old = self.existing(&path)?;
                self.put(&path, None)?;
                (FileAction::Deleted, 0, count_lines(&old.bytes))
            }
            OperationKind::Update { to, chunks } => return self.update(path, *to, chunks),
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
        let before = self.existing(&source)?;
        if let Some(to) = &to {
            self.check_free(to)?;
        }
        let (bytes, hunks) = update::apply(&source, &before.bytes, chunks)?;
        let count = |kind| chunks.iter().map(|chunk| chunk.count(kind)).sum();
        let (added, removed) = (count(LineKind::Added), count(LineKind::Removed));
        let after = Some(File { bytes, mode: before.mode });
        let Some(path) = to else {
            self.put(&source, after)?;
            let action = FileAction::Modified;
            return Ok(FileReport { path: source, origin: None, action, added, removed, hunks });
        };
        self.put(&source, None)?;
        self.put(&path, after)?;
        self.0.put(BTreeMap::new(), vec![(path.clone(), source.clone())]);
        let action = FileAction::Renamed;
        Ok(FileReport { path, origin: Some(source), action, added, removed, hunks })
    }
}
