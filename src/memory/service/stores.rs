//! Other stores, read at the commit that they are pinned to. Nothing is fetched for that, and nothing of
//! theirs is ever written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::{Service, blob_in, head_directory};
use crate::error::{Error, Result, codes as error_codes};
use crate::memory::disk::Disk;
use crate::memory::plan::index_page;
use crate::memory::search::sections::{self, Entry};
use crate::memory::search::{Boosts, Hit, Index, Query, Seen};
use crate::memory::settings::stores::{self, Pin, StoreRef};
use crate::memory::settings::{self, Manifest, Settings, manifest, schema};
use crate::memory::{DIR, MAX_FILE_BYTES, codes};
use crate::repository::objects_at;
use crate::sha256;

/// Most files of one store that are read.
const MOST_FILES: usize = 20_000;

/// The other stores that the manifest names.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Those that can be read.
    pub read: Vec<Pinned>,
    /// The names of the others, and why they are not read.
    pub unread: Vec<(String, String)>,
}

/// A store at its commit.
pub(super) struct Pinned {
    reference: StoreRef,
    commit: ObjectId,
    repo: gix::Repository,
    /// The directory of the store.
    tree: ObjectId,
    settings: Settings,
}

/// A section of another store, as `aye memory show` prints it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Borrowed {
    /// What the manifest calls the store.
    pub store: String,
    /// The commit that it is pinned to.
    pub commit: String,
    /// File, relative to the store.
    pub path: String,
    /// Section id, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// Headings down to it, joined by ` > `.
    pub trail: String,
    /// Line of its heading, from 1.
    pub line: usize,
    /// The whole text under the heading.
    pub text: String,
    /// Rests on sources that are not trusted.
    pub untrusted: bool,
}

impl Service<'_> {
    /// The stores that HEAD's manifest names, opened; nothing is looked for where there are none.
    pub(super) fn elsewhere(&self) -> &Elsewhere {
        self.elsewhere.get_or_init(|| self.open_stores())
    }

    fn open_stores(&self) -> Elsewhere {
        let mut found = Elsewhere::default();
        let named = &self.settings.manifest.stores;
        if named.is_empty() {
            return found;
        }
        let directory = head_directory(self.store);
        let in_head = |path: &str| -> Option<Vec<u8>> {
            Some(blob_in(directory.as_ref()?, path)?.object().ok()?.detach().data)
        };
        // What nobody has committed leads to no other repository.
        let committed = in_head(manifest::PATH).and_then(|bytes| Manifest::read(&bytes).ok());
        let committed = committed.map(|manifest| manifest.stores).unwrap_or_default();
        let lock = in_head(stores::LOCK_PATH);
        let pins = stores::pins(lock.as_deref());
        for reference in named {
            let opened = match committed.iter().find(|store| *store == reference) {
                Some(_) => self.open_store(reference, &pins),
                None => Err("HEAD's manifest does not have it like this; commit meta/".to_owned()),
            };
            match opened {
                Ok(pinned) => found.read.push(pinned),
                Err(why) => found.unread.push((reference.name.clone(), why)),
            }
        }
        found
    }

    fn open_store(
        &self,
        reference: &StoreRef,
        pins: &BTreeMap<String, Pin>,
    ) -> std::result::Result<Pinned, String> {
        if let Some(mode) = reference.mode.as_deref().filter(|mode| !stores::is_read_only(mode)) {
            return Err(format!("mode '{mode}' is not reading alone"));
        }
        let pin = pins.get(&reference.name).filter(|pin| pin.source == reference.source);
        let revision = reference.revision.as_deref();
        let commit = pin.map(|pin| pin.commit.as_str()).or(revision);
        let Some(commit) = commit.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()) else {
            return Err("it is not pinned: neither meta/stores.lock (resolved_commit) nor its \
                        revision names a commit by its whole id"
                .to_owned());
        };
        let has = |repo: &gix::Repository| repo.find_commit(commit).is_ok();
        let here = Some(self.store.repo().clone()).filter(has);
        let repo = here.or_else(|| {
            let path = local(&reference.source, self.worktree.root())?;
            objects_at(&path).ok().filter(has)
        });
        let Some(repo) = repo else {
            return Err(format!(
                "its commit is not here; git fetch {} {commit} brings it",
                reference.source
            ));
        };
        let within = pin.and_then(|pin| pin.path.as_deref()).or(reference.path.as_deref());
        let (tree, settings) = find_store(&repo, commit, within.unwrap_or("."))?;
        Ok(Pinned { reference: reference.clone(), commit, repo, tree, settings })
    }

    /// The best `limit` sections of the other stores, with what each store counts.
    pub(super) fn search_elsewhere(
        &self,
        query: &Query,
        boosts: &Boosts,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        let mut hits = Vec::new();
        for pinned in &self.elsewhere().read {
            let factor = pinned.reference.priority_multiplier.unwrap_or(1.0);
            for hit in pinned.index(self)?.search(query, boosts, limit)? {
                let store = Some(pinned.reference.name.clone());
                hits.push(Hit { store, score: hit.score * factor, ..hit });
            }
        }
        Ok(hits)
    }

    /// Which other stores are not read and why, in words; `None` where all are.
    pub fn unread_stores(&self) -> Option<String> {
        let unread = &self.elsewhere().unread;
        let why: Vec<String> = unread.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        (!why.is_empty()).then(|| format!("not searched: {}", why.join("; ")))
    }

    /// The sections that `place` names: `STORE:PATH`, or `STORE:PATH#ID`. `None` where no store of the
    /// manifest has that name.
    ///
    /// # Errors
    /// `memory_store_unread` where the store cannot be read, `section_not_found`.
    pub fn borrowed(&self, place: &str) -> Result<Option<Vec<Borrowed>>> {
        let Some((name, place)) = place.split_once(':') else { return Ok(None) };
        let elsewhere = self.elsewhere();
        if let Some((_, why)) = elsewhere.unread.iter().find(|(unread, _)| unread == name) {
            let message = format!("the store '{name}' is not read: {why}");
            return Err(Error::new(&codes::STORE_UNREAD, message)
                .hint("aye memory status prints which stores are read"));
        }
        let Some(pinned) = elsewhere.read.iter().find(|store| store.reference.name == name) else {
            return Ok(None);
        };
        let (path, id) = match place.split_once('#') {
            Some((path, id)) => (path, Some(id)),
            None => (place, None),
        };
        let text = pinned.files().get(path).and_then(|id| pinned.text(*id));
        let entries = text.map(|text| sections::of_file(path, &text, &pinned.settings));
        let wanted = |entry: &Entry| id.is_none() || entry.section_id.as_deref() == id;
        let found: Vec<Borrowed> = entries
            .into_iter()
            .flatten()
            .filter(wanted)
            .map(|entry| Borrowed {
                store: name.to_owned(),
                commit: pinned.commit.to_string(),
                path: entry.path,
                section_id: entry.section_id,
                trail: entry.trail,
                line: entry.line,
                text: entry.body,
                untrusted: entry.untrusted,
            })
            .collect();
        if found.is_empty() {
            let message = format!("the store '{name}' has no section '{place}'");
            return Err(Error::new(&error_codes::INVALID_ARGUMENT, message)
                .hint("aye memory search prints path and id of each"));
        }
        Ok(Some(found))
    }
}

impl Pinned {
    /// The Markdown files of its categories, with their blobs.
    fn files(&self) -> BTreeMap<String, ObjectId> {
        let mut files = BTreeMap::new();
        let Ok(top) = self.repo.find_tree(self.tree) else { return files };
        for dir in Disk::directories(&self.settings) {
            let tree = match dir.is_empty() {
                true => Some(top.clone()),
                false => top
                    .lookup_entry_by_path(&dir)
                    .ok()
                    .flatten()
                    .and_then(|entry| entry.object().ok()?.try_into_tree().ok()),
            };
            let Some(tree) = tree else { continue };
            for entry in tree.iter().flatten().filter(|entry| entry.mode().is_blob()) {
                let Ok(name) = std::str::from_utf8(entry.filename()) else { continue };
                let path = match dir.is_empty() {
                    true => name.to_owned(),
                    false => format!("{dir}/{name}"),
                };
                let is_category = self.settings.schema.category(&path).is_some();
                if is_category && path != index_page::PATH && files.len() < MOST_FILES {
                    files.insert(path, entry.object_id());
                }
            }
        }
        files
    }

    /// The text of a blob, `None` where it is not UTF-8 or too large.
    fn text(&self, id: ObjectId) -> Option<String> {
        let size = self.repo.find_header(id).ok()?.size();
        if size > MAX_FILE_BYTES as u64 {
            return None;
        }
        String::from_utf8(self.repo.find_object(id).ok()?.detach().data).ok()
    }

    /// An index of its own beside that of this store, made again with another commit.
    fn index(&self, service: &Service<'_>) -> Result<Index> {
        let name = sha256::hex(self.reference.name.as_bytes());
        let file = format!("memory-{}.sqlite", &name[..16]);
        let path = service.store.repo().git_dir().join("aye").join(file);
        let mut index = Index::open(Some(&path), &format!("{} {}", self.commit, self.tree))?;
        let files = self.files();
        let seen: Vec<Seen> = files
            .iter()
            .map(|(path, id)| Seen { path: path.clone(), stamp: id.to_string() })
            .collect();
        index.refresh(&seen, &self.settings, &|path| self.text(*files.get(path)?))?;
        Ok(index)
    }
}

/// The store in `commit` at `path`, and its settings: `path` itself, or `.agent-memory` in it.
fn find_store(
    repo: &gix::Repository,
    commit: ObjectId,
    path: &str,
) -> std::result::Result<(ObjectId, Settings), String> {
    let none = || format!("commit {commit} has no memory store at '{path}'");
    let top =
        repo.find_commit(commit).ok().and_then(|commit| commit.tree().ok()).ok_or_else(none)?;
    let base = match path {
        "." => Some(top),
        path => top
            .lookup_entry_by_path(path)
            .ok()
            .flatten()
            .and_then(|entry| entry.object().ok()?.try_into_tree().ok()),
    };
    let base = base.ok_or_else(none)?;
    let inner = base.lookup_entry_by_path(DIR).ok().flatten();
    let inner = inner.and_then(|entry| entry.object().ok()?.try_into_tree().ok());
    let is_store = |tree: &gix::Tree<'_>| blob_in(tree, manifest::PATH).is_some();
    let tree = inner.into_iter().chain([base]).find(is_store).ok_or_else(none)?;
    let small = |path: &str| -> Option<Vec<u8>> {
        let id = blob_in(&tree, path)?;
        let is_small = repo.find_header(id).ok()?.size() <= settings::MAX_BYTES as u64;
        is_small.then(|| id.object().ok().map(|object| object.detach().data)).flatten()
    };
    let read = Settings::read(small(manifest::PATH).as_deref(), small(schema::PATH).as_deref());
    match read {
        Ok(settings) => Ok((tree.id, settings)),
        Err(error) => Err(format!("its settings cannot be read: {}", error.message())),
    }
}

/// The directory that `source` names, if it is one of this machine; a relative one is beneath `root`.
fn local(source: &str, root: &Path) -> Option<PathBuf> {
    if let Some(path) = source.strip_prefix("file://") {
        return Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    }
    let is_remote = source.contains("://")
        || source.split_once(':').is_some_and(|(host, _)| !host.contains(['/', '\\']));
    (!is_remote).then(|| root.join(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_are_local() {
        let root = Path::new("/repo");
        let cases = [
            ("../wiki", Some("/repo/../wiki")),
            ("/srv/wiki.git", Some("/srv/wiki.git")),
            ("file:///srv/wiki", Some("/srv/wiki")),
            ("file://host", None),
            ("https://example.com/wiki.git", None),
            ("git@example.com:wiki.git", None),
            ("./a:b", Some("/repo/./a:b")),
        ];
        for (source, expected) in cases {
            assert_eq!(local(source, root), expected.map(PathBuf::from), "{source}");
        }
    }
}
