//! An earlier plain hook stays beside ours as `NAME.aye-chained` and runs first.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Hook, codes};
use crate::error::{Error, Result};

pub(super) const SUFFIX: &str = ".aye-chained";

pub(super) fn chained_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// # Errors
/// `hook_not_ours` if the hook at `path` cannot be renamed.
pub(super) fn require_plain(path: &Path, hook: Hook) -> Result<()> {
    let is_file = path.symlink_metadata().is_ok_and(|facts| facts.is_file());
    let text = if is_file { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&text);
    let why = if !is_file {
        "is not a regular file"
    } else if text.is_empty() {
        "is empty, or cannot be read"
    } else if !is_executable(path) {
        "is not executable"
    } else if text.contains("$0") || text.contains("${0") {
        "may go by its own name"
    } else if chained_path(path).symlink_metadata().is_ok() {
        "is one beside that which aye runs first"
    } else {
        return Ok(());
    };
    Err(Error::new(&codes::HOOK_NOT_OURS, format!("{} {why}", path.display()))
        .with("hook", hook.name())
        .hint(format!("add this line to it: {}", hook.line())))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

/// A second name: a hook is in place at every moment.
pub(super) fn link_chained(path: &Path) -> Result<()> {
    let kept = fs::hard_link(path, chained_path(path))
        .or_else(|_| fs::copy(path, chained_path(path)).map(drop));
    kept.map_err(|error| Error::file("keep", path, &error))
}
