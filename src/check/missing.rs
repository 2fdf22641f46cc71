//! Applied proposals that something has swept away: a `git checkout` or `stash` beside the apply.

use chrono::{DateTime, Duration, Utc};

use super::{Concern, FailOn, Scope, commits};
use crate::changeset::{RepoPath, Snapshot as _};
use crate::decide;
use crate::error::Result;
use crate::proposal::event::Written;
use crate::proposal::state::Decision;
use crate::proposal::statement::Target;
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Proposal, Status};
use crate::report::Finding;
use crate::store::sight::Sight;
use crate::store::{Filter, Store, View};
use crate::worktree::Worktree;

/// How long after the decision is looked: by then the change is committed, or given up on purpose.
pub const DAYS: i64 = 7;

/// How many proposals, the newest, and files of each are looked at.
const MOST: usize = 50;

/// A finding for each proposal that this clone applied lately, on the branch that is checked out, or by
/// a commit on a detached HEAD that no ref has any more, and of which a file is what it was before, in the
/// work tree and in HEAD, or was when another proposal was applied to it after this one. A file that has
/// changed otherwise since is somebody's work, and what HEAD's history has was taken out on purpose. `sight` gets the files that were looked at.
///
/// # Errors
/// If the store or the work tree cannot be read.
pub fn findings(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    scope: &Scope,
    fail_on: &FailOn,
    mut sight: Option<&mut Sight>,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    if store.work_dir().is_none() {
        return Ok(found);
    }
    let filter = Filter {
        subject: scope.kind,
        status: Some(Status::Applied),
        limit: Some(MOST),
        newest_first: true,
        ..Filter::default()
    };
    let (tree, reading) = (store.worktree()?, view.hold());
    let mut applied = Vec::new();
    for summary in view.proposals(&filter, now)? {
        let proposal = view.proposal(&summary.id)?;
        if proposal.decision().is_some_and(|made| now - made.at < Duration::days(DAYS)) {
            applied.push((proposal, summary.prefix));
        }
    }
    let head = commits::head_tree(store);
    let own = store.own_lanes();
    let look = Look { store, view, tree: &tree, head, applied: &applied };
    for (proposal, prefix) in &applied {
        let Some(decision) = proposal.apply_here(&own) else { continue };
        if proposal.contested || !scope.takes(proposal) {
            continue;
        }
        let Some(path) = look.swept(proposal, decision, sight.as_deref_mut())? else { continue };
        let id = &proposal.id;
        let short: String = id.as_str().chars().take("prop_".len() + (*prefix).max(4)).collect();
        let message = format!("{id} is applied, and neither the work tree nor HEAD has it");
        let place = match proposal.committed().last() {
            Some(commit) => {
                format!("git keeps its commit for a while: `git branch NAME {commit:.12}`")
            }
            None => "look for it in `git stash list`".to_owned(),
        };
        let hint = format!("{place}, or apply it again: aye undo {short}, then aye apply {short}");
        let finding = fail_on.finding(Concern::AppliedMissing, message);
        found.push(finding.hint(hint).proposal(id.as_str()).path(path.path.as_bstr()));
    }
    drop(reading);
    Ok(found)
}

/// True where [`findings`] has nothing to look at, nor will have: no decision is so young.
///
/// # Errors
/// If the store cannot be read.
pub fn is_settled(view: &View, now: DateTime<Utc>) -> Result<bool> {
    let last = view.last_applied(MOST)?;
    Ok(last.is_none_or(|last| now - last >= Duration::days(DAYS)))
}

/// What proposals are held against.
struct Look<'a> {
    store: &'a Store,
    view: &'a View,
    tree: &'a Worktree,
    /// The tree of HEAD.
    head: Option<gix::ObjectId>,
    /// Each with the shortest length of its id that is its own.
    applied: &'a [(Proposal, usize)],
}

impl Look<'_> {
    /// The first file that is as it was before.
    fn swept<'d>(
        &self,
        proposal: &Proposal,
        decision: &'d Decision,
        mut sight: Option<&mut Sight>,
    ) -> Result<Option<&'d Written>> {
        let store = self.store;
        let id = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.id.clone());
        let mut target = None;
        for written in decision.written.iter().take(MOST).filter(|w| w.before != w.after) {
            let in_head = self.in_head(&written.path);
            if in_head == id(&written.after) {
                continue;
            }
            if let Some(sight) = sight.as_deref_mut() {
                sight.add(&written.path);
            }
            // A symlink or a directory in its place is no sweep.
            let Ok(file) = self.tree.file(&written.path) else { continue };
            let now = file.as_ref().map(|file| store.entry_of(file)).transpose()?;
            if now == written.after {
                continue;
            }
            if target.is_none() {
                target = Some(self.target(proposal, decision, sight.as_deref_mut())?);
            }
            let Some(Some(target)) = &target else { return Ok(None) };
            let base = decide::base_at(store, target, &written.path);
            let is_as_before = now == written.before
                || (in_head == id(&now) && (now == base || self.is_below(decision, written, &now)));
            let is_swept =
                is_as_before || self.was_swept_before_another(decision, target, written, &base)?;
            // What was put back and applied again may be in what it was applied on.
            if is_swept && !self.has(self.head, written) && !self.was_committed(target, written)? {
                return Ok(Some(written));
            }
        }
        Ok(None)
    }

    /// Whether what was `written` was applied on top of others that were applied to a file which was `now`: they went
    /// with it.
    fn is_below(&self, decision: &Decision, written: &Written, now: &Option<Entry>) -> bool {
        let mut earlier: Vec<&Decision> = Vec::new();
        for (proposal, _) in self.applied {
            if let Some(other) = proposal.decision().filter(|other| other.at < decision.at) {
                earlier.insert(earlier.partition_point(|later| later.at >= other.at), other);
            }
        }
        let mut below = vec![&written.before];
        for step in earlier.iter().flat_map(|earlier| &earlier.written) {
            if step.path == written.path && below.contains(&&step.after) {
                below.push(&step.before);
            }
        }
        below.contains(&now)
    }

    /// Whether `tree`, that of a commit, has what was `written`.
    fn has(&self, tree: Option<gix::ObjectId>, written: &Written) -> bool {
        let found = commits::entry_at(self.store, tree, &written.path);
        commits::has(self.store, &Step::from(written), found)
    }

    /// Whether HEAD's history has what was `written` since `target`, and so says as well who took it out again, as a `git revert`
    /// does.
    fn was_committed(&self, target: &Target, written: &Written) -> Result<bool> {
        let store = self.store;
        let path = &written.path;
        for id in commits::of_file(store, path, target.commit.as_deref(), MOST)? {
            if self.has(Some(commits::read(store, id)?.tree), written) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a proposal that was applied to `target` after `decision` found the file as it was before
    /// `written`, or as `base`, and the file still lacks what `written` changed.
    fn was_swept_before_another(
        &self,
        decision: &Decision,
        target: &Target,
        written: &Written,
        base: &Option<Entry>,
    ) -> Result<bool> {
        for (proposal, _) in self.applied {
            let Some(later) = proposal.decision().filter(|later| later.at > decision.at) else {
                continue;
            };
            let found_without = |file: &&Written| {
                file.path == written.path && (file.before == written.before || file.before == *base)
            };
            if !later.written.iter().any(|file| found_without(&file)) {
                continue;
            }
            let landed = decide::target(self.store, self.view, proposal, later)?;
            if landed.is_some_and(|landed| landed.name == target.name) {
                // What can no longer be compared is not called lost.
                let contains = decide::contains(self.store, &Step::from(written), self.tree);
                return Ok(!contains.unwrap_or(true));
            }
        }
        Ok(false)
    }

    /// Where the proposal was to land, if that is here: on what is checked out, or nowhere, where it was
    /// committed on a detached HEAD that has been left since. Of a deleted branch nothing is said: what was
    /// on it may have come in by another commit, or was given up.
    fn target(
        &self,
        proposal: &Proposal,
        decision: &Decision,
        sight: Option<&mut Sight>,
    ) -> Result<Option<Target>> {
        let Some(target) = decide::target(self.store, self.view, proposal, decision)? else {
            return Ok(None);
        };
        let is_here = decide::is_here(self.store, &target);
        // A branch may have got what was applied on a detached HEAD.
        let Some(commit) = proposal.committed().last().filter(|_| target.name.is_none()) else {
            return Ok(is_here.then_some(target));
        };
        // A branch that is made, or deleted, later says otherwise.
        sight.into_iter().for_each(Sight::doubt);
        // Other work trees' HEADs are among all.
        let arguments = ["--max-count=1", commit, "--not", "--exclude=refs/aye/*", "--all"];
        let is_held = commits::list(self.store, &arguments).is_ok_and(|found| found.is_empty());
        Ok((!is_held).then_some(target))
    }

    /// The blob that HEAD has at `path`, by its hex id.
    fn in_head(&self, path: &RepoPath) -> Option<String> {
        let entry = commits::entry_at(self.store, self.head, path)?;
        entry.mode.starts_with("100").then_some(entry.id)
    }
}
