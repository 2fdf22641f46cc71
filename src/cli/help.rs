//! `aye help TOPIC`: pages of `docs/`, compiled into the program.

use std::ffi::OsString;

use clap::{Args as _, FromArgMatches as _};

use super::util::codes;
use super::{Context, Global, pager};
use crate::error::{Error, Exit};
use crate::render::markdown;
use crate::render::style::Palette;

/// The page on formats is not included.
const PAGES: &[(&str, &str)] = &[
    ("getting-started", include_str!("../../docs/getting-started.md")),
    ("concepts", include_str!("../../docs/concepts.md")),
    ("review", include_str!("../../docs/review.md")),
    ("agents", include_str!("../../docs/agents.md")),
    ("memory", include_str!("../../docs/memory.md")),
    ("ci", include_str!("../../docs/ci.md")),
    ("sharing", include_str!("../../docs/sharing.md")),
    ("security", include_str!("../../docs/security.md")),
    ("configuration", include_str!("../../docs/configuration.md")),
    ("faq", include_str!("../../docs/faq.md")),
];

/// The program generates this page, which is `docs/troubleshooting.md`.
const CODES: &str = "codes";

const WIDEST: usize = 100;

pub fn topics() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(name, _)| *name).chain([CODES])
}

/// `None` if `args` ask for no page.
pub fn answer(args: &[OsString]) -> Option<Exit> {
    let words: Vec<&str> = args.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let at = words.iter().position(|word| *word == "help")?;
    let (options, words) = words.split_at(at);
    let end = words.iter().position(|word| word.starts_with('-')).unwrap_or(words.len());
    let (words, later) = words.split_at(end);
    let (name, page) = match words {
        ["help", CODES] => (CODES, codes::page()),
        ["help", CODES, code] => (CODES, codes::explanation(code).unwrap_or_default()),
        ["help", topic] => {
            let (name, text) = PAGES.iter().find(|(name, _)| name == topic)?;
            (*name, (*text).to_owned())
        }
        _ => return None,
    };
    let options = [&["aye"][..], options, later].concat();
    let options = Global::augment_args(clap::Command::new("aye")).try_get_matches_from(options);
    let mut context = Context::from_process(&Global::from_arg_matches(&options.ok()?).ok()?);
    if page.is_empty() {
        let message = format!("'{}' is no code", words.last().copied().unwrap_or_default());
        let error = Error::new(&crate::error::codes::USAGE, message).hint("aye help codes");
        context.report(&error);
        return Some(error.code().exit);
    }
    let palette = if context.color { Palette::new(|_| None) } else { Palette::plain() };
    let columns = pager::columns().unwrap_or(80).min(WIDEST);
    let mut text = markdown::render(&page, &palette, columns, topic);
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

/// Topic of the page that a link leads to.
fn topic(target: &str) -> Option<&'static str> {
    let (file, _) = target.split_once(".md")?;
    match file {
        "troubleshooting" => Some(CODES),
        file => PAGES.iter().map(|(name, _)| *name).find(|name| *name == file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_are_answered() {
        for words in [&["aye", "help"][..], &["aye", "help", "apply"], &["aye", "review"]] {
            let args: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(answer(&args).is_none());
        }
    }
}
