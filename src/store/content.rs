//! Content of the object ids in events.

use std::collections::BTreeSet;
use std::rc::Rc;

use gix::ObjectId;

use super::objects::object_id;
use super::{Store, codes, contradiction, thread};
use crate::changeset::{self, Changeset, File, FileChange, RepoPath, Snippet, emit, hunks};
use crate::error::codes::SIZE_LIMIT;
use crate::error::{Error, Result};
use crate::proposal::state::Revision;
use crate::proposal::{ChangeRecord, Entry};
use crate::repository::MOST;

impl Store {
    /// The content of an entry, within the size limit of a proposal's file.
    ///
    /// # Errors
    /// `object_missing` if the blob is missing or damaged; `size_limit_exceeded`.
    pub fn file(&self, entry: &Entry) -> Result<File> {
        self.file_of_at_most(entry, self.largest_file()?)
    }

    fn file_of_at_most(&self, entry: &Entry, most: u64) -> Result<File> {
        Ok(File { bytes: self.blob_of_at_most(&entry.id, most)?, mode: entry.file_mode() })
    }

    /// Size of the largest file of a proposal: 10 MiB, or `aye.maxFileSize` if that is more.
    fn largest_file(&self) -> Result<u64> {
        Ok(self.repository().settings()?.max_file_size.max(hunks::MOST_BYTES as u64))
    }

    /// The bytes of the blob `id` (hex), of at most 256 MiB.
    pub fn blob(&self, id: &str) -> Result<Vec<u8>> {
        self.blob_of_at_most(id, MOST)
    }

    /// The bytes of the blob `id` (hex), of at most `most`. A partial clone fetches it.
    pub fn blob_of_at_most(&self, id: &str, most: u64) -> Result<Vec<u8>> {
        if self.lacks(id) {
            return Err(self.repository().missing_blob_error(id));
        }
        self.repository().blob_of_at_most(id, most)
    }

    /// Bytes of both sides of `change` that are in this clone, by their headers.
    pub fn size_of(&self, change: &ChangeRecord) -> u64 {
        change.before.iter().chain(&change.after).filter_map(|entry| self.size(entry)).sum()
    }

    /// Bytes of content that one changeset may name.
    pub fn most_content(&self) -> Result<u64> {
        Ok(changeset::most_content(self.repository().settings()?.max_file_size))
    }

    /// Refuses changes with a too large file, or with more content than is kept in memory at once.
    /// An event of a few bytes may name a large blob any number of times.
    fn admit(&self, changes: &[ChangeRecord], most: u64) -> Result<()> {
        let (largest, mut total) = (self.largest_file()?, 0_u64);
        for change in changes {
            for entry in change.before.iter().chain(&change.after) {
                let size = self.size(entry).unwrap_or_default();
                if size > largest {
                    return Err(too_large(&change.path, size, largest));
                }
                total = total.saturating_add(size);
                if total > most {
                    return Err(too_much(most));
                }
            }
        }
        Ok(())
    }

    /// True if both sides of all `changes` are in this clone.
    pub fn has_contents(&self, changes: &[ChangeRecord]) -> bool {
        let sides = changes.iter().flat_map(|change| [&change.before, &change.after]);
        sides.flatten().all(|entry| self.repository().has(&entry.id))
    }

    /// The size of the content of `entry` by its header; `None` if it is not in this clone.
    pub fn size(&self, entry: &Entry) -> Option<u64> {
        let id = ObjectId::from_hex(entry.id.as_bytes()).ok()?;
        self.repository().header(id).ok().map(|(_, size)| size)
    }

    /// `changeset` as a git patch with the object ids of `changes`, which record it.
    pub fn patch(&self, changes: &[ChangeRecord], changeset: &Changeset) -> Vec<u8> {
        let mut ids = emit::Ids::from(self.repository().repo().object_hash());
        for ChangeRecord { path, before, after, .. } in changes {
            let [before, after] =
                [before, after].map(|entry| entry.as_ref().map(|entry| entry.id.as_str()));
            ids.know(path, before, after);
        }
        emit::git_patch(changeset, ids)
    }

    /// True if this is a partial clone that lacks content of `changes`.
    pub fn lacks_content(&self, changes: &[ChangeRecord]) -> bool {
        self.repository().is_partial() && !self.has_contents(changes)
    }

    /// The changeset of `revision`, with content from its own event's tree.
    ///
    /// # Errors
    /// `object_missing`; `event_contradicts`; `size_limit_exceeded` if it does not fit into memory;
    /// `changeset_invalid` if a hostile event breaks a changeset's rules; `thread_damaged`,
    /// `thread_incomplete`.
    pub fn changeset(&self, revision: &Revision) -> Result<Changeset> {
        self.partial_changeset(revision, &revision.changes)
    }

    /// The changeset of `changes`, which are some of `revision`.
    pub fn partial_changeset(
        &self,
        revision: &Revision,
        changes: &[ChangeRecord],
    ) -> Result<Changeset> {
        self.require_held(&revision.event, changes)?;
        self.changeset_unchecked(changes)
    }

    /// Refuses `changes` of an event whose own tree lacks content that they name, before that is
    /// shown or written. Otherwise a fetched event could have any object of this repository shown
    /// and sent.
    ///
    /// # Errors
    /// `thread_damaged`; `thread_incomplete` if a tree is missing.
    pub(super) fn require_held(&self, event: &str, changes: &[ChangeRecord]) -> Result<()> {
        let known = self.held.borrow().get(event).cloned();
        let held: Rc<BTreeSet<ObjectId>> = match known {
            Some(held) => held,
            None => {
                let held = Rc::new(thread::blobs_of(self, &object_id(event)?)?);
                self.held.borrow_mut().insert(event.to_owned(), Rc::clone(&held));
                held
            }
        };
        let sides = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        let is_held =
            |id: &str| ObjectId::from_hex(id.as_bytes()).is_ok_and(|id| held.contains(&id));
        let Some(other) = sides.map(|side| &side.id).find(|id| !is_held(id)) else { return Ok(()) };
        let why = format!("event {event:.12} names blob {other:.12}, which is not in its own tree");
        Err(Error::new(&codes::THREAD_DAMAGED, why)
            .with("event", event)
            .hint("it is not decided on: ask its proposer to propose it again"))
    }

    /// The changeset of `changes`, whatever event has the content: for callers that neither show
    /// nor write it.
    pub fn changeset_unchecked(&self, changes: &[ChangeRecord]) -> Result<Changeset> {
        self.fetch_contents(changes);
        self.admit(changes, self.most_content()?)?;
        Changeset::new(self.load(changes, self.largest_file()?)?).map_err(|error| {
            match error.is(&crate::changeset::codes::NO_CHANGE) {
                // The reader cannot change another one's proposal.
                true => error.hint("there is nothing to apply: aye reject ID -m TEXT"),
                false => error,
            }
        })
    }

    /// The changeset of `changes` of `revision` that the user named one by one, large files
    /// included.
    pub fn named_changeset(
        &self,
        revision: &Revision,
        changes: &[ChangeRecord],
    ) -> Result<Changeset> {
        self.require_held(&revision.event, changes)?;
        self.fetch_contents(changes);
        if changes.iter().map(|change| self.size_of(change)).sum::<u64>() > MOST {
            return Err(too_much(MOST));
        }
        Changeset::new(self.load(changes, MOST)?)
    }

    fn load(&self, changes: &[ChangeRecord], most: u64) -> Result<Vec<FileChange>> {
        let file = |path: &RepoPath, entry: &Option<Entry>, sha256: &Option<String>| -> Result<_> {
            let Some(entry) = entry else { return Ok(None) };
            contradiction::mode(path, entry)?;
            let file = self.file_of_at_most(entry, most)?;
            contradiction::content(path, &file, sha256.as_deref())?;
            Ok(Some(file))
        };
        changes
            .iter()
            .map(|change| {
                let change = FileChange {
                    path: change.path.clone(),
                    before: file(&change.path, &change.before, &change.before_sha256)?,
                    after: file(&change.path, &change.after, &change.after_sha256)?,
                    origin: change.origin.clone(),
                    snippets: change.snippets.iter().map(Snippet::from).collect(),
                };
                contradiction::check(&change)?;
                Ok(change)
            })
            .collect()
    }
}

const TOO_LARGE: &str = "`aye diff ID -- FILE` shows a file of it; aye.maxFileSize in git's configuration raises the limit";

fn too_large(path: &RepoPath, size: u64, limit: u64) -> Error {
    let path = path.display().to_string();
    let why = format!("'{path}' has {size} bytes, over the limit of {limit}");
    Error::new(&SIZE_LIMIT, why).with("path", path).with("limit", limit).hint(TOO_LARGE)
}

/// `size_limit_exceeded` if the files of a proposal have more than `limit` bytes together.
pub fn too_much(limit: u64) -> Error {
    let why = format!("its files have more than {limit} bytes together");
    Error::new(&SIZE_LIMIT, why).with("limit", limit).hint(TOO_LARGE)
}
