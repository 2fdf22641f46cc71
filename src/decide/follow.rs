//! Follows files that have moved: an edit of a missing file goes where exactly its content went, as
//! in git's merge. This makes a new revision, since a decision names files that its revision
//! changes.

use super::PartialProposal;
use crate::changeset::codes::CONFLICT;
use crate::changeset::plan::{ApplyPlan, ConflictReason, MergeStatus, PlannedFile};
use crate::changeset::{Changeset, FileChange, RepoPath, Snapshot, sensitive};
use crate::error::{Error, Result};
use crate::proposal::Proposal;
use crate::proposal::event::{RevisionReason, Subject};
use crate::repository::Repository;
use crate::store::{Filter, Moves, Store, View};

#[derive(Clone, Debug)]
pub struct MovedChanges {
    pub part: PartialProposal,
    /// Old and new path.
    pub moves: Vec<(RepoPath, RepoPath)>,
}

/// Moves per file.
const MOST: usize = 16;
/// Applied proposals asked for a move, newest first.
const MOST_ASKED: usize = 20;
/// Commits searched since the proposal was made.
const MOST_COMMITS: &str = "--max-count=2000";

/// Like `wherever`, but refuses a move to a path that newly deserves a second look: consent for one
/// path does not hold for another.
///
/// # Errors
/// `conflict`.
pub fn follow(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    changes: &[FileChange],
    plan: &ApplyPlan,
    files: &dyn Snapshot,
) -> Result<Option<MovedChanges>> {
    let followed = follow_anywhere(store, view, proposal, changes, plan, files)?;
    if let Some(followed) = &followed {
        require_as_ordinary(store, proposal, changes, followed)?;
    }
    Ok(followed)
}

/// The changes at the files' present paths, if `plan` fails only because files have moved. A move
/// is an exact rename in a commit since the proposal or in the index, or a rename by an applied or
/// planned proposal.
///
/// # Errors
/// `conflict` for deleting a file that has moved, as in git's merge.
pub(super) fn follow_anywhere(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    changes: &[FileChange],
    plan: &ApplyPlan,
    files: &dyn Snapshot,
) -> Result<Option<MovedChanges>> {
    let mut moves = Vec::new();
    for change in changes {
        let is_it = |file: &&PlannedFile| file.path == change.path && file.now.is_none();
        let is_gone = match plan.files.iter().find(is_it).map(|file| &file.outcome) {
            Some(MergeStatus::Conflict(why)) => {
                why.reason == ConflictReason::Missing && change.after.is_some()
            }
            Some(MergeStatus::Already) => {
                change.after.is_none() && proposal.subject == Subject::Code
            }
            _ => false,
        };
        if !is_gone {
            continue;
        }
        let known = in_git_since(store.repository(), view, proposal.current().base.as_ref());
        let at = place_now(view, proposal, &change.path, &known, files)?;
        let Some(at) = at.filter(|at| !changes.iter().any(|other| other.path == *at)) else {
            continue;
        };
        if change.after.is_some() {
            moves.push((change.path.clone(), at));
        } else if known.iter().any(|(from, _)| *from == change.path)
            || files.file(&at)? == change.before
        {
            return Err(lives_on(proposal, &change.path, &at));
        }
    }
    if moves.is_empty() {
        return Ok(None);
    }
    let moved = |path: &RepoPath| moves.iter().find(|(from, _)| from == path).map(|(_, to)| to);
    let changes = changes.iter().map(|change| match moved(&change.path) {
        Some(path) => FileChange { path: path.clone(), ..change.clone() },
        None => change.clone(),
    });
    // Two files that have become one are not followed.
    let Ok(changes) = Changeset::new(changes.collect()) else { return Ok(None) };
    Ok(Some(MovedChanges {
        part: PartialProposal { changes, reason: RevisionReason::Rebase },
        moves,
    }))
}

/// Refuses a reason for a second look that the old path did not have.
fn require_as_ordinary(
    store: &Store,
    proposal: &Proposal,
    changes: &[FileChange],
    followed: &MovedChanges,
) -> Result<()> {
    let known = store.repository().instructions();
    let reasons = |changes: &[FileChange], path: &RepoPath| -> Vec<sensitive::SensitiveReason> {
        let of = sensitive::sensitive_changes(changes, &known).into_iter();
        of.filter(|(at, _)| *at == path).map(|(_, reason)| reason).collect()
    };
    for (from, to) in &followed.moves {
        let before = reasons(changes, from);
        let now = reasons(followed.part.changes.changes(), to);
        let Some((_, reason)) = now.iter().find(|reason| !before.contains(reason)) else {
            continue;
        };
        let (id, from, to) = (&proposal.id, from.display().to_string(), to.display().to_string());
        return Err(Error::new(
            &CONFLICT,
            format!("{from} was moved to {to} since, which {reason}"),
        )
        .with("path", from)
        .with("moved_to", to)
        .with("proposal_id", id.as_str())
        .hint(format!(
            "nothing was written; `aye revise {id} --rebase` proposes it there, to be decided as that"
        )));
    }
    Ok(())
}

fn lives_on(proposal: &Proposal, path: &RepoPath, at: &RepoPath) -> Error {
    let (id, path, at) = (&proposal.id, path.display().to_string(), at.display().to_string());
    Error::new(&CONFLICT, format!("{path} was moved to {at} since, and the change deletes it"))
        .with("path", path)
        .with("moved_to", at)
        .with("proposal_id", id.as_str())
        .hint(format!(
            "nothing was written; `aye revise {id} …` says what is to be deleted now, `aye reject {id}` \
             keeps it"
        ))
}

/// Present path of a file once at `path`; `None` if no move is known.
pub fn moved_to(
    repository: &Repository,
    view: &View<'_>,
    proposal: &Proposal,
    path: &RepoPath,
    files: &dyn Snapshot,
) -> Result<Option<RepoPath>> {
    // A revision that followed the file has a later base.
    let base = proposal.revisions.iter().find_map(|revision| revision.base.as_ref());
    place_now(view, proposal, path, &in_git_since(repository, view, base), files)
}

fn place_now(
    view: &View<'_>,
    proposal: &Proposal,
    path: &RepoPath,
    known: &[(RepoPath, RepoPath)],
    files: &dyn Snapshot,
) -> Result<Option<RepoPath>> {
    let mut at = path.clone();
    for (from, to) in known {
        if *from == at && files.file(&at)?.is_none() {
            at = to.clone();
        }
    }
    for _ in 0..MOST {
        if files.file(&at)?.is_some() {
            break;
        }
        match files.moved(&at).or(by_a_proposal(view, proposal, &at)?) {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(if at != *path && files.file(&at)?.is_some() { Some(at) } else { None })
}

fn by_a_proposal(
    view: &View<'_>,
    proposal: &Proposal,
    path: &RepoPath,
) -> Result<Option<RepoPath>> {
    let filter = Filter::applied_to(path, MOST_ASKED);
    for id in view.ids_of(&filter, proposal.expires_at)? {
        let applied = view.proposal(&id)?;
        let decision = applied.decision();
        let Some(revision) = decision.and_then(|d| applied.revision(&d.revision)) else { continue };
        let changes = &revision.changes;
        if !changes.iter().any(|change| change.path == *path && change.after.is_none()) {
            continue;
        }
        let to = changes.iter().find(|change| {
            change.origin.as_ref() == Some(path)
                && change.before.is_none()
                && change.after.is_some()
        });
        return Ok(to.map(|change| change.path.clone()));
    }
    Ok(None)
}

/// Exact renames since `base`, oldest first, then those in the index. Empty if git fails.
fn in_git_since(repository: &Repository, view: &View<'_>, base: Option<&String>) -> Moves {
    let head = repository.head_commit().map(|id| id.to_string());
    let range = format!("{}..{}", base.map_or("", String::as_str), head.as_deref().unwrap_or(""));
    view.moves_in(range, || ask_git(repository, base, head))
}

fn ask_git(
    repository: &Repository,
    base: Option<&String>,
    head: Option<String>,
) -> Vec<(RepoPath, RepoPath)> {
    // Empty files are equal by chance; git's merge ignores them, too.
    let exact = ["-r", "-M100%", "--no-rename-empty", "--diff-filter=R", "--name-status", "-z"];
    let git = |args: &[&str]| {
        let git = repository.git().ok()?;
        git.args(args).args(exact).run().ok()
    };
    let base = base.filter(|base| Some(*base) != head.as_ref());
    let commits = base.and_then(|base| {
        let range = format!("{base}..HEAD");
        let revisions =
            repository.git().ok()?.args(["rev-list", "--reverse", MOST_COMMITS, &range]);
        let commits = revisions.run().ok()?;
        let git =
            repository.git().ok()?.args(["diff-tree", "--stdin", "--no-commit-id"]).args(exact);
        git.stdin(commits).run().ok()
    });
    let staged = head.and_then(|head| git(&["diff-index", "--cached", &head]));
    let mut found = Vec::new();
    for names in [commits, staged].into_iter().flatten() {
        // `R100`, old path, new path, each ended by a NUL.
        let mut fields = names.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        while let (Some(_), Some(from), Some(to)) = (fields.next(), fields.next(), fields.next()) {
            if let (Ok(from), Ok(to)) = (RepoPath::from_tree(from), RepoPath::from_tree(to)) {
                found.push((from, to));
            }
        }
    }
    found
}
