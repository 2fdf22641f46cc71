//! Number of processors, and work on a second thread.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::{self, ScopedJoinHandle};

/// Cached: the answer takes dozens of system calls.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// A value computed on another thread, or in `wait`.
pub enum BackgroundJob<'scope, T> {
    Running(ScopedJoinHandle<'scope, T>),
    Deferred(&'scope (dyn Fn() -> T + Sync)),
}

impl<T> BackgroundJob<'_, T> {
    pub fn wait(self) -> T {
        match self {
            Self::Running(thread) => {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            Self::Deferred(work) => work(),
        }
    }
}

/// Runs `main` while `work` runs on another thread, or in `wait` if a thread does not pay or start.
pub fn run_beside<T: Send, R>(
    pays: bool,
    work: &(dyn Fn() -> T + Sync),
    main: impl FnOnce(BackgroundJob<'_, T>) -> R,
) -> R {
    if !pays || count() == 1 {
        return main(BackgroundJob::Deferred(work));
    }
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, work) {
        Ok(thread) => main(BackgroundJob::Running(thread)),
        Err(_) => main(BackgroundJob::Deferred(work)),
    })
}
