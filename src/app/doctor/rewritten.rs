//! Content of a history that was rewritten, and lives on in events.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use chrono::DateTime;
use gix::ObjectId;

use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::store::{Filter, Space, View};

/// Every ref but aye's own, and HEAD, as the options of `git rev-list`.
const HISTORY: [&str; 2] = ["--exclude=refs/aye/*", "--all"];

/// Proposals that hold what a file was before them, where no commit of a branch, tag or remote has
/// that any more.
///
/// Only proposals on a commit that no ref leads to are compared: others have it below that commit.
/// What was never committed counts there, too, once the commit itself is gone. A branch that was
/// squashed and deleted looks the same as a history that was rewritten.
pub(super) fn lost(view: &View<'_>) -> Result<Vec<(ProposalId, RepoPath)>> {
    let repository = view.store().repository();
    let mut bases = BTreeSet::new();
    let mut all = Vec::new();
    for summary in view.proposals(&Filter::default(), DateTime::UNIX_EPOCH)? {
        // A private thread goes nowhere.
        if summary.space == Space::Private {
            continue;
        }
        let Ok(proposal) = view.listed_proposal(&summary) else { continue };
        for revision in proposal.revisions {
            let Some(base) = revision.base else { continue };
            let before = revision.changes.into_iter().filter_map(|it| Some((it.path, it.before?)));
            all.extend(before.map(|(path, it)| (summary.id.clone(), path, it.id, base.clone())));
            bases.insert(base);
        }
    }
    let is_here = |id: &&String| {
        ObjectId::from_hex(id.as_bytes()).is_ok_and(|id| repository.repo().has_object(id))
    };
    let mut there = bases.iter().filter(is_here).peekable();
    let mut unreached: BTreeSet<String> = bases.iter().filter(|id| !is_here(id)).cloned().collect();
    if there.peek().is_some() {
        let input: String = there.map(|id| format!("{id}\n")).collect();
        let git = repository.git()?.args(["rev-list", "--not"]).args(HISTORY);
        let git = git.args(["--not", "--stdin"]);
        unreached.extend(git.stdin(input).run()?.lines().map(|id| id.to_str_lossy().into_owned()));
    }
    all.retain(|(.., base)| unreached.contains(base));
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let known = blobs(view, all.iter().map(|(_, path, ..)| path))?;
    all.retain(|(_, _, id, _)| !known.contains(id));
    let mut found: Vec<_> = all.into_iter().map(|(id, path, ..)| (id, path)).collect();
    found.dedup();
    Ok(found)
}

/// The ids of all blobs that `paths` had in the history.
fn blobs<'p>(
    view: &View<'_>,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<BTreeSet<String>> {
    let mut input = b"--\n".to_vec();
    for path in paths.collect::<BTreeSet<_>>() {
        input.extend_from_slice(path.as_bstr());
        input.push(b'\n');
    }
    let listed = view
        .store()
        .repository()
        .git()?
        .env("GIT_LITERAL_PATHSPECS", "1")
        .args(["log", "--raw", "--no-abbrev", "--no-renames", "-m", "--root", "--format="])
        .args(HISTORY)
        .arg("--stdin")
        .stdin(input)
        .run()?;
    // `:100644 100644 <old> <new> M TAB <path>`
    let lines = listed.lines().filter_map(|line| line.strip_prefix(b":"));
    let ids = lines.flat_map(|line| line.split(|byte| *byte == b' ').skip(2).take(2));
    Ok(ids.map(|id| id.to_str_lossy().into_owned()).collect())
}
