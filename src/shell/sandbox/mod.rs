//! The kernel's part: a thread that can read, and nothing else, and the programs it starts.
//!
//! Landlock and seccomp bind the thread that asks for them and everything it starts from then
//! on. So one thread of this process confines itself and spawns the programs; the thread that
//! reads their output and keeps the time stays free. No `fork` hook and no second start of aye
//! are needed.

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod seccomp;

use std::path::PathBuf;

/// What the confined thread may still do.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// The only programs it may start, with the interpreters they need. `None`: any program of
    /// the system.
    pub programs: Option<Vec<PathBuf>>,
    /// Files and directories that must stay unread; symlinks resolved.
    pub denied: Vec<PathBuf>,
    /// The repository, which may be read also where it lies among the devices: `/dev/shm`.
    pub root: PathBuf,
}

/// Which layers are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Landlock took the right to write and to read what is denied.
    pub landlock: bool,
    /// seccomp took the system calls.
    pub seccomp: bool,
}

impl Layers {
    /// The words of the response.
    pub fn name(self) -> &'static str {
        match (self.landlock, self.seccomp) {
            (true, true) => "landlock+seccomp",
            (true, false) => "landlock",
            (false, true) => "seccomp",
            (false, false) => "policy-only",
        }
    }
}

/// True when the running kernel can keep a program from writing and from starting others.
#[cfg(target_os = "linux")]
pub fn offered() -> bool {
    landlock::offered()
}

/// True when the running kernel can keep a program from writing and from starting others.
#[cfg(not(target_os = "linux"))]
pub fn offered() -> bool {
    false
}

/// Confines the calling thread for the rest of its life.
#[cfg(target_os = "linux")]
pub fn confine(confinement: &Confinement) -> Layers {
    capabilities::drop_all_but_reading();
    // An unreadable rule set must not leave half a layer: each says whether it is in force.
    let landlock = landlock::restrict(confinement).unwrap_or(false);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let seccomp = seccomp::restrict(landlock);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let seccomp = false;
    Layers { landlock, seccomp }
}

/// Confines the calling thread for the rest of its life.
#[cfg(not(target_os = "linux"))]
pub fn confine(_confinement: &Confinement) -> Layers {
    Layers::default()
}

/// Keeps descriptors that this process was started with away from the programs it starts.
pub fn close_inherited() {
    #[cfg(target_os = "linux")]
    descriptors::close_on_exec();
}

/// Bounds what the programs of `command` may use (processor seconds, memory, processes, file
/// size), and ties their lives to the thread that starts them.
///
/// What a program starts in turn inherits the bounds, not the tie: it ends with its process group.
#[cfg(target_os = "linux")]
pub fn bind(command: &mut std::process::Command, seconds: u64) {
    use std::os::unix::process::CommandExt;
    let parent = rustix::process::getpid();
    // SAFETY: the closure makes system calls and nothing else: it takes no lock and allocates no
    // memory, which is what the time between fork and exec asks for.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || limits::bind(parent, seconds));
    }
}

/// Bounds nothing here.
#[cfg(not(target_os = "linux"))]
pub fn bind(_command: &mut std::process::Command, _seconds: u64) {}
