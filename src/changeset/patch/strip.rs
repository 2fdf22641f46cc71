//! How many leading components the names of a unified diff carry.

use super::Options;
use crate::changeset::unified::{FilePatch, Side, names};
use crate::changeset::{RepoPath, Snapshot};

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

/// Most files of a patch that are looked at.
const MOST: usize = 50;

/// As asked; else one component, unless the names have no prefix: that is the case where no name
/// has a slash, or where the names make sense of the present files only as they are.
pub(super) fn choose(patches: &[FilePatch<'_>], files: &dyn Snapshot, options: &Options) -> Strip {
    if let Some(count) = options.strip {
        return Strip { count, guessed: false };
    }
    let one = Strip { count: 1, guessed: false };
    let none = Strip { count: 0, guessed: true };
    if patches.iter().take(MOST).any(moves_without_prefix) {
        return none;
    }
    // A handful is enough to tell, and keeps a hostile patch from having every file read twice.
    let names = patches.iter().filter_map(header_names);
    // An absolute path is taken as it is.
    let names = names.filter(|pair| !pair.iter().flatten().any(|name| name.starts_with(b"/")));
    let sample: Vec<_> = names.take(MOST).collect();
    if sample.is_empty() || sample.iter().all(has_prefixes) {
        return one;
    }
    if sample.iter().any(is_without_prefix) {
        return none;
    }
    let (mut with, mut without) = (0, 0);
    for pair in &sample {
        // One of them may be a copy that somebody kept, as in `--- src/x.orig` and `+++ src/x`.
        let any = |read: fn(&[u8]) -> Option<&[u8]>| {
            usize::from(pair.iter().flatten().any(|name| exists(read(name), files)))
        };
        with += any(|name| names::strip(name, 1));
        without += any(|name| Some(name));
    }
    let unlike_prefix = |name: &Vec<u8>| !PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    // Both names with the same prefix is what no option of git but `--no-prefix` gives.
    let slash = |name: &[u8]| name.iter().position(|b| *b == b'/');
    let bare = sample.iter().all(|pair| match pair {
        [Some(old), Some(new)] => slash(old).is_some_and(|end| new.starts_with(&old[..=end])),
        [one, other] => one.iter().chain(other).all(unlike_prefix),
    });
    if without > with || (without == with && bare) { none } else { one }
}

/// The names of the `---` and `+++` lines, where there are any, and of a file that comes or goes
/// what stands in the place of its other name.
fn header_names(patch: &FilePatch<'_>) -> Option<[Option<Vec<u8>>; 2]> {
    let name = |side: &Option<Side>| match side {
        Some(Side::Name(name)) => Some(name.clone()),
        _ => None,
    };
    let pair = [name(&patch.old), name(&patch.new)];
    if pair.iter().all(Option::is_some) {
        return Some(pair);
    }
    // The `diff --git` line: with prefixes its two names differ as they stand.
    let agrees =
        |there: &Option<Vec<u8>>, name: &Vec<u8>| there.as_ref().is_none_or(|there| there == name);
    let both = names::pairs(patch.git.unwrap_or_default()).into_iter().find(|(old, new)| {
        let same = old == new
            || names::strip(old, 1).is_some_and(|name| Some(name) == names::strip(new, 1));
        same && agrees(&pair[0], old) && agrees(&pair[1], new)
    });
    match both {
        Some((old, new)) => Some([Some(old), Some(new)]),
        None => pair.iter().any(Option::is_some).then_some(pair),
    }
}

/// Are the names of a rename or copy, which never have a prefix, those of the header as they stand?
fn moves_without_prefix(patch: &FilePatch<'_>) -> bool {
    let (Some(from), Some(to)) = (&patch.from, &patch.to) else { return false };
    let header = match (&patch.old, &patch.new) {
        (Some(Side::Name(old)), Some(Side::Name(new))) => vec![(old.clone(), new.clone())],
        _ => names::pairs(patch.git.unwrap_or_default()),
    };
    // Turned backwards, `from` may be what stands second.
    header.iter().any(|(old, new)| [(from, to), (to, from)].contains(&(old, new)))
}

/// Is there a name that is none any more without its first component? Not if only the other one
/// has a prefix, as in `--- x` and `+++ b/x`.
fn is_without_prefix(pair: &[Option<Vec<u8>>; 2]) -> bool {
    let stripped = |name: &Option<Vec<u8>>| {
        name.as_ref().map(|name| names::strip(name, 1).map(<[u8]>::to_vec))
    };
    let [old, new] = pair;
    match (stripped(old), stripped(new)) {
        (Some(None), Some(Some(new))) => Some(&new) != old.as_ref(),
        (Some(Some(old)), Some(None)) => Some(&old) != new.as_ref(),
        (old, new) => old == Some(None) || new == Some(None),
    }
}

fn has_prefixes(pair: &[Option<Vec<u8>>; 2]) -> bool {
    let prefix = |name: &Vec<u8>| PREFIXES.iter().position(|prefix| name.starts_with(prefix));
    match pair {
        [Some(old), Some(new)] => {
            prefix(old).is_some() && prefix(new).is_some() && prefix(old) != prefix(new)
        }
        [Some(one), None] | [None, Some(one)] => prefix(one).is_some(),
        [None, None] => true,
    }
}

/// A directory is not what a patch is for; whatever else cannot be read is there, and the real reading
/// reports it.
fn exists(name: Option<&[u8]>, files: &dyn Snapshot) -> bool {
    let path = name.and_then(|name| RepoPath::from_tree(name).ok());
    path.is_some_and(|path| match files.file(&path) {
        Ok(file) => file.is_some(),
        Err(error) => !error.is(&crate::changeset::codes::DIRECTORY),
    })
}
