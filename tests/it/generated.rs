//! `man/`, `completions/`, `schemas/` and the tables of `docs/commands.md` are what the program says today.
//!
//! After a change of a command, a flag, an error code or an output:
//!
//! ```text
//! AYE_BLESS=1 cargo test --locked --test it generated::
//! ```

mod man;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::Repo;
use clap::CommandFactory as _;
use serde_json::Value;

const BLESS: &str = "AYE_BLESS=1 cargo test --locked --test it generated::";

fn committed(directory: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(directory) else { return BTreeMap::new() };
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a UTF-8 name");
        (name, std::fs::read(entry.path()).expect("a file"))
    };
    entries.map(file).collect()
}

/// Holds the committed directory to what was generated, or replaces it when asked to.
fn hold(directory: &str, generated: &BTreeMap<String, Vec<u8>>) {
    assert!(!generated.is_empty(), "nothing was generated for {directory}/");
    let path = committed(directory);
    if std::env::var_os("AYE_BLESS").is_some() {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the directory");
        for (name, bytes) in generated {
            std::fs::write(path.join(name), bytes).expect("write");
        }
        return;
    }
    let there = files(&path);
    let names = generated.keys().chain(there.keys()).collect::<std::collections::BTreeSet<_>>();
    let stale: Vec<_> =
        names.into_iter().filter(|name| generated.get(*name) != there.get(*name)).collect();
    assert!(stale.is_empty(), "{directory}/ is stale: {stale:?}\nrun: {BLESS}");
}

#[test]
fn man_pages_are_fresh() {
    hold("man", &man::pages().into_iter().collect());
}

#[test]
fn completions_are_fresh() {
    let repo = Repo::outside();
    let shells = [
        ("bash", "bash"),
        ("zsh", "zsh"),
        ("fish", "fish"),
        ("elvish", "elv"),
        ("powershell", "ps1"),
    ];
    let script = |(shell, extension): (&str, &str)| {
        let run = repo.aye(&["util", "completion", shell]).ok();
        (format!("aye.{extension}"), run.stdout)
    };
    hold("completions", &shells.map(script).into_iter().collect());
}

#[test]
fn schemas_are_fresh() {
    let text = |document: Value| serde_json::to_string_pretty(&document).expect("JSON") + "\n";
    let derived = aye::cli::util::schema::schema_files();
    let derived = derived.into_iter().map(|(name, document)| (name, text(document).into_bytes()));
    hold("schemas", &derived.collect());
}

/// The tables of commands and exit statuses, between `<!-- name -->` and `<!-- /name -->`.
#[test]
fn tables_of_commands_and_exits_are_fresh() {
    let command = aye::cli::Cli::command();
    let commands = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let about = about.trim_end_matches('.');
        format!("| `{}` | {} |\n", sub.get_name(), about.replace('|', "\\|"))
    });
    let exits = aye::error::Exit::ALL
        .iter()
        .map(|exit| format!("| {} | {} |\n", *exit as u8, exit.meaning()));
    let commands = "| Command | Does |\n|---|---|\n".to_owned() + &commands.collect::<String>();
    let exits = "| Status | Meaning |\n|---|---|\n".to_owned() + &exits.collect::<String>();

    let path = committed("docs/commands.md");
    let text = std::fs::read_to_string(&path).expect("the document");
    let mut fresh = text.clone();
    for (name, table) in [("commands", commands), ("exits", exits)] {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
        let start = fresh.find(&open).expect("the opening mark") + open.len();
        let end = fresh.find(&close).expect("the closing mark");
        fresh.replace_range(start..end, &table);
    }
    if std::env::var_os("AYE_BLESS").is_some() {
        std::fs::write(&path, fresh).expect("write the document");
        return;
    }
    assert!(fresh == text, "the tables of docs/commands.md are stale\nrun: {BLESS}");
}

#[test]
fn versions_agree() {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    for (path, line) in [
        ("action.yml", format!("default: \"{VERSION}\"")),
        ("packaging/gitlab-ci.yml", format!("AYE_VERSION: \"{VERSION}\"")),
        ("pyproject.toml", format!("version = \"{VERSION}\"")),
        ("pyproject.toml", format!("dependencies = [\"aye=={VERSION}\"]")),
    ] {
        let text = std::fs::read_to_string(committed(path)).expect(path);
        assert!(text.contains(&line), "{path} has no line {line}");
    }
}

/// A room that declares codes and does not register them would be missing from the table.
#[test]
fn every_declared_error_code_is_in_the_table() {
    let declaration =
        regex::Regex::new(r#"\b[A-Z0-9_]+\s*=\s*"([A-Za-z0-9_]+)",\s*[A-Z]\w+,\s*""#).unwrap();
    let known = aye::cli::util::codes::all_codes();
    let known: Vec<&str> = known.iter().map(|code| code.id).collect();
    let mut declared = 0;
    for entry in walkdir::WalkDir::new(committed("src")) {
        let entry = entry.unwrap();
        if entry.path().extension().is_none_or(|e| e != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for found in declaration.captures_iter(&text) {
            declared += 1;
            let code = &found[1];
            assert!(known.contains(&code), "{code} of {:?} is not registered", entry.path());
        }
    }
    assert!(declared >= known.len(), "{declared} declarations found for {} codes", known.len());
}
