//! Marks of proposals, computed in one place for all commands.

use std::cell::OnceCell;
use std::collections::HashMap;

use bstr::ByteSlice as _;

use crate::changeset::instructions::Instructions;
use crate::changeset::marks::{self, Mark, MarkKind};
use crate::changeset::{File, FileChange, RepoPath, sensitive};
use crate::error::Result;
use crate::proposal::event::Incomplete;
use crate::proposal::state::Revision;
use crate::proposal::{ChangeRecord, Proposal, ProposalId, Status};
use crate::repository::{Repository, policy};
use crate::scan::gate::{self, ScanWarning};
use crate::scan::{ALLOW_LIST, SIZE_LIMIT};
use crate::store::{Store, Summary, View};

/// Bytes above which nobody reads a file to its end.
const LARGE: u64 = 1 << 20;

/// Marks of the pending `summaries`. Content is read once per revision, then marks come from the
/// cache. Content missing here is not judged.
pub fn marks(
    store: &Store,
    view: &View,
    summaries: &[Summary],
) -> Result<HashMap<ProposalId, Vec<Mark>>> {
    let mut pending =
        summaries.iter().filter(|summary| summary.status == Status::Pending).peekable();
    let (mut found, mut new) = (HashMap::new(), Vec::new());
    if pending.peek().is_none() {
        return Ok(found);
    }
    let (basis, head) = (basis_of(store.repository()), store.repository().head_ref());
    let (known, instructions) = (view.known_marks(&basis)?, OnceCell::new());
    for summary in pending {
        let marks = match read(&known, &summary.revision) {
            Some(marks) => marks,
            None => {
                // Commands on this proposal report the lost object.
                let Ok(proposal) = view.listed_proposal(summary) else { continue };
                let revision = proposal.current();
                let instructions = instructions.get_or_init(|| store.repository().instructions());
                let (marks, is_whole) = judge(store, revision, instructions);
                if is_whole {
                    new.push((summary.revision.as_str(), written(&marks)));
                }
                marks
            }
        };
        let marks = with_branch_mark(marks, summary.target_ref.as_deref(), head.as_deref());
        if !marks.is_empty() {
            found.insert(summary.id.clone(), marks);
        }
    }
    if !new.is_empty() {
        view.keep_marks(&basis, new.into_iter());
    }
    Ok(found)
}

/// Marks of a revision about to be decided or shown; fetches contents missing in a partial clone.
pub fn revision_marks(store: &Store, view: &View, revision: &Revision) -> Result<Vec<Mark>> {
    let basis = basis_of(store.repository());
    let head = store.repository().head_ref();
    let made_for = revision.target.as_ref().and_then(|target| target.name.as_deref());
    if let Some(marks) = read(&view.known_marks(&basis)?, &revision.event) {
        return Ok(with_branch_mark(marks, made_for, head.as_deref()));
    }
    store.fetch_contents(&revision.changes);
    let (marks, is_whole) = judge(store, revision, &store.repository().instructions());
    if is_whole {
        view.keep_marks(&basis, std::iter::once((revision.event.as_str(), written(&marks))));
    }
    Ok(with_branch_mark(marks, made_for, head.as_deref()))
}

pub fn of_each(store: &Store, view: &View, proposals: &[Proposal]) -> Result<Vec<Vec<Mark>>> {
    proposals.iter().map(|proposal| revision_marks(store, view, proposal.current())).collect()
}

/// Adds the branch mark, which depends on HEAD and is never cached.
fn with_branch_mark(mut found: Vec<Mark>, made_for: Option<&str>, head: Option<&str>) -> Vec<Mark> {
    found.extend(marks::other_branch(made_for, head));
    found
}

fn read(known: &HashMap<&str, &str>, revision: &str) -> Option<Vec<Mark>> {
    serde_json::from_str(known.get(revision)?).ok()
}

fn written(marks: &[Mark]) -> String {
    serde_json::to_string(marks).unwrap_or_default()
}

/// Cache key beside the revision: aye's version, allow list, policy. Imports count as they were at
/// first judgement.
fn basis_of(repository: &Repository) -> String {
    let in_head =
        |path: &str| RepoPath::new(path).ok().and_then(|path| repository.id_in_head(&path));
    let (allowed, policy) = (in_head(ALLOW_LIST), in_head(policy::PATH));
    let (allowed, policy) = (allowed.unwrap_or_default(), policy.unwrap_or_default());
    format!("{} 4 {allowed} {policy}", env!("CARGO_PKG_VERSION"))
}

/// Also returns true if all contents could be judged.
fn judge(store: &Store, revision: &Revision, instructions: &Instructions) -> (Vec<Mark>, bool) {
    let changes = &revision.changes;
    let sized: Vec<_> = changes.iter().map(|change| (change, larger(store, change))).collect();
    let mut found = of_paths(changes, instructions);
    found.extend(revision.incomplete.iter().map(|part| of_part(part, changes)));
    found.extend(sized.iter().filter_map(|&(change, size)| of_size(change, size)));
    let small = sized.iter().filter(|(_, size)| *size <= SIZE_LIMIT).map(|&(change, _)| change);
    let is_whole = of_content(store, small.cloned().collect(), instructions, &mut found);
    (marks::limited(found), is_whole)
}

fn of_paths(changes: &[ChangeRecord], instructions: &Instructions) -> Vec<Mark> {
    let sensitive = sensitive::sensitive_changes(changes, instructions).into_iter();
    let moved = |path: &RepoPath| changes.iter().any(|it| it.origin.as_ref() == Some(path));
    let is_removed = |change: &&ChangeRecord| change.after.is_none() && !moved(&change.path);
    let removed = changes.iter().filter(is_removed);
    sensitive
        .map(|(path, (word, why))| Mark::of_file(word, path, why))
        .chain(removed.map(|change| Mark::of_file(MarkKind::Deletes, &change.path, "is removed")))
        .collect()
}

/// A link that is moved or removed stays in the checkout, and may name what is moved away.
fn of_part(part: &Incomplete, changes: &[ChangeRecord]) -> Mark {
    let above =
        |path: &RepoPath| path.as_bstr().rsplit_once_str("/").map(|(above, _)| above.to_vec());
    let directory = above(&part.path);
    let moved = changes.iter().filter_map(|change| change.origin.as_ref());
    let is_beside = moved.into_iter().any(|origin| above(origin) == directory);
    let stays = part.reason.contains("symlink that is gone") && is_beside;
    let more = if stays { ": it stays, beside files that are moved away" } else { "" };
    Mark::of_file(MarkKind::Incomplete, &part.path, format!("{}, and not in it{more}", part.reason))
}

/// Bytes of the larger side present in this clone.
fn larger(store: &Store, change: &ChangeRecord) -> u64 {
    let sides = change.before.iter().chain(&change.after);
    sides.filter_map(|entry| store.size(entry)).max().unwrap_or_default()
}

fn of_size(change: &ChangeRecord, size: u64) -> Option<Mark> {
    let more = if size > SIZE_LIMIT { ", and is not searched" } else { "" };
    let mark = || Mark::of_file(MarkKind::Large, &change.path, format!("has {size} bytes{more}"));
    (size > LARGE).then(mark)
}

/// Returns true if all content was read.
fn of_content(
    store: &Store,
    changes: Vec<ChangeRecord>,
    instructions: &Instructions,
    found: &mut Vec<Mark>,
) -> bool {
    // A mark does not justify a fetch.
    let (here, missing): (Vec<ChangeRecord>, Vec<ChangeRecord>) =
        changes.into_iter().partition(|change| store.has_contents(std::slice::from_ref(change)));
    if here.is_empty() {
        return missing.is_empty();
    }
    let Ok(changeset) = store.changeset_unchecked(&here) else { return false };
    let is_binary = |change: &&FileChange| change.after.as_ref().is_some_and(File::is_binary);
    let binary = changeset.changes().iter().filter(is_binary);
    found.extend(binary.map(|it| Mark::of_file(MarkKind::Binary, &it.path, "is binary")));
    match gate::review_warnings(store.repository(), &changeset, instructions) {
        Ok(warnings) => {
            found.extend(warnings.into_iter().map(of_warning));
            missing.is_empty()
        }
        // A broken allow list excuses nothing.
        Err(error) => {
            found.push(Mark {
                mark: MarkKind::Secret,
                path: None,
                line: None,
                message: format!("not searched: {}", error.message()),
            });
            false
        }
    }
}

fn of_warning(warning: ScanWarning) -> Mark {
    let mark = match warning.kind {
        _ if warning.fingerprint.is_some() => MarkKind::Secret,
        "bidi_control" | "invisible" | "control" => MarkKind::HiddenCharacters,
        _ => MarkKind::Orders,
    };
    let ScanWarning { file_path, line, message, .. } = warning;
    Mark { mark, path: Some(file_path), line: Some(line), message }
}
