//! aye's patterns in `info/exclude`.

use super::Repository;
use crate::private::PrivateDirectory;

const NAME: &str = "exclude";

/// The plan of the current branch.
pub(crate) const PLAN: &str = "/.agent-memory/plan.yaml";

/// Temporary files in the work tree.
pub(crate) const TEMPORARIES: &str = ".aye-tmp-*";

pub(crate) const EXCLUDED: &[&str] = &[PLAN, TEMPORARIES];

/// Adds `pattern` to `info/exclude`, so that no file of the work tree changes. A failure or a
/// symlink is ignored: the pattern only affects `git status`.
pub(crate) fn exclude(repository: &Repository, pattern: &str) {
    let Ok(info) = PrivateDirectory::make(&repository.common_dir().join("info")) else { return };
    let Ok(text) = info.read(NAME) else { return };
    let mut text = text.unwrap_or_default();
    if text.split(|byte| *byte == b'\n').any(|line| line == pattern.as_bytes()) {
        return;
    }
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{pattern}\n").as_bytes());
    let _ = info.replace(NAME, &text, false);
}

/// Ignores failures.
pub(crate) fn include(repository: &Repository, patterns: &[&str]) {
    let Ok(Some(info)) = PrivateDirectory::open(&repository.common_dir().join("info")) else {
        return;
    };
    let Ok(Some(text)) = info.read(NAME) else { return };
    let is_ours = |line: &&[u8]| patterns.iter().any(|pattern| pattern.as_bytes() == *line);
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if !lines.iter().any(is_ours) {
        return;
    }
    let kept: Vec<&[u8]> = lines.into_iter().filter(|line| !is_ours(line)).collect();
    let _ = info.replace(NAME, &kept.join(&b'\n'), false);
}
