//! What git stores of a file, and what lies in the work tree: line endings, `$Id$`.
//!
//! Everything above this room thinks in what git stores, as `git diff` does: a changeset's bytes
//! are those of the blobs that a commit will have. Only here, where files are read and written,
//! are they converted.

use bstr::{BStr, ByteSlice as _};

use super::{Worktree, cannot_read, in_submodule};
use crate::beneath::{Place, Stamp};
use crate::changeset::hunks::{Diff, Text};
use crate::changeset::{File, Mode, RepoPath};
use crate::error::Result;

/// How the two forms of a file correspond. `None` is for bytes that stay as they are.
pub trait Conversion: std::fmt::Debug {
    /// What git stores of the file `path` with these bytes.
    ///
    /// # Errors
    /// If the repository's attributes or configuration cannot be read.
    fn to_git(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Whether git merges the file `path` line by line.
    ///
    /// # Errors
    /// As [`Conversion::to_git`].
    fn merges_lines(&self, path: &RepoPath) -> Result<bool>;

    /// The mode that git has of the file `path` where those of the file system say nothing
    /// (`core.fileMode = false`). `None` where they do.
    fn mode(&self, path: &RepoPath) -> Option<Mode>;

    /// True if git has a submodule at `path`, checked out or not.
    fn is_submodule(&self, path: &BStr) -> bool;

    /// What a checkout of these stored bytes writes.
    ///
    /// # Errors
    /// As [`Conversion::to_git`].
    fn to_worktree(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Notes that these files are about to be written, of which some may rule over conversions.
    ///
    /// # Errors
    /// As [`Conversion::to_git`].
    fn expect(&self, changes: &mut dyn Iterator<Item = (&RepoPath, Option<&File>)>) -> Result<()>;

    /// The conversion that holds once what was noted is written, if it is another.
    fn expected(&self) -> Option<&dyn Conversion>;
}

impl Worktree {
    /// Announces what is about to be written, all of it and once: where attributes are among it,
    /// git will read the other files by those.
    ///
    /// # Errors
    /// If the repository's attributes or configuration cannot be read.
    pub fn expect<'a>(
        &self,
        mut changes: impl Iterator<Item = (&'a RepoPath, Option<&'a File>)>,
    ) -> Result<()> {
        match &self.conversion {
            Some(conversion) => conversion.expect(&mut changes),
            None => Ok(()),
        }
    }

    /// Converts files as they are read and written.
    #[must_use]
    pub fn with_conversion(mut self, conversion: impl Conversion + 'static) -> Self {
        self.conversion = Some(Box::new(conversion));
        self
    }

    /// Takes every file as it lies there: for files that are compared with what was written.
    #[must_use]
    pub fn without_conversion(mut self) -> Self {
        self.conversion = None;
        self
    }

    /// The mode that git would give the file `path`, which looks like this.
    pub(super) fn mode(&self, path: &RepoPath, stamp: &Stamp) -> Mode {
        let recorded = self.conversion.as_ref().and_then(|conversion| conversion.mode(path));
        recorded.unwrap_or_else(|| super::mode(stamp))
    }

    /// Refuses a new file in a submodule that is not checked out. Its directory, which is `place`, is
    /// empty or not there, and nothing on the disk tells whose it is.
    pub(super) fn refuse_submodule(&self, path: &RepoPath, place: &Place) -> Result<()> {
        let Some(conversion) = &self.conversion else { return Ok(()) };
        let empty = match place {
            Place::Directory(directory) => {
                directory.is_empty().map_err(|error| cannot_read(path, &error))?
            }
            Place::Missing(_) => true,
            Place::Blocked(_) => false,
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

    /// The bytes to write for the stored bytes `after`, where the file has the bytes `raw` now, of
    /// which git stores `stored`. `None` if they are the same.
    ///
    /// What a checkout would write, if the file is what a checkout wrote. Else its lines stay as
    /// they are but for those that change, which end like the line above them.
    pub(super) fn to_disk(
        &self,
        path: &RepoPath,
        now: Option<(&[u8], &[u8])>,
        after: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let Some(present) = self.conversion.as_deref() else { return Ok(None) };
        let conversion = present.expected().unwrap_or(present);
        if let Some((raw, stored)) = now {
            let fresh = present.to_worktree(path, stored)?;
            let fresh = fresh.as_deref().unwrap_or(stored);
            // A large file is not compared with itself.
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

/// `after` with the lines of `raw` wherever `stored`, line for line the same text, has them.
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
