//! Finding and opening the repository.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use super::cache::Kept;
use super::filters::Filters;
use super::{Settings, codes, parameters};
use crate::changeset::Changeset;
use crate::error::{Error, Result};
use crate::worktree::Worktree;

/// Where proposals are projected to; no place for files of the project.
const KEPT: [&str; 2] = [".agent-memory/proposals/", ".agent-memory/staging/"];

/// An opened repository with aye's data in it.
pub struct Store {
    pub(super) repo: gix::Repository,
    pub(super) common_dir: PathBuf,
    settings: OnceCell<Settings>,
    pub(super) kept: Kept,
}

impl Store {
    /// Opens the repository that `directory` is in, as git finds it: `GIT_DIR`,
    /// `GIT_WORK_TREE` and `GIT_COMMON_DIR` win over the search upwards, and configuration is read
    /// with what `GIT_CONFIG_COUNT` and `GIT_CONFIG_PARAMETERS` add.
    ///
    /// # Errors
    /// `not_a_repository`, `unsafe_repository`, `unsupported_repository`, `invalid_config`.
    pub fn discover(directory: &Path) -> Result<Self> {
        let mut repo = gix::discover_with_environment_overrides(directory)
            .map_err(|error| not_found(directory, &error))?;
        if repo.git_dir_trust() == gix::sec::Trust::Reduced {
            let path = repo.workdir().unwrap_or_else(|| repo.git_dir());
            if std::fs::metadata(path).is_err() {
                return Err(Error::new(
                    &codes::NOT_A_REPOSITORY,
                    format!("the work tree {} is not there", path.display()),
                )
                .hint("check GIT_WORK_TREE, and core.worktree in git configuration"));
            }
            let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            return Err(Error::new(
                &codes::UNSAFE_REPOSITORY,
                format!("the repository at {} belongs to someone else", path.display()),
            )
            .hint(format!(
                "if you trust it: git config --global --add safe.directory '{}'",
                path.display()
            )));
        }
        refuse_unknown_formats(&repo)?;
        if let Some(text) = std::env::var_os(parameters::VARIABLE).filter(|text| !text.is_empty()) {
            parameters::add(&mut repo, &text.into_encoded_bytes())?;
        }
        // Enough for the trees and blobs of one command; the default is sized for history walks.
        repo.object_cache_size_if_unset(1 << 20);
        let common_dir = std::path::absolute(repo.common_dir())
            .and_then(|path| {
                // A linked work tree's is named `…/.git/worktrees/<name>/../..`.
                let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
                if climbs { std::fs::canonicalize(path) } else { Ok(path) }
            })
            .map_err(|error| Error::io("find the git directory", &error))?;
        Ok(Self { repo, common_dir, settings: OnceCell::new(), kept: Kept::default() })
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
    /// beneath what is a file itself, or one among the projections.
    ///
    /// # Errors
    /// `size_limit_exceeded`, `path_invalid`, `not_a_folder`.
    pub fn accept(&self, changeset: &Changeset) -> Result<()> {
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
        let creates = changeset.changes().iter().any(|change| change.before.is_none());
        match self.work_dir() {
            Some(_) if creates => self.worktree()?.check_folders(changeset.changes()),
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

/// Extensions of the repository format that change nothing for us, or that gix takes care of; the
/// list is in git-config(1), <https://git-scm.com/docs/git-config>, under `extensions.*`.
const EXTENSIONS: &[&str] = &[
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "relativeworktrees",
    "worktreeconfig",
];

/// Refuses what would be read and written wrongly. Where refs are not kept in files, a ref of
/// ours would be invisible to git, and its next `git gc` would delete what it holds.
fn refuse_unknown_formats(repo: &gix::Repository) -> Result<()> {
    let snapshot = repo.config_snapshot();
    let Some(sections) = snapshot.plumbing().sections_by_name("extensions") else {
        return Ok(());
    };
    for section in sections.filter(|section| section.meta().source == gix::config::Source::Local) {
        for name in section.value_names() {
            let lower = name.to_ascii_lowercase();
            let value = section.value(&name).unwrap_or_default();
            let known = match lower.as_str() {
                "refstorage" => value == "files",
                lower => EXTENSIONS.contains(&lower),
            };
            if !known {
                return Err(Error::new(
                    &codes::UNSUPPORTED_REPOSITORY,
                    format!(
                        "the repository at {} has extensions.{lower} = {value}, which is not \
                         supported",
                        repo.git_dir().display()
                    ),
                )
                .with("extension", lower)
                .hint(match name.eq_ignore_ascii_case("refstorage") {
                    true => "`git refs migrate --ref-format=files` turns it into one that is",
                    false => "use a clone without that extension",
                }));
            }
        }
    }
    Ok(())
}

fn not_found(directory: &Path, error: &dyn std::fmt::Display) -> Error {
    // gix folds all causes into one error; its words tell them apart.
    let text = format!("{error:#}");
    let lower = text.to_lowercase();
    let shown = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let unsupported =
        ["extension", "repositoryformat", "format version", "object hash", "object format"];
    if unsupported.iter().any(|word| lower.contains(word)) {
        // The first words of it: what follows is the chain of gix's own causes.
        let why = if lower.contains("object format") || lower.contains("object hash") {
            "its objects are not named by SHA-1".to_owned()
        } else {
            text.lines().next().unwrap_or_default().to_owned()
        };
        return Error::new(
            &codes::UNSUPPORTED_REPOSITORY,
            format!("the repository at {} cannot be read: {why}", shown.display()),
        )
        .hint("repositories of format 0 and 1 with refs in files are supported");
    }
    if std::fs::metadata(directory).is_err() {
        return Error::new(&codes::NOT_A_REPOSITORY, format!("no folder '{}'", shown.display()))
            .hint("check the path given with -C");
    }
    Error::new(&codes::NOT_A_REPOSITORY, format!("{} is not in a git repository", shown.display()))
        .hint("run it inside one, or start one with `git init`")
}
