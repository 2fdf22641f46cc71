//! Programs in directories of the user's own: those of rustup, Homebrew, Nix, nvm and the like.
//!
//! The caller's `PATH` says where they are, and whoever can write there could have the read-only
//! shell run anything. So a directory counts, and a program in it, only if nobody but root and the
//! user can write it, or put another in its place. A group of which nobody else is a member is the user:
//! where each user has one, as on Debian and Ubuntu, installers make what its members can write.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use super::groups;

/// Where programs come from that the system's own directories do not have.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The caller's `PATH`.
    pub path: OsString,
    /// The git directory and the work trees of the repository, symlinks resolved: no program
    /// comes from there.
    pub repository: Vec<PathBuf>,
}

impl Search {
    /// The program `name` in a directory of `PATH`.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let directories =
            std::env::split_paths(&self.path).filter(|directory| directory.is_absolute());
        let programs =
            directories.map(|directory| directory.join(name)).filter(|path| is_program(path));
        let mut programs = programs.filter(|program| {
            // The directory may be a symlink, and so may the program.
            [program.parent(), Some(program)].into_iter().flatten().all(|place| {
                place.canonicalize().is_ok_and(|place| {
                    let inside = self.repository.iter().any(|tree| place.starts_with(tree));
                    !inside && is_guarded(&place)
                })
            })
        });
        programs.next()
    }
}

/// The programs that `program` starts in its place, if it is rustup: one of each toolchain.
pub(super) fn toolchains(program: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let resolved = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let rustup = resolved.file_name().is_some_and(|name| name == "rustup");
    let (Some(home), Some(name), true) = (home, program.file_name(), rustup) else {
        return Vec::new();
    };
    let toolchains = std::fs::read_dir(home.join(".rustup/toolchains"));
    let programs = toolchains.into_iter().flatten().flatten();
    let programs = programs.filter_map(|entry| {
        let program = entry.path().join("bin").join(name).canonicalize().ok()?;
        (is_program(&program) && is_guarded(&program)).then_some(program)
    });
    programs.collect()
}

/// True when only root and the user can change what is at `path`, whose symlinks are resolved.
#[cfg(unix)]
fn is_guarded(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const GROUP: u32 = 0o020;
    const OTHERS: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let user = rustix::process::geteuid().as_raw();
    let mut groups = groups::Private::default();
    path.ancestors().enumerate().all(|(above, place)| {
        let Ok(meta) = place.symlink_metadata() else { return false };
        // In a sticky directory of root's (`/tmp`, the store of Nix) nobody replaces what is
        // somebody else's.
        let sticky = above > 0 && meta.mode() & STICKY != 0 && meta.uid() == 0;
        let owned = meta.uid() == 0 || meta.uid() == user;
        let apart = meta.mode() & OTHERS == 0
            && (meta.mode() & GROUP == 0 || groups.is_of(meta.gid(), user));
        owned && (apart || sticky)
    })
}

#[cfg(not(unix))]
fn is_guarded(_path: &Path) -> bool {
    false
}

/// True for an ordinary file that can be run.
#[cfg(unix)]
pub(super) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// True for an ordinary file.
#[cfg(not(unix))]
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file()
}
