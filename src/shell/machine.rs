//! The machine's facts, passed in by the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::deny_list::DenyList;
use super::programs::Search;
use super::sandbox::SandboxLayers;

#[derive(Clone, Debug)]
pub struct Machine {
    /// Root of the repository, or a directory outside one; symlinks resolved.
    pub root: PathBuf,
    /// As the user sees it.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// Checked by `Machine::keeps`.
    pub environment: Vec<(String, OsString)>,
    pub denied: DenyList,
    pub allowed: Vec<PathBuf>,
    pub layers: SandboxLayers,
    pub search: Search,
    pub shell: PathBuf,
}

impl Machine {
    /// Harmless variables that programs may see.
    pub fn keeps(name: &str, value: &str) -> bool {
        matches!(name, "USER" | "LOGNAME") && is_plain(value) || Self::shows(name, value)
    }

    /// Display variables that a command may set.
    pub fn sets(name: &str, value: &str) -> bool {
        let is_fixed = matches!((name, value), ("PAGER" | "GIT_PAGER", "cat"));
        is_fixed
            || matches!(name, "COLUMNS" | "NO_COLOR") && is_plain(value)
            || Self::shows(name, value)
    }

    fn shows(name: &str, value: &str) -> bool {
        (matches!(name, "LANG" | "TZ") || name.starts_with("LC_")) && is_plain(value)
    }

    /// `None` if reading it would open the whole system or other processes.
    pub(super) fn directory(&self) -> Option<&PathBuf> {
        let is_system = self.root == Path::new("/") || self.root.starts_with("/proc");
        Some(&self.root).filter(|_| !is_system)
    }
}

/// Values that look like a path are dropped.
fn is_plain(value: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "+-_/,.@".contains(c);
    value.len() < 100
        && !value.contains("..")
        && !value.starts_with('/')
        && value.chars().all(is_fit)
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
            assert_eq!(Machine::keeps(name, value), kept, "{name}={value}");
        }
        for (name, value, set) in [
            ("LC_ALL", "C", true),
            ("TZ", "UTC", true),
            ("TZ", "/tmp/zone", false),
            ("NO_COLOR", "1", true),
            ("NO_COLOR", "$(id)", false),
            ("GIT_PAGER", "cat", true),
            ("GIT_PAGER", "./evil", false),
            ("GIT_DIR", "x", false),
            ("USER", "me", false),
            ("LD_PRELOAD", "", false),
        ] {
            assert_eq!(Machine::sets(name, value), set, "{name}={value}");
        }
    }
}
