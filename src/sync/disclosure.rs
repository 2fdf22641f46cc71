//! What others would see once this clone shares with a remote.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use chrono::{DateTime, Utc};

use crate::changeset::{Changeset, RepoPath};
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::scan::gate::{self, ScanWarning};
use crate::store::{Filter, Space, Store, View};

#[derive(Debug, Default)]
pub struct Disclosure {
    /// Without a password. Untrusted.
    pub url: String,
    pub proposals: usize,
    pub pending: usize,
    pub files: usize,
    /// Proposals that stay in this clone.
    pub private: usize,
    /// Files whose content before a proposal is in no commit of the remote.
    pub unpublished: Vec<(ProposalId, RepoPath)>,
    pub warnings: Vec<ScanWarning>,
}

/// Covers all revisions of the proposals that the remote lacks.
///
/// # Errors
/// `allowlist_parse_error`, `git_failed`.
pub fn disclosure(
    store: &Store,
    view: &View<'_>,
    remote: &str,
    now: DateTime<Utc>,
) -> Result<Disclosure> {
    let mut found = Disclosure { url: url(store, remote)?, ..Disclosure::default() };
    let mut files = BTreeSet::new();
    let mut before: Vec<(ProposalId, RepoPath, String)> = Vec::new();
    let mut changesets: Vec<Changeset> = Vec::new();
    for summary in view.proposals(&Filter::default(), now)? {
        if summary.space == Space::Private {
            found.private += 1;
            continue;
        }
        if !view.is_unsent(&summary.id, remote)? {
            continue;
        }
        found.proposals += 1;
        found.pending += usize::from(summary.status == crate::proposal::Status::Pending);
        for revision in &view.listed_proposal(&summary)?.revisions {
            for change in &revision.changes {
                files.insert(change.path.clone());
                if let Some(entry) = &change.before {
                    before.push((summary.id.clone(), change.path.clone(), entry.id.clone()));
                }
            }
            // A content that is not here is not sent from here, either.
            changesets.extend(store.changeset(revision));
        }
    }
    found.files = files.len();
    let known = blobs_at(store, remote, before.iter().map(|(_, path, _)| path))?;
    before.retain(|(.., id)| !known.contains(id));
    found.unpublished = before.into_iter().map(|(id, path, _)| (id, path)).collect();
    found.unpublished.dedup();
    found.warnings = gate::content_warnings(store.repository(), &changesets)?;
    Ok(found)
}

/// The ids of all blobs that `paths` had in commits of the remote, as last fetched.
fn blobs_at<'p>(
    store: &Store,
    remote: &str,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<BTreeSet<String>> {
    let paths: BTreeSet<&RepoPath> = paths.collect();
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut input = b"--\n".to_vec();
    for path in paths {
        input.extend_from_slice(path.as_bstr());
        input.push(b'\n');
    }
    let listed = store
        .repository()
        .git()?
        .env("GIT_LITERAL_PATHSPECS", "1")
        .args(["log", "--raw", "--no-abbrev", "--no-renames", "-m", "--root", "--format="])
        .args([&format!("--remotes={remote}"), "--stdin"])
        .stdin(input)
        .run()?;
    // `:100644 100644 <old> <new> M TAB <path>`
    let ids = listed.lines().filter(|line| line.starts_with(b":"));
    let ids = ids.flat_map(|line| {
        line.to_str_lossy().split(' ').skip(2).take(2).map(str::to_owned).collect::<Vec<_>>()
    });
    Ok(ids.collect())
}

/// The URL that pushes go to, without user and password.
fn url(store: &Store, remote: &str) -> Result<String> {
    let url = store.repository().git()?.args(["remote", "get-url", "--push", remote]).text()?;
    let bare = url.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest.split_once('@')?;
        (!user.contains('/')).then(|| format!("{scheme}://{host}"))
    });
    Ok(bare.unwrap_or(url))
}
