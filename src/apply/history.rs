//! Commits that were made for a proposal, found by their trailer.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;
use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::proposal::ProposalId;

/// How many commits, and entries of a reflog, are looked at.
const MOST: usize = 1_000;

/// True if the commit `id` names `proposal` in a trailer.
pub fn is_of(repo: &gix::Repository, id: ObjectId, proposal: &ProposalId) -> bool {
    let Ok(commit) = repo.find_commit(id) else { return false };
    let trailer = format!("Proposal-Id: {proposal}");
    commit.message_raw_sloppy().lines().any(|line| line == trailer.as_bytes())
}

/// The newest commit that HEAD has, not older than `since` (seconds since 1970), and that names
/// `proposal`.
pub fn commit_of(repo: &gix::Repository, proposal: &ProposalId, since: i64) -> Option<ObjectId> {
    let head = repo.head_id().ok()?.detach();
    // Not cut off at `since`: a commit on top may have a date of its own.
    let walk = repo.rev_walk([head]).sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst));
    let recent = |id: &ObjectId| {
        let commit = repo.find_commit(*id).ok();
        commit.and_then(|commit| commit.time().ok()).is_some_and(|time| time.seconds >= since)
    };
    let mut ids = walk.all().ok()?.take(MOST).map_while(Result::ok).map(|info| info.id);
    ids.find(|id| is_of(repo, *id, proposal) && recent(id))
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
    repo: &gix::Repository,
    proposals: &BTreeSet<&str>,
    since: i64,
) -> BTreeMap<String, ObjectId> {
    /// Commits may have dates of their own.
    const FEW: usize = 8;
    /// What a clock may be wrong by.
    const SLACK: i64 = 24 * 60 * 60;
    let mut found = BTreeMap::new();
    let Ok(head) = repo.head_id() else { return found };
    let sorting = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let Ok(walk) = repo.rev_walk([head.detach()]).sorting(sorting).all() else { return found };
    let commits = walk.take(MOST).map_while(Result::ok).enumerate();
    let is_recent = |time: Option<i64>| time.is_some_and(|time| time >= since - SLACK);
    for (_, info) in commits.take_while(|(at, info)| *at < FEW || is_recent(info.commit_time)) {
        let Ok(commit) = repo.find_commit(info.id) else { continue };
        for line in commit.message_raw_sloppy().lines() {
            let named = line.strip_prefix(b"Proposal-Id: ").and_then(|id| id.to_str().ok());
            if let Some(id) = named.filter(|id| proposals.contains(id)) {
                found.entry(id.to_owned()).or_insert(info.id);
            }
        }
    }
    found
}
