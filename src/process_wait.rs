//! Reports a long wait for another process; without a line the command seems to hang.

use std::fs::{File, TryLockError};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Silent period.
const MOMENT: Duration = Duration::from_secs(1);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// Set by `cli/`; unset reports nothing.
static REPORT: OnceLock<fn(&str)> = OnceLock::new();

pub fn report_to(report: fn(&str)) {
    let _ = REPORT.set(report);
}

#[derive(Debug)]
pub struct Wait {
    started: Instant,
    is_reported: bool,
}

impl Wait {
    pub fn begin() -> Self {
        Self { started: Instant::now(), is_reported: false }
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Reports the sentence `why` once, after `MOMENT`.
    pub fn report_once(&mut self, why: impl FnOnce() -> String) {
        if self.is_reported || self.elapsed() < MOMENT {
            return;
        }
        self.is_reported = true;
        if let Some(report) = REPORT.get() {
            report(&format!("waiting: {}", why()));
        }
    }
}

/// Locks `file`, waiting without limit.
pub fn lock(file: &File, why: impl Fn() -> String) -> std::io::Result<()> {
    let mut wait = Wait::begin();
    while !wait.is_reported {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => wait.report_once(&why),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        std::thread::sleep(PAUSE);
    }
    file.lock()
}
