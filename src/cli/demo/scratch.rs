//! The scratch repository: a clone of the one at hand, or a small generated one.

use std::path::{Path, PathBuf};

use super::scene::{self, Scene};
use crate::cli::Context;
use crate::error::{Error, Result};
use crate::git::Git;

/// A repository to play in.
pub struct Scratch {
    /// Its root.
    pub root: PathBuf,
    /// What it is, for the opening line.
    pub origin: String,
    /// What to propose in it.
    pub scene: Scene,
    // Removes the folder again unless it is told to stay.
    guard: Option<tempfile::TempDir>,
}

impl Scratch {
    /// Makes one at `folder` (empty or absent), or in a new temporary folder: a clone of the
    /// repository around the current folder if there is one with something to propose in, else a
    /// generated one.
    ///
    /// # Errors
    /// `invalid_argument` if the folder holds something; `git_failed`, `io_error`.
    pub fn make(context: &Context, folder: Option<&Path>) -> Result<Self> {
        let (root, guard) = match folder {
            Some(folder) => (empty(&context.directory.join(folder))?, None),
            None => {
                let made = tempfile::Builder::new()
                    .prefix("aye-demo-")
                    .tempdir()
                    .map_err(|e| Error::io("make a temporary folder", &e))?;
                (made.path().to_owned(), Some(made))
            }
        };
        if let Some(source) = repository(&context.directory)
            && let Some(scene) = clone(&source, &root)?
        {
            let origin = format!("a clone of {}", source.display());
            return Ok(Self { root, origin, scene, guard });
        }
        generate(&root)?;
        let origin = "a small generated repository".to_owned();
        Ok(Self { root, origin, scene: scene::curated(), guard })
    }

    /// Leaves the folder where it is when this value goes.
    pub fn keep(&mut self) {
        if let Some(guard) = self.guard.take() {
            let _ = guard.keep();
        }
    }
}

fn empty(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::io(format!("make the folder {}", folder.display()), &e))?;
    let folder = folder
        .canonicalize()
        .map_err(|e| Error::io(format!("find the folder {}", folder.display()), &e))?;
    let mut entries = std::fs::read_dir(&folder)
        .map_err(|e| Error::io(format!("read the folder {}", folder.display()), &e))?;
    if entries.next().is_some() {
        let code = &crate::error::codes::INVALID_ARGUMENT;
        return Err(Error::new(code, format!("the folder {:?} is not empty", folder.display()))
            .hint("name a new folder, or leave --dir out for a temporary one"));
    }
    Ok(folder)
}

/// The root of the work tree around `folder`, if it has a commit to clone.
fn repository(folder: &Path) -> Option<PathBuf> {
    let ask = |args: &[&str]| Git::new(folder).args(args).text().ok();
    ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let root = ask(&["rev-parse", "--show-toplevel"])?;
    Some(PathBuf::from(root.trim_end_matches('\n')))
}

/// Clones into `root` and finds something to propose; `None`, and an empty folder again, where
/// there is nothing fit for it.
fn clone(source: &Path, root: &Path) -> Result<Option<Scene>> {
    // Of the local repository alone, whatever it is configured to fetch or run.
    let answer = Git::new(source)
        .fresh()
        .without_hooks()
        .args(["clone", "--quiet", "--local", "--no-tags", "--single-branch", "--"])
        .arg(source)
        .arg(root)
        .answer()?;
    let scene = if answer.ok() { scene::found(root)? } else { None };
    if scene.is_some() {
        // A push from the scratch repository must not reach the real one.
        Git::new(root).fresh().args(["remote", "remove", "origin"]).text()?;
        identify(root, Some(source))?;
    } else {
        clear(root)?;
    }
    Ok(scene)
}

fn clear(folder: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::io(format!("empty {}", folder.display()), &e);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        match entry.file_type().map_err(failed)?.is_dir() {
            true => std::fs::remove_dir_all(entry.path()).map_err(failed)?,
            false => std::fs::remove_file(entry.path()).map_err(failed)?,
        }
    }
    Ok(())
}

fn generate(root: &Path) -> Result<()> {
    Git::new(root).fresh().args(["init", "--quiet", "--initial-branch=main"]).text()?;
    identify(root, None)?;
    for files in scene::FILES.chunk_by(|a, b| a.0 == b.0) {
        for (_, path, content) in files {
            let file = root.join(path);
            if let Some(parent) = file.parent() {
                std::fs::create_dir_all(parent).map_err(|e| Error::io("make a folder", &e))?;
            }
            std::fs::write(&file, content).map_err(|e| Error::io(format!("write {path}"), &e))?;
        }
        commit(root, files[0].0)?;
    }
    Ok(())
}

/// Gives the scratch repository an identity where the user has none, so that commits work.
fn identify(root: &Path, source: Option<&Path>) -> Result<()> {
    for (key, otherwise) in [("user.name", "Demo User"), ("user.email", "demo@example.com")] {
        let known = |folder: &Path| Git::new(folder).fresh().args(["config", key]).text().ok();
        if known(root).is_none() {
            // The source may have a local identity, which a clone does not take along.
            let value = source.and_then(known).unwrap_or_else(|| otherwise.to_owned());
            Git::new(root).fresh().args(["config", key, value.trim_end()]).text()?;
        }
    }
    Ok(())
}

/// Commits everything in the scratch repository.
///
/// # Errors
/// `git_failed`.
pub fn commit(root: &Path, message: &str) -> Result<()> {
    let git = || Git::new(root).fresh().without_hooks().config("commit.gpgSign", "false");
    git().args(["add", "--all"]).text()?;
    git().args(["commit", "--quiet", "-m", message]).text()?;
    Ok(())
}
