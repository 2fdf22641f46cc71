//! Publishing private proposals.

use chrono::{DateTime, Utc};

use super::{ViewedState, current, require_unchanged};
use crate::error::Result;
use crate::proposal::{Authority, Proposal};
use crate::store::Store;

/// Shares `shown`, at the revision that was looked at.
///
/// # Errors
/// `not_private`, `not_pending`, `private_path` if it depends on private content,
/// `revised_meanwhile`, `changed_since_shown`.
pub fn publish(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    shown: &Proposal,
    seen: &ViewedState,
) -> Result<()> {
    let shown = &current(&store.view()?, shown)?;
    // Unreadable content could not be sent.
    store.changeset(shown.current())?;
    store.write(authority.actor(), now, |writer| {
        require_unchanged(writer, shown, seen)?;
        writer.publish(authority, shown)
    })
}
