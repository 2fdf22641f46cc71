//! File modes in patches: only the two regular ones are accepted.

use super::codes;
use crate::changeset::{Mode, RepoPath};
use crate::error::{Error, Result};

/// Reads a mode as git does: its type, and the owner's execute bit.
///
/// # Errors
/// `file_mode_refused` for symlinks, submodules, directories, devices and special bits.
pub fn check(mode: u32, path: &RepoPath) -> Result<Mode> {
    let what = match mode & 0o170_000 {
        0o100_000 if mode & !0o107_777 != 0 => "an unknown mode",
        0o100_000 if mode & 0o7000 != 0 => "a set-user-id, set-group-id or sticky bit",
        0o100_000 if mode & 0o100 != 0 => return Ok(Mode::Executable),
        0o100_000 => return Ok(Mode::Regular),
        0o120_000 => "a symbolic link",
        0o160_000 => "a submodule",
        0o040_000 => "a directory",
        0o020_000 | 0o060_000 => "a device",
        0o010_000 => "a named pipe",
        0o140_000 => "a socket",
        _ => "an unknown mode",
    };
    Err(Error::new(
        &codes::FILE_MODE_REFUSED,
        format!("the patch gives {} the mode {mode:06o}: {what}", path.display()),
    )
    .with("path", path.display().to_string())
    .with("mode", format!("{mode:06o}"))
    .hint("only regular files (100644, 100755) are patched; do the rest by hand with git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_pass() {
        let path = RepoPath::new("x").unwrap();
        for (mode, want) in [
            (0o100_644, Mode::Regular),
            (0o100_664, Mode::Regular),
            (0o100_755, Mode::Executable),
            (0o100_700, Mode::Executable),
        ] {
            assert_eq!(check(mode, &path).unwrap(), want);
        }
        for mode in [
            0o120_000,
            0o160_000,
            0o040_000,
            0o104_755,
            0o102_755,
            0o101_755,
            0o020_644,
            0o060_644,
            0o010_644,
            0o140_644,
            0o644,
            0,
            u32::MAX,
            0o1_100_644,
        ] {
            assert!(check(mode, &path).unwrap_err().is(&codes::FILE_MODE_REFUSED), "{mode:o}");
        }
    }
}
