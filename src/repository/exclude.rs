//! Keeping a projection out of `git status` where the project itself does not ignore it.

use super::Repository;
use crate::private::Directory;

/// The file, in `info/`.
const NAME: &str = "exclude";

/// The plan of the branch that is checked out.
pub(crate) const PLAN: &str = "/.agent-memory/plan.yaml";

/// Files on their way into the work tree.
pub(crate) const TEMPORARIES: &str = ".aye-tmp-*";

/// All patterns that aye adds.
pub(crate) const EXCLUDED: &[&str] = &[PLAN, TEMPORARIES];

/// Makes git ignore `pattern` (anchored, such as `/.agent-memory/plan.yaml`) in this clone:
/// through `info/exclude`, so that no file of the work tree changes. What cannot be written, or is a
/// symlink, is left: it only decides what `git status` shows.
pub(crate) fn exclude(repository: &Repository, pattern: &str) {
    let Ok(info) = Directory::make(&repository.common_dir().join("info")) else { return };
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

/// Takes `patterns` out of `info/exclude` again. What cannot be written is left.
pub(crate) fn include(repository: &Repository, patterns: &[&str]) {
    let Ok(Some(info)) = Directory::open(&repository.common_dir().join("info")) else { return };
    let Ok(Some(text)) = info.read(NAME) else { return };
    let is_ours = |line: &&[u8]| patterns.iter().any(|pattern| pattern.as_bytes() == *line);
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if !lines.iter().any(is_ours) {
        return;
    }
    let kept: Vec<&[u8]> = lines.into_iter().filter(|line| !is_ours(line)).collect();
    let _ = info.replace(NAME, &kept.join(&b'\n'), false);
}
