//! Keeping a projection out of `git status` where the project itself does not ignore it.

use std::fs;
use std::io::Write as _;

use super::Store;

/// Makes git ignore `pattern` (anchored, such as `/.agent-memory/plan.yaml`) in this clone:
/// through `info/exclude`, so that no file of the work tree changes. What cannot be written is
/// left: it only decides what `git status` shows.
pub(crate) fn exclude(store: &Store, pattern: &str) {
    let folder = store.common_dir().join("info");
    let path = folder.join("exclude");
    let text = fs::read(&path).unwrap_or_default();
    if text.split(|byte| *byte == b'\n').any(|line| line == pattern.as_bytes()) {
        return;
    }
    let separator = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    let _ = fs::create_dir_all(&folder);
    let _ = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(format!("{separator}{pattern}\n").as_bytes()));
}
