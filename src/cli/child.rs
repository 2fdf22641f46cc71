//! Child processes, and signals passed on to them.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use crate::error::{Error, Result};

pub struct StopSignals {
    signals: Vec<(i32, std::sync::Arc<std::sync::atomic::AtomicBool>, std::cell::Cell<bool>)>,
}

impl StopSignals {
    pub const ALL: [i32; 3] = {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        [SIGINT, SIGTERM, SIGHUP]
    };

    /// Replaces the default action of `signals`.
    pub fn listen(signals: &[i32]) -> Result<Self> {
        let mut told = Vec::new();
        for signal in signals {
            let flag = std::sync::Arc::default();
            signal_hook::flag::register(*signal, std::sync::Arc::clone(&flag))
                .map_err(|e| Error::io("listen for signals", &e))?;
            told.push((*signal, flag, std::cell::Cell::new(false)));
        }
        Ok(Self { signals: told })
    }

    /// Passes each signal on once. A second Ctrl-C, from the terminal, is harmless.
    pub fn pass_on(&self, child: &std::process::Child) {
        use std::sync::atomic::Ordering::Relaxed;
        for (signal, flag, passed) in &self.signals {
            if flag.load(Relaxed)
                && !passed.replace(true)
                && let Some(signal) = rustix::process::Signal::from_named_raw(*signal)
                && let Some(pid) =
                    i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
            {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }

    pub fn was_signalled(&self) -> bool {
        self.signals.iter().any(|(_, flag, _)| flag.load(std::sync::atomic::Ordering::Relaxed))
    }
}

impl StopSignals {
    /// Waits for `child` and passes signals on.
    pub fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let mut pause = Duration::from_millis(1);
        loop {
            let waited = child.try_wait().map_err(|e| Error::io("wait for the command", &e))?;
            if let Some(status) = waited {
                return Ok(status);
            }
            self.pass_on(child);
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(25));
        }
    }
}
