//! From object ids in events back to content.

use gix::ObjectId;

use super::{Audience, Store, codes, contradiction, objects, refs};
use crate::changeset::{Changeset, File, FileChange, Snippet, emit};
use crate::error::{Error, Result};
use crate::proposal::{ChangeRecord, Entry};

/// Bytes of content that one changeset may name, unless single files may be larger.
const MOST_CONTENT: u64 = 256 << 20;

impl Store {
    /// The content an entry names.
    ///
    /// # Errors
    /// `object_missing` if the blob is not there or damaged.
    pub fn file(&self, entry: &Entry) -> Result<File> {
        Ok(File { bytes: self.blob(&entry.id)?, mode: entry.file_mode() })
    }

    /// The bytes of the blob `id` (hex), fetched where this is a partial clone.
    ///
    /// # Errors
    /// As [`Repository::blob`](crate::repository::Repository::blob); `proposal_archived` where it is
    /// not there because the proposal that names it was folded away.
    pub fn blob(&self, id: &str) -> Result<Vec<u8>> {
        let found = match self.lacks(id) {
            true => Err(self.absent(id)),
            false => (**self).blob(id),
        };
        found.map_err(|error| self.archived_error(id).unwrap_or(error))
    }

    /// The error for the content `id` (hex) of a proposal whose commits were folded away.
    fn archived_error(&self, id: &str) -> Option<Error> {
        if self.has(id) {
            return None;
        }
        let (proposal, lane) = self.archived(id)?;
        let lanes = refs::lanes(&self.repo).unwrap_or_default();
        let name = lanes.iter().find(|found| found.lane() == lane && !refs::is_local(&found.name));
        let remote = name.and_then(|found| refs::remote_of(&found.name)).unwrap_or("origin");
        let there = format!("{}{lane}.*", Audience::Default.archives());
        // Beside the own archives it would go to the default remote with the next push of those.
        let here = format!("{}{lane}.*", self.audience_at(remote).archives());
        let why = format!("the content of {proposal} is not here: its lane has folded it away");
        let error = Error::new(&codes::PROPOSAL_ARCHIVED, why).with("proposal_id", proposal);
        Some(error.hint(format!("fetch the archive: git fetch {remote} '{there}:{here}'")))
    }

    /// Refuses changes that name more content than is held in memory at once. An event of a few
    /// bytes may name a large blob any number of times.
    fn admit(&self, changes: &[ChangeRecord]) -> Result<()> {
        let most = MOST_CONTENT.max(self.settings()?.max_file_size.saturating_mul(2));
        let entries = changes.iter().flat_map(|change| [&change.before, &change.after]);
        let mut total: u64 = 0;
        for entry in entries.flatten() {
            let Ok(id) = ObjectId::from_hex(entry.id.as_bytes()) else { continue };
            let Ok((_, size)) = objects::header(&self.repo, id) else { continue };
            total = total.saturating_add(size);
            if total > most {
                return Err(Error::new(
                    &crate::error::codes::SIZE_LIMIT,
                    format!("its files have more than {most} bytes together"),
                )
                .with("limit", most)
                .hint("make several proposals of it; aye.maxFileSize raises the limit"));
            }
        }
        Ok(())
    }

    /// Whether both sides of all `changes` are in this clone: a partial one asks its remote for what is not.
    pub fn has_contents(&self, changes: &[ChangeRecord]) -> bool {
        let sides = changes.iter().flat_map(|change| [&change.before, &change.after]);
        sides.flatten().all(|entry| self.has(&entry.id))
    }

    /// The size in bytes of the content of `entry`, which is not loaded for that; `None` where it is not here.
    pub fn size(&self, entry: &Entry) -> Option<u64> {
        let id = ObjectId::from_hex(entry.id.as_bytes()).ok()?;
        objects::header(&self.repo, id).ok().map(|(_, size)| size)
    }

    /// `changeset`, which `changes` record, as a git patch: the ids in it are those of the records.
    pub fn patch(&self, changes: &[ChangeRecord], changeset: &Changeset) -> Vec<u8> {
        let mut ids = emit::Ids::from(self.repo.object_hash());
        for ChangeRecord { path, before, after, .. } in changes {
            let [before, after] =
                [before, after].map(|entry| entry.as_ref().map(|entry| entry.id.as_str()));
            ids.know(path, before, after);
        }
        emit::git_patch(changeset, ids)
    }

    /// Whether something that `changes` name is not here and may come: this is a partial clone.
    pub fn awaits(&self, changes: &[ChangeRecord]) -> bool {
        self.is_partial() && !self.has_contents(changes)
    }

    /// The changeset that `changes` record, with content.
    ///
    /// # Errors
    /// As [`Store::sides`]; `changeset_invalid` if a hostile event breaks a changeset's rules.
    pub fn changeset(&self, changes: &[ChangeRecord]) -> Result<Changeset> {
        Changeset::new(self.sides(changes)?).map_err(|error| {
            match error.is(&crate::changeset::codes::NO_CHANGE) {
                // It is proposed already, by a lane of somebody else: whoever reads it cannot change that.
                true => error.hint("there is nothing to apply: aye reject ID --reason TEXT"),
                false => error,
            }
        })
    }

    /// Both sides of `changes`, as they are recorded.
    ///
    /// # Errors
    /// `object_missing`; `event_contradicts`; `size_limit_exceeded` if they name more than could be held
    /// in memory.
    pub fn sides(&self, changes: &[ChangeRecord]) -> Result<Vec<FileChange>> {
        self.fetch_contents(changes);
        self.admit(changes)?;
        let file = |entry: &Option<Entry>| entry.as_ref().map(|entry| self.file(entry)).transpose();
        changes
            .iter()
            .map(|change| {
                for entry in change.before.iter().chain(&change.after) {
                    contradiction::mode(&change.path, entry)?;
                }
                let change = FileChange {
                    path: change.path.clone(),
                    before: file(&change.before)?,
                    after: file(&change.after)?,
                    origin: change.origin.clone(),
                    snippets: change.snippets.iter().map(Snippet::from).collect(),
                };
                contradiction::check(&change)?;
                Ok(change)
            })
            .collect()
    }
}
