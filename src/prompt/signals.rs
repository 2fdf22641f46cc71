//! Signals that end a process, held back while a user's program has the terminal or raw mode lasts.
//!
//! Registrations stay for good and have switches: removing one would not restore the default
//! action.

/// Not to be nested.
#[derive(Debug)]
#[must_use]
pub struct SignalHold(&'static [i32]);

mod system {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
    use signal_hook::{flag, low_level};

    use super::SignalHold;

    const ALL: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

    struct Switches {
        /// True if the signal takes its default action.
        default: [Arc<AtomicBool>; ALL.len()],
        /// Number of the last signal.
        came: Arc<AtomicUsize>,
        /// The terminal has another size.
        resized: Arc<AtomicBool>,
        /// Readable after a signal.
        wake: Option<UnixStream>,
    }

    impl Switches {
        fn drain(&self) {
            while let Some(mut wake) = self.wake.as_ref()
                && wake.read(&mut [0; 16]).is_ok_and(|count| count > 0)
            {}
        }
    }

    fn switches() -> &'static Switches {
        static SWITCHES: OnceLock<Switches> = OnceLock::new();
        SWITCHES.get_or_init(|| {
            let came = Arc::new(AtomicUsize::new(0));
            let default = ALL.map(|_| Arc::new(AtomicBool::new(true)));
            let pair = UnixStream::pair().ok();
            for (signal, default) in ALL.into_iter().zip(&default) {
                // Register the flags before the pipe: the reader must see which signal woke it.
                let _ = flag::register_conditional_default(signal, Arc::clone(default));
                let _ = flag::register_usize(signal, Arc::clone(&came), signal as usize);
                if let Some(waker) = pair.as_ref().and_then(|(_, waker)| waker.try_clone().ok()) {
                    let _ = low_level::pipe::register(signal, waker);
                }
            }
            let resized = Arc::new(AtomicBool::new(false));
            let _ = flag::register(SIGWINCH, Arc::clone(&resized));
            if let Some(waker) = pair.as_ref().and_then(|(_, waker)| waker.try_clone().ok()) {
                let _ = low_level::pipe::register(SIGWINCH, waker);
            }
            let wake = pair.map(|(wake, _)| wake);
            if let Some(wake) = &wake {
                let _ = wake.set_nonblocking(true);
            }
            Switches { default, came, resized, wake }
        })
    }

    impl SignalHold {
        /// For Ctrl-C and Ctrl-\ while a child has the terminal.
        pub fn interrupts() -> Self {
            Self::of(&[SIGINT, SIGQUIT])
        }

        pub(in super::super) fn all() -> Self {
            Self::of(&ALL)
        }

        fn of(signals: &'static [i32]) -> Self {
            let switches = switches();
            switches.came.store(0, Ordering::SeqCst);
            switches.drain();
            for (signal, default) in ALL.iter().zip(&switches.default) {
                if signals.contains(signal) {
                    default.store(false, Ordering::SeqCst);
                }
            }
            Self(signals)
        }

        fn restore(&self) {
            for (signal, default) in ALL.iter().zip(&switches().default) {
                if self.0.contains(signal) {
                    default.store(true, Ordering::SeqCst);
                }
            }
        }

        pub(in super::super) fn came(&self) -> Option<i32> {
            let signal = switches().came.load(Ordering::SeqCst) as i32;
            self.0.contains(&signal).then_some(signal)
        }

        /// Once for each change of the terminal's size.
        pub(in super::super) fn is_resized() -> bool {
            let switches = switches();
            let is_resized = switches.resized.swap(false, Ordering::SeqCst);
            if is_resized {
                switches.drain();
            }
            is_resized
        }

        pub(in super::super) fn wake(&self) -> Option<&'static UnixStream> {
            switches().wake.as_ref()
        }

        /// The reader has answered the signal.
        pub(in super::super) fn answered(&self) {
            switches().came.store(0, Ordering::SeqCst);
        }

        /// A signal that nobody answered takes its default action. It is looked for last: one that
        /// comes as soon as the terminal's modes are restored would be lost in between.
        pub(in super::super) fn release(self) {
            self.restore();
            if let Some(signal) = self.came() {
                let _ = low_level::emulate_default_handler(signal);
            }
        }
    }

    impl Drop for SignalHold {
        fn drop(&mut self) {
            self.restore();
        }
    }
}
