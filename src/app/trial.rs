//! Work trees to try a proposal in. The front end runs the command.

use std::collections::BTreeMap;
use std::ffi::OsString;

use chrono::{DateTime, SubsecRound as _, Utc};

use super::Session;
use crate::changeset::merge::MergeLabels;
use crate::changeset::{File, RepoPath, plan};
use crate::decide;
use crate::error::{Error, Result, codes};
use crate::proposal::event::Check;
use crate::proposal::try_result::{self, TryResult};
use crate::proposal::{self, Note, Proposal};
use crate::repository::Repository;
use crate::repository::trial::Trial;
use crate::session::tree;
use crate::store::Store;
use crate::worktree::Worktree;

#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// `None` for a signal.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
}

/// `given`, or the user's own `aye.tryCommand` run by the shell.
///
/// # Errors
/// `usage` without either.
pub fn command(repository: &Repository, given: Vec<OsString>) -> Result<Vec<OsString>> {
    if !given.is_empty() {
        return Ok(given);
    }
    if let Some(line) = repository.trusted_config("aye.tryCommand") {
        return Ok(vec!["sh".into(), "-c".into(), line.into()]);
    }
    let why = match repository.config("aye.tryCommand") {
        Some(_) => "no command to run: the repository's own configuration names none that aye runs",
        None => "no command to run",
    };
    Err(Error::new(&codes::USAGE, why)
        .hint("name one: aye try ID -- CMD…\nor set one: git config --global aye.tryCommand 'CMD'"))
}

/// Linked work tree with `proposal` on HEAD, or on its original base if `as_proposed`. Dropping the
/// value removes it.
///
/// # Errors
/// `conflict` with HEAD; `not_pending`.
pub fn open(store: &Store, proposal: &Proposal, as_proposed: bool) -> Result<Trial> {
    let repository = store.repository();
    let head = repository.repo().head_id().ok().filter(|_| !as_proposed);
    let commit = match head {
        Some(head) => head.to_string(),
        None => as_commit(repository, proposal)?,
    };
    let trial = Trial::new(repository.common_dir(), &commit)?;
    if repository.is_sparse() {
        trial.check_out_excluded(proposal.current().changes.iter().map(|change| &change.path))?;
    }
    if head.is_some() {
        overlay(store, proposal, &trial)?;
    }
    Ok(trial)
}

/// Linked work tree with the checkout's tracked and untracked files, and `files` in the place of
/// their earlier contents. Ignored files are not included.
pub fn open_on_files(store: &Store, files: &BTreeMap<RepoPath, Option<File>>) -> Result<Trial> {
    let repository = store.repository();
    let untracked = tree::untracked(repository)?;
    let commit = tree::base(repository, tree::Base::Unsettled, &untracked)?;
    let trial = Trial::new(repository.common_dir(), &commit)?;
    if repository.is_sparse() {
        trial.check_out_excluded(files.keys())?;
    }
    let tree = store.at(trial.directory())?.repository().worktree()?;
    write(&tree, &files.iter().map(|(path, after)| (path, after.as_ref())).collect::<Vec<_>>())?;
    Ok(trial)
}

/// The proposal on its original base.
fn as_commit(repository: &Repository, proposal: &Proposal) -> Result<String> {
    let name = format!("refs/aye/pending/{}", proposal.id);
    let found = repository.repo().try_find_reference(&name).ok().flatten();
    found.and_then(|reference| reference.target().try_id().map(|id| id.to_string())).ok_or_else(
        || {
            Error::new(
                &proposal::codes::NOT_PENDING,
                format!("{} is not pending any more", proposal.id),
            )
            .hint("only a pending proposal has its own commit; try it without --as-proposed")
        },
    )
}

fn overlay(store: &Store, proposal: &Proposal, trial: &Trial) -> Result<()> {
    // Reads the attributes of HEAD's files.
    let tree = store.at(trial.directory())?.repository().worktree()?;
    let changeset = store.changeset(proposal.current())?;
    let sides = MergeLabels { ours: "present", theirs: "proposed" };
    let mut plan = plan::plan(changeset.changes(), &tree, sides)?;
    let changes = changeset.changes();
    if let Some(followed) = decide::follow(store, &store.view()?, proposal, changes, &plan, &tree)?
    {
        plan = plan::plan(followed.part.changes.changes(), &tree, sides)?;
    }
    if let Some(refusal) = plan.refusal() {
        return Err(refusal.hint(format!(
            "a trial is made on HEAD, without what is not committed; aye review {0} settles a \
             conflict, aye try --as-proposed {0} runs it on its own",
            proposal.id
        )));
    }
    write(&tree, &plan.writes().map(|file| (&file.path, file.after.as_ref())).collect::<Vec<_>>())
}

fn write(tree: &Worktree, files: &[(&RepoPath, Option<&File>)]) -> Result<()> {
    tree.expect(files.iter().copied())?;
    // Deletions first: a file may become a directory.
    for (path, _) in files.iter().filter(|(_, after)| after.is_none()) {
        tree.remove_file(path)?;
    }
    files.iter().try_for_each(|(path, after)| match after {
        Some(after) => tree.write_stored(path, after),
        None => Ok(()),
    })
}

pub fn result(
    session: &Session<'_>,
    proposal: &Proposal,
    words: &[OsString],
    run: &Run,
    at: DateTime<Utc>,
) -> TryResult {
    TryResult {
        actor: session.caller.actor.clone(),
        command: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        duration_ms: run.duration_ms,
        exit_code: run.exit_code,
        format: try_result::FORMAT.to_owned(),
        proposal: proposal.first_event.clone(),
        repository: session.store.repository().policy().ok().and_then(|policy| policy.repository),
        revision: proposal.current().event.clone(),
        time: at.trunc_subsecs(3),
    }
}

pub fn record(session: &Session<'_>, proposal: &Proposal, result: &TryResult) -> Result<()> {
    let check = Check {
        command: result.command.clone(),
        exit_code: result.exit_code,
        duration_ms: result.duration_ms,
        revision: result.revision.clone(),
        imported: None,
    };
    let note = Note::Check(check);
    let (store, actor) = (session.store, &session.caller.actor);
    store.write(actor, result.time, |writer| writer.note(Some(&proposal.id), note).map(drop))
}
