//! Build step: `instructions.toml` becomes a static table.

use std::fmt::Write as _;

const SOURCE: &str = "src/changeset/instructions/instructions.toml";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    file: Vec<Entry>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    pattern: String,
    kind: String,
    // For readers only.
    source: String,
}

/// # Panics
/// A malformed entry stops the build; the message names the pattern.
pub fn write() {
    for input in [SOURCE, "src/changeset/instructions/compile.rs"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let text = std::fs::read_to_string(SOURCE).expect("read instructions.toml");
    let file: File = toml::from_str(&text).unwrap_or_else(|e| panic!("{SOURCE}: {e}"));
    let mut seen = std::collections::BTreeSet::new();
    let mut code = String::from(
        "/// The entries of `instructions.toml`, in its order.\nstatic ENTRIES: &[Entry] = &[\n",
    );
    for Entry { pattern, kind, source } in &file.file {
        let lower = pattern.to_ascii_lowercase();
        assert!(seen.insert(lower.clone()), "{SOURCE}: {pattern} is listed twice");
        assert!(!source.trim().is_empty(), "{SOURCE}: {pattern} lacks a source");
        let (directory, name) =
            lower.rfind('/').map_or(("", &lower[..]), |at| lower.split_at(at + 1));
        // Only hidden directories are searched at any depth.
        assert!(
            directory.is_empty() || directory.starts_with('.'),
            "{SOURCE}: {pattern}: a directory has to begin with a dot"
        );
        assert!(!lower.is_empty() && !directory.contains('*'), "{SOURCE}: {pattern}");
        assert!(name.matches('*').count() <= 1, "{SOURCE}: {pattern}: one * at most");
        let (head, tail) = name.split_once('*').unwrap_or((name, ""));
        let is_open = name.contains('*') || name.is_empty();
        let kind = match kind.as_str() {
            "text" => "Text",
            "settings" => "Settings",
            other => panic!("{SOURCE}: {pattern}: unknown kind {other}"),
        };
        let _ = writeln!(
            code,
            "Entry {{ directory: {directory:?}, head: {head:?}, tail: {tail:?}, is_open: {is_open}, kind: InstructionKind::{kind} }},"
        );
    }
    code += "];\n";
    let out = std::env::var("OUT_DIR").expect("OUT_DIR");
    std::fs::write(format!("{out}/instructions.rs"), code).expect("write the table");
}
