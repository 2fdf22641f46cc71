//! Long lists of files. An event line holds at most a mebibyte; a longer list becomes a blob in the
//! event's tree, `changes` or `written`, and the event names it. Pure.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{BlobRef, Data, Event};
use crate::error::{Error, Result};
use crate::proposal::{canonical, codes};

/// Longer lists (in bytes) become blobs.
pub const LONGEST_INLINE: usize = 64 << 10;

/// In bytes.
pub const MAX_LIST: usize = 64 << 20;

impl Event {
    /// Canonical JSON; `None` without a list.
    pub fn take_list(&mut self) -> Result<Option<Vec<u8>>> {
        match &mut self.data {
            Data::Propose(data) => taken(&mut data.changes),
            Data::Revise(data) => taken(&mut data.changes),
            Data::Patch(data) => taken(&mut data.written),
            _ => Ok(None),
        }
    }

    pub fn name_list(&mut self, blob: BlobRef) {
        if let Some(slot) = self.slot() {
            *slot = Some(blob);
        }
    }

    /// Blob of the list. Its name in the tree is the list's.
    pub fn list(&self) -> Option<&BlobRef> {
        match &self.data {
            Data::Propose(data) => data.changes_blob.as_ref(),
            Data::Revise(data) => data.changes_blob.as_ref(),
            Data::Patch(data) => data.written_blob.as_ref(),
            _ => None,
        }
    }

    /// `bytes` is the content of the blob that `list` names.
    ///
    /// # Errors
    /// `event_invalid` for other bytes than named, or no such list.
    pub fn put_list(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(named) = self.list() else { return Ok(()) };
        if crate::sha256::hex(bytes) != named.sha256 {
            return Err(broken("its bytes differ from the event's SHA-256"));
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
