//! Loads and splits the proposal that the session reaches, and restores its answers.

use std::collections::{BTreeMap, BTreeSet};

use super::host::{Content, LoadResult};
use super::{Terminal, head, overview, screen};
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::render::diff::Painter;
use crate::render::style::Role;
use crate::review::model::{Action, Intent, Review, ReviewSlot, SavedAnswers, Verdict};
use crate::text::counted;

/// Revision shown, and the proposals below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownRevision {
    pub(super) revision: String,
    pub(super) on: Vec<ProposalId>,
}

pub(super) struct Current {
    /// Index in the session.
    pub(super) at: usize,
    pub(super) content: Box<Content>,
    /// File index, and its painter.
    pub(super) painter: Option<(usize, Painter)>,
    /// `None` shows the unit again.
    pub(super) unit: Option<usize>,
}

impl Terminal<'_> {
    /// Loads the current proposal and shows its header, once. False if the session moved on.
    pub(super) fn reach(&mut self) -> Result<bool> {
        let at = self.session.position();
        if self.current.as_ref().is_some_and(|current| current.at == at) {
            return Ok(true);
        }
        let Some(slot) = self.session.slot() else { return Ok(false) };
        let is_new = slot.review.is_none();
        if slot.done {
            let _ = self.session.act(Action::Skip);
            return Ok(false);
        }
        if !self.show_proposal(at)? {
            return Ok(false);
        }
        let slot = self.session.slot().filter(|slot| is_new && slot.is_answered());
        let Some(intent) = slot.and_then(ReviewSlot::intent) else { return Ok(true) };
        self.console.dim(format_args!(
            "answered in an earlier review: {}; the last screen shows what it writes, < comes back to it",
            intent.label()
        ))?;
        let _ = self.session.act(Action::Skip);
        Ok(false)
    }

    /// Opens proposals ahead that have saved answers: the last screen needs them, too.
    pub(super) fn reach_saved(&mut self) -> Result<()> {
        let here = self.session.position();
        for at in 0..self.session.slots().len() {
            let slot = &self.session.slots()[at];
            if slot.ticket.answers.is_some() && slot.review.is_none() && slot.outcome.is_none() {
                self.session.visit(at);
                self.reach()?;
            }
        }
        self.session.visit(here);
        Ok(())
    }

    /// Finds out which saved answers still count: files may have changed since.
    pub(super) fn check_saved(&mut self) -> Result<()> {
        for at in 0..self.session.slots().len() {
            let slot = &self.session.slots()[at];
            if slot.ticket.answers.is_none() || slot.review.is_some() || slot.done {
                continue;
            }
            let (mut slot, not_taken) = (slot.clone(), self.not_taken());
            if let LoadResult::Ready(content) = self.host.load(&slot.ticket.id, None, &not_taken)? {
                slot.open(self.split(&content), content.answers);
                self.session.record_saved(at, slot.intent());
            }
        }
        Ok(())
    }

    /// Loads the current proposal and shows its header. False if it is gone.
    pub(super) fn show_proposal(&mut self, at: usize) -> Result<bool> {
        let Some(content) = self.load(at)? else { return Ok(false) };
        self.open(at, content)?;
        Ok(true)
    }

    fn load(&mut self, at: usize) -> Result<Option<Box<Content>>> {
        let id = self.session.slots()[at].ticket.id.clone();
        let not_taken = self.not_taken();
        let known = self.reached[at].as_ref().map(|reached| reached.revision.as_str());
        match self.host.load(&id, known, &not_taken)? {
            LoadResult::Ready(content) => Ok(Some(content)),
            LoadResult::Gone(status) => {
                self.console.dim(format_args!("{id} {} meanwhile", screen::gone(&status)))?;
                let _ = self.session.act(Action::Gone(status));
                self.host.keep(&id, None)?;
                Ok(None)
            }
        }
    }

    fn open(&mut self, at: usize, mut content: Box<Content>) -> Result<()> {
        let header = head::header(
            &content,
            &self.session.counter(at),
            &self.taken(&content),
            &self.console.options,
        );
        self.console.write(&header)?;
        let now = ShownRevision { revision: content.revision.clone(), on: content.lower.clone() };
        let known = self.reached[at].replace(now.clone());
        if known.as_ref() != Some(&now) {
            let answers = match known {
                None => content.answers.take(),
                Some(ShownRevision { revision, .. }) => {
                    let answers = self.session.slot().and_then(SavedAnswers::of);
                    let is_revised = revision != now.revision;
                    answers.map(|all| if is_revised { all.carried_over(&revision) } else { all })
                }
            };
            self.take_apart(&content, answers)?;
        }
        self.current = Some(Current { at, content, painter: None, unit: None });
        self.keep(at)
    }

    /// Restores `answers` as far as they match the shown content.
    fn take_apart(&mut self, content: &Content, answers: Option<SavedAnswers>) -> Result<()> {
        let answered = answers.as_ref().map_or(0, |saved| saved.decisions.len());
        self.session.open(self.split(content), answers);
        let (Some(slot), Some(review)) = (self.session.slot(), self.session.review()) else {
            return Ok(());
        };
        let options = &self.console.options;
        if review.files().len() > 1 {
            self.console.write(&overview::files(review, overview::MOST_FILES, options))?;
        }
        if let Some(seen) = &content.seen_changes {
            self.console.write(&screen::since_last_time(seen, content, options))?;
        }
        let decided = review.decided();
        let edited = review.units().iter().filter(|unit| unit.draft.is_some()).count();
        let gone = slot.orphans.len();
        if decided > 0 {
            let text = format!(
                "{decided} decided in an earlier review; y or n at a hunk replaces its answer, g goes there"
            );
            self.console.dim(text)?;
        }
        if edited > 0 {
            let text = format!("{edited} edited earlier and not taken; e goes on from the edit");
            self.console.tell(Role::Warn, &text)?;
        }
        if gone > 0 {
            let text =
                format!("{gone} edited earlier in hunks that are gone: see .git/aye/answers");
            self.console.tell(Role::Warn, &text)?;
        }
        let dropped = answered.saturating_sub(decided + edited + gone);
        if dropped > 0 && slot.outcome.is_none() {
            let dropped = counted(dropped, "earlier answer");
            let text = format!("dropped: {dropped}, about lines that have changed since");
            self.console.dim(text)?;
        }
        Ok(())
    }

    fn split(&self, content: &Content) -> Review {
        let Content { changes, unfit, quiet, .. } = content;
        if content.memory {
            Review::of_memory(changes, self.context)
        } else {
            Review::folding(changes, unfit, quiet, self.context)
        }
    }

    /// Related proposals to be applied, at least in part; true if that conflicts with `content`.
    pub(super) fn taken(&self, content: &Content) -> BTreeMap<ProposalId, bool> {
        let related =
            |id: &ProposalId| content.header.related.iter().any(|related| related.id == *id);
        let slots = self.session.slots().iter().filter(|slot| related(&slot.ticket.id));
        let taken = slots.filter(|slot| slot.intent() == Some(Intent::Apply));
        taken.map(|slot| (slot.ticket.id.clone(), slot.conflicts_with(&content.changes))).collect()
    }

    /// Proposals not applied, or not in full.
    fn not_taken(&self) -> BTreeSet<ProposalId> {
        self.those(|slot| slot.is_settled() && slot.verdict() != Verdict::Apply)
    }

    fn those(&self, is_it: impl Fn(&ReviewSlot) -> bool) -> BTreeSet<ProposalId> {
        let slots = self.session.slots().iter().filter(|slot| is_it(slot));
        slots.map(|slot| slot.ticket.id.clone()).collect()
    }
}
