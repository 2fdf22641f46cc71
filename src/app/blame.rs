//! Lines of a committed file with their commits, and the proposals that these name in trailers.

use std::collections::HashMap;

use bstr::ByteSlice as _;
use chrono::DateTime;
use gix::ObjectId;

use crate::changeset::{RepoPath, codes};
use crate::check::commits;
use crate::error::{Error, Result};
use crate::proposal::event::timestamp;
use crate::repository::Repository;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub commit: String,
    pub author: String,
    pub at: String,
    pub proposal_ids: Vec<String>,
    pub proposed_by: Vec<String>,
    pub reviewed_by: Vec<String>,
}

/// Consecutive lines of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// From 1.
    pub line: usize,
    pub count: usize,
    pub origin: Origin,
    /// Without line ends.
    pub content: Vec<Vec<u8>>,
}

/// `lines` selects as `git blame -L` does. The work tree is not read: git would run filters from
/// the configuration.
///
/// # Errors
/// `file_not_found`, `binary_content`, `git_failed`.
pub fn blame(repository: &Repository, path: &RepoPath, lines: Option<&str>) -> Result<Vec<Range>> {
    let shown = || path.display().to_string();
    let head = repository.repo().head_id().ok().map(gix::Id::detach);
    let found = match head {
        Some(head) => repository.files_of(head)?.file(path)?.map(|file| (head, file)),
        None => None,
    };
    let Some((head, file)) = found else {
        let message = format!("HEAD has no file '{}'", shown());
        return Err(Error::new(&codes::FILE_NOT_FOUND, message)
            .with("path", shown())
            .hint("commit it first; `git log -- FILE` finds one that is gone"));
    };
    if file.is_binary() {
        let message = format!("'{}' is binary: it has no lines", shown());
        return Err(Error::new(&codes::NOT_TEXT, message)
            .with("path", shown())
            .hint("`git log -- FILE` prints who changed it"));
    }
    let mut git = repository.git()?.args(["blame", "--porcelain", "--no-textconv"]);
    if let Some(lines) = lines {
        git = git.arg(format!("-L{lines}"));
    }
    let printed = git.args([head.to_string().as_str(), "--"]).arg(path.to_path()).run()?;
    let mut ranges = parse(&printed);
    let mut commits = HashMap::new();
    for range in &mut ranges {
        let id = range.origin.commit.clone();
        let read =
            |id: &String| commits::read(repository, ObjectId::from_hex(id.as_bytes()).ok()?).ok();
        if let Some(commit) = commits.entry(id).or_insert_with_key(read) {
            range.origin.proposal_ids = commit.proposal_ids.clone();
            range.origin.proposed_by = commit.proposers.clone();
            range.origin.reviewed_by = commit.reviewers.clone();
        }
    }
    Ok(ranges)
}

/// Parses porcelain output and ignores unknown lines.
fn parse(printed: &[u8]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut origins: HashMap<String, Origin> = HashMap::new();
    let (mut commit, mut number) = (String::new(), 0);
    for line in printed.lines() {
        if let Some(content) = line.strip_prefix(b"\t") {
            let content = content.to_vec();
            match ranges.last_mut() {
                Some(last) if last.origin.commit == commit => last.content.push(content),
                _ => {
                    let origin = Origin { commit: commit.clone(), ..Origin::default() };
                    let content = vec![content];
                    ranges.push(Range { line: number, count: 0, origin, content });
                }
            }
            continue;
        }
        let (key, value) = line.split_once_str(" ").unwrap_or((line, b""));
        let value = value.to_str_lossy();
        let origin = origins.entry(commit.clone()).or_default();
        match key {
            b"author" => origin.author = value.into_owned(),
            b"committer-time" => {
                let time = value.parse().ok().and_then(|time| DateTime::from_timestamp(time, 0));
                origin.at = time.map(timestamp).unwrap_or_default();
            }
            _ if ObjectId::from_hex(key).is_ok() => {
                commit = key.to_str_lossy().into_owned();
                number = value.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or_default();
            }
            _ => {}
        }
    }
    for range in &mut ranges {
        range.count = range.content.len();
        let commit = std::mem::take(&mut range.origin.commit);
        range.origin = origins.get(&commit).cloned().unwrap_or_default();
        range.origin.commit = commit;
    }
    ranges
}
