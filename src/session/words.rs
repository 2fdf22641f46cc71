//! The agent's own words: messages of its commits in the tree, or its last message.

use std::path::Path;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{beside, tree};
use crate::beneath::{Content, open_last};
use crate::error::{Error, Result};
use crate::git::codes::GIT_FAILED;
use crate::repository::Repository;
use crate::text;

/// Commits read, the newest ones.
const MOST: usize = 50;

/// Bytes of a description: it must not prevent proposing.
const LONGEST: usize = 4_000;

/// Characters of a title that is no subject of a commit.
const TITLE: usize = 100;

/// A commit that only the tree has.
#[derive(Debug)]
pub struct TreeCommit {
    pub id: String,
    /// Untrusted.
    pub message: String,
}

/// HEAD of the tree, read as files.
pub fn head(tree: &Path) -> Option<ObjectId> {
    beside::head_of(tree)
}

/// The agent's commits above `base` and `since`, oldest first; those that the repository's branches
/// or remotes have are not the agent's. Empty if git cannot read them.
///
/// git runs on the repository, with its configuration, and reads the tree's objects beside its own.
pub fn commits(
    repository: &Repository,
    tree: &Path,
    base: &str,
    since: Option<&str>,
) -> Vec<TreeCommit> {
    let read = || -> Option<Vec<u8>> {
        let head = head(tree)?.to_string();
        if head == base || Some(head.as_str()) == since {
            return None;
        }
        let not = since.filter(|id| tree::is_id(id)).map(|id| format!("^{id}"));
        let git = with_objects(repository, tree)?
            .args([
                "log", "-z", "--reverse", "--no-merges", "--first-parent", "--no-show-signature",
            ])
            .args(["--format=%H%n%B", "--encoding=UTF-8", &format!("--max-count={MOST}")])
            .args([head, format!("^{base}")])
            .args(not)
            .args(["--not", "--branches", "--remotes", "--"]);
        git.run().ok()
    };
    let listed = read().unwrap_or_default();
    let commit = |bytes: &[u8]| {
        let (id, message) = bytes.split_once_str("\n")?;
        let message = String::from_utf8_lossy(message).trim().to_owned();
        Some(TreeCommit { id: id.to_str().ok()?.to_owned(), message })
    };
    listed.split(|byte| *byte == 0).filter_map(commit).collect()
}

/// `None` if the tree's object directory is not as git made it: a pipe in it would block.
pub fn with_objects(repository: &Repository, tree: &Path) -> Option<crate::git::Git> {
    let git = open_last(tree).and_then(|top| top.open_directory(".git".into()));
    let objects = git.and_then(|git| git.open_directory("objects".into())).ok()?;
    let info = objects.open_directory("info".into()).ok()?;
    let is_file = matches!(info.read("alternates".into(), 1 << 16), Ok(Content::File(..)));
    let git = tree::git(repository).ok().filter(|_| is_file)?;
    Some(git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", tree.join(".git/objects")))
}

/// Copies the commits up to `head` that lie above `base` into the repository.
///
/// # Errors
/// `git_failed`, also for damaged objects.
pub fn import(repository: &Repository, tree: &Path, head: &str, base: &str) -> Result<()> {
    let git = with_objects(repository, tree).ok_or_else(|| {
        Error::new(&GIT_FAILED, "the objects of the session's tree are not as git made them")
            .hint("what is in its files can be proposed as a whole: leave out --split-commits")
    })?;
    let args = ["pack-objects", "--revs", "--stdout", "-q"];
    let pack = git.args(args).stdin(format!("{head}\n^{base}\n")).run()?;
    tree::git(repository)?.args(["unpack-objects", "-q", "--strict"]).stdin(pack).run().map(drop)
}

/// Title and body; `None` without words.
pub fn of_commits(commits: &[TreeCommit]) -> Option<String> {
    let subject =
        |commit: &TreeCommit| commit.message.lines().next().unwrap_or_default().to_owned();
    let whole = match commits {
        [] => return None,
        [commit] => commit.message.clone(),
        [first, ..] => {
            let all = commits.iter().map(|commit| format!("- {}", subject(commit)));
            format!("{}\n\n{}", subject(first), all.collect::<Vec<_>>().join("\n"))
        }
    };
    usable(&whole)
}

/// The first sentence is the title. It is marked: nobody chose these words for a proposal.
pub fn of_message(message: &str, agent: &str) -> Option<String> {
    let message = message.trim();
    let line = message.lines().next()?;
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    let title = cut(line[..end].trim_start_matches(['#', '*', ' ']), TITLE);
    let rest = if title.len() == message.len() { "" } else { message };
    usable(&format!("{title}\n\n{rest}\n\n(from the last message of {agent})"))
}

fn usable(words: &str) -> Option<String> {
    let words = text::lines(words);
    let mut end = words.len().min(LONGEST);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    let words = words[..end].trim();
    let has_title = words.lines().next().is_some_and(|title| !title.trim().is_empty());
    has_title.then(|| words.replace("\n\n\n\n", "\n\n"))
}

fn cut(title: &str, most: usize) -> String {
    match title.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &title[..at]),
        None => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_a_title_and_say_whose_they_are() {
        let commit = |message: &str| TreeCommit { id: String::new(), message: message.to_owned() };
        let one = [commit("Fix add\n\nIt subtracted.")];
        assert_eq!(of_commits(&one).unwrap(), "Fix add\n\nIt subtracted.");
        let two = [commit("Fix add\n\nx"), commit("Test it")];
        assert_eq!(of_commits(&two).unwrap(), "Fix add\n\n- Fix add\n- Test it");
        assert_eq!(of_commits(&[]), None);
        assert_eq!(
            of_message("I fixed add(). It subtracted.\n", "codex").unwrap(),
            "I fixed add().\n\nI fixed add(). It subtracted.\n\n(from the last message of codex)"
        );
        assert_eq!(
            of_message("Done", "codex").unwrap(),
            "Done\n\n(from the last message of codex)"
        );
        assert_eq!(of_message(" \n ", "codex"), None);
        let long = of_message(&"é".repeat(5_000), "codex").unwrap();
        assert!(long.len() <= LONGEST && long.lines().next().unwrap().chars().count() == TITLE + 1);
    }
}
