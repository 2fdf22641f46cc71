//! Finds commits of a proposal by their trailer.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use gix::revision::walk::{Info, Sorting};
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::proposal::ProposalId;
use crate::proposal::trailers::named;
use crate::repository::Repository;

/// Commits, and reflog entries, examined.
const MOST: usize = 1_000;

pub fn is_of(repo: &gix::Repository, id: ObjectId, proposal: &ProposalId) -> bool {
    let commit = repo.find_commit(id);
    commit.is_ok_and(|it| named(it.message_raw_sloppy()).any(|id| id == proposal.as_str()))
}

fn newest(repository: &Repository) -> impl Iterator<Item = Info<'_>> {
    let sorting = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let head = repository.head_commit();
    let walk = head.map(|head| repository.repo().rev_walk([head]).sorting(sorting));
    let walk = walk.and_then(|walk| walk.all().ok());
    walk.into_iter().flatten().take(MOST).map_while(Result::ok)
}

/// HEAD's newest commit that names `proposal`; `since` is in Unix seconds.
pub fn commit_of(repository: &Repository, proposal: &ProposalId, since: i64) -> Option<ObjectId> {
    // A newer commit may carry an older date, so the walk continues.
    let is_recent = |info: &Info<'_>| info.commit_time.is_some_and(|time| time >= since);
    let found = newest(repository)
        .find(|info| is_of(repository.repo(), info.id, proposal) && is_recent(info));
    found.map(|info| info.id)
}

/// True if HEAD was at a commit of `proposal` since then. Git writes the reflog entry before it
/// moves the ref, so an entry counts only if HEAD is there or moved on from there.
pub fn head_was_at(repo: &gix::Repository, proposal: &ProposalId, since: i64) -> bool {
    let Ok(head) = repo.head() else { return false };
    let mut log = head.log_iter();
    let Ok(Some(entries)) = log.rev() else { return false };
    let mut reached = repo.head_id().ok().map(gix::Id::detach);
    entries
        .take(MOST)
        .map_while(Result::ok)
        .take_while(|entry| entry.signature.time.seconds >= since)
        .any(|entry| {
            let after = reached.replace(entry.previous_oid);
            after == Some(entry.new_oid) && is_of(repo, entry.new_oid, proposal)
        })
}

/// The newest commit per proposal, among the last few and those after `since`: every apply asks.
pub fn recent_commits_of(
    repository: &Repository,
    proposals: &BTreeSet<&str>,
    since: i64,
) -> BTreeMap<String, ObjectId> {
    /// Commit dates may be wrong.
    const FEW: usize = 8;
    /// Clock error.
    const SLACK: i64 = 24 * 60 * 60;
    let is_recent = |time: Option<i64>| time.is_some_and(|time| time >= since - SLACK);
    let recent = newest(repository)
        .enumerate()
        .take_while(|(at, info)| *at < FEW || is_recent(info.commit_time));
    let mut found = BTreeMap::new();
    for (_, info) in recent {
        let Ok(commit) = repository.repo().find_commit(info.id) else { continue };
        for id in named(commit.message_raw_sloppy()).filter(|id| proposals.contains(id)) {
            found.entry(id.to_owned()).or_insert(info.id);
        }
    }
    found
}
