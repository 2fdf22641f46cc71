//! Moves HEAD and index of a session's tree after a decision: `git status` there shows undecided
//! work.
//!
//! The git directory belongs to the agent: aye reads and writes it as files, through no symlink,
//! and runs no git there. The agent's commits and staged changes stay.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};

use super::tree;
use crate::beneath::{Access, Content, Dir, open_last};
use crate::error::{Error, Result};
use crate::repository::Repository;

/// Bytes of the largest file read.
pub(super) const MOST: u64 = 1 << 28;

/// False if HEAD is not `from`, git holds a lock, or a file is malformed; then both stay.
pub fn follow(repository: &Repository, tree: &Path, from: &str, to: &str) -> bool {
    if from == to {
        return true;
    }
    let git = open_last(tree).and_then(|top| top.open_directory(".git".into()));
    let Some((git, head)) = git.ok().and_then(|git| Head::read(&git, from).map(|head| (git, head)))
    else {
        return false;
    };
    let (index, lock) = (BStr::new("index"), BStr::new("index.lock"));
    // git's own lock: neither side sees a partial update.
    let Ok(mut file) = git.open(lock, Access::New) else { return false };
    let mut done = || -> Option<()> {
        let Ok(Content::File(bytes, _)) = git.read(index, MOST) else { return None };
        let bytes = moved(repository, &bytes, from, to).ok()?;
        file.write_all(&bytes).ok()?;
        head.write(&git, to)?;
        git.rename(lock, &git, index).ok()
    };
    let is_done = done().is_some();
    if !is_done {
        let _ = git.unlink(lock);
    }
    is_done
}

enum Head {
    Detached,
    /// Directories below the git directory, and file name.
    Branch(Vec<BString>, BString),
}

impl Head {
    /// `None` unless the commit is `id`.
    fn read(git: &Dir, id: &str) -> Option<Self> {
        let text = line(git, "HEAD".into())?;
        let Some(name) = text.strip_prefix(b"ref: ") else {
            return (text == id.as_bytes()).then_some(Self::Detached);
        };
        let name = name.trim();
        let is_branch = name.starts_with(b"refs/heads/")
            && gix::refs::FullName::try_from(name.as_bstr()).is_ok();
        if !is_branch {
            return None;
        }
        let mut parts: Vec<BString> = name.split(|byte| *byte == b'/').map(BString::from).collect();
        let last = parts.pop()?;
        let loose = enter(git, &parts).and_then(|directory| line(&directory, last.as_bstr()));
        let is_it = |(id, found): (&[u8], &[u8])| (found == name).then(|| id.to_vec());
        let found = loose.or_else(|| packed(git, is_it))?;
        (found == id.as_bytes()).then_some(Self::Branch(parts, last))
    }

    fn write(&self, git: &Dir, id: &str) -> Option<()> {
        match self {
            Self::Detached => replace(git, "HEAD".into(), id),
            Self::Branch(parts, last) => replace(&enter(git, parts)?, last.as_bstr(), id),
        }
    }
}

fn enter(git: &Dir, parts: &[BString]) -> Option<Dir> {
    let (first, rest) = parts.split_first()?;
    let first = git.open_directory(first.as_bstr()).ok()?;
    rest.iter().try_fold(first, |directory, part| directory.open_directory(part.as_bstr()).ok())
}

pub(super) fn line(directory: &Dir, name: &BStr) -> Option<Vec<u8>> {
    match directory.read(name, 4096) {
        Ok(Content::File(bytes, _)) => Some(bytes.trim_end().to_vec()),
        _ => None,
    }
}

/// The first result of `find` for a packed ref (hex id, name).
pub(super) fn packed<T>(git: &Dir, find: impl FnMut((&[u8], &[u8])) -> Option<T>) -> Option<T> {
    let Ok(Content::File(bytes, _)) = git.read("packed-refs".into(), MOST) else { return None };
    let mut lines = bytes.lines().filter_map(|line| line.split_once_str(" "));
    lines.find_map(find)
}

fn replace(directory: &Dir, name: &BStr, id: &str) -> Option<()> {
    let lock = BString::from(format!("{name}.lock"));
    let mut file = directory.open(lock.as_bstr(), Access::New).ok()?;
    let written = file.write_all(format!("{id}\n").as_bytes());
    let done = written.and_then(|()| directory.rename(lock.as_bstr(), directory, name));
    if done.is_err() {
        let _ = directory.unlink(lock.as_bstr());
    }
    done.ok()
}

/// Staged paths stay; other paths get their entry in `to`.
fn moved(repository: &Repository, bytes: &[u8], from: &str, to: &str) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::io("make a temporary index", &error);
    let scratch = tempfile::tempdir().map_err(failed)?;
    let index = scratch.path().join("index");
    std::fs::write(&index, bytes).map_err(failed)?;
    let git = || Ok::<_, Error>(tree::git(repository)?.env("GIT_INDEX_FILE", &index));
    let names = ["-z", "--name-only", "--no-renames", "--ignore-submodules=none", from];
    let staged = git()?.args(["diff-index", "--cached"]).args(names).run()?;
    let staged: HashSet<&[u8]> = staged.split(|byte| *byte == 0).collect();
    let raw = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to];
    let raw = git()?.args(raw).run()?;
    let mut fields = raw.split(|byte| *byte == 0);
    let (mut gone, mut put, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        // `:100644 100755 <id> <id> M`
        let mut facts = facts.split(|byte| *byte == b' ');
        let (Some(mode), Some(id)) = (facts.nth(1), facts.nth(1)) else { continue };
        if staged.contains(path) {
            continue;
        }
        let lines = if mode == b"000000" { &mut gone } else { &mut put };
        lines.extend_from_slice(&[mode, b" ", id, b"\t", path, b"\0"].concat());
        if mode != b"000000" && repository.is_excluded(&path.to_str_lossy()) {
            left_out.extend_from_slice(&[path, b"\0"].concat());
        }
    }
    // Deletions come first: a file may replace a directory.
    gone.extend_from_slice(&put);
    git()?.args(["update-index", "-z", "--index-info"]).stdin(gone).run()?;
    if !left_out.is_empty() {
        let args = ["update-index", "-z", "--skip-worktree", "--stdin"];
        git()?.args(args).stdin(left_out).run()?;
    }
    std::fs::read(&index).map_err(failed)
}
