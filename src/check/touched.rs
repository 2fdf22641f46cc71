//! Pending proposals whose files are being changed by something else.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Concern, FailOn, Scope};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::{Proposal, Status};
use crate::render::report::Finding;
use crate::store::{Filter, View};

/// Pending proposals by the files they change.
#[derive(Debug, Default)]
pub struct Pending {
    proposals: Vec<(Proposal, String)>,
    paths: BTreeMap<RepoPath, Vec<usize>>,
}

impl Pending {
    /// Reads those of `scope`, with their files of it; `except` are ids to leave out (an apply
    /// that is itself committing).
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn read(view: &View, now: DateTime<Utc>, scope: &Scope, except: &[String]) -> Result<Self> {
        let filter =
            Filter { subject: scope.kind, status: Some(Status::Pending), ..Filter::default() };
        let mut pending = Self::default();
        for summary in view.proposals(&filter, now)? {
            if except.iter().any(|id| id == summary.id.as_str()) {
                continue;
            }
            let proposal = view.proposal(&summary.id)?;
            if !scope.takes(&proposal) {
                continue;
            }
            let index = pending.proposals.len();
            for change in proposal.current().changes.iter().filter(|c| scope.covers(&c.path)) {
                pending.paths.entry(change.path.clone()).or_default().push(index);
            }
            let short = summary.id.as_str().chars().take("prop_".len() + summary.prefix.max(4));
            pending.proposals.push((proposal, short.collect()));
        }
        Ok(pending)
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.proposals.is_empty()
    }

    /// Those that were approved and are pending still.
    pub fn approved(&self) -> impl Iterator<Item = &Proposal> {
        let approved = |proposal: &&Proposal| proposal.approvals_in_force().next().is_some();
        self.proposals.iter().map(|(proposal, _)| proposal).filter(approved)
    }

    /// A finding per proposal that changes one of `paths`, at the first such path. `who` says
    /// what touches it: `the staged changes`, `commit 1234567`.
    pub fn findings<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a [u8]>,
        who: &str,
        fail_on: &FailOn,
    ) -> Vec<Finding> {
        let mut seen = vec![false; self.proposals.len()];
        let mut found = Vec::new();
        for path in paths {
            let Ok(path) = RepoPath::from_tree(path) else { continue };
            for index in self.paths.get(&path).into_iter().flatten() {
                if std::mem::replace(&mut seen[*index], true) {
                    continue;
                }
                let (proposal, short) = &self.proposals[*index];
                let message = format!(
                    "{who} touch{} {}, which {} by {} would change",
                    if who.starts_with("commit") { "es" } else { "" },
                    path.display(),
                    proposal.id,
                    proposal.proposed_by
                );
                found.push(
                    fail_on
                        .finding(Concern::TouchesPending, message)
                        .hint(format!("aye review {short}"))
                        .path(path.as_bstr())
                        .proposal(proposal.id.as_str()),
                );
            }
        }
        found
    }
}
