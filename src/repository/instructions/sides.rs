//! Files of HEAD, the index and the work tree at a path, and the targets of their symlinks.

use std::collections::{BTreeMap, VecDeque};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use gix::index::entry::Mode;

use crate::changeset::{RepoPath, Snapshot as _};
use crate::repository::Repository;
use crate::worktree::Worktree;

/// Symlinks that are followed from one path, as on Linux.
const MOST_LINKS: usize = 40;
/// Names of directories and files on the way.
const MOST_NAMES: usize = 256;
/// Bytes of a path and of a symlink's target, as on Linux.
const MOST_BYTES: usize = 4096;
/// Trees of HEAD that are compared with the index.
const MOST_TREES: usize = 4096;

/// A tracked file or symlink.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tracked {
    id: ObjectId,
    is_link: bool,
}

/// One state of the repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    WorkTree,
    Index,
    Head,
}

pub(super) struct Sides<'s> {
    repository: &'s Repository,
    worktree: Option<&'s Worktree>,
    index: Option<gix::worktree::Index>,
    /// Files of HEAD that differ from the index.
    head: BTreeMap<BString, Tracked>,
}

impl<'s> Sides<'s> {
    pub(super) fn of(repository: &'s Repository, worktree: Option<&'s Worktree>) -> Self {
        let index = repository.repo.index_or_empty().ok();
        let mut sides = Self { repository, worktree, index, head: BTreeMap::new() };
        let tree = repository.head_tree();
        sides.head = tree.map(|tree| sides.compared(tree)).unwrap_or_default();
        sides
    }

    /// Files of the tree `root` that differ from the index. The index has the trees of unchanged
    /// directories, so most trees are not read.
    fn compared(&self, root: ObjectId) -> BTreeMap<BString, Tracked> {
        let mut different = BTreeMap::new();
        let of_root = self.index.as_ref().and_then(|index| index.tree());
        let mut ahead = vec![(root, of_root, BString::default())];
        let mut read = 0;
        while let Some((id, cached, above)) = ahead.pop() {
            let is_same =
                cached.is_some_and(|cached| cached.num_entries.is_some() && cached.id == id);
            if is_same || read == MOST_TREES {
                continue;
            }
            read += 1;
            let Ok(tree) = self.repository.repo.find_tree(id) else { continue };
            for entry in tree.iter().flatten() {
                let (name, mode) = (entry.filename(), entry.mode());
                let mut path = BString::from([&above[..], name].concat());
                if path.len() > MOST_BYTES {
                    continue;
                }
                if mode.is_tree() {
                    let children = cached.map(|cached| &cached.children[..]).unwrap_or_default();
                    let child = children.iter().find(|child| child.name[..] == **name);
                    path.push(b'/');
                    ahead.push((entry.object_id(), child, path));
                } else if mode.is_blob_or_symlink() {
                    let found = Tracked { id: entry.object_id(), is_link: mode.is_link() };
                    if self.staged(path.as_bstr()) != Some(found) {
                        different.insert(path, found);
                    }
                }
            }
        }
        different
    }

    /// The sides that may differ from others.
    pub(super) fn all(&self) -> impl Iterator<Item = Side> + use<> {
        let head = (!self.head.is_empty()).then_some(Side::Head);
        let worktree = self.worktree.map(|_| Side::WorkTree);
        worktree.into_iter().chain([Side::Index]).chain(head)
    }

    fn staged(&self, path: &BStr) -> Option<Tracked> {
        let entry = self.index.as_ref()?.entry_by_path(path)?;
        let is_link = entry.mode == Mode::SYMLINK;
        let is_file = is_link || matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE);
        is_file.then_some(Tracked { id: entry.id, is_link })
    }

    fn tracked(&self, side: Side, path: &BStr) -> Option<Tracked> {
        let of_head = || self.head.get(path).copied();
        match side {
            Side::WorkTree => None,
            Side::Index => self.staged(path),
            Side::Head => of_head().or_else(|| self.staged(path)),
        }
    }

    /// True if git tracks a file at `path`, or the work tree has one.
    pub(super) fn has(&self, path: &RepoPath) -> bool {
        self.tracked(Side::Head, path.as_bstr()).is_some()
            || self.worktree.is_some_and(|tree| {
                let found = tree.root().join(path.to_path()).symlink_metadata();
                found.is_ok_and(|found| !found.is_dir())
            })
    }

    /// Calls `each` with the path of each tracked file, and true for a symlink.
    pub(super) fn each_tracked(&self, mut each: impl FnMut(&BStr, bool)) {
        if let Some(index) = &self.index {
            for entry in index.entries() {
                each(entry.path(index), entry.mode == Mode::SYMLINK);
            }
        }
        for (path, found) in &self.head {
            each(path.as_bstr(), found.is_link);
        }
    }

    /// The names at the top of the work tree, with true for symlinks.
    pub(super) fn at_the_top(&self) -> Vec<(RepoPath, bool)> {
        let names = self.worktree.and_then(|tree| std::fs::read_dir(tree.root()).ok());
        let found = names.into_iter().flatten().flatten().filter_map(|entry| {
            let path = RepoPath::new(entry.file_name().as_encoded_bytes()).ok()?;
            Some((path, entry.file_type().is_ok_and(|kind| kind.is_symlink())))
        });
        found.collect()
    }

    /// The tracked files beneath the directory `path`, up to `most` of the index and of HEAD each.
    pub(super) fn beneath(&self, path: &RepoPath, most: usize) -> Vec<RepoPath> {
        let inside = BString::from([path.as_bstr().as_bytes(), b"/"].concat());
        let mut found = Vec::new();
        if let Some(index) = &self.index {
            let entries = index.prefixed_entries(inside.as_bstr()).unwrap_or_default();
            found.extend(entries.iter().take(most).map(|entry| entry.path(index).to_owned()));
        }
        let of_head = self.head.range(inside.clone()..).map(|(path, _)| path);
        found.extend(of_head.take_while(|path| path.starts_with(&inside)).take(most).cloned());
        found.iter().filter_map(|path| RepoPath::from_tree(path).ok()).collect()
    }

    /// True if git tracks a file, not a symlink, at `path` on `side`.
    pub(super) fn is_file(&self, side: Side, path: &RepoPath) -> bool {
        self.tracked(side, path.as_bstr()).is_some_and(|found| !found.is_link)
    }

    /// The content of the file at `path` on `side`; `None` also for a blob in `read`, which has the
    /// ones that were returned.
    pub(super) fn file(
        &self,
        side: Side,
        path: &RepoPath,
        read: &mut Vec<ObjectId>,
    ) -> Option<Vec<u8>> {
        if side == Side::WorkTree {
            return Some(self.worktree?.file(path).ok()??.bytes);
        }
        let found = self.tracked(side, path.as_bstr()).filter(|found| !found.is_link)?;
        if read.contains(&found.id) {
            return None;
        }
        read.push(found.id);
        self.repository.blob(&found.id.to_string()).ok()
    }

    /// The target of the symlink at `path` on `side`, as it is written.
    fn link(&self, side: Side, path: &RepoPath) -> Option<BString> {
        if side == Side::WorkTree {
            let target = std::fs::read_link(self.worktree?.root().join(path.to_path())).ok()?;
            return Some(target.as_os_str().as_encoded_bytes().into());
        }
        let found = self.tracked(side, path.as_bstr()).filter(|found| found.is_link)?;
        Some(self.repository.blob(&found.id.to_string()).ok()?.into())
    }

    /// The symlinks on the way to `path` on `side`, and the end; `None` if that is outside of the
    /// repository, or too far.
    pub(super) fn follow(&self, side: Side, path: &RepoPath) -> (Vec<RepoPath>, Option<RepoPath>) {
        let mut links = Vec::new();
        let end = self.walk(side, path, &mut links);
        (links, end)
    }

    fn walk(&self, side: Side, path: &RepoPath, links: &mut Vec<RepoPath>) -> Option<RepoPath> {
        let mut ahead: VecDeque<BString> = path.components().map(BStr::to_owned).collect();
        let mut at: Vec<BString> = Vec::new();
        let mut passed = 0;
        while let Some(name) = ahead.pop_front() {
            passed += 1;
            if passed > MOST_NAMES {
                return None;
            }
            match &name[..] {
                b"" | b"." => continue,
                b".." => {
                    at.pop()?;
                    continue;
                }
                _ => at.push(name),
            }
            let path = RepoPath::from_tree(bstr::join("/", &at)).ok()?;
            if let Some(target) = self.link(side, &path) {
                links.push(path);
                if links.len() > MOST_LINKS || target.len() > MOST_BYTES || target.starts_with(b"/")
                {
                    return None;
                }
                at.pop();
                for name in target.split(|byte| *byte == b'/').rev() {
                    ahead.push_front(name.into());
                }
            }
        }
        RepoPath::from_tree(bstr::join("/", &at)).ok()
    }
}
