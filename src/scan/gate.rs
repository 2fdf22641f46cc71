//! Code proposals: what their added and changed lines bring.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ALLOW_LIST, allow_list, file_at};
use crate::changeset::instructions::Instructions;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::error::{Error, Result};
use crate::memory::service::outside_violations;
use crate::repository::{Repository, ScanMode};
use crate::secrets::unsafe_text::{self, Issue};
use crate::secrets::{Finding, Options, Scanner, codes};

/// Something in a proposal that a reviewer should see. Never holds the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// What it is: `github_token`, `bidi_control`, …
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The file; or what else it is in: `description`, `comment`, `name of a new file`.
    pub file_path: String,
    /// Line in the proposed content, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// In words.
    pub message: String,
    /// What to put into the allow-list if it is a false alarm; absent for unsafe text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Warning {
    /// `src/a.rs:3:5: GitHub token (40 bytes)`. The path is untrusted; escape it for a terminal.
    pub fn line(&self) -> String {
        format!("{}:{}:{}: {}", self.file_path, self.line, self.column, self.message)
    }
}

/// What a code proposal of `changeset` should be warned of, as `aye.scan` asks, in what is `said` of it too
/// (what it is and its text), and of its [`files`]; and, where it `is_private`, that it is so because of a file that
/// git ignores.
///
/// # Errors
/// `secret_detected` where `aye.scan` is `block`, with all findings in its details; `invalid_config`; `allowlist_parse_error`.
pub fn proposal(
    repository: &Repository,
    changeset: &Changeset,
    said: &[(&str, Option<&str>)],
    is_private: bool,
) -> Result<Vec<Warning>> {
    let mut warnings = lines(repository, changeset, said)?;
    let is_told =
        |path: &str, line| warnings.iter().any(|told| told.file_path == path && told.line == line);
    let of_files = files(repository, changeset, is_told);
    warnings.extend(of_files);
    let changes = changeset.changes().iter().filter(|_| is_private);
    let mut paths = changes.flat_map(|change| std::iter::once(&change.path).chain(&change.origin));
    if let Some(path) = repository.ignored(&mut paths)?.first() {
        let message = "git ignores it and HEAD does not have it: the proposal is private, in this clone alone";
        warnings.push(of_file("ignored_file", path, message.to_owned()));
    }
    Ok(warnings)
}

/// A warning about the file at `path` as a whole.
fn of_file(kind: &'static str, path: &RepoPath, message: String) -> Warning {
    let file_path = path.display().to_string();
    Warning { kind, file_path, line: 1, column: 1, message, fingerprint: None }
}

/// What the files of a code proposal come to, whatever `aye.scan` is: names that collide, and memory files
/// that do not hold to their rules; see [`crate::memory::outside`]. Without what a scan finds, of which
/// `is_told` says that it is known, by file and line.
pub fn files(
    repository: &Repository,
    changeset: &Changeset,
    is_told: impl Fn(&str, usize) -> bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (path, other) in repository.collisions(changeset.changes()) {
        let message = format!(
            "collides with '{other}' where file names ignore case or Unicode normalisation (Windows, macOS): git checks out one of the two"
        );
        warnings.push(of_file("path_collision", path, message));
    }
    for violation in outside_violations(repository, changeset) {
        let file_path = violation.path.display().to_string();
        let scanned =
            violation.kind == codes::SECRET_DETECTED.id || violation.kind == codes::UNSAFE_TEXT.id;
        if scanned && is_told(&file_path, violation.line) {
            continue;
        }
        warnings.push(Warning {
            kind: violation.kind,
            file_path,
            line: violation.line,
            column: 1,
            message: violation.message,
            fingerprint: None,
        });
    }
    warnings
}

/// What the lines that `changeset` adds, the names of its new files, and what is `said` of it should be warned
/// of, as `aye.scan` asks.
///
/// # Errors
/// As [`proposal`].
pub fn lines(
    repository: &Repository,
    changeset: &Changeset,
    said: &[(&str, Option<&str>)],
) -> Result<Vec<Warning>> {
    let mode = repository.settings()?.scan;
    if mode == ScanMode::Off {
        return Ok(Vec::new());
    }
    let mut found = secrets(changeset);
    let mut names = String::new();
    for change in changeset.changes().iter().filter(|change| change.before.is_none()) {
        // What is a token in a name must not pass for a piece of base64 between slashes.
        names += &change.path.display().to_string().replace('/', " ");
        names.push('\n');
    }
    for (what, text) in said.iter().chain(&[("name of a new file", Some(&*names))]) {
        let scan = Scanner::new(&Options::default()).scan(text.unwrap_or_default().as_bytes());
        found.extend(scan.into_iter().map(|finding| warning((*what).to_owned(), finding)));
    }
    if !found.is_empty() {
        // Read only now: most proposals have nothing to allow.
        let allowed = known(repository)?;
        found.retain(|warning| !warning.fingerprint.as_ref().is_some_and(|f| allowed.contains(f)));
    }
    match found.first() {
        Some(first) if mode == ScanMode::Block => Err(refused(first, &found)),
        _ => Ok(found),
    }
}

/// What a reviewer of `changeset` should see: secrets that are not known false alarms, and text that misleads, in added and changed lines; in those of `instructions` also text that
/// tries to instruct.
///
/// # Errors
/// `allowlist_parse_error`.
pub fn review(
    repository: &Repository,
    changeset: &Changeset,
    instructions: &Instructions,
) -> Result<Vec<Warning>> {
    let mut warnings: Vec<Warning> = secrets(changeset);
    if !warnings.is_empty() {
        let allowed = known(repository)?;
        warnings.retain(|w| !w.fingerprint.as_ref().is_some_and(|f| allowed.contains(f)));
    }
    for (change, before, after) in texts(changeset) {
        let issues = match instructions.kind(&change.path) {
            Some(_) => unsafe_text::check_instructions(&before, after),
            None => unsafe_text::check_added(&before, after),
        };
        let shown = issues.into_iter().filter(|issue| issue.kind != "invalid_utf8");
        warnings.extend(shown.map(|issue| unsafe_warning(change, issue)));
    }
    Ok(warnings)
}

fn unsafe_warning(change: &FileChange, issue: Issue) -> Warning {
    Warning {
        kind: issue.kind,
        file_path: change.path.display().to_string(),
        line: issue.line,
        column: issue.column,
        message: issue.message,
        fingerprint: None,
    }
}

/// What `changesets` hold that only those should see whom they are for, whoever wrote it and whatever `aye.scan` is:
/// secrets, in their files as they were and as they are to be, each once.
///
/// # Errors
/// `allowlist_parse_error`.
pub fn whole(repository: &Repository, changesets: &[Changeset]) -> Result<Vec<Warning>> {
    let scanner = Scanner::new(&Options::default());
    let mut warnings: Vec<Warning> = Vec::new();
    for change in changesets.iter().flat_map(Changeset::changes) {
        for file in change.after.iter().chain(&change.before).filter(|file| !file.is_binary()) {
            for finding in scanner.scan(&file.bytes) {
                let found = warning(change.path.display().to_string(), finding);
                // What stays in the file is named where it will be.
                let is_it = |it: &Warning| {
                    (&it.file_path, &it.fingerprint) == (&found.file_path, &found.fingerprint)
                };
                if !warnings.iter().any(is_it) {
                    warnings.push(found);
                }
            }
        }
    }
    if !warnings.is_empty() {
        let allowed = known(repository)?;
        warnings.retain(|it| !it.fingerprint.as_ref().is_some_and(|f| allowed.contains(f)));
    }
    Ok(warnings)
}

fn secrets(changeset: &Changeset) -> Vec<Warning> {
    let scanner = Scanner::new(&Options::default());
    let mut found = Vec::new();
    for (change, before, after) in texts(changeset) {
        for finding in scanner.scan_added(&before, after).blocking {
            found.push(warning(change.path.display().to_string(), finding));
        }
    }
    found
}

/// `finding` in a file, or in what else there is to say of.
fn warning(file_path: String, finding: Finding) -> Warning {
    Warning {
        kind: finding.kind,
        file_path,
        line: finding.line,
        column: finding.column,
        message: format!("{} ({} bytes)", finding.title, finding.length),
        fingerprint: Some(finding.fingerprint),
    }
}

/// Each text file that is written, with what stood at its path or where it came from before.
fn texts(changeset: &Changeset) -> impl Iterator<Item = (&FileChange, Vec<u8>, &[u8])> {
    let before = |path| {
        let change = changeset.changes().iter().find(|change| &change.path == path)?;
        change.before.as_ref()
    };
    changeset.changes().iter().filter_map(move |change| {
        let after = change.after.as_ref().filter(|file| !file.is_binary())?;
        let old = change.before.as_ref().or_else(|| change.origin.as_ref().and_then(before));
        let old = old.map(|file| file.bytes.to_vec()).unwrap_or_default();
        Some((change, old, &after.bytes[..]))
    })
}

/// The list of known false alarms, as HEAD has it: a proposal cannot bring its own.
fn known(repository: &Repository) -> Result<BTreeSet<String>> {
    let repo = repository.repo();
    let head = repo.head_id().ok().map(gix::Id::detach);
    let list = head.and_then(|head| file_at(repo, head, ALLOW_LIST));
    list.map_or(Ok(BTreeSet::new()), |bytes| allow_list(&bytes))
}

fn refused(first: &Warning, all: &[Warning]) -> Error {
    let more = match all.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let fingerprint = first.fingerprint.as_deref().unwrap_or("FINGERPRINT");
    Error::new(&codes::SECRET_DETECTED, format!("{}{more}", first.line()))
        .hint(format!(
            "take it out and propose again; a false alarm is allowed by the line “{fingerprint} REASON” in {ALLOW_LIST}, \
             once that is committed"
        ))
        .with("findings", serde_json::to_value(all).unwrap_or_default())
}
