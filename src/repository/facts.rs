//! What tells one state of a file from another without reading it: size, times, inode. While these are the
//! same another look would see the same, as git believes of the files in its index.

use std::fmt::Write as _;
use std::path::Path;

use chrono::{DateTime, Utc};
use rustix::io::Errno;

/// How long a file must have been as it is, in milliseconds: one that changes twice within one tick of
/// its file system's clock shows the same time for both. A tick is 10 ms at most where times have
/// fractions of a second, and 2 s where they have none.
const TICKS: [i64; 2] = [100, 3_000];

/// What tells one state of a file from another.
pub(crate) struct Facts {
    /// Mode, device, inode, size, and the seconds and nanoseconds of the last change of its content
    /// and of itself; `None` where there is no file.
    state: Option<[u64; 8]>,
    /// When they changed last, and how long nothing may have changed since to say so, in milliseconds;
    /// `None` where there is no file.
    changed: Option<(i64, i64)>,
}

impl Facts {
    /// Those of what is at `path`, a symlink included, or that there is nothing. `None` where they
    /// cannot be told.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        current(path)
    }

    /// The same as text, without spaces.
    pub(crate) fn text(&self) -> String {
        let Some(state) = &self.state else { return "none".to_owned() };
        let [mode, rest @ ..] = state;
        let mut text = format!("{mode:o}");
        for number in rest {
            let _ = write!(text, ":{number}");
        }
        text
    }

    /// Whether it has been so for long enough at `now` that a later change would show.
    pub(super) fn is_old(&self, now: DateTime<Utc>) -> bool {
        self.changed
            .is_none_or(|(changed, tick)| now.timestamp_millis().saturating_sub(changed) >= tick)
    }
}

#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)] // Widths differ between systems.
fn current(path: &Path) -> Option<Facts> {
    let file = match rustix::fs::lstat(path) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Some(Facts { state: None, changed: None }),
        Err(_) => return None,
    };
    let (seconds, nanoseconds) = (file.st_ctime as i64, file.st_ctime_nsec as i64);
    let changed = seconds.saturating_mul(1_000).saturating_add(nanoseconds / 1_000_000);
    let state = [
        file.st_mode as u64,
        file.st_dev as u64,
        file.st_ino as u64,
        file.st_size as u64,
        file.st_mtime as u64,
        file.st_mtime_nsec as u64,
        file.st_ctime as u64,
        file.st_ctime_nsec as u64,
    ];
    let tick = TICKS[usize::from(nanoseconds == 0)];
    Some(Facts { state: Some(state), changed: Some((changed, tick)) })
}
