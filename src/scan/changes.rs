//! Changes between HEAD and the index, and between commits and their parents.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use gix::object::tree::diff::ChangeDetached as Change;

use super::{Content, SIZE_LIMIT, ScannedText, codes};
use crate::error::{Error, Result};

/// Bytes of deleted files that added files are compared with.
const MOVED_LIMIT: usize = 4 * 1024 * 1024;

pub fn staged(
    repo: &gix::Repository,
    mut each: impl FnMut(ScannedText) -> Result<()>,
) -> Result<()> {
    let index = repo.index_or_empty().map_err(|e| unreadable("the index", &e))?;
    let head = repo.head_tree_id_or_empty().map_err(|e| unreadable("HEAD", &e))?;
    let old = repo.index_from_tree(&head).map_err(|e| unreadable("the tree of HEAD", &e))?;
    let changes = compare(&old, &index);
    each_change(repo, changes, None, &mut each)
}

/// Oldest commit first. `A..B` means the commits of B that A lacks; `A...B` those since their merge
/// base; a single revision its whole history. A merge's lines are new only if no parent has them.
///
/// # Errors
/// `invalid_range`, `git_read_failed`; errors of `each`.
pub fn range(
    repo: &gix::Repository,
    range: &str,
    mut each: impl FnMut(ScannedText) -> Result<()>,
) -> Result<()> {
    let (hidden, tip) = range_ends(repo, range)?;
    let walk = repo
        .rev_walk([tip])
        .with_hidden(hidden)
        .sorting(gix::revision::walk::Sorting::ByCommitTime(Default::default()))
        .all()
        .map_err(|e| unreadable("the history", &e))?;
    let mut commits = Vec::new();
    for info in walk {
        commits.push(info.map_err(|e| unreadable("the history", &e))?.id);
    }
    for id in commits.into_iter().rev() {
        commit(repo, id, &mut each)?;
    }
    Ok(())
}

/// Commit whose allow-list applies to the range.
pub fn base(repo: &gix::Repository, range: &str) -> Result<ObjectId> {
    let (hidden, tip) = range_ends(repo, range)?;
    Ok(hidden.first().copied().unwrap_or(tip))
}

pub fn file_at(repo: &gix::Repository, commit: ObjectId, path: &str) -> Option<Vec<u8>> {
    let tree = repo.find_object(commit).ok()?.peel_to_tree().ok()?;
    let entry = tree.lookup_entry_by_path(path).ok()??;
    entry.mode().is_blob().then(|| entry.object().ok().map(|o| o.detach().data)).flatten()
}

fn range_ends(repo: &gix::Repository, range: &str) -> Result<(Vec<ObjectId>, ObjectId)> {
    let commit = |text: &str| -> Result<ObjectId> {
        let text = if text.is_empty() { "HEAD" } else { text };
        let wrong = || {
            Error::new(&codes::INVALID_RANGE, format!("'{text}' is no commit of this repository"))
                .hint("write --range A..B with two revisions, for example origin/main..HEAD")
        };
        let object = repo.rev_parse_single(text).map_err(|_| wrong())?;
        let object = object.object().map_err(|_| wrong())?;
        Ok(object.peel_to_commit().map_err(|_| wrong())?.id)
    };
    if let Some((from, to)) = range.split_once("...") {
        let (from, to) = (commit(from)?, commit(to)?);
        let base =
            repo.merge_base(from, to).ok().flatten().map(gix::Id::detach).ok_or_else(|| {
                Error::new(
                    &codes::INVALID_RANGE,
                    format!("'{range}': the two have no common history"),
                )
                .hint("write A..B to take all commits of B that A does not have")
            })?;
        return Ok((vec![base], to));
    }
    match range.split_once("..") {
        Some((from, to)) => Ok((vec![commit(from)?], commit(to)?)),
        None => Ok((Vec::new(), commit(range)?)),
    }
}

struct ChangedFile {
    path: BString,
    /// One for each parent that has the file.
    before: Vec<ObjectId>,
    after: ObjectId,
}

#[derive(Default)]
struct Changes {
    changed: Vec<ChangedFile>,
    removed: Vec<ObjectId>,
}

/// Both indexes are sorted by path.
fn compare(old: &gix::index::State, new: &gix::index::State) -> Changes {
    let is_file = |e: &&gix::index::Entry| e.mode.contains(gix::index::entry::Mode::FILE);
    let mut before = old.entries().iter().filter(is_file).peekable();
    let mut changes = Changes::default();
    for entry in new.entries().iter().filter(is_file) {
        let path: &BStr = entry.path(new);
        while let Some(gone) = before.next_if(|e| e.path(old) < path) {
            changes.removed.push(gone.id);
        }
        let same = before.next_if(|e| e.path(old) == path);
        if same.is_some_and(|e| e.id == entry.id) {
            continue;
        }
        let before = same.map(|e| e.id).into_iter().collect();
        changes.changed.push(ChangedFile { path: path.to_owned(), before, after: entry.id });
    }
    changes.removed.extend(before.map(|gone| gone.id));
    changes
}

fn commit(
    repo: &gix::Repository,
    id: ObjectId,
    each: &mut impl FnMut(ScannedText) -> Result<()>,
) -> Result<()> {
    let commit = repo.find_commit(id).map_err(|e| unreadable("a commit", &e))?;
    let tree = commit.tree().map_err(|e| unreadable("a tree", &e))?;
    // A parent beyond a shallow boundary counts as empty.
    let parents: Vec<gix::Tree<'_>> = commit
        .parent_ids()
        .filter_map(|parent| repo.find_commit(parent.detach()).ok()?.tree().ok())
        .collect();
    let changes = match parents.first() {
        None => tree_changes(repo, None, &tree)?,
        Some(first) => {
            let mut changes = tree_changes(repo, Some(first), &tree)?;
            for other in &parents[1..] {
                drop_parent_content(other, &mut changes);
            }
            changes
        }
    };
    let name = id.to_hex_with_len(10).to_string();
    each_change(repo, changes, Some(&name), each)
}

fn tree_changes(
    repo: &gix::Repository,
    old: Option<&gix::Tree<'_>>,
    new: &gix::Tree<'_>,
) -> Result<Changes> {
    let mut options = gix::diff::Options::default();
    options.track_path().track_rewrites(None);
    let found = repo
        .diff_tree_to_tree(old, Some(new), Some(options))
        .map_err(|e| unreadable("a tree", &e))?;
    let mut changes = Changes::default();
    for change in found {
        match change {
            Change::Addition { location, entry_mode, id, .. } if entry_mode.is_blob() => {
                changes.changed.push(ChangedFile { path: location, before: Vec::new(), after: id });
            }
            Change::Deletion { entry_mode, id, .. } if entry_mode.is_blob() => {
                changes.removed.push(id);
            }
            Change::Modification { location, previous_entry_mode, previous_id, entry_mode, id }
                if entry_mode.is_blob() && id != previous_id =>
            {
                let before = previous_entry_mode.is_blob().then_some(previous_id);
                let before = before.into_iter().collect();
                changes.changed.push(ChangedFile { path: location, before, after: id });
            }
            _ => {}
        }
    }
    Ok(changes)
}

fn drop_parent_content(parent: &gix::Tree<'_>, changes: &mut Changes) {
    changes.changed.retain_mut(|changed| {
        let path = changed.path.to_path_lossy().into_owned();
        let there = parent.lookup_entry_by_path(path).ok().flatten();
        match there.filter(|entry| entry.mode().is_blob()).map(|entry| entry.object_id()) {
            Some(id) if id == changed.after => false,
            Some(id) => {
                changed.before.push(id);
                true
            }
            None => true,
        }
    });
}

fn each_change(
    repo: &gix::Repository,
    changes: Changes,
    commit: Option<&str>,
    each: &mut impl FnMut(ScannedText) -> Result<()>,
) -> Result<()> {
    let removed: HashSet<ObjectId> = changes.removed.iter().copied().collect();
    let mut moved: Option<Vec<u8>> = None;
    for changed in changes.changed {
        // A pure rename adds no lines.
        if changed.before.is_empty() && removed.contains(&changed.after) {
            continue;
        }
        let after = blob(repo, changed.after)?;
        let mut before = Vec::new();
        for id in &changed.before {
            join(&mut before, &blob(repo, *id)?);
        }
        if changed.before.is_empty() && !removed.is_empty() {
            // Possibly a rename with edits: lines of deleted files are not new.
            let lines = match moved.take() {
                Some(lines) => lines,
                None => all(repo, &changes.removed)?,
            };
            before.extend_from_slice(&lines);
            moved = Some(lines);
        }
        each(ScannedText {
            path: changed.path,
            commit: commit.map(str::to_string),
            before: Some(before),
            after,
        })?;
    }
    Ok(())
}

fn all(repo: &gix::Repository, ids: &[ObjectId]) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for id in ids {
        join(&mut lines, &blob(repo, *id)?);
        if lines.len() > MOVED_LIMIT {
            break;
        }
    }
    Ok(lines)
}

fn join(lines: &mut Vec<u8>, content: &Content) {
    if let Content::Text(text) = content {
        lines.extend_from_slice(text);
        if !lines.ends_with(b"\n") {
            lines.push(b'\n');
        }
    }
}

fn blob(repo: &gix::Repository, id: ObjectId) -> Result<Content> {
    let size = repo.find_header(id).map_err(|e| unreadable("a file's content", &e))?.size();
    if size > SIZE_LIMIT {
        return Ok(Content::TooLarge(size));
    }
    let object = repo.find_object(id).map_err(|e| unreadable("a file's content", &e))?;
    Ok(Content::Text(object.detach().data))
}

fn unreadable(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(&codes::GIT_READ, format!("cannot read {what}: {error}"))
        .hint("`git fsck` shows whether the repository is sound")
}
