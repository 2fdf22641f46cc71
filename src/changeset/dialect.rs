//! Lines that identify an envelope.

use bstr::ByteSlice as _;

pub(super) enum Header<'a> {
    Add(&'a [u8]),
    Delete(&'a [u8]),
    Update(&'a [u8]),
}

/// Surrounding whitespace is ignored.
pub(super) fn header(line: &[u8]) -> Option<Header<'_>> {
    let line = line.trim().strip_prefix(b"*** ")?;
    let after = |word: &str| line.strip_prefix(word.as_bytes()).map(|rest| rest.trim());
    after("Add File:")
        .map(Header::Add)
        .or_else(|| after("Delete File:").map(Header::Delete))
        .or_else(|| after("Update File:").map(Header::Update))
}

pub fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"***") && header(line).is_some()
}
