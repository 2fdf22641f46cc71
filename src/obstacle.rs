//! Obstacles to a directory.

use std::io::ErrorKind;
use std::path::Path;

/// `None` unless a file or symlink prevents a directory at `path`.
pub fn obstacle(path: &Path) -> Option<String> {
    let (at, facts) = path.ancestors().find_map(|at| Some((at, at.symlink_metadata().ok()?)))?;
    let why = match at.metadata() {
        Ok(found) if found.is_dir() => return None,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
        Err(_) if facts.is_symlink() => "is a symlink that leads nowhere",
        _ => "is not a directory",
    };
    Some(format!("'{}' {why}", at.display()))
}
