//! How many leading components the names of a unified diff carry.

use bstr::ByteSlice as _;

use super::Options;
use crate::changeset::unified::{FilePatch, Side, names};

/// What to take off, and whether that was a guess worth mentioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strip {
    /// Components to take off.
    pub count: usize,
    /// Chosen against git's default of one.
    pub guessed: bool,
}

/// Prefixes git puts before names: by default, and with `diff.mnemonicPrefix`.
const PREFIXES: [&[u8]; 6] = [b"a/", b"b/", b"i/", b"w/", b"c/", b"o/"];

/// As asked; else one component, unless most names show that they have no prefix.
pub(super) fn choose(patches: &[FilePatch<'_>], options: &Options) -> Strip {
    if let Some(count) = options.strip {
        return Strip { count, guessed: false };
    }
    let votes: Vec<bool> = patches.iter().filter_map(has_prefix).collect();
    let with = votes.iter().filter(|has| **has).count();
    let guessed = with * 2 < votes.len();
    Strip { count: usize::from(!guessed), guessed }
}

/// Do the names of a header have prefixes? `None` where it says nothing of that.
fn has_prefix(patch: &FilePatch<'_>) -> Option<bool> {
    let pairs = names::pairs(patch.git.unwrap_or_default());
    // Renames and copies are named without a prefix. Turned backwards, `from` is what stands second.
    if let (Some(from), Some(to)) = (&patch.from, &patch.to) {
        return Some(
            !pairs.iter().any(|(old, new)| [(from, to), (to, from)].contains(&(old, new))),
        );
    }
    let (old, new) = match (&patch.old, &patch.new) {
        (Some(Side::Name(old)), Some(Side::Name(new))) => (old.clone(), new.clone()),
        // Of a file that comes or goes, the `diff --git` line has both names.
        (Some(Side::Name(one)), _) | (_, Some(Side::Name(one))) => {
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
        // Only one of them has a prefix, as in `--- x` and `+++ b/x`.
        (None, Some(_)) => names::strip(&new, 1) == Some(&old),
        (Some(_), None) => names::strip(&old, 1) == Some(&new),
        // As in `--- src/x.orig` and `+++ src/x`, neither has.
        (one, other) => one != other,
    })
}

/// Are two names the same without their first component?
fn agree(old: &[u8], new: &[u8]) -> bool {
    names::strip(old, 1).is_some_and(|name| names::strip(new, 1) == Some(name))
}
