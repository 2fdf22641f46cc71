//! `aye show`: everything about a proposal.

mod conversation;
mod decisions;
mod header;
mod notices;
mod readable;

use self::conversation::conversation_text;
use self::header::{Facts, header};
pub use self::notices::notice_sparse;
use self::notices::warned;
use self::readable::Readable;
use super::diff::DiffArgs;
use super::selection::ProposalArg;
use super::{Context, Format, diff, output, pager};
use crate::app::listing::marks_of;
use crate::app::quotes;
use crate::changeset::marks::Mark;
use crate::check::relations;
use crate::error::codes::SIZE_LIMIT;
use crate::error::{Exit, Result};
use crate::proposal::document::{Document, SetAside};
use crate::proposal::event::Subject;
use crate::proposal::{Proposal, Status};
use crate::render::age;
use crate::render::style::Palette;
use crate::repository::Repository;
use crate::scan::gate;
use crate::text::escape;

/// Show a proposal: who, why, its state, its comments, its diff.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye show m4k8
  aye show m4k8 --comments
  aye show --latest
  aye show m4k8 --json")]
pub struct Args {
    #[command(flatten)]
    pub which: ProposalArg,
    /// Only the comments, without the diff.
    #[arg(long)]
    pub comments: bool,
    #[command(flatten)]
    pub diff: DiffArgs,
}

/// # Errors
/// `proposal_not_found`; `object_missing`, after the rest is shown.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let _head = store.repository().pin_head();
    let repository = store.repository();
    let view = store.view()?;
    let Some(proposal) = args.which.find(context, &view)? else {
        return context.declined("nothing shown");
    };
    let space = view.space(&proposal.id)?;
    let thread = view.thread(&proposal.id)?;
    let refs = thread.set_aside.iter();
    let set_aside: Vec<SetAside> = refs
        .map(|it| SetAside { name: it.name.clone(), code: it.code.id, why: it.why.clone() })
        .collect();
    let status = proposal.status(context.now);
    let stands_on = match status {
        Status::Pending => relations::of(&store, &view, context.now, &proposal)?.depends_on,
        _ => Vec::new(),
    };
    let made_on = relations::lower_fate(&store, &view, context.now, &proposal)?;
    let marks = marks_of(&store, &view, context.now, &proposal)?;
    if context.format_or(Format::Text) != Format::Text {
        let mut document = Document::new(&proposal, status, &quotes::places(&store, &proposal));
        document.stands_on = stands_on.iter().map(|lower| lower.id.to_string()).collect();
        document.marks = marks;
        document.space = Some(space.as_str());
        document.set_aside = set_aside;
        let current = proposal.current();
        if current.changes.iter().any(|change| change.origin.is_some())
            && let Ok(changeset) = store.changeset(current)
        {
            document.compare(&repository.with_named_sources(changeset.into_changes()));
        }
        return context.emit(Format::Text, &document, String::new);
    }
    let palette = pager::palette(context, repository);
    let readable = Readable::load(&store, proposal.current())?;
    let head = repository.head_ref();
    let facts = Facts {
        status,
        space,
        set_aside: &set_aside,
        stands_on: &stands_on,
        head: head.as_deref(),
        made_on: made_on.as_deref(),
        now: context.now,
    };
    let mut text = header(&proposal, &facts, &palette);
    if status == Status::Pending {
        text += &warnings(repository, &proposal, &readable, &marks, &palette);
    }
    text +=
        &conversation_text(&proposal, &quotes::places(&store, &proposal), &palette, context.now);
    let mut text = text.into_bytes();
    if !args.comments {
        text.push(b'\n');
        text.extend(readable.missing_lines(&palette).into_bytes());
        let planned = if status == Status::Pending && readable.missing.is_empty() {
            diff::planned(&store, &view, &proposal)?
        } else {
            None
        };
        if planned.is_some() {
            text.extend(output::wrapped(diff::PLANNED, pager::columns()).bytes());
            text.push(b'\n');
        }
        let changeset = planned.as_ref().unwrap_or(&readable.changeset);
        text.extend(diff::bytes(context, repository, &proposal, changeset, &args.diff));
    }
    pager::page(context, Some(repository), &text)?;
    // Large content is not missing: `aye diff` shows it by path.
    let mut missing = readable.missing.into_iter().filter(|(_, error)| !error.is(&SIZE_LIMIT));
    match missing.next() {
        Some((_, error)) => Err(error),
        None => Ok(Exit::Done),
    }
}

fn warnings(
    repository: &Repository,
    proposal: &Proposal,
    readable: &Readable,
    marks: &[Mark],
    palette: &Palette,
) -> String {
    let warnings = match proposal.subject {
        Subject::Code => gate::file_warnings(repository, &readable.changeset, |path, line| {
            marks.iter().any(|mark| mark.is_at(path, line))
        }),
        Subject::Memory => Vec::new(),
    };
    warned(marks, &warnings, palette)
}

pub fn who_and_why(proposal: &Proposal, now: chrono::DateTime<chrono::Utc>) -> String {
    let mut out = format!(
        "  by {}, {}\n",
        escape::name(&proposal.proposed_by),
        age::ago(proposal.created_at, now)
    );
    for line in proposal.description.iter().flat_map(|text| text.lines()).take(MOST_REASONS) {
        out += &format!("  {}\n", escape::line(line));
    }
    out
}

const MOST_REASONS: usize = 10;
