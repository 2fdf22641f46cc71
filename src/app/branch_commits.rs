//! Proposals as the commits of a new branch. HEAD, the index and the files of the checkout stay.
//!
//! `git commit-tree` runs no hooks, and signs where `commit.gpgSign` says so.

use gix::ObjectId;

use crate::apply::{codes, index_lines, message};
use crate::changeset::codes::NO_CHANGE;
use crate::changeset::merge::MergeLabels;
use crate::changeset::plan::plan;
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::proposal::{Actor, Entry, Proposal, trailers};
use crate::repository::Repository;
use crate::store::Store;

#[derive(Debug)]
pub struct NewBranch {
    /// Full name.
    name: String,
    /// One for each proposal, in their order.
    pub commits: Vec<String>,
}

impl NewBranch {
    /// Creates the branch `name` at HEAD with a commit for each of `proposals`, or nothing.
    ///
    /// # Errors
    /// `branch_exists`, `invalid_argument` for a name that git refuses, `conflict` and `no_change`
    /// for a proposal that does not fit, or is there already.
    pub fn create(
        store: &Store,
        name: &str,
        proposals: &[Proposal],
        reviewer: Option<&Actor>,
    ) -> Result<Self> {
        let repository = store.repository();
        let git = || repository.git();
        if !git()?.args(["check-ref-format", "--branch", name]).answer()?.ok() {
            let message = format!("'{name}' is not a valid name of a branch");
            return Err(Error::new(&crate::error::codes::INVALID_ARGUMENT, message)
                .hint("`git check-ref-format --branch NAME` says whether git takes one"));
        }
        let full = format!("refs/heads/{name}");
        if git()?.args(["show-ref", "--verify", "--quiet", &full]).answer()?.ok() {
            let message = format!("there is a branch '{name}'");
            return Err(Error::new(&codes::BRANCH_EXISTS, message).hint("choose another name"));
        }
        let base = git()?.args(["rev-parse", "--verify", "HEAD^{commit}"]).text()?;
        let directory = tempfile::tempdir_in(repository.private_dir())
            .map_err(|error| Error::io("make a directory for an index", &error))?;
        let index = directory.path().join("index");
        let git = || Ok::<Git, Error>(repository.git()?.env("GIT_INDEX_FILE", &index));
        git()?.args(["read-tree", &base]).run()?;
        let signs = repository.git()?.args(["config", "--type=bool", "commit.gpgSign"]).answer()?;
        let signs = signs.stdout.starts_with(b"true").then_some("--gpg-sign");
        let (mut tip, mut commits) = (base, Vec::new());
        for proposal in proposals {
            let entries = entries(store, &tip, proposal)?;
            let entries = entries.iter().map(|(path, entry)| (path, entry.as_ref()));
            let lines = index_lines(repository, entries);
            git()?.args(["update-index", "-z", "--index-info"]).stdin(lines).run()?;
            let tree = git()?.args(["write-tree"]).text()?;
            let mut reviewers = Vec::from_iter(reviewer.cloned());
            let approvals = proposal.approvals_in_force();
            trailers::add(&mut reviewers, approvals.map(|approval| approval.by.clone()));
            let text = message(repository, &reviewers, proposal, None)?;
            let commit = git()?.args(["commit-tree", &tree, "-p", &tip, "-F", "-"]).args(signs);
            tip = commit.stdin(text).text()?;
            commits.push(tip.clone());
        }
        // Without an old value git would move a branch that was made meanwhile.
        let none = ObjectId::null(repository.repo().object_hash()).to_string();
        let reason = "aye apply --branch";
        repository.git()?.args(["update-ref", "-m", reason, &full, &tip, &none]).run()?;
        Ok(Self { name: full, commits })
    }

    /// Deletes the branch if it is as it was created.
    pub fn delete(&self, repository: &Repository) -> Result<()> {
        let Some(tip) = self.commits.last() else { return Ok(()) };
        repository.git()?.args(["update-ref", "-d", &self.name, tip]).run().map(drop)
    }
}

/// The entries of `proposal` on the commit `tip`: its own, or those of a merge.
fn entries(
    store: &Store,
    tip: &str,
    proposal: &Proposal,
) -> Result<Vec<(RepoPath, Option<Entry>)>> {
    let repository = store.repository();
    let unread = |error: &dyn std::fmt::Display| Error::bug(format!("commit {tip}: {error}"));
    let tip = ObjectId::from_hex(tip.as_bytes()).map_err(|error| unread(&error))?;
    let commit = repository.repo().find_commit(tip).map_err(|error| unread(&error))?;
    let tree = commit.tree_id().map_err(|error| unread(&error))?.detach();
    let revision = proposal.current();
    let is_clean =
        |path: &RepoPath, before: &Option<Entry>| repository.entry_at(Some(tree), path) == *before;
    if revision.changes.iter().all(|change| is_clean(&change.path, &change.before)) {
        let own = revision.changes.iter();
        return Ok(own.map(|change| (change.path.clone(), change.after.clone())).collect());
    }
    let changeset = store.changeset(revision)?;
    let files = repository.files_of(tip)?;
    let sides = MergeLabels { ours: "branch", theirs: proposal.id.as_str() };
    let planned = plan(changeset.changes(), &*files, sides)?;
    if let Some(refusal) = planned.refusal() {
        return Err(refusal.with("proposal_id", proposal.id.as_str()).after(&proposal.id));
    }
    if planned.is_already_there() {
        let message = format!("{} is there already", proposal.id);
        return Err(Error::new(&NO_CHANGE, message).hint("leave it out"));
    }
    let entry = |file: &Option<File>| -> Result<Option<Entry>> {
        let Some(file) = file else { return Ok(None) };
        let entry = store.entry_of(file)?;
        store.keep_as(std::iter::once((&entry, file)))?;
        Ok(Some(entry))
    };
    planned.files.iter().map(|file| Ok((file.path.clone(), entry(&file.after)?))).collect()
}
