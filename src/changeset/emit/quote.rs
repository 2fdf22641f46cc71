//! File names as git writes them into patches.

use std::borrow::Cow;

use bstr::{BStr, ByteSlice as _};

use crate::changeset::RepoPath;

/// `prefix` and `path`, C-quoted as a whole where a byte needs it (`core.quotePath` at its
/// default).
pub fn name(prefix: &[u8], path: &RepoPath) -> Vec<u8> {
    let full = [prefix, path.as_bstr().as_bytes()].concat();
    match gix::quote::ansi_c::quote(BStr::new(&full)) {
        Cow::Borrowed(_) => full,
        Cow::Owned(quoted) => quoted.into(),
    }
}

/// For `---` and `+++` lines: a name with a space is followed by a TAB, so that readers know where
/// it ends.
pub(super) fn with_tab(mut name: Vec<u8>) -> Vec<u8> {
    if name.contains(&b' ') && !name.starts_with(b"\"") {
        name.push(b'\t');
    }
    name
}
