//! The changeset engine: every input form compiles to a [`Changeset`].
//!
//! Pure: readers get the present files through [`Snapshot`].

pub mod anchor;
pub mod bytes;
pub mod change_entry;
mod dialect;
pub mod emit;
pub mod envelope;
pub mod file;
mod fit;
pub mod globs;
pub mod hunks;
pub mod instructions;
pub mod interdiff;
pub mod limits;
pub mod locate;
pub mod marks;
pub mod merge;
pub mod moves;
pub mod open_conflicts;
pub mod patch;
pub mod path;
pub mod path_collisions;
pub mod plan;
pub mod sensitive;
pub mod size;
pub mod snippet;
pub mod unified;
pub mod unreviewed;

pub use file::{File, Mode};
pub use path::RepoPath;

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use crate::error::{Error, Result};

pub mod codes {
    crate::codes! {
        PATH_INVALID = "path_invalid", Invalid, "the path is absolute, leaves the repository, or cannot name a file";
        PATH_IN_GIT_DIR = "path_in_git_dir", Invalid, "the path enters .git";
        OLD_CONTENT_NOT_FOUND = "old_content_not_found", Invalid, "the old content is not in the file";
        OLD_CONTENT_AMBIGUOUS = "old_content_ambiguous", Invalid, "the old content is in the file more than once";
        FILE_NOT_FOUND = "file_not_found", NotFound, "the file to change does not exist";
        FILE_EXISTS = "file_exists", Conflict, "the file to create already exists";
        DIRECTORY = "is_a_directory", Invalid, "the path is a directory, not a file";
        NO_CHANGE = "no_change", Invalid, "the result equals the present content";
        NOT_TEXT = "binary_content", Invalid, "the file is binary and the request treats it as text";
        CONFLICT = "conflict", Conflict, "the file has changed since, in the same lines";
        CHANGESET_INVALID = "changeset_invalid", Invalid, "the changes name a path twice, or as file and directory";
    }
}

/// Most bytes of a proposal, both sides of all files: 64 MiB, or twice `largest`, the limit of one
/// file.
pub fn most_content(largest: u64) -> u64 {
    (64 << 20).max(largest.saturating_mul(2))
}

/// One file before and after.
///
/// `before: None` creates the file, `after: None` deletes it. A rename is a deletion and a creation
/// whose `origin` is the deleted path; a copy has only the `origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: RepoPath,
    pub before: Option<File>,
    pub after: Option<File>,
    /// For display: source of a move or copy.
    pub origin: Option<RepoPath>,
    /// The change as replacements, if written so: they can match again in a changed file.
    pub snippets: Vec<Snippet>,
}

impl FileChange {
    /// Refuses control characters in the name of a new file: a line break would split lists of
    /// names, and ordinary programs make no such names. Existing files may have them.
    ///
    /// # Errors
    /// `path_invalid`.
    pub fn refuse_control_name(&self) -> Result<()> {
        let name = self.path.as_bstr();
        // C1 too, which some terminals obey.
        if self.before.is_some() || !name.chars().any(char::is_control) {
            return Ok(());
        }
        let shown = name.to_str_lossy().escape_debug().to_string();
        let message = format!("the new file '{shown}' has a control character in its name");
        Err(Error::new(&codes::PATH_INVALID, message)
            .with("path", self.path.display().to_string())
            .hint("give it a name of printable characters"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Empty only for a new file.
    pub old: Vec<u8>,
    pub new: Vec<u8>,
    pub occurrence: Occurrence,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Occurrence {
    /// Exactly one match.
    #[default]
    Unique,
    /// Counted from 1.
    Nth(u32),
    All,
}

/// Each path once, in path order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changeset {
    changes: Vec<FileChange>,
}

impl Changeset {
    /// Sorts and checks `changes`.
    ///
    /// # Errors
    /// `changeset_invalid` if a path occurs twice, or is a directory of another; `no_change` if
    /// nothing would change.
    pub fn new(mut changes: Vec<FileChange>) -> Result<Self> {
        changes.retain(|change| change.before != change.after);
        if changes.is_empty() {
            return Err(Error::new(&codes::NO_CHANGE, "the result equals the present content")
                .hint("nothing to propose; check that old and new content differ"));
        }
        changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        for pair in changes.windows(2) {
            if pair[0].path == pair[1].path {
                return Err(Error::new(
                    &codes::CHANGESET_INVALID,
                    format!("{} is changed twice", pair[0].path.display()),
                )
                .hint("put all edits of one file together"));
            }
        }
        let created: std::collections::BTreeSet<&RepoPath> =
            changes.iter().filter(|c| c.after.is_some()).map(|c| &c.path).collect();
        for path in &created {
            for parent in path.parents() {
                if created.contains(&parent) {
                    return Err(Error::new(
                        &codes::CHANGESET_INVALID,
                        format!("{} is a file and a directory at once", parent.display()),
                    )
                    .hint("drop one of the two, or delete the file in the same change"));
                }
            }
        }
        Ok(Self { changes })
    }

    pub fn changes(&self) -> &[FileChange] {
        &self.changes
    }

    /// # Errors
    /// `size_limit_exceeded` over `limit` bytes per file, or [`most_content`] in all.
    pub fn limit_sizes(&self, limit: u64) -> Result<()> {
        let sides = self.changes().iter().flat_map(|change| [&change.before, &change.after]);
        let total: u64 = sides.flatten().map(|file| file.bytes.len() as u64).sum();
        let most = most_content(limit);
        if total > most {
            let why =
                format!("its files would have {total} bytes together, over the limit of {most}");
            return Err(Error::new(&crate::error::codes::SIZE_LIMIT, why)
                .with("limit", most)
                .hint("make several proposals of it; aye.maxFileSize raises the limit"));
        }
        for change in self.changes() {
            let size = change.after.as_ref().map_or(0, |file| file.bytes.len() as u64);
            if size > limit {
                return Err(Error::new(
                    &crate::error::codes::SIZE_LIMIT,
                    format!("'{}' would have {size} bytes, over the limit of {limit}", change.path.display()),
                )
                .with("path", change.path.display().to_string())
                .with("limit", limit)
                .hint(format!(
                    "raise it with `git config aye.maxFileSize {}` if the file is meant to be that big",
                    size::setting_for(size)
                )));
            }
        }
        Ok(())
    }

    pub fn into_changes(self) -> Vec<FileChange> {
        self.changes
    }
}

/// Present files.
pub trait Snapshot {
    /// # Errors
    /// If a symlink, submodule or directory is in the way, or the file is unreadable or over the
    /// size limit.
    fn file(&self, path: &RepoPath) -> Result<Option<File>>;

    /// The files underneath, which answer whatever these do not.
    fn base(&self) -> Option<&dyn Snapshot> {
        None
    }

    /// Announces paths, to read them together. Paths need not exist; only speed depends on it.
    fn expect(&self, paths: &[&RepoPath]) {
        if let Some(base) = self.base() {
            base.expect(paths);
        }
    }

    /// New path, if planned and unwritten changes move the file.
    fn moved(&self, path: &RepoPath) -> Option<RepoPath> {
        self.base()?.moved(path)
    }

    /// An absolute `path` relative to the top of these files; `None` if outside or unknown.
    fn below_top(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.base()?.below_top(path)
    }

    /// Applies `patch`, one binary change to a file `f`, through git.
    ///
    /// # Errors
    /// `patch_invalid`; `size_limit_exceeded` beyond `most` bytes.
    fn binary(&self, before: &[u8], patch: &[u8], most: usize) -> Result<Vec<u8>> {
        if let Some(base) = self.base() {
            return base.binary(before, patch, most);
        }
        let what = "a binary change is applied by git, which is not at hand here";
        Err(Error::new(&limits::codes::PATCH_UNSUPPORTED, what).hint("send the files themselves"))
    }

    /// Announces all content to be written: it may contain attributes, by which git reads the rest.
    fn announce(&self, changes: &[FileChange]) -> Result<()> {
        self.base().map_or(Ok(()), |base| base.announce(changes))
    }

    /// The form in which git stores `bytes` at `path`, with everything announced; `None` if
    /// unchanged.
    fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.base().map_or(Ok(None), |base| base.stored(path, bytes))
    }

    /// False if the attribute `merge` rules out a merge by lines. Asked only if both sides changed.
    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.base().map_or(Ok(true), |base| base.merges_lines(path))
    }
}

/// Converts results to the form that git stores.
pub(crate) fn store_form(changes: &mut [FileChange], files: &dyn Snapshot) -> Result<()> {
    files.announce(changes)?;
    for change in changes {
        let Some(after) = &mut change.after else { continue };
        if let Some(stored) = files.stored(&change.path, &after.bytes)? {
            after.bytes = stored;
        }
    }
    Ok(())
}

impl Snapshot for BTreeMap<RepoPath, File> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        Ok(self.get(path).cloned())
    }
}
