//! What the proposals of a session start from, in files that a command in the checkout has found otherwise than its
//! tree.

use crate::error::Result;
use crate::session::home::{Changing, Home};
use crate::session::record::Untold;
use crate::session::{head, tree};

use super::{Session, recall, session};

/// The commit that the files of a session are compared with, once its tree has followed what was decided.
///
/// # Errors
/// Those of [`session::follow`].
pub fn base(session: &Session<'_>, home: &Home, changing: &Changing) -> Result<String> {
    session::follow(session, home, changing, changing.name())?;
    Ok(recall::record(session.store, home, changing.name())?.base)
}

/// Writes down that the files of a session are compared with the commit `base` from now on. Its tree has followed that,
/// but for what was `kept`.
///
/// # Errors
/// Those of the store and of the record.
pub fn moved(
    session: &Session<'_>,
    home: &Home,
    changing: &Changing,
    base: String,
    kept: Vec<(String, String)>,
) -> Result<()> {
    let (store, name) = (session.store, changing.name());
    let mut record = recall::record(store, home, name)?;
    let view = store.view()?;
    let last = record.proposal.as_ref().and_then(|id| view.find(id).ok());
    if let Some(last) = last.filter(|_| record.submitted.is_some()) {
        let mut submitted = None;
        for revision in &last.revisions {
            if view.is_from_here(store, &revision.event)? {
                submitted = Some(revision);
            }
        }
        let commit = |it| store.commit_onto(&base, it, "What a session proposed");
        record.submitted = submitted.map(commit).transpose()?.or(record.submitted);
    }
    tree::hold(store, name, record.submitted.as_ref().unwrap_or(&base))?;
    head::follow(store, &home.tree(name), &record.base, &base);
    record.base = base;
    if !kept.is_empty() {
        record.untold.push(Untold { kept, ..Untold::default() });
    }
    home.write(changing, &record)
}
