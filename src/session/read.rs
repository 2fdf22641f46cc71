//! Reads an agent's tree as hostile input: runs nothing, follows no symlink, and only regular files
//! become changes.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};
use gix::bstr::BStr as GixStr;
use gix::index::entry::Mode as IndexMode;
use gix::worktree::stack::state::ignore::Source;

use super::ignored_files::IgnoredFiles;
use super::{included_files, link, spool};
use crate::beneath::{Dir, FileKind, open_last};
use crate::changeset::{File, FileChange, Mode, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::proposal::Entry;
use crate::repository::{Repository, index_excludes, stat_match};
use crate::worktree::{Reader, Worktree, codes as worktree_codes, describe_refusal, is_temporary};

#[derive(Debug, Default)]
pub struct TreeChanges {
    /// In path order.
    pub changes: Vec<FileChange>,
    /// Paths not proposed, and why. Untrusted.
    pub passed_over: Vec<(String, String)>,
    /// Ignored by git.
    pub ignored: IgnoredFiles,
}

/// Limit of directory depth.
const DEEP: usize = 128;

/// Compares `tree` with commit `base` by the repository's rules, with line ends as git stores them.
/// Ignored files missing from the tree's index are excluded. With a `name`, differences in
/// submodules and edited copies of ignored files are in `passed_over`.
///
/// # Errors
/// `object_missing` for the base; `special_file` if a pipe replaces a file of
/// rules.
pub fn read_changes(
    repository: &Repository,
    tree: &Path,
    name: Option<&str>,
    base: &str,
) -> Result<TreeChanges> {
    let inside = repository.with_worktree(tree)?;
    let repo = inside.repo();
    let index = index(&inside, base)?;
    let known = entries(&index);
    let excludes = repo
        .excludes(&index, None, Source::WorktreeThenIdMappingIfNotSkipped)
        .map_err(|error| missing(&error))?;
    let top = open_last(tree)
        .map_err(|error| Error::io(format_args!("open the tree {}", tree.display()), &error))?;
    let worktree = inside.worktree()?;
    let same = same(&worktree, &known)?;
    let mut walk = Walk {
        repository,
        known: &known,
        same,
        excludes,
        linked: link::linked(repository)?.into_iter().map(BString::from).collect(),
        reader: worktree.reader(),
        tree,
        name,
        own_index: OnceCell::new(),
        left: TreeChanges::default(),
        seen: HashSet::new(),
    };
    walk.directory(&top, BStr::new(""), 0)?;
    walk.deletions()?;
    if name.is_some() {
        walk.copies();
    }
    let mut left = walk.left;
    left.ignored.copies.extend(walk.linked.into_iter().chain(included_files::paths(tree)));
    left.changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(left)
}

const MAX_INDEX: u64 = 512 << 20;

fn is_file(path: &Path) -> Option<std::fs::Metadata> {
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)
}

/// Files of a commit.
pub(super) type Entries = BTreeMap<BString, (IndexMode, gix::ObjectId)>;

pub(super) fn entries(index: &gix::index::State) -> Entries {
    let entry = |entry: &gix::index::Entry| (entry.path(index).to_owned(), (entry.mode, entry.id));
    index.entries().iter().map(entry).collect()
}

/// # Errors
/// `object_missing`.
pub(super) fn index(repository: &Repository, commit: &str) -> Result<gix::index::State> {
    let repo = repository.repo();
    let id = gix::ObjectId::from_hex(commit.as_bytes()).map_err(|error| missing(&error))?;
    let commit = repo.find_commit(id).map_err(|error| missing(&error))?;
    let tree = commit.tree_id().map_err(|error| missing(&error))?;
    repo.index_from_tree(&tree).map(gix::index::State::from).map_err(|error| missing(&error))
}

fn missing(error: &dyn std::fmt::Display) -> Error {
    Error::new(
        &crate::repository::codes::OBJECT_MISSING,
        format!("the base of the session cannot be read: {error}"),
    )
    .hint("`aye doctor` looks for what is missing; the files of the session are still there")
}

/// Base files with equal bytes: most, and they need no further look.
fn same<'a>(worktree: &Worktree, known: &'a Entries) -> Result<HashSet<&'a BString>> {
    let file = |(path, (mode, id)): (&'a BString, &(IndexMode, gix::ObjectId))| {
        let mode = match *mode {
            IndexMode::FILE => Mode::Regular,
            IndexMode::FILE_EXECUTABLE => Mode::Executable,
            _ => return None,
        };
        Some((path, (RepoPath::from_tree(path).ok()?, mode, *id)))
    };
    let (paths, files): (Vec<_>, Vec<_>) = known.iter().filter_map(file).unzip();
    let same = worktree.match_blobs(&files)?;
    Ok(paths.into_iter().zip(same).filter_map(|(path, same)| same.then_some(path)).collect())
}

struct Walk<'a> {
    repository: &'a Repository,
    known: &'a Entries,
    /// Untouched ones.
    same: HashSet<&'a BString>,
    excludes: gix::AttributeStack<'a>,
    /// Copied from the checkout.
    linked: Vec<BString>,
    reader: Reader<'a>,
    tree: &'a Path,
    name: Option<&'a str>,
    /// Read on demand.
    own_index: OnceCell<Option<gix::index::File>>,
    left: TreeChanges,
    /// Base paths that exist or are passed over.
    seen: HashSet<BString>,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &Dir, prefix: &BStr, depth: usize) -> Result<()> {
        let failed = |error| Error::io(format_args!("read the directory {prefix:?}"), &error);
        let mut entries = directory.entries_with_kind().map_err(failed)?;
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        // Readers of these files would block on a pipe.
        for (name, kind) in &entries {
            let is_rules =
                [".gitignore", ".gitattributes", ".gitmodules"].iter().any(|f| name == f);
            if is_rules && *kind == FileKind::Special {
                let path = format!("{prefix}{name}");
                return Err(Error::new(
                    &worktree_codes::SPECIAL_FILE,
                    format!("{path:?} in the session's tree is a device, pipe or socket"),
                )
                .with("path", path)
                .hint("remove it, then submit the session again"));
            }
        }
        for (name, kind) in entries {
            if name == ".git" || prefix.is_empty() && name == spool::DIRECTORY {
                continue;
            }
            let path = BString::from([prefix.as_bytes(), name.as_bytes()].concat());
            // Left by an interrupted command.
            let is_known = || self.known.contains_key(&path);
            if kind == FileKind::File && is_temporary(&name) && !is_known() {
                continue;
            }
            match kind {
                FileKind::Directory => self.below(directory, &name, &path, depth)?,
                FileKind::File => self.file(path)?,
                FileKind::Symlink => self.symlink(path)?,
                FileKind::Special => self.pass_over(&path, "is a device, pipe or socket"),
            }
        }
        Ok(())
    }

    fn below(&mut self, above: &Dir, name: &BString, path: &BString, depth: usize) -> Result<()> {
        if self.known.get(path).is_some_and(|(mode, _)| *mode == IndexMode::COMMIT) {
            self.seen.insert(path.clone());
            self.submodule(above, name, path);
            return Ok(());
        }
        let prefix = BString::from([path.as_bytes(), b"/"].concat());
        let has_known = self
            .known
            .range(prefix.clone()..)
            .next()
            .is_some_and(|(at, _)| at.starts_with(&prefix));
        if !has_known && self.is_ignored(path, true)? {
            self.left.ignored.paths.push(path.clone());
            return Ok(());
        }
        let directory = match above.open_directory(name.as_bstr()) {
            Ok(directory) => directory,
            Err(error) => {
                self.mark_unchanged_below(&prefix);
                self.pass_over(path, &format!("cannot be read: {error}"));
                return Ok(());
            }
        };
        if directory.stat(".git".into()).is_ok() {
            self.mark_unchanged_below(&prefix);
            self.pass_over(path, "is another repository");
            return Ok(());
        }
        if depth >= DEEP {
            self.mark_unchanged_below(&prefix);
            self.pass_over(path, "lies too deep");
            return Ok(());
        }
        self.directory(&directory, prefix.as_bstr(), depth + 1)
    }

    /// A proposal cannot hold changes in a submodule.
    fn submodule(&mut self, above: &Dir, name: &BString, path: &BString) {
        if self.name.is_none() {
            let head = self.head_of_submodule(path);
            if head.is_some() && head != self.known.get(path).map(|(_, id)| *id) {
                self.pass_over(path, "is a submodule at another commit, which no proposal has");
            }
            return;
        }
        // A session's tree has empty submodules.
        let names = above.open_directory(name.as_bstr()).and_then(|directory| directory.names());
        if names.is_ok_and(|names| !names.is_empty()) {
            self.pass_over(path, "is a submodule, of which a session proposes nothing");
        }
    }

    fn head_of_submodule(&self, path: &BString) -> Option<gix::ObjectId> {
        let place = self.repository.work_dir()?.join(path.to_path().ok()?);
        let found = Repository::discover(&place).ok()?;
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let is_it = real(&found.work_dir()?).is_some_and(|top| Some(top) == real(&place));
        found.repo().head_id().ok().filter(|_| is_it).map(gix::Id::detach)
    }

    fn file(&mut self, path: BString) -> Result<()> {
        if self.same.contains(&path) {
            return Ok(());
        }
        let known = self.known.get(&path).copied();
        if known.is_none() && self.is_ignored(&path, false)? {
            self.left.ignored.paths.push(path);
            return Ok(());
        }
        self.seen.insert(path.clone());
        let read = || -> Result<Option<FileChange>> {
            let (name, path) = (&path, RepoPath::from_tree(&path)?);
            let Some(after) = self.reader.file(&path)? else { return Ok(None) };
            let kind = self.repository.repo().object_hash();
            let id = gix::objs::compute_hash(kind, gix::objs::Kind::Blob, &after.bytes)
                .map_err(|error| Error::bug(error.to_string()))?;
            let before = match known {
                Some((mode, old)) => {
                    let mode = mode_of(mode);
                    let is_same_mode = mode == Some(after.mode.as_str());
                    let is_text = || after.bytes.to_str().is_ok() && !after.bytes.contains(&0);
                    let is_converted = || !is_text() || self.is_foreign(&path);
                    let is_same = || old == id || is_converted() && self.is_untouched(name, old);
                    if is_same_mode && is_same() {
                        return Ok(None);
                    }
                    mode.map(|mode| self.stored(mode, &old)).transpose()?
                }
                None => None,
            };
            Ok(Some(FileChange {
                path,
                before,
                after: Some(after),
                origin: None,
                snippets: vec![],
            }))
        };
        if known.is_some_and(|(mode, _)| mode_of(mode).is_none()) {
            self.pass_over(&path, "was a symlink or a submodule");
            return Ok(());
        }
        match read() {
            Ok(change) => self.left.changes.extend(change),
            Err(error) => self.pass_over(&path, &describe_refusal(&path.to_string(), &error)),
        }
        Ok(())
    }

    fn symlink(&mut self, path: BString) -> Result<()> {
        let known = self.known.get(&path).copied();
        if known.is_none() && self.is_ignored(&path, false)? {
            self.left.ignored.paths.push(path);
            return Ok(());
        }
        self.seen.insert(path.clone());
        if let Some((IndexMode::SYMLINK, id)) = known
            && let Ok(relative) = path.to_path()
            && let Ok(target) = std::fs::read_link(self.tree.join(relative))
        {
            let bytes = target.as_os_str().as_encoded_bytes();
            let kind = self.repository.repo().object_hash();
            let now = gix::objs::compute_hash(kind, gix::objs::Kind::Blob, bytes);
            if now.is_ok_and(|now| now == id) {
                return Ok(());
            }
        }
        self.pass_over(&path, "is a symlink");
        Ok(())
    }

    fn deletions(&mut self) -> Result<()> {
        for (path, (mode, id)) in self.known {
            if self.same.contains(path) || self.seen.contains(path) {
                continue;
            }
            let Some(mode) = mode_of(*mode) else {
                let why = match *mode {
                    IndexMode::SYMLINK => "is a symlink that is gone",
                    IndexMode::COMMIT => "is a submodule that is gone",
                    _ => continue,
                };
                if !self.is_left_out(&path.to_string()) {
                    self.pass_over(path, why);
                }
                continue;
            };
            let path = RepoPath::from_tree(path)?;
            if self.is_left_out(&path.display().to_string()) {
                continue;
            }
            let before = self.stored(mode, id)?;
            self.left.changes.push(FileChange {
                path,
                before: Some(before),
                after: None,
                origin: None,
                snippets: Vec::new(),
            });
        }
        Ok(())
    }

    fn copies(&mut self) {
        for path in included_files::edited(self.repository, self.tree, &self.reader) {
            if !self.known.contains_key(&path) && !self.seen.contains(&path) {
                let why = "is ignored by git, and is not as in the checkout: git add -f it in the tree, and \
                           it is proposed";
                self.pass_over(&path, why);
            }
        }
    }

    /// Sparse rules of the tree's creation may differ from the checkout's present ones: check both.
    fn is_left_out(&self, path: &str) -> bool {
        let is_sparse = || is_file(&self.tree.join(".git/info/sparse-checkout")).is_some();
        self.repository.is_excluded(path)
            || is_sparse() && self.own_index().is_some_and(|index| index_excludes(index, path))
    }

    /// True if a filter or an encoding stands between file and blob.
    fn is_foreign(&self, path: &RepoPath) -> bool {
        self.repository
            .unsupported_conversions([path])
            .is_ok_and(|found| found.iter().any(Option::is_some))
    }

    /// True by git's stat data, to the nanosecond: an edit may follow within a second of the
    /// checkout. Used if a filter or encoding makes the bytes inconclusive.
    fn is_untouched(&self, path: &BString, id: gix::ObjectId) -> bool {
        let is_it = || {
            let index = self.own_index()?;
            let entry = index.entry_by_path(GixStr::new(path.as_slice()))?;
            let path = self.tree.join(path.to_path().ok()?);
            let facts = gix::index::fs::Metadata::from_path_no_follow(&path).ok()?;
            // git built without nanoseconds stores zero.
            let use_nsec = entry.stat.mtime.nsecs != 0;
            let options = gix::index::entry::stat::Options { use_nsec, ..Default::default() };
            Some(entry.id == id && stat_match::is_untouched(index, entry, &facts, options))
        };
        is_it().unwrap_or(false)
    }

    /// An agent that edits its index can only hide its own files or add some.
    fn own_index(&self) -> Option<&gix::index::File> {
        let read = || {
            let path = self.tree.join(".git/index");
            is_file(&path).filter(|facts| facts.len() <= MAX_INDEX)?;
            let kind = self.repository.repo().object_hash();
            gix::index::File::at(path, kind, false, gix::index::decode::Options::default()).ok()
        };
        self.own_index.get_or_init(read).as_ref()
    }

    fn stored(&self, mode: &str, id: &gix::ObjectId) -> Result<File> {
        let entry = Entry::new(id.to_string(), mode);
        Ok(File { bytes: self.repository.blob(&entry.id)?, mode: entry.file_mode() })
    }

    fn mark_unchanged_below(&mut self, prefix: &BString) {
        let below = self.known.range(prefix.clone()..);
        let below = below.take_while(|(path, _)| path.starts_with(prefix));
        self.seen.extend(below.map(|(path, _)| path.clone()));
    }

    /// Files that the tree's index has are not ignored. In linked directories these are passed over
    /// by name.
    fn is_ignored(&mut self, path: &BString, is_directory: bool) -> Result<bool> {
        let is_linked = self.is_linked(path);
        if !is_linked && !self.is_excluded(path, is_directory)? {
            return Ok(false);
        }
        let is_tracked = self.is_tracked(path, is_directory);
        if is_tracked && is_linked {
            self.pass_over(path, "lies in a directory of aye.session.link, which is not proposed");
        }
        Ok(is_linked || !is_tracked)
    }

    fn is_linked(&self, path: &BString) -> bool {
        let is_in = |linked: &BString| {
            let rest = path.strip_prefix(linked.as_slice());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.linked.iter().any(is_in)
    }

    fn is_tracked(&self, path: &BString, is_directory: bool) -> bool {
        let Some(index) = self.own_index() else { return false };
        if is_directory {
            let prefix = [path.as_slice(), b"/"].concat();
            if index.prefixed_entries_range(GixStr::new(&prefix)).is_some() {
                return true;
            }
            // The directory may itself be a submodule entry.
        }
        index.entry_range(GixStr::new(path.as_slice())).is_some()
    }

    fn is_excluded(&mut self, path: &BString, is_directory: bool) -> Result<bool> {
        let mode = if is_directory { IndexMode::DIR } else { IndexMode::FILE };
        let path = GixStr::new(path.as_slice());
        match self.excludes.at_entry(path, Some(mode)) {
            Ok(at) => Ok(at.is_excluded()),
            Err(error) => {
                let error = std::io::Error::other(error.to_string());
                Err(Error::io("read the rules of ignored files", &error))
            }
        }
    }

    fn pass_over(&mut self, path: &BString, why: &str) {
        self.left.passed_over.push((path.to_string(), why.to_owned()));
    }
}

/// `None` unless a regular file.
pub(super) fn mode_of(mode: IndexMode) -> Option<&'static str> {
    match mode {
        IndexMode::FILE => Some("100644"),
        IndexMode::FILE_EXECUTABLE => Some("100755"),
        _ => None,
    }
}
