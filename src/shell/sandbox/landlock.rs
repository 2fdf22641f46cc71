//! Landlock: read and execute by include-list, write nowhere but `/dev/null`, no TCP, no signals
//! and abstract sockets beyond the programs started.
//!
//! Landlock only grants, and grants to everything below a directory. To keep something unread, the
//! directories that lead to it are not granted as a whole but child by child, leaving it out.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::super::access::MEMORY;
use super::Confinement;

/// The newest set of rights asked for; older kernels give what they have.
const NEWEST: ABI = ABI::V7;
/// Devices that may be read.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

pub(super) fn offered() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create)
        .is_ok()
}

/// Restricts the calling thread; true when the kernel enforces it.
pub(super) fn restrict(confinement: &Confinement) -> Result<bool, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let mut denied: BTreeSet<PathBuf> = confinement.denied.iter().cloned().collect();
    denied.insert(PathBuf::from("/dev"));
    rules = grant_below(rules, Path::new("/"), &denied)?;
    if confinement.root.starts_with(MEMORY) {
        rules = grant_below(rules, &confinement.root, &denied)?;
    }
    for device in DEVICES {
        rules = grant(rules, Path::new(device), AccessFs::ReadFile.into())?;
    }
    rules = grant(rules, Path::new("/dev/null"), AccessFs::ReadFile | AccessFs::WriteFile)?;
    rules = grant(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    match &confinement.programs {
        Some(programs) => {
            for program in programs.iter().flat_map(|program| with_interpreters(program, 0)) {
                rules = grant(rules, &program, AccessFs::ReadFile | AccessFs::Execute)?;
            }
        }
        None => rules = grant(rules, Path::new("/"), AccessFs::Execute.into())?,
    }
    Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// Grants `access` to `path` and what is below; a path that cannot be opened is left out.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(descriptor) => rules.add_rule(PathBeneath::new(descriptor, access)),
        Err(_) => Ok(rules),
    }
}

/// Grants the reading of files below `directory`, leaving `denied` out.
fn grant_below(
    mut rules: RulesetCreated,
    directory: &Path,
    denied: &BTreeSet<PathBuf>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(rules) };
    for entry in entries.flatten() {
        // What a symlink points at is granted, or not, at its own place.
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) || denied.contains(&path) {
            continue;
        }
        // The set is sorted: if anything below the path is in it, it comes right after.
        let leads = denied.range(path.clone()..).next().is_some_and(|next| next.starts_with(&path));
        rules = if leads {
            grant_below(rules, &path, denied)?
        } else {
            grant(rules, &path, AccessFs::ReadFile.into())?
        };
    }
    Ok(rules)
}

/// A program with what the kernel opens to start it: the loader, the interpreter of a script.
fn with_interpreters(program: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = vec![program.to_owned()];
    let mut head = Vec::new();
    if let Ok(file) = std::fs::File::open(program) {
        let _ = file.take(4096).read_to_end(&mut head);
    }
    let interpreter = script_interpreter(&head).or_else(|| elf_interpreter(&head));
    if let Some(path) = interpreter.filter(|_| depth < 3) {
        found.extend(with_interpreters(&path, depth + 1));
    }
    found
}

/// `#!/usr/bin/python3 …`
fn script_interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let path = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

/// The `PT_INTERP` segment of a 64-bit little-endian ELF file, as the System V ABI lays it out.
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
        assert_eq!(script_interpreter(b"#! /bin/sh -e\nx").unwrap(), Path::new("/bin/sh"));
        assert_eq!(script_interpreter(b"x"), None);
        let own = std::fs::read("/proc/self/exe").unwrap();
        let found = elf_interpreter(&own[..4096]);
        assert!(found.is_none_or(|path| path.exists()), "a loader that exists, or static");
        assert_eq!(elf_interpreter(b"\x7fELF\x02\x01"), None);
    }
}
