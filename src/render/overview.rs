//! Pending proposals in groups, one line each, on one screen. Pure.

use chrono::{DateTime, Utc};

use super::style::{Palette, Role};
use super::table::{Align, Cell, Keep, Table};
use super::width;
use crate::changeset::hunks::{Counts, Lines};
use crate::text::{self, escape};

/// Only `marks` are safe for a terminal already.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Index in the session; `None` for a proposal that the session does not ask about.
    pub slot: Option<usize>,
    /// Position in the order of review, from 1.
    pub number: Option<usize>,
    pub id: String,
    /// Unique prefix of the id.
    pub short: String,
    pub description: String,
    /// First changed file.
    pub path: String,
    pub files: usize,
    pub lines: Lines,
    /// Rank by what deserves a second look; 0 first.
    pub class: u8,
    pub created_at: DateTime<Utc>,
    /// Effect of unwritten answers: `[to apply]`.
    pub answer: Option<&'static str>,
    /// Safe for a terminal.
    pub marks: Vec<(Role, String)>,
}

/// Proposals decided together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Agent and task, for example.
    pub title: String,
    /// In the order of review.
    pub rows: Vec<Row>,
}

impl Group {
    /// `12 proposals, +84 −31, 2 not counted`. Counts are omitted if content is missing.
    pub fn counted(&self) -> String {
        let proposals = text::counted(self.rows.len(), "proposal");
        let (mut sum, mut others) = (Counts::default(), 0);
        for row in &self.rows {
            match row.lines {
                Lines::Counted(counts) => sum += counts,
                Lines::NotByLines => others += 1,
                Lines::NotHere => return proposals,
            }
        }
        match others {
            0 => format!("{proposals}, {sum}"),
            others => format!("{proposals}, {sum}, {others} not counted"),
        }
    }

    /// The title, and the counts behind it.
    pub fn head(&self, palette: &Palette, columns: usize) -> String {
        let counted = self.counted();
        let room = columns.saturating_sub(width::of(&counted) + 2).max(8);
        let title = width::fit(&escape::name(&self.title), room);
        let title = palette.paint(Role::Title, title);
        format!("{title}  {}", palette.paint(Role::Dim, counted))
    }
}

/// Numbers the rows that have a slot from 1, from top to bottom.
pub fn number(groups: &mut [Group]) {
    let rows = groups.iter_mut().flat_map(|group| &mut group.rows);
    for (at, row) in rows.filter(|row| row.slot.is_some()).enumerate() {
        row.number = Some(at + 1);
    }
}

/// Columns that have room for each of `rows`.
pub fn table<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Table {
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("ID", Align::Left),
        ("WHY", Align::Left),
        ("FILES", Align::Left),
        ("+", Align::Right),
        ("−", Align::Right),
        ("!", Align::Left),
    ]);
    for (why, files) in [(40, 20), (32, 12), (16, 10)] {
        table.shrinks("WHY", why, Keep::Start);
        table.shrinks("FILES", files, Keep::End);
    }
    // The marks of one row do not cost every row its file.
    table.shrinks("!", 20, Keep::Start);
    table.drops(&["FILES", "+", "−", "ID"]);
    rows.into_iter().for_each(|row| table.measure(&cells(row)));
    table
}

/// Question marks if not counted; `None` if content is missing.
pub fn lines(lines: Lines) -> Option<[String; 2]> {
    match lines {
        Lines::Counted(Counts { added, removed }) => {
            Some([format!("+{added}"), format!("−{removed}")])
        }
        Lines::NotByLines => Some(["+?".to_owned(), "−?".to_owned()]),
        Lines::NotHere => None,
    }
}

/// Each group keeps its heading and first rows; a count replaces the rest.
pub fn overview(groups: &[Group], palette: &Palette, columns: usize, lines: usize) -> String {
    // A group takes at least a heading, a row and a count.
    let all_fit = groups.len().saturating_mul(3) <= lines;
    // The count of omitted groups takes a line, too.
    let most = if all_fit { groups.len() } else { (lines.saturating_sub(1) / 3).max(1) };
    let shown = &groups[..groups.len().min(most)];
    let left_out = groups.len() - shown.len();
    let counts: Vec<usize> = shown.iter().map(|group| group.rows.len()).collect();
    let takes = share(&counts, lines.saturating_sub(usize::from(left_out > 0)));
    let rows = shown.iter().zip(&takes).flat_map(|(group, take)| group.rows.iter().take(*take));
    let table = table(rows);
    let sized = table.lines(Some(columns.saturating_sub(2).max(20)));
    let mut out = String::new();
    for (group, take) in shown.iter().zip(&takes) {
        out += &group.head(palette, columns);
        out.push('\n');
        for row in group.rows.iter().take(*take) {
            out.push_str("  ");
            sized.row(&mut out, palette, &cells(row));
        }
        let more = group.rows.len() - take;
        if more > 0 {
            palette.write(&mut out, Role::Dim, &format!("  … {more} more"));
            out.push('\n');
        }
    }
    if left_out > 0 {
        palette.write(&mut out, Role::Dim, &format!("… {}", text::counted(left_out, "more group")));
        out.push('\n');
    }
    out
}

pub fn cells(row: &Row) -> Vec<Cell> {
    let files = match row.files {
        0 | 1 => escape::name(&row.path),
        files => format!("{files} files"),
    };
    let why = escape::line(row.description.lines().next().unwrap_or_default()).into_owned();
    let mut marks = Cell::default();
    let answer = row.answer.map(|answer| (Role::Title, answer.to_owned()));
    for (at, (role, text)) in answer.iter().chain(&row.marks).enumerate() {
        marks = marks.and(Role::Plain, if at > 0 { " " } else { "" }).and(*role, text.clone());
    }
    let [added, removed] = lines(row.lines)
        .map_or_else(<[Cell; 2]>::default, |[added, removed]| {
            [Cell::new(Role::Good, added), Cell::new(Role::Bad, removed)]
        });
    vec![
        Cell::new(Role::Key, row.number.map(|number| number.to_string()).unwrap_or_default()),
        Cell::new(Role::Id, row.short.clone()),
        Cell::from(why),
        Cell::new(Role::Dim, files),
        added,
        removed,
        marks,
    ]
}

/// At least one row a group, then in turns.
fn share(counts: &[usize], lines: usize) -> Vec<usize> {
    let mut takes: Vec<usize> = counts.iter().map(|count| 1.min(*count)).collect();
    let used = |takes: &[usize]| -> usize {
        let more = counts.iter().zip(takes).filter(|(count, take)| *count > *take).count();
        counts.len() + takes.iter().sum::<usize>() + more
    };
    let mut left = lines.saturating_sub(used(&takes));
    loop {
        let mut grew = false;
        for (take, count) in takes.iter_mut().zip(counts) {
            // The last row takes the line of the count.
            let cost = usize::from(*take + 1 < *count);
            if *take < *count && cost <= left {
                *take += 1;
                left -= cost;
                grew = true;
            }
        }
        if !grew {
            return takes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(rows: usize) -> Group {
        let row = |n: usize| Row {
            number: Some(n + 1),
            short: "9t5y".into(),
            description: format!("Change number {n} of the whole"),
            path: "src/some/where.rs".into(),
            files: 1,
            lines: Lines::Counted(Counts { added: n, removed: 1 }),
            marks: vec![(Role::Warn, "!".into())],
            ..Row::default()
        };
        Group { title: "claude · T-2".into(), rows: (0..rows).map(row).collect() }
    }

    #[test]
    fn it_fits_on_the_screen_whatever_waits() {
        for (groups, rows) in [(1, 3), (1, 1000), (5, 9), (60, 20)] {
            let groups: Vec<Group> = (0..groups).map(|_| group(rows)).collect();
            for (columns, lines) in [(60, 20), (80, 22), (200, 60)] {
                let text = overview(&groups, &Palette::plain(), columns, lines);
                assert!(text.lines().count() <= lines, "{lines}:\n{text}");
                assert!(text.lines().all(|line| width::of(line) <= columns), "{columns}:\n{text}");
            }
        }
    }

    #[test]
    fn every_group_keeps_a_row_and_what_is_left_out_is_counted() {
        assert_eq!(share(&[9, 2, 1], 12), [5, 2, 1]);
        assert_eq!(share(&[3], 4), [3]);
        assert_eq!(share(&[3, 3], 8), [3, 3]);
        let text = overview(&[group(9), group(2)], &Palette::plain(), 80, 9);
        assert!(text.contains("… 5 more\n"), "{text}");
        assert!(text.starts_with("claude · T-2  9 proposals, +36 −9\n"), "{text}");
    }
}
