//! What people read, as it stands on the screen: one snapshot for each width, and two in colour.
//!
//! `INSTA_UPDATE=always cargo test --locked --test it screens::` renews them; look at the difference.

use std::fmt::Write as _;

use crate::support::terminal::Terminal;
use crate::support::{Repo, same_each_time};

/// A repository with proposals of all kinds, and the ids of these in the order they were made.
struct Scene {
    repo: Repo,
    ids: Vec<String>,
}

const DAY: &str = "import { names } from './names';

/** The name of a day. */
export function day(date: Date): string {
  const number = date.getDay();
  return names[number];
}

export function isWeekend(date: Date): boolean {
  return date.getDay() == 0 || date.getDay() == 6;
}
";

impl Scene {
    fn new() -> Self {
        let repo = Repo::with(&[
            ("src/day.ts", DAY),
            ("README.md", "# Days\n\nNames of days.\n"),
            ("Makefile", "all:\n\tnpx tsc\n"),
            ("notes.txt", "one\ntwo\n"),
        ]);
        let mut scene = Self { repo, ids: Vec::new() };
        let lower = ["--task", "T-12", "-m", "Name the day in the language of the reader"];
        let file = "src/day.ts";
        let (old, new) = ("function day(date: Date)", "function day(date: Date, locale = 'en')");
        let edits = [[file, "names[number]", "names[locale][number]"], [file, old, new]];
        let edits = scene.repo.edits(&edits);
        let day = scene.propose("09:00", "claude", &[&["--from-json", &edits], &lower[..]]);
        let on = ["src/day.ts", "--old", "locale = 'en'", "--new", "locale = 'de'", "--on", &day];
        scene.propose(
            "09:20",
            "claude",
            &[&on, &["--task", "T-12", "-m", "German is the default"]],
        );
        let same = ["src/day.ts", "--old", "names[number]", "--new", "names.at(number) ?? ''"];
        scene.propose("10:00", "codex", &[&same, &["-m", "Never return undefined"]]);
        let makefile = ["Makefile", "--old", "npx tsc", "--new", "npx tsc --strict"];
        scene.propose("10:05", "codex", &[&makefile, &["--domain", "build", "-m", "Be strict"]]);
        let readme = ["README.md", "--old", "Names of days.", "--new", "The names of all days."];
        let readme = scene.propose("10:10", "claude", &[&readme, &["-m", "Say it better"]]);
        let notes = ["notes.txt", "--old", "one", "--new", "eins"];
        let notes = scene.propose("10:20", "codex", &[&notes, &["-m", "Count in German"]]);
        scene.at("10:30", &["comment", &readme, "--request-changes", "-m", "Which days?"]);
        let lines = ["comment", &day, "--path", "src/day.ts", "--line"];
        let suggest = ["6", "--suggest", "  return names[locale]?.[number] ?? '';"];
        let why = ["-m", "An unknown language has no names"];
        scene.at("10:40", &[&lines[..], &suggest, &why].concat());
        scene.at("10:41", &[&lines[..], &["9-10", "--question", "-m", "Here too?"]].concat());
        scene.at("10:50", &["reject", &notes, "--yes", "-m", "We count in English"]);
        scene
    }

    fn at(&self, time: &str, args: &[&str]) {
        self.repo.cmd(args).env("AYE_NOW", now(time)).run().ok();
    }

    fn propose(&mut self, time: &str, agent: &str, args: &[&[&str]]) -> String {
        let args = [&["propose"], &args.concat()[..], &["-q"]].concat();
        let cmd = self.repo.cmd(&args).env("AYE_AGENT", agent).env("AYE_NOW", now(time));
        let id = cmd.run().ok().id();
        self.ids.push(id.clone());
        id
    }

    /// The command's screen, or what is on it once it asks.
    fn screen(&self, args: &[&str], columns: u16, term: &str) -> Terminal {
        let cmd = self.repo.cmd(args).env("AYE_NOW", now("11:00")).env("PAGER", "cat");
        let cmd = match term {
            "" => cmd.env("TERM", "xterm-256color").env("NO_COLOR", "1"),
            term => cmd.env("TERM", term),
        };
        let mut t = Terminal::start(cmd, 200, columns);
        if args.first() == Some(&"review") {
            t.sees("]? ");
        } else {
            t.ends();
        }
        t
    }

    /// The rows of `terminal`, with ids that are the same each time.
    fn rows(&self, terminal: &Terminal) -> Vec<String> {
        let text = same_each_time(&terminal.screen(), &self.ids);
        text.lines().map(str::to_owned).collect()
    }
}

fn now(time: &str) -> String {
    format!("2026-01-02T{time}:00Z")
}

#[test]
fn the_screens_fit_every_width() {
    let scene = Scene::new();
    let day = scene.ids[0].as_str();
    let commands: [&[&str]; 6] =
        [&["list"], &[], &["log"], &["show", day], &["review", day], &["review", "--overview"]];
    for columns in [60, 80, 120, 200] {
        let mut out = String::new();
        for args in commands {
            let shown = args.iter().map(|arg| if *arg == day { "ID" } else { arg });
            let line = format!("$ aye {}", shown.collect::<Vec<_>>().join(" "));
            let _ = writeln!(out, "{}", line.trim_end());
            let rows = scene.rows(&scene.screen(args, columns, ""));
            for row in rows {
                out.push_str(&row);
                out.push('\n');
            }
            out.push('\n');
        }
        insta::assert_snapshot!(format!("columns_{columns}"), out);
    }
}

#[test]
fn colours_are_those_of_the_terminal() {
    let scene = Scene::new();
    let day = scene.ids[0].as_str();
    for (term, colours) in [("xterm", 16), ("xterm-256color", 256)] {
        let mut out = String::new();
        for args in [&["list"][..], &["review", day]] {
            out += &coloured(&scene, &scene.screen(args, 100, term));
            out.push('\n');
        }
        insta::assert_snapshot!(format!("colours_{colours}"), out);
    }
}

/// The rows with `‹…›` where the attributes change: `b` bold, `d` dim, `u` underlined, `i` inverse, then the
/// colour of the text and, behind `/`, that of what is behind it.
fn coloured(scene: &Scene, terminal: &Terminal) -> String {
    let mut out = String::new();
    let screen = terminal.cells();
    for (at, row) in scene.rows(terminal).iter().enumerate() {
        let mut before = String::new();
        let mut column = 0;
        for c in row.chars() {
            let cell = screen.cell(at as u16, column).expect("a cell");
            let style = style(cell);
            if style != before {
                let _ = write!(out, "‹{style}›");
                before = style;
            }
            out.push(c);
            column += if cell.is_wide() { 2 } else { 1 };
        }
        if !before.is_empty() {
            out.push_str("‹›");
        }
        out.push('\n');
    }
    out
}

fn style(cell: &vt100::Cell) -> String {
    let colour = |colour: vt100::Color| match colour {
        vt100::Color::Default => String::new(),
        vt100::Color::Idx(number) => number.to_string(),
        vt100::Color::Rgb(r, g, b) => format!("{r},{g},{b}"),
    };
    let flags =
        [(cell.bold(), "b"), (cell.dim(), "d"), (cell.underline(), "u"), (cell.inverse(), "i")];
    let flags: String = flags.iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| *flag).collect();
    let behind = match cell.bgcolor() {
        vt100::Color::Default => String::new(),
        other => format!("/{}", colour(other)),
    };
    format!("{flags}{}{behind}", colour(cell.fgcolor()))
}
