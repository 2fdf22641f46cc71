//! Finding and opening the repository.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use super::cache::Kept;
use super::filters::Filters;
use super::trouble::Notices;
use super::upkeep::Upkeep;
use super::{Settings, codes, refs};
use crate::changeset::{Changeset, RepoPath, twins};
use crate::error::{Error, Result};
use crate::private::Directory;
use crate::proposal::AgentRun;
use crate::worktree::Worktree;

/// Where proposals are projected to; no place for files of the project.
const KEPT: [&str; 2] = [".agent-memory/proposals/", ".agent-memory/staging/"];

/// An opened repository with aye's data in it.
pub struct Store {
    pub(super) repo: gix::Repository,
    pub(super) common_dir: PathBuf,
    settings: OnceCell<Settings>,
    pub(super) kept: Kept,
    pub(super) notices: Notices,
    pub(super) upkeep: Upkeep,
    /// What else a proposal is projected to, by its subject; see [`Store::project_with`].
    pub(super) projector: Option<Projector>,
    /// What is written goes to this lane, or nowhere; see [`Store::write_only_to`].
    named: Option<Option<String>>,
    /// What the events of an agent say of its run; see [`Store::run_by`].
    pub(super) run: Option<AgentRun>,
}

/// Writes (`true`) or removes what a subject of its own, such as memory, shows of a proposal in the
/// work tree. What it writes is never read back.
pub type Projector = fn(&Store, &crate::proposal::Proposal, bool) -> Result<()>;

impl Store {
    /// Opens the repository that `directory` is in, as git finds it: `GIT_DIR` and
    /// `GIT_WORK_TREE` win over the search upwards, and configuration is read with what
    /// `GIT_CONFIG_COUNT` and `GIT_CONFIG_PARAMETERS` add.
    ///
    /// # Errors
    /// `not_a_repository`, `unsafe_repository`, `unsupported_repository`, `invalid_config`.
    pub fn discover(directory: &Path) -> Result<Self> {
        let mut repo = super::open::open(directory)?;
        // Enough for the trees and blobs of one command; the default is sized for history walks.
        repo.object_cache_size_if_unset(1 << 20);
        let common_dir = std::path::absolute(repo.common_dir())
            .and_then(|path| {
                // A linked work tree's is named `…/.git/worktrees/<name>/../..`.
                let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
                if climbs { std::fs::canonicalize(path) } else { Ok(path) }
            })
            .map_err(|error| Error::io("find the git directory", &error))?;
        Ok(Self::of(repo, common_dir))
    }

    /// The store of `repo`, of which nothing is read yet.
    fn of(repo: gix::Repository, common_dir: PathBuf) -> Self {
        Self {
            repo,
            common_dir,
            settings: OnceCell::new(),
            kept: Kept::default(),
            notices: Notices::default(),
            upkeep: Upkeep::default(),
            projector: None,
            named: None,
            run: None,
        }
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
        Ok(Self::of(repo, self.common_dir.clone()))
    }

    /// Registers what memory proposals are projected to, of which the store knows nothing.
    pub fn project_with(&mut self, projector: Projector) {
        self.projector = Some(projector);
    }

    /// Whatever is written goes to `lane` instead of a lane of this clone's own, or is refused
    /// (`ci_has_no_lane`): a build machine's clone is thrown away, and a lane for each of its runs
    /// would stay for ever.
    ///
    /// # Errors
    /// `invalid_config` if that is not a valid name of a lane.
    pub fn write_only_to(&mut self, lane: Option<String>) -> Result<()> {
        if let Some(name) = lane.as_deref().filter(|name| !refs::is_lane_name(name)) {
            return Err(Error::new(
                &codes::INVALID_CONFIG,
                format!("aye.lane is '{name}', not 1 to 64 letters, digits, '-' and '_'"),
            )
            .hint("give the build machine's lane a plain name, such as ci"));
        }
        self.named = Some(lane);
        Ok(())
    }

    /// What an agent writes from now on names `run`. What people and build machines write never does.
    pub fn run_by(&mut self, run: Option<AgentRun>) {
        self.run = run;
    }

    /// See [`Store::run_by`].
    pub fn run(&self) -> Option<&AgentRun> {
        self.run.as_ref()
    }

    /// The lane that alone is written to, if it is one with a name.
    pub(super) fn named_lane(&self) -> Option<&str> {
        self.named.as_ref().and_then(Option::as_deref)
    }

    /// Refuses where there is no lane to write to.
    ///
    /// # Errors
    /// `ci_has_no_lane`.
    pub fn require_lane(&self) -> Result<()> {
        if self.named != Some(None) {
            return Ok(());
        }
        Err(Error::new(
            &codes::CI_HAS_NO_LANE,
            "CI is set, and a build machine has no lane that this could be recorded in",
        )
        .hint(
            "to record it, name a lane that you fetch before and push afterwards: \
             git -c aye.lane=ci aye …",
        ))
    }

    /// What the views of this store meet in lanes of other clones goes to `notices`.
    pub fn notify(&mut self, notices: &Notices) {
        self.notices = notices.clone();
    }

    /// That this store has written objects goes to `upkeep`, which packs them at the end.
    pub fn keep_up(&mut self, upkeep: &Upkeep) {
        self.upkeep = upkeep.clone();
    }

    /// The repository, for reading.
    pub fn repo(&self) -> &gix::Repository {
        &self.repo
    }

    /// The folder that linked work trees share (`.git` of the main one).
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// `<git-common-dir>/aye`, where what is not in git objects lives. May not exist yet.
    pub fn private_dir(&self) -> PathBuf {
        self.common_dir.join("aye")
    }

    /// [`Store::private_dir`], open; `None` if it does not exist yet.
    ///
    /// # Errors
    /// `private_dir_unsafe`, and the system's refusal.
    pub(crate) fn private(&self) -> Result<Option<Directory>> {
        Directory::open(&self.private_dir())
    }

    /// As [`Store::private`], created if need be.
    ///
    /// # Errors
    /// As [`Store::private`].
    pub(crate) fn make_private(&self) -> Result<Directory> {
        if let Some(private) = self.private()? {
            return Ok(private);
        }
        let made = Directory::make(&self.private_dir())?;
        // What a process that was stopped leaves in a work tree must not go into a commit.
        super::exclude::exclude(self, super::exclude::TEMPORARIES);
        Ok(made)
    }

    /// The top of the work tree, absolute; `None` in a bare repository.
    pub fn work_dir(&self) -> Option<PathBuf> {
        let dir = self.repo.workdir()?;
        let dir = std::path::absolute(dir).ok()?;
        Some(dir.components().collect())
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

    /// Refuses a changeset that could never be applied here: a file over the size limit, one
    /// beneath what is a file itself, or one among the projections; and new names with control
    /// characters.
    ///
    /// # Errors
    /// `size_limit_exceeded`, `path_invalid`, `not_a_folder`.
    pub fn accept(&self, changeset: &Changeset) -> Result<()> {
        changeset.refuse_control_names()?;
        changeset.limit_sizes(self.settings()?.max_file_size)?;
        for change in changeset.changes() {
            if KEPT.iter().any(|folder| change.path.as_bstr().starts_with_str(folder)) {
                let path = change.path.display().to_string();
                return Err(Error::new(
                    &crate::changeset::codes::PATH_INVALID,
                    format!("path '{path}' is in a folder that aye keeps by itself"),
                )
                .with("path", path)
                .hint("what is there is written and removed as proposals come and go"));
            }
        }
        self.refuse_twins(
            changeset.changes().iter().map(|change| (&change.path, change.after.is_some())),
        )?;
        let creates = changeset.changes().iter().any(|change| change.before.is_none());
        match self.work_dir() {
            Some(_) if creates => self.worktree()?.check_folders(changeset.changes()),
            _ => Ok(()),
        }
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

    /// Paths that the index has as submodules, checked out or not.
    fn submodules(&self) -> Vec<bstr::BString> {
        let Ok(index) = self.repo.index_or_empty() else { return Vec::new() };
        let entries = index.entries().iter();
        entries
            .filter(|entry| entry.mode == gix::index::entry::Mode::COMMIT)
            .map(|entry| entry.path(&index).to_owned())
            .collect()
    }

    /// The folder `directory` (where the command was started) relative to the work tree's top,
    /// `/`-separated with a final `/`, or empty at the top. What a path on the command line is
    /// relative to. `GIT_PREFIX`, which git sets for aliases and hooks, is the caller's to pass
    /// as `directory`.
    pub fn prefix(&self, directory: &Path) -> Option<Vec<u8>> {
        let top = self.work_dir()?;
        let top = std::fs::canonicalize(&top).unwrap_or(top);
        let here = std::fs::canonicalize(directory).ok()?;
        let below = here.strip_prefix(&top).ok()?;
        let mut prefix = <[u8]>::from_path(below)?.to_owned();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        Some(prefix)
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

    /// A string from git configuration that may name a program to run; see `settings::trusted`.
    pub fn trusted_config(&self, key: &str) -> Option<String> {
        super::settings::trusted(self.repo.config_snapshot().plumbing(), key)
    }
}
