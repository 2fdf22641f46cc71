//! Where git looks for this repository's hooks, and who else uses that directory.

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::{Setting, codes};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::repository::codes::NOT_A_REPOSITORY;

/// The directory git runs hooks from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory, absolute.
    pub directory: PathBuf,
    /// The work tree's top; `None` in a bare repository.
    pub top: Option<PathBuf>,
    /// `core.hooksPath` and the scope it is set in (`local`, `worktree`, `global`, `system`,
    /// `command`), if it is set.
    pub configured: Option<(String, String)>,
}

impl Place {
    /// Asks git, from `directory`.
    ///
    /// # Errors
    /// `git_not_found`; `not_a_repository`; `git_failed`.
    pub fn find(directory: &Path) -> Result<Self> {
        let git = |dir: &Path| Git::new(dir);
        let asked = git(directory)
            .args(["rev-parse", "--is-bare-repository", "--is-inside-work-tree"])
            .args(["--absolute-git-dir"])
            .answer()?;
        if !asked.ok() {
            let said = String::from_utf8_lossy(&asked.stderr);
            let said = said.lines().next().unwrap_or_default().trim_start_matches("fatal: ");
            return Err(Error::new(
                &NOT_A_REPOSITORY,
                format!("no repository to hook into: {said}"),
            )
            .hint("run it inside a git repository, or start one with `git init`"));
        }
        let mut lines = asked.stdout.splitn(3, |byte| *byte == b'\n');
        let (_bare, inside) = (lines.next(), lines.next());
        let git_dir = lines.next().unwrap_or(b".");
        let git_dir = git_dir.strip_suffix(b"\n").unwrap_or(git_dir).to_path_lossy().into_owned();
        let top = match inside {
            Some(b"true") => Some(git(directory).args(["rev-parse", "--show-toplevel"]).path()?),
            _ => None,
        };
        // Git starts hooks in the top directory, or in the repository where there is no work tree:
        // a relative core.hooksPath counts from there.
        let start = top.clone().unwrap_or(git_dir);
        let hooks = start.join(git(&start).args(["rev-parse", "--git-path", "hooks"]).path()?);
        let set = git(directory)
            .args(["config", "--show-scope", "--get", "--type=path", "core.hooksPath"])
            .answer()?;
        let configured = set.ok().then(|| {
            let text = String::from_utf8_lossy(&set.stdout).trim_end_matches('\n').to_owned();
            let (scope, value) = text.split_once('\t').unwrap_or(("local", &text));
            (value.to_owned(), scope.to_owned())
        });
        Ok(Self { directory: hooks, top, configured })
    }

    /// Refuses a directory that is not this repository's own, unless `shared` says it is meant.
    ///
    /// # Errors
    /// `hooks_off` where `core.hooksPath` is not a directory (`/dev/null`) or empty, `hooks_shared` where
    /// the user's or the system's configuration sets it.
    pub fn require_own(&self, shared: bool) -> Result<()> {
        // Git names the directory of an empty one `./` and runs what lies at the file system's root.
        let empty = self.configured.as_ref().is_some_and(|(value, _)| value.is_empty());
        let why = match empty {
            true => Some("core.hooksPath is empty, which is not a directory".to_owned()),
            false => obstacle(&self.directory),
        };
        if let Some(why) = why {
            let hint = match self.configured {
                Some(_) => "`git config --unset core.hooksPath` turns them on",
                None => "remove what is there, and run it again",
            };
            return Err(
                Error::new(&codes::HOOKS_OFF, why).hint(format!("git runs no hooks here; {hint}"))
            );
        }
        match &self.configured {
            Some((value, scope)) if !shared && matches!(scope.as_str(), "global" | "system") => {
                Err(Error::new(
                    &codes::HOOKS_SHARED,
                    format!("core.hooksPath is '{value}' in the {scope} git configuration"),
                )
                .hint(
                    "a hook there runs in every repository; `--shared` installs it all the same, \
                     `git config core.hooksPath .git/hooks` gives this repository its own directory",
                ))
            }
            _ => Ok(()),
        }
    }

    /// What the scripts of this directory are written for; `program` is the path of aye.
    pub fn setting<'p>(&self, program: &'p str) -> Setting<'p> {
        Setting { program, beside_store: self.configured.is_none() }
    }

    /// True if the directory is inside the work tree, so that its files may be committed.
    pub fn in_work_tree(&self) -> bool {
        // `core.hooksPath = ../hooks` leads out of it again.
        let directory = gix::path::normalize(self.directory.as_path().into(), Path::new(""));
        self.top.as_ref().zip(directory).is_some_and(|(top, directory)| {
            directory.strip_prefix(top).is_ok_and(|rest| !rest.starts_with(".git"))
        })
    }
}

/// Why no directory can be at `path`: something else is there, or in the place of one above it.
pub fn obstacle(path: &Path) -> Option<String> {
    let (at, facts) = path.ancestors().find_map(|at| Some((at, at.symlink_metadata().ok()?)))?;
    let why = match at.metadata() {
        Ok(found) if found.is_dir() => return None,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
        Err(_) if facts.is_symlink() => "is a symlink that leads nowhere",
        _ => "is not a directory",
    };
    Some(format!("'{}' {why}", at.display()))
}
