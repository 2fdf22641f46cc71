//! Installing, removing and looking at hooks in one directory.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::script::{self, ScriptKind, Setting};
use super::{Hook, Manager, codes, kept};
use crate::error::{Error, Result};

/// What is in the place of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing.
    Absent,
    /// Ours, as this aye would install it.
    Installed,
    /// Ours, from another version or another place of the program.
    Outdated,
    /// Ours, but someone has edited it.
    Edited,
    /// Another hook.
    Other,
}

/// What an installation or removal did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallOutcome {
    /// A new hook was written.
    Installed,
    /// A new hook was written; the one before is kept beside it and runs first.
    Chained,
    /// Our own earlier hook was brought up to date.
    Updated,
    /// It was as wanted already.
    Unchanged,
    /// Our hook is gone.
    Removed,
    /// Our hook is gone and the one from before is back.
    Restored,
    /// There was none of ours.
    NotOurs,
}

/// What is in the place of `hook` in `directory`, where `setting` names the running aye; and whether
/// an earlier hook is kept beside it.
///
/// # Errors
/// `io_error` if a file that exists cannot be read.
pub fn state(directory: &Path, hook: Hook, setting: Setting<'_>) -> Result<(State, bool)> {
    state_at(&own_path(directory, hook), directory, hook, setting)
}

fn state_at(
    path: &Path,
    directory: &Path,
    hook: Hook,
    setting: Setting<'_>,
) -> Result<(State, bool)> {
    let chained = kept::find(directory, hook).is_some();
    let state = match read(path)? {
        None => State::Absent,
        Some(bytes) => match script::kind(&bytes) {
            ScriptKind::Foreign => State::Other,
            ScriptKind::Edited => State::Edited,
            ScriptKind::Ours if bytes == text(directory, hook, setting).as_bytes() => {
                State::Installed
            }
            ScriptKind::Ours => State::Outdated,
        },
    };
    Ok((state, chained))
}

/// Where the pre-commit framework, whose own hook is in the place of `hook`, has moved the one that it found. It
/// runs that first, with all that git hands to the hook, and puts it back when it is uninstalled.
fn beside_framework(directory: &Path, hook: Hook) -> Option<PathBuf> {
    let is_there = Manager::PreCommit.wrote(&directory.join(hook.name()));
    is_there.then(|| directory.join(format!("{}.legacy", hook.name())))
}

/// The hook of ours that the pre-commit framework runs, beside its own.
pub fn moved(directory: &Path, hook: Hook) -> Option<PathBuf> {
    beside_framework(directory, hook).filter(|path| is_ours(path))
}

/// Whether one of ours runs for `hook`, edited or not.
pub fn is_installed(directory: &Path, hook: Hook) -> bool {
    is_ours(&own_path(directory, hook))
}

fn own_path(directory: &Path, hook: Hook) -> PathBuf {
    moved(directory, hook).unwrap_or_else(|| directory.join(hook.name()))
}

fn text(directory: &Path, hook: Hook, setting: Setting<'_>) -> String {
    script::text(hook, setting, &kept::name(directory))
}

/// Whether the hook at `path` is one of ours, edited or not.
pub(super) fn is_ours(path: &Path) -> bool {
    read(path)
        .is_ok_and(|bytes| bytes.is_some_and(|bytes| script::kind(&bytes) != ScriptKind::Foreign))
}

/// Installs `hook` in `directory`, for the aye of `setting`. At no moment is an earlier hook missing. Where the
/// pre-commit framework has the hook, ours goes beside it, to where that keeps one that it found.
///
/// # Errors
/// `hook_changed` if ours was edited (`force` overwrites it), `hook_in_the_way` if the earlier
/// hook cannot be kept, or an operating-system error; nothing has changed then.
pub fn install(
    directory: &Path,
    hook: Hook,
    setting: Setting<'_>,
    force: bool,
) -> Result<InstallOutcome> {
    let path = beside_framework(directory, hook).unwrap_or_else(|| directory.join(hook.name()));
    let (state, chained) = state_at(&path, directory, hook, setting)?;
    let outcome = match state {
        State::Installed => InstallOutcome::Unchanged,
        State::Edited if !force => return Err(edited(&path)),
        State::Outdated | State::Edited => InstallOutcome::Updated,
        State::Absent if chained => InstallOutcome::Chained,
        State::Absent => InstallOutcome::Installed,
        State::Other if chained => return Err(no_room(directory, hook)),
        State::Other => InstallOutcome::Chained,
    };
    fs::create_dir_all(directory)
        .map_err(|e| Error::io(format_args!("make {}", directory.display()), &e))?;
    if state == State::Other {
        let ours = prepare(directory, text(directory, hook, setting).as_bytes())?;
        kept::keep(directory, hook, &path)?;
        let placed = kept::mirror(directory).and_then(|()| persist(ours, &path));
        placed.inspect_err(|_| kept::give_up(directory, hook, &path))?;
    } else {
        kept::clear(directory, hook)?;
        if state != State::Installed {
            persist(prepare(directory, text(directory, hook, setting).as_bytes())?, &path)?;
        }
        kept::mirror(directory)?;
    }
    Ok(outcome)
}

/// Whether a hook of ours in `directory` runs another aye than that of `setting`.
///
/// # Errors
/// `io_error` if a file that exists cannot be read.
pub fn runs_another(directory: &Path, setting: Setting<'_>) -> Result<bool> {
    for hook in Hook::ALL {
        let Some(bytes) = read(&own_path(directory, hook))? else { continue };
        if script::kind(&bytes) != ScriptKind::Foreign && !script::runs(&bytes, setting.program) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn persist(file: tempfile::NamedTempFile, path: &Path) -> Result<()> {
    file.persist(path)
        .map(drop)
        .map_err(|e| Error::io(format_args!("write {}", path.display()), &e.error))
}

/// Removes `hook` from `directory` if it is ours, and puts back the one from before.
///
/// # Errors
/// `hook_changed` if ours was edited (`force` removes it all the same), or an operating-system
/// error.
pub fn uninstall(
    directory: &Path,
    hook: Hook,
    setting: Setting<'_>,
    force: bool,
) -> Result<InstallOutcome> {
    let (state, chained) = state(directory, hook, setting)?;
    let path = own_path(directory, hook);
    match state {
        State::Other => return Ok(InstallOutcome::NotOurs),
        State::Absent if !chained => return Ok(InstallOutcome::NotOurs),
        State::Edited if !force => return Err(edited(&path)),
        _ => {}
    }
    let outcome = match kept::find(directory, hook) {
        // Over ours in one step, so that there is a hook at every moment.
        Some(kept) => fs::rename(&kept, &path)
            .map_err(|e| Error::io(format_args!("put back {}", path.display()), &e))
            .map(|()| InstallOutcome::Restored)?,
        None => fs::remove_file(&path)
            .map_err(|e| Error::io(format_args!("remove {}", path.display()), &e))
            .map(|()| InstallOutcome::Removed)?,
    };
    kept::mirror(directory)?;
    Ok(outcome)
}

/// Refuses where `hook` is ours and was edited, unless `force`: to be asked of every hook before
/// the first is touched.
///
/// # Errors
/// `hook_changed`, or an operating-system error.
pub fn require_unedited(
    directory: &Path,
    hook: Hook,
    setting: Setting<'_>,
    force: bool,
) -> Result<()> {
    match state(directory, hook, setting)? {
        (State::Edited, _) if !force => Err(edited(&own_path(directory, hook))),
        _ => Ok(()),
    }
}

/// Refuses where the hook in the place of `hook` could not be kept, for [`install`]: to be asked
/// of every hook before the first is touched.
///
/// # Errors
/// `hook_in_the_way`, or an operating-system error.
pub fn require_room(directory: &Path, hook: Hook, setting: Setting<'_>) -> Result<()> {
    match state(directory, hook, setting)? {
        (State::Other, true) => Err(no_room(directory, hook)),
        _ => Ok(()),
    }
}

/// Whether the hook that is kept for `hook` can be run; git passes over one that cannot, and so
/// does ours.
pub fn runs_chained(directory: &Path, hook: Hook) -> bool {
    kept::find(directory, hook).is_some_and(|kept| can_run(&kept))
}

/// Whether git runs the hook that is the file `path`.
pub(super) fn can_run(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        metadata.is_file()
    }
}

/// What the name of a script begins with that is not in its place yet.
pub(super) const UNFINISHED: &str = ".aye-hook-";

/// Our script in a temporary file of the same directory, executable.
fn prepare(directory: &Path, text: &[u8]) -> Result<tempfile::NamedTempFile> {
    let write = || -> io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
        file.write_all(text)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            file.as_file().set_permissions(fs::Permissions::from_mode(0o755))?;
        }
        Ok(file)
    };
    write().map_err(|e| Error::io(format_args!("write into {}", directory.display()), &e))
}

/// The hook at `path`; `None` where there is none.
///
/// # Errors
/// `hook_in_the_way` for what is not a file, or an operating-system error.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    // A pipe is not waited for.
    if path.metadata().is_ok_and(|facts| !facts.is_file()) {
        return Err(Error::new(
            &codes::HOOK_IN_THE_WAY,
            format!("{} is not a regular file", path.display()),
        )
        .hint("git cannot run it; move it, then try again"));
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A dangling symlink is a hook that git would fail to run, but it is someone's.
            Ok(path.symlink_metadata().is_ok().then(Vec::new))
        }
        // So is one that leads to itself; the directory may be one, too.
        Err(error) if is_circle(&error) => Ok(path.is_symlink().then(Vec::new)),
        // core.hooksPath may name a file, `/dev/null` above all: no hook is in there.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(Error::io(format_args!("read {}", path.display()), &error)),
    }
}

/// True for what a symlink ends in that leads to itself.
fn is_circle(error: &io::Error) -> bool {
    // ErrorKind has no stable name for it.
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    return false;
}

fn no_room(directory: &Path, hook: Hook) -> Error {
    let kept = kept::find(directory, hook).unwrap_or_default();
    kept::in_the_way(&kept, &directory.join(hook.name()))
}

fn edited(path: &Path) -> Error {
    Error::new(
        &codes::HOOK_CHANGED,
        format!("{} was installed by aye and edited since", path.display()),
    )
    .hint("move your lines to a hook of their own, or use --force to lose them")
}
