//! The binary changes of a patch: found here, and applied by git.

use super::cursor::Cursor;
use super::refusal::{excerpt, invalid};
use crate::changeset::limits;
use crate::error::{Error, Result};

/// One half of a binary change, `literal` or `delta`, as it is in the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Its first line and its data, with the empty line that ends them.
    text: &'a [u8],
    /// Line of the patch it starts on, counted from 1.
    pub number: usize,
}

impl<'a> Block<'a> {
    /// Reads the half the cursor is on; `None` if it is on none.
    ///
    /// # Errors
    /// `patch_invalid` if the empty line that ends it is missing, as where the patch was cut off;
    /// `size_limit_exceeded`.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Option<Self>> {
        let (number, start) = (cursor.number(), cursor.rest());
        let line = cursor.peek().unwrap_or_default().trim_ascii_end();
        let kinds = [&b"literal "[..], b"delta "];
        let Some(size) = kinds.iter().find_map(|kind| line.strip_prefix(*kind)) else {
            let begun = !line.is_empty() && kinds.iter().any(|kind| kind.starts_with(line));
            return if begun && cursor.is_last() { Err(cut_off(number)) } else { Ok(None) };
        };
        let size = std::str::from_utf8(size).ok().and_then(|size| size.parse::<usize>().ok());
        let Some(size) = size else {
            return Err(invalid(number, format!("'{}' has no sound size", excerpt(line))));
        };
        if size > limits::FILE {
            return Err(limits::too_large(size, limits::FILE).with("line", number));
        }
        while let Some(line) = cursor.next() {
            if line.trim_ascii().is_empty() {
                let text = &start[..start.len() - cursor.rest().len()];
                return Ok(Some(Self { text, number }));
            }
        }
        Err(cut_off(cursor.number()))
    }

    /// A patch for git with this change alone, of a file `f` from the content with the id `old` to that with the id
    /// `new`.
    pub fn patch(&self, old: &[u8], new: &[u8]) -> Vec<u8> {
        let is_new = old.iter().all(|b| *b == b'0');
        let header: [&[u8]; 6] = [
            b"diff --git a/f b/f\n",
            if is_new { b"new file mode 100644\n" } else { b"" },
            b"index ",
            old,
            b"..",
            new,
        ];
        let mode: &[u8] = if is_new { b"" } else { b" 100644" };
        let text = bstr::ByteSlice::replace(self.text, "\r\n", "\n");
        [&header.concat(), mode, b"\nGIT binary patch\n", &text].concat()
    }
}

fn cut_off(number: usize) -> Error {
    invalid(number, "the patch ends in the middle of a binary change")
        .hint("it may have been cut off; make it again with `git diff --binary`")
}
