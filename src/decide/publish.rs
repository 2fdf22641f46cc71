//! A private proposal is made known to others.

use chrono::{DateTime, Utc};

use super::{Seen, current, still};
use crate::error::Result;
use crate::proposal::{Authority, Proposal};
use crate::store::Store;

/// Makes the private proposal `shown` a shared one, at the revision that was looked at when it was `seen`.
///
/// # Errors
/// `not_private`, `not_pending`, `private_path` where it stands on what is private, `revised_meanwhile`,
/// `changed_since_shown`; those of the store.
pub fn publish(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    shown: &Proposal,
    seen: &Seen,
) -> Result<()> {
    let shown = &current(&store.view()?, shown)?;
    // What cannot be read here could not be sent.
    store.changeset(shown.current())?;
    store.write(authority.actor(), now, |writer| {
        still(writer, shown, seen)?;
        writer.publish(authority, shown)
    })
}
