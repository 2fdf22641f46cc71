//! Creates the tree of a session. git runs in the tree only here, before an agent has been in it.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Mode;

use super::clone_facts::{self, Settings};
use super::{codes, included_files, read, spool, times};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::git::codes::GIT_FAILED;
use crate::repository::Repository;

/// Ref that keeps a session's commits: the tree's own refs do not.
pub fn pin(name: &str) -> String {
    format!("refs/aye/session/{name}")
}

/// Keys that lead back to repository and session.
pub const REPOSITORY: &str = "aye.repository";
pub const SESSION: &str = "aye.session";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// Tracked files of the work tree, with uncommitted changes.
    #[default]
    Worktree,
    /// Also during a merge; unmerged files as in the work tree.
    Unsettled,
    Head,
}

pub fn no_commit() -> Error {
    Error::new(&codes::NO_COMMIT, "the repository has no commit yet")
        .hint("commit something first: git commit --allow-empty -m first")
}

/// HEAD, or a child with uncommitted changes; of untracked files only `besides`, relative to the
/// top. On an unborn branch, `Unsettled` starts from the tracked files.
///
/// # Errors
/// `no_commit`; `git_failed`, for example during a merge.
pub fn base(repository: &Repository, base: Base, besides: &[BString]) -> Result<String> {
    const MESSAGE: &str = "What the checkout held and had not committed";
    let may_be_unmerged = base == Base::Unsettled;
    if may_be_unmerged && repository.repo().head().is_ok_and(|head| head.is_unborn()) {
        return commit(repository, &staged_by_copy(repository, true)?, None, MESSAGE);
    }
    let head = repository.repo().head_commit().map_err(|_| no_commit())?;
    let id = head.id().to_string();
    if base == Base::Head || repository.work_dir().is_none() {
        return Ok(id);
    }
    let tree = staged_by_copy(repository, may_be_unmerged)?;
    let tree = if besides.is_empty() { tree } else { with(repository, &tree, besides)? };
    let of_head = head.tree_id().ok().map(|of_head| of_head.to_string());
    if of_head.as_ref() == Some(&tree) {
        return Ok(id);
    }
    commit(repository, &tree, Some(&id), MESSAGE)
}

/// Relative to the top.
pub fn untracked(repository: &Repository) -> Result<Vec<BString>> {
    let Some(top) = repository.work_dir() else { return Ok(Vec::new()) };
    let args = ["ls-files", "-z", "--others", "--exclude-standard"];
    let listed = git(repository)?.directory(&top).args(args).run()?;
    Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(BString::from).collect())
}

/// Untracked files of a base.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 50 << 20;

/// `Err` has a path and a remark: together the files are too many, or too large, to be a base.
pub fn require_few(
    repository: &Repository,
    files: &[BString],
) -> std::result::Result<(), (String, String)> {
    let top = repository.work_dir().unwrap_or_default();
    let size = |name: &BString| {
        let facts = top.join(name.to_path_lossy()).symlink_metadata();
        facts.map_or(0, |facts| facts.len())
    };
    if files.len() <= MOST_FILES && files.iter().map(size).sum::<u64>() <= MOST_BYTES {
        return Ok(());
    }
    let first = files.iter().max_by_key(|name| size(name)).map(ToString::to_string);
    let why = format!(
        "and {} other untracked files are not in the tree: together more than {MOST_FILES}, or {} MB; git add \
         those that the agent needs, or ignore the rest",
        files.len() - 1,
        MOST_BYTES >> 20
    );
    Err((first.unwrap_or_default(), why))
}

fn with(repository: &Repository, tree: &str, files: &[BString]) -> Result<String> {
    let scratch = tempfile::tempdir().map_err(no_index)?;
    let index = scratch.path().join("index");
    let git = || Ok::<_, Error>(git(repository)?.env("GIT_INDEX_FILE", &index));
    git()?.args(["read-tree", tree]).run()?;
    let top = repository.work_dir().unwrap_or_else(|| repository.common_dir().to_owned());
    let args = ["update-index", "--add", "--replace", "-z", "--stdin"];
    git()?.directory(&top).args(args).stdin(bstr::join("\0", files)).run()?;
    Ok(git()?.args(["write-tree"]).text()?.trim().to_owned())
}

/// Untrusted `text`; the object may be missing.
pub fn is_id(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// False if a commit is missing.
pub fn is_same(repository: &Repository, one: &str, other: &str) -> bool {
    let tree = |commit: &str| {
        let id = gix::ObjectId::from_hex(commit.as_bytes()).ok()?;
        Some(repository.repo().find_commit(id).ok()?.tree_id().ok()?.detach())
    };
    tree(one).is_some_and(|tree_of_one| tree(other) == Some(tree_of_one))
}

/// Like `git add --update`, on a copy of the index. With unmerged files allowed, a file that git
/// cannot read, such as a pipe, counts as gone.
///
/// # Errors
/// `git_failed`, also for unmerged files unless allowed.
fn staged_by_copy(repository: &Repository, may_be_unmerged: bool) -> Result<String> {
    let scratch = tempfile::tempdir().map_err(no_index)?;
    let index = scratch.path().join("index");
    let own = repository.repo().index_path();
    // The original's time lets git reread files changed since the index was written.
    let copy = std::fs::copy(&own, &index).and_then(|_| times::keep(&index, &own.metadata()?));
    match copy {
        // Nothing is staged yet.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        copied => copied.map_err(no_index)?,
    }
    let git = || Ok::<_, Error>(git(repository)?.env("GIT_INDEX_FILE", &index));
    let is_unmerged =
        |index: &gix::index::File| index.entries().iter().any(|entry| entry.stage_raw() != 0);
    if !may_be_unmerged && repository.repo().index().is_ok_and(|index| is_unmerged(&index)) {
        return Err(Error::new(&GIT_FAILED, "the checkout has files that are unmerged").hint(
            "settle what is unmerged first, or take the commit: aye run --base head, aye session sync --onto head",
        ));
    }
    if let Err(error) = git()?.args(["add", "--update", "--ignore-errors", ":/"]).run() {
        let Some(top) = repository.work_dir().filter(|_| may_be_unmerged) else {
            return Err(error);
        };
        let args = ["diff-files", "-z", "--name-only", "--ignore-submodules=all"];
        let left = git()?.directory(&top).args(args).run()?;
        if left.is_empty() {
            return Err(error);
        }
        let args = ["update-index", "-z", "--force-remove", "--stdin"];
        git()?.directory(&top).args(args).stdin(left).run()?;
    }
    Ok(git()?.args(["write-tree"]).text()?.trim().to_owned())
}

fn no_index(error: std::io::Error) -> Error {
    Error::io("make a temporary index", &error)
}

/// Without configured monitor and hooks.
pub fn git(repository: &Repository) -> Result<Git> {
    Ok(repository.git()?.without_hooks().config("core.fsmonitor", "false"))
}

/// A commit with a neutral author.
pub fn commit(
    repository: &Repository,
    tree: &str,
    parent: Option<&str>,
    message: &str,
) -> Result<String> {
    let git = git(repository)?.args(["commit-tree", "--no-gpg-sign", tree, "-m", message]);
    let git = parent.into_iter().fold(git, |git, parent| git.args(["-p", parent]));
    let git = ["AUTHOR", "COMMITTER"].into_iter().fold(git, |git, who| {
        git.env(format!("GIT_{who}_NAME"), "aye").env(format!("GIT_{who}_EMAIL"), "aye@localhost")
    });
    Ok(git.text()?.trim().to_owned())
}

/// `tree` must not exist. Returns the checkout's submodules, which stay empty, and why.
///
/// # Errors
/// `git_failed`, `git_not_found`; the file system's.
pub fn make(
    repository: &Repository,
    name: &str,
    tree: &Path,
    commit: &str,
    local_files: &[&str],
) -> Result<Vec<(String, String)>> {
    let top = repository.work_dir().unwrap_or_else(|| repository.common_dir().to_owned());
    hold(repository, name, commit)?;
    let head = repository.repo().head_name().ok().flatten();
    let branch = head.as_ref().map(|name| name.shorten().to_string());
    let format = match repository.repo().object_hash() {
        gix::hash::Kind::Sha1 => "sha1",
        _ => "sha256",
    };
    Git::new(repository.common_dir())
        .without_local_env()
        // aye reads the tree's refs as files: override the user's default format.
        .config("init.defaultRefFormat", "files")
        .env("GIT_DEFAULT_REF_FORMAT", "files")
        .args(["init", "--quiet", "--template="])
        .arg(format!("--object-format={format}"))
        .arg(format!("--initial-branch={}", branch.as_deref().unwrap_or("aye-session")))
        .arg(tree)
        .run()?;
    let failed = |error: std::io::Error| {
        Error::io(format_args!("make the session's tree {}", tree.display()), &error)
    };
    let mut settings = Settings::of(repository, &top);
    share(repository, tree)?;
    settings.put(REPOSITORY, top.as_os_str().as_encoded_bytes());
    settings.put("gc.auto", b"0");
    settings.put(SESSION, name.as_bytes());
    settings.write(tree).map_err(failed)?;
    let refs = ["for-each-ref", "--format=%(objectname) %(refname) %(symref)"];
    let refs =
        git(repository)?.args(refs).args(["refs/heads", "refs/remotes", "refs/tags"]).run()?;
    clone_facts::write_refs(&refs, tree).map_err(failed)?;
    let at = head.as_ref().and_then(|name| name.as_bstr().to_path().ok());
    let at = tree.join(".git").join(at.unwrap_or(Path::new("HEAD")));
    let written = at.parent().map_or(Ok(()), std::fs::create_dir_all);
    written.and_then(|()| std::fs::write(at, format!("{commit}\n"))).map_err(failed)?;
    let inside =
        || Git::new(tree).without_local_env().without_hooks().env("GIT_LFS_SKIP_SMUDGE", "1");
    inside().args(["read-tree", "-mu", "HEAD"]).run()?;
    times::follow(repository, tree)?;
    let (hooks_path, hook_files) =
        clone_facts::copy_hooks(repository, &top, tree).map_err(failed)?;
    if let Some(path) = hooks_path {
        let mut settings = Settings::default();
        settings.put("core.hooksPath", path.as_bytes());
        settings.write(tree).map_err(failed)?;
    }
    let local_files = local_files.iter().copied().chain(hook_files.iter().map(String::as_str));
    included_files::copy(repository, tree, &local_files.collect::<Vec<_>>())?;
    let index = read::index(repository, commit)?;
    let modules = index.entries().iter().filter(|entry| entry.mode == Mode::COMMIT);
    let paths = modules.map(|entry| entry.path(&index)).filter(|path| {
        let place = path.to_path().ok().map(|path| top.join(path).join(".git"));
        place.is_some_and(|place| place.symlink_metadata().is_ok())
    });
    let why = "is a submodule, and is left empty: run an agent of its own in it";
    Ok(paths.map(|path| (path.to_string(), why.to_owned())).collect())
}

/// Keeps `commit` as long as the session `name`.
pub fn hold(repository: &Repository, name: &str, commit: &str) -> Result<()> {
    git(repository)?.args(["update-ref", "--no-deref", &pin(name), commit]).run().map(drop)
}

pub fn pinned(repository: &Repository) -> Vec<String> {
    let platform = repository.repo().references().ok();
    let found = platform.as_ref().and_then(|refs| refs.prefixed(pin("").as_str()).ok());
    let names =
        found.into_iter().flatten().flatten().map(|found| found.name().as_bstr().to_string());
    names.filter_map(|name| name.strip_prefix(pin("").as_str()).map(str::to_owned)).collect()
}

pub fn unpin(repository: &Repository, name: &str) {
    let delete = ["update-ref", "-d", &pin(name)];
    let deleted = git(repository).and_then(|git| git.args(delete).run());
    drop(deleted);
}

fn share(repository: &Repository, tree: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::io(format_args!("make the session's tree {}", tree.display()), &error)
    };
    let info = tree.join(".git/info");
    std::fs::create_dir_all(&info).map_err(failed)?;
    let objects =
        std::path::absolute(repository.repo().objects.store_ref().path()).map_err(failed)?;
    let mut line = objects.as_os_str().as_encoded_bytes().to_vec();
    if line.contains(&b'\n') {
        let shown = objects.display().to_string();
        return Err(Error::new(&codes::NO_STATE_DIRECTORY, format!("{shown:?} has a line break"))
            .hint("git cannot share the objects of a repository with such a path"));
    }
    line.push(b'\n');
    std::fs::write(tree.join(".git/objects/info/alternates"), line).map_err(failed)?;
    for name in ["exclude", "attributes", "sparse-checkout"] {
        // A linked work tree has its own sparse-checkout file.
        let own = repository.repo().git_dir().join("info").join(name);
        let common = repository.common_dir().join("info").join(name);
        let found = std::fs::read(own).or_else(|_| std::fs::read(common));
        if let Ok(bytes) = found {
            std::fs::write(info.join(name), bytes).map_err(failed)?;
        }
    }
    let exclude = format!("/{}/\n", spool::DIRECTORY);
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(info.join("exclude"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, exclude.as_bytes()))
        .map_err(failed)
}
