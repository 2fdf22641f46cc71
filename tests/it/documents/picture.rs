//! `docs/review.svg`, the picture in the README: a screen of a real review, its colours included.
//!
//! `AYE_BLESS=1 cargo test --locked --test it documents::` makes it again.

use std::fmt::Write as _;
use std::path::Path;

use super::{Session, similar_lines};
use crate::support::terminal::Terminal;

/// More than a review of two hunks has, so that nothing scrolls away; what stays empty is cut off.
const ROWS: u16 = 60;
const COLUMNS: u16 = 92;

/// Pixels of a cell.
const CELL: (f32, f32) = (8.4, 18.0);

const PATCH: &str = "\
--- a/greet.py
+++ b/greet.py
@@ -4,3 +4,3 @@
 def greet(name):
-    word = 'Hello '
+    word = 'Hello, '
     return word + name
@@ -13,3 +13,2 @@
 def part(name):
-    # Said at the door.
     return 'Bye ' + name
";

/// The 16 colours of the picture, and its background and text.
const COLORS: [&str; 16] = [
    "#3b4252", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d0d7de",
    "#8b949e", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
];
const GROUND: &str = "#0d1117";
const TEXT: &str = "#d0d7de";

fn color(color: vt100::Color, default: &str) -> String {
    match color {
        vt100::Color::Default => default.to_owned(),
        vt100::Color::Idx(n @ 0..=15) => COLORS[usize::from(n)].to_owned(),
        vt100::Color::Idx(n @ 16..=231) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let n = n - 16;
            format!("#{:02x}{:02x}{:02x}", level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        vt100::Color::Idx(n) => format!("#{0:02x}{0:02x}{0:02x}", 8 + 10 * (n - 232)),
        vt100::Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
    }
}

/// How a cell looks: text colour, ground, weight and the like.
fn look(cell: &vt100::Cell) -> (String, String, &'static str) {
    let (text, ground) = (color(cell.fgcolor(), TEXT), color(cell.bgcolor(), GROUND));
    let (text, ground) = if cell.inverse() { (ground, text) } else { (text, ground) };
    let more = match (cell.bold(), cell.dim()) {
        (true, _) => " font-weight=\"bold\"",
        (_, true) => " opacity=\"0.6\"",
        _ => "",
    };
    (text, ground, more)
}

fn svg(screen: &vt100::Screen) -> String {
    let rows = u16::try_from(screen.contents().trim_end().lines().count()).expect("a screen");
    let (width, height) = (CELL.0 * f32::from(COLUMNS) + 24.0, CELL.1 * f32::from(rows) + 24.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <title>A review in the terminal</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < COLUMNS {
            let Some(cell) = screen.cell(row, column) else { break };
            let (start, this) = (column, look(cell));
            let mut text = String::new();
            while let Some(cell) = screen.cell(row, column).filter(|cell| look(cell) == this) {
                text += if cell.has_contents() { cell.contents() } else { " " };
                column += 1;
            }
            let (color, ground, more) = this;
            if text.trim().is_empty() && ground == GROUND {
                continue;
            }
            let x = 12.0 + CELL.0 * f32::from(start);
            let y = 12.0 + CELL.1 * f32::from(row);
            let wide = CELL.0 * f32::from(column - start);
            if ground != GROUND {
                let size = format!("width=\"{wide:.1}\" height=\"{}\"", CELL.1);
                let _ = writeln!(out, "<rect x=\"{x:.1}\" y=\"{y:.1}\" {size} fill=\"{ground}\"/>");
            }
            let text = text.trim_end();
            let long = CELL.0 * unicode_width::UnicodeWidthStr::width(text) as f32;
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            let base = y + 13.5;
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{base:.1}\" fill=\"{color}\"{more} textLength=\"{long:.1}\" \
                 xml:space=\"preserve\">{text}</text>"
            );
        }
    }
    out + "</svg>\n"
}

#[test]
fn of_a_review_is_of_today() {
    let mut session = Session::new();
    let propose = session.repo.cmd(&["propose", "--patch", "-", "-m", "Greet with a comma"]);
    session.surround(propose.env("AYE_AGENT", "codex").stdin(PATCH)).run().ok();
    let review = session.repo.cmd(&["--color", "always", "review"]);
    let review = session.surround(review).env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(review, ROWS, COLUMNS);
    terminal.sees("]? ").listens().types("y").sees("(2/2)").sees("]? ");
    let fresh = svg(terminal.cells());
    terminal.types("qk");
    terminal.ends();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/review.svg");
    if std::env::var_os("AYE_BLESS").is_some() {
        std::fs::write(&path, fresh).expect("write the picture");
        return;
    }
    let how = "docs/review.svg: AYE_BLESS=1 cargo test --locked --test it documents::";
    similar_lines(&std::fs::read_to_string(&path).expect("the picture"), &fresh, how);
}
