//! The changeset engine: what every input form compiles to, and what is applied.
//!
//! Pure: nothing here opens a file or a repository. Readers take the present state of files
//! through [`Snapshot`] and return a [`Changeset`].

pub mod anchor;
pub mod bytes;
mod dialect;
pub mod emit;
pub mod entry;
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
pub mod patch;
pub mod path;
pub mod plan;
pub mod quiet;
pub mod sensitive;
pub mod settle;
pub mod size;
pub mod snippet;
pub mod twins;
pub mod unified;

pub use file::{File, Mode};
pub use path::RepoPath;

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use crate::error::{Error, Result};

/// Error codes of the changeset engine.
pub mod codes {
    crate::codes! {
        PATH_INVALID = "path_invalid", Invalid, "a path is absolute, leaves the repository, or cannot be a file in it";
        PATH_IN_GIT_DIR = "path_in_git_dir", Invalid, "a path enters .git, in any spelling git guards against";
        OLD_CONTENT_NOT_FOUND = "old_content_not_found", Invalid, "the old content is not in the file";
        OLD_CONTENT_AMBIGUOUS = "old_content_ambiguous", Invalid, "the old content is in the file more than once";
        FILE_NOT_FOUND = "file_not_found", NotFound, "the file to change does not exist";
        FILE_EXISTS = "file_exists", Conflict, "the file to create already exists";
        DIRECTORY = "is_a_directory", Invalid, "a directory stands where the file should be";
        NO_CHANGE = "no_change", Invalid, "the result equals what is there already";
        NOT_TEXT = "binary_content", Invalid, "the file is binary and the request treats it as text";
        CONFLICT = "conflict", Conflict, "the file has changed since, and the change does not fit any more";
        CHANGESET_INVALID = "changeset_invalid", Invalid, "the same path is changed twice, or a file is also a directory";
    }
}

/// Bytes of content that a proposal may have, both sides of all files together, where one of them may have `largest`:
/// 64 MiB, or two of those.
pub fn most_content(largest: u64) -> u64 {
    (64 << 20).max(largest.saturating_mul(2))
}

/// One file, before and after.
///
/// `before: None` creates the file, `after: None` deletes it. A rename is the deletion of one
/// path and the creation of another whose `origin` names the first; a copy has the `origin` only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Where, relative to the repository's top.
    pub path: RepoPath,
    /// Content and mode the change starts from.
    pub before: Option<File>,
    /// Content and mode it leads to.
    pub after: Option<File>,
    /// For display: the path this content was moved or copied from.
    pub origin: Option<RepoPath>,
    /// The replacements the change was written as, if it was; they allow it to be matched anew
    /// in a file that has changed elsewhere.
    pub snippets: Vec<Snippet>,
}

impl FileChange {
    /// Refuses a new file whose name has control characters: a line break in a name is one in every
    /// list of names, and no program that people or agents write with makes such names. A file that
    /// is there already may have them.
    ///
    /// # Errors
    /// `path_invalid`.
    pub fn refuse_control_name(&self) -> Result<()> {
        let name = self.path.as_bstr();
        // Beside those of ASCII the C1 characters, which some terminals obey as well.
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

/// Replace one piece of text by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Bytes to find. Empty only for a new file.
    pub old: Vec<u8>,
    /// Bytes to put there.
    pub new: Vec<u8>,
    /// Which of several matches.
    pub occurrence: Occurrence,
}

/// Which of several matches of a snippet is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Occurrence {
    /// There must be exactly one.
    #[default]
    Unique,
    /// The nth, counted from 1.
    Nth(u32),
    /// Every one.
    All,
}

/// Changes to one or more files, each path once, in path order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changeset {
    changes: Vec<FileChange>,
}

impl Changeset {
    /// Orders and checks `changes`.
    ///
    /// # Errors
    /// `changeset_invalid` if a path occurs twice or one path is a directory of another's;
    /// `no_change` if nothing would change.
    pub fn new(mut changes: Vec<FileChange>) -> Result<Self> {
        changes.retain(|change| change.before != change.after);
        if changes.is_empty() {
            return Err(Error::new(&codes::NO_CHANGE, "the result equals what is there already")
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

    /// The changes, in path order.
    pub fn changes(&self) -> &[FileChange] {
        &self.changes
    }

    /// Refuses results over the size `limit` of a file, and more than a proposal may have together.
    ///
    /// # Errors
    /// `size_limit_exceeded`.
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

    /// Gives the changes up, in path order.
    pub fn into_changes(self) -> Vec<FileChange> {
        self.changes
    }
}

/// The present state of files, as a reader of a patch or snippet sees it.
pub trait Snapshot {
    /// The file at `path`, or `None` where there is none.
    ///
    /// # Errors
    /// Where something that is no regular file is in the way (symlink, submodule, directory), or it
    /// cannot be read or is over the size limit.
    fn file(&self, path: &RepoPath) -> Result<Option<File>>;

    /// Says that [`Snapshot::file`] will be asked for `paths`, so that they can be read together.
    /// Paths need not exist; nothing but speed depends on it.
    fn expect(&self, paths: &[&RepoPath]) {
        let _ = paths;
    }

    /// Where changes that are planned on these files, and are not written yet, have moved the one at `path`.
    fn moved(&self, path: &RepoPath) -> Option<RepoPath> {
        let _ = path;
        None
    }

    /// What an absolute `path` is from the top of these files; `None` if it does not lead there, or that is
    /// not known.
    fn below_top(&self, path: &[u8]) -> Option<Vec<u8>> {
        let _ = path;
        None
    }

    /// What git makes of the content `before` by `patch`, which has one binary change, of a file `f`.
    ///
    /// # Errors
    /// `patch_invalid`; `size_limit_exceeded` if that has more than `most` bytes.
    fn binary(&self, before: &[u8], patch: &[u8], most: usize) -> Result<Vec<u8>> {
        let _ = (before, patch, most);
        let what = "a binary change is applied by git, which is not at hand here";
        Err(Error::new(&limits::codes::PATCH_UNSUPPORTED, what).hint("send the files themselves"))
    }

    /// Says what is about to be written, all of it: attributes may be among it, by which git reads the rest.
    ///
    /// # Errors
    /// As [`Snapshot::stored`].
    fn announce(&self, changes: &[FileChange]) -> Result<()> {
        let _ = changes;
        Ok(())
    }

    /// What git stores of `bytes`, written to `path` with all that was announced; `None` if they stay as they are.
    ///
    /// # Errors
    /// If the repository's attributes cannot be read.
    fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let _ = (path, bytes);
        Ok(None)
    }

    /// Whether git merges the file at `path` line by line, which its attribute `merge` may rule out. Asked
    /// only where both sides have changed it.
    ///
    /// # Errors
    /// If the repository's attributes cannot be read.
    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        let _ = path;
        Ok(true)
    }
}

/// Brings the results of `changes`, as somebody wrote them, into the form that git stores.
///
/// # Errors
/// As [`Snapshot::stored`].
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
