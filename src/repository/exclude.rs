//! Keeping a projection out of `git status` where the project itself does not ignore it.

use std::fs;
use std::io::Write as _;

use super::Repository;

/// The plan of the branch that is checked out.
pub(crate) const PLAN: &str = "/.agent-memory/plan.yaml";

/// Files on their way into the work tree.
pub(crate) const TEMPORARIES: &str = ".aye-tmp-*";

/// All patterns that aye adds.
pub(crate) const EXCLUDED: &[&str] = &[PLAN, TEMPORARIES];

/// Makes git ignore `pattern` (anchored, such as `/.agent-memory/plan.yaml`) in this clone:
/// through `info/exclude`, so that no file of the work tree changes. What cannot be written is
/// left: it only decides what `git status` shows.
pub(crate) fn exclude(repository: &Repository, pattern: &str) {
    let directory = repository.common_dir().join("info");
    let path = directory.join("exclude");
    let text = fs::read(&path).unwrap_or_default();
    if text.split(|byte| *byte == b'\n').any(|line| line == pattern.as_bytes()) {
        return;
    }
    let separator = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    let _ = fs::create_dir_all(&directory);
    let _ = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(format!("{separator}{pattern}\n").as_bytes()));
}

/// Takes `patterns` out of `info/exclude` again. What cannot be written is left.
pub(crate) fn include(repository: &Repository, patterns: &[&str]) {
    let path = repository.common_dir().join("info").join("exclude");
    let Ok(text) = fs::read(&path) else { return };
    let is_ours = |line: &&[u8]| patterns.iter().any(|pattern| pattern.as_bytes() == *line);
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if !lines.iter().any(is_ours) {
        return;
    }
    let kept: Vec<&[u8]> = lines.into_iter().filter(|line| !is_ours(line)).collect();
    let _ = fs::write(&path, kept.join(&b'\n'));
}
