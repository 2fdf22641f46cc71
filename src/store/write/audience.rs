//! Whom an event that is written is for, and so which lane it goes to.

use super::Writer;
use crate::error::Result;
use crate::proposal::{Data, ProposalId};
use crate::store::{Audience, Content, OwnTip};

impl Writer<'_> {
    /// The commit (hex) that the statement of a decision on `id` names as seen, where `shown` are the tips of this
    /// clone's lanes when it was shown, and its lane has nothing new about it; `None` where the lane had no event
    /// then. `takes_back`: the event takes a decision back.
    ///
    /// # Errors
    /// As [`Writer::note`].
    pub fn seen(
        &mut self,
        id: &ProposalId,
        takes_back: bool,
        shown: &[OwnTip],
    ) -> Result<Option<String>> {
        let audience = self.audience_for(id, takes_back)?;
        Ok(self.chain(&audience)?.seen(shown))
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
