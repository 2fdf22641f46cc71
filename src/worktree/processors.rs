//! How many processors there are for the threads of a transaction, and work beside a command's own.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::{self, ScopedJoinHandle};

/// How many this process may use. The system is asked once: the answer takes dozens of its calls.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// The value of a function that runs on another thread, or when it is waited for.
pub enum Beside<'scope, T> {
    /// On a thread of its own.
    Running(ScopedJoinHandle<'scope, T>),
    /// Not yet begun.
    Later(&'scope (dyn Fn() -> T + Sync)),
}

impl<T> Beside<'_, T> {
    /// Waits for the value.
    pub fn wait(self) -> T {
        match self {
            Self::Running(thread) => {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            Self::Later(work) => work(),
        }
    }
}

/// Calls `main` while `work` runs on another thread, if it `pays` to start one
/// for it and one is to be had; otherwise `work` runs once `main` waits for it.
pub fn beside<T: Send, R>(
    pays: bool,
    work: &(dyn Fn() -> T + Sync),
    main: impl FnOnce(Beside<'_, T>) -> R,
) -> R {
    if !pays || count() == 1 {
        return main(Beside::Later(work));
    }
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, work) {
        Ok(thread) => main(Beside::Running(thread)),
        Err(_) => main(Beside::Later(work)),
    })
}
