//! Sessions of agents whose commits or trees still have purged content. Their trees may have
//! unsubmitted work too, so they are named, and a person ends them.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;

use super::PurgedBlobs;
use crate::error::Result;
use crate::store::{Store, refs};

/// A file in `.git/aye` with a session and a blob a line: after a purge nothing else knows the
/// purged blobs.
const NOTE: &str = "purged-sessions";

impl Store {
    /// The sessions whose commits have one of `contents` that no ref of the project has.
    pub fn sessions_with(&self, contents: &PurgedBlobs) -> Result<Vec<String>> {
        Ok(names(&self.session_blobs(&contents.blobs())?))
    }

    /// Notes the sessions with `contents` for [`Store::sessions_of_purged`], before the purge.
    pub(super) fn note_sessions_with(&self, contents: &PurgedBlobs) -> Result<()> {
        let held = self.session_blobs(&contents.blobs())?;
        if !held.is_empty() {
            let private = self.repository().make_private()?;
            let mut all = self.noted_sessions();
            all.extend(held.iter().cloned());
            let lines: String =
                all.iter().map(|(session, blob)| format!("{session} {blob}\n")).collect();
            private.replace(NOTE, lines.as_bytes(), self.repository().settings()?.durable)?;
        }
        Ok(())
    }

    /// The noted sessions that still have purged content.
    pub fn sessions_of_purged(&self) -> Result<Vec<String>> {
        let noted = self.noted_sessions();
        if noted.is_empty() {
            return Ok(Vec::new());
        }
        let blobs = noted.iter().map(|(_, blob)| blob.clone()).collect();
        Ok(names(&self.session_blobs(&blobs)?))
    }

    /// The notes; empty if the file cannot be read, which `doctor` reports of the directory.
    fn noted_sessions(&self) -> BTreeSet<(String, String)> {
        let private = self.repository().private().ok().flatten();
        let text = private.and_then(|private| private.read(NOTE).ok().flatten());
        let text = text.unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.to_str().ok()?.rsplit_once(' '));
        lines.map(|(session, blob)| (session.to_owned(), blob.to_owned())).collect()
    }

    /// Session and blob for each of `blobs` (hex) that only a session's commits lead to.
    fn session_blobs(&self, blobs: &BTreeSet<String>) -> Result<BTreeSet<(String, String)>> {
        let mut sessions = Vec::new();
        if !blobs.is_empty() {
            refs::each(self.repository(), refs::SESSION, |name, _| sessions.push(name))?;
        }
        let mut found = BTreeSet::new();
        for name in sessions {
            let listed = self
                .repository()
                .git()?
                .args(["rev-list", "--objects", "--no-object-names", &name])
                .args(["--not", "--exclude=refs/aye/*", "--all"])
                .run()?;
            let session = name.strip_prefix(refs::SESSION).unwrap_or(&name);
            let held = listed.lines().filter_map(|id| id.to_str().ok());
            let held = held.filter(|id| blobs.contains(*id));
            found.extend(held.map(|id| (session.to_owned(), id.to_owned())));
        }
        Ok(found)
    }
}

fn names(held: &BTreeSet<(String, String)>) -> Vec<String> {
    let names: BTreeSet<&String> = held.iter().map(|(session, _)| session).collect();
    names.into_iter().cloned().collect()
}
