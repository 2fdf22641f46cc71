//! A throw-away linked work tree, to run something on a proposal.
//!
//! It lies in `<git-common-dir>/aye/try/<name>/`, beside a lock file that its maker holds open.
//! It goes when the [`Trial`] is dropped; what a killed process left, recognised by a lock file
//! that nobody holds, goes with the next command ([`sweep`]).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::git::Git;

/// A linked work tree that is gone when this is dropped.
#[derive(Debug)]
pub struct Trial {
    common_dir: PathBuf,
    folder: PathBuf,
    lock: PathBuf,
    // Held, not read.
    _held: File,
}

impl Trial {
    /// Checks `commit` out (detached, without running hooks) into a new work tree of the
    /// repository at `common_dir`.
    ///
    /// # Errors
    /// `git_failed`, `git_not_found`, or those of the file system.
    pub fn new(common_dir: &Path, commit: &str) -> Result<Self> {
        let home = home(common_dir);
        fs::create_dir_all(&home)
            .map_err(|e| Error::io(format_args!("make {}", home.display()), &e))?;
        let name = format!("{:012x}", crate::worktree::random() & 0xffff_ffff_ffff);
        let lock = home.join(format!("{name}.lock"));
        let held = File::create_new(&lock)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|e| Error::io(format_args!("make {}", lock.display()), &e))?;
        let folder = home.join(&name);
        let trial = Self { common_dir: common_dir.to_owned(), folder, lock, _held: held };
        Git::new(common_dir)
            .fresh()
            .without_hooks()
            .args(["worktree", "add", "--quiet", "--detach"])
            .arg(&trial.folder)
            .arg(commit)
            .run()?;
        Ok(trial)
    }

    /// The top of the work tree.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        remove(&self.common_dir, &self.folder);
        let _ = fs::remove_file(&self.lock);
    }
}

fn home(common_dir: &Path) -> PathBuf {
    common_dir.join("aye").join("try")
}

/// Removes every trial of the repository at `common_dir` whose maker is gone. What cannot be
/// removed stays for the next time.
pub fn sweep(common_dir: &Path) {
    for entry in fs::read_dir(home(common_dir)).into_iter().flatten().flatten() {
        let found = entry.path();
        if found.extension().is_none_or(|extension| extension != "lock") {
            // The lock is made before the folder and goes after it: a folder without one was made
            // again, or kept, by something that outlived its trial.
            if is_named_by_us(&found) && !found.with_extension("lock").exists() {
                remove(common_dir, &found);
            }
            continue;
        }
        let lock = found;
        let Ok(file) = File::open(&lock) else { continue };
        if file.try_lock().is_ok() {
            let folder = lock.with_extension("");
            remove(common_dir, &folder);
            if !folder.exists() {
                let _ = fs::remove_file(&lock);
            }
        }
    }
}

/// True for a name as [`Trial::new`] gives them: what else may lie there is not ours to remove.
fn is_named_by_us(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes a work tree and git's record of it, whatever a command has left in there.
fn remove(common_dir: &Path, folder: &Path) {
    let git = || {
        Git::new(common_dir)
            .fresh()
            .without_hooks()
            .args(["worktree", "remove", "--force", "--force"])
            .arg(folder)
            .answer()
    };
    if git().is_ok_and(|answer| answer.ok()) && !folder.exists() {
        return;
    }
    if fs::remove_dir_all(folder).is_err() {
        // Folders that a tool made read-only (a module cache) keep their files.
        make_writable(folder);
        let _ = fs::remove_dir_all(folder);
    }
    // Git forgets a work tree whose folder is gone, without touching any other.
    let _ = git();
}

#[cfg(unix)]
fn make_writable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

#[cfg(not(unix))]
fn make_writable(_folder: &Path) {}
