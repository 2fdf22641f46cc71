//! Differences between two revisions of a changeset.

use std::collections::BTreeSet;

use super::{FileChange, RepoPath};

/// Changes from the result of `seen` to the result of `now`. A path that only one revision touches
/// is unchanged in the other.
pub fn interdiff(seen: &[FileChange], now: &[FileChange]) -> Vec<FileChange> {
    let paths: BTreeSet<&RepoPath> = seen.iter().chain(now).map(|change| &change.path).collect();
    let mut changes = Vec::new();
    for path in paths {
        let find = |list: &[FileChange]| list.iter().find(|c| c.path == *path).cloned();
        let (before, after) = match (find(seen), find(now)) {
            (Some(old), Some(new)) => (old.after, new.after),
            (Some(old), None) => (old.after, old.before),
            (None, Some(new)) => (new.before, new.after),
            (None, None) => continue,
        };
        if before != after {
            changes.push(FileChange {
                path: path.clone(),
                before,
                after,
                origin: None,
                snippets: Vec::new(),
            });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        FileChange {
            path: RepoPath::new(path).unwrap(),
            before: before.map(File::regular),
            after: after.map(File::regular),
            origin: None,
            snippets: Vec::new(),
        }
    }

    #[test]
    fn interdiff_is_what_changed_for_someone_who_saw_the_first() {
        let seen = [change("a", Some("1\n"), Some("2\n")), change("b", None, Some("x\n"))];
        let now = [change("a", Some("1\n"), Some("3\n")), change("c", None, Some("y\n"))];
        assert_eq!(
            interdiff(&seen, &now),
            [
                change("a", Some("2\n"), Some("3\n")),
                change("b", Some("x\n"), None),
                change("c", None, Some("y\n")),
            ]
        );
        assert_eq!(interdiff(&seen, &seen), []);
    }
}
