//! Every dependency has a licence that `deny.toml` allows, comes from crates.io, and is not banned.
//!
//! The cheap half of `cargo deny`: no download, no database, a second at most.

use std::process::Command;

use serde_json::Value;

fn metadata() -> Value {
    let host = Command::new(env!("CARGO")).arg("-vV").output().expect("cargo -vV");
    let host = String::from_utf8(host.stdout).expect("text");
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host line");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn policy() -> toml::Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml");
    std::fs::read_to_string(path).expect("deny.toml").parse().expect("TOML")
}

fn strings(value: &toml::Value) -> Vec<String> {
    let list = value.as_array().expect("a list");
    list.iter().map(|item| item.as_str().expect("a string").to_owned()).collect()
}

/// Whether an SPDX expression is satisfied by the allowed licences. `AND` binds tighter than `OR`;
/// the `/` of old manifests means `OR`.
fn allowed(expression: &str, allow: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let answer = either(&mut rest, allow);
    assert!(rest.is_empty(), "cannot read the licence {expression:?}");
    answer
}

fn either(words: &mut &[&str], allow: &[String]) -> bool {
    let mut answer = both(words, allow);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        answer |= both(words, allow);
    }
    answer
}

fn both(words: &mut &[&str], allow: &[String]) -> bool {
    let mut answer = one(words, allow);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        answer &= one(words, allow);
    }
    answer
}

fn one(words: &mut &[&str], allow: &[String]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let answer = either(words, allow);
            assert_eq!(words.first(), Some(&")"), "an open parenthesis");
            *words = &words[1..];
            answer
        }
        [id, "WITH", exception, rest @ ..] => {
            *words = rest;
            allow.iter().any(|a| *a == format!("{id} WITH {exception}"))
        }
        [id, rest @ ..] => {
            *words = rest;
            allow.iter().any(|a| a == id)
        }
        [] => false,
    }
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    let allow = ["MIT".to_owned(), "Zlib".to_owned(), "A WITH e".to_owned()];
    for yes in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(X OR MIT) AND Zlib", "A WITH e"] {
        assert!(allowed(yes, &allow), "{yes}");
    }
    for no in ["GPL-3.0", "GPL-3.0 AND MIT", "(X OR MIT) AND Y", "A", "MIT AND X OR Y"] {
        assert!(!allowed(no, &allow), "{no}");
    }
}

#[test]
fn dependencies_keep_to_the_policy() {
    let policy = policy();
    let allow = strings(&policy["licenses"]["allow"]);
    let registries = strings(&policy["sources"]["allow-registry"]);
    let banned: Vec<String> = policy["bans"]["deny"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["crate"].as_str().expect("a name").to_owned())
        .collect();

    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 50, "the whole graph is looked at");
    let mut faults = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let licence = package["license"].as_str().unwrap_or("none");
        if !allowed(licence, &allow) {
            faults.push(format!("{name}: licence {licence}"));
        }
        if banned.iter().any(|ban| ban == name) {
            faults.push(format!("{name}: banned"));
        }
        // Only this crate itself has no source.
        let source = package["source"].as_str().map(|s| s.trim_start_matches("registry+"));
        if source.is_some_and(|s| !registries.iter().any(|r| r == s))
            || (source.is_none() && name != env!("CARGO_PKG_NAME"))
        {
            faults.push(format!("{name}: comes from {source:?}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
