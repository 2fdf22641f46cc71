//! Taking an applied memory proposal back, section by section: what others changed since stays.

use super::Service;
use super::apply::Target;
use crate::changeset::File;
use crate::error::{Error, Result};
use crate::memory::disk::store_path;
use crate::memory::merge::{Labels, merge};
use crate::memory::plan::{FileEdit, Plan};
use crate::proposal::event::{Undo, Written};
use crate::proposal::{Data, Proposal, State, codes};
use crate::worktree::journal::Step;

impl Service<'_> {
    /// Puts the sections that `proposal` changed back, where nobody has changed them since. The
    /// proposal is pending again.
    ///
    /// # Errors
    /// `not_applied`, `conflict` naming the sections, and those of the store and the work tree.
    pub fn undo(&self, proposal: &Proposal) -> Result<Vec<String>> {
        let State::Applied(decision) = &proposal.state else {
            return Err(Error::new(
                &codes::NOT_APPLIED,
                format!("{} is not applied, so there is nothing to undo", proposal.id),
            )
            .hint("`aye memory log` lists what was applied"));
        };
        let journal = match self.lock()? {
            Ok(journal) => journal,
            Err(response) => {
                let message = response.message.unwrap_or_default();
                return Err(Error::new(&crate::worktree::codes::APPLY_BUSY, message));
            }
        };
        let mut back = Plan {
            files: std::collections::BTreeMap::new(),
            routing: crate::memory::intent::Router::default().finish(),
            affected: Vec::new(),
            warnings: Vec::new(),
            preconditions: Vec::new(),
        };
        let mut deleted: Vec<(crate::changeset::RepoPath, File)> = Vec::new();
        for written in &decision.written {
            let Some(path) = store_path(&written.path) else { continue };
            let after = self.blob_text(&written.after)?;
            let Some(file) = self.disk().file(path)? else {
                return Err(conflict(proposal, path, "the file is gone"));
            };
            let now = String::from_utf8(file.bytes.clone())
                .map_err(|_| conflict(proposal, path, "the file is no text any more"))?;
            if written.before.is_none() {
                if now != after {
                    return Err(conflict(proposal, path, "the new file was changed since"));
                }
                deleted.push((written.path.clone(), file));
                continue;
            }
            let before = self.blob_text(&written.before)?;
            let merged = merge(&after, &now, &before, Labels::default());
            if !merged.conflicts.is_empty() {
                return Err(conflict(
                    proposal,
                    path,
                    &format!("changed since: {}", merged.conflicts.join(", ")),
                ));
            }
            if merged.text != now {
                let edit = FileEdit { before: Some(file.bytes), after: merged.text.into_bytes() };
                back.files.insert(path.to_owned(), edit);
            }
        }
        let targets = self.targets(&back)?;
        self.store.write(&self.actor, self.now, |writer| {
            let current = writer.view.proposal(&proposal.id)?;
            if !matches!(current.state, State::Applied(_)) {
                return Err(Error::new(
                    &codes::NOT_APPLIED,
                    format!("{} is not applied any more", proposal.id),
                ));
            }
            let mut written = super::apply::written(writer, &targets, None)?;
            for (path, file) in &deleted {
                let before = Some(writer.blob(file)?);
                written.push(Written {
                    path: path.clone(),
                    before,
                    after: None,
                    outcome: "clean".into(),
                });
            }
            writer.flush_objects()?;
            let mut steps: Vec<Step<'_>> = targets.iter().map(Target::step).collect();
            steps.extend(deleted.iter().map(|(path, file)| Step {
                path,
                now: Some(file),
                after: None,
            }));
            let subject = crate::apply::subject(crate::apply::UNDO, &proposal.id, writer.now());
            journal.apply(&self.worktree, &steps, Some(&subject), |_| {
                writer.append(Some(&proposal.id), Data::Undo(Undo { written }))?;
                writer.commit()
            })
        })?;
        drop(journal);
        // Files that are gone are not in the page that was planned with them.
        let _ = self.refresh_index();
        let deleted = deleted.iter().filter_map(|(path, _)| store_path(path).map(str::to_owned));
        Ok(back.files.keys().cloned().chain(deleted).collect())
    }
}

fn conflict(proposal: &Proposal, path: &str, why: &str) -> Error {
    Error::new(&crate::changeset::codes::CONFLICT, format!("{path}: {why}"))
        .with("proposal_id", proposal.id.as_str())
        .hint("nothing was written; mend the file by hand, or propose the change back")
}
