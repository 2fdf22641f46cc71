//! A temporary linked work tree for running a command on a proposal.
//!
//! It lies in `<git-common-dir>/aye/try/<name>/`, next to a lock file that its process holds.
//! Dropping the `Trial` removes it; after a kill the next command does (`sweep`).
//!
//! A command may have put anything in its place. Removal follows no symlink and touches only our
//! names.

use std::fs::File;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::beneath::{Access, FileKind, clear};
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::git::Git;
use crate::private::PrivateDirectory;

#[derive(Debug)]
pub struct Trial {
    common_dir: PathBuf,
    home: PrivateDirectory,
    name: BString,
    directory: PathBuf,
    _held: File,
}

impl Trial {
    /// Checks out `commit` (detached, without hooks) into a new linked work tree.
    ///
    /// # Errors
    /// `private_dir_unsafe`, `git_failed`, `git_not_found`.
    pub fn new(common_dir: &Path, commit: &str) -> Result<Self> {
        let home = PrivateDirectory::make(&common_dir.join("aye"))?.make_inside("try")?;
        let name = format!("{:012x}", crate::beneath::random_id() & 0xffff_ffff_ffff);
        let lock = lock_name(name.as_str().into());
        let held = home.file(lock.as_bstr(), Access::New)?;
        held.lock().map_err(|e| Error::io(format_args!("lock {}", home.path().display()), &e))?;
        let directory = home.path().join(&name);
        let common_dir = common_dir.to_owned();
        let trial = Self { common_dir, home, name: name.into(), directory, _held: held };
        Git::new(&trial.common_dir)
            .without_local_env()
            .without_hooks()
            .args(["worktree", "add", "--quiet", "--detach"])
            .arg(&trial.directory)
            .arg(commit)
            .run()?;
        Ok(trial)
    }

    /// Checks out the `paths` that the commit has but a sparse checkout excludes.
    pub fn check_out_excluded<'p>(&self, paths: impl Iterator<Item = &'p RepoPath>) -> Result<()> {
        let git = || {
            Git::new(&self.directory)
                .without_local_env()
                .without_hooks()
                .env("GIT_LITERAL_PATHSPECS", "1")
        };
        for path in paths.map(RepoPath::to_path) {
            if self.directory.join(&path).symlink_metadata().is_err()
                && !git().args(["ls-files", "-z", "--"]).arg(&path).run()?.is_empty()
            {
                let checkout = ["checkout", "--quiet", "--ignore-skip-worktree-bits", "HEAD", "--"];
                git().args(checkout).arg(&path).run()?;
            }
        }
        Ok(())
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        remove(&self.common_dir, &self.home, self.name.as_bstr());
        let _ = self.home.dir().unlink(lock_name(self.name.as_bstr()).as_bstr());
    }
}

fn lock_name(name: &BStr) -> BString {
    format!("{name}.lock").into()
}

/// Removes the trials of dead processes. Failures remain for the next time; a symlink in place of
/// our directory stops it.
pub fn sweep(common_dir: &Path) {
    let Ok(Some(private)) = PrivateDirectory::open(&common_dir.join("aye")) else { return };
    let Ok(Some(home)) = private.inside("try") else { return };
    for found in home.dir().names().unwrap_or_default() {
        let Some(name) = found.strip_suffix(b".lock").map(ByteSlice::as_bstr) else {
            // The lock outlives the directory. Without it, a leftover process has recreated or kept
            // the directory.
            let lock = lock_name(found.as_bstr());
            if is_named_by_us(found.as_bstr()) && !is_there(&home, lock.as_bstr()) {
                remove(common_dir, &home, found.as_bstr());
            }
            continue;
        };
        if !is_named_by_us(name) {
            continue;
        }
        let Ok(file) = home.file(found.as_bstr(), Access::Read) else { continue };
        if file.try_lock().is_ok() {
            remove(common_dir, &home, name);
            if !is_there(&home, name) {
                let _ = home.dir().unlink(found.as_bstr());
            }
        }
    }
}

pub(crate) fn stale(common_dir: &Path) -> Vec<PathBuf> {
    let home = PrivateDirectory::open(&common_dir.join("aye")).ok().flatten();
    let Some(home) = home.and_then(|private| private.inside("try").ok().flatten()) else {
        return Vec::new();
    };
    let names = home.dir().names().unwrap_or_default().into_iter();
    let is_stale = |name: &BString| {
        let lock = lock_name(name.as_bstr());
        is_named_by_us(name.as_bstr())
            && match home.file(lock.as_bstr(), Access::Read) {
                Ok(file) => file.try_lock().is_ok(),
                Err(_) => !is_there(&home, lock.as_bstr()),
            }
    };
    names.filter(is_stale).map(|name| home.path().join(name.to_path_lossy())).collect()
}

fn is_there(home: &PrivateDirectory, name: &BStr) -> bool {
    home.dir().stat(name).is_ok()
}

/// Other names are not ours to remove.
fn is_named_by_us(name: &BStr) -> bool {
    name.len() == 12 && name.iter().all(u8::is_ascii_hexdigit)
}

/// Removes a work tree and git's record of it. A symlink in its place is unlinked, a file stays.
fn remove(common_dir: &Path, home: &PrivateDirectory, name: &BStr) {
    match home.dir().stat(name).map(|stamp| stamp.kind) {
        Ok(FileKind::Directory) => clear::remove_all(home.dir(), name),
        Ok(FileKind::Symlink) => drop(home.dir().unlink(name)),
        Ok(_) => return,
        Err(_) => {}
    }
    if is_there(home, name) {
        return;
    }
    // Git then forgets only this work tree.
    let _ = Git::new(common_dir)
        .without_local_env()
        .without_hooks()
        .args(["worktree", "remove", "--force", "--force"])
        .arg(home.path().join(name.to_path_lossy()))
        .answer();
}
