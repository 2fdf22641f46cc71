//! Lists of a proposal's files and hunks. Pure.

use bstr::ByteSlice as _;

use super::screen::{decision, push_wrapped};
use crate::changeset::hunks::{Hunk, Line, LineSide};
use crate::render::diff::{self, Options};
use crate::render::style::Role;
use crate::render::width;
use crate::review::model::{Review, UnitKind};
use crate::text::{counted, escape};

/// Files listed under a header.
pub(super) const MOST_FILES: usize = 12;

/// Hunks listed on either side of the current one.
const MOST_HUNKS: usize = 20;

/// Lists at most `limit` files with numbers and decisions, and counts the rest.
pub(super) fn files(review: &Review, limit: usize, options: &Options) -> String {
    let palette = &options.palette;
    let mut out = String::new();
    let files = review.files();
    let digits = files.len().to_string().len();
    for (at, file) in files.iter().enumerate().take(limit) {
        let units = &review.units()[review.units_of(at)];
        let entry = file.entry();
        let (line, hunks) = (diff::summary_line(&entry), counted(units.len(), "hunk"));
        let mut text = format!("{:>digits$}  {line}  {hunks}, {}", at + 1, entry.counts());
        let open = units.iter().filter(|unit| unit.decision.is_none()).count();
        if open < units.len() {
            text += &match open {
                0 => "  [decided]".to_owned(),
                open => format!("  [{open} to decide]"),
            };
        }
        let role = if open == 0 { Role::Dim } else { Role::Plain };
        push_wrapped(&mut out, options, role, &text);
    }
    if files.len() > limit {
        let more = format!("… and {} more files; f lists them", files.len() - limit);
        out += &format!("  {}\n", palette.paint(Role::Dim, more));
    }
    out
}

/// Lists hunks around unit `here`.
pub(super) fn hunks(review: &Review, here: usize, options: &Options) -> String {
    let count = review.units().len();
    let start = here.saturating_sub(MOST_HUNKS);
    let end = count.min(here + MOST_HUNKS + 1);
    let digits = count.to_string().len();
    let mut out = String::new();
    for at in start..end {
        let unit = &review.units()[at];
        let file = review.file_of(at);
        let mark = if at == here { "> " } else { "  " };
        let what = match &unit.part {
            UnitKind::Hunk(hunk) => first_changed(file.diff.lines(hunk), hunk),
            UnitKind::Place => "its place or mode".to_owned(),
            UnitKind::Whole if file.after.is_none() => "deletion".to_owned(),
            UnitKind::Whole => "the whole file".to_owned(),
        };
        let said = decision(unit).map(|said| format!("  [{said}]")).unwrap_or_default();
        let text =
            format!("{mark}{:>digits$}  {}{said}  {what}", at + 1, diff::escape_path(&file.path));
        let role = if unit.decision.is_some() { Role::Dim } else { Role::Plain };
        let line = width::fit(&text, options.columns);
        out += &format!("{}\n", options.palette.paint(role, line));
    }
    if end - start < count {
        let more = format!("… {} hunks in all; / searches", count);
        push_wrapped(&mut out, options, Role::Dim, &more);
    }
    out
}

/// `@@ -1 +1 @@ -the first line that changes`, safe for a terminal.
fn first_changed<'l>(lines: impl Iterator<Item = Line<'l>>, hunk: &Hunk) -> String {
    let mut changed = lines.filter(|line| line.side != LineSide::Context);
    let text = changed.next().map(|line| {
        let content = line.content();
        let start = &content[..content.len().min(200)];
        format!("{}{}", line.side.sign(), escape::bytes_line(start))
    });
    format!("{hunk} {}", text.unwrap_or_default())
}

/// A file by number from 1, path, or unique part of its path.
pub(super) fn file(review: &Review, text: &str) -> Option<usize> {
    let files = review.files();
    if let Ok(number) = text.parse::<usize>()
        && (1..=files.len()).contains(&number)
    {
        return Some(number - 1);
    }
    if let Some(at) = files.iter().position(|file| *file.path.as_bstr() == *text) {
        return Some(at);
    }
    let mut found = (0..files.len()).filter(|at| files[*at].path.as_bstr().contains_str(text));
    found.next().filter(|_| found.next().is_none())
}
