//! The lists of events that are blobs of their own.

use gix::ObjectId;

use super::Store;
use crate::error::{Error, Result};
use crate::proposal::event::lists::MAX_LIST;
use crate::proposal::{Event, codes};

/// Puts the list of `event` back, if it is a blob of its own. The size is looked up before the blob
/// is loaded.
///
/// # Errors
/// `event_invalid` if the blob is missing, too large, or other than the event says.
pub(super) fn inflate(repo: &gix::Repository, event: &mut Event) -> Result<()> {
    let Some(named) = event.list() else { return Ok(()) };
    let missing = |why: &dyn std::fmt::Display| {
        Error::new(
            &codes::EVENT_INVALID,
            format!("the list {} of an event cannot be read: {why}", named.id),
        )
        .hint("`aye doctor` names the lane and commit")
    };
    let id = ObjectId::from_hex(named.id.as_bytes()).map_err(|error| missing(&error))?;
    let header = repo.find_header(id).map_err(|error| missing(&error))?;
    if header.kind() != gix::objs::Kind::Blob || header.size() > MAX_LIST as u64 {
        return Err(missing(&"it is not a blob of at most 64 MiB"));
    }
    let blob = repo.find_blob(id).map_err(|error| missing(&error))?;
    let bytes = blob.data.clone();
    event.put_list(&bytes)
}

impl Store {
    /// Puts the list of an event that was read from the log back.
    ///
    /// # Errors
    /// `event_invalid`.
    pub fn inflate(&self, event: &mut Event) -> Result<()> {
        inflate(&self.repo, event)
    }
}
