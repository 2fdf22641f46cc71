//! Preview of the files, as the question shows it.

use std::collections::BTreeMap;

use super::document::FileItem;
use crate::changeset::FileChange;
use crate::changeset::plan::PlannedFile;
use crate::check::marks;
use crate::cli::marks::lines;
use crate::cli::{Context, pager, show};
use crate::decide::{CommittedPlan, DecisionPlan, OtherChange, PartialProposal, PlannedFiles};
use crate::error::{Error, Result};
use crate::proposal::event::Effect;
use crate::proposal::{Proposal, ProposalId};
use crate::render::diff;
use crate::repository::Repository;
use crate::store::Store;
use crate::text::escape;

/// A part of one proposal, and what is committed already of each.
pub type PlanScope<'a> = (Option<&'a PartialProposal>, &'a BTreeMap<ProposalId, CommittedPlan>);

pub fn plan_all(
    store: &Store,
    proposals: &[Proposal],
    wanted: PlanScope<'_>,
    effect: Effect,
) -> Result<Vec<DecisionPlan>> {
    let named = |(shown, proposal): (Result<DecisionPlan>, &Proposal)| {
        shown.map_err(|error| name_proposal(error, &proposal.id))
    };
    plan_each(store, proposals, wanted, effect)?.into_iter().zip(proposals).map(named).collect()
}

pub fn plan_each(
    store: &Store,
    proposals: &[Proposal],
    (part, made): PlanScope<'_>,
    effect: Effect,
) -> Result<Vec<Result<DecisionPlan>>> {
    if effect == Effect::MarkOnly {
        return Ok(Vec::new());
    }
    let mut ahead = PlannedFiles::new(store.repository())?;
    let view = store.view()?;
    let show =
        |proposal: &Proposal| ahead.show(store, &view, proposal, part, made.get(&proposal.id));
    Ok(proposals.iter().map(show).collect())
}

pub fn name_proposal(error: Error, id: &ProposalId) -> Error {
    let error = for_reviewer(error, id);
    if error.message().contains(id.as_str()) {
        return error;
    }
    let is_named = error.details().iter().any(|(key, _)| *key == "proposal_id");
    let error = error.after(id);
    if is_named { error } else { error.with("proposal_id", id.as_str()) }
}

/// The hint of `no_change` is for the proposer, not the reviewer.
pub fn for_reviewer(error: Error, id: &ProposalId) -> Error {
    if error.is(&crate::changeset::codes::NO_CHANGE) {
        error.hint(format!("there is nothing to apply: aye reject {id} -m TEXT"))
    } else {
        error
    }
}

pub fn present(
    context: &mut Context,
    store: &Store,
    shown: &[DecisionPlan],
    part: Option<&PartialProposal>,
) -> Result<()> {
    let options = options(context, store.repository());
    let view = store.view()?;
    let mut text = String::new();
    for shown in shown {
        text += &format!("{}\n", summary(&shown.proposal, &shown.plan.files));
        text += &show::who_and_why(&shown.proposal, context.now);
        for line in lines(&marks::revision_marks(store, &view, shown.proposal.current())?) {
            text += &format!("{line}\n");
        }
        text += &diff::changeset(&store.repository().with_sources(shown.changes()), &options);
        text += &applied_diff(store, shown, part, &options)?;
        text += &foreign_diff(shown, &options);
    }
    print(context, store.repository(), &text)
}

pub fn changes(
    context: &mut Context,
    repository: &Repository,
    changes: &[FileChange],
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let text = diff::changeset(changes, &options(context, repository));
    print(context, repository, &text)
}

fn options(context: &Context, repository: &Repository) -> diff::Options {
    let options = pager::options(context, repository);
    // An approval covers the whole diff, however large.
    diff::Options { all: true, ..options }
}

fn print(context: &mut Context, repository: &Repository, text: &str) -> Result<()> {
    if text.lines().count() > FIRST_SCREEN {
        pager::page(context, Some(repository), text)?;
    } else {
        context.note(text.trim_end());
    }
    Ok(())
}

const FIRST_SCREEN: usize = 200;

/// The files hold this already: nothing is written, but the decision approves the diff.
pub(super) fn applied_diff(
    store: &Store,
    shown: &DecisionPlan,
    part: Option<&PartialProposal>,
    options: &diff::Options,
) -> Result<String> {
    let changes = shown.already(store, part)?;
    if changes.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "\nThe files have this already; it is approved as well:\n{}",
        diff::changeset(&changes, options)
    ))
}

pub(super) fn foreign_diff(shown: &DecisionPlan, options: &diff::Options) -> String {
    let changes: Vec<FileChange> = shown.foreign().map(OtherChange::change).collect();
    if changes.is_empty() {
        return String::new();
    }
    format!(
        "\nThese files also hold changes that are not the proposal's:\n{}",
        diff::changeset(&changes, options)
    )
}

fn summary(proposal: &Proposal, files: &[PlannedFile]) -> String {
    let lines: String = files.iter().map(|file| FileItem::new(file).text()).collect();
    format!("{}\n{}", proposal.id, lines.trim_end())
}

pub fn not_approved(paths: &[String]) -> Option<String> {
    const MOST_NAMED: usize = 3;
    let named: Vec<_> = paths.iter().take(MOST_NAMED).map(|path| escape::name(path)).collect();
    let files = match (named.as_slice(), paths.len() - named.len()) {
        ([], _) => return None,
        ([one], 0) => format!("{one} also holds"),
        (some, 0) => format!("{} also hold", some.join(", ")),
        (some, more) => format!("{} and {more} more files also hold", some.join(", ")),
    };
    Some(format!("note: {files} changes that are not the proposal's; they are not approved"))
}
