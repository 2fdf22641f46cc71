//! Changes of memory files by code proposals and patches.
//!
//! The rules of [`mod@super::plan`] apply: schema, ids, size, secrets, misleading text. Violations
//! are shown to the reviewer; nothing is refused here.

use super::guard::Guard;
use super::markdown;
use super::plan::check_sections;
use super::settings::Settings;
use super::{DIR, disk::store_path};
use crate::changeset::{FileChange, RepoPath};

/// A rule that a memory file would break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub path: RepoPath,
    /// `memory_schema`, `memory_provenance`, or the scanner's kind, such as `github_token`.
    pub kind: &'static str,
    /// Line in the new content, from 1.
    pub line: usize,
    /// For people.
    pub message: String,
}

/// Ignores case, since some file systems do.
pub fn is_memory(path: &RepoPath) -> bool {
    let first = path.components().next().unwrap_or_default();
    first.eq_ignore_ascii_case(DIR.as_bytes())
}

pub fn touches(change: &FileChange) -> bool {
    is_memory(&change.path) || change.origin.as_ref().is_some_and(is_memory)
}

pub fn violations(change: &FileChange, settings: &Settings, guard: &dyn Guard) -> Vec<Violation> {
    let Some(path) = store_path(&change.path) else { return Vec::new() };
    let Some(category) = settings.schema.category(path) else { return Vec::new() };
    let mut found = Vec::new();
    let mut say = |kind, line, message: String| {
        found.push(Violation { path: change.path.clone(), kind, line, message });
    };
    let Some(after) = &change.after else {
        say(
            "memory_schema",
            1,
            format!("memory: removes {path}, of the category {}", category.name),
        );
        return found;
    };
    if category.server_managed {
        say("memory_schema", 1, format!("memory: {path} is generated, and written by aye alone"));
        return found;
    }
    let Ok(after) = std::str::from_utf8(&after.bytes) else {
        say("memory_schema", 1, format!("memory: {path} is not UTF-8"));
        return found;
    };
    let before = change.before.as_ref().map(|file| String::from_utf8_lossy(&file.bytes));
    let before = before.as_deref();
    let (size, most) = (after.chars().count(), settings.manifest.budgets.max_file_chars);
    if size > most && size > before.map_or(0, |text| text.chars().count()) {
        let message =
            format!("memory: {path} would have {size} characters, over the limit of {most}");
        say("memory_schema", 1, message);
    }
    if category.write_once && before.is_some() {
        say("memory_schema", 1, format!("memory: {path} may be written once, and is there"));
    }
    let document = markdown::parse(after);
    for id in document.duplicate_ids() {
        say("memory_schema", 1, format!("memory: {path} would have the id '{id}' twice"));
    }
    for problem in check_sections(category, path, before, after) {
        let begin = markdown::lines::number_of(after, problem.start);
        let line = begin + problem.line.map_or(0, |line| line - 1);
        say(
            "memory_schema",
            line,
            format!("memory: {path} violates the schema: {}", problem.message),
        );
    }
    let rules = &category.provenance;
    if rules.required || rules.required_for_new_sections {
        let message = format!(
            "memory: {path} has to name its sources, and there is no provenance in a code proposal: \
             use `aye memory propose`"
        );
        say("memory_provenance", 1, message);
    }
    let before = before.unwrap_or_default();
    // A region that the proposal brings excuses nothing: reviewers of code do not look for regions.
    let screened = guard.screen(before, before, after);
    for finding in screened.blocking.into_iter().chain(screened.in_allowed_regions) {
        let message = format!("memory: the scan refuses content of {path}: {}", finding.message);
        say(finding.code.id, finding.line.unwrap_or(1), message);
    }
    found
}
