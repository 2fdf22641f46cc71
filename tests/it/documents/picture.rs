//! The pictures of the documentation: screens of the real program, their colours included.
//!
//! `AYE_BLESS=1 cargo test --locked --test it documents::` makes them again.

use std::fmt::Write as _;
use std::path::Path;

use super::{Session, ids, similar_lines};
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

fn svg(title: &str, screen: &vt100::Screen) -> String {
    let rows = u16::try_from(screen.contents().trim_end().lines().count()).expect("a screen");
    let (width, height) = (CELL.0 * f32::from(COLUMNS) + 24.0, CELL.1 * f32::from(rows) + 24.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <title>{title}</title>\n\
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

/// Holds a picture to the screen of today, or renews it when asked to.
fn hold(name: &str, fresh: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    if std::env::var_os("AYE_BLESS").is_some() {
        std::fs::write(&path, fresh).expect("write the picture");
        return;
    }
    let how = format!("docs/{name}: AYE_BLESS=1 cargo test --locked --test it documents::");
    similar_lines(&std::fs::read_to_string(&path).expect("the picture"), fresh, &how);
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
    hold("review.svg", &svg("A review in the terminal", terminal.cells()));
    terminal.types("qk");
    terminal.ends();
}

/// Agent, task, description, and the arguments of `aye propose`.
const QUEUE: &[[&str; 4]] = &[
    [
        "claude-code",
        "T-1",
        "Say where it greets",
        "README.md --old greets. --new 'greets at the door.'",
    ],
    ["claude-code", "T-1", "Be warmer", "greet.py --old Hello --new Welcome"],
    ["claude-code", "T-1", "Shout", "greet.py --on PREVIOUS --old 'Welcome ' --new 'WELCOME '"],
    ["codex", "T-2", "Run the tests in CI", ".github/workflows/test.yml --content 'on: push'"],
    ["codex", "T-2", "Be shorter", "greet.py --old Hello --new Hi"],
    ["codex", "T-2", "Say goodbye in Italian", "greet.py --old \"'Bye '\" --new \"'Ciao '\""],
    ["gemini-cli", "T-3", "Ask agents to run the tests", "AGENTS.md --content 'Run test.sh.'"],
    [
        "gemini-cli",
        "T-3",
        "Test the question, too",
        "test.sh --old greet --new 'greet; greet.question(1)'",
    ],
    ["gemini-cli", "T-3", "Add a licence", "LICENSE --content MIT"],
];

#[test]
fn of_the_list_is_of_today() {
    let mut session = Session::new();
    let mut previous = String::new();
    for [agent, task, why, edit] in QUEUE {
        let edit = edit.replace("PREVIOUS", &previous);
        let line = format!("AYE_AGENT={agent} aye propose -q --task {task} -m '{why}' {edit}");
        let printed = session.run(&line, &[]);
        previous = ids(&printed).pop().unwrap_or_else(|| panic!("{line}: {printed}"));
    }
    session.run("sed -i 's/Bye/Adieu/' greet.py", &[]);
    let review = session.repo.cmd(&["--color", "always", "review"]);
    let review = session.surround(review).env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(review, 20, COLUMNS);
    terminal.sees("]? ").listens();
    for _ in 0..3 {
        terminal.types("j").sees("]? ");
    }
    hold("list.svg", &svg("The list of pending proposals", terminal.cells()));
    terminal.types("q");
    terminal.ends();
}

/// The agent is a script, all else is real.
const CODEX: &str = "\
#!/bin/sh
echo 'codex: edited greet.py; test.sh passes'
sed -i \"s/'Hello '/'Welcome '/; s/'Bye '/'Ciao '/\" greet.py
";

/// Paths of the test become a person's.
const SESSION: &str = r#"
say() { printf '\033[1m$ %s\033[0m\n' "$*"; }
run() { say "$@"; "$@" 2>&1 | sed "s|$HOME|~|; s|trees/work-[0-9a-f]*|trees/greeter-1f0c92aa|"; }
run aye run --name greet --keep codex
say aye review
aye --color always review
run aye run --name greet codex
"#;

#[test]
fn of_a_session_is_of_today() {
    let mut session = Session::new();
    let bin = session.repo.outer().join("home/bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    std::fs::write(bin.join("codex"), CODEX).expect("the agent");
    let run = session.repo.program("sh").args(&["-c", "chmod +x $HOME/bin/codex"]).run();
    run.ok();
    let script = format!("PATH=$HOME/bin:$PATH\n{SESSION}");
    let cmd = session.repo.program("sh").args(&["-c", &script]);
    let cmd = session.surround(cmd).env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(cmd, ROWS, COLUMNS);
    for key in ["y", "n", "y"] {
        terminal.sees("]? ").listens().types(key);
    }
    terminal.ends();
    hold("session.svg", &svg("An agent's session, its review, and the next run", terminal.cells()));
}
