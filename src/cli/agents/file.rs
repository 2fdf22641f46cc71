//! Settings files, read and written where their symlinks lead.

use std::fs::Permissions;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, codes};
use crate::obstacle;
use crate::session::codes::NO_STATE_DIRECTORY;

pub(super) fn unreadable(path: &Path, why: &str) -> Error {
    Error::new(&codes::INVALID_JSON, format!("{} cannot be edited: {why}", path.display()))
        .with("path", path.display().to_string())
        .hint("it is left as it is; repair it, then try again")
}

pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match bytes(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| unreadable(path, "it is not UTF-8"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            Err(unreadable(path, "it is not a regular file"))
        }
        Err(error) => Err(match obstacle(path) {
            Some(why) => unreadable(path, &why),
            None => Error::file("read", path, &error),
        }),
    }
}

/// A dangling symlink, or an ancestor that is not a directory, prevents a file.
fn obstacle(path: &Path) -> Option<String> {
    let is_dangling = path.is_symlink() && !path.exists();
    let place = if is_dangling { path } else { path.parent()? };
    obstacle::obstacle(place)
}

/// Refuses a path where [`write()`] would fail or replace a symlink.
fn require_room(path: &Path) -> Result<()> {
    obstacle(path).map_or(Ok(()), |why| Err(unreadable(path, &why)))
}

pub(super) fn require_state(directory: &Path) -> Result<()> {
    let Some(why) = obstacle::obstacle(directory) else { return Ok(()) };
    Err(Error::new(&NO_STATE_DIRECTORY, why)
        .hint("set XDG_STATE_HOME to a directory that you can write, outside the repository"))
}

/// A pipe must not block the open. A file that is not regular is `InvalidInput`.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut { file }, &mut bytes)?;
    Ok(bytes)
}

/// Writes atomically, and through symlinks: settings may be links into a collection.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| Error::file("write", path, &error);
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = real.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    let mode = std::fs::metadata(&real).map(|facts| facts.permissions());
    let mode = mode.unwrap_or_else(|_| Permissions::from_mode(0o644));
    file.as_file().set_permissions(mode).map_err(failed)?;
    file.persist(&real).map(drop).map_err(|error| failed(error.error))
}

pub(super) fn unlink(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|error| Error::file("remove", path, &error))?;
    let _ = path.parent().map(std::fs::remove_dir);
    Ok(())
}

/// All edits are computed before the first is written.
#[derive(Default)]
pub(super) struct Edits(Vec<Edit>);

struct Edit {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl Edits {
    pub(super) fn edit(
        &mut self,
        path: PathBuf,
        edit: impl FnOnce(&str) -> Result<Option<String>, String>,
    ) -> Result<bool> {
        let at = match self.0.iter().position(|it| it.path == path) {
            Some(at) => at,
            None => {
                require_room(&path)?;
                let before = read(&path)?;
                self.0.push(Edit { path, after: before.clone(), before });
                self.0.len() - 1
            }
        };
        let it = &mut self.0[at];
        let text = it.after.as_deref().unwrap_or_default();
        let after = edit(text).map_err(|why| unreadable(&it.path, &why))?;
        let is_other = after.as_deref().unwrap_or_default() != text;
        if is_other {
            it.after = after;
        }
        Ok(is_other)
    }

    pub(super) fn write(self) -> Result<()> {
        let others = self.0.into_iter().filter(|edit| edit.before != edit.after);
        others.into_iter().try_for_each(|edit| match edit.after {
            Some(text) => write(&edit.path, &text),
            None => unlink(&edit.path),
        })
    }
}
