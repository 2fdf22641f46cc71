//! What is private, made known to others.

use chrono::Duration;

use super::Writer;
use crate::error::{Error, Result};
use crate::proposal::codes::NOT_PRIVATE;
use crate::proposal::event::{Extend, Publish, Revise};
use crate::proposal::{Authority, ChangeRecord, Data, Event, Proposal, ProposalId};
use crate::store::{Audience, Content, codes, lists};

impl Writer<'_> {
    /// Makes the pending and private `proposal` known to `to`: its first event as it is, and where it
    /// has been revised or extended, its present content and expiry.
    ///
    /// # Errors
    /// `not_private`; `private_path` where it stands on something else that is private;
    /// `object_missing`; as [`Writer::note`].
    pub fn publish(
        &mut self,
        authority: &Authority,
        proposal: &Proposal,
        to: &Audience,
    ) -> Result<()> {
        let id = &proposal.id;
        let audience = self.audience_for(id, false)?;
        if audience != Audience::Private || *to == Audience::Private {
            let whom = match &audience {
                Audience::Remote(remote) => format!("the remote '{remote}'"),
                _ => "the default remote".to_owned(),
            };
            return Err(Error::new(&NOT_PRIVATE, format!("{id} is not private, it is for {whom}"))
                .with("proposal_id", id.as_str())
                .hint("only what is private can be published; `aye show` says whom it is for"));
        }
        let current = proposal.current();
        let bytes = self.store.blob(&proposal.first_event)?;
        let mut first = Event::from_bytes(&bytes)?;
        let list = first.list().map(|list| self.store.blob(&list.id)).transpose()?;
        if list.is_some() {
            lists::inflate(&self.store.repo, &mut first)?;
        }
        self.require_free(id, to, &current.changes, "it", "publish that before, or commit it")?;
        let is_revised = current.event != proposal.first_event;
        if is_revised {
            // Its id is that of its first event, so the content of that one goes along.
            let hint = "propose it again: a published proposal takes its first content along";
            self.require_free(id, to, first.data.changes(), "its first revision", hint)?;
        }
        // What a reader of both lanes takes last has to be what is published.
        let said = self.view.log(Some(id), None)?;
        let times = said.iter().map(|entry| entry.stamped.event.time);
        let last = times.max().map(|last| last + Duration::milliseconds(1));
        self.now = last.map_or(self.now, |last| last.max(self.now));
        let original = self.attach("original", &bytes)?;
        if let Some(list) = list {
            self.attach("list", &list)?;
        }
        let changes = first.data.changes().to_vec();
        self.made.insert(id.clone(), (to.clone(), proposal.first_event.clone()));
        self.decide(authority, Some(id), Data::Publish(Publish { original, changes }))?;
        if is_revised {
            let revise = Revise {
                description: proposal.description.clone(),
                expires_at: Some(proposal.expires_at),
                reason: current.reason.clone(),
                on: None,
                base: current.base.clone(),
                target: current.target.clone(),
                changes: current.changes.clone(),
                changes_blob: None,
                memory: current.memory.clone(),
            };
            // Whoever publishes it has not made it.
            let own = std::mem::replace(&mut self.actor, current.actor.clone());
            let added = self.add(Some(id), Data::Revise(revise));
            self.actor = own;
            added?;
        } else if let Data::Propose(propose) = &first.data
            && proposal.expires_at > propose.expires_at
        {
            let extend = Extend { expires_at: proposal.expires_at };
            self.decide(authority, Some(id), Data::Extend(extend))?;
        }
        Ok(())
    }

    /// Refuses to send `changes` of the proposal `id` to `to` where they stand on what is not for `to`.
    fn require_free(
        &self,
        id: &ProposalId,
        to: &Audience,
        changes: &[ChangeRecord],
        what: &str,
        hint: &str,
    ) -> Result<()> {
        let before = changes.iter().filter_map(Content::before_change);
        if !self.store.stands_elsewhere(&self.view, to, Some(id), before)? {
            return Ok(());
        }
        let why = format!("{id} is not published: {what} stands on something else that is private");
        Err(Error::new(&codes::PRIVATE_PATH, why).with("proposal_id", id.as_str()).hint(hint))
    }
}
