//! What the read-only shell knows of the machine: given by the edge, never looked up here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::access::Access;
use super::programs::{self, Search};

/// The directories programs come from first, in order. Never the repository.
pub const SEARCH: &[&str] = &[
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
];

/// Everything a command may depend on.
#[derive(Clone, Debug)]
pub struct World {
    /// The root of the repository, symlinks resolved; or the directory itself outside of one.
    pub root: PathBuf,
    /// The current directory as the user sees it.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Variables passed on: time zone, locale, user name. Checked by [`World::keeps`].
    pub environment: Vec<(String, OsString)>,
    /// What nobody's task needs to read.
    pub access: Access,
    /// The kernel can hold the line.
    pub kernel: bool,
    /// Where programs come from that are in no directory of [`SEARCH`].
    pub search: Search,
    /// What a revision names may be asked of git.
    pub asks: bool,
}

impl World {
    /// Variables of the environment that programs may see, if their value is harmless.
    ///
    /// A locale or time zone is a name; anything that looks like a path to one is dropped.
    pub fn keeps(name: &str, value: &str) -> bool {
        let locale = name == "LANG" || (name.starts_with("LC_") && name.len() < 20);
        let plain = |extra: &str| {
            value.len() < 100
                && !value.contains("..")
                && value.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
        };
        match name {
            "TZ" => plain("+-_/,.") && !value.starts_with('/'),
            "USER" | "LOGNAME" => plain("-_.@"),
            "COLUMNS" => value.bytes().all(|b| b.is_ascii_digit()),
            _ => locale && plain("-_.@"),
        }
    }

    /// Variables that a command may set for its program: those that are passed on and change how
    /// something is shown, and what holds for every program anyway.
    pub fn sets(name: &str, value: &str) -> bool {
        match (name, value) {
            ("PAGER" | "GIT_PAGER", "cat") | ("TERM", "dumb") => true,
            ("GIT_OPTIONAL_LOCKS" | "GIT_TERMINAL_PROMPT", "0") => true,
            ("NO_COLOR", _) => value.bytes().all(|b| b.is_ascii_alphanumeric()),
            ("USER" | "LOGNAME", _) => false,
            _ => Self::keeps(name, value),
        }
    }

    /// Where a program of this name is, if it is installed.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        if name.is_empty() || name.contains('/') {
            return None;
        }
        let fixed = SEARCH.iter().map(Path::new);
        let mut fixed = fixed
            .filter(|directory| self.root == Path::new("/") || !directory.starts_with(&self.root));
        fixed
            .find_map(|directory| {
                Some(directory.join(name)).filter(|path| programs::is_program(path))
            })
            .or_else(|| self.search.find(name))
    }

    /// The value of `PATH` for programs.
    pub fn path(&self) -> String {
        SEARCH[..3].join(":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_variables_are_kept() {
        for (name, value, kept) in [
            ("LANG", "en_US.UTF-8", true),
            ("LC_ALL", "C", true),
            ("TZ", "Europe/Berlin", true),
            ("TZ", "/tmp/zone", false),
            ("TZ", ":/tmp/zone", false),
            ("TZ", "../../x", false),
            ("LC_ALL", "../../tmp/x", false),
            ("GIT_DIR", "x", false),
            ("LD_PRELOAD", "x", false),
            ("USER", "me", true),
            ("PATH", "/tmp", false),
            ("GREP_OPTIONS", "x", false),
        ] {
            assert_eq!(World::keeps(name, value), kept, "{name}={value}");
        }
        for (name, value, set) in [
            ("LC_ALL", "C", true),
            ("TZ", "UTC", true),
            ("TZ", "/tmp/zone", false),
            ("NO_COLOR", "1", true),
            ("NO_COLOR", "$(id)", false),
            ("GIT_PAGER", "cat", true),
            ("GIT_PAGER", "./evil", false),
            ("GIT_OPTIONAL_LOCKS", "1", false),
            ("GIT_DIR", "x", false),
            ("USER", "me", false),
            ("LD_PRELOAD", "", false),
        ] {
            assert_eq!(World::sets(name, value), set, "{name}={value}");
        }
    }
}
