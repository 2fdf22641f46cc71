//! Contents and lists that are missing from the object database, wherever else they are.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use gix::ObjectId;
use gix::objs::Kind;

use super::known::Knowledge;
use crate::changeset::patch::{self, Options};
use crate::changeset::{File, RepoPath, Snapshot, Snippet, snippet};
use crate::error::Result;
use crate::proposal::{ChangeRecord, Entry, canonical};
use crate::store::inspect::Damage;
use crate::store::objects::hashed;
use crate::store::{Store, lists};
use crate::worktree::Worktree;

/// Files below `.agent-memory/` that are looked at.
const MOST_FILES: usize = 20_000;

/// Largest of them, in bytes.
const LARGEST: u64 = 16 << 20;

/// Looks for contents by their id.
pub(super) struct Contents<'a> {
    store: &'a Store,
    roots: Vec<PathBuf>,
    /// What lies below `.agent-memory/` of the work trees, by blob id.
    memory: OnceCell<HashMap<ObjectId, PathBuf>>,
}

impl<'a> Contents<'a> {
    /// Nothing is read before it is asked for.
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, roots: store.work_trees(), memory: OnceCell::new() }
    }

    /// The bytes of the blob that `damage` is about.
    pub(super) fn find(&self, damage: &Damage, known: &Knowledge) -> Option<Vec<u8>> {
        let fits = |bytes: &Vec<u8>| self.id(bytes) == Some(damage.object);
        if damage.path.starts_with(b"list-") {
            return known
                .proposals
                .iter()
                .flat_map(|proposal| &proposal.revisions)
                .filter_map(|revision| serde_json::to_value(&revision.changes).ok())
                .map(|changes| canonical::to_bytes(&changes))
                .find(fits);
        }
        let (side, path) = damage.path.split_once_str("/")?;
        let path = RepoPath::new(path).ok()?;
        self.in_files(&path, damage.object)
            .or_else(|| self.other_side(damage, side == b"after", &path, known))
    }

    fn id(&self, bytes: &[u8]) -> Option<ObjectId> {
        hashed(self.store.repo.object_hash(), Kind::Blob, bytes).ok()
    }

    /// From the file at `path`, or from one that memory keeps.
    fn in_files(&self, path: &RepoPath, wanted: ObjectId) -> Option<Vec<u8>> {
        for root in &self.roots {
            let Ok(tree) = Worktree::open(root) else { continue };
            let Ok(Some(file)) = tree.without_conversion().file(path) else { continue };
            for bytes in [file.bytes.replace(b"\r\n", b"\n"), file.bytes] {
                if self.id(&bytes) == Some(wanted) {
                    return Some(bytes);
                }
            }
        }
        let file = self.memory.get_or_init(|| self.memory()).get(&wanted)?;
        std::fs::read(file).ok().filter(|bytes| self.id(bytes) == Some(wanted))
    }

    fn memory(&self) -> HashMap<ObjectId, PathBuf> {
        let mut found = HashMap::new();
        for root in &self.roots {
            let files = walkdir::WalkDir::new(root.join(".agent-memory")).into_iter().flatten();
            let files = files.filter(|entry| {
                entry.file_type().is_file() && entry.metadata().is_ok_and(|m| m.len() <= LARGEST)
            });
            for entry in files.take(MOST_FILES) {
                let Ok(bytes) = std::fs::read(entry.path()) else { continue };
                if let Some(id) = self.id(&bytes) {
                    found.insert(id, entry.into_path());
                }
            }
        }
        found
    }

    /// From the other side of the change: by the replacements it was written as, or by the patch
    /// among the projections.
    fn other_side(
        &self,
        damage: &Damage,
        is_after: bool,
        path: &RepoPath,
        known: &Knowledge,
    ) -> Option<Vec<u8>> {
        let fits = |bytes: &Vec<u8>| self.id(bytes) == Some(damage.object);
        let wanted = damage.object.to_string();
        let changes = self.changes(damage, known);
        let side = |change: &ChangeRecord, after: bool| -> Option<Entry> {
            if after { change.after.clone() } else { change.before.clone() }
        };
        let file = |entry: Option<Entry>| -> Option<File> { self.store.file(&entry?).ok() };
        let is_it = |change: &&ChangeRecord| {
            change.path == *path && side(change, is_after).is_some_and(|e| e.id == wanted)
        };
        for change in changes.iter().filter(is_it) {
            if is_after
                && !change.snippets.is_empty()
                && let Some(before) = file(change.before.clone())
            {
                let snippets: Vec<Snippet> = change.snippets.iter().map(Snippet::from).collect();
                let made = snippet::apply_all(path, &before, &snippets).ok();
                if let Some(bytes) = made.map(|file| file.bytes).filter(fits) {
                    return Some(bytes);
                }
            }
        }
        // The files as they are on the side that the patch starts from, or ends with.
        let files: HashMap<RepoPath, File> = changes
            .iter()
            .filter_map(|change| Some((change.path.clone(), file(side(change, !is_after))?)))
            .collect();
        let options = Options { reverse: !is_after, ..Options::default() };
        let patches = self.roots.iter().flat_map(|root| {
            damage
                .proposals
                .iter()
                .map(move |id| root.join(format!(".agent-memory/proposals/{id}/change.patch")))
        });
        for file in patches {
            let Some(bytes) = read(&file) else { continue };
            let Ok(read) = patch::read(&bytes, &Files(&files), &options) else { continue };
            let made = read.changeset.into_changes().into_iter();
            let made = made.filter(|change| change.path == *path);
            if let Some(bytes) = made.filter_map(|change| Some(change.after?.bytes)).find(fits) {
                return Some(bytes);
            }
        }
        None
    }

    /// What the events of the proposals change.
    fn changes(&self, damage: &Damage, known: &Knowledge) -> Vec<ChangeRecord> {
        let rows = crate::store::lane::events(
            &self.store.repo,
            &crate::store::refs::LaneRef { name: damage.name.clone(), tip: damage.commit },
            damage.commit,
            crate::store::lane::Limits::LOCAL,
        );
        let stored = rows.into_iter().flatten().map(|row| *row.event);
        let lane = crate::store::refs::lane_of(&damage.name);
        let cached = known
            .of_commit(lane, damage.commit)
            .into_iter()
            .filter_map(|id| known.events.get(&id).map(|known| known.stamped.event.clone()));
        let mut changes = Vec::new();
        for mut event in stored.chain(cached) {
            let _ = lists::inflate(&self.store.repo, &mut event);
            changes.extend(event.data.changes().to_vec());
        }
        changes
    }
}

/// A file of a projection; none if it is a symlink or very large.
fn read(path: &Path) -> Option<Vec<u8>> {
    let facts = path.symlink_metadata().ok()?;
    (facts.is_file() && facts.len() <= LARGEST).then(|| std::fs::read(path).ok()).flatten()
}

/// The one side of a proposal.
struct Files<'a>(&'a HashMap<RepoPath, File>);

impl Snapshot for Files<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        Ok(self.0.get(path).cloned())
    }
}
