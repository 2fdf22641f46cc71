//! Which processors the threads of a transaction run on.
//!
//! A new thread begins where its maker is, and systems that pack work on few processors, as virtual
//! machines do, leave the two there for longer than they live: they would only take turns. So who
//! starts threads stays where it is meanwhile, and they go elsewhere. Where the system does not let
//! them, they all run as it likes.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::{self, ScopedJoinHandle};

#[cfg(target_os = "linux")]
pub use linux::Apart;
#[cfg(not(target_os = "linux"))]
pub use other::Apart;

/// How many this process may use. The system is asked once: the answer takes dozens of its calls.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// The value of a function that runs on another processor, or when it is waited for.
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

/// Calls `main` on this processor while `work` runs on another one, if it `pays` to start a thread
/// for it and one is to be had; otherwise `work` runs once `main` waits for it.
pub fn beside<T: Send, R>(
    pays: bool,
    work: &(dyn Fn() -> T + Sync),
    main: impl FnOnce(Beside<'_, T>) -> R,
) -> R {
    if !pays || count() == 1 {
        return main(Beside::Later(work));
    }
    let apart = Apart::from_here();
    thread::scope(|scope| {
        let run = move || {
            apart.go();
            work()
        };
        match thread::Builder::new().spawn_scoped(scope, run) {
            Ok(thread) => {
                let stay = apart.stay();
                let result = main(Beside::Running(thread));
                drop(stay);
                result
            }
            Err(_) => main(Beside::Later(work)),
        }
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// The processor that a thread is on, and the rest.
    #[derive(Clone, Copy, Debug)]
    pub struct Apart(Option<Sets>);

    #[derive(Clone, Copy, Debug)]
    struct Sets {
        all: CpuSet,
        here: CpuSet,
        rest: CpuSet,
    }

    impl Apart {
        /// From the processor that the calling thread is on.
        pub fn from_here() -> Self {
            let sets = |all: CpuSet| {
                let (mut here, mut rest, number) = (CpuSet::new(), all, sched_getcpu());
                here.set(number);
                rest.unset(number);
                (rest.count() > 0).then_some(Sets { all, here, rest })
            };
            Self(sched_getaffinity(None).ok().and_then(sets))
        }

        /// Moves the calling thread, another one, to the rest.
        pub fn go(self) {
            if let Some(sets) = self.0 {
                let _ = sched_setaffinity(None, &sets.rest);
            }
        }

        /// Keeps the calling thread here until what is returned is dropped.
        pub fn stay(self) -> Stay {
            Stay(self.0.filter(|sets| sched_setaffinity(None, &sets.here).is_ok()))
        }
    }

    #[derive(Debug)]
    pub struct Stay(Option<Sets>);

    impl Drop for Stay {
        fn drop(&mut self) {
            if let Some(sets) = &self.0 {
                let _ = sched_setaffinity(None, &sets.all);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Not known here.
    #[derive(Clone, Copy, Debug)]
    pub struct Apart;

    #[derive(Debug)]
    pub struct Stay;

    impl Apart {
        pub fn from_here() -> Self {
            Self
        }

        pub fn go(self) {}

        pub fn stay(self) -> Stay {
            Stay
        }
    }
}
