//! Names and paths of files that stay unread.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet};

/// Keys, credentials, histories, in lower case.
const NAMES: &[&str] = &[
    ".env",
    ".env~",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".htpasswd",
    ".credentials",
    ".credentials.json",
    "fish_history",
    "consolehost_history.txt",
    "master.key",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
];
/// Prefix and suffix of such names.
const PARTS: &[(&str, &str)] = &[
    (".env.", ""),
    ("..env.sw", ""),
    (".claude.json.", ""),
    (".", "_history"),
    ("ssh_host_", "_key"),
    ("", ".tfstate"),
    ("", ".tfstate.backup"),
    ("", ".p12"),
    ("", ".pfx"),
    ("", ".jks"),
    ("", ".keystore"),
    ("", ".kdbx"),
    ("", ".ppk"),
];
/// Suffixes of `.env.*` files that may be read.
const TEMPLATES: &[&str] = &[".example", ".sample", ".template", ".dist", ".defaults"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenySource {
    /// Tracked files are readable: they are content.
    BuiltIn,
    /// Listed in `aye.shellDenyRead`, tracked or not.
    Configured,
}

#[derive(Clone, Debug, Default)]
pub struct DenyList {
    names: GlobSet,
    /// Symlinks resolved.
    pub(super) places: BTreeSet<PathBuf>,
}

impl DenyList {
    /// A value is a path (`~/x`, `/x`, or `x/y` from `root`) or a pattern of file names.
    pub fn new(configured: &[String], home: Option<&Path>, root: &Path) -> Self {
        let mut denied = Self::default();
        let mut names = GlobSet::builder();
        for text in configured.iter().filter(|text| !text.is_empty()) {
            if !text.contains('/') {
                let glob = |text: &str| GlobBuilder::new(text).case_insensitive(true).build();
                names.add(match glob(text).or_else(|_| glob(&globset::escape(text))) {
                    Ok(glob) => glob,
                    Err(_) => continue,
                });
            } else if let Some(place) = placed(text, home, root) {
                denied.places.insert(place.canonicalize().unwrap_or(place));
            }
        }
        denied.names = names.build().unwrap_or_default();
        denied
    }

    pub fn name(&self, name: &[u8]) -> Option<DenySource> {
        if !self.names.is_empty() && self.names.is_match(OsStr::from_bytes(name)) {
            return Some(DenySource::Configured);
        }
        let is_part = |(start, end): &(&str, &str)| {
            let middle = name.len().checked_sub(start.len() + end.len());
            middle.is_some_and(|middle| {
                let last = &name[start.len() + middle..];
                last.eq_ignore_ascii_case(end.as_bytes())
                    && name[..start.len()].eq_ignore_ascii_case(start.as_bytes())
            })
        };
        let is_template =
            || is_part(&(".env.", "")) && TEMPLATES.iter().any(|end| is_part(&("", end)));
        let is_name = NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret.as_bytes()));
        (is_name || (PARTS.iter().any(is_part) && !is_template())).then_some(DenySource::BuiltIn)
    }

    /// Does not read the disk.
    pub fn denies(&self, path: &Path) -> bool {
        let is_named = path.file_name().is_some_and(|name| self.name(name.as_bytes()).is_some());
        is_named || self.places.iter().any(|place| path.starts_with(place))
    }
}

/// Expands `~/x`; `x/y` is relative to `root`.
pub fn placed(text: &str, home: Option<&Path>, root: &Path) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(root.join(text)),
    }
}

/// An unreadable file counts as a key.
pub(super) fn is_key(path: &Path) -> bool {
    let mut head = Vec::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(64 * 1024).read_to_end(&mut head));
    read.is_err() || head.windows(11).any(|bytes| bytes == b"PRIVATE KEY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_denied_and_templates_are_not() {
        let denied = DenyList::default();
        for name in [
            ".env",
            ".ENV",
            ".env.local",
            ".env.example.local",
            ".env.myexample",
            ".env~",
            ".env.swp",
            "..env.swo",
            "id_rsa",
            ".irb_history",
            "ConsoleHost_history.txt",
            "prod.tfstate",
            ".credentials",
            "ssh_host_rsa_key",
            "x.p12",
            ".npmrc",
        ] {
            assert_eq!(denied.name(name.as_bytes()), Some(DenySource::BuiltIn), "{name}");
        }
        for name in [
            ".env.example", ".env.sample", ".env.local.template", ".env.dist", "env",
            ".environment", "id_rsa.pub", "history", "a.pem", "x.p12.md", ".tfstate.md",
        ] {
            assert_eq!(denied.name(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn settings_add_names_and_places() {
        let own = ["*.SECRET", "s[ab", "priv/keys", "~/x", "/y", ""].map(str::to_owned);
        let denied = DenyList::new(&own, Some(Path::new("/home/me")), Path::new("/r"));
        for path in ["/r/a/b.secret", "/q/S[AB", "/r/priv/keys/a", "/home/me/x/z", "/y", "/r/.env"]
        {
            assert!(denied.denies(Path::new(path)), "{path}");
        }
        for path in ["/r/priv/other", "/home/me/xy", "/r/secret", "/r/a.txt"] {
            assert!(!denied.denies(Path::new(path)), "{path}");
        }
        assert_eq!(denied.name(b"b.secret"), Some(DenySource::Configured));
    }
}
