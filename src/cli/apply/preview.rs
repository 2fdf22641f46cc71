//! What is about to be written, as the question shows it.

use std::collections::BTreeMap;

use super::answer::FileItem;
use crate::changeset::FileChange;
use crate::changeset::plan::Planned;
use crate::check::marks;
use crate::cli::marks::lines;
use crate::cli::{Context, pager, show};
use crate::decide::{Ahead, Made, Part, Residue, Shown};
use crate::error::{Error, Result};
use crate::proposal::event::Effect;
use crate::proposal::{Proposal, ProposalId};
use crate::render::diff;
use crate::repository::Repository;
use crate::store::Store;
use crate::text::escape;

/// The part that is taken of one proposal, and of each what is committed already.
pub type Wanted<'a> = (Option<&'a Part>, &'a BTreeMap<ProposalId, Made>);

/// What applying `proposals` one after the other comes to, or `part` of one; of those in `made`, what is
/// committed already.
///
/// # Errors
/// As [`show`](crate::decide::show), and what the work tree refuses; with the id of the proposal.
pub fn shown(
    store: &Store,
    proposals: &[Proposal],
    wanted: Wanted<'_>,
    effect: Effect,
) -> Result<Vec<Shown>> {
    let named = |(shown, proposal): (Result<Shown>, &Proposal)| {
        shown.map_err(|error| of_proposal(error, &proposal.id))
    };
    each_shown(store, proposals, wanted, effect)?.into_iter().zip(proposals).map(named).collect()
}

/// As [`shown`], where what concerns one proposal alone is in its answer.
///
/// # Errors
/// Those of the store.
pub fn each_shown(
    store: &Store,
    proposals: &[Proposal],
    (part, made): Wanted<'_>,
    effect: Effect,
) -> Result<Vec<Result<Shown>>> {
    if effect == Effect::MarkOnly {
        return Ok(Vec::new());
    }
    let mut ahead = Ahead::new(store.repository())?;
    let view = store.view()?;
    let show =
        |proposal: &Proposal| ahead.show(store, &view, proposal, part, made.get(&proposal.id));
    Ok(proposals.iter().map(show).collect())
}

/// `error` of planning the proposal `id`, which it names.
pub fn of_proposal(error: Error, id: &ProposalId) -> Error {
    let error = for_reviewer(error, id);
    if error.message().contains(id.as_str()) {
        return error;
    }
    let is_named = error.details().iter().any(|(key, _)| *key == "proposal_id");
    let error = error.after(id);
    if is_named { error } else { error.with("proposal_id", id.as_str()) }
}

/// `error` about the proposal `id` with a hint for whoever decides: one that changes nothing is no news to
/// whoever made it.
pub fn for_reviewer(error: Error, id: &ProposalId) -> Error {
    if error.is(&crate::changeset::codes::NO_CHANGE) {
        error.hint(format!("there is nothing to apply: aye reject {id} -m TEXT"))
    } else {
        error
    }
}

/// Shows what is about to be written: every file and what becomes of it, then files now against
/// files afterwards, then what the files hold besides.
///
/// # Errors
/// `object_missing`; those of the pager.
pub fn present(
    context: &mut Context,
    store: &Store,
    shown: &[Shown],
    part: Option<&Part>,
) -> Result<()> {
    let options = options(context, store.repository());
    let view = store.view()?;
    let mut text = String::new();
    for shown in shown {
        text += &format!("{}\n", summary(&shown.proposal, &shown.plan.files));
        text += &show::who_and_why(&shown.proposal, context.now);
        for line in lines(&marks::of(store, &view, shown.proposal.current())?) {
            text += &format!("{line}\n");
        }
        text += &diff::changeset(&store.repository().with_sources(shown.changes()), &options);
        text += &already(store, shown, part, &options)?;
        text += &residue(shown, &options);
    }
    print(context, store.repository(), &text)
}

/// Shows what is about to be written, and nothing else: files now against files afterwards.
///
/// # Errors
/// Those of the pager.
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
    // What is about to be approved is shown, however large.
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

/// More lines than this go through the pager.
const FIRST_SCREEN: usize = 200;

/// The proposal's own diff of the files that hold its result already: nothing is written there, and
/// the decision approves that diff all the same.
pub(super) fn already(
    store: &Store,
    shown: &Shown,
    part: Option<&Part>,
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

/// What the files hold that is not the proposal's, as a diff of its own.
pub(super) fn residue(shown: &Shown, options: &diff::Options) -> String {
    let changes: Vec<FileChange> = shown.foreign().map(Residue::change).collect();
    if changes.is_empty() {
        return String::new();
    }
    format!(
        "\nThese files also hold changes that are not the proposal's:\n{}",
        diff::changeset(&changes, options)
    )
}

fn summary(proposal: &Proposal, files: &[Planned]) -> String {
    let lines: String = files.iter().map(|file| FileItem::new(file).text()).collect();
    format!("{}\n{}", proposal.id, lines.trim_end())
}

/// A note about files that hold changes of others, which were not approved; of many files, it
/// names the first.
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
