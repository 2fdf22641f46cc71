//! Plans, shows, asks and decides; again if the files changed meanwhile.

use super::carry_out::ApplyBatch;
use super::conflicts::refuse_conflicts;
use super::preview::{changes, plan_all, present};
use super::{Args, digest_of, markers};
use crate::changeset::marks::Mark;
use crate::cli::Context;
use crate::cli::authorisation::AuthorityRequest;
use crate::cli::hunk_selection::HunkSelection;
use crate::decide::{DecisionPlan, Request, ViewedState};
use crate::error::{Exit, Result};
use crate::prompt::Key;
use crate::proposal::Authority;
use crate::proposal::event::{Effect, Evidence};
use crate::store::Store;

pub(super) struct ApplyAttempt<'a> {
    pub(super) args: &'a Args,
    pub(super) asking: &'a AuthorityRequest<'a>,
    pub(super) marks: &'a [Vec<Mark>],
    pub(super) by_flag: Option<Authority>,
    pub(super) effect: Effect,
}

impl ApplyAttempt<'_> {
    pub(super) fn asks(&self) -> bool {
        self.by_flag.is_none()
    }

    /// # Errors
    /// `changed_since_shown`: the caller tries again.
    pub(super) fn take(&self, context: &mut Context, store: &Store) -> Result<Exit> {
        let chosen = self.choose(context, store)?;
        let ids = self.asking.proposals.iter().map(|proposal| &proposal.id);
        let seen = if self.effect == Effect::MarkOnly {
            Some(ViewedState::now(&store.view()?, ids)?)
        } else {
            None
        };
        let mut shown = self.plan(store, &chosen)?;
        let has_markers =
            self.args.conflict_markers && shown.iter().any(|shown| shown.plan.refusal().is_some());
        if !has_markers {
            refuse_conflicts(context, store, self.asking.proposals, &shown)?;
        }
        let mut with_other_changes = self.args.with_other_changes;
        if self.asks() {
            present(context, store, &shown, chosen.part.as_ref())?;
            if self.args.onto.is_some() {
                for proposal in self.asking.proposals {
                    let changeset = store.changeset(proposal.current())?;
                    changes(context, store.repository(), changeset.changes())?;
                }
            }
            match ask(context, self.asking.question, &shown, with_other_changes)? {
                None => {
                    return context.declined("nothing applied");
                }
                Some(taken) => with_other_changes |= taken,
            }
        }
        let authority = match &self.by_flag {
            Some(authority) => authority.clone(),
            None => context.grant(store, self.asking, &Evidence::Terminal)?,
        };
        if has_markers {
            return markers::write_markers(context, store, &shown);
        }
        let group = self.is_group().then(|| digest_of(&shown, with_other_changes));
        if with_other_changes {
            shown.iter_mut().for_each(DecisionPlan::approve_other_changes);
        }
        let request = Request {
            message: self.args.message.clone(),
            part: chosen.part.clone(),
            approve_other_changes: with_other_changes,
            group,
            seen,
            ..Request::all(self.effect)
        };
        let decided = ApplyBatch {
            args: self.args,
            authority: &authority,
            proposals: self.asking.proposals,
            marks: self.marks,
            request: &request,
            shown: &shown,
            chosen: &chosen,
        };
        decided.carry_out(context, store)
    }

    fn is_group(&self) -> bool {
        self.asking.proposals.len() > 1 || self.args.which.is_filter()
    }

    fn choose(&self, context: &Context, store: &Store) -> Result<HunkSelection> {
        if self.effect == Effect::MarkOnly || self.args.conflict_markers {
            return Ok(HunkSelection::default());
        }
        let mut chosen = self.args.part.choose(store, self.asking.proposals)?;
        if !self.asks()
            && let Some(unclear) = chosen.refusal_of_yes.take()
        {
            return Err(unclear);
        }
        if let Some(note) = &chosen.note {
            context.note(&format!("note: {note}"));
        }
        Ok(chosen)
    }

    /// A single proposal without a question is planned when it is applied.
    fn plan(&self, store: &Store, chosen: &HunkSelection) -> Result<Vec<DecisionPlan>> {
        if !self.asks() && !self.is_group() && !self.args.conflict_markers {
            return Ok(Vec::new());
        }
        let wanted = (chosen.part.as_ref(), &chosen.committed);
        plan_all(store, self.asking.proposals, wanted, self.effect)
    }
}

/// `Some(true)` also approves the other changes in the files.
fn ask(
    context: &mut Context,
    question: &str,
    shown: &[DecisionPlan],
    with_other_changes: bool,
) -> Result<Option<bool>> {
    let foreign = shown.iter().any(|shown| shown.foreign().next().is_some());
    if !foreign || with_other_changes {
        return Ok(context.confirm(question, "apply what is shown").then_some(false));
    }
    let keys = [
        Key::new('y', "apply the proposal alone; the other changes are recorded as not approved"),
        Key::new('i', "include: approve the other changes in these files, too"),
        Key::new('n', "do nothing"),
        Key::new('?', "help"),
    ];
    context.note("y applies the proposal alone; i approves your other changes in these files, too");
    Ok(match context.choose(question, &keys) {
        Some('y') => Some(false),
        Some('i') => Some(true),
        _ => None,
    })
}
