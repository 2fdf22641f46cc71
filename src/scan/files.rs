//! Files of the work tree, and standard input.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice as _, ByteVec as _};
use walkdir::{DirEntry, WalkDir};

use super::{Content, SIZE_LIMIT, ScannedText, codes};
use crate::error::{Error, Result};

/// Named files and directories are read even if git ignores them; inside directories, untracked
/// ignored files are skipped. Symlinks inside directories are not followed, nested repositories not
/// entered.
///
/// Relative paths start at `directory`. Without `repo` only `.git` is ignored.
///
/// # Errors
/// `path_not_found`, `io_error`, `git_read_failed`; errors of `each`.
pub fn paths(
    repo: Option<&gix::Repository>,
    directory: &Path,
    paths: &[PathBuf],
    mut each: impl FnMut(ScannedText) -> Result<()>,
) -> Result<()> {
    let ignore = repo.map(Ignore::new).transpose()?;
    let mut seen = BTreeSet::new();
    for path in paths {
        let full = directory.join(path);
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(&codes::PATH_MISSING, format!("there is no {}", path.display()))
                    .hint("paths are relative to the directory you are in (or to -C)")
            }
            _ => Error::io(format_args!("read {}", path.display()), &error),
        };
        let kind = fs::metadata(&full).map_err(failed)?;
        let full = fs::canonicalize(&full).map_err(failed)?;
        let base = ignore.as_ref().map_or(&full, |i| &i.top);
        if !kind.is_dir() {
            let base = if full.starts_with(base) { base.as_path() } else { Path::new("") };
            if seen.insert(full.clone())
                && let Some(text) = read(&full, base)?
            {
                each(text)?;
            }
            continue;
        }
        // An ignored directory that is named is meant: build output before publishing.
        let rules = ignore.as_ref().filter(|ignore| !ignore.excludes(&full, true));
        for file in below(&full, rules)? {
            if seen.insert(file.clone())
                && let Some(text) = read(&file, base)?
            {
                each(text)?;
            }
        }
    }
    Ok(())
}

/// The text's path is `-`.
pub fn stdin(mut input: impl Read) -> Result<ScannedText> {
    let mut bytes = Vec::new();
    input
        .by_ref()
        .take(SIZE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io("read standard input", &error))?;
    let after = if bytes.len() as u64 > SIZE_LIMIT {
        Content::TooLarge(bytes.len() as u64)
    } else {
        Content::Text(bytes)
    };
    Ok(ScannedText { path: "-".into(), commit: None, before: None, after })
}

/// `None` if the file is not regular or is gone.
fn read(file: &Path, base: &Path) -> Result<Option<ScannedText>> {
    let failed = |error: std::io::Error| Error::io(format_args!("read {}", file.display()), &error);
    let kind = match fs::symlink_metadata(file) {
        Ok(kind) => kind,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !kind.is_file() {
        return Ok(None);
    }
    let after = if kind.len() > SIZE_LIMIT {
        Content::TooLarge(kind.len())
    } else {
        Content::Text(fs::read(file).map_err(failed)?)
    };
    let relative = file.strip_prefix(base).ok().filter(|p| !p.as_os_str().is_empty());
    let name = relative.unwrap_or_else(|| file.file_name().map_or(file, Path::new));
    let name = if relative.is_none() && base.as_os_str().is_empty() { file } else { name };
    let path = Vec::from_path_lossy(name).into_owned();
    Ok(Some(ScannedText { path: BString::from(path), commit: None, before: None, after }))
}

fn below(directory: &Path, ignore: Option<&Ignore<'_>>) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    let wanted = |entry: &DirEntry| {
        if entry.depth() == 0 {
            return true;
        }
        let is_directory = entry.file_type().is_dir();
        if entry.file_name() == ".git" || is_directory && entry.path().join(".git").exists() {
            return false;
        }
        !ignore.is_some_and(|ignore| ignore.excludes(entry.path(), is_directory))
    };
    for entry in WalkDir::new(directory).into_iter().filter_entry(wanted) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => {
                files.insert(entry.into_path());
            }
            Ok(_) => {}
            Err(error) => {
                let shown = error.path().unwrap_or(directory).display().to_string();
                let error =
                    error.into_io_error().unwrap_or_else(|| std::io::Error::other("a loop"));
                // Deleted during the walk.
                if error.kind() != std::io::ErrorKind::NotFound {
                    return Err(Error::io(format_args!("read {shown}"), &error));
                }
            }
        }
    }
    // Tracked files count even if ignored.
    if let Some(ignore) = ignore {
        files.extend(ignore.tracked().filter(|file| file.starts_with(directory)));
    }
    Ok(files)
}

struct Ignore<'repo> {
    top: PathBuf,
    stack: std::cell::RefCell<gix::AttributeStack<'repo>>,
    index: gix::worktree::Index,
}

impl<'repo> Ignore<'repo> {
    fn new(repo: &'repo gix::Repository) -> Result<Self> {
        use gix::worktree::stack::state::ignore::Source;
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(&codes::GIT_READ, format!("cannot read the ignore rules: {error}"))
                .hint("`git status` shows git's view of them")
        };
        let index = repo.index_or_empty().map_err(|e| failed(&e))?;
        let source = Source::WorktreeThenIdMappingIfNotSkipped;
        let stack = repo.excludes(&index, None, source).map_err(|e| failed(&e))?;
        let top = repo.workdir().unwrap_or_else(|| repo.git_dir());
        let top = fs::canonicalize(top).map_err(|e| Error::io("find the work tree", &e))?;
        Ok(Self { top, stack: stack.into(), index })
    }

    fn excludes(&self, path: &Path, is_directory: bool) -> bool {
        let Ok(relative) = path.strip_prefix(&self.top) else { return false };
        let kind =
            if is_directory { gix::index::entry::Mode::DIR } else { gix::index::entry::Mode::FILE };
        let mut stack = self.stack.borrow_mut();
        stack.at_path(relative, Some(kind)).is_ok_and(|platform| platform.is_excluded())
    }

    fn tracked(&self) -> impl Iterator<Item = PathBuf> {
        let is_file = |e: &&gix::index::Entry| e.mode.contains(gix::index::entry::Mode::FILE);
        self.index.entries().iter().filter(is_file).filter_map(|entry| {
            entry.path(&self.index).to_path().ok().map(|path| self.top.join(path))
        })
    }
}
