//! Index and commit, through git itself: its filters, hooks and signing run.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io::{Seek as _, Write as _};

use bstr::ByteSlice;
use gix::index::entry::{self, Stage};

use super::{codes, history};
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::git::{Git, Running};
use crate::proposal::event::FileOutcome;
use crate::proposal::{Actor, Entry, Proposal, trailers};
use crate::store::{Store, tree_changes};
use crate::text::escape;
use crate::worktree::journal::Journal;

/// Git in this very repository, where a path is a path.
fn git(store: &Store) -> Result<Git> {
    let others = ["GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"];
    let git = store.git()?.env("GIT_LITERAL_PATHSPECS", "1");
    // Git takes none of them beside it.
    Ok(others.into_iter().fold(git, |git, name| git.env(name, "0")))
}

/// As [`git`], for taking `paths` from the work tree where files that were just written got other
/// modes than git has of them, those of `modes`.
///
/// With `core.fileMode = false` git does not look at modes, and would leave them as they were (or
/// give a new file the usual one). Where the file system keeps them, it is told to look: for these
/// paths nothing but what was written can be found.
fn git_with_modes(store: &Store, modes: &[(RepoPath, Mode)]) -> Result<Git> {
    let git = git(store)?;
    if modes.is_empty() || store.has_modes() {
        return Ok(git);
    }
    let worktree = store.worktree()?.without_conversion();
    let kept = modes
        .iter()
        .all(|(path, mode)| matches!(worktree.file(path), Ok(Some(file)) if file.mode == *mode));
    Ok(if kept { git.config("core.fileMode", "true") } else { git })
}

/// The files of a change, each as it was and as it shall be, that get another mode than git would
/// think of by itself.
pub fn modes<'a>(
    files: impl Iterator<Item = (&'a RepoPath, Option<&'a File>, Option<&'a File>)>,
) -> Vec<(RepoPath, Mode)> {
    files
        .filter_map(|(path, now, after)| {
            let (usual, after) = (now.map_or(Mode::Regular, |file| file.mode), after?.mode);
            (usual != after).then(|| (path.clone(), after))
        })
        .collect()
}

/// Most bytes of paths given to git as arguments at once.
const ARGUMENTS: usize = 100_000;

/// Refuses to commit where one of `paths` has changes of its own that the commit would sweep in.
/// A file that git does not know yet has nothing to be told apart from.
///
/// # Errors
/// `uncommitted_changes`, `index_locked`.
pub fn refuse_uncommitted(store: &Store, paths: &[RepoPath]) -> Result<()> {
    refuse_locked_index(store)?;
    if head(store)?.is_none() {
        return Ok(());
    }
    if let Ok(index) = store.repo().index_or_empty() {
        paths.iter().try_for_each(|path| refuse_unseen(&index, path))?;
    }
    for some in chunks(paths) {
        let found = git(store)?
            .args(["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--"])
            .args(some.iter().map(RepoPath::to_path))
            .run()?;
        // Each entry is two letters, a blank and the path.
        if let Some(name) = found.split(|byte| *byte == 0).find_map(|entry| entry.get(3..)) {
            return Err(taken_along(&name.as_bstr().to_string()));
        }
    }
    Ok(())
}

/// Refuses to commit files of the applied `proposal` where HEAD has something else of one than the
/// decision started from: the commit would take other changes along. A file that HEAD does not have
/// has nothing to be told apart from, and one that is generated from others has none of its own.
///
/// # Errors
/// `uncommitted_changes`, `git_failed`.
pub fn refuse_other_base(store: &Store, proposal: &Proposal) -> Result<()> {
    let Ok(head) = store.repo().head_id() else { return Ok(()) };
    let head = head.to_string();
    let written = proposal.decision().map_or(&[][..], |decision| &decision.written);
    for file in written.iter().filter(|file| file.outcome != FileOutcome::Derived) {
        let base = entry_in(store, &head, &file.path)?;
        if base.is_some() && base != file.before {
            return Err(taken_along(&file.path.display().to_string()));
        }
    }
    Ok(())
}

/// Refuses paths that git ignores and does not have.
///
/// # Errors
/// `uncommitted_changes`, `git_failed`.
pub fn refuse_ignored(store: &Store, paths: &[RepoPath]) -> Result<()> {
    // Not as literal paths, which it refuses; status 1 means none of them.
    let git = store.git()?.args(["check-ignore", "-z", "--stdin"]);
    let answer = git.stdin(list(paths)).answer()?;
    match answer.stdout.split(|byte| *byte == 0).find(|name| !name.is_empty()) {
        Some(name) if answer.status == 0 => {
            let name = name.as_bstr().to_string();
            let message = format!("{name} is ignored by one of your .gitignore files");
            Err(Error::new(&codes::UNCOMMITTED_CHANGES, message)
                .hint("let git track it, or drop the memory settings for git")
                .with("path", name))
        }
        _ => Ok(()),
    }
}

fn taken_along(name: &str) -> Error {
    Error::new(
        &codes::UNCOMMITTED_CHANGES,
        format!("{name} has uncommitted changes, and the commit would take them along"),
    )
    .with("path", name)
    .hint("commit or stash them first, or apply without --commit")
}

/// Refuses to stage where the index has something else of a file than the work tree, as `git apply
/// --index` does: what is staged of it would be lost, what is not would be staged along. A file
/// that is to be staged as it is need only have nothing else staged. A file that git does not
/// know yet has nothing to be told apart from.
///
/// `files` are each path with what is there now and what shall be, as git stores them.
///
/// # Errors
/// `uncommitted_changes`, `index_locked`.
pub fn refuse_unstaged<'a>(
    store: &Store,
    files: impl Iterator<Item = (&'a RepoPath, Option<&'a File>, Option<&'a File>)>,
) -> Result<()> {
    refuse_locked_index(store)?;
    // What cannot be read here, git judges; so it does where a filter program of its own decides.
    let index = store.repo().index_or_empty().ok();
    let (mut written, mut left) = (Vec::new(), Vec::new());
    for (path, now, after) in files {
        if let Some(index) = &index {
            refuse_unseen(index, path)?;
        }
        if !index.as_ref().is_some_and(|index| has(index, path, now)) {
            if now == after { &mut left } else { &mut written }.push(path.clone());
        }
    }
    for (paths, cached) in [(&written, None), (&left, Some("--cached"))] {
        for some in chunks(paths) {
            let found = git(store)?
                .args(["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z"])
                .args(cached)
                .arg("--")
                .args(some.iter().map(RepoPath::to_path))
                .run()?;
            if let Some(name) = found.split(|byte| *byte == 0).find(|name| !name.is_empty()) {
                let name = name.as_bstr().to_string();
                return Err(Error::new(
                    &codes::UNCOMMITTED_CHANGES,
                    format!("{name} is not the same in the index, and staging it would mix them"),
                )
                .with("path", name)
                .hint("stage or stash its changes first, or drop --index"));
            }
        }
    }
    Ok(())
}

/// What `files` (path, content at HEAD, content in the work tree) have in the index that is neither:
/// the path and hex id of each such blob.
pub fn staged_otherwise<'a>(
    store: &Store,
    files: impl Iterator<Item = (&'a RepoPath, Option<&'a File>, Option<&'a File>)>,
) -> Vec<(RepoPath, String)> {
    let Ok(index) = store.repo().index_or_empty() else { return Vec::new() };
    let staged = |path: &RepoPath| {
        let entry = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted)?;
        let id = (!entry.flags.contains(entry::Flags::INTENT_TO_ADD)).then_some(entry.id)?;
        Some((path.clone(), id.to_string()))
    };
    files
        .filter(|(path, head, now)| !has(&index, path, *head) && !has(&index, path, *now))
        .filter_map(|(path, ..)| staged(path))
        .collect()
}

/// Refuses a file that git was told not to look at: it would not take what was written, and not
/// say so.
fn refuse_unseen(index: &gix::index::State, path: &RepoPath) -> Result<()> {
    let entry = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted);
    let flags = entry.map_or(entry::Flags::empty(), |entry| entry.flags);
    let mark = match () {
        () if flags.contains(entry::Flags::ASSUME_VALID) => "assume-unchanged",
        () if flags.contains(entry::Flags::SKIP_WORKTREE) => "skip-worktree",
        () => return Ok(()),
    };
    let name = path.display().to_string();
    let message = format!("{name} is marked {mark} in the index, so git would not take the change");
    Err(Error::new(&codes::UNCOMMITTED_CHANGES, message)
        .hint(format!("`git update-index --no-{mark} {name}` takes the mark away"))
        .with("path", name))
}

/// True if `index` has the very same at `path`, and nothing unmerged.
fn has(index: &gix::index::State, path: &RepoPath, file: Option<&File>) -> bool {
    let entries =
        index.entry_range(path.as_bstr()).map_or(&[][..], |range| &index.entries()[range]);
    match (entries, file) {
        ([], None) => true,
        ([entry], Some(file)) => {
            let mode = match file.mode {
                Mode::Regular => entry::Mode::FILE,
                Mode::Executable => entry::Mode::FILE_EXECUTABLE,
            };
            let id = gix::objs::compute_hash(entry.id.kind(), gix::objs::Kind::Blob, &file.bytes);
            entry.stage() == Stage::Unconflicted
                && entry.mode == mode
                && id.is_ok_and(|id| id == entry.id)
        }
        _ => false,
    }
}

fn chunks(paths: &[RepoPath]) -> Vec<&[RepoPath]> {
    let (mut found, mut start, mut size) = (Vec::new(), 0, 0);
    for (index, path) in paths.iter().enumerate() {
        size += path.as_bstr().len() + 1;
        if size > ARGUMENTS {
            found.push(&paths[start..index]);
            (start, size) = (index, path.as_bstr().len() + 1);
        }
    }
    found.push(&paths[start..]);
    found.retain(|chunk| !chunk.is_empty());
    found
}

/// Refuses early what `git add` would refuse late.
///
/// # Errors
/// `index_locked`.
pub fn refuse_locked_index(store: &Store) -> Result<()> {
    // While `git commit -a` runs its hooks, `index.lock` is the index they get.
    let mut lock = store.repo().index_path().into_os_string();
    lock.push(".lock");
    let lock = std::path::PathBuf::from(lock);
    match lock.symlink_metadata() {
        Ok(_) => Err(crate::worktree::index::locked(&lock)),
        Err(_) => Ok(()),
    }
}

/// Puts the paths of standard input into the index as they are in the work tree, and removes those
/// that are gone. A file where the index still has a folder, or the other way round, takes its place.
const STAGING: [&str; 6] = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];

/// Git, reading the index while the files are still being written, and waiting for the names of
/// those to stage. Dropped without names it changes nothing.
pub struct Staging(Running);

impl Staging {
    /// Starts it, once the files of `modes` are written. It holds the index from now on.
    ///
    /// # Errors
    /// `git_not_found`.
    pub fn start(store: &Store, modes: &[(RepoPath, Mode)]) -> Result<Self> {
        let git = git_with_modes(store, modes)?.args(STAGING);
        git.start().map(Self)
    }

    /// Puts `paths` into the index as they are in the work tree; those that are gone are removed.
    /// Goes on beside the caller until [`Staging::wait`].
    pub fn feed(&mut self, paths: &[RepoPath]) {
        self.0.feed(list(paths));
    }

    /// Waits until the index is written.
    ///
    /// # Errors
    /// `git_failed`.
    pub fn wait(self) -> Result<()> {
        self.0.finish().map(|_| ())
    }

    /// Stages `paths` and waits.
    ///
    /// # Errors
    /// `git_failed`.
    pub fn finish(mut self, paths: &[RepoPath]) -> Result<()> {
        self.feed(paths);
        self.wait()
    }
}

/// Takes `paths` in the index back to HEAD (out of it, where HEAD does not have them or is
/// unborn).
///
/// # Errors
/// `git_failed`, `index_locked`.
pub fn unstage(store: &Store, paths: &[RepoPath]) -> Result<()> {
    let born = head(store)?.is_some();
    for some in chunks(paths) {
        let git = match born {
            true => git(store)?.args(["reset", "--quiet", "HEAD", "--"]),
            false => git(store)?.args(["rm", "--quiet", "--cached", "--ignore-unmatch", "--"]),
        };
        git.args(some.iter().map(RepoPath::to_path))
            .run()
            .map_err(|error| refuse_locked_index(store).err().unwrap_or(error))?;
    }
    Ok(())
}

/// Notes the present sizes of `paths` in the index, which has what is stored of them. A file that
/// lies there with other line endings than before is as long as git remembers only by chance, and
/// git takes any other length for a change without a look at what is in it.
///
/// # Errors
/// `git_failed`.
pub fn note_sizes(store: &Store, paths: &[RepoPath]) -> Result<()> {
    let mut found = Vec::new();
    for some in chunks(paths) {
        let other = git(store)?
            .args(["diff-files", "--name-only", "--no-ext-diff", "--diff-filter=M", "-z", "--"])
            .args(some.iter().map(RepoPath::to_path));
        found.extend(other.run()?);
    }
    if found.is_empty() {
        return Ok(());
    }
    git(store)?.args(["update-index", "-z", "--stdin"]).stdin(found).run().map(|_| ())
}

fn list(paths: &[RepoPath]) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_bstr());
        list.push(0);
    }
    list
}

/// A commit that was made for a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its id, hex.
    pub id: String,
    /// What git failed at once it was made, in words.
    pub warning: Option<String>,
    /// What a hook put into it beside the files that were to be committed.
    pub beside: Vec<Beside>,
}

/// A file that a commit changes and nobody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Where.
    pub path: bstr::BString,
    /// What its parent has.
    pub before: Option<Entry>,
    /// What it has.
    pub after: Option<Entry>,
}

impl Committed {
    fn of(id: String, warning: Option<String>) -> Self {
        Self { id, warning, beside: Vec::new() }
    }
}

/// What the commit `id` (hex) has at `path`.
///
/// # Errors
/// `git_failed` if the commit cannot be read.
pub fn entry_in(store: &Store, id: &str, path: &RepoPath) -> Result<Option<Entry>> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(&crate::git::codes::GIT_FAILED, format!("commit {id} cannot be read: {error}"))
            .hint("`git fsck` reports what is damaged")
    };
    let id = gix::ObjectId::from_hex(id.as_bytes()).map_err(|error| failed(&error))?;
    let commit = store.repo().find_commit(id).map_err(|error| failed(&error))?;
    let tree = commit.tree().map_err(|error| failed(&error))?;
    let found = tree.lookup_entry(path.components().map(|name| name.to_vec()));
    let found = found.map_err(|error| failed(&error))?;
    Ok(found.filter(|entry| !entry.mode().is_tree()).map(|entry| Entry {
        id: entry.object_id().to_string(),
        mode: format!("{:06o}", entry.mode().value()),
    }))
}

/// Commits `paths` and nothing else, those of `modes` with the mode they were written with. Where
/// HEAD has them already it is the commit that was made for the proposal, if there is one. Git and
/// its hooks inherit the lock of `journal`, so that nobody settles the files while they run.
///
/// # Errors
/// `git_failed`, with what git or a hook said; the index is as it was.
pub fn commit(
    store: &Store,
    journal: &Journal,
    reviewers: &[Actor],
    proposal: &Proposal,
    message: Option<&str>,
    paths: &[RepoPath],
    modes: &[(RepoPath, Mode)],
) -> Result<Option<Committed>> {
    // Standard input has the message, so the paths come in a file. A file that a folder has taken
    // the place of goes with the first file in that; git takes the name for a submodule's.
    let root = store.work_dir().unwrap_or_default();
    let is_folder = |path: &RepoPath| {
        root.join(path.to_path()).symlink_metadata().is_ok_and(|found| found.is_dir())
    };
    let named: Vec<RepoPath> = paths.iter().filter(|path| !is_folder(path)).cloned().collect();
    let failed = |error: std::io::Error| Error::io("write the list of paths for git", &error);
    let mut file = tempfile::NamedTempFile::new_in(store.private_dir()).map_err(failed)?;
    file.write_all(&list(&named)).map_err(failed)?;
    let mut from_file = OsString::from("--pathspec-from-file=");
    from_file.push(std::path::absolute(file.path()).map_err(failed)?);
    let message = whole(store, &text(store, reviewers, proposal, message)?)?;
    let git = || Ok::<Git, Error>(git_with_modes(store, modes)?.inheriting(journal.inheritable()?));
    let commit = git()?
        .args(["commit", "--quiet", "--only", "--file=-", "--cleanup=whitespace"])
        .arg(&from_file)
        .arg("--pathspec-file-nul")
        // Our own hooks would stop it for the very proposal it is about.
        .env(crate::git::COMMITTING, proposal.id.as_str())
        .stdin_file(message);
    git()?.args(STAGING).stdin(list(paths)).run()?;
    let made = match is_in_head(store, paths) {
        Ok(true) => {
            let since = proposal.created_at.timestamp();
            let found = history::commit_of(store.repo(), &proposal.id, since);
            return Ok(found.map(|id| Committed::of(id.to_string(), None)));
        }
        Ok(false) => make(store, proposal, commit, paths),
        Err(error) => Err(error),
    };
    made.map(Some).map_err(|error| match unstage(store, paths) {
        Ok(()) => error,
        Err(second) => error.with("index_not_restored", second.message().to_owned()),
    })
}

/// What the commit `id` on top of `onto` changes beside `paths`; nothing if it is not on top of that.
fn beside(
    store: &Store,
    onto: Option<gix::ObjectId>,
    id: gix::ObjectId,
    paths: &[RepoPath],
) -> Result<Vec<Beside>> {
    let failed =
        |error: &dyn std::fmt::Display| Error::bug(format!("cannot read commit {id}: {error}"));
    let repo = store.repo();
    let commit = repo.find_commit(id).map_err(|error| failed(&error))?;
    if commit.parent_ids().map(gix::Id::detach).ne(onto) {
        return Ok(Vec::new());
    }
    let tree = commit.tree_id().map_err(|error| failed(&error))?.detach();
    let onto = match onto {
        Some(onto) => {
            let onto = repo.find_commit(onto).map_err(|error| failed(&error))?;
            Some(onto.tree_id().map_err(|error| failed(&error))?.detach())
        }
        None => None,
    };
    let changes = tree_changes(repo, onto, tree)?;
    let asked: HashSet<&bstr::BStr> = paths.iter().map(RepoPath::as_bstr).collect();
    let others: Vec<_> =
        changes.into_iter().filter(|(path, _)| !asked.contains(path.as_bstr())).collect();
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let mut before = match onto {
        Some(onto) => tree_changes(repo, Some(tree), onto)?,
        None => BTreeMap::new(),
    };
    let found = others.into_iter().map(|(path, after)| {
        let before = before.remove(&path).flatten();
        Beside { path, before, after }
    });
    Ok(found.collect())
}

/// Takes what a hook has committed beside into the index, where that has what was there before: of
/// a commit of some files alone, git forgets what its hooks staged.
///
/// # Errors
/// `git_failed`, `index_locked`.
pub fn follow_beside(store: &Store, beside: &[Beside]) -> Result<()> {
    let paths = beside.iter().filter_map(|file| {
        let path = RepoPath::new(file.path.as_bstr()).ok()?;
        (staged(store, &path) == file.before.as_ref().map(|entry| entry.id.clone())).then_some(path)
    });
    unstage(store, &paths.collect::<Vec<_>>())
}

/// Runs `commit`, a git command, for `paths`, and looks what came of it.
fn make(store: &Store, proposal: &Proposal, commit: Git, paths: &[RepoPath]) -> Result<Committed> {
    let is_of = |head| history::is_of(store.repo(), head, &proposal.id);
    let before = head(store)?;
    let refused = commit.run().err();
    let Ok(now) = head(store) else {
        // The commit may stand, so nothing is put back unless git itself shows otherwise.
        let said = git(store)?.args(["rev-parse", "--verify", "HEAD"]).text();
        let warning = refused.map(|error| error.message().to_owned());
        let unmoved = said.as_ref().ok() == before.map(|id| id.to_string()).as_ref();
        return match warning {
            Some(error) if unmoved => Err(Error::new(&crate::git::codes::GIT_FAILED, error)),
            warning => Ok(Committed::of(said.unwrap_or_else(|_| "HEAD".into()), warning)),
        };
    };
    let moved = now.filter(|head| Some(*head) != before);
    match (moved, refused) {
        // Git may fail once the commit stands: at the index, for want of room.
        (Some(head), refused) if refused.is_none() || is_of(head) => {
            // A hook may have committed something else on top.
            let below = || history::commit_of(store.repo(), &proposal.id, 0);
            let id = if is_of(head) { None } else { below() }.unwrap_or(head);
            let warning = refused.map(|error| error.message().to_owned());
            // Where it cannot be told, the checks of the range still see it.
            let beside = beside(store, before, id, paths).unwrap_or_default();
            Ok(Committed { id: id.to_string(), warning, beside })
        }
        (_, Some(error)) => Err(error),
        (_, None) => {
            let error = Error::new(&crate::git::codes::GIT_FAILED, "git commit made no commit");
            Err(error.hint("look for a hook that takes it back"))
        }
    }
}

/// HEAD's commit; `None` before the first one.
fn head(store: &Store) -> Result<Option<gix::ObjectId>> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(&crate::git::codes::GIT_FAILED, format!("HEAD cannot be read: {error}"))
            .hint("`git status` shows what is wrong with it")
    };
    let mut head = store.repo().head().map_err(|error| failed(&error))?;
    if head.is_unborn() {
        return Ok(None);
    }
    let id = head.try_peel_to_id().map_err(|error| failed(&error))?;
    Ok(id.map(gix::Id::detach))
}

/// `text` as a file without a name, to be read from its beginning.
fn whole(store: &Store, text: &str) -> Result<std::fs::File> {
    let write = || -> std::io::Result<std::fs::File> {
        let mut file = tempfile::tempfile_in(store.private_dir())?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    write().map_err(|error| Error::io("write the commit message for git", &error))
}

/// The blob that the index has at `path`, by its hex id, and nothing unmerged.
pub fn staged(store: &Store, path: &RepoPath) -> Option<String> {
    let index = store.repo().index_or_empty().ok()?;
    let entry = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted)?;
    Some(entry.id.to_string())
}

/// True if the index has nothing for `paths` that HEAD does not have.
fn is_in_head(store: &Store, paths: &[RepoPath]) -> Result<bool> {
    if head(store)?.is_none() {
        return Ok(false);
    }
    for some in chunks(paths) {
        let same = git(store)?
            .args(["diff-index", "--cached", "--quiet", "HEAD", "--"])
            .args(some.iter().map(RepoPath::to_path))
            .answer()?;
        if !same.ok() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The commit message: what it is for, then who proposed and who reviewed.
fn text(
    store: &Store,
    reviewers: &[Actor],
    proposal: &Proposal,
    message: Option<&str>,
) -> Result<String> {
    let given = message.or(proposal.description.as_deref()).unwrap_or_default();
    let given = escape::block(given.trim()).into_owned();
    let body = if given.is_empty() {
        let changes = &proposal.current().changes;
        let first = changes.first().map(|change| change.path.display().to_string());
        let first = escape::line(&first.unwrap_or_default()).into_owned();
        match changes.len() {
            0 | 1 => format!("Change {first}"),
            n => format!("Change {first} and {} more", n - 1),
        }
    } else {
        given
    };
    let lines = trailers::of(proposal, reviewers, store.settings()?.assisted_by);
    let lines: Vec<_> = lines.iter().map(|line| escape::line(line)).collect();
    Ok(format!("{body}\n\n{}\n", lines.join("\n")))
}
