//! Earlier comments, at their lines or in the header. Pure; escapes everything.

use super::host::{Content, EarlierComment};
use super::screen::push_wrapped;
use crate::proposal::event::{Comment, CommentKind};
use crate::render::diff::{self, Options};
use crate::render::style::Role;
use crate::review::model::{Review, UnitKind};
use crate::text::escape;

/// Lines of a suggestion shown at a hunk.
const MOST_LINES: usize = 20;

pub(super) fn noun(kind: &CommentKind) -> &'static str {
    match kind {
        CommentKind::Plain | CommentKind::Other(_) => "comment",
        CommentKind::Suggestion => "suggestion",
        CommentKind::Question => "question",
    }
}

/// ` on src/a.rs:12-14`, safe for a terminal.
pub(super) fn on(said: &Comment) -> String {
    let Some(path) = &said.path else { return String::new() };
    let lines = match said.lines() {
        None => String::new(),
        Some((first, last)) if first == last => format!(":{first}"),
        Some((first, last)) => format!(":{first}-{last}"),
    };
    format!(" on {}{lines}", diff::escape_path(path))
}

/// `Ada on src/a.rs:12-14, suggestion, resolved by claude (done)`
pub(super) fn heading(said: &EarlierComment) -> String {
    let mut text = escape::name(&said.author);
    if let Some(place) = &said.place {
        text += &format!(" on {}", escape::name(place));
    }
    if let Some(wants) = &said.kind {
        text += &format!(", {}", escape::name(wants));
    }
    if let Some((by, note)) = &said.resolved {
        text += &format!(", resolved by {} ({})", escape::name(by), escape::line(note));
    }
    text
}

/// Lines of a suggestion and their replacement, or the quote of an outdated plain comment. At most
/// `limit` of each.
pub(super) fn lines(said: &EarlierComment, options: &Options, limit: usize) -> String {
    let mut out = String::new();
    if said.lines.is_none() || said.replacement.is_some() {
        push(&mut out, said.quote.as_deref(), '-', Role::Old, options, limit);
    }
    push(&mut out, said.replacement.as_deref(), '+', Role::New, options, limit);
    out
}

fn push(
    out: &mut String,
    text: Option<&str>,
    sign: char,
    role: Role,
    options: &Options,
    limit: usize,
) {
    let lines: Vec<&str> = text.iter().flat_map(|text| text.lines()).collect();
    for line in lines.iter().take(limit) {
        let line = format!("{sign}{}", escape::line(line));
        out.push_str(&format!("    {}\n", options.palette.paint(role, line)));
    }
    if lines.len() > limit {
        let more = format!("… {} more lines, p shows them", lines.len() - limit);
        push_wrapped(out, options, Role::Dim, &more);
    }
}

/// `None` without comments on unit `at`.
pub(super) fn at_unit(
    content: &Content,
    review: &Review,
    at: usize,
    options: &Options,
) -> Option<String> {
    let unit = &review.units()[at];
    let file = review.file_of(at);
    let mut out = String::new();
    for said in content.header.comments.iter().filter(|said| content.shows_at_lines(said)) {
        let Some((path, (first, _))) = &said.lines else { continue };
        // Comments between hunks appear at the next one, after the last hunk at the last.
        let is_here = *path == file.path
            && match &unit.part {
                UnitKind::Hunk(_) => at == nearest(review, unit.file, *first),
                UnitKind::Whole => true,
                UnitKind::Place => review.units_of(unit.file).len() == 1,
            };
        if is_here {
            let text = format!("┃ {}: {}", heading(said), escape::line(&said.body));
            push_wrapped(&mut out, options, Role::Comment, text.trim_end_matches(": "));
            out += &lines(said, options, MOST_LINES);
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The first unit of `file` that contains or follows line `first` of the proposed file, else the
/// last unit.
fn nearest(review: &Review, file: usize, first: u32) -> usize {
    let units = review.units_of(file);
    let reaches = |at: &usize| match &review.units()[*at].part {
        UnitKind::Hunk(hunk) => hunk.after.end >= first as usize,
        UnitKind::Whole | UnitKind::Place => false,
    };
    units.clone().find(reaches).unwrap_or(units.end.saturating_sub(1))
}
