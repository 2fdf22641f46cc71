//! Parts of the snapshot that an epoch of a lane begins with, composed again from the history that it
//! went on from.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use gix::objs::Kind;

use crate::proposal::event::Head;
use crate::proposal::{Data, Event, ProposalId, Stamped, fold, snapshot};
use crate::store::epoch::{self, Lines};
use crate::store::inspect::Damage;
use crate::store::lane::Reader;
use crate::store::objects::hashed;
use crate::store::refs::{self, LaneRef};
use crate::store::{Store, cache};

impl Store {
    /// The bytes of the part of a snapshot that `damage` is about, where the history that its epoch
    /// went on from is here, as the archive that `aye gc` keeps is.
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
        let (lines, stubs, steps) = self.read_lane(&before).ok()?;
        let rows = || lines.iter().chain(steps.iter().flat_map(|step| &step.rows));
        let mut proposals: BTreeMap<String, Vec<Stamped>> = BTreeMap::new();
        for row in rows() {
            let Some(id) = row.about() else { continue };
            let event = Event::from_bytes(&row.body).ok()?;
            proposals.entry(id).or_default().push(Stamped { id: row.id.to_string(), event });
        }
        let mut subjects = Lines::new();
        for row in rows().filter(|row| !restated.contains(&row.id)) {
            subjects.entry(row.about()).or_default().push((row.seq, self.line(row)?));
        }
        // What lists show of a proposal is counted again.
        let counted = |id: &ProposalId| {
            Ok(proposals.get(id.as_str()).and_then(|events| {
                let proposal = fold::fold(events)?;
                Some(cache::figures(&self.repo, &proposal))
            }))
        };
        let parts = snapshot::write(&epoch::subjects(subjects, stubs, counted).ok()?);
        let kind = self.repo.object_hash();
        parts.into_iter().find(|part| hashed(kind, Kind::Blob, part).ok() == Some(damage.object))
    }

    /// Where the epoch goes on from that begins with `commit`.
    fn goes_on_from(&self, commit: ObjectId) -> Option<Head> {
        let tree = self.repo.find_commit(commit).ok()?.tree().ok()?;
        let entry = tree.find_entry("event.json")?.object_id();
        let event = Event::from_bytes(&self.repo.find_blob(entry).ok()?.data).ok()?;
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
