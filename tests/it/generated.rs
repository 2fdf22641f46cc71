//! `man/`, `completions/`, `schemas/` and `docs/troubleshooting.md` are what the program says today.
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

#[test]
fn troubleshooting_page_is_fresh() {
    let path = committed("docs/troubleshooting.md");
    let fresh = aye::cli::util::codes::page();
    if std::env::var_os("AYE_BLESS").is_some() {
        std::fs::write(&path, fresh).expect("write the page");
        return;
    }
    let text = std::fs::read_to_string(&path).expect("the page");
    assert!(fresh == text, "docs/troubleshooting.md is stale\nrun: {BLESS}");
}

/// Each example of `aye help codes CODE` ends with its code; the replayed documents hold the output.
#[test]
fn every_example_shows_its_code() {
    let examples =
        std::fs::read_to_string(committed("src/cli/util/examples.md")).expect("the examples");
    for example in examples.split("\n## ").skip(1) {
        let (code, text) = example.split_once('\n').expect("a heading");
        assert!(text.contains(code), "{code}:\n{text}");
        let page = aye::cli::util::codes::explanation(code).expect("a known code");
        assert!(page.contains("```console"), "{page}");
    }
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
