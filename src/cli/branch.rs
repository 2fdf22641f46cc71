//! `--any-branch`: deciding by flag on another branch's proposals.

use crate::changeset::marks::short_branch;
use crate::error::{Error, Result};
use crate::proposal::statement::Target;
use crate::proposal::{Proposal, codes};
use crate::repository::Repository;

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct BranchArgs {
    /// With --yes: on the branch that is checked out, though it was made for, or applied on,
    /// another.
    #[arg(long)]
    pub any_branch: bool,
}

impl BranchArgs {
    /// Refuses `proposals` made for another branch; `command` is for the hint.
    ///
    /// # Errors
    /// `other_branch`.
    pub fn require(
        self,
        repository: &Repository,
        proposals: &[Proposal],
        command: &str,
    ) -> Result<()> {
        let made = |proposal: &Proposal| proposal.current().target.clone();
        let targets: Vec<_> = proposals.iter().filter_map(made).collect();
        self.require_here(repository, "made for", &targets, command)
    }

    /// `done` is a phrase such as "applied on".
    pub fn require_here(
        self,
        repository: &Repository,
        done: &str,
        targets: &[Target],
        command: &str,
    ) -> Result<()> {
        let head = repository.head_ref();
        let mut elsewhere = targets.iter().filter_map(|target| target.elsewhere(head.as_deref()));
        let Some(branch) = elsewhere.next().filter(|_| !self.any_branch) else { return Ok(()) };
        let head = head.as_deref().map_or("HEAD", short_branch);
        let which = if targets.len() == 1 { "it was" } else { "one of them was" };
        let message = format!("{which} {done} {branch}, and {head} is checked out");
        Err(Error::new(&codes::OTHER_BRANCH, message)
            .with("branch", branch)
            .with("checked_out", head)
            .hint(format!("to do it on {head} all the same: {command} --any-branch")))
    }
}
