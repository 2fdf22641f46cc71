//! Lanes of this clone's own that something else than aye has taken back, as a fetch does that writes
//! over them, or removed. What they said since is kept by a ref that no lane is read from, so that git prunes none
//! of it, until a person brings it back or lets it go.

use gix::ObjectId;

use super::{Store, place, refs};
use crate::error::Result;

/// Where the tips are kept.
pub(super) const KEPT: &str = "refs/aye/broken/rewound/";

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
    if store.repository().repo.find_header(id).is_ok()
        && refs::target(&store.repository().repo, &name).is_ok_and(|it| it.is_none())
    {
        let _ = refs::set(&store.repository().common_dir, &name, id);
    }
}

impl Store {
    /// The lanes of this clone's own that were taken back and do not have what they said before.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn rewound(&self) -> Result<Vec<Rewound>> {
        let mut kept = Vec::new();
        refs::each(&self.repository().repo, KEPT, |name, lost| kept.push((name, lost)))?;
        let mut found = Vec::new();
        for (kept, lost) in kept {
            let Some((_, rest)) = kept.strip_prefix(KEPT).and_then(|rest| rest.split_once('/'))
            else {
                continue;
            };
            let name = format!("refs/aye/{rest}");
            let now = refs::target(&self.repository().repo, &name)?;
            // The lost commits are in no cache. All of one ref is in one epoch, where git knows the way.
            let base = |now| {
                self.repository().repo.merge_base(now, lost).ok().flatten().map(gix::Id::detach)
            };
            let common = now.and_then(base);
            if now == Some(lost) || common == Some(lost) {
                continue;
            }
            let is_behind = common == now;
            let (lost, now) = (lost.to_string(), now.map(|now| now.to_string()));
            found.push(Rewound { name, lost, now, is_behind, kept });
        }
        for name in self.noted_without_ref()? {
            if found.iter().all(|known: &Rewound| known.name != name)
                && let Some((kept, lost)) = self.fetched_copy(&name)?
            {
                let lost = lost.to_string();
                found.push(Rewound { name, lost, now: None, is_behind: true, kept });
            }
        }
        Ok(found)
    }

    /// The refs that this clone's own lanes should have, by what is noted, and do not have.
    fn noted_without_ref(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let noted = self.noted_lanes().into_iter();
        for (audience, lane) in noted.filter(|_| self.named_lane().is_none()) {
            let Some(private) = self.repository().private()? else { continue };
            if place::is_copy(&private, &audience, &lane)? {
                continue;
            }
            let local = refs::local(&self.repository().repo)?;
            let names = local.iter().map(|found| found.name.as_str());
            if refs::newest(names, &audience, &lane).is_none() {
                let epoch = place::noted_epoch(&private, &audience)?.map_or(1, |(_, epoch)| epoch);
                found.push(audience.lane(&lane, epoch));
            }
        }
        Ok(found)
    }

    /// The ref of a remote that has most of the lane and epoch that the ref `name` is of, and where it is.
    fn fetched_copy(&self, name: &str) -> Result<Option<(String, ObjectId)>> {
        let is_copy = |other: &refs::LaneRef| {
            other.name.starts_with(refs::REMOTES)
                && other.lane() == refs::lane_of(name)
                && refs::part_of(&other.name).is_none()
                && refs::epoch_of(&other.name) == refs::epoch_of(name)
        };
        let mut best: Option<(String, ObjectId)> = None;
        for copy in refs::lanes(&self.repository().repo)?.into_iter().filter(is_copy) {
            if best.as_ref().is_none_or(|(_, best)| self.is_behind(*best, copy.tip)) {
                best = Some((copy.name, copy.tip));
            }
        }
        Ok(best)
    }

    /// Whether the commit `of` has `inner` in its history.
    pub(super) fn is_behind(&self, inner: ObjectId, of: ObjectId) -> bool {
        let base = self.repository().repo.merge_base(inner, of).ok().flatten();
        inner == of || base.is_some_and(|base| base == inner)
    }
}
