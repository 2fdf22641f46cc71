//! `--hunks` and `--split-rest`: deciding on part of a proposal by command.

use crate::changeset::hunks::CONTEXT;
use crate::changeset::{Changeset, FileChange};
use crate::decide;
use crate::decide::Part;
use crate::error::{Error, Result, codes};
use crate::proposal::Proposal;
use crate::proposal::event::RevisionReason;
use crate::review::model::{Decision, Review, parse_numbers, rest};
use crate::store::Store;

/// Which part of a proposal is meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PartArgs {
    /// Apply only these hunks, as `aye diff ID --hunks` numbers them: 1,3-5.
    #[arg(long, value_name = "LIST", conflicts_with_all = ["mark_only", "conflict_markers"])]
    pub hunks: Option<String>,
    /// Make what is left out a new pending proposal.
    #[arg(long, requires = "hunks")]
    pub split_rest: bool,
}

/// The part that was chosen, and what is left.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// What is taken; `None` for all of it.
    pub part: Option<Part>,
    /// What is left out, on top of what is taken.
    pub rest: Vec<FileChange>,
}

impl PartArgs {
    /// What the flags choose of `proposals`.
    ///
    /// # Errors
    /// `usage` with several proposals, `no_such_hunk`.
    pub fn choose(&self, store: &Store, proposals: &[Proposal]) -> Result<Chosen> {
        let Some(list) = &self.hunks else { return Ok(Chosen { part: None, rest: Vec::new() }) };
        let [proposal] = proposals else {
            return Err(Error::new(&codes::USAGE, "--hunks takes one proposal at a time")
                .hint("apply each with its own --hunks"));
        };
        // The hunks are those that `aye diff --hunks` shows.
        let changes = decide::visible(store, &store.view()?, proposal)?.changes;
        let mut review = Review::new(&changes, CONTEXT);
        let chosen = parse_numbers(list, review.units().len())?;
        for unit in 0..review.units().len() {
            let taken = chosen.contains(&unit);
            review.decide(unit, Some(if taken { Decision::Take } else { Decision::Leave }));
        }
        let part = match review.is_all_taken() {
            true => None,
            false => Some(Part {
                changes: Changeset::new(review.changes())?,
                reason: RevisionReason::Partial,
            }),
        };
        Ok(Chosen { part, rest: rest(&review) })
    }

    /// The flags, for a person to repeat.
    pub fn flags(&self) -> String {
        let hunks = self.hunks.as_ref().map(|list| format!(" --hunks {list}")).unwrap_or_default();
        hunks + if self.split_rest { " --split-rest" } else { "" }
    }
}
