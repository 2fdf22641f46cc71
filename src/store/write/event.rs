//! One event: its tree with the content, and its commit.

use bstr::BString;
use gix::ObjectId;
use gix::objs::{Kind, Tree};

use super::{Chain, Writer};
use crate::changeset::RepoPath;
use crate::error::{Error, Result, codes as error_codes};
use crate::proposal::event::lists::{LONGEST_INLINE, MAX_LIST};
use crate::proposal::event::{BlobRef, DecisionDocuments};
use crate::proposal::{ActorKind, Data, Entry, Event, StoredEvent, state};
use crate::store::Space;
use crate::store::objects::object_id;
use crate::store::trees::{self, Leaf};

const MOST_OF_A_TITLE: usize = 100;

impl Writer<'_> {
    pub(super) fn begin(&mut self, space: Space, data: Data) -> Result<StoredEvent> {
        let chain = Chain {
            space,
            own: None,
            parents: Vec::new(),
            seen: Vec::new(),
            clone: self.store.make_clone_id()?,
            is_new: true,
            is_ahead: false,
        };
        let (id, stamped) = self.compose(&chain, data, None, Vec::new())?;
        self.chains.insert(id, chain);
        self.made.insert(id);
        self.push(&id, id, stamped)
    }

    /// Adds an event to the thread `id`; a decision with its papers, and further leaves of its
    /// tree.
    pub(super) fn append(
        &mut self,
        id: &ObjectId,
        data: Data,
        papers: Option<(DecisionDocuments, Vec<Leaf>)>,
    ) -> Result<StoredEvent> {
        self.chain(id)?;
        let chain = self.chains.remove(id).ok_or_else(|| Error::bug("a thread is gone"))?;
        let (papers, leaves) =
            papers.map_or((None, Vec::new()), |(papers, leaves)| (Some(papers), leaves));
        let composed = self.compose(&chain, data, papers, leaves);
        self.chains.insert(*id, chain);
        let (commit, stamped) = composed?;
        self.push(id, commit, stamped)
    }

    fn push(
        &mut self,
        id: &ObjectId,
        commit: ObjectId,
        stamped: StoredEvent,
    ) -> Result<StoredEvent> {
        match &stamped.event.data {
            Data::Propose(propose) => self.is_stacked |= propose.on.is_some(),
            Data::Revise(revise) => {
                self.is_stacked |= revise.on.is_some();
                self.revised.insert(*id);
            }
            _ => {}
        }
        self.touched.insert(*id);
        let chain = self.chain(id)?;
        chain.parents = vec![commit];
        chain.seen.push(stamped.clone());
        chain.is_ahead = true;
        Ok(stamped)
    }

    fn compose(
        &mut self,
        chain: &Chain,
        data: Data,
        papers: Option<DecisionDocuments>,
        mut leaves: Vec<Leaf>,
    ) -> Result<(ObjectId, StoredEvent)> {
        let (actor, store) = (self.actor.clone(), self.store);
        let agent = store.run.clone().filter(|_| actor.kind == ActorKind::Agent);
        let mut event = Event { actor, agent, clone: chain.clone.clone(), time: self.now, data };
        let mut short = event.clone();
        if let Some(list) = short.take_list()?.filter(|list| list.len() > LONGEST_INLINE) {
            if list.len() > MAX_LIST {
                return Err(too_long(list.len(), MAX_LIST));
            }
            let id = self.batch.add(Kind::Blob, &list)?;
            let named = BlobRef { id: id.to_string(), sha256: crate::sha256::hex(&list) };
            short.name_list(named.clone());
            event.name_list(named);
            let name = if matches!(event.data, Data::Patch(_)) { "written" } else { "changes" };
            leaves.push(file(name, id));
        } else {
            short.clone_from(&event);
        }
        for change in event.data.changes() {
            self.side(&mut leaves, "before", &change.path, change.before.as_ref())?;
            self.side(&mut leaves, "after", &change.path, change.after.as_ref())?;
        }
        // A person may not have committed the file as it was before a shared direct patch: it stays
        // here.
        if let Data::Patch(patch) = &event.data
            && chain.space == Space::Private
        {
            for written in &patch.written {
                self.side(&mut leaves, "before", &written.path, written.before.as_ref())?;
                self.side(&mut leaves, "after", &written.path, written.after.as_ref())?;
            }
        }
        let tree = match &leaves[..] {
            [] => self.batch.add_tree(&Tree::empty())?,
            leaves => {
                trees::edit(store.repository().repo(), &mut self.batch, Tree::empty(), leaves)?
            }
        };
        let line = short.to_line()?;
        let mut headers: Vec<(&str, Vec<u8>)> = vec![("aye-event", line.clone())];
        if let Some(papers) = &papers {
            headers.push(("aye-statement", papers.statement.to_line()?));
        }
        let (who, seconds) = (&event.actor, event.time.timestamp());
        let message = message(chain, &event);
        let commit =
            trees::commit(&mut self.batch, tree, &chain.parents, who, seconds, &headers, &message)?;
        let parents = chain.parents.iter().map(ToString::to_string).collect();
        let sha256 = crate::sha256::hex(&line);
        Ok((
            commit,
            StoredEvent { id: commit.to_string(), sha256, parents, event, documents: papers },
        ))
    }

    /// Adds content to the tree, if it is here: the content of a direct patch need not be.
    pub(super) fn side(
        &self,
        leaves: &mut Vec<Leaf>,
        top: &str,
        path: &RepoPath,
        entry: Option<&Entry>,
    ) -> Result<()> {
        let Some(entry) = entry else { return Ok(()) };
        let id = object_id(&entry.id)?;
        if self.added.contains(&id) || self.store.repository().has(&entry.id) {
            leaves.push((trees::components(&[top], path), Some((id, entry.file_mode()))));
        }
        Ok(())
    }
}

/// The blob `id` at the top of an event's tree.
pub(super) fn file(name: &str, id: ObjectId) -> Leaf {
    (vec![BString::from(name)], Some((id, crate::changeset::Mode::Regular)))
}

fn too_long(size: usize, limit: usize) -> Error {
    let why = format!("its list of files would have {size} bytes, over the limit of {limit}");
    Error::new(&error_codes::SIZE_LIMIT, why).with("limit", limit).hint(
        "make several proposals of it, or give whole files (--content-file, \"content\") instead of old and \
         new text",
    )
}

/// The message for readers of `git log`: the kind, and the thread's title.
fn message(chain: &Chain, event: &Event) -> String {
    let first = chain.seen.first().map_or(event, |first| &first.event);
    let title = match &first.data {
        Data::Propose(propose) => {
            let line = state::title(propose.description.as_deref());
            let path =
                || first.data.changes().first().map(|change| change.path.display().to_string());
            line.filter(|line| !line.trim().is_empty()).map(str::to_owned).or_else(path)
        }
        Data::Plan(plan) => plan.get("branch").and_then(|it| it.as_str()).map(str::to_owned),
        Data::Patch(patch) => patch.written.first().map(|file| file.path.display().to_string()),
        _ => None,
    };
    let title: String = title.unwrap_or_default().trim().chars().take(MOST_OF_A_TITLE).collect();
    crate::text::one_line(&format!("{}: {title}", event.data.kind()))
        .trim_end_matches([':', ' '])
        .to_owned()
}
