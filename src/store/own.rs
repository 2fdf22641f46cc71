//! Which lanes are this clone's own, and which of them it goes on writing.

use std::collections::BTreeSet;

use super::audience::default_remotes;
use super::refs::{self, Audience};
use super::{Store, View, place};
use crate::error::Result;

/// A lane of this clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnLane {
    /// Whom it is for.
    pub(super) audience: Audience,
    /// Its id.
    pub(super) lane: String,
    /// Its ref: of its newest epoch that is here.
    pub(super) name: String,
}

/// This clone's lanes, one for each audience of which `names` has a ref, and the one for the default
/// remote; as far as they are noted.
pub(super) fn lanes<'n>(
    store: &Store,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Vec<OwnLane> {
    let own = |audience: Audience, lane: String| {
        let newest = refs::newest(names.clone(), &audience, &lane).map(str::to_owned);
        let name = newest.unwrap_or_else(|| audience.lane(&lane, 1));
        OwnLane { audience, lane, name }
    };
    if let Some(name) = store.named_lane() {
        return vec![own(Audience::Default, name.to_owned())];
    }
    let noted = noted(store, names.clone().filter_map(Audience::of));
    noted.into_iter().map(|(audience, lane)| own(audience, lane)).collect()
}

/// The ids of this clone's lanes for the default remote and for `audiences`, as far as they are noted.
fn noted(store: &Store, audiences: impl Iterator<Item = Audience>) -> Vec<(Audience, String)> {
    let Ok(Some(private)) = store.repository().private() else { return Vec::new() };
    let audiences: BTreeSet<Audience> = audiences.chain([Audience::Default]).collect();
    let lane = |audience: Audience| {
        let lane = place::noted(&private, &audience).ok()??;
        Some((audience, lane))
    };
    audiences.into_iter().filter_map(lane).collect()
}

impl Store {
    /// The names of this clone's lanes: that for the default remote, for nobody else, and for the
    /// other remotes that it has.
    pub fn own_lanes(&self) -> Vec<String> {
        if let Some(name) = self.named_lane() {
            return vec![name.to_owned()];
        }
        self.noted_lanes().into_iter().map(|(_, lane)| lane).collect()
    }

    /// As [`View::lanes_written`], by the present state.
    ///
    /// # Errors
    /// As [`Store::view`]; `private_dir_unsafe`, `io_error`.
    pub fn lanes_written(&self) -> Result<Vec<String>> {
        self.view()?.lanes_written(self)
    }

    /// This clone's lanes as they are noted, each with its audience.
    pub(super) fn noted_lanes(&self) -> Vec<(Audience, String)> {
        let home = default_remotes(&self.repository().repo);
        let remotes = self.repository().repo.remote_names();
        let others = remotes.iter().map(ToString::to_string);
        let others = others.filter(|name| home.as_ref().is_some_and(|home| !home.contains(name)));
        let audiences = std::iter::once(Audience::Private).chain(others.map(Audience::Remote));
        noted(self, audiences)
    }
}

impl View {
    /// Whether `lane`, this clone's own for `audience`, is one that it does not go on writing: somebody else
    /// writes it too, or its ref is gone, and others may have what it says.
    pub(super) fn is_over(&self, store: &Store, audience: &Audience, lane: &str) -> bool {
        self.is_shared(lane) || self.is_gone(store, audience, lane)
    }

    /// Whether `lane`, this clone's own for `audience`, was begun here and has no ref any more.
    pub(super) fn is_gone(&self, store: &Store, audience: &Audience, lane: &str) -> bool {
        let names = self.lanes.iter().map(|lane| lane.name.as_str());
        let is_begun = || {
            let private = store.repository().private().ok().flatten();
            private.is_some_and(|it| place::is_here(&it, audience, lane).unwrap_or_default())
        };
        refs::newest(names, audience, lane).is_none() && is_begun()
    }

    /// The remotes for which this clone has written a lane and that `store` does not have, as after
    /// `git remote rename`: what was said for them cannot be sent.
    pub fn remotes_gone(&self, store: &Store) -> Vec<String> {
        let names = store.repository().repo.remote_names();
        let own = self.own_lanes(store).iter().map(|own| &own.audience);
        let remotes = own.filter_map(|audience| match audience {
            Audience::Remote(name) => Some(name.clone()),
            Audience::Default | Audience::Private => None,
        });
        remotes.filter(|remote| !names.iter().any(|name| **name == *remote.as_bytes())).collect()
    }

    /// The remotes that are the default one now and for which this clone has written a lane while another one was:
    /// what sends the lanes for the default remote does not send that. Not those that have all of it.
    pub fn remotes_come_home(&self, store: &Store) -> Vec<String> {
        let home = default_remotes(&store.repository().repo).unwrap_or_default();
        let tip = |name: &str| self.lanes.iter().find(|lane| lane.name == name).map(|it| it.tip);
        let own = self.own_lanes(store).iter();
        let left = own.filter_map(|own| match &own.audience {
            Audience::Remote(remote) if home.contains(remote) => {
                let sent = own.name.replacen(refs::FOR, refs::REMOTES, 1);
                (tip(&sent) != tip(&own.name)).then(|| remote.clone())
            }
            _ => None,
        });
        left.collect()
    }

    /// Those of [`Store::own_lanes`] that the next events go to: not one that was copied here, nor one that
    /// somebody else writes too, which the next write leaves. What a proposer alone may do is theirs who
    /// have such a lane: said in another one, it would not count.
    ///
    /// # Errors
    /// `private_dir_unsafe`, `io_error`.
    pub fn lanes_written(&self, store: &Store) -> Result<Vec<String>> {
        if let Some(name) = store.named_lane() {
            return Ok(vec![name.to_owned()]);
        }
        let Some(private) = store.repository().private()? else { return Ok(Vec::new()) };
        let mut lanes = Vec::new();
        for (audience, lane) in store.noted_lanes() {
            if !place::is_copy(&private, &audience, &lane)?
                && !self.is_over(store, &audience, &lane)
            {
                lanes.push(lane);
            }
        }
        Ok(lanes)
    }
}
