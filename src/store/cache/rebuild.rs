//! When the cache is built again, and when it is only in the way.

use super::View;

/// How often a cache is begun again. Each time something that is kept of a lane has moved on to a new
/// epoch, which leaves fewer of them to move on to.
const MOST_BEGINNINGS: usize = 100;

/// What `build` makes of an empty cache, which has to be begun again where that itself has moved on what
/// is kept.
pub(super) fn begun_again(build: impl Fn() -> rusqlite::Result<View>) -> rusqlite::Result<View> {
    let mut built = build();
    for _ in 0..MOST_BEGINNINGS {
        if !matches!(built, Err(rusqlite::Error::InvalidQuery)) {
            break;
        }
        built = build();
    }
    built
}

/// True for what says nothing about the file's content: someone else has it locked, the directory
/// cannot be written, or a symlink has its name. Not worth a rebuild; this one view is made in memory.
pub(super) fn is_in_the_way(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    matches!(error, rusqlite::Error::InvalidPath(_))
        || matches!(
            error.sqlite_error_code(),
            Some(
                Code::DatabaseBusy
                    | Code::DatabaseLocked
                    | Code::ReadOnly
                    | Code::PermissionDenied
                    | Code::DiskFull
            )
        )
}
