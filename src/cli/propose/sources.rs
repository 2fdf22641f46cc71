//! Other ways to say what is proposed: a patch, what is uncommitted, a commit or a range.

use std::collections::BTreeSet;
use std::ffi::OsString;

use bstr::ByteSlice as _;

use crate::apply;
use crate::changeset::patch::{self, limits};
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath, Snapshot as _};
use crate::cli::patch::ReadArgs;
use crate::cli::{Context, paths};
use crate::error::{Error, Result, codes};
use crate::store::Store;

/// A patch, what is uncommitted, a commit or a range, instead of edits.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Other sources")]
pub struct SourceArgs {
    /// A patch: a unified diff or an envelope (*** Begin Patch); - reads standard input.
    #[arg(long, value_name = "FILE", group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub patch: Option<OsString>,
    /// What is not committed, staged or not, new files included; the files then go back to HEAD.
    /// With PATHS, only what is at or below them.
    #[arg(long, value_name = "PATHS", num_args = 0.., group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub worktree: Option<Vec<OsString>>,
    /// Leave the files as they are.
    #[arg(long, requires = "worktree")]
    pub keep: bool,
    /// What a commit changed against its first parent.
    #[arg(long, value_name = "REV", group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub commit: Option<OsString>,
    /// What changed from A to B, as one change: A..B, or A...B from their merge base.
    #[arg(long, value_name = "A..B", group = "source", conflicts_with_all = ["path", "edit", "from_json"])]
    pub range: Option<OsString>,
    /// How a patch is read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// What a source came to.
pub struct Sourced {
    /// The changes.
    pub changeset: Changeset,
    /// The form that the proposal records.
    pub form: &'static str,
    /// Its own message, if there is one (a commit's).
    pub message: Option<String>,
    /// Take the changed files back once they are proposed.
    pub take_back: bool,
}

impl SourceArgs {
    /// Reads the source that was given, if one was.
    ///
    /// # Errors
    /// Those of the reader of that form.
    pub fn read(&self, context: &Context, store: &Store) -> Result<Option<Sourced>> {
        let sourced =
            |changeset, form| Sourced { changeset, form, message: None, take_back: false };
        if let Some(file) = &self.patch {
            let bytes = paths::content(context, file, limits::PATCH as u64 + 1)?;
            let compiled = patch::read(&bytes, &*store.files()?, &self.read.options())
                .map_err(|error| crate::tools::apply_patch::name_relative(error, store))?;
            if compiled.already_applied {
                return Err(Error::new(
                    &patch::codes::ALREADY_APPLIED,
                    "every change of the patch is in the files already",
                )
                .hint("there is nothing to propose"));
            }
            return Ok(Some(sourced(compiled.changeset, "patch")));
        }
        if let Some(specs) = &self.worktree {
            let changeset = uncommitted(context, store, specs)?;
            return Ok(Some(Sourced { take_back: !self.keep, ..sourced(changeset, "worktree") }));
        }
        if let Some(rev) = &self.commit {
            let id = resolve(store, rev, "^{commit}")?;
            let parent = resolve(store, format!("{id}^1").as_ref(), "").ok();
            let changeset = between(store, parent.as_deref(), &id)?;
            let message = store.git()?.args(["log", "-1", "--format=%B", &id]).text()?;
            let message = Some(message.trim().to_owned()).filter(|message| !message.is_empty());
            return Ok(Some(Sourced { message, ..sourced(changeset, "commit") }));
        }
        if let Some(range) = &self.range {
            let (from, to) = ends(store, range)?;
            return Ok(Some(sourced(between(store, Some(&from), &to)?, "commit")));
        }
        Ok(None)
    }
}

/// Takes the files of `changeset` back to what they were before it, in the work tree and in the
/// index. What somebody saved in between is not lost: then nothing is taken back.
///
/// # Errors
/// `file_changed`, and those of the work tree and git.
pub fn take_back(store: &Store, changeset: &Changeset) -> Result<()> {
    let changes = changeset.changes().iter().map(|change| FileChange {
        path: change.path.clone(),
        before: change.after.clone(),
        after: change.before.clone(),
        origin: None,
        snippets: Vec::new(),
    });
    let back = Changeset::new(changes.collect())?;
    apply::write_direct(store, false, |_| Ok((back, ())))?;
    let paths: Vec<RepoPath> = changeset.changes().iter().map(|c| c.path.clone()).collect();
    apply::unstage(store, &paths)
}

fn resolve(store: &Store, rev: &std::ffi::OsStr, kind: &str) -> Result<String> {
    let mut spec = rev.to_owned();
    spec.push(kind);
    let found = store
        .git()?
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(&spec)
        .text();
    found.map_err(|_| {
        Error::new(&codes::INVALID_ARGUMENT, format!("'{}' names no commit", rev.to_string_lossy()))
            .hint("give a branch, a tag or a commit id, as to git show")
    })
}

/// The two ends of `A..B` or `A...B`; a missing one is HEAD.
fn ends(store: &Store, range: &std::ffi::OsStr) -> Result<(String, String)> {
    let text = range.to_string_lossy().into_owned();
    let (from, to, symmetric) = if let Some((from, to)) = text.split_once("...") {
        (from, to, true)
    } else if let Some((from, to)) = text.split_once("..") {
        (from, to, false)
    } else {
        return Err(Error::new(&codes::INVALID_ARGUMENT, format!("'{text}' is no range"))
            .hint("give A..B, or one commit with --commit"));
    };
    let id = |rev: &str| {
        let rev = if rev.is_empty() { "HEAD" } else { rev };
        resolve(store, rev.as_ref(), "^{commit}")
    };
    let (from, to) = (id(from)?, id(to)?);
    if !symmetric {
        return Ok((from, to));
    }
    let base = store.git()?.args(["merge-base", &from, &to]).text().map_err(|_| {
        Error::new(&codes::INVALID_ARGUMENT, format!("the ends of '{text}' have no common commit"))
            .hint("name the two ends with '..' between them")
    })?;
    Ok((base, to))
}

/// What changed between two commits, renames found as git finds them.
fn between(store: &Store, from: Option<&str>, to: &str) -> Result<Changeset> {
    let mut args = vec!["diff-tree", "-r", "-z", "--raw", "-M", "--no-commit-id", "--full-index"];
    match from {
        Some(from) => args.extend([from, to]),
        None => args.extend(["--root", to]),
    }
    let raw = store.git()?.args(args).run()?;
    let mut fields = raw.split(|b| *b == 0);
    let mut changes = Vec::new();
    let broken = || Error::bug("git diff-tree printed something unknown");
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = head.to_str().map_err(|_| broken())?;
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, status] = words[..] else { return Err(broken()) };
        let path = RepoPath::from_tree(fields.next().ok_or_else(broken)?)?;
        let file = |mode: &str, id: &str, path: &RepoPath| -> Result<Option<File>> {
            if mode == "000000" {
                return Ok(None);
            }
            let mode = mode_of(mode, path)?;
            Ok(Some(File { bytes: store.blob(id)?, mode }))
        };
        let (before, after) = (file(old_mode, old_id, &path)?, file(new_mode, new_id, &path)?);
        let change = |path, before, after, origin| FileChange {
            path,
            before,
            after,
            origin,
            snippets: Vec::new(),
        };
        if status.starts_with('R') {
            let new = RepoPath::from_tree(fields.next().ok_or_else(broken)?)?;
            changes.push(change(path.clone(), before, None, None));
            changes.push(change(new, None, after, Some(path)));
        } else {
            changes.push(change(path, before, after, None));
        }
    }
    let changeset = Changeset::new(changes)?;
    store.refuse_foreign(&changeset)?;
    Ok(changeset)
}

fn mode_of(mode: &str, path: &RepoPath) -> Result<Mode> {
    let bits = u32::from_str_radix(mode, 8).unwrap_or(0);
    patch::check_mode(bits, path)
}

/// What is uncommitted at or below `specs` (everywhere, without any).
fn uncommitted(context: &Context, store: &Store, specs: &[OsString]) -> Result<Changeset> {
    let below: Vec<RepoPath> =
        specs.iter().map(|spec| paths::typed(context, store, spec)).collect::<Result<_>>()?;
    let within = |path: &RepoPath| {
        below.is_empty() || below.iter().any(|top| path == top || path.parents().any(|p| p == *top))
    };
    let worktree = store.worktree()?;
    let unborn = store.repo().head_id().is_err();
    let mut names: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut collect = |bytes: Vec<u8>| {
        names.extend(bytes.split(|b| *b == 0).filter(|n| !n.is_empty()).map(<[u8]>::to_vec));
    };
    let others = ["ls-files", "-z", "--others", "--exclude-standard"];
    collect(store.git()?.args(others).run()?);
    if unborn {
        collect(store.git()?.args(["ls-files", "-z", "--cached"]).run()?);
    } else {
        // Against the index as well: a file may be staged and changed back since.
        collect(store.git()?.args(["diff", "--name-only", "--no-renames", "-z", "HEAD"]).run()?);
        let cached = ["diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD"];
        collect(store.git()?.args(cached).run()?);
    }
    let mut changes = Vec::new();
    for name in names {
        let path = RepoPath::from_tree(&name)?;
        if !within(&path) {
            continue;
        }
        let before = if unborn { None } else { at_head(store, &path)? };
        let after = worktree.file(&path)?;
        changes.push(FileChange { path, before, after, origin: None, snippets: Vec::new() });
    }
    let changeset = Changeset::new(changes)?;
    store.refuse_foreign(&changeset)?;
    Ok(changeset)
}

/// A file as HEAD has it.
fn at_head(store: &Store, path: &RepoPath) -> Result<Option<File>> {
    let failed =
        |error: &dyn std::fmt::Display| Error::bug(format!("HEAD cannot be read: {error}"));
    let commit = store.repo().head_commit().map_err(|error| failed(&error))?;
    let tree = commit.tree().map_err(|error| failed(&error))?;
    let found = tree
        .lookup_entry(path.components().map(|name| name.as_bytes()))
        .map_err(|error| failed(&error))?;
    let Some(entry) = found else { return Ok(None) };
    let mode = mode_of(&format!("{:06o}", entry.mode().value()), path)?;
    Ok(Some(File { bytes: store.blob(&entry.object_id().to_string())?, mode }))
}
