//! Findings in lines that code proposals add or change.

use schemars::JsonSchema;
use serde::Serialize;

use super::ALLOW_LIST;
use crate::changeset::instructions::Instructions;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::error::{Error, Result};
use crate::memory::service::{allowed_fingerprints, outside_violations};
use crate::repository::{Repository, ScanMode};
use crate::secrets::unsafe_text::{self, Issue};
use crate::secrets::{Finding, Options, Scanner, codes};

/// Something in a proposal that a reviewer should see. Never holds the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScanWarning {
    /// Kind of the warning: `github_token`, `bidi_control`, …
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The file, or the other text that holds it: `description`, `comment`, `name of a new file`.
    pub file_path: String,
    /// Line in the proposed content, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// In words.
    pub message: String,
    /// Allow-list entry if it is a false alarm; absent for unsafe text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl ScanWarning {
    /// `src/a.rs:3:5: GitHub token (40 bytes)`. The path is untrusted; escape it for a terminal.
    pub fn line(&self) -> String {
        format!("{}:{}:{}: {}", self.file_path, self.line, self.column, self.message)
    }
}

/// Warnings of `line_warnings` and `file_warnings`, and an ignored path that makes the proposal private. `said`
/// pairs further texts with their names.
///
/// # Errors
/// `secret_detected` if `aye.scan` is `block`, with all findings in its details; `invalid_config`;
/// `allowlist_parse_error`.
pub fn proposal_warnings(
    repository: &Repository,
    changeset: &Changeset,
    said: &[(&str, Option<&str>)],
    is_private: bool,
) -> Result<Vec<ScanWarning>> {
    let mut warnings = line_warnings(repository, changeset, said)?;
    let is_told =
        |path: &str, line| warnings.iter().any(|told| told.file_path == path && told.line == line);
    let of_files = file_warnings(repository, changeset, is_told);
    warnings.extend(of_files);
    let changes = changeset.changes().iter().filter(|_| is_private);
    let mut paths = changes.flat_map(|change| std::iter::once(&change.path).chain(&change.origin));
    if let Some(path) = repository.ignored(&mut paths)?.first() {
        let message = "git ignores it and HEAD does not have it: the proposal is private, in this clone alone";
        warnings.push(of_file("ignored_file", path, message.to_owned()));
    }
    Ok(warnings)
}

fn of_file(kind: &'static str, path: &RepoPath, message: String) -> ScanWarning {
    let file_path = path.display().to_string();
    ScanWarning { kind, file_path, line: 1, column: 1, message, fingerprint: None }
}

/// Name collisions and violations of memory rules (`memory::outside`), whatever `aye.scan` is.
/// Violations at a line for which `is_told` is true are dropped.
pub fn file_warnings(
    repository: &Repository,
    changeset: &Changeset,
    is_told: impl Fn(&str, usize) -> bool,
) -> Vec<ScanWarning> {
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
        warnings.push(ScanWarning {
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

/// Warnings about added lines, names of new files and `said`, as `aye.scan` asks.
pub fn line_warnings(
    repository: &Repository,
    changeset: &Changeset,
    said: &[(&str, Option<&str>)],
) -> Result<Vec<ScanWarning>> {
    let mode = repository.settings()?.scan;
    if mode == ScanMode::Off {
        return Ok(Vec::new());
    }
    let mut found = secrets(changeset);
    let mut names = String::new();
    for change in changeset.changes().iter().filter(|change| change.before.is_none()) {
        // Slashes would make a token in a name look like base64.
        names += &change.path.display().to_string().replace('/', " ");
        names.push('\n');
    }
    for (what, text) in said.iter().chain(&[("name of a new file", Some(&*names))]) {
        let scan = Scanner::new(&Options::default()).scan(text.unwrap_or_default().as_bytes());
        found.extend(scan.into_iter().map(|finding| warning((*what).to_owned(), finding)));
    }
    if !found.is_empty() {
        // Read late: most proposals have nothing to allow.
        let allowed = allowed_fingerprints(repository)?;
        found.retain(|warning| !warning.fingerprint.as_ref().is_some_and(|f| allowed.contains(f)));
    }
    match found.first() {
        Some(first) if mode == ScanMode::Block => Err(refused(first, &found)),
        _ => Ok(found),
    }
}

/// Secrets and misleading text in added and changed lines; in files of `instructions` also text
/// that tries to instruct.
pub fn review_warnings(
    repository: &Repository,
    changeset: &Changeset,
    instructions: &Instructions,
) -> Result<Vec<ScanWarning>> {
    let mut warnings: Vec<ScanWarning> = secrets(changeset);
    if !warnings.is_empty() {
        let allowed = allowed_fingerprints(repository)?;
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

fn unsafe_warning(change: &FileChange, issue: Issue) -> ScanWarning {
    ScanWarning {
        kind: issue.kind,
        file_path: change.path.display().to_string(),
        line: issue.line,
        column: issue.column,
        message: issue.message,
        fingerprint: None,
    }
}

/// Secrets in the files before and after, each once, whatever `aye.scan` is: publishing a private
/// proposal discloses both.
pub fn content_warnings(
    repository: &Repository,
    changesets: &[Changeset],
) -> Result<Vec<ScanWarning>> {
    let scanner = Scanner::new(&Options::default());
    let mut warnings: Vec<ScanWarning> = Vec::new();
    for change in changesets.iter().flat_map(Changeset::changes) {
        for file in change.after.iter().chain(&change.before).filter(|file| !file.is_binary()) {
            for finding in scanner.scan(&file.bytes) {
                let found = warning(change.path.display().to_string(), finding);
                // Report a secret that stays at its place after the change.
                let is_it = |it: &ScanWarning| {
                    (&it.file_path, &it.fingerprint) == (&found.file_path, &found.fingerprint)
                };
                if !warnings.iter().any(is_it) {
                    warnings.push(found);
                }
            }
        }
    }
    if !warnings.is_empty() {
        let allowed = allowed_fingerprints(repository)?;
        warnings.retain(|it| !it.fingerprint.as_ref().is_some_and(|f| allowed.contains(f)));
    }
    Ok(warnings)
}

fn secrets(changeset: &Changeset) -> Vec<ScanWarning> {
    let scanner = Scanner::new(&Options::default());
    let mut found = Vec::new();
    for (change, before, after) in texts(changeset) {
        for finding in scanner.scan_added(&before, after).new_findings {
            found.push(warning(change.path.display().to_string(), finding));
        }
    }
    found
}

/// `file_path` may also name another text.
fn warning(file_path: String, finding: Finding) -> ScanWarning {
    ScanWarning {
        kind: finding.kind,
        file_path,
        line: finding.line,
        column: finding.column,
        message: format!("{} ({} bytes)", finding.title, finding.length),
        fingerprint: Some(finding.fingerprint),
    }
}

/// Written text files with the previous content of path or origin.
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

fn refused(first: &ScanWarning, all: &[ScanWarning]) -> Error {
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
