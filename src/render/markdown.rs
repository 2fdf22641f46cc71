//! Pages of the documentation, for a terminal: CommonMark with tables.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::style::{Palette, Role};
use super::width;

/// Columns in front of everything but headings.
const INDENT: usize = 2;
const GAP: usize = 2;
/// No column of a table is narrower.
const NARROWEST: usize = 8;

/// `topic` names the help topic of a link's target. Pictures and comments are left out.
pub fn render(
    text: &str,
    palette: &Palette,
    columns: usize,
    topic: impl Fn(&str) -> Option<&'static str>,
) -> String {
    let page = Page { palette, columns, topic, out: String::new() };
    page.written(Parser::new_ext(text, Options::ENABLE_TABLES))
}

struct Page<'p, F> {
    palette: &'p Palette,
    columns: usize,
    topic: F,
    out: String,
}

impl<F: Fn(&str) -> Option<&'static str>> Page<'_, F> {
    fn written<'t>(mut self, events: impl Iterator<Item = Event<'t>>) -> String {
        let mut text = String::new();
        let mut target = String::new();
        // The next number of each open list; `None` for a bullet.
        let mut lists: Vec<Option<u64>> = Vec::new();
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut is_picture = false;
        for event in events {
            match event {
                Event::Start(Tag::Image { .. }) => is_picture = true,
                Event::End(TagEnd::Image) => is_picture = false,
                _ if is_picture => {}
                Event::Text(piece) => text += &piece,
                Event::Code(code) => text += &format!("`{code}`"),
                Event::SoftBreak | Event::HardBreak => text.push(' '),
                Event::Start(Tag::Link { dest_url, .. }) => target = dest_url.into_string(),
                Event::End(TagEnd::Link) => self.link(&mut text, &target),
                Event::Start(Tag::List(start)) => {
                    self.item(&mut text, &mut lists);
                    if lists.is_empty() {
                        self.blank();
                    }
                    lists.push(start);
                }
                Event::End(TagEnd::List(_)) => {
                    lists.pop();
                }
                Event::End(TagEnd::Item) => self.item(&mut text, &mut lists),
                Event::End(TagEnd::Heading(_)) => {
                    self.blank();
                    self.palette.write(&mut self.out, Role::Title, &std::mem::take(&mut text));
                    self.out.push('\n');
                }
                Event::End(TagEnd::Paragraph) if lists.is_empty() && !text.is_empty() => {
                    self.blank();
                    self.lines(&std::mem::take(&mut text), "");
                }
                Event::End(TagEnd::CodeBlock) => {
                    self.blank();
                    for line in std::mem::take(&mut text).lines() {
                        let line = format!("{:1$}{line}", "", 2 * INDENT);
                        let _ = writeln!(self.out, "{}", line.trim_end());
                    }
                }
                Event::End(TagEnd::TableCell) => {
                    rows.last_mut().into_iter().for_each(|row| row.push(std::mem::take(&mut text)));
                }
                Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
                Event::End(TagEnd::Table) => self.table(&std::mem::take(&mut rows)),
                _ => {}
            }
        }
        self.out
    }

    fn blank(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn link(&self, text: &mut String, target: &str) {
        if let Some(topic) = (self.topic)(target) {
            let _ = write!(text, " (`aye help {topic}`)");
        } else if target.contains("://") {
            let _ = write!(text, " <{target}>");
        }
    }

    /// Writes the text of an item before its own list, or at its end.
    fn item(&mut self, text: &mut String, lists: &mut [Option<u64>]) {
        let indent = INDENT * lists.len().saturating_sub(1);
        let Some(next) = lists.last_mut().filter(|_| !text.is_empty()) else { return };
        let sign = next.map_or("- ".to_owned(), |number| format!("{number}. "));
        *next = next.map(|number| number + 1);
        self.lines(&std::mem::take(text), &format!("{:indent$}{sign}", ""));
    }

    fn lines(&mut self, text: &str, sign: &str) {
        let columns = self.columns.saturating_sub(INDENT + sign.len());
        let mut start = sign.to_owned();
        for line in width::wrap_words(text.trim(), columns) {
            let _ = writeln!(self.out, "{:INDENT$}{start}{line}", "");
            start = " ".repeat(sign.len());
        }
    }

    fn table(&mut self, rows: &[Vec<String>]) {
        self.blank();
        let widths = widths(rows, self.columns.saturating_sub(INDENT));
        for (at, row) in rows.iter().enumerate() {
            if row.iter().all(String::is_empty) {
                continue;
            }
            let role = if at == 0 { Role::Title } else { Role::Plain };
            let cells: Vec<Vec<String>> = row
                .iter()
                .zip(&widths)
                .map(|(cell, wide)| width::wrap_words(cell, *wide))
                .collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut text = " ".repeat(INDENT);
                for (cell, wide) in cells.iter().zip(&widths) {
                    let piece = cell.get(line).map_or("", String::as_str);
                    let fill = (wide + GAP).saturating_sub(width::of(piece));
                    text += piece;
                    text += &" ".repeat(fill);
                }
                self.palette.write(&mut self.out, role, text.trim_end());
                self.out.push('\n');
            }
        }
    }
}

/// The widest column gives way until the table fits, but keeps its longest word.
fn widths(rows: &[Vec<String>], columns: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| width::of(cell)).max().unwrap_or(0)
    };
    let longest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let words = cells.flat_map(|cell| width::wrap_words(cell, NARROWEST));
        words.map(|word| width::of(&word)).max().unwrap_or(0).max(NARROWEST)
    };
    let least: Vec<usize> = (0..count).map(longest).collect();
    let mut widths: Vec<usize> = (0..count).map(widest).collect();
    let room = columns.saturating_sub(GAP * count.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let may_shrink = widths.iter_mut().zip(&least).filter(|(wide, least)| **wide > **least);
        match may_shrink.max_by_key(|(wide, _)| **wide) {
            Some((wide, _)) => *wide -= 1,
            None => break,
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, columns: usize) -> String {
        let topic = |target: &str| (target == "ci.md#hooks").then_some("ci");
        render(text, &Palette::plain(), columns, topic)
    }

    #[test]
    fn a_page_has_no_markup() {
        let text = "# One\n\n<!-- replay -->\n![A picture](a.svg)\n\n**Two** three [four](ci.md#hooks), \
                    [five](https://a.example/), [six](six.md).\n\n1. `seven eight` nine\n   - ten\n2. eleven\n\n\
                    ```sh\n# twelve\n```\n";
        assert_eq!(
            page(text, 40),
            "One\n\n  Two three four (`aye help ci`), five\n  <https://a.example/>, six.\n\n  \
             1. `seven eight` nine\n    - ten\n  2. eleven\n\n    # twelve\n"
        );
        let coloured = render(text, &Palette::new(|_| None), 40, |_| None);
        assert_eq!(coloured.matches("\x1b[1m").count(), 1, "{coloured:?}");
    }

    #[test]
    fn a_wide_column_of_a_table_wraps() {
        let text = "| Key | Meaning |\n|---|---|\n| `a.b` | one two three four |\n| c | five |\n";
        assert_eq!(
            page(text, 22),
            "  Key    Meaning\n  `a.b`  one two three\n         four\n  c      five\n"
        );
        assert_eq!(page("| | |\n|---|---|\n| a | b |\n", 80), "  a  b\n");
    }
}
