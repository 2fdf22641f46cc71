//! What may be read: the repository but for what stays unread in it, and the system's own files.
//!
//! Landlock grants, and to all that is below a directory. So a directory that holds something unread is granted
//! child by child. A grant belongs to the file and not to its name: where an unread file has further names, they are looked
//! for, and none is granted.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::World;
use super::denied::{self, Whose};
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
/// The directories of programs may be listed. Their files may not be read: the system's loader starts what it can
/// read.
const LISTED: &[&str] = &[
    "/usr", "/usr/bin", "/usr/sbin", "/usr/local", "/usr/local/bin", "/usr/local/sbin", "/bin",
    "/sbin",
];

/// Most entries of the repository that are looked at; as many more as are in its next level.
const MOST: usize = 400_000;
/// So many directories are looked at by so many threads.
const SEVERAL: usize = 32;
const THREADS: usize = 4;

/// What may be read.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Files, and directories with all that is below.
    pub(super) whole: Vec<PathBuf>,
    /// Directories of which entries may be listed.
    pub(super) listed: Vec<PathBuf>,
    /// How many entries of the repository stay unread.
    pub(super) unread: usize,
    /// The repository has more entries than are looked at.
    pub(super) is_cut: bool,
}

impl Reads {
    /// What may be read where no program starts and no file is opened: names.
    pub(super) fn of_names(world: &World) -> Self {
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

    /// What programs may read that come from these `directories`, too.
    pub(super) fn of_files(world: &World, directories: &[PathBuf]) -> Self {
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
            // Other names of what stays unread are left out by a second walk.
            let before = walk.same.len();
            walk.same.append(&mut walk.further);
            if walk.same.len() == before {
                reads.listed.extend(tops().map(|top| top.path));
                reads.whole.extend(granted);
                return reads;
            }
        }
    }

    /// Grants `place`, but for what is `denied`.
    fn add(&mut self, place: &Path, denied: &BTreeSet<PathBuf>) {
        if denied.is_empty() {
            self.whole.push(place.to_owned());
            return;
        }
        let Ok(place) = place.canonicalize() else { return };
        if denied.iter().any(|denied| place.starts_with(denied)) {
            return;
        }
        if !denied.iter().any(|denied| denied.starts_with(&place)) {
            self.whole.push(place);
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

/// A file, whatever it is called: device and inode.
type Identity = (u64, u64);

/// A directory of the repository.
#[derive(Default)]
struct Directory {
    path: PathBuf,
    above: Option<usize>,
    /// It is, or is in, a git directory.
    is_git: bool,
    /// Of it only what git tracks is granted.
    is_own: bool,
    /// Something below stays unread.
    is_partial: bool,
}

/// What is in a directory.
#[derive(Default)]
struct Entries {
    count: usize,
    /// Directories, as those of which they are entries.
    below: Vec<Directory>,
    files: Vec<PathBuf>,
    /// Files and symlinks that stay unread, unless git tracks them; and why.
    secrets: Vec<(PathBuf, Whose)>,
    /// How many others stay unread.
    unread: usize,
}

struct Walk<'a> {
    world: &'a World,
    /// Git's index, read when it is asked first.
    index: Option<Option<gix::worktree::IndexPersistedOrInMemory>>,
    /// Files that stay unread under any name.
    same: BTreeSet<Identity>,
    /// Those found by this walk.
    further: BTreeSet<Identity>,
}

impl Walk<'_> {
    /// What may be read in `all` of these directories and below.
    fn repository(&mut self, mut all: Vec<Directory>, reads: &mut Reads) -> Vec<PathBuf> {
        let (world, mut begin, mut count) = (self.world, 0, 0);
        // Level by level, so that several can be looked at beside each other.
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
                // Most directories are granted: their files need not be remembered.
                let found = entries(world, &self.same, directory, true);
                let tracked = found.secrets.into_iter().filter(|secret| !self.is_unread(secret));
                granted.extend(tracked.map(|(path, _)| path).chain(found.files));
            }
        }
        granted.retain(|path| !path.is_symlink());
        granted
    }

    /// What is in each of `directories`.
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

    /// True for a secret that git does not track; notes where other names would lead to it.
    fn is_unread(&mut self, (path, whose): &(PathBuf, Whose)) -> bool {
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        if *whose == Whose::BuiltIn && self.is_tracked(&target) {
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

    /// True for a file that git tracks: everybody with the repository has its content.
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

/// What is in `directory`: its files, too, where `with_files`.
fn entries(
    world: &World,
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
            is_named && kind.is_file() && denied::is_key(&path())
        };
        let is_same =
            || path().metadata().is_ok_and(|facts| same.contains(&(facts.dev(), facts.ino())));
        if kind.is_dir() {
            // Git's objects have no names of files.
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
            found.secrets.push((path(), Whose::Configured));
        } else if let Some(whose) = world.denied.name(name) {
            found.secrets.push((path(), whose));
        } else if is_own || (is_git && name == b"credentials") || is_key() {
            found.secrets.push((path(), Whose::BuiltIn));
        } else if !(kind.is_file() || kind.is_symlink())
            || (!same.is_empty() && kind.is_file() && is_same())
        {
            // A pipe or a socket has somebody else at its other end.
            found.unread += 1;
        } else if with_files {
            found.files.push(path());
        }
    }
    found
}
