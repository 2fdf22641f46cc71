//! The number of leading components in names of a unified diff.

use bstr::ByteSlice as _;

use super::Options;
use crate::changeset::unified::{FilePatch, HeaderName, names};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strip {
    pub count: usize,
    /// Differs from git's default of one.
    pub guessed: bool,
}

/// By default and with `diff.mnemonicPrefix`.
const PREFIXES: [&[u8]; 6] = [b"a/", b"b/", b"i/", b"w/", b"c/", b"o/"];

/// One, unless most names have no prefix.
pub(super) fn choose(patches: &[FilePatch<'_>], options: &Options) -> Strip {
    if let Some(count) = options.strip {
        return Strip { count, guessed: false };
    }
    let votes: Vec<bool> = patches.iter().filter_map(has_prefix).collect();
    let with = votes.iter().filter(|has| **has).count();
    let guessed = with * 2 < votes.len();
    Strip { count: usize::from(!guessed), guessed }
}

/// `None` if unknown.
fn has_prefix(patch: &FilePatch<'_>) -> Option<bool> {
    let pairs = names::pairs(patch.git.unwrap_or_default());
    // Renames and copies have no prefix. In a reversed patch `from` is the second name.
    if let (Some(from), Some(to)) = (&patch.from, &patch.to) {
        return Some(
            !pairs.iter().any(|(old, new)| [(from, to), (to, from)].contains(&(old, new))),
        );
    }
    let (old, new) = match (&patch.old, &patch.new) {
        (Some(HeaderName::Name(old)), Some(HeaderName::Name(new))) => (old.clone(), new.clone()),
        // The `diff --git` line has both names of a created or deleted file.
        (Some(HeaderName::Name(one)), _) | (_, Some(HeaderName::Name(one))) => {
            match pairs.into_iter().find(|(old, new)| [old, new].contains(&one)) {
                Some(pair) => pair,
                None if one.starts_with(b"/") => return None,
                None => return Some(PREFIXES.iter().any(|prefix| one.starts_with(prefix))),
            }
        }
        _ => pairs.into_iter().find(|(old, new)| old == new || agree(old, new))?,
    };
    if old.starts_with(b"/") || new.starts_with(b"/") {
        return None;
    }
    let directory = |name: &[u8]| name.split_once_str("/").map(|(first, _)| first.to_vec());
    Some(match (directory(&old), directory(&new)) {
        _ if old == new => false,
        _ if agree(&old, &new) => true,
        // Only one has a prefix: `--- x` and `+++ b/x`.
        (None, Some(_)) => names::strip(&new, 1) == Some(&old),
        (Some(_), None) => names::strip(&old, 1) == Some(&new),
        // Neither has: `--- src/x.orig` and `+++ src/x`.
        (one, other) => one != other,
    })
}

fn agree(old: &[u8], new: &[u8]) -> bool {
    names::strip(old, 1).is_some_and(|name| names::strip(new, 1) == Some(name))
}
