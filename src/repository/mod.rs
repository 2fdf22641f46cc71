//! The repository as a place: git directory, work trees, configuration, policy, attributes.
//!
//! Nothing here reads or writes an event; that is the store's. [`Repository::discover`] opens it as
//! git would, and the rest is read when it is first asked for.

pub mod binary;
mod copies;
pub(crate) mod exclude;
mod filters;
mod head;
mod ignored;
mod object;
mod open;
mod parameters;
mod passwords;
mod paths;
pub mod policy;
mod program;
mod promisor;
mod recent;
mod roots;
mod settings;
mod shared;
mod sparse;
pub mod trial;
pub mod untouched;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::changeset::{FileChange, RepoPath, Snapshot as _, twins};
use crate::error::{Error, Result};
use crate::git;
use crate::private::Directory;
use crate::worktree::Worktree;

use filters::Filters;
use recent::Recent;

pub use filters::BY_GIT;
pub(crate) use head::line;
pub(crate) use object::{MOST, damaged, loose_path};
pub use policy::{Gate, Policy};
pub(crate) use promisor::promisor;
pub use settings::{DURATION, ScanMode, Settings, by_source, parse_duration, trusted};
pub use sparse::leaves_out;

/// Error codes of the repository as a place.
pub mod codes {
    crate::codes! {
        NOT_A_REPOSITORY = "not_a_repository", NotFound, "no git repository here or above";
        BARE_REPOSITORY = "bare_repository", Refused, "the repository has no work tree to write to";
        UNSAFE_REPOSITORY = "unsafe_repository", Refused, "the repository belongs to someone else";
        REFS_UNSUPPORTED = "refs_unsupported", Invalid, "the repository keeps its refs in another form than files";
        UNSUPPORTED_REPOSITORY = "unsupported_repository", Invalid, "the repository uses a format this version cannot read";
        OBJECT_MISSING = "object_missing", Invalid, "a git object is missing or damaged";
        INVALID_POLICY = "invalid_policy", Invalid, "a policy (policy.toml) cannot be read or has an unknown key, so nothing passes the gate";
        FILTERED_FILE = "filtered_file", Invalid, "the file goes through a filter program or an encoding that aye does not apply";
        INVALID_CONFIG = "invalid_config", Usage, "a value in git configuration cannot be used";
    }
}

/// An opened repository.
pub struct Repository {
    pub(crate) repo: gix::Repository,
    pub(crate) common_dir: PathBuf,
    settings: OnceCell<Settings>,
    recent: Recent,
    promisor: OnceCell<Option<String>>,
    pin: head::Pin,
    /// Its git directory is an agent's, so git is not run with it.
    is_foreign: bool,
}

impl Repository {
    /// Opens the repository that `directory` is in, as git finds it: `GIT_DIR` and
    /// `GIT_WORK_TREE` win over the search upwards, and configuration is read with what
    /// `GIT_CONFIG_COUNT` and `GIT_CONFIG_PARAMETERS` add.
    ///
    /// # Errors
    /// `not_a_repository`, `unsafe_repository`, `unsupported_repository`, `invalid_config`.
    pub fn discover(directory: &Path) -> Result<Self> {
        let mut repo = open::open(directory)?;
        if let Some(key) = promisor::program(&repo) {
            git::keep_offline(key);
        }
        let recent = Recent::of(&mut repo);
        let common_dir = std::path::absolute(repo.common_dir())
            .and_then(|path| {
                // A linked work tree's is named `…/.git/worktrees/<name>/../..`.
                let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
                if climbs { std::fs::canonicalize(path) } else { Ok(path) }
            })
            .map_err(|error| Error::io("find the git directory", &error))?;
        Ok(Self::of(repo, common_dir, recent))
    }

    /// `repo`, of which nothing is read yet.
    fn of(repo: gix::Repository, common_dir: PathBuf, recent: Recent) -> Self {
        let (settings, promisor, pin) = Default::default();
        Self { repo, common_dir, settings, recent, promisor, pin, is_foreign: false }
    }

    /// The same repository once more, of which nothing is read yet.
    pub(crate) fn again(&self) -> Self {
        let again = Self::of(self.repo.clone(), self.common_dir.clone(), self.recent.clone());
        Self { is_foreign: self.is_foreign, ..again }
    }

    /// The same repository with its work tree at `top`: files there are read by its rules, and by no git
    /// directory that may lie there.
    ///
    /// # Errors
    /// `io_error` if there is no such directory.
    pub fn at(&self, top: &Path) -> Result<Self> {
        let mut repo = self.repo.clone();
        let top = std::path::absolute(top)
            .map_err(|error| Error::io(format_args!("open {}", top.display()), &error))?;
        repo.set_workdir(Some(top.clone())).map_err(|error| {
            let error = std::io::Error::other(error.to_string());
            Error::io(format_args!("open {}", top.display()), &error)
        })?;
        Ok(Self::of(repo, self.common_dir.clone(), self.recent.clone()))
    }

    /// The repository, for reading.
    pub fn repo(&self) -> &gix::Repository {
        &self.repo
    }

    /// The directory that linked work trees share (`.git` of the main one).
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// `<git-common-dir>/aye`, where what is not in git objects lives. May not exist yet.
    pub fn private_dir(&self) -> PathBuf {
        self.common_dir.join("aye")
    }

    /// [`Repository::private_dir`], open; `None` if it does not exist yet.
    ///
    /// # Errors
    /// `private_dir_unsafe`, and the system's refusal.
    pub(crate) fn private(&self) -> Result<Option<Directory>> {
        Directory::open(&self.private_dir())
    }

    /// As [`Repository::private`], created if need be.
    ///
    /// # Errors
    /// As [`Repository::private`].
    pub(crate) fn make_private(&self) -> Result<Directory> {
        if let Some(private) = self.private()? {
            return Ok(private);
        }
        let made = Directory::make(&self.private_dir())?;
        // What a process that was stopped leaves in a work tree must not go into a commit.
        exclude::exclude(self, exclude::TEMPORARIES);
        Ok(made)
    }

    /// The top of the work tree, absolute; `None` in a bare repository.
    pub fn work_dir(&self) -> Option<PathBuf> {
        let dir = self.repo.workdir()?;
        let dir = std::path::absolute(dir).ok()?;
        Some(dir.components().collect())
    }

    /// The `bytes` that somebody wrote for the file `path`, in the form that git stores; `None` where they are in that
    /// form, or where there is no work tree to write them for.
    ///
    /// # Errors
    /// As [`Repository::worktree`]; if the attributes cannot be read.
    pub fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.work_dir() {
            Some(_) => self.worktree()?.stored(path, bytes),
            None => Ok(None),
        }
    }

    /// The work tree, for safe reads and writes.
    ///
    /// # Errors
    /// `bare_repository` where there is none.
    pub fn worktree(&self) -> Result<Worktree> {
        let root = self.work_dir().ok_or_else(|| {
            Error::new(
                &codes::BARE_REPOSITORY,
                "this is a bare repository, it has no files to read or write",
            )
            .hint("run the command in a clone with a work tree, or in `git worktree add`")
        })?;
        let tree = Worktree::open(&root)?
            .with_size_limit(self.settings()?.max_file_size)
            .with_conversion(Filters::new(&self.repo));
        // The index is read only where there are submodules.
        if root.join(".gitmodules").symlink_metadata().is_err() {
            return Ok(tree);
        }
        Ok(tree.with_submodules(self.submodules()))
    }

    /// Refuses files that are to be there together (path, and whether there is a file afterwards) and
    /// are one file in this work tree, which does not tell upper case from lower case.
    ///
    /// # Errors
    /// `path_invalid`.
    pub fn refuse_twins<'a>(
        &self,
        files: impl Iterator<Item = (&'a RepoPath, bool)>,
    ) -> Result<()> {
        match self.repo.config_snapshot().boolean("core.ignoreCase") {
            Some(true) => twins::refuse(files.filter(|(_, there)| *there).map(|(path, _)| path)),
            _ => Ok(()),
        }
    }

    /// Refuses those of the files `written` that git does not have and would stage as another one, or in
    /// another directory, whose name differs in case alone (`core.ignoreCase`). `all` the files of the change
    /// are not held against each other.
    ///
    /// # Errors
    /// `path_invalid`.
    pub fn refuse_other_case<'a>(
        &self,
        written: impl Iterator<Item = &'a RepoPath>,
        all: &[RepoPath],
    ) -> Result<()> {
        if self.repo.config_snapshot().boolean("core.ignoreCase") != Some(true) {
            return Ok(());
        }
        let Ok(index) = self.repo.index_or_empty() else { return Ok(()) };
        let new = written.filter(|path| index.entry_range(path.as_bstr()).is_none());
        let new: Vec<&RepoPath> = new.collect();
        if new.is_empty() {
            return Ok(());
        }
        let all: HashSet<&BStr> = all.iter().map(RepoPath::as_bstr).collect();
        let there = index.entries().iter().map(|entry| entry.path(&index));
        match twins::other_case(&new, there.filter(|path| !all.contains(path))) {
            None => Ok(()),
            Some((own, other)) => Err(Error::new(
                &crate::changeset::codes::PATH_INVALID,
                format!("git would stage '{own}' as '{other}', which differs in case alone"),
            )
            .with("path", own.to_string())
            .hint(
                "rename it; where the file system tells upper case from lower case, \
                 `git config core.ignoreCase false`",
            )),
        }
    }

    /// The files that `changes` add whose name another one of them, or a file of the index that stays, has
    /// but for case or Unicode normalisation; and that other name.
    pub fn collisions<'c>(&self, changes: &'c [FileChange]) -> BTreeMap<&'c RepoPath, BString> {
        let is_added = |change: &&FileChange| change.before.is_none() && change.after.is_some();
        let added: Vec<&RepoPath> =
            changes.iter().filter(is_added).map(|change| &change.path).collect();
        if added.is_empty() {
            return BTreeMap::new();
        }
        let Ok(index) = self.repo.index_or_empty() else { return BTreeMap::new() };
        let gone = changes.iter().filter(|change| change.after.is_none());
        let gone: HashSet<&BStr> = gone.map(|change| change.path.as_bstr()).collect();
        let there = index.entries().iter().map(|entry| entry.path(&index));
        twins::collisions(&added, there.filter(|path| gone.is_empty() || !gone.contains(path)))
    }

    /// Paths that the index has as submodules, checked out or not.
    fn submodules(&self) -> Vec<BString> {
        let Ok(index) = self.repo.index_or_empty() else { return Vec::new() };
        let entries = index.entries().iter();
        entries
            .filter(|entry| entry.mode == gix::index::entry::Mode::COMMIT)
            .map(|entry| entry.path(&index).to_owned())
            .collect()
    }

    /// aye's settings from git configuration, read once.
    ///
    /// # Errors
    /// `invalid_config`.
    pub fn settings(&self) -> Result<&Settings> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::read(&self.repo.config_snapshot())?;
        Ok(self.settings.get_or_init(|| settings))
    }

    /// A string from git configuration (all levels git itself reads, the repository's included).
    pub fn config(&self, key: &str) -> Option<String> {
        self.repo.config_snapshot().string(key).map(|value| value.to_str_lossy().into_owned())
    }

    /// The strings of `key` at each level of git configuration that has one; see `settings::levels`.
    pub fn config_at_levels(&self, key: &str) -> Vec<String> {
        let values = settings::levels(self.repo.config_snapshot().plumbing(), key).into_iter();
        values.map(Option::unwrap_or_default).collect()
    }

    /// A string from git configuration that may name a program to run; see `settings::trusted`.
    pub fn trusted_config(&self, key: &str) -> Option<String> {
        settings::trusted(self.repo.config_snapshot().plumbing(), key)
    }
}
