//! What to run for each remote when a lane of this clone has begun an epoch: what is sent there, and what is
//! removed.
//!
//! Nobody knows here what a remote has: an epoch, or an archive, of which an earlier answer has told may never have
//! been sent or removed. So all archives are sent, and all earlier epochs removed; git only warns of a ref that is
//! not there.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::store::{Audience, Store};

/// A remote that may have earlier epochs of a lane.
#[derive(Debug)]
pub struct Remote {
    /// Its name.
    pub remote: String,
    /// What to run, in this order.
    pub commands: Vec<String>,
}

/// What each remote gets and loses.
#[derive(Debug, Default)]
pub(super) struct Sending {
    remotes: BTreeMap<String, Refs>,
}

/// Refspecs, and refs at a remote.
#[derive(Debug, Default)]
struct Refs {
    sent: Vec<String>,
    removed: Vec<String>,
}

impl Sending {
    /// A lane that goes on in `epoch`, for each remote that it is sent to. A private one is nowhere else.
    pub(super) fn epoch(
        &mut self,
        store: &Store,
        audience: &Audience,
        lane: &str,
        epoch: u64,
    ) -> Result<()> {
        let archives = if store.has_archives(audience, lane)? {
            Some(audience.archives_refspec(lane))
        } else {
            None
        };
        let earlier = audience.earlier_there(lane, epoch);
        for remote in store.remotes_of(audience) {
            let refs = self.remotes.entry(remote).or_default();
            let sent = std::iter::once(audience.refspec()).chain(archives.clone());
            sent.for_each(|refspec| add(&mut refs.sent, refspec));
            earlier.iter().for_each(|name| add(&mut refs.removed, name.clone()));
        }
        Ok(())
    }

    /// A ref that is to go at a remote.
    pub(super) fn removed(&mut self, remote: &str, name: String) {
        add(&mut self.remotes.entry(remote.to_owned()).or_default().removed, name);
    }

    /// The commands, those that send before those that remove.
    pub(super) fn commands(self) -> Vec<Remote> {
        let remotes = self.remotes.into_iter().filter(|(_, refs)| !refs.removed.is_empty());
        let commands = remotes.map(|(remote, refs)| {
            let sent = refs.sent.iter().map(|refspec| format!("git push {remote} '{refspec}'"));
            let removed: String = refs.removed.iter().map(|name| format!(" :{name}")).collect();
            let commands = sent.chain([format!("git push {remote}{removed}")]).collect();
            Remote { remote, commands }
        });
        commands.collect()
    }
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}
