//! Build step: `markers.toml` becomes static tables.

use std::fmt::Write as _;

const SOURCE: &str = "src/actor/markers.toml";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    marker: Vec<Entry>,
    program: Vec<Program>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    agent: String,
    name: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    agent: String,
    variable: String,
    value: Option<String>,
    #[serde(default)]
    session: bool,
    // For readers and a test only.
    source: String,
}

/// # Panics
/// A malformed entry stops the build; the message names the variable.
pub fn write() {
    for input in [SOURCE, "src/actor/compile.rs"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let text = std::fs::read_to_string(SOURCE).expect("read markers.toml");
    let file: File = toml::from_str(&text).unwrap_or_else(|e| panic!("{SOURCE}: {e}"));
    let mut seen = std::collections::BTreeSet::new();
    let mut code = String::from(
        "/// The entries of `markers.toml`, in its order.\npub static MARKERS: &[Marker] = &[\n",
    );
    for Entry { agent, variable, value, session, source } in &file.marker {
        let complete = [agent, variable, source].iter().all(|text| !text.trim().is_empty());
        assert!(complete, "{SOURCE}: {variable} lacks an agent or a source");
        assert!(seen.insert((variable, value)), "{SOURCE}: {variable} is listed twice");
        let _ = writeln!(
            code,
            "Marker {{ agent: {agent:?}, variable: {variable:?}, value: {value:?}, is_session: {session} }},"
        );
    }
    code +=
        "];\n/// Names of programs, and their agents.\npub static PROGRAMS: &[(&str, &str)] = &[\n";
    for Program { agent, name } in &file.program {
        let _ = writeln!(code, "({name:?}, {agent:?}),");
    }
    code += "];\n";
    let out = std::env::var("OUT_DIR").expect("OUT_DIR");
    std::fs::write(format!("{out}/markers.rs"), code).expect("write the table");
}
