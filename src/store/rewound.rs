//! Lanes of this clone's own that something else than aye has taken back, as a fetch does that writes
//! over them. What they said since is kept by a ref that no lane is read from, so that git prunes none of
//! it, until a person brings it back or lets it go.

use gix::ObjectId;

use super::Store;
use super::refs;
use crate::error::Result;

/// Where the tips are kept.
const KEPT: &str = "refs/aye/broken/rewound/";

/// A lane of this clone's own that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewound {
    /// Its ref.
    pub name: String,
    /// Where it was, hex.
    pub lost: String,
    /// Where it is, hex; `None` where it is gone.
    pub now: Option<String>,
    /// Where it was goes on from where it is: nothing else was said in it since.
    pub is_behind: bool,
    /// The ref that keeps it.
    pub kept: String,
}

/// Keeps `lost`, up to which `lane`, the ref of an own lane, was read before. Not being able to is no error:
/// the lane is read as it is.
pub(super) fn keep(store: &Store, lane: &str, lost: &str) {
    let Ok(id) = ObjectId::from_hex(lost.as_bytes()) else { return };
    let rest = lane.strip_prefix("refs/aye/").unwrap_or(lane);
    let name = format!("{KEPT}{}/{rest}", id.to_hex_with_len(8));
    if store.repo.find_header(id).is_ok()
        && refs::target(&store.repo, &name).is_ok_and(|it| it.is_none())
    {
        let _ = refs::set(&store.common_dir, &name, id);
    }
}

impl Store {
    /// The lanes of this clone's own that were taken back and do not have what they said before.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn rewound(&self) -> Result<Vec<Rewound>> {
        let mut kept = Vec::new();
        refs::each(&self.repo, KEPT, |name, lost| kept.push((name, lost)))?;
        let mut found = Vec::new();
        for (kept, lost) in kept {
            let Some((_, rest)) = kept.strip_prefix(KEPT).and_then(|rest| rest.split_once('/'))
            else {
                continue;
            };
            let name = format!("refs/aye/{rest}");
            let now = refs::target(&self.repo, &name)?;
            // The lost commits are in no cache. All of one ref is in one epoch, where git knows the way.
            let base = |now| self.repo.merge_base(now, lost).ok().flatten().map(gix::Id::detach);
            let common = now.and_then(base);
            if now == Some(lost) || common == Some(lost) {
                continue;
            }
            let is_behind = common == now;
            let (lost, now) = (lost.to_string(), now.map(|now| now.to_string()));
            found.push(Rewound { name, lost, now, is_behind, kept });
        }
        Ok(found)
    }
}
