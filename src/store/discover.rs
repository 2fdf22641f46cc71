//! The store of a repository, and the state that one process adds to it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use bstr::ByteSlice as _;

use super::announce::NewsList;
use super::codes;
use super::partial::PromisorRequests;
use super::trouble::Notices;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::{ActorKind, AgentRun};
use crate::repository::{Repository, Upkeep};

/// Directories of projections; no proposal may change a file there.
const KEPT: [&str; 2] = [".agent-memory/proposals/", ".agent-memory/staging/"];

pub struct Store {
    repository: Repository,
    pub(super) notices: Notices,
    pub(super) upkeep: Upkeep,
    pub(super) announced: NewsList,
    pub(super) promised: PromisorRequests,
    /// Blobs in the trees of events; see [`Store::require_held`].
    pub(super) held: RefCell<HashMap<String, Rc<BTreeSet<gix::ObjectId>>>>,
    pub(super) projector: Option<Projector>,
    pub(super) only_as: Option<Option<String>>,
    /// An `aye.clone` that this process has created after it read the configuration.
    pub(super) made_clone_id: RefCell<Option<String>>,
    pub(super) run: Option<AgentRun>,
    in_trial: bool,
    in_session: bool,
}

/// Writes (`true`) or removes the files in the work tree that memory shows of a proposal. They are
/// never read back.
pub type Projector = fn(&Store, &crate::proposal::Proposal, bool) -> Result<()>;

impl Store {
    /// Opens the store of the repository that `directory` is in.
    pub fn discover(directory: &Path) -> Result<Self> {
        Repository::discover(directory).map(Self::of)
    }

    fn of(repository: Repository) -> Self {
        Self {
            repository,
            notices: Notices::default(),
            upkeep: Upkeep::default(),
            announced: NewsList::default(),
            promised: PromisorRequests::default(),
            held: RefCell::default(),
            projector: None,
            only_as: None,
            made_clone_id: RefCell::default(),
            run: None,
            in_trial: false,
            in_session: false,
        }
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn at(&self, top: &Path) -> Result<Self> {
        let repository = self.repository.with_worktree(top)?;
        Ok(Self { in_trial: self.in_trial, ..Self::of(repository) })
    }

    /// Registers the projector of memory proposals, about which the store knows nothing.
    pub fn project_with(&mut self, projector: Projector) {
        self.projector = Some(projector);
    }

    /// Makes later events of agents name `run`. Events of people and build machines never do.
    pub fn run_by(&mut self, run: Option<AgentRun>) {
        self.run = run;
    }

    pub fn run(&self) -> Option<&AgentRun> {
        self.run.as_ref()
    }

    /// Declares that a trial's command runs. The proposal itself may have brought that command, so
    /// nobody decides from now on, and nothing is written in a person's name.
    pub fn in_trial(&mut self) {
        self.in_trial = true;
    }

    /// True if the work tree is that of a trial, which is a linked one.
    pub fn is_trial(&self) -> bool {
        if self.repository.repo().git_dir() == self.repository.repo().common_dir() {
            return false;
        }
        let real = |path: std::path::PathBuf| path.canonicalize().ok();
        let trials = real(self.repository.private_dir().join("try"));
        let top = self.repository.work_dir().and_then(real);
        top.zip(trials).is_some_and(|(top, trials)| top.starts_with(trials))
    }

    /// Declares that the work tree is a session's. Its changes are proposed from outside, so
    /// nothing is recorded in the tree's own repository.
    pub fn in_session(&mut self) {
        self.in_session = true;
        self.repository.runs_no_git();
    }

    pub fn is_in_session(&self) -> bool {
        self.in_session
    }

    pub fn is_in_trial(&self) -> bool {
        self.in_trial
    }

    /// Refuses people's and build machines' events in a trial. Agents may write there: it is
    /// recorded as theirs.
    ///
    /// # Errors
    /// `in_trial`.
    pub fn require_outside_trial(&self, kind: ActorKind) -> Result<()> {
        match kind {
            ActorKind::Agent => Ok(()),
            ActorKind::Human | ActorKind::Ci => self.require_no_trial(),
        }
    }

    /// Refuses, for every actor, a write without a decision in a trial: the command is the
    /// proposal's own work, and an unmarked caller of a tool counts as an agent.
    ///
    /// # Errors
    /// `in_trial`.
    pub fn require_no_trial(&self) -> Result<()> {
        if self.in_trial { Err(Self::refused_in_trial()) } else { Ok(()) }
    }

    pub fn refused_in_trial() -> Error {
        Error::new(
            &codes::IN_TRIAL,
            "a command that aye try runs decides nothing, and writes nothing in a person's name",
        )
        .hint(
            "decide once the trial is over; a test of aye itself runs it without AYE_TRY, in a \
               repository of its own",
        )
    }

    /// Collects the trouble that this store's views meet in `notices`.
    pub fn notify(&mut self, notices: &Notices) {
        self.notices = notices.clone();
    }

    /// Makes `upkeep` pack this store's loose objects at the end of the command.
    pub fn keep_up(&mut self, upkeep: &Upkeep) {
        self.upkeep = upkeep.clone();
    }

    /// True if a proposal about `paths` is private: `aye.private` names one of them, a filter
    /// program encrypts one, or git ignores one and does not track it.
    ///
    /// # Errors
    /// `invalid_config`, `io_error`.
    pub fn is_private<'p>(
        &self,
        mut paths: impl Iterator<Item = &'p RepoPath> + Clone,
    ) -> Result<bool> {
        Ok(self.repository.settings()?.is_private(paths.clone())
            || self.repository.is_filtered(paths.clone())?
            || !self.repository.ignored(&mut paths)?.is_empty())
    }

    /// Refuses a path below a directory of projections, and a new name with control characters.
    ///
    /// # Errors
    /// `path_invalid`.
    pub fn accept_name(&self, change: &FileChange) -> Result<()> {
        change.refuse_control_name()?;
        if !KEPT.iter().any(|directory| change.path.as_bstr().starts_with_str(directory)) {
            return Ok(());
        }
        let path = change.path.display().to_string();
        let message = format!("path '{path}' is in a directory that aye keeps by itself");
        Err(Error::new(&crate::changeset::codes::PATH_INVALID, message)
            .with("path", path)
            .hint("aye writes and removes files there for each proposal"))
    }

    /// Refuses a changeset that could never be applied here: a file over the size limit, below
    /// another file, or with a name that [`Store::accept_name`] refuses.
    ///
    /// # Errors
    /// `size_limit_exceeded`, `path_invalid`, `not_a_directory`.
    pub fn accept(&self, changeset: &Changeset) -> Result<()> {
        changeset.changes().iter().try_for_each(|change| self.accept_name(change))?;
        changeset.limit_sizes(self.repository.settings()?.max_file_size)?;
        self.repository.refuse_case_collisions(
            changeset.changes().iter().map(|change| (&change.path, change.after.is_some())),
        )?;
        let creates = changeset.changes().iter().any(|change| change.before.is_none());
        match self.repository.work_dir() {
            Some(_) if creates => {
                self.repository.worktree()?.check_directories(changeset.changes())
            }
            _ => Ok(()),
        }
    }
}
