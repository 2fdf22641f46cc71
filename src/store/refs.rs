//! Lane tips and pending refs.
//!
//! Reading goes through gix. Moving one loose ref is done here as git does it (`<ref>.lock`,
//! compare, flush, rename): gix takes `packed-refs.lock` for that as soon as packed refs exist,
//! so parallel writers would wait for each other and a left-over lock file would stop them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use gix::ObjectId;

use super::{codes, loose};
use crate::error::{Error, Result};
use crate::flush::{Method, sync_folder};

/// Where this clone's lanes are.
pub(super) const LOG: &str = "refs/aye/log/";
/// Where fetched lanes are.
pub(super) const REMOTES: &str = "refs/aye/remotes/";
/// Where the tips of fetched lanes are remembered, whatever their remotes do with them.
pub(super) const KEPT: &str = "refs/aye/kept/";
/// Where the lane is that is for nobody else.
pub(super) const PRIVATE: &str = "refs/aye/private/";
/// Where the lanes are that are for another remote than the default one.
pub(super) const FOR: &str = "refs/aye/for/";
/// Where pending proposals are, as commits.
pub(super) const PENDING: &str = "refs/aye/pending/";

/// Where the archives of folded epochs are.
pub(super) const ARCHIVES: [&str; 3] =
    ["refs/aye/archive/", "refs/aye/archive-for/", "refs/aye/private/archive/"];
/// Where a repair puts what it sets aside.
pub(super) const BROKEN: &str = "refs/aye/broken/";

/// Longest wait for a ref's own lock file, which git holds for moments only.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longest wait for the lock of `packed-refs`: git's own `core.packedRefsTimeout`.
const PACKED_PATIENCE: Duration = Duration::from_secs(1);

/// The name of the directory of folded epochs, beside the lane that is for nobody else.
const ARCHIVE: &str = "archive";

/// Whom a lane is for. A clone writes at most one lane for each. In the order in which a subject of
/// several is for the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    /// The default remote.
    Default,
    /// Another remote, by its name.
    Remote(String),
    /// Nobody else.
    Private,
}

impl Audience {
    /// The word for it: `default`, `private`, or the name of the remote.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Default => "default",
            Self::Private => "private",
            Self::Remote(remote) => remote,
        }
    }

    /// The directory of the refs of its lanes, with a slash at its end.
    pub(super) fn directory(&self) -> String {
        match self {
            Self::Default => LOG.to_owned(),
            Self::Private => PRIVATE.to_owned(),
            Self::Remote(remote) => format!("{FOR}{remote}/"),
        }
    }

    /// The audience of a local lane's ref; `None` for any other ref.
    pub(super) fn of(name: &str) -> Option<Self> {
        if name.starts_with(LOG) {
            return Some(Self::Default);
        }
        if name.starts_with(PRIVATE) {
            return Some(Self::Private);
        }
        let above = name.strip_prefix(FOR)?.rsplit_once('/')?.0;
        let remote = match part_of(name).is_some() || epoch_of(name).is_some() {
            true => above.rsplit_once('/')?.0,
            false => above,
        };
        Some(Self::Remote(remote.to_owned()))
    }

    /// The ref of `lane` in its `epoch`, from 1. As with parts the lane comes last.
    pub(super) fn lane(&self, lane: &str, epoch: u64) -> String {
        let directory = self.directory();
        match epoch {
            0 | 1 => format!("{directory}{lane}"),
            _ => format!("{directory}{lane}.{epoch}/{lane}"),
        }
    }

    /// The ref of the archive of `lane`'s folded `epoch`, from 1. Not below [`LOG`], so that it is
    /// fetched on demand, nor below [`FOR`], so that what sends those lanes does not take it along; that
    /// of a private lane is below [`PRIVATE`], so that nobody pushes it.
    pub(super) fn archive(&self, lane: &str, epoch: u64) -> String {
        format!("{}{lane}.{epoch}", self.archives())
    }

    /// The directory of the archives of its lanes, with a slash at its end.
    pub fn archives(&self) -> String {
        match self {
            Self::Default => "refs/aye/archive/".to_owned(),
            Self::Private => format!("{PRIVATE}{ARCHIVE}/"),
            Self::Remote(remote) => format!("refs/aye/archive-for/{remote}/"),
        }
    }

    /// The refspec by which `git push` sends its lanes to the remote that they are for.
    pub fn refspec(&self) -> String {
        match self {
            Self::Default | Self::Private => format!("{LOG}*"),
            Self::Remote(_) => format!("{}*:{LOG}*", self.directory()),
        }
    }

    /// What the ref `name` of one of its lanes or archives is called at the remote.
    pub fn name_there(&self, name: &str) -> String {
        let home = Self::Default;
        for (here, there) in
            [(self.directory(), home.directory()), (self.archives(), home.archives())]
        {
            if let Some(rest) = name.strip_prefix(&here) {
                return there + rest;
            }
        }
        name.to_owned()
    }
}

/// A ref that is a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaneRef {
    /// The whole name.
    pub(super) name: String,
    /// Its tip.
    pub(super) tip: ObjectId,
}

impl LaneRef {
    /// The lane's own name: the last component, without the mark of a further history.
    pub(super) fn lane(&self) -> &str {
        lane_of(&self.name)
    }

    /// Whether it remembers what was fetched.
    pub(super) fn is_kept(&self) -> bool {
        self.name.starts_with(KEPT)
    }
}

/// The lane that the ref `name` is of.
pub(super) fn lane_of(name: &str) -> &str {
    let last = name.rsplit('/').next().unwrap_or_default();
    match name.starts_with(KEPT) {
        true => last.split('.').next().unwrap_or_default(),
        false => last,
    }
}

/// The lane that the ref `name` would be of if this clone wrote it: directly in the directory of its
/// audience, or an epoch of it.
pub(super) fn own_of(name: &str) -> Option<&str> {
    let directory = Audience::of(name)?.directory();
    let rest = name.strip_prefix(&directory)?;
    match rest.rsplit_once('/') {
        None => Some(rest),
        Some((above, lane)) => (!above.contains('/') && epoch_of(name).is_some()).then_some(lane),
    }
}

/// Of `names` the ref of the newest epoch of `lane`, as its writer for `audience` names it.
pub(super) fn newest<'n>(
    names: impl Iterator<Item = &'n str>,
    audience: &Audience,
    lane: &str,
) -> Option<&'n str> {
    let epoch = |name: &str| epoch_of(name).unwrap_or(1);
    // Most are of others: told by how they end before one is composed to compare with.
    let ours = names.filter(|name| name.ends_with(lane));
    ours.filter(|name| **name == audience.lane(lane, epoch(name))).max_by_key(|name| epoch(name))
}

/// The part of a lane that the ref `name` is of, if it is one: `<lane>.f<8 hex>/<lane>`. The lane
/// comes last because version 0.1.0 takes the last component for it, and stops at an event of
/// another.
pub(super) fn part_of(name: &str) -> Option<&str> {
    let (above, lane) = name.rsplit_once('/')?;
    let part = above.rsplit('/').next()?;
    let hex = part.strip_prefix(lane)?.strip_prefix(".f")?;
    (hex.len() == 8 && hex.bytes().all(|b| b.is_ascii_hexdigit())).then_some(part)
}

/// The epoch of a lane that the ref `name` is of, if it is not the first: `<lane>.<n>/<lane>`.
pub(super) fn epoch_of(name: &str) -> Option<u64> {
    let (above, lane) = name.rsplit_once('/')?;
    let number = above.rsplit('/').next()?.strip_prefix(lane)?.strip_prefix('.')?;
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    number.parse().ok().filter(|epoch| plain && *epoch > 1)
}

/// The remote that the ref `name` was fetched from.
pub(super) fn remote_of(name: &str) -> Option<&str> {
    let above = name.strip_prefix(REMOTES)?.rsplit_once('/')?.0;
    match part_of(name).is_some() || epoch_of(name).is_some() {
        true => Some(above.rsplit_once('/')?.0),
        false => Some(above),
    }
}

/// Whether the ref `name` is of a lane that was written or pushed here, not fetched.
pub(super) fn is_local(name: &str) -> bool {
    [LOG, PRIVATE, FOR].iter().any(|directory| name.starts_with(directory))
}

/// Whether the ref `name` is an archive beside the lane that is for nobody else.
fn is_archive(name: &str) -> bool {
    let rest = name.strip_prefix(PRIVATE).and_then(|rest| rest.strip_prefix(ARCHIVE));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a lane may be called that: what this clone would choose, and some more. A dot marks the
/// further histories of a lane below [`KEPT`].
pub(super) fn is_lane_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(allowed)
}

/// All lanes, this clone's and fetched ones, in name order.
///
/// # Errors
/// `lane_broken` if a ref of this clone's own lanes cannot be read. A fetched one is passed over.
pub(super) fn lanes(repo: &gix::Repository) -> Result<Vec<LaneRef>> {
    let mut lanes = local(repo)?;
    lanes.extend(fetched(repo, REMOTES));
    lanes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(lanes)
}

/// The lanes that were written or pushed here, without their archives.
///
/// # Errors
/// `lane_broken` if a ref cannot be read.
pub(super) fn local(repo: &gix::Repository) -> Result<Vec<LaneRef>> {
    let mut lanes = Vec::new();
    for directory in [LOG, PRIVATE, FOR] {
        each(repo, directory, |name, tip| {
            if !is_archive(&name) {
                lanes.push(LaneRef { name, tip });
            }
        })?;
    }
    Ok(lanes)
}

/// What is remembered of fetched lanes, in name order.
pub(super) fn kept(repo: &gix::Repository) -> Vec<LaneRef> {
    let mut lanes = fetched(repo, KEPT);
    lanes.sort_by(|a, b| a.name.cmp(&b.name));
    lanes
}

/// The refs below `prefix` that can be read.
fn fetched(repo: &gix::Repository, prefix: &str) -> Vec<LaneRef> {
    let found = below(repo, prefix).unwrap_or_default().into_iter();
    found.filter_map(|(name, tip)| Some(LaneRef { name, tip: tip.ok()?? })).collect()
}

/// Calls `found` with name and target of each ref below `prefix`, in name order.
///
/// # Errors
/// `lane_broken` if a ref cannot be read.
pub(super) fn each(
    repo: &gix::Repository,
    prefix: &str,
    mut found: impl FnMut(String, ObjectId),
) -> Result<()> {
    for (name, target) in below(repo, prefix).map_err(|error| unreadable(prefix, &error))? {
        // A symbolic ref is none of ours.
        if let Some(id) = target.map_err(|error| unreadable(prefix, &error))? {
            found(name, id);
        }
    }
    Ok(())
}

/// Where a ref points to; `None` for a symbolic one.
type Target = io::Result<Option<ObjectId>>;

/// The refs below `prefix`, loose ones before packed ones: `git pack-refs` beside this packs a ref
/// before it removes its file.
///
/// gix takes six system calls for the file of a ref, and [`loose`] takes three.
fn below(repo: &gix::Repository, prefix: &str) -> io::Result<BTreeMap<String, Target>> {
    let mut found = BTreeMap::new();
    loose::each(repo.common_dir(), prefix, &mut |name, content| {
        if gix::validate::reference::name(name.as_str().into()).is_ok() {
            let target = content.and_then(|content| parse(content, repo.object_hash()));
            found.insert(name, target);
        }
    })?;
    if let Some(packed) = repo.refs.cached_packed_buffer().map_err(io::Error::other)? {
        for packed in packed.iter_prefixed(prefix.into()).map_err(io::Error::other)? {
            let packed = packed.map_err(io::Error::other)?;
            let name = packed.name.as_bstr().to_str_lossy().into_owned();
            found.entry(name).or_insert_with(|| Ok(Some(packed.target())));
        }
    }
    Ok(found)
}

/// What the file of a loose ref says.
fn parse(content: &[u8], hash: gix::hash::Kind) -> Target {
    if content.starts_with(b"ref:") {
        return Ok(None);
    }
    let (hex, rest) = content.split_at(hash.len_in_hex().min(content.len()));
    let ends = rest.first().is_none_or(u8::is_ascii_whitespace);
    let id = ObjectId::from_hex(hex).ok().filter(|id| ends && id.kind() == hash);
    let none = || io::Error::new(ErrorKind::InvalidData, "it holds no object id");
    id.map(Some).ok_or_else(none)
}

fn unreadable(name: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(&codes::LANE_BROKEN, format!("a ref below {name} cannot be read: {error}"))
        .hint("`git for-each-ref refs/aye` shows them; `aye doctor` tells what can be repaired")
}

/// What `name`, a whole one, points to. gix would take twice as many system calls.
///
/// # Errors
/// `lane_broken` if it cannot be read.
pub(super) fn target(repo: &gix::Repository, name: &str) -> Result<Option<ObjectId>> {
    match loose::line(&repo.common_dir().join(name)) {
        Err(error) if is_none(&error) => packed(repo, name),
        content => content.and_then(|content| parse(&content, repo.object_hash())),
    }
    .map_err(|error| unreadable(name, &error))
}

/// Whether a failure to read the file of a ref says that there is none.
fn is_none(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// What `packed-refs` says of `name`.
fn packed(repo: &gix::Repository, name: &str) -> Target {
    let Some(packed) = repo.refs.cached_packed_buffer().map_err(io::Error::other)? else {
        return Ok(None);
    };
    let found = packed.try_find(name).map_err(io::Error::other)?;
    Ok(found.map(|found| found.target()))
}

/// Moves `name` from `expected` to `new`, or fails without a change.
///
/// The caller holds the store's lock, so a lock file that stays is one a crash has left.
///
/// # Errors
/// `busy` if it is not at `expected` or its lock file stays; `io_error`.
pub(super) fn compare_and_swap(
    repo: &gix::Repository,
    common_dir: &Path,
    name: &str,
    expected: Option<ObjectId>,
    new: ObjectId,
    durable: bool,
) -> Result<()> {
    let path = common_dir.join(name);
    let mut lock = RefLock::take(&path)?;
    if target(repo, name)? != expected {
        return Err(Error::new(&codes::STORE_BUSY, format!("{name} was moved by another program"))
            .hint("run the command again"));
    }
    let method = match path.parent() {
        Some(folder) if durable => Method::durable(folder, folder),
        _ => Method::No,
    };
    lock.write(new, method)?;
    crate::failpoint!("store.ref.rename");
    lock.commit(&path)?;
    // The rename itself must outlive a power cut once success is reported.
    if durable && let Some(folder) = path.parent() {
        let flushed = sync_folder(folder);
        // With it comes all that was written before, so that its failure is one of all.
        if method == Method::Ordered
            && let Err(error) = flushed.or_else(|_| std::fs::File::open(&path)?.sync_all())
        {
            return Err(Error::io(format_args!("flush {name}"), &error));
        }
    }
    crate::failpoint!("store.ref.moved");
    Ok(())
}

/// Sets `name` whatever it was; not flushed: for what can be rebuilt.
///
/// # Errors
/// `busy`, `io_error`.
pub(super) fn set(common_dir: &Path, name: &str, new: ObjectId) -> Result<()> {
    let path = common_dir.join(name);
    let mut lock = RefLock::take(&path)?;
    lock.write(new, Method::No)?;
    lock.commit(&path)
}

/// Removes `name` if it is there, loose or packed.
///
/// # Errors
/// As [`remove_all`].
pub(super) fn remove(repo: &gix::Repository, common_dir: &Path, name: &str) -> Result<()> {
    remove_all(repo, common_dir, &[name.to_owned()], true)
}

/// Removes those of `names` that are there, loose or packed, with one new `packed-refs` at most: it
/// holds every ref of the repository, so that writing it costs as much as there are refs.
///
/// The files go first: `git pack-refs` that runs beside this may pack one of them before, not after.
///
/// # Errors
/// `busy`, `io_error`; what could be removed is removed.
pub(super) fn remove_all(
    repo: &gix::Repository,
    common_dir: &Path,
    names: &[String],
    durable: bool,
) -> Result<()> {
    let mut of_packed = BTreeSet::new();
    let mut failed = Ok(());
    for name in names {
        match std::fs::remove_file(common_dir.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                failed = failed.and(Err(Error::io(format_args!("remove {name}"), &error)));
            }
            _ => match packed(repo, name) {
                Ok(Some(_)) => _ = of_packed.insert(name.as_bytes()),
                Ok(None) => {}
                Err(error) => failed = failed.and(Err(unreadable(name, &error))),
            },
        }
    }
    if !of_packed.is_empty() {
        failed = failed.and(unpack(common_dir, &of_packed, durable));
    }
    failed
}

/// Takes `names` out of `packed-refs`, under its own lock, as git does. gix would do it with four
/// writes for each ref that stays.
fn unpack(common_dir: &Path, names: &BTreeSet<&[u8]>, durable: bool) -> Result<()> {
    let path = common_dir.join("packed-refs");
    let failed =
        |error: std::io::Error| Error::io(format_args!("write {}", path.display()), &error);
    let mut lock = RefLock::take_from(&path, PACKED_PATIENCE, false)?;
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if let Some(file) = &mut lock.file {
        file.write_all(&without(&bytes, names)).map_err(failed)?;
        // Branches and tags are in it, too.
        if durable {
            file.sync_data().map_err(failed)?;
        }
    }
    crate::failpoint!("store.packed.rename");
    lock.commit(&path)
}

/// The lines of a `packed-refs` but those of `names` and of what these peel to.
fn without(bytes: &[u8], names: &BTreeSet<&[u8]>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut dropped = false;
    for line in bytes.lines_with_terminator() {
        // `<id> <name>`, and below it `^<id>` where it is a tag.
        dropped = match line.first() {
            Some(b'^') => dropped,
            _ => line
                .trim_end_with(|c| c == '\n')
                .split_once_str(" ")
                .is_some_and(|(_, name)| names.contains(name)),
        };
        if !dropped {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// [`PATIENCE`]; in builds for tests `AYE_REF_PATIENCE`, in milliseconds, stands in for it: a process
/// that is stopped at every step leaves many locks, and nobody else is there who could hold one.
fn patience() -> Duration {
    #[cfg(all(feature = "failpoints", debug_assertions))]
    if let Some(most) = std::env::var("AYE_REF_PATIENCE").ok().and_then(|most| most.parse().ok()) {
        return Duration::from_millis(most);
    }
    PATIENCE
}

struct RefLock {
    path: PathBuf,
    file: Option<std::fs::File>,
}

impl RefLock {
    fn take(target: &Path) -> Result<Self> {
        Self::take_from(target, patience(), true)
    }

    /// Waits for `patience`; `ours`: only we and, for moments, git take it, so that one that stays
    /// longer is removed.
    fn take_from(target: &Path, patience: Duration, ours: bool) -> Result<Self> {
        let mut name = target.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let started = Instant::now();
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file: Some(file) }),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let folder = path.parent().unwrap_or(&path);
                    std::fs::create_dir_all(folder)
                        .map_err(|error| Error::file("create", folder, &error))?;
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if ours && started.elapsed() > patience {
                        // We hold the store's lock and git holds a ref's for moments: whoever
                        // made this one is gone.
                        let _ = std::fs::remove_file(&path);
                    }
                    if started.elapsed() > if ours { patience * 2 } else { patience } {
                        return Err(Error::new(
                            &codes::STORE_BUSY,
                            format!("{} does not go away", path.display()),
                        )
                        .hint("another git process holds it; try again"));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => {
                    return Err(Error::file("create", &path, &error));
                }
            }
        }
    }

    fn write(&mut self, id: ObjectId, method: Method) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("write a ref", &error);
        let Some(file) = &mut self.file else { return Ok(()) };
        crate::failpoint!("store.ref.write", io).map_err(failed)?;
        file.write_all(format!("{id}\n").as_bytes()).map_err(failed)?;
        method.files(std::slice::from_ref(file)).map_err(failed)
    }

    fn commit(mut self, target: &Path) -> Result<()> {
        self.file = None;
        std::fs::rename(&self.path, target).map_err(|error| Error::io("move a ref", &error))?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_says_whom_its_lane_is_for() {
        let remote = |name: &str| Audience::Remote(name.to_owned());
        let audiences = [Audience::Default, Audience::Private, remote("up"), remote("a/b")];
        for audience in audiences {
            for epoch in [1, 2, 10] {
                let name = audience.lane("0123abcd", epoch);
                assert_eq!(Audience::of(&name), Some(audience.clone()), "{name}");
                assert_eq!(lane_of(&name), "0123abcd", "{name}");
                assert_eq!(epoch_of(&name), Some(epoch).filter(|epoch| *epoch > 1), "{name}");
                assert!(is_local(&name) && !is_archive(&name), "{name}");
            }
            let part = format!("{}l.f0123abcd/l", audience.directory());
            assert_eq!(Audience::of(&part), Some(audience.clone()));
            let archive = audience.archive("l", 1);
            assert_eq!(is_archive(&archive), audience == Audience::Private, "{archive}");
            let sent = format!("{FOR}up/");
            assert!(!archive.starts_with(&sent) && !archive.starts_with(LOG), "{archive}");
        }
        assert_eq!(Audience::of("refs/aye/remotes/origin/l"), None);
        assert_eq!(remote_of("refs/aye/remotes/a/b/l.2/l"), Some("a/b"));
        assert_eq!(remote_of("refs/aye/remotes/a/l"), Some("a"));
        for none in ["refs/aye/log/l", "refs/aye/log/l.1/l", "refs/aye/log/l.02/l", "x/l.f2/l"] {
            assert_eq!(epoch_of(none), None, "{none}");
        }
    }

    #[test]
    fn other_refs_and_their_tags_stay_as_they_are() {
        let packed = b"# pack-refs with: peeled fully-peeled sorted \n\
            1111 refs/aye/pending/prop_a\n\
            2222 refs/aye/pending/prop_ab\n\
            3333 refs/tags/refs/aye/pending/prop_a\n^4444\n\
            5555 refs/aye/pending/prop_b\n^6666\n\
            7777 refs/heads/main\n";
        let names = [&b"refs/aye/pending/prop_a"[..], b"refs/aye/pending/prop_b", b"refs/none"];
        let kept = without(packed, &names.into_iter().collect());
        assert_eq!(
            kept.as_bstr(),
            b"# pack-refs with: peeled fully-peeled sorted \n\
            2222 refs/aye/pending/prop_ab\n\
            3333 refs/tags/refs/aye/pending/prop_a\n^4444\n\
            7777 refs/heads/main\n"
                .as_bstr()
        );
        assert_eq!(without(packed, &BTreeSet::new()), packed);
    }
}
