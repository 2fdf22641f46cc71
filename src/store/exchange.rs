//! Refs that clones exchange through a remote.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::refs::{self, Name, Role};
use super::thread::{Thread, Threads, Tip};
use super::{Source, Space, Store, ThreadFault, View, space};
use crate::error::Result;
use crate::proposal::ProposalId;

/// Refs with their targets, by name.
pub type Refs = BTreeMap<String, ObjectId>;

/// The file in `.git/aye` that exists if a remote was fetched from and had no event.
const EMPTY_REMOTE: &str = "remote-is-empty";

/// A thread's id, and tips that a chunk has of it.
pub type ClosedThread = (ObjectId, Vec<ObjectId>);

/// A clone's ref at a remote.
#[derive(Clone, Debug)]
pub struct RemoteRef {
    pub clone: String,
    pub role: Role,
    pub id: ObjectId,
}

impl Store {
    /// This clone's shared refs, by their names below `refs/aye/p/`.
    pub fn shared_refs(&self) -> Result<Refs> {
        let mut found = Refs::new();
        refs::each(self.repository(), refs::SHARED, |name, at| {
            found.insert(name[refs::SHARED.len()..].to_owned(), at);
        })?;
        Ok(found)
    }

    /// Records that a remote was fetched from and had no event.
    ///
    /// # Errors
    /// `private_dir_unsafe`.
    pub fn note_empty_remote(&self) -> Result<()> {
        if self.has_fetched_nothing()? {
            return Ok(());
        }
        self.repository().make_private()?.replace(EMPTY_REMOTE, b"", false)
    }

    /// Whether a remote was fetched from and had no event.
    ///
    /// # Errors
    /// `private_dir_unsafe`.
    pub fn has_fetched_nothing(&self) -> Result<bool> {
        let Some(private) = self.repository().private()? else { return Ok(false) };
        Ok(private.read(EMPTY_REMOTE)?.is_some())
    }

    /// Names of shared refs of this clone that lead to a damaged thread.
    pub fn damaged_refs(&self) -> Result<BTreeSet<String>> {
        let faults = self.view()?.troubles()?.into_iter();
        let faults = faults.filter(|fault| fault.code == super::codes::THREAD_DAMAGED.id);
        let name =
            |it: ThreadFault| it.name.strip_prefix(refs::SHARED).unwrap_or(&it.name).to_owned();
        Ok(faults.map(name).collect())
    }

    /// What was fetched from `remote`, by full name. Refs of another remote whose name begins with
    /// this one's are not part of it.
    pub fn fetched_refs(&self, remote: &str) -> Result<Refs> {
        let others: Vec<String> = space::remotes(self.repository().repo())
            .into_iter()
            .filter(|other| other.starts_with(&format!("{remote}/")))
            .map(|other| format!("{}{other}/", refs::REMOTES))
            .collect();
        let mut found = Refs::new();
        refs::each(self.repository(), &format!("{}{remote}/", refs::REMOTES), |name, at| {
            if !others.iter().any(|other| name.starts_with(other)) {
                found.insert(name, at);
            }
        })?;
        Ok(found)
    }

    pub fn kept_refs(&self) -> Result<Refs> {
        let mut found = Refs::new();
        refs::each(self.repository(), refs::KEPT, |name, at| _ = found.insert(name, at))?;
        Ok(found)
    }

    /// Parses the full name of a fetched ref; `None` for other names.
    pub fn remote_ref(&self, name: &str) -> Option<RemoteRef> {
        let repo = self.repository().repo();
        let Name { source, role, id, .. } =
            Name::parse(name, &space::remotes(repo), repo.object_hash())?;
        let Source::Fetched { clone, .. } = source else { return None };
        Some(RemoteRef { clone, role, id })
    }

    /// The name under which the lost tip `at` of the fetched ref `name` is kept.
    pub fn kept_name(&self, remote: &str, name: &str, at: &ObjectId) -> Option<String> {
        let RemoteRef { clone, .. } = self.remote_ref(name)?;
        let (_, rest) = name.split_once(&format!("/{clone}/"))?;
        Some(format!("{}{remote}/{clone}.{}/{rest}", refs::KEPT, at.to_hex_with_len(8)))
    }

    /// The threads that this clone has purged.
    pub fn purged_threads(&self) -> Result<BTreeSet<ObjectId>> {
        Ok(Threads::new(self).purged()?.copied().collect())
    }

    /// The threads of the chunk `id`, which a ref `name` has.
    ///
    /// # Errors
    /// `thread_damaged`, `thread_incomplete`.
    pub fn chunk_threads(&self, name: &str, id: ObjectId) -> Result<Vec<ClosedThread>> {
        let (name, source) = (name.to_owned(), Source::ClosedElsewhere);
        let threads = Threads::new(self);
        threads.ledger()?.entries(&Tip { name, id, source, space: Space::Shared })
    }
}

impl View<'_> {
    /// The events of `thread` that refs and chunks of `remote` are at, as last fetched or pushed.
    fn places_at(&self, thread: &Thread, remote: &str) -> Result<Vec<usize>> {
        let ledger = self.threads.ledger()?;
        let below = format!("{}{remote}/", refs::REMOTES);
        let is_there = |tip: &&Tip| match &tip.source {
            Source::Fetched { remote: of, .. } => of == remote,
            // A chunk's commit is the last part of the names of its refs.
            Source::Closed | Source::ClosedElsewhere => {
                let chunk = tip.name.rsplit('/').next().and_then(|hex| hex.parse().ok());
                let names = chunk.map(|chunk: ObjectId| ledger.names_of(&chunk));
                names.unwrap_or_default().iter().any(|name| name.starts_with(&below))
            }
            Source::Own | Source::Kept => false,
        };
        let tips = self.threads.tips(&thread.id)?;
        let there = tips.iter().filter(is_there);
        Ok(there.filter_map(|tip| thread.history.at(&tip.id.to_string())).collect())
    }

    /// True if `remote` has `event` of `id`.
    pub fn is_at_remote(&self, id: &ProposalId, event: &str, remote: &str) -> Result<bool> {
        let thread = self.thread(id)?;
        let Some(event) = thread.history.at(event) else { return Ok(false) };
        let there = self.places_at(&thread, remote)?;
        Ok(there.into_iter().any(|at| at == event || thread.history.saw(at, event)))
    }

    /// True if this clone has events of the shared proposal `id` that `remote` does not have. Never
    /// true for a private one.
    pub fn is_unsent(&self, id: &ProposalId, remote: &str) -> Result<bool> {
        let thread = self.thread(id)?;
        let there = self.places_at(&thread, remote)?;
        let is_there =
            |own: usize| there.iter().any(|at| *at == own || thread.history.saw(*at, own));
        let tips = self.threads.tips(&thread.id)?;
        let own = tips.iter().filter(|tip| tip.is_own() && tip.space == Space::Shared);
        let mut own = own.filter_map(|tip| thread.history.at(&tip.id.to_string()));
        Ok(thread.space == Space::Shared && own.any(|own| !is_there(own)))
    }
}
