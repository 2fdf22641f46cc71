//! Old left, new right. Long lines go on in further rows; nothing is cut.

use super::super::style::{Palette, Role};
use super::pieces::{Piece, paint, row_width, wrap};
use super::unified::{EditEmphasis, base};
use super::{Options, Painter, Rows};
use crate::changeset::hunks::{Diff, Hunk, Line, Side};

/// Below this many columns two of them side by side are unreadable.
pub const NARROWEST: usize = 60;

/// One side of a row: line number, sign and text, in rows that fit.
struct Cell {
    number: usize,
    side: Side,
    rows: Vec<Vec<Piece>>,
    terminated: bool,
}

impl Painter {
    pub(super) fn side_by_side(
        &mut self,
        diff: &Diff<'_>,
        hunk: &Hunk,
        options: &Options,
        limit: usize,
    ) -> Rows {
        let digits = (hunk.before.end.max(hunk.after.end)).to_string().len();
        let half = (options.columns - 3) / 2;
        let text = half.saturating_sub(digits + 2);
        let mut rows = Rows::default();
        let mut emphasis = EditEmphasis::new(hunk);
        let (mut left, mut right): (Vec<Cell>, Vec<Cell>) = (Vec::new(), Vec::new());
        let paper = Paper { palette: &options.palette, half, digits };
        for line in diff.lines(hunk) {
            let waiting = match line.side {
                Side::Context => 0,
                Side::Removed => left.len(),
                Side::Added => right.len(),
            };
            if rows.lines.len() + waiting >= limit {
                rows.more += 1;
                continue;
            }
            if line.side == Side::Context {
                paper.pour(&mut rows.lines, &mut left, &mut right);
            }
            let pieces = self.line(diff, &line, emphasis.of(diff, &line));
            let cell = |line: &Line<'_>, number: Option<usize>| Cell {
                number: number.map_or(0, |n| n + 1),
                side: line.side,
                rows: wrap(&pieces, text),
                terminated: line.is_terminated(),
            };
            if line.side != Side::Added {
                left.push(cell(&line, line.before));
            }
            if line.side != Side::Removed {
                right.push(cell(&line, line.after));
            }
            if line.side == Side::Context {
                paper.pour(&mut rows.lines, &mut left, &mut right);
            }
        }
        paper.pour(&mut rows.lines, &mut left, &mut right);
        rows
    }
}

struct Paper<'a> {
    palette: &'a Palette,
    half: usize,
    digits: usize,
}

impl Paper<'_> {
    /// Writes what has gathered on both sides, line beside line.
    fn pour(&self, out: &mut Vec<String>, left: &mut Vec<Cell>, right: &mut Vec<Cell>) {
        let (left, right) = (std::mem::take(left), std::mem::take(right));
        for n in 0..left.len().max(right.len()) {
            let (l, r) = (left.get(n), right.get(n));
            let height = |cell: Option<&Cell>| {
                cell.map_or(0, |cell| cell.rows.len() + usize::from(!cell.terminated))
            };
            for row in 0..height(l).max(height(r)) {
                let mut line = String::new();
                let used = self.half_row(&mut line, l, row);
                line.push_str(&" ".repeat(self.half.saturating_sub(used)));
                line.push_str(" │ ");
                self.half_row(&mut line, r, row);
                let end = line.trim_end_matches(' ').len();
                line.truncate(end);
                out.push(line);
            }
        }
    }

    /// Writes one row of one side; returns the columns it took.
    fn half_row(&self, out: &mut String, cell: Option<&Cell>, row: usize) -> usize {
        let Some(cell) = cell else { return 0 };
        let role = base(cell.side);
        let number = match row {
            0 => format!("{:>width$} ", cell.number, width = self.digits),
            _ => " ".repeat(self.digits + 1),
        };
        self.palette.write(out, Role::Dim, &number);
        let Some(pieces) = cell.rows.get(row) else {
            if row == cell.rows.len() && !cell.terminated {
                out.push_str("\\ no newline");
                return self.digits + 1 + 12;
            }
            return self.digits + 1;
        };
        let sign = if row == 0 { cell.side.sign() } else { '↪' };
        self.palette.write_on(out, role, role, sign.encode_utf8(&mut [0; 4]));
        paint(out, self.palette, role, pieces);
        self.digits + 2 + row_width(pieces)
    }
}
