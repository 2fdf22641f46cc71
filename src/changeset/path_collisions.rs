//! Paths that are one file on a file system that ignores case or normalises Unicode. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use bstr::{BStr, BString, ByteSlice as _};
use unicode_normalization::char::decompose_canonical;

use super::{RepoPath, codes};
use crate::error::{Error, Result};

/// # Errors
/// `path_invalid` if two paths differ in case alone.
pub fn refuse<'a>(paths: impl Iterator<Item = &'a RepoPath>) -> Result<()> {
    let mut seen: HashMap<String, &RepoPath> = HashMap::new();
    for path in paths {
        let folded = path.as_bstr().to_string().to_lowercase();
        if let Some(other) = seen.insert(folded, path).filter(|other| *other != path) {
            let (one, two) = (other.display().to_string(), path.display().to_string());
            return Err(Error::new(
                &codes::PATH_INVALID,
                format!("'{one}' and '{two}' are one file here: they differ in case alone"),
            )
            .with("path", two)
            .hint(
                "rename one of them; core.ignoreCase says that this work tree is case-insensitive",
            ));
        }
    }
    Ok(())
}

/// The first of `added`, or of its parents, that a path of `there` has in another case, and that
/// other path. As in git, only ASCII case counts, and a file is not a directory.
pub fn other_case<'a>(
    added: &[&'a RepoPath],
    there: impl Iterator<Item = &'a BStr>,
) -> Option<(&'a BStr, &'a BStr)> {
    // Directories end in a slash.
    let parts = |path: &'a BStr| {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| at + 1).chain([path.len()]).map(|end| path[..end].as_bstr())
    };
    let known = added.iter().flat_map(|path| parts(path.as_bstr()));
    let known: HashMap<Vec<u8>, &BStr> =
        known.map(|part| (part.to_ascii_lowercase(), part)).collect();
    there.flat_map(parts).find_map(|part| {
        let own = known.get(&part.to_ascii_lowercase())?;
        (*own != part).then_some((*own, part))
    })
}

/// Added paths that are one file with another, ignoring case and normalisation; and that other
/// path.
pub fn collisions<'a, 'b>(
    added: &[&'a RepoPath],
    there: impl Iterator<Item = &'b BStr>,
) -> BTreeMap<&'a RepoPath, BString> {
    let mut found = BTreeMap::new();
    let mut keys: HashMap<String, &RepoPath> = HashMap::new();
    for path in added {
        let Some(key) = key(path.as_bstr()) else { continue };
        match keys.get(&key) {
            Some(other) => drop(found.insert(*path, other.as_bstr().to_owned())),
            None => drop(keys.insert(key, path)),
        }
    }
    // An index may have 100,000 paths; the length rules out most.
    let lengths: HashSet<usize> = keys.keys().map(String::len).collect();
    for path in there {
        if path.is_ascii() && !lengths.contains(&path.len()) {
            continue;
        }
        let known = key(path).and_then(|key| keys.get(&key).copied());
        if let Some(known) = known.filter(|known| known.as_bstr() != path) {
            found.entry(known).or_insert_with(|| path.to_owned());
        }
    }
    found
}

/// Equal for paths that are one file; `None` if not UTF-8.
fn key(path: &BStr) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    if path.is_ascii() {
        return Some(path.to_ascii_lowercase());
    }
    // Decomposition orders the marks of both forms alike, and needs the smallest table.
    let mut decomposed = String::with_capacity(path.len());
    path.chars().for_each(|char| decompose_canonical(char, |char| decomposed.push(char)));
    Some(decomposed.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_collide_are_named_with_each_other() {
        let found = |added: &[&str], there: &[&str]| -> Vec<(String, String)> {
            let added: Vec<_> = added.iter().map(|path| RepoPath::new(path).unwrap()).collect();
            let added: Vec<_> = added.iter().collect();
            let found = collisions(&added, there.iter().map(|path| BStr::new(*path)));
            let shown = |(path, other): (&RepoPath, BString)| {
                (path.display().to_string(), other.to_string())
            };
            found.into_iter().map(shown).collect()
        };
        let pair = |one: &str, two: &str| vec![(one.to_owned(), two.to_owned())];
        assert_eq!(found(&["a", "b"], &["a", "ab", "A/b", "c"]), []);
        assert_eq!(found(&["Read.me", "read.me"], &[]), pair("read.me", "Read.me"));
        assert_eq!(found(&["d/A"], &["D/a", "d/A", "d/b"]), pair("d/A", "D/a"));
        assert_eq!(found(&["caf\u{e9}"], &["cafe\u{301}"]), pair("caf\u{e9}", "cafe\u{301}"));
        assert_eq!(found(&["\u{c4}"], &["a\u{308}"]), pair("\u{c4}", "a\u{308}"));
        // The Kelvin sign is longer than its lower case.
        assert_eq!(found(&["\u{212a}"], &["k"]), pair("\u{212a}", "k"));
        assert_eq!(found(&["k"], &["\u{212a}"]), pair("k", "\u{212a}"));
    }

    #[test]
    fn a_path_may_begin_as_another_in_another_case() {
        let found = |path: &str, there: &'static str| {
            let path = RepoPath::new(path).unwrap();
            let found = other_case(&[&path], [BStr::new(there)].into_iter());
            found.map(|(own, other)| (own.to_string(), other.to_string()))
        };
        let pair = |one: &str, two: &str| Some((one.to_owned(), two.to_owned()));
        assert_eq!(found("name", "Name"), pair("name", "Name"));
        assert_eq!(found("a/dir/z", "a/Dir/y"), pair("a/dir/", "a/Dir/"));
        assert_eq!(found("dir/z", "Dir/zz"), pair("dir/", "Dir/"));
        for (path, there) in [
            ("a", "a"),
            ("name", "Names"),
            ("dir", "Dir/x"),
            ("d/x", "d/Y"),
            ("ä", "Ä"),
            ("a", "b"),
        ] {
            assert_eq!(found(path, there), None, "{path} {there}");
        }
    }

    #[test]
    fn names_that_are_not_utf8_collide_with_none() {
        let path = RepoPath::from_tree(BStr::new(b"\xfe")).unwrap();
        assert!(collisions(&[&path], [BStr::new(b"\xff")].into_iter()).is_empty());
    }

    #[test]
    fn paths_that_differ_in_case_alone_are_refused() {
        let check = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(|path| RepoPath::new(path).unwrap()).collect();
            refuse(paths.iter()).map_err(|error| error.message().to_owned())
        };
        assert_eq!(check(&["a", "b", "a/b"]), Ok(()));
        assert!(check(&["dir/A.txt", "Dir/a.txt"]).unwrap_err().contains("'dir/A.txt'"));
        assert!(check(&["Ä", "ä"]).is_err());
        assert_eq!(check(&["a", "a"]), Ok(()));
    }
}
