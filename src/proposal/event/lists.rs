//! Long lists: an event of at most a mebibyte can be about any number of files, because a long list
//! is a blob of its own in the event's commit, which the event names. Pure.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BlobRef, Data, Event};
use crate::error::{Error, Result};
use crate::proposal::{canonical, codes};

/// Events of more bytes than this put their list into a blob.
pub const LONGEST_INLINE: usize = 256 * 1024;

/// Largest list, in bytes.
pub const MAX_LIST: usize = 64 << 20;

impl Event {
    /// Takes the list of changes or of written files out, as canonical JSON; `None` where the event
    /// has no list.
    ///
    /// # Errors
    /// `internal_error` if it cannot be written as JSON.
    pub fn take_list(&mut self) -> Result<Option<Vec<u8>>> {
        match &mut self.data {
            Data::Propose(data) => taken(&mut data.changes),
            Data::Revise(data) => taken(&mut data.changes),
            Data::Apply(data) => taken(&mut data.written),
            Data::Undo(data) => taken(&mut data.written),
            Data::Patch(data) => taken(&mut data.written),
            _ => Ok(None),
        }
    }

    /// Names the blob that has the list.
    pub fn name_list(&mut self, blob: BlobRef) {
        if let Some(slot) = self.slot() {
            *slot = Some(blob);
        }
    }

    /// The blob that has the list, where it is not in the event.
    pub fn list(&self) -> Option<&BlobRef> {
        match &self.data {
            Data::Propose(data) => data.changes_blob.as_ref(),
            Data::Revise(data) => data.changes_blob.as_ref(),
            Data::Apply(data) => data.written_blob.as_ref(),
            Data::Undo(data) => data.written_blob.as_ref(),
            Data::Patch(data) => data.written_blob.as_ref(),
            _ => None,
        }
    }

    /// Puts the list back that `bytes`, the content of [`Event::list`], hold.
    ///
    /// # Errors
    /// `event_invalid` if they are other bytes than the event names, or not such a list.
    pub fn put_list(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(named) = self.list() else { return Ok(()) };
        if crate::sha256::hex(bytes) != named.sha256 {
            return Err(broken("its bytes are not those that the event names"));
        }
        match &mut self.data {
            Data::Propose(data) => data.changes = read(bytes)?,
            Data::Revise(data) => data.changes = read(bytes)?,
            Data::Apply(data) => data.written = read(bytes)?,
            Data::Undo(data) => data.written = read(bytes)?,
            Data::Patch(data) => data.written = read(bytes)?,
            _ => {}
        }
        Ok(())
    }

    fn slot(&mut self) -> Option<&mut Option<BlobRef>> {
        match &mut self.data {
            Data::Propose(data) => Some(&mut data.changes_blob),
            Data::Revise(data) => Some(&mut data.changes_blob),
            Data::Apply(data) => Some(&mut data.written_blob),
            Data::Undo(data) => Some(&mut data.written_blob),
            Data::Patch(data) => Some(&mut data.written_blob),
            _ => None,
        }
    }

    /// The format version it is written as. Without its changes, version 0.1.0 would take a proposal
    /// for one that changes nothing, so it is written as one that 0.1.0 skips.
    pub(super) fn version(&self) -> u32 {
        match &self.data {
            Data::Propose(data) if data.changes_blob.is_some() => 2,
            Data::Revise(data) if data.changes_blob.is_some() => 2,
            _ => super::VERSION,
        }
    }
}

fn taken<T: Serialize>(list: &mut Vec<T>) -> Result<Option<Vec<u8>>> {
    if list.is_empty() {
        return Ok(None);
    }
    let list = std::mem::take(list);
    let value: Value = serde_json::to_value(list).map_err(|e| Error::bug(e.to_string()))?;
    Ok(Some(canonical::to_bytes(&value)))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>> {
    if bytes.len() > MAX_LIST {
        return Err(broken("it is too large"));
    }
    serde_json::from_slice(bytes).map_err(|error| broken(&error.to_string()))
}

fn broken(why: &str) -> Error {
    Error::new(&codes::EVENT_INVALID, format!("the list of an event cannot be read: {why}"))
        .hint("`aye doctor` names the lane and commit")
}
