//! New proposals and revisions of one command. People are notified at its end, when no lock is
//! held.

use std::cell::RefCell;
use std::rc::Rc;

use super::Store;
use crate::proposal::{Proposal, ProposalId};

/// A new proposal or revision that waits for a decision. All but the id is an agent's own text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    pub id: ProposalId,
    /// A new revision of a known proposal; otherwise a new proposal.
    pub is_revised: bool,
    pub by: String,
    pub description: String,
}

/// The news of one command, shared between its stores.
#[derive(Clone, Debug, Default)]
pub struct NewsList(Rc<RefCell<Vec<News>>>);

impl NewsList {
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

    pub fn take(&self) -> Vec<News> {
        self.0.try_borrow_mut().map(|mut news| std::mem::take(&mut *news)).unwrap_or_default()
    }
}

impl Store {
    /// Collects this store's news in `announced`.
    pub fn announce(&mut self, announced: &NewsList) {
        self.announced = announced.clone();
    }
}
