//! `--hunks` and `--split-rest`: deciding on part of a proposal by command.

use std::collections::{BTreeMap, BTreeSet};

use crate::changeset::hunks::CONTEXT;
use crate::changeset::{Changeset, FileChange};
use crate::decide;
use crate::decide::{CommittedPlan, PartialProposal, UnrecordedCommit};
use crate::error::{Error, Result, codes};
use crate::proposal::event::RevisionReason;
use crate::proposal::{Proposal, ProposalId};
use crate::review::model::{Decision, Review, parse_numbers, rest};
use crate::store::{Store, View};

#[derive(Clone, Debug, Default, clap::Args)]
pub struct PartArgs {
    /// Apply only these hunks, as `aye diff ID --hunks` numbers them: 1,3-5.
    #[arg(long, value_name = "LIST", conflicts_with_all = ["mark_only", "conflict_markers"])]
    pub hunks: Option<String>,
    /// Make the hunks that are not applied a new pending proposal.
    #[arg(long, requires = "hunks")]
    pub split_rest: bool,
}

#[derive(Debug, Default)]
pub struct HunkSelection {
    /// `None` for the whole proposal.
    pub part: Option<PartialProposal>,
    /// The remaining changes, based on `part`.
    pub rest: Vec<FileChange>,
    /// Why `--yes` is not enough: nobody has seen this part.
    pub refusal_of_yes: Option<Error>,
    /// A note before the question.
    pub note: Option<String>,
    /// Proposals that a commit already holds completely.
    pub committed: BTreeMap<ProposalId, CommittedPlan>,
}

impl PartArgs {
    /// Selects what was committed, if a proposal was committed without a record.
    ///
    /// # Errors
    /// `usage` with several proposals, `no_such_hunk`, `changed_since_shown`.
    pub fn choose(&self, store: &Store, proposals: &[Proposal]) -> Result<HunkSelection> {
        let view = store.view()?;
        let mut unrecorded = decide::unrecorded(store, &view, proposals)?;
        if let [proposal] = proposals {
            return match unrecorded.remove(&proposal.id) {
                Some(found) => self.committed(store, &view, proposal, &found),
                None => self.listed(store, &view, proposal, HunkSelection::default()),
            };
        }
        if self.hunks.is_some() {
            return Err(Error::new(&codes::USAGE, "--hunks takes one proposal at a time")
                .hint("apply each with its own --hunks"));
        }
        let mut all = HunkSelection::default();
        for proposal in proposals {
            let Some(found) = unrecorded.get(&proposal.id) else { continue };
            let chosen = self.committed(store, &view, proposal, found)?;
            if let Some(note) = chosen.note {
                return Err(changed(proposal, &note, "decide on it alone: aye apply"));
            }
            all.refusal_of_yes = all.refusal_of_yes.or(chosen.refusal_of_yes);
            all.committed.extend(chosen.committed);
        }
        Ok(all)
    }

    fn committed(
        &self,
        store: &Store,
        view: &View,
        proposal: &Proposal,
        found: &UnrecordedCommit,
    ) -> Result<HunkSelection> {
        let mut chosen = HunkSelection::default();
        if let (Some(made), None) = (&found.made, &self.hunks) {
            chosen.committed.insert(proposal.id.clone(), made.clone());
            return Ok(chosen);
        }
        let commit = &found.commit[..12];
        let mut review = Review::new(&found.changes, CONTEXT);
        let all = review.units().len();
        let Some(taken) = review.leading_to(&found.files) else {
            let what = format!(
                "commit {commit} names it, is not on record, and has something else of its files"
            );
            chosen.refusal_of_yes =
                Some(changed(proposal, &what, "decide at a terminal: aye apply"));
            return self.listed(store, view, proposal, chosen);
        };
        let numbers: Vec<String> = taken.iter().map(|at| (at + 1).to_string()).collect();
        let numbers = numbers.join(",");
        let what =
            format!("hunks {numbers} of {all} are in commit {commit}, which no decision records");
        let hint = format!("decide on these: --hunks {numbers}; or look: aye diff");
        match &self.hunks {
            Some(list) if parse_numbers(list, all)? != taken => {
                return Err(changed(proposal, &what, &hint));
            }
            _ if taken.len() == all => return Ok(chosen),
            Some(_) => {}
            None => chosen.refusal_of_yes = Some(changed(proposal, &what, &hint)),
        }
        chosen.note = Some(format!("{what}; this is about these"));
        (chosen.part, chosen.rest) = split(&mut review, &taken)?;
        Ok(chosen)
    }

    /// Hunks are numbered as in `aye diff --hunks`; everything is the default.
    fn listed(
        &self,
        store: &Store,
        view: &View,
        proposal: &Proposal,
        mut chosen: HunkSelection,
    ) -> Result<HunkSelection> {
        let Some(list) = &self.hunks else { return Ok(chosen) };
        let visible = decide::display(store, view, proposal)?;
        let mut review = Review::new(&visible.changes, CONTEXT);
        let taken = parse_numbers(list, review.units().len())?;
        if visible.planned {
            let what = "the files have changed since it was proposed, and its hunks are counted \
                        by what is left to change";
            let hint = "count them again on the present files: aye revise --rebase";
            chosen.refusal_of_yes.get_or_insert_with(|| changed(proposal, what, hint));
        }
        (chosen.part, chosen.rest) = split(&mut review, &taken)?;
        Ok(chosen)
    }

    pub fn flags(&self) -> String {
        let hunks = self.hunks.as_ref().map(|list| format!(" --hunks {list}")).unwrap_or_default();
        hunks + if self.split_rest { " --split-rest" } else { "" }
    }
}

/// Returns `None` for everything, and the rest.
fn split(
    review: &mut Review,
    taken: &BTreeSet<usize>,
) -> Result<(Option<PartialProposal>, Vec<FileChange>)> {
    for unit in 0..review.units().len() {
        let decision = if taken.contains(&unit) { Decision::Take } else { Decision::Leave };
        review.decide(unit, Some(decision));
    }
    let part = if review.is_all_taken() {
        None
    } else {
        Some(PartialProposal {
            changes: Changeset::new(review.changes())?,
            reason: RevisionReason::Partial,
        })
    };
    Ok((part, rest(review)))
}

/// As `decide::changed_since_shown`; the hint ends with the id.
fn changed(proposal: &Proposal, what: &str, hint: &str) -> Error {
    decide::changed_since_shown(proposal, what).hint(format!("{hint} {}", proposal.id))
}
