//! Names of refs below `refs/aye/`.

use gix::ObjectId;

use crate::store::{Source, Space};

/// The directory of all refs of aye's.
pub(in crate::store) const ROOT: &str = "refs/aye/";
pub(in crate::store) const SHARED: &str = "refs/aye/p/";
pub(in crate::store) const PRIVATE: &str = "refs/aye/private/";
/// Fetched refs, by remote and clone.
pub(in crate::store) const REMOTES: &str = "refs/aye/remotes/";
/// Tips that a rewound or pruned remote has lost.
pub(in crate::store) const KEPT: &str = "refs/aye/kept/";
/// Pending proposals, as commits on their base.
pub(in crate::store) const PENDING: &str = "refs/aye/pending/";
/// Commits of agents' sessions.
pub(in crate::store) const SESSION: &str = "refs/aye/session/";
/// Content of files before direct patches.
pub(in crate::store) const BEFORE: &str = "refs/aye/before/";
/// Refs that a repair has set aside.
pub(in crate::store) const BROKEN: &str = "refs/aye/broken/";
pub(in crate::store) const CLOSED: &str = "closed";
pub(in crate::store) const GONE: &str = "gone";

/// The kind of the id at the end of a ref's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Thread,
    Chunk,
    Tombstone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Name {
    /// [`Source::Own`] for this clone's own chunks and tombstones, too.
    pub(in crate::store) source: Source,
    pub(in crate::store) space: Space,
    pub(in crate::store) role: Role,
    pub(in crate::store) id: ObjectId,
}

impl Name {
    /// Parses `name`; `None` for other refs. The name of a remote may have slashes, so `remotes`
    /// has the configured ones.
    pub(in crate::store) fn parse(
        name: &str,
        remotes: &[String],
        hash: gix::hash::Kind,
    ) -> Option<Self> {
        let (above, hex) = name.rsplit_once('/')?;
        let id = id(hex, hash)?;
        let last = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let (above, role) = match last(above)?.as_str() {
            CLOSED => (above.rsplit_once('/')?.0, Role::Chunk),
            GONE => (above.rsplit_once('/')?.0, Role::Tombstone),
            _ => (above, Role::Thread),
        };
        let source = match format!("{above}/").as_str() {
            SHARED | PRIVATE => Source::Own,
            _ if above.starts_with(KEPT) => {
                let (clone, tip) = above.rsplit_once('/')?.1.rsplit_once('.')?;
                let is_tip = tip.len() == 8 && is_lower_hex(tip);
                (is_tip && is_clone_id(clone)).then_some(Source::Kept)?
            }
            _ => {
                let rest = above.strip_prefix(REMOTES)?;
                let below =
                    |remote: &&String| rest.strip_prefix(remote.as_str())?.strip_prefix('/');
                let mut known = remotes.iter().filter(|remote| below(remote).is_some()).peekable();
                let (remote, clone) = if known.peek().is_none() {
                    // The remote is no longer configured.
                    rest.rsplit_once('/')?
                } else {
                    known.find_map(|remote| {
                        let clone = below(&remote).filter(|clone| is_clone_id(clone))?;
                        Some((remote.as_str(), clone))
                    })?
                };
                is_clone_id(clone).then(|| Source::Fetched {
                    remote: remote.to_owned(),
                    clone: clone.to_owned(),
                })?
            }
        };
        let is_private = PRIVATE.strip_suffix('/') == Some(above);
        let space = if is_private { Space::Private } else { Space::Shared };
        Some(Self { source, space, role, id })
    }
}

/// True for the name of a clone's directory: 16 hexadecimal digits.
pub(in crate::store) fn is_clone_id(name: &str) -> bool {
    name.len() == 16 && is_lower_hex(name)
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn id(hex: &str, hash: gix::hash::Kind) -> Option<ObjectId> {
    let id = ObjectId::from_hex(hex.as_bytes()).ok().filter(|_| is_lower_hex(hex))?;
    (id.kind() == hash && !id.is_null()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_ref_it_is() {
        let hex = "0123456789abcdef0123456789abcdef01234567";
        let remotes = ["origin".to_owned(), "a/b".to_owned(), "a".to_owned()];
        let parse = |name: &str| Name::parse(name, &remotes, gix::hash::Kind::Sha1);
        let c = "0011223344556677";
        let fetched = |remote: &str, clone: &str| Source::Fetched {
            remote: remote.to_owned(),
            clone: clone.to_owned(),
        };
        let table = [
            (format!("refs/aye/p/{hex}"), Some((Source::Own, Space::Shared, Role::Thread))),
            (format!("refs/aye/p/closed/{hex}"), Some((Source::Own, Space::Shared, Role::Chunk))),
            (format!("refs/aye/p/gone/{hex}"), Some((Source::Own, Space::Shared, Role::Tombstone))),
            (format!("refs/aye/private/{hex}"), Some((Source::Own, Space::Private, Role::Thread))),
            (
                format!("refs/aye/private/closed/{hex}"),
                Some((Source::Own, Space::Private, Role::Chunk)),
            ),
            (
                format!("refs/aye/remotes/origin/{c}/{hex}"),
                Some((fetched("origin", c), Space::Shared, Role::Thread)),
            ),
            (
                format!("refs/aye/remotes/a/b/{c}/{hex}"),
                Some((fetched("a/b", c), Space::Shared, Role::Thread)),
            ),
            (
                format!("refs/aye/remotes/a/{c}/{hex}"),
                Some((fetched("a", c), Space::Shared, Role::Thread)),
            ),
            (
                format!("refs/aye/remotes/a/{c}/gone/{hex}"),
                Some((fetched("a", c), Space::Shared, Role::Tombstone)),
            ),
            (
                format!("refs/aye/remotes/x/y/{c}/closed/{hex}"),
                Some((fetched("x/y", c), Space::Shared, Role::Chunk)),
            ),
            (
                format!("refs/aye/kept/a/b/{c}.01234567/{hex}"),
                Some((Source::Kept, Space::Shared, Role::Thread)),
            ),
            (format!("refs/aye/kept/a/{c}.0123456/{hex}"), None),
            (format!("refs/aye/p/{}", hex.to_uppercase()), None),
            (format!("refs/aye/p/{hex}/y"), None),
            (format!("refs/aye/p/x/{hex}"), None),
            (format!("refs/aye/p/{}", &hex[1..]), None),
            (format!("refs/aye/p/{}", "0".repeat(40)), None),
            (format!("refs/aye/remotes/origin/closed/{hex}"), None),
            (format!("refs/aye/remotes/origin/{c}/{c}/{hex}"), None),
            (format!("refs/aye/pending/{hex}"), None),
            (format!("refs/heads/{hex}"), None),
        ];
        for (name, expected) in table {
            let found = parse(&name).map(|found| (found.source, found.space, found.role));
            assert_eq!(found, expected, "{name}");
        }
    }
}
