//! What a process reports that waits for another one: a line, once it has waited for longer than a moment.
//! Without it an agent, or a build, sees a command that hangs.

use std::fs::{File, TryLockError};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long nothing is reported.
const MOMENT: Duration = Duration::from_secs(1);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// Where the line goes: nowhere, until `cli/` has named a place.
static REPORT: OnceLock<fn(&str)> = OnceLock::new();

/// From now on `report` gets the lines of this process.
pub fn report_to(report: fn(&str)) {
    let _ = REPORT.set(report);
}

/// One wait, from its beginning.
#[derive(Debug)]
pub struct Wait {
    started: Instant,
    is_reported: bool,
}

impl Wait {
    /// Begins one.
    pub fn begin() -> Self {
        Self { started: Instant::now(), is_reported: false }
    }

    /// How long it has taken.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// It goes on: reported once, with the sentence `why`.
    pub fn goes_on(&mut self, why: impl FnOnce() -> String) {
        if self.is_reported || self.elapsed() < MOMENT {
            return;
        }
        self.is_reported = true;
        if let Some(report) = REPORT.get() {
            report(&format!("waiting: {}", why()));
        }
    }
}

/// Locks `file`, however long that takes.
///
/// # Errors
/// The system's refusal.
pub fn lock(file: &File, why: impl Fn() -> String) -> std::io::Result<()> {
    let mut wait = Wait::begin();
    while !wait.is_reported {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => wait.goes_on(&why),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        std::thread::sleep(PAUSE);
    }
    file.lock()
}
