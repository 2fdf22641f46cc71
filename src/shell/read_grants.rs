//! Files a command may read: the repository without its secrets, and system files.
//!
//! Landlock only grants, and a grant covers all below a directory. A directory with an unread file
//! is therefore granted child by child. A grant belongs to the inode: no hard link of an unread
//! file may be granted.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::Machine;
use super::deny_list::{self, DenySource};
use super::git;

/// Libraries, shared data, headers; single files of `/etc`, `/proc` and `/dev`.
const SYSTEM: &[(&str, &[&str])] = &[
    ("/", &["lib", "lib32", "lib64", "libx32", "nix/store"]),
    ("/usr", &["lib", "lib32", "lib64", "libx32", "libexec", "share", "include", "src"]),
    ("/usr/local", &["lib", "lib64", "libexec", "share", "include"]),
    ("/etc", &["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "ssl/openssl.cnf"]),
    ("/etc", &["localtime", "timezone", "locale.alias", "locale.conf", "magic", "mime.types"]),
    ("/etc", &["passwd", "group", "nsswitch.conf", "hostname", "os-release", "lsb-release"]),
    ("/etc", &["debian_version", "alpine-release"]),
    ("/proc", &["cpuinfo", "meminfo", "version", "loadavg", "uptime", "filesystems", "stat"]),
    ("/dev", &["null", "random", "urandom"]),
    ("/sys/devices/system", &["cpu"]),
];
/// Directories of programs are listed, but their files not read: the system's loader starts every
/// file that it can read.
const LISTED: &[&str] = &[
    "/usr", "/usr/bin", "/usr/sbin", "/usr/local", "/usr/local/bin", "/usr/local/sbin", "/bin",
    "/sbin",
];

/// Entries of the repository; the walk ends with the level that exceeds them.
const MOST: usize = 400_000;
/// Directories of one level that need threads.
const SEVERAL: usize = 32;
const THREADS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct ReadGrants {
    /// Files, and directories with everything below.
    pub(super) readable: Vec<PathBuf>,
    pub(super) listed: Vec<PathBuf>,
    /// Number of the repository's unread entries.
    pub(super) unread: usize,
    /// The repository exceeds `MOST`.
    pub(super) is_cut: bool,
}

impl ReadGrants {
    /// For commands that open no file.
    pub(super) fn of_names(world: &Machine) -> Self {
        let mut reads = Self::default();
        reads.listed.extend(LISTED.iter().map(PathBuf::from));
        reads.listed.extend(world.directory().cloned());
        let below = |(top, names): &(&str, &'static [&str])| {
            let top = PathBuf::from(top);
            names.iter().map(move |name| top.join(name))
        };
        let mut places: Vec<PathBuf> = SYSTEM.iter().flat_map(below).collect();
        places.extend(world.allowed.iter().cloned());
        places.iter().for_each(|place| reads.add(place, &world.denied.places));
        reads
    }

    pub(super) fn of_files(world: &Machine, directories: &[PathBuf]) -> Self {
        let mut reads = Self::of_names(world);
        directories.iter().for_each(|place| reads.add(place, &world.denied.places));
        let git = git::directories(&world.root);
        let all: Vec<&PathBuf> = world.directory().into_iter().chain(&git).collect();
        let is_inner = |top: &Path| all.iter().any(|other| *other != top && top.starts_with(other));
        let tops = || {
            let outer = all.iter().filter(|top| !is_inner(top));
            let top = |top: &&PathBuf| (top.to_path_buf(), git.contains(top));
            outer.map(top).map(|(path, is_git)| Directory { path, is_git, ..Directory::default() })
        };
        let mut walk = Walk { world, index: None, same: BTreeSet::new(), further: BTreeSet::new() };
        loop {
            (reads.unread, reads.is_cut) = (0, false);
            let granted = walk.repository(tops().collect(), &mut reads);
            // A second walk excludes hard links of unread files.
            let before = walk.same.len();
            walk.same.append(&mut walk.further);
            if walk.same.len() == before {
                reads.listed.extend(tops().map(|top| top.path));
                reads.readable.extend(granted);
                return reads;
            }
        }
    }

    fn add(&mut self, place: &Path, denied: &BTreeSet<PathBuf>) {
        if denied.is_empty() {
            self.readable.push(place.to_owned());
            return;
        }
        let Ok(place) = place.canonicalize() else { return };
        if denied.iter().any(|denied| place.starts_with(denied)) {
            return;
        }
        if !denied.iter().any(|denied| denied.starts_with(&place)) {
            self.readable.push(place);
            return;
        }
        for entry in place.read_dir().into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.add(&entry.path(), denied);
            }
        }
        self.listed.push(place);
    }
}

/// Device and inode.
type Identity = (u64, u64);

#[derive(Default)]
struct Directory {
    path: PathBuf,
    above: Option<usize>,
    /// A git directory, or inside one.
    is_git: bool,
    /// Only tracked files are granted.
    is_own: bool,
    is_partial: bool,
}

#[derive(Default)]
struct Entries {
    count: usize,
    below: Vec<Directory>,
    files: Vec<PathBuf>,
    /// Unread unless git tracks them.
    secrets: Vec<(PathBuf, DenySource)>,
    /// Other unread entries.
    unread: usize,
}

struct Walk<'a> {
    world: &'a Machine,
    /// Read when first needed.
    index: Option<Option<gix::worktree::IndexPersistedOrInMemory>>,
    /// Inodes that stay unread under any name.
    same: BTreeSet<Identity>,
    /// Inodes found by this walk.
    further: BTreeSet<Identity>,
}

impl Walk<'_> {
    fn repository(&mut self, mut all: Vec<Directory>, reads: &mut ReadGrants) -> Vec<PathBuf> {
        let (world, mut begin, mut count) = (self.world, 0, 0);
        // Threads share a level.
        while begin < all.len() && count <= MOST {
            let level = begin..all.len();
            begin = level.end;
            for (at, found) in level.clone().zip(self.entries(&all[level])) {
                count += found.count;
                let secrets = found.secrets.iter().filter(|secret| self.is_unread(secret)).count();
                reads.unread += secrets + found.unread;
                all[at].is_partial = secrets + found.unread > 0;
                let below = found.below.into_iter();
                all.extend(below.map(|below| Directory { above: Some(at), ..below }));
            }
        }
        reads.is_cut = begin < all.len();
        for at in (0..all.len()).rev() {
            all[at].is_partial |= at >= begin;
            if let (true, Some(above)) = (all[at].is_partial, all[at].above) {
                all[above].is_partial = true;
            }
        }
        let mut granted = Vec::new();
        for (at, directory) in all.iter().enumerate() {
            let is_top = directory.above.is_none_or(|above| all[above].is_partial);
            if !directory.is_partial {
                granted.extend(is_top.then(|| directory.path.clone()));
            } else if at < begin {
                // Files were not collected: most directories are granted whole.
                let found = entries(world, &self.same, directory, true);
                let tracked = found.secrets.into_iter().filter(|secret| !self.is_unread(secret));
                granted.extend(tracked.map(|(path, _)| path).chain(found.files));
            }
        }
        granted.retain(|path| !path.is_symlink());
        granted
    }

    fn entries(&self, directories: &[Directory]) -> Vec<Entries> {
        let (world, same) = (self.world, &self.same);
        let look = |some: &[Directory]| -> Vec<Entries> {
            some.iter().map(|directory| entries(world, same, directory, false)).collect()
        };
        if directories.len() < SEVERAL {
            return look(directories);
        }
        std::thread::scope(|scope| {
            let parts = directories.chunks(directories.len().div_ceil(THREADS));
            let threads: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        })
    }

    /// Records inodes with other names.
    fn is_unread(&mut self, (path, whose): &(PathBuf, DenySource)) -> bool {
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        if *whose == DenySource::BuiltIn && self.is_tracked(&target) {
            return false;
        }
        if let Ok(facts) = path.metadata()
            && facts.is_file()
            && (facts.nlink() > 1 || path.is_symlink())
        {
            self.further.insert((facts.dev(), facts.ino()));
        }
        true
    }

    /// Tracked content is in every clone.
    fn is_tracked(&mut self, path: &Path) -> bool {
        let root = &self.world.root;
        let open =
            || gix::open_opts(root, gix::open::Options::isolated()).ok()?.index_or_empty().ok();
        let index = self.index.get_or_insert_with(|| open().map(Into::into));
        let (Some(index), Ok(path)) = (index, path.strip_prefix(root)) else { return false };
        let entry = index.entry_by_path(path.as_os_str().as_bytes().into());
        entry
            .is_some_and(|entry| entry.mode.to_tree_entry_mode().is_some_and(|mode| mode.is_blob()))
    }
}

fn entries(
    world: &Machine,
    same: &BTreeSet<Identity>,
    directory: &Directory,
    with_files: bool,
) -> Entries {
    let mut found = Entries::default();
    let is_home = world.home.as_ref() == Some(&directory.path);
    let places = &world.denied.places;
    let listing = directory.path.read_dir();
    found.unread += usize::from(listing.is_err());
    for entry in listing.into_iter().flatten().flatten() {
        found.count += 1;
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else {
            found.unread += 1;
            continue;
        };
        let (name, path) = (name.as_bytes(), || entry.path());
        let is_own = directory.is_own || (is_home && name.starts_with(b".") && name != b".git");
        let is_git = directory.is_git || name == b".git";
        let is_place = || !places.is_empty() && places.contains(&path());
        let is_key = || {
            let end = &name[name.len().saturating_sub(4)..];
            let is_named = end.eq_ignore_ascii_case(b".pem") || end.eq_ignore_ascii_case(b".key");
            is_named && kind.is_file() && deny_list::is_key(&path())
        };
        let is_same =
            || path().metadata().is_ok_and(|facts| same.contains(&(facts.dev(), facts.ino())));
        if kind.is_dir() {
            // Git's object files have no telling names.
            let is_skipped =
                || is_git && name == b"objects" && directory.path.join("HEAD").is_file();
            if is_place() {
                found.unread += 1;
            } else if !is_skipped() {
                let below = Directory { path: path(), is_git, is_own, ..Directory::default() };
                found.below.push(below);
            } else if with_files {
                found.files.push(path());
            }
        } else if is_place() {
            found.secrets.push((path(), DenySource::Configured));
        } else if let Some(whose) = world.denied.name(name) {
            found.secrets.push((path(), whose));
        } else if is_own || (is_git && name == b"credentials") || is_key() {
            found.secrets.push((path(), DenySource::BuiltIn));
        } else if !(kind.is_file() || kind.is_symlink())
            || (!same.is_empty() && kind.is_file() && is_same())
        {
            // A pipe or socket leads to another process.
            found.unread += 1;
        } else if with_files {
            found.files.push(path());
        }
    }
    found
}
