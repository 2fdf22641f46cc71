//! This clone's directory at a remote, compared with its own refs.

use std::collections::BTreeSet;

use gix::ObjectId;

use super::reach;
use crate::error::Result;
use crate::store::{Refs, RemoteRef, Role, Store};

/// Names below `refs/aye/p/` here, and below `refs/aye/by/<clone>/` there.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// To be sent, at these tips.
    pub(super) send: Refs,
    /// To be deleted there, if they are still at these tips.
    pub(super) drop: Refs,
    /// Refs there that lead to events which this clone has never written.
    pub(super) foreign: Vec<String>,
}

impl Directory {
    /// Compares the refs `own` with those in `fetched` below `above`. Leaves out the names in
    /// `damaged`: nobody could read them, and the remote may have them whole.
    pub(super) fn compare(
        store: &Store,
        fetched: &Refs,
        above: &str,
        own: &Refs,
        damaged: &BTreeSet<String>,
    ) -> Result<Self> {
        let mut differing = Vec::new();
        let mut there = Refs::new();
        for (name, at) in fetched {
            let Some(rest) = name.strip_prefix(above) else { continue };
            if own.get(rest) != Some(at)
                && !damaged.contains(rest)
                && let Some(found) = store.remote_ref(name)
            {
                differing.push((rest.to_owned(), *at, found, name.clone()));
            }
            there.insert(rest.to_owned(), *at);
        }
        let mut found = Self::default();
        if !differing.is_empty() {
            found.settle(store, own, &there, differing)?;
        }
        let is_other = |rest: &&String| there.get(*rest) != own.get(*rest);
        let is_refused = |rest| found.foreign.contains(rest) || damaged.contains(rest);
        let send = own.iter().filter(|(rest, _)| is_other(rest) && !is_refused(rest));
        found.send = send.map(|(rest, at)| (rest.clone(), *at)).collect();
        Ok(found)
    }

    fn settle(
        &mut self,
        store: &Store,
        own: &Refs,
        there: &Refs,
        differing: Vec<(String, ObjectId, RemoteRef, String)>,
    ) -> Result<()> {
        let purged = store.purged_threads()?;
        // Each ref with the tips that have to be known here.
        let mut of_refs = Vec::new();
        for (rest, at, found, name) in differing {
            let tips = match found.role {
                Role::Chunk => match store.chunk_threads(&name, at) {
                    Ok(threads) => threads
                        .into_iter()
                        .filter(|(id, _)| !purged.contains(id))
                        .flat_map(|(_, tips)| tips)
                        .collect(),
                    // Not a chunk: junk of somebody else's, which readers set aside.
                    Err(_) => continue,
                },
                Role::Thread if purged.contains(&found.id) => Vec::new(),
                Role::Thread | Role::Tombstone => vec![at],
            };
            of_refs.push((rest, at, tips));
        }
        let tips = of_refs.iter().flat_map(|(.., tips)| tips);
        let Some(unknown) = reach::unreached(store, tips, own.values())? else { return Ok(()) };
        // A ref goes only after the ledger that has its events is there.
        let is_chunk = |rest: &&String| rest.starts_with("closed/");
        let is_sent = own.keys().filter(is_chunk).all(|chunk| there.contains_key(chunk));
        let own_names: BTreeSet<&String> = own.keys().collect();
        for (rest, at, tips) in of_refs {
            if tips.iter().any(|tip| unknown.contains(tip)) {
                self.foreign.push(rest);
            } else if is_sent && !own_names.contains(&rest) {
                self.drop.insert(rest, at);
            }
        }
        Ok(())
    }
}
