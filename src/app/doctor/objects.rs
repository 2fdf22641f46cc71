//! Verifies every object that events reach, before a command needs it.

use std::collections::HashSet;

use gix::ObjectId;
use gix::objs::Kind;

use crate::proposal::ProposalId;
use crate::proposal::history::History;
use crate::repository::Repository;

pub(super) struct Damaged {
    /// First thread that reaches it.
    pub(super) id: ProposalId,
    pub(super) message: String,
}

/// Looks for objects that are damaged or missing below threads.
pub(super) struct Objects<'r> {
    repo: &'r gix::Repository,
    /// Contents are read and hashed, too; otherwise they are only looked up.
    is_full: bool,
    takes_missing: bool,
    known: HashSet<ObjectId>,
    pub(super) damaged: Vec<Damaged>,
}

impl<'r> Objects<'r> {
    pub(super) fn new(repository: &'r Repository, is_full: bool) -> Self {
        Self {
            repo: repository.repo(),
            is_full,
            // A partial clone fetches missing objects on demand.
            takes_missing: repository.is_partial(),
            known: HashSet::new(),
            damaged: Vec::new(),
        }
    }

    /// Looks below the events of the thread `id`.
    pub(super) fn thread(&mut self, id: &ProposalId, history: &History) {
        for stamped in history.events() {
            let Ok(event) = ObjectId::from_hex(stamped.id.as_bytes()) else { continue };
            for (object, why) in self.below(event) {
                let event = event.to_hex_with_len(12);
                let message = format!("object {object}, of event {event} of {id}, {why}");
                self.damaged.push(Damaged { id: id.clone(), message });
            }
        }
    }

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
