//! Programs in the user's own directories: rustup, Homebrew, Nix, nvm.
//!
//! The caller's `PATH` names them, and anyone who can write there could make the read-only shell
//! run anything. A program therefore counts only if no account but root and the user can write or
//! replace it, or its directories. A group with the user as its only member counts as the user:
//! Debian and Ubuntu give every user one, and installers make files group-writable.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::groups;

/// Searched first, in order.
const FIRST: &[&str] = &[
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
];
/// Readable anyway.
const SYSTEM: &[&str] = &["/usr", "/bin", "/nix/store"];

#[derive(Clone, Debug, Default)]
pub struct Search {
    pub path: OsString,
    /// Symlinks resolved: no program may come from these directories.
    pub repository: Vec<PathBuf>,
}

/// Programs with their interpreters, and directories outside the system that they read.
#[derive(Debug, Default)]
pub(super) struct AllowedPrograms {
    pub(super) programs: Vec<PathBuf>,
    pub(super) directories: Vec<PathBuf>,
}

impl Search {
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        let first = FIRST.iter().map(PathBuf::from).filter(|place| !self.is_inside(place));
        let own = std::env::split_paths(&self.path);
        first.chain(own.filter(|place| place.is_absolute() && self.is_fit(place))).collect()
    }

    fn is_inside(&self, place: &Path) -> bool {
        self.repository.iter().any(|tree| place.starts_with(tree))
    }

    /// Accepts a symlink.
    fn is_fit(&self, place: &Path) -> bool {
        place.canonicalize().is_ok_and(|place| !self.is_inside(&place) && is_guarded(&place))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        let is_first = |place: &Path| FIRST.iter().any(|first| place.starts_with(first));
        let all = self.directories().into_iter().map(|directory| directory.join(name));
        all.into_iter().find(|place| is_program(place) && (is_first(place) || self.is_fit(place)))
    }

    /// Skips a missing program: the shell reports it.
    pub(super) fn add(&self, name: &str, home: Option<&Path>, found: &mut AllowedPrograms) {
        let Some(place) = self.find(name) else { return };
        let real = place.canonicalize().unwrap_or_else(|_| place.clone());
        self.add_program(&place, found);
        if real.ends_with("git") {
            // git starts itself by this name.
            let own = ["lib/git-core/git", "libexec/git-core/git"].into_iter();
            found.programs.extend(own.filter_map(|own| Some(real.parent()?.parent()?.join(own))));
        }
        if let Some(home) = home.filter(|_| real.ends_with("rustup")) {
            found.directories.push(home.join(".rustup"));
            found.programs.extend(toolchains(home, name));
        }
        for directory in [&place, &real].into_iter().filter_map(|place| place.parent()) {
            let above = directory.parent().unwrap_or(directory);
            let libraries = ["lib", "lib64", "libexec"].map(|name| above.join(name));
            let own = libraries.into_iter().chain([directory.to_owned()]);
            let own = own.filter(|own| !SYSTEM.iter().any(|system| own.starts_with(system)));
            found.directories.extend(own.filter(|own| self.is_fit(own)));
        }
    }

    /// Adds a program with its loader, script interpreter, and the program that `/usr/bin/env`
    /// finds.
    pub(super) fn add_program(&self, program: &Path, found: &mut AllowedPrograms) {
        if found.programs.iter().any(|known| known == program) {
            return;
        }
        found.programs.push(program.to_owned());
        let mut head = Vec::new();
        if let Ok(file) = std::fs::File::open(program) {
            let _ = file.take(4096).read_to_end(&mut head);
        }
        let Some((interpreter, argument)) = interpreter(&head) else { return };
        self.add_program(&interpreter, found);
        let by_name = argument.filter(|_| interpreter.ends_with("env"));
        if let Some(program) = by_name.and_then(|name| self.find(name)) {
            self.add_program(&program, found);
        }
    }
}

fn interpreter(head: &[u8]) -> Option<(PathBuf, Option<&str>)> {
    let Some(line) = head.strip_prefix(b"#!") else { return Some((elf_interpreter(head)?, None)) };
    let line = std::str::from_utf8(line.split(|b| *b == b'\n').next()?).ok()?;
    let mut words = line.split_whitespace();
    let path = words.next().filter(|path| path.starts_with('/'))?;
    Some((PathBuf::from(path), words.next()))
}

/// rustup starts one of these in its place.
fn toolchains(home: &Path, name: &str) -> Vec<PathBuf> {
    let toolchains = home.join(".rustup/toolchains").read_dir().into_iter().flatten().flatten();
    let programs =
        toolchains.filter_map(|entry| entry.path().join("bin").join(name).canonicalize().ok());
    programs.filter(|program| is_program(program) && is_guarded(program)).collect()
}

/// True if only root and the user can change `path`. Symlinks must be resolved.
fn is_guarded(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const GROUP: u32 = 0o020;
    const OTHERS: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let user = rustix::process::geteuid().as_raw();
    let mut groups = groups::Private::default();
    path.ancestors().enumerate().all(|(above, place)| {
        let Ok(meta) = place.symlink_metadata() else { return false };
        // In root's sticky directories (`/tmp`, the Nix store) users cannot replace others' files.
        let sticky = above > 0 && meta.mode() & STICKY != 0 && meta.uid() == 0;
        let owned = meta.uid() == 0 || meta.uid() == user;
        let apart = meta.mode() & OTHERS == 0
            && (meta.mode() & GROUP == 0 || groups.is_of(meta.gid(), user));
        owned && (apart || sticky)
    })
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// `PT_INTERP` of a 64-bit little-endian ELF file (System V ABI).
fn elf_interpreter(head: &[u8]) -> Option<PathBuf> {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, length: usize| -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(head.get(at..at + length)?);
        Some(u64::from_le_bytes(bytes))
    };
    head.strip_prefix(b"\x7fELF\x02\x01")?;
    let table = usize::try_from(number(0x20, 8)?).ok()?;
    let size = usize::try_from(number(0x36, 2)?).ok()?;
    for index in 0..usize::try_from(number(0x38, 2)?).ok()? {
        let entry = table.checked_add(index * size)?;
        if number(entry, 4)? != PT_INTERP {
            continue;
        }
        let start = usize::try_from(number(entry + 8, 8)?).ok()?;
        let length = usize::try_from(number(entry + 32, 8)?).ok()?;
        let name = head.get(start..start.checked_add(length)?)?.split(|b| *b == 0).next()?;
        return std::str::from_utf8(name).ok().map(PathBuf::from);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_a_program_is_found() {
        assert_eq!(interpreter(b"#! /bin/sh -e\nx").unwrap(), ("/bin/sh".into(), Some("-e")));
        assert_eq!(interpreter(b"x"), None);
        let own = std::fs::read("/proc/self/exe").unwrap();
        let found = elf_interpreter(&own[..4096]);
        assert!(found.is_none_or(|path| path.exists()), "a loader that exists, or static");
        assert_eq!(elf_interpreter(b"\x7fELF\x02\x01"), None);
    }
}
