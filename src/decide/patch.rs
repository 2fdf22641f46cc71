//! Direct patches: written without a proposal where no gate forbids it, and recorded for the log
//! and for undo.

use chrono::{DateTime, Utc};

use crate::changeset::{Changeset, File};
use crate::error::{Error, Result};
use crate::proposal::event::{Evidence, FileOutcome, Patch, Written};
use crate::proposal::id::PATCH_PREFIX;
use crate::proposal::{Authority, Data, Entry, ProposalId, StoredEvent, codes};
use crate::store::{DirectPatch, Store, View, entry_of};

pub fn id(event: &str) -> String {
    ProposalId::from_event(event).of_patch()
}

pub fn is_id(text: &str) -> bool {
    text.starts_with(PATCH_PREFIX)
}

/// `None` means no file.
pub type Ids = [Option<Entry>; 2];

/// Reads nothing but `changeset`.
pub fn ids(hash: gix::hash::Kind, changeset: &Changeset) -> Result<Vec<Ids>> {
    let id = |file: &Option<File>| -> Result<Option<Entry>> {
        file.as_ref().map(|file| entry_of(hash, file)).transpose()
    };
    let changes = changeset.changes().iter();
    changes.map(|change| Ok([id(&change.before)?, id(&change.after)?])).collect()
}

/// Records a patch that was written. Keeps only the content before, unless the object database has
/// it: the files hold the rest.
pub fn record(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    changeset: &Changeset,
    ids: Vec<Ids>,
) -> Result<String> {
    let changes = || changeset.changes().iter().zip(&ids);
    store
        .keep_as(changes().filter_map(|(change, [before, _])| {
            Some((before.as_ref()?, change.before.as_ref()?))
        }))?;
    let written: Vec<Written> = changes()
        .map(|(change, [before, after])| Written {
            path: change.path.clone(),
            before: before.clone(),
            after: after.clone(),
            outcome: FileOutcome::Clean,
        })
        .collect();
    let stamped = store.write(authority.actor(), now, |writer| writer.patch(authority, written))?;
    let id = id(&stamped.id);
    let before =
        changes().filter_map(|(change, [before, _])| Some((&change.path, before.as_ref()?)));
    store.keep_before(&id, before)?;
    Ok(id)
}

/// # Errors
/// `proposal_not_found`, `ambiguous_id`, `not_applied`; `changed_since_shown` for another clone's
/// patch.
pub fn find(view: &View<'_>, text: &str) -> Result<(StoredEvent, Patch)> {
    let mut found = view.patches()?;
    found.retain(|patched| id(&patched.stamped.id).starts_with(text));
    if found.len() > 1 {
        return Err(Error::new(
            &codes::AMBIGUOUS_ID,
            format!("'{text}' begins several ids of patches"),
        )
        .hint("type more characters; `aye log` shows them"));
    }
    let Some(DirectPatch { id: thread, stamped, undone }) = found.pop() else {
        return Err(Error::new(&codes::PROPOSAL_NOT_FOUND, format!("no patch '{text}'"))
            .hint("`aye log` shows the direct patches"));
    };
    let Data::Patch(patch) = &stamped.event.data else {
        return Err(Error::bug("a thread of a patch that begins with none"));
    };
    let patch = patch.clone();
    if undone.is_some() {
        return Err(Error::new(
            &codes::NOT_APPLIED,
            format!("{} was already undone", id(&stamped.id)),
        )
        .hint("`aye log` shows by whom"));
    }
    require_own(view, &thread, &stamped)?;
    Ok((stamped, patch))
}

/// Refuses a patch that this clone did not record. Undo would restore content for which only
/// another clone, or a file below `.git/aye`, vouches.
///
/// # Errors
/// `changed_since_shown`.
fn require_own(view: &View<'_>, thread: &ProposalId, stamped: &StoredEvent) -> Result<()> {
    if view.has_recorded(thread, stamped)? {
        return Ok(());
    }
    let id = id(&stamped.id);
    let message = format!("only another clone has the content before {id}");
    Err(Error::new(&codes::CHANGED_SINCE_SHOWN, message)
        .with("patch_id", id)
        .hint("nothing was written; revert it by hand, or undo it in the clone that applied it"))
}

pub fn evidence(tool: bool) -> Evidence {
    if tool { Evidence::Tool } else { Evidence::Flag }
}
