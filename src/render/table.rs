//! Aligned tables, in columns as a terminal counts them.

use super::style::{Palette, Role};
use super::width;

/// On which side a column is filled up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Text.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// One cell: pieces of text, each with the role that colours it.
#[derive(Clone, Debug, Default)]
pub struct Cell(Vec<(Role, String)>);

impl Cell {
    /// Text in one colour. It must be safe for a terminal already ([`super::escape::line`]).
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self(vec![(role, text.into())])
    }

    /// Adds a piece.
    #[must_use]
    pub fn and(mut self, role: Role, text: impl Into<String>) -> Self {
        self.0.push((role, text.into()));
        self
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width::of(text)).sum()
    }

    fn write(&self, out: &mut String, palette: &Palette, columns: usize) {
        let mut left = columns;
        for (role, text) in &self.0 {
            let text = width::fit(text, left);
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

/// Rows of cells under optional titles.
#[derive(Clone, Debug, Default)]
pub struct Table {
    titles: Vec<&'static str>,
    aligns: Vec<Align>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns. With every title empty there is no title row.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        let (titles, aligns) = columns.iter().copied().unzip();
        Self { titles, aligns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The number of rows, without the titles.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text, two blanks between columns, no blanks at the ends of lines. With
    /// `columns` (the terminal's width) the last column gives way, and shows `…` where it does;
    /// it keeps at least 16.
    pub fn render(&self, palette: &Palette, columns: Option<usize>) -> String {
        let count = self.titles.len();
        let mut widths: Vec<usize> = self.titles.iter().map(|t| width::of(t)).collect();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate().take(count) {
                widths[at] = widths[at].max(cell.width());
            }
        }
        if let (Some(columns), Some((last, others))) = (columns, widths.split_last_mut()) {
            let taken: usize = others.iter().map(|w| w + 2).sum();
            *last = (*last).min(columns.saturating_sub(taken).max(16));
        }
        let mut out = String::new();
        if self.titles.iter().any(|title| !title.is_empty()) {
            let titles: Vec<Cell> =
                self.titles.iter().map(|t| Cell::new(Role::Title, *t)).collect();
            self.write_row(&mut out, palette, &widths, &titles);
        }
        for row in &self.rows {
            self.write_row(&mut out, palette, &widths, row);
        }
        out
    }

    fn write_row(&self, out: &mut String, palette: &Palette, widths: &[usize], row: &[Cell]) {
        let empty = Cell::default();
        let last = row.iter().take(widths.len()).rposition(|cell| cell.width() > 0);
        for (at, columns) in widths.iter().enumerate() {
            if last.is_none_or(|last| at > last) {
                break;
            }
            let cell = row.get(at).unwrap_or(&empty);
            let fill = " ".repeat(columns.saturating_sub(cell.width()));
            if self.aligns[at] == Align::Right {
                out.push_str(&fill);
            }
            cell.write(out, palette, *columns);
            if last != Some(at) {
                if self.aligns[at] == Align::Left {
                    out.push_str(&fill);
                }
                out.push_str("  ");
            }
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_gives_way() {
        let mut table = Table::new(&[("ID", Align::Left), ("N", Align::Right), ("", Align::Left)]);
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
}
