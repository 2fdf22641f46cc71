//! The subjects of a purge: one proposal, or all that name a blob.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::{PurgeRecord, changed_files};
use crate::error::{Error, Result};
use crate::proposal::{Data, ProposalId, codes, id};
use crate::store::objects::object_id;
use crate::store::queries::ambiguous;
use crate::store::thread::Thread;
use crate::store::{Store, View};

const SHORTEST: usize = 4;

#[derive(Clone, Debug)]
pub struct Target {
    pub id: ProposalId,
    pub(super) thread: ObjectId,
    /// The former purge, if the proposal is back or was not removed completely.
    pub record: Option<PurgeRecord>,
    /// The thread's events (hex) when it was shown.
    events: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub struct Subjects {
    pub targets: Vec<Target>,
    /// The whole id (hex) of the named blob.
    pub blob: Option<String>,
}

impl View<'_> {
    /// Calls `found` with every readable thread of a proposal, open or closed.
    pub fn each_proposal(&self, mut found: impl FnMut(&Thread)) -> Result<()> {
        for id in self.threads.all_ids()? {
            let Ok(thread) = self.threads.read(&id) else { continue };
            let first = thread.history.first().map(|first| &first.event.data);
            if matches!(first, Some(Data::Propose(_))) {
                found(&thread);
            }
        }
        Ok(())
    }
}

impl Target {
    pub fn thread(&self) -> ObjectId {
        self.thread
    }
}

fn blobs(thread: &Thread) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for stamped in thread.history.events() {
        let sides = changed_files(stamped).into_iter().flat_map(|(_, sides)| sides);
        found.extend(sides.flatten().map(|entry| entry.id));
        found.extend(stamped.event.list().map(|list| list.id.clone()));
        let papers = stamped.documents.iter().flat_map(|papers| &papers.statement.manifest);
        found.extend(papers.map(|named| named.id.clone()));
    }
    found
}

impl Store {
    /// Resolves `text`: a proposal by a prefix of its id, or a blob by at least four digits and
    /// then each proposal that names it.
    ///
    /// # Errors
    /// `invalid_id`, `proposal_not_found`, `ambiguous_id` with the candidates.
    pub fn purge_subjects(&self, view: &View<'_>, text: &str) -> Result<Subjects> {
        let digits = self.repository().repo().object_hash().len_in_hex();
        let is_blob = (SHORTEST..=digits).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_hexdigit());
        let by_id = self.purge_target(view, text);
        let naming =
            if is_blob { naming(view, &text.to_ascii_lowercase())? } else { BTreeMap::new() };
        let ambiguous = |candidates: Vec<String>| {
            let all = candidates.join(", ");
            let message = format!("'{text}' begins several ids: {all}");
            let hint =
                "type more characters of the one you mean; a proposal's id begins with prop_";
            ambiguous(message, candidates, hint)
        };
        match (by_id, naming.len()) {
            (Ok(target), 0) => Ok(Subjects { targets: vec![target], blob: None }),
            (Err(_), 0) if text.len() == digits && is_blob => Err(Error::new(
                &codes::PROPOSAL_NOT_FOUND,
                format!("no proposal here names the blob {text}"),
            )
            .hint("the text of a plan stays; direct patches: git log --all --find-object")),
            (Err(error), 0) => Err(error),
            (Err(_), 1) => {
                let (blob, ids) = naming.into_iter().next().unwrap_or_default();
                let targets: Result<Vec<Target>> =
                    ids.iter().map(|id| target(view, *id, None)).collect();
                Ok(Subjects { targets: targets?, blob: Some(blob) })
            }
            (Ok(target), _) => {
                let names = naming.into_keys();
                Err(ambiguous(std::iter::once(target.id.to_string()).chain(names).collect()))
            }
            (Err(_), _) => Err(ambiguous(naming.into_keys().collect())),
        }
    }

    /// The proposal that `text` names, or a purged one that is back.
    fn purge_target(&self, view: &View<'_>, text: &str) -> Result<Target> {
        let error = match view.resolve(text).and_then(|id| view.thread_id(&id)) {
            Ok(thread) => return target(view, thread, None),
            Err(error) => error,
        };
        let Ok(prefix) = id::normalize(text) else { return Err(error) };
        let mut records = view.purged()?.into_iter();
        let record = records.find(|record| id::begins(&prefix, &record.thread)).ok_or(error)?;
        target(view, object_id(&record.thread)?, Some(record))
    }

    /// Refuses subjects that have new events, or that are no longer all proposals with the blob:
    /// nobody has agreed to lose these.
    ///
    /// # Errors
    /// `revised_meanwhile`, `changed_since_shown`.
    pub(super) fn require_as_shown(&self, view: &View<'_>, subjects: &Subjects) -> Result<()> {
        for shown in subjects.targets.iter().filter(|target| target.record.is_none()) {
            let (id, now) = (&shown.id, target(view, shown.thread, None)?);
            let is_known = |event: &String| shown.events.contains(event);
            if now.events.iter().all(is_known) {
                continue;
            }
            let current = view.proposal(id).ok().map(|proposal| proposal.current().event.clone());
            let error = if current.as_ref().is_none_or(is_known) {
                let why = format!("{id} is not as it was shown: something new was said of it");
                Error::new(&codes::CHANGED_SINCE_SHOWN, why)
            } else {
                Error::new(&codes::REVISED, format!("{id} was revised while you looked at it"))
            };
            return Err(error
                .with("proposal_id", id.as_str())
                .hint(format!("nothing was purged; look again: aye show {id}")));
        }
        let Some(blob) = &subjects.blob else { return Ok(()) };
        for thread in naming(view, blob)?.into_values().flatten() {
            if subjects.targets.iter().all(|shown| shown.thread != thread) {
                let id = ProposalId::from_event(&thread.to_string());
                let message = format!("{id} names blob {blob:.12} since it was looked for");
                return Err(Error::new(&codes::CHANGED_SINCE_SHOWN, message)
                    .with("proposal_id", id.as_str())
                    .hint("nothing was purged; run the command again"));
            }
        }
        Ok(())
    }
}

/// An unreadable thread is purged, too.
fn target(view: &View<'_>, thread: ObjectId, record: Option<PurgeRecord>) -> Result<Target> {
    let read = view.threads.read(&thread).ok();
    let events = read.iter().flat_map(|thread| thread.history.events());
    let events = events.map(|stamped| stamped.id.clone()).collect();
    Ok(Target { id: view.name(&thread), thread, record, events })
}

/// The blobs with this `prefix`, each with the threads that name it.
fn naming(view: &View<'_>, prefix: &str) -> Result<BTreeMap<String, BTreeSet<ObjectId>>> {
    let mut found: BTreeMap<String, BTreeSet<ObjectId>> = BTreeMap::new();
    view.each_proposal(|thread| {
        for blob in blobs(thread).into_iter().filter(|blob| blob.starts_with(prefix)) {
            found.entry(blob).or_default().insert(thread.id);
        }
    })?;
    Ok(found)
}
