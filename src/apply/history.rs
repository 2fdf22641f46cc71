//! Commits that were made for a proposal, found by their trailer.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use gix::revision::walk::{Info, Sorting};
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::proposal::ProposalId;
use crate::proposal::trailers::named;
use crate::repository::Repository;

/// How many commits, and entries of a reflog, are looked at.
const MOST: usize = 1_000;

/// True if the commit `id` names `proposal` in a trailer.
pub fn is_of(repo: &gix::Repository, id: ObjectId, proposal: &ProposalId) -> bool {
    let commit = repo.find_commit(id);
    commit.is_ok_and(|it| named(it.message_raw_sloppy()).any(|id| id == proposal.as_str()))
}

/// The commits that HEAD has, the newest first.
fn newest(repository: &Repository) -> impl Iterator<Item = Info<'_>> {
    let sorting = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let head = repository.head_commit();
    let walk = head.map(|head| repository.repo().rev_walk([head]).sorting(sorting));
    let walk = walk.and_then(|walk| walk.all().ok());
    walk.into_iter().flatten().take(MOST).map_while(Result::ok)
}

/// The newest commit that HEAD has, not older than `since` (seconds since 1970), and that names
/// `proposal`.
pub fn commit_of(repository: &Repository, proposal: &ProposalId, since: i64) -> Option<ObjectId> {
    // Not cut off at `since`: a commit on top may have a date of its own.
    let is_recent = |info: &Info<'_>| info.commit_time.is_some_and(|time| time >= since);
    let found = newest(repository)
        .find(|info| is_of(repository.repo(), info.id, proposal) && is_recent(info));
    found.map(|info| info.id)
}

/// True if HEAD was once, not before `since`, at a commit that names `proposal`, wherever it is now. Git writes the
/// entry before it moves the ref, so that it counts only if HEAD is there, or has gone on from there.
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

/// Of each of `proposals` that commits of HEAD name the newest one, among the last few and those that are not much
/// older than `since` (seconds since 1970): every apply asks.
pub fn recent_commits_of(
    repository: &Repository,
    proposals: &BTreeSet<&str>,
    since: i64,
) -> BTreeMap<String, ObjectId> {
    /// Commits may have dates of their own.
    const FEW: usize = 8;
    /// What a clock may be wrong by.
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
