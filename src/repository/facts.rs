//! Facts of a file (size, times, inode) that change with its content. While they are the same, git
//! takes the content of a file in its index to be the same.

use std::fmt::Write as _;
use std::path::Path;

use chrono::{DateTime, Utc};
use rustix::io::Errno;

/// Milliseconds that a file must have been unchanged: two changes within one tick of its file
/// system's clock show the same time. A tick is at most 10 ms if times have fractions of a second,
/// and 2 s without.
const TICKS: [i64; 2] = [100, 3_000];

pub(crate) struct Facts {
    /// Mode, device, inode, size, and seconds and nanoseconds of the last changes of content and
    /// inode; `None` without a file.
    state: Option<[u64; 8]>,
    /// The last change, and the time without one that is enough, in milliseconds; `None` without a
    /// file.
    changed: Option<(i64, i64)>,
}

impl Facts {
    /// The facts of `path`, or of a symlink there, or that there is no file. `None` if they cannot
    /// be read.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        current(path)
    }

    /// The facts as text without spaces.
    pub(crate) fn text(&self) -> String {
        let Some(state) = &self.state else { return "none".to_owned() };
        let [mode, rest @ ..] = state;
        let mut text = format!("{mode:o}");
        for number in rest {
            let _ = write!(text, ":{number}");
        }
        text
    }

    /// True if the last change is so long ago at `now` that a later one would show.
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
