//! File names as git quotes them in patches.

use std::borrow::Cow;

use bstr::{BStr, ByteSlice as _};

use crate::changeset::RepoPath;

/// Quotes both together where a byte needs it (`core.quotePath` default).
pub fn name(prefix: &[u8], path: &RepoPath) -> Vec<u8> {
    let full = [prefix, path.as_bstr().as_bytes()].concat();
    match gix::quote::ansi_c::quote(BStr::new(&full)) {
        Cow::Borrowed(_) => full,
        Cow::Owned(quoted) => quoted.into(),
    }
}

/// In `---` and `+++`, a TAB ends a name with a space.
pub(super) fn with_tab(mut name: Vec<u8>) -> Vec<u8> {
    if name.contains(&b' ') && !name.starts_with(b"\"") {
        name.push(b'\t');
    }
    name
}
