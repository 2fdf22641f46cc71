//! Events that concern a file or directory.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::{Data, ProposalId};
use crate::store::{Filter, LogEntry, View};

pub struct Concern {
    path: RepoPath,
    proposals: BTreeSet<ProposalId>,
}

impl Concern {
    pub fn of(view: &View, path: RepoPath, now: DateTime<Utc>) -> Result<Self> {
        let filter = Filter { path: Some(path.display().to_string()), ..Filter::default() };
        Ok(Self { path, proposals: view.ids_of(&filter, now)?.into_iter().collect() })
    }

    fn has(&self, entry: &LogEntry) -> bool {
        let Data::Patch(patch) = &entry.stamped.event.data else {
            return self.proposals.contains(&entry.id);
        };
        let is_here =
            |path: &RepoPath| *path == self.path || path.parents().any(|above| above == self.path);
        patch.written.iter().any(|file| is_here(&file.path))
    }
}

/// At most `left` events, only of `concern` if given.
pub fn of_path<'p>(
    mut pages: impl Iterator<Item = Result<Vec<LogEntry>>> + 'p,
    concern: Option<&'p Concern>,
    mut left: usize,
) -> impl Iterator<Item = Result<Vec<LogEntry>>> + 'p {
    std::iter::from_fn(move || {
        let page = pages.next().filter(|_| left > 0)?;
        Some(page.map(|mut page| {
            if let Some(concern) = concern {
                page.retain(|entry| concern.has(entry));
            }
            page.truncate(left);
            left -= page.len();
            page
        }))
    })
}
