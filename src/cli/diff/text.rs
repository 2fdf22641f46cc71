//! A diff in the requested form.

use crate::changeset::Changeset;
use crate::cli::{Context, pager};
use crate::proposal::Proposal;
use crate::proposal::event::Subject;
use crate::render::diff as render;
use crate::repository::Repository;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Diff options")]
pub struct DiffArgs {
    /// How many lines change in each file.
    #[arg(long, group = "form")]
    pub stat: bool,
    /// Only the names of changed files.
    #[arg(long, group = "form")]
    pub name_only: bool,
    /// Changed words inside the lines.
    #[arg(long, group = "form")]
    pub word_diff: bool,
    /// A patch that git apply accepts, byte for byte; never coloured.
    #[arg(short = 'p', long, group = "form")]
    pub patch: bool,
    /// Hunk by hunk, numbered as `aye apply --hunks` takes them.
    #[arg(long, group = "form", conflicts_with = "unified")]
    pub hunks: bool,
    /// Unchanged lines around changes.
    #[arg(short = 'U', long, value_name = "N")]
    pub unified: Option<usize>,
    /// Without lines that differ in whitespace alone; they are counted.
    #[arg(short = 'w', long, conflicts_with_all = ["stat", "name_only", "patch"])]
    pub ignore_all_space: bool,
}

pub fn bytes(
    context: &Context,
    repository: &Repository,
    proposal: &Proposal,
    changeset: &Changeset,
    args: &DiffArgs,
) -> Vec<u8> {
    if args.patch {
        patch(repository, changeset)
    } else {
        text(context, repository, proposal, changeset, args, false).into_bytes()
    }
}

pub(super) fn text(
    context: &Context,
    repository: &Repository,
    proposal: &Proposal,
    changeset: &Changeset,
    args: &DiffArgs,
    all: bool,
) -> String {
    let changes = changeset.changes().to_vec();
    let changes = match proposal.subject {
        Subject::Code => repository.with_sources(changes),
        Subject::Memory => changes,
    };
    let mut options = pager::options(context, repository);
    options.all = all;
    options.ignore_space = args.ignore_all_space;
    if let Some(lines) = args.unified {
        options.context = lines;
    }
    if args.word_diff {
        options.layout = render::Layout::Words;
    }
    if args.hunks {
        options.context = crate::changeset::hunks::CONTEXT;
        crate::review::terminal::numbered(&changes, &options)
    } else if args.stat {
        render::stat(&changes, &options.palette, options.columns)
    } else if args.name_only {
        render::name_only(&changes)
    } else if proposal.subject == Subject::Memory && options.layout == render::Layout::Unified {
        crate::review::terminal::by_section(&changes, &options)
    } else {
        render::changeset(&changes, &options)
    }
}

pub(super) fn patch(repository: &Repository, changeset: &Changeset) -> Vec<u8> {
    crate::changeset::emit::git_patch(changeset, repository.repo().object_hash())
}
