//! Lines of purged private proposals, without the text itself.
//!
//! A purge removes a proposal, and with it the reason why a line of a file is private. If such a
//! line is still in the work tree, the next proposal, apply or publication would disclose it. So
//! `.git/aye/purged` keeps salted hashes of these lines: the salt, then 16 hex digits a line. It
//! never leaves this clone.

use std::collections::BTreeSet;

use super::Subjects;
use crate::beneath;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::private::PrivateDirectory;
use crate::store::private_content::{brought, says_something};
use crate::store::{Space, Store, View};

const FILE: &str = "purged";

/// Lines that are remembered: some two megabytes.
const MOST: usize = 100_000;

#[derive(Debug, Default)]
pub(in crate::store) struct PurgedLines {
    salt: String,
    known: BTreeSet<String>,
}

impl PurgedLines {
    /// Reads the file.
    ///
    /// # Errors
    /// `private_dir_unsafe`; if the file cannot be read.
    pub(in crate::store) fn read(private: &PrivateDirectory) -> Result<Self> {
        let Some(bytes) = private.read(FILE)? else { return Ok(Self::default()) };
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        let salt = lines.next().unwrap_or_default().to_owned();
        let known = lines.take(MOST).map(str::to_owned).collect();
        Ok(Self { salt, known })
    }

    /// True if one of `lines` of the file at `path` was private.
    pub(in crate::store) fn has<'l>(
        &self,
        path: &RepoPath,
        mut lines: impl Iterator<Item = &'l [u8]>,
    ) -> bool {
        !self.known.is_empty() && lines.any(|line| self.known.contains(&self.hash(path, line)))
    }

    pub(in crate::store) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn hash(&self, path: &RepoPath, line: &[u8]) -> String {
        let mut hash =
            crate::sha256::hex(&[self.salt.as_bytes(), path.as_bstr(), line].join(&b"\n"[..]));
        hash.truncate(16);
        hash
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("{}\n", self.salt);
        self.known.iter().for_each(|hash| text += &format!("{hash}\n"));
        text.into_bytes()
    }
}

impl Store {
    /// Remembers the lines that private `subjects` added, before they are purged. Unreadable
    /// content is skipped.
    pub(super) fn remember_purged(
        &self,
        private: &PrivateDirectory,
        view: &View<'_>,
        subjects: &Subjects,
    ) -> Result<()> {
        let mut proposals = Vec::new();
        for target in subjects.targets.iter().filter(|target| target.record.is_none()) {
            if view.space(&target.id)? == Space::Private {
                proposals.extend(view.proposal(&target.id).ok());
            }
        }
        let changes = proposals.iter().flat_map(|proposal| &proposal.revisions);
        let changes = changes.flat_map(|revision| &revision.changes);
        let brought = changes
            .map(|change| (&change.path, (self.side(&change.before), self.side(&change.after))));
        remember(private, brought)
    }
}

/// A file with its content before and after.
type Change<'s> = (&'s RepoPath, (Vec<u8>, Vec<u8>));

fn remember<'s>(
    private: &PrivateDirectory,
    changes: impl Iterator<Item = Change<'s>>,
) -> Result<()> {
    let mut lines = PurgedLines::read(private)?;
    if lines.salt.is_empty() {
        lines.salt = format!("{:016x}{:016x}", beneath::random_id(), beneath::random_id());
    }
    let before = lines.known.len();
    for (path, (old, new)) in changes {
        for line in brought(&old, &new).into_iter().filter(|line| says_something(line)) {
            if lines.known.len() < MOST {
                lines.known.insert(lines.hash(path, line));
            }
        }
    }
    if lines.known.len() == before {
        Ok(())
    } else {
        private.replace(FILE, &lines.to_bytes(), true)
    }
}
