//! Decisions that failed to write, and their effect on decisions shown on top.

use crate::changeset::{RepoPath, codes as changeset_codes};
use crate::decide::ViewedState;
use crate::error::Error;
use crate::proposal::{ProposalId, codes};
use crate::store::Store;

/// With the files that they would have written.
#[derive(Default)]
pub struct Unwritten(Vec<(ProposalId, Vec<RepoPath>)>);

impl Unwritten {
    pub fn note(&mut self, id: &ProposalId, paths: Vec<RepoPath>) {
        self.0.push((id.clone(), paths));
    }

    /// Explains `error` by an earlier failed write: the shown file assumed that write, so it now
    /// differs although nobody changed it.
    pub fn explain(
        &self,
        store: &Store,
        seen: Option<&ViewedState>,
        paths: &[RepoPath],
        error: Error,
    ) -> Error {
        if !error.is(&codes::CHANGED_SINCE_SHOWN) && !error.is(&changeset_codes::CONFLICT) {
            return error;
        }
        let shared = |(id, theirs): &(ProposalId, Vec<RepoPath>)| {
            let path = paths.iter().find(|path| theirs.contains(path))?;
            Some((id.clone(), path.display().to_string()))
        };
        let Some((below, path)) = self.0.iter().rev().find_map(shared) else { return error };
        let now = store.view().and_then(|view| ViewedState::now(&view, []));
        let has_moved = seen.zip(now.ok()).is_some_and(|(seen, now)| seen.target != now.target);
        let why = if has_moved {
            "it is not as it was shown: HEAD moved".to_owned()
        } else {
            format!(
                "it was shown on top of {below}, which changes {path} as well and was not written"
            )
        };
        let explained = Error::new(&codes::CHANGED_SINCE_SHOWN, why);
        match error.hint_text() {
            Some(hint) => explained.hint(hint.to_owned()),
            None => explained,
        }
    }
}
