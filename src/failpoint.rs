//! Named write steps where a crash test kills the process or fails the step.
//!
//! Active with the feature `failpoints` in debug builds, else empty. The variable `FAILPOINTS`,
//! such as `FAILPOINTS="worktree.rename=3*off->return"`, kills the process at the fourth rename.
//! `return(disk_full)`, `return(read_only)` and `return(io)` fail the step.

/// `failpoint!("name")` may end the process; `failpoint!("name", io)` is a `Result` that may fail.
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

#[cfg(all(feature = "failpoints", debug_assertions))]
pub fn reached(name: &str) -> std::io::Result<()> {
    use std::io::ErrorKind;
    static READ: std::sync::Once = std::sync::Once::new();
    // Leaked: dropping it would clear the configuration.
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
