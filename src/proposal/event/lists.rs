//! Long lists: an event of at most a mebibyte can be about any number of files, because a long list is a blob
//! of its own in the event's tree, `changes` or `written`, which the event names. Pure.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{BlobRef, Data, Event};
use crate::error::{Error, Result};
use crate::proposal::{canonical, codes};

/// A list of more bytes than this is a blob of its own.
pub const LONGEST_INLINE: usize = 64 << 10;

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

    /// The blob that has the list, where it is not in the event; in the tree it is called as the list is.
    pub fn list(&self) -> Option<&BlobRef> {
        match &self.data {
            Data::Propose(data) => data.changes_blob.as_ref(),
            Data::Revise(data) => data.changes_blob.as_ref(),
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
            Data::Patch(data) => data.written = read(bytes)?,
            _ => {}
        }
        Ok(())
    }

    fn slot(&mut self) -> Option<&mut Option<BlobRef>> {
        match &mut self.data {
            Data::Propose(data) => Some(&mut data.changes_blob),
            Data::Revise(data) => Some(&mut data.changes_blob),
            Data::Patch(data) => Some(&mut data.written_blob),
            _ => None,
        }
    }
}

fn taken<T: Serialize>(list: &mut Vec<T>) -> Result<Option<Vec<u8>>> {
    match list.is_empty() {
        true => Ok(None),
        false => canonical::of(&std::mem::take(list)).map(Some),
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>> {
    if bytes.len() > MAX_LIST {
        return Err(broken("it is too large"));
    }
    let line = bytes.strip_suffix(b"\n").ok_or_else(|| broken("it does not end"))?;
    let list = canonical::parse(line).map_err(|why| broken(&why))?;
    serde_json::from_value(list).map_err(|error| broken(&error.to_string()))
}

fn broken(why: &str) -> Error {
    Error::new(&codes::EVENT_INVALID, format!("the list of an event cannot be read: {why}"))
        .hint("`aye doctor` names the ref and the commit")
}
