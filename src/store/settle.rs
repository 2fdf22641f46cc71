//! Lanes that this clone has left, and that others go on with: their refs are brought into a form in
//! which `git push R 'refs/aye/log/*'`, or its like for another remote, takes them. No commit is written
//! again.

use gix::ObjectId;

use super::refs::{self, Audience, LaneRef};
use super::{Store, View};
use crate::error::Result;
use crate::proposal::forks;

/// How two commits of one lane are to each other.
enum Relation {
    /// They are the same, or the second is behind the first.
    Ahead,
    /// The first is behind the second.
    Behind,
    /// Each has what the other has not; the first such commit of the first.
    Parted(ObjectId),
}

/// Sees to every lane for `audience` but `own`, which this clone writes for it, and to the earlier epochs
/// of that one. The caller holds the store's lock.
///
/// # Errors
/// `busy`, and those of the file system.
pub(super) fn left(store: &Store, view: &View, audience: &Audience, own: &str) -> Result<()> {
    superseded(store, view, audience, own)?;
    let is_left = |name: &str| {
        refs::own_of(name).is_some_and(|lane| lane != own)
            && Audience::of(name).as_ref() == Some(audience)
    };
    if !view.lanes.iter().any(|found| is_left(&found.name)) {
        return Ok(());
    }
    let (repo, dir) = (&store.repository().repo, &store.repository().common_dir);
    let positions = view.positions()?;
    for mut left in refs::lanes(repo)?.into_iter().filter(|found| is_left(&found.name)) {
        let lane = left.lane().to_owned();
        let mut theirs: Vec<(u64, ObjectId)> = positions
            .iter()
            .filter(|(name, _)| name.starts_with(refs::REMOTES) && refs::lane_of(name) == lane)
            .filter(|(name, _)| refs::part_of(name).is_none())
            .filter_map(|(name, position)| {
                let tip = ObjectId::from_hex(position.reached.as_deref()?.as_bytes()).ok()?;
                Some((refs::epoch_of(name).unwrap_or(1), tip))
            })
            .collect();
        theirs.sort_unstable();
        for (epoch, tip) in theirs {
            let there = audience.lane(&lane, epoch);
            match relation(view, repo, left.tip, tip) {
                None | Some(Relation::Ahead) => continue,
                Some(Relation::Behind) if there == left.name => {
                    let _ =
                        refs::compare_and_swap(repo, dir, &left.name, Some(left.tip), tip, false)?;
                    left.tip = tip;
                    continue;
                }
                Some(Relation::Behind) => {
                    // Git knows of no way from one epoch to the next: each has a name of its own.
                    match refs::target(repo, &there)? {
                        None => refs::set(dir, &there, tip)?,
                        Some(known) if known == tip => {}
                        Some(_) => continue,
                    }
                    refs::remove(repo, dir, &left.name)?;
                }
                Some(Relation::Parted(first)) => {
                    let part = forks::name(&lane, &first.to_string());
                    let name = format!("{}{part}/{lane}", audience.directory());
                    refs::set(dir, &name, left.tip)?;
                    refs::remove(repo, dir, &left.name)?;
                }
            }
            break;
        }
    }
    Ok(())
}

/// Removes the refs of earlier epochs of `own`, where the newest has all that they say: a writer was
/// stopped before it did.
fn superseded(store: &Store, view: &View, audience: &Audience, own: &str) -> Result<()> {
    let of_own = |found: &&LaneRef| {
        refs::own_of(&found.name) == Some(own)
            && Audience::of(&found.name).as_ref() == Some(audience)
    };
    if view.lanes.iter().filter(of_own).count() < 2 {
        return Ok(());
    }
    let lanes = refs::local(&store.repository().repo)?;
    let names = lanes.iter().map(|found| found.name.as_str());
    let newest = refs::newest(names, audience, own);
    let Some(newest) = lanes.iter().find(|found| Some(found.name.as_str()) == newest) else {
        return Ok(());
    };
    for old in lanes.iter().filter(of_own).filter(|found| found.name != newest.name) {
        if let Some(Relation::Ahead) = relation(view, &store.repository().repo, newest.tip, old.tip)
        {
            refs::remove(&store.repository().repo, &store.repository().common_dir, &old.name)?;
        }
    }
    Ok(())
}

/// The fetched tip of `lane` that goes on from `tip`, or is all there is of it, with its position and
/// epoch: the longest.
///
/// # Errors
/// If the cache cannot be read.
pub(super) fn ahead(
    store: &Store,
    view: &View,
    lane: &str,
    tip: Option<ObjectId>,
) -> Result<Option<(ObjectId, u64, u64)>> {
    let mut found: Option<(ObjectId, u64, u64)> = None;
    for (name, position) in view.positions()? {
        let reached = position.reached.as_deref();
        let Some(theirs) = reached.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()) else {
            continue;
        };
        let is_fetched = name.starts_with(refs::REMOTES) && refs::part_of(&name).is_none();
        if !is_fetched || refs::lane_of(&name) != lane {
            continue;
        }
        let goes_on = tip.is_none_or(|tip| {
            matches!(relation(view, &store.repository().repo, tip, theirs), Some(Relation::Behind))
        });
        if goes_on && found.is_none_or(|(_, seq, _)| seq < position.seq) {
            found = Some((theirs, position.seq, refs::epoch_of(&name).unwrap_or(1)));
        }
    }
    Ok(found)
}

/// Whether the commit `here` of a lane is `there`, or goes on from it, across epochs.
pub(super) fn is_ahead(
    view: &View,
    repo: &gix::Repository,
    here: ObjectId,
    there: ObjectId,
) -> bool {
    matches!(relation(view, repo, here, there), Some(Relation::Ahead))
}

fn relation(
    view: &View,
    repo: &gix::Repository,
    here: ObjectId,
    there: ObjectId,
) -> Option<Relation> {
    let (mut one, mut two) = (Some(here), Some(there));
    let mut parted = (None, None);
    let parent = |id: ObjectId| view.parent(repo, &id);
    // Positions never fall along a lane: whoever is in front goes back.
    while one != two {
        let seq = |id: Option<ObjectId>| id.map(|id| view.seq_of(&id));
        match (seq(one), seq(two)) {
            (Some(None), _) | (_, Some(None)) => return None,
            (first, second) if first >= second => {
                parted.0 = one;
                one = one.and_then(parent);
            }
            _ => {
                parted.1 = two;
                two = two.and_then(parent);
            }
        }
    }
    Some(match parted {
        (None, None) | (Some(_), None) => Relation::Ahead,
        (None, Some(_)) => Relation::Behind,
        (Some(first), Some(_)) => Relation::Parted(first),
    })
}
