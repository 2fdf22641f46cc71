//! Commits held to the proposals they touch or name.

use chrono::{DateTime, Utc};

use super::approved::{files, first_difference};
use super::commits::{self, Commit};
use super::touched::Pending;
use super::{Concern, FailOn, Scope};
use crate::error::Result;
use crate::proposal::{Status, codes};
use crate::render::report::Finding;
use crate::store::{Store, View};

/// Findings over the commits that `arguments` of `git rev-list` select: those that touch files
/// with pending proposals, and those that claim a proposal of `scope` and do not hold it.
///
/// # Errors
/// `invalid_range`; if the store or a commit cannot be read.
pub fn findings(
    store: &Store,
    view: &View,
    pending: &Pending,
    scope: &Scope,
    arguments: &[&str],
    now: DateTime<Utc>,
    fail_on: &FailOn,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for id in commits::list(store, arguments)? {
        let commit = commits::read(store, id)?;
        if !pending.is_empty() {
            let changes = commits::own_changes(store, &commit)?;
            let who = format!("commit {}", commit.short());
            found.extend(pending.findings(changes.keys().map(|p| p.as_slice()), &who, fail_on));
        }
        for name in &commit.proposal_ids {
            found.extend(claim(store, view, scope, &commit, name, now, fail_on)?);
        }
    }
    Ok(found)
}

/// What is wrong with the claim of `commit` to hold the proposal `name`.
fn claim(
    store: &Store,
    view: &View,
    scope: &Scope,
    commit: &Commit,
    name: &str,
    now: DateTime<Utc>,
    fail_on: &FailOn,
) -> Result<Option<Finding>> {
    let short = commit.short();
    let proposal = match view.find(name) {
        Ok(proposal) => proposal,
        Err(error) if error.code().exit != crate::error::Exit::Bug => {
            let message = if error.is(&codes::AMBIGUOUS_ID) {
                format!("commit {short} names '{name}', which several proposals begin with")
            } else {
                format!("commit {short} names the proposal '{name}', which is not known here")
            };
            let hint = "fetch the lane that has it (git fetch origin '+refs/aye/log/*:refs/aye/remotes/origin/*'), or correct the trailer";
            return Ok(Some(fail_on.finding(Concern::UnknownProposal, message).hint(hint)));
        }
        Err(error) => return Err(error),
    };
    if !scope.takes(&proposal) {
        return Ok(None);
    }
    let id = proposal.id.as_str();
    let status = proposal.status(now);
    if status != Status::Applied {
        let message = format!("commit {short} names {id}, which is {}", status.as_str());
        let hint = match status {
            Status::Pending => format!("aye review {id}"),
            _ => format!("aye show {id}; take the trailer out of the commit"),
        };
        return Ok(Some(fail_on.finding(Concern::NotApplied, message).hint(hint).proposal(id)));
    }
    let mut approved = files(&proposal);
    approved.retain(|(path, _)| scope.covers(path));
    let lookup =
        |path: &crate::changeset::RepoPath| commits::entry_at(store, Some(commit.tree), path);
    let different = first_difference(view, now, &proposal, &approved, lookup)?;
    Ok(different.map(|(path, _)| {
        let message =
            format!("commit {short} does not hold {} as {id} was approved", path.display());
        fail_on
            .finding(Concern::ContentDiffers, message)
            .hint(format!("git diff {short} and aye diff {id} show both; propose what differs"))
            .path(path.as_bstr())
            .proposal(id)
    }))
}
