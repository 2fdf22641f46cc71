//! `aye try --import`: records results that `aye try --result` wrote elsewhere, as in CI.
//!
//! A file does not prove its origin: the check names its runner, and the importer answers for it.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::cli::{Context, paths};
use crate::error::{Error, Exit, Result};
use crate::proposal::event::Check;
use crate::proposal::try_result::{self, TryResult};
use crate::proposal::{Note, Proposal, ProposalId, codes};
use crate::repository::Repository;
use crate::store::View;
use crate::text::escape;

/// All `files` are recorded, or none.
///
/// # Errors
/// `try_result_invalid`, `proposal_not_found`, `revision_not_found`, `size_limit_exceeded`
pub fn run(context: &mut Context, files: &[OsString]) -> Result<Exit> {
    let store = context.store()?;
    let mut results = Vec::new();
    for file in files {
        let shown = file.to_string_lossy().into_owned();
        let bytes = paths::content(context, file, try_result::MAX_BYTES as u64)?;
        let result = TryResult::from_bytes(&bytes).map_err(|error| error.after(&shown))?;
        require_here(store.repository(), &result).map_err(|error| error.after(&shown))?;
        results.push((shown, result));
    }
    store.require_clone()?;
    let actor = context.actor(store.repository());
    let lines = store.write(&actor, context.now, |writer| {
        let mut known = BTreeSet::new();
        let mut lines = String::new();
        for (file, result) in results {
            let proposal = find(&writer.view, &result).map_err(|error| error.after(&file))?;
            let check = result.to_check()?;
            // The same actor may have imported the result earlier.
            let is_same = |earlier: &Check| is_same(earlier, &check);
            let mut earlier = proposal.checks.iter().filter(|earlier| earlier.by == actor);
            let recorded = !earlier.any(|earlier| is_same(&earlier.check))
                && known.insert(check.imported.as_ref().map(|imported| imported.result.clone()));
            let code = result.exit_code.map_or("a signal".into(), |code| format!("exit {code}"));
            let what = if recorded { "recorded" } else { "imported before" };
            let is_current = proposal.current().event == result.revision;
            let old = if is_current { "" } else { ", on an earlier revision" };
            let command = result.command.join(" ");
            let by = result.actor.to_string();
            let (command, by) = (escape::line(&command), escape::name(&by));
            lines += &format!("{}  {what}: {command}: {code} by {by}{old}\n", proposal.id);
            if recorded {
                writer.note(Some(&proposal.id), Note::Check(check))?;
            }
        }
        Ok(lines)
    })?;
    context.print(lines.as_bytes())
}

/// True if both import the same result.
fn is_same(one: &Check, other: &Check) -> bool {
    match (&one.imported, &other.imported) {
        (Some(one), Some(other)) => one.result == other.result,
        _ => false,
    }
}

fn require_here(repository: &Repository, result: &TryResult) -> Result<()> {
    let here = repository.policy().ok().and_then(|policy| policy.repository);
    match (&result.repository, here) {
        (Some(there), Some(here)) if *there != here => Err(Error::new(
            &codes::TRY_RESULT_INVALID,
            format!("it is of the repository {there}, and this one is {here}"),
        )
        .hint("import it in a clone of the repository that it was written in")),
        _ => Ok(()),
    }
}

fn fetch() -> String {
    "fetch the thread that it is in: aye sync --fetch".to_owned()
}

fn find(view: &View, result: &TryResult) -> Result<Proposal> {
    let unknown = || {
        let first = &result.proposal;
        Error::new(&codes::PROPOSAL_NOT_FOUND, format!("no proposal begins with the event {first}"))
            .with("first", first.as_str())
            .hint(fetch())
    };
    let proposal = match view.find(ProposalId::long(&result.proposal).as_str()) {
        Ok(proposal) => proposal,
        Err(error) if error.is(&codes::PROPOSAL_NOT_FOUND) => return Err(unknown()),
        Err(error) => return Err(error),
    };
    if proposal.revision(&result.revision).is_none() {
        return Err(Error::new(
            &codes::REVISION_NOT_FOUND,
            format!("{} has no revision {}", proposal.id, result.revision),
        )
        .with("proposal_id", proposal.id.as_str())
        .with("revision", result.revision.as_str())
        .hint(fetch()));
    }
    Ok(proposal)
}
