//! `.agent-memory/staging/<staging_id>/`: a staged proposal as files to read and grep. A
//! projection of the event store, never trusted; what is changed in it is reported.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;

use super::Service;
use super::held::Held;
use super::locate::{note, staging_id};
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::memory::disk::store_path;
use crate::memory::{DIR, markdown::slug};
use crate::proposal::event::timestamp;
use crate::proposal::{Proposal, ProposalId, Status};
use crate::store::seen::{self, Above, Sound};
use crate::store::{Store, View};
use crate::worktree::{Flush, Reader, Worktree};

/// A staging directory that is not what the store would write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Tampering {
    /// The directory's name.
    pub staging_id: String,
    /// The file in it; empty for the directory itself.
    pub file: String,
    /// `changed`, `missing`, `added`, `unreadable`, `decided` (the proposal is no longer pending)
    /// or `unknown` (no proposal has that id).
    pub what: &'static str,
}

/// The files that say what a staged proposal is.
const ABOUT: [&str; 3] = ["proposal.json", "target-checksums.json", "change.patch"];

/// A new staging id: UTC time, a slug of intent and rationale, and what makes it unique.
pub fn new_id(now: chrono::DateTime<chrono::Utc>, intent: &str, rationale: Option<&str>) -> String {
    let text = format!("{intent} {}", rationale.unwrap_or_default());
    let slug: String = slug::slug(&text)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(40)
        .collect();
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "proposal" } else { slug };
    let unique = crate::beneath::random() & 0xff_ffff;
    format!("{}-{slug}-{unique:06x}", now.format("%Y%m%dT%H%M%S"))
}

fn directory(id: &str) -> Result<RepoPath> {
    RepoPath::new(format!("{DIR}/staging/{id}"))
}

/// An id that can name a directory beneath staging/: an event is not trusted to.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.len() <= 120 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// The files of the staging directory of `proposal`, name and bytes.
///
/// # Errors
/// `object_missing`.
fn files(store: &Store, proposal: &Proposal) -> Result<Vec<(String, Vec<u8>)>> {
    let changeset = store.changeset(&proposal.current().changes)?;
    let mut out = about(store, proposal, &changeset)?;
    for change in changeset.changes() {
        if let (Some(path), Some(after)) = (store_path(&change.path), &change.after) {
            out.push((format!("files/{path}"), after.bytes.clone()));
        }
    }
    Ok(out)
}

/// The files that say what `proposal` is, whose changes are `changeset`.
fn about(
    store: &Store,
    proposal: &Proposal,
    changeset: &Changeset,
) -> Result<Vec<(String, Vec<u8>)>> {
    let json = |value: &serde_json::Value| -> Result<Vec<u8>> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Error::bug(e.to_string()))?;
        Ok((text + "\n").into_bytes())
    };
    let request = note(proposal, "request").cloned().unwrap_or_default();
    let get = |key: &str| request.get(key).cloned().unwrap_or_default();
    let revision = proposal.current();
    let paths: Vec<&str> = revision.changes.iter().filter_map(|c| store_path(&c.path)).collect();
    let document = json!({
        "staging_id": staging_id(proposal),
        "proposal_id": proposal.id.as_str(),
        "intent": get("intent"),
        "rationale": get("rationale"),
        "confidence": get("confidence"),
        "sources": get("sources"),
        "owner": get("owner"),
        "operations": get("operations"),
        "routing": note(proposal, "routing"),
        "created_at": timestamp(proposal.created_at),
        "expires_at": timestamp(proposal.expires_at),
        "files": paths,
        "affected_sections": note(proposal, "affected_sections"),
        "warnings": note(proposal, "warnings"),
    });
    let targets = json!({ "targets": note(proposal, "preconditions") });
    let patch = store.patch(&revision.changes, changeset);
    let contents = [json(&document)?, json(&targets)?, patch];
    Ok(ABOUT.into_iter().map(str::to_owned).zip(contents).collect())
}

/// Writes the staging directory of a pending proposal into the present work tree, and again into others
/// that have it: what is older there would look as if somebody had edited it.
///
/// # Errors
/// If a file cannot be written, or a symlink is in the way.
pub fn make(store: &Store, proposal: &Proposal) -> Result<()> {
    let Some(id) = staging_id(proposal).filter(|id| is_plain(id)) else { return Ok(()) };
    let mut trees = vec![store.worktree()?.without_conversion()];
    let present = store.work_dir();
    for top in
        having(store, &directory(id)?).into_iter().filter(|top| Some(top) != present.as_ref())
    {
        trees.push(Worktree::open(&top)?);
    }
    let files = files(store, proposal)?;
    for tree in &trees {
        for (name, bytes) in &files {
            let path = RepoPath::new(format!("{DIR}/staging/{id}/{name}"))?;
            tree.write_file(&path, bytes, Mode::Regular, Flush::No)?;
        }
    }
    Ok(())
}

/// The work trees of the repository that have something at `path`.
fn having(store: &Store, path: &RepoPath) -> Vec<PathBuf> {
    let mut trees = store.work_trees();
    trees.retain(|top| top.join(path.to_path()).symlink_metadata().is_ok());
    trees
}

/// Removes the staging directory of `proposal` from every work tree of the repository.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(store: &Store, proposal: &Proposal) -> Result<()> {
    let Some(id) = staging_id(proposal).filter(|id| is_plain(id)) else { return Ok(()) };
    let path = directory(id)?;
    having(store, &path)
        .iter()
        .try_for_each(|top| Worktree::open(top)?.remove_dir_all(&path).map(drop))
}

/// Removes the staging directories in the present work tree that say that they are of `id`: what
/// their proposal was is not known any more.
///
/// # Errors
/// If one cannot be removed.
pub fn forget(store: &Store, id: &ProposalId) -> Result<()> {
    if store.work_dir().is_none() {
        return Ok(());
    }
    let tree = store.worktree()?.without_conversion();
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

impl Service<'_> {
    /// Staging directories that are not what the store would write.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn tampering(&self, view: &View) -> Result<Vec<Tampering>> {
        let pending = self.proposals(view, Some(Status::Pending))?;
        self.tampering_among(view, &pending, &Held::new(self), true)
    }

    /// As [`Service::tampering`]; `pending` are all that are staged. What the last look has found to
    /// be as it should is passed over where its files have not changed since, unless this one
    /// `is_full`: whoever writes `.git/aye` can forge what is remembered, so that nothing is decided
    /// by it.
    pub(super) fn tampering_among(
        &self,
        view: &View,
        pending: &[Proposal],
        held: &Held<'_>,
        is_full: bool,
    ) -> Result<Vec<Tampering>> {
        let mut found = Vec::new();
        let mut sound = Sound::load(self.store, seen::STAGED, is_full);
        let mut known = BTreeSet::new();
        // As they were written: without conversion, and each directory opened once.
        let tree = self.store.worktree()?.without_conversion();
        let reader = tree.reader();
        // Facts of what lies behind a symlink would say nothing of it.
        let top = self.worktree.root().join(DIR);
        let staged = top.join("staging");
        let is_real = [&top, &staged]
            .iter()
            .all(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
        let above = is_real.then(|| Above::open(&staged)).flatten();
        for proposal in pending {
            let Some(id) = staging_id(proposal).filter(|id| is_plain(id)) else { continue };
            known.insert(id.to_owned());
            // Taken before anything is looked at: what changes meanwhile is another state.
            let line = above.as_ref().and_then(|above| self.line(id, proposal, above));
            if line.as_ref().is_some_and(|line| sound.has(line)) {
                continue;
            }
            let wrong = found.len();
            self.compare(id, proposal, &reader, held, &mut found)?;
            if let Some(line) = line.filter(|_| found.len() == wrong) {
                sound.add(&line);
            }
        }
        sound.save();
        for name in
            self.worktree.names(&RepoPath::new(format!("{DIR}/staging"))?).unwrap_or_default()
        {
            let name = name.to_string();
            if known.contains(&name) {
                continue;
            }
            let decided = view.staging(&name)?.iter().any(|(id, _)| *id == name);
            let what = if decided { "decided" } else { "unknown" };
            found.push(Tampering { staging_id: name, file: String::new(), what });
        }
        Ok(found)
    }

    /// What tells the files of a pending proposal, and what they should be, apart from any other
    /// state. `None` where that cannot be told, as of files that were written only now.
    fn line(&self, id: &str, proposal: &Proposal, above: &Above) -> Option<String> {
        let revision = proposal.current();
        let base = Path::new(id);
        let mut paths = BTreeSet::from([base.to_owned()]);
        paths.extend(ABOUT.map(|name| base.join(name)));
        let changed = revision.changes.iter().filter(|change| change.after.is_some());
        for path in changed.filter_map(|change| store_path(&change.path)) {
            let file = base.join("files").join(path);
            // What is put beside it shows in the facts of the directory.
            let directories = file.ancestors().take_while(|path| *path != base);
            paths.extend(directories.map(Path::to_owned));
        }
        let what = format!("{} {} {}", proposal.id, revision.event, timestamp(proposal.expires_at));
        seen::line(&what, above, paths.iter().map(PathBuf::as_path), self.now)
    }

    /// Whether the directory of a pending proposal need not be in this work tree: it may have been
    /// staged in another one, and what was fetched is shown here when something is written next.
    fn may_lack(&self, proposal: &Proposal) -> bool {
        let is_own = || self.store.own_lanes().iter().any(|lane| proposal.is_of_lane(lane));
        self.store.has_linked() || !is_own()
    }

    /// What is wrong with the directory of one pending proposal.
    ///
    /// # Errors
    /// `object_missing`.
    pub fn tampering_of(&self, proposal: &Proposal) -> Result<Vec<Tampering>> {
        let mut found = Vec::new();
        if let Some(id) = staging_id(proposal).filter(|id| is_plain(id)) {
            let tree = self.store.worktree()?.without_conversion();
            self.compare(id, proposal, &tree.reader(), &Held::new(self), &mut found)?;
        }
        Ok(found)
    }

    fn compare(
        &self,
        id: &str,
        proposal: &Proposal,
        reader: &Reader<'_>,
        held: &Held<'_>,
        found: &mut Vec<Tampering>,
    ) -> Result<()> {
        let mut say = |file: &str, what| {
            found.push(Tampering { staging_id: id.to_owned(), file: file.to_owned(), what });
        };
        let place = |name: &str| RepoPath::new(format!("{DIR}/staging/{id}/{name}"));
        if reader.names(&directory(id)?).unwrap_or_default().is_empty() && self.may_lack(proposal) {
            return Ok(());
        }
        // What is there is most often what the proposal has: then it is read from nowhere else.
        let (mut expected, mut changes) = (Vec::new(), Vec::new());
        for record in &proposal.current().changes {
            let before = record.before.as_ref().map(|entry| held.blob(self.store, entry));
            let mut after = None;
            if let Some(entry) = &record.after {
                let name = store_path(&record.path).map(|path| format!("files/{path}"));
                let there = name.as_deref().map(|name| place(name).and_then(|p| reader.file(&p)));
                let is_it =
                    |file: &File| self.store.entry_of(file).is_ok_and(|there| there.id == entry.id);
                let file = match there {
                    Some(Ok(Some(file))) if is_it(&file) => file,
                    there => {
                        match (&name, there) {
                            (Some(name), Some(Ok(Some(_)))) => say(name, "changed"),
                            (Some(name), Some(Ok(None))) => say(name, "missing"),
                            (Some(name), _) => say(name, "unreadable"),
                            (None, _) => {}
                        }
                        self.store.file(entry)?
                    }
                };
                after = Some(File { mode: entry.file_mode(), ..file });
                expected.extend(name);
            }
            changes.push(FileChange {
                path: record.path.clone(),
                before: before.transpose()?,
                after,
                origin: record.origin.clone(),
                snippets: Vec::new(),
            });
        }
        for (name, bytes) in about(self.store, proposal, &Changeset::new(changes)?)? {
            match reader.file(&place(&name)?) {
                Ok(Some(file)) if file.bytes == bytes => {}
                Ok(Some(_)) => say(&name, "changed"),
                Ok(None) => say(&name, "missing"),
                Err(_) => say(&name, "unreadable"),
            }
            expected.push(name);
        }
        let mut directories = vec![String::new()];
        while let Some(inside) = directories.pop() {
            let path = RepoPath::new(format!("{DIR}/staging/{id}/{inside}").trim_end_matches('/'))?;
            for name in reader.names(&path).unwrap_or_default() {
                let name = format!("{inside}{name}");
                if expected.contains(&name) {
                    continue;
                }
                // A directory that leads to what is expected is looked into.
                let beneath = format!("{name}/");
                if expected.iter().any(|known| known.starts_with(&beneath)) {
                    directories.push(beneath);
                } else {
                    say(&name, "added");
                }
            }
        }
        Ok(())
    }
}
