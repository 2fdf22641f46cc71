//! The store of a repository, and what a process does with it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use bstr::ByteSlice as _;

use super::announce::Announced;
use super::codes;
use super::partial::Promised;
use super::trouble::Notices;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::{ActorKind, AgentRun};
use crate::repository::{Repository, Upkeep};

/// Where proposals are projected to; no place for files of the project.
const KEPT: [&str; 2] = [".agent-memory/proposals/", ".agent-memory/staging/"];

/// The threads of an opened [`Repository`].
pub struct Store {
    repository: Repository,
    pub(super) notices: Notices,
    pub(super) upkeep: Upkeep,
    pub(super) announced: Announced,
    pub(super) promised: Promised,
    /// What the trees of events hold that were asked for; see [`Store::require_held`].
    pub(super) held: RefCell<HashMap<String, Rc<BTreeSet<gix::ObjectId>>>>,
    /// What else a proposal is projected to, by its subject; see [`Store::project_with`].
    pub(super) projector: Option<Projector>,
    /// What is written names this clone, or is refused; see [`Store::write_only_as`].
    pub(super) only_as: Option<Option<String>>,
    /// An `aye.clone` that this process has made: its configuration was read before.
    pub(super) made_clone_id: RefCell<Option<String>>,
    /// What the events of an agent say of its run; see [`Store::run_by`].
    pub(super) run: Option<AgentRun>,
    /// A command of a trial is at work; see [`Store::in_trial`].
    in_trial: bool,
    /// The work tree is that of a session; see [`Store::in_session`].
    in_session: bool,
}

/// Writes (`true`) or removes what a subject of its own, such as memory, shows of a proposal in the
/// work tree. What it writes is never read back.
pub type Projector = fn(&Store, &crate::proposal::Proposal, bool) -> Result<()>;

impl Store {
    /// The store of the repository that `directory` is in.
    ///
    /// # Errors
    /// As [`Repository::discover`].
    pub fn discover(directory: &Path) -> Result<Self> {
        Repository::discover(directory).map(Self::of)
    }

    /// The store of `repository`, of which nothing is read yet.
    fn of(repository: Repository) -> Self {
        Self {
            repository,
            notices: Notices::default(),
            upkeep: Upkeep::default(),
            announced: Announced::default(),
            promised: Promised::default(),
            held: RefCell::default(),
            projector: None,
            only_as: None,
            made_clone_id: RefCell::default(),
            run: None,
            in_trial: false,
            in_session: false,
        }
    }

    /// The repository as a place.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// As [`Repository::at`].
    ///
    /// # Errors
    /// `io_error` if there is no such directory.
    pub fn at(&self, top: &Path) -> Result<Self> {
        let repository = self.repository.at(top)?;
        Ok(Self { in_trial: self.in_trial, ..Self::of(repository) })
    }

    /// Registers what memory proposals are projected to, of which the store knows nothing.
    pub fn project_with(&mut self, projector: Projector) {
        self.projector = Some(projector);
    }

    /// What an agent writes from now on names `run`. What people and build machines write never does.
    pub fn run_by(&mut self, run: Option<AgentRun>) {
        self.run = run;
    }

    /// See [`Store::run_by`].
    pub fn run(&self) -> Option<&AgentRun> {
        self.run.as_ref()
    }

    /// A command that a trial runs is at work: it may be what the proposal itself has brought, so from
    /// now on nobody decides, and nothing is written in a person's name.
    pub fn in_trial(&mut self) {
        self.in_trial = true;
    }

    /// True where the work tree is that of a trial, which is a linked one.
    pub fn is_trial(&self) -> bool {
        if self.repository.repo().git_dir() == self.repository.repo().common_dir() {
            return false;
        }
        let real = |path: std::path::PathBuf| path.canonicalize().ok();
        let trials = real(self.repository.private_dir().join("try"));
        let top = self.repository.work_dir().and_then(real);
        top.zip(trials).is_some_and(|(top, trials)| top.starts_with(trials))
    }

    /// The work tree is that of a session: what is written there is proposed whole, from outside, and nothing is
    /// to be recorded in the tree's own repository.
    pub fn in_session(&mut self) {
        self.in_session = true;
        self.repository.runs_no_git();
    }

    /// True after [`Store::in_session`].
    pub fn is_in_session(&self) -> bool {
        self.in_session
    }

    /// True after [`Store::in_trial`].
    pub fn is_in_trial(&self) -> bool {
        self.in_trial
    }

    /// Refuses what `actor` would decide, or write in its name, for a command of a trial. What agents
    /// may do by themselves they may do there too: it is recorded as theirs.
    ///
    /// # Errors
    /// `in_trial`.
    pub fn require_outside_trial(&self, kind: ActorKind) -> Result<()> {
        match kind {
            ActorKind::Agent => Ok(()),
            ActorKind::Human | ActorKind::Ci => self.require_no_trial(),
        }
    }

    /// Refuses, whoever asks, what writes files without a decision: the command is the proposal's own
    /// work, and an unmarked caller of a tool counts as an agent.
    ///
    /// # Errors
    /// `in_trial`.
    pub fn require_no_trial(&self) -> Result<()> {
        if self.in_trial { Err(Self::refused_in_trial()) } else { Ok(()) }
    }

    /// The refusal of what a command of a trial would decide, or write without a decision.
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

    /// What the views of this store meet in refs of other clones goes to `notices`.
    pub fn notify(&mut self, notices: &Notices) {
        self.notices = notices.clone();
    }

    /// That this store has written objects goes to `upkeep`, which packs them at the end.
    pub fn keep_up(&mut self, upkeep: &Upkeep) {
        self.upkeep = upkeep.clone();
    }

    /// Whether a proposal about `paths` is for nobody else: one of them is named by `aye.private`, goes
    /// through a filter program that keeps it from who reads the objects, or is ignored and not tracked by git.
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

    /// Refuses a file among the projections, and a new name with control characters.
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
            .hint("what is there is written and removed as proposals come and go"))
    }

    /// Refuses a changeset that could never be applied here: a file over the size limit, one
    /// beneath what is a file itself, or one among the projections; and new names with control
    /// characters.
    ///
    /// # Errors
    /// `size_limit_exceeded`, `path_invalid`, `not_a_directory`.
    pub fn accept(&self, changeset: &Changeset) -> Result<()> {
        changeset.changes().iter().try_for_each(|change| self.accept_name(change))?;
        changeset.limit_sizes(self.repository.settings()?.max_file_size)?;
        self.repository.refuse_twins(
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
