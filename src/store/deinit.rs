//! Everything that aye keeps of a repository, counted and removed.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::lock::Lock;
use super::{Audience, Filter, Store, View, projection, refs};
use crate::error::{Error, Result};
use crate::proposal::event::Subject;
use crate::proposal::{ProposalId, Status, codes};
use crate::repository::exclude::{self, EXCLUDED};

/// What a repository holds of aye's.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Every ref below `refs/aye/`.
    pub refs: Vec<String>,
    /// How many lanes there are, this clone's own and those of others.
    pub lanes: usize,
    /// The pending proposals.
    pub pending: Vec<ProposalId>,
    /// How many proposals were decided or have expired.
    pub decided: usize,
    /// How many of them there are for each audience.
    pub audiences: Vec<(Audience, usize)>,
    /// No fetched ref has all of one of this clone's own lanes: what it says is nowhere else, as far
    /// as this clone knows.
    pub only_here: bool,
    /// Where the refs of lanes are, those aside that are only kept.
    tips: BTreeMap<String, String>,
}

impl Held {
    /// Refuses where `now` has something that this has not, which is what a person was shown: nobody has agreed
    /// to lose it.
    ///
    /// # Errors
    /// `changed_since_shown`.
    pub fn require_as_shown(&self, now: &Self) -> Result<()> {
        match now.tips.iter().find(|(name, tip)| self.tips.get(*name) != Some(tip)) {
            None => Ok(()),
            Some((name, _)) => Err(Error::new(
                &codes::CHANGED_SINCE_SHOWN,
                format!("{name} has new events since it was shown"),
            )
            .hint("look again: aye init --remove --dry-run")),
        }
    }
}

impl Store {
    /// What there is to remove.
    ///
    /// # Errors
    /// `git_failed`, and those of the store.
    pub fn held(&self, view: &View, now: DateTime<Utc>) -> Result<Held> {
        let listed = self
            .repository()
            .git()?
            .args(["for-each-ref", "--format=%(refname)", "refs/aye"])
            .text()?;
        let (mut pending, mut decided) = (Vec::new(), 0);
        for summary in view.proposals(&Filter::default(), now)? {
            match summary.status {
                Status::Pending => pending.push(summary.id),
                _ => decided += 1,
            }
        }
        let positions = view.positions()?;
        let sent = |lane: &str| {
            positions
                .iter()
                .filter(|(name, _)| name.starts_with(refs::REMOTES) && refs::lane_of(name) == lane)
                .map(|(_, position)| position.tip.clone())
                .collect::<BTreeSet<_>>()
        };
        let own = view.own_tips(self)?;
        let only_here = own.iter().any(|own| !sent(&own.lane).contains(&own.tip));
        let tips = positions.into_iter().filter(|(name, _)| !name.starts_with(refs::KEPT));
        let tips = tips.map(|(name, position)| (name, position.tip)).collect();
        let refs = listed.lines().map(str::to_owned).collect();
        let audiences = view.lanes_by_audience();
        let lanes = view.count_lanes();
        Ok(Held { refs, lanes, audiences, pending, decided, only_here, tips })
    }

    /// Removes the refs, what stands in the work tree for pending proposals, and the rules by which
    /// git ignores such files, if the lanes are as `shown`. The objects stay until git prunes them.
    ///
    /// # Errors
    /// `changed_since_shown`, `busy`, `git_failed`, and those of the file system. It can be called again then.
    pub fn remove_held(&self, shown: &Held, now: DateTime<Utc>) -> Result<()> {
        let private = self.repository().make_private()?;
        let lock = Lock::acquire(&private, "lock")?;
        let view = self.readable_view()?;
        let held = self.held(&view, now)?;
        shown.require_as_shown(&held)?;
        for id in &held.pending {
            if let Ok(proposal) = view.proposal(id)
                && proposal.subject == Subject::Memory
                && let Some(projector) = self.projector
            {
                projector(self, &proposal, false)?;
            }
            projection::remove(self, id)?;
        }
        projection::remove_empty(self)?;
        let deleted: String = held.refs.iter().map(|name| format!("delete {name}\n")).collect();
        if !deleted.is_empty() {
            // It would keep the lanes that it has seen.
            private.remove("cache.sqlite");
            self.repository()
                .git()?
                .args(["update-ref", "--no-deref", "--stdin"])
                .stdin(deleted)
                .run()?;
        }
        exclude::include(self.repository(), EXCLUDED);
        drop(lock);
        Ok(())
    }

    /// Removes aye's own directory in the git directory. The caller holds the journal's lock.
    ///
    /// # Errors
    /// `private_dir_unsafe` where it is not a directory; the system's refusal.
    pub fn remove_private(&self) -> Result<()> {
        if self.repository().private()?.is_none() {
            return Ok(());
        }
        let path = self.repository().private_dir();
        std::fs::remove_dir_all(&path).map_err(|error| Error::file("remove", &path, &error))
    }
}
