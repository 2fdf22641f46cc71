//! New ignored files of a tree: no proposal has them, so they are moved out before the tree is
//! removed. Build directories go with the tree.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice as _};
use chrono::{DateTime, Days, NaiveDate, Utc};

use super::SessionStore;
use super::session_store::rename_entry;
use crate::beneath::{Dir, FileKind, clear, open_last};
use crate::error::{Error, Result};

const BUILDS: [&str; 17] = [
    "target", "node_modules", "__pycache__", ".venv", "venv", "dist", "build", ".next", ".nuxt",
    ".gradle", ".tox", ".nox", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".turbo",
    ".parcel-cache",
];

/// Retention of moved files, in days.
const DAYS: u64 = 14;

/// Precedes the last day of retention. Session names contain no dot.
const UNTIL: &str = ".until-";

/// Example names a directory.
const SHOWN: usize = 3;

/// Limit of directory depth.
const DEEP: usize = 128;

#[derive(Debug, Default)]
pub struct IgnoredFiles {
    /// An ignored directory stands for its content.
    pub paths: Vec<BString>,
    /// Copies from the checkout, below `paths`.
    pub copies: HashSet<BString>,
}

#[derive(Debug)]
pub struct Group {
    /// From the top of the tree.
    pub directory: BString,
    pub count: usize,
    pub first: Vec<BString>,
}

#[derive(Debug, Default)]
pub struct Inventory {
    pub groups: Vec<Group>,
    /// Not kept.
    pub builds: Vec<BString>,
    /// Directory of moved files, and its last day.
    pub place: Option<(PathBuf, NaiveDate)>,
    /// Paths that hold only new files.
    moves: Vec<BString>,
}

impl IgnoredFiles {
    /// Nobody may work in the tree.
    ///
    /// # Errors
    /// Files not moved are still in the tree.
    pub fn rescue(&self, home: &SessionStore, name: &str, now: DateTime<Utc>) -> Result<Inventory> {
        let mut found = Inventory::default();
        let tree = home.tree(name);
        if self.paths.is_empty() {
            return Ok(found);
        }
        let failed = |path: &BStr, error: &io::Error| {
            let at = tree.join(path.to_path_lossy());
            Error::io(format_args!("move {} out of the session's tree", at.display()), error).hint(
                format!("the tree is kept; aye session end {name} --discard removes it with what git ignores"),
            )
        };
        let top = open_last(&tree).map_err(|error| failed("".into(), &error))?;
        for path in &self.paths {
            self.look(&top, path, &mut found).map_err(|error| failed(path.as_bstr(), &error))?;
        }
        if found.moves.is_empty() {
            return Ok(found);
        }
        let day = now.date_naive();
        let day = day.checked_add_days(Days::new(DAYS)).unwrap_or(day);
        let (place, directory) = place(home, name, day)?;
        for path in &found.moves {
            carry(&top, path.as_bstr(), &place).map_err(|error| failed(path.as_bstr(), &error))?;
        }
        found.place = Some((directory, day));
        Ok(found)
    }

    fn look(&self, top: &Dir, path: &BString, found: &mut Inventory) -> io::Result<()> {
        let (above, name) = split(path.as_bstr());
        let parent = descend(top, above)?;
        let (directory, files) = match parent.stat(name)?.kind {
            FileKind::Directory => {
                let mut files = Vec::new();
                let is_whole = self.directory(&parent, path, 0, found, &mut files)?;
                if is_whole && !files.is_empty() {
                    found.moves.push(path.clone());
                }
                (path.as_bstr(), files)
            }
            FileKind::File | FileKind::Symlink if !self.copies.contains(path) => {
                found.moves.push(path.clone());
                (above, vec![path.clone()])
            }
            _ => return Ok(()),
        };
        if files.is_empty() {
            return Ok(());
        }
        let at = found.groups.iter().rposition(|group| group.directory == directory);
        let at = at.unwrap_or_else(|| {
            let directory = directory.to_owned();
            found.groups.push(Group { directory, count: 0, first: Vec::new() });
            found.groups.len() - 1
        });
        let group = &mut found.groups[at];
        let room = SHOWN - group.first.len();
        group.first.extend(files.iter().take(room).cloned());
        group.count += files.len();
        Ok(())
    }

    /// True if the whole directory can be moved.
    fn directory(
        &self,
        above: &Dir,
        path: &BString,
        depth: usize,
        found: &mut Inventory,
        files: &mut Vec<BString>,
    ) -> io::Result<bool> {
        let (_, name) = split(path.as_bstr());
        if self.copies.contains(path) {
            return Ok(false);
        }
        if BUILDS.iter().any(|build| name == *build) {
            found.builds.push(path.clone());
            return Ok(false);
        }
        let directory = above.open_directory(name)?;
        if depth > DEEP {
            files.push(path.clone());
            return Ok(true);
        }
        let (moves, mut is_whole) = (found.moves.len(), true);
        let mut entries = directory.entries_with_kind()?;
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in entries {
            let path = BString::from([path.as_slice(), b"/", name.as_slice()].concat());
            let count = files.len();
            let moved = match kind {
                FileKind::Directory => {
                    self.directory(&directory, &path, depth + 1, found, files)?
                }
                FileKind::Special => false,
                _ if self.copies.contains(&path) => false,
                _ => {
                    files.push(path.clone());
                    true
                }
            };
            is_whole &= moved;
            if moved && files.len() > count {
                found.moves.push(path);
            }
        }
        if is_whole {
            found.moves.truncate(moves);
        }
        Ok(is_whole)
    }
}

fn place(home: &SessionStore, name: &str, day: NaiveDate) -> Result<(Dir, PathBuf)> {
    let trees = home.trees();
    let new = format!("{name}{UNTIL}{day}.{:04x}", crate::beneath::random_id() & 0xffff);
    let make = || {
        let top = open_last(trees)?;
        top.mkdir(new.as_str().into())?;
        top.open_directory(new.as_str().into())
    };
    let path = trees.join(&new);
    match make() {
        Ok(place) => Ok((place, path)),
        Err(error) => Err(Error::io(format_args!("make the directory {}", path.display()), &error)),
    }
}

pub fn expire(home: &SessionStore, now: DateTime<Utc>) {
    let Ok(top) = open_last(home.trees()) else { return };
    for name in top.names().unwrap_or_default() {
        let day = name.to_str().ok().and_then(|name| name.split_once(UNTIL)).map(|(_, day)| day);
        let day = day.and_then(|day| day.get(..10)?.parse::<NaiveDate>().ok());
        if day.is_some_and(|day| day < now.date_naive()) {
            clear::remove_all(&top, name.as_bstr());
        }
    }
}

fn split(path: &BStr) -> (&BStr, &BStr) {
    match path.rfind_byte(b'/') {
        Some(at) => (path[..at].into(), path[at + 1..].into()),
        None => ("".into(), path),
    }
}

fn parts(path: &BStr) -> impl Iterator<Item = &BStr> {
    path.split_str("/").filter(|part| !part.is_empty()).map(BStr::new)
}

/// Follows no symlink.
fn descend(top: &Dir, path: &BStr) -> io::Result<Dir> {
    parts(path)
        .try_fold(top.open_directory(".".into())?, |directory, part| directory.open_directory(part))
}

/// Follows no symlink; stays within the file system.
fn carry(from: &Dir, path: &BStr, to: &Dir) -> io::Result<()> {
    crate::failpoint!("session.stray", io)?;
    let (above, name) = split(path);
    let from = descend(from, above)?;
    let to =
        parts(above).try_fold(to.open_directory(".".into())?, |directory, part| match directory
            .mkdir(part)
        {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => directory.open_directory(part),
        })?;
    rename_entry(&from, name, &to, name)
}
