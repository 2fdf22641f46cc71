//! A small generated repository in the scratch directory.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, codes};
use crate::git::Git;

/// # Errors
/// `invalid_argument` if the directory holds something.
pub fn make(directory: &Path, files: &[[String; 3]]) -> Result<PathBuf> {
    let shown = directory.display();
    let failed = |error: std::io::Error| Error::io(format!("use the directory {shown}"), &error);
    std::fs::create_dir_all(directory).map_err(failed)?;
    let root = directory.canonicalize().map_err(failed)?.join("shop");
    if std::fs::read_dir(directory).map_err(failed)?.next().is_some() {
        let message = format!("the directory {shown:?} is not empty");
        return Err(Error::new(&codes::INVALID_ARGUMENT, message)
            .hint("name a new directory, or leave --dir out for a temporary one"));
    }
    std::fs::create_dir(&root).map_err(failed)?;
    // Settings of the user must not change commits.
    let git =
        || Git::new(&root).without_local_env().without_hooks().config("commit.gpgSign", "false");
    git().args(["init", "--quiet", "--initial-branch=main"]).run()?;
    for (key, otherwise) in [("user.name", "Demo User"), ("user.email", "demo@example.com")] {
        if git().args(["config", key]).run().is_err() {
            git().args(["config", key, otherwise]).run()?;
        }
    }
    for files in files.chunk_by(|a, b| a[0] == b[0]) {
        for [_, path, content] in files {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap_or(&root)).map_err(failed)?;
            std::fs::write(&file, content).map_err(failed)?;
        }
        git().args(["add", "--all"]).run()?;
        git().args(["commit", "--quiet", "-m", &files[0][0]]).run()?;
    }
    Ok(root)
}
