//! The scratch directory: a small generated repository, and beside it what belongs elsewhere otherwise.

use std::path::{Path, PathBuf};

use super::scene;
use crate::cli::Context;
use crate::error::{Error, Result};
use crate::git::Git;

/// A repository to play in.
pub struct Scratch {
    /// Its root.
    pub root: PathBuf,
    /// Where agents' work trees go, which lie in the user's state directory otherwise.
    pub state: PathBuf,
    // Removes the directory again unless it is kept.
    guard: Option<tempfile::TempDir>,
}

impl Scratch {
    /// Makes one in `directory` (empty or absent), or in a new temporary directory.
    ///
    /// # Errors
    /// `invalid_argument` if the directory holds something; `git_failed`, `io_error`.
    pub fn make(context: &Context, directory: Option<&Path>) -> Result<Self> {
        let (top, guard) = match directory {
            Some(directory) => (empty(&context.directory.join(directory))?, None),
            None => {
                let made = tempfile::Builder::new()
                    .prefix("aye-demo-")
                    .tempdir()
                    .map_err(|e| Error::io("make a temporary directory", &e))?;
                (made.path().to_owned(), Some(made))
            }
        };
        let root = top.join("shop");
        std::fs::create_dir(&root).map_err(|e| Error::io("make the repository", &e))?;
        generate(&root)?;
        Ok(Self { root, state: top.join("state"), guard })
    }

    /// The directory that holds all of it.
    pub fn top(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
    }

    /// Leaves the directory where it is when this value goes.
    pub fn keep(&mut self) {
        if let Some(guard) = self.guard.take() {
            let _ = guard.keep();
        }
    }
}

fn empty(directory: &Path) -> Result<PathBuf> {
    let shown = directory.display();
    std::fs::create_dir_all(directory)
        .map_err(|e| Error::io(format!("make the directory {shown}"), &e))?;
    let directory = directory
        .canonicalize()
        .map_err(|e| Error::io(format!("find the directory {shown}"), &e))?;
    let mut entries = std::fs::read_dir(&directory)
        .map_err(|e| Error::io(format!("read the directory {shown}"), &e))?;
    if entries.next().is_some() {
        let code = &crate::error::codes::INVALID_ARGUMENT;
        let message = format!("the directory {:?} is not empty", directory.display());
        return Err(Error::new(code, message)
            .hint("name a new directory, or leave --dir out for a temporary one"));
    }
    Ok(directory)
}

fn generate(root: &Path) -> Result<()> {
    git(root).args(["init", "--quiet", "--initial-branch=main"]).text()?;
    identify(root)?;
    for files in scene::FILES.chunk_by(|a, b| a.0 == b.0) {
        for (_, path, content) in files {
            write(&root.join(path), content)?;
        }
        commit(root, files[0].0)?;
    }
    Ok(())
}

/// Writes a file and makes the directories above it.
///
/// # Errors
/// `io_error`.
pub fn write(file: &Path, content: &str) -> Result<()> {
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(|e| Error::io("make a directory", &e))?;
    }
    std::fs::write(file, content).map_err(|e| Error::io(format!("write {}", file.display()), &e))
}

/// Gives the scratch repository an identity where the user has none, so that commits work.
fn identify(root: &Path) -> Result<()> {
    for (key, otherwise) in [("user.name", "Demo User"), ("user.email", "demo@example.com")] {
        if git(root).args(["config", key]).text().is_err() {
            git(root).args(["config", key, otherwise]).text()?;
        }
    }
    Ok(())
}

/// Git in the scratch repository, without what the user's configuration adds to a commit.
pub fn git(root: &Path) -> Git {
    Git::new(root).fresh().without_hooks().config("commit.gpgSign", "false")
}

/// Commits everything in the scratch repository.
///
/// # Errors
/// `git_failed`.
pub fn commit(root: &Path, message: &str) -> Result<()> {
    git(root).args(["add", "--all"]).text()?;
    git(root).args(["commit", "--quiet", "-m", message]).text()?;
    Ok(())
}
