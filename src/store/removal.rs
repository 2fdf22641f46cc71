//! Counts and removes everything that aye keeps in a repository.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Filter, Source, Space, Store, Tip, View, projection};
use crate::error::{Error, Result};
use crate::proposal::event::Subject;
use crate::proposal::{ProposalId, Status, codes};
use crate::repository::exclude::{self, EXCLUDED};

#[derive(Clone, Debug, Default)]
pub struct Removable {
    pub refs: Vec<String>,
    pub threads: usize,
    pub pending: Vec<ProposalId>,
    pub decided: usize,
    pub spaces: Vec<(Space, usize)>,
    /// A ref of this clone is at no remote, so its events may be nowhere else.
    pub only_here: bool,
    tips: BTreeMap<String, String>,
}

impl Removable {
    /// Refuses if `now` has a ref or target that a person was not shown.
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
    pub fn removable(&self, view: &View<'_>, now: DateTime<Utc>) -> Result<Removable> {
        let git = self.repository().git()?;
        let listed = git.args(["for-each-ref", "--format=%(refname)", "refs/aye"]).text()?;
        let (mut pending, mut decided) = (Vec::new(), 0);
        for summary in view.proposals(&Filter::default(), now)? {
            match summary.status {
                Status::Pending => pending.push(summary.id),
                _ => decided += 1,
            }
        }
        let (threads, ledger) = (&view.threads, view.threads.ledger()?);
        let all = threads.all_ids()?;
        let (mut tips, mut spaces) = (BTreeMap::new(), BTreeMap::new());
        let is_alone = |chunk: &Tip| ledger.names_of(&chunk.id).len() < 2;
        let mut only_here = ledger.chunks().iter().any(|chunk| chunk.is_own() && is_alone(chunk));
        for id in &all {
            let found = threads.tips(id)?;
            *spaces.entry(threads.space(id)?).or_insert(0) += 1;
            let is_elsewhere =
                |own: &Tip| found.iter().any(|tip| !tip.is_own() && tip.id == own.id);
            only_here |= found.iter().any(|tip| tip.source == Source::Own && !is_elsewhere(tip));
            tips.extend(found.into_iter().map(|tip| (tip.name, tip.id.to_string())));
        }
        let refs = listed.lines().map(str::to_owned).collect();
        let spaces = spaces.into_iter().collect();
        Ok(Removable { refs, threads: all.len(), spaces, pending, decided, only_here, tips })
    }

    /// Removes the refs, the projections of pending proposals, and the rules by which git ignores
    /// these, if the threads are as `shown`. Objects stay until git prunes them. A call that failed
    /// can be repeated.
    ///
    /// # Errors
    /// `changed_since_shown`, `busy`, `git_failed`.
    pub fn remove_all(&self, shown: &Removable, now: DateTime<Utc>) -> Result<()> {
        let lock = self.lock()?;
        let view = self.view()?;
        let held = self.removable(&view, now)?;
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
            self.forget_memo();
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

    /// Removes `.git/aye`. The caller holds the journal's lock.
    ///
    /// # Errors
    /// `private_dir_unsafe` if it is not a directory.
    pub fn remove_private(&self) -> Result<()> {
        if self.repository().private()?.is_none() {
            return Ok(());
        }
        let path = self.repository().private_dir();
        std::fs::remove_dir_all(&path).map_err(|error| Error::file("remove", &path, &error))
    }
}
