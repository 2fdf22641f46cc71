//! The kernel's sandbox.
//!
//! Landlock limits the files that may be opened and executed; seccomp limits system calls. Both
//! bind a process and all that it starts, for good. The child therefore enters them before it runs
//! anything, and aye itself stays free.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod capabilities;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod enter;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod landlock;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod seccomp;

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::Command;

#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// The only programs that start, with their interpreters.
    pub programs: Vec<PathBuf>,
    /// Readable files, and directories with everything below.
    pub readable: Vec<PathBuf>,
    /// Directories that may be listed, with everything below.
    pub listed: Vec<PathBuf>,
    /// Processor time of each program.
    pub seconds: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SandboxLayers {
    pub landlock: bool,
    pub seccomp: bool,
}

impl SandboxLayers {
    pub fn name(self) -> &'static str {
        match (self.landlock, self.seccomp) {
            (true, true) => "landlock+seccomp",
            (false, true) => "seccomp",
            _ => "policy-only",
        }
    }

    /// A shell needs both: Landlock ignores modes, owners, times and signals, and seccomp sees no
    /// names.
    pub fn is_sandbox(self) -> bool {
        self.landlock && self.seccomp
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn offered() -> SandboxLayers {
    let seccomp = seccomp::is_offered();
    SandboxLayers { landlock: seccomp && landlock::is_offered(), seccomp }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn offered() -> Layers {
    Layers::default()
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn confine(
    command: &mut Command,
    confinement: &Confinement,
    layers: SandboxLayers,
    watcher: Option<RawFd>,
) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::process::CommandExt as _;
    let missing = || io::Error::from(io::ErrorKind::Unsupported);
    let filter = || seccomp::filter(layers.landlock).ok_or_else(missing);
    let filter = layers.seccomp.then(filter).transpose()?;
    let rules = layers.landlock.then(|| landlock::rules(confinement)).transpose()?;
    // Reserve the number before the fork: the standard library's own pipe to the child could take
    // it.
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let null = rustix::io::fcntl_dupfd_cloexec(&null, enter::NULL)?;
    let above = |rules| rustix::io::fcntl_dupfd_cloexec(rules, enter::NULL + 1);
    let rules: Option<OwnedFd> = rules.map(above).transpose()?;
    let (parent, seconds) = (rustix::process::getpid(), confinement.seconds);
    let enter = move || {
        let numbers = (null.as_raw_fd(), rules.as_ref().map(OwnedFd::as_raw_fd), watcher);
        enter::enter(numbers, filter.as_deref(), parent, seconds)
    };
    // SAFETY: the closure only makes system calls: it takes no lock and allocates no memory between
    // fork and exec.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(enter);
    }
    Ok(())
}

/// Without a sandbox.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn confine(
    command: &mut Command,
    _: &Confinement,
    _: Layers,
    _: Option<RawFd>,
) -> io::Result<()> {
    std::os::unix::process::CommandExt::process_group(command, 0);
    Ok(())
}
