//! Publishing private proposals.

use super::Writer;
use crate::error::{Error, Result};
use crate::proposal::event::{Evidence, Revise};
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, ChangeRecord, Data, Proposal};
use crate::store::{Content, Space, codes};

impl Writer<'_> {
    /// Publishes the private `proposal`: its first event, so that the id stays, and if it was
    /// revised a revision with its present content. Drafts and comments between are not ancestors
    /// of that, and stay here.
    ///
    /// # Errors
    /// `not_private`; `private_path` if it depends on other private content.
    pub fn publish(&mut self, authority: &Authority, proposal: &Proposal) -> Result<()> {
        self.require(authority, &[Verb::Publish])?;
        let id = self.whole(&proposal.id)?;
        let thread = self.view.threads.read_private(&id)?;
        let current = proposal.current();
        self.require_free(proposal, &current.changes, "it", "publish that before, or commit it")?;
        let first = &proposal.revisions[0];
        let is_revised = current.event != first.event;
        if is_revised {
            let hint = "propose it again: a published proposal takes its first content along";
            self.require_free(proposal, &first.changes, "its first revision", hint)?;
        }
        let mut chain = self.chain_on(&thread, vec![id])?;
        (chain.space, chain.own, chain.is_ahead) = (Space::Shared, None, true);
        let expires_at = chain.proposal().map(|first| first.expires_at);
        self.chains.insert(id, chain);
        self.touched.insert(id);
        if is_revised {
            let revise = Revise {
                note: current.note.clone(),
                description: proposal.description.clone(),
                expires_at: Some(proposal.expires_at),
                reason: current.reason.clone(),
                on: None,
                base: current.base.clone(),
                target: current.target.clone(),
                changes: current.changes.clone(),
                changes_blob: None,
                incomplete: current.incomplete.clone(),
                memory: current.memory.clone(),
            };
            // The revision keeps its author.
            let own = std::mem::replace(&mut self.actor, current.actor.clone());
            let added = self.append(&id, Data::Revise(revise), None);
            self.actor = own;
            added?;
        } else if expires_at.is_some_and(|first| first < proposal.expires_at) {
            self.extend(&proposal.id, Evidence::Flag)?;
        }
        Ok(())
    }

    /// Refuses to send `changes` of `proposal` that depend on other private content.
    ///
    /// # Errors
    /// `private_path`.
    fn require_free(
        &self,
        proposal: &Proposal,
        changes: &[ChangeRecord],
        what: &str,
        hint: &str,
    ) -> Result<()> {
        let id = &proposal.id;
        let before = changes.iter().filter_map(Content::before_change);
        if !self.store.is_from_private(&self.view, Some(id), before)? {
            return Ok(());
        }
        let why = format!("{id} is not published: {what} depends on other private content");
        Err(Error::new(&codes::PRIVATE_PATH, why).with("proposal_id", id.as_str()).hint(hint))
    }
}
