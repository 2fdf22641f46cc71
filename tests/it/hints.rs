//! The commands that aye prints for its reader: known to aye as they are printed, and doing what they promise.

use std::path::Path;

use aye::cli::Cli;
use clap::{Command, CommandFactory as _};

use crate::support::Repo;

/// The texts of the program: its sources without comments and unit tests, continued lines joined.
fn texts() -> Vec<(String, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = walkdir::WalkDir::new(top).into_iter().map(|entry| entry.expect("an entry"));
    let mut found = Vec::new();
    for file in files {
        let name = file.path().display().to_string();
        if !name.ends_with(".rs") || name.ends_with("tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(file.path()).expect("UTF-8");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let mut joined = String::new();
        for line in code {
            let line = if joined.ends_with('\\') { line.trim_start() } else { line };
            joined.truncate(joined.trim_end_matches('\\').len());
            joined += line;
            if !joined.ends_with('\\') {
                joined.push('\n');
            }
        }
        found.push((name, joined));
    }
    found
}

/// The words of a command in `text`, which begins behind `aye `, without what is in quotes. Prose may follow them.
fn words(text: &str) -> Vec<&str> {
    let end = text.find(['`', '"', ';', '\n', ')', ',', '…', '\\', '|', '&']).unwrap_or(text.len());
    let mut is_quoted = false;
    let mut words: Vec<&str> = text[..end]
        .split_whitespace()
        .filter(|word| {
            let was_quoted = is_quoted;
            is_quoted ^= word.matches('\'').count() % 2 == 1;
            !was_quoted && !word.starts_with('\'')
        })
        .collect();
    words.truncate(words.iter().position(|word| *word == "--").unwrap_or(words.len()));
    words
}

fn has_flag(command: &Command, flag: &str) -> bool {
    let flag = flag.split('=').next().unwrap_or_default().trim_end_matches([':', '.', '\'']);
    let mut arguments = command.get_arguments();
    match flag.strip_prefix("--") {
        Some(long) => {
            long == "help"
                || arguments.any(|it| {
                    it.get_long_and_visible_aliases().is_some_and(|all| all.contains(&long))
                })
        }
        None => {
            arguments.any(|it| it.get_short().is_some_and(|short| flag[1..] == short.to_string()))
        }
    }
}

#[test]
fn a_command_in_a_message_has_flags_that_the_command_takes() {
    let mut all = Cli::command();
    // Flags that every command takes are given to each of them.
    all.build();
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let (mut seen, mut wrong) = (0, Vec::new());
    for (file, text) in texts() {
        for (at, _) in text.match_indices("aye ") {
            let is_code = text[..at].ends_with('`');
            let words = words(&text[at + 4..]);
            let starts = is_code || text[..at].ends_with([' ', '"', '(']);
            let Some(first) = words.first().filter(|word| starts && is_name(word)) else {
                continue;
            };
            let Some(mut command) = all.find_subcommand(first) else {
                // Prose about aye itself, unless it is set as code.
                if is_code {
                    wrong.push(format!("{file}: aye {}", words.join(" ")));
                }
                continue;
            };
            seen += 1;
            let second = words.get(1).filter(|word| is_name(word));
            match second.and_then(|second| command.find_subcommand(second)) {
                Some(found) => command = found,
                // Topics of `aye help` are not commands.
                None if is_code
                    && second.is_some()
                    && command.has_subcommands()
                    && *first != "help" =>
                {
                    wrong.push(format!("{file}: aye {}", words.join(" ")));
                }
                None => {}
            }
            let flags = words
                .iter()
                .filter(|word| word.starts_with('-') && word.len() > 1 && !word.contains('{'));
            for flag in flags.filter(|flag| !has_flag(command, flag)) {
                wrong.push(format!("{file}: aye {} ({flag})", words.join(" ")));
            }
        }
    }
    assert!(seen > 250, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The command behind `start` on standard error, up to the end of what is code.
fn hinted(said: &str, start: &str) -> Vec<String> {
    let at = said.find(start).unwrap_or_else(|| panic!("no {start:?} in {said}"));
    let text = &said[at..];
    let end = text.find(['`', '\n']).unwrap_or(text.len());
    text[..end].split(' ').skip(1).map(str::to_owned).collect()
}

#[test]
fn a_proposal_without_a_description_gets_one_by_the_command_that_is_printed() {
    let repo = Repo::with(&[("f", "a\nb\n")]);
    let propose = ["propose", "f", "--old", "a", "--new", "A"];
    let first = repo.agent("codex", &propose).ok();
    let id = first.id();
    let described = || repo.item(&id)["description"].clone();
    // The same once more does not change what is pending, and says so.
    let again = repo.agent("codex", &[&propose[..], &["-m", "Shout"]].concat()).ok();
    assert_eq!((again.id(), described()), (id.clone(), serde_json::Value::Null));
    for run in [&first, &again] {
        let mut command = hinted(&run.err(), "aye revise ");
        let text = command.iter_mut().find(|word| *word == "TEXT").expect("TEXT");
        *text = "Loud".into();
        repo.agent("codex", &command).ok();
        assert_eq!(described(), "Loud");
    }
    // Whoever did not propose it cannot revise it, and is told what can be done.
    let other = repo.agent("gemini", &[&propose[..], &["-m", "Mine"]].concat()).ok();
    let mut command = hinted(&other.err(), "aye comment ");
    *command.iter_mut().find(|word| *word == "TEXT").expect("TEXT") = "Mine".into();
    repo.agent("gemini", &command).ok();
    // A proposal that says why needs no hint.
    let run = repo.agent("codex", &["propose", "f", "--old", "b", "--new", "B", "-m", "Why"]).ok();
    assert!(!run.err().contains("revise"), "{run}");
}
