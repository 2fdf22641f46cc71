//! Aligned tables.

use super::style::{Palette, Role};
use super::width;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// For text.
    #[default]
    Left,
    /// For numbers.
    Right,
}

/// The end of a text that survives shortening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// For sentences.
    #[default]
    Start,
    /// For paths.
    End,
}

#[derive(Clone, Debug, Default)]
pub struct Cell(Vec<(Role, String)>);

impl Cell {
    /// `text` must be safe for a terminal already (`text::escape::line`).
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self(vec![(role, text.into())])
    }

    #[must_use]
    pub fn and(mut self, role: Role, text: impl Into<String>) -> Self {
        self.0.push((role, text.into()));
        self
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width::of(text)).sum()
    }

    fn write(&self, out: &mut String, palette: &Palette, columns: usize, keep: Keep) {
        let mut left = columns;
        for (role, text) in &self.0 {
            let text = match keep {
                Keep::Start => width::fit(text, left),
                Keep::End => width::fit_end(text, left),
            };
            left -= width::of(&text).min(left);
            palette.write(out, *role, &text);
            if left == 0 {
                break;
            }
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(Role::Plain, text)
    }
}

/// Rows under optional titles.
#[derive(Clone, Debug, Default)]
pub struct Table {
    titles: Vec<&'static str>,
    aligns: Vec<Align>,
    rows: Vec<Vec<Cell>>,
    /// Widest cells of measured rows, which are not stored.
    measured: Vec<usize>,
    yielding: Vec<ShrinkingColumn>,
    /// Column and its maximum width.
    most: Vec<(usize, usize)>,
    optional: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct ShrinkingColumn {
    at: usize,
    least: usize,
    keep: Keep,
}

impl Table {
    /// With every title empty there is no title row.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        let (titles, aligns) = columns.iter().copied().unzip();
        Self { titles, aligns, ..Self::default() }
    }

    /// Lets a column shrink to `least` on a narrow terminal, in the order of calls. A second call
    /// may set a smaller `least`.
    pub fn shrinks(&mut self, title: &str, least: usize, keep: Keep) {
        self.yielding.extend(self.find(title).map(|at| ShrinkingColumn { at, least, keep }));
    }

    /// Limits a column's width even without a terminal: one author's long text would widen every
    /// row.
    pub fn bound(&mut self, title: &str, most: usize) {
        self.most.extend(self.find(title).map(|at| (at, most)));
    }

    /// Columns to drop, in order, if shrinking does not suffice.
    pub fn drops(&mut self, titles: &[&str]) {
        self.optional
            .extend(titles.iter().filter_map(|title| self.find(title)).collect::<Vec<_>>());
    }

    fn find(&self, title: &str) -> Option<usize> {
        self.titles.iter().position(|known| *known == title)
    }

    /// Missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Reserves width for a row that [`SizedTable::row`] writes.
    pub fn measure(&mut self, cells: &[Cell]) {
        self.measured.resize(self.titles.len(), 0);
        for (wide, cell) in self.measured.iter_mut().zip(cells) {
            *wide = (*wide).max(cell.width());
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Two spaces separate columns; lines have no trailing whitespace. Within `columns`, the
    /// terminal's width, columns shrink and drop, and `…` marks cut text.
    pub fn render(&self, palette: &Palette, columns: Option<usize>) -> String {
        let lines = self.lines(columns);
        let mut out = String::new();
        lines.titles(&mut out, palette);
        for row in &self.rows {
            lines.row(&mut out, palette, row);
        }
        out
    }

    /// For callers that write line by line.
    pub fn lines(&self, columns: Option<usize>) -> SizedTable<'_> {
        SizedTable { table: self, widths: self.widths(columns.unwrap_or(usize::MAX)) }
    }

    /// `None` for a dropped column.
    fn widths(&self, columns: usize) -> Vec<Option<usize>> {
        let mut natural: Vec<usize> = self.titles.iter().map(|t| width::of(t)).collect();
        for (wide, measured) in natural.iter_mut().zip(&self.measured) {
            *wide = (*wide).max(*measured);
        }
        for row in &self.rows {
            for (wide, cell) in natural.iter_mut().zip(row) {
                *wide = (*wide).max(cell.width());
            }
        }
        for (at, most) in &self.most {
            natural[*at] = natural[*at].min(*most);
        }
        let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
        let mut dropped = self.optional.iter();
        loop {
            let shown = widths.iter().flatten();
            let total = shown.clone().sum::<usize>() + 2 * shown.count().saturating_sub(1);
            let mut excess = total.saturating_sub(columns);
            let mut narrow = widths.clone();
            for ShrinkingColumn { at, least, .. } in &self.yielding {
                if let Some(wide) = &mut narrow[*at] {
                    let gives = excess.min(wide.saturating_sub(*least));
                    *wide -= gives;
                    excess -= gives;
                }
            }
            match dropped.next() {
                Some(at) if excess > 0 => widths[*at] = None,
                _ => return narrow,
            }
        }
    }

    fn keep(&self, at: usize) -> Keep {
        let found = self.yielding.iter().find(|yielding| yielding.at == at);
        found.map(|yielding| yielding.keep).unwrap_or_default()
    }

    fn write_row(
        &self,
        out: &mut String,
        palette: &Palette,
        widths: &[Option<usize>],
        row: &[Cell],
    ) {
        let empty = Cell::default();
        let filled = |at: usize| row.get(at).is_some_and(|cell| cell.width() > 0);
        let shown: Vec<(usize, usize)> =
            widths.iter().enumerate().filter_map(|(at, wide)| Some((at, (*wide)?))).collect();
        let Some(last) = shown.iter().rposition(|(at, _)| filled(*at)) else {
            out.push('\n');
            return;
        };
        for (place, (at, columns)) in shown[..=last].iter().enumerate() {
            let cell = row.get(*at).unwrap_or(&empty);
            let fill = " ".repeat(columns.saturating_sub(cell.width()));
            if self.aligns[*at] == Align::Right {
                out.push_str(&fill);
            }
            cell.write(out, palette, *columns, self.keep(*at));
            if place != last {
                if self.aligns[*at] == Align::Left {
                    out.push_str(&fill);
                }
                out.push_str("  ");
            }
        }
        out.push('\n');
    }
}

pub struct SizedTable<'t> {
    table: &'t Table,
    widths: Vec<Option<usize>>,
}

impl SizedTable<'_> {
    pub fn titles(&self, out: &mut String, palette: &Palette) {
        let titles = &self.table.titles;
        if titles.iter().any(|title| !title.is_empty()) {
            let titles: Vec<Cell> = titles.iter().map(|t| Cell::new(Role::Title, *t)).collect();
            self.row(out, palette, &titles);
        }
    }

    pub fn row(&self, out: &mut String, palette: &Palette, row: &[Cell]) {
        self.table.write_row(out, palette, &self.widths, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_is_bound_does_not_widen_every_row() {
        let mut table = Table::new(&[("WHAT", Align::Left), ("N", Align::Right)]);
        table.bound("WHAT", 6);
        table.row(["a long text".into(), "1".into()]);
        table.row(["b".into(), "2".into()]);
        assert_eq!(table.render(&Palette::plain(), None), "WHAT    N\na lon…  1\nb       2\n");
    }

    #[test]
    fn rows_that_are_not_kept_line_up_as_those_that_are() {
        let rows: [[Cell; 2]; 3] =
            [["x".into(), "1234".into()], ["漢字".into(), "7".into()], ["".into(), "".into()]];
        let columns = [("ID", Align::Left), ("N", Align::Right)];
        let (mut kept, mut measured) = (Table::new(&columns), Table::new(&columns));
        for row in &rows {
            kept.row(row.clone());
            measured.measure(row);
        }
        for width in [None, Some(7)] {
            let lines = measured.lines(width);
            let mut out = String::new();
            lines.titles(&mut out, &Palette::plain());
            rows.iter().for_each(|row| lines.row(&mut out, &Palette::plain(), row));
            assert_eq!(out, kept.render(&Palette::plain(), width));
        }
    }

    #[test]
    fn columns_line_up_and_the_last_gives_way() {
        let mut table = Table::new(&[("ID", Align::Left), ("N", Align::Right), ("", Align::Left)]);
        table.shrinks("", 16, Keep::Start);
        table.row(["漢字".into(), "7".into(), "a long description of it all".into()]);
        table.row(["x".into(), "1234".into(), "".into()]);
        assert_eq!(
            table.render(&Palette::plain(), None),
            "ID       N\n漢字     7  a long description of it all\nx     1234\n"
        );
        assert_eq!(
            table.render(&Palette::plain(), Some(28)).lines().nth(1).unwrap(),
            "漢字     7  a long descript…"
        );
    }

    #[test]
    fn on_narrow_terminals_columns_shrink_and_then_go() {
        let mut table = Table::new(&[
            ("ID", Align::Left),
            ("AGE", Align::Right),
            ("FILE", Align::Left),
            ("WHY", Align::Left),
        ]);
        table.shrinks("WHY", 4, Keep::Start);
        table.shrinks("FILE", 6, Keep::End);
        table.drops(&["AGE", "WHY"]);
        table.row(["x1".into(), "3d".into(), "src/漢字.rs".into(), "because of it".into()]);
        let second = |columns: usize| {
            let text = table.render(&Palette::plain(), Some(columns));
            assert!(text.lines().all(|line| width::of(line) <= columns), "{columns}:\n{text}");
            text.lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(second(80), "x1   3d  src/漢字.rs  because of it");
        assert_eq!(second(26), "x1   3d  src/漢字.rs  bec…");
        assert_eq!(second(22), "x1   3d  …字.rs  bec…");
        assert_eq!(second(20), "x1  …c/漢字.rs  bec…");
        assert_eq!(second(10), "x1  …字.rs");
    }
}
