//! The kernel's part: what programs may do, made ready by this process and put in force between fork and exec.
//!
//! Landlock says which files may be opened and executed, seccomp which system calls there are. Both bind a process and all
//! that it starts, for good; so nothing runs before they are in force, and aye itself stays free.

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

/// What the programs of one call may do with files.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// The only programs that start, with the interpreters they need.
    pub programs: Vec<PathBuf>,
    /// Files to read, and directories with all that is below.
    pub whole: Vec<PathBuf>,
    /// Directories whose entries may be listed, with all that is below.
    pub listed: Vec<PathBuf>,
    /// Seconds of processor time for each program.
    pub seconds: u64,
}

/// Which layers are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Landlock limits files.
    pub landlock: bool,
    /// seccomp limits system calls.
    pub seccomp: bool,
}

impl Layers {
    /// The words of the response.
    pub fn name(self) -> &'static str {
        match (self.landlock, self.seccomp) {
            (true, true) => "landlock+seccomp",
            (false, true) => "seccomp",
            _ => "policy-only",
        }
    }

    /// Both, without which no shell is started: Landlock says nothing of modes, owners, times and signals, and
    /// seccomp nothing of names.
    pub fn is_sandbox(self) -> bool {
        self.landlock && self.seccomp
    }
}

/// The layers that the running kernel offers.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn offered() -> Layers {
    let seccomp = seccomp::is_offered();
    Layers { landlock: seccomp && landlock::is_offered(), seccomp }
}

/// The layers that the running kernel offers.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn offered() -> Layers {
    Layers::default()
}

/// Has `command` begin in the sandbox, as far as there are `layers`; `watcher` is the pipe to the watcher.
///
/// # Errors
/// What the system says when a rule cannot be made.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn confine(
    command: &mut Command,
    confinement: &Confinement,
    layers: Layers,
    watcher: Option<RawFd>,
) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::process::CommandExt as _;
    let missing = || io::Error::from(io::ErrorKind::Unsupported);
    let filter = || seccomp::filter(layers.landlock).ok_or_else(missing);
    let filter = layers.seccomp.then(filter).transpose()?;
    let rules = layers.landlock.then(|| landlock::rules(confinement)).transpose()?;
    // Taken before the fork: the standard library's own pipe to the new process could have the number.
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let null = rustix::io::fcntl_dupfd_cloexec(&null, enter::NULL)?;
    let above = |rules| rustix::io::fcntl_dupfd_cloexec(rules, enter::NULL + 1);
    let rules: Option<OwnedFd> = rules.map(above).transpose()?;
    let (parent, seconds) = (rustix::process::getpid(), confinement.seconds);
    let enter = move || {
        let numbers = (null.as_raw_fd(), rules.as_ref().map(OwnedFd::as_raw_fd), watcher);
        enter::enter(numbers, filter.as_deref(), parent, seconds)
    };
    // SAFETY: the closure makes system calls and nothing else: it takes no lock and allocates no memory, which is what
    // the time between fork and exec asks for.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(enter);
    }
    Ok(())
}

/// Has `command` begin in a process group of its own: there is no sandbox here.
///
/// # Errors
/// None.
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
