//! Named places at which a crash test stops the process, or makes a write fail.
//!
//! Only with the feature `failpoints`, which tests turn on, and not in release builds, which benches
//! measure; without them the macro is nothing. The tests set the
//! variable `FAILPOINTS`, for example `FAILPOINTS="worktree.rename=3*off->return"`:
//! at the fourth rename the process is gone, as after `kill -9`. `return(disk_full)`,
//! `return(read_only)` and `return(io)` make the step fail instead, where the step can.

/// Marks a write step. `failpoint!("name")` is a statement that may end the process;
/// `failpoint!("name", io)` is an `std::io::Result<()>` that may also be a failure.
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {
        #[cfg(all(feature = "failpoints", debug_assertions))]
        let _ = $crate::failpoint::reached($name);
    };
    ($name:literal, io) => {{
        #[cfg(all(feature = "failpoints", debug_assertions))]
        let reached = $crate::failpoint::reached($name);
        #[cfg(not(all(feature = "failpoints", debug_assertions)))]
        let reached: std::io::Result<()> = Ok(());
        reached
    }};
}

/// What the macro calls: ends the process or returns the failure that `FAILPOINTS` asks for.
///
/// # Errors
/// The failure asked for.
#[cfg(all(feature = "failpoints", debug_assertions))]
pub fn reached(name: &str) -> std::io::Result<()> {
    use std::io::ErrorKind;
    static READ: std::sync::Once = std::sync::Once::new();
    // Kept for the life of the process: dropping it would clear what was read.
    READ.call_once(|| std::mem::forget(fail::FailScenario::setup()));
    match fail::eval(name, |argument| argument) {
        None => Ok(()),
        Some(argument) => match argument.as_deref() {
            Some("disk_full") => Err(ErrorKind::StorageFull.into()),
            Some("read_only") => Err(ErrorKind::ReadOnlyFilesystem.into()),
            Some("io") => Err(std::io::Error::other("failed on request")),
            _ => std::process::abort(),
        },
    }
}
