//! What a command has made pending that was not before: a new proposal, a new revision. Whoever waits for
//! something to decide is told at the end of the command, when nothing is locked any more.

use std::cell::RefCell;
use std::rc::Rc;

use super::Store;
use crate::proposal::{Proposal, ProposalId};

/// Something new that waits for a decision. All but the id is an agent's own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The proposal.
    pub id: ProposalId,
    /// It is a new revision; a new proposal otherwise.
    pub is_revised: bool,
    /// Who proposes.
    pub by: String,
    /// Why.
    pub description: String,
}

/// What one command has made pending, shared between its stores.
#[derive(Clone, Debug, Default)]
pub struct Announced(Rc<RefCell<Vec<News>>>);

impl Announced {
    /// Notes that `proposal` waits.
    pub(super) fn add(&self, proposal: &Proposal, is_revised: bool) {
        if let Ok(mut news) = self.0.try_borrow_mut() {
            news.retain(|known| known.id != proposal.id);
            news.push(News {
                id: proposal.id.clone(),
                is_revised,
                by: proposal.proposed_by.clone(),
                description: proposal.description.clone().unwrap_or_default(),
            });
        }
    }

    /// What has come up since this was asked last.
    pub fn take(&self) -> Vec<News> {
        self.0.try_borrow_mut().map(|mut news| std::mem::take(&mut *news)).unwrap_or_default()
    }
}

impl Store {
    /// That this store has made something pending goes to `announced`.
    pub fn announce(&mut self, announced: &Announced) {
        self.announced = announced.clone();
    }
}
