//! The lists of events that are blobs of their own.

use gix::ObjectId;
use gix::objs::Kind;

use super::Store;
use super::objects::hashed;
use super::refs;
use crate::error::{Error, Result};
use crate::proposal::event::lists::MAX_LIST;
use crate::proposal::event::{MAX_BYTES, Publish};
use crate::proposal::{Data, Event, Stamped, codes};
use crate::repository::blob_within;

/// Puts the list of `event` back, if it is a blob of its own. The size is looked up before the blob
/// is loaded.
///
/// # Errors
/// `event_invalid` if the blob is missing, too large, or other than the event says.
pub(super) fn inflate(repo: &gix::Repository, event: &mut Event) -> Result<()> {
    if let Data::Publish(publish) = &mut event.data {
        publish.changes = original(repo, publish, MAX_BYTES)?.0.event.data.changes().to_vec();
        return Ok(());
    }
    let Some(named) = event.list() else { return Ok(()) };
    let (_, bytes) = blob(repo, &named.id, MAX_LIST, |why| {
        unreadable(format!("the list {} of an event cannot be read: {why}", named.id))
    })?;
    event.put_list(&bytes)
}

/// What [`inflate`] cannot do without and is not here.
pub(super) fn missing(repo: &gix::Repository, event: &Event) -> Option<ObjectId> {
    let absent = |id: &str| {
        let id = ObjectId::from_hex(id.as_bytes()).ok()?;
        repo.find_header(id).is_err().then_some(id)
    };
    let Data::Publish(publish) = &event.data else { return absent(&event.list()?.id) };
    absent(&publish.original.id).or_else(|| {
        let first = ObjectId::from_hex(publish.original.id.as_bytes()).ok()?;
        let first = Event::from_bytes(&blob_within(repo, first, MAX_BYTES as u64).ok()??).ok()?;
        absent(&first.list()?.id)
    })
}

/// Id and bytes of the blob `id` (hex) of at most `most` bytes. The size is looked up before it is loaded.
///
/// # Errors
/// What `wrong` makes of the reason.
fn blob(
    repo: &gix::Repository,
    id: &str,
    most: usize,
    wrong: impl Fn(&dyn std::fmt::Display) -> Error,
) -> Result<(ObjectId, Vec<u8>)> {
    let id = ObjectId::from_hex(id.as_bytes()).map_err(|error| wrong(&error))?;
    match blob_within(repo, id, most as u64).map_err(|error| wrong(&error))? {
        Some(bytes) => Ok((id, bytes)),
        None => Err(wrong(&format_args!("it is not a blob of at most {most} bytes"))),
    }
}

fn unreadable(message: String) -> Error {
    Error::new(&codes::EVENT_INVALID, message).hint("`aye doctor` names the lane and commit")
}

/// The first event of a proposal that `publish` carries, with its list, and the bytes that it is stored
/// as, of which there are at most `most`.
///
/// # Errors
/// `event_invalid` if the blob is missing or too large, other than its name says, or not such an
/// event.
pub(super) fn original(
    repo: &gix::Repository,
    publish: &Publish,
    most: usize,
) -> Result<(Stamped, Vec<u8>)> {
    let named = &publish.original;
    let wrong = |why: &dyn std::fmt::Display| {
        unreadable(format!("the first event {} cannot be read: {why}", named.id))
    };
    let (id, bytes) = blob(repo, &named.id, most, wrong)?;
    let hash = hashed(repo.object_hash(), Kind::Blob, &bytes);
    if crate::sha256::hex(&bytes) != named.sha256 || hash.ok() != Some(id) {
        return Err(wrong(&"its bytes are not those that the event names"));
    }
    let mut event = Event::from_bytes(&bytes)?;
    if !matches!(event.data, Data::Propose(_)) || !refs::is_lane_name(&event.lane) {
        return Err(wrong(&"it is not the first event of a proposal"));
    }
    inflate(repo, &mut event)?;
    Ok((Stamped { id: id.to_string(), event }, bytes))
}

impl Store {
    /// Puts the list of an event that was read from the log back.
    ///
    /// # Errors
    /// `event_invalid`.
    pub fn inflate(&self, event: &mut Event) -> Result<()> {
        inflate(&self.repository().repo, event)
    }
}
