//! Uncommitted changes of the work tree.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use bstr::ByteSlice as _;

use super::super::Session;
use super::Remark;
use super::range::mode_of;
use crate::apply;
use crate::changeset::codes as changeset_codes;
use crate::changeset::{Changeset, File, FileChange, RepoPath, Snapshot};
use crate::decide;
use crate::error::{Error, Result};
use crate::git::Git;
use crate::proposal::Entry;
use crate::repository::{HINT_COMMIT_WITH_GIT, Repository};

pub(super) struct Specs<'a> {
    pub(super) base: &'a Path,
    pub(super) specs: &'a [OsString],
}

/// Without `specs` all files. Submodules and other repositories are excluded.
pub(super) fn uncommitted(
    session: &Session<'_>,
    specs: &Specs<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<Changeset> {
    let store = session.store;
    let repository = store.repository();
    let worktree = repository.worktree()?;
    if !specs.specs.is_empty() {
        refuse_unmatched(repository, specs)?;
    }
    let status = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"];
    let raw = at(repository, specs.base, repository.git_without_filters()?)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .args(status)
        .args(["--ignore-submodules=dirty", "--"])
        .args(specs.specs)
        .run()?;
    let mut files: BTreeMap<&[u8], Uncommitted<'_>> = BTreeMap::new();
    for entry in raw.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let broken = || Error::bug("git status printed something unknown");
        match entry[0] {
            b'1' => {
                let fields: Vec<&[u8]> = entry.splitn(9, |byte| *byte == b' ').collect();
                let [_, state, _, head, _, worktree, id, _, name] = fields[..] else {
                    return Err(broken());
                };
                if worktree == b"120000" {
                    remarks.push(Remark::Symlink(RepoPath::from_tree(name)?));
                    continue;
                }
                // A submodule at another commit.
                if [head, worktree].contains(&&b"160000"[..]) {
                    remarks.push(Remark::OtherRepository(name.as_bstr().to_string()));
                    continue;
                }
                let file = files.entry(name).or_default();
                if head != b"000000" {
                    let (Ok(mode), Ok(id)) = (head.to_str(), id.to_str()) else {
                        return Err(broken());
                    };
                    file.head = Some((mode, id));
                }
                file.exists |= worktree != b"000000";
                file.as_staged |= state.ends_with(b".");
            }
            b'u' => {
                let name = entry.splitn(11, |byte| *byte == b' ').last().unwrap_or_default();
                return Err(apply::unmerged(name.as_bstr()));
            }
            b'?' => match entry.get(2..).unwrap_or_default() {
                // Another repository, which `git stash` ignores, too.
                name if name.ends_with(b"/") => {
                    let name = name.as_bstr().to_string();
                    remarks.push(Remark::OtherRepository(name.trim_end_matches('/').to_owned()));
                }
                name if is_symlink(repository, name) => {
                    remarks.push(Remark::Symlink(RepoPath::from_tree(name)?));
                }
                name => files.entry(name).or_default().exists = true,
            },
            _ => {}
        }
    }
    let reader = worktree.reader();
    let view = store.view()?;
    let may_stand = !files.is_empty() && view.has_applied()?;
    let mut changes = Vec::with_capacity(files.len());
    for (name, file) in files {
        let path = RepoPath::from_tree(name)?;
        let head = file.head.map(|(mode, id)| Entry::new(id, mode));
        // Applied, uncommitted content is not a new change, and stays.
        let standing = if may_stand {
            decide::written_here(store, &view, session.now, &path, head.as_ref())?
        } else {
            None
        };
        let before = match (&standing, file.head) {
            (Some(applied), _) => applied.as_ref().map(|entry| store.file(entry)).transpose()?,
            (None, Some((mode, id))) => {
                Some(File { mode: mode_of(mode, &path)?, bytes: store.blob(id)? })
            }
            (None, None) => None,
        };
        // A directory may be in the file's place by now.
        let after = if file.exists { reader.file(&path)? } else { None };
        // Files outside a sparse checkout are not deletions, and could not be reset.
        if file.exists && file.as_staged && after.is_none() {
            remarks.push(Remark::Excluded(path));
            continue;
        }
        let is_as_applied = standing.is_some() && before == after;
        if (before.is_some() || after.is_some()) && !is_as_applied {
            changes.push(FileChange { path, before, after, origin: None, snippets: Vec::new() });
        }
    }
    let changeset = Changeset::new(changes)?;
    repository.refuse_foreign(
        changeset.changes().iter().map(|change| &change.path),
        HINT_COMMIT_WITH_GIT,
    )?;
    Ok(changeset)
}

fn is_symlink(repository: &Repository, name: &[u8]) -> bool {
    let found = repository.work_dir().map(|top| top.join(name.to_path_lossy()).symlink_metadata());
    found.is_some_and(|found| found.is_ok_and(|found| found.is_symlink()))
}

#[derive(Default)]
pub(super) struct Uncommitted<'a> {
    pub(super) head: Option<(&'a str, &'a str)>,
    pub(super) exists: bool,
    /// git considers the file equal to the index.
    pub(super) as_staged: bool,
}

pub(super) fn here(repository: &Repository, base: &Path) -> Result<Git> {
    Ok(at(repository, base, repository.git()?))
}

fn at(repository: &Repository, base: &Path, git: Git) -> Git {
    if repository.prefix(base).is_some() { git.directory(base) } else { git }
}

/// Refuses pathspecs without a match, as `git add` does.
pub(super) fn refuse_unmatched(repository: &Repository, specs: &Specs<'_>) -> Result<()> {
    let born = repository.repo().head_id().is_ok();
    let Specs { base, specs } = *specs;
    let look = |specs: &[OsString]| {
        here(repository, base)?
            .args(["ls-files", "-z", "--error-unmatch", "--cached", "--others"])
            .arg("--exclude-standard")
            // A file removed from the index can still be proposed.
            .args(born.then_some("--with-tree=HEAD"))
            .arg("--")
            .args(specs)
            .answer()
    };
    if look(specs)?.ok() {
        return Ok(());
    }
    for spec in specs {
        let answer = look(std::slice::from_ref(spec))?;
        let shown = spec.to_string_lossy();
        match answer.status {
            0 => {}
            1 => {
                let message = format!("pathspec '{shown}' did not match any file");
                let error = Error::new(&changeset_codes::FILE_NOT_FOUND, message)
                    .with("path", shown.into_owned())
                    .hint("`git status` lists uncommitted changes; ignored files are excluded");
                return Err(repository.name_missing(error));
            }
            _ => {
                let said = answer.stderr.to_str_lossy();
                let why = said.lines().last().unwrap_or_default().trim_start_matches("fatal: ");
                return Err(Error::new(
                    &changeset_codes::PATH_INVALID,
                    format!("'{shown}' is not a pathspec for this repository: {why}"),
                )
                .with("path", shown.into_owned())
                .hint("give files, directories or patterns inside the repository, as to git add"));
            }
        }
    }
    Ok(())
}
