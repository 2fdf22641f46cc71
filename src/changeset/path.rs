//! Paths that may be written: relative, inside the repository, never `.git`.

use std::fmt;

use bstr::{BStr, BString, ByteSlice};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codes;
use crate::error::{Error, Result};

/// Longest path in bytes: Linux's `PATH_MAX`.
pub const MAX_LEN: usize = 4096;

/// A file path relative to the repository's top, `/`-separated, without empty, `.` or `..`
/// components. Every spelling of `.git` that git guards against on any system is refused (NTFS
/// short names and streams, HFS+ ignorable characters).
///
/// Bytes, as in git; in JSON a string if UTF-8, else `{"base64": "…"}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(BString);

impl RepoPath {
    /// # Errors
    /// `path_invalid` or `path_in_git_dir`, with the reason.
    pub fn new(path: impl AsRef<[u8]>) -> Result<Self> {
        let path = path.as_ref();
        if path.contains(&b'\\') {
            return Err(invalid(path, "has a backslash")
                .hint("separate directories with '/', whatever the system"));
        }
        Self::from_tree(path)
    }

    /// For a path that git tracks: a backslash may be part of a name.
    pub fn from_tree(path: impl AsRef<[u8]>) -> Result<Self> {
        let path = path.as_ref();
        check(path)?;
        Ok(Self(path.into()))
    }

    pub fn as_bstr(&self) -> &BStr {
        self.0.as_bstr()
    }

    pub fn components(&self) -> impl DoubleEndedIterator<Item = &BStr> {
        self.0.split(|b| *b == b'/').map(ByteSlice::as_bstr)
    }

    /// Nearest first, without the top.
    pub fn parents(&self) -> impl Iterator<Item = RepoPath> + '_ {
        let mut end = self.0.len();
        std::iter::from_fn(move || {
            end = self.0[..end].rfind_byte(b'/')?;
            Some(RepoPath(self.0[..end].into()))
        })
    }

    pub fn file_name(&self) -> &BStr {
        let start = self.0.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        self.0[start..].as_bstr()
    }

    pub fn to_path(&self) -> std::path::PathBuf {
        self.0.to_path_lossy().into_owned()
    }

    /// Invalid UTF-8 is replaced, control characters stay.
    pub fn display(&self) -> impl fmt::Display + '_ {
        self.0.as_bstr()
    }

    pub fn to_str(&self) -> Option<&str> {
        self.0.to_str().ok()
    }
}

fn invalid(path: &[u8], why: &str) -> Error {
    Error::new(&codes::PATH_INVALID, format!("path '{}' {why}", path.as_bstr()))
        .with("path", path.to_str_lossy().into_owned())
        .hint("give a path as git has it: relative to the repository's top, '/' between names")
}

fn check(path: &[u8]) -> Result<()> {
    let relative = "give a path relative to the repository's top, inside it";
    if path.is_empty() {
        return Err(invalid(path, "is empty").hint(relative));
    }
    if path.len() > MAX_LEN {
        return Err(invalid(&path[..80], "… is longer than 4096 bytes"));
    }
    if path[0] == b'/' || (path.len() > 1 && path[1] == b':' && path[0].is_ascii_alphabetic()) {
        return Err(invalid(path, "is absolute").hint(relative));
    }
    if path.contains(&0) {
        return Err(invalid(path, "has a NUL byte"));
    }
    if let Some(above) = path.strip_suffix(b"/").filter(|above| !above.ends_with(b"/")) {
        check(above)?;
        return Err(invalid(path, "ends in a slash, as no file does").hint(relative));
    }
    for component in path.split(|b| *b == b'/') {
        check_component(path, component)?;
        // `..\x` is two components where a backslash separates.
        for piece in component.split(|b| *b == b'\\').filter(|piece| *piece != component) {
            if piece == b".." || (!piece.is_empty() && is_dot_git(piece)) {
                check_component(path, piece)?;
            }
        }
    }
    Ok(())
}

fn check_component(path: &[u8], component: &[u8]) -> Result<()> {
    let relative = "give a path relative to the repository's top, inside it";
    match component {
        b"" => Err(invalid(path, "has an empty component").hint(relative)),
        b"." => Err(invalid(path, "has a '.' component").hint("drop the './'")),
        b".." if leaves(path) => {
            Err(invalid(path, "leaves the repository with '..'").hint(relative))
        }
        b".." => Err(invalid(path, "has a '..' component").hint(relative)),
        name if name.len() > 255 => Err(invalid(path, "has a name of over 255 bytes")),
        name if is_dot_git(name) => Err(Error::new(
            &codes::PATH_IN_GIT_DIR,
            format!("path '{}' enters git's own directory", path.as_bstr()),
        )
        .with("path", path.to_str_lossy().into_owned())
        .hint("aye never writes into .git, in any spelling")),
        _ => Ok(()),
    }
}

/// True if `path` leads above its start; a backslash may separate too.
fn leaves(path: &[u8]) -> bool {
    let mut depth = 0;
    path.split(|b| matches!(b, b'/' | b'\\')).any(|component| {
        depth += if component == b".." { -1 } else { 1 };
        depth < 0
    })
}

/// Git's guards `core.protectNTFS` and `core.protectHFS`, always on.
fn is_dot_git(name: &[u8]) -> bool {
    use gix::validate::path::component::Options;
    let options = Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    gix::validate::path::component(name.as_bstr(), None, options).is_err()
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::bytes::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = super::bytes::deserialize(deserializer)?;
        Self::from_tree(bytes).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_paths_are_kept_byte_for_byte() {
        for path in
            ["a", "src/main.rs", "with space/ü.txt", ".github/x", ".gitignore", "a/git", "..."]
        {
            assert_eq!(RepoPath::new(path).unwrap().as_bstr(), path);
        }
    }

    #[test]
    fn paths_that_leave_or_disguise_are_refused() {
        for path in [
            "", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "C:/x", "c:x", "a\\b",
            "..\\x", "a\0b",
        ] {
            assert!(RepoPath::new(path).unwrap_err().is(&codes::PATH_INVALID), "{path:?}");
        }
        for path in [
            ".git/config",
            ".GIT/config",
            "a/.git/x",
            "git~1/config",
            ".git./x",
            ".git /x",
            ".git::$INDEX_ALLOCATION/x",
            ".g\u{200c}it/config",
            ".git",
        ] {
            assert!(RepoPath::new(path).unwrap_err().is(&codes::PATH_IN_GIT_DIR), "{path:?}");
        }
    }

    #[test]
    fn backslashes_are_allowed_only_in_names_git_already_has() {
        assert!(RepoPath::from_tree("a\\b").is_ok());
        for path in ["..\\x", ".git\\config", "a\\..\\b"] {
            assert!(RepoPath::from_tree(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn parents_are_nearest_first() {
        let path = RepoPath::new("a/b/c").unwrap();
        let parents: Vec<_> = path.parents().map(|p| p.as_bstr().to_string()).collect();
        assert_eq!(parents, ["a/b", "a"]);
    }
}
