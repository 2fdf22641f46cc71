//! `.agent-memory/staging/<staging_id>/`: a staged proposal as files to read and grep. A projection
//! of the thread, never trusted: differences are overwritten.

use std::path::PathBuf;

use serde_json::json;

use super::locate::memory_data;
use crate::changeset::{Mode, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::memory::disk::store_path;
use crate::memory::{DIR, markdown::slug};
use crate::proposal::event::timestamp;
use crate::proposal::{Proposal, ProposalId};
use crate::repository::Repository;
use crate::store::Store;
use crate::worktree::{Flush, Worktree};

/// UTC time, slug of intent and rationale, random suffix.
pub fn new_id(now: chrono::DateTime<chrono::Utc>, intent: &str, rationale: Option<&str>) -> String {
    let text = format!("{intent} {}", rationale.unwrap_or_default());
    let slug: String = slug::slug(&text)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(40)
        .collect();
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "proposal" } else { slug };
    let unique = crate::beneath::random_id() & 0xff_ffff;
    format!("{}-{slug}-{unique:06x}", now.format("%Y%m%dT%H%M%S"))
}

fn directory(id: &str) -> Result<RepoPath> {
    RepoPath::new(format!("{DIR}/staging/{id}"))
}

/// Ids in events are not trusted to name a directory.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.len() <= 120 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

struct StagingFile {
    /// Relative to the staging directory.
    name: String,
    bytes: Vec<u8>,
}

fn files(store: &Store, proposal: &Proposal) -> Result<Vec<StagingFile>> {
    let changeset = store.changeset(proposal.current())?;
    let json = |value: &serde_json::Value| -> Result<Vec<u8>> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Error::bug(e.to_string()))?;
        Ok((text + "\n").into_bytes())
    };
    let request = memory_data(proposal, "request").cloned().unwrap_or_default();
    let get = |key: &str| request.get(key).cloned().unwrap_or_default();
    let revision = proposal.current();
    let paths: Vec<&str> = revision.changes.iter().filter_map(|c| store_path(&c.path)).collect();
    let document = json!({
        "staging_id": proposal.staging_id(),
        "proposal_id": proposal.id.as_str(),
        "intent": get("intent"),
        "rationale": get("rationale"),
        "confidence": get("confidence"),
        "sources": get("sources"),
        "owner": get("owner"),
        "operations": get("operations"),
        "routing": memory_data(proposal, "routing"),
        "created_at": timestamp(proposal.created_at),
        "expires_at": timestamp(proposal.expires_at),
        "files": paths,
        "affected_sections": memory_data(proposal, "affected_sections"),
        "warnings": memory_data(proposal, "warnings"),
    });
    let targets = json!({ "targets": memory_data(proposal, "preconditions") });
    let staged = |name: &str, bytes| StagingFile { name: name.to_owned(), bytes };
    let mut files = vec![
        staged("proposal.json", json(&document)?),
        staged("target-checksums.json", json(&targets)?),
        staged("change.patch", store.patch(&revision.changes, &changeset)),
    ];
    for change in changeset.into_changes() {
        if let (Some(path), Some(after)) = (store_path(&change.path), change.after) {
            files.push(staged(&format!("files/{path}"), after.bytes));
        }
    }
    Ok(files)
}

/// Writes the staging directory of a pending proposal into this work tree, and into others that
/// have it.
///
/// # Errors
/// If a file cannot be written or a symlink is in the way.
pub fn write_new(store: &Store, proposal: &Proposal) -> Result<()> {
    write(store, proposal, true)
}

/// Writes only into work trees that have the directory.
pub fn renew(store: &Store, proposal: &Proposal) -> Result<()> {
    write(store, proposal, false)
}

/// With `is_new`, also writes into the present work tree.
fn write(store: &Store, proposal: &Proposal, is_new: bool) -> Result<()> {
    let Some(id) = proposal.staging_id().filter(|id| is_plain(id)) else { return Ok(()) };
    let path = directory(id)?;
    let mut tops = work_trees_with(store.repository(), &path);
    tops.extend(store.repository().work_dir().filter(|top| is_new && !tops.contains(top)));
    if tops.is_empty() {
        return Ok(());
    }
    let files = files(store, proposal)?;
    for top in tops {
        let tree = Worktree::open(&top)?;
        if !is_sound(&tree, &path, &files)? {
            tree.remove_dir_all(&path)?;
            for file in &files {
                let path = RepoPath::new(format!("{}/{}", path.display(), file.name))?;
                tree.write_file(&path, &file.bytes, Mode::Regular, Flush::No)?;
            }
        }
    }
    Ok(())
}

/// True if the directory at `path` holds exactly `files`.
fn is_sound(tree: &Worktree, path: &RepoPath, files: &[StagingFile]) -> Result<bool> {
    let mut directories = vec![String::new()];
    let mut count = 0;
    while let Some(inside) = directories.pop() {
        let at = RepoPath::new(format!("{}/{inside}", path.display()).trim_end_matches('/'))?;
        for name in tree.names(&at).unwrap_or_default() {
            let name = format!("{inside}{name}");
            let beneath = format!("{name}/");
            if files.iter().any(|file| file.name.starts_with(&beneath)) {
                directories.push(beneath);
                continue;
            }
            let Some(file) = files.iter().find(|file| file.name == name) else { return Ok(false) };
            let found = tree.file(&RepoPath::new(format!("{}/{name}", path.display()))?);
            if !found.is_ok_and(|found| found.is_some_and(|found| found.bytes == file.bytes)) {
                return Ok(false);
            }
            count += 1;
        }
    }
    Ok(count == files.len())
}

fn work_trees_with(repository: &Repository, path: &RepoPath) -> Vec<PathBuf> {
    let mut trees = repository.work_trees();
    trees.retain(|top| top.join(path.to_path()).symlink_metadata().is_ok());
    trees
}

/// Removes the staging directory from every work tree.
pub fn remove(repository: &Repository, proposal: &Proposal) -> Result<()> {
    let Some(id) = proposal.staging_id().filter(|id| is_plain(id)) else { return Ok(()) };
    let path = directory(id)?;
    work_trees_with(repository, &path)
        .iter()
        .try_for_each(|top| Worktree::open(top)?.remove_dir_all(&path).map(drop))
}

/// Removes staging directories in this work tree that name proposal `id`, whose record is gone.
pub fn remove_by_proposal(repository: &Repository, id: &ProposalId) -> Result<()> {
    if repository.work_dir().is_none() {
        return Ok(());
    }
    let tree = repository.worktree()?.without_conversion();
    for name in tree.names(&RepoPath::new(format!("{DIR}/staging"))?).unwrap_or_default() {
        let name = name.to_string();
        if !is_plain(&name) {
            continue;
        }
        let path = RepoPath::new(format!("{DIR}/staging/{name}/proposal.json"))?;
        let Ok(Some(file)) = tree.file(&path) else { continue };
        let said: Option<serde_json::Value> = serde_json::from_slice(&file.bytes).ok();
        if said.is_some_and(|said| said["proposal_id"] == id.as_str()) {
            tree.remove_dir_all(&directory(&name)?)?;
        }
    }
    Ok(())
}
