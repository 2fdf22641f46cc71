//! What a purge is about: a proposal, or all that name a blob.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::objs::Kind;

use crate::error::{Error, Result};
use crate::proposal::{Event, ProposalId, codes, snapshot};
use crate::repository::header;
use crate::store::{PurgeRecord, Store, View, lists};

/// Characters of a blob's id that have to be given at least.
const SHORTEST: usize = 4;

/// A proposal that is to be purged.
#[derive(Clone, Debug)]
pub struct Target {
    /// The proposal.
    pub id: ProposalId,
    /// The whole id of its first event, hex.
    pub first: String,
    /// It begins in a lane that this clone writes, or was published in one. A lane that was copied here is
    /// none.
    pub is_own: bool,
    /// Its owner has purged it already.
    pub record: Option<PurgeRecord>,
    /// The lanes that have its first event, or a publication of it.
    pub owners: Vec<String>,
    /// The ids of the events about it, as it was looked at.
    events: BTreeSet<String>,
}

/// What a purge is about.
#[derive(Clone, Debug)]
pub struct Subjects {
    /// The proposals.
    pub targets: Vec<Target>,
    /// The blob that was named, its whole id in hex.
    pub blob: Option<String>,
}

impl Subjects {
    /// The proposals, each of this clone's own or purged by its owner.
    ///
    /// # Errors
    /// `purge_not_own`.
    pub(super) fn require_own(&self) -> Result<BTreeSet<ProposalId>> {
        match self.targets.iter().find(|target| !target.is_own && target.record.is_none()) {
            Some(target) => Err(target.not_own()),
            None => Ok(self.targets.iter().map(|target| target.id.clone()).collect()),
        }
    }
}

impl Target {
    /// That somebody else has to purge it.
    pub fn not_own(&self) -> Error {
        let (id, lanes) = (&self.id, self.owners.join(", "));
        Error::new(
            &codes::PURGE_NOT_OWN,
            format!("{id} begins in lane {lanes}, which this clone does not write"),
        )
        .with("proposal_id", id.as_str())
        .with("lanes", self.owners.clone())
        .hint(format!(
            "in the clone that writes it: aye purge {id} -m TEXT; where that is gone for good: \
             aye help sharing"
        ))
    }
}

impl Store {
    /// What `text` names: a proposal by its id or the beginning of it; or the blob of that id (at least
    /// four characters), and then each proposal of this clone's own that names or attaches it.
    ///
    /// # Errors
    /// `invalid_id`, `proposal_not_found`, `ambiguous_id` with the candidates, `purge_not_own` where only
    /// proposals of others name the blob.
    pub fn purge_subjects(&self, view: &View, text: &str) -> Result<Subjects> {
        let is_blob = text.len() >= SHORTEST
            && text.len() <= self.repository().repo.object_hash().len_in_hex()
            && text.bytes().all(|b| b.is_ascii_hexdigit());
        let by_id = view.resolve(text);
        let blobs =
            if is_blob { self.naming(view, &text.to_ascii_lowercase())? } else { Vec::new() };
        let ambiguous = |candidates: Vec<String>| {
            Error::new(
                &codes::AMBIGUOUS_ID,
                format!("'{text}' begins several ids: {}", candidates.join(", ")),
            )
            .with("candidates", candidates)
            .hint("type more characters of the one you mean; a proposal's id begins with prop_")
        };
        let names: BTreeSet<&String> = blobs.iter().map(|(blob, _)| blob).collect();
        match (by_id, names.len()) {
            (Ok(id), 0) => Ok(Subjects { targets: vec![self.target(view, id)?], blob: None }),
            (Err(_), 0) if text.len() == self.repository().repo.object_hash().len_in_hex() && is_blob => {
                Err(Error::new(
                    &codes::PROPOSAL_NOT_FOUND,
                    format!("no proposal here names the blob {text}"),
                )
                .hint("direct patches keep no content, and the text of a plan stays; branches: git log --all --find-object"))
            }
            (Err(error), 0) => Err(error),
            (Err(_), 1) => {
                let blob = names.first().map(|blob| (*blob).clone());
                let ids: BTreeSet<ProposalId> = blobs.into_iter().map(|(_, id)| id).collect();
                let all: Result<Vec<Target>> =
                    ids.into_iter().map(|id| self.target(view, id)).collect();
                let (own, others): (Vec<Target>, Vec<Target>) =
                    all?.into_iter().partition(|target| target.is_own || target.record.is_some());
                match others.first().filter(|_| own.is_empty()) {
                    Some(other) => Err(other.not_own()),
                    None => Ok(Subjects { targets: own, blob }),
                }
            }
            (Ok(id), _) => {
                let names = names.into_iter().cloned();
                Err(ambiguous(std::iter::once(id.to_string()).chain(names).collect()))
            }
            (Err(_), _) => Err(ambiguous(names.into_iter().cloned().collect())),
        }
    }

    fn target(&self, view: &View, id: ProposalId) -> Result<Target> {
        let record = view.purge_of(&id)?;
        let own = view.lanes_written(self)?;
        let (first, owners) = match &record {
            Some(record) => (record.first.clone(), vec![record.lane.clone()]),
            None => (view.proposal(&id)?.first_event, view.owners(&id)?),
        };
        let is_own = owners.iter().any(|lane| own.contains(lane));
        let events = view.log(Some(&id), None)?.into_iter().map(|entry| entry.stamped.id).collect();
        Ok(Target { id, first, is_own, record, owners, events })
    }

    /// Refuses where something was said of `subjects`, or another one names the blob, since they were looked at:
    /// nobody has agreed to lose that.
    ///
    /// # Errors
    /// `revised_meanwhile`, `changed_since_shown`; if the cache cannot be read.
    pub(super) fn require_as_shown(&self, view: &View, subjects: &Subjects) -> Result<()> {
        for shown in &subjects.targets {
            let id = &shown.id;
            let now = self.target(view, id.clone())?;
            let is_known = |event: &String| shown.events.contains(event);
            if now.record.is_some() || now.events.iter().all(is_known) {
                continue;
            }
            let error = if is_known(&view.proposal(id)?.current().event) {
                Error::new(
                    &codes::CHANGED_SINCE_SHOWN,
                    format!("{id} is not as it was shown: something new was said of it"),
                )
            } else {
                Error::new(&codes::REVISED, format!("{id} was revised while you looked at it"))
            };
            return Err(error
                .with("proposal_id", id.as_str())
                .hint(format!("nothing was purged; look again: aye show {id}")));
        }
        let Some(blob) = &subjects.blob else { return Ok(()) };
        for (_, id) in self.naming(view, blob)? {
            let is_shown = subjects.targets.iter().any(|shown| shown.id == id);
            if !is_shown && self.target(view, id.clone())?.is_own {
                let message = format!("{id} names blob {blob:.12} since it was looked for");
                return Err(Error::new(&codes::CHANGED_SINCE_SHOWN, message)
                    .with("proposal_id", id.as_str())
                    .hint("nothing was purged; run the command again"));
            }
        }
        Ok(())
    }

    /// The blobs whose ids begin with `prefix`, each with a proposal of which an event names it: in its
    /// own text, in its list of changes, in its statement, or in the manifest of that.
    fn naming(&self, view: &View, prefix: &str) -> Result<Vec<(String, ProposalId)>> {
        let mut found = BTreeSet::new();
        view.each_body(|proposal, id, body| {
            let mut add = |bytes: &[u8]| {
                for name in ids(bytes, prefix) {
                    found.insert((name.to_owned(), proposal.to_owned()));
                }
            };
            add(id.as_bytes());
            add(body);
            let Ok(event) = Event::from_bytes(body) else { return };
            let list = event.list().map(|list| list.id.clone());
            let statement = event.data.statement().map(|named| named.id.clone());
            for id in list.into_iter().chain(statement) {
                if let Ok(bytes) = self.blob(&id) {
                    add(&bytes);
                    let manifest = snapshot::manifest(&bytes).map(|named| self.blob(&named.id));
                    if let Some(Ok(manifest)) = manifest {
                        add(&manifest);
                    }
                }
            }
        })?;
        // Other ids may stand there: of commits, and of nothing.
        let mut known: BTreeSet<String> = found.iter().map(|(id, _)| id.clone()).collect();
        known.retain(|id| {
            let id = ObjectId::from_hex(id.as_bytes());
            id.is_ok_and(|id| {
                header(&self.repository().repo, id).map_or(true, |(kind, _)| kind == Kind::Blob)
            })
        });
        let found = found.into_iter().filter(|(id, _)| known.contains(id));
        found.map(|(blob, id)| Ok((blob, ProposalId::parse(&id)?))).collect()
    }

    /// An event with its list of changes, where that is here.
    pub(super) fn inflated(&self, body: &[u8]) -> Option<Event> {
        let mut event = Event::from_bytes(body).ok()?;
        let _ = lists::inflate(&self.repository().repo, &mut event);
        Some(event)
    }
}

/// The words of `bytes` that are ids of objects and begin with `prefix`.
fn ids<'b>(bytes: &'b [u8], prefix: &str) -> impl Iterator<Item = &'b str> {
    let words = bytes.split(|b| !b.is_ascii_alphanumeric());
    let words = words.filter_map(|word| std::str::from_utf8(word).ok());
    words.filter(move |word| {
        matches!(word.len(), 40 | 64)
            && word.starts_with(prefix)
            && word.bytes().all(|b| b.is_ascii_hexdigit())
    })
}
