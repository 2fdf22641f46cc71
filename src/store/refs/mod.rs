//! Lane tips and pending refs.
//!
//! Reading goes through gix. Moving one loose ref is done here as git does it (`<ref>.lock`,
//! compare, flush, rename): gix takes `packed-refs.lock` for that as soon as packed refs exist,
//! so parallel writers would wait for each other and a left-over lock file would stop them.

mod names;
mod write;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use bstr::ByteSlice;
use gix::ObjectId;

pub use names::Audience;
use names::is_archive;
pub(super) use names::{
    ARCHIVES, BEFORE, BROKEN, FOR, KEPT, LOG, PENDING, PRIVATE, REMOTES, SESSION, epoch_of,
    is_lane_name, is_local, lane_of, own_of, part_of, remote_of,
};
pub(super) use write::{Moved, compare_and_swap, remove, remove_all, set};

use super::{codes, loose};
use crate::error::{Error, Result};

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

/// All lanes, this clone's and fetched ones, in name order.
///
/// # Errors
/// `lane_broken` if a ref of this clone's own lanes cannot be read. A fetched one is passed over.
pub(super) fn lanes(repo: &gix::Repository) -> Result<Vec<LaneRef>> {
    let mut lanes = local(repo)?;
    lanes.extend(fetched(repo, REMOTES));
    lanes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
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
    lanes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
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
    let (mut found, mut gone) = look_below(repo, prefix)?;
    // A lane moves on to another name, its next epoch. Whoever finds the old one gone has to look again.
    for _ in 0..MOST_LOOKS {
        if !gone {
            break;
        }
        let before = found;
        (found, gone) = look_below(repo, prefix)?;
        gone &= !is_same(&before, &found);
    }
    Ok(found)
}

fn is_same(one: &BTreeMap<String, Target>, other: &BTreeMap<String, Target>) -> bool {
    let targets =
        [one, other].map(|found| found.iter().map(|(name, target)| (name, target.as_ref().ok())));
    let [one, other] = targets;
    one.eq(other)
}

/// How often refs are listed again that go away while they are read.
const MOST_LOOKS: usize = 20;

/// As [`below`], in one look; and whether something may have gone away meanwhile.
fn look_below(
    repo: &gix::Repository,
    prefix: &str,
) -> io::Result<(BTreeMap<String, Target>, bool)> {
    let mut found = BTreeMap::new();
    let look = loose::each(repo.common_dir(), prefix, &mut |name, content| {
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
    Ok((found, look.lost_file || look.empty_directory))
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
