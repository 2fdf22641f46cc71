//! Long text goes through the user's pager, as git's does; and how differences look here.

use std::io::IsTerminal as _;

use super::Context;
use super::programs;
use crate::error::{Exit, Result};
use crate::render::diff::{Layout, Options};
use crate::render::style::{Depth, Palette};
use crate::repository::Repository;

/// Prints `text` on standard output, through the pager if that is a terminal and `--no-pager`
/// was not given.
///
/// # Errors
/// `io_error` when the stream cannot be written.
pub fn page(
    context: &mut Context,
    repository: Option<&Repository>,
    text: impl AsRef<[u8]>,
) -> Result<Exit> {
    page_all(context, repository, || std::iter::once(Ok(text.as_ref())))
}

/// Prints the pieces of a text that is too long to be in memory at once, as [`page`]. `pieces` is
/// asked a second time where the pager turns out not to exist.
///
/// # Errors
/// Those of the pieces; `io_error` when the stream cannot be written.
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

/// The colours in force: none unless standard output is coloured, else git's configured ones.
pub fn palette(context: &Context, repository: &Repository) -> Palette {
    if !context.color {
        return Palette::plain();
    }
    let config = repository.repo().config_snapshot();
    let var = |name: &str| context.var(name)?.into_string().ok();
    let configured = |name: &str| Some(config.string(name)?.to_string());
    let (term, colorterm, colorfgbg) = (var("TERM"), var("COLORTERM"), var("COLORFGBG"));
    let background = configured("aye.background");
    let depth = Depth::of(
        term.as_deref(),
        colorterm.as_deref(),
        colorfgbg.as_deref(),
        background.as_deref(),
    );
    Palette::with_depth(configured, depth)
}

/// How differences look on this standard output.
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
    }
}

/// The width of the terminal that standard output is; `None` where it is none.
pub fn columns() -> Option<usize> {
    size().map(|(_, columns)| columns)
}

/// The width of the terminal that standard error is; `None` where it is none.
pub fn note_columns() -> Option<usize> {
    let terminal = console::Term::stderr();
    let (_, columns) = terminal.is_term().then(|| terminal.size_checked()).flatten()?;
    (columns > 0).then(|| usize::from(columns))
}

/// Rows and columns of the terminal that standard output is; `None` where it is none.
pub fn size() -> Option<(usize, usize)> {
    let terminal = console::Term::stdout();
    if !terminal.is_term() {
        return None;
    }
    let (rows, columns) = terminal.size_checked()?;
    (columns > 0).then(|| (usize::from(rows), usize::from(columns)))
}
