//! Parts of the snapshot that an epoch of a lane begins with, composed again from the history that it
//! went on from.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::objs::Kind;

use crate::proposal::event::{Head, MAX_BYTES};
use crate::proposal::snapshot::{self, Line};
use crate::proposal::{Data, Event, ProposalId, Stamped, fold};
use crate::repository::blob_within;
use crate::store::contents::{Contents, Lines, Place};
use crate::store::inspect::Damage;
use crate::store::lane::Reader;
use crate::store::objects::hashed;
use crate::store::refs::{self, LaneRef};
use crate::store::{Store, cache};

impl Store {
    /// The bytes of the part of a snapshot that `damage` is about, where the history that its epoch
    /// went on from is here, as the archive that `aye doctor --gc` keeps is.
    ///
    /// What is folded is what the epoch does not restate, and a snapshot is a function of that; so
    /// all of it is composed, and counts only where it hashes to the id that is wanted. It does not where
    /// another clone's lane has a revision of a proposal, which is counted in what lists show.
    pub(super) fn part_again(&self, damage: &Damage) -> Option<Vec<u8>> {
        if !damage.path.starts_with(b"snapshot-") {
            return None;
        }
        let from = self.goes_on_from(damage.commit)?;
        let before = LaneRef {
            name: damage.name.clone(),
            tip: ObjectId::from_hex(from.tip.as_bytes()).ok()?,
        };
        let restated = self.restated_in(damage)?;
        let Contents { lines: mut places, stubs, rows, .. } = self.contents(&before).ok()?;
        for row in rows.into_iter().filter(|row| !restated.contains(&row.id)) {
            places.entry(row.proposal).or_default().push((row.seq, Place::Object(row.id)));
        }
        let kind = self.repo.object_hash();
        // What lists show of a proposal is counted again.
        let counted = |_: &ProposalId, lines: &[Line]| {
            let mut events = Vec::with_capacity(lines.len());
            for line in lines {
                let id = hashed(kind, Kind::Blob, &line.event)?.to_string();
                events.push(Stamped { id, event: Event::from_bytes(&line.event)? });
            }
            Ok(fold::fold(&events).map(|proposal| cache::figures(&self.repo, &proposal)))
        };
        let is_it = |part: &Vec<u8>| hashed(kind, Kind::Blob, part).ok() == Some(damage.object);
        let (mut writer, mut lines) =
            (snapshot::Writer::default(), Lines::new(self, before.lane()));
        for subject in lines.subjects(counted, places, stubs) {
            if let Some(part) = writer.add(&subject.ok()?).into_iter().find(is_it) {
                return Some(part);
            }
        }
        Some(writer.into_last()).filter(is_it)
    }

    /// Where the epoch goes on from that begins with `commit`.
    fn goes_on_from(&self, commit: ObjectId) -> Option<Head> {
        let tree = self.repo.find_commit(commit).ok()?.tree().ok()?;
        let entry = tree.find_entry("event.json")?.object_id();
        let event =
            Event::from_bytes(&blob_within(&self.repo, entry, MAX_BYTES as u64).ok()??).ok()?;
        match event.data {
            Data::Fold(fold) => Head::parse(&fold.from),
            _ => None,
        }
    }

    /// The events in the commits that follow the snapshot.
    fn restated_in(&self, damage: &Damage) -> Option<BTreeSet<ObjectId>> {
        let tip = refs::target(&self.repo, &damage.name).ok()??;
        let lane = LaneRef { name: damage.name.clone(), tip };
        let (mut found, mut next) = (BTreeSet::new(), Some(tip));
        while let Some(commit) = next {
            if Reader::has_snapshot(&self.repo, commit) {
                break;
            }
            found.extend(Reader::held(&self.repo, &lane, commit, None).ok()?);
            let commit = self.repo.find_commit(commit).ok()?;
            next = commit.parent_ids().next().map(gix::Id::detach);
        }
        Some(found)
    }
}
