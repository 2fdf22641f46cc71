//! What `git blame --porcelain` prints. Pure.

use std::collections::HashMap;

use bstr::{BStr, ByteSlice as _};
use chrono::{DateTime, Utc};
use gix::ObjectId;

use crate::changeset::RepoPath;

/// The commit that a line is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its author's name.
    pub author: String,
    /// When it was made.
    pub at: DateTime<Utc>,
    /// Its subject.
    pub summary: String,
}

/// The lines of a file, in order: of each the commit, and what the file was called there; `None` for one
/// that is not committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// One for each line.
    pub lines: Vec<Option<(ObjectId, Option<RepoPath>)>>,
    /// The commits among them.
    pub commits: HashMap<ObjectId, Commit>,
}

impl Lines {
    /// Takes over what is said of other lines for those that are the same here, `kept` by their numbers there and
    /// here, and of which nothing is said yet.
    pub fn carry(&mut self, other: Self, kept: impl Iterator<Item = (usize, usize)>) {
        for (there, here) in kept {
            let Some(Some((id, name))) = other.lines.get(there) else { continue };
            if let Some(line @ None) = self.lines.get_mut(here) {
                *line = Some((*id, name.clone()));
                if let Some(commit) = other.commits.get(id) {
                    self.commits.entry(*id).or_insert_with(|| commit.clone());
                }
            }
        }
    }
}

/// Reads what git printed; lines that it does not know are ignored.
pub fn parse(printed: &[u8]) -> Lines {
    let mut found = Lines::default();
    let (mut current, mut name) = (None, None);
    for line in printed.lines() {
        if line.starts_with(b"\t") {
            let id = current.filter(|id: &ObjectId| !id.is_null());
            found.lines.push(id.map(|id| (id, name.clone())));
            continue;
        }
        let (key, value) = line.split_once_str(" ").unwrap_or((line, b""));
        if let Some(id) = ObjectId::from_hex(key).ok().filter(|_| !value.is_empty()) {
            // The name of a commit's file stands with its first line alone.
            if current != Some(id) {
                name = None;
            }
            current = Some(id);
            continue;
        }
        let Some(id) = current else { continue };
        let commit = found.commits.entry(id).or_default();
        match key {
            b"author" => commit.author = value.to_str_lossy().into_owned(),
            b"summary" => commit.summary = value.to_str_lossy().into_owned(),
            b"committer-time" => {
                let seconds = value.to_str().ok().and_then(|text| text.parse().ok());
                commit.at =
                    seconds.and_then(|s| DateTime::from_timestamp(s, 0)).unwrap_or_default();
            }
            // A name in quotes is one that nobody's proposal is looked up by.
            b"filename" => name = RepoPath::from_tree(BStr::new(value)).ok(),
            _ => {}
        }
    }
    found.commits.retain(|id, _| !id.is_null());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_commit_and_the_name_of_the_file_there() {
        let (a, zero) = ("a".repeat(40), "0".repeat(40));
        let printed = format!(
            "{a} 1 1 2\nauthor Ada\ncommitter-time 60\nsummary Say it\nfilename old.rs\n\tone\n\
             {a} 2 2\n\ttwo\n{zero} 3 3 1\nauthor Not Committed Yet\nsummary x\nfilename new.rs\n\t\n"
        );
        let found = parse(printed.as_bytes());
        let id = ObjectId::from_hex(a.as_bytes()).unwrap();
        let old = RepoPath::new("old.rs").ok();
        assert_eq!(found.lines, [Some((id, old.clone())), Some((id, old)), None]);
        let at = DateTime::from_timestamp(60, 0).unwrap();
        let (author, summary) = ("Ada".to_owned(), "Say it".to_owned());
        assert_eq!(found.commits, HashMap::from([(id, Commit { author, at, summary })]));
    }
}
