//! `aye help TOPIC`: pages of `docs/`, compiled into the program.

use std::ffi::OsString;

use super::util::codes;
use super::{Context, Global, pager};
use crate::error::Exit;
use crate::render::style::{Palette, Role};

struct Page {
    name: &'static str,
    text: &'static str,
}

/// Pages on formats are not included.
const PAGES: &[Page] = &[
    Page { name: "getting-started", text: include_str!("../../docs/getting-started.md") },
    Page { name: "agents", text: include_str!("../../docs/agents.md") },
    Page { name: "review", text: include_str!("../../docs/review.md") },
    Page { name: "memory", text: include_str!("../../docs/memory.md") },
    Page { name: "commands", text: include_str!("../../docs/commands.md") },
    Page { name: "ci", text: include_str!("../../docs/ci.md") },
    Page { name: "sharing", text: include_str!("../../docs/sharing.md") },
    Page { name: "configuration", text: include_str!("../../docs/configuration.md") },
    Page { name: "install", text: include_str!("../../docs/install.md") },
];

/// The program generates this page from its error codes.
const CODES: &str = "codes";

pub fn topics() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.name).chain([CODES])
}

/// `None` if `args` ask for no page.
pub fn answer(args: &[OsString]) -> Option<Exit> {
    let (name, unpaged) = match args {
        [_, help, name] if help == "help" => (name, false),
        [_, help, name, flag] if help == "help" && flag == "--no-pager" => (name, true),
        _ => return None,
    };
    let page = PAGES.iter().find(|page| name == page.name);
    let (name, page) = match page {
        None if name == CODES => (CODES, codes::page()),
        found => (found?.name, found?.text.to_owned()),
    };
    let global = Global { no_pager: unpaged, ..Global::default() };
    let mut context = Context::from_process(&global);
    let palette = if context.color { Palette::new(|_| None) } else { Palette::plain() };
    let mut text = render(&page, &palette);
    if <super::Cli as clap::CommandFactory>::command().find_subcommand(name).is_some() {
        text += &format!("\nThe flags of the command: aye {name} --help\n");
    }
    match pager::page(&mut context, None, text) {
        Ok(done) => Some(done),
        Err(error) => {
            context.report(&error);
            Some(error.code().exit)
        }
    }
}

/// Drops the tests' marker comments and highlights headings.
fn render(text: &str, palette: &Palette) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in text.lines().filter(|line| !line.starts_with("<!--")) {
        is_code ^= line.starts_with("```");
        let role = if line.starts_with('#') && !is_code { Role::Title } else { Role::Plain };
        palette.write(&mut out, role, line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_left_out_and_titles_stand_out() {
        let text = "# One\n\n<!-- replay -->\n```sh\n# two\n```\n";
        assert_eq!(render(text, &Palette::plain()), "# One\n\n```sh\n# two\n```\n");
        let coloured = render(text, &Palette::new(|_| None));
        assert_eq!(coloured.matches("\x1b[1m").count(), 1, "{coloured:?}");
    }

    #[test]
    fn only_pages_are_answered() {
        for words in [&["aye", "help"][..], &["aye", "help", "apply"], &["aye", "review"]] {
            let args: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(answer(&args).is_none());
        }
    }
}
