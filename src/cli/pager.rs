//! Paging as in git, and the look of diffs.

use std::io::IsTerminal as _;

use super::Context;
use super::programs;
use crate::error::{Exit, Result};
use crate::render::diff::{Layout, Options};
use crate::render::style::{ColorSupport, Palette};
use crate::repository::Repository;

/// Pages only at a terminal.
pub fn page(
    context: &mut Context,
    repository: Option<&Repository>,
    text: impl AsRef<[u8]>,
) -> Result<Exit> {
    page_all(context, repository, || std::iter::once(Ok(text.as_ref())))
}

/// Streams text too long for memory; calls `pieces` again if the pager does not exist.
pub fn page_all<Piece: AsRef<[u8]>, Pieces: Iterator<Item = Result<Piece>>>(
    context: &mut Context,
    repository: Option<&Repository>,
    pieces: impl Fn() -> Pieces,
) -> Result<Exit> {
    if context.pager
        && std::io::stdout().is_terminal()
        && let Some(pager) = programs::pager(context, repository)
        && programs::run_pager(&pager, pieces())?
    {
        return Ok(Exit::Done);
    }
    context.print_all(pieces())
}

/// Git's configured colours, or none.
pub fn palette(context: &Context, repository: &Repository) -> Palette {
    if !context.color {
        return Palette::plain();
    }
    let config = repository.repo().config_snapshot();
    let var = |name: &str| context.var(name)?.into_string().ok();
    let configured = |name: &str| Some(config.string(name)?.to_string());
    let (term, colorterm, colorfgbg) = (var("TERM"), var("COLORTERM"), var("COLORFGBG"));
    let background = configured("aye.background");
    let depth = ColorSupport::of(
        term.as_deref(),
        colorterm.as_deref(),
        colorfgbg.as_deref(),
        background.as_deref(),
    );
    Palette::with_depth(configured, depth)
}

pub fn options(context: &Context, repository: &Repository) -> Options {
    let terminal = std::io::stdout().is_terminal();
    let context_lines = repository.repo().config_snapshot().integer("diff.context");
    let context_lines = context_lines.and_then(|lines| usize::try_from(lines).ok());
    Options {
        palette: palette(context, repository),
        context: context_lines.unwrap_or(crate::changeset::hunks::CONTEXT),
        columns: columns().unwrap_or(80),
        layout: Layout::Unified,
        syntax: terminal,
        all: false,
        numbers: false,
        ignore_space: false,
    }
}

pub fn columns() -> Option<usize> {
    size().map(|(_, columns)| columns)
}

/// Columns of standard error; `None` off a terminal.
pub fn note_columns() -> Option<usize> {
    let terminal = console::Term::stderr();
    let (_, columns) = terminal.is_term().then(|| terminal.size_checked()).flatten()?;
    (columns > 0).then(|| usize::from(columns))
}

/// Rows and columns of standard output; `None` off a terminal.
pub fn size() -> Option<(usize, usize)> {
    let terminal = console::Term::stdout();
    if !terminal.is_term() {
        return None;
    }
    let (rows, columns) = terminal.size_checked()?;
    (columns > 0).then(|| (usize::from(rows), usize::from(columns)))
}
