//! Marks: reasons to look twice at a proposal, and their places. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RepoPath;
use crate::words::words;

words! {
    /// The subject of a mark, in the order in which marks are listed.
    pub enum MarkKind {
        /// It adds what looks like a secret, or changes a file that may hold some.
        Secret = "secret",
        /// It adds text that gives orders to agents.
        Orders = "orders",
        /// It adds characters that hide, reorder text or look like others.
        HiddenCharacters = "hidden_characters",
        /// It changes a file that instructs agents, or configures what they run.
        Instructions = "instructions",
        /// It changes a file of memory, or one that decides what passes the gate.
        Memory = "memory",
        /// It changes what CI, builds, tools, git or the forge do.
        Build = "build",
        /// A file becomes executable.
        Mode = "mode",
        /// It adds or changes a binary file.
        Binary = "binary",
        /// A file has more than 1 MiB; over 10 MiB it is not searched for the others.
        Large = "large",
        /// Files of its session are not in it.
        Incomplete = "incomplete",
        /// It removes a file.
        Deletes = "deletes",
        /// It was made for another branch than the one that is checked out.
        OtherBranch = "other_branch",
    }
}

/// One reason to look twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReviewMark")]
pub struct Mark {
    /// The subject of the mark.
    pub mark: MarkKind,
    /// The file; null for what is about the proposal as a whole, or counts further files.
    pub path: Option<String>,
    /// The line in the proposed file, from 1, where there is one.
    pub line: Option<usize>,
    /// In words.
    pub message: String,
}

impl Mark {
    /// `message` continues after the file's name.
    pub fn of_file(mark: MarkKind, path: &RepoPath, message: impl Into<String>) -> Self {
        Self { mark, path: Some(path.display().to_string()), line: None, message: message.into() }
    }

    pub fn is_at(&self, path: &str, line: usize) -> bool {
        self.path.as_deref() == Some(path) && self.line == Some(line)
    }

    /// `secret: s.env:1: GitHub token (40 bytes)`; not escaped for a terminal.
    pub fn text(&self) -> String {
        let Self { mark, path, line, message } = self;
        let word = mark.as_str();
        match (path, line) {
            (Some(path), Some(line)) => format!("{word}: {path}:{line}: {message}"),
            (Some(path), None) => format!("{word}: {path} {message}"),
            (None, _) => format!("{word}: {message}"),
        }
    }
}

/// Most places per word: a hostile proposal may have thousands.
const MOST: usize = 20;

/// Sorts by word, drops duplicates, and counts all beyond 20 per word.
pub fn limited(found: Vec<Mark>) -> Vec<Mark> {
    let mut by_word: BTreeMap<MarkKind, Vec<Mark>> = BTreeMap::new();
    for mark in found {
        by_word.entry(mark.mark).or_default().push(mark);
    }
    for (word, marks) in &mut by_word {
        marks.dedup();
        let more = marks.len().saturating_sub(MOST);
        if more > 0 {
            marks.truncate(MOST);
            let message = format!("and {more} more");
            marks.push(Mark { mark: *word, path: None, line: None, message });
        }
    }
    by_word.into_values().flatten().collect()
}

/// Rank in the order of review, 0 first. A proposal for another branch is not more urgent.
pub fn class(marks: &[Mark]) -> u8 {
    let here = marks.iter().map(|mark| mark.mark).filter(|word| *word != MarkKind::OtherBranch);
    here.map(|word| u8::from(word == MarkKind::Deletes)).min().unwrap_or(2)
}

pub fn words<'m>(marks: impl IntoIterator<Item = &'m Mark>) -> String {
    let mut words: Vec<MarkKind> = marks.into_iter().map(|mark| mark.mark).collect();
    words.sort_unstable();
    words.dedup();
    words.into_iter().map(MarkKind::as_str).collect::<Vec<_>>().join(", ")
}

/// ` (2 of 7 carry marks: secret, build)`.
pub fn in_question<'m>(each: impl IntoIterator<Item = &'m [Mark]>) -> String {
    let each: Vec<&[Mark]> = each.into_iter().collect();
    let marked = each.iter().filter(|marks| !marks.is_empty()).count();
    let words = words(each.iter().copied().flatten());
    match (marked, each.len()) {
        (0, _) => String::new(),
        (_, 1) => format!(" (marks: {words})"),
        (marked, all) => format!(" ({marked} of {all} carry marks: {words})"),
    }
}

/// `None` if HEAD is on `made_for`, or either is unknown.
pub fn other_branch(made_for: Option<&str>, head: Option<&str>) -> Option<Mark> {
    let made_for = foreign_branch(made_for, head)?;
    let head = short_branch(head.unwrap_or("HEAD"));
    Some(Mark {
        mark: MarkKind::OtherBranch,
        path: None,
        line: None,
        message: format!("made for {made_for}, and {head} is checked out"),
    })
}

/// `None` if HEAD is on `branch`.
pub fn foreign_branch<'a>(branch: Option<&'a str>, head: Option<&str>) -> Option<&'a str> {
    let branch = branch?;
    (branch != head?).then_some(short_branch(branch))
}

pub fn short_branch(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_one_word_are_counted_where_they_are_many() {
        let path = |n: usize| RepoPath::new(format!("{n}/Makefile")).unwrap();
        let build = (0..25).map(|n| Mark::of_file(MarkKind::Build, &path(n), "runs"));
        let secret = Mark { line: Some(3), ..Mark::of_file(MarkKind::Secret, &path(0), "a token") };
        let found = limited(build.chain([secret.clone(), secret]).collect());
        assert_eq!(found.len(), 22);
        assert_eq!(found[0].text(), "secret: 0/Makefile:3: a token");
        assert_eq!(found[1].text(), "build: 0/Makefile runs");
        assert_eq!(found[21].text(), "build: and 5 more");
        assert_eq!(words(&found), "secret, build");
    }

    #[test]
    fn what_only_removes_files_comes_behind_the_rest() {
        let mark = |word| Mark::of_file(word, &RepoPath::new("a").unwrap(), "");
        let (deletes, mode) = (mark(MarkKind::Deletes), mark(MarkKind::Mode));
        assert_eq!(class(&[]), 2);
        assert_eq!(class(std::slice::from_ref(&deletes)), 1);
        assert_eq!(class(&[mode, deletes]), 0);
    }

    #[test]
    fn another_branch_is_told_by_its_name() {
        let mark = other_branch(Some("refs/heads/a"), Some("refs/heads/main")).unwrap();
        assert_eq!(mark.text(), "other_branch: made for a, and main is checked out");
        assert_eq!(other_branch(Some("refs/heads/a"), Some("refs/heads/a")), None);
        assert_eq!(other_branch(Some("refs/heads/a"), None), None);
    }
}
