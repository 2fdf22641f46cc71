//! `aye diff`: the changes of a proposal.

mod document;
mod path_filter;
mod text;

pub use document::Document;
use path_filter::select_paths;
pub use text::{DiffArgs, bytes};
use text::{patch, text};

use super::marks::notice;
use super::selection::ProposalArg;
use super::{Context, Format, difftool, pager, show};
use crate::changeset::Changeset;
use crate::check::{marks, relations};
use crate::decide;
use crate::error::{Exit, Result, codes};
use crate::proposal::{Proposal, Status};
use crate::render::diff as render;
use crate::repository::Repository;
use crate::store::{Store, View};
use crate::text::escape;

/// Show the changes of a proposal.
///
/// A pending proposal is shown as what applying it would do to the files as they are now. If that
/// is not what was proposed, a note reports it, and --proposed shows the proposal's own changes.
/// The first line, on standard error, is ID@REV, by which `aye apply` takes exactly this revision.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye diff m4k8
  aye diff m4k8 --proposed     as it was proposed
  aye diff m4k8 --stat
  aye diff m4k8 --tool=meld    what `git difftool` shows
  aye diff m4k8 -- src/a.rs docs/    these alone, also where they are large
  aye diff m4k8 --patch | git apply --check
  aye diff m4k8 --json         files, and the patch")]
pub struct Args {
    #[command(flatten)]
    pub which: ProposalArg,
    /// The proposed changes, even if the files have changed since.
    #[arg(long)]
    pub proposed: bool,
    /// Run git's difftool on the pending proposal, with the tool NAME or the one of diff.tool. Only
    /// tools of your own configuration (`git config --global`), or that git knows, are run.
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        default_missing_value = "",
        require_equals = true,
        conflicts_with_all = ["form", "unified", "proposed"]
    )]
    pub tool: Option<String>,
    #[command(flatten)]
    pub diff: DiffArgs,
    /// Only these files and directories.
    #[arg(last = true, value_name = "PATH", conflicts_with = "hunks")]
    pub paths: Vec<std::ffi::OsString>,
}

pub const PLANNED: &str = "note: the files have changed since; this is what applying it would do to them now \
     (aye diff --proposed shows what was proposed)";

/// `None` if applying does what was proposed.
///
/// # Errors
/// `object_missing`, `proposal_archived`
pub fn planned(store: &Store, view: &View, proposal: &Proposal) -> Result<Option<Changeset>> {
    let visible = decide::display(store, view, proposal)?;
    if visible.planned && !visible.changes.is_empty() {
        Changeset::new(visible.changes).map(Some)
    } else {
        Ok(None)
    }
}

/// These changes stay out of the diff, which may be a patch for another program.
fn note_foreign(context: &Context, repository: &Repository, visible: &decide::ProposalDisplay) {
    let Some(shown) = &visible.shown else { return };
    let changes: Vec<_> = shown.foreign().map(decide::OtherChange::change).collect();
    if changes.is_empty() {
        return;
    }
    let options = pager::options(context, repository);
    context.note("note: these files also hold changes that are not the proposal's:");
    context.note(render::changeset(&changes, &options).trim_end());
}

/// The diff includes these changes: applying approves them.
fn note_applied(context: &Context, visible: &decide::ProposalDisplay) {
    let Some(shown) = &visible.shown else { return };
    let there: Vec<String> =
        shown.plan.already().map(|file| escape::name(&file.path.display().to_string())).collect();
    if there.len() == shown.plan.files.len() && !there.is_empty() {
        context.note("note: the files have all of this already; applying it writes nothing");
    } else if !there.is_empty() {
        context.note(&format!("note: the files have this already: {}", there.join(", ")));
    }
}

fn by(proposal: &Proposal) -> String {
    let author = &proposal.current().actor;
    let name = match proposal.revisions.len() {
        1 => proposal.proposed_by.as_str(),
        _ => author.name.as_str(),
    };
    format!("by {} ({})", escape::name(name), author.kind.as_str())
}

pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let _head = store.repository().pin_head();
    let repository = store.repository();
    let view = store.view()?;
    let Some(proposal) = args.which.find(context, &view)? else {
        return context.declined("nothing shown");
    };
    if let Some(tool) = &args.tool {
        return difftool::run(context, &store, &proposal, tool);
    }
    let revision = proposal.current();
    let pending = proposal.status(context.now) == Status::Pending;
    let (mut changeset, is_whole) = match store.changeset(revision) {
        // A path that the user names is shown despite the size limit.
        Err(error) if error.is(&codes::SIZE_LIMIT) && !args.paths.is_empty() => {
            let mut records = revision.changes.clone();
            let files = records.iter().map(|record| (&record.path, record.origin.as_ref()));
            if let Some(wanted) = select_paths(context, repository, &proposal, files, &args.paths)?
            {
                records.retain(|record| wanted.contains(&record.path));
            }
            (store.named_changeset(revision, &records)?, false)
        }
        changeset => (changeset?, true),
    };
    let mut planned = false;
    if pending && is_whole {
        context.note(&format!("{}  {}", proposal.at_revision(), by(&proposal)));
        let visible = decide::display(&store, &view, &proposal)?;
        note_foreign(context, repository, &visible);
        if !args.proposed {
            note_applied(context, &visible);
        }
        if let Some(refusal) = visible.refusal.as_ref().filter(|_| !args.proposed) {
            let found = relations::of(&store, &view, context.now, &proposal)?;
            let below = match relations::stack_text(&found.depends_on) {
                None => relations::lower_fate(&store, &view, context.now, &proposal)?
                    .map(|lower| format!("was made on {lower}")),
                below => below,
            };
            let below = below.map(|below| format!("it {below}, and ")).unwrap_or_default();
            context.note(&format!(
                "note: {below}it conflicts with the present files ({}); this is the proposed change",
                escape::line(refusal.message())
            ));
            show::notice_sparse(context, repository, refusal);
        }
        if !args.proposed && visible.planned && !visible.changes.is_empty() {
            context.note(PLANNED);
            planned = true;
            changeset = Changeset::new(visible.changes)?;
        }
    }
    if is_whole {
        let mut changes = changeset.into_changes();
        let files = changes.iter().map(|change| (&change.path, change.origin.as_ref()));
        if let Some(wanted) = select_paths(context, repository, &proposal, files, &args.paths)? {
            changes.retain(|change| wanted.contains(&change.path));
        }
        changeset = Changeset::new(changes)?;
    }
    let mut marks = marks::revision_marks(&store, &view, revision)?;
    let changes = changeset.changes();
    let is_shown = |path: &str| changes.iter().any(|it| it.path.display().to_string() == path);
    marks.retain(|mark| mark.path.as_deref().is_none_or(is_shown));
    notice(context, &marks);
    if context.format_or(Format::Text) != Format::Text {
        let patch = patch(repository, &changeset);
        let document = Document::new(&proposal, planned, changeset.changes(), &patch);
        return context.emit(Format::Text, &document, String::new);
    }
    if args.diff.patch {
        return context.print(&patch(repository, &changeset));
    }
    let all = !args.paths.is_empty();
    let text = text(context, repository, &proposal, &changeset, &args.diff, all);
    pager::page(context, Some(repository), &text)
}
