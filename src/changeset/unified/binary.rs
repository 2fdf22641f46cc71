//! Binary changes of a patch, applied by git.

use super::cursor::Cursor;
use super::refusal::{excerpt, invalid};
use crate::changeset::limits;
use crate::error::{Error, Result};

/// One half: `literal` or `delta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// With the final empty line.
    text: &'a [u8],
    /// Line in the patch, from 1.
    pub number: usize,
}

impl<'a> Block<'a> {
    /// `None` if the cursor is not on a block.
    ///
    /// # Errors
    /// `patch_invalid` without the final empty line, as in a truncated patch;
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

    /// A git patch with this change alone, of a file `f` from blob `old` to blob `new`.
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
