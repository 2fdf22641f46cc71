//! The opened repository: directories, configuration, policy, attributes, HEAD. Events belong to
//! the store. `Repository::discover` opens it as git would; the rest is read on demand.

pub mod binary;
mod copies;
pub(crate) mod exclude;
mod facts;
mod filters;
mod head;
pub mod idle;
mod ignored;
mod instructions;
mod object;
mod object_cache;
mod open;
mod parameters;
mod passwords;
mod paths;
pub mod policy;
mod promisor;
mod run_git;
mod settings;
mod shared;
mod sparse;
pub mod stat_match;
mod trees;
pub mod trial;
mod unread_files;
mod upkeep;
mod work_trees;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::changeset::{FileChange, RepoPath, Snapshot as _, path_collisions};
use crate::error::{Error, Result};
use crate::git;
use crate::private::PrivateDirectory;
use crate::worktree::Worktree;

use filters::Filters;
use object_cache::ObjectCache;

pub use filters::HINT_COMMIT_WITH_GIT;
pub(crate) use head::line;
pub(crate) use object::{MOST, damaged, loose_path};
pub use policy::{Gate, Policy};
pub(crate) use promisor::promisor;
pub use settings::{DURATION, ScanMode, Settings, by_source, parse_duration, trusted};
pub use sparse::index_excludes;
pub use trees::{tree_changes, tree_entry};
pub use upkeep::Upkeep;

pub mod codes {
    crate::codes! {
        NOT_A_REPOSITORY = "not_a_repository", NotFound, "no git repository here or above";
        BARE_REPOSITORY = "bare_repository", Refused, "the repository has no work tree";
        UNSAFE_REPOSITORY = "unsafe_repository", Refused, "the repository belongs to another user";
        REFS_UNSUPPORTED = "refs_unsupported", Invalid, "the repository stores its refs in a format other than files";
        UNSUPPORTED_REPOSITORY = "unsupported_repository", Invalid, "the repository uses a format that this version cannot read";
        OBJECT_MISSING = "object_missing", Invalid, "a git object is missing or damaged";
        INVALID_POLICY = "invalid_policy", Invalid, "policy.toml cannot be read or has an unknown key; the gate is closed";
        FILTERED_FILE = "filtered_file", Invalid, "the file has a filter program or an encoding that aye does not apply";
        INVALID_CONFIG = "invalid_config", Usage, "a value in git's configuration is invalid";
    }
}

pub struct Repository {
    pub(crate) repo: gix::Repository,
    pub(crate) common_dir: PathBuf,
    settings: OnceCell<Settings>,
    recent: ObjectCache,
    promisor: OnceCell<Option<String>>,
    pin: head::Pin,
    /// True for an agent's git directory, with which aye does not run git.
    is_foreign: bool,
}

impl Repository {
    /// Opens as git does: `GIT_DIR` and `GIT_WORK_TREE` win; `GIT_CONFIG_COUNT` and
    /// `GIT_CONFIG_PARAMETERS` add configuration.
    ///
    /// # Errors
    /// `not_a_repository`, `unsafe_repository`, `unsupported_repository`, `invalid_config`.
    pub fn discover(directory: &Path) -> Result<Self> {
        let mut repo = open::open(directory)?;
        if let Some(key) = promisor::program(&repo) {
            git::keep_offline(key);
        }
        let recent = ObjectCache::of(&mut repo);
        let common_dir = std::path::absolute(repo.common_dir())
            .and_then(|path| {
                // In a linked work tree the path is `…/.git/worktrees/<name>/../..`.
                let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
                if climbs { std::fs::canonicalize(path) } else { Ok(path) }
            })
            .map_err(|error| Error::io("find the git directory", &error))?;
        Ok(Self::of(repo, common_dir, recent))
    }

    fn of(repo: gix::Repository, common_dir: PathBuf, recent: ObjectCache) -> Self {
        let (settings, promisor, pin) = Default::default();
        Self { repo, common_dir, settings, recent, promisor, pin, is_foreign: false }
    }

    /// A copy with empty caches.
    pub(crate) fn reopened(&self) -> Self {
        let again = Self::of(self.repo.clone(), self.common_dir.clone(), self.recent.clone());
        Self { is_foreign: self.is_foreign, ..again }
    }

    /// The repository with another work tree `top`, whose own git directory, if any, is ignored.
    pub fn with_worktree(&self, top: &Path) -> Result<Self> {
        let mut repo = self.repo.clone();
        let top = std::path::absolute(top)
            .map_err(|error| Error::io(format_args!("open {}", top.display()), &error))?;
        repo.set_workdir(Some(top.clone())).map_err(|error| {
            let error = std::io::Error::other(error.to_string());
            Error::io(format_args!("open {}", top.display()), &error)
        })?;
        Ok(Self::of(repo, self.common_dir.clone(), self.recent.clone()))
    }

    pub fn repo(&self) -> &gix::Repository {
        &self.repo
    }

    /// The `.git` of the main work tree, shared by linked ones.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// `<git-common-dir>/aye`: data outside git objects. May not exist yet.
    pub fn private_dir(&self) -> PathBuf {
        self.common_dir.join("aye")
    }

    pub(crate) fn private(&self) -> Result<Option<PrivateDirectory>> {
        PrivateDirectory::open(&self.private_dir())
    }

    pub(crate) fn make_private(&self) -> Result<PrivateDirectory> {
        if let Some(private) = self.private()? {
            return Ok(private);
        }
        let made = PrivateDirectory::make(&self.private_dir())?;
        // Leftovers of a killed process must not enter a commit.
        exclude::exclude(self, exclude::TEMPORARIES);
        Ok(made)
    }

    /// Absolute path; `None` in a bare repository.
    pub fn work_dir(&self) -> Option<PathBuf> {
        let dir = self.repo.workdir()?;
        let dir = std::path::absolute(dir).ok()?;
        Some(dir.components().collect())
    }

    /// Converts to git's form; `None` if the bytes are in it, or in a bare repository.
    pub fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.work_dir() {
            Some(_) => self.worktree()?.stored(path, bytes),
            None => Ok(None),
        }
    }

    /// # Errors
    /// `bare_repository`.
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
        // Only repositories with submodules pay for reading the index.
        if root.join(".gitmodules").symlink_metadata().is_err() {
            return Ok(tree);
        }
        Ok(tree.with_submodules(self.submodules()))
    }

    /// Refuses names that differ in case alone and are one file here (`core.ignoreCase`). `true`
    /// marks a path that exists afterwards.
    ///
    /// # Errors
    /// `path_invalid`.
    pub fn refuse_case_collisions<'a>(
        &self,
        files: impl Iterator<Item = (&'a RepoPath, bool)>,
    ) -> Result<()> {
        match self.repo.config_snapshot().boolean("core.ignoreCase") {
            Some(true) => {
                path_collisions::refuse(files.filter(|(_, there)| *there).map(|(path, _)| path))
            }
            _ => Ok(()),
        }
    }

    /// Refuses new files that git would stage under another name, which differs in case alone
    /// (`core.ignoreCase`). Files of `all`, the change, are not compared with each other.
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
        match path_collisions::other_case(&new, there.filter(|path| !all.contains(path))) {
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

    /// Maps each added file to another that differs only in case or Unicode normalisation, in
    /// `changes` or in the remaining index.
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
        path_collisions::collisions(
            &added,
            there.filter(|path| gone.is_empty() || !gone.contains(path)),
        )
    }

    fn submodules(&self) -> Vec<BString> {
        let Ok(index) = self.repo.index_or_empty() else { return Vec::new() };
        let entries = index.entries().iter();
        entries
            .filter(|entry| entry.mode == gix::index::entry::Mode::COMMIT)
            .map(|entry| entry.path(&index).to_owned())
            .collect()
    }

    pub fn settings(&self) -> Result<&Settings> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::read(&self.repo.config_snapshot())?;
        Ok(self.settings.get_or_init(|| settings))
    }

    /// Reads all levels, the repository's included.
    pub fn config(&self, key: &str) -> Option<String> {
        self.repo.config_snapshot().string(key).map(|value| value.to_str_lossy().into_owned())
    }

    /// One value per level that sets `key`; see `settings::levels`.
    pub fn config_at_levels(&self, key: &str) -> Vec<String> {
        let values = settings::levels(self.repo.config_snapshot().plumbing(), key).into_iter();
        values.map(Option::unwrap_or_default).collect()
    }

    /// A value that may name a program to run; see `settings::trusted`.
    pub fn trusted_config(&self, key: &str) -> Option<String> {
        settings::trusted(self.repo.config_snapshot().plumbing(), key)
    }
}
