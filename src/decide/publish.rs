//! Making a private proposal known: to the default remote, or to another one.

use chrono::{DateTime, Utc};

use super::{Seen, still, verified};
use crate::error::Result;
use crate::proposal::{Authority, Proposal};
use crate::store::{Audience, Store};

/// Publishes the pending and private `shown` to `to`, as it stands. `seen` is where this clone's lanes were when
/// it was shown.
///
/// # Errors
/// `not_private`, `not_pending`, `private_path` where it stands on something else that is private,
/// `changed_since_shown`, `object_missing`; those of the store.
pub fn publish(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    shown: &Proposal,
    seen: &Seen,
    to: &Audience,
) -> Result<()> {
    let shown = &verified(store, shown)?;
    // What cannot be read here could not be sent.
    store.changeset(&shown.current().changes)?;
    store.write(authority.actor(), now, |writer| {
        still(writer, shown, seen)?;
        writer.publish(authority, shown, to)
    })
}
