//! The table of `aye list`.

use chrono::{DateTime, Utc};

use super::Listing;
use crate::cli::marks;
use crate::proposal::Status;
use crate::render::style::{Palette, Role};
use crate::render::table::{Align, Cell, Keep, Table};
use crate::render::{age, overview};
use crate::store::Summary;
use crate::text::escape;

/// Ids are short at a terminal (`columns`) only; a status is shown unless it was asked for.
pub(super) fn render(
    found: &Listing,
    palette: &Palette,
    now: DateTime<Utc>,
    columns: Option<usize>,
) -> String {
    let Listing { summaries, marks, .. } = found;
    let ordinary = found.status.status().or(Some(Status::Pending));
    let is_whole = columns.is_none();
    let mut titles = vec![
        ("SHORT", Align::Left),
        ("ID", Align::Left),
        ("AGE", Align::Right),
        ("BY", Align::Left),
        ("DESCRIPTION", Align::Left),
        ("FILES", Align::Left),
        ("LINES", Align::Right),
        ("MARKS", Align::Left),
    ];
    if !is_whole {
        titles.remove(1);
    }
    let mut table = Table::new(&titles);
    // In turns: neither column may take all the room.
    for (description, files) in [(40, 20), (16, 10)] {
        table.shrinks("DESCRIPTION", description, Keep::Start);
        table.shrinks("FILES", files, Keep::End);
    }
    table.shrinks("BY", 6, Keep::Start);
    table.shrinks("MARKS", 6, Keep::Start);
    for (title, most) in [("DESCRIPTION", 120), ("FILES", 120), ("BY", 60)] {
        table.bound(title, most);
    }
    table.drops(&["AGE", "FILES", "LINES", "BY"]);
    let row = |summary: &Summary| -> Vec<Cell> {
        let (unique, rest) = split(summary);
        let whole = Cell::new(Role::Dim, "prop_").and(Role::IdPrefix, unique).and(Role::Id, rest);
        let short = marks::short(&summary.id, summary.prefix);
        let mut said = Cell::default();
        let answer = marks.answers(summary).filter(|_| summary.status == Status::Pending);
        let answer = answer.map(|intent| (Role::Title, intent.label().to_owned()));
        let found = answer.into_iter().chain(marks::of(summary, marks, ordinary, now));
        for (at, (role, text)) in found.enumerate() {
            said = said.and(Role::Plain, if at > 0 { " " } else { "" }).and(role, text);
        }
        let first = summary.title();
        let whole = is_whole.then_some(whole);
        std::iter::once(Cell::new(Role::Id, short))
            .chain(whole)
            .chain([
                Cell::new(Role::Dim, age::short(summary.created_at, now)),
                Cell::from(escape::name(&marks::by(summary))),
                Cell::from(escape::line(first.unwrap_or_default()).into_owned()),
                match summary.files {
                    0 | 1 => Cell::from(escape::name(&summary.path)),
                    files => Cell::from(format!("{files} files")),
                },
                match overview::lines(summary.lines) {
                    None => Cell::default(),
                    Some([added, removed]) => {
                        Cell::new(Role::Good, added).and(Role::Plain, " ").and(Role::Bad, removed)
                    }
                },
                said,
            ])
            .collect()
    };
    summaries.iter().for_each(|summary| table.row(row(summary)));
    table.render(palette, columns)
}

/// The id after `prop_`, split after its unique prefix.
fn split(summary: &Summary) -> (&str, &str) {
    let code = &summary.id.as_str()["prop_".len()..];
    code.split_at(summary.prefix.min(code.len()))
}
