//! What is known here of a coding agent's client without starting it: where it is, its version, when its hooks asked
//! last.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::cli::Context;
use crate::harness::{Client, program};
use crate::private::Directory;
use crate::session::home::all_trees;

/// Directories above a program in which its package may say which version it is.
const ABOVE: usize = 6;

/// One coding agent.
#[derive(Debug, Serialize)]
pub struct Agent {
    /// The coding agent.
    pub harness: &'static str,
    /// Its program on PATH; null where it is not there.
    pub program: Option<String>,
    /// Its version, as its package says; null where that is not to be found.
    pub version: Option<String>,
    /// When one of its hooks asked aye last; null if none ever did.
    pub last_hook_at: Option<String>,
    /// `open` or `closed`: what its hooks are where aye is missing.
    pub when_missing: &'static str,
    /// Whether it has hooks here, and trusts them where it asks for that.
    pub gated: bool,
}

/// What is known of `client`.
pub fn agent(context: &Context, client: &Client, gated: bool) -> Agent {
    let program = context.on_path(program(client.name));
    let version = program.as_deref().and_then(version_of);
    let is_closed = client.when_missing.is_closed(version.as_deref());
    Agent {
        harness: client.name,
        version,
        program: program.map(|program| program.display().to_string()),
        last_hook_at: last_hook(context, client),
        when_missing: if is_closed { "closed" } else { "open" },
        gated,
    }
}

/// The version of the package that `program` belongs to, or that a part of its path names.
fn version_of(program: &Path) -> Option<String> {
    let real = std::fs::canonicalize(program).ok()?;
    let manifest = |above: &Path| {
        let text = std::fs::read(above.join("package.json")).ok()?;
        let said: Value = serde_json::from_slice(&text).ok()?;
        version(said["version"].as_str()?)
    };
    let named = || version(real.file_name()?.to_str()?);
    named().or_else(|| real.ancestors().skip(1).take(ABOVE).find_map(manifest))
}

/// The first word of `said` that is numbers with points between.
fn version(said: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    let words = said.split(|c: char| !is_part(c)).map(|word| word.trim_start_matches('v'));
    let is_version = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.matches('.').count() >= 2
    };
    words
        .into_iter()
        .find(is_version)
        .map(|word| word.trim_end_matches('.').chars().take(40).collect())
}

/// Writes down that a hook of `client` asks now. Nothing depends on it, and no symlink is followed.
pub fn note_hook(context: &Context, client: &Client) {
    let Some(directory) = directory(context) else { return };
    let now = context.now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    let _ = directory.parent().map(std::fs::create_dir_all);
    let _ = Directory::make(&directory)
        .and_then(|directory| directory.replace(&name(client), now.as_bytes(), false));
}

fn last_hook(context: &Context, client: &Client) -> Option<String> {
    let directory = Directory::open(&directory(context)?).ok()??;
    let bytes = directory.read(&name(client)).ok()??;
    let at = chrono::DateTime::parse_from_rfc3339(std::str::from_utf8(&bytes).ok()?.trim()).ok()?;
    Some(at.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

fn directory(context: &Context) -> Option<PathBuf> {
    let trees = all_trees(&context.state_directory().ok()?);
    Some(trees.parent()?.join("agents"))
}

fn name(client: &Client) -> String {
    format!("{}.seen", client.name)
}

/// A line for people, of a client that is there or was seen.
pub fn line(agent: &Agent) -> Option<String> {
    if agent.program.is_none() && agent.last_hook_at.is_none() {
        return None;
    }
    let version = match (&agent.program, &agent.version) {
        (None, _) => "not installed",
        (_, Some(version)) => version,
        (_, None) => "installed",
    };
    let gated = if agent.gated { "gated" } else { "not gated" };
    let last = agent.last_hook_at.as_deref().unwrap_or("never");
    let harness = agent.harness;
    let missing = agent.when_missing;
    Some(format!(
        "{harness:<11}  {version:<13} {gated:<9}  last hook {last}, {missing} where aye is missing\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_the_name_of_a_program() {
        for (said, expected) in [
            ("2.1.197", Some("2.1.197")),
            ("codex-0.169.0", None),
            ("OpenAI codex v0.169.0.", Some("0.169.0")),
            ("nothing", None),
        ] {
            assert_eq!(version(said).as_deref(), expected, "{said}");
        }
    }
}
