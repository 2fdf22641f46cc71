//! Names of refs below `refs/aye/`, and whom a lane is for by its name.

/// Where this clone's lanes are.
pub(in crate::store) const LOG: &str = "refs/aye/log/";
/// Where fetched lanes are.
pub(in crate::store) const REMOTES: &str = "refs/aye/remotes/";
/// Where the tips of fetched lanes are remembered, whatever their remotes do with them.
pub(in crate::store) const KEPT: &str = "refs/aye/kept/";
/// Where the lane is that is for nobody else.
pub(in crate::store) const PRIVATE: &str = "refs/aye/private/";
/// Where the lanes are that are for another remote than the default one.
pub(in crate::store) const FOR: &str = "refs/aye/for/";
/// Where pending proposals are, as commits.
pub(in crate::store) const PENDING: &str = "refs/aye/pending/";
/// Where the archives of folded epochs are.
pub(in crate::store) const ARCHIVES: [&str; 3] =
    ["refs/aye/archive/", "refs/aye/archive-for/", "refs/aye/private/archive/"];

/// Where the commits of sessions of agents are kept.
pub(in crate::store) const SESSION: &str = "refs/aye/session/";

/// Where it is kept what stood in files before direct patches.
pub(in crate::store) const BEFORE: &str = "refs/aye/before/";

/// Where a repair puts what it sets aside.
pub(in crate::store) const BROKEN: &str = "refs/aye/broken/";

/// The name of the directory of folded epochs, beside the lane that is for nobody else.
pub(super) const ARCHIVE: &str = "archive";

/// Most epochs of a lane whose refs are removed at a remote: the number is what a ref is called, and an agent may
/// have called one.
const MOST_EPOCHS: u64 = 1_000;

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
    pub(in crate::store) fn directory(&self) -> String {
        match self {
            Self::Default => LOG.to_owned(),
            Self::Private => PRIVATE.to_owned(),
            Self::Remote(remote) => format!("{FOR}{remote}/"),
        }
    }

    /// The audience of a local lane's ref; `None` for any other ref.
    pub(in crate::store) fn of(name: &str) -> Option<Self> {
        if name.starts_with(LOG) {
            return Some(Self::Default);
        }
        if name.starts_with(PRIVATE) {
            return Some(Self::Private);
        }
        let above = name.strip_prefix(FOR)?.rsplit_once('/')?.0;
        let remote = if part_of(name).is_some() || epoch_of(name).is_some() {
            above.rsplit_once('/')?.0
        } else {
            above
        };
        Some(Self::Remote(remote.to_owned()))
    }

    /// The ref of `lane` in its `epoch`, from 1. As with parts the lane comes last.
    pub(in crate::store) fn lane(&self, lane: &str, epoch: u64) -> String {
        let directory = self.directory();
        match epoch {
            0 | 1 => format!("{directory}{lane}"),
            _ => format!("{directory}{lane}.{epoch}/{lane}"),
        }
    }

    /// The ref of the archive of `lane`'s folded `epoch`, from 1. Not below [`LOG`], so that it is
    /// fetched on demand, nor below [`FOR`], so that what sends those lanes does not take it along; that
    /// of a private lane is below [`PRIVATE`], so that nobody pushes it.
    pub(in crate::store) fn archive(&self, lane: &str, epoch: u64) -> String {
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

    /// The refspec by which `git push` brings the archives of `lane` at a remote to what they are here.
    pub fn archives_refspec(&self, lane: &str) -> String {
        let (here, there) = (self.archives(), Self::Default.archives());
        format!("+{here}{lane}.*:{there}{lane}.*")
    }

    /// What the epochs of `lane` before `epoch` are called at a remote, as far as it may have them: the last
    /// thousand.
    pub fn earlier_there(&self, lane: &str, epoch: u64) -> Vec<String> {
        let first = epoch.saturating_sub(MOST_EPOCHS).max(1);
        (first..epoch).map(|epoch| self.name_there(&self.lane(lane, epoch))).collect()
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

/// The lane that the ref `name` is of.
pub(in crate::store) fn lane_of(name: &str) -> &str {
    let last = name.rsplit('/').next().unwrap_or_default();
    if name.starts_with(KEPT) { last.split('.').next().unwrap_or_default() } else { last }
}

/// The lane that the ref `name` would be of if this clone wrote it: directly in the directory of its
/// audience, or an epoch of it.
pub(in crate::store) fn own_of(name: &str) -> Option<&str> {
    let directory = Audience::of(name)?.directory();
    let rest = name.strip_prefix(&directory)?;
    match rest.rsplit_once('/') {
        None => Some(rest),
        Some((above, lane)) => (!above.contains('/') && epoch_of(name).is_some()).then_some(lane),
    }
}

/// The part of a lane that the ref `name` is of, if it is one: `<lane>.f<8 hex>/<lane>`. The lane
/// comes last because version 0.1.0 takes the last component for it, and stops at an event of
/// another.
pub(in crate::store) fn part_of(name: &str) -> Option<&str> {
    let (above, lane) = name.rsplit_once('/')?;
    let part = above.rsplit('/').next()?;
    let hex = part.strip_prefix(lane)?.strip_prefix(".f")?;
    (hex.len() == 8 && hex.bytes().all(|b| b.is_ascii_hexdigit())).then_some(part)
}

/// The epoch of a lane that the ref `name` is of, if it is not the first: `<lane>.<n>/<lane>`.
pub(in crate::store) fn epoch_of(name: &str) -> Option<u64> {
    let (above, lane) = name.rsplit_once('/')?;
    let number = above.rsplit('/').next()?.strip_prefix(lane)?.strip_prefix('.')?;
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    number.parse().ok().filter(|epoch| plain && *epoch > 1)
}

/// The remote that the ref `name` was fetched from.
pub(in crate::store) fn remote_of(name: &str) -> Option<&str> {
    let above = name.strip_prefix(REMOTES)?.rsplit_once('/')?.0;
    if part_of(name).is_some() || epoch_of(name).is_some() {
        Some(above.rsplit_once('/')?.0)
    } else {
        Some(above)
    }
}

/// Whether the ref `name` is of a lane that was written or pushed here, not fetched.
pub(in crate::store) fn is_local(name: &str) -> bool {
    [LOG, PRIVATE, FOR].iter().any(|directory| name.starts_with(directory))
}

/// Whether the ref `name` is an archive beside the lane that is for nobody else.
pub(super) fn is_archive(name: &str) -> bool {
    let rest = name.strip_prefix(PRIVATE).and_then(|rest| rest.strip_prefix(ARCHIVE));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a lane may be called that: what this clone would choose, and some more. A dot marks the
/// further histories of a lane below [`KEPT`].
pub(in crate::store) fn is_lane_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(allowed)
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
}
