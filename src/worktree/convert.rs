//! Converts between git's form of a file and its bytes in the work tree: line endings, `$Id$`.
//!
//! Other rooms see git's form only: a changeset's bytes are those of the blobs to be committed.

use bstr::{BStr, ByteSlice as _};

use super::{Worktree, cannot_read, in_submodule};
use crate::beneath::{DirectoryLookup, Stamp};
use crate::changeset::hunks::{Diff, Text};
use crate::changeset::{File, Mode, RepoPath};
use crate::error::Result;

/// `None`: the bytes stay the same.
pub trait Conversion: std::fmt::Debug {
    /// Converts to git's form.
    ///
    /// # Errors
    /// If attributes or configuration cannot be read.
    fn to_git(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>>;

    fn merges_lines(&self, path: &RepoPath) -> Result<bool>;

    /// Git's mode of the file, if the file system's is meaningless (`core.fileMode = false`).
    fn mode(&self, path: &RepoPath) -> Option<Mode>;

    /// Also for a submodule that is not checked out.
    fn is_submodule(&self, path: &BStr) -> bool;

    /// Converts to a checkout's bytes.
    fn to_worktree(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Notes files about to be written: new attributes change conversions.
    fn expect(&self, changes: &mut dyn Iterator<Item = (&RepoPath, Option<&File>)>) -> Result<()>;

    /// The conversion after those writes, if it differs.
    fn after_writes(&self) -> Option<&dyn Conversion>;
}

impl Worktree {
    /// Announces all files about to be written, once: git reads them by new attributes among them.
    pub fn expect<'a>(
        &self,
        mut changes: impl Iterator<Item = (&'a RepoPath, Option<&'a File>)>,
    ) -> Result<()> {
        match &self.conversion {
            Some(conversion) => conversion.expect(&mut changes),
            None => Ok(()),
        }
    }

    #[must_use]
    pub fn with_conversion(mut self, conversion: impl Conversion + 'static) -> Self {
        self.conversion = Some(Box::new(conversion));
        self
    }

    /// For comparison with bytes that were written.
    #[must_use]
    pub fn without_conversion(mut self) -> Self {
        self.conversion = None;
        self
    }

    pub(super) fn mode(&self, path: &RepoPath, stamp: &Stamp) -> Mode {
        let recorded = self.conversion.as_ref().and_then(|conversion| conversion.mode(path));
        recorded.unwrap_or_else(|| super::mode(stamp))
    }

    /// Refuses a new file in a submodule that is not checked out. Its directory is empty or
    /// missing, so the disk does not show the submodule.
    pub(super) fn refuse_submodule(&self, path: &RepoPath, place: &DirectoryLookup) -> Result<()> {
        let Some(conversion) = &self.conversion else { return Ok(()) };
        let empty = match place {
            DirectoryLookup::Directory(directory) => {
                directory.is_empty().map_err(|error| cannot_read(path, &error))?
            }
            DirectoryLookup::Missing(_) => true,
            DirectoryLookup::Blocked(_) => false,
        };
        let whole = path.as_bstr();
        let mut above = whole.rfind_iter("/").map(|slash| whole[..slash].as_bstr());
        if empty && above.any(|directory| conversion.is_submodule(directory)) {
            Err(in_submodule(path))
        } else {
            Ok(())
        }
    }

    pub(super) fn to_git(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        match &self.conversion {
            Some(conversion) => conversion.to_git(path, bytes),
            None => Ok(None),
        }
    }

    /// Converts `after` for a file that has the bytes `raw`, or `stored` in git's form. `None` if
    /// `after` is written as it is.
    ///
    /// A file with a checkout's bytes gets a checkout's bytes. Else unchanged lines keep their
    /// bytes, and changed lines end like the line above.
    pub(super) fn to_disk(
        &self,
        path: &RepoPath,
        now: Option<(&[u8], &[u8])>,
        after: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let Some(present) = self.conversion.as_deref() else { return Ok(None) };
        let conversion = present.after_writes().unwrap_or(present);
        if let Some((raw, stored)) = now {
            let fresh = present.to_worktree(path, stored)?;
            let fresh = fresh.as_deref().unwrap_or(stored);
            // Equal pointers mean an unconverted file: a large one is not compared with itself.
            if !std::ptr::eq(fresh, raw) && fresh != raw {
                let kept = keep_lines(raw, stored, after);
                let again = conversion.to_git(path, &kept)?;
                if again.as_deref().unwrap_or(&kept) == after {
                    return Ok(Some(kept).filter(|kept| kept != after));
                }
            }
        }
        conversion.to_worktree(path, after)
    }
}

/// Replaces lines of `after` that occur in `stored` by those of `raw`.
fn keep_lines(raw: &[u8], stored: &[u8], after: &[u8]) -> Vec<u8> {
    let text = Text::new(raw);
    let diff = Diff::new(stored, after);
    if text.len() != diff.before().len() {
        return after.into();
    }
    let mut out = Vec::with_capacity(raw.len() + after.len().saturating_sub(stored.len()));
    let mut done = 0;
    for edit in diff.edits() {
        out.extend_from_slice(text.lines(done..edit.before.start));
        let above = edit.before.start.checked_sub(1).unwrap_or(edit.before.end);
        let crlf = above < text.len() && text.line(above).ends_with(b"\r\n");
        for number in edit.after.clone() {
            let line = diff.after().line(number);
            match line.strip_suffix(b"\n") {
                Some(content) if crlf && !content.ends_with(b"\r") => {
                    out.extend_from_slice(content);
                    out.extend_from_slice(b"\r\n");
                }
                _ => out.extend_from_slice(line),
            }
        }
        done = edit.before.end;
    }
    out.extend_from_slice(text.lines(done..text.len()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_change_keep_their_endings() {
        let keep = |raw: &str, after: &str| {
            let stored = raw.replace("\r\n", "\n");
            String::from_utf8(keep_lines(raw.as_bytes(), stored.as_bytes(), after.as_bytes()))
                .unwrap()
        };
        assert_eq!(keep("a\r\nb\nc\r\n", "a\nb\nx\nc\n"), "a\r\nb\nx\nc\r\n");
        assert_eq!(keep("a\r\nb\nc\r\n", "a\nx\nb\nc\ny\n"), "a\r\nx\r\nb\nc\r\ny\r\n");
        assert_eq!(keep("a\nb\n", "x\nb\n"), "x\nb\n");
        assert_eq!(keep("a\r\nb\r\n", "x\nb\n"), "x\r\nb\r\n");
        assert_eq!(keep("a\r\nb\nc", "a\nb\nd"), "a\r\nb\nd");
        assert_eq!(keep("", "d"), "d");
    }
}
