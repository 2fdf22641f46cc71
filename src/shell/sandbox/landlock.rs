//! Landlock: read and execute by list, write only to `/dev/null`, no TCP, no signals or abstract
//! sockets outside the sandbox.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::Confinement;

/// Older kernels give what they have.
const NEWEST: ABI = ABI::V7;

pub(super) fn is_offered() -> bool {
    const VERSION: u32 = 1;
    // SAFETY: asks for the version and creates nothing.
    #[allow(unsafe_code)]
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    version >= 1
}

pub(super) fn rules(confinement: &Confinement) -> io::Result<OwnedFd> {
    let rules: Option<OwnedFd> = built(confinement).map_err(io::Error::other)?.into();
    rules.ok_or_else(|| io::ErrorKind::Unsupported.into())
}

fn built(confinement: &Confinement) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for path in &confinement.listed {
        rules = grant(rules, path, AccessFs::ReadDir.into())?;
    }
    for path in &confinement.readable {
        rules = grant(rules, path, AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    rules = grant(rules, Path::new("/dev/null"), AccessFs::ReadFile | AccessFs::WriteFile)?;
    for program in &confinement.programs {
        rules = grant(rules, program, AccessFs::ReadFile | AccessFs::Execute)?;
    }
    Ok(rules)
}

/// Skips a path that cannot be opened.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(descriptor) => rules.add_rule(PathBeneath::new(descriptor, access)),
        Err(_) => Ok(rules),
    }
}
