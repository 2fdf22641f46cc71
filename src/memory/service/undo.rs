//! Taking an applied memory proposal back, section by section: what others changed since stays.

use super::Service;
use crate::changeset::File;
use crate::changeset::plan::{MergedBy, Planned, Resolution, Resolved};
use crate::error::{Error, Result};
use crate::memory::disk::store_path;
use crate::memory::merge::merge;
use crate::proposal::event::Written;
use crate::proposal::state::Decision;
use crate::proposal::{Entry, Proposal};
use crate::store::Store;

impl Service<'_> {
    /// Plans putting back the sections that `decision` on `proposal` changed. Writes nothing.
    ///
    /// # Errors
    /// `conflict` naming the sections that were changed since, and those of the
    /// store and the work tree.
    pub fn plan_undo(&self, proposal: &Proposal, decision: &Decision) -> Result<Resolution> {
        let mut files = Vec::new();
        for written in &decision.written {
            files.extend(self.plan_file(proposal, written)?);
        }
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Resolution { files })
    }

    fn plan_file(&self, proposal: &Proposal, written: &Written) -> Result<Option<Planned>> {
        let Some(path) = store_path(&written.path) else { return Ok(None) };
        let conflict = |why: &str| conflict(proposal, path, why);
        let Some(file) = self.disk().file(path)? else {
            return Err(conflict("the file is gone"));
        };
        let now = String::from_utf8(file.bytes.clone())
            .map_err(|_| conflict("the file is no text any more"))?;
        let after = text(self.store, &written.after)?;
        let clean = now == after;
        let back = match &written.before {
            None if clean => None,
            None => return Err(conflict("the new file was changed since")),
            before => {
                let before = text(self.store, before)?;
                let merged = merge(&after, &now, &before).map_err(|sections| {
                    conflict(&format!("changed since: {}", sections.join(", ")))
                })?;
                Some(File { bytes: merged.into_bytes(), mode: file.mode })
            }
        };
        let outcome = match clean {
            true => Resolved::Clean,
            false if back.as_ref() == Some(&file) => Resolved::Already,
            false => Resolved::Merged(MergedBy::ThreeWay),
        };
        let path = written.path.clone();
        Ok(Some(Planned { path, now: Some(file), after: back, outcome }))
    }
}

fn text(store: &Store, entry: &Option<Entry>) -> Result<String> {
    let Some(entry) = entry else { return Ok(String::new()) };
    Ok(String::from_utf8_lossy(&store.blob(&entry.id)?).into_owned())
}

fn conflict(proposal: &Proposal, path: &str, why: &str) -> Error {
    Error::new(&crate::changeset::codes::CONFLICT, format!("{path}: {why}"))
        .with("proposal_id", proposal.id.as_str())
        .hint("nothing was written; mend the file by hand, or propose the change back")
}
