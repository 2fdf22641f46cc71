//! Unified and word-by-word layouts of hunks.

use super::super::style::Role;
use super::pieces::{LineLayers, Look, Piece, paint, pieces};
use super::words::{self, Emphasis};
use super::{Options, Painter, Rows};
use crate::changeset::hunks::{Diff, Hunk, Line, LineSide};

/// Git's words for a last line without LF.
pub(super) const NO_NEWLINE: &str = "\\ No newline at end of file";

pub(super) fn base(side: LineSide) -> Role {
    match side {
        LineSide::Context => Role::Plain,
        LineSide::Removed => Role::Old,
        LineSide::Added => Role::New,
    }
}

impl Painter {
    pub(super) fn line(
        &mut self,
        diff: &Diff<'_>,
        line: &Line<'_>,
        emphasis: &[std::ops::Range<usize>],
    ) -> Vec<Piece> {
        let tokens = match line.after {
            Some(number) => self.after.as_mut().map(|s| s.tokens(diff.after(), number)),
            None => self
                .before
                .as_mut()
                .zip(line.before)
                .map(|(syntax, number)| syntax.tokens(diff.before(), number)),
        };
        let tokens = tokens.unwrap_or_default();
        let layers = LineLayers {
            emphasis,
            tokens: &tokens,
            mark_blanks: line.side != LineSide::Context,
            hide_cr: self.crlf,
        };
        let (content, hidden) = cut(line.content(), self.longest);
        let mut out = pieces(content, layers);
        if hidden > 0 {
            out.push(Piece { text: more(hidden), look: Look::Mark });
        }
        out
    }

    pub(super) fn unified(
        &mut self,
        diff: &Diff<'_>,
        hunk: &Hunk,
        options: &Options,
        limit: usize,
    ) -> Rows {
        let mut rows = Rows::default();
        let mut emphasis = EditEmphasis::new(hunk);
        let digits = hunk.after.end.to_string().len();
        for line in diff.lines(hunk) {
            if rows.lines.len() >= limit {
                rows.more += 1;
                continue;
            }
            let words = emphasis.of(diff, &line);
            let pieces = self.line(diff, &line, words);
            let role = base(line.side);
            let mut out = String::with_capacity(line.bytes.len() + 16);
            if options.numbers {
                let number = line.after.map(|at| (at + 1).to_string()).unwrap_or_default();
                options.palette.write(&mut out, Role::Dim, &format!("{number:>digits$} "));
            }
            let sign = line.side.sign();
            options.palette.write_on(&mut out, role, role, sign.encode_utf8(&mut [0; 4]));
            paint(&mut out, &options.palette, role, &pieces);
            rows.lines.push(out);
            if !line.is_terminated() {
                rows.lines.push(NO_NEWLINE.to_owned());
            }
        }
        rows
    }

    pub(super) fn words(
        &mut self,
        diff: &Diff<'_>,
        hunk: &Hunk,
        options: &Options,
        limit: usize,
    ) -> Rows {
        let mut rows = Rows::default();
        let mut out = WordRows {
            rows: &mut rows,
            line: String::new(),
            limit,
            longest: self.longest,
            taken: 0,
            hidden: 0,
        };
        let mut next = hunk.edits.clone();
        for line in diff.lines(hunk) {
            if line.side == LineSide::Context {
                out.text(options, LineSide::Context, line.bytes);
            }
            // The first line of an edit prints the whole edit.
            let starts = next.clone().next().is_some_and(|edit| {
                let edit = &diff.edits()[edit];
                match line.side {
                    LineSide::Removed => line.before == Some(edit.before.start),
                    LineSide::Added => {
                        edit.before.is_empty() && line.after == Some(edit.after.start)
                    }
                    LineSide::Context => false,
                }
            });
            if starts && let Some(edit) = next.next() {
                for (side, bytes) in words::merged(diff, &diff.edits()[edit]) {
                    out.text(options, side, bytes);
                }
            }
        }
        if !out.line.is_empty() {
            out.end(options);
        }
        rows
    }
}

/// Emphasis of the current edit, computed on demand.
pub(super) struct EditEmphasis {
    edits: std::ops::Range<usize>,
    current: Option<(usize, Emphasis)>,
}

impl EditEmphasis {
    pub(super) fn new(hunk: &Hunk) -> Self {
        Self { edits: hunk.edits.clone(), current: None }
    }

    /// Lines must come in order.
    pub(super) fn of(&mut self, diff: &Diff<'_>, line: &Line<'_>) -> &[std::ops::Range<usize>] {
        let holds = |edit: usize| match (line.side, line.before, line.after) {
            (LineSide::Removed, Some(n), _) => diff.edits()[edit].before.contains(&n),
            (LineSide::Added, _, Some(n)) => diff.edits()[edit].after.contains(&n),
            _ => false,
        };
        if line.side == LineSide::Context {
            return &[];
        }
        if !self.current.as_ref().is_some_and(|(edit, _)| holds(*edit)) {
            let found = self.edits.clone().find(|edit| holds(*edit));
            if let Some(edit) = found {
                self.edits.start = edit;
                self.current = Some((edit, words::emphasis(diff, &diff.edits()[edit])));
            }
        }
        let Some((edit, emphasis)) = &self.current else { return &[] };
        let edit = &diff.edits()[*edit];
        let ranges = match line.side {
            LineSide::Removed => emphasis.removed.get(line.before.unwrap_or(0) - edit.before.start),
            _ => emphasis.added.get(line.after.unwrap_or(0) - edit.after.start),
        };
        ranges.map_or(&[], Vec::as_slice)
    }
}

/// The shown start, never cut inside a character, and the number of hidden bytes.
fn cut(content: &[u8], longest: usize) -> (&[u8], usize) {
    if content.len() <= longest {
        return (content, 0);
    }
    let mut end = longest;
    while end > 0 && content[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    (&content[..end], content.len() - end)
}

fn more(hidden: usize) -> String {
    format!(" … {hidden} more bytes, p shows them")
}

struct WordRows<'a> {
    rows: &'a mut Rows,
    line: String,
    limit: usize,
    /// Limit of bytes a line; then shown and hidden bytes of this line.
    longest: usize,
    taken: usize,
    hidden: usize,
}

impl WordRows<'_> {
    fn text(&mut self, options: &Options, side: LineSide, bytes: &[u8]) {
        let (open, close) = match side {
            LineSide::Context => ("", ""),
            LineSide::Removed => ("[-", "-]"),
            LineSide::Added => ("{+", "+}"),
        };
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            let content = part.strip_suffix(b"\n").unwrap_or(part);
            let empty = content.is_empty();
            let (content, hidden) = cut(content, self.longest.saturating_sub(self.taken));
            self.taken += content.len();
            self.hidden += hidden;
            // Whitespace between words is not trailing: mark it only at the end of a line.
            let at_end = side != LineSide::Context && part.ends_with(b"\n");
            let layers = LineLayers { mark_blanks: at_end, ..LineLayers::default() };
            let pieces = if content.is_empty() { Vec::new() } else { pieces(content, layers) };
            if !pieces.is_empty() {
                options.palette.write(&mut self.line, base(side), open);
                paint(&mut self.line, &options.palette, base(side), &pieces);
                options.palette.write(&mut self.line, base(side), close);
            } else if side != LineSide::Context && empty {
                let mark = format!("{open}⏎{close}");
                options.palette.write(&mut self.line, base(side), &mark);
            }
            if part.ends_with(b"\n") {
                self.end(options);
            }
        }
    }

    fn end(&mut self, options: &Options) {
        self.taken = 0;
        match std::mem::take(&mut self.hidden) {
            0 => {}
            hidden => options.palette.write(&mut self.line, Role::Mark, &more(hidden)),
        }
        let line = std::mem::take(&mut self.line);
        if self.rows.lines.len() < self.limit {
            self.rows.lines.push(line);
        } else {
            self.rows.more += 1;
        }
    }
}
