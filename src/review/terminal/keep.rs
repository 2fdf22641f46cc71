//! What a session keeps of its decisions for the next one, beside what other sessions keep there.
//!
//! Several may be open at once. What one of them has kept, another replaces only where it has read it;
//! otherwise it stays, and the other says that its own decisions are not kept.

use super::Terminal;
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::render::style::Role;
use crate::review::model::{Review, ReviewOutcome, Slot, Staged};

/// What is kept of one proposal, as far as the session knows.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    /// As it was read, or written last.
    known: Option<Staged>,
    /// Another session has kept something else since, which stays.
    is_others: bool,
}

impl Keeping {
    /// `found` is what an earlier session has kept.
    pub(super) fn found(found: Option<&Staged>) -> Self {
        Self { known: found.cloned(), is_others: false }
    }
}

impl Terminal<'_> {
    /// Keeps what is decided about proposal `at`, unless another session has kept something since.
    pub(super) fn keep(&mut self, at: usize) -> Result<()> {
        let was_others = self.keeping[at].is_others;
        self.keep_silently(at)?;
        if self.keeping[at].is_others && !was_others {
            let id = &self.session.slots()[at].ticket.id;
            let text = format!(
                "{id}: another review has kept its own decisions on it meanwhile, and those stay; \
                 what you decide on it here counts only once you write it (W)"
            );
            self.tell(Role::Warn, &text)?;
        }
        Ok(())
    }

    fn keep_silently(&mut self, at: usize) -> Result<()> {
        let Some(revision) = &self.revisions[at] else { return Ok(()) };
        let staged = Staged::of(&self.session.slots()[at], revision);
        let is_kept = self.host.keep(&staged, self.keeping[at].known.as_ref())?;
        self.keeping[at].is_others = !is_kept && staged.says_anything();
        if is_kept {
            self.keeping[at].known = Some(staged);
        }
        Ok(())
    }

    /// Says at the end what was written, what is kept, and what is not.
    pub(super) fn say_kept(&mut self) -> Result<()> {
        let open = |slot: &Slot| !matches!(slot.outcome, Some(ReviewOutcome::Gone { .. }));
        for at in 0..self.session.slots().len() {
            if open(&self.session.slots()[at]) {
                self.keep_silently(at)?;
            }
        }
        let slots = self.session.slots();
        let written = slots.iter().filter(|slot| slot.done).count();
        let (mut decided, mut comments, mut lost) = (0, 0, 0);
        let mut others: Vec<&ProposalId> = Vec::new();
        for (slot, keeping) in slots.iter().zip(&self.keeping) {
            if keeping.is_others && open(slot) {
                lost += decisions(slot) + slot.comments.len();
                others.push(&slot.ticket.id);
            } else {
                decided += decisions(slot);
                comments += slot.comments.len();
            }
        }
        let counted = [(decided, "decision"), (comments, "comment")];
        let kept = counted.into_iter().filter(|(count, _)| *count > 0);
        let kept: Vec<String> = kept.map(|(count, what)| plural(count, what)).collect();
        let begins = match written {
            0 if kept.is_empty() && lost == 0 => "Nothing was decided and nothing was written.",
            0 => "Nothing was written.",
            1 => "1 decision was written.",
            count => &format!("{count} decisions were written."),
        };
        let goes_on = match decided + comments {
            0 => String::new(),
            1 => format!(" {} is kept; `aye review` goes on from it.", kept[0]),
            _ => format!(" {} are kept; `aye review` goes on from them.", kept.join(" and ")),
        };
        self.tell(Role::Plain, &format!("{begins}{goes_on}"))?;
        if lost == 0 {
            return Ok(());
        }
        let what = match lost {
            1 => "1 decision or comment is not kept".to_owned(),
            count => format!("{count} decisions and comments are not kept"),
        };
        let ids: Vec<&str> = others.into_iter().map(ProposalId::as_str).collect();
        let text = format!("{what}: another review has kept its own on {}", ids.join(", "));
        self.tell(Role::Warn, &text)
    }
}

/// How much was decided about a proposal.
fn decisions(slot: &Slot) -> usize {
    match (&slot.outcome, &slot.review) {
        (Some(ReviewOutcome::Gone { .. }), _) => 0,
        (Some(_), _) => 1,
        (None, review) => review.as_ref().map_or(0, Review::decided),
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
