//! Whom an event that is written is for, and so which lane it goes to.

use super::Writer;
use crate::error::Result;
use crate::proposal::{Data, ProposalId};
use crate::store::{Audience, Content};

impl Writer<'_> {
    /// This clone's lane that an event about `id` goes to; with `takes_back` one that takes its
    /// decision back.
    ///
    /// # Errors
    /// As [`Writer::note`].
    pub fn lane_for(&mut self, id: &ProposalId, takes_back: bool) -> Result<String> {
        let audience = self.audience_for(id, takes_back)?;
        Ok(self.chain(&audience)?.lane().to_owned())
    }

    /// Whom an event about `id` is for. What takes a decision back goes where that decision is.
    pub(super) fn audience_for(&self, id: &ProposalId, takes_back: bool) -> Result<Audience> {
        match self.made.get(id) {
            Some((audience, _)) => Ok(audience.clone()),
            None if takes_back => self.view.audience_of_decision(id),
            None => self.view.audience(id),
        }
    }

    /// Whom an event that is about no proposal is for.
    pub(super) fn audience_of_other(&self, data: &Data) -> Result<Audience> {
        let is_private = match data {
            Data::Patch(patch) => {
                let written = || patch.written.iter();
                let before =
                    written().filter_map(|file| Content::before(&file.path, file.before.as_ref()));
                self.store.is_private(written().map(|file| &file.path))?
                    || self.store.stands_elsewhere(
                        &self.view,
                        &Audience::Default,
                        None,
                        before.chain(written().filter_map(Content::written)),
                    )?
            }
            Data::Undo(undo) => match &undo.patch {
                Some(event) => return self.view.audience_of_event(event),
                None => false,
            },
            _ => false,
        };
        Ok(if is_private { Audience::Private } else { Audience::Default })
    }
}
