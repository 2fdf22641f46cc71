//! Verifies every object that events reach, before a command needs it.

use std::collections::HashSet;

use gix::ObjectId;
use gix::objs::Kind;

use crate::error::Result;
use crate::proposal::ProposalId;
use crate::store::{LogEntry, View};

pub(super) struct Damaged {
    /// First thread that reaches it.
    pub(super) id: ProposalId,
    pub(super) message: String,
}

/// Objects damaged or missing below readable threads. `is_full` reads and hashes contents;
/// otherwise they are only looked up.
pub(super) fn damaged(view: &View<'_>, is_full: bool) -> Result<Vec<Damaged>> {
    let repository = view.store().repository();
    let mut objects = Objects {
        repo: repository.repo(),
        is_full,
        // A partial clone fetches missing objects on demand.
        takes_missing: repository.is_partial(),
        known: HashSet::new(),
    };
    let mut found = Vec::new();
    for page in view.log_pages(None, None) {
        for LogEntry { id, stamped, .. } in page? {
            let Ok(event) = ObjectId::from_hex(stamped.id.as_bytes()) else { continue };
            for (object, why) in objects.below(event) {
                let event = event.to_hex_with_len(12);
                let message = format!("object {object}, of event {event} of {id}, {why}");
                found.push(Damaged { id: id.clone(), message });
            }
        }
    }
    Ok(found)
}

struct Objects<'r> {
    repo: &'r gix::Repository,
    is_full: bool,
    takes_missing: bool,
    known: HashSet<ObjectId>,
}

impl Objects<'_> {
    /// Checks the whole tree of the commit `event`.
    fn below(&mut self, event: ObjectId) -> Vec<(ObjectId, String)> {
        let Ok(tree) = self.repo.find_commit(event).and_then(|it| Ok(it.tree_id()?.detach()))
        else {
            return vec![(event, "cannot be read".to_owned())];
        };
        let (mut found, mut trees) = (Vec::new(), vec![tree]);
        while let Some(id) = trees.pop() {
            if !self.known.insert(id) {
                continue;
            }
            let data = match self.read(id) {
                Ok(data) => data,
                Err(why) => {
                    found.extend(why.map(|why| (id, why)));
                    continue;
                }
            };
            for entry in
                gix::objs::TreeRefIter::from_bytes(&data, self.repo.object_hash()).flatten()
            {
                let id = entry.oid.to_owned();
                if entry.mode.is_tree() {
                    trees.push(id);
                } else if self.known.insert(id) {
                    found.extend(self.blob(id).map(|why| (id, why)));
                }
            }
        }
        found
    }

    /// Verifies the hash. The error is `None` if a missing object is legitimate.
    fn read(&self, id: ObjectId) -> std::result::Result<Vec<u8>, Option<String>> {
        let object = self.repo.find_object(id).map_err(|error| self.wrong(id, &error))?;
        match gix::objs::compute_hash(id.kind(), object.kind, &object.data) {
            Ok(hash) if hash == id => Ok(object.detach().data),
            _ => Err(Some("does not have the content of its id".to_owned())),
        }
    }

    fn blob(&self, id: ObjectId) -> Option<String> {
        if self.is_full {
            return self.read(id).err().flatten();
        }
        match self.repo.find_header(id) {
            Ok(header) => (header.kind() != Kind::Blob).then(|| "is no blob".to_owned()),
            Err(error) => self.wrong(id, &error),
        }
    }

    fn wrong(&self, id: ObjectId, error: &dyn std::error::Error) -> Option<String> {
        match self.repo.has_object(id) {
            false if self.takes_missing => None,
            false => Some("is missing".to_owned()),
            true => Some(format!("is damaged: {error}")),
        }
    }
}
